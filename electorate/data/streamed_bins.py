"""Bins of a table that is read batch by batch: the same as those of the whole table, from as few passes as possible."""

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from functools import partial
from typing import Any, Protocol

from electorate.data.bins import (
    Bins,
    CountedLevels,
    Cut,
    Levels,
    Sketch,
    add_to_sketches,
    count_levels,
    cut_sketches,
    join_columns,
    limits,
    sketch_sizes,
    thin_sketches,
)
from electorate.data.table import Table
from electorate.exact import Ints
from electorate.threads import ThreadPool

COLUMNS_PER_PASS = 512  # the sketches of so many columns take a gigabyte at most


class CountedRows(Protocol):
    """Some rows: the weights of each, for bins, and how often each counts where a category is judged rare.

    named: adds the place of the rows to the message of an error.
    """

    @property
    def table(self) -> Table: ...

    @property
    def whole(self) -> Ints: ...

    @property
    def times(self) -> Ints: ...

    def named(self) -> AbstractContextManager[None]: ...


Pass = Callable[[], Iterable[Any]]  # all rows, in any order, as `CountedRows`


class EdgePass:
    """Sketches of numeric columns and levels of categorical ones, from one pass over the rows. limit: of the hashes."""

    def __init__(self, columns: tuple[Sequence[int], Sequence[int]], max_bins: int | str, limit: int) -> None:
        numeric, self.categorical = columns
        self.most, capacity = sketch_sizes(max_bins)
        self.sketches = {j: Sketch(capacity, limit) for j in numeric}
        self.levels: CountedLevels = {}

    def add(self, rows: CountedRows, pool: ThreadPool) -> None:
        with rows.named():
            add_to_sketches(self.sketches, rows.table, rows.whole, pool)
            counted = pool.map(partial(_count, rows), self.categorical)
        for j, (found, missing) in zip(self.categorical, counted, strict=True):
            before = self.levels.get(j)
            self.levels[j] = (found, missing) if before is None else (before[0] + found, before[1] + missing)

    def cuts(self, pool: ThreadPool) -> dict[int, Cut]:
        """The cuts of the numeric columns, without those whose sketch is starved."""
        thin_sketches(self.sketches, pool)
        cuts = cut_sketches(self.most, tuple(self.sketches.values()))
        return {j: cut for j, cut in zip(self.sketches, cuts, strict=True) if cut is not None}


def begin_edges(n_columns: int, categorical: Sequence[int], max_bins: int | str, n_rows: int | None) -> EdgePass | None:
    """Return a pass over all columns, for rows that count once each; None if they are too many for one pass.

    n_rows: if it is known.
    """
    if n_columns > COLUMNS_PER_PASS:
        return None
    guessed, unlimited = limits(n_rows or 1, sketch_sizes(max_bins)[1])
    numeric = [j for j in range(n_columns) if j not in categorical]
    return EdgePass((numeric, list(categorical)), max_bins, unlimited if n_rows is None else guessed)


class StreamedBins:
    """Finds the bins of columns. read(): a pass over all rows. first: one that was made already, over all columns."""

    def __init__(
        self, read: Pass, n_rows: int, max_bins: int | str, pool: ThreadPool, first: EdgePass | None = None
    ) -> None:
        self.read, self.n_rows, self.pool, self.max_bins, self.first = read, n_rows, pool, max_bins, first

    def find(self, n_columns: int, categorical: Sequence[int]) -> Bins:
        """Return the bins of all columns."""
        levels: CountedLevels = {}
        cuts: dict[int, Cut] = {}
        guessed, unlimited = limits(self.n_rows, sketch_sizes(self.max_bins)[1])
        for low in range(0, n_columns, COLUMNS_PER_PASS):
            columns = range(low, min(low + COLUMNS_PER_PASS, n_columns))
            numeric = [j for j in columns if j not in categorical]
            found = self.first or self._pass(numeric, [j for j in columns if j in categorical], guessed)
            cuts |= found.cuts(self.pool)
            levels |= found.levels
            starved = [j for j in numeric if j not in cuts]
            if starved:
                cuts |= self._pass(starved, [], unlimited).cuts(self.pool)
        return join_columns(n_columns, levels, cuts)

    def _pass(self, numeric: Sequence[int], categorical: Sequence[int], limit: int) -> EdgePass:
        found = EdgePass((numeric, categorical), self.max_bins, limit)
        for rows in self.read():
            found.add(rows, self.pool)
        return found


def _count(rows: CountedRows, column: int) -> tuple[Levels, int]:
    return count_levels(rows.table, column, rows.whole, rows.times)
