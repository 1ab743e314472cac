"""Shards of examples whose label is a number, and the engine over them in this process.

Rows are sorted by target, so they are sorted by bin of the target too, and so are the rows of every leaf. Sums are
integers on the grid, maxima and minima are exact: nothing depends on the number of shards.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial, reduce
from itertools import pairwise
from operator import add
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from electorate import kernels
from electorate.data.bins import Bins
from electorate.data.weights import Weights
from electorate.engines.densest_interval import Fetched, Held, Window, hunt, medians, together
from electorate.engines.shard import CELLS_PER_HISTOGRAM, NOTHING, Examples, Growth, Node, Shard, encode_rows
from electorate.engines.verbs import LocalShards, Merge
from electorate.messages import ROOT, Heard, Moments, Split, Sums
from electorate.threads import ThreadPool

Array = NDArray[np.float64]
Sides = tuple[NDArray[np.int64], NDArray[np.int64]]  # histograms of the left and the right child
MOST_ROOMS = 32  # histograms kept to be used again
MOST_ROOM_BYTES = 2**29
Rewarding = Callable[[Array, Array], Array]  # awards, from what is said and the targets
Leaf = tuple[Array, NDArray[np.int64]]  # sorted targets, and their weights on the grid


@dataclass(frozen=True)
class Targets:
    """Rows with targets. kappas: the candidates for a voter's confidence, [candidate, row], or None: always 1."""

    examples: Examples  # labels: bins of the target
    y: Array
    kappas: Array | None = None
    said: Array | None = None  # [row, voter] of a finite set of predictions, NaN where one abstains


@dataclass(frozen=True)
class ValueSums:
    """Sums over examples of weight x award, for each of some values."""

    histogram: NDArray[np.int64]  # [value, column, bin]
    totals: NDArray[np.int64]  # [value]

    def __add__(self, other: "ValueSums") -> "ValueSums":
        return ValueSums(self.histogram + other.histogram, self.totals + other.totals)


def abstaining(said: Array) -> tuple[Array, Array | float]:
    """Return what is said and how sure it is: a missing prediction abstains."""
    missing = np.isnan(said)
    if not missing.any():
        return said, 1.0
    return np.where(missing, 0.0, said), (~missing).astype(np.float64)


