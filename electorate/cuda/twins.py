"""The NumPy twins of the CUDA kernels, with the signatures of `launch.py`."""

from typing import Any

import numpy as np

from electorate.cuda.layouts import (
    ALL_ROWS,
    NO_SCORE,
    Codes,
    ColumnArrays,
    ColumnTables,
    MedianRule,
    Orders,
    Tree,
    ValueTrees,
)
from electorate.kernels.layouts import Formulas, RowArrays
from electorate.kernels.reference import histograms, values, weights

evaluate: Any = weights.evaluate
quantise: Any = histograms.quantise
fold: Any = values.fold
hash_values: Any = values.hash_values


def codes_by_row(codes: Codes) -> Any:
    """[row, column]."""
    if codes.wide:
        return codes.data.reshape(codes.n_rows, codes.n_columns)
    panels = [np.ascontiguousarray(panel).view(np.uint8) for panel in codes.panels()]
    return np.concatenate(panels, axis=1)


def rows_of(orders: Orders, buffer: int, low: int, high: int) -> Any:
    """The row numbers of a range."""
    return np.arange(low, high) if buffer == ALL_ROWS else orders[buffer][low:high].astype(np.int64)


def walk(codes: Codes, tree: Tree) -> Any:
    """The leaf of every row."""
    table, rows = codes_by_row(codes), np.arange(codes.n_rows)
    at = np.full(codes.n_rows, tree.begin, dtype=np.int64)
    while np.any(inside := at >= 0):
        split = at[inside]
        left = tree.on_left[split, table[rows[inside], tree.column[split]]]
        at[inside] = tree.children[split, np.where(left, 0, 1)]
    return ~at


def nodes_of(block: Any, trees: ValueTrees) -> Any:
    """[voter, row]: the leaf that a row of numbers reaches in every voter."""
    rows, found = np.arange(len(block)), []
    for root in trees.roots.tolist():
        at = np.full(len(block), root, dtype=np.int32)
        while np.any(inside := trees.column[at] >= 0):
            node = at[inside]
            x = block[rows[inside], trees.column[node]].astype(np.float64)
            left = x <= trees.threshold[node]
            by_set = (trees.members[node] >= 0) & ~np.isnan(x)
            left[by_set] = trees.sets[trees.members[node][by_set], x[by_set].astype(np.int64)]
            left = np.where(np.isnan(x), trees.missing_left[node], left)
            at[inside] = trees.kids[node, np.where(left, 0, 1)]
        found.append(at)
    return np.stack(found)


def keys_of(scores: Any) -> Any:
    """Integers in the order of the doubles."""
    bits = (scores + 0.0).view(np.int64)
    return np.where(bits < 0, bits ^ 0x7FFFFFFFFFFFFFFF, bits)


def scores_of(criterion: int, left: Any, totals: Any) -> Any:
    """Return the scores of thresholds by the weights left[label, ...]: the weight that is right, or purities' keys."""
    right = totals - left
    if criterion == 0:
        return np.where(left.argmax(axis=0) == right.argmax(axis=0), -1, left.max(axis=0) + right.max(axis=0))
    here, there = left.astype(np.float64), right.astype(np.float64)
    all_here, all_there = (np.add.accumulate(each)[-1] for each in (here, there))
    if criterion == 2 and len(left) == 2:
        return keys_of(-2.0 * (np.sqrt(here[0] * here[1]) + np.sqrt(there[0] * there[1])))
    if criterion == 2:
        parts = [
            np.add.accumulate(-np.sqrt(side * np.maximum(every - side, 0.0)))[-1]
            for side, every in ((here, all_here), (there, all_there))
        ]
        return keys_of(parts[0] + parts[1])
    pairs = (here, np.maximum(all_here, 1.0)), (there, np.maximum(all_there, 1.0))
    if len(left) == 2:
        parts = [(side[0] * side[0] + side[1] * side[1]) / every for side, every in pairs]
    else:
        parts = [np.add.accumulate(side * side / every)[-1] for side, every in pairs]
    return keys_of(parts[0] + parts[1])


