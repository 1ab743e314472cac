"""The best split of a node, from the weight of each label per column and bin: thresholds and sets of categories.

sums[label, column, bin], the missing values in the last bin; totals[label]; rows[column, bin]: the number of rows, or
empty, where no side needs min_rows rows. Ties: first column, first cut, missing values on the left.
"""

import numpy as np

from electorate.kernels.compile import inlined, kernel
from electorate.kernels.two_label_scores import gain_to_beat, may_beat, purity_of_two


@inlined
def _enough_rows(rows, column, cut, side, min_rows):
    """Whether both sides of a cut have min_rows rows; side 0: missing values go left. Also in target_search.py."""
    if rows.shape[0] == 0:
        return True
    left = rows[column, : cut + 1].sum() + (rows[column, rows.shape[1] - 1] if side == 0 else 0)
    return left >= min_rows and rows[column].sum() - left >= min_rows


@kernel
def best_threshold(sums, totals, n_bins, has_missing, ordered, rows, min_rows, found):
    """Find the threshold whose votes are right on the most weight, over all ordered columns.

    Each side votes for its heaviest label; a threshold whose sides vote for the same label is left out.
    found: column, cut, missing left. Returns the weight that is right, -1 if there is no threshold.
    """
    labels = sums.shape[0]
    if labels == 2 and rows.shape[0] == 0:
        return _best_threshold_of_two(sums, totals, n_bins, has_missing, ordered, found)
    miss = sums.shape[2] - 1
    left = np.empty(labels, dtype=np.int64)
    most = np.int64(-1)
    for j in range(n_bins.shape[0]):
        if not ordered[j]:
            continue
        left[:] = 0
        for cut in range(n_bins[j] if has_missing[j] else n_bins[j] - 1):
            for k in range(labels):
                left[k] += sums[k, j, cut]
            # side 0: missing goes left (not after the last bin: nothing would go right); side 1: right
            for side in range(0 if has_missing[j] and cut < n_bins[j] - 1 else 1, 2):
                at_left, at_right = 0, 0
                most_left, most_right = np.int64(-1), np.int64(-1)
                for k in range(labels):
                    here = left[k] + (sums[k, j, miss] if side == 0 else 0)
                    there = totals[k] - here
                    if here > most_left:
                        most_left, at_left = here, k
                    if there > most_right:
                        most_right, at_right = there, k
                better = at_left != at_right and most_left + most_right > most
                if better and _enough_rows(rows, j, cut, side, min_rows):
                    most = most_left + most_right
                    found[0], found[1], found[2] = j, cut, 1 - side
    return most


@kernel
def best_common_threshold(left, whole, totals_left, totals, n_bins, has_missing, ordered, taken, found):
    """Find the threshold for both children of a split whose four leaves are right on the most weight.

    left, whole[label, column, bin]: of the rows on the left of that split, and of all; totals_left, totals[label].
    taken: the column of that split, which is left out. Sums may be negative. found: column, cut, missing left.
    Returns the weight that is right, the lowest integer if there is no threshold.
    """
    labels = whole.shape[0]
    miss = whole.shape[2] - 1
    first = np.empty(labels, dtype=np.int64)
    both = np.empty(labels, dtype=np.int64)
    lowest = np.int64(-(2**63))
    most = lowest
    for j in range(n_bins.shape[0]):
        if not ordered[j] or j == taken:
            continue
        first[:] = 0
        both[:] = 0
        for cut in range(n_bins[j] if has_missing[j] else n_bins[j] - 1):
            for k in range(labels):
                first[k] += left[k, j, cut]
                both[k] += whole[k, j, cut]
            for side in range(0 if has_missing[j] and cut < n_bins[j] - 1 else 1, 2):
                a, b, c, d = lowest, lowest, lowest, lowest
                for k in range(labels):
                    here = first[k] + (left[k, j, miss] if side == 0 else 0)
                    every = both[k] + (whole[k, j, miss] if side == 0 else 0)
                    a = max(a, here)
                    b = max(b, totals_left[k] - here)
                    c = max(c, every - here)
                    d = max(d, totals[k] - totals_left[k] - every + here)
                if a + b + c + d > most:
                    most = a + b + c + d
                    found[0], found[1], found[2] = j, cut, 1 - side
    return most


