"""Messages between the driver and the shards: splits and changes one way, exact sums the other."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

ROOT = 0


@dataclass
class Split:
    """One split of a voter: the rows of `node` go to `left` or `right` by the bin of one column."""

    node: int
    left: int
    right: int
    column: int
    cut: int  # the last bin on the left; -1 for a split by category
    on_left: NDArray[np.bool_]  # by bin

    def same_as(self, other: "Split") -> bool:
        """Whether it sends the same rows to the same nodes."""
        return self is other or (
            (self.node, self.left, self.right, self.column) == (other.node, other.left, other.right, other.column)
            and np.array_equal(self.on_left, other.on_left)
        )


@dataclass
class Change:
    """One more voter: its splits, parents first, its leaves, and what a leaf adds to the state of an example."""

    splits: list[Split]
    leaves: list[int]
    gains: NDArray[np.float64]  # [state, label, leaf]
    outside: Any = None  # a voter that was fitted elsewhere, with its step: evaluated row by row
    stored: "StoredVoter | None" = None  # where the shards store the outputs of voters


@dataclass
class StoredVoter:
    """A voter by its number among those that the shards store, its step, and the awards [label, leaf] of a new one."""

    number: int
    size: float
    awards: NDArray[np.float64]

    @property
    def signs(self) -> bool:
        return bool(np.all(np.abs(self.awards) == 1))


@dataclass
class Sums:
    """Exact sums over examples, all that the driver ever sees of them."""

    histogram: NDArray[np.int64]  # [label, column, bin] of the channel on the grid
    totals: NDArray[np.int64]  # [label] of the same
    wrong: int  # counts of the examples that the ensemble gets wrong
    more: "Sums | None" = None  # of a second channel, where the booster has one

    @property
    def total(self) -> int:
        return sum(self.totals.tolist())

    def __add__(self, other: "Sums") -> "Sums":
        return Sums(
            self.histogram + other.histogram,
            self.totals + other.totals,
            self.wrong + other.wrong,
            None if self.more is None or other.more is None else self.more + other.more,
        )


class WorkerLostError(RuntimeError):
    """A worker that held examples is gone, or does not answer. address: which one."""

    def __init__(self, address: str, what: str) -> None:
        super().__init__(address, what)
        self.address = address
        self.what = what

    def __str__(self) -> str:
        return (
            f"worker {self.address} {self.what}. Fit again on the workers that are left; with a Checkpoint among the "
            "callbacks, fit does so by itself and ends with the same model"
        )


@dataclass(frozen=True)
class AppliedVoter:
    """A regressor as shards apply it: splits, leaves and [leaf, (value, confidence)], or its predictions."""

    splits: list[Split]
    leaves: list[int]
    outputs: NDArray[np.float64]
    predictions: NDArray[np.float64] | None = None  # of all rows, by a voter that was fitted to them
    kappa: int = 0


@dataclass(frozen=True)
class Moments:
    """Sums of weight, weight x award and weight x award^2; awards are in units of `most`."""

    weight: int
    first: int
    second: int
    most: float

    @property
    def mean(self) -> float:
        return self.first / self.weight * self.most if self.weight else 0.0

    @property
    def variance(self) -> float:
        if not self.weight:  # every weight was rounded to 0
            return 0.0
        mean = self.first / self.weight
        return max(self.second / self.weight - mean * mean, 0.0) * self.most**2

    def __add__(self, other: "Moments") -> "Moments":
        return Moments(self.weight + other.weight, self.first + other.first, self.second + other.second, self.most)
