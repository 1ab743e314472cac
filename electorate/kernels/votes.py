"""Prediction by trees: the leaf that a row reaches in every voter, and the sums of their votes.

cells[place, row]: the cell of a value, the number of edges below it.
"""

import numpy as np

from electorate.kernels.compile import kernel


@kernel
def walk(cells, offsets, place, cut, members, missing_left, children, sets, units, votes):
    """votes[output, row] += units of the leaf that a row reaches in each voter.

    A cell is -1 where a value is missing. A node goes left if the cell is at most its cut, or in its set of categories;
    place is -1 at a leaf.
    """
    for t in range(offsets.shape[0] - 1):
        root = offsets[t]
        for i in range(cells.shape[1]):
            node = root
            while place[node] >= 0:
                cell = cells[place[node], i]
                if cell < 0:
                    left = missing_left[node]
                elif members[node] >= 0:
                    left = sets[members[node], cell]
                else:
                    left = cell <= cut[node]
                node = root + (children[node, 0] if left else children[node, 1])
            for k in range(votes.shape[0]):
                votes[k, i] += units[node, k]


@kernel
def walk_ordered(cells, offsets, depths, place, low, cut, kids, units, votes, scratch):
    """As `walk`, for voters with thresholds only: all rows of a block go down together, without branches.

    A cell goes left if low <= cell <= cut, so that a missing one (-1) does where low is -1. kids[node, 1 if left]:
    counted from the first node of all; a leaf leads to itself.
    """
    rows = cells.shape[1]
    flat = cells.ravel()
    both = kids.ravel()
    for t in range(offsets.shape[0] - 1):
        for i in range(rows):
            scratch[i] = offsets[t]
        for _ in range(depths[t]):
            for i in range(rows):
                node = scratch[i]
                cell = flat[place[node] * rows + i]
                goes = np.int32(cell >= low[node]) & np.int32(cell <= cut[node])
                scratch[i] = both[2 * node + goes]
        for k in range(votes.shape[0]):
            total = votes[k]
            for i in range(rows):
                total[i] += units[scratch[i], k]


@kernel
def cross_out(cells, first, last, tests, planes, leaf):
    """leaf[row] of a tree with the splits first..last: every split crosses out the leaves on the side not taken.

    cells: bytes, 255 where missing. planes[byte of leaves, row]: the leaves not crossed out, in the end a single bit.
    """
    rows = cells.shape[1]
    if first == last:
        leaf[:] = np.uint8(0)
        return
    used = np.int64(0)
    for q in range(first, last):
        used = max(used, np.int64(tests.span[q, 1]))
    planes[:used] = np.uint8(255)
    for q in range(first, last):
        column = cells[tests.place[q]]
        by_table = tests.table[q] >= 0
        shift, cut = tests.shift[q], tests.cut[q]
        if by_table:
            goes_left = tests.tables[tests.table[q]]
            for i in range(rows):
                leaf[i] = goes_left[column[i]]
        for p in range(tests.span[q, 0], tests.span[q, 1]):
            plane = planes[p]
            right, left = tests.keep[q, p, 0], tests.keep[q, p, 1]
            if by_table:
                for i in range(rows):
                    plane[i] &= left if leaf[i] != 0 else right
            else:
                for i in range(rows):
                    plane[i] &= left if np.uint8(column[i] + shift) <= cut else right
    leaf[:] = np.uint8(0)
    for p in range(used):
        plane = planes[p]
        base = np.uint8(8 * p)
        for i in range(rows):
            bit = plane[i]
            odd, upper, high = bit & 0xAA, bit & 0xCC, bit & 0xF0
            number = np.uint8(odd != 0) | np.uint8((upper != 0) << 1) | np.uint8((high != 0) << 2)
            leaf[i] |= number | (base if bit != 0 else np.uint8(0))


@kernel
def vote(cells, offsets, leaves, tests, units, votes, planes, leaf):
    """votes[output, row] += the units of the leaf that a row reaches in every tree (see electorate/model/masks.py).

    units[output, leaf] with the leaves of tree t from leaves[t] on; cells and planes as in `cross_out`.
    """
    for t in range(offsets.shape[0] - 1):
        cross_out(cells, offsets[t], offsets[t + 1], tests, planes, leaf)
        for k in range(votes.shape[0]):
            total, mine = votes[k], units[k, leaves[t] : leaves[t + 1]]
            for i in range(total.shape[0]):
                total[i] += mine[leaf[i]]


@kernel
def tree_outputs(cells, offsets, leaves, tests, values, out, planes, leaf):
    """out[output, row, voter] = the output of every tree, not their sum; as in `vote`."""
    for t in range(offsets.shape[0] - 1):
        cross_out(cells, offsets[t], offsets[t + 1], tests, planes, leaf)
        for k in range(out.shape[0]):
            mine = values[k, leaves[t] : leaves[t + 1]]
            for i in range(out.shape[1]):
                out[k, i, t] = mine[leaf[i]]
