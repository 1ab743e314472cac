"""The exchanges of a round with all shards of a process, each as one call: a list of tasks for a team of threads.

Work on rows is divided by shards. Histograms are divided by shards and by columns: with fewer parts by rows there are
fewer sums to clear and to add up; with fewer parts by columns, every row is read less often.
"""

import numpy as np

from electorate.kernels.compile import kernel
from electorate.kernels.histograms import histogram, histogram_of
from electorate.kernels.leaves import add_tree
from electorate.kernels.partition import partition_nodes
from electorate.kernels.team import array_at, note, prepared, recall, run_tasks
from electorate.kernels.weights import advance

ROWS_AT_ONCE = 8192
CELLS_PER_TASK = 8192


@kernel
def note_shard(place, shard):
    """Write the arrays of a shard into the bytes `place`; returns how many there are."""
    return note(place, shard)


@kernel
def _part(number, n_parts, n):
    return n * number // n_parts, n * (number + 1) // n_parts


@kernel
def _tile(number, shards, tiles):
    """The part by rows of a task, its shards first..last, its words low_word..high_word and columns low..high."""
    part = number // tiles.by_columns
    first, last = _part(part, tiles.by_rows, shards.address.shape[0])
    low_word, high_word = _part(number % tiles.by_columns, tiles.by_columns, shards.like.packed.shape[0])
    per_word = shards.like.codes.shape[2]
    return part, first, last, low_word, high_word, low_word * per_word, high_word * per_word


