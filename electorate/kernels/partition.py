"""The rows of the nodes of a tree: parting them, summing the children, changing the state of the rows of a node.

order: row numbers, unsigned, which halves the time: a signed index might count from the end. Rows are sorted by label.
"""

import numpy as np

from electorate.kernels.compile import kernel
from electorate.kernels.histograms import node_histograms, subtract


@kernel
def split_rows(before, low, starts, column, on_left, order, spare, left_starts):
    """Put the rows before[low:] of a node into order[low:], those that go left first; both sides keep their order.

    before and order may be the same. Label k has the rows starts[k]..starts[k+1] after low; left_starts gets the same
    of the left side. spare: a buffer for the right side. Returns how many went left.
    """
    left = np.uint64(0)  # indices that cannot be negative: twice as fast
    right = np.uint64(0)
    parted = order[low:]
    for label in range(starts.shape[0] - 1):
        left_starts[label] = left
        rows = before[low + starts[label] : low + starts[label + 1]]
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
def split_nodes(codes, packed, grids, group, before, order, spare, nodes, splits, stored, n_stored, lefts, keep):
    """Part the rows of several nodes, and sum their children: the one with fewer rows, of which the other is the rest.

    nodes: low[number], starts[number, label] and slot[number], the place of a node's histogram in stored[slot, label,
    column, bin], or -1; those of the children are written. splits: node, left, right (numbers), column and
    on_left[split, code]. The larger child takes the place of its parent, unless that is the root and `keep`. Where
    there is no histogram of the parent, or no place for those of the children, only the left child is summed, for
    lefts[split]. That gets the histograms of the left children, the labels of one grid after those of another, unless
    it is empty. Returns n_stored, how many places are taken.
    """
    n_groups = stored.shape[1] // grids.shape[0]
    per_word = codes.shape[2]
    for m in range(splits.node.shape[0]):
        node, left, right = splits.node[m], splits.left[m], splits.right[m]
        low, starts, left_starts = nodes.low[node], nodes.starts[node], nodes.starts[left]
        column = codes[splits.column[m] // per_word, :, splits.column[m] % per_word]
        n_left = split_rows(before, low, starts, column, splits.on_left[m], order, spare, left_starts)
        nodes.starts[right] = starts - left_starts
        nodes.low[left], nodes.low[right] = low, low + n_left
        smaller = left if 2 * n_left <= starts[-1] else right
        whole = nodes.slot[node]
        nodes.slot[node], nodes.slot[left], nodes.slot[right] = -1, -1, -1
        if whole < 0 or n_stored + 1 >= stored.shape[0]:
            if lefts.shape[0] > 0:
                _sum_node(packed, grids, order, nodes, left, group, n_groups, lefts[m])
            continue
        larger_slot = whole
        if node == 0 and keep:
            larger_slot = n_stored
            n_stored += 1
            stored[larger_slot] = stored[whole]
            nodes.slot[node] = whole
        nodes.slot[left + right - smaller] = larger_slot
        nodes.slot[smaller] = n_stored
        _sum_node(packed, grids, order, nodes, smaller, group, n_groups, stored[n_stored])
        subtract(stored[larger_slot], stored[n_stored])
        if lefts.shape[0] > 0:
            lefts[m] = stored[nodes.slot[left]]
        n_stored += 1
    return n_stored


@kernel
def _sum_node(packed, grids, order, nodes, node, group, n_groups, sums):
    for g in range(grids.shape[0]):
        mine = sums[g * n_groups : (g + 1) * n_groups]
        node_histograms(packed, grids[g], order, nodes.low[node], nodes.starts[node], group, mine)


@kernel
def gather(grid, order, low, high, picked):
    """picked[k] = grid of the k-th of the rows order[low:high]."""
    rows = order[low:high]
    for k in range(rows.shape[0]):
        picked[k] = grid[rows[k]]


@kernel
def fill_rows(order, low, high, value, out):
    """out = value for the rows order[low:high]."""
    rows = order[low:high]
    for k in range(rows.shape[0]):
        out[rows[k]] = value


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


@kernel
def add_gains_of(order, low, starts, column, side, gains, state):
    """state[s, row] += gains[s, label, side of its bin] for the rows of one node."""
    table = np.empty(side.shape[0], dtype=np.float64)
    for s in range(state.shape[0]):
        numbers = state[s]
        for label in range(starts.shape[0] - 1):
            for b in range(table.shape[0]):
                table[b] = gains[s, label, side[b]]
            rows = order[low + starts[label] : low + starts[label + 1]]
            for k in range(rows.shape[0]):
                numbers[rows[k]] += table[column[rows[k]]]
