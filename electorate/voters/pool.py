"""A pool: finitely many stumps, fixed before training: a few thresholds per column, and their complements.

The family that QuadBoost's and LPBoost's experiments search: every voter says +1 on one side and -1 on the other. For
MedBoost each side says one of a few values of the target.
"""

import threading
import weakref
from dataclasses import dataclass
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils._param_validation import Interval

from electorate.data.bins import Bins
from electorate.data.targets import TARGET_BINS
from electorate.messages import ROOT, Split
from electorate.theory import complexity
from electorate.theory.complexity import Shape
from electorate.voters.leaves import label_outputs
from electorate.voters.splits import Finder, Found
from electorate.voters.trees import Search, Voter, constant


@dataclass(frozen=True)
class Candidates:
    """The tests of a pool: cut >= 0 is a threshold after that bin, cut -1 a category, `bin`."""

    column: NDArray[np.int64]
    cut: NDArray[np.int64]
    bin: NDArray[np.int64]
    missing_left: NDArray[np.int64]  # of a threshold: 1 or 0

    @classmethod
    def of(cls, bins: Bins, counts: NDArray[np.int64], per_feature: int) -> "Candidates":
        """The thresholds that part a column's sample weight most evenly; its heaviest categories; missing or not."""
        per_feature = min(int(per_feature), int(bins.n_bins.max(initial=1)))  # more would only allocate memory
        parts = [_thresholds(bins, counts, per_feature), _levels(bins, counts, per_feature), _missing(bins)]
        columns = [np.concatenate(arrays) for arrays in zip(*parts, strict=True)]
        order = np.lexsort((columns[2], columns[1], columns[0]))
        return cls(*(column[order] for column in columns))

    def found(self, number: int, finder: Finder, histogram: NDArray[np.int64]) -> Found:
        column, cut = int(self.column[number]), int(self.cut[number])
        if cut >= 0:
            return finder.threshold(histogram, column, cut, int(self.missing_left[number]))
        on_left = np.zeros(finder.bins.width, dtype=np.bool_)
        on_left[self.bin[number]] = True
        return finder.members(histogram, column, on_left)

    def left(self, histogram: NDArray[np.int64]) -> NDArray[np.int64]:
        """[label, test]: the weights on the left."""
        below = np.cumsum(histogram[:, :, :-1], axis=2)[:, self.column, np.maximum(self.cut, 0)]
        missing = histogram[:, self.column, -1] * self.missing_left
        return np.where(self.cut < 0, histogram[:, self.column, self.bin], below + missing)


_LATEST = threading.local()


def candidates(bins: Bins, counts: NDArray[np.int64], per_feature: int) -> Candidates:
    """`Candidates.of`, made once for all rounds of a fit, which share the array of counts."""
    known = getattr(_LATEST, "found", None)
    if known is not None and known[0]() is counts and known[1] == per_feature:
        found: Candidates = known[2]
        return found
    found = Candidates.of(bins, counts, per_feature)
    _LATEST.found = (weakref.ref(counts), per_feature, found)
    return found


