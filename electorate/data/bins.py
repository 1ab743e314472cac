"""Bins: where the columns of a table are cut. They depend on the values of a column and their weights only.

Values become numbers of bins where the rows are held: `encode_rows` in engines/shard.py.

The distinct values of a column go into a sketch: all of them up to a capacity, beyond it those with the smallest
hashes. So edges do not depend on the order of rows, on chunks or on partitions, and sketches can be merged.
"""

import hashlib
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from electorate import kernels
from electorate.cuda.device import Device
from electorate.data.all_reduce import Max, Reduce, ReduceSteps, SortedUnion, run_locally
from electorate.data.device_bins import Found, distinct_values, select_values, weights_there
from electorate.data.table import Block, BlockReader, Categories, Table, float_parts, refuse_infinite
from electorate.exact import Bools, Floats, Ints
from electorate.threads import ThreadPool

MOST_CATEGORIES = 254  # with the shared bin of the rest and the missing bin, 256
RARE = 10  # rows: lighter categories of a column share a bin ...
RARE_SHARE = 20  # ... if they are also lighter than the rows of the column over this ...
FEW_RARE = 5  # ... and if there are more than so many of them: a few cannot do much harm
MOST_PADDING = 1 << 20  # numbers that padding may add before columns are grouped by their length
EXACT_VALUES = 65_534  # "exact" mode: distinct values of a column that fit in 16 bits, with the missing bin
SKETCH_VALUES = 2**15
ROWS_PER_BLOCK = 1000  # a block of 50 columns stays in the second-level cache; 2048 rows cost half as much again
CELLS_PER_SKETCH = 2**17  # of a block that a thread reads: 1 MiB
TALLIED = 1024  # distinct values counted in a small table before hashes decide
MORE_TALLIED = 8 * TALLIED  # if most of the rows repeat values
NO_LIMIT = 2**64 - 1
CELLS_PER_CALL = 4_000_000  # a kernel call on this many cells stays far under 0.2 s
COLUMNS_AT_ONCE = 8  # per thread: eight doubles are one cache line of a row
FEWEST_AT_ONCE = 2  # where there are many threads

Cut = tuple[Floats, int, bool]  # edges, number of bins, whether values are missing


