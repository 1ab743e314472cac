"""A shard of examples whose label is a number.

Rows are sorted by target, so they are sorted by bin of the target too, and so are the rows of every leaf. An example
takes 32 bytes: its target, minus the logarithm of its weight, its weight on the grid, and two row numbers while a tree
grows, in whose place its award is then. All else is computed again, some rows at a time.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from electorate import kernels
from electorate.data.bins import Bins
from electorate.data.weights import Weights
from electorate.engines.densest_interval import Fetched, LeafRows
from electorate.engines.shard import CELLS_PER_HISTOGRAM, NOTHING, ROWS_AT_ONCE, Allocate, Examples, Shard, encode_rows
from electorate.exact import exp, log
from electorate.kernels.layouts import NodeArrays, NodeRows, TargetWeights
from electorate.messages import AppliedVoter, Moments, Split, SplitArrays, Sums

Array = NDArray[np.float64]
Rewarding = Callable[[Array, Array], Array]  # awards, from predictions and targets
NO_NUMBERS = np.empty(0)


class LeafTargets(NamedTuple):
    """The rows of the leaves of a tree, leaf by leaf: targets in order, and their weights on the grid."""

    targets: Array
    weights: NDArray[np.int64]
    n_rows: NDArray[np.int64]  # [leaf]

    @property
    def ends(self) -> NDArray[np.int64]:
        """Leaf i has the rows ends[i]..ends[i + 1]."""
        return np.concatenate([[0], np.cumsum(self.n_rows)])

    def leaves(self) -> Iterator[tuple[Array, NDArray[np.int64]]]:
        """Targets and weights of each leaf."""
        for low, high in pairwise(self.ends.tolist()):
            yield self.targets[low:high], self.weights[low:high]

    def total(self, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """[leaf]: the sum of a number per row."""
        return np.diff(np.concatenate([[0], np.cumsum(numbers)])[self.ends])


@dataclass(frozen=True)
class Targets:
    """Rows with targets. kappas: the candidates for a voter's confidence, [candidate, row], or None: always 1."""

    examples: Examples  # labels: bins of the target
    y: Array
    kappas: Array | None = None
    predictions: Array | None = None  # [row, voter] of a finite set of voters, NaN where one abstains


@dataclass(frozen=True)
class ValueSums:
    """Sums over examples of weight x award, for each of some values."""

    histogram: NDArray[np.int64]  # [value, column, bin]
    totals: NDArray[np.int64]  # [value]

    def __add__(self, other: "ValueSums") -> "ValueSums":
        return ValueSums(self.histogram + other.histogram, self.totals + other.totals)


def abstaining(predicted: Array) -> tuple[Array, Array | float]:
    """Predictions and their confidence: a missing prediction abstains."""
    missing = np.isnan(predicted)
    if not missing.any():
        return predicted, 1.0
    return np.where(missing, 0.0, predicted), (~missing).astype(np.float64)


@dataclass(frozen=True)
class SummedTargets:
    """Numbers of all rows that are summed with the weights, as shares of the way from low to high."""

    values: Array
    low: float
    high: float

    def shares(self, values: Array) -> Array:
        if self.high <= self.low:
            return np.zeros(len(values))
        return np.clip((values - self.low) / (self.high - self.low), 0.0, 1.0)


