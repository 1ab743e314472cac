"""The exchanges that dominate a round, for all shards of this process in one compiled call each.

`LocalShards` calls every shard from a Python thread, which waits for the interpreter's lock before and after. With 16
threads this takes longer than the work itself on tables of some 100,000 rows. A team runs `advance`, `both_sides` and
the search of nodes on threads of the compiled module, which need no lock. All other verbs use Python threads. Sums are
integers, so both ways give the same bits.
"""

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from electorate import kernels
from electorate.engines.shard import CELLS_PER_HISTOGRAM, Growth, Shard
from electorate.exact import Ints
from electorate.kernels.layouts import AddedStump, AddedTree, ColumnLayout, Formulas, LevelArrays, ShardArrays, Tiles
from electorate.messages import Change, NodeSplits, SplitArrays
from electorate.threads import ThreadPool

Histogram = Ints  # [label, column, bin]
NO_STUMP = AddedStump(0, np.empty(0, dtype=np.uint8), np.empty((0, 0, 0)))
NO_NUMBERS = np.empty(0, dtype=np.int64)
NO_TREE = AddedTree(
    NO_NUMBERS,
    NO_NUMBERS,
    NO_NUMBERS,
    np.empty((0, 0), dtype=np.bool_),
    np.empty((0, 0), dtype=np.int64),
    np.empty((0, 0, 0)),
)
# Nanoseconds, for the choice of tiles only.
ADD, PICK, CLEAR_AND_REDUCE = 0.4, 1.0, 0.8
PER_TASK = 300.0
COLUMNS_PER_SEARCH = 8  # at least, of one task