@kernel
def _right_of_two(more, totals):
    """The weight that a threshold is right on, or -1; `more`: weight of label 1 less that of label 0 on the left."""
    apart = totals[1] - totals[0]
    if more > 0 and more >= apart:
        return totals[0] + more
    if more <= 0 and more < apart:
        return totals[1] - more
    return np.int64(-1)


@kernel
def _best_threshold_of_two(sums, totals, n_bins, has_missing, ordered, found):
    """`best_threshold` for two labels and any number of rows, from the difference of the labels on the left alone.

    The best threshold of a column has the largest or the smallest difference. Where that beats the columns before it,
    the column is read again for the first cut that is as good.
    """
    miss = sums.shape[2] - 1
    most = np.int64(-1)
    for j in range(n_bins.shape[0]):
        if not ordered[j]:
            continue
        first, second = sums[0, j], sums[1, j]
        more = np.int64(0)
        low, high = np.int64(0), np.int64(0)  # no cut at all: right on no more than no threshold
        for cut in range(n_bins[j] - 1):
            more += second[cut] - first[cut]
            low = min(low, more)
            high = max(high, more)
        best = max(_right_of_two(low, totals), _right_of_two(high, totals))
        missing = second[miss] - first[miss] if has_missing[j] else np.int64(0)
        if has_missing[j] and n_bins[j] > 0:
            best = max(best, _right_of_two(low + missing, totals), _right_of_two(high + missing, totals))
            best = max(best, _right_of_two(more + second[n_bins[j] - 1] - first[n_bins[j] - 1], totals))
        if best <= most:
            continue
        more = np.int64(0)
        for cut in range(n_bins[j] if has_missing[j] else n_bins[j] - 1):
            more += second[cut] - first[cut]
            for side in range(0 if has_missing[j] and cut < n_bins[j] - 1 else 1, 2):
                right = _right_of_two(more + (missing if side == 0 else np.int64(0)), totals)
                if right > most:
                    most = right
                    found[0], found[1], found[2] = j, cut, 1 - side
    return most


@kernel
def cost_at_best(right, right_squares, lam, spread):
    """EBBoost's cost (3) at the best step over that of no step, for a voter that is right on these shares of w and w^2.

    spread: the mean of w^2 over the square of the mean of w.
    """
    wrong = 1.0 - right
    ups = (1.0 - lam) * right * right + lam * (right_squares * spread)
    downs = (1.0 - lam) * wrong * wrong + lam * ((1.0 - right_squares) * spread)
    return 2.0 * np.sqrt(max(ups * downs, 0.0)) + 2.0 * (1.0 - lam) * right * wrong


@kernel
def cheapest_threshold(sums, totals, squares, square_totals, n_bins, has_missing, ordered, lam, spread, found):
    """Find the threshold of the lowest `cost_at_best` whose left side votes for label 1 and whose right side for 0.

    sums, squares[label, column, bin] and their totals[label]: of w and of w^2. found: column, cut, missing left.
    Returns the cost, inf if there is no threshold.
    """
    miss = sums.shape[2] - 1
    all_weights = np.float64(totals[0] + totals[1])
    all_squares = np.float64(square_totals[0] + square_totals[1])
    least = np.inf
    for j in range(n_bins.shape[0]):
        if not ordered[j]:
            continue
        right, up = totals[0], square_totals[0]
        for cut in range(n_bins[j] if has_missing[j] else n_bins[j] - 1):
            right += sums[1, j, cut] - sums[0, j, cut]
            up += squares[1, j, cut] - squares[0, j, cut]
            for side in range(0 if has_missing[j] and cut < n_bins[j] - 1 else 1, 2):
                here, above = right, up
                if side == 0:
                    here += sums[1, j, miss] - sums[0, j, miss]
                    above += squares[1, j, miss] - squares[0, j, miss]
                cost = cost_at_best(here / all_weights, above / all_squares, lam, spread)
                if cost < least:
                    least = cost
                    found[0], found[1], found[2] = j, cut, 1 - side
    return least


