"""Paired stumps, H2 of DeepBoost (section 4): trees of depth two that ask the same question at both nodes below.

The paper's search takes the best stump and then the best common second question; the exhaustive one goes through all
first questions. The two questions are about different columns.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils._param_validation import StrOptions

from electorate import kernels
from electorate.data.bins import Bins
from electorate.messages import ROOT, Split
from electorate.theory import complexity
from electorate.theory.complexity import Shape
from electorate.voters.cuts import Cuts, best_of
from electorate.voters.leaves import leaf_outputs
from electorate.voters.lookahead import Stuck, balanced, candidates, left_sides
from electorate.voters.splits import ANY_ROWS, Finder, Found
from electorate.voters.trees import Search, Voter, constant

MOST_LABELS = 6  # beyond it a second question about categories looks at one of them at a time
MOST_LEVELS = 10  # beyond it so does a first one, in the exhaustive search


@dataclass(frozen=True)
class _Pair:
    """A second question for the two children of a first one, and the weight on which the four leaves are right."""

    right: int
    found: Found
    sums: NDArray[np.int64]  # [leaf, label]


class PairedStumps(BaseEstimator):
    """The family of trees of depth two with the same question at both nodes of depth one, on two different columns.

    Parameters
    ----------
    search : {"greedy", "exhaustive"}, default="greedy"
        "greedy", the paper's: the best stump, then the best common second question. "exhaustive": the best pair of
        all, with one exchange per first question, so for small tables; sets of categories are all tried as first
        questions up to 10 levels, single ones beyond.

    Notes
    -----
    A pair is chosen by the weight on which its leaves are right. Where no second question helps, the voter is the
    stump; where no stump does, the constant. Where no column says anything about the labels by itself, as in XOR, the
    greedy search tries up to 256 first questions, the middle cuts of all columns first. With more than six labels a
    second question about categories is about one of them at a time.

    Examples
    --------
    >>> from electorate import AdaBoostClassifier, PairedStumps
    >>> AdaBoostClassifier(PairedStumps(search="exhaustive")).estimator
    PairedStumps(search='exhaustive')
    """

    fitted_elsewhere: ClassVar[bool] = False
    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012
        "search": [StrOptions({"greedy", "exhaustive"})]
    }

    def __init__(self, search: str = "greedy") -> None:
        self.search = search

    @property
    def exhaustive(self) -> bool:
        """Whether `best` finds the best voter of all."""
        return self.search == "exhaustive"

    def exhaustive_on(self, bins: Bins) -> bool:
        """As `exhaustive`; but of two columns with very many categories not all sets are tried."""
        many = [j for j in bins.categories if bins.n_bins[j] + bins.has_missing[j] > MOST_LEVELS]
        return self.exhaustive and len(many) < 2

    def best(self, search: Search) -> Voter:
        finder = Finder(search.bins, search.counts, signed=search.signed)
        stump = finder.best(search.sums.histogram, search.sums.totals)
        least = int(search.sums.totals.max()) if stump is None else int(stump.sums.max(axis=1).sum())
        best: tuple[Found, _Pair] | None = None
        for first, left in self._firsts(finder, search, stump):
            pair = _second(finder, _Asked(first, left, search.sums.histogram), least)
            if pair is not None:
                best, least = (first, pair), pair.right
        if best is None:
            return constant(search) if stump is None else _stump(stump)
        return _four(*best)

    def _firsts(self, finder: Finder, search: Search, stump: Found | None) -> Iterator[tuple[Found, NDArray[np.int64]]]:
        """First questions, each with the histogram of its left side."""
        if self.search == "greedy" and stump is None:
            root = Stuck(ROOT, search.sums.histogram, search.sums.totals, ANY_ROWS, 2, False)
            tests = candidates(finder, root) if balanced(finder, search.engine, root) else []
            sides = left_sides(search.engine, [(root, test) for test in tests])
            yield from ((test, left) for test, (left, _) in zip(tests, sides, strict=True))
        elif self.search == "greedy":
            assert stump is not None
            yield stump, search.engine.look([_first(stump)])[0]  # unlike a split, one histogram only
        else:
            for first in all_splits(finder, search):
                yield first, search.engine.look([_first(first)])[0]

    def constant(self, search: Search) -> Voter:
        return constant(search)

    def outputs(self, voter: Voter, n_rows: int, wanted: str) -> NDArray[np.float64]:
        return leaf_outputs(wanted, voter.sums, 1.0 / n_rows)

    def log_count(self, n: int, shape: Shape) -> float:
        """A provable bound on the logarithm of the number of labelings of n rows."""
        return complexity.log_paired_stumps(n, shape)

    def published(self, n: int, d: int) -> float:
        """The complexity of the DeepBoost paper, eq. 8."""
        return complexity.published_paired_stumps(n, d)


def _first(found: Found) -> Split:
    return Split(ROOT, 1, 2, found.column, found.cut, found.on_left)


def _stump(found: Found) -> Voter:
    return Voter([_first(found)], [1, 2], found.sums)


def _four(first: Found, pair: _Pair) -> Voter:
    second = (pair.found.column, pair.found.cut, pair.found.on_left)
    splits = [_first(first), Split(1, 3, 4, *second), Split(2, 5, 6, *second)]
    return Voter(splits, [3, 4, 5, 6], pair.sums)


@dataclass(frozen=True)
class _Asked:
    """A first question, and the histograms of its left side and of all rows."""

    first: Found
    left: NDArray[np.int64]
    whole: NDArray[np.int64]

    def children(self, column: int) -> list[NDArray[np.int64]]:
        """[label, bin] of one column, of both sides."""
        left = self.left[:, column]
        return [left, self.whole[:, column] - left]


def _second(finder: Finder, asked: _Asked, least: int) -> _Pair | None:
    """The best common question of the two children, if it is right on more than `least`."""
    best = _second_threshold(finder, asked, least)
    if best is not None:
        least = best.right
    for column in sorted(finder.bins.categories):
        if column != asked.first.column:
            found = _second_set(finder, asked, column, least)
            if found is not None:
                best, least = found, found.right
    return best


def _second_threshold(finder: Finder, asked: _Asked, least: int) -> _Pair | None:
    bins, found = finder.bins, np.zeros(3, dtype=np.int64)
    totals = asked.left[:, 0].sum(axis=1), asked.whole[:, 0].sum(axis=1)
    layout = bins.n_bins, bins.has_missing, bins.ordered
    right = kernels.best_common_threshold(asked.left, asked.whole, *totals, *layout, asked.first.column, found)
    return _paired(asked, finder.threshold(asked.whole, *found.tolist())) if right > least else None


def _second_set(finder: Finder, asked: _Asked, column: int, least: int) -> _Pair | None:
    """For given labels of the four leaves a category belongs where they are right on more of it; all labels are tried.

    That finds the best of all sets.
    """
    here = asked.children(column)
    sets = _sets_by_labels(*here) if len(here[0]) <= MOST_LABELS else np.eye(here[0].shape[1], dtype=np.bool_)
    right = np.zeros(len(sets), dtype=np.int64)
    for child in here:
        left = np.stack([child @ on_left for on_left in sets])
        right += left.max(axis=1) + (child.sum(axis=1) - left).max(axis=1)
    index = best_of(right, np.ones(len(sets), dtype=np.bool_), least)
    if index < 0:
        return None
    return _paired(asked, finder.members(asked.whole, column, sets[index].copy()))


def _sets_by_labels(first: NDArray[np.int64], second: NDArray[np.int64]) -> NDArray[np.bool_]:
    """[set, bin]: for every two pairs of labels, the categories that are heavier in the one than in the other."""
    weight = (first[:, None] + second[None, :]).reshape(-1, first.shape[1])
    return np.array([weight[a] > weight[b] for a, b in combinations(range(len(weight)), 2)])


def _paired(asked: _Asked, found: Found) -> _Pair:
    sums = []
    for child in asked.children(found.column):
        left = child[:, found.on_left].sum(axis=1)
        sums += [left, child.sum(axis=1) - left]
    leaves = np.stack(sums)
    return _Pair(int(leaves.max(axis=1).sum()), found, leaves)


def all_splits(finder: Finder, search: Search) -> Iterator[Found]:
    """Every threshold, and every set of the categories of a column (single ones where there are many)."""
    whole = search.sums.histogram[:, : len(search.bins.n_bins)]
    cuts = Cuts.of(search.bins)
    for index in np.flatnonzero(cuts.valid):
        yield finder.threshold(whole, *cuts.place(int(index)))
    for column in sorted(search.bins.categories):
        for on_left in _sets(search, column):
            yield finder.members(whole, column, on_left)


def _sets(search: Search, column: int) -> Iterator[NDArray[np.bool_]]:
    """A set and its complement are one question."""
    levels = np.arange(search.bins.n_bins[column])
    if search.bins.has_missing[column]:
        levels = np.append(levels, search.bins.missing)
    many = len(levels) > MOST_LEVELS
    sizes = [1] if many else range(1, len(levels))
    for size in sizes:
        for chosen in combinations(levels.tolist() if many else levels[1:].tolist(), size):
            on_left = np.zeros(search.bins.width, dtype=np.bool_)
            on_left[list(chosen)] = True
            yield on_left
