"""The best split of a node for a numeric target: by MedBoost's edge over bins of the target, or by squared error.

A label is a bin of the target, in order. Kind 0: a side is right on all bins of one window, window k being the bins
reach[k]..k. Kind 1: it pays `rate` times the distance to its weighted median. Kind 2: it earns table[value, bin].
"""

import numpy as np

from electorate.kernels.compile import inlined, kernel

WINDOW_ROWS = 64  # rows of a block in `best_window`


@inlined
def _enough_rows(rows, column, cut, side, min_rows):
    """Whether both sides of a cut have min_rows rows; side 0: missing values go left. Also in search.py."""
    if rows.shape[0] == 0:
        return True
    left = rows[column, : cut + 1].sum() + (rows[column, rows.shape[1] - 1] if side == 0 else 0)
    return left >= min_rows and rows[column].sum() - left >= min_rows


@kernel
def side_edge(kind, weights, reach, targets, rate, table):
    """The most that one side can earn, less what it then loses, from the weight of each bin of the target."""
    bins = weights.shape[0]
    if bins == 0:
        return 0.0
    total = weights.sum()
    if kind == 0:
        most, inside = np.int64(0), np.int64(0)
        first = 0
        for k in range(bins):
            inside += weights[k]
            while first < reach[k]:
                inside -= weights[first]
                first += 1
            most = max(most, inside)
        return np.float64(most - (total - most))
    if kind == 1:
        middle = 0
        so_far = weights[0]
        while so_far < total - so_far and middle < bins - 1:
            middle += 1
            so_far += weights[middle]
        distance = 0.0
        for k in range(bins):
            distance += np.float64(weights[k]) * abs(targets[k] - targets[middle])
        return np.float64(total) - rate * distance
    best = -np.inf
    for v in range(table.shape[0]):
        earned = 0.0
        for k in range(bins):
            earned += np.float64(weights[k]) * table[v, k]
        best = max(best, earned)
    return best


@inlined
def _distance_edge(totals, left, is_right, weight, moment, targets, rate):
    """`side_edge` of kind 1 for the left side, or for the rest of the totals.

    weight, moment: the sums of the side's weights and of weight x target; only labels up to the median are read.
    """
    so_far = np.int64(0)
    some = 0.0
    middle = 0
    last = left.shape[0] - 1
    while True:
        here = totals[middle] - left[middle] if is_right else left[middle]
        so_far += here
        some += np.float64(here) * targets[middle]
        if so_far >= weight - so_far or middle == last:
            break
        middle += 1
    at = targets[middle]
    distance = (at * np.float64(so_far) - some) + ((moment - some) - at * np.float64(weight - so_far))
    return np.float64(weight) - rate * distance


@inlined
def _moment(weights, targets):
    """The sum of weight x target."""
    total = 0.0
    for k in range(weights.shape[0]):
        total += np.float64(weights[k]) * targets[k]
    return total


@inlined
def _sides_edge(totals, left, right, weight, total, moment, all_moment, kind, reach, away, rate, table, abstains):
    """The edge of a split of kind 1 or 2. weight, moment: of the left side; right: a buffer."""
    if kind == 1:
        one = _distance_edge(totals, left, False, weight, moment, away, rate)
        other = _distance_edge(totals, left, True, total - weight, all_moment - moment, away, rate)
    else:
        for k in range(totals.shape[0]):
            right[k] = totals[k] - left[k]
        one = side_edge(kind, left, reach, away, rate, table)
        other = side_edge(kind, right, reach, away, rate, table)
    return max(one, 0.0) + max(other, 0.0) if abstains else one + other


