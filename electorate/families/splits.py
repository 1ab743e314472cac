"""The best split of one node, from its exact sums: a threshold, or a set of categories.

Ties: the larger score, then the first column (ordered ones before categories), the first cut, missing on the left.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from electorate import exact as special
from electorate import kernels
from electorate.data.bins import Bins
from electorate.exact import Ints
from electorate.kernels.layouts import ColumnLayout, TargetRule
from electorate.messages import StoredHistogram, histogram_here

CRITERIA = {"edge": 0, "gini": 1, "matsushita": 2}
TARGET, SQUARES = 3, 4  # the others of subtrees.hpp
MOST_ROWS = 2**62
NO_TARGET_RULE = TargetRule(0, np.empty(0, dtype=np.int64), np.empty(0), np.empty(0), 0.0, np.empty((0, 0)), False)
ANY_ROWS = np.zeros((0, 0), dtype=np.int64)
NO_NUMBERS = np.empty(0, dtype=np.int64)


@dataclass
class Found:
    """A split of one node, and the weight of each label on its two sides."""

    column: int
    cut: int  # -1: by category
    on_left: NDArray[np.bool_]  # by bin
    sums: Ints  # [side, label]
    gains: bool = True  # False: chosen among splits that gain nothing by themselves


@dataclass
class SplitFinder:
    """Finds the best split of a node. counts[column, bin]: sample weights; min_rows: the fewest rows on a side.

    A subclass has `value(totals)`, the criterion of a leaf, and `score_threshold`, the best threshold by it.
    """

    bins: Bins
    counts: Ints
    min_rows: int = 1

    @property
    def criterion_number(self) -> int | None:
        """Return the number of the criterion in subtrees.hpp; None: it does not have this criterion."""
        return None

    @property
    def target_rule(self) -> TargetRule | None:
        """What subtrees.hpp needs for numeric targets."""
        return None

    def among(self, columns: NDArray[np.bool_]) -> Self:
        """A finder that uses only these columns."""
        return replace(self, bins=self.bins.among(columns))

    def threshold(self, histogram: Ints, column: int, cut: int, missing_left: int) -> Found:
        """The split x <= cut. Where training had no missing values, those that come later go to the heavier side."""
        on_left = np.empty(self.bins.width, dtype=np.bool_)
        sides = np.empty((2, len(histogram)), dtype=np.int64)
        side = missing_left if self.bins.has_missing[column] else -1
        kernels.send_left(histogram, self.counts[column], column, cut, side, on_left, sides)
        return Found(column, cut, on_left, sides)

    def members(self, histogram: Ints, column: int, on_left: NDArray[np.bool_]) -> Found:
        """A set of categories. Where training had no missing values, those that come later go to the heavier side."""
        if not self.bins.has_missing[column]:
            seen = self.counts[column]
            on_left[self.bins.missing] = seen[on_left].sum() >= seen[~on_left].sum()
        return Found(column, -1, on_left, sides_of(histogram, column, on_left))

    def best(self, histogram: Ints, totals: Ints, rows: Ints = ANY_ROWS) -> Found | None:
        """The best split for sums[label, column, bin], or None if none is better than no split."""
        bins, found = self.bins, np.zeros(3, dtype=np.int64)
        most = self.value(totals)
        most += abs(most) * 1e-12  # rounding alone is no gain
        best = None
        layout = (bins.n_bins, bins.has_missing, bins.ordered)
        score = self.score_threshold(histogram, totals, *layout, rows, self.min_rows, found)
        if score > most:
            best, most = self.threshold(histogram, *found.tolist()), score
        for column in bins.split_by_sets:
            on_left = np.zeros(bins.width, dtype=np.bool_)
            for category in self.order(histogram[:, column])[:-1].tolist():
                on_left[category] = True
                left = histogram[:, column, on_left].sum(axis=1)
                score = self.value(left) + self.value(totals - left)
                if score > most and enough(rows, column, on_left, self.min_rows):
                    best, most = self.members(histogram, column, on_left.copy()), score
        return best

    def best_of_all(self, nodes: Sequence[tuple[Any, Ints, Ints]], engine: Any) -> list[Found | None]:
        """`best` of every node, given by its histogram, which an engine may store, its totals and its rows."""
        found = None
        if nodes and not any(len(rows) for _, _, rows in nodes):
            histograms, totals = [node[0] for node in nodes], [node[1] for node in nodes]
            found = self.best_of_stored(histograms, totals) or self.best_at_once(histograms, totals, engine)
        if found is not None:
            return found
        return [self.best(histogram_here(histogram), *about) for histogram, *about in nodes]

    def best_of_stored(self, histograms: Sequence[Any], totals: Sequence[Ints]) -> list[Found | None] | None:
        """Return `best` for histograms that an engine stores and can search there; None where it cannot."""
        return None

    def best_at_once(self, histograms: Sequence[Any], totals: Sequence[Ints], engine: Any) -> list[Found | None] | None:
        """Return `best` in one call; None where the nodes are to be searched one by one."""
        return None

    def value(self, totals: Ints) -> float:
        """The criterion of a leaf, larger is better."""
        raise NotImplementedError

    def score_threshold(self, histogram: Ints, totals: Ints, *limits: Any) -> float:
        """Write the best threshold into the last of `limits`, and return its criterion; as the kernels do."""
        raise NotImplementedError

    def order(self, sums: Ints) -> Ints:
        """The categories with weight, by the mean of their targets; sums[label, bin]."""
        raise NotImplementedError

    def rise(self, sums: Ints) -> int:
        """The sign of the mean on the right less that on the left; sums[side, label], or [side, weight or target]."""
        (a, b), (c, d) = sums.tolist()
        return (a * d > b * c) - (a * d < b * c)

    def finer(self, nodes: Any, engine: Any) -> list[Found | None]:
        """The best split of each node by a finer criterion, or None where no split separates anything."""
        return [None] * len(nodes)

    def final(self, nodes: Any, engine: Any) -> list[bool]:
        """Whether each node stays a leaf without a search: nothing can gain, or it is not balanced."""
        raise NotImplementedError

    def by_squares(self, node: Any, sums: Ints) -> Found | None:
        """The split of a node with the least squared error; sums[weight or target, column, bin]."""
        found = SquaresFinder(self.bins, self.counts, self.min_rows).best(sums, sums[:, 0].sum(axis=1), node.rows)
        return None if found is None else replace(found, sums=sides_of(node.histogram, found.column, found.on_left))


def sides_of(histogram: Ints, column: int, on_left: NDArray[np.bool_]) -> Ints:
    """[side, label]."""
    here = histogram[:, column]
    left = here[:, on_left].sum(axis=1)
    return np.stack([left, here.sum(axis=1) - left])


@dataclass
class Finder(SplitFinder):
    """Finds splits by the labels."""

    criterion: str = "edge"
    signed: bool = False  # sums may be negative: those of residuals

    def best(self, histogram: Ints, totals: Ints, rows: Ints = ANY_ROWS) -> Found | None:
        if self.signed:
            return self._most_right(histogram, *lifted(histogram), rows)
        if np.count_nonzero(totals) < 2:
            return None
        if self.criterion == "edge":
            return self._most_right(histogram, histogram, totals, rows)
        return self._purest(histogram, totals, rows, self.criterion)

    def best_of_stored(self, histograms: Sequence[Any], totals: Sequence[Ints]) -> list[Found | None] | None:
        bins, number = self.bins, self.criterion_number
        if number is None or bins.split_by_sets or not all(isinstance(each, StoredHistogram) for each in histograms):
            return None
        layout = (bins.n_bins, bins.has_missing, bins.ordered)
        best = histograms[0].best_thresholds(histograms, number, layout)
        if best is None:
            return None
        sides = np.stack([best.left, np.stack(totals) - best.left], axis=1)
        on_left = np.arange(bins.width) <= best.cut[:, None]
        seen = np.cumsum(self.counts[best.column, :-1], axis=1)
        seen_left = seen[np.arange(len(seen)), best.cut]
        heavier = seen_left >= seen[:, -1] - seen_left
        on_left[:, -1] = np.where(bins.has_missing[best.column], best.missing_left == 1, heavier)
        found = zip(best.column.tolist(), best.cut.tolist(), on_left, sides, strict=True)
        return [
            Found(*split) if score > self._to_beat(mine) else None
            for split, score, mine in zip(found, best.scores.tolist(), totals, strict=True)
        ]

    def best_at_once(self, histograms: Sequence[Any], totals: Sequence[Ints], engine: Any) -> list[Found | None] | None:
        bins, number = self.bins, self.criterion_number
        if number is None or bins.split_by_sets or not engine.searches_at_once(len(histograms)):
            return None
        columns = ColumnLayout(bins.n_bins, bins.has_missing, bins.ordered, NO_NUMBERS, self.counts)
        best = engine.search_nodes(histograms, np.stack(totals), columns, number)
        return [
            None if column < 0 else Found(column, cut, on_left, sides)
            for column, cut, on_left, sides in zip(*best, strict=True)
        ]

    def _to_beat(self, totals: Ints) -> Any:
        """What a leaf without a split scores; infinite where it has one label only."""
        if np.count_nonzero(totals) < 2:
            return np.inf
        if self.criterion == "edge":
            return int(totals.max())
        most = kernels.purity(CRITERIA[self.criterion], np.zeros_like(totals), totals)
        return most + abs(most) * 1e-12  # rounding alone is no gain

    @property
    def criterion_number(self) -> int | None:
        return None if self.signed else CRITERIA[self.criterion]

    def finer(self, nodes: Any, engine: Any) -> list[Found | None]:
        """Search by a finer criterion: by Gini where the criterion is the edge, by squares for residuals."""
        if not nodes or not (self.signed or self.criterion == "edge"):
            return [None] * len(nodes)
        if not self.signed:
            return [self._purest(node.histogram, node.totals, node.rows, "gini") for node in nodes]
        every = engine.count_rows([node.number for node in nodes])
        sums = [
            np.stack([rows[: node.histogram.shape[1]], node.histogram[1] - node.histogram[0]])
            for node, rows in zip(nodes, every, strict=True)
        ]
        return [self.by_squares(node, mine) for node, mine in zip(nodes, sums, strict=True)]

    def value(self, totals: Ints) -> float:
        if self.signed or self.criterion == "edge":
            return float(totals.max())
        return float(kernels.purity(CRITERIA[self.criterion], np.zeros_like(totals), totals))

    def final(self, nodes: Any, engine: Any) -> list[bool]:
        """Whether a node has one label only; of residuals, whether bins have both signs, as in no balanced node."""
        if not self.signed and self.criterion == "matsushita":
            return [int(np.count_nonzero(node.totals)) < 2 for node in nodes]
        if not self.signed:
            return [bool(kernels.is_pure(node.totals)) for node in nodes]
        apart = [node.histogram[1] - node.histogram[0] for node in nodes]
        return [not node.tied and bool(each.min() < 0 < each.max()) for node, each in zip(nodes, apart, strict=True)]

    def _most_right(self, histogram: Ints, positive: Ints, totals: Ints, rows: Ints) -> Found | None:
        bins, found = self.bins, np.zeros(3, dtype=np.int64)
        layout = (bins.n_bins, bins.has_missing, bins.ordered)
        most, best = max(totals.tolist()), None
        weight = kernels.best_threshold(positive, totals, *layout, rows, self.min_rows, found)
        if weight > most:
            best, most = self.threshold(histogram, *found.tolist()), weight
        if bins.split_by_sets and kernels.best_subset(positive, *layout, rows, self.min_rows, found) > most:
            column, left, right = found.tolist()
            best = self.members(histogram, column, histogram[left, column] > histogram[right, column])
        return best

    def _purest(self, histogram: Ints, totals: Ints, rows: Ints, criterion: str) -> Found | None:
        bins, found, number = self.bins, np.zeros(3, dtype=np.int64), CRITERIA[criterion]
        most, best = kernels.purity(number, np.zeros_like(totals), totals), None
        most += abs(most) * 1e-12  # rounding alone is no gain
        layout, limit = (bins.n_bins, bins.has_missing, bins.ordered), (rows, self.min_rows, number, found)
        score = kernels.purest_threshold(histogram, totals, *layout, *limit)
        if score > most:
            best, most = self.threshold(histogram, *found.tolist()), score
        if bins.split_by_sets:
            on_left = np.zeros(bins.width, dtype=np.bool_)
            if kernels.purest_subset(histogram, totals, bins.n_bins, bins.ordered, *limit, on_left) > most:
                best = self.members(histogram, int(found[0]), on_left)
        return best


def lifted(histogram: Ints) -> tuple[Ints, Ints]:
    """Sums that are not negative, and their totals, by which all splits compare as before.

    What is added to a bin is the same for all labels, and the same in total for every column: whatever a voter predicts
    for a bin, it is right on that much more.
    """
    more = -np.minimum(histogram.min(axis=0), 0)
    every = more.sum(axis=1)
    more[:, 0] += every.max() + 1 - every
    up = histogram + more
    return up, up[:, 0].sum(axis=1)


class SquaresFinder(SplitFinder):
    """Finds the split with the least squared error, from sums[weight or target, column, bin]."""

    criterion_number = SQUARES
    target_rule = NO_TARGET_RULE

    def score_threshold(self, histogram: Ints, totals: Ints, *limits: Any) -> float:
        return float(kernels.best_mean_threshold(histogram, totals, *limits))

    def order(self, sums: Ints) -> Ints:
        return by_mean(sums[0], sums[1])

    def value(self, totals: Ints) -> float:
        """The part of the squares that a leaf explains by its mean."""
        weight, target = float(totals[0]), float(totals[1])
        return target * target / weight if weight > 0 else 0.0

    def final(self, nodes: Any, engine: Any) -> list[bool]:
        """Whether all targets of a node are the same."""
        spans = engine.share_spans([node.number for node in nodes]) if nodes else []
        return [bool(low >= high) for low, high in spans]


def by_mean(weights: Ints, targets: Ints) -> Ints:
    """The categories that weigh something, by the mean of their targets; of equals the first."""
    present = np.flatnonzero(weights > 0)
    return present[np.argsort(targets[present] / weights[present], kind="stable")]


def least_rows(wanted: int) -> int:
    """Return min_samples_leaf or min_samples_split as the kernels take it: a 64-bit integer, however large."""
    return min(int(wanted), MOST_ROWS)


def enough(rows: Ints, column: int, on_left: NDArray[np.bool_], min_rows: int) -> bool:
    """Whether both sides have min_rows rows."""
    if not len(rows):
        return True
    left = rows[column, on_left].sum()
    return bool(min(left, rows[column].sum() - left) >= min_rows)


# ---------------------------------------------------------------- all thresholds at once


@dataclass(frozen=True)
class Cuts:
    """Thresholds: [column, cut, side]; side 0: missing values go left, 1: right. columns: the ordered ones."""

    columns: NDArray[np.int64]
    valid: NDArray[np.bool_]

    @classmethod
    def of(cls, bins: Bins) -> "Cuts":
        """Return the thresholds that `kernels.best_threshold` goes through."""
        columns = np.flatnonzero(bins.ordered)
        n_bins, missing = bins.n_bins[columns, None], bins.has_missing[columns, None]
        cut = np.arange(n_bins.max(initial=0))
        right = cut < np.where(missing, n_bins, n_bins - 1)
        left = missing & (cut < n_bins - 1)
        return cls(columns, np.stack([left, right], axis=2))

    def left(self, histogram: NDArray[np.int64]) -> NDArray[np.int64]:
        """[label, column, cut, side]: the weights on the left, from a node's [label, column, bin]."""
        mine = histogram[:, self.columns]
        below = np.cumsum(mine[:, :, : self.valid.shape[1]], axis=2)
        return np.stack([below + mine[:, :, -1:], below], axis=3)

    def place(self, index: int) -> tuple[int, int, int]:
        """Column, cut and missing_left (1 or 0) of a position in the flattened arrays."""
        column, cut, side = np.unravel_index(index, self.valid.shape)
        return int(self.columns[column]), int(cut), 1 - int(side)


