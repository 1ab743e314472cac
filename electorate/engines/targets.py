"""The engine over examples whose label is a number, in this process or on a cluster.

A verb is a method of `TargetShard`. Sums are integers on the grid, maxima and minima are exact: nothing depends on the
number of shards.
"""

from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from electorate import kernels
from electorate.data.bins import Bins
from electorate.engines.densest_interval import hunt, medians, together
from electorate.engines.target_shard import (
    Array,
    LeafTargets,
    Rewarding,
    Targets,
    TargetShard,
    ValueSums,
    build_targets,
)
from electorate.engines.verbs import GROWING, Grower, LocalShards, Merge, nothing, total
from electorate.exact import exp, log
from electorate.messages import AppliedVoter, Moments, Split, Sums
from electorate.threads import ThreadPool

# ---------------------------------------------------------------- how the answers of shards become one


def ends(parts: list[tuple[float, float]]) -> tuple[float, float]:
    """The lowest and the highest."""
    lows, highs = zip(*parts, strict=True)
    return min(lows), max(highs)


def lowest(parts: list[tuple[float, float]]) -> tuple[float, float]:
    """Return the minimum of each of the two numbers of the shards."""
    one, other = zip(*parts, strict=True)
    return min(one), min(other)


def spans(parts: list[Array]) -> Array:
    """[node, (low, high)]."""
    every = np.stack(parts)
    return np.stack([every[:, :, 0].min(axis=0), every[:, :, 1].max(axis=0)], axis=1)


def merged_leaves(parts: list[LeafTargets]) -> LeafTargets:
    """The rows of all shards, leaf by leaf, sorted by target."""
    if len(parts) == 1:
        return parts[0]
    targets, weights = (np.concatenate([part[k] for part in parts]) for k in range(2))
    leaf = np.concatenate([np.repeat(np.arange(len(part.n_rows)), part.n_rows) for part in parts])
    order = np.lexsort((targets, leaf))
    return LeafTargets(targets[order], weights[order], total([part.n_rows for part in parts]))


TARGET_VERBS: dict[str, Merge] = {
    **GROWING,
    "forget": nothing,
    "begin": nothing,
    "want_targets": nothing,
    "count": total,
    "mass": total,
    "lightest": lowest,
    "weigh": total,
    "share_spans": spans,
    "leaf_rows": total,
    "leaf_targets": merged_leaves,
    "leaf_mass": lambda parts: [total(list(each)) for each in zip(*parts, strict=True)],
    "leaf_between": lambda parts: [together(list(each)) for each in zip(*parts, strict=True)],
    "leaf_near": total,
    "value_ends": ends,
    "value_sums": total,
    "column_ends": ends,
    "column_sums": total,
    "span": ends,
    "apply_voter": nothing,
    "farthest": max,
    "reward": ends,
    "moments": total,
    "below": total,
    "total": total,
    "step": nothing,
    "add_voter": max,
    "absolute_errors": total,
}