class Sketch:
    """The distinct values of one column with their total weights, thinned by hash, mergeable.

    It holds the `capacity` values with the smallest hashes, or all if they are fewer. A column of few values is
    tallied in a small table. Beyond that, values enter if their hash is at most `limit`, which is guessed from
    the number of rows and tightened when too many enter. A guess that was too tight leaves the sketch `starved`:
    the column must then be read again with no limit.
    """

    def __init__(self, capacity: int, limit: int = NO_LIMIT) -> None:
        self.capacity = capacity
        self.limit = np.uint64(limit)
        self.info = np.array([0, 0, -1])  # distinct values tallied, missing weight, first infinite row
        self.rows = 0  # tallied
        self.tallying = True
        self.parts: list[tuple[Floats, Ints]] = []
        self.pending = 0
        self._new_tally(TALLIED)

    def add(self, values: Floats, weights: Ints) -> None:
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

    @classmethod
    def of_found(cls, capacity: int, limit: int, values: Floats, weights: Ints, missing: bool) -> "Sketch":
        """A sketch of values in any order that were found elsewhere, by the same limit."""
        sketch = cls(capacity, limit)
        sketch.tallying = False
        sketch.parts = [_distinct(values, weights)]
        sketch.pending = len(sketch.parts[0][0])
        sketch.info[1] = missing
        return sketch

    def __add__(self, other: "Sketch") -> "Sketch":
        """Add the contents of another sketch of the same capacity, in place."""
        self.limit = min(self.limit, other.limit)
        self._add_contents(*other._contents())
        return self

    def __getstate__(self) -> tuple[Any, ...]:
        return self.capacity, self.limit, self._contents()  # without the buffers

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        capacity, limit, contents = state
        Sketch.__init__(self, capacity, limit)
        self._add_contents(*contents)

    def _contents(self) -> tuple[bool, int, Floats, Ints]:
        return self.tallying, int(self.info[1]), *self.result()

    def _add_contents(self, tallying: bool, missing: int, values: Floats, weights: Ints) -> None:
        if not tallying:
            self._stop_tallying()  # values that a tally would hold may be left out
        elif len(values) > TALLIED:
            self._tally_more()
        self.add(values, weights)
        self.info[1] += missing

    @property
    def starved(self) -> bool:
        return not self.tallying and bool(self.limit < NO_LIMIT) and len(self.result()[0]) < self.capacity

    def result(self) -> tuple[Floats, Ints]:
        """Return the values held, sorted, and their weights."""
        if not self.tallying:
            self._thin()
            return self.parts[0]
        values, weights = self._tallied()
        if np.all(weights == weights[:1]):  # they need no reordering
            return np.sort(values), weights
        order = np.argsort(values)
        return values[order], weights[order]

    def _new_tally(self, size: int) -> None:
        self.tally_size = min(size, self.capacity)
        self.keys, self.totals = np.zeros(4 * size), np.zeros(4 * size, dtype=np.int64)
        self.info[0] = 0

    def _tallied(self) -> tuple[Floats, Ints]:
        held = np.flatnonzero(self.totals)
        return self.keys[held], self.totals[held]

    def _tally(self, values: Floats, weights: Ints, row: int) -> int:
        """Tally from a row on; return the row at which the table is full, or the end."""
        end = int(kernels.tally(values, weights, row, self.keys, self.totals, self.info, self.tally_size))
        self.rows += end - row
        return end

    def _tally_more(self) -> None:
        """Move to the larger table."""
        if self.tallying and len(self.keys) < 4 * MORE_TALLIED:
            values, weights = self._tallied()
            self._new_tally(MORE_TALLIED)
            self._tally(values, weights, 0)

    def _stop_tallying(self) -> None:
        if self.tallying:
            self.tallying = False
            self._select(*self._tallied(), 0)

    def _select(self, values: Floats, weights: Ints, row: int) -> None:
        """Store the values from a row on whose hash is within the limit."""
        chosen = np.empty(len(values) - row + 1)
        chosen_weights = np.empty(len(chosen), dtype=np.int64)
        n = kernels.select(values, weights, row, self.limit, chosen, chosen_weights, self.info)
        self.parts.append((chosen[:n].copy(), chosen_weights[:n].copy()))
        self.pending += n

    def _thin(self) -> None:
        """Merge all parts into one, sorted and distinct, of at most `capacity` values, and tighten the limit."""
        if len(self.parts) == 1 and self.pending <= self.capacity:
            return
        values, weights = _distinct(*map(np.concatenate, zip(*self.parts, strict=True)))
        hashes = kernels.hash_values(values)
        if len(values) > self.capacity:
            self.limit = min(self.limit, np.partition(hashes, self.capacity - 1)[self.capacity - 1])
        within = hashes <= self.limit
        self.parts = [(values[within], weights[within])]
        self.pending = len(self.parts[0][0])


def _distinct(values: Floats, weights: Ints) -> tuple[Floats, Ints]:
    """Sorted distinct values and their total weights."""
    if np.all(weights == 1):
        return np.unique(values, return_counts=True)
    order = np.argsort(values)
    values = values[order]
    starts = np.flatnonzero(np.append(True, values[1:] != values[:-1]))
    return values[starts], np.add.reduceat(weights[order], starts)


@dataclass(frozen=True)
class Bins:
    """The cuts of every column. Bin b of a column holds edges[b-1] < x <= edges[b]; the last bin is missing."""

    edges: list[Floats]  # per column; a category column's are .5, 1.5, ...
    categories: dict[int, Categories]  # of the category columns
    has_missing: Bools  # in training
    n_bins: Ints  # one more than edges; 0 for a column without any value
    stored_hash: bytes | None = None  # of all edges, for a loaded model, which has only those that its voters use

    @cached_property
    def width(self) -> int:
        """Bins per column with the missing one: 256, or more in exact mode."""
        return max(256, 1 + int(self.n_bins.max(initial=0)))

    @cached_property
    def ordered(self) -> Bools:
        """Which columns are split by thresholds."""
        return ~np.isin(np.arange(len(self.edges)), self.split_by_sets)

    @cached_property
    def split_by_sets(self) -> list[int]:
        """The columns that are split by sets of categories."""
        return sorted(self.categories)

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
            and all(np.array_equal(mine.levels, other.categories[j].levels) for j, mine in self.categories.items())
        )

    def among(self, columns: Bools) -> "Bins":
        """Return the bins with no value in the other columns, so that no split uses them."""
        some = replace(
            self,
            categories={j: known for j, known in self.categories.items() if columns[j]},
            has_missing=self.has_missing & columns,
            n_bins=np.where(columns, self.n_bins, 0),
        )
        some.__dict__.update(width=self.width, ordered=self.ordered)
        return some

    def threshold(self, column: int, cut: int) -> float:
        """Return t such that x <= t in the bins up to `cut`; infinity after the last bin."""
        edges = self.edges[column]
        return float(edges[cut]) if cut < len(edges) else np.inf

    @property
    def missing(self) -> int:
        """The code of a missing value."""
        return self.width - 1

    @property
    def code_type(self) -> type[np.uint8] | type[np.uint16]:
        return np.uint8 if self.width <= 256 else np.uint16