@kernel
def send_left(histogram, seen, column, cut, missing_left, on_left, sides):
    """Write the bins on_left of a split x <= cut, and the weights sides[side, label] on its two sides.

    Missing values go left if missing_left is 1, right if it is 0; if -1, to the side that is heavier in seen[bin].
    """
    miss = on_left.shape[0] - 1
    if miss < 0:
        return
    if missing_left < 0:
        missing_left = 1 if seen[: cut + 1].sum() >= seen[cut + 1 : miss].sum() else 0
    for b in range(miss):
        on_left[b] = b <= cut
    on_left[miss] = missing_left == 1
    for k in range(histogram.shape[0]):
        sides[0, k] = 0
        sides[1, k] = 0
        for b in range(on_left.shape[0]):
            sides[0 if on_left[b] else 1, k] += histogram[k, column, b]


@kernel
def purity(criterion, left, totals):
    """How well a split separates the labels, larger is better. Criterion 1: Gini; 2: Matsushita's error, negated.

    Gini: the sum over sides of sum_k w_k^2 / w. Matsushita: minus the sum over sides of sum_k sqrt(w_k (w - w_k)).
    """
    all_left, all_right = 0.0, 0.0
    for k in range(left.shape[0]):
        all_left += np.float64(left[k])
        all_right += np.float64(totals[k] - left[k])
    # one number per side: a split and its mirror image then tie to the bit
    score_left, score_right = 0.0, 0.0
    for k in range(left.shape[0]):
        here = np.float64(left[k])
        there = np.float64(totals[k] - left[k])
        if criterion == 1:
            if all_left > 0:
                score_left += here * here / all_left
            if all_right > 0:
                score_right += there * there / all_right
        else:
            score_left -= np.sqrt(here * max(all_left - here, 0.0))
            score_right -= np.sqrt(there * max(all_right - there, 0.0))
    return score_left + score_right


@kernel
def is_pure(totals):
    """Whether one label has all of the weight but a millionth, for nodes where no split gains.

    A split that leaves the heaviest label on both sides gains the square of the share of the others by Gini's index.
    Below a millionth this is lost in rounding: that no split gains then does not mean that the node is balanced.
    """
    weight = 0.0
    for k in range(totals.shape[0]):
        weight += np.float64(totals[k])
    return weight <= purity(1, np.zeros_like(totals), totals) * (1 + 1e-6)


@kernel
def purest_threshold(sums, totals, n_bins, has_missing, ordered, rows, min_rows, criterion, found):
    """As best_threshold, for the largest `purity`; -inf if there is no threshold."""
    limits = (rows, min_rows, criterion, found)
    if sums.shape[0] == 2:
        return _purest_threshold_of_two(sums, totals, n_bins, has_missing, ordered, *limits)
    return _purest_threshold_of_many(sums, totals, n_bins, has_missing, ordered, *limits)


@kernel
def _purest_threshold_of_many(sums, totals, n_bins, has_missing, ordered, rows, min_rows, criterion, found):
    """`purest_threshold` for any number of labels: all cuts of a column at once, label by label."""
    labels, miss = sums.shape[0], sums.shape[2] - 1
    weights = np.empty((2, labels, miss + 1), dtype=np.float64)  # [side, label, cut]
    parts = np.empty((2, 2, miss + 1), dtype=np.float64)  # [weight or score, side, cut]
    scores = np.empty((2, miss + 1), dtype=np.float64)  # [missing on the right, cut]
    moved = np.empty(miss + 1, dtype=np.int64)
    most = -np.inf
    for j in range(n_bins.shape[0]):
        cuts = n_bins[j] if has_missing[j] else n_bins[j] - 1
        if not ordered[j] or cuts <= 0:
            continue
        moved[:cuts] = 0
        for k in range(labels):
            one = sums[k, j]
            for cut in range(cuts):
                moved[cut] |= one[cut]
        for side in range(0 if has_missing[j] else 1, 2):
            _score_cuts_of_many(criterion, sums[:, j], cuts, side == 0, totals, weights, parts, scores[side])
        for cut in range(cuts):
            if moved[cut] == 0:  # an empty bin of this node: the cut before it is the same split, and came first
                continue
            for side in range(0 if has_missing[j] and cut < n_bins[j] - 1 else 1, 2):
                if scores[side, cut] > most and _enough_rows(rows, j, cut, side, min_rows):
                    most = scores[side, cut]
                    found[0], found[1], found[2] = j, cut, 1 - side
    return most