class TargetShard(Shard):
    """state: minus the logarithm of an example's weight. award: what the voter that is judged earned on it."""

    def __init__(self, codes: NDArray[Any], starts: NDArray[np.int64], weights: Weights, width: int, y: Array) -> None:
        self.rooms: list[NDArray[np.int64]] = []  # of the histograms of this round
        self.spare_rooms: list[NDArray[np.int64]] = []
        super().__init__(codes, starts, weights, width)
        self.y = y
        self.order = np.empty(0, dtype=np.int64)  # which rows these are
        self.kappas: Array | None = None
        self.predictions: Array | None = None  # [voter, row] of a finite set, NaN where one abstains
        self.earned = np.empty((0, 0))  # what they earn
        self.share: Array | None = None  # y from 0 to 1, where sums of the target are wanted too
        self.tally = np.empty(0, dtype=np.int64)
        self.log_real = None if weights.real is None else np.log(weights.real)
        self.forget()

    def forget(self) -> None:
        """Forget all voters."""
        n = len(self.y)
        self.growth = None
        self.log = np.zeros(n)
        self.said = np.zeros(n)
        self.sure: Array | float = 1.0
        self.award = np.zeros(n)
        self.unit = False  # whether awards are -1, 0 or 1
        self.told: tuple[Growth, list[Held]] | None = None
        self.fresh: float | None = None  # the floor for which the grid holds the weights

    def want_targets(self, low: float, high: float) -> None:
        """From now on sums of the target too, as shares of the way from low to high."""
        self.share = np.clip((self.y - low) / (high - low), 0.0, 1.0) if high > low else np.zeros(len(self.y))

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
            self.tally = self._on_grid(self.channel * self.share)
            totals = np.array([totals.sum(), self.tally.sum()])
        self.growth = self.told = None
        self.spare_rooms, self.rooms = self.spare_rooms + self.rooms, []
        self.root_histogram = self.histogram(self.grid) if search else None
        return Sums(NOTHING if self.root_histogram is None else self.root_histogram, totals, 0)

    def _put(self, floor: float, times: Array | None = None) -> None:
        """Weights, times a confidence, on the grid; their sums by label."""
        channel = np.subtract(floor, self.log)
        np.exp(channel, out=channel)
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

    def histogram(self, grid: NDArray[np.int64]) -> NDArray[np.int64]:
        """[label, column, bin]; where sums of the target are wanted, [weight or target, column, bin]."""
        if len(grid) * self.n_columns <= CELLS_PER_HISTOGRAM and self.codes.shape[2] == 4:
            sums = self._room()
            kernels.histograms8(self.packed, grid, self.starts, sums)
        else:
            sums = super().histogram(grid)
        if self.share is None or grid is not self.grid:
            return sums
        return np.concatenate([sums, super().histogram(self.tally)])

    def _histogram_of(self, growth: Any, node: Any, grid: NDArray[np.int64]) -> NDArray[np.int64]:
        if self.codes.shape[2] == 4:
            sums = self._room()
            kernels.histograms8_of(self.packed, grid, growth.order, node.low, node.starts, sums, NOTHING)
        else:
            sums = super()._histogram_of(growth, node, grid)
        if self.share is None or grid is not self.grid:
            return sums
        return np.concatenate([sums, super()._histogram_of(growth, node, self.tally)])

    def share_spans(self, nodes: list[int]) -> Array:
        """[node, (low, high)] of the shares of the target."""
        assert self.share is not None
        growth, found = self._growth(), np.tile([np.inf, -np.inf], (len(nodes), 1))
        for place, number in enumerate(nodes):
            node = growth.nodes[number]
            mine = self.share[growth.order[node.low : node.low + node.n_rows]]
            found[place] = mine.min(initial=np.inf), mine.max(initial=-np.inf)
        return found

    def both_sides(self, splits: list[Split]) -> list[Sides]:
        """Part the rows of some nodes; the histograms of both children. Those of the nodes are overwritten."""
        growth = self._growth()
        return [self._both_sides(growth, split) for split in splits]

    def _both_sides(self, growth: Growth, split: Split) -> Sides:
        whole = growth.nodes[split.node].histogram
        assert whole is not None
        if split.node == ROOT:
            self.root_histogram = None
        left, right = self._partition(growth, split)
        smaller = left if left.n_rows <= right.n_rows else right
        if self.codes.shape[2] == 4 and self.share is None:
            one, other, rows = self._room(), whole, (growth.order, smaller.low, smaller.starts)
            kernels.histograms8_of(self.packed, self.grid, *rows, one, whole)
        else:
            one = self._histogram_of(growth, smaller, self.grid)
            other = np.subtract(whole, one, out=whole)
        of_left, of_right = (one, other) if smaller is left else (other, one)
        growth.nodes[split.left] = Node(left.low, left.starts, of_left)
        growth.nodes[split.right] = Node(right.low, right.starts, of_right)
        return of_left, of_right

    def _empty_histogram(self) -> NDArray[np.int64]:
        room = self._room()
        room.fill(0)
        return room

    def _room(self) -> NDArray[np.int64]:
        """For a histogram, whatever it holds. That of an earlier round is used again: new memory is slow."""
        shape = (self.n_groups, self.n_columns, self.width)
        room = self.spare_rooms.pop() if self.spare_rooms else np.empty(shape, dtype=np.int64)
        if len(self.rooms) < MOST_ROOMS and (len(self.rooms) + 1) * room.nbytes <= MOST_ROOM_BYTES:
            self.rooms.append(room)
        return room

    # ------------------------------------------------------------ one voter

    def leaf_targets(self, splits: list[Split], leaves: list[int]) -> list[Leaf]:
        """Of every leaf, the targets in order and their weights."""
        growth = self._grown(splits)
        found = []
        for leaf in leaves:
            node = growth.nodes[leaf]
            end = node.low + node.n_rows
            targets, weights = np.empty(node.n_rows), np.empty(node.n_rows, dtype=np.int64)
            kernels.gather(self.y, growth.order, node.low, end, targets)
            kernels.gather(self.grid, growth.order, node.low, end, weights)
            found.append((targets, weights))
        return found

    def leaf_mass(self, splits: list[Split], leaves: list[int], points: list[Array]) -> list[NDArray[np.int64]]:
        """Of every leaf, [weight or distinct targets, point] up to each of its points."""
        return [held.mass(mine) for held, mine in zip(self._held(splits, leaves), points, strict=True)]

    def leaf_between(self, splits: list[Split], leaves: list[int], ranges: list[Array]) -> list[Fetched]:
        """Of every leaf, what lies in its ranges."""
        return [held.between(mine) for held, mine in zip(self._held(splits, leaves), ranges, strict=True)]

    def _held(self, splits: list[Split], leaves: list[int]) -> list[Held]:
        """Distinct targets of the leaves; kept for the next question about the same tree."""
        self._forget_other(splits)
        if self.told is None or self.told[0] is not self._growth():
            rows = self.leaf_targets(splits, leaves)
            self.told = self._growth(), [Held.of(*leaf) for leaf in rows]
        return self.told[1]

    def leaf_near(self, splits: list[Split], leaves: list[int], values: Array, eps: float) -> NDArray[np.int64]:
        """[leaf, (weight within eps of its value, all weight)]."""
        found = self.leaf_targets(splits, leaves)
        near = [weights[np.abs(y - value) <= eps].sum() for (y, weights), value in zip(found, values, strict=True)]
        return np.array([near, [weights.sum() for _, weights in found]], dtype=np.int64).T

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
            parts.append(np.array(Shard.histogram(self, grid)[0]))
        return ValueSums(np.stack(parts), totals)

    def column_ends(self, rewarding: Rewarding) -> tuple[float, float]:
        """Return the lowest and the highest award of any prediction."""
        assert self.predictions is not None
        self.earned = np.empty_like(self.predictions)
        for j, said in enumerate(self.predictions):
            self.earned[j] = self._award_of(rewarding, said)
        return float(self.earned.min(initial=np.inf)), float(self.earned.max(initial=-np.inf))

    def column_sums(self, most: float) -> NDArray[np.int64]:
        """Return [voter] of weight x award, in units of `most`; awards are those of the last `column_ends`."""
        sums = np.zeros(len(self.earned), dtype=np.int64)
        times = self.times if len(self.times) else np.ones(len(self.y), dtype=np.int64)
        kernels.correlate_reals(self.earned, self.channel * (self.scale / most), times, sums)
        return sums

    def _award_of(self, rewarding: Rewarding, said: Array) -> Array:
        """What a voter earns that says this; nothing where it abstains."""
        missing = np.isnan(said)
        if not missing.any():
            return rewarding(said, self.y)
        return np.where(missing, 0.0, rewarding(np.where(missing, self.y, said), self.y))

    def span(self) -> tuple[float, float]:
        """The lowest and the highest target."""
        return float(self.y.min(initial=np.inf)), float(self.y.max(initial=-np.inf))

    def hear(self, heard: Heard) -> None:
        """What a voter says of every row, and how sure it is."""
        if heard.said is not None:
            self.said, self.sure = abstaining(heard.said[self.order])
        else:
            self._part_and_say(heard)
        if self.kappas is not None:
            self.sure = self.sure * self.kappas[heard.kappa]

    def farthest(self) -> float:
        """The largest distance of what the voter says from a target."""
        return float(np.abs(self.said - self.y).max(initial=0.0))

    def _part_and_say(self, heard: Heard) -> None:
        growth = self._grown(heard.splits)
        doubts = bool(np.any(heard.outputs[:, 1] != 1))
        sure = np.ones(len(self.y)) if doubts else None
        for leaf, (value, confidence) in zip(heard.leaves, heard.outputs.tolist(), strict=True):
            node = growth.nodes[leaf]
            kernels.fill_rows(growth.order, node.low, node.low + node.n_rows, value, self.said)
            if sure is not None:
                kernels.fill_rows(growth.order, node.low, node.low + node.n_rows, confidence, sure)
        self.sure = 1.0 if sure is None else sure
        self.growth = None

    def reward(self, rewarding: Rewarding, unit: bool) -> tuple[float, float]:
        """Awards of the voter that was heard; the lowest and the highest. unit: they are -1 or 1."""
        self.award = rewarding(self.said, self.y)
        if not isinstance(self.sure, float):
            self.award = self.award * self.sure
        self.unit = unit and self.kappas is None  # leaves are sure or abstain
        return float(self.award.min(initial=np.inf)), float(self.award.max(initial=-np.inf))

    def moments(self, alpha: float, floor: float, most: float) -> Moments:
        """Of the awards, under the weights after a step of alpha."""
        if alpha == 0 and self.unit and most == 1 and self.fresh == floor:  # what is on the grid already
            right, wrong = kernels.sum_signs(self.grid, self.award)
            return Moments(int(self.totals.sum()), int(right - wrong), int(right + wrong), most)
        weight = np.exp(floor - self.log - alpha * self.award)
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

    def go(self, alpha: float) -> None:
        self.log += alpha * self.award
        self.fresh = None


