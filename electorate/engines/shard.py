"""A shard: a block of examples with its binned features and its state. Vectors over examples live here only.

Rows are sorted by label, so that sums per label cost no more than plain ones. A shard does not depend on the algorithm:
it adds gains to the state, gets elementwise numbers from the booster's channels, and sums them on the grid.
"""

import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from electorate import kernels
from electorate.algorithms.protocol import NO_FLOORS, Booster, Floors
from electorate.data.bins import CELLS_PER_CALL, Bins, block_rows, pad_edges, read_block, similar_sizes
from electorate.data.table import BlockReader, Table, plain_array, refuse_infinite
from electorate.data.weights import Weights
from electorate.engines.bundles import PER_GROUP, Bundles, TooManyError, groups_of, plans
from electorate.engines.packing import Packed, Packing
from electorate.engines.vote_bits import StoredVotes
from electorate.kernels.layouts import ColumnLayout, Formulas, LevelArrays, NodeArrays, NodeRows, RowArrays, ShardArrays
from electorate.messages import ROOT, Change, Split, SplitArrays, Sums

CELLS_PER_HISTOGRAM = 200_000_000  # about 0.07 s: Ctrl-C is noticed between two calls
ROUNDS_PER_CALL = 1000
CELLS_PER_STATE = 16  # as long takes one state of a row where there are many labels with few rows each
ROWS_AT_ONCE = 16_000  # of a booster's channels: sized so that temporaries fit in L2 and their buffer is reused
SAMPLED_BLOCKS = 4  # of rows, to see which columns may share a byte
ONCE = np.empty(0, dtype=np.int64)  # every row counts once
NOTHING = np.zeros((0, 0, 0), dtype=np.int64)
AT_FIRST = 128  # nodes that a growing tree has place for
NO_LEAVES = np.empty(0, dtype=np.uint8)
NO_GAINS = np.empty((0, 0, 0))
NO_SHARES = np.empty(0)
Answer = tuple[NDArray[np.int64], bool]  # where histograms go, and whether to set it to 0 before
Allocate = Callable[[tuple[int, ...], Any], NDArray[Any]]  # of a shape and a type
EdgeGroup = tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]]  # padded edges, depths, columns


@dataclass(frozen=True)
class Node:
    """Rows order[low : low + starts[-1]] of a growing tree, label k at starts[k]..starts[k+1] after low."""

    low: int
    starts: NDArray[np.int64]

    @property
    def n_rows(self) -> int:
        return int(self.starts[-1])


class Nodes:
    """The nodes of a growing tree, by number."""

    def __init__(self, starts: NDArray[np.int64]) -> None:
        self.arrays = NodeArrays(np.full(AT_FIRST, -1), np.zeros((AT_FIRST, len(starts)), dtype=np.int64))
        self.arrays.low[ROOT], self.arrays.starts[ROOT] = 0, starts

    def restart(self) -> "Nodes":
        """With the root alone."""
        self.arrays.low[1:] = -1
        return self

    def reserve(self, most: int) -> NodeArrays:
        """The arrays, with a place for all numbers up to `most`."""
        size = len(self.arrays.low)
        if most >= size:
            more = max(most + 1, 2 * size) - size
            low, starts = self.arrays
            empty = np.zeros((more, starts.shape[1]), dtype=np.int64)
            self.arrays = NodeArrays(np.append(low, np.full(more, -1)), np.concatenate([starts, empty]))
        return self.arrays

    def __getitem__(self, number: int) -> Node:
        return Node(int(self.arrays.low[number]), self.arrays.starts[number])


@dataclass
class Growth:
    """The tree that is being grown: where its nodes' rows are. Rows move only inside their node's range."""

    order: NDArray[np.uint32]
    nodes: Nodes
    levels: list[SplitArrays] = field(default_factory=list)
    split_nodes: set[int] = field(default_factory=set)


