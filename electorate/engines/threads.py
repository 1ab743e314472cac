"""The engine of this process: shards in memory, one task per shard and exchange on our own threads.

Sums are integers, so they are the same for any number of shards and threads.
"""

from functools import reduce
from operator import add

import numpy as np
from numpy.typing import NDArray

from electorate.data.bins import Bins
from electorate.engines.pool import Pool
from electorate.engines.shard import Change, Elementwise, Examples, Sums, build_shard


class Threads:
    def __init__(self, examples: Examples, bins: Bins, pool: Pool, n_shards: int) -> None:
        rows = examples.table.n_rows
        ends = [rows * k // n_shards for k in range(n_shards + 1)]
        ranges = list(zip(ends[:-1], ends[1:], strict=True))
        self.pool = pool
        self.shards = pool.map(lambda part: build_shard(examples, bins, *part), ranges)

    def start(self, booster: Elementwise) -> None:
        for shard in self.shards:
            shard.start(booster)

    def counts(self) -> NDArray[np.int64]:
        """[label, column, bin] of the sample weights."""
        return reduce(add, self.pool.map(lambda shard: shard.count(), self.shards))

    def advance(self, booster: Elementwise, change: Change | None, floor: float, search: bool = True) -> Sums:
        """One exchange: every shard applies the change and sums."""
        tasks = self.pool.map(lambda shard: shard.advance(booster, change, floor, search), self.shards)
        return reduce(add, tasks)
