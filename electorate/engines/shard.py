"""A shard: a block of examples with its binned features and its state. Vectors over examples live here only.

Rows are sorted by label, so that sums per label cost no more than plain ones. A shard does not know which
algorithm is running: it adds gains to state, asks the booster for elementwise numbers, and sums on the grid.
"""

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from electorate import kernels
from electorate.data.bins import Bins, block_rows, pad_edges, read_block
from electorate.data.table import Table
from electorate.data.weights import Weights

CELLS_PER_HISTOGRAM = 200_000_000  # about 0.07 s: Ctrl-C is heard between two calls
LIGHTEST_POWER = -1000  # so that exp(floor - state) stays finite
ONCE = np.empty(0, dtype=np.int64)  # every row counts once


class Elementwise(Protocol):
    """What a shard asks of a booster: functions of an example's state, row by row."""

    @property
    def n_states(self) -> int: ...

    def channel(self, state: NDArray[np.float64], floor: float) -> NDArray[np.float64]:
        """The number whose sums steer the search; within [-1, 1] where state[0] >= floor."""
        ...

    def wrong(self, state: NDArray[np.float64], label: int) -> NDArray[np.bool_]:
        """Which examples of this label the ensemble gets wrong."""
        ...


@dataclass(frozen=True)
class Change:
    """One more voter: the leaf that each bin of its column leads to, and what a leaf adds to every state."""

    column: int
    leaf_of_bin: NDArray[np.uint8]
    gains: NDArray[np.float64]  # [state, label, leaf]


@dataclass(frozen=True)
class Sums:
    """Exact sums over examples, all that the driver ever sees of them."""

    histogram: NDArray[np.int64]  # [label, column, bin] of the channel on the grid
    totals: NDArray[np.int64]  # [label] of the same
    wrong: int  # counts of the examples that the ensemble gets wrong
    lowest: float  # the smallest state[0] - log(real weight), or less by at most log(2)

    def __add__(self, other: "Sums") -> "Sums":
        return Sums(
            self.histogram + other.histogram,
            self.totals + other.totals,
            self.wrong + other.wrong,
            min(self.lowest, other.lowest),
        )