@kernel
def _weigh_shard(k, group):
    """Task: change the state of shard k, and put what the booster sums on the grid."""
    shards, stump, tree, formulas, totals, wrong, no_sums = group
    shard = recall(shards.address[k], shards.like)
    if tree.gains.shape[0] > 0:
        walk = (tree.numbers, tree.begins, tree.column, tree.on_left, tree.children)
        rest = (shard.leaf, tree.gains, shard.rows.starts, shard.state)
        add_tree(shard.codes, shard.order, shard.nodes, *walk, *rest)
    per_word = shard.codes.shape[2]
    column = shard.codes[stump.column // per_word, :, stump.column % per_word]
    arrays = (formulas, shard.state, shard.grids, totals[k], no_sums)
    change = (column, stump.leaf_of_code, stump.gains)
    wrong[k] = advance(shard.packed, shard.rows, *change, *arrays, False, 0, shard.grids.shape[1])


@kernel
def _sum_roots(number, group):
    """Task: the histograms [channel, label, column, bin] of some shards and some columns."""
    shards, tiles, stack = group
    part, first, last, low_word, high_word, low, high = _tile(number, shards, tiles)
    for c in range(stack.shape[1]):
        for label in range(stack.shape[2]):
            stack[part, c, label, low:high] = 0
    for k in range(first, last):
        shard = recall(shards.address[k], shards.like)
        words, starts = shard.packed[low_word:high_word], shard.rows.starts
        for label in range(starts.shape[0] - 1):
            for at in range(starts[label], starts[label + 1], ROWS_AT_ONCE):
                end = min(at + ROWS_AT_ONCE, starts[label + 1])
                for c in range(stack.shape[1]):
                    histogram(words, shard.grids[c], at, end, stack[part, c, shard.rows.group[label], low:high])


@kernel
def _add_parts(number, group):
    """Task: some cells of the sum of all parts."""
    stack, out = group
    low = number * CELLS_PER_TASK
    for i in range(low, min(low + CELLS_PER_TASK, out.shape[0])):
        total = stack[0, i]
        for part in range(1, stack.shape[0]):
            total += stack[part, i]
        out[i] = total


@kernel
def advance_all(board, shards, stump, tree, formulas, tiles, stack, totals, wrong, out):
    """`advance` of all shards, after a stump or a tree; False if a task failed.

    totals[shard, channel, label] and wrong[shard] get the sums of each shard, out[channel, label, column, bin] the
    histograms of as many channels as it has. stack[part, channel, label, column, bin]: a buffer.
    """
    n_shards = shards.address.shape[0]
    no_sums = np.empty((0, 0, 0, 0), dtype=np.int64)
    task, place = prepared(_weigh_shard, (shards, stump, tree, formulas, totals, wrong, no_sums))
    good = run_tasks(board, n_shards, task, place)
    if out.shape[0] > 0:
        task, place = prepared(_sum_roots, (shards, tiles, stack))
        good &= run_tasks(board, tiles.by_rows * tiles.by_columns, task, place)
        cells = out.reshape(out.size)
        task, place = prepared(_add_parts, (stack.reshape((stack.shape[0], out.size)), cells))
        good &= run_tasks(board, -(-cells.shape[0] // CELLS_PER_TASK), task, place)
    return good


@kernel
def _part_shard(k, group):
    """Task: part the rows of some nodes of shard k; fresh: of a new tree."""
    shards, fresh, level, rows = group
    shard = recall(shards.address[k], shards.like)
    if fresh:
        for i in range(shard.order.shape[0]):
            shard.order[i] = i
    partition_nodes(shard.codes, shard.order, shard.spare, shard.nodes, level, rows[k])


@kernel
def _sum_children(number, group):
    """Task: the histograms [node, label, column, bin] of some shards and some columns."""
    shards, tiles, numbers, stack = group
    part, first, last, low_word, high_word, low, high = _tile(number, shards, tiles)
    for m in range(numbers.shape[0]):
        for label in range(stack.shape[2]):
            stack[part, m, label, low:high] = 0
        for k in range(first, last):
            shard = recall(shards.address[k], shards.like)
            words, begin, starts = shard.packed[low_word:high_word], shard.nodes.low[numbers[m]], shard.nodes.starts
            for label in range(starts.shape[1] - 1):
                at, end = begin + starts[numbers[m], label], begin + starts[numbers[m], label + 1]
                sums = stack[part, m, shard.rows.group[label], low:high]
                histogram_of(words, shard.grids[0], shard.order, at, end, sums)


@kernel
def _finish_children(number, group):
    """Task: some cells of one node: the sum of all parts for one child, and what is left for the other."""
    stack, less, wholes, rests, per_node = group
    m, low = number // per_node, number % per_node * CELLS_PER_TASK
    whole, rest = array_at(wholes[m], less[0]), array_at(rests[m], less[0])
    for i in range(low, min(low + CELLS_PER_TASK, less.shape[1])):
        total = stack[0, m, i]
        for part in range(1, stack.shape[0]):
            total += stack[part, m, i]
        less[m, i] = total
        rest[i] = whole[i] - total


@kernel
def split_all(board, shards, fresh, level, tiles, stack, wholes, rests, less, rows, left_is_less):
    """Part the rows of some nodes in all shards, and sum both children of each; False if a task failed.

    less[split, label, column, bin] gets the histograms of the children with fewer rows, left_is_less[split] whether
    those are the left ones, and rows[shard, split, side] the numbers of rows. wholes[split]: the address of the
    histogram of the node; rests[split]: of the place for that of the other child, perhaps the same.
    """
    n_splits = level.node.shape[0]
    task, place = prepared(_part_shard, (shards, fresh, level, rows))
    good = run_tasks(board, shards.address.shape[0], task, place)
    numbers = np.empty(n_splits, dtype=np.int64)
    for m in range(n_splits):
        left_is_less[m] = rows[:, m, 0].sum() <= rows[:, m, 1].sum()
        numbers[m] = level.left[m] if left_is_less[m] else level.right[m]
    task, place = prepared(_sum_children, (shards, tiles, numbers, stack))
    good &= run_tasks(board, tiles.by_rows * tiles.by_columns, task, place)
    cells = less.size // n_splits
    per_node = -(-cells // CELLS_PER_TASK)
    parts = stack.reshape((stack.shape[0], n_splits, cells))
    arguments = (parts, less.reshape((n_splits, cells)), wholes, rests, per_node)
    task, place = prepared(_finish_children, arguments)
    return good & run_tasks(board, n_splits * per_node, task, place)
