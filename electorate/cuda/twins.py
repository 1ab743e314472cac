"""The NumPy twins of the CUDA kernels, with the signatures of `launch.py`."""

from typing import Any

import numpy as np

from electorate.cuda.layouts import ALL_ROWS, Codes, Orders, Tree
from electorate.kernels.layouts import Formulas, RowArrays
from electorate.kernels.reference import histograms, weights

evaluate: Any = weights.evaluate
quantise: Any = histograms.quantise


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
        """One round over all rows, as kernels/weights.py; without histograms.

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

    def sum_rows(self, codes: Codes, orders: Orders, grid: Any, tasks: Any, sums: Any) -> None:
        """sums[histogram, column, bin] += the grid over tasks (low, high, histogram, buffer) of row numbers."""
        table, columns = codes_by_row(codes), np.arange(codes.n_columns)
        for low, high, histogram, buffer in tasks.tolist():
            rows = rows_of(orders, buffer, low, high)
            np.add.at(sums[histogram], (columns[None, :], table[rows]), grid[rows, None])

    def partition(
        self, codes: Codes, orders: Orders, tasks: Any, segments: Any, column: Any, on_left: Any, cursors: Any
    ) -> None:
        """Part the rows of segments (low, high, split, buffer): lefts to the front of the range in the other buffer.

        tasks: (low, high, segment), at most ROWS_PER_PART rows each. cursors[segment, side]: rows so far.
        """
        table = codes_by_row(codes)
        for low, high, number in tasks.tolist():
            first, end, split, buffer = segments[number].tolist()
            rows = rows_of(orders, buffer, low, high)
            left = on_left[split, table[rows, column[split]]]
            out, (lefts, rights) = orders[1 if buffer == 0 else 0], cursors[number].tolist()
            mine, others = rows[left], rows[~left]
            out[first + lefts : first + lefts + len(mine)] = mine
            out[end - rights - len(others) : end - rights] = others[::-1]
            cursors[number] += np.array([len(mine), len(others)], dtype=np.uint32)

    def find_leaves(self, codes: Codes, tree: Tree, leaf: Any) -> None:
        """leaf[row]: its number."""
        leaf[:] = walk(codes, tree)

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
