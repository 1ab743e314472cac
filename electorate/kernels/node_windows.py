"""The best threshold of a node by windows of the target, from its rows, one column after another.

Rows are sorted by label, so that a window is a range of rows. From one window to the next some rows enter the sums of
the bins of a column and some leave. The sums up to every bin are what the window weighs on the left of a cut.
"""

import numpy as np

from electorate.kernels.compile import inlined, kernel

N_CODES = 256
MISSING = N_CODES - 1
OPENS, CLOSES, WHOLE = 0, 1, 2  # rows of `windows`: its first row, the one after its last, and its weight
# places in `work`, by bin: one array, so that the compiler can tell that they do not overlap
LEFT, RIGHT, UPTO, SUMS, WEIGHTS = 0, N_CODES, 2 * N_CODES, 3 * N_CODES, 4 * N_CODES
FULL = 8  # bins are filled up to a multiple of it: loops are vectorised


@inlined
def window_buffers(n_rows, n_labels):
    """What `best_by_windows` needs for the nodes of a tree, one after another."""
    met, bin_of = np.zeros(N_CODES // 8, dtype=np.uint64), np.empty(N_CODES // 8, dtype=np.uint64)
    return (
        np.empty((2, n_rows), dtype=np.int64),  # by label: the rows, and their weights
        np.empty(n_rows, dtype=np.uint32),  # the codes of four columns of every row
        np.empty(n_rows, dtype=np.uint8),  # the bin of every row
        np.empty((3, n_labels + 1), dtype=np.int64),  # windows
        np.zeros(5 * N_CODES, dtype=np.int64),  # work; SUMS and WEIGHTS are zero between two uses
        (met, met.view(np.uint8)),  # a byte per code, whether it is met; zero between two uses
        (bin_of, bin_of.view(np.uint8)),  # a byte per code, its bin
        np.empty(N_CODES, dtype=np.int64),  # the code of every bin
    )


@inlined
def _sort_rows(mine, numbers, n_labels, starts, by_label):
    """Sort rows and their weights by label; label k has the rows starts[k]..starts[k + 1]. Returns the sum of weights.

    numbers: see _weigh_rows of subtrees.py.
    """
    total = np.int64(0)
    for k in range(n_labels + 1):
        starts[k] = 0
    for i in range(mine.shape[0]):
        starts[(numbers[2, i] >> 8) + 1] += 1
    for k in range(n_labels):
        starts[k + 1] += starts[k]
    for i in range(mine.shape[0]):
        label = numbers[2, i] >> 8
        at = starts[label]
        by_label[0, at], by_label[1, at] = mine[i], numbers[0, i]
        total += numbers[0, i]
        starts[label] += 1
    for k in range(n_labels, 0, -1):
        starts[k] = starts[k - 1]
    starts[0] = 0
    return total


@inlined
def _list_windows(reach, totals, windows):
    """Replace the first row of every label, in windows[OPENS], by the windows that no other holds. Returns how many."""
    n_windows, first, weight = 0, 0, np.int64(0)
    for k in range(totals.shape[0]):
        weight += totals[k]
        while first < reach[k]:
            weight -= totals[first]
            first += 1
        if k + 1 == totals.shape[0] or reach[k + 1] != reach[k]:  # else the next one holds this one
            windows[CLOSES, n_windows] = windows[OPENS, k + 1]
            windows[WHOLE, n_windows] = weight
            windows[OPENS, n_windows] = windows[OPENS, first]
            n_windows += 1
    return n_windows


@inlined
def _list_bins(words, weights, j, all_met, all_bins, bins, code_of, work):
    """Number the codes that rows have, in order: bins[row] and code_of[bin]; missing values come last.

    Returns how many there are without these, and with them. The weights of the bins are added to WEIGHTS.
    """
    shift, byte, ones = np.uint32(8 * (j % 4)), np.uint32(255), np.uint64(0x0101010101010101)
    met, flags = all_met
    bin_of, numbers = all_bins
    for i in range(words.shape[0]):
        flags[(words[i] >> shift) & byte] = 1
    n_bins = np.uint64(0)
    for k in range(met.shape[0]):  # eight codes at a time: by the product a byte counts the flags up to it
        upto = met[k] * ones
        bin_of[k] = upto - met[k] + n_bins * ones
        n_bins += upto >> np.uint64(56)
        met[k] = 0
    for i in range(words.shape[0]):
        code = (words[i] >> shift) & byte
        bins[i] = numbers[code]
        code_of[bins[i]] = code
        work[WEIGHTS + np.int64(bins[i])] += weights[i]
    return np.int64(numbers[MISSING]), np.int64(n_bins)


@inlined
def _weigh_windows(bins, weights, windows, n_windows, n_bins, missing_left, work):
    """The heaviest window on the left and on the right of every cut, into LEFT and RIGHT."""
    filled = (n_bins + FULL - 1) // FULL * FULL
    for b in range(filled):
        work[LEFT + b] = 0
        work[RIGHT + b] = 0
    entered, gone = 0, 0
    for w in range(n_windows):
        for i in range(entered, windows[CLOSES, w]):
            work[SUMS + np.int64(bins[i])] += weights[i]
        for i in range(gone, windows[OPENS, w]):
            work[SUMS + np.int64(bins[i])] -= weights[i]
        entered, gone, whole = windows[CLOSES, w], windows[OPENS, w], windows[WHOLE, w]
        so_far = work[SUMS + n_bins] if missing_left else np.int64(0)
        for b in range(n_bins):
            so_far += work[SUMS + b]
            work[UPTO + b] = so_far
        for b in range(filled):
            work[LEFT + b] = max(work[LEFT + b], work[UPTO + b])
            work[RIGHT + b] = max(work[RIGHT + b], whole - work[UPTO + b])
    for b in range(n_bins + 1):
        work[SUMS + b] = 0


@inlined
def _count_left(count, words, by_label, j, cut, missing_left):
    """How many rows those on the left of a cut stand for."""
    n_rows, shift = np.int64(0), np.uint32(8 * (j % 4))
    for i in range(words.shape[0]):
        code = np.int64((words[i] >> shift) & np.uint32(255))
        if code <= cut or (code == MISSING and missing_left):
            n_rows += count[by_label[0, i]]
    return n_rows


@inlined
def _search_cuts(count, least, words, by_label, j, side, abstains, total, all_rows, work, code_of, n_bins, most, found):
    """Compare the cuts of a column with the best so far, an edge of `most`; returns the larger edge.

    side: 1 for missing values on the right. Ties: the first cut, then missing values on the left.
    """
    rounding = 1e-15 * np.float64(total)  # sums of over 53 bits are rounded
    on_left = work[WEIGHTS + n_bins] if side == 0 else np.int64(0)
    for b in range(n_bins):
        left, right, in_bin = work[LEFT + b], work[RIGHT + b], work[WEIGHTS + b]
        on_left += in_bin
        if not abstains and np.float64((left + right) - (total - left - right)) + rounding < most:
            continue
        if in_bin == 0 or on_left == 0 or on_left == total:
            continue  # no place to cut
        one, other = np.float64(left - (on_left - left)), np.float64(right - (total - on_left - right))
        edge = max(one, 0.0) + max(other, 0.0) if abstains else one + other
        code = code_of[b]
        if edge < most or (edge == most and not (found[0] == j and code < found[1])):
            continue
        if least > 1:
            n_left = _count_left(count, words, by_label, j, code, side == 0)
            if min(n_left, all_rows - n_left) < least:
                continue
        most = edge
        found[0], found[1], found[2] = j, code, 1 - side
    return most


@kernel
def best_by_windows(rows, mine, columns, rule, abstains, reach, totals, numbers, buffers, most, found):
    """`best_target_threshold` of kind 0 from the rows of a node, if its edge is over `most`; else returns `most`.

    reach, totals: by label that is present.
    """
    by_label, words, bins, windows, work, met, bin_of, code_of = buffers
    n_rows, all_rows, weights, least = mine.shape[0], np.int64(0), by_label[1], rule.min_samples_leaf
    words = words[:n_rows]
    total = _sort_rows(mine, numbers, totals.shape[0], windows[OPENS], by_label)
    n_windows = _list_windows(reach, totals, windows)
    for i in range(n_rows if least > 1 else 0):
        all_rows += rows.count[mine[i]]
    found[0] = -1
    at = -1
    for j in range(columns.n_bins.shape[0]):
        if not columns.ordered[j]:
            continue
        if at != j // 4:
            at = j // 4
            for i in range(n_rows):
                words[i] = rows.codes[by_label[0, i], at]
        n_bins, n_met = _list_bins(words, weights, j, met, bin_of, bins, code_of, work)
        misses, has_missing = n_met > n_bins, columns.has_missing[j]
        # without missing values both sides of them are the same, and the left is preferred
        for side in range(0 if has_missing else 1, 2 if misses or not has_missing else 1):
            _weigh_windows(bins, weights, windows, n_windows, n_bins, side == 0, work)
            most = _search_cuts(
                rows.count,
                least,
                words,
                by_label,
                j,
                side,
                abstains,
                total,
                all_rows,
                work,
                code_of,
                n_bins,
                most,
                found,
            )
        for b in range(n_bins + 1):
            work[WEIGHTS + b] = 0
    return most
