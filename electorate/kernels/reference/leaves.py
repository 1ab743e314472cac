"""The rows of a grown tree: the twins of kernels/leaves.py, in plain NumPy."""

import numpy as np


def collect_codes(codes, rows, out):
    out[:] = codes[:, rows].T


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
