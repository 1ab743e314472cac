"""Finite sets of voters for MedBoost, searched exhaustively by the edge of eq. 1 of the LocMedBoost paper.

`Pool`: the splits of a pool, with values on both sides from a fixed set. `Columns`: the columns of X are predictions.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from electorate.exact import Ints
from electorate.families.pool import Pool, candidates
from electorate.families.splits import Finder
from electorate.families.trees import Search, Voter, stump
from electorate.messages import ROOT

Array = NDArray[np.float64]
Award = Callable[[Array, Array], Array]
NO_SUMS = np.zeros((2, 0), dtype=np.int64)
ABSTAIN = -1


class PoolOfValues:
    """A `Pool` for MedBoost: each side of a split predicts one of `values`, or abstains."""

    by_histograms: ClassVar[bool] = False

    def __init__(self, family: Pool, values: Array, award: Award, abstains: bool) -> None:
        self.family = family
        self.values = values
        self.award = award
        self.abstains = abstains
        self.most = 0.0  # the largest |award| of any value on any row

    def best(self, search: Search, kappa: int) -> tuple[Voter, Array]:
        """Return the voter with the largest edge; of equal ones the first test, then the lowest values."""
        engine: Any = search.engine
        self.most = self.most or largest(engine.value_ends(self.award, self.values))
        sums = engine.value_sums(self.award, self.values, self.most)
        histogram, totals = sums.histogram[:, : len(search.bins.n_bins)], sums.totals
        tests = candidates(search.bins, search.counts, self.family.per_feature)
        if not len(tests.column):
            value = int(np.argmax(totals))
            if self.abstains and totals[value] <= 0:
                value = ABSTAIN
            return Voter([], [ROOT], NO_SUMS[:1]), self._outputs([value])
        left = tests.left(histogram)
        test, pair = best_pair(left, totals[:, None] - left, self.abstains, self.family.complements)
        found = tests.found(test, Finder(search.bins, search.counts), histogram)
        return replace(stump(found), sums=NO_SUMS), self._outputs(pair)

    def _outputs(self, sides: list[int]) -> Array:
        """[side, (value, confidence)]."""
        return np.array([(0.0, 0.0) if side == ABSTAIN else (float(self.values[side]), 1.0) for side in sides])


def best_pair(left: Ints, right: Ints, abstains: bool, complements: bool) -> tuple[int, list[int]]:
    """Return the test with the largest sum, and the values of its sides. left, right: [value, test].

    Without complements the left side predicts no larger value than the right one. A side that abstains earns 0; it
    comes before all values on the left and after them on the right, so that it goes with any value of the other side.
    """
    n_values, n_tests = left.shape
    nothing = np.zeros((1, n_tests), dtype=np.int64)
    first = 1 if abstains else 0
    if abstains:
        left, right = np.concatenate([nothing, left]), np.concatenate([right, nothing])
    if complements:
        so_far = np.broadcast_to(left.max(axis=0), right.shape)
    else:
        running = np.maximum.accumulate(left, axis=0)
        so_far = running[np.minimum(np.arange(len(right)) + first, len(left) - 1)]
    scores = so_far + right  # [value on the right, test]
    test = int(np.argmax(scores.max(axis=0)))
    b = int(np.argmax(scores[:, test]))
    a = int(np.argmax(left[:, test] == so_far[b, test])) - first
    return test, [ABSTAIN if a < 0 else a, ABSTAIN if b == n_values else b]


@dataclass(frozen=True)
class ColumnPredictor:
    """Predicts the value of a column; abstains where it is missing."""

    column: int
    n_columns: int

    def predict(self, X: Array) -> Array:
        """Return the column; NaN: abstains."""
        return np.array(X[:, self.column], dtype=np.float64)

    @property
    def feature_importances_(self) -> Array:
        return np.eye(1, self.n_columns, self.column)[0]


class ColumnPredictions:
    """`Columns` for MedBoost: each column is a voter."""

    by_histograms: ClassVar[bool] = False

    def __init__(self, X: Array, award: Award) -> None:
        self.X = X
        self.award = award
        self.most = 0.0

    def best(self, search: Search, kappa: int) -> tuple[Voter, Array]:
        """Return the column with the largest edge, of equal ones the first."""
        engine: Any = search.engine
        self.most = self.most or largest(engine.column_ends(self.award))
        sums = engine.column_sums(self.most)
        voter = ColumnPredictor(int(np.argmax(sums)), self.X.shape[1])
        return Voter([], [], NO_SUMS, voter, voter.predict(self.X)), np.zeros((0, 2))


def largest(ends: tuple[float, float]) -> float:
    """The largest |award|; a tiny one where all are 0, as something is divided by it."""
    return max(abs(ends[0]), abs(ends[1]), float(np.finfo(np.float64).tiny))