@inlined
def _best_by_cuts(
    sums, totals, n_bins, has_missing, ordered, rows, min_rows, kind, reach, targets, away, rate, table, abstains, found
):
    """`best_target_threshold` of kind 1 or 2, compiled once for each: a constant kind is a fifth faster.

    For kind 1 the sums of weight x target are carried along, so that a side takes one pass over its labels.
    """
    labels, miss = sums.shape[0], sums.shape[2] - 1
    total, all_moment = totals.sum(), _moment(totals, away)
    by_bin = np.empty((sums.shape[2], labels), dtype=np.int64)
    left = np.empty(labels, dtype=np.int64)
    with_missing = np.empty(labels, dtype=np.int64)
    right = np.empty(labels, dtype=np.int64)
    most = -np.inf
    for j in range(n_bins.shape[0]):
        if not ordered[j]:
            continue
        for k in range(labels):
            one = sums[k, j]
            for b in range(n_bins[j]):
                by_bin[b, k] = one[b]
            by_bin[miss, k] = one[miss]
        missing, missing_moment = by_bin[miss].sum(), _moment(by_bin[miss], away)
        left[:] = 0
        weight, moment = np.int64(0), 0.0
        for cut in range(n_bins[j] if has_missing[j] else n_bins[j] - 1):
            before = weight
            for k in range(labels):
                left[k] += by_bin[cut, k]
                weight += by_bin[cut, k]
                if kind == 1:
                    moment += np.float64(by_bin[cut, k]) * away[k]
            if weight == before:
                continue  # a bin without weight is no place to cut
            for side in range(0 if has_missing[j] and cut < n_bins[j] - 1 else 1, 2):
                mine, here, here_moment = left, weight, moment
                if side == 0:
                    for k in range(labels):
                        with_missing[k] = left[k] + by_bin[miss, k]
                    mine, here, here_moment = with_missing, weight + missing, moment + missing_moment
                if here == 0 or here == total:
                    continue
                edge = _sides_edge(
                    totals,
                    mine,
                    right,
                    here,
                    total,
                    here_moment,
                    all_moment,
                    kind,
                    reach,
                    away,
                    rate,
                    table,
                    abstains,
                )
                if edge > most and _enough_rows(rows, j, cut, side, min_rows):
                    most = edge
                    found[0], found[1], found[2] = j, cut, 1 - side
    return most


@kernel
def best_target_threshold(
    sums, totals, n_bins, has_missing, ordered, rows, min_rows, kind, reach, targets, away, rate, table, abstains, found
):
    """Find the threshold with the largest edge, where each side predicts what earns it the most; see `side_edge`.

    away: the targets less one of them; sums of these lose no digits where all targets are far from 0.
    abstains: a side that would lose does not predict. A threshold that leaves one side without weight is left out.
    Ties: first column, first cut, missing on the left. found: column, cut, missing left. Returns the edge, or -inf.
    """
    if kind == 0:
        return _best_by_windows(sums, totals, n_bins, has_missing, ordered, rows, min_rows, reach, abstains, found)
    if kind == 1:
        return _best_by_cuts(
            sums,
            totals,
            n_bins,
            has_missing,
            ordered,
            rows,
            min_rows,
            1,
            reach,
            targets,
            away,
            rate,
            table,
            abstains,
            found,
        )
    return _best_by_cuts(
        sums,
        totals,
        n_bins,
        has_missing,
        ordered,
        rows,
        min_rows,
        2,
        reach,
        targets,
        away,
        rate,
        table,
        abstains,
        found,
    )


@kernel
def _present_labels(totals, reach):
    """The labels that weigh something, and of each the place, among these, of the first label of its window."""
    present = np.empty(totals.shape[0], dtype=np.int64)
    opens = np.empty(totals.shape[0], dtype=np.int64)
    n_present = 0
    for k in range(totals.shape[0]):
        if totals[k] > 0:
            present[n_present] = k
            at = 0
            while present[at] < reach[k]:
                at += 1
            opens[n_present] = at
            n_present += 1
    return present[:n_present], opens[:n_present]


@kernel
def _cuts_with_weight(sums, j, present, cuts, place):
    """Write the bins up to `cuts` of column j that weigh something into place; returns how many.

    Where all labels are present they are not sought: all `cuts` bins count, and place is not written.
    """
    if present.shape[0] == sums.shape[0]:
        return cuts
    weight = np.zeros(cuts, dtype=np.int64)
    for i in range(present.shape[0]):
        one = sums[present[i], j]
        for cut in range(cuts):
            weight[cut] += one[cut]
    n_cuts = 0
    for cut in range(cuts):
        place[n_cuts] = cut
        n_cuts += int(weight[cut] != 0)
    return n_cuts