def find_bins(table: Table, weights: Ints, categorical: Sequence[int], max_bins: int | str, pool: ThreadPool) -> Bins:
    """Return the bins of all columns of a table that is the only part; weights count as rows."""
    return run_locally(find_bins_steps(table, weights, categorical, max_bins, pool))


def find_bins_steps(
    table: Table,
    weights: Ints,
    categorical: Sequence[int],
    max_bins: int | str,
    pool: ThreadPool,
    times: Ints | None = None,
    device: Device | None = None,
) -> ReduceSteps[Bins]:
    """Return the bins of all columns, from one pass over the rows of every part.

    times: how often each row counts where a category is judged rare; by default, its weight. device: where columns of
    floats are read, if not here.
    """
    most, capacity = sketch_sizes(max_bins)
    levels: CountedLevels = {}
    cuts: dict[int, Cut] = {}
    for j in categorical:
        levels[j] = yield Reduce(count_levels(table, j, weights, times))
    n_rows, jobs = yield Reduce((table.n_rows, Max(pool.n_jobs if device is None else table.n_columns)))
    numeric = [j for j in range(table.n_columns) if j not in levels]
    at_once = COLUMNS_AT_ONCE * int(jobs.value)  # more sketches would only take memory
    for k in range(0, len(numeric), at_once):
        columns, sizes = numeric[k : k + at_once], (n_rows, most, capacity)
        cuts |= yield from cut_columns_steps(table, weights, columns, *sizes, pool, device)
    return join_columns(table.n_columns, levels, cuts)


def join_columns(n_columns: int, levels: "CountedLevels", cuts: dict[int, Cut]) -> Bins:
    """Return the bins of all columns, from the levels of categorical columns and the cuts of numeric ones."""
    bins = no_bins(n_columns)
    for j, (found, missing) in levels.items():
        bins.categories[j] = heaviest(found)
        bins.n_bins[j], bins.has_missing[j] = bins.categories[j].n_codes, missing > 0
        bins.edges[j] = np.arange(bins.n_bins[j] - 1) + 0.5
    for j, cut in cuts.items():
        bins.edges[j], bins.n_bins[j], bins.has_missing[j] = cut
    return bins


def no_bins(n_columns: int) -> Bins:
    """Return empty bins, for an unbinned table."""
    return Bins([np.empty(0)] * n_columns, {}, np.zeros(n_columns, dtype=np.bool_), np.zeros(n_columns, dtype=np.int64))


def sketch_sizes(max_bins: int | str) -> tuple[int, int]:
    """Return the most bins of a column, and the values that its sketch holds."""
    return (EXACT_VALUES, EXACT_VALUES) if max_bins == "exact" else (int(max_bins), SKETCH_VALUES)


def cut_columns_steps(
    table: Table,
    weights: Ints,
    columns: Sequence[int],
    n_rows: int,
    most: int,
    capacity: int,
    pool: ThreadPool,
    device: Device | None = None,
) -> ReduceSteps[dict[int, Cut]]:
    """Cut columns into at most `most` bins. Columns whose sketch is starved are read again with no limit."""
    cuts: dict[int, Cut] = {}
    for limit in limits(n_rows, capacity):
        left = [column for column in columns if column not in cuts]
        if left:
            sketches = None if device is None else _sketch_there(table, weights, left, capacity, limit, pool, device)
            if sketches is None:
                sketches = _sketch_columns(table, weights, left, capacity, limit, pool)
            found = yield Reduce(sketches, partial(cut_sketches, most))
            cuts |= {column: cut for column, cut in zip(left, found, strict=True) if cut is not None}
    return cuts


