"""Bins: where the columns of a table are cut, as a function of the values and weights in them and nothing else.

A column's distinct values go into a sketch (all of them up to a capacity, beyond it those with the smallest
hashes), so that edges do not depend on the order of rows, on chunks or on who read them, and sketches merge.
"""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from electorate import kernels
from electorate.data.all_reduce import Max, Reduce, ReduceSteps, SortedUnion, run_locally
from electorate.data.buffers import BlockReader
from electorate.data.table import Block, Categories, Table, refuse_infinite
from electorate.threads import ThreadPool

MOST_CATEGORIES = 254  # with the shared bin of the rest and the missing bin, 256
MOST_PADDING = 1 << 20  # numbers that padding may add before columns are grouped by their length
EXACT_VALUES = 65_534  # "exact" mode: distinct values of a column that 16 bits can tell apart
SKETCH_VALUES = 2**15
ROWS_PER_BLOCK = 1000  # a block of 50 columns stays in the second-level cache; 2048 rows cost half as much again
ROWS_PER_SKETCH = 16_384  # eight columns of them are 1 MiB
TALLIED = 1024  # distinct values counted in a small table before hashes decide
MORE_TALLIED = 8 * TALLIED  # where they come again and again
NO_LIMIT = 2**64 - 1
CELLS_PER_CALL = 4_000_000  # a kernel call on this many cells stays far under 0.2 s
COLUMNS_AT_ONCE = 8  # by a thread: eight doubles are one cache line of a row


class Sketch:
    """The distinct values of one column with their total weights, thinned by hash, mergeable.

    It holds the `capacity` values with the smallest hashes, or all if they are fewer. A column of few values is
    tallied in a small table; beyond that, values enter if their hash is at most `limit`, which is guessed from
    the number of rows and tightened when too many enter. A guess that was too tight leaves the sketch `starved`:
    the column must then be read again with no limit.
    """

    def __init__(self, capacity: int, limit: int = NO_LIMIT) -> None:
        self.capacity = capacity
        self.room = min(TALLIED, capacity)
        self.limit = np.uint64(limit)
        self.info = np.array([0, 0, -1])  # distinct values tallied, missing weight, first infinite row
        self.keys = np.zeros(4 * TALLIED)
        self.totals = np.zeros(4 * TALLIED, dtype=np.int64)
        self.rows = 0  # tallied
        self.tallying = True
        self.parts: list[tuple[NDArray[np.float64], NDArray[np.int64]]] = []
        self.pending = 0

    def add(self, values: NDArray[np.float64], weights: NDArray[np.int64]) -> None:
        row = 0
        if self.tallying:
            row = self._tally(values, weights, 0)
            if row < len(values) and self.rows > 5 / 4 * TALLIED:
                self._tally_more()
                row = self._tally(values, weights, row)
            if row == len(values):
                return
            self._stop_tallying()
        self._select(values, weights, row)
        if self.pending > 4 * self.capacity:
            self._thin()

    def merge(self, other: "Sketch") -> None:
        """Add what another sketch of the same capacity holds."""
        values, weights = other.result()
        self.limit = min(self.limit, other.limit)
        if not other.tallying:
            self._stop_tallying()  # the other may lack values that a tally would hold
        elif len(values) > TALLIED:
            self._tally_more()
        self.add(values, weights)
        self.info[1] += other.info[1]

    def __add__(self, other: "Sketch") -> "Sketch":
        self.merge(other)
        return self

    def __getstate__(self) -> tuple[Any, ...]:
        """What travels: the values held, not the room for more."""
        return (self.capacity, self.limit, self.info, self.tallying, *self.result())

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        capacity, limit, info, tallying, values, weights = state
        Sketch.__init__(self, capacity, limit)
        if not tallying:
            self._stop_tallying()
        elif len(values) > TALLIED:
            self._tally_more()
        self.add(values, weights)
        self.info[1:] = info[1:]

    @property
    def starved(self) -> bool:
        return not self.tallying and bool(self.limit < NO_LIMIT) and len(self.result()[0]) < self.capacity

    def result(self) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """The values held, sorted, and their weights."""
        if self.tallying:
            held = self.totals > 0
            values, weights = self.keys[held], self.totals[held]
            if np.all(weights == weights[:1]):  # no need to carry them along
                return np.sort(values), weights
            order = np.argsort(values)
            return values[order], weights[order]
        self._thin()
        return self.parts[0]

    def _tally(self, values: NDArray[np.float64], weights: NDArray[np.int64], row: int) -> int:
        """The row to go on from: not the end, if the table is full."""
        end = int(kernels.tally(values, weights, row, self.keys, self.totals, self.info, self.room))
        self.rows += end - row
        return end

    def _tally_more(self) -> None:
        """In a larger table."""
        if not self.tallying or len(self.keys) == 4 * MORE_TALLIED:
            return
        held = np.flatnonzero(self.totals)
        values, weights = self.keys[held], self.totals[held]
        self.room = min(MORE_TALLIED, self.capacity)
        self.keys, self.totals = np.zeros(4 * MORE_TALLIED), np.zeros(4 * MORE_TALLIED, dtype=np.int64)
        self.info[0] = 0
        kernels.tally(values, weights, 0, self.keys, self.totals, self.info, self.room)

    def _stop_tallying(self) -> None:
        if self.tallying:
            held = np.flatnonzero(self.totals)
            self.tallying = False
            self._select(self.keys[held], self.totals[held], 0)

    def _select(self, values: NDArray[np.float64], weights: NDArray[np.int64], row: int) -> None:
        kept = np.empty(len(values) - row + 1)
        kept_weights = np.empty(len(kept), dtype=np.int64)
        n = kernels.select(values, weights, row, self.limit, kept, kept_weights, self.info)
        self.parts.append((kept[:n].copy(), kept_weights[:n].copy()))
        self.pending += n

    def _thin(self) -> None:
        """One part, sorted and distinct, of at most `capacity` values; later ones must beat them."""
        if len(self.parts) == 1 and self.pending <= self.capacity:
            return
        values, weights = _distinct(
            np.concatenate([values for values, _ in self.parts]),
            np.concatenate([weights for _, weights in self.parts]),
        )
        hashes = kernels.hash_values(values)
        if len(values) > self.capacity:
            self.limit = min(self.limit, np.partition(hashes, self.capacity - 1)[self.capacity - 1])
        within = hashes <= self.limit
        self.parts = [(values[within], weights[within])]
        self.pending = len(self.parts[0][0])


