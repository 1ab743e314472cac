"""Shards of validation rows: they add every voter and return how far the vote is from their targets.

The voters so far are sorted by their predictions for each row, so that a round costs a pass over the rows.
"""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from electorate.data.bins import Bins
from electorate.engines.running_median import Stage
from electorate.engines.shard import Examples
from electorate.engines.target_shard import Array, SummedTargets, Targets, TargetShard
from electorate.engines.targets import LocalTargets
from electorate.exact import Floats
from electorate.messages import AppliedVoter, Moments, Split, Sums
from electorate.threads import ThreadPool

VOTERS = 64  # that the buffers hold at first


class ValidationShard(TargetShard):
    """fallback: the prediction where no voter has any confidence. lower: of two medians the lower one."""

    fallback = 0.0
    lower = False

    def begin(self, fallback: float, lower: bool) -> None:
        """Start without voters."""
        self.forget()
        self.fallback = fallback
        self.lower = lower
        self.stage = Stage(len(self.y), VOTERS)
        self.errors: Array = np.zeros(len(self.y))

    def add_voter(self, voter: AppliedVoter, units: int, decides: bool) -> float:
        """One more voter; the largest distance of the vote from a target."""
        self.apply_voter(voter)
        predicted, confidence = self.outputs_of(0, len(self.y))
        self.stage.add(predicted, units, None if isinstance(confidence, float) else confidence, decides)
        found = self.stage.lower_medians() if self.lower else self.stage.quantiles(0.0, True)
        self.errors = np.abs(np.where(np.isfinite(found), found, self.fallback) - self.y)
        return float(self.errors.max(initial=0.0))

    def absolute_errors(self, farthest: float) -> Moments:
        """The sums of the weights and of weight x distance, in units of the farthest."""
        weight = np.ones(len(self.y)) if self.real is None else self.real
        first = self._on_grid(weight * (self.errors / farthest), 0, len(weight))
        return Moments(int(self._on_grid(weight, 0, len(weight)).sum()), int(first.sum()), 0, farthest)


# ---------------------------------------------------------------- residuals


class Residuals(LocalTargets):
    """The rows of this process that count. Vectors over them go shard by shard."""

    def __init__(self, examples: Examples, target: Floats, bins: Bins, pool: ThreadPool, n_shards: int) -> None:
        super().__init__(Targets(examples, target), bins, pool, n_shards)

    @property
    def target(self) -> Floats:
        return np.concatenate([shard.y for shard in self.shards])

    def sums(self, residual: Floats, low: float, high: float) -> Sums:
        """Return the sums of weights, and of residuals as shares of the way from low to high."""
        ends = np.cumsum([0, *(len(shard.y) for shard in self.shards)]).tolist()
        for shard, (first, last) in zip(self.shards, pairwise(ends), strict=True):
            shard.summed_targets = SummedTargets(residual[first:last], low, high)
        found: Sums = self.call("weigh", 0.0, 0, True)
        return found

    def leaf_of_rows(self, splits: Sequence[Split], leaves: list[int]) -> NDArray[np.int32]:
        """The leaf, by its place in `leaves`, of every row."""
        return np.concatenate(self.pool.map(lambda shard: shard.leaf_of_rows(splits, leaves), self.shards))