def levels_of(bins: Bins, column: int) -> list[int]:
    """The bins of a column of categories, the missing one among them where training had missing values."""
    return [*range(bins.n_bins[column]), *([bins.missing] if bins.has_missing[column] else [])]


def best_of(scores: NDArray[np.float64] | NDArray[np.int64], valid: NDArray[np.bool_], least: float) -> int:
    """The first position of the largest score above `least`, or -1."""
    if not np.any(valid):
        return -1
    lowest = -np.inf if scores.dtype.kind == "f" else np.iinfo(np.int64).min
    masked = np.where(valid, scores, lowest)
    index = int(np.argmax(masked))
    return index if masked.ravel()[index] > least else -1


# ---------------------------------------------------------------- outputs of leaves

FEW = 100  # outputs of leaves that take less time in Python than in NumPy


def leaf_outputs(kind: str, sums: NDArray[np.int64], smoothing: float) -> NDArray[np.float64]:
    """outputs[leaf, output] from sums[leaf, label]. smoothing: added to each share of the total weight."""
    if kind == "label":
        return label_outputs(sums)
    share = sums / max(int(sums.sum()), 1) + smoothing
    if kind == "log_odds":
        return log_odds_outputs(share)
    n_labels, total = share.shape[1], special.ordered_sum(share, axis=1)[:, None]
    p = np.divide(share, total, out=np.full_like(share, 1 / n_labels), where=total > 0)
    return p[:, 1:] - p[:, :1] if n_labels == 2 else p - 1 / n_labels  # "gentle": p(+) - p(-), or p_k - 1/K


def label_outputs(sums: NDArray[np.int64]) -> NDArray[np.float64]:
    """The heaviest label of each leaf (of equals, the first): h = +-1, or 1 for one of K labels."""
    if sums.shape[1] == 2 and len(sums) <= FEW:
        return np.array([[1.0 if second > first else -1.0] for first, second in sums.tolist()])
    if sums.shape[1] == 2:
        return np.where(sums[:, 1] > sums[:, 0], 1.0, -1.0)[:, None]
    outputs = np.zeros(sums.shape)
    outputs[np.arange(len(sums)), np.argmax(sums, axis=1)] = 1.0
    return outputs


def log_odds_outputs(share: NDArray[np.float64]) -> NDArray[np.float64]:
    """Half the log-odds; for K > 2 SAMME.R's (K-1) (log p_k - mean log p). 0 for a leaf without weight."""
    n_labels = share.shape[1]
    with np.errstate(invalid="ignore"):
        log = special.log(share)
        centred = log - special.ordered_sum(log, axis=1)[:, None] / n_labels
        outputs = 0.5 * (log[:, 1:] - log[:, :1]) if n_labels == 2 else (n_labels - 1) * centred
    outputs[share.sum(axis=1) == 0] = 0.0
    return np.asarray(outputs)
