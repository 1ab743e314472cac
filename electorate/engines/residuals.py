"""Shards of rows with numbers to be learnt that change from round to round, for trees grown by least squares.

Sums are of the weights and of the residuals, both on the grid: nothing depends on the number of shards.
"""

from collections.abc import Iterable
from functools import reduce
from itertools import pairwise
from operator import add
from typing import Any

import numpy as np
from numpy.typing import NDArray

from electorate.data.bins import Bins
from electorate.engines.shard import Examples
from electorate.engines.targets import Sides, Targets, TargetThreads, spans
from electorate.messages import Split, Sums
from electorate.threads import ThreadPool

Floats = NDArray[np.float64]


class Residuals:
    """Rows of this process. What is said of all of them is said shard by shard, of those that count."""

    def __init__(self, examples: Examples, target: Floats, bins: Bins, pool: ThreadPool, n_shards: int) -> None:
        self.pool = pool
        self.shards = TargetThreads(Targets(examples, target), bins, pool, n_shards).shards

    @property
    def target(self) -> Floats:
        return np.concatenate([shard.y for shard in self.shards])

    def counts(self) -> NDArray[np.int64]:
        """[column, bin] of the sample weights."""
        return np.asarray(_total(self.pool.map(lambda shard: shard.count(), self.shards)).sum(axis=0))

    def sums(self, residual: Floats, low: float, high: float) -> Sums:
        """Of weights, and of residuals as shares of the way from low to high."""
        share = np.clip((residual - low) / (high - low), 0.0, 1.0) if high > low else np.zeros(len(residual))
        ends = np.cumsum([0, *(len(shard.y) for shard in self.shards)]).tolist()
        for shard, (first, last) in zip(self.shards, pairwise(ends), strict=True):
            shard.share = share[first:last]
        found: Sums = _total(self.pool.map(lambda shard: shard.weigh(0.0, 0, True), self.shards))
        return found

    def both_sides(self, splits: list[Split]) -> list[Sides]:
        """Histograms of both children of each question; those of the nodes are overwritten."""
        parts = self.pool.map(lambda shard: shard.both_sides(splits), self.shards)
        return [(_total(left), _total(right)) for left, right in _by_split(parts)]

    def split(self, splits: list[Split]) -> NDArray[np.int64]:
        raise TypeError("rows with residuals give both sides")

    def look(self, splits: list[Split], of_rows: bool = False) -> NDArray[np.int64]:
        """Histograms [question, label, column, bin] of the left sides; no rows move."""
        return np.asarray(_total(self.pool.map(lambda shard: shard.look(splits, of_rows), self.shards)))

    def share_spans(self, nodes: list[int]) -> NDArray[np.float64]:
        """[node, (low, high)] of the residuals, as shares."""
        return np.asarray(spans(self.pool.map(lambda shard: shard.share_spans(nodes), self.shards)))

    def count_rows(self, nodes: list[int]) -> NDArray[np.int64]:
        return np.asarray(_total(self.pool.map(lambda shard: shard.count_rows(nodes), self.shards)))

    def leaf_of_rows(self, splits: list[Split], leaves: list[int]) -> NDArray[np.int64]:
        """The leaf, by its place in `leaves`, of every row."""
        return np.concatenate(self.pool.map(lambda shard: shard.leaf_of_rows(splits, leaves), self.shards))


def _by_split(parts: list[list[Sides]]) -> Iterable[Iterable[Any]]:
    """Of every question, what all shards say of the left and of the right."""
    return (zip(*each, strict=True) for each in zip(*parts, strict=True))


def _total(parts: Iterable[Any]) -> Any:
    return reduce(add, parts)
