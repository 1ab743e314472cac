"""A round over all shards: the twins of kernels/rounds.py, in plain NumPy, shard after shard."""

import ctypes
from typing import Any

import numpy as np

from electorate.kernels.reference.leaves import add_tree
from electorate.kernels.reference.partition import partition_nodes, sum_nodes
from electorate.kernels.reference.weights import advance

NOTED: dict[int, Any] = {}  # by address: the arrays of a shard


def note_shard(place, shard):
    NOTED[place.__array_interface__["data"][0]] = shard
    return 0


def advance_all(board, shards, stump, tree, formulas, tiles, stack, totals, wrong, out):
    out[:] = 0
    for k, address in enumerate(shards.address.tolist()):
        shard = NOTED[address]
        if len(tree.gains):
            walk = (tree.numbers, tree.begins, tree.column, tree.on_left, tree.children)
            rest = (shard.leaf, tree.gains, shard.rows.starts, shard.state)
            add_tree(shard.codes, shard.order, shard.nodes, *walk, *rest)
        word, place = divmod(stump.column, shard.codes.shape[2])
        change = (shard.codes[word, :, place], stump.leaf_of_code, stump.gains)
        sums = (totals[k], out, False, 0, shard.grids.shape[1])
        wrong[k] = advance(shard.packed, shard.rows, *change, formulas, shard.state, shard.grids, *sums)
    return True


def split_all(board, shards, fresh, level, tiles, stack, wholes, rests, less, rows, left_is_less):
    noted = [NOTED[address] for address in shards.address.tolist()]
    for k, shard in enumerate(noted):
        if fresh:
            shard.order[:] = np.arange(len(shard.order))
        partition_nodes(shard.codes, shard.order, shard.spare, shard.nodes, level, rows[k])
    n_left, n_right = rows.sum(axis=0).T
    left_is_less[:] = n_left <= n_right
    numbers = np.where(left_is_less, level.left, level.right)
    less[:] = 0
    for shard in noted:
        sum_nodes(shard.packed, shard.grids[:1], shard.order, shard.nodes, numbers, shard.rows.group, less, False)
    for m, (whole, rest) in enumerate(zip(wholes.tolist(), rests.tolist(), strict=True)):
        array_at(rest, less[m])[:] = array_at(whole, less[m]) - less[m]
    return True


def array_at(address, like):
    cells = (ctypes.c_int64 * like.size).from_address(address)
    return np.frombuffer(cells, dtype=np.int64).reshape(like.shape)
