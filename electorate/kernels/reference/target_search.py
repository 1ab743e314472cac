"""The best split of a node for a numeric target: the twins of target_search.hpp, in plain NumPy."""

from itertools import pairwise

import numpy as np

from electorate.kernels.reference.search import enough_rows, left_of, thresholds


def side_edge(kind, weights, reach, targets, rate, table):
    if not len(weights):
        return 0.0
    total = weights.sum()
    if kind == 0:
        windows = [weights[reach[k] : k + 1].sum() for k in range(len(weights))]
        return float(2 * max(windows) - total)
    if kind == 1:
        distances = np.abs(targets[:, None] - targets[None, :]) @ weights.astype(np.float64)
        return float(total) - rate * float(distances.min())
    return float((table @ weights.astype(np.float64)).max())


def best_target_threshold(
    sums, totals, n_bins, has_missing, ordered, rows, min_rows, kind, reach, targets, away, rate, table, abstains, found
):
    most = -np.inf
    for test in thresholds(n_bins, has_missing, ordered):
        column, cut, _ = test
        if not sums[:, column, cut].any():
            continue
        left = left_of(sums, *test)
        if not left.any() or not (totals - left).any():
            continue
        sides = [side_edge(kind, side, reach, targets, rate, table) for side in (left, totals - left)]
        edge = sum(max(side, 0.0) if abstains else side for side in sides)
        if edge > most and enough_rows(rows, test, min_rows):
            most = edge
            found[:3] = test
    return most


def best_mean_threshold(sums, totals, n_bins, has_missing, ordered, rows, min_rows, found):
    most = -np.inf
    for test in thresholds(n_bins, has_missing, ordered):
        column, cut, _ = test
        left = left_of(sums, *test)
        right = totals - left
        if not sums[:, column, cut].any() or left[0] <= 0 or right[0] <= 0:
            continue
        score = float(left[1]) ** 2 / float(left[0]) + float(right[1]) ** 2 / float(right[0])
        if score > most and enough_rows(rows, test, min_rows):
            most = score
            found[:3] = test
    return most


def best_window(targets, weights, eps):
    best, most = (0, 0), -1
    for last in range(len(targets)):
        for first in range(last + 1):
            middle = targets[first] + 0.5 * (targets[last] - targets[first])
            if targets[last] - middle <= eps and middle - targets[first] <= eps:
                break
        if weights[first : last + 1].sum() > most:
            best, most = (first, last), weights[first : last + 1].sum()
    return best


def best_windows(targets, weights, ends, eps, found):
    for leaf, (low, high) in enumerate(pairwise(ends)):
        if low < high:
            first, last = best_window(targets[low:high], weights[low:high], eps)
            found[leaf] = targets[low + first], targets[low + last]


def leaf_medians(targets, weights, ends, found):
    for leaf, (low, high) in enumerate(pairwise(ends)):
        if low < high:
            so_far = np.cumsum(weights[low:high])
            found[leaf] = targets[low + np.searchsorted(so_far, so_far[-1] / 2)]