class Twins:
    """The kernels as methods; arrays are NumPy's."""

    def advance(
        self,
        codes: Codes,
        rows: RowArrays,
        tree: Tree,
        gains: Any,
        formulas: Formulas,
        state: Any,
        grids: Any,
        found: Any,
    ) -> None:
        """One round over all rows, as weights.hpp; without histograms.

        gains[state, label, leaf]: empty where no voter is added. found: the counts of rows that the ensemble gets
        wrong, then the sums [channel, group] of the grids.
        """
        n_groups = int(rows.group.max(initial=0)) + 1
        label = np.repeat(np.arange(len(rows.group)), np.diff(rows.starts))
        group = rows.group[label]
        if gains.size:
            state += gains[:, label, walk(codes, tree)]
        values = np.empty((len(formulas.table), codes.n_rows))
        for c, (kind, row, a, b, factor) in enumerate(formulas.table.tolist()):
            evaluate(kind, state[int(row)], values[0], a, b, factor, values[c])
            units = values[c] * rows.real if len(rows.real) else values[c]
            quantise(units, rows.times, rows.scale, [0, codes.n_rows], grids[c], np.empty(1, dtype=np.int64))
            np.add.at(found[1 + c * n_groups :], group, grids[c])
        if not len(values):
            return
        if formulas.votes_row:
            missed = np.argmax(state[formulas.votes_row :], axis=0) != group
        else:
            margin = state[formulas.margin_row]
            missed = np.where(group == 0, margin < 0, margin <= 0)
        found[0] += rows.counts[missed].sum() if len(rows.counts) else np.count_nonzero(missed)

    def sum_rows(
        self, codes: Codes, orders: Orders, grid: Any, tasks: Any, sums: Any, in_own_order: bool = False
    ) -> None:
        """sums[histogram, column, bin] += the grid over tasks (low, high, histogram, buffer) of row numbers.

        in_own_order: all tasks are of all rows.
        """
        table, columns = codes_by_row(codes), np.arange(codes.n_columns)
        for low, high, histogram, buffer in tasks.tolist():
            rows = rows_of(orders, buffer, low, high)
            np.add.at(sums[histogram], (columns[None, :], table[rows]), grid[rows, None])

    def partition(
        self,
        codes: Codes,
        orders: Orders,
        blocks: Any,
        segments: Any,
        column: Any,
        on_left: Any,
        cursors: Any,
        n_blocks: int,
    ) -> None:
        """Part the rows of segments (low, high, split, buffer): lefts to the front of the range in the other buffer.

        blocks[segment]: the first of its blocks, of ROWS_PER_PART rows each. cursors[segment, side]: how many rows.
        """
        table = codes_by_row(codes)
        for number, (low, high, split, buffer) in enumerate(segments.tolist()):
            rows = rows_of(orders, buffer, low, high)
            left = on_left[split, table[rows, column[split]]]
            out, n_left = orders[1 if buffer == 0 else 0], np.count_nonzero(left)
            out[low : low + n_left], out[low + n_left : high] = rows[left], rows[~left][::-1]
            cursors[number] = n_left, high - low - n_left

    def find_leaves(self, codes: Codes, tree: Tree, leaf: Any) -> None:
        """leaf[row]: its number."""
        leaf[:] = walk(codes, tree)

    def search(self, pool: Any, slots: Any, layout: ColumnArrays, criterion: int, found: Any) -> None:
        """found[node, column]: the score of its best threshold, 2 x cut + (missing values go right), and lefts[label].

        pool[slot, label, column, bin]. The score is an integer for criterion 0, else the `key` of a double.
        """
        for node, slot in enumerate(slots.tolist()):
            for j, n_bins in enumerate(layout.n_bins.tolist()):
                sums, can_miss = pool[slot, :, j], bool(layout.has_missing[j])
                n_cuts = (n_bins if can_miss else n_bins - 1) if layout.ordered[j] else 0
                lefts = np.cumsum(sums, axis=1)[:, : max(n_cuts, 1)]
                sides = np.stack([lefts + sums[:, -1:], lefts], axis=2)  # [label, cut, missing goes right]
                scores = scores_of(criterion, sides, sums.sum(axis=1)[:, None, None])
                scores[max(n_cuts, 0) :] = NO_SCORE
                scores[max(n_bins - 1, 0) if can_miss else 0 :, 0] = NO_SCORE
                if criterion:
                    scores[~sums[:, : len(scores)].any(axis=0)] = NO_SCORE
                at = int(scores.argmax()) if scores.max() > NO_SCORE else 1
                found[node, j] = [scores.flat[at], at, *sides[:, at // 2, at % 2]]

    def subtract(self, pool: Any, pairs: Any) -> None:
        """pool[into] = pool[whole] - pool[part] for pairs (whole, part, into)."""
        for whole, part, into in pairs.tolist():
            pool[into] = pool[whole] - pool[part]

    def hash_rows(self, block: Any, hashes: Any) -> None:
        """Fold the numbers of rows [row, column] into a hash per row, as values.hpp."""
        for column in block.T:
            fold(np.ascontiguousarray(column, dtype=np.float64), hashes)

    def encode(self, block: Any, edges: Any, depths: Any, missing: int, dest: Any, codes: Codes) -> None:
        """Write the bins of rows [row, column] at the rows `dest` of the codes; -1: a row that is left out."""
        used, n_columns = dest >= 0, block.shape[1]
        values = block[used].astype(np.float64)
        found = np.zeros((len(values), codes.n_columns), dtype=np.uint8)
        for j in range(n_columns):
            below = np.searchsorted(edges[j, : 1 << int(depths[j])], values[:, j], side="left")
            found[:, j] = np.where(np.isnan(values[:, j]), missing, below)
        words, at = found.view(np.uint32), 0
        for panel in codes.panels():
            panel[dest[used]] = words[:, at : at + panel.shape[1]]
            at += panel.shape[1]

    def select(self, block: Any, columns: Any, weights: Any, limit: int, values: Any, totals: Any, found: Any) -> None:
        """Append the numbers of some columns whose hash is at most the limit to values[column], with their weights.

        weights: of the rows, or empty. found: of every column how many there are, of which only so many are stored as
        there is room for, and whether a number is missing; then whether any is infinite.
        """
        weight = weights if len(weights) else np.ones(len(block), dtype=np.int64)
        room, each = values.shape[1], found[:-1].reshape(-1, 2)
        for j, column in enumerate(columns.tolist()):
            x = block[:, column].astype(np.float64) + 0.0
            each[j, 1] |= np.any(np.isnan(x) & (weight > 0))
            found[-1] |= np.any(np.isinf(x) & (weight > 0))
            used = np.isfinite(x) & (weight > 0)
            used[used] = hash_values(x[used]) <= np.uint64(limit)
            low, count = int(each[j, 0]), np.count_nonzero(used)
            values[j, low : low + count] = x[used][: max(0, room - low)]
            totals[j, low : low + count] = weight[used][: max(0, room - low)]
            each[j, 0] += count

    def vote_tables(self, block: Any, tables: ColumnTables, votes: Any) -> None:
        """votes[output, row]: the sums over columns of what their tables hold for the cell of a number."""
        votes[:] = tables.constant[:, None]
        for j, column in enumerate(tables.columns.tolist()):
            low, high = tables.first[j : j + 2].tolist()
            x = block[:, column].astype(np.float64)
            cells = np.searchsorted(tables.edges[low - 2 * j : high - 2 * (j + 1)], x, side="left")
            votes += tables.tables[:, np.where(np.isnan(x), high - 1, low + cells)]

    def vote_trees(self, block: Any, trees: ValueTrees, units: Any, votes: Any) -> None:
        """votes[output, row]: the sums over voters of units[node, output] of the leaf that a row reaches."""
        votes[:] = units[nodes_of(block, trees)].sum(axis=0).T

    def find_nodes(self, block: Any, trees: ValueTrees, nodes: Any) -> None:
        """nodes[voter, row]: the leaf that a row reaches."""
        nodes[:] = nodes_of(block, trees)

    def choose_places(self, nodes: Any, median: MedianRule, places: Any) -> None:
        """places[row]: that of the weighted median of the voters, -1 where all weights are 0."""
        place, weight = median.place[nodes], median.weight[nodes]
        mass = weight.sum(axis=0)
        need = (mass + 1) // 2 if median.lower else mass // 2 + 1
        order = np.argsort(place, axis=0, kind="stable")
        upto = np.cumsum(np.take_along_axis(weight, order, axis=0), axis=0)
        first = np.argmax(upto >= need, axis=0)[None]
        places[:] = np.where(mass > 0, np.take_along_axis(np.take_along_axis(place, order, axis=0), first, axis=0), -1)
        if median.decides:
            places[:] = np.where(weight[-1] > 0, place[-1], places)
