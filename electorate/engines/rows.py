"""The engine for voters that are fitted elsewhere: one shard without bins, asked by row.

It keeps the order in which the rows were given, because the voters see them so.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from electorate import kernels
from electorate.engines.shard import Elementwise, Examples, Shard, sort_by_label
from electorate.messages import Change, Split, Sums

Heard = tuple[NDArray[np.int32], NDArray[np.float64]]  # the leaf of every row that counts, and [leaf, output]


class Rows:
    """say(fitted): the leaf of every row, and [leaf, output], of a voter that was fitted elsewhere."""

    def __init__(self, examples: Examples, say: Any) -> None:
        self.n_labels = examples.n_labels
        self.unit = examples.weights.unit
        self.count = int(examples.weights.times.sum())
        self.full = self.count << examples.weights.bits
        self.n_counted = examples.weights.n_counted
        self.given = examples.weights.given
        self.order, starts, weights = sort_by_label(examples, 0, len(examples.labels))
        self.n_rows = len(examples.labels)
        self.times = weights.times
        self.shard = Shard(np.zeros((1, len(self.order), 1), dtype=np.uint16), starts, weights, 1)
        self.say = say
        self.last: tuple[Elementwise, float]

    def start(self, booster: Elementwise, group: NDArray[np.int64] | None = None) -> None:
        self.shard.start(booster, group)

    def counts(self) -> NDArray[np.int64]:
        return self.shard.count()

    def weights(self) -> NDArray[np.float64]:
        """Of all rows, summing to 1, in full precision: to a voter, what is too light for the grid still counts.

        Rows that are left out have weight 0.
        """
        booster, floor = self.last
        weights = np.zeros(self.n_rows)
        channel = booster.channel(self.shard.state, floor)
        weights[self.order] = channel * self.times * (1.0 if self.shard.real is None else self.shard.real)
        return np.asarray(weights / weights.sum())

    def hear(self, fitted: Any) -> Heard:
        """What a voter says of the rows that count; what it says of others only is nobody's leaf."""
        leaf, outputs = self.say(fitted)
        counting = leaf[self.order]
        present = np.bincount(counting, minlength=len(outputs)) > 0
        place = (np.cumsum(present) - 1).astype(np.int32)
        return place[counting], outputs[present]

    def leaf_rows(self, voter: Any) -> NDArray[np.int64]:
        """[leaf, label]: how many rows a voter sends where."""
        leaf, outputs = self.hear(voter.fitted)
        return self._sums(leaf, len(outputs), np.ones(len(self.order), dtype=np.int64))

    def leaf_sums(self, leaf: NDArray[np.int32], n_leaves: int) -> NDArray[np.int64]:
        """[leaf, label] of the weights, from the leaves that `hear` gave."""
        return self._sums(leaf, n_leaves, self.shard.grid)

    def _sums(self, leaf: NDArray[np.int32], n_leaves: int, grid: NDArray[np.int64]) -> NDArray[np.int64]:
        here = leaf[None, :]
        shard = self.shard
        sums = np.zeros((shard.n_groups, 1, n_leaves), dtype=np.int64)
        for label in range(len(shard.starts) - 1):
            low, high = shard.starts[label : label + 2]
            kernels.histogram16(here, grid, low, high, sums[shard.group[label]])
        return np.ascontiguousarray(sums[:, 0].T)

    def replay(self, booster: Elementwise, changes: list[Change]) -> float:
        for change in changes:
            self._apply(booster, change)
        return self.shard.replay(booster, [])

    def advance(self, booster: Elementwise, change: Change | None, floor: float, search: bool = True) -> Sums:
        if change is not None:
            self._apply(booster, change)
        self.last = booster, floor
        return self.shard.advance(booster, None, floor, search)

    def _apply(self, booster: Any, change: Change) -> None:
        """What the voter says of these rows, whatever rows it was fitted on."""
        if self.shard.kept is not None and change.kept is not None:
            self.keep(change)
            self.shard.state[0] += self.shard.kept.votes(change.kept.number, change.kept.size)
            return
        fitted, step = change.outside
        leaf, outputs = self.hear(fitted)
        gains = getattr(booster, "booster", booster).gains(step, outputs)[:, self.shard.group]
        labels = np.repeat(np.arange(len(self.shard.group)), np.diff(self.shard.starts))
        self.shard.state += gains[:, labels, leaf]

    def keep(self, change: Change) -> None:
        """Keep what a new voter says of these rows."""
        kept, voter = self.shard.kept, change.kept
        assert kept is not None
        assert voter is not None
        if voter.number == len(kept):
            leaf, outputs = self.hear(change.outside[0])
            labels = np.repeat(self.shard.group, np.diff(self.shard.starts))
            kept.add(outputs[leaf, 0] * (2 * labels - 1), voter.signs)

    def edges(self) -> NDArray[np.int64]:
        return self.shard.edges()

    def along(self, booster: Elementwise, number: int, size: float, floor: float) -> NDArray[np.int64]:
        return self.shard.along(booster, number, size, floor)

    def split(self, splits: list[Split]) -> NDArray[np.int64]:
        raise TypeError("wrapped voters ask no questions")

    def look(self, splits: list[Split], of_rows: bool = False) -> NDArray[np.int64]:
        raise TypeError("wrapped voters ask no questions")

    def count_rows(self, nodes: list[int]) -> NDArray[np.int64]:
        raise TypeError("wrapped voters have no nodes")
