"""A shard: a block of examples with its binned features and its state. Vectors over examples live here only.

Rows are sorted by label, so that sums per label cost no more than plain ones. A shard does not know which
algorithm is running: it adds gains to state, asks the booster for elementwise numbers, and sums on the grid.
"""

from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from electorate import kernels
from electorate.data.bins import Bins, block_rows, pad_edges, read_block
from electorate.data.table import Table, refuse_infinite
from electorate.data.weights import Weights
from electorate.engines.bundles import PER_GROUP, Bundles, groups_of
from electorate.engines.kept import Kept
from electorate.engines.messages import ROOT, Change, Question, Sums

CELLS_PER_HISTOGRAM = 200_000_000  # about 0.07 s: Ctrl-C is heard between two calls
ONCE = np.empty(0, dtype=np.int64)  # every row counts once
NOTHING = np.zeros((0, 0, 0), dtype=np.int64)


class Elementwise(Protocol):
    """What a shard asks of a booster: functions of an example's state, row by row."""

    @property
    def n_states(self) -> int: ...

    @property
    def floor_row(self) -> int:
        """The row of the state that the floor is for."""
        ...

    def channel(self, state: NDArray[np.float64], floor: float) -> NDArray[np.float64]:
        """The number whose sums steer the search: exp(floor - state), say; the loop sees to it that sums fit."""
        ...

    def wrong(self, state: NDArray[np.float64], label: int) -> NDArray[np.bool_]:
        """Which examples of this label the ensemble gets wrong."""
        ...


@dataclass(frozen=True)
class Node:
    """Rows order[low : low + starts[-1]] of a growing tree, label k at starts[k]..starts[k+1] after low."""

    low: int
    starts: NDArray[np.int64]
    histogram: NDArray[np.int64] | None = None  # kept where the children are found by subtraction

    @property
    def n_rows(self) -> int:
        return int(self.starts[-1])


@dataclass
class Growth:
    """The tree that is being grown: where its nodes' rows are. Rows move only inside their node's range."""

    order: NDArray[np.uint32]
    spare: NDArray[np.uint32]
    nodes: dict[int, Node] = field(default_factory=dict)
    asked: dict[int, Question] = field(default_factory=dict)  # by node

    def part_of(self, questions: list[Question]) -> bool:
        """Whether all that was asked so far is among these questions: else the rows lie as another tree left them."""
        wanted = {question.node: question for question in questions}
        return all(node in wanted and question.same_as(wanted[node]) for node, question in self.asked.items())