@kernel
def _score_cuts_of_many(criterion, sums, cuts, missing_left, totals, weights, parts, scores):
    """scores[cut] = `purity` with the bins up to cut on the left, by the same operations; sums[label, bin]."""
    parts[:, :, :cuts] = 0.0
    all_left, all_right, score_left, score_right = parts[0, 0], parts[0, 1], parts[1, 0], parts[1, 1]
    for k in range(sums.shape[0]):
        one, here, there, every = sums[k], weights[0, k], weights[1, k], totals[k]
        left = one[one.shape[0] - 1] if missing_left else np.int64(0)
        for cut in range(cuts):
            left += one[cut]
            here[cut], there[cut] = np.float64(left), np.float64(every - left)
        for cut in range(cuts):
            all_left[cut] += here[cut]
            all_right[cut] += there[cut]
    if criterion == 1:
        for cut in range(cuts):  # a side without weight scores 0; any other has at least 1
            all_left[cut], all_right[cut] = max(all_left[cut], 1.0), max(all_right[cut], 1.0)
    for k in range(sums.shape[0]):
        here, there = weights[0, k], weights[1, k]
        if criterion == 1:
            for cut in range(cuts):
                score_left[cut] += here[cut] * here[cut] / all_left[cut]
                score_right[cut] += there[cut] * there[cut] / all_right[cut]
        else:
            for cut in range(cuts):
                score_left[cut] -= np.sqrt(here[cut] * max(all_left[cut] - here[cut], 0.0))
                score_right[cut] -= np.sqrt(there[cut] * max(all_right[cut] - there[cut], 0.0))
    for cut in range(cuts):
        scores[cut] = score_left[cut] + score_right[cut]


@kernel
def _purest_threshold_of_two(sums, totals, n_bins, has_missing, ordered, rows, min_rows, criterion, found):
    """`purest_threshold` for two labels: column by column, and only columns where a cut may win are scored."""
    miss = sums.shape[2] - 1
    weights = np.empty((2, 2, miss + 1), dtype=np.int64)  # [missing on the right, label, cut]: on the left
    scores = np.empty((2, miss + 1), dtype=np.float64)  # [missing on the right, cut]
    most = -np.inf
    for j in range(n_bins.shape[0]):
        cuts = n_bins[j] if has_missing[j] else n_bins[j] - 1
        if not ordered[j] or cuts <= 0:
            continue
        first, second = sums[0, j], sums[1, j]
        may_win = False
        for side in range(0 if has_missing[j] else 1, 2):
            more = (first[miss], second[miss]) if side == 0 else (np.int64(0), np.int64(0))
            _sum_cuts(first[:cuts], second[:cuts], more, weights[side])
            may_win = may_win or criterion != 1 or _any_may_beat(most, cuts, weights[side], totals)
        if not may_win:
            continue
        for side in range(0 if has_missing[j] else 1, 2):
            _score_cuts(criterion, cuts, weights[side], totals, scores[side])
        for cut in range(cuts):
            for side in range(0 if has_missing[j] and cut < n_bins[j] - 1 else 1, 2):
                # an empty bin of this node: the cut before it is the same split, and came first
                better = scores[side, cut] > most and (first[cut] != 0 or second[cut] != 0)
                if better and _enough_rows(rows, j, cut, side, min_rows):
                    most = scores[side, cut]
                    found[0], found[1], found[2] = j, cut, 1 - side
    return most


@inlined
def _sum_cuts(first, second, more, weights):
    """weights[label, cut] = the sum of the bins up to cut, and more."""
    here, also_here = weights[0], weights[1]
    a, b = more
    for cut in range(first.shape[0]):
        a += first[cut]
        b += second[cut]
        here[cut], also_here[cut] = a, b


@inlined
def _any_may_beat(most, cuts, weights, totals):
    """Whether some cut may have a Gini score above `most`, from weights[label, cut] on the left."""
    if most < 0:
        return True
    here, also_here = weights[0], weights[1]
    one, other = np.float64(totals[0]), np.float64(totals[1])
    to_beat, better = gain_to_beat(most, one, other), 0
    for cut in range(cuts):
        better += int(may_beat(np.float64(here[cut]), np.float64(also_here[cut]), one, other, to_beat))
    return better > 0


