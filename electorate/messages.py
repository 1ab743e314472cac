"""Messages between the driver and the shards: splits and changes one way, exact sums the other."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, overload

import numpy as np

from electorate.exact import AnyArray, Bools, Floats, Ints

ROOT = 0


@dataclass
class Split:
    """One split of a voter: the rows of `node` go to `left` or `right` by the bin of one column."""

    node: int
    left: int
    right: int
    column: int
    cut: int  # the last bin on the left; -1 for a split by category
    on_left: Bools  # by bin

    def same_as(self, other: "Split") -> bool:
        """Whether it sends the same rows to the same nodes."""
        return self is other or (
            (self.node, self.left, self.right, self.column) == (other.node, other.left, other.right, other.column)
            and np.array_equal(self.on_left, other.on_left)
        )


@dataclass(frozen=True, eq=False)
class SplitArrays(Sequence[Split]):
    """The splits of a voter, parents first, as arrays: a deep tree has thousands, and few callers need each of them."""

    node: Ints
    left: Ints
    right: Ints
    column: Ints
    cut: Ints
    on_left: Bools  # [split, bin]

    @classmethod
    def of(cls, splits: Sequence[Split], width: int = 0) -> "SplitArrays":
        """Return the splits as arrays; width: how many bins there are, where there may be no split."""
        if isinstance(splits, cls):
            return splits
        numbers = np.array([(s.node, s.left, s.right, s.column, s.cut) for s in splits], dtype=np.int64).reshape(-1, 5)
        on_left = np.array([split.on_left for split in splits], dtype=np.bool_)
        node, left, right, column, cut = (np.ascontiguousarray(each) for each in numbers.T)
        return cls(node, left, right, column, cut, on_left.reshape(len(splits), -1 if splits else width))

    def __len__(self) -> int:
        return len(self.node)

    # What follows is the same for all shards.

    @cached_property
    def numbers(self) -> list[int]:
        """The nodes that are split."""
        return self.node.tolist()

    @cached_property
    def highest(self) -> int:
        """The highest number of a node."""
        return int(self.right.max())

    def walk(self, leaves: list[int], levels: list["SplitArrays"]) -> tuple[Ints, Ints]:
        """How rows find their leaves, from the nodes of a growing tree with these levels of splits.

        [(node, its next split here), ...] of the growing tree, as far as both trees have the same splits, and
        [split, side]: the next split, or ~ the place among the leaves.
        """
        global _last_walk
        last = _last_walk  # read once: another thread may fit another model
        if last is None or last[0] is not self or last[1] is not leaves or last[2] != levels:
            goes_to = np.zeros(2 * len(self) + 1, dtype=np.int64)  # [node]
            goes_to[leaves] = ~np.arange(len(leaves))
            goes_to[self.node] = np.arange(len(self))
            children = goes_to[np.stack([self.left, self.right], axis=1)]
            last = _last_walk = self, leaves, list(levels), self._find_known(levels, goes_to), children
        return last[3], last[4]

    def _find_known(self, levels: list["SplitArrays"], goes_to: Ints) -> Ints:
        """Return where the rows of the nodes of the growing tree go next here."""
        grown = [np.concatenate(parts) for parts in zip(*(level._ways() for level in levels), strict=True)]
        if levels and all(
            np.array_equal(some, every[: len(some)]) for some, every in zip(grown, self._ways(), strict=True)
        ):
            is_end = np.ones(2 * len(grown[0]) + 1, dtype=np.bool_)
            is_end[grown[0]] = False
            return np.stack([ends := np.flatnonzero(is_end), goes_to[ends]])
        splits = {node: (level, place) for level in levels for place, node in enumerate(level.numbers)}
        found, waiting = [], [(ROOT, int(goes_to[ROOT]))]
        while waiting:
            number, at = waiting.pop()
            if number not in splits:
                found.append((number, at))
                continue
            level, place = splits[number]
            children = int(level.left[place]), int(level.right[place])
            same = at >= 0 and level.column[place] == self.column[at]
            if same and np.array_equal(level.on_left[place], self.on_left[at]):
                waiting += zip(children, goes_to[[self.left[at], self.right[at]]].tolist(), strict=True)
            else:  # the rows are in the order of another tree
                waiting += [(child, at) for child in children]
        return np.ascontiguousarray(np.array(found, dtype=np.int64).T)

    @overload
    def __getitem__(self, place: int) -> Split: ...

    @overload
    def __getitem__(self, place: slice) -> Sequence[Split]: ...

    def __getitem__(self, place: int | slice) -> Split | Sequence[Split]:
        if isinstance(place, slice):
            return [self[k] for k in range(len(self))[place]]
        node, left, right, column, cut = (int(each[place]) for each in self._numbers())
        return Split(node, left, right, column, cut, self.on_left[place])

    def __iter__(self) -> Iterator[Split]:
        numbers = zip(*(each.tolist() for each in self._numbers()), strict=True)
        for (node, left, right, column, cut), on_left in zip(numbers, self.on_left, strict=True):
            yield Split(node, left, right, column, cut, on_left)

    def _numbers(self) -> tuple[Ints, ...]:
        return self.node, self.left, self.right, self.column, self.cut

    def _ways(self) -> tuple[AnyArray, ...]:
        """What decides where rows go."""
        return self.node, self.left, self.right, self.column, self.on_left

    def same_as(self, other: "SplitArrays") -> bool:
        """Whether all rows go the same ways."""
        return self is other or all(np.array_equal(*pair) for pair in zip(self._ways(), other._ways(), strict=True))


_last_walk: tuple[SplitArrays, list[int], list[SplitArrays], Any, Any] | None = None


class StoredHistogram:
    """A histogram [label, column, bin] that an engine keeps where its rows are, until the next round."""

    shape: tuple[int, int, int]
    nbytes: int

    def __len__(self) -> int:
        return self.shape[0]

    def here(self) -> Ints:
        """The numbers, in this process."""
        raise NotImplementedError

    def best_thresholds(
        self, histograms: Sequence["StoredHistogram"], criterion: int, layout: tuple[AnyArray, ...]
    ) -> "BestThresholds | None":
        """The best threshold of some histograms of the same engine; None where it cannot search them.

        criterion: of subtrees.hpp. layout: n_bins, has_missing and ordered, by column.
        """
        raise NotImplementedError


@dataclass(frozen=True)
class BestThresholds:
    """The best threshold x <= cut of some nodes, the first of equals. scores: weights that are right, or purities."""

    scores: AnyArray
    column: Ints
    cut: Ints
    missing_left: Ints
    left: Ints  # [node, label]


class NodeSplits(NamedTuple):
    """The best thresholds of some nodes; column -1: none gains."""

    column: list[int]
    cut: list[int]
    on_left: Bools  # [node, bin]
    sides: Ints  # [node, side, label]


def histogram_here(histogram: Any) -> Ints:
    """The numbers of a histogram, wherever it is."""
    return histogram.here() if isinstance(histogram, StoredHistogram) else histogram


@dataclass
class LeftSides:
    """The histograms of the left children of several splits, and [split, side]: how many rows."""

    histograms: Any  # [split, label, column, bin], perhaps packed
    rows: Ints

    def __add__(self, other: "LeftSides") -> "LeftSides":
        return LeftSides(self.histograms + other.histograms, self.rows + other.rows)


@dataclass
class Change:
    """One more voter: its splits, parents first, its leaves, and what a leaf adds to the state of an example."""

    splits: Sequence[Split]
    leaves: list[int]
    gains: Floats  # [state, label, leaf]
    outside: Any = None  # a voter that was fitted elsewhere, with its step: evaluated row by row
    stored: "StoredVoter | None" = None  # where the shards store the outputs of voters


@dataclass
class StoredVoter:
    """A voter by its number among those that the shards store, its step, and the awards [label, leaf] of a new one."""

    number: int
    size: float
    awards: Floats

    @property
    def signs(self) -> bool:
        return bool(np.all(np.abs(self.awards) == 1))


@dataclass
class Sums:
    """Exact sums over examples, all that the driver ever sees of them."""

    histogram: Ints  # [label, column, bin] of the channel on the grid
    totals: Ints  # [label] of the same
    wrong: int  # counts of the examples that the ensemble gets wrong
    more: "Sums | None" = None  # of a second channel, where the booster has one

    @property
    def root(self) -> Any:
        """The histogram, where it is stored."""
        return self.histogram

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
    """A worker that held examples is lost, or does not answer. address: its address.

    Examples
    --------
    >>> from electorate.messages import WorkerLostError
    >>> WorkerLostError("tcp://10.0.0.7:8786", "does not answer").address
    'tcp://10.0.0.7:8786'
    """

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
    """A regressor as shards apply it: splits, leaves and [leaf, (value, confidence)], or its predictions.

    With predictions, outputs are [row, confidence], or empty where the voter has no confidence of its own.
    """

    splits: Sequence[Split]
    leaves: list[int]
    outputs: Floats
    predictions: Floats | None = None  # of all rows, by a voter that was fitted to them
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
