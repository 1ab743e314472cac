"""The purest threshold of a small node of two labels, from its rows, four columns at a time: see subtrees.py.

Its histogram is full, but bin b is at the place with the two halves of the byte exchanged: cells[b % 16, b // 16]. The
sums of 16 blocks of 16 bins are then sums of vectors, and only blocks that may have a better cut are read bin by bin.
"""

import numpy as np

from electorate.kernels.compile import inlined, kernel
from electorate.kernels.two_label_scores import gain_to_beat, may_beat, purity_of_two

BLOCK = 16  # bins; and so many blocks
N_CODES = BLOCK * BLOCK
MISSING = N_CODES - 1
GINI = 1


@inlined
def _add_rows(words, g, mine, weight, label, cells):
    """Add the rows to cells[label, column of the word, place of the bin], flat."""
    byte, low = np.uint32(255), np.uint32(0x0F0F0F0F)
    first, second, third, fourth = cells, cells[N_CODES:], cells[2 * N_CODES :], cells[3 * N_CODES :]
    for i in range(mine.shape[0]):
        word = words[mine[i], g]
        word = ((word & low) << np.uint32(4)) | ((word >> np.uint32(4)) & low)
        q, at = weight[i], np.uint64(4) * np.uint64(label[i])
        first[at + np.uint64(word & byte)] += q
        second[at + np.uint64((word >> np.uint32(8)) & byte)] += q
        third[at + np.uint64((word >> np.uint32(16)) & byte)] += q
        fourth[at + np.uint64(word >> np.uint32(24))] += q


@inlined
def _sum_blocks(cells, sums):
    """sums[k] = the weight of all bins before block k."""
    for k in range(BLOCK):
        sums[k] = cells[k]
    for i in range(1, BLOCK):
        for k in range(BLOCK):
            sums[k] += cells[BLOCK * i + k]
    before = np.int64(0)
    for k in range(BLOCK):
        here = sums[k]
        sums[k] = before
        before += here
    sums[BLOCK] = before


@inlined
def _mark_blocks(firsts, seconds, more, one, other, to_beat, marks):
    """Mark the blocks that may have a better cut; returns how many. more: weights that are on the left of all cuts.

    The score is a convex function of the weights on the left, so it is largest at a corner of the block.
    """
    found = 0
    for k in range(BLOCK):
        a, last_a = np.float64(firsts[k] + more[0]), np.float64(firsts[k + 1] + more[0])
        b, last_b = np.float64(seconds[k] + more[1]), np.float64(seconds[k + 1] + more[1])
        beats = may_beat(a, last_b, one, other, to_beat) | may_beat(last_a, b, one, other, to_beat)
        beats |= may_beat(a, b, one, other, to_beat) | may_beat(last_a, last_b, one, other, to_beat)
        marks[k] |= beats
        found += int(beats)
    return found


@kernel
def _search_column(first, second, n_bins, has_missing, totals, most, sums, marks, found):
    """The largest score of the cuts of one column if it is above `most`, else `most`; found: cut, missing left."""
    one, other = np.float64(totals[0]), np.float64(totals[1])
    to_beat, missing = gain_to_beat(most, one, other), (first[MISSING], second[MISSING])
    first[MISSING], second[MISSING] = 0, 0
    _sum_blocks(first, sums[0])
    _sum_blocks(second, sums[1])
    marks[:] = False
    n_marked = _mark_blocks(sums[0], sums[1], (np.int64(0), np.int64(0)), one, other, to_beat, marks)
    if has_missing:
        n_marked += _mark_blocks(sums[0], sums[1], missing, one, other, to_beat, marks)
    if n_marked == 0:
        return most
    cuts = n_bins if has_missing else n_bins - 1
    for k in range((cuts + BLOCK - 1) // BLOCK):
        if not marks[k]:
            continue
        a, b = sums[0, k], sums[1, k]
        for cut in range(BLOCK * k, min(BLOCK * k + BLOCK, cuts)):
            at = BLOCK * (cut % BLOCK) + k
            a += first[at]
            b += second[at]
            if first[at] == 0 and second[at] == 0:  # the cut before it is the same split, and came first
                continue
            # side 0: missing goes left (not after the last bin: nothing would go right); side 1: right
            for side in range(0 if has_missing and cut < n_bins - 1 else 1, 2):
                here, also = (a + missing[0], b + missing[1]) if side == 0 else (a, b)
                if not may_beat(np.float64(here), np.float64(also), one, other, to_beat):
                    continue
                there, also_there = np.float64(totals[0] - here), np.float64(totals[1] - also)
                score = purity_of_two(GINI, np.float64(here), there, np.float64(also), also_there)
                if score > most:
                    most, to_beat = score, gain_to_beat(score, one, other)
                    found[1], found[2] = cut, 1 - side
    return most


@kernel
def best_of_two(rows, mine, columns, numbers, totals, most, cells, found):
    """Find the threshold of the largest Gini score above `most`, as `purest_threshold`; returns its score, or `most`.

    numbers: of the rows, see _weigh_rows of subtrees.py. cells: a buffer, [label, column of a word, bin].
    found: column, cut, missing left.
    """
    sums, marks = np.empty((2, BLOCK + 1), dtype=np.int64), np.empty(BLOCK, dtype=np.bool_)
    flat, n_columns = cells.ravel(), columns.n_bins.shape[0]
    for g in range((n_columns + 3) // 4):
        flat[:] = 0
        _add_rows(rows.codes, g, mine, numbers[0], numbers[2], flat)
        for j in range(4 * g, min(4 * g + 4, n_columns)):
            if not columns.ordered[j] or columns.n_bins[j] == 0:
                continue
            one, other = cells[0, j - 4 * g], cells[1, j - 4 * g]
            layout = columns.n_bins[j], columns.has_missing[j]
            score = _search_column(one, other, *layout, totals, most, sums, marks, found)
            if score > most:
                most = score
                found[0] = j
    return most