@inlined
def _column_windows(sums, j, present, opens, all_upto, has_missing, cuts, place, n_cuts, upto, miss_upto, best):
    """The heaviest window on both sides of every cut of a column: best[missing on the right, side, cut].

    upto[i, cut]: the weight of the labels before the i-th present one, left of a cut; a window is a difference of two.
    """
    best[:, :, :n_cuts] = 0
    for i in range(present.shape[0]):
        one = sums[present[i], j]
        before, after = upto[i], upto[i + 1]
        so_far = np.int64(0)
        if n_cuts == cuts:
            for cut in range(cuts):
                so_far += one[cut]
                after[cut] = before[cut] + so_far
        else:
            for q in range(n_cuts):
                so_far += one[place[q]]
                after[q] = before[q] + so_far
        miss_upto[i + 1] = miss_upto[i] + (one[one.shape[0] - 1] if has_missing else np.int64(0))
        if i + 1 < present.shape[0] and opens[i + 1] == opens[i]:
            continue  # the next window holds all of this one
        opened = upto[opens[i]]  # while the sums are in the cache
        whole = all_upto[i + 1] - all_upto[opens[i]]
        missing = miss_upto[i + 1] - miss_upto[opens[i]]
        for side in range(0 if has_missing else 1, 2):
            left, right = best[side, 0], best[side, 1]
            more = missing if side == 0 else np.int64(0)
            for q in range(n_cuts):
                window = after[q] - opened[q] + more
                left[q] = max(left[q], window)
                right[q] = max(right[q], whole - window)


@inlined
def _most_at_cuts(best, has_missing, n_cuts, total):
    """No less than the edge of any cut of a column, whatever is rounded: most columns need no closer look."""
    most = np.int64(0)
    for side in range(0 if has_missing else 1, 2):
        left, right = best[side, 0], best[side, 1]
        for q in range(n_cuts):
            most = max(most, left[q] + right[q])
    return np.float64(2 * most - total) + 1e-15 * np.float64(total)


@kernel
def _best_by_windows(sums, totals, n_bins, has_missing, ordered, rows, min_rows, reach, abstains, found):
    """`best_target_threshold` of kind 0: all cuts of a column at once, window by window.

    Only labels and bins that weigh something are read: deep in a tree, far fewer than there are.
    """
    width = sums.shape[2]
    present, opens = _present_labels(totals, reach)
    n_present = present.shape[0]
    upto = np.zeros((n_present + 1, width), dtype=np.int64)
    miss_upto = np.zeros(n_present + 1, dtype=np.int64)
    all_upto = np.zeros(n_present + 1, dtype=np.int64)
    for i in range(n_present):
        all_upto[i + 1] = all_upto[i] + totals[present[i]]
    total = all_upto[n_present]
    place = np.empty(width, dtype=np.int64)
    best = np.empty((2, 2, width), dtype=np.int64)
    most = -np.inf
    for j in range(n_bins.shape[0]):
        cuts = n_bins[j] if has_missing[j] else n_bins[j] - 1
        if not ordered[j] or cuts <= 0:
            continue
        n_cuts = _cuts_with_weight(sums, j, present, cuts, place)
        _column_windows(sums, j, present, opens, all_upto, has_missing[j], cuts, place, n_cuts, upto, miss_upto, best)
        last = upto[n_present]
        if not abstains and _most_at_cuts(best, has_missing[j], n_cuts, total) <= most:
            continue
        for q in range(n_cuts):
            cut = q if n_cuts == cuts else place[q]
            if last[q] == (last[q - 1] if q > 0 else np.int64(0)):
                continue  # a bin without weight is no place to cut
            for side in range(0 if has_missing[j] and cut < n_bins[j] - 1 else 1, 2):
                on_left = last[q] + (miss_upto[n_present] if side == 0 else np.int64(0))
                if on_left == 0 or on_left == total:
                    continue
                one = np.float64(best[side, 0, q] - (on_left - best[side, 0, q]))
                other = np.float64(best[side, 1, q] - (total - on_left - best[side, 1, q]))
                edge = max(one, 0.0) + max(other, 0.0) if abstains else one + other
                if edge > most and _enough_rows(rows, j, cut, side, min_rows):
                    most = edge
                    found[0], found[1], found[2] = j, cut, 1 - side
    return most


