"""Shards of rows to stop by: they hear every voter and say how far the vote is from their targets.

The voters so far are kept sorted by what they say of each row, so that a round costs a pass over the rows.
"""

import numpy as np

from electorate.engines.running_median import Stage
from electorate.engines.targets import Array, TargetShard
from electorate.messages import Heard, Moments

VOTERS = 64  # that there is room for at first


class ListeningShard(TargetShard):
    """fallback: what is predicted where nobody is sure of anything. lower: of two medians the lower one."""

    fallback = 0.0
    lower = False

    def begin(self, fallback: float, lower: bool) -> None:
        """Listen from the first voter on."""
        self.forget()
        self.fallback = fallback
        self.lower = lower
        self.stage = Stage(len(self.y), VOTERS)
        self.missed: Array = np.zeros(len(self.y))

    def listen(self, heard: Heard, units: int, decides: bool) -> float:
        """One more voter; the largest distance of the vote from a target."""
        self.hear(heard)
        sure = None if isinstance(self.sure, float) else self.sure
        self.stage.add(self.said.copy(), units, sure, decides)
        found = self.stage.lower_medians() if self.lower else self.stage.quantiles(0.0, True)
        self.missed = np.abs(np.where(np.isfinite(found), found, self.fallback) - self.y)
        return float(self.missed.max(initial=0.0))

    def misses(self, farthest: float) -> Moments:
        """The sums of the weights and of weight x distance, in units of the farthest."""
        weight = np.ones(len(self.y)) if self.real is None else self.real
        first = self._on_grid(weight * (self.missed / farthest))
        return Moments(int(self._on_grid(weight).sum()), int(first.sum()), 0, farthest)
