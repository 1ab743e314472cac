"""Predictions of all candidates for rows that their models had not seen: a comparison is a function of this table."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from electorate.comparison.metrics import Scored
from electorate.exact import Bools, Floats, Ints

RARE_ROWS = 50  # of a class with fewer rows, a draw has as many as the table


@dataclass(frozen=True)
class OutOfFold:
    """Predictions of every candidate for the rows that all of them were tested on.

    A candidate is an algorithm with a setting and a number of rounds. scores: [candidate, row, output] as those of
    `Scored`: decisions (one column for two classes and for regression) or logarithms of probabilities. target: class
    codes, or numbers. n_classes: 0 for regression. fold: the fold that tested each row. baseline: the candidate that
    predicts the same for all rows (its scores are the logarithms of the class shares, or their log-odds), or None.
    stackable: [candidate]. weight: of the rows, or None. group: rows of a group are drawn together. ordered: the folds
    are in the order of time, so that what is chosen for a fold depends on earlier folds only.
    """

    scores: Floats
    target: NDArray[Any]
    n_classes: int
    fold: Ints
    baseline: int | None
    stackable: Bools
    weight: Floats | None = None
    group: Ints | None = None
    ordered: bool = False

    @property
    def n_candidates(self) -> int:
        return len(self.scores)

    @property
    def n_rows(self) -> int:
        return len(self.target)

    @cached_property
    def codes(self) -> Ints:
        return self.target.astype(np.int64)

    @cached_property
    def share(self) -> Floats:
        """Weights with the mean 1."""
        if self.weight is None:
            return np.ones(self.n_rows)
        relative = self.weight / np.max(self.weight)  # the sum of the weights may overflow or underflow
        return np.asarray(relative / np.mean(relative))

    @cached_property
    def unit(self) -> Ints:
        """What is drawn: the group of each row, or the row itself."""
        if self.group is None:
            return np.arange(self.n_rows)
        return np.asarray(np.unique(self.group, return_inverse=True)[1], dtype=np.int64)

    @cached_property
    def strata(self) -> list[Ints]:
        """Units that are drawn among themselves: those with the same rarest class, where a class is rare."""
        n_units = int(self.unit.max()) + 1
        counts = np.bincount(self.codes, minlength=self.n_classes) if self.n_classes else np.array([self.n_rows])
        if np.min(counts[counts > 0]) >= RARE_ROWS or not self.n_classes:
            return [np.arange(n_units)]
        rank = np.empty(self.n_classes, dtype=np.int64)
        rank[np.argsort(counts, kind="stable")] = np.arange(self.n_classes)
        rarest = np.full(n_units, self.n_classes)
        np.minimum.at(rarest, self.unit, rank[self.codes])
        return [np.flatnonzero(rarest == r) for r in np.unique(rarest)]

    def draw(self, n_draws: int, rng: np.random.Generator) -> Floats:
        """[draw, row]: how often each row is drawn, with replacement, as many units as there are."""
        counts = np.empty((n_draws, self.n_rows))
        times = np.empty(int(self.unit.max()) + 1)
        for one_draw in counts:
            for units in self.strata:
                times[units] = np.bincount(rng.integers(0, len(units), len(units)), minlength=len(units))
            one_draw[:] = times[self.unit]
        return counts

    def scored(self, scores: Floats, rows: Any = slice(None)) -> Scored:
        """Calibrated scores of some rows, to be measured."""
        weight = None if self.weight is None else self.share[rows]
        return Scored(self.target[rows], scores[rows], self.n_classes, weight=weight)
