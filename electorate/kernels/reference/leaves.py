"""The rows of a grown tree: the twins of leaves.hpp, in plain NumPy."""

import numpy as np


def collect_rows(packed, grid, order, nodes, numbers, group, rows, place, codes, label, weight):
    starts = nodes.starts[numbers]
    rows[:] = np.concatenate([order[low : low + n] for low, n in zip(nodes.low[numbers], starts[:, -1], strict=True)])
    place[:] = np.repeat(np.arange(len(numbers)), starts[:, -1])
    label[:] = np.repeat(np.tile(group, len(numbers)), np.diff(starts, axis=1).ravel())
    codes[:], weight[:] = packed[:, rows].T, grid[rows]


def find_leaves(codes, order, nodes, numbers, begins, column, on_left, children, leaf):
    for number, begin in zip(numbers, begins, strict=True):
        low = nodes.low[number]
        for row in order[low : low + nodes.starts[number, -1]]:
            at = begin
            while at >= 0:
                word, place = divmod(column[at], codes.shape[2])
                at = children[at, 0 if on_left[at, codes[word, row, place]] else 1]
            leaf[row] = ~at


def add_tree(codes, order, nodes, numbers, begins, column, on_left, children, leaf, gains, starts, state):
    find_leaves(codes, order, nodes, numbers, begins, column, on_left, children, leaf)
    add_leaf_gains(leaf, gains, starts, state)


def add_leaf_gains(leaf, gains, starts, state):
    state += gains[:, np.repeat(np.arange(len(starts) - 1), np.diff(starts)), leaf]
