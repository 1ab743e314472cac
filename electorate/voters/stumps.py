"""Stumps: one test of one column, each side votes for one label; or, where no test does better, one vote for all.

The search is exhaustive over the bins: every threshold with missing values on either side, and the best
set of categories. Ties: first column (ordered ones before categories), first cut, missing on the left. A test
must beat the vote for all by more than a share of 2^-25 of the weight, unless it is right everywhere: extreme
weights (1000 for one class, 0.0001 for the other) would else buy a test with what is next to nothing to them.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from electorate import kernels
from electorate.data.bins import Bins
from electorate.engines.shard import Sums

LEAST_GAIN_BITS = 25  # one row of 33 million is more


@dataclass(frozen=True)
class Stump:
    """column -1: no test, everything goes left. cut -1: a test by category."""

    column: int
    cut: int
    on_left: NDArray[np.bool_]  # by bin
    labels: tuple[int, int]  # the votes of left and right
    right: int  # weight, on the grid, of the examples whose label it votes for

    @property
    def leaf_of_bin(self) -> NDArray[np.uint8]:
        return (~self.on_left).astype(np.uint8)


class Stumps(BaseEstimator):
    """The family of all stumps over the bins of a table.

    A stump tests whether a column is at most a threshold, or whether it is in a set of categories; missing
    values go to the side that fits better, or to the heavier side if training had none in that column. Each
    side votes for a label. The constant voter is part of the family.

    Examples
    --------
    >>> from electorate import AdaBoostClassifier, Stumps
    >>> AdaBoostClassifier(Stumps()).estimator
    Stumps()
    """

    def best(self, sums: Sums, bins: Bins, counts: NDArray[np.int64]) -> Stump:
        """The stump that is right on the most weight. counts[column, bin]: the sample weights."""
        histogram = sums.histogram[:, : len(bins.n_bins)]
        ordered = bins.ordered
        found = np.zeros(5, dtype=np.int64)
        weight = kernels.best_threshold(histogram, sums.totals, bins.n_bins, bins.has_missing, ordered, found)
        best = self._threshold(bins, counts, found, weight) if weight >= 0 else None
        if bins.categories:
            weight = kernels.best_subset(histogram, bins.n_bins, bins.has_missing, ordered, found)
            if weight > (best.right if best else -1):
                best = self._subset(histogram, bins, counts, found, weight)
        heaviest, total = int(np.argmax(sums.totals)), int(sums.totals.sum())
        constant = int(sums.totals[heaviest])
        if best is None or (best.right - constant <= total >> LEAST_GAIN_BITS and best.right < total):
            everywhere = np.ones(bins.width, dtype=np.bool_)
            return Stump(-1, -1, everywhere, (heaviest, heaviest), constant)
        return best

    def _threshold(self, bins: Bins, counts: NDArray[np.int64], found: NDArray[np.int64], weight: int) -> Stump:
        column, cut, missing_left, left, right = (int(value) for value in found)
        on_left = np.arange(bins.width) <= cut
        on_left[bins.missing] = missing_left
        self._place_missing(bins, counts, column, on_left)
        return Stump(column, cut, on_left, (left, right), int(weight))

    def _subset(
        self,
        histogram: NDArray[np.int64],
        bins: Bins,
        counts: NDArray[np.int64],
        found: NDArray[np.int64],
        weight: int,
    ) -> Stump:
        column, left, right = (int(value) for value in found[:3])
        on_left = histogram[left, column] > histogram[right, column]
        self._place_missing(bins, counts, column, on_left)
        return Stump(column, -1, on_left, (left, right), int(weight))

    def _place_missing(self, bins: Bins, counts: NDArray[np.int64], column: int, on_left: NDArray[np.bool_]) -> None:
        """Where training saw no missing value, the heavier side takes those that come later."""
        if not bins.has_missing[column]:
            seen = counts[column]
            on_left[bins.missing] = seen[on_left].sum() >= seen[~on_left].sum()