class Shard:
    """codes[group, row, column of group]; label k has the rows starts[k]..starts[k+1].

    bundles: where several columns are stored as one.
    """

    def __init__(
        self,
        codes: NDArray[Any],
        starts: NDArray[np.int64],
        weights: Weights,
        width: int,
        bundles: Bundles | None = None,
    ) -> None:
        self.codes = codes
        self.bundles = bundles
        self.packed = (codes.view(np.uint32) if codes.shape[2] == 4 else codes)[:, :, 0]
        self.n_columns = codes.shape[0] * codes.shape[2]
        self.starts = starts
        self.width = width
        self.real = weights.real
        self.scale = float(2**weights.bits)
        self.times = weights.times if weights.times.max(initial=1) > 1 else ONCE
        self.counts = counts_of(weights)
        self.weights = weights
        self.grid = np.empty(codes.shape[1], dtype=np.int64)
        self.state = np.empty((0, codes.shape[1]))
        self.root_histogram: NDArray[np.int64] | None = None
        self.growth: Growth | None = None
        self.kept: Kept | None = None
        self.nothing = Question(ROOT, ROOT, ROOT, 0, 0, np.ones(width, dtype=np.bool_))  # a constant voter's
        self._see(np.arange(len(starts) - 1))

    # ------------------------------------------------------------ a round

    def start(self, booster: Elementwise, group: NDArray[np.int64] | None = None) -> None:
        """Forget all voters. group[label]: labels that the booster is to see as one."""
        self._see(np.arange(len(self.starts) - 1) if group is None else group)
        self.kept = Kept(self.codes.shape[1]) if getattr(booster, "keeps", False) else None
        self.state = np.zeros((booster.n_states, self.codes.shape[1]))

    def _see(self, group: NDArray[np.int64]) -> None:
        """spans: rows low..high are of the label that the booster sees."""
        self.group = group
        self.n_groups = int(group.max(initial=0)) + 1
        ends = pairwise(self.starts.tolist())
        self.spans = [(low, high, label) for (low, high), label in zip(ends, group.tolist(), strict=True)]

    def replay(self, booster: Elementwise, changes: list[Change]) -> float:
        """Apply changes without summing; the lowest number of the floor's row after them."""
        for change in changes:
            self.apply(change)
        return float(self.state[booster.floor_row].min()) if len(self.grid) else np.inf

    def advance(self, booster: Elementwise, change: Change | None, floor: float, search: bool) -> Sums:
        """Apply a change, then sum. Without `search` the histogram stays empty."""
        if change is not None:
            self.apply(change)
        channel = booster.channel(self.state, floor)
        second = booster.second(self.state, channel, floor) if hasattr(booster, "second") else None
        totals = self._quantise(channel, self.grid)
        self.root_histogram = self.histogram(self.grid) if search else None
        histogram = NOTHING if self.root_histogram is None else self.by_column(self.root_histogram)
        more = None if second is None else self._sum_second(second, search and self.kept is None)
        return Sums(histogram, totals, self.wrong(booster), more)

    def _quantise(self, channel: NDArray[np.float64], grid: NDArray[np.int64]) -> NDArray[np.int64]:
        """A channel, which may be overwritten, onto a grid; [label] of its sums."""
        if self.real is not None:
            channel *= self.real
        by_label = np.empty(len(self.starts) - 1, dtype=np.int64)
        kernels.quantise(channel, self.times, self.scale, self.starts, grid, by_label)
        if self.n_groups == len(by_label):
            return by_label
        totals = np.zeros(self.n_groups, dtype=np.int64)
        np.add.at(totals, self.group, by_label)
        return totals

    def _sum_second(self, channel: NDArray[np.float64], search: bool) -> Sums:
        """Of a second channel, on a grid of its own."""
        self.second_grid = np.empty_like(self.grid)
        totals = self._quantise(channel, self.second_grid)
        return Sums(self.by_column(self.histogram(self.second_grid)) if search else NOTHING, totals, 0)

    def both_left(self, question: Question) -> NDArray[np.int64]:
        """[channel, label, column, bin] of the rows on the left of a question at the root, of both channels."""
        left = self.left(question)
        sums = [self.histogram(np.where(left, grid, 0)) for grid in (self.grid, self.second_grid)]
        return self.by_column(np.stack(sums))

    def apply(self, change: Change) -> None:
        """Add the gains of a voter; where awards are kept, from them."""
        if self.kept is None or change.kept is None:
            self._add(change, change.gains, self.state)
            return
        self.keep(change)
        self.state[0] += self.kept.votes(change.kept.number, change.kept.size)

    def keep(self, change: Change) -> None:
        """Keep what a new voter says of these rows."""
        assert self.kept is not None
        assert change.kept is not None
        if change.kept.number == len(self.kept):
            award = np.zeros((1, len(self.grid)))
            self._add(change, change.kept.awards[None], award)
            self.kept.add(award[0], change.kept.signs)

    def edges(self) -> NDArray[np.int64]:
        """[voter]: of those kept, the sums of weight times award."""
        assert self.kept is not None
        return self.kept.edges(self.grid, self.times)

    def along(self, booster: Elementwise, number: int, size: float, floor: float) -> NDArray[np.int64]:
        """Of a kept voter, if it took one more step: the sum of the weights after it, and of weight times award."""
        assert self.kept is not None
        channel = booster.channel(self.state + self.kept.votes(number, size), floor)
        grid = np.empty_like(self.grid)
        total = int(self._quantise(channel, grid).sum())
        bits, _ = self.kept.places[number]
        award = self.kept.award(number)
        if bits:
            return np.array([total, 2 * int(grid[award > 0].sum()) - total])
        each = self.times if len(self.times) else np.ones(len(grid), dtype=np.int64)
        edge = int((np.rint(award * (grid // each)).astype(np.int64) * each).sum())
        return np.array([total, edge])

    def _add(self, change: Change, gains: NDArray[np.float64], state: NDArray[np.float64]) -> None:
        """gains[state, label, leaf]: by the bins of one column for a stump, else leaf by leaf."""
        all_gains = gains[:, self.group] if self.n_groups < len(self.group) else gains
        self._forget_other(change.questions)
        if not change.questions:
            self.growth = None
        if self.growth is None and len(change.questions) <= 1:
            for question in change.questions or [self.nothing]:
                codes, on_left = self.asked(question)
                kernels.add_gains(codes, (~on_left).view(np.uint8), all_gains, self.starts, state)
            return
        growth = self._growth()
        self._part_all(growth, change.questions)
        for number, leaf in enumerate(change.leaves):
            node = growth.nodes[leaf]
            mine = np.ascontiguousarray(all_gains[:, :, number])
            kernels.add_gains_of(growth.order, node.low, node.starts, mine, state)
        self.growth = None

    def wrong(self, booster: Elementwise) -> int:
        total = 0
        for low, high, label in self.spans:
            missed = booster.wrong(self.state[:, low:high], label)
            if len(self.counts):
                total += int(self.counts[low:high][missed].sum())
            else:
                total += int(np.count_nonzero(missed))
        return total

    # ------------------------------------------------------------ growing a tree

    def split(self, questions: list[Question]) -> NDArray[np.int64]:
        """Part the rows of some nodes; the histograms [question, label, column, bin] of their left children.

        The child with fewer rows here is summed, the other is the difference; which one is nobody's business.
        """
        if self.growth is not None and any(question.node in self.growth.asked for question in questions):
            self.growth = None  # another tree begins
        growth = self._growth()
        return self.by_column(np.stack([self._split(growth, question) for question in questions]))

    def count_rows(self, nodes: list[int]) -> NDArray[np.int64]:
        """[node, column, bin]: how many rows, for families that ask for a least number of them."""
        growth, rows = self._growth(), self.weights.rows
        counts = [self._histogram_of(growth, growth.nodes[node], rows) for node in nodes]
        return self.by_column(np.stack(counts)).sum(axis=1)

    def leaf_rows(self, questions: list[Question], leaves: list[int]) -> NDArray[np.int64]:
        """[leaf, label]: how many rows, of whatever weight."""
        self._forget_other(questions)
        growth = self._growth()
        self._part_all(growth, questions)
        rows = np.zeros((len(leaves), self.n_groups), dtype=np.int64)
        for number, leaf in enumerate(leaves):
            np.add.at(rows[number], self.group, np.diff(growth.nodes[leaf].starts))
        return rows

    def leaf_of_rows(self, questions: list[Question], leaves: list[int]) -> NDArray[np.int64]:
        """The leaf, by its place in `leaves`, of every row."""
        self._forget_other(questions)
        growth = self._growth()
        self._part_all(growth, questions)
        found = np.empty(len(self.grid), dtype=np.int64)
        for number, leaf in enumerate(leaves):
            node = growth.nodes[leaf]
            found[growth.order[node.low : node.low + node.n_rows]] = number
        return found

    def _part_all(self, growth: Growth, questions: list[Question]) -> None:
        for question in questions:
            if question.left not in growth.nodes:
                self._part(growth, question)

    def _forget_other(self, questions: list[Question]) -> None:
        """Families may try several trees and choose one that is not the last."""
        if self.growth is not None and not self.growth.part_of(questions):
            self.growth = None

    def _growth(self) -> Growth:
        if self.growth is None:
            rows = np.arange(len(self.grid), dtype=np.uint32)
            self.growth = Growth(rows, np.empty_like(rows))
            self.growth.nodes[ROOT] = Node(0, self.starts, self.root_histogram)
        return self.growth

    def _split(self, growth: Growth, question: Question) -> NDArray[np.int64]:
        whole = growth.nodes[question.node].histogram
        left, right = self._part(growth, question)
        if whole is None:
            return self._histogram_of(growth, left, self.grid)
        smaller = left if left.n_rows <= right.n_rows else right
        one = self._histogram_of(growth, smaller, self.grid)
        of_left, of_right = (one, whole - one) if smaller is left else (whole - one, one)
        growth.nodes[question.left] = Node(left.low, left.starts, of_left)
        growth.nodes[question.right] = Node(right.low, right.starts, of_right)
        return of_left

    def _part(self, growth: Growth, question: Question) -> tuple[Node, Node]:
        node = growth.nodes[question.node] = replace(growth.nodes[question.node], histogram=None)
        growth.asked[question.node] = question
        starts = np.empty_like(node.starts)
        codes, on_left = self.asked(question)
        n_left = kernels.part(growth.order, node.low, node.starts, codes, on_left, growth.spare, starts)
        left, right = Node(node.low, starts), Node(node.low + n_left, node.starts - starts)
        growth.nodes[question.left], growth.nodes[question.right] = left, right
        return left, right

    def _histogram_of(self, growth: Growth, node: Node, grid: NDArray[np.int64]) -> NDArray[np.int64]:
        sums = self._empty_histogram()
        fill = kernels.histogram8_of if self.codes.shape[2] == 4 else kernels.histogram16_of
        picked = np.empty(node.n_rows, dtype=np.int64)
        for label, (first, last) in zip(self.group.tolist(), pairwise(node.starts.tolist()), strict=True):
            low, high = node.low + first, node.low + last
            kernels.gather(grid, growth.order, low, high, picked)
            fill(self.packed, picked, growth.order, low, high, sums[label])
        return sums

    # ------------------------------------------------------------ sums over all rows

    def count(self) -> NDArray[np.int64]:
        """[label, column, bin] of the counts: the sample weights, whatever the algorithm."""
        counts = self.counts if len(self.counts) else np.ones(len(self.grid), dtype=np.int64)
        return self.by_column(self.histogram(counts))

    def histogram(self, grid: NDArray[np.int64]) -> NDArray[np.int64]:
        """[label, stored column, code]."""
        sums = self._empty_histogram()
        fill = kernels.histogram8 if self.codes.shape[2] == 4 else kernels.histogram16
        rows = CELLS_PER_HISTOGRAM // sums.shape[1] + 1
        for low, high, label in self.spans:
            for at in range(low, high, rows):
                fill(self.packed, grid, at, min(at + rows, high), sums[label])
        return sums

    def by_column(self, histogram: NDArray[np.int64]) -> NDArray[np.int64]:
        """[..., column, bin], as everybody else sees it."""
        return histogram if self.bundles is None else self.bundles.spread(histogram)

    def asked(self, question: Question) -> tuple[NDArray[Any], NDArray[np.bool_]]:
        """The stored column that a question is about, and which of its codes go left."""
        column, on_left = question.column, question.on_left
        if self.bundles is not None:
            column, on_left = int(self.bundles.place[column]), on_left[self.bundles.bin_of[column]]
        per_group = self.codes.shape[2]
        return self.codes[column // per_group, :, column % per_group], on_left

    def left(self, question: Question) -> NDArray[np.bool_]:
        """Which rows go left."""
        codes, on_left = self.asked(question)
        return np.asarray(on_left[codes])

    def _empty_histogram(self) -> NDArray[np.int64]:
        return np.zeros((self.n_groups, self.n_columns, self.width), dtype=np.int64)


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
    bundles = Bundles.of(bins)
    return Shard(encode_rows(examples, bins, low, high, order, bundles), starts, weights, bins.width, bundles)


def encode_rows(
    examples: Examples, bins: Bins, low: int, high: int, order: NDArray[np.int64], bundles: Bundles | None = None
) -> NDArray[Any]:
    """The codes of the rows `order` of low..high, as a shard keeps them."""
    dest = np.full(high - low, -1, dtype=np.int64)
    dest[order - low] = np.arange(len(order))
    n_columns = examples.table.n_columns
    codes = _no_codes(bins, n_columns if bundles is None else bundles.n_stored, len(order))
    edges, depths = pad_edges(bins.edges)
    rows = block_rows(n_columns)
    scratch = np.empty(rows, dtype=np.int32)
    for at in range(low, high, rows):
        end = min(at + rows, high)
        block = read_block(examples.table, bins.categories, at, end)
        places = dest[at - low : end - low]
        if kernels.first_infinite(block)[0] >= 0:  # rows to stop by have been in no sketch, and some are left out
            block[:, places < 0] = np.nan
            column, row = kernels.first_infinite(block)
            refuse_infinite(examples.table, column, at + row)
        if bundles is None:
            kernels.encode(block, edges, depths, bins.missing, places, codes, scratch)
        else:
            single = _no_codes(bins, n_columns, end - at)
            kernels.encode(block, edges, depths, bins.missing, np.arange(end - at), single, scratch)
            bundles.join(single, places, codes)
    return codes


def _no_codes(bins: Bins, n_columns: int, n_rows: int) -> NDArray[Any]:
    """[group, row, column of group]: four columns of bytes to a word."""
    if bins.code_type is np.uint8:
        return np.zeros((groups_of(n_columns), n_rows, PER_GROUP), dtype=np.uint8)
    return np.zeros((n_columns, n_rows, 1), dtype=np.uint16)


def sort_by_label(examples: Examples, low: int, high: int) -> tuple[NDArray[np.int64], NDArray[np.int64], Weights]:
    """Rows of positive weight in the order of their labels, where each label starts, and their weights."""
    kept = low + np.flatnonzero(examples.weights.times[low:high])
    order = kept[np.argsort(examples.labels[kept].astype(np.uint16), kind="stable")]
    counts = np.bincount(examples.labels[order], minlength=examples.n_labels)
    starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    weights = examples.weights
    real = weights.real[order] if weights.real is not None else None
    return order, starts, replace(weights, times=weights.times[order], real=real)
