"""The rows of a grown tree: the twins of kernels/leaves.py, in plain NumPy."""

import numpy as np


def collect_codes(codes, rows, out):
    out[:] = codes[:, rows].T


def find_leaves(codes, order, lows, highs, starts, group, lane, on_left, children, leaf):
    for low, high, start in zip(lows, highs, starts, strict=True):
        for row in order[low:high]:
            at = start
            while at >= 0:
                at = children[at, 0 if on_left[at, codes[group[at], row, lane[at]]] else 1]
            leaf[row] = ~at


def add_leaf_gains(leaf, gains, starts, state):
    state += gains[:, np.repeat(np.arange(len(starts) - 1), np.diff(starts)), leaf]