class Shard:
    """codes[group, row, column of group]; label k has the rows starts[k]..starts[k+1]."""

    def __init__(self, codes: NDArray[Any], starts: NDArray[np.int64], weights: Weights, width: int) -> None:
        self.codes = codes
        self.starts = starts
        self.width = width
        self.real = weights.real
        self.scale = float(2**weights.bits)
        self.times = weights.times if weights.times.max(initial=1) > 1 else ONCE
        self.counts = counts_of(weights)
        self.relief = relief_of(weights)
        self.grid = np.empty(codes.shape[1], dtype=np.int64)
        self.state = np.empty((0, codes.shape[1]))

    def start(self, booster: Elementwise) -> None:
        self.state = np.zeros((booster.n_states, self.codes.shape[1]))

    def advance(self, booster: Elementwise, change: Change | None, floor: float, search: bool) -> Sums:
        """Apply a change, then sum. Without `search` the histogram stays empty."""
        if change is not None:
            column = self.column(change.column)
            kernels.add_gains(column, change.leaf_of_bin, change.gains, self.starts, self.state)
        channel = booster.channel(self.state, floor)
        if self.real is not None:
            channel *= self.real
        totals = np.empty(len(self.starts) - 1, dtype=np.int64)
        kernels.quantise(channel, self.times, self.scale, self.starts, self.grid, totals)
        histogram = self.histogram() if search else np.zeros((0, 0, 0), dtype=np.int64)
        return Sums(histogram, totals, self.wrong(booster), self.lowest())

    def count(self) -> NDArray[np.int64]:
        """[label, column, bin] of the counts: the sample weights, whatever the algorithm."""
        self.grid[:] = 1 if not len(self.counts) else self.counts
        return self.histogram()

    def wrong(self, booster: Elementwise) -> int:
        total = 0
        for label, (low, high) in enumerate(zip(self.starts[:-1], self.starts[1:], strict=True)):
            missed = booster.wrong(self.state[:, low:high], label)
            if len(self.counts):
                total += int(self.counts[low:high][missed].sum())
            else:
                total += int(np.count_nonzero(missed))
        return total

    def lowest(self) -> float:
        """The floor under which no example's channel times real weight leaves [-1, 1]."""
        if not len(self.grid):
            return np.inf
        return float(self.state[0].min() if self.relief is None else (self.state[0] + self.relief).min())

    def column(self, j: int) -> NDArray[Any]:
        per_group = self.codes.shape[2]
        return np.asarray(self.codes[j // per_group, :, j % per_group])

    def histogram(self) -> NDArray[np.int64]:
        groups, _, per_group = self.codes.shape
        sums = np.zeros((len(self.starts) - 1, groups * per_group, self.width), dtype=np.int64)
        packed = self.codes.view(np.uint32) if per_group == 4 else self.codes
        fill = kernels.histogram8 if per_group == 4 else kernels.histogram16
        rows = max(1, CELLS_PER_HISTOGRAM // max(1, groups * per_group))
        for label, (low, high) in enumerate(zip(self.starts[:-1], self.starts[1:], strict=True)):
            for at in range(low, high, rows):
                fill(packed[:, :, 0], self.grid, at, min(at + rows, high), sums[label])
        return sums


def counts_of(weights: Weights) -> NDArray[np.int64]:
    """Integers in proportion to the weights, or ONCE."""
    if weights.real is not None:
        return weights.times * np.rint(weights.real * 2.0**weights.bits).astype(np.int64)
    return weights.times if weights.times.max(initial=1) > 1 else ONCE


def relief_of(weights: Weights) -> NDArray[np.float64] | None:
    """-log of a power of two at or above the real weights: how much lower a light row may stand.

    Without it rows of a weight of 1e-12 would keep four digits on the grid when they are all that matters.
    """
    if weights.real is None:
        return None
    _, power = np.frexp(weights.real)
    power = np.where(weights.real > 0, np.maximum(power, LIGHTEST_POWER), LIGHTEST_POWER)
    return np.asarray(power * -np.log(2.0))


@dataclass(frozen=True)
class Examples:
    """What a shard is made from: rows of a table with their labels (0..n_labels-1) and weights."""

    table: Table
    labels: NDArray[np.int64]
    n_labels: int
    weights: Weights


def build_shard(examples: Examples, bins: Bins, low: int, high: int) -> Shard:
    """The shard of the rows low..high; rows of weight 0 are left out."""
    order, dest = _by_label(examples, low, high)
    n_columns = examples.table.n_columns
    per_group = 4 if bins.code_type is np.uint8 else 1
    codes = np.zeros((-(-n_columns // per_group), len(order), per_group), dtype=bins.code_type)
    edges, depths = pad_edges(bins.edges)
    rows = block_rows(n_columns)
    scratch = np.empty(rows, dtype=np.int32)
    for at in range(low, high, rows):
        end = min(at + rows, high)
        block = read_block(examples.table, bins.categories, at, end)
        kernels.encode(block, edges, depths, bins.missing, dest[at - low : end - low], codes, scratch)
    counts = np.bincount(examples.labels[order], minlength=examples.n_labels)
    starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    weights = examples.weights
    real = weights.real[order] if weights.real is not None else None
    sorted_weights = Weights(weights.times[order], real, weights.bits, weights.given)
    return Shard(codes, starts, sorted_weights, bins.width)


def _by_label(examples: Examples, low: int, high: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Rows of the shard in the order of their labels, and the place of every row in that order (-1: none)."""
    kept = low + np.flatnonzero(examples.weights.times[low:high])
    order = kept[np.argsort(examples.labels[kept].astype(np.uint16), kind="stable")]
    dest = np.full(high - low, -1, dtype=np.int64)
    dest[order - low] = np.arange(len(order))
    return order, dest
