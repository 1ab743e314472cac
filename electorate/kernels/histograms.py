"""Exact sums per label, column and bin: int64 on a fixed grid, so that neither threads nor shards change a bit.

codes of 8 bits come as words of four columns, codes[group, row]; codes of 16 bits as codes[column, row].
"""

import numpy as np

from electorate.kernels.compile import kernel

ROWS_PICKED = 4096  # rows of a node at a time: their numbers stay in the cache for all columns


@kernel
def quantise(channel, times, scale, starts, grid, totals):
    """grid[i] = rint(channel[i] * scale) * times[i] (times 1 where `times` is empty); totals[label] = its sums."""
    for label in range(totals.shape[0]):
        total = np.int64(0)
        if times.shape[0] == 0:
            for i in range(starts[label], starts[label + 1]):
                q = np.int64(np.rint(channel[i] * scale))
                grid[i] = q
                total += q
        else:
            for i in range(starts[label], starts[label + 1]):
                q = np.int64(np.rint(channel[i] * scale)) * times[i]
                grid[i] = q
                total += q
        totals[label] = total


@kernel
def histogram8(codes, grid, low, high, sums):
    """sums[column, bin] += grid over rows low..high."""
    byte = np.uint32(255)
    numbers = grid[low:high]  # indices that start at 0 cannot be negative: a sixth faster
    for g in range(codes.shape[0]):
        words = codes[g, low:high]
        first, second, third, fourth = sums[4 * g], sums[4 * g + 1], sums[4 * g + 2], sums[4 * g + 3]
        for i in range(numbers.shape[0]):
            word = words[i]
            q = numbers[i]
            first[word & byte] += q
            second[(word >> np.uint32(8)) & byte] += q
            third[(word >> np.uint32(16)) & byte] += q
            fourth[word >> np.uint32(24)] += q


@kernel
def histogram16(codes, grid, low, high, sums):
    """sums[column, bin] += grid over rows low..high."""
    numbers = grid[low:high]
    for j in range(codes.shape[0]):
        column = codes[j, low:high]
        total = sums[j]
        for i in range(numbers.shape[0]):
            total[column[i]] += numbers[i]


@kernel
def histogram8_of(codes, grid, order, low, high, sums):
    """`histogram8` over the rows order[low:high]."""
    byte = np.uint32(255)
    picked = np.empty(min(ROWS_PICKED, high - low), dtype=np.int64)
    for at in range(low, high, ROWS_PICKED):
        rows = order[at : min(at + ROWS_PICKED, high)]
        for k in range(rows.shape[0]):
            picked[k] = grid[rows[k]]
        for g in range(codes.shape[0]):
            words = codes[g]
            first, second, third, fourth = sums[4 * g], sums[4 * g + 1], sums[4 * g + 2], sums[4 * g + 3]
            for k in range(rows.shape[0]):
                word = words[rows[k]]
                q = picked[k]
                first[word & byte] += q
                second[(word >> np.uint32(8)) & byte] += q
                third[(word >> np.uint32(16)) & byte] += q
                fourth[word >> np.uint32(24)] += q


@kernel
def histogram16_of(codes, grid, order, low, high, sums):
    """`histogram16` over the rows order[low:high]."""
    picked = np.empty(min(ROWS_PICKED, high - low), dtype=np.int64)
    for at in range(low, high, ROWS_PICKED):
        rows = order[at : min(at + ROWS_PICKED, high)]
        for k in range(rows.shape[0]):
            picked[k] = grid[rows[k]]
        for j in range(codes.shape[0]):
            column = codes[j]
            total = sums[j]
            for k in range(rows.shape[0]):
                total[column[rows[k]]] += picked[k]


@kernel
def histograms8(codes, grid, starts, sums):
    """Set sums[label] to the `histogram8` of its rows, starts[label]..starts[label + 1]."""
    for label in range(starts.shape[0] - 1):
        sums[label] = 0  # just before it is used: large sums do not stay in the cache
        if starts[label] < starts[label + 1]:
            histogram8(codes, grid, starts[label], starts[label + 1], sums[label])


@kernel
def histograms8_of(codes, grid, order, low, starts, sums, whole):
    """Set sums[label] to the `histogram8_of` of the rows of one node; grid: of all rows.

    The sums are subtracted from `whole`, unless that is empty: the sums of the node's parent.
    """
    for label in range(starts.shape[0] - 1):
        first = low + starts[label]
        last = low + starts[label + 1]
        sums[label] = 0
        if first < last:
            histogram8_of(codes, grid, order, first, last, sums[label])
            if whole.shape[0] > 0:
                for j in range(sums.shape[1]):
                    mine = sums[label, j]
                    rest = whole[label, j]
                    for b in range(mine.shape[0]):
                        rest[b] -= mine[b]


@kernel
def spread(sums, place, used, cell, out):
    """Of several histograms: out[cell of a column's code] += the sums of that code in the stored column."""
    for h in range(sums.shape[0]):
        found = out[h]
        for j in range(place.shape[0]):
            joint, cells = sums[h, place[j]], cell[j]
            for code in range(used[j]):
                found[cells[code]] += joint[code]


@kernel
def unpack(packed, cells, out):
    """Of several histograms: out[cells[i]] = packed[i], and 0 elsewhere; cells ascend."""
    for h in range(packed.shape[0]):
        found, numbers = out[h], packed[h]
        last = np.uint64(0)
        for i in range(cells.shape[0]):
            cell = np.uint64(cells[i])
            for empty in range(last, cell):
                found[empty] = 0
            found[cell] = numbers[i]
            last = cell + np.uint64(1)
        for empty in range(last, found.shape[0]):
            found[empty] = 0
