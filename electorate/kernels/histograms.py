"""Exact sums per label, column and bin: int64 on a fixed grid, so that neither threads nor shards change a bit.

codes of 8 bits come as words of four columns, codes[word, row]; wider codes as codes[column, row].
"""

import numpy as np

from electorate.kernels.compile import kernel

ROWS_PICKED = 4096  # rows of a node at a time: their numbers stay in the cache for all columns
CELLS_AT_ONCE = 1024  # of sums that are added up


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
def histogram(codes, grid, low, high, sums):
    """sums[column, bin] += grid over rows low..high."""
    numbers = grid[low:high]  # indices that start at 0 cannot be negative: a sixth faster
    if sums.shape[0] == codes.shape[0]:
        for j in range(codes.shape[0]):
            column = codes[j, low:high]
            total = sums[j]
            for i in range(numbers.shape[0]):
                total[column[i]] += numbers[i]
        return
    byte = np.uint32(255)
    for g in range(codes.shape[0]):
        words = codes[g, low:high]
        first, second, third, fourth = sums[4 * g], sums[4 * g + 1], sums[4 * g + 2], sums[4 * g + 3]
        for i in range(numbers.shape[0]):
            word = np.uint32(words[i])
            q = numbers[i]
            first[word & byte] += q
            second[(word >> np.uint32(8)) & byte] += q
            third[(word >> np.uint32(16)) & byte] += q
            fourth[word >> np.uint32(24)] += q


@kernel
def histogram_of(codes, grid, order, low, high, sums):
    """`histogram` over the rows order[low:high]."""
    byte = np.uint32(255)
    picked = np.empty(min(ROWS_PICKED, high - low), dtype=np.int64)
    for at in range(low, high, ROWS_PICKED):
        rows = order[at : min(at + ROWS_PICKED, high)]
        for k in range(rows.shape[0]):
            picked[k] = grid[rows[k]]
        if sums.shape[0] == codes.shape[0]:
            for j in range(codes.shape[0]):
                column = codes[j]
                total = sums[j]
                for k in range(rows.shape[0]):
                    total[column[rows[k]]] += picked[k]
            continue
        for g in range(codes.shape[0]):
            words = codes[g]
            first, second, third, fourth = sums[4 * g], sums[4 * g + 1], sums[4 * g + 2], sums[4 * g + 3]
            for k in range(rows.shape[0]):
                word = np.uint32(words[rows[k]])
                q = picked[k]
                first[word & byte] += q
                second[(word >> np.uint32(8)) & byte] += q
                third[(word >> np.uint32(16)) & byte] += q
                fourth[word >> np.uint32(24)] += q


@kernel
def label_histograms(codes, grid, starts, group, sums, clear):
    """Add to sums[label] the `histogram` of the rows of all labels of its group, label k: starts[k]..starts[k + 1].

    clear: set them to 0 before.
    """
    cleared = np.int64(0)  # groups ascend with their first label
    for label in range(group.shape[0]):
        if clear and group[label] >= cleared:
            sums[cleared : group[label] + 1] = 0  # just before it is used: large sums do not stay in the cache
            cleared = group[label] + 1
        if starts[label] < starts[label + 1]:
            histogram(codes, grid, starts[label], starts[label + 1], sums[group[label]])


@kernel
def node_histograms(codes, grid, order, low, starts, group, sums, clear):
    """As `label_histograms`, for the rows order[low:] of one node; grid: of all rows."""
    cleared = np.int64(0)
    for label in range(group.shape[0]):
        if clear and group[label] >= cleared:
            sums[cleared : group[label] + 1] = 0
            cleared = group[label] + 1
        if starts[label] < starts[label + 1]:
            histogram_of(codes, grid, order, low + starts[label], low + starts[label + 1], sums[group[label]])


@kernel
def add_up(stack, out, low, high):
    """out[low:high] = the sums over all shards of stack[shard, low:high]."""
    if stack.shape[0] == 0:
        out[low:high] = 0
        return
    for at in range(low, high, CELLS_AT_ONCE):
        end = min(at + CELLS_AT_ONCE, high)
        total = out[at:end]
        total[:] = stack[0, at:end]
        for shard in range(1, stack.shape[0]):
            more = stack[shard, at:end]
            for i in range(total.shape[0]):
                total[i] += more[i]


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