def limits(n_rows: int, capacity: int) -> tuple[int, int]:
    """Return the limit to try first, from the number of rows, and no limit."""
    return min(NO_LIMIT, int(NO_LIMIT / max(n_rows, 1) * capacity * 1.1)), NO_LIMIT


def _sketch_columns(
    table: Table, weights: Ints, columns: Sequence[int], capacity: int, limit: int, pool: ThreadPool
) -> tuple[Sketch, ...]:
    sketches = {column: Sketch(capacity, limit) for column in columns}
    add_to_sketches(sketches, table, weights, pool)
    thin_sketches(sketches, pool)
    return tuple(sketches.values())


def _sketch_there(
    table: Table, weights: Ints, columns: Sequence[int], capacity: int, limit: int, pool: ThreadPool, device: Device
) -> tuple[Sketch, ...] | None:
    """Sketch columns on a device; None where the table is not one of floats, or a number is infinite."""
    parts = float_parts(table)
    if parts is None or not table.n_rows:
        return None
    weighted = weights_there(weights, device)
    chosen: Sequence[Found | None] = [None] * len(columns)
    if limit < NO_LIMIT:
        selected = select_values(parts, weighted, columns, capacity, limit, device)
        if selected is None:
            return None
        chosen = selected
    found: list[tuple[int, Found]] = []
    for column, one in zip(columns, chosen, strict=True):
        of_all = distinct_values(parts, weighted, column, capacity, device) if one is None else one
        if of_all is None:
            return None
        found.append((NO_LIMIT if one is None else limit, of_all))
    return tuple(pool.map(lambda one: Sketch.of_found(capacity, one[0], *one[1]), found))


def add_to_sketches(sketches: dict[int, Sketch], table: Table, weights: Ints, pool: ThreadPool) -> None:
    """Add the rows of a table to the sketches of its columns."""
    columns = list(sketches)
    share = math.ceil(len(columns) / pool.count_threads(len(columns)))
    size = max(FEWEST_AT_ONCE, min(COLUMNS_AT_ONCE, share))
    n_rows = CELLS_PER_SKETCH // size

    def add_group(group: Sequence[int]) -> None:
        reader = BlockReader(table)
        for low in range(0, table.n_rows, n_rows):
            high = min(low + n_rows, table.n_rows)
            for column, values in zip(group, reader.numbers(low, high, group), strict=True):
                sketch = sketches[column]
                sketch.add(values, weights[low:high])
                if sketch.info[2] >= 0:
                    refuse_infinite(table, column, low + int(sketch.info[2]))

    pool.map(add_group, [columns[k : k + size] for k in range(0, len(columns), size)])


def thin_sketches(sketches: dict[int, Sketch], pool: ThreadPool) -> None:
    """Thin sketches in the threads of the pool, once all rows have been added."""
    pool.map(Sketch.result, [sketch for sketch in sketches.values() if not sketch.tallying])


def cut_sketches(most: int, sketches: tuple[Sketch, ...]) -> list[Cut | None]:
    """Return the cut of every column, None where its sketch is starved."""
    cuts: list[Cut | None] = []
    for sketch in sketches:
        values, totals = sketch.result()
        edges = find_edges(values, totals, most)
        n_bins = len(edges) + 1 if len(values) else 0
        cuts.append(None if sketch.starved else (edges, n_bins, bool(sketch.info[1] > 0)))
    return cuts


def find_edges(values: Floats, weights: Ints, max_bins: int) -> Floats:
    """Return the midpoints between bins, or the left neighbour where the midpoint rounds up to the right one."""
    if len(values) < 2:
        return np.empty(0)
    left = np.arange(len(values) - 1) if len(values) <= max_bins else kernels.cuts(weights, max_bins)[:-1]
    low, high = values[left], values[left + 1]
    middle = low * 0.5 + high * 0.5
    return np.asarray(np.where((middle >= high) | (middle < low), low, middle))