class TargetShard(Shard):
    """log: minus the logarithm of an example's weight. award: of the voter that is judged, after `reward`."""

    def __init__(
        self,
        codes: Any,
        starts: NDArray[np.int64],
        weights: Weights,
        width: int,
        y: Array,
        allocate: Allocate = np.empty,
    ) -> None:
        super().__init__(codes, starts, weights, width, allocate=allocate)
        self.y = y
        self.order = np.empty(0, dtype=np.int64)  # which rows these are
        self.kappas: Array | None = None
        self.predictions: Array | None = None  # [voter, row] of a finite set, NaN where one abstains
        self.column_awards = np.empty((0, 0))  # what they earn
        self.summed_targets: SummedTargets | None = None
        self.log = allocate((len(y),), np.float64)
        self.row_blocks = [(at, min(at + ROWS_AT_ONCE, len(y))) for at in range(0, len(y), ROWS_AT_ONCE)]
        self.forget()

    def forget(self) -> None:
        """Forget all voters."""
        self.growth = None
        self.log.fill(0.0)
        self.voter: AppliedVoter | None = None
        self.award: Array | None = None
        self.unit = False  # whether awards are -1, 0 or 1
        self.last_leaves: tuple[SplitArrays, list[int], NDArray[np.int32]] | None = None
        self.floor, self.kappa = 0.0, NO_NUMBERS  # of the weights on the grid
        self.fresh: float | None = None  # the floor for which the grid holds the weights

    def _numbers(self, kind: type) -> NDArray[Any]:
        """One number per row, in the place of the row numbers of a growing tree, which is then forgotten."""
        self.growth = self.last_leaves = self.award = None
        return self.row_numbers().reshape(-1).view(kind)

    def want_targets(self, low: float, high: float) -> None:
        """Sum the target too from now on, as shares of the way from low to high."""
        self.summed_targets = SummedTargets(self.y, low, high)

    def mass(self) -> int:
        """How much counts."""
        return int(self.counts.sum()) if len(self.counts) else len(self.y)

    # ------------------------------------------------------------ weights and sums

    def lightest(self, alpha: float = 0.0) -> tuple[float, float]:
        """Return the lowest number of the state after a step of alpha, and minus the logarithm of the largest weight.

        They differ where sample weights are not whole: a row that weighs little must not set the grid of the others.
        """
        if not alpha and self.real is None:
            least = float(self.log.min(initial=np.inf))
            return least, least
        least = lightest = np.inf
        for low, high in self.row_blocks:
            state = self._log_after(alpha, low, high)
            least = min(least, float(state.min()))
            if self.real is not None:
                lightest = min(lightest, float((state - log(self.real[low:high])).min()))
        return least, least if self.real is None else lightest

    def _log_after(self, alpha: float, low: int, high: int) -> Array:
        """The state of some rows after a step of alpha."""
        if not alpha:
            return self.log[low:high]
        assert self.award is not None
        return self.log[low:high] + alpha * self.award[low:high]

    def weigh(self, floor: float, kappa: int, search: bool) -> Sums:
        """Put weights on the grid, times a candidate's confidence, and sum them for the search."""
        if self.kappas is not None:
            self._put(floor, self.kappas[kappa])
        elif self.fresh != floor:
            self._put(floor)
        self.growth = self.award = None
        totals, grids = self.totals, [self.grid]
        if self.summed_targets is not None:
            grids.append(self._second_grid())
            totals = np.array([totals.sum(), grids[1].sum()])
        return Sums(self._root(grids) if search else NOTHING, totals, 0)

    def _root(self, grids: list[NDArray[np.int64]]) -> NDArray[np.int64]:
        """[label, column, bin]; where sums of the target are wanted, [weight or target, column, bin]."""
        (found, clear), at_once = self.new_histograms(1), self.grids.shape[1] * self.n_columns <= CELLS_PER_HISTOGRAM
        root = found[0]
        for sums, grid in zip(root.reshape(len(grids), -1, *root.shape[1:]), grids, strict=True):
            if at_once:
                kernels.label_histograms(self.packed, grid, self.starts, self.group, sums, clear)
            else:
                sums[:] = self.histogram(grid) + (0 if clear else sums)
        return root

    def _put(self, floor: float, kappa: Array = NO_NUMBERS) -> None:
        """Weights, times a confidence, on the grid; their sums by label."""
        self.floor, self.kappa = floor, kappa
        self.fresh = None if len(kappa) else floor
        self.totals = np.zeros(len(self.starts) - 1, dtype=np.int64)
        some = np.empty_like(self.totals)
        for low, high in self.row_blocks:
            starts = np.clip(self.starts, low, high) - low
            rows = self.times[low:high], self.scale, starts, self.grid[low:high]
            kernels.quantise(self._channel(low, high), *rows, some)
            self.totals += some

    def _channel(self, low: int, high: int) -> Array:
        """The weights of some rows, before they are rounded."""
        channel = exp(self.floor - self.log[low:high])
        for factor in (self.kappa, NO_NUMBERS if self.real is None else self.real):
            if len(factor):
                channel *= factor[low:high]
        return channel

    def _on_grid(self, numbers: Array, low: int, high: int) -> NDArray[np.int64]:
        """Numbers of some rows."""
        grid = np.rint(numbers * self.scale).astype(np.int64)
        return grid * self.times[low:high] if len(self.times) else grid

    # ------------------------------------------------------------ weight x target

    @property
    def n_summed(self) -> int:
        return 1 if self.summed_targets is None else 2

    def _second_grid(self) -> NDArray[np.int64]:
        """Weight x target of all rows, until a tree grows."""
        summed = self.summed_targets
        assert summed is not None
        grid: NDArray[np.int64] = self._numbers(np.int64)
        for low, high in self.row_blocks:
            share = summed.shares(summed.values[low:high])
            grid[low:high] = self._on_grid(self._channel(low, high) * share, low, high)
        return grid

    @property
    def _target_weights(self) -> TargetWeights:
        summed = self.summed_targets
        assert summed is not None
        real = NO_NUMBERS if self.real is None else self.real
        ends = self.floor, summed.low, summed.high, self.scale
        return TargetWeights(self.log, summed.values, self.kappa, real, self.times, *ends)

    def _sum_nodes(
        self,
        order: NDArray[np.uint32],
        nodes: NodeArrays,
        numbers: NDArray[np.int64],
        sums: NDArray[np.int64],
        clear: bool,
    ) -> None:
        if self.summed_targets is None:
            super()._sum_nodes(order, nodes, numbers, sums, clear)
            return
        kernels.sum_targets(self.packed, self.grid, self._target_weights, order, nodes, numbers, sums, clear)

    def share_spans(self, nodes: list[int]) -> Array:
        """[node, (low, high)] of the shares of the target."""
        growth = self.growing()
        return np.stack(
            [self._share_span(growth.order[node.low :][: node.n_rows]) for node in map(growth.nodes.__getitem__, nodes)]
        )

    def _share_span(self, rows: NDArray[np.uint32]) -> Array:
        """The lowest and the highest share of some rows; shares ascend with the values."""
        summed = self.summed_targets
        assert summed is not None
        parts = [summed.values[rows[at : at + ROWS_AT_ONCE]] for at in range(0, len(rows), ROWS_AT_ONCE)]
        if not parts:
            return np.array([np.inf, -np.inf])
        return summed.shares(np.array([min(part.min() for part in parts), max(part.max() for part in parts)]))

    def collect(self, nodes: list[int], count_rows: bool) -> NodeRows:
        mine, rows = self._collect(nodes, count_rows)
        summed = self.summed_targets
        if summed is None:
            return rows
        second = np.empty(len(mine), dtype=np.int64)
        kernels.weigh_targets(self._target_weights, mine, second)
        return rows._replace(second=second, share=summed.shares(summed.values[mine]))

    # ------------------------------------------------------------ one voter

    def partition(self, tree: SplitArrays) -> NDArray[np.int64]:
        self.last_leaves = None  # their buffer is used
        return super().partition(tree)

    def leaf_of_rows(self, splits: Sequence[Split], leaves: list[int]) -> NDArray[np.int32]:
        """Return the leaves of rows; those of the last tree are stored, for its values and its predictions."""
        tree = SplitArrays.of(splits)
        if self.last_leaves is None or self.last_leaves[1] != leaves or not self.last_leaves[0].same_as(tree):
            self.last_leaves = tree, leaves, super().leaf_of_rows(tree, leaves)
        return self.last_leaves[2]

    def leaf_targets(self, splits: Sequence[Split], leaves: list[int]) -> LeafTargets:
        """Return the targets of every leaf in order and their weights."""
        found = LeafTargets(np.empty_like(self.y), np.empty_like(self.grid), np.empty(len(leaves), dtype=np.int64))
        kernels.targets_by_leaf(self.leaf_of_rows(splits, leaves), self.y, self.grid, found.n_rows, *found[:2])
        return found

    def leaf_mass(self, splits: Sequence[Split], leaves: list[int], points: list[Array]) -> list[NDArray[np.int64]]:
        """Return for every leaf [weight or distinct targets, point] up to each of its points."""
        return self._leaf_rows(splits, leaves).mass(points)

    def leaf_between(self, splits: Sequence[Split], leaves: list[int], ranges: list[Array]) -> list[Fetched]:
        """Return for every leaf what lies in its ranges."""
        return self._leaf_rows(splits, leaves).between(ranges)

    def _leaf_rows(self, splits: Sequence[Split], leaves: list[int]) -> LeafRows:
        return LeafRows(self.leaf_of_rows(splits, leaves), self.y, self.grid)

    def leaf_near(self, splits: Sequence[Split], leaves: list[int], values: Array, eps: float) -> NDArray[np.int64]:
        """[leaf, (weight within eps of its value, all weight)]."""
        found = np.zeros((len(leaves), 2), dtype=np.int64)
        kernels.weigh_near(self.leaf_of_rows(splits, leaves), self.y, self.grid, values, eps, found)
        return found

    # ------------------------------------------------------------ finite sets of voters

    def value_ends(self, rewarding: Rewarding, values: Array) -> tuple[float, float]:
        """Return the lowest and the highest award of voters that say one of these values everywhere."""
        least, most = np.inf, -np.inf
        for low, high in self.row_blocks:
            for value in values.tolist():
                award = rewarding(np.full(high - low, value), self.y[low:high])
                least, most = min(least, float(award.min())), max(most, float(award.max()))
        return least, most

    def value_sums(self, rewarding: Rewarding, values: Array, most: float) -> ValueSums:
        """Return [value, column, bin] and [value] of weight x award, in units of `most`, as `weigh` set the weights."""
        parts, totals = [], np.empty(len(values), dtype=np.int64)
        grid: NDArray[np.int64] = self._numbers(np.int64)
        for k, value in enumerate(values.tolist()):
            for low, high in self.row_blocks:
                award = rewarding(np.full(high - low, value), self.y[low:high])
                grid[low:high] = self._on_grid(self._channel(low, high) * (award / most), low, high)
            totals[k] = grid.sum()
            parts.append(self.histogram(grid)[0])
        return ValueSums(np.stack(parts), totals)

    def column_ends(self, rewarding: Rewarding) -> tuple[float, float]:
        """Return the lowest and the highest award of any prediction."""
        assert self.predictions is not None
        self.column_awards = np.empty_like(self.predictions)
        for j, predicted in enumerate(self.predictions):
            self.column_awards[j] = self._award_of(rewarding, predicted)
        return float(self.column_awards.min(initial=np.inf)), float(self.column_awards.max(initial=-np.inf))

    def column_sums(self, most: float) -> NDArray[np.int64]:
        """Return [voter] of weight x award, in units of `most`; awards are those of the last `column_ends`."""
        sums = np.zeros(len(self.column_awards), dtype=np.int64)
        times = self.times if len(self.times) else np.ones(len(self.y), dtype=np.int64)
        channel = np.concatenate([NO_NUMBERS, *(self._channel(*rows) for rows in self.row_blocks)])
        kernels.correlate_reals(self.column_awards, channel * (self.scale / most), times, sums)
        return sums

    def _award_of(self, rewarding: Rewarding, predicted: Array) -> Array:
        """What a voter earns that says this; nothing where it abstains."""
        missing = np.isnan(predicted)
        if not missing.any():
            return rewarding(predicted, self.y)
        return np.where(missing, 0.0, rewarding(np.where(missing, self.y, predicted), self.y))

    def span(self) -> tuple[float, float]:
        """The lowest and the highest target."""
        return float(self.y.min(initial=np.inf)), float(self.y.max(initial=-np.inf))

    def apply_voter(self, voter: AppliedVoter) -> None:
        """Choose a voter: the next awards are its own."""
        self.voter, self.award = voter, None
        if voter.predictions is None:
            self.leaf_of_rows(voter.splits, voter.leaves)
            self.growth = None

    def outputs_of(self, low: int, high: int) -> tuple[Array, Array | float]:
        """The predictions of the chosen voter for some rows, and its confidence."""
        voter = self.voter
        assert voter is not None
        confidence: Array | float
        if voter.predictions is not None:
            predicted, confidence = abstaining(voter.predictions[self.order[low:high]])
            if len(voter.outputs):
                confidence = confidence * voter.outputs[self.order[low:high], 0]
        else:
            assert self.last_leaves is not None
            leaf, (value, share) = self.last_leaves[2][low:high], voter.outputs.T
            predicted, confidence = value[leaf], 1.0 if np.all(share == 1) else share[leaf]
        return predicted, confidence if self.kappas is None else confidence * self.kappas[voter.kappa, low:high]

    def farthest(self) -> float:
        """The largest distance of a prediction from its target."""
        parts = (np.abs(self.outputs_of(low, high)[0] - self.y[low:high]).max() for low, high in self.row_blocks)
        return float(max(parts, default=0.0))

    def reward(self, rewarding: Rewarding, unit: bool) -> tuple[float, float]:
        """Awards of the chosen voter; the lowest and the highest. unit: they are -1 or 1.

        An award is written over what is no longer needed: row numbers, and leaves whose awards are known already.
        """
        award = self.row_numbers().reshape(-1).view(np.float64)
        for low, high in self.row_blocks:
            predicted, confidence = self.outputs_of(low, high)
            award[low:high] = rewarding(predicted, self.y[low:high])
            if not isinstance(confidence, float):
                award[low:high] *= confidence
        self.award = self._numbers(np.float64)
        assert self.voter is not None
        own = self.voter.predictions is not None and len(self.voter.outputs) > 0
        self.unit = unit and self.kappas is None and not own  # the confidence of a leaf is 0 or 1
        return float(award.min(initial=np.inf)), float(award.max(initial=-np.inf))

    def moments(self, alpha: float, floor: float, most: float) -> Moments:
        """Return the moments of the awards, under the weights after a step of alpha."""
        assert self.award is not None
        if alpha == 0 and self.unit and most == 1 and self.fresh == floor:  # what is on the grid already
            right, wrong = kernels.sum_signs(self.grid, self.award)
            return Moments(int(self.totals.sum()), int(right - wrong), int(right + wrong), most)
        sums = [0, 0, 0]
        for low, high in self.row_blocks:
            weight = exp(floor - self.log[low:high] - alpha * self.award[low:high])
            if self.real is not None:
                weight *= self.real[low:high]
            award = self.award[low:high] / most
            first = weight * award
            for k, numbers in enumerate((weight, first, first * award)):
                sums[k] += int(self._on_grid(numbers, low, high).sum())
        return Moments(sums[0], sums[1], sums[2], most)

    def below(self, limit: float) -> int:
        """How much counts whose state is at most the limit."""
        under = self.log <= limit
        return int(self.counts[under].sum()) if len(self.counts) else int(np.count_nonzero(under))

    def total(self, floor: float) -> int:
        if self.fresh != floor:
            self._put(floor)
        return int(self.totals.sum())

    def step(self, alpha: float) -> None:
        for low, high in self.row_blocks:
            self.log[low:high] = self._log_after(alpha, low, high)
        self.fresh = None


