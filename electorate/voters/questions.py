"""Questions: the best test of one node, from its exact sums: a threshold, or a set of categories.

Ties: the larger score, then the first column (ordered ones before categories), the first cut, missing on the left.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from electorate import kernels
from electorate.data.bins import Bins

CRITERIA = {"edge": 0, "gini": 1, "matsushita": 2}
ANY_ROWS = np.zeros((0, 0), dtype=np.int64)


@dataclass
class Found:
    """A test of one node, and the weight of each label on its two sides."""

    column: int
    cut: int  # -1: by category
    on_left: NDArray[np.bool_]  # by bin
    sums: NDArray[np.int64]  # [side, label]


@dataclass
class Finder:
    """Finds tests over the bins of a table. counts[column, bin]: sample weights; min_rows: on each side."""

    bins: Bins
    counts: NDArray[np.int64]
    criterion: str = "edge"
    min_rows: int = 1
    signed: bool = False  # sums may be negative: those of residuals

    def best(
        self, histogram: NDArray[np.int64], totals: NDArray[np.int64], rows: NDArray[np.int64] = ANY_ROWS
    ) -> Found | None:
        """The best test for sums[label, column, bin], or None if none is better than no test at all."""
        if self.signed:
            return self._most_right(histogram, *lifted(histogram), rows)
        if np.count_nonzero(totals) < 2:
            return None
        if self.criterion == "edge":
            return self._most_right(histogram, histogram, totals, rows)
        return self._purest(histogram, totals, rows)

    def _most_right(
        self,
        histogram: NDArray[np.int64],
        looked_at: NDArray[np.int64],
        totals: NDArray[np.int64],
        rows: NDArray[np.int64],
    ) -> Found | None:
        bins, found = self.bins, np.zeros(3, dtype=np.int64)
        layout = (bins.n_bins, bins.has_missing, bins.ordered)
        most = max(totals.tolist())
        best = None
        weight = kernels.best_threshold(looked_at, totals, *layout, rows, self.min_rows, found)
        if weight > most:
            best, most = self._threshold(histogram, found), weight
        if bins.categories:
            weight = kernels.best_subset(looked_at, *layout, rows, self.min_rows, found)
            if weight > most:
                column, left, right = (int(value) for value in found)
                best = self.members(histogram, column, histogram[left, column] > histogram[right, column])
        return best

    def _purest(self, histogram: NDArray[np.int64], totals: NDArray[np.int64], rows: NDArray[np.int64]) -> Found | None:
        bins, found = self.bins, np.zeros(3, dtype=np.int64)
        number = CRITERIA[self.criterion]
        most = kernels.purity(number, np.zeros_like(totals), totals)
        most += abs(most) * 1e-12  # rounding alone is no gain
        best = None
        score = kernels.purest_threshold(
            histogram, totals, bins.n_bins, bins.has_missing, bins.ordered, rows, self.min_rows, number, found
        )
        if score > most:
            best, most = self._threshold(histogram, found), score
        if bins.categories:
            on_left = np.zeros(bins.width, dtype=np.bool_)
            score = kernels.purest_subset(
                histogram, totals, bins.n_bins, bins.ordered, rows, self.min_rows, number, found, on_left
            )
            if score > most:
                best = self.members(histogram, int(found[0]), on_left)
        return best

    def _threshold(self, histogram: NDArray[np.int64], found: NDArray[np.int64]) -> Found:
        column, cut, missing_left = found.tolist()
        return self.threshold(histogram, column, cut, missing_left)

    def threshold(self, histogram: NDArray[np.int64], column: int, cut: int, missing_left: int) -> Found:
        """The test x <= cut. Where training saw no missing value, the heavier side takes those that come later."""
        on_left = np.empty(self.bins.width, dtype=np.bool_)
        sides = np.empty((2, len(histogram)), dtype=np.int64)
        side = missing_left if self.bins.has_missing[column] else -1
        kernels.send_left(histogram, self.counts[column], column, cut, side, on_left, sides)
        return Found(column, cut, on_left, sides)

    def members(self, histogram: NDArray[np.int64], column: int, on_left: NDArray[np.bool_]) -> Found:
        """A set of categories. Where training saw no missing value, the heavier side takes those that come later."""
        if not self.bins.has_missing[column]:
            seen = self.counts[column]
            on_left[self.bins.missing] = seen[on_left].sum() >= seen[~on_left].sum()
        here = histogram[:, column]
        left = here[:, on_left].sum(axis=1)
        return Found(column, -1, on_left, np.stack([left, here.sum(axis=1) - left]))


def lifted(histogram: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Sums that are not negative, and their totals, by which every test compares with every other as before.

    What is added to a bin is the same for all labels, and the same in all for every column: whatever a voter says of a
    bin, it is right on that much more.
    """
    more = -np.minimum(histogram.min(axis=0), 0)
    every = more.sum(axis=1)
    more[:, 0] += every.max() + 1 - every
    up = histogram + more
    return up, up[:, 0].sum(axis=1)