class TargetEngine(Grower):
    """Examples with targets in shards, wherever those live: every method is at most a few exchanges with all of them.

    n_kappas: candidates for the confidence of a voter. least: the lowest number of the state; floor: of the grid.
    """

    verbs: ClassVar[dict[str, Merge]] = TARGET_VERBS
    n_kappas = 1
    least = floor = 0.0
    _range: tuple[float, float] | None = None

    def start(self) -> None:
        """Forget all voters."""
        self.mass = int(self.call("mass"))
        self.call("forget")
        self._settle()

    def want_targets(self, low: float, high: float) -> None:
        """Sum the target too from now on, as a share of the way from low to high."""
        self.call("want_targets", low, high)

    def counts(self) -> NDArray[np.int64]:
        """[column, bin] of the sample weights."""
        return np.asarray(self.call("count").sum(axis=0))

    def _settle(self) -> None:
        """Set the grid of this round: the largest weight is 1."""
        self.least, self.floor = self.call("lightest")

    def weigh(self, kappa: int, search: bool = True) -> Sums:
        """Sums of the weights times a candidate's confidence."""
        found: Sums = self.call("weigh", self.floor, kappa, search)
        return found

    def share_spans(self, nodes: list[int]) -> Array:
        """[node, (low, high)] of the targets, as shares."""
        return np.asarray(self.call("share_spans", nodes))

    # ------------------------------------------------------------ leaves of a tree

    def leaf_rows(self, splits: Sequence[Split], leaves: list[int]) -> NDArray[np.int64]:
        """[leaf]: how many rows, of whatever weight."""
        return np.asarray(self.call("leaf_rows", splits, leaves).sum(axis=1))

    def leaf_targets(self, splits: Sequence[Split], leaves: list[int]) -> LeafTargets:
        """Return the targets of every leaf in order and their weights."""
        found: LeafTargets = self.call("leaf_targets", splits, leaves)
        return found

    def leaf_windows(self, splits: Sequence[Split], leaves: list[int], eps: float) -> Array:
        """[leaf, (first, last)]: the ends of the window of targets with the most weight; NaN for a leaf without rows.

        Few rows travel.
        """
        found = hunt(len(leaves), eps, *self._span(), *self._leaf_calls(splits, leaves))
        return np.array([(np.nan, np.nan) if ends is None else ends for ends in found])

    def leaf_medians(self, splits: Sequence[Split], leaves: list[int]) -> list[float | None]:
        """Return for every leaf the weighted median of its targets, of two the lower; few rows travel."""
        return medians(len(leaves), *self._span(), *self._leaf_calls(splits, leaves))

    def _span(self) -> tuple[float, float]:
        """The lowest and the highest target."""
        if self._range is None:
            self._range = self.call("span")
        return self._range

    def _leaf_calls(self, splits: Sequence[Split], leaves: list[int]) -> tuple[Any, Any]:
        return tuple(partial(self.call, verb, splits, leaves) for verb in ("leaf_mass", "leaf_between"))  # type: ignore[return-value]

    def leaf_near(self, splits: Sequence[Split], leaves: list[int], values: Array, eps: float) -> NDArray[np.int64]:
        """[leaf, (weight within eps of its value, all weight)]."""
        return np.asarray(self.call("leaf_near", splits, leaves, values, eps))

    # ------------------------------------------------------------ finite sets of voters

    def value_ends(self, rewarding: Rewarding, values: Array) -> tuple[float, float]:
        """The lowest and the highest award of voters that predict one of these values everywhere."""
        found: tuple[float, float] = self.call("value_ends", rewarding, values)
        return found

    def value_sums(self, rewarding: Rewarding, values: Array, most: float) -> ValueSums:
        """[value, column, bin] and [value] of weight x award, in units of `most`."""
        found: ValueSums = self.call("value_sums", rewarding, values, most)
        return found

    def column_ends(self, rewarding: Rewarding) -> tuple[float, float]:
        """The lowest and the highest award of any column of predictions."""
        found: tuple[float, float] = self.call("column_ends", rewarding)
        return found

    def column_sums(self, most: float) -> NDArray[np.int64]:
        """[column] of weight x award, in units of `most`."""
        return np.asarray(self.call("column_sums", most))

    # ------------------------------------------------------------ one voter

    def apply(self, voter: AppliedVoter) -> None:
        """Set the predictions and the confidence of a voter on every row."""
        self.call("apply_voter", voter)

    def farthest(self) -> float:
        """The largest distance of a prediction of the applied voter from its target."""
        return float(self.call("farthest"))

    def reward(self, rewarding: Rewarding, unit: bool = False) -> tuple[float, float]:
        """The lowest and the highest award of the applied voter. unit: awards are -1 or 1."""
        found: tuple[float, float] = self.call("reward", rewarding, unit)
        return found

    def moments(self, alpha: float, most: float) -> Moments:
        """Return the moments of the awards, under the weights after a step of alpha."""
        floor = self.floor if alpha == 0 else self.call("lightest", alpha)[1]
        found: Moments = self.call("moments", alpha, floor, most)
        return found

    def log_total(self) -> float:
        """The logarithm of the sum of the weights, up to a constant that is the same for all rounds."""
        return log(float(self.call("total", self.floor))) - self.floor

    def below(self, limit: float) -> int:
        """How much counts whose state is at most the limit."""
        return int(self.call("below", limit))

    def advance(self, alpha: float) -> None:
        """Take a step along the applied voter, and settle the grid."""
        self.call("step", alpha)
        self._settle()


class LocalTargets(LocalShards, TargetEngine):
    """Shards in this process, where large histograms need not travel. kind: of shard."""

    verbs: ClassVar[dict[str, Merge]] = TARGET_VERBS

    def __init__(
        self,
        targets: Targets,
        bins: Bins | None,
        pool: ThreadPool,
        n_shards: int,
        kind: type[TargetShard] = TargetShard,
    ) -> None:
        self.n_rows = len(targets.y)
        cuts = [self.n_rows * k // n_shards for k in range(n_shards + 1)]
        self.pool = pool
        self.n_kappas = 1 if targets.kappas is None else len(targets.kappas)
        self.shards = pool.map(lambda part: build_targets(targets, bins, part, kind), pairwise(cuts))
        self.share_answers()

    def weights(self, kappa: int) -> Array:
        """Return the weights of all rows as they were given, summing to 1; rows that are left out have none."""
        weights = np.zeros(self.n_rows)
        for shard in self.shards:
            mine = exp(self.floor - shard.log) * shard.weights.shares
            weights[shard.order] = mine if shard.kappas is None else mine * shard.kappas[kappa]
        total = weights.sum()
        return weights / total if total > 0 else weights

    def leaf_windows(self, splits: Sequence[Split], leaves: list[int], eps: float) -> Array:
        found = self.leaf_targets(splits, leaves)
        ends = np.full((len(leaves), 2), np.nan)
        kernels.best_windows(found.targets, found.weights, found.ends, eps, ends)
        return ends

    def leaf_medians(self, splits: Sequence[Split], leaves: list[int]) -> list[float | None]:
        found = self.leaf_targets(splits, leaves)
        medians = np.empty(len(leaves))
        kernels.leaf_medians(found.targets, found.weights, found.ends, medians)
        return [median if n else None for n, median in zip(found.n_rows.tolist(), medians.tolist(), strict=True)]


class RemoteTargets(TargetEngine):
    """The shards of one name on all workers of a cluster."""

    def __init__(self, cluster: Any, name: str, n_kappas: int) -> None:
        self.cluster = cluster
        self.name = name
        self.n_kappas = n_kappas

    def call(self, verb: str, *arguments: Any) -> Any:
        return self.cluster.call(self.name, verb, arguments, TARGET_VERBS)