class Pool(BaseEstimator):
    """A finite pool of stumps that say +1 and -1, fixed by the bins before training.

    Parameters
    ----------
    per_feature : int, default=10
        The most thresholds of a column: those that part its rows most evenly. Of a column of categories, the heaviest
        ones, each against the rest. A column with missing values has one more test: missing or not.
    complements : bool, default=True
        Whether the pool also holds the complement of every voter. Without, a voter says the second label above its
        threshold (or outside its category) and the first one below; in MedBoost, no smaller value above than below.
    n_values : int, default=10
        In MedBoost and LocMedBoost: how many values a side may say. They are the middles of as many bins of the
        targets, equally heavy; all targets, if there are no more distinct ones. Both sides may say the same value.

    Notes
    -----
    Missing values are with the heavier side of a threshold. Voters say +-1 whatever the booster: real AdaBoost and
    AdaBoost_R on a pool are discrete AdaBoost. For more than two labels each side says one label, never both the same.

    Examples
    --------
    >>> from electorate import AdaBoostClassifier, Pool
    >>> AdaBoostClassifier(Pool(per_feature=5)).estimator
    Pool(per_feature=5)
    """

    fitted_elsewhere: ClassVar[bool] = False
    exhaustive: ClassVar[bool] = True
    says_log_odds: ClassVar[bool] = False
    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012
        "per_feature": [Interval(Integral, 1, None, closed="left")],
        "complements": ["boolean"],
        "n_values": [Interval(Integral, 1, TARGET_BINS, closed="both")],
    }

    def __init__(self, per_feature: int = 10, *, complements: bool = True, n_values: int = 10) -> None:
        self.per_feature = per_feature
        self.complements = complements
        self.n_values = n_values

    def best(self, search: Search) -> Voter:
        histogram = search.sums.histogram[:, : len(search.bins.n_bins)]
        tests = candidates(search.bins, search.counts, self.per_feature)
        if not len(tests.column):
            return constant(search)
        left = tests.left(histogram)
        right = search.sums.totals[:, None] - left
        scores, pairs = self._scores(left, right)
        number, pair = divmod(int(np.argmax(scores)), len(pairs))
        found = tests.found(number, Finder(search.bins, search.counts), histogram)
        split = Split(ROOT, 1, 2, found.column, found.cut, found.on_left)
        said = label_outputs(np.eye(len(left), dtype=np.int64)[list(pairs[pair])])
        return Voter([split], [1, 2], found.sums, said=said)

    def _scores(
        self, left: NDArray[np.int64], right: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], list[tuple[int, int]]]:
        """[test, pair of labels said on the left and on the right]: the weight that is right."""
        labels = range(len(left))
        pairs = [(a, b) for a in labels for b in labels if a < b or (self.complements and a > b)]
        return np.stack([left[a] + right[b] for a, b in pairs], axis=1), pairs

    def constant(self, search: Search) -> Voter:
        return constant(search)

    def outputs(self, voter: Voter, n_rows: int, wanted: str) -> NDArray[np.float64]:
        return label_outputs(voter.sums) if voter.said is None else voter.said

    def log_count(self, n: int, shape: Shape) -> float:
        """The logarithm of a bound on the number of voters."""
        return complexity.log_pool(self.per_feature, self.complements, shape)

    def published(self, n: int, d: int) -> float:
        """sqrt(2 log N / n) for the N voters of d columns of numbers: Massart's bound, as in the QuadBoost paper."""
        return complexity.massart(n, complexity.log_pool(self.per_feature, self.complements, Shape(numeric=d)))


def _thresholds(bins: Bins, counts: NDArray[np.int64], per_feature: int) -> list[NDArray[np.int64]]:
    """Missing values go with the heavier side, as where training saw none: that is no choice of the search."""
    columns = np.flatnonzero(bins.ordered & (bins.n_bins > 1))
    seen = np.cumsum(counts[columns, :-1], axis=1)
    few = bins.n_bins[columns, None] - 1 <= per_feature
    part = np.arange(1, per_feature + 1)
    whole, rest = np.divmod(seen[:, -1:], per_feature + 1)
    wanted = part * whole - (-part * rest) // (per_feature + 1)  # in whole numbers that cannot overflow
    even = np.array([np.searchsorted(row, goal) for row, goal in zip(seen, wanted, strict=True)], dtype=np.int64)
    cut = np.where(few, part - 1, even.reshape(len(columns), per_feature))
    row, place = np.nonzero((np.diff(cut, axis=1, prepend=-1) > 0) & (cut < bins.n_bins[columns, None] - 1))
    at = seen[row, cut[row, place]]
    return [columns[row], cut[row, place], np.zeros_like(row), (at >= seen[row, -1] - at).astype(np.int64)]


def _levels(bins: Bins, counts: NDArray[np.int64], per_feature: int) -> list[NDArray[np.int64]]:
    column, level = [np.empty(0, dtype=np.int64)], [np.empty(0, dtype=np.int64)]
    for j in bins.categories:
        heaviest = np.argsort(-counts[j, : bins.n_bins[j]], kind="stable")[:per_feature]
        column.append(np.full(len(heaviest), j))
        level.append(heaviest)
    columns = np.concatenate(column)
    return [columns, np.full(len(columns), -1), np.concatenate(level), np.zeros_like(columns)]


def _missing(bins: Bins) -> list[NDArray[np.int64]]:
    columns = np.flatnonzero(bins.has_missing & (bins.n_bins > 0))
    cut = np.where(bins.ordered[columns], bins.n_bins[columns] - 1, -1)
    return [columns, cut, np.full(len(columns), bins.missing), np.zeros_like(columns)]