# ---------------------------------------------------------------- how the answers of shards become one


def total(parts: list[Any]) -> Any:
    return reduce(add, parts)


def ends(parts: list[tuple[float, float]]) -> tuple[float, float]:
    """The lowest and the highest."""
    lows, highs = zip(*parts, strict=True)
    return min(lows), max(highs)


def lowest(parts: list[tuple[float, float]]) -> tuple[float, float]:
    """Of each."""
    one, other = zip(*parts, strict=True)
    return min(one), min(other)


def spans(parts: list[Array]) -> Array:
    """[node, (low, high)]."""
    every = np.stack(parts)
    return np.stack([every[:, :, 0].min(axis=0), every[:, :, 1].max(axis=0)], axis=1)


def sides(parts: list[list[Sides]]) -> list[Sides]:
    if len(parts) == 1:
        return parts[0]
    return [
        (total([left for left, _ in each]), total([right for _, right in each])) for each in zip(*parts, strict=True)
    ]


def leaves(parts: list[list[Leaf]]) -> list[Leaf]:
    return [merge(list(each)) for each in zip(*parts, strict=True)]


def each_total(parts: list[list[Any]]) -> list[Any]:
    return [total(list(each)) for each in zip(*parts, strict=True)]


def each_together(parts: list[list[Fetched]]) -> list[Fetched]:
    return [together(list(each)) for each in zip(*parts, strict=True)]


