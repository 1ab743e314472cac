"""Shards of validation rows: they add every voter and return how far the vote is from their targets.

The voters so far are sorted by their predictions for each row, so that a round costs a pass over the rows.
"""

import numpy as np

from electorate.engines.running_median import Stage
from electorate.engines.target_shard import Array, TargetShard
from electorate.messages import AppliedVoter, Moments

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
