"""A shard of examples whose label is a number.

Rows are sorted by target, so they are sorted by bin of the target too, and so are the rows of every leaf.
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
from electorate.engines.densest_interval import Fetched, Held
from electorate.engines.shard import CELLS_PER_HISTOGRAM, NOTHING, Examples, Shard, encode_rows
from electorate.kernels.layouts import NodeRows
from electorate.messages import AppliedVoter, Moments, Split, SplitArrays, Sums
from electorate.special import exp, log

Array = NDArray[np.float64]
Rewarding = Callable[[Array, Array], Array]  # awards, from predictions and targets


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


class TargetShard(Shard):
    """state: minus the logarithm of an example's weight. award: what the voter that is judged column_awards on it."""

    def __init__(self, codes: Any, starts: NDArray[np.int64], weights: Weights, width: int, y: Array) -> None:
        super().__init__(codes, starts, weights, width)
        self.y = y
        self.order = np.empty(0, dtype=np.int64)  # which rows these are
        self.kappas: Array | None = None
        self.predictions: Array | None = None  # [voter, row] of a finite set, NaN where one abstains
        self.column_awards = np.empty((0, 0))  # what they earn
        self.share: Array | None = None  # y from 0 to 1, where sums of the target are wanted too
        self.last_leaves: tuple[SplitArrays, list[int], NDArray[np.int32]] | None = None
        self.log_real = None if weights.real is None else log(weights.real)
        self.forget()

    def forget(self) -> None:
        """Forget all voters."""
        n = len(self.y)
        self.growth = None
        self.log = np.zeros(n)
        self.predicted = np.zeros(n)
        self.confidence: Array | float = 1.0
        self.award = np.zeros(n)
        self.unit = False  # whether awards are -1, 0 or 1
        self.leaf_cache: tuple[SplitArrays, list[Held]] | None = None
        self.fresh: float | None = None  # the floor for which the grid holds the weights

    def want_targets(self, low: float, high: float) -> None:
        """From now on sums of the target too, as shares of the way from low to high."""
        self.sum_shares(np.clip((self.y - low) / (high - low), 0.0, 1.0) if high > low else np.zeros(len(self.y)))

    def sum_shares(self, share: Array) -> None:
        """From now on sums of these too."""
        self.share = share
        if len(self.grids) < 2:
            self.grids = np.empty((2, len(self.y)), dtype=np.int64)

    def mass(self) -> int:
        """How much counts."""
        return int(self.counts.sum()) if len(self.counts) else len(self.y)

    # ------------------------------------------------------------ weights and sums

    def lightest(self, alpha: float = 0.0) -> tuple[float, float]:
        """After a step of alpha, the lowest number of the state, and minus the logarithm of the largest weight.

        They differ where sample weights are not whole: a row that weighs little must not set the grid of the others.
        """
        log = self.log + alpha * self.award if alpha else self.log
        least = float(log.min(initial=np.inf))
        return least, least if self.log_real is None else float((log - self.log_real).min(initial=np.inf))

    def weigh(self, floor: float, kappa: int, search: bool) -> Sums:
        """Put weights on the grid, times a candidate's confidence, and sum them for the search."""
        if self.kappas is not None:
            self._put(floor, self.kappas[kappa])
        elif self.fresh != floor:
            self._put(floor)
        totals = self.totals
        if self.share is not None:
            self.grids[1] = self._on_grid(self.channel * self.share)
            totals = np.array([totals.sum(), self.grids[1].sum()])
        self.growth = self.leaf_cache = None
        return Sums(self._root() if search else NOTHING, totals, 0)

    def _root(self) -> NDArray[np.int64]:
        """[label, column, bin]; where sums of the target are wanted, [weight or target, column, bin]."""
        (found, clear), at_once = self.new_histograms(1), self.grids.shape[1] * self.n_columns <= CELLS_PER_HISTOGRAM
        root = found[0]
        for sums, grid in zip(root.reshape(len(self._summed), -1, *root.shape[1:]), self._summed, strict=True):
            if at_once:
                kernels.label_histograms(self.packed, grid, self.starts, self.group, sums, clear)
            else:
                sums[:] = self.histogram(grid) + (0 if clear else sums)
        return root

    @property
    def _summed(self) -> NDArray[np.int64]:
        return self.grids[: 1 if self.share is None else 2]

    def _put(self, floor: float, times: Array | None = None) -> None:
        """Weights, times a confidence, on the grid; their sums by label."""
        channel = exp(floor - self.log)
        if times is not None:
            channel *= times
        if self.real is not None:
            channel *= self.real
        self.channel = channel
        self.totals = np.empty(len(self.starts) - 1, dtype=np.int64)
        kernels.quantise(channel, self.times, self.scale, self.starts, self.grid, self.totals)
        self.fresh = floor if times is None else None

    def _on_grid(self, numbers: Array) -> NDArray[np.int64]:
        grid = np.rint(numbers * self.scale).astype(np.int64)
        return grid * self.times if len(self.times) else grid

    def share_spans(self, nodes: list[int]) -> Array:
        """[node, (low, high)] of the shares of the target."""
        assert self.share is not None
        growth, found = self._growth(), np.tile([np.inf, -np.inf], (len(nodes), 1))
        for place, number in enumerate(nodes):
            node = growth.nodes[number]
            mine = self.share[growth.order[node.low : node.low + node.n_rows]]
            found[place] = mine.min(initial=np.inf), mine.max(initial=-np.inf)
        return found

    # ------------------------------------------------------------ one voter

    def leaf_of_rows(self, splits: Sequence[Split], leaves: list[int]) -> NDArray[np.int32]:
        """As for any shard; those of the last tree are stored, since its values and its predictions both need them."""
        tree = SplitArrays.of(splits)
        if self.last_leaves is None or self.last_leaves[1] != leaves or not self.last_leaves[0].same_as(tree):
            self.last_leaves = tree, leaves, super().leaf_of_rows(tree, leaves)
        return self.last_leaves[2]

    def leaf_targets(self, splits: Sequence[Split], leaves: list[int]) -> LeafTargets:
        """Of every leaf, the targets in order and their weights."""
        leaf = self.leaf_of_rows(splits, leaves)
        order = np.argsort(leaf.astype(np.uint16) if len(leaves) <= 2**16 else leaf, kind="stable")
        return LeafTargets(self.y[order], self.grid[order], np.bincount(leaf, minlength=len(leaves)))

    def leaf_mass(self, splits: Sequence[Split], leaves: list[int], points: list[Array]) -> list[NDArray[np.int64]]:
        """Of every leaf, [weight or distinct targets, point] up to each of its points."""
        return [held.mass(mine) for held, mine in zip(self._held(splits, leaves), points, strict=True)]

    def leaf_between(self, splits: Sequence[Split], leaves: list[int], ranges: list[Array]) -> list[Fetched]:
        """Of every leaf, what lies in its ranges."""
        return [held.between(mine) for held, mine in zip(self._held(splits, leaves), ranges, strict=True)]

    def _held(self, splits: Sequence[Split], leaves: list[int]) -> list[Held]:
        """Distinct targets of the leaves; kept for the next question about the same tree."""
        tree = SplitArrays.of(splits)
        if self.leaf_cache is None or not self.leaf_cache[0].same_as(tree):
            self.leaf_cache = tree, [Held.of(*leaf) for leaf in self.leaf_targets(tree, leaves).leaves()]
        return self.leaf_cache[1]

    def leaf_near(self, splits: Sequence[Split], leaves: list[int], values: Array, eps: float) -> NDArray[np.int64]:
        """[leaf, (weight within eps of its value, all weight)]."""
        found = self.leaf_targets(splits, leaves)
        near = np.abs(found.targets - np.repeat(values, found.n_rows)) <= eps
        return np.stack([found.total(np.where(near, found.weights, 0)), found.total(found.weights)], axis=1)

    def collect(self, nodes: list[int], count_rows: bool) -> NodeRows:
        mine, rows = self._collect(nodes, count_rows)
        return rows if self.share is None else rows._replace(second=self.grids[1][mine], share=self.share[mine])

    # ------------------------------------------------------------ finite sets of voters

    def value_ends(self, rewarding: Rewarding, values: Array) -> tuple[float, float]:
        """Return the lowest and the highest award of voters that say one of these values everywhere."""
        awards = [rewarding(np.full(len(self.y), value), self.y) for value in values.tolist()]
        return (
            min(float(award.min(initial=np.inf)) for award in awards),
            max(float(award.max(initial=-np.inf)) for award in awards),
        )

    def value_sums(self, rewarding: Rewarding, values: Array, most: float) -> ValueSums:
        """Return [value, column, bin] and [value] of weight x award, in units of `most`, as `weigh` set the weights."""
        parts, totals = [], np.empty(len(values), dtype=np.int64)
        for k, value in enumerate(values.tolist()):
            award = rewarding(np.full(len(self.y), value), self.y)
            grid = self._on_grid(self.channel * (award / most))
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
        kernels.correlate_reals(self.column_awards, self.channel * (self.scale / most), times, sums)
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
        """Set the prediction of a voter for every row, and its confidence."""
        if voter.predictions is not None:
            self.predicted, self.confidence = abstaining(voter.predictions[self.order])
        else:
            self._predict_by_leaf(voter)
        if self.kappas is not None:
            self.confidence = self.confidence * self.kappas[voter.kappa]

    def farthest(self) -> float:
        """The largest distance of a prediction from its target."""
        return float(np.abs(self.predicted - self.y).max(initial=0.0))

    def _predict_by_leaf(self, voter: AppliedVoter) -> None:
        leaf, (value, share) = self.leaf_of_rows(voter.splits, voter.leaves), voter.outputs.T
        self.predicted = value[leaf]
        self.confidence = 1.0 if np.all(share == 1) else share[leaf]
        self.growth = None

    def reward(self, rewarding: Rewarding, unit: bool) -> tuple[float, float]:
        """Awards of the applied voter; the lowest and the highest. unit: they are -1 or 1."""
        self.award = rewarding(self.predicted, self.y)
        if not isinstance(self.confidence, float):
            self.award = self.award * self.confidence
        self.unit = unit and self.kappas is None  # the confidence of a leaf is 0 or 1
        return float(self.award.min(initial=np.inf)), float(self.award.max(initial=-np.inf))

    def moments(self, alpha: float, floor: float, most: float) -> Moments:
        """Of the awards, under the weights after a step of alpha."""
        if alpha == 0 and self.unit and most == 1 and self.fresh == floor:  # what is on the grid already
            right, wrong = kernels.sum_signs(self.grid, self.award)
            return Moments(int(self.totals.sum()), int(right - wrong), int(right + wrong), most)
        weight = exp(floor - self.log - alpha * self.award)
        if self.real is not None:
            weight *= self.real
        award = self.award / most
        first = weight * award
        total, mean, square = (int(self._on_grid(numbers).sum()) for numbers in (weight, first, first * award))
        return Moments(total, mean, square, most)

    def below(self, limit: float) -> int:
        """How much counts whose state is at most the limit."""
        under = self.log <= limit
        return int(self.counts[under].sum()) if len(self.counts) else int(np.count_nonzero(under))

    def total(self, floor: float) -> int:
        if self.fresh != floor:
            self._put(floor)
        return int(self.totals.sum())

    def step(self, alpha: float) -> None:
        self.log += alpha * self.award
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
