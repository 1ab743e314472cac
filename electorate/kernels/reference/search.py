"""The best split of a node by the labels: the twins of search.hpp, in plain NumPy."""

from itertools import combinations

import numpy as np


def thresholds(n_bins, has_missing, ordered):
    """(column, cut, missing left) of every test, the preferred ones first."""
    for j in np.flatnonzero(ordered):
        for cut in range(n_bins[j] if has_missing[j] else n_bins[j] - 1):
            # missing values on the left need training to have had some, and another value on the right
            if has_missing[j] and cut < n_bins[j] - 1:
                yield j, cut, 1
            yield j, cut, 0


def left_of(numbers, column, cut, missing_left):
    """The sum of numbers[..., column, bin] over the bins that go left."""
    return numbers[..., column, : cut + 1].sum(axis=-1) + missing_left * numbers[..., column, -1]


def enough_rows(rows, test, min_rows):
    if len(rows) == 0:
        return True
    column, cut, missing_left = test
    left = left_of(rows, column, cut, missing_left)
    return min(left, rows[column].sum() - left) >= min_rows


def best_threshold(sums, totals, n_bins, has_missing, ordered, rows, min_rows, found):
    def right(left):
        sides = left, totals - left
        return -1 if sides[0].argmax() == sides[1].argmax() else int(sides[0].max() + sides[1].max())

    most = -1
    for test in thresholds(n_bins, has_missing, ordered):
        if enough_rows(rows, test, min_rows) and right(left_of(sums, *test)) > most:
            most = right(left_of(sums, *test))
            found[:3] = test
    return most


def best_common_threshold(left, whole, totals_left, totals, n_bins, has_missing, ordered, taken, found):
    most = -(2**63)
    for test in thresholds(n_bins, has_missing, ordered):
        if test[0] == taken:
            continue
        right = 0
        for sums, total in ((left, totals_left), (whole - left, totals - totals_left)):
            below = left_of(sums, *test)
            right += int(below.max() + (total - below).max())
        if right > most:
            most = right
            found[:3] = test
    return most


def cheapest_threshold(sums, totals, squares, square_totals, n_bins, has_missing, ordered, lam, spread, found):
    least = np.inf
    for test in thresholds(n_bins, has_missing, ordered):
        left, left_squares = left_of(sums, *test), left_of(squares, *test)
        right = (left[1] + totals[0] - left[0]) / totals.sum()
        right_squares = (left_squares[1] + square_totals[0] - left_squares[0]) / square_totals.sum()
        cost = cost_at_best(right, right_squares, lam, spread)
        if cost < least:
            least = cost
            found[:3] = test
    return least


def cost_at_best(right, right_squares, lam, spread):
    """V of (4) at its best alpha, over its value at 0 up to the common factor."""
    wrong, wrong_squares = 1.0 - right, 1.0 - right_squares
    ups = (1.0 - lam) * right * right + lam * (right_squares * spread)
    downs = (1.0 - lam) * wrong * wrong + lam * (wrong_squares * spread)
    return 2.0 * np.sqrt(max(ups * downs, 0.0)) + 2.0 * (1.0 - lam) * right * wrong


def send_left(histogram, seen, column, cut, missing_left, on_left, sides):
    if not len(on_left):
        return
    on_left[:] = np.arange(len(on_left)) <= cut
    if missing_left < 0:
        values = seen[:-1]
        missing_left = values[on_left[:-1]].sum() >= values[~on_left[:-1]].sum()
    on_left[-1] = missing_left
    sides[0] = histogram[:, column, on_left].sum(axis=1)
    sides[1] = histogram[:, column, ~on_left].sum(axis=1)


def purity(criterion, left, totals):
    sides = np.array([left, totals - left], dtype=np.float64)
    all_of = sides.sum(axis=1, keepdims=True)
    if criterion == 2:
        return -np.sqrt(sides * (all_of - sides)).sum()
    return np.sum(sides**2 / np.where(all_of > 0, all_of, 1.0))


def is_pure(totals):
    return totals.astype(np.float64).sum() <= purity(1, np.zeros_like(totals), totals) * (1 + 1e-6)


def purest_threshold(sums, totals, n_bins, has_missing, ordered, rows, min_rows, criterion, found):
    most = -np.inf
    for test in thresholds(n_bins, has_missing, ordered):
        column, cut, _ = test
        if not sums[:, column, cut].any():
            continue  # a bin without weight is no place to cut
        score = purity(criterion, left_of(sums, *test), totals)
        if score > most and enough_rows(rows, test, min_rows):
            most = score
            found[:3] = test
    return most


def best_subset(sums, n_bins, has_missing, ordered, rows, min_rows, found):
    most = -1
    for j in np.flatnonzero(~ordered):
        bins = [*range(n_bins[j]), *([sums.shape[2] - 1] if has_missing[j] else [])]
        for a, b in combinations(range(len(sums)), 2):
            on_left = sums[a, j, bins] > sums[b, j, bins]
            if not on_left.any() or on_left.all():
                continue
            if len(rows) and min(rows[j, bins][on_left].sum(), rows[j, bins][~on_left].sum()) < min_rows:
                continue
            weight = int(np.maximum(sums[a, j, bins], sums[b, j, bins]).sum())
            if weight > most:
                most = weight
                found[:3] = (j, a, b)
    return most


def purest_subset(sums, totals, n_bins, ordered, rows, min_rows, criterion, found, on_left):
    most = -np.inf
    for j in np.flatnonzero(~ordered):
        bins = np.array([*range(n_bins[j]), sums.shape[2] - 1])
        bins = bins[sums[:, j, bins].sum(axis=0) > 0]
        for label in range(1 if len(sums) == 2 else 0, len(sums)):
            share = sums[label, j, bins] / sums[:, j, bins].sum(axis=0)
            in_order = bins[np.argsort(share, kind="stable")]
            for size in range(1, len(bins)):
                chosen = in_order[:size]
                score = purity(criterion, sums[:, j, chosen].sum(axis=1), totals)
                held = rows[j, chosen].sum() if len(rows) else 0
                if score > most and (len(rows) == 0 or min(held, rows[j].sum() - held) >= min_rows):
                    most = score
                    found[0] = j
                    on_left[:] = np.isin(np.arange(sums.shape[2]), chosen)
    return most