class Team:
    """All shards of an engine, and how many threads work on them."""

    def __init__(self, shards: list[Shard], n_threads: int) -> None:
        self.shards = shards
        self.n_threads = n_threads
        self.stack = np.empty(0, dtype=np.int64)
        self.n_rows = sum(shard.n_rows() for shard in shards)

    @classmethod
    def of(cls, shards: list[Any], pool: ThreadPool) -> "Team | None":
        """A team for these shards; None where it would not be faster, or where it is not supported."""
        n_cells = max(shard.n_columns * shard.n_rows() for shard in shards)
        n_threads = pool.count_threads(pool.n_jobs)
        unsuited = (
            n_threads == 1
            or len(shards) == 1
            or any(type(shard) is not Shard or shard.bundles or shard.packing for shard in shards)
            or n_cells > CELLS_PER_HISTOGRAM  # Ctrl-C is noticed between two calls
        )
        return None if unsuited else cls(shards, n_threads)

    # ------------------------------------------------------------ exchanges

    def advance(
        self, change: Change | None, formulas: Formulas, out: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], int]:
        """Apply a change to all rows, then sum: [channel, label], and what counts as wrong.

        out[channel, label, column, bin] gets the histograms of as many channels as it has.
        """
        first = self.shards[0]
        n_channels = len(formulas.table)
        stump, tree = self._added(change)
        for shard in self.shards:
            shard.reserve_grids(n_channels)
            shard.growth = None
        totals = np.zeros((len(self.shards), n_channels, first.n_groups), dtype=np.int64)
        wrong = np.zeros(len(self.shards), dtype=np.int64)
        tiles = self._tiles(self.n_rows, len(out) * first.n_groups, 0.0)
        stack = self._stack((tiles.by_rows, *out.shape))
        added = (stump, tree, formulas)
        kernels.advance_all(self.n_threads, self._arrays(), *added, tiles, stack, totals, wrong, out)
        return totals.sum(axis=0), int(wrong.sum())

    def _added(self, change: Change | None) -> tuple[AddedStump, AddedTree]:
        """The voter of a change, as kernels take it."""
        first = self.shards[0]
        if change is None:
            return NO_STUMP, NO_TREE
        gains = first.gains_by_label(change.gains)
        if len(change.splits) <= 1:
            split = change.splits[0] if change.splits else first.no_split
            return AddedStump(split.column, (~split.on_left).view(np.uint8), gains), NO_TREE
        for shard in self.shards:
            shard.growing()
        tree = SplitArrays.of(change.splits)
        known, children = tree.walk(change.leaves, first.growing().levels)
        numbers, begins = known
        return NO_STUMP, AddedTree(numbers, begins, tree.column, tree.on_left, children, gains)

    def both_sides(
        self,
        tree: SplitArrays,
        wholes: list[NDArray[np.int64]],
        rests: list[NDArray[np.int64]],
        less: NDArray[np.int64],
    ) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
        """Part the rows of some nodes, and sum the children; which are in `less`, and [split, side]: how many rows."""
        fresh = self._grow(tree)
        level = LevelArrays(tree.node, tree.left, tree.right, tree.column, tree.on_left)
        rows = np.empty((len(self.shards), len(tree), 2), dtype=np.int64)
        left_is_less = np.empty(len(tree), dtype=np.bool_)
        tiles = self._tiles(self.n_rows // 2, len(tree) * less.shape[1], PICK)
        stack = self._stack((tiles.by_rows, *less.shape))
        histograms = (wholes, rests, less, rows, left_is_less)
        kernels.split_all(self.n_threads, self._arrays(), fresh, level, tiles, stack, *histograms)
        return left_is_less, rows.sum(axis=0)

    def _grow(self, tree: SplitArrays) -> bool:
        """Record in all shards that these nodes are split; return whether this starts a new tree."""
        growth = self.shards[0].growth
        fresh = growth is None or not growth.split_nodes.isdisjoint(tree.numbers)
        if fresh:
            levels: list[SplitArrays] = []
            split_nodes: set[int] = set()  # like the levels, the same for all shards
            for shard in self.shards:
                shard.growth = Growth(shard.row_numbers()[0], shard.nodes.restart(), levels, split_nodes)
        for shard in self.shards:
            shard.nodes.reserve(tree.highest)
        self.shards[0].note_level(tree)
        return fresh

    # ------------------------------------------------------------ arrays

    def _arrays(self) -> list[ShardArrays]:
        return [shard.arrays() for shard in self.shards]

    def _stack(self, shape: tuple[int, ...]) -> NDArray[np.int64]:
        size = int(np.prod(shape))
        if len(self.stack) < size:
            self.stack = np.empty(size, dtype=np.int64)
        return self.stack[:size].reshape(shape)

    def _tiles(self, n_rows: int, n_histograms: int, pick: float) -> Tiles:
        first = self.shards[0]
        words = len(first.packed)
        cells = first.codes.shape[2] * first.width * n_histograms
        return best_tiles(self.n_threads, len(self.shards), words, n_rows, cells, pick)


@cache
def column_parts(n_columns: int, n_parts: int) -> NDArray[np.bool_]:
    """[part, column]: columns in parts of about the same size, in their order."""
    return np.asarray(np.arange(n_columns) * n_parts // n_columns == np.arange(n_parts)[:, None])


@cache
def best_tiles(n_threads: int, n_shards: int, n_words: int, n_rows: int, cells_per_word: int, pick: float) -> Tiles:
    """The tiles that take the least time, about."""

    def nanoseconds(by_rows: int, by_columns: int) -> float:
        words, rows = -(-n_words // by_columns), n_rows / by_rows
        task = rows * (pick + 4 * ADD * words) + words * cells_per_word * CLEAR_AND_REDUCE + PER_TASK
        waves = -(-by_rows * by_columns // n_threads)
        return waves * task + by_rows * n_words * cells_per_word * CLEAR_AND_REDUCE / n_threads

    choices = [(by_rows, by_columns) for by_rows in range(1, n_shards + 1) for by_columns in range(1, n_words + 1)]
    return Tiles(*min(choices, key=lambda choice: nanoseconds(*choice)))


def search_nodes(
    n_threads: int, histograms: list[Histogram], totals: NDArray[np.int64], columns: ColumnLayout, criterion: int
) -> NodeSplits:
    """The best thresholds of some nodes in one call; with several threads, a task is a node and some of its columns."""
    n_nodes, n_columns, width = len(totals), len(columns.n_bins), histograms[0].shape[2]
    n_parts = max(1, min(n_columns // COLUMNS_PER_SEARCH, n_threads // n_nodes))
    masks = column_parts(n_columns, n_parts) & columns.ordered
    splits, on_left = np.empty((n_nodes, 2), dtype=np.int64), np.empty((n_nodes, width), dtype=np.bool_)
    sides = np.empty((n_nodes, 2, totals.shape[1]), dtype=np.int64)
    kernels.search_nodes(n_threads, histograms, totals, columns, masks, criterion, splits, on_left, sides)
    column, cut = splits.T.tolist()
    return NodeSplits(column, cut, on_left, sides)
