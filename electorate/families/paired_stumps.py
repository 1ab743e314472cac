"""Paired stumps, H2 of DeepBoost (section 4): trees of depth two with the same split at both nodes below the root.

The paper's search takes the best stump and then the best common second split; the exhaustive one goes through all first
splits. The two splits are on different columns.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import StrOptions

from electorate import kernels
from electorate.data.bins import Bins
from electorate.families.lookahead import Stuck, balanced, candidates, left_sides
from electorate.families.splits import ANY_ROWS, Cuts, Finder, Found, best_of, levels_of, sides_of
from electorate.families.trees import BinFamily, Search, Voter, constant, stump
from electorate.messages import ROOT, Split
from electorate.theory import complexity
from electorate.theory.complexity import Shape

MOST_LABELS = 6  # beyond it a second split by category is about one of them at a time
MOST_LEVELS = 10  # beyond it so is a first one, in the exhaustive search


@dataclass(frozen=True)
class _First:
    """A first split, and the histograms of its left side and of all rows."""

    found: Found
    left: NDArray[np.int64]
    whole: NDArray[np.int64]

    def children(self, column: int) -> list[NDArray[np.int64]]:
        """[label, 1, bin] of one column, of both sides."""
        left = self.left[:, column, None]
        return [left, self.whole[:, column, None] - left]

    def leaves(self, second: Found) -> NDArray[np.int64]:
        """[leaf, label] of the four leaves below a common second split."""
        return np.concatenate([sides_of(child, 0, second.on_left) for child in self.children(second.column)])


class PairedStumps(BinFamily):
    """The family of trees of depth two with the same split at both nodes of depth one, on two different columns.

    Parameters
    ----------
    search : {"greedy", "exhaustive"}, default="greedy"
        "greedy", the paper's: the best stump, then the best common second split. "exhaustive": the best pair of all,
        with one exchange per first split, so for small tables; sets of categories are all tried as first splits up to
        10 levels, single ones beyond.

    Notes
    -----
    A pair is chosen by the weight that it classifies correctly. If no second split helps, the voter is the stump; if
    no stump helps, it is the constant. If no column alone separates the labels, as in XOR, the greedy search
    tries up to 256 first splits, the middle cuts of all columns first. With more than six labels a second split by
    category is about one of them at a time.

    Examples
    --------
    >>> from electorate import AdaBoostClassifier, PairedStumps
    >>> AdaBoostClassifier(PairedStumps(search="exhaustive")).estimator
    PairedStumps(search='exhaustive')
    """

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
        """Whether all pairs are tried; of two columns with very many categories not all sets are."""
        many = [j for j in bins.split_by_sets if bins.n_bins[j] + bins.has_missing[j] > MOST_LEVELS]
        return self.exhaustive and len(many) < 2

    def best(self, search: Search) -> Voter:
        finder = Finder(search.bins, search.counts, signed=search.signed)
        alone = finder.best(search.sums.histogram, search.sums.totals)
        least = int(search.sums.totals.max()) if alone is None else int(alone.sums.max(axis=1).sum())
        best = constant(search) if alone is None else stump(alone)
        for found, left in self._firsts(finder, search, alone):
            first = _First(found, left, search.sums.histogram)
            second = _second(finder, first, least)
            if second is not None:
                common, sums = (second.column, second.cut, second.on_left), first.leaves(second)
                splits = [*stump(found).splits, Split(1, 3, 4, *common), Split(2, 5, 6, *common)]
                best, least = Voter(splits, [3, 4, 5, 6], sums), int(sums.max(axis=1).sum())
        return best

    def _firsts(self, finder: Finder, search: Search, alone: Found | None) -> Iterator[tuple[Found, NDArray[np.int64]]]:
        """First splits, each with the histogram of its left side."""
        if self.search == "greedy" and alone is None:
            root = Stuck(ROOT, search.sums.histogram, search.sums.totals, ANY_ROWS, 2, False)
            tried = candidates(finder, root) if balanced(finder, search.engine, root) else []
            sides = left_sides(search.engine, [(root, found) for found in tried])
            yield from ((found, left) for found, (left, _) in zip(tried, sides, strict=True))
            return
        for found in [alone] if self.search == "greedy" and alone is not None else all_splits(finder, search):
            yield found, search.engine.look(stump(found).splits)[0]  # unlike a split, one histogram only

    def log_count(self, n: int, shape: Shape) -> float:
        """A provable bound on the logarithm of the number of labelings of n rows."""
        return complexity.log_paired_stumps(n, shape)

    def published(self, n: int, d: int) -> float:
        """The complexity of the DeepBoost paper, eq. 8."""
        return complexity.published_paired_stumps(n, d)


def _second(finder: Finder, first: _First, least: int) -> Found | None:
    """The best common split of the two children, if its leaves are right on more than `least`.

    For given labels of the four leaves a category belongs where they are right on more of it. All labels are tried,
    which finds the best of all sets.
    """
    bins, found = finder.bins, np.zeros(3, dtype=np.int64)
    totals = first.left[:, 0].sum(axis=1), first.whole[:, 0].sum(axis=1)
    layout = bins.n_bins, bins.has_missing, bins.ordered
    best = None
    if kernels.best_common_threshold(first.left, first.whole, *totals, *layout, first.found.column, found) > least:
        best = finder.threshold(first.whole, *found.tolist())
        least = int(first.leaves(best).max(axis=1).sum())
    for column in bins.split_by_sets:
        if column == first.found.column:
            continue
        children = [child[:, 0] for child in first.children(column)]
        sets = np.eye(bins.width, dtype=np.bool_)
        if len(first.left) <= MOST_LABELS:  # for every two pairs of labels, the categories that are heavier in the one
            weight = (children[0][:, None] + children[1][None, :]).reshape(-1, bins.width)
            sets = np.array([weight[a] > weight[b] for a, b in combinations(range(len(weight)), 2)])
        right = np.zeros(len(sets), dtype=np.int64)
        for child in children:
            left = np.stack([child @ on_left for on_left in sets])
            right += left.max(axis=1) + (child.sum(axis=1) - left).max(axis=1)
        index = best_of(right, np.ones(len(sets), dtype=np.bool_), least)
        if index >= 0:
            best = finder.members(first.whole, column, sets[index].copy())
            least = int(first.leaves(best).max(axis=1).sum())
    return best


def all_splits(finder: Finder, search: Search) -> Iterator[Found]:
    """Every threshold, and every set of the categories of a column, which is one with its complement.

    Of a column with more than MOST_LEVELS categories, single ones.
    """
    bins, whole = search.bins, search.sums.histogram[:, : len(search.bins.n_bins)]
    cuts = Cuts.of(bins)
    for index in np.flatnonzero(cuts.valid):
        yield finder.threshold(whole, *cuts.place(int(index)))
    for column in bins.split_by_sets:
        for on_left in category_sets(bins, column):
            yield finder.members(whole, column, on_left)


def category_sets(bins: Bins, column: int) -> NDArray[np.bool_]:
    """[set, bin]: every set of the categories of a column, up to complements; single ones of many."""
    levels = levels_of(bins, column)
    many = len(levels) > MOST_LEVELS
    sizes = [1] if many else range(1, len(levels))
    chosen = [members for size in sizes for members in combinations(levels if many else levels[1:], size)]
    sets = np.zeros((len(chosen), bins.width), dtype=np.bool_)
    for number, members in enumerate(chosen):
        sets[number, list(members)] = True
    return sets
