"""Bins of a table that is read batch by batch: the same as those of the whole table, from as few passes as possible."""

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from functools import partial
from typing import Any, Protocol

import numpy as np

from electorate.data.bins import (
    Bins,
    Cut,
    Floats,
    Ints,
    Levels,
    Sketch,
    add_to_sketches,
    count_levels,
    cut_sketches,
    heaviest,
    limits,
    sketch_sizes,
    thin_sketches,
)
from electorate.data.table import Table
from electorate.threads import ThreadPool

COLUMNS_PER_PASS = 512  # the sketches of so many columns take a gigabyte at most


class CountedRows(Protocol):
    """Some rows: the weights of each, for bins, and how often each counts where a category is judged rare.

    named: adds their place to the message of an error.
    """

    table: Table
    whole: Ints
    times: Ints

    def named(self) -> AbstractContextManager[None]: ...


Pass = Callable[[], Iterable[Any]]  # all rows, in any order, as `CountedRows`


class StreamedBins:
    """Finds the bins of columns. read(): a pass over all rows."""

    def __init__(self, read: Pass, n_rows: int, max_bins: int | str, pool: ThreadPool) -> None:
        self.read, self.n_rows, self.pool = read, n_rows, pool
        self.most, self.capacity = sketch_sizes(max_bins)

    def find(self, n_columns: int, categorical: Sequence[int]) -> Bins:
        """Return the bins of all columns."""
        edges: list[Floats] = [np.empty(0)] * n_columns
        has_missing = np.zeros(n_columns, dtype=np.bool_)
        n_bins = np.zeros(n_columns, dtype=np.int64)
        levels, cuts = self._read_all(n_columns, categorical)
        categories = {j: heaviest(found) for j, (found, _) in levels.items()}
        for j, (_, missing) in levels.items():
            n_bins[j], has_missing[j] = categories[j].n_codes, missing > 0
            edges[j] = np.arange(n_bins[j] - 1) + 0.5
        for j, cut in cuts.items():
            edges[j], n_bins[j], has_missing[j] = cut
        return Bins(edges, categories, has_missing, n_bins)

    def _read_all(
        self, n_columns: int, categorical: Sequence[int]
    ) -> tuple[dict[int, tuple[Levels, int]], dict[int, Cut]]:
        levels: dict[int, tuple[Levels, int]] = {}
        cuts: dict[int, Cut] = {}
        guessed, unlimited = limits(self.n_rows, self.capacity)
        for low in range(0, n_columns, COLUMNS_PER_PASS):
            columns = range(low, min(low + COLUMNS_PER_PASS, n_columns))
            numeric = [j for j in columns if j not in categorical]
            found, more = self._pass(numeric, [j for j in columns if j in categorical], guessed)
            cuts |= found
            levels |= more
            starved = [j for j in numeric if j not in cuts]
            if starved:
                cuts |= self._pass(starved, [], unlimited)[0]
        return levels, cuts

    def _pass(
        self, numeric: Sequence[int], categorical: Sequence[int], limit: int
    ) -> tuple[dict[int, Cut], dict[int, tuple[Levels, int]]]:
        """The cuts of columns, without those whose sketch is starved; and the levels of others."""
        sketches = {j: Sketch(self.capacity, limit) for j in numeric}
        levels: dict[int, tuple[Levels, int]] = {}
        for rows in self.read():
            with rows.named():
                add_to_sketches(sketches, rows.table, rows.whole, self.pool)
                counted = self.pool.map(partial(_count, rows), categorical)
            for j, (found, missing) in zip(categorical, counted, strict=True):
                before = levels.get(j)
                levels[j] = (found, missing) if before is None else (before[0] + found, before[1] + missing)
        thin_sketches(sketches, self.pool)
        cuts = cut_sketches(self.most, tuple(sketches.values()))
        return {j: cut for j, cut in zip(sketches, cuts, strict=True) if cut is not None}, levels


def _count(rows: CountedRows, column: int) -> tuple[Levels, int]:
    return count_levels(rows.table, column, rows.whole, rows.times)