class Shard:
    """codes[group, row, column of group]; label k has the rows starts[k]..starts[k+1].

    bundles: where several columns are stored as one. allocate: makes the large arrays of the state.
    """

    def __init__(
        self,
        codes: Any,
        starts: NDArray[np.int64],
        weights: Weights,
        width: int,
        bundles: Bundles | None = None,
        allocate: Allocate = np.empty,
    ) -> None:
        self.allocate = allocate
        n_rows = self._hold(codes)
        self.bundles = bundles
        self.packing: Packing | None = None
        self.cells = None if bundles is None else bundles.cells
        self.starts = starts
        self.width = width
        self.real = weights.real
        self.scale = float(2**weights.bits)
        self.times = weights.times if weights.times.max(initial=1) > 1 else ONCE
        self.counts = counts_of(weights)
        self.weights = weights
        self.grids = allocate((1, n_rows), np.int64)  # of every channel
        self.state = np.empty((0, n_rows))
        self.buffers: dict[str, NDArray[Any]] = {}
        self.answer: Callable[[tuple[int, ...]], Answer] = new_answer
        self.shared: ShardArrays | None = None
        self.growth: Growth | None = None
        self.nodes = Nodes(starts)
        self.votes: StoredVotes | None = None
        self.no_split = Split(ROOT, ROOT, ROOT, 0, 0, np.ones(width, dtype=np.bool_))  # of a constant voter
        self.group_labels(np.arange(len(starts) - 1))

    def _hold(self, codes: Any) -> int:
        """Store the codes; return how many rows there are."""
        self.codes = codes
        self.packed = (codes.view(np.uint32) if codes.shape[2] == 4 else codes)[:, :, 0]
        self.n_columns = codes.shape[0] * codes.shape[2]
        return int(codes.shape[1])

    # ------------------------------------------------------------ a round

    def start(self, booster: Booster, group: NDArray[np.int64] | None = None) -> None:
        """Forget all voters. group[label]: labels that are one for the booster."""
        self.group_labels(np.arange(len(self.starts) - 1) if group is None else group)
        self.votes = StoredVotes(self.n_rows()) if booster.keeps_votes else None
        shape = (booster.n_states, self.n_rows())
        if self.state.shape != shape:
            self.state = self.allocate(shape, np.float64)
        self.state.fill(0.0)

    def group_labels(self, group: NDArray[np.int64]) -> None:
        """Set the label of the booster for every label of the rows. spans: rows low..high are of one such label."""
        self.group = group
        self.n_groups = int(group.max(initial=0)) + 1
        real = np.empty(0) if self.real is None else self.real
        self.rows = RowArrays(self.starts, group, real, self.times, self.counts, self.scale)
        ends = pairwise(self.starts.tolist())
        self.spans = [(low, high, label) for (low, high), label in zip(ends, group.tolist(), strict=True)]
        self.blocks = [
            (at, min(at + ROWS_AT_ONCE, high), label)
            for low, high, label in self.spans
            for at in range(low, high, ROWS_AT_ONCE)
        ]

    def replay(self, booster: Booster, changes: list[Change]) -> float:
        """Apply changes without summing; return the lowest margin after them."""
        for change in changes:
            self.apply(booster, change)
        return float(self.state[booster.margin_row].min(initial=np.inf))

    @property
    def grid(self) -> NDArray[np.int64]:
        """The numbers of the first channel."""
        return self.grids[0]

    def advance(self, booster: Booster, change: Change | None, floors: Floors = NO_FLOORS, search: bool = True) -> Sums:
        """Apply a change, then sum. Without `search` the histograms stay empty."""
        channels = booster.channels
        self.reserve_grids(len(channels))
        n_searched = count_searched(booster, search)
        roots, clear = self.new_histograms(n_searched)
        totals = np.zeros((len(channels), self.n_groups), dtype=np.int64)
        formulas = formulas_of(booster, floors)
        if formulas is None:
            wrong = self._advance_in_numpy(booster, change, floors, totals, roots, clear)
        else:
            wrong = self._advance(booster, change, formulas, totals, roots, clear)
        return as_sums(self.by_column(roots) if n_searched else (), n_searched, totals, wrong)

    def reserve_grids(self, n_channels: int) -> None:
        """Make a grid for every channel."""
        if len(self.grids) < n_channels:
            self.grids = self.allocate((n_channels, self.n_rows()), np.int64)

    def arrays(self) -> ShardArrays:
        """What threads share that work on all shards at once; the same object while no array is replaced."""
        held = self.shared
        if (
            held is None
            or held.state is not self.state
            or held.grids is not self.grids
            or held.nodes is not self.nodes.arrays
            or held.rows is not self.rows
        ):
            order, spare = self.row_numbers()
            arrays = (self.rows, self.state, self.grids, order, spare, spare.view(np.int32), self.nodes.arrays)
            held = self.shared = ShardArrays(self.codes, self.packed, *arrays)
        return held

    def _advance(
        self,
        booster: Booster,
        change: Change | None,
        formulas: Formulas,
        totals: NDArray[Any],
        roots: NDArray[Any],
        clear: bool,
    ) -> int:
        """One compiled call; the change is part of it where that is a stump."""
        stump = None if change is None else self._stump(change)
        if stump is not None:
            self.growth = None
        elif change is not None:
            self.apply(booster, change)
        column, leaf_of_bin, gains = stump or (self.codes[0, :, 0], NO_LEAVES, NO_GAINS)
        per_row = self.n_columns + CELLS_PER_STATE * len(self.state)
        wrong, end, rows = 0, self.grids.shape[1], CELLS_PER_HISTOGRAM // per_row + 1
        for at in range(0, max(end, 1), rows):
            part = clear and at == 0, at, min(at + rows, end)
            arrays = (formulas, self.state, self.grids, totals, roots)
            wrong += kernels.advance(self.packed, self.rows, column, leaf_of_bin, gains, *arrays, *part)
        return wrong

    def boost_stumps(self, columns: ColumnLayout, rule: tuple[Any, ...], sums: Sums, most: int) -> Any:
        """At most so many rounds of discrete AdaBoost with stumps, up to an unusual one; None if there are none.

        rule: of `kernels.boost_stumps`. sums: before, overwritten. Returns the sums after all rounds, and by round:
        on_left[bin]; column, cut, and after the round total and wrong; sides[side, label]; step, floor and seconds.
        """
        per_row, unsuited = self.n_columns + CELLS_PER_STATE, type(self) is not Shard or self.bundles or self.packing
        most = min(most, ROUNDS_PER_CALL, CELLS_PER_HISTOGRAM // (per_row * self.n_rows() + 1))
        if unsuited or most == 0:
            return None
        self.growth, totals, on_left = None, sums.totals[None].copy(), np.empty((most, self.width), dtype=np.bool_)
        numbers, reals = np.empty((most, 8), dtype=np.int64), np.empty((most, 3))
        n = kernels.boost_stumps(self.arrays(), columns, *rule, sums.histogram[None], totals, on_left, numbers, reals)
        after = Sums(sums.histogram, totals[0], int(numbers[n - 1, 3]))
        return (after, on_left[:n], numbers[:n, :4], numbers[:n, 4:].reshape(-1, 2, 2), *reals[:n].T) if n else None

    def _stump(self, change: Change) -> tuple[NDArray[Any], NDArray[np.uint8], NDArray[np.float64]] | None:
        """The codes of its column, the leaf of each code, and the gains; None for other voters."""
        if len(change.splits) > 1 or change.outside is not None or change.stored is not None:
            return None
        codes, on_left = self.codes_of(change.splits[0] if change.splits else self.no_split)
        return codes, (~on_left).view(np.uint8), self.gains_by_label(change.gains)

    def gains_by_label(self, gains: NDArray[np.float64]) -> NDArray[np.float64]:
        return gains[:, self.group] if self.n_groups < len(self.group) else gains

    def _advance_in_numpy(
        self,
        booster: Booster,
        change: Change | None,
        floors: Floors,
        totals: NDArray[Any],
        roots: NDArray[Any],
        clear: bool,
    ) -> int:
        """The same for channels that kernels cannot compute, block by block."""
        if change is not None:
            self.apply(booster, change)
        wrong, channels = 0, booster.channels
        for low, high, label in self.blocks:
            state = self.state[:, low:high]
            first = channels[0].values(state, floors, None)
            found = [first, *(channel.values(state, floors, first) for channel in channels[1:])]
            for number, values in enumerate(found):
                totals[number, label] += self._quantise(values, low, high, self.grids[number])
            if booster.votes_row:
                missed = np.argmax(state[booster.votes_row :], axis=0) != label
            else:
                margin = state[booster.margin_row]
                missed = margin < 0 if label == 0 else margin <= 0
            wrong += int(self.counts[low:high][missed].sum()) if len(self.counts) else int(np.count_nonzero(missed))
        for root, grid in zip(roots, self.grids, strict=False):
            root[:] = self.histogram(grid) + (0 if clear else root)
        return wrong

    def _quantise(self, channel: NDArray[np.float64], low: int, high: int, grid: NDArray[np.int64]) -> int:
        """Put a channel of the rows low..high, which may be overwritten, onto a grid; return its sum."""
        if self.real is not None:
            channel *= self.real[low:high]
        total = np.empty(1, dtype=np.int64)
        ends = np.array([0, high - low])
        kernels.quantise(channel, self.times[low:high], self.scale, ends, grid[low:high], total)
        return int(total[0])

    def row_numbers(self) -> NDArray[np.uint32]:
        """[2, row]: the rows of a growing tree in order; and the rows that go right, or the leaf of every row.

        A buffer is reused: new pages from the system cost as much as the work itself.
        """
        if "rows" not in self.buffers:
            self.buffers["rows"] = self.allocate((2, self.n_rows()), np.uint32)
        return self.buffers["rows"]

    def both_left(self, split: Split) -> Any:
        """[channel, label, column, bin] of the rows on the left of a split at the root, of both channels."""
        left = self.left(split)
        sums = [self.histogram(np.where(left, grid, 0)) for grid in self.grids[:2]]
        return self.by_column(np.stack(sums))

    def apply(self, booster: Booster, change: Change) -> None:
        """Add the gains of a voter; of a stored one, from its awards."""
        if self.votes is None or change.stored is None:
            self._add(change, change.gains, self.state)
            return
        self.store(change)
        self.state[0] += self.votes.gains(change.stored.number, change.stored.size)

    def store(self, change: Change) -> None:
        """Store the awards of a new voter."""
        assert self.votes is not None
        assert change.stored is not None
        if change.stored.number == len(self.votes):
            award = np.zeros((1, len(self.grid)))
            self._add(change, change.stored.awards[None], award)
            self.votes.add(award[0], change.stored.signs)

    def edges(self) -> NDArray[np.int64]:
        """[voter]: of those stored, the sums of weight times award."""
        assert self.votes is not None
        return self.votes.edges(self.grid, self.times)

    def gram(self, number: int) -> NDArray[np.int64]:
        """[voter]: of those stored, the sums of sample weight times award times the award, +-1, of voter `number`."""
        assert self.votes is not None
        units = np.empty_like(self.grid)
        self._quantise(np.ones(len(units)), 0, len(units), units)
        return self.votes.edges(np.where(self.votes.award(number) > 0, units, -units), self.times)

    def along(self, booster: Booster, number: int, size: float, floors: Floors) -> NDArray[np.int64]:
        """Of a stored voter after one more step: the sum of the weights, and of weight times award."""
        assert self.votes is not None
        channel = booster.channels[0].values(self.state + self.votes.gains(number, size), floors, None)
        grid = np.empty_like(self.grid)
        total = self._quantise(channel, 0, len(grid), grid)
        return np.array([total, self.votes.edge(number, grid, self.times)])

    def _add(self, change: Change, gains: NDArray[np.float64], state: NDArray[np.float64]) -> None:
        """gains[state, label, leaf]: by the bins of one column for a stump, else leaf by leaf."""
        all_gains = self.gains_by_label(gains)
        if not change.splits:
            self.growth = None
        if self.growth is None and len(change.splits) <= 1:
            for split in change.splits or [self.no_split]:
                codes, on_left = self.codes_of(split)
                kernels.add_gains(codes, (~on_left).view(np.uint8), all_gains, self.starts, state)
            return
        walk = self._walk(change.splits, change.leaves)
        kernels.add_tree(*walk, self.row_numbers()[1].view(np.int32), all_gains, self.starts, state)
        self.growth = None

    # ------------------------------------------------------------ growing a tree

    def n_rows(self) -> int:
        return self.grids.shape[1]

    def partition(self, tree: SplitArrays) -> NDArray[np.int64]:
        """Part the rows of some nodes; [split, side]: how many there are."""
        growth = self._growth_for(tree.numbers)
        nodes = growth.nodes.reserve(tree.highest)
        level = LevelArrays(tree.node, tree.left, tree.right, *self._stored_columns(tree))
        order, rows = growth.order, np.empty((len(tree), 2), dtype=np.int64)
        kernels.partition_nodes(self.codes, order, self.row_numbers()[1], nodes, level, rows)
        self.note_level(tree)
        return rows

    def note_level(self, tree: SplitArrays) -> None:
        """Remember that the rows of these nodes are parted."""
        growth = self.growing()
        if not growth.levels or growth.levels[-1] is not tree:  # the shards of a team share the list
            growth.levels.append(tree)
            growth.split_nodes.update(tree.numbers)

    def sum_nodes(self, numbers: NDArray[np.int64]) -> Any:
        """Histograms [node, label, column, bin] of nodes of the growing tree."""
        growth, (sums, clear) = self.growing(), self.new_histograms(len(numbers))
        rows = growth.order, growth.nodes.arrays, numbers
        self._sum_nodes(*rows, sums, clear)
        return self.by_column(sums)

    @property
    def n_summed(self) -> int:
        """How many numbers per row are summed for every node and label."""
        return 1

    def _sum_nodes(
        self,
        order: NDArray[np.uint32],
        nodes: NodeArrays,
        numbers: NDArray[np.int64],
        sums: NDArray[np.int64],
        clear: bool,
    ) -> None:
        kernels.sum_nodes(self.packed, self.grids[:1], order, nodes, numbers, self.group, sums, clear)

    def new_histograms(self, n: int) -> Answer:
        """[n, label, stored column, code], whatever it holds: the answer itself, unless it is yet to be converted."""
        shape = (n, self.n_summed * self.n_groups, self.n_columns, self.width)
        if self.bundles is None and self.packing is None:
            return self.answer(shape)
        return reused(self.buffers, "histograms", shape), True

    def _stored_columns(self, tree: SplitArrays) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """The stored column of each split, and which of its codes go left."""
        if self.bundles is None:
            return tree.column, tree.on_left
        bins = self.bundles.bin_of[tree.column].astype(np.int64)
        return self.bundles.place[tree.column], np.take_along_axis(tree.on_left, bins, axis=1)

    def look(self, splits: Sequence[Split], of_rows: bool = False) -> Any:
        """Histograms [split, label, column, bin] of the left sides of candidate splits; no rows move.

        of_rows: count rows instead of summing weights.
        """
        growth = self._growth_for([split.node for split in splits])
        find = self._count_of if of_rows else self._histogram_of
        found = [find(*self._left_of(growth, split)) for split in splits]
        return self.by_column(np.stack(found) if len(found) > 1 else found[0][None])

    def _growth_for(self, nodes: list[int]) -> Growth:
        """The growing tree, or a new one where these nodes are split already."""
        if self.growth is not None and not self.growth.split_nodes.isdisjoint(nodes):
            self.growth = None
        return self.growing()

    def _left_of(self, growth: Growth, split: Split) -> tuple[NDArray[np.uint32], Node]:
        """The rows on the left of a split, outside the growing tree and its buffers."""
        node = growth.nodes[split.node]
        codes, on_left = self.codes_of(split)
        rows = growth.order[node.low : node.low + node.n_rows]
        left = on_left[codes[rows]]
        starts = np.concatenate([[0], np.cumsum(left)])[node.starts]
        return rows[left], Node(0, starts)

    def count_rows(self, nodes: list[int]) -> Any:
        """[node, column, bin]: how many rows, for families that need a least number of them."""
        growth = self.growing()
        counts = [self._count_of(growth.order, growth.nodes[node]) for node in nodes]
        return self.by_column(np.stack(counts).sum(axis=1))

    def count_in(self, nodes: list[int]) -> int:
        """How many rows there are in some nodes of the growing tree."""
        return int(self._growth_for(nodes).nodes.arrays.starts[nodes, -1].sum())

    def collect(self, nodes: list[int], count_rows: bool) -> NodeRows:
        """The rows of some nodes. count_rows: how many each of them stands for, too."""
        return self._collect(nodes, count_rows)[1]

    def _collect(self, nodes: list[int], count_rows: bool) -> tuple[NDArray[np.uint32], NodeRows]:
        growth, numbers = self._growth_for(nodes), np.array(nodes)
        arrays = growth.nodes.arrays
        n = int(arrays.starts[numbers, -1].sum())
        rows, codes = np.empty(n, dtype=np.uint32), np.empty((n, len(self.packed)), dtype=self.packed.dtype)
        place, label = np.empty((2, n), dtype=np.int32)
        weight = np.empty(n, dtype=np.int64)
        found = (rows, place, codes, label, weight)
        kernels.collect_rows(self.packed, self.grid, growth.order, arrays, numbers, self.group, *found)
        if self.bundles is not None:
            codes = self.bundles.part(codes.view(np.uint8)).view(np.uint32)
        count = self.weights.rows[rows] if count_rows else ONCE
        return rows, NodeRows(place, codes, label, weight, ONCE, NO_SHARES, count)

    def leaf_rows(self, splits: Sequence[Split], leaves: list[int]) -> NDArray[np.int64]:
        """[leaf, label]: how many rows, of whatever weight."""
        leaf = self.leaf_of_rows(splits, leaves)
        rows = np.zeros((len(leaves), self.n_groups), dtype=np.int64)
        for low, high, label in self.spans:
            rows[:, label] += np.bincount(leaf[low:high], minlength=len(leaves))
        return rows

    def leaf_of_rows(self, splits: Sequence[Split], leaves: list[int]) -> NDArray[np.int32]:
        """The leaf, by its place in `leaves`, of every row; in a buffer that the next partition overwrites."""
        return self._find_leaves(splits, leaves)

    def _find_leaves(self, splits: Sequence[Split], leaves: list[int]) -> NDArray[np.int32]:
        leaf = self.row_numbers()[1].view(np.int32)
        kernels.find_leaves(*self._walk(splits, leaves), leaf)
        return leaf

    def _walk(self, splits: Sequence[Split], leaves: list[int]) -> tuple[Any, ...]:
        """What kernels need to find the leaf of every row, from nodes of the growing tree as far as it is the same."""
        tree, growth = SplitArrays.of(splits), self.growing()
        known, children = tree.walk(leaves, growth.levels)
        return self.codes, growth.order, growth.nodes.arrays, *known, *self._stored_columns(tree), children

    def growing(self) -> Growth:
        """The growing tree, or a new one: its root."""
        if self.growth is None:
            order = self.row_numbers()[0]
            for low in range(0, len(order), ROWS_AT_ONCE):
                high = min(low + ROWS_AT_ONCE, len(order))
                order[low:high] = np.arange(low, high, dtype=np.uint32)
            self.growth = Growth(order, self.nodes.restart())
        return self.growth

    def _histogram_of(self, order: NDArray[np.uint32], node: Node) -> NDArray[np.int64]:
        """[label, column, bin]: the labels of one summed number after those of another."""
        sums = np.empty((1, self.n_summed * self.n_groups, self.n_columns, self.width), dtype=np.int64)
        self._sum_nodes(order, *_alone(node), sums, True)
        return sums[0]

    def _count_of(self, order: NDArray[np.uint32], node: Node) -> NDArray[np.int64]:
        """[label, column, bin]: how many rows."""
        sums = np.empty((1, self.n_groups, self.n_columns, self.width), dtype=np.int64)
        kernels.sum_nodes(self.packed, self.weights.rows[None], order, *_alone(node), self.group, sums, True)
        return sums[0]

    # ------------------------------------------------------------ sums over all rows

    def count(self) -> Any:
        """[label, column, bin] of the counts: the sample weights, whatever the algorithm."""
        counts = self.counts if len(self.counts) else np.ones(len(self.grid), dtype=np.int64)
        return self.by_column(self.histogram(counts))

    def histogram(self, grid: NDArray[np.int64]) -> NDArray[np.int64]:
        """[label, stored column, code]."""
        sums = np.zeros((self.n_groups, self.n_columns, self.width), dtype=np.int64)
        rows = CELLS_PER_HISTOGRAM // self.n_columns + 1
        for low, high, label in self.spans:
            for at in range(low, high, rows):
                kernels.histogram(self.packed, grid, at, min(at + rows, high), sums[label])
        return sums

    def by_column(self, histogram: NDArray[np.int64]) -> Any:
        """[..., column, bin], without bundles; packed, if it is to be sent."""
        if self.bundles is None:
            return histogram if self.packing is None else self.packing.pack(histogram)
        columns = PER_GROUP * groups_of(len(self.bundles.place))
        n_cells = columns * self.width if self.packing is None else len(self.packing.used)
        out, clear = (self.answer if self.packing is None else new_answer)((*histogram.shape[:-2], n_cells))
        if clear:
            out.fill(0)
        stored = histogram.reshape(-1, *histogram.shape[-2:])
        kernels.spread(stored, self.bundles.place, self.bundles.used, self.cells, out.reshape(-1, n_cells))
        if self.packing is not None:
            return Packed(out, columns)
        return out.reshape(*histogram.shape[:-2], columns, self.width)

    def pack(self, packing: Packing) -> None:
        """Pack all histograms from now on."""
        self.packing = packing
        if self.bundles is not None:
            self.cells = packing.place[self.bundles.cells]

    def codes_of(self, split: Split) -> tuple[NDArray[Any], NDArray[np.bool_]]:
        """The stored column of a split, and which of its codes go left."""
        column, on_left = split.column, split.on_left
        if self.bundles is not None:
            column, on_left = int(self.bundles.place[column]), on_left[self.bundles.bin_of[column]]
        per_group = self.codes.shape[2]
        return self.codes[column // per_group, :, column % per_group], on_left

    def left(self, split: Split) -> NDArray[np.bool_]:
        """Which rows go left."""
        codes, on_left = self.codes_of(split)
        return np.asarray(on_left[codes])


def count_searched(booster: Booster, search: bool) -> int:
    """How many channels have histograms."""
    channels = booster.channels
    return (2 if len(channels) > 1 and channels[1].searched else 1) if search else 0


def as_sums(found: Any, n_searched: int, totals: NDArray[np.int64], wrong: int) -> Sums:
    """found[channel]: the histograms of the channels that were searched. totals[channel, label]."""
    more = None
    if len(totals) > 1:
        more = Sums(found[1] if n_searched > 1 else NOTHING, totals[1], 0)
    return Sums(found[0] if n_searched else NOTHING, totals[0], wrong, more)


def _alone(node: Node) -> tuple[NodeArrays, NDArray[np.int64]]:
    """The arrays of one node, and its number there."""
    return NodeArrays(np.array([node.low]), node.starts[None]), np.zeros(1, dtype=np.int64)


def reused(buffers: dict[str, NDArray[Any]], name: str, shape: tuple[int, ...]) -> NDArray[np.int64]:
    """A buffer of this shape: new pages from the system cost as much as the work itself."""
    size = math.prod(shape)
    if name not in buffers or len(buffers[name]) < size:
        buffers[name] = np.empty(size, dtype=np.int64)
    return buffers[name][:size].reshape(shape)


def new_answer(shape: tuple[int, ...]) -> Answer:
    return np.empty(shape, dtype=np.int64), True


def counts_of(weights: Weights) -> NDArray[np.int64]:
    """Positive integers in proportion to the weights, or ONCE."""
    if weights.real is not None:
        return weights.times * np.maximum(1, np.rint(weights.real * 2.0**weights.bits)).astype(np.int64)
    return weights.times if weights.times.max(initial=1) > 1 else ONCE


@dataclass(frozen=True)
class Examples:
    """What a shard is made from: rows of a table with their labels (0..n_labels-1) and weights."""

    table: Table
    labels: NDArray[np.int64]
    n_labels: int
    weights: Weights


def build_shard(examples: Examples, bins: Bins, low: int, high: int) -> Shard:
    """The shard of the rows low..high; rows of weight 0 are left out."""
    order, starts, weights = sort_by_label(examples, low, high)
    codes, bundles = encode_bundled(examples, bins, low, high, order)
    return Shard(codes, starts, weights, bins.width, bundles)


def encode_bundled(
    examples: Examples, bins: Bins, low: int, high: int, order: NDArray[np.int64]
) -> tuple[NDArray[Any], Bundles | None]:
    """The codes of the rows `order` of low..high, several columns to a byte where that saves some."""
    for bundled in plans(bins, lambda: some_codes(examples, bins, low, high)):
        with suppress(TooManyError):
            bundles = Bundles(bins, bundled)
            codes = encode_rows(examples, bins, low, high, order, bundles)
            bundles.settle()
            return codes, bundles
    return encode_rows(examples, bins, low, high, order), None


def build_plain_shard(examples: Examples, bins: Bins) -> Shard:
    """Of all rows, every column by itself: codes that do not depend on which rows come first."""
    order, starts, weights = sort_by_label(examples, 0, examples.table.n_rows)
    return Shard(encode_rows(examples, bins, 0, examples.table.n_rows, order), starts, weights, bins.width)


def some_codes(examples: Examples, bins: Bins, low: int, high: int) -> NDArray[np.uint8]:
    """[group, row, column of group] of a few blocks of rows, here and there among low..high."""
    rows, groups = block_rows(examples.table.n_columns), edge_groups(bins)
    starts = range(low, high, max(rows, -(-(high - low) // SAMPLED_BLOCKS)))
    blocks = [read_block(examples.table, bins.categories, at, min(at + rows, high)) for at in starts]
    codes = [_encode(bins, groups, block) for block in blocks]
    return np.concatenate([_no_codes(bins, examples.table.n_columns, 0), *codes], axis=1)


def encode_rows(
    examples: Examples, bins: Bins, low: int, high: int, order: NDArray[np.int64], bundles: Bundles | None = None
) -> NDArray[Any]:
    """The codes of the rows `order` of low..high, as a shard stores them."""
    dest = np.full(high - low, -1, dtype=np.int64)
    dest[order - low] = np.arange(len(order))
    n_stored = examples.table.n_columns if bundles is None else bundles.n_stored
    codes = _no_codes(bins, n_stored, len(order))
    encode_range(examples.table, bins, edge_groups(bins), (low, high), dest, codes, bundles)
    return codes


def encode_range(
    table: Table,
    bins: Bins,
    groups: list[EdgeGroup],
    part: tuple[int, int],
    dest: NDArray[np.int64],
    codes: NDArray[Any],
    bundles: Bundles | None = None,
) -> None:
    """Write the codes of the rows of one part of a table. dest: of each of them, its row in the codes, or -1."""
    low, high = part
    array = plain_array(table)
    in_place = array is not None and not bins.categories and bundles is None and len(groups) == 1
    if array is not None and in_place and _encode_array(bins, groups[0], array[low:high], dest, codes):
        return  # else the blocks below find the infinite number
    reading, rows = BlockReader(table), block_rows(table.n_columns)
    for at in range(low, high, rows):
        end = min(at + rows, high)
        if bins.categories:
            block = read_block(table, bins.categories, at, end)
        else:
            block = reading.numbers(at, end, range(table.n_columns))
        places = dest[at - low : end - low]
        if kernels.first_infinite(block)[0] >= 0:  # validation rows have been in no sketch, and some are left out
            block[:, places < 0] = np.nan
            column, row = kernels.first_infinite(block)
            refuse_infinite(table, column, at + row)
        if bundles is None:
            _encode(bins, groups, block, places, codes)
        else:
            bundles.join(_encode(bins, groups, block), places, codes)


def _encode(
    bins: Bins,
    groups: list[EdgeGroup],
    block: NDArray[np.float64],
    places: NDArray[np.int64] | None = None,
    codes: NDArray[Any] | None = None,
) -> NDArray[Any]:
    """Write the codes of a block [column, row] at some places of `codes`; by default, at the rows of new ones."""
    n_columns, n_rows = block.shape
    places = np.arange(n_rows) if places is None else places
    codes = _no_codes(bins, n_columns, n_rows) if codes is None else codes
    if len(groups) == 1:
        edges, depths, _ = groups[0]
        kernels.encode(block, edges, depths, bins.missing, places, codes, np.empty(n_rows, dtype=np.int32))
        return codes
    used = np.flatnonzero(places >= 0)
    for edges, depths, columns in groups:
        part, found = np.ascontiguousarray(block[columns][:, used]), _no_codes(bins, len(columns), len(used))
        buffer = np.empty(len(used), dtype=np.int32)
        kernels.encode(part, edges, depths, bins.missing, np.arange(len(used)), found, buffer)
        codes[columns[:, None], places[used]] = found
    return codes


def _encode_array(
    bins: Bins, group: EdgeGroup, array: NDArray[Any], places: NDArray[np.int64], codes: NDArray[Any]
) -> bool:
    """As `_encode`, for an array [row, column] that kernels read in place; False if a number is infinite."""
    n_rows, n_columns = array.shape
    rows, at_once = block_rows(n_columns), max(1, CELLS_PER_CALL // max(1, n_columns))
    buffers = np.empty((n_columns, rows)), np.empty(rows, dtype=np.int32)
    return all(
        kernels.encode_array(
            array[at : at + at_once], *group[:2], bins.missing, places[at : at + at_once], codes, *buffers
        )
        for at in range(0, n_rows, at_once)
    )


def edge_groups(bins: Bins) -> list[EdgeGroup]:
    """Padded edges, their depths and their columns: all columns at once, unless padding would take far more memory.

    That happens only with max_bins="exact", where one column may have thousands of edges and the others few.
    """
    columns = [np.arange(len(bins.edges))] if bins.code_type is np.uint8 else similar_sizes(bins.edges)
    return [(*pad_edges([bins.edges[j] for j in group.tolist()]), group) for group in columns]


def _no_codes(bins: Bins, n_columns: int, n_rows: int) -> NDArray[Any]:
    return np.zeros(shape_of_codes(bins, n_columns, n_rows), dtype=bins.code_type)


def shape_of_codes(bins: Bins, n_columns: int, n_rows: int) -> tuple[int, int, int]:
    """[group, row, column of group]: four columns of bytes to a word."""
    return (groups_of(n_columns), n_rows, PER_GROUP) if bins.code_type is np.uint8 else (n_columns, n_rows, 1)


def sort_by_label(examples: Examples, low: int, high: int) -> tuple[NDArray[np.int64], NDArray[np.int64], Weights]:
    """Rows of positive weight in the order of their labels, where each label starts, and their weights."""
    used = low + np.flatnonzero(examples.weights.times[low:high])
    order = used[np.argsort(examples.labels[used].astype(np.uint16), kind="stable")]
    counts = np.bincount(examples.labels[order], minlength=examples.n_labels)
    starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    weights = examples.weights
    real = weights.real[order] if weights.real is not None else None
    return order, starts, replace(weights, times=weights.times[order], real=real)


# ---------------------------------------------------------------- formulas


def formulas_of(booster: Booster, floors: Floors) -> Formulas | None:
    """None where the booster has channels that only NumPy computes. All shards ask for the same ones in turn."""
    global _last
    last = _last  # read once: another thread may fit another model
    if last[0] is not booster or last[1] is not floors:
        last = _last = booster, floors, _formulas_of(booster, floors)
    return last[2]


_last: tuple[Booster | None, Floors | None, Formulas | None] = (None, None, None)


def _formulas_of(booster: Booster, floors: Floors) -> Formulas | None:
    table = []
    for channel in booster.channels:
        formula = channel.formula(floors)
        if formula is None:
            return None
        table.append((formula[0], channel.row, *formula[1:]))
    return Formulas(np.array(table, dtype=np.float64), booster.margin_row, booster.votes_row)
