"""The rows of the nodes of a tree: parting them, and changing the state of the rows of a node.

order: row numbers, unsigned, which halves the time: a signed index might count from the end. Rows are sorted by label.
"""

import numpy as np

from electorate.kernels.compile import kernel


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
