"""Calls every kernel with tables of no rows, columns, bins, labels or rounds, each array between guard bytes.

Run as a program, it prints what went wrong, a line for each, and "done" at the end: a kernel that writes where it must
not may end the process.
"""

import sys
from collections.abc import Callable
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from electorate import kernels
from electorate.kernels import FILE_OF
from electorate.kernels.formulas import EXPONENTIAL
from electorate.kernels.layouts import (
    AddedStump,
    AddedTree,
    ColumnLayout,
    Formulas,
    LevelArrays,
    NodeArrays,
    NodeRows,
    RowArrays,
    ShardArrays,
    SplitRule,
    TargetRule,
    TargetWeights,
    Tiles,
)
from electorate.model.float_model import NODE
from electorate.model.masks import Tests

GUARD, FILL = 4096, 0xA5  # bytes on both sides of an array
WIDTH = 256  # of a histogram of codes of 8 bits, four columns to a word


class Sizes(NamedTuple):
    """How large a table is, and how many voters, nodes, leaves or moves there are."""

    rows: int
    columns: int
    bins: int
    labels: int
    rounds: int

    @property
    def words(self) -> int:
        return -(-self.columns // 4)

    @property
    def labelled(self) -> int:
        """Rows with a label: none without labels."""
        return self.rows if self.labels else 0


class Guarded:
    """Makes arrays between guard bytes."""

    def __init__(self) -> None:
        self.buffers: list[tuple[np.ndarray, int]] = []

    def __call__(self, *shape: int, dtype: Any = np.int64, value: Any = 0) -> np.ndarray:
        size = int(np.prod(shape)) * np.dtype(dtype).itemsize
        buffer = np.full(size + 2 * GUARD, FILL, dtype=np.uint8)
        self.buffers.append((buffer, size))
        array = buffer[GUARD : GUARD + size].view(dtype).reshape(shape)
        array[...] = value
        return array

    def floats(self, *shape: int, value: float = 0.0) -> np.ndarray:
        return self(*shape, dtype=np.float64, value=value)

    def bools(self, *shape: int, value: bool = False) -> np.ndarray:
        return self(*shape, dtype=np.bool_, value=value)

    def starts(self, labels: int, rows: int) -> np.ndarray:
        """Where the rows of each label start: the first label has all of them."""
        starts = self(labels + 1)
        starts[1:] = rows
        return starts

    def order(self, rows: int) -> np.ndarray:
        order = self(rows, dtype=np.uint32)
        order[:] = np.arange(rows)
        return order

    def are_intact(self) -> bool:
        return all(np.all(b[:GUARD] == FILL) and np.all(b[GUARD + n :] == FILL) for b, n in self.buffers)


def packed(new: Guarded, s: Sizes) -> np.ndarray:
    """Codes, all of them missing, as words of four columns."""
    return new(s.words, s.rows, dtype=np.uint32, value=2**32 - 1)


def codes_of(new: Guarded, s: Sizes) -> np.ndarray:
    return new(s.words, s.rows, 4, dtype=np.uint8, value=255)


def layout(new: Guarded, s: Sizes, ordered: bool = True) -> tuple[np.ndarray, ...]:
    return new(s.columns, value=s.bins), new.bools(s.columns, value=True), new.bools(s.columns, value=ordered)


def sums_and_totals(new: Guarded, s: Sizes, labels: int) -> tuple[np.ndarray, np.ndarray]:
    """A histogram of rows that have missing values only."""
    sums = new(labels, s.columns, s.bins + 1)
    sums[:, :, -1] = s.rows
    return sums, new(labels, value=s.rows)


def search(new: Guarded, s: Sizes, *more: Any, labels: int | None = None, ordered: bool = True) -> tuple[Any, ...]:
    sums = sums_and_totals(new, s, s.labels if labels is None else labels)
    return (*sums, *layout(new, s, ordered), new(0, 0), 1, *more, new(3))


def earning(new: Guarded, kind: int, labels: int) -> tuple[Any, ...]:
    return kind, new(labels), new.floats(labels), new.floats(labels), 0.25, new.floats(4, labels), False


def node_arrays(new: Guarded, s: Sizes, n_nodes: int) -> NodeArrays:
    """The first node has all rows, and the others none."""
    starts = new(n_nodes, s.labels + 1)
    starts[:1, 1:] = s.labelled
    return NodeArrays(new(n_nodes), starts)


def row_arrays(new: Guarded, s: Sizes) -> RowArrays:
    group, none = new(s.labels), new(0)
    group[:] = np.arange(s.labels)
    return RowArrays(new.starts(s.labels, s.labelled), group, new.floats(0), none, none, 2.0**20)


def target_weights(new: Guarded, s: Sizes) -> TargetWeights:
    return TargetWeights(
        new.floats(s.rows), new.floats(s.rows), new.floats(0), new.floats(0), new(0), 0.0, 0.0, 1.0, 8.0
    )


def leaves(new: Guarded, s: Sizes) -> tuple[np.ndarray, ...]:
    """Rows with targets in leaves: no rows without leaves."""
    rows = s.rows if s.rounds else 0
    return new(rows, dtype=np.int32), new.floats(rows), new(rows)


def trees(new: Guarded, s: Sizes) -> tuple[Any, ...]:
    """The offsets of voters that are single leaves, and what each node has: place, cut, units and so on."""
    offsets = new(s.rounds + 1)
    offsets[:] = np.arange(s.rounds + 1)
    return offsets, new(s.rounds, dtype=np.int32, value=-1), new(s.rounds, dtype=np.int32)


def tests_of(new: Guarded) -> Tests:
    """No splits at all: trees of one leaf."""
    none = new(0, dtype=np.int32), new(0, dtype=np.uint8), new(0, dtype=np.uint8), new(0, dtype=np.int32)
    return Tests(*none, new(0, 256, dtype=np.uint8), new(0, 2, dtype=np.int32), new(0, 1, 2, dtype=np.uint8))


def masked(new: Guarded, s: Sizes, *between: Any) -> tuple[Any, ...]:
    offsets, ends = new(s.rounds + 1), new(s.rounds + 1)
    ends[:] = np.arange(s.rounds + 1)
    planes, leaf = new(1, s.rows, dtype=np.uint8), new(s.rows, dtype=np.uint8)
    return new(s.columns, s.rows, dtype=np.uint8), offsets, ends, tests_of(new), *between, planes, leaf


def small_nodes(new: Guarded, s: Sizes, criterion: int, kind: int) -> tuple[Any, ...]:
    """Nodes without splits: every value is missing."""
    rows = NodeRows(
        new(s.labelled, dtype=np.int32),
        new(s.labelled, s.words, dtype=np.uint32, value=2**32 - 1),
        new(s.labelled, dtype=np.int32),
        new(s.labelled, value=1),
        new(s.labelled),
        new.floats(s.labelled),
        new(s.labelled, value=1),
    )
    number = new(s.columns)
    number[:] = np.arange(s.columns)
    columns = ColumnLayout(*layout(new, s), number, new(s.columns, WIDTH))
    labels = 2 if criterion == 4 else s.labels
    rule = None if criterion < 3 else TargetRule(*earning(new, kind, labels))
    ends, totals = new(s.rounds + 1, value=s.labelled), new(s.rounds, labels)
    ends[:1] = 0
    totals[:1, :1] = s.labelled
    nodes = ends, totals, new(s.rounds, value=3), new.bools(s.rounds), new(s.rounds, dtype=np.uint64)
    return rows, columns, SplitRule(criterion, labels, 1, 2, 0), rule, new.order(s.labelled), *nodes


def pool(new: Guarded, s: Sizes) -> tuple[np.ndarray, ...]:
    """Of voters: weight, Gram matrix, and the place of each of its rows."""
    n = s.columns
    slot = new(n)
    slot[:] = np.arange(n)
    return new.floats(n), new.floats(n, n, value=1.0), slot


# ---------------------------------------------------------------- kernels that share their work among threads

STUMP = AddedStump(0, np.empty(0, dtype=np.uint8), np.empty((0, 0, 0)))
NO_NUMBERS = np.empty(0, dtype=np.int64)
NO_SIDES, NO_CHILDREN = np.empty((0, 0), dtype=np.bool_), np.empty((0, 0), dtype=np.int64)
TREE = AddedTree(NO_NUMBERS, NO_NUMBERS, NO_NUMBERS, NO_SIDES, NO_CHILDREN, np.empty((0, 0, 0)))


def one_shard(new: Guarded, s: Sizes) -> list[ShardArrays]:
    spare, codes = new(s.labelled, dtype=np.uint32), new(s.words, s.labelled, 4, dtype=np.uint8, value=255)
    shard = ShardArrays(
        codes,
        codes.view(np.uint32)[:, :, 0],
        row_arrays(new, s),
        new.floats(2, s.labelled),
        new(2, s.labelled),
        new.order(s.labelled),
        spare,
        spare.view(np.int32),
        node_arrays(new, s, 1 + 2 * s.rounds),
    )
    return [shard]


def advance_all(new: Guarded, s: Sizes) -> tuple[Any, ...]:
    formulas = Formulas(new.floats(1, 5), 0, 0)
    shape = (min(s.rounds, 1), s.labels, 4 * s.words, WIDTH)
    rest = new(1, *shape), new(1, 1, s.labels), new(1), new(*shape)
    return 1 + s.rounds, one_shard(new, s), STUMP, TREE, formulas, Tiles(1, max(1, s.words)), *rest


def split_all(new: Guarded, s: Sizes) -> tuple[Any, ...]:
    n = min(s.rounds, 1) if s.words else 0
    number = new(n)
    level = LevelArrays(number, number + 1, number + 2, new(n), new.bools(n, WIDTH))
    less, rests, wholes = (new(n, s.labels, 4 * s.words, WIDTH) for _ in range(3))
    stack, rows = new(1, n, s.labels, 4 * s.words, WIDTH), new(1, n, 2)
    shards, tiles = one_shard(new, s), Tiles(1, max(1, s.words))
    return 1 + s.rounds, shards, True, level, tiles, stack, list(wholes), list(rests), less, rows, new.bools(n)


def boost_stumps(new: Guarded, s: Sizes) -> tuple[Any, ...]:
    columns = ColumnLayout(*layout(new, s), new(0), new(s.columns, WIDTH))
    sums, totals = new(1, 2, 4 * s.words, WIDTH, value=1), new(1, 2, value=1)
    out = new.bools(s.rounds, WIDTH), new(s.rounds, 8), new.floats(s.rounds, 3)
    return one_shard(new, s)[0], columns, 0.5, 0.0, 40.0, 1.0, 2**60, 0.0, 2.0**21, sums, totals, *out


def search_nodes(new: Guarded, s: Sizes) -> tuple[Any, ...]:
    histograms, masks = new(s.rounds, s.labels, s.columns, s.bins + 1), new.bools(1, s.columns, value=True)
    columns = ColumnLayout(*layout(new, s), new(0), new(s.columns, s.bins + 1))
    out = new(s.rounds, 2), new.bools(s.rounds, s.bins + 1), new(s.rounds, 2, s.labels)
    return 1 + s.rounds, list(histograms), new(s.rounds, s.labels), columns, masks, 1, *out


# ---------------------------------------------------------------- the arguments of every kernel

Case = Callable[[Guarded, Sizes], tuple[Any, ...] | None]
CASES: dict[str, list[Case]] = {
    "mix": [lambda new, s: (0.0,)],
    "hash_values": [lambda new, s: (new.floats(s.rows),)],
    "fold": [
        lambda new, s: (new.floats(s.rows), new(s.rows, dtype=np.uint64)),
        lambda new, s: (new.floats(s.rows), new(0, dtype=np.uint64)),
    ],
    "fold_rows": [lambda new, s: (new.floats(s.rows, s.columns), new(s.rows, dtype=np.uint64))],
    "tally": [
        lambda new, s: (new.floats(s.rows), new(s.rows, value=1), 0, new.floats(4), new(4), new(3), s.bins),
        lambda new, s: (new.floats(s.rows), new(s.rows, value=1), 0, new.floats(0), new(0), new(3), 0),
    ],
    "select": [
        lambda new, s: (
            new.floats(s.rows), new(s.rows), 0, np.uint64(0), new.floats(s.rows + 1), new(s.rows + 1), new(3)
        )
    ],
    "cuts": [lambda new, s: (new(s.rows, value=1), s.bins)],
    "first_infinite": [lambda new, s: (new.floats(s.columns, s.rows),)],
    "exp": [lambda new, s: (0.0,)],
    "log": [lambda new, s: (0.0,)],
    "log_total": [lambda new, s: (new(s.rounds, s.labels), new.floats(s.labels, s.rounds), 1.0)],
    "exp_of": [lambda new, s: (new.floats(s.rows), new.floats(s.rows))],
    "log_of": [lambda new, s: (new.floats(s.rows), new.floats(s.rows))],
    "encode": [
        lambda new, s: (
            new.floats(s.columns, s.rows), new.floats(s.columns, 1, value=np.inf), new(s.columns), 255,
            new(s.rows), codes_of(new, s), new(s.rows, dtype=np.int32),
        )
    ],
    "encode_array": [
        lambda new, s: (
            new.floats(s.rows, s.columns), new.floats(s.columns, 1, value=np.inf), new(s.columns), 255,
            new(s.rows), codes_of(new, s), new.floats(s.columns, 2), new(2, dtype=np.int32),
        )
    ],
    "join": [
        lambda new, s: (
            codes_of(new, s), new(min(s.columns, 1)), new(s.columns), new(s.columns), new(s.columns),
            new(0, dtype=np.int16), new(s.columns), new(s.rows), codes_of(new, s),
        )
    ],
    "lookup": [
        lambda new, s: (
            new.floats(s.columns, s.rows), new(s.columns), new.floats(s.columns, 1, value=np.inf), new(s.columns),
            2 * np.arange(s.columns + 1), new(s.labels, 2 * s.columns), new(s.labels, s.rows),
            new(s.rows, dtype=np.int32),
        )
    ],
    "climb": [
        lambda new, s: (
            new.floats(s.columns, s.rows), new(s.columns), new(s.columns * s.labels + 1), new.floats(0), new(0),
            new(s.columns * s.labels), new(s.labels, s.rows),
        )
    ],
    "evaluate": [
        lambda new, s: (EXPONENTIAL, new.floats(s.rows), new.floats(s.rows), 0.5, 0.25, 2.0, new.floats(s.rows))
    ],
    "advance": [
        lambda new, s: (
            new(s.words, s.labelled, dtype=np.uint32), row_arrays(new, s), new(s.labelled, dtype=np.uint8),
            new(WIDTH, dtype=np.uint8), new.floats(1, s.labels, 2), Formulas(new.floats(1, 5), 0, 0),
            new.floats(1, s.labelled), new(1, s.labelled), new(1, s.labels),
            new(min(s.rounds, 1), s.labels, 4 * s.words, WIDTH), True, 0, s.labelled,
        )
    ],
    "quantise": [
        lambda new, s: (
            new.floats(s.labelled), new(0), 1.0, new.starts(s.labels, s.labelled), new(s.labelled), new(s.labels)
        )
    ],
    "histogram": [
        lambda new, s: (packed(new, s), new(s.rows), 0, s.rows, new(4 * s.words, WIDTH)),
        lambda new, s: (
            new(s.columns, s.rows, dtype=np.uint16, value=s.bins), new(s.rows), 0, s.rows, new(s.columns, s.bins + 1)
        ),
    ],
    "histogram_of": [
        lambda new, s: (packed(new, s), new(s.rows), new.order(s.rows), 0, s.rows, new(4 * s.words, WIDTH)),
        lambda new, s: (
            new(s.columns, s.rows, dtype=np.uint16, value=s.bins), new(s.rows), new.order(s.rows), 0, s.rows,
            new(s.columns, s.bins + 1),
        ),
    ],
    "label_histograms": [
        lambda new, s: (
            packed(new, s), new(s.rows), new.starts(s.labels, s.labelled), np.arange(s.labels),
            new(s.labels, 4 * s.words, WIDTH), True,
        )
    ],
    "node_histograms": [
        lambda new, s: (
            packed(new, s), new(s.rows), new.order(s.rows), 0, new.starts(s.labels, s.labelled), np.arange(s.labels),
            new(s.labels, 4 * s.words, WIDTH), True,
        )
    ],
    "add_up": [lambda new, s: (new(s.rounds, s.bins), new(s.bins), 0, s.bins)],
    "spread": [
        lambda new, s: (
            new(s.labels, 4 * s.words, WIDTH), new(s.columns), new(s.columns, value=WIDTH if s.bins else 0),
            new(s.columns, WIDTH, dtype=np.uint32), new(s.labels, max(1, s.columns * WIDTH)),
        )
    ],
    "unpack": [lambda new, s: (new(s.labels, s.bins), np.arange(s.bins), new(s.labels, s.columns + s.bins))],
    "split_rows": [
        lambda new, s: (
            0, new.starts(s.labels, s.labelled), new(s.labelled, 4, dtype=np.uint8)[:, 1], new.bools(WIDTH),
            new.order(s.labelled), new(s.labelled, dtype=np.uint32), new(s.labels + 1),
        )
    ],
    "partition_nodes": [
        lambda new, s: (
            new(s.words, s.labelled, 4, dtype=np.uint8), new.order(s.labelled), new(s.labelled, dtype=np.uint32),
            node_arrays(new, s, 3),
            LevelArrays(
                *(np.full(n, k) for n in [min(s.rounds, s.words, 1)] for k in range(3)),
                new(min(s.rounds, s.words, 1)), new.bools(min(s.rounds, s.words, 1), WIDTH),
            ),
            new(min(s.rounds, s.words, 1), 2),
        )
    ],
    "sum_nodes": [
        lambda new, s: (
            packed(new, s), new(1, s.rows), new.order(s.rows), node_arrays(new, s, 1), new(min(s.rounds, 1)),
            np.arange(s.labels), new(min(s.rounds, 1), s.labels, 4 * s.words, WIDTH), True,
        )
    ],
    "sum_signs": [lambda new, s: (new(s.rows), new.floats(s.rows))],
    "add_gains": [
        lambda new, s: (
            new(s.labelled, 4, dtype=np.uint8)[:, 1], new(WIDTH, dtype=np.uint8), new.floats(s.rounds, s.labels, 2),
            new.starts(s.labels, s.labelled), new.floats(s.rounds, s.labelled),
        )
    ],
    "best_threshold": [lambda new, s: search(new, s)],
    "best_common_threshold": [
        lambda new, s: (
            new(s.labels, s.columns, s.bins + 1), new(s.labels, s.columns, s.bins + 1), new(s.labels), new(s.labels),
            *layout(new, s), -1, new(3),
        )
    ],
    "cheapest_threshold": [
        lambda new, s: (
            *sums_and_totals(new, s, 2), *sums_and_totals(new, s, 2), *layout(new, s), 0.5, 1.0, new(3)
        )
    ],
    "cost_at_best": [lambda new, s: (0.0, 0.0, 0.0, 0.0)],
    "send_left": [
        lambda new, s: (
            new(s.labels, 3, s.bins), new(s.bins), 0, 0, -1, new.bools(s.bins), new(2, s.labels)
        )
    ],
    "purity": [lambda new, s: (1, new(s.labels), new(s.labels)), lambda new, s: (2, new(s.labels), new(s.labels))],
    "is_pure": [lambda new, s: (new(s.labels),)],
    "purest_threshold": [lambda new, s: search(new, s, 1), lambda new, s: search(new, s, 2)],
    "best_subset": [
        lambda new, s: (
            new(s.labels, s.columns, s.bins + 1), *layout(new, s, ordered=False), new(0, 0), 1, new(3)
        )
    ],
    "purest_subset": [
        lambda new, s: (
            *sums_and_totals(new, s, s.labels), new(s.columns, value=s.bins), new.bools(s.columns), new(0, 0), 1, 1,
            new(3), new.bools(s.bins + 1),
        )
    ],
    "side_edge": [
        lambda new, s, kind=kind: (
            kind, new(s.labels), new(s.labels), new.floats(s.labels), 0.25, new.floats(s.rounds, s.labels)
        )
        for kind in range(3)
    ],
    "best_target_threshold": [
        lambda new, s, kind=kind: search(new, s, *earning(new, kind, s.labels)) for kind in range(3)
    ],
    "best_mean_threshold": [lambda new, s: search(new, s, labels=2)],
    "best_window": [lambda new, s: (new.floats(s.rows), new(s.rows), 0.5)],
    "best_windows": [
        lambda new, s: (
            new.floats(s.rows), new(s.rows), new.starts(s.rounds, s.rows), 0.5, new.floats(s.rounds, 2)
        )
    ],
    "leaf_medians": [
        lambda new, s: (new.floats(s.rows), new(s.rows), new.starts(s.rounds, s.rows), new.floats(s.rounds))
    ],
    "weigh_targets": [lambda new, s: (target_weights(new, s), new.order(s.rows), new(s.rows))],
    "sum_targets": [
        lambda new, s: (
            packed(new, s), new(s.rows), target_weights(new, s), new.order(s.rows), node_arrays(new, s, 1),
            new(min(s.rounds, 1)), new(min(s.rounds, 1), 2, 4 * s.words, WIDTH), True,
        )
    ],
    "mass_up_to": [
        lambda new, s: (
            *leaves(new, s), new.floats(s.bins * s.rounds), s.bins * np.arange(s.rounds + 1),
            new(2, s.bins * s.rounds), new.floats(s.bins * s.rounds),
        )
    ],
    "targets_between": [
        lambda new, s: (
            *leaves(new, s), new.floats(s.bins * s.rounds, 2), s.bins * np.arange(s.rounds + 1), new(s.labels),
            new.floats(s.labels), new(s.labels),
        )
    ],
    "weigh_near": [lambda new, s: (*leaves(new, s), new.floats(s.rounds), 0.5, new(s.rounds, 2))],
    "targets_by_leaf": [
        lambda new, s: (
            *leaves(new, s), new(s.rounds), new.floats(s.rows if s.rounds else 0), new(s.rows if s.rounds else 0)
        )
    ],
    "fold_key": [lambda new, s: (np.uint64(1), np.uint64(0))],
    "draw_columns": [lambda new, s: (np.uint64(1), s.columns, new(min(s.columns, s.rounds)))],
    "grow_subtrees": [
        lambda new, s, criterion=criterion, kind=kind: small_nodes(new, s, criterion, kind)
        for criterion, kind in [(0, 0), (1, 0), (2, 0), (3, 0), (3, 1), (3, 2), (4, 0)]
    ],
    "collect_rows": [
        lambda new, s: (
            packed(new, s), new(s.rows), new.order(s.rows), node_arrays(new, s, 1), new(min(s.rounds, 1)),
            np.arange(s.labels), new(s.rows, dtype=np.uint32), new(s.rows, dtype=np.int32),
            new(s.rows, s.words, dtype=np.uint32), new(s.rows, dtype=np.int32), new(s.rows),
        )
    ],
    "find_leaves": [
        lambda new, s: (
            new(s.words, s.rows, 4, dtype=np.uint8), new.order(s.rows), node_arrays(new, s, 1), new(min(s.rounds, 1)),
            new(min(s.rounds, 1), value=-1), new(0), new.bools(0, WIDTH), new(0, 2), new(s.rows, dtype=np.int32),
        )
    ],
    "add_leaf_gains": [
        lambda new, s: (
            new(s.labelled, dtype=np.int32), new.floats(s.rounds, s.labels, 1), new.starts(s.labels, s.labelled),
            new.floats(s.rounds, s.labelled),
        )
    ],
    "add_tree": [
        lambda new, s: (
            new(s.words, s.rows, 4, dtype=np.uint8), new.order(s.rows), node_arrays(new, s, 1), new(min(s.rounds, 1)),
            new(min(s.rounds, 1), value=-1), new(0), new.bools(0, WIDTH), new(0, 2), new(s.rows, dtype=np.int32),
            new.floats(s.rounds, s.labels, 1), new.starts(s.labels, s.labelled), new.floats(s.rounds, s.rows),
        )
    ],
    "walk": [
        lambda new, s: (
            new(s.columns, s.rows, dtype=np.int32), *trees(new, s), new(s.rounds, dtype=np.int32, value=-1),
            new.bools(s.rounds), new(s.rounds, 2, dtype=np.int32), new.bools(0, 256), new(s.rounds, s.labels),
            new(s.labels, s.rows),
        )
    ],
    "walk_ordered": [
        lambda new, s: (
            new(s.columns, s.rows, dtype=np.int32), trees(new, s)[0], new(s.rounds, dtype=np.int32),
            new(s.rounds, dtype=np.int32), new(s.rounds, dtype=np.int32), new(s.rounds, dtype=np.int32),
            new(s.rounds, 2, dtype=np.int32), new(s.rounds, s.labels), new(s.labels, s.rows),
            new(s.rows, dtype=np.int32),
        )
    ],
    "cross_out": [
        lambda new, s: (
            new(s.columns, s.rows, dtype=np.uint8), 0, 0, tests_of(new), new(1, s.rows, dtype=np.uint8),
            new(s.rows, dtype=np.uint8),
        )
    ],
    "vote": [lambda new, s: masked(new, s, new(s.labels, s.rounds), new(s.labels, s.rows))],
    "tree_outputs": [
        lambda new, s: masked(new, s, new.floats(s.labels, s.rounds), new.floats(s.labels, s.rows, s.rounds))
    ],
    "add_leaves": [
        lambda new, s: (
            new.floats(s.rows, s.columns), new(s.rounds, dtype=np.int32, value=-1), new(s.rounds, value=1),
            new(0, dtype=NODE), new(0, 8, dtype=np.uint32), new(1, dtype=np.uint32), new.floats(1, s.labels),
            new.floats(s.rows, s.labels + 1),
        )
    ],
    "vote_quantiles": [
        lambda new, s, sign=sign: (
            new.floats(s.rows, s.rounds), new(s.rows, s.rounds), new(s.rows), sign, new.floats(s.rows)
        )
        for sign in (1.0, -1.0)
    ],
    "place_quantiles": [
        lambda new, s: (
            new.floats(s.rows, s.rounds), new(s.rows, s.rounds), new(s.rows), max(s.bins, min(s.rounds, 1)), False,
            new(s.rows),
        )
    ],
    "insert_votes": [
        lambda new, s: (new.floats(s.rows, s.rounds), new(s.rows, s.rounds), 0, new.floats(s.rows), new(s.rows))
    ],
    "sorted_quantiles": [
        lambda new, s, top=top: (
            new.floats(s.rows, s.rounds), new(s.rows, s.rounds), s.rounds, new(s.rows), top, new.floats(s.rows)
        )
        for top in (True, False)
    ],
    "correlate_signs": [lambda new, s: (new(-(-s.rows // 8), s.columns, dtype=np.uint8), new(s.rows), new(s.columns))],
    "count_differences": [
        lambda new, s: (new(s.columns, s.rows, dtype=np.uint64), 0, new(s.columns)) if s.columns else None
    ],
    "correlate_reals": [
        lambda new, s: (new.floats(s.columns, s.rows), new.floats(s.rows), new(s.rows), new(s.columns))
    ],
    "inner_products": [
        lambda new, s: (new.floats(s.rows, s.columns), new.floats(s.columns, s.rounds), new.floats(s.rows, s.rounds))
    ],
    "squared_distances": [
        lambda new, s: (new.floats(s.rows, s.columns), new.floats(s.columns, s.rounds), new.floats(s.rows, s.rounds))
    ],
    "quad_weight": [lambda new, s: (1, 0.1, 1.0, 0.0, 0.0)],
    "quad_drop": [lambda new, s: (1, 0.1, 0.0, 0.0, 0.0, 0.0)],
    "quad_best": [
        lambda new, s: (1, 0.1, 1.0, 1, False, new.floats(s.columns), new.floats(s.columns), new.floats(s.columns))
    ],
    "lasso_gap": [lambda new, s: (0.1, 0.0, 0.0, 0.0, 0.0)],
    "quad_gap": [
        lambda new, s, kind=kind: (
            kind, 0.1, 1.0, 1.0, new.floats(s.columns), new.floats(s.columns), new.floats(s.columns)
        )
        for kind in range(4)
    ],
    "quad_rounds": [
        lambda new, s, mode=mode: (
            1, 0.1, 1.0, mode, 1e-3, 3, 1.0, new.floats(s.columns, value=0.5), new.floats(s.columns),
            new.floats(s.columns, value=1.0), *pool(new, s), 1, s.rounds, new(s.bins, 2), new.floats(s.bins, 5), new(6),
        )
        for mode in range(3)
    ],
    "quad_replay": [
        lambda new, s: (
            1, 0.1, 1, new(s.rounds if s.columns else 0, 2), new.floats(s.rounds if s.columns else 0, 5),
            new.floats(s.columns), new.floats(s.columns), *pool(new, s),
        )
    ],
    "advance_all": [advance_all],
    "split_all": [split_all],
    "boost_stumps": [boost_stumps],
    "search_nodes": [search_nodes],
}  # fmt: skip


def check(names: list[str]) -> None:
    """Call kernels with all tables of no or a few rows, columns, bins, labels and rounds; print what is wrong."""
    for name in names:
        for number, case in enumerate(CASES[name]):
            for sizes in map(Sizes._make, product((0, 2), (0, 3), (0, 2), (0, 2), (0, 2))):
                new = Guarded()
                given = case(new, sizes)
                if given is None:
                    continue
                print(f"{name}, case {number}, {sizes}", file=sys.stderr)  # the last line tells which one ended it
                try:
                    getattr(kernels, name)(*given)
                except Exception as error:
                    print(f"{name}, case {number}, {sizes}: {type(error).__name__}: {error}", flush=True)
                if not new.are_intact():
                    print(f"{name}, case {number}, {sizes}: guard bytes changed", flush=True)


if __name__ == "__main__":
    check(sys.argv[1:] or list(FILE_OF))
    print("done")
