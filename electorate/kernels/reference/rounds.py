"""A round over all shards: the twins of rounds.hpp, in plain NumPy, shard after shard."""

import numpy as np

from electorate.kernels.reference.leaves import add_tree
from electorate.kernels.reference.partition import partition_nodes, sum_nodes
from electorate.kernels.reference.weights import advance


def advance_all(n_threads, shards, stump, tree, formulas, tiles, stack, totals, wrong, out):
    out[:] = 0
    for k, shard in enumerate(shards):
        if len(tree.gains):
            walk = (tree.numbers, tree.begins, tree.column, tree.on_left, tree.children)
            rest = (shard.leaf, tree.gains, shard.rows.starts, shard.state)
            add_tree(shard.codes, shard.order, shard.nodes, *walk, *rest)
        word, place = divmod(stump.column, shard.codes.shape[2])
        change = (shard.codes[word, :, place], stump.leaf_of_code, stump.gains)
        sums = (totals[k], out, False, 0, shard.grids.shape[1])
        wrong[k] = advance(shard.packed, shard.rows, *change, formulas, shard.state, shard.grids, *sums)


def split_all(n_threads, shards, fresh, level, tiles, stack, wholes, rests, less, rows, left_is_less):
    for k, shard in enumerate(shards):
        if fresh:
            shard.order[:] = np.arange(len(shard.order))
        partition_nodes(shard.codes, shard.order, shard.spare, shard.nodes, level, rows[k])
    n_left, n_right = rows.sum(axis=0).T
    left_is_less[:] = n_left <= n_right
    numbers = np.where(left_is_less, level.left, level.right)
    less[:] = 0
    for shard in shards:
        sum_nodes(shard.packed, shard.grids[:1], shard.order, shard.nodes, numbers, shard.rows.group, less, False)
    for whole, rest, taken in zip(wholes, rests, less, strict=True):
        rest[:] = whole - taken


def boost_stumps(shard, columns, rate, floor, log_full, spare, coarse, reach, most, sums, totals, left, numbers, reals):
    return 0  # the rounds of training/stagewise.py, one by one, are the twin
