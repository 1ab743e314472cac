"""The rows of the nodes of a tree: the twins of partition.hpp, in plain NumPy."""

import numpy as np

from electorate.kernels.reference.histograms import node_histograms


def _labels_of(starts):
    return np.repeat(np.arange(len(starts) - 1), np.diff(starts))


def split_rows(low, starts, column, on_left, order, spare, left_starts):
    rows = order[low : low + starts[-1]].copy()
    left = on_left[column[rows]]
    per_label = np.bincount(_labels_of(starts)[left], minlength=len(starts) - 1)
    left_starts[:] = np.concatenate([[0], np.cumsum(per_label)])
    order[low : low + starts[-1]] = np.concatenate([rows[left], rows[~left]])
    return np.count_nonzero(left)


def partition_nodes(codes, order, spare, nodes, splits, rows):
    for m, (node, left, right) in enumerate(zip(splits.node, splits.left, splits.right, strict=True)):
        word, place = divmod(splits.column[m], codes.shape[2])
        low, starts, column = nodes.low[node], nodes.starts[node], codes[word, :, place]
        n_left = split_rows(low, starts, column, splits.on_left[m], order, spare, nodes.starts[left])
        nodes.starts[right] = starts - nodes.starts[left]
        nodes.low[left], nodes.low[right] = low, low + n_left
        rows[m] = n_left, starts[-1] - n_left


def sum_nodes(codes, grids, order, nodes, numbers, group, sums, clear):
    for number, mine in zip(numbers, sums, strict=True):
        for grid, part in zip(grids, mine.reshape(len(grids), -1, *mine.shape[1:]), strict=True):
            node_histograms(codes, grid, order, nodes.low[number], nodes.starts[number], group, part, clear)


def sum_signs(grid, award):
    return grid[award > 0].sum(), grid[award < 0].sum()


def add_gains(column, leaf_of_bin, gains, starts, state):
    state += gains[:, _labels_of(starts), leaf_of_bin[column]]
