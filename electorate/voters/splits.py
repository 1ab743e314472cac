"""Questions: the best test of one node, from its exact sums: a threshold, or a set of categories.

Ties: the larger score, then the first column (ordered ones before categories), the first cut, missing on the left.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from electorate import kernels
from electorate.data.bins import Bins

CRITERIA = {"edge": 0, "gini": 1, "matsushita": 2}
MOST_ROWS = 2**62
ANY_ROWS = np.zeros((0, 0), dtype=np.int64)


@dataclass
class Found:
    """A test of one node, and the weight of each label on its two sides."""

    column: int
    cut: int  # -1: by category
    on_left: NDArray[np.bool_]  # by bin
    sums: NDArray[np.int64]  # [side, label]
    gains: bool = True  # False: chosen among tests that gain nothing by themselves


@dataclass
class Tests:
    """Makes tests over the bins of a table. counts[column, bin]: sample weights."""

    bins: Bins
    counts: NDArray[np.int64]

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
        return Found(column, -1, on_left, sides_of(histogram, column, on_left))


def sides_of(histogram: NDArray[np.int64], column: int, on_left: NDArray[np.bool_]) -> NDArray[np.int64]:
    """[side, label]."""
    here = histogram[:, column]
    left = here[:, on_left].sum(axis=1)
    return np.stack([left, here.sum(axis=1) - left])


@dataclass
class Finder(Tests):
    """Finds tests by the labels. min_rows: on each side."""

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
        return self._purest(histogram, totals, rows, self.criterion)

    def finer(self, nodes: Any, engine: Any) -> list[Found | None]:
        """The best tests by a finer criterion than the edge: Gini, or squares of residuals; None if nothing gains."""
        if not nodes or not (self.signed or self.criterion == "edge"):
            return [None] * len(nodes)
        if not self.signed:
            return [self._purest(node.histogram, node.totals, node.rows, "gini") for node in nodes]
        rows = engine.count_rows([node.number for node in nodes])
        return [self._by_squares(node, mine) for node, mine in zip(nodes, rows, strict=True)]

    def _by_squares(self, node: Any, rows: NDArray[np.int64]) -> Found | None:
        sums = np.stack([rows[: node.histogram.shape[1]], node.histogram[1] - node.histogram[0]])
        found = SquaresFinder(self.bins, self.counts, self.min_rows).best(sums, sums[:, 0].sum(axis=1), node.rows)
        return None if found is None else replace(found, sums=sides_of(node.histogram, found.column, found.on_left))

    def value(self, totals: NDArray[np.int64]) -> float:
        """The criterion of a leaf, larger is better."""
        if self.signed or self.criterion == "edge":
            return float(totals.max())
        return float(kernels.purity(CRITERIA[self.criterion], np.zeros_like(totals), totals))

    def final(self, nodes: Any, engine: Any) -> list[bool]:
        """Whether a node has one label only; of residuals, whether bins have both signs, which no balanced node has."""
        if self.signed:
            return [not node.tied and _both_signs(node.histogram[1] - node.histogram[0]) for node in nodes]
        return [int(np.count_nonzero(node.totals)) < 2 for node in nodes]

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

    def _purest(
        self, histogram: NDArray[np.int64], totals: NDArray[np.int64], rows: NDArray[np.int64], criterion: str
    ) -> Found | None:
        bins, found = self.bins, np.zeros(3, dtype=np.int64)
        number = CRITERIA[criterion]
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


def _both_signs(numbers: NDArray[np.int64]) -> bool:
    return bool(numbers.min() < 0 < numbers.max())


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


@dataclass
class SquaresFinder(Tests):
    """Finds the test with the least squared error, from sums[weight or target, column, bin]."""

    min_rows: int = 1

    def best(
        self, histogram: NDArray[np.int64], totals: NDArray[np.int64], rows: NDArray[np.int64] = ANY_ROWS
    ) -> Found | None:
        bins = self.bins
        most = self.value(totals)
        most += abs(most) * 1e-12  # rounding alone is no gain
        best = None
        found = np.zeros(3, dtype=np.int64)
        layout = (bins.n_bins, bins.has_missing, bins.ordered)
        score = kernels.best_mean_threshold(histogram, totals, *layout, rows, self.min_rows, found)
        if score > most:
            best, most = self.threshold(histogram, *found.tolist()), score
        for column in sorted(bins.categories):
            order = in_order(histogram[:1, column], histogram[1, column])
            for on_left in prefixes(order, bins.width):
                left = histogram[:, column, on_left].sum(axis=1)
                score = self.value(left) + self.value(totals - left)
                if score > most and enough(rows, column, on_left, self.min_rows):
                    best, most = self.members(histogram, column, on_left), score
        return best

    def finer(self, nodes: Any, engine: Any) -> list[Found | None]:
        """There is no finer criterion."""
        return [None] * len(nodes)

    def value(self, totals: NDArray[np.int64]) -> float:
        """The part of the squares that a leaf explains by its mean."""
        weight, target = float(totals[0]), float(totals[1])
        return target * target / weight if weight > 0 else 0.0

    def final(self, nodes: Any, engine: Any) -> list[bool]:
        """Whether all targets of a node are the same."""
        if not nodes:
            return []
        spans = engine.share_spans([node.number for node in nodes])
        return [bool(low >= high) for low, high in spans]


def in_order(weights: NDArray[np.int64], targets: NDArray[np.int64]) -> NDArray[np.int64]:
    """The categories that weigh something, by the mean of their targets; of equals the first."""
    weight = weights.sum(axis=0)
    present = np.flatnonzero(weight > 0)
    return present[np.argsort(targets[present] / weight[present], kind="stable")]


def prefixes(order: NDArray[np.int64], width: int) -> list[NDArray[np.bool_]]:
    """The sets of the first categories of an order, as masks of bins."""
    masks = []
    on_left = np.zeros(width, dtype=np.bool_)
    for category in order[:-1].tolist():
        on_left[category] = True
        masks.append(on_left.copy())
    return masks


def least_rows(wanted: int) -> int:
    """Return min_samples_leaf as the kernels take it: a 64-bit integer, however large."""
    return min(int(wanted), MOST_ROWS)


def enough(rows: NDArray[np.int64], column: int, on_left: NDArray[np.bool_], min_rows: int) -> bool:
    """Whether both sides have min_rows rows."""
    if not len(rows):
        return True
    held = rows[column, on_left].sum()
    return bool(min(held, rows[column].sum() - held) >= min_rows)
