"""Shards of rows whose targets change from round to round: the residuals, for trees grown by least squares.

Sums are of the weights and of the residuals, both on the grid: nothing depends on the number of shards.
"""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from electorate.data.bins import Bins
from electorate.engines.shard import Examples
from electorate.engines.target_shard import SummedTargets, Targets
from electorate.engines.targets import LocalTargets
from electorate.messages import Split, Sums
from electorate.threads import ThreadPool

Floats = NDArray[np.float64]


class Residuals(LocalTargets):
    """The rows of this process that count. Vectors over them go shard by shard."""

    def __init__(self, examples: Examples, target: Floats, bins: Bins, pool: ThreadPool, n_shards: int) -> None:
        super().__init__(Targets(examples, target), bins, pool, n_shards)

    @property
    def target(self) -> Floats:
        return np.concatenate([shard.y for shard in self.shards])

    def sums(self, residual: Floats, low: float, high: float) -> Sums:
        """Of weights, and of residuals as shares of the way from low to high."""
        ends = np.cumsum([0, *(len(shard.y) for shard in self.shards)]).tolist()
        for shard, (first, last) in zip(self.shards, pairwise(ends), strict=True):
            shard.summed_targets = SummedTargets(residual[first:last], low, high)
        found: Sums = self.call("weigh", 0.0, 0, True)
        return found

    def leaf_of_rows(self, splits: Sequence[Split], leaves: list[int]) -> NDArray[np.int32]:
        """The leaf, by its place in `leaves`, of every row."""
        return np.concatenate(self.pool.map(lambda shard: shard.leaf_of_rows(splits, leaves), self.shards))
