"""Equal examples as one: the engine of linear programs, where example weights are given and not computed.

Rows with the same label and the same bins (or values) are one example, in an order of their own: a program over them
does not depend on the order of the rows, and a weight of k is k rows.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from electorate.algorithms.protocol import Booster
from electorate.data.bins import Bins
from electorate.data.row_subset import group_rows, keys_of, keys_of_table, mass_of
from electorate.data.weights import Weights
from electorate.engines.rows import RowEngine
from electorate.engines.shard import NOTHING, Examples, Shard, build_plain_shard, counts_of
from electorate.engines.verbs import LocalShards
from electorate.exact import Floats
from electorate.messages import Change, Sums
from electorate.threads import ThreadPool

GRID = 2.0**44  # units of all weights together


class OneShard(LocalShards):
    """An engine for searches."""

    def __init__(self, shard: Shard) -> None:
        self.pool, self.shards = ThreadPool(1), [shard]
        self.share_answers()


class DistinctBins:
    """Distinct examples over bins. mass: their sample weights as given."""

    def __init__(self, examples: Examples, bins: Bins) -> None:
        shard = build_plain_shard(examples, bins)
        codes = np.ascontiguousarray(shard.codes.transpose(1, 0, 2)).reshape(shard.codes.shape[1], -1)
        counts = counts_of(shard.weights)
        labels = np.repeat(np.arange(len(shard.starts) - 1), np.diff(shard.starts))
        first, place = group_rows(keys_of(codes), labels)
        starts = np.searchsorted(labels[first], np.arange(len(shard.starts))).astype(np.int64)
        rows = _add(shard.weights.rows, place, len(first))
        weights = Weights(rows, None, shard.weights.bits, shard.weights.given)
        self.shard = Shard(np.ascontiguousarray(shard.codes[:, first]), starts, weights, bins.width)
        self.shard.counts = _add(counts if len(counts) else np.ones(len(place), dtype=np.int64), place, len(first))
        self.engine = OneShard(self.shard)
        self.n_counted = shard.weights.n_counted
        self.mass = mass_of(self.shard.counts, shard.weights.given)
        self.counts = self.shard.count().sum(axis=0)

    def start(self, group: NDArray[np.int64]) -> None:
        """group[label]: 0 or 1, as the program sees it."""
        self.shard.group_labels(group)
        self.signs = signs_of(self.shard)

    def sums(self, weights: Floats) -> Sums:
        """Exact sums of these weights of the examples, and what a growing tree starts from."""
        shard = self.shard
        shard.grid[:] = on_weight_grid(weights)
        shard.growth = None
        return Sums(shard.by_column(shard.histogram(shard.grid)), group_totals(shard), 0)

    def outputs(self, voter: Any, outputs: Floats) -> Floats:
        """The output for every example of a voter with these outputs[leaf, 1]."""
        shard = self.shard
        shard.state = np.zeros((1, len(shard.grid)))
        gains = np.repeat(outputs[None, None, :, 0], shard.n_groups, axis=1)
        shard.apply(Booster(), Change(voter.splits, voter.leaves, gains))
        return np.asarray(shard.state[0])


class DistinctRows(RowEngine):
    """Distinct examples of voters that look at whole rows, as the loop's engine for them, with weights as given."""

    def __init__(self, labels: NDArray[np.int64], n_labels: int, mass: Floats, outputs_of: Any) -> None:
        once = Weights(np.ones(len(labels), dtype=np.int64), None, 0, float(len(labels)))
        super().__init__(Examples(None, labels, n_labels, once), outputs_of)  # type: ignore[arg-type]
        self.mass = mass
        self.dual = np.empty(0)

    def start(self, group: NDArray[np.int64]) -> None:  # type: ignore[override]
        self.shard.group_labels(group)
        self.signs = signs_of(self.shard)

    def sums(self, weights: Floats) -> Sums:
        self.dual = weights
        self.shard.grid[:] = on_weight_grid(weights)
        return Sums(NOTHING, group_totals(self.shard), 0)

    def weights(self) -> Floats:
        return np.asarray(self.dual / self.dual.sum())

    def outputs(self, voter: Any, outputs: Floats) -> Floats:
        leaf, values = self.evaluate(voter.fitted)
        return np.asarray(values[leaf, 0])


def on_weight_grid(weights: Floats) -> NDArray[np.int64]:
    """Whole units, 2^44 of them for all weights together; rounded down, so that no bound on a weight is passed."""
    weights = np.ldexp(weights, -int(np.frexp(weights.max(initial=0.0))[1]))  # exact; tiny ones would overflow below
    return np.floor(weights * (GRID / weights.sum())).astype(np.int64)


def group_totals(shard: Shard) -> NDArray[np.int64]:
    totals = np.zeros(shard.n_groups, dtype=np.int64)
    for low, high, label in shard.spans:
        totals[label] += int(shard.grid[low:high].sum())
    return totals


def signs_of(shard: Shard) -> Floats:
    """+1 for the examples of the second label that the program sees, -1 for the first."""
    return np.where(np.repeat(shard.group, np.diff(shard.starts)) > 0, 1.0, -1.0)


# ---------------------------------------------------------------- which rows to keep


def distinct_rows(
    X: Any, labels: NDArray[np.int64], weights: Weights
) -> tuple[NDArray[np.int64], NDArray[np.int64], Floats]:
    """Which rows to keep, their labels and masses; rows of weight 0 are left out."""
    counted = np.flatnonzero(weights.times)
    first, place = group_rows(keys_of_table(X)[counted], labels[counted])
    counts = counts_of(weights)
    counts = counts[counted] if len(counts) else np.ones(len(counted), dtype=np.int64)
    mass = mass_of(_add(counts, place, len(first)), weights.given)
    return counted[first], labels[counted][first], mass


def _add(values: NDArray[np.int64], place: NDArray[np.int64], n: int) -> NDArray[np.int64]:
    total = np.zeros(n, dtype=np.int64)
    np.add.at(total, place, values)
    return total