@kernel
def best_window(targets, weights, eps):
    """First and last of the sorted targets within eps of one value, for the most weight; of equals the first.

    Most windows are skipped: one that ends in a block of WINDOW_ROWS rows weighs no more than the block and the blocks
    before it that are near enough.
    """
    n = targets.shape[0]
    blocks = (n + WINDOW_ROWS - 1) // WINDOW_ROWS
    upto = np.zeros(blocks + 1, dtype=np.int64)
    for block in range(blocks):
        upto[block + 1] = upto[block] + weights[block * WINDOW_ROWS : (block + 1) * WINDOW_ROWS].sum()
    rounding = 1e-14 * (abs(targets[0]) + abs(targets[n - 1])) if n > 0 else 0.0
    opens = np.empty(blocks, dtype=np.int64)  # the first block that a window which ends in a block may reach into
    fullest = 0
    at = 0
    for block in range(blocks):
        start = targets[block * WINDOW_ROWS]
        while at < block and start - targets[(at + 1) * WINDOW_ROWS] > 2.0 * eps * (1.0 + 1e-14) + rounding:
            at += 1
        opens[block] = at
        if upto[block + 1] - upto[at] > upto[fullest + 1] - upto[opens[fullest]]:
            fullest = block
    near = 2.0 * eps * (1.0 - 1e-14) - rounding  # up to this distance no rounding can matter
    most, enough = np.int64(-1), np.int64(-1)  # enough: what the fullest block comes to; lighter blocks are skipped
    best_first, best_last = 0, 0
    for turn in range(-1 if blocks > 4 else 0, blocks):
        block = fullest if turn < 0 else turn
        if upto[block + 1] - upto[opens[block]] < enough:
            continue
        first = opens[block] * WINDOW_ROWS
        inside = upto[block] - upto[opens[block]]
        for last in range(block * WINDOW_ROWS, min(n, (block + 1) * WINDOW_ROWS)):
            inside += weights[last]
            while targets[last] - targets[first] > near:
                middle = targets[first] + 0.5 * (targets[last] - targets[first])
                if targets[last] - middle <= eps and middle - targets[first] <= eps:
                    break
                inside -= weights[first]
                first += 1
            if inside > most:
                most = inside
                best_first, best_last = first, last
        if turn < 0:
            most, enough = np.int64(-1), most
    return best_first, best_last


@kernel
def best_windows(targets, weights, ends, eps, found):
    """found[leaf, (first, last)]: the targets at both ends of the `best_window` of each leaf that has rows."""
    for leaf in range(ends.shape[0] - 1):
        mine = targets[ends[leaf] : ends[leaf + 1]]
        if mine.shape[0] > 0:
            first, last = best_window(mine, weights[ends[leaf] : ends[leaf + 1]], eps)
            found[leaf, 0], found[leaf, 1] = mine[first], mine[last]


@kernel
def leaf_medians(targets, weights, ends, found):
    """found[leaf]: the weighted median of the sorted targets of each leaf that has rows, of two the lower."""
    for leaf in range(ends.shape[0] - 1):
        low, high = ends[leaf], ends[leaf + 1]
        half = np.float64(weights[low:high].sum()) / 2
        so_far = np.int64(0)
        for i in range(low, high):
            so_far += weights[i]
            if np.float64(so_far) >= half:
                found[leaf] = targets[i]
                break


@kernel
def best_mean_threshold(sums, totals, n_bins, has_missing, ordered, rows, min_rows, found):
    """Find the threshold that explains the most squares; sums[0, column, bin]: weights, sums[1]: of weight x target.

    A threshold that leaves one side without weight is left out. Ties: first column, first cut, missing on the left.
    found: column, cut, missing left. Returns the explained squares, -inf if there is no threshold.
    """
    miss = sums.shape[2] - 1
    most = -np.inf
    for j in range(n_bins.shape[0]):
        if not ordered[j]:
            continue
        weights, targets = sums[0, j], sums[1, j]
        weight, target = np.int64(0), np.int64(0)
        for cut in range(n_bins[j] if has_missing[j] else n_bins[j] - 1):
            weight += weights[cut]
            target += targets[cut]
            if weights[cut] == 0 and targets[cut] == 0:
                continue  # a bin without weight is no place to cut
            for side in range(0 if has_missing[j] and cut < n_bins[j] - 1 else 1, 2):
                here, moment = weight, target
                if side == 0:
                    here += weights[miss]
                    moment += targets[miss]
                there = totals[0] - here
                if here <= 0 or there <= 0:
                    continue
                left, right = np.float64(moment), np.float64(totals[1] - moment)
                score = left * left / np.float64(here) + right * right / np.float64(there)
                if score > most and _enough_rows(rows, j, cut, side, min_rows):
                    most = score
                    found[0], found[1], found[2] = j, cut, 1 - side
    return most