def nothing(parts: list[None]) -> None:
    return None


MERGES: dict[str, Callable[[list[Any]], Any]] = {
    "forget": nothing,
    "begin": nothing,
    "want_targets": nothing,
    "count": total,
    "mass": total,
    "lightest": lowest,
    "weigh": total,
    "split": total,
    "both_sides": sides,
    "look": total,
    "share_spans": spans,
    "count_rows": total,
    "leaf_targets": leaves,
    "leaf_mass": each_total,
    "leaf_between": each_together,
    "leaf_near": total,
    "value_ends": ends,
    "value_sums": total,
    "column_ends": ends,
    "column_sums": total,
    "span": ends,
    "hear": nothing,
    "farthest": max,
    "reward": ends,
    "moments": total,
    "below": total,
    "total": total,
    "go": nothing,
    "listen": max,
    "misses": total,
}


class TargetThreads(LocalShards):
    """The shards that live in one place, one task per shard and exchange. kind: of shard."""

    verbs: ClassVar[dict[str, Merge]] = MERGES

    def __init__(
        self,
        targets: Targets,
        bins: Bins | None,
        pool: ThreadPool,
        n_shards: int,
        kind: type[TargetShard] = TargetShard,
    ) -> None:
        n = len(targets.y)
        cuts = [n * k // n_shards for k in range(n_shards + 1)]
        self.pool = pool
        self.n_rows = n
        self.shards = pool.map(lambda part: build_targets(targets, bins, part, kind), pairwise(cuts))

    def ask(self, name: str, *arguments: Any) -> Any:
        return self.call(name, *arguments)

    def weights(self, floor: float, kappa: int) -> Array:
        """Of all rows as they were given, summing to 1; rows that are left out have none."""
        weights = np.zeros(self.n_rows)
        for shard in self.shards:
            mine = np.exp(floor - shard.log) * shard.weights.shares
            weights[shard.order] = mine if shard.kappas is None else mine * shard.kappas[kappa]
        total = weights.sum()
        return weights / total if total > 0 else weights


@dataclass(frozen=True)
class TargetsElsewhere:
    """The shards of one name in all rooms of a cluster: answers are merged as those of the shards of one room."""

    cluster: Any
    name: str

    def ask(self, name: str, *arguments: Any) -> Any:
        return self.cluster.call(self.name, name, arguments, MERGES)


class TargetEngine:
    """What the loop asks of shards, wherever they live. place: answers `ask` for all of them."""

    def __init__(self, place: Any, n_kappas: int) -> None:
        self.place = place
        self.n_kappas = n_kappas
        self.mass = int(place.ask("mass"))
        self.span: tuple[float, float] | None = None
        self.least = self.floor = 0.0

    def start(self) -> None:
        """Forget all voters."""
        self.place.ask("forget")
        self.settle()

    def want_targets(self, low: float, high: float) -> None:
        """From now on sums of the target too, as shares of the way from low to high."""
        self.place.ask("want_targets", low, high)

    def counts(self) -> NDArray[np.int64]:
        """[column, bin] of the sample weights."""
        return np.asarray(self.place.ask("count").sum(axis=0))

    def settle(self) -> None:
        """The lowest number of the state, and the grid of this round: the largest weight is 1."""
        self.least, self.floor = self.place.ask("lightest")

    def weigh(self, kappa: int, search: bool = True) -> Sums:
        found: Sums = self.place.ask("weigh", self.floor, kappa, search)
        return found

    def weights(self, kappa: int) -> Array:
        """Of all rows of this process, summing to 1."""
        return np.asarray(self.place.weights(self.floor, kappa))

    def split(self, splits: list[Split]) -> NDArray[np.int64]:
        """Histograms [question, label, column, bin] of the left children."""
        return np.asarray(self.place.ask("split", splits))

    def look(self, splits: list[Split], of_rows: bool = False) -> NDArray[np.int64]:
        """Histograms [question, label, column, bin] of the left sides; no rows move."""
        return np.asarray(self.place.ask("look", splits, of_rows))

    def share_spans(self, nodes: list[int]) -> Array:
        """[node, (low, high)] of the targets, as shares."""
        return np.asarray(self.place.ask("share_spans", nodes))

    def count_rows(self, nodes: list[int]) -> NDArray[np.int64]:
        return np.asarray(self.place.ask("count_rows", nodes))

    def leaf_targets(self, splits: list[Split], leaves: list[int]) -> list[Leaf]:
        found: list[Leaf] = self.place.ask("leaf_targets", splits, leaves)
        return found

    def leaf_windows(self, splits: list[Split], leaves: list[int], eps: float) -> list[Window | None]:
        """Of every leaf the first and the last target of the window with the most weight; few rows travel."""
        return hunt(len(leaves), eps, *self._span(), *self._asking(splits, leaves))

    def leaf_medians(self, splits: list[Split], leaves: list[int]) -> list[float | None]:
        """Of every leaf the weighted median of its targets, of two the lower; few rows travel."""
        return medians(len(leaves), *self._span(), *self._asking(splits, leaves))

    def _span(self) -> tuple[float, float]:
        if self.span is None:
            low, high = self.place.ask("span")
            self.span = float(low), float(high)
        return self.span

    def _asking(self, splits: list[Split], leaves: list[int]) -> tuple[Any, Any]:
        """How windows.py asks about the leaves of a tree."""
        ask = partial(self.place.ask, "leaf_mass", splits, leaves)
        return ask, partial(self.place.ask, "leaf_between", splits, leaves)

    def leaf_near(self, splits: list[Split], leaves: list[int], values: Array, eps: float) -> NDArray[np.int64]:
        return np.asarray(self.place.ask("leaf_near", splits, leaves, values, eps))

    def value_ends(self, rewarding: Rewarding, values: Array) -> tuple[float, float]:
        low, high = self.place.ask("value_ends", rewarding, values)
        return float(low), float(high)

    def value_sums(self, rewarding: Rewarding, values: Array, most: float) -> ValueSums:
        found: ValueSums = self.place.ask("value_sums", rewarding, values, most)
        return found

    def column_ends(self, rewarding: Rewarding) -> tuple[float, float]:
        low, high = self.place.ask("column_ends", rewarding)
        return float(low), float(high)

    def column_sums(self, most: float) -> NDArray[np.int64]:
        return np.asarray(self.place.ask("column_sums", most))

    def hear(self, heard: Heard) -> None:
        self.place.ask("hear", heard)

    def farthest(self) -> float:
        return float(self.place.ask("farthest"))

    def reward(self, rewarding: Rewarding, unit: bool = False) -> tuple[float, float]:
        low, high = self.place.ask("reward", rewarding, unit)
        return float(low), float(high)

    def moments(self, alpha: float, most: float) -> Moments:
        floor = self.floor if alpha == 0 else self.place.ask("lightest", alpha)[1]
        found: Moments = self.place.ask("moments", alpha, floor, most)
        return found

    def log_total(self) -> float:
        """The logarithm of the sum of the weights, up to a constant that is the same for all rounds."""
        return float(np.log(float(self.place.ask("total", self.floor)))) - self.floor

    def below(self, limit: float) -> int:
        return int(self.place.ask("below", limit))

    def advance(self, alpha: float) -> None:
        """Take the step, and settle the grid."""
        self.place.ask("go", alpha)
        self.settle()


class TargetEngineHere(TargetEngine):
    """Of shards in this process, where large histograms need not travel."""

    def both_sides(self, splits: list[Split]) -> list[Sides]:
        """Histograms [label, column, bin] of both children of each question; those of the nodes are overwritten."""
        found: list[Sides] = self.place.ask("both_sides", splits)
        return found

    def leaf_windows(self, splits: list[Split], leaves: list[int], eps: float) -> list[Window | None]:
        windows: list[Window | None] = []
        for targets, weights in self.leaf_targets(splits, leaves):
            first, last = kernels.best_window(targets, weights, eps)
            windows.append((float(targets[first]), float(targets[last])) if len(targets) else None)
        return windows

    def leaf_medians(self, splits: list[Split], leaves: list[int]) -> list[float | None]:
        found: list[float | None] = []
        for targets, weights in self.leaf_targets(splits, leaves):
            so_far = np.cumsum(weights)
            found.append(float(targets[np.searchsorted(so_far, so_far[-1] / 2)]) if len(targets) else None)
        return found


def merge(parts: list[Leaf]) -> Leaf:
    """Sorted runs as one; a stable sort of runs is a merge."""
    if len(parts) == 1:
        return parts[0]
    y = np.concatenate([part[0] for part in parts])
    order = np.argsort(y, kind="stable")
    return y[order], np.concatenate([part[1] for part in parts])[order]


def build_targets(
    targets: Targets, bins: Bins | None, part: tuple[int, int], kind: type[TargetShard] = TargetShard
) -> TargetShard:
    """The shard of the rows of one part, sorted by target; without bins, for voters that are fitted elsewhere."""
    low, high = part
    examples, weights = targets.examples, targets.examples.weights
    kept = low + np.flatnonzero(weights.times[low:high])
    order = kept[np.argsort(targets.y[kept], kind="stable")]
    counts = np.bincount(examples.labels[order], minlength=examples.n_labels)
    starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    real = weights.real[order] if weights.real is not None else None
    mine = replace(weights, times=weights.times[order], real=real)
    if bins is None:
        codes, width = np.zeros((1, len(order), 1), dtype=np.uint16), 1
    else:
        codes, width = encode_rows(examples, bins, low, high, order), bins.width
    shard = kind(codes, starts, mine, width, targets.y[order])
    shard.order = order
    if targets.kappas is not None:
        shard.kappas = np.ascontiguousarray(targets.kappas[:, order])
    if targets.said is not None:
        shard.predictions = np.ascontiguousarray(targets.said[order].T)
    return shard
