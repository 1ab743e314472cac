"""The engine of this process: shards in memory, one task per shard and exchange on our own threads.

Sums are integers, so they are the same for any number of shards and threads.
"""

from functools import reduce
from itertools import pairwise
from operator import add
from typing import Any

import numpy as np
from numpy.typing import NDArray

from electorate.data.bins import Bins
from electorate.engines.packing import Packing
from electorate.engines.shard import Elementwise, Examples, build_shard
from electorate.messages import Change, Split, Sums
from electorate.threads import ThreadPool


class Threads:
    def __init__(self, examples: Examples, bins: Bins, pool: ThreadPool, n_shards: int) -> None:
        ends = [examples.table.n_rows * k // n_shards for k in range(n_shards + 1)]
        self.pool = pool
        self.n_labels = examples.n_labels
        self.unit = examples.weights.unit
        self.count = int(examples.weights.times.sum())
        self.full = self.count << examples.weights.bits
        self.n_counted = examples.weights.n_counted
        self.given = examples.weights.given
        self.shards = pool.map(lambda part: build_shard(examples, bins, *part), pairwise(ends))

    def pack(self, packing: Packing) -> None:
        """From now on histograms are to be packed, as they will be sent."""
        for shard in self.shards:
            shard.pack(packing)

    def start(self, booster: Elementwise, group: NDArray[np.int64] | None = None) -> None:
        """Forget all voters. group[label]: labels that the booster is to see as one."""
        for shard in self.shards:
            shard.start(booster, group)

    def counts(self) -> NDArray[np.int64]:
        """[label, column, bin] of the sample weights."""
        return reduce(add, self.pool.map(lambda shard: shard.count(), self.shards))

    def replay(self, booster: Elementwise, changes: list[Change]) -> float:
        """Apply changes without summing; the lowest number of the floor's row after them."""
        return min(self.pool.map(lambda shard: shard.replay(booster, changes), self.shards))

    def advance(self, booster: Elementwise, change: Change | None, floor: float, search: bool = True) -> Sums:
        """One exchange: every shard applies the change and sums."""
        return reduce(add, self.pool.map(lambda shard: shard.advance(booster, change, floor, search), self.shards))

    def split(self, splits: list[Split]) -> NDArray[np.int64]:
        """One exchange: every shard parts its rows; histograms [question, label, column, bin] of the left children."""
        return reduce(add, self.pool.map(lambda shard: shard.split(splits), self.shards))

    def look(self, splits: list[Split], of_rows: bool = False) -> NDArray[np.int64]:
        """One exchange: histograms [question, label, column, bin] of the left sides; no rows move."""
        return reduce(add, self.pool.map(lambda shard: shard.look(splits, of_rows), self.shards))

    def keep(self, change: Change) -> None:
        """Every shard keeps what a new voter says."""
        self.pool.map(lambda shard: shard.keep(change), self.shards)

    def edges(self) -> NDArray[np.int64]:
        """[voter]: of those kept, the sums of weight times award."""
        return reduce(add, self.pool.map(lambda shard: shard.edges(), self.shards))

    def along(self, booster: Elementwise, number: int, size: float, floor: float) -> NDArray[np.int64]:
        """Of a kept voter, if it took one more step: the sum of the weights after it, and of weight times award."""
        return reduce(add, self.pool.map(lambda shard: shard.along(booster, number, size, floor), self.shards))

    def both_left(self, split: Split) -> NDArray[np.int64]:
        """[channel, label, column, bin] of the rows on the left of a question at the root, of both channels."""
        return reduce(add, self.pool.map(lambda shard: shard.both_left(split), self.shards))

    def count_rows(self, nodes: list[int]) -> NDArray[np.int64]:
        """[node, column, bin]: how many rows, in nodes of the growing tree."""
        return reduce(add, self.pool.map(lambda shard: shard.count_rows(nodes), self.shards))

    def leaf_rows(self, voter: Any) -> NDArray[np.int64]:
        """[leaf, label]: how many rows a voter sends where."""
        return reduce(add, self.pool.map(lambda shard: shard.leaf_rows(voter.splits, voter.leaves), self.shards))