@kernel
def _score_cuts(criterion, cuts, weights, totals, scores):
    """scores[cut] = `purity_of_two`, from weights[label, cut] on the left."""
    if criterion == 1:  # the constant criterion lets the compiler vectorise both loops
        _score_weights(1, cuts, weights[0], weights[1], totals, scores)
    else:
        _score_weights(2, cuts, weights[0], weights[1], totals, scores)


@inlined
def _score_weights(criterion, cuts, here, also_here, totals, scores):
    one, other = totals[0], totals[1]
    for cut in range(cuts):
        a, b = here[cut], also_here[cut]
        scores[cut] = purity_of_two(criterion, np.float64(a), np.float64(one - a), np.float64(b), np.float64(other - b))


@kernel
def best_subset(sums, n_bins, has_missing, ordered, rows, min_rows, found):
    """Find the set of categories whose vote is right on the most weight, over all category columns.

    For two labels the best set holds the categories that are heavier in one than in the other, so every pair of labels
    is tried; ties: first column, then first pair. found: column, left label, right label; a category is on the left if
    it is heavier in the left label. Returns the weight that is right, or -1.
    """
    labels = sums.shape[0]
    miss = sums.shape[2] - 1
    most = np.int64(-1)
    for j in range(n_bins.shape[0]):
        if ordered[j]:
            continue
        for a in range(labels):
            for b in range(a + 1, labels):
                total = np.int64(0)
                categories = np.zeros(2, dtype=np.int64)  # by side
                n_rows = np.zeros(2, dtype=np.int64)
                for c in range(n_bins[j] + 1 if has_missing[j] else n_bins[j]):
                    at = miss if c == n_bins[j] else c
                    side = 0 if sums[a, j, at] > sums[b, j, at] else 1
                    total += sums[b if side else a, j, at]
                    categories[side] += 1
                    if rows.shape[0] > 0:
                        n_rows[side] += rows[j, at]
                if categories.min() > 0 and total > most and (rows.shape[0] == 0 or n_rows.min() >= min_rows):
                    most = total
                    found[0], found[1], found[2] = j, a, b
    return most


@kernel
def purest_subset(sums, totals, n_bins, ordered, rows, min_rows, criterion, found, on_left):
    """As best_subset, for the largest `purity`: categories in the order of a label's share, cut once.

    For two labels this finds the best of all sets; for more, the best along each label's order. Missing values
    are one more category. on_left[bin] gets the set; found: column. Returns the purity, or -inf.
    """
    labels = sums.shape[0]
    miss = sums.shape[2] - 1
    here = np.empty(labels, dtype=np.int64)
    most = -np.inf
    for j in range(n_bins.shape[0]):
        if ordered[j]:
            continue
        at = np.empty(n_bins[j] + 1, dtype=np.int64)
        share = np.empty(n_bins[j] + 1, dtype=np.float64)
        for label in range(1 if labels == 2 else 0, labels):
            seen = 0
            for c in range(n_bins[j] + 1):
                bin = miss if c == n_bins[j] else c
                weight = 0.0
                for k in range(labels):
                    weight += np.float64(sums[k, j, bin])
                if weight > 0:
                    at[seen] = bin
                    share[seen] = np.float64(sums[label, j, bin]) / weight
                    seen += 1
            order = at[np.argsort(share[:seen], kind="mergesort")]
            here[:] = 0
            n_rows = np.int64(0)
            for c in range(seen - 1):
                for k in range(labels):
                    here[k] += sums[k, j, order[c]]
                if rows.shape[0] > 0:
                    n_rows += rows[j, order[c]]
                    if n_rows < min_rows or rows[j].sum() - n_rows < min_rows:
                        continue
                if labels == 2:  # as for thresholds: the same split must get the same score
                    a, b = np.float64(here[0]), np.float64(here[1])
                    others = np.float64(totals[0] - here[0]), np.float64(totals[1] - here[1])
                    score = purity_of_two(criterion, a, others[0], b, others[1])
                else:
                    score = purity(criterion, here, totals)
                if score > most:
                    most = score
                    found[0] = j
                    on_left[:] = False
                    for e in range(c + 1):
                        on_left[order[e]] = True
    return most