def sorted_targets(targets: Targets, low: int, high: int) -> tuple[NDArray[np.int64], NDArray[np.int64], Weights]:
    """Rows of positive weight among low..high by target, where each bin of the target starts, and their weights."""
    examples, weights = targets.examples, targets.examples.weights
    kept = low + np.flatnonzero(weights.times[low:high])
    order = kept[np.argsort(targets.y[kept], kind="stable")]
    counts = np.bincount(examples.labels[order], minlength=examples.n_labels)
    starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    real = weights.real[order] if weights.real is not None else None
    return order, starts, replace(weights, times=weights.times[order], real=real)


def build_targets(
    targets: Targets, bins: Bins | None, part: tuple[int, int], kind: type[TargetShard] = TargetShard
) -> TargetShard:
    """The shard of the rows of one part, sorted by target; without bins, for voters that are fitted elsewhere."""
    low, high = part
    order, starts, weights = sorted_targets(targets, low, high)
    if bins is None:
        codes, width = np.zeros((1, len(order), 1), dtype=np.uint16), 1
    else:
        codes, width = encode_rows(targets.examples, bins, low, high, order), bins.width
    shard = kind(codes, starts, weights, width, targets.y[order])
    shard.order = order
    if targets.kappas is not None:
        shard.kappas = np.ascontiguousarray(targets.kappas[:, order])
    if targets.predictions is not None:
        shard.predictions = np.ascontiguousarray(targets.predictions[order].T)
    return shard
