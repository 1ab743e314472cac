"""The rows of the nodes of a tree: the twins of kernels/partition.py, in plain NumPy."""

import numpy as np

from electorate.kernels.reference.histograms import node_histograms


def _labels_of(starts):
    return np.repeat(np.arange(len(starts) - 1), np.diff(starts))


def split_rows(before, low, starts, column, on_left, order, spare, left_starts):
    rows = before[low : low + starts[-1]].copy()
    left = on_left[column[rows]]
    per_label = np.bincount(_labels_of(starts)[left], minlength=len(starts) - 1)
    left_starts[:] = np.concatenate([[0], np.cumsum(per_label)])
    order[low : low + starts[-1]] = np.concatenate([rows[left], rows[~left]])
    return np.count_nonzero(left)


def split_nodes(codes, packed, grids, group, before, order, spare, nodes, splits, stored, n_stored, lefts, keep):
    for m, (node, left, right) in enumerate(zip(splits.node, splits.left, splits.right, strict=True)):
        word, place = divmod(splits.column[m], codes.shape[2])
        low, starts, column = nodes.low[node], nodes.starts[node], codes[word, :, place]
        n_left = split_rows(before, low, starts, column, splits.on_left[m], order, spare, nodes.starts[left])
        nodes.starts[right] = starts - nodes.starts[left]
        nodes.low[left], nodes.low[right] = low, low + n_left
        whole, nodes.slot[[node, left, right]] = nodes.slot[node], -1
        sums = [
            np.concatenate([_sums_of(packed, grid, order, nodes, child, group, stored) for grid in grids])
            for child in (left, right)
        ]
        if len(lefts):
            lefts[m] = sums[0]
        if whole < 0 or n_stored + 1 >= len(stored):
            continue
        if node == 0 and keep:
            nodes.slot[node], whole, n_stored = whole, n_stored, n_stored + 1
        smaller, larger = (left, right) if 2 * n_left <= starts[-1] else (right, left)
        nodes.slot[smaller], nodes.slot[larger] = n_stored, whole
        stored[nodes.slot[left]], stored[nodes.slot[right]] = sums
        n_stored += 1
    return n_stored


def _sums_of(packed, grid, order, nodes, node, group, stored):
    sums = np.empty((max(group) + 1, *stored.shape[2:]), dtype=np.int64)
    node_histograms(packed, grid, order, nodes.low[node], nodes.starts[node], group, sums)
    return sums


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