@dataclass(frozen=True)
class Levels:
    """The levels of a category column, sorted. totals: of each level, [total, level].

    These are its weight, how many rows it stands for and, for the order by the mean target, three sums of targets.
    """

    union: SortedUnion
    totals: Ints

    def __add__(self, other: "Levels") -> "Levels":
        union = self.union + other.union
        totals = np.zeros((len(self.totals), len(union.values)), dtype=np.int64)
        for levels in (self, other):
            if levels.totals.size:
                totals[:, np.searchsorted(union.values, levels.union.values)] += levels.totals
        return Levels(union, totals)


CountedLevels = dict[int, tuple[Levels, int]]  # by column: its levels, and the weight of its missing values


def count_levels(table: Table, column: int, weights: Ints, times: Ints | None = None) -> tuple[Levels, int]:
    """Return the levels of a category column that occur with weight, and the weight of its missing values.

    times: how many rows each row stands for, if that is not its weight.
    """
    levels = table.levels(column)
    every = Categories(levels if levels.dtype == object else levels + 0.0)  # -0.0 is 0.0
    counted, missing = np.stack([weights, weights if times is None else times]), 0
    totals = np.zeros((len(counted), len(every.levels)), dtype=np.int64)
    for low in range(0, table.n_rows, CELLS_PER_CALL):
        high = min(low + CELLS_PER_CALL, table.n_rows)
        codes, weight = table.codes(low, high, column, every), weights[low:high]
        known = np.isfinite(codes)
        np.add.at(totals.T, codes[known].astype(np.int64), counted[:, low:high][:, known].T)
        missing += int(weight[~known].sum())
        infinite = np.flatnonzero(np.isinf(codes) & (weight > 0))
        if infinite.size:
            refuse_infinite(table, column, low + int(infinite[0]))
    found = totals[0] > 0
    return Levels(SortedUnion(every.levels[found], f"column {table.column_name(column)}"), totals[:, found]), missing


def heaviest(found: Levels) -> Categories:
    """Return categories in which the heaviest levels have their own codes, in the order of the levels."""
    own, levels = _not_rare(found), found.union.values
    return Categories(levels[own], tuple(levels[~own].tolist()))


def _not_rare(found: Levels) -> Bools:
    """Which levels have their own codes.

    Rare levels share a code, unless they are few: a column with a name in every row would otherwise predict its
    training rows, and nothing else.
    """
    weights, rows = found.totals[:2]
    own = (rows >= RARE) | (rows * RARE_SHARE >= rows.sum())
    if np.count_nonzero(~own) <= FEW_RARE:
        own[:] = True
    if np.count_nonzero(own) > MOST_CATEGORIES + own.all():
        own[np.argsort(np.where(own, -weights, 1), kind="stable")[MOST_CATEGORIES:]] = False
    return np.asarray(own)


def pad_edges(edges: Sequence[Floats]) -> tuple[Floats, Ints]:
    """Return the edges as one array padded with +inf to a power of two, and the bits to search in each row."""
    depths = np.array([len(e).bit_length() for e in edges], dtype=np.int64)
    padded = np.full((len(edges), 1 << int(depths.max(initial=0))), np.inf)
    for row, e in zip(padded, edges, strict=True):
        row[: len(e)] = e
    return padded, depths


def similar_sizes(edges: list[Floats]) -> list[Ints]:
    """Return groups of places whose edges can be padded to one length without taking far more memory than they have.

    One group where that is so for all of them; else one per power of two, so that padding at most doubles them.
    """
    depths = np.array([len(e).bit_length() for e in edges], dtype=np.int64)
    padded = len(edges) << int(depths.max(initial=0))
    if padded <= MOST_PADDING + 4 * sum(map(len, edges)):
        return [np.arange(len(edges))]
    return [np.flatnonzero(depths == depth) for depth in np.unique(depths)]


def read_block(table: Table, categories: dict[int, Categories], low: int, high: int) -> Block:
    """Return all columns of the rows low..high, categories as codes."""
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
    """Return a function that reads blocks of all columns and refuses infinite numbers."""

    def read(low: int, high: int) -> Block:
        block = read_block(table, categories, low, high)
        column, row = kernels.first_infinite(block)
        refuse_infinite(table, column, low + row)
        return block

    return read


def block_rows(n_columns: int) -> int:
    """Return how many rows to read at once, so that a block stays in the cache, or a wide one in memory."""
    return max(1, min(ROWS_PER_BLOCK, CELLS_PER_CALL // max(1, n_columns)))
