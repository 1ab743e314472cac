"""The engine for voters that are fitted elsewhere: one shard without bins, whose voters are evaluated row by row.

It keeps the order in which the rows were given, because the voters get them in that order.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from electorate import kernels
from electorate.algorithms.protocol import NO_FLOORS, Booster, Floors
from electorate.engines.shard import Examples, Shard, sort_by_label
from electorate.engines.verbs import Engine
from electorate.messages import Change, Sums

LeafOutputs = tuple[NDArray[np.int32], NDArray[np.float64]]  # the leaf of every row that counts, and [leaf, output]


class RowShard(Shard):
    """evaluate(fitted): the leaf of every row that counts, and [leaf, output], of a voter that was fitted elsewhere."""

    evaluate: Any

    def apply(self, booster: Booster, change: Change) -> None:
        """Add the gains of the voter's outputs for these rows, whatever rows it was fitted on."""
        if self.votes is not None and change.stored is not None:
            super().apply(booster, change)
            return
        fitted, step = change.outside
        leaf, outputs = self.evaluate(fitted)
        gains = booster.gains(step, outputs)[:, self.group]
        labels = np.repeat(np.arange(len(self.group)), np.diff(self.starts))
        self.state += gains[:, labels, leaf]

    def store(self, change: Change) -> None:
        votes, voter = self.votes, change.stored
        assert votes is not None
        assert voter is not None
        if voter.number == len(votes):
            leaf, outputs = self.evaluate(change.outside[0])
            labels = np.repeat(self.group, np.diff(self.starts))
            votes.add(outputs[leaf, 0] * (2 * labels - 1), voter.signs)


class RowEngine(Engine):
    """outputs_of(fitted): the leaf of every row, and [leaf, output], of a voter that was fitted elsewhere."""

    def __init__(self, examples: Examples, outputs_of: Any) -> None:
        self.measure(examples.n_labels, examples.weights)
        self.order, starts, weights = sort_by_label(examples, 0, len(examples.labels))
        self.n_rows = len(examples.labels)
        self.times = weights.times
        self.shard = RowShard(np.zeros((1, len(self.order), 1), dtype=np.uint16), starts, weights, 1)
        self.shard.evaluate = self.evaluate
        self.outputs_of = outputs_of
        self.last: tuple[Booster, Floors]

    def call(self, verb: str, *arguments: Any) -> Any:
        if verb in ("split", "look", "count_rows"):
            raise TypeError("voters that are fitted elsewhere have no splits")
        return getattr(self.shard, verb)(*arguments)

    def advance(self, booster: Booster, change: Change | None, floors: Floors = NO_FLOORS, search: bool = True) -> Sums:
        self.last = booster, floors
        return super().advance(booster, change, floors, search)

    def weights(self) -> NDArray[np.float64]:
        """Return the weights of all rows, summing to 1, in full precision: also those that are too light for the grid.

        Rows that are left out have weight 0.
        """
        booster, floors = self.last
        weights = np.zeros(self.n_rows)
        channel = booster.channels[0].values(self.shard.state, floors, None)
        weights[self.order] = channel * self.times * (1.0 if self.shard.real is None else self.shard.real)
        return np.asarray(weights / weights.sum())

    def evaluate(self, fitted: Any) -> LeafOutputs:
        """The outputs of a voter for the rows that count, without the leaves that none of them is in."""
        leaf, outputs = self.outputs_of(fitted)
        counting = leaf[self.order]
        present = np.bincount(counting, minlength=len(outputs)) > 0
        place = (np.cumsum(present) - 1).astype(np.int32)
        return place[counting], outputs[present]

    def leaf_rows(self, voter: Any) -> NDArray[np.int64]:
        leaf, outputs = self.evaluate(voter.fitted)
        return self.leaf_sums(leaf, len(outputs), np.ones(len(self.order), dtype=np.int64))

    def leaf_sums(
        self, leaf: NDArray[np.int32], n_leaves: int, grid: NDArray[np.int64] | None = None
    ) -> NDArray[np.int64]:
        """[leaf, label] of the weights, or of another grid, for leaves that `evaluate` returned."""
        shard = self.shard
        sums = np.zeros((shard.n_groups, 1, n_leaves), dtype=np.int64)
        codes = leaf[None, :].view(np.uint32)
        for low, high, label in shard.spans:
            kernels.histogram(codes, shard.grid if grid is None else grid, low, high, sums[label])
        return np.ascontiguousarray(sums[:, 0].T)
