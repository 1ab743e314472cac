"""The rows of a grown tree: their codes for the driver, the leaf of each, and what the leaves add to their state."""

from electorate.kernels.compile import kernel


@kernel
def collect_rows(packed, grid, order, nodes, numbers, group, rows, place, codes, label, weight):
    """The rows of nodes numbers[i], node by node: their number, i, codes[row, word], label, and weight on the grid."""
    at = 0
    for i in range(numbers.shape[0]):
        low, starts = nodes.low[numbers[i]], nodes.starts[numbers[i]]
        for k in range(group.shape[0]):
            for m in range(low + starts[k], low + starts[k + 1]):
                row = order[m]
                rows[at], place[at], label[at], weight[at] = row, i, group[k], grid[row]
                for g in range(packed.shape[0]):
                    codes[at, g] = packed[g, row]
                at += 1


@kernel
def find_leaves(codes, order, nodes, numbers, begins, column, on_left, children, leaf):
    """leaf[row] = the leaf of every row of some nodes; nodes: low and starts by number.

    Split s sends a row to children[s, 0] if on_left[s, code of column[s]], else to children[s, 1]: another split, or
    ~leaf. begins[i]: the same of node numbers[i].
    """
    per_word = codes.shape[2]
    group, lane = column // per_word, column % per_word
    for i in range(numbers.shape[0]):
        low = nodes.low[numbers[i]]
        rows = order[low : low + nodes.starts[numbers[i], -1]]
        for k in range(rows.shape[0]):
            row = rows[k]
            at = begins[i]
            while at >= 0:
                at = children[at, 0 if on_left[at, codes[group[at], row, lane[at]]] else 1]
            leaf[row] = ~at


@kernel
def add_tree(codes, order, nodes, numbers, begins, column, on_left, children, leaf, gains, starts, state):
    """`find_leaves`, then `add_leaf_gains`."""
    find_leaves(codes, order, nodes, numbers, begins, column, on_left, children, leaf)
    add_leaf_gains(leaf, gains, starts, state)


@kernel
def add_leaf_gains(leaf, gains, starts, state):
    """state[s, row] += gains[s, label, leaf of the row]; label k has the rows starts[k]..starts[k + 1]."""
    for s in range(state.shape[0]):
        numbers = state[s]
        for label in range(starts.shape[0] - 1):
            table = gains[s, label]
            for i in range(starts[label], starts[label + 1]):
                numbers[i] += table[leaf[i]]
