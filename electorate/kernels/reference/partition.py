"""The rows of the nodes of a tree: the twins of kernels/partition.py, in plain NumPy."""

import numpy as np


def _labels_of(starts):
    return np.repeat(np.arange(len(starts) - 1), np.diff(starts))


def split_rows(before, low, starts, column, on_left, order, spare, left_starts):
    rows = before[low : low + starts[-1]].copy()
    left = on_left[column[rows]]
    per_label = np.bincount(_labels_of(starts)[left], minlength=len(starts) - 1)
    left_starts[:] = np.concatenate([[0], np.cumsum(per_label)])
    order[low : low + starts[-1]] = np.concatenate([rows[left], rows[~left]])
    return np.count_nonzero(left)


def gather(grid, order, low, high, picked):
    picked[: high - low] = grid[order[low:high]]


def fill_rows(order, low, high, value, out):
    out[order[low:high]] = value


def sum_signs(grid, award):
    return grid[award > 0].sum(), grid[award < 0].sum()


def add_gains(column, leaf_of_bin, gains, starts, state):
    state += gains[:, _labels_of(starts), leaf_of_bin[column]]


def add_gains_of(order, low, starts, column, side, gains, state):
    rows = order[low : low + starts[-1]]
    state[:, rows] += gains[:, _labels_of(starts), side[column[rows]]]