def _distinct(values: NDArray[np.float64], weights: NDArray[np.int64]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Sorted distinct values and their total weights."""
    if len(values) == 0:
        return values, weights
    if np.all(weights == 1):
        values = np.sort(values)
        starts = np.flatnonzero(np.concatenate([[True], values[1:] != values[:-1]]))
        return values[starts], np.diff(np.append(starts, len(values)))
    order = np.argsort(values)
    values = values[order]
    starts = np.flatnonzero(np.concatenate([[True], values[1:] != values[:-1]]))
    return values[starts], np.add.reduceat(weights[order], starts)


@dataclass(frozen=True)
class Bins:
    """Where every column is cut. Bin b of a column holds edges[b-1] < x <= edges[b]; the last bin is missing."""

    edges: list[NDArray[np.float64]]  # per column; a category column's are .5, 1.5, ...
    categories: dict[int, Categories]  # of the category columns
    has_missing: NDArray[np.bool_]  # in training
    n_bins: NDArray[np.int64]  # one more than edges; 0 for a column without any value
    stored_hash: bytes | None = None  # of all edges, for a loaded model, which has only those that its voters use

    @cached_property
    def width(self) -> int:
        """Bins per column with the missing one: 256, or more in exact mode."""
        return max(256, 1 + int(self.n_bins.max(initial=0)))

    @cached_property
    def ordered(self) -> NDArray[np.bool_]:
        flags = np.ones(len(self.edges), dtype=np.bool_)
        flags[list(self.categories)] = False
        return flags

    @cached_property
    def edges_hash(self) -> bytes:
        """SHA-256 of the edges of all columns."""
        if self.stored_hash is not None:
            return self.stored_hash
        found = hashlib.sha256(np.array([len(edges) for edges in self.edges], dtype="<i8").tobytes())
        for edges in self.edges:
            found.update(edges.astype("<f8", copy=False).tobytes())
        return found.digest()

    def same_as(self, other: "Bins") -> bool:
        """Whether the columns are cut at the same places."""
        return (
            len(self.edges) == len(other.edges)
            and self.edges_hash == other.edges_hash
            and np.array_equal(self.has_missing, other.has_missing)
            and self.categories.keys() == other.categories.keys()
            and all(
                np.array_equal(mine.levels, other.categories[column].levels) for column, mine in self.categories.items()
            )
        )

    def threshold(self, column: int, cut: int) -> float:
        """x <= threshold for the bins up to `cut`; infinite after the last one: everything but missing."""
        edges = self.edges[column]
        return float(edges[cut]) if cut < len(edges) else np.inf

    @property
    def missing(self) -> int:
        """The code of a missing value."""
        return self.width - 1

    @property
    def code_type(self) -> type[np.uint8] | type[np.uint16]:
        return np.uint8 if self.width <= 256 else np.uint16


def find_bins(
    table: Table,
    weights: NDArray[np.int64],
    categorical: Sequence[int],
    max_bins: int | str,
    pool: ThreadPool,
) -> Bins:
    """Bins of all columns of a table that is all there is."""
    return run_locally(find_bins_steps(table, weights, categorical, max_bins, pool))


def find_bins_steps(
    table: Table,
    weights: NDArray[np.int64],
    categorical: Sequence[int],
    max_bins: int | str,
    pool: ThreadPool,
) -> ReduceSteps[Bins]:
    """Bins of all columns from one pass over the rows of every part."""
    cutting = Cutting.of(max_bins)
    edges: list[NDArray[np.float64]] = [np.empty(0)] * table.n_columns
    has_missing = np.zeros(table.n_columns, dtype=np.bool_)
    n_bins = np.zeros(table.n_columns, dtype=np.int64)
    categories = {}
    for j in categorical:
        levels, missing = yield Reduce(count_levels(table, j, weights))
        categories[j], has_missing[j] = heaviest(levels), missing > 0
        n_bins[j] = categories[j].n_codes
        edges[j] = np.arange(n_bins[j] - 1) + 0.5
    n_rows, jobs = yield Reduce((table.n_rows, Max(pool.n_jobs)))
    numeric = [j for j in range(table.n_columns) if j not in categories]
    at_once = COLUMNS_AT_ONCE * int(jobs.value)  # more sketches would only take memory
    for k in range(0, len(numeric), at_once):
        batch = numeric[k : k + at_once]
        cut = yield from cut_columns_steps(Columns(table, weights, pool), batch, n_rows, cutting)
        for j, (column_edges, size, missing) in zip(batch, cut, strict=True):
            edges[j], n_bins[j], has_missing[j] = column_edges, size, missing
    return Bins(edges, categories, has_missing, n_bins)


Cut = tuple[NDArray[np.float64], int, bool]  # edges, number of bins, whether values are missing


@dataclass(frozen=True)
class Cutting:
    """How finely columns are cut; called with sketches, the cuts, and None where a sketch is starved."""

    most: int
    capacity: int

    @classmethod
    def of(cls, max_bins: int | str) -> "Cutting":
        if max_bins == "exact":
            return cls(EXACT_VALUES, EXACT_VALUES)
        return cls(int(max_bins), SKETCH_VALUES)

    def __call__(self, sketches: tuple[Sketch, ...]) -> list[Cut | None]:
        return [None if sketch.starved else self.cut(sketch) for sketch in sketches]

    def cut(self, sketch: Sketch) -> Cut:
        values, totals = sketch.result()
        edges = find_edges(values, totals, self.most)
        return edges, len(edges) + 1 if len(values) else 0, bool(sketch.info[1] > 0)


@dataclass(frozen=True)
class Columns:
    """The rows of one part, to be sketched by threads."""

    table: Table
    weights: NDArray[np.int64]
    pool: ThreadPool

    def sketch(self, columns: Sequence[int], capacity: int, limit: int) -> tuple[Sketch, ...]:
        groups = [columns[k : k + COLUMNS_AT_ONCE] for k in range(0, len(columns), COLUMNS_AT_ONCE)]
        made = self.pool.map(lambda group: self._sketch(group, capacity, limit), groups)
        return tuple(sketch for group in made for sketch in group)

    def _sketch(self, group: Sequence[int], capacity: int, limit: int) -> list[Sketch]:
        sketches = [Sketch(capacity, limit) for _ in group]
        sketch_columns(self.table, group, self.weights, sketches)
        for sketch in sketches:
            if not sketch.tallying:
                sketch.result()  # thinned here, in the thread
        return sketches


def cut_columns_steps(columns: Columns, batch: Sequence[int], n_rows: int, cutting: Cutting) -> ReduceSteps[list[Cut]]:
    """The cuts of some columns; those whose sketch starved are read again with no limit."""
    guess = min(NO_LIMIT, int(NO_LIMIT / max(n_rows, 1) * cutting.capacity * 1.1))
    cuts: list[Cut | None] = yield Reduce(columns.sketch(batch, cutting.capacity, guess), cutting)
    again = [place for place, cut in enumerate(cuts) if cut is None]
    if again:
        sketches = columns.sketch([batch[place] for place in again], cutting.capacity, NO_LIMIT)
        for place, cut in zip(again, (yield Reduce(sketches, cutting)), strict=True):
            cuts[place] = cut
    return [cut for cut in cuts if cut is not None]


def sketch_columns(
    table: Table, columns: Sequence[int], weights: NDArray[np.int64], sketches: list[Sketch]
) -> list[Sketch]:
    reading = BlockReader(table)
    for low in range(0, table.n_rows, ROWS_PER_SKETCH):
        high = min(low + ROWS_PER_SKETCH, table.n_rows)
        block = reading.numbers(low, high, columns)
        for column, sketch, values in zip(columns, sketches, block, strict=True):
            sketch.add(values, weights[low:high])
            if sketch.info[2] >= 0:
                refuse_infinite(table, column, low + int(sketch.info[2]))
    return sketches


def find_edges(values: NDArray[np.float64], weights: NDArray[np.int64], max_bins: int) -> NDArray[np.float64]:
    """Between the bins: midpoints of neighbours, or the left one where the midpoint rounds up to the right one."""
    if len(values) < 2:
        return np.empty(0)
    few = len(values) <= max_bins
    left = np.arange(len(values) - 1) if few else kernels.cuts(weights, max_bins)[:-1]
    low, high = values[left], values[left + 1]
    middle = low * 0.5 + high * 0.5
    return np.asarray(np.where((middle >= high) | (middle < low), low, middle))


@dataclass(frozen=True)
class Levels:
    """The levels of a category column with their total weights, in order."""

    union: SortedUnion
    totals: NDArray[np.int64]

    def __add__(self, other: "Levels") -> "Levels":
        union = self.union + other.union
        totals = np.zeros(len(union.values), dtype=np.int64)
        for levels in (self, other):
            if len(levels.totals):
                totals[np.searchsorted(union.values, levels.union.values)] += levels.totals
        return Levels(union, totals)


def count_levels(table: Table, column: int, weights: NDArray[np.int64]) -> tuple[Levels, int]:
    """The levels of a category column that occur with weight, and the weight of its missing values."""
    levels = table.levels(column)
    every = Categories(levels if levels.dtype == object else levels + 0.0)  # -0.0 is 0.0
    totals = np.zeros(len(every.levels), dtype=np.int64)
    missing = 0
    for low in range(0, table.n_rows, CELLS_PER_CALL):
        high = min(low + CELLS_PER_CALL, table.n_rows)
        codes = table.codes(low, high, column, every)
        seen = np.isfinite(codes)
        np.add.at(totals, codes[seen].astype(np.int64), weights[low:high][seen])
        missing += int(weights[low:high][~seen].sum())
        infinite = np.flatnonzero(np.isinf(codes) & (weights[low:high] > 0))
        if infinite.size:
            refuse_infinite(table, column, low + int(infinite[0]))
    name = f"column {table.names[column]!r}" if table.names else f"column {column}"
    return Levels(SortedUnion(every.levels[totals > 0], name), totals[totals > 0]), missing


def heaviest(found: Levels) -> Categories:
    """The heaviest levels keep a code of their own, in the order of the levels; the rest share one."""
    levels, totals = found.union.values, found.totals
    if len(levels) <= MOST_CATEGORIES + 1:
        return Categories(levels)
    kept = np.zeros(len(levels), dtype=np.bool_)
    kept[np.argsort(-totals, kind="stable")[:MOST_CATEGORIES]] = True
    return Categories(levels[kept], tuple(levels[~kept].tolist()))


def pad_edges(
    edges: Sequence[NDArray[np.float64]],
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Edges as one array padded with +inf to a power of two, and the bits to search in each row."""
    depths = np.array([len(e).bit_length() for e in edges], dtype=np.int64)
    padded = np.full((len(edges), 1 << int(depths.max(initial=0))), np.inf)
    for row, e in zip(padded, edges, strict=True):
        row[: len(e)] = e
    return padded, depths


def read_block(table: Table, categories: dict[int, Categories], low: int, high: int) -> Block:
    """All columns of some rows, as numbers; categories as codes."""
    if not categories:
        return table.numbers(low, high, range(table.n_columns))
    block = np.empty((table.n_columns, high - low))
    numeric = [j for j in range(table.n_columns) if j not in categories]
    if numeric:
        block[numeric] = table.numbers(low, high, numeric)
    for j, levels in categories.items():
        block[j] = table.codes(low, high, j, levels)
    return block


def reader(table: Table, categories: dict[int, Categories]) -> Callable[[int, int], Block]:
    """Blocks of a table as voters want them: categories as codes, nothing infinite."""

    def read(low: int, high: int) -> Block:
        block = read_block(table, categories, low, high)
        column, row = kernels.first_infinite(block)
        refuse_infinite(table, column, low + row)
        return block

    return read


def block_rows(n_columns: int) -> int:
    """Rows to read at once: a block of 50 columns then stays in the second-level cache, a wide one in memory."""
    return max(1, min(ROWS_PER_BLOCK, CELLS_PER_CALL // max(1, n_columns)))


def similar_sizes(edges: list[NDArray[np.float64]]) -> list[NDArray[np.int64]]:
    """Return groups of places whose edges can be padded to one length without taking far more memory than they have.

    One group where that is so for all of them; else one per power of two, so that padding at most doubles them.
    """
    depths = np.array([len(e).bit_length() for e in edges], dtype=np.int64)
    padded = len(edges) << int(depths.max(initial=0))
    if padded <= MOST_PADDING + 4 * sum(map(len, edges)):
        return [np.arange(len(edges))]
    return [np.flatnonzero(depths == depth) for depth in np.unique(depths)]
