"""The rows of the nodes of a tree: parting them, summing the children, changing the state of the rows of a node.

order: row numbers, unsigned, which halves the time: a signed index might count from the end. Rows are sorted by label.
"""

import numpy as np

from electorate.kernels.compile import kernel
from electorate.kernels.histograms import node_histograms


@kernel
def split_rows(low, starts, column, on_left, order, spare, left_starts):
    """Part the rows order[low:] of a node: those that go left come first; both sides keep their order.

    Label k has the rows starts[k]..starts[k+1] after low; left_starts gets the same of the left side. spare: a buffer
    for the right side. Returns how many went left.
    """
    left = np.uint64(0)  # indices that cannot be negative: twice as fast
    right = np.uint64(0)
    parted = order[low:]
    for label in range(starts.shape[0] - 1):
        left_starts[label] = left
        rows = order[low + starts[label] : low + starts[label + 1]]
        for k in range(rows.shape[0]):
            row = rows[k]
            goes = np.uint64(on_left[column[row]])
            parted[left] = row  # what stood there has been read; without branches this is 3 times as fast
            spare[right] = row
            left += goes
            right += np.uint64(1) - goes
    left_starts[starts.shape[0] - 1] = left
    rest = parted[left:]
    for k in range(right):
        rest[k] = spare[k]
    return np.int64(left)


@kernel
def partition_nodes(codes, order, spare, nodes, splits, rows):
    """`split_rows` of several nodes. nodes: low[number] and starts[number, label]; those of the children are written.

    splits: node, left and right (numbers), column, and on_left[split, code]. rows[split, side]: how many rows.
    """
    per_word = codes.shape[2]
    for m in range(splits.node.shape[0]):
        node, left, right = splits.node[m], splits.left[m], splits.right[m]
        low, starts, left_starts = nodes.low[node], nodes.starts[node], nodes.starts[left]
        column = codes[splits.column[m] // per_word, :, splits.column[m] % per_word]
        n_left = split_rows(low, starts, column, splits.on_left[m], order, spare, left_starts)
        nodes.starts[right] = starts - left_starts
        nodes.low[left], nodes.low[right] = low, low + n_left
        rows[m, 0], rows[m, 1] = n_left, starts[-1] - n_left


@kernel
def sum_nodes(codes, grids, order, nodes, numbers, group, sums, clear):
    """Add to sums[node, label, column, bin] the histograms of some nodes, grid after grid.

    clear: set the sums to 0 before.
    """
    n_groups = sums.shape[1] // grids.shape[0]
    for m in range(numbers.shape[0]):
        low, starts = nodes.low[numbers[m]], nodes.starts[numbers[m]]
        for g in range(grids.shape[0]):
            mine = sums[m, g * n_groups : (g + 1) * n_groups]
            node_histograms(codes, grids[g], order, low, starts, group, mine, clear)


@kernel
def sum_signs(grid, award):
    """The sums of the grid where the award is positive, and where it is negative."""
    right = np.int64(0)
    wrong = np.int64(0)
    for i in range(grid.shape[0]):
        right += grid[i] if award[i] > 0 else np.int64(0)
        wrong += grid[i] if award[i] < 0 else np.int64(0)
    return right, wrong


@kernel
def add_gains(column, leaf_of_bin, gains, starts, state):
    """state[s, row] += gains[s, label of the row, leaf of its bin]."""
    table = np.empty(leaf_of_bin.shape[0], dtype=np.float64)
    for s in range(state.shape[0]):
        numbers = state[s]
        for label in range(starts.shape[0] - 1):
            for b in range(table.shape[0]):
                table[b] = gains[s, label, leaf_of_bin[b]]
            for i in range(starts[label], starts[label + 1]):
                numbers[i] += table[column[i]]
