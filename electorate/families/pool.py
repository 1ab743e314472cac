"""A pool: finitely many stumps, fixed before training: a few thresholds per column, and their complements.

The family that QuadBoost's and LPBoost's experiments search: every voter is +1 on one side and -1 on the other. For
MedBoost each side predicts one of a few values of the target.
"""

import threading
import weakref
from dataclasses import dataclass
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval

from electorate.data.bins import Bins
from electorate.data.targets import TARGET_BINS
from electorate.families.splits import Finder, Found, label_outputs
from electorate.families.trees import BinFamily, Search, Voter, constant, stump
from electorate.theory import complexity
from electorate.theory.complexity import Shape


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
        return finder.members(histogram, column, np.arange(finder.bins.width) == self.bin[number])

    def left(self, histogram: NDArray[np.int64]) -> NDArray[np.int64]:
        """[label, test]: the weights on the left."""
        below = np.cumsum(histogram[:, :, :-1], axis=2)[:, self.column, np.maximum(self.cut, 0)]
        missing = histogram[:, self.column, -1] * self.missing_left
        return np.where(self.cut < 0, histogram[:, self.column, self.bin], below + missing)


_LATEST = threading.local()


def candidates(bins: Bins, counts: NDArray[np.int64], per_feature: int) -> Candidates:
    """`Candidates.of`, made once for all rounds of a fit, which share the array of counts."""
    cached = getattr(_LATEST, "found", None)
    if cached is None or cached[0]() is not counts or cached[1] != per_feature:
        cached = _LATEST.found = (weakref.ref(counts), per_feature, Candidates.of(bins, counts, per_feature))
    found: Candidates = cached[2]
    return found


class Pool(BinFamily):
    """A finite pool of stumps with outputs +1 and -1, fixed by the bins before training.

    Parameters
    ----------
    per_feature : int, default=10
        The largest number of thresholds per column: those that divide its rows most evenly. For a categorical column,
        the categories with the largest weights, each against the rest.
        A column with missing values has one more test: missing or not.
    complements : bool, default=True
        Whether the pool also contains the complement of every voter. Without it, a voter predicts the second label
        above its threshold (or outside its category) and the first one below; in MedBoost, no smaller value above than
        below.
    n_values : int, default=10
        In MedBoost and LocMedBoost: how many values a side may predict. They are the middles of as many bins of the
        targets, equally heavy; all targets, if there are no more distinct ones. Both sides may predict the same value.

    Notes
    -----
    Missing values go to the side of a threshold with more weight. Outputs are +-1 for every booster: real AdaBoost and
    AdaBoost_R on a pool are discrete AdaBoost. For more than two labels each side has one label, never both the same.

    Examples
    --------
    >>> from electorate import AdaBoostClassifier, Pool
    >>> AdaBoostClassifier(Pool(per_feature=5)).estimator
    Pool(per_feature=5)
    """

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
        labels = range(len(left))
        pairs = [(a, b) for a in labels for b in labels if a < b or (self.complements and a > b)]
        scores = np.stack([left[a] + right[b] for a, b in pairs], axis=1)  # [test, labels left and right]
        number, pair = divmod(int(np.argmax(scores)), len(pairs))
        found = tests.found(number, Finder(search.bins, search.counts), histogram)
        return stump(found, label_outputs(np.eye(len(left), dtype=np.int64)[list(pairs[pair])]))

    def outputs(self, voter: Voter, n_rows: int, wanted: str) -> NDArray[np.float64]:
        return label_outputs(voter.sums) if voter.outputs is None else voter.outputs

    def log_count(self, n: int, shape: Shape) -> float:
        """The logarithm of a bound on the number of voters."""
        return complexity.log_pool(self.per_feature, self.complements, shape)

    def published(self, n: int, d: int) -> float:
        """sqrt(2 log N / n) for the N voters of d columns of numbers: Massart's bound, as in the QuadBoost paper."""
        return complexity.massart(n, complexity.log_pool(self.per_feature, self.complements, Shape(numeric=d)))


def _thresholds(bins: Bins, counts: NDArray[np.int64], per_feature: int) -> list[NDArray[np.int64]]:
    """Missing values go with the heavier side, as where training had none: the search does not choose."""
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
    heaviest = {j: np.argsort(-counts[j, : bins.n_bins[j]], kind="stable")[:per_feature] for j in bins.split_by_sets}
    columns = np.repeat(np.array(list(heaviest), dtype=np.int64), [len(levels) for levels in heaviest.values()])
    levels = np.concatenate([np.empty(0, dtype=np.int64), *heaviest.values()])
    return [columns, np.full(len(columns), -1), levels, np.zeros_like(columns)]


def _missing(bins: Bins) -> list[NDArray[np.int64]]:
    columns = np.flatnonzero(bins.has_missing & (bins.n_bins > 0))
    cut = np.where(bins.ordered[columns], bins.n_bins[columns] - 1, -1)
    return [columns, cut, np.full(len(columns), bins.missing), np.zeros_like(columns)]
