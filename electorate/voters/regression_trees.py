"""Trees that say a number: grown by the edge of MedBoost over bins of the target, or by least squares.

The edge is that of eq. 1 of the LocMedBoost paper: the weight on which a side can be within eps, less the rest. Leaves
then say what is best for their rows exactly, not for the bins of their targets.
"""

from dataclasses import dataclass
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils._param_validation import Interval, StrOptions

from electorate import kernels
from electorate.data.bins import Bins
from electorate.voters.questions import ANY_ROWS, Found
from electorate.voters.trees import Limits, Search, Voter, grow_by

Array = NDArray[np.float64]
WINDOW, DISTANCE, TABLE = 0, 1, 2  # what a side earns: see the kernels
NO_TABLE = np.zeros((0, 0))


@dataclass(frozen=True)
class Earning:
    """What a leaf can earn on each bin of the target, and which value it then says.

    reach[k]: the first bin that shares a window with bin k. rate: of the distance. table[value, bin]: of any cost.
    """

    kind: int
    eps: float
    targets: Array  # one per bin of the target, ascending
    reach: NDArray[np.int64]
    rate: float
    table: Array
    abstains: bool

    def of_side(self, weights: NDArray[np.int64]) -> float:
        edge = float(kernels.side_edge(self.kind, weights, self.reach, self.targets, self.rate, self.table))
        return max(edge, 0.0) if self.abstains else edge

    def value(self, targets: Array, weights: NDArray[np.int64], by_bin: NDArray[np.int64]) -> float:
        """The best value for a leaf with these sorted targets; of a cost given by a table, for their bins.

        Windows are found where the rows are.
        """
        if self.kind == DISTANCE:
            so_far = np.cumsum(weights)
            return float(targets[np.searchsorted(so_far, so_far[-1] / 2)])
        return float(self.targets[np.argmax(self.table @ by_bin.astype(np.float64))])


def windows(targets: Array, eps: float) -> NDArray[np.int64]:
    """reach[k]: the first target that is within 2 eps of target k."""
    reach = np.searchsorted(targets, targets - 2 * eps * (1 + 1e-12)).astype(np.int64)
    return np.minimum(reach, np.arange(len(targets)))


@dataclass
class TargetFinder:
    """Finds the test with the largest edge. counts[column, bin]: sample weights."""

    bins: Bins
    counts: NDArray[np.int64]
    earning: Earning
    min_rows: int = 1

    def best(
        self, histogram: NDArray[np.int64], totals: NDArray[np.int64], rows: NDArray[np.int64] = ANY_ROWS
    ) -> Found | None:
        bins, earning, found = self.bins, self.earning, np.zeros(3, dtype=np.int64)
        most = earning.of_side(totals)
        most += abs(most) * 1e-12  # rounding alone is no gain
        best = None
        edge = kernels.best_target_threshold(
            histogram,
            totals,
            bins.n_bins,
            bins.has_missing,
            bins.ordered,
            rows,
            self.min_rows,
            earning.kind,
            earning.reach,
            earning.targets,
            earning.rate,
            earning.table,
            earning.abstains,
            found,
        )
        if edge > most:
            best, most = threshold_of(self, histogram, found), edge
        for column in sorted(bins.categories):
            places = np.arange(len(totals))
            order = in_order(histogram[:, column], places @ histogram[:, column])
            for on_left in prefixes(order, bins.width):
                left = histogram[:, column, on_left].sum(axis=1)
                edge = earning.of_side(left) + earning.of_side(totals - left)
                if edge > most and enough(rows, column, on_left, self.min_rows):
                    best, most = set_of(self, histogram, column, on_left), edge
        return best


@dataclass
class SquaresFinder:
    """Finds the test with the least squared error, from sums[weight or target, column, bin]."""

    bins: Bins
    counts: NDArray[np.int64]
    min_rows: int = 1

    def best(
        self, histogram: NDArray[np.int64], totals: NDArray[np.int64], rows: NDArray[np.int64] = ANY_ROWS
    ) -> Found | None:
        bins = self.bins
        most = float(_explained(*totals.astype(np.float64)))
        most += abs(most) * 1e-12
        best = None
        found = np.zeros(3, dtype=np.int64)
        layout = (bins.n_bins, bins.has_missing, bins.ordered)
        score = kernels.best_mean_threshold(histogram, totals, *layout, rows, self.min_rows, found)
        if score > most:
            best, most = threshold_of(self, histogram, found), score
        for column in sorted(bins.categories):
            order = in_order(histogram[:1, column], histogram[1, column])
            for on_left in prefixes(order, bins.width):
                left = histogram[:, column, on_left].sum(axis=1)
                score = self._score(left, totals)
                if score > most and enough(rows, column, on_left, self.min_rows):
                    best, most = set_of(self, histogram, column, on_left), score
        return best

    def _score(self, left: NDArray[np.int64], totals: NDArray[np.int64]) -> float:
        right = (totals - left).astype(np.float64)
        return float(_explained(*left.astype(np.float64)) + _explained(*right))


def _explained(weight: Any, target: Any) -> Any:
    """What of the squares a side explains by its mean."""
    return np.divide(target * target, weight, out=np.zeros_like(target), where=np.asarray(weight) > 0)


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


def enough(rows: NDArray[np.int64], column: int, on_left: NDArray[np.bool_], min_rows: int) -> bool:
    if not len(rows):
        return True
    held = rows[column, on_left].sum()
    return bool(min(held, rows[column].sum() - held) >= min_rows)


def threshold_of(finder: Any, histogram: NDArray[np.int64], found: NDArray[np.int64]) -> Found:
    column, cut, missing_left = found.tolist()
    on_left = np.empty(finder.bins.width, dtype=np.bool_)
    sides = np.empty((2, len(histogram)), dtype=np.int64)
    side = missing_left if finder.bins.has_missing[column] else -1
    kernels.send_left(histogram, finder.counts[column], column, cut, side, on_left, sides)
    return Found(column, cut, on_left, sides)


def set_of(finder: Any, histogram: NDArray[np.int64], column: int, on_left: NDArray[np.bool_]) -> Found:
    """Where training saw no missing value, the heavier side takes those that come later."""
    if not finder.bins.has_missing[column]:
        seen = finder.counts[column]
        on_left[finder.bins.missing] = seen[on_left].sum() >= seen[~on_left].sum()
    here = histogram[:, column]
    left = here[:, on_left].sum(axis=1)
    return Found(column, -1, on_left, np.stack([left, here.sum(axis=1) - left]))


class RegressionTrees(BaseEstimator):
    """The family of trees that say a number, grown greedily, level by level.

    Parameters
    ----------
    max_depth : int or None, default=3
        The most questions on a path; 1: stumps.
    min_samples_leaf : int, default=1
        The fewest rows in a leaf. A row of whole weight k counts k times.
    criterion : {"auto", "edge", "squared_error"}, default="auto"
        What a question is chosen by: the edge of MedBoost (eq. 1 of the paper), over at most 64 bins of the target, or
        the squared error. "auto": what the booster is made for.

    Examples
    --------
    >>> from electorate import MedBoostRegressor, RegressionTrees
    >>> MedBoostRegressor(RegressionTrees(2)).estimator
    RegressionTrees(max_depth=2)
    """

    fitted_elsewhere: ClassVar[bool] = False
    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012
        "max_depth": [Interval(Integral, 1, None, closed="left"), None],
        "min_samples_leaf": [Interval(Integral, 1, None, closed="left")],
        "criterion": [StrOptions({"auto", "edge", "squared_error"})],
    }

    def __init__(self, max_depth: int | None = 3, *, min_samples_leaf: int = 1, criterion: str = "auto") -> None:
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.criterion = criterion

    def limits(self) -> Limits:
        return Limits(self.max_depth, self.min_samples_leaf)


@dataclass(frozen=True)
class EdgeTrees:
    """What a round asks of RegressionTrees grown by the edge: a voter, and [leaf, (value, confidence)]."""

    family: RegressionTrees
    earning: Earning
    by_histograms: ClassVar[bool] = True

    def best(self, search: Search, kappa: int) -> tuple[Voter, Array]:
        finder = TargetFinder(search.bins, search.counts, self.earning, self.family.min_samples_leaf)
        voter = grow_by(finder, search, self.family.limits())
        return voter, self._outputs(voter, search)

    def _outputs(self, voter: Voter, search: Search) -> Array:
        outputs = np.ones((len(voter.leaves), 2))
        engine: Any = search.engine
        tree = voter.questions, voter.leaves
        if self.earning.kind == WINDOW:
            outputs[:, 0] = [_between(window) for window in engine.leaf_windows(*tree, self.earning.eps)]
            if self.earning.abstains:
                near, whole = engine.leaf_near(*tree, outputs[:, 0], self.earning.eps).T
                outputs[:, 1] = near > whole - near
            return outputs
        if self.earning.kind == DISTANCE and not self.earning.abstains:
            outputs[:, 0] = [1.0 if median is None else median for median in engine.leaf_medians(*tree)]
            return outputs
        for number, (targets, weights) in enumerate(engine.leaf_targets(*tree)):
            if len(targets):
                outputs[number, 0] = self.earning.value(targets, weights, voter.sums[number])
            if self.earning.abstains and not self._earns(targets, weights, outputs[number, 0], voter.sums[number]):
                outputs[number, 1] = 0.0
        return outputs

    def _earns(self, targets: Array, weights: NDArray[np.int64], value: float, by_bin: NDArray[np.int64]) -> bool:
        """Whether a leaf gains by saying this at all; of a cost given by a table, on the bins."""
        if self.earning.kind == DISTANCE:
            award = 1 - self.earning.rate * np.abs(targets - value)
            return float(np.sum(weights * award)) > 0
        return float((self.earning.table @ by_bin.astype(np.float64)).max()) > 0


def _between(window: tuple[float, float] | None) -> float:
    """The middle of a window; 1 for a leaf without rows."""
    return 1.0 if window is None else window[0] + 0.5 * (window[1] - window[0])


@dataclass(frozen=True)
class SquaresTrees:
    """The same, grown by least squares; targets are summed as shares of the way from low to high."""

    family: RegressionTrees
    low: float
    high: float
    by_histograms: ClassVar[bool] = True

    def best(self, search: Search, kappa: int) -> tuple[Voter, Array]:
        finder = SquaresFinder(search.bins, search.counts, self.family.min_samples_leaf)
        voter = grow_by(finder, search, self.family.limits())
        sums = voter.sums.astype(np.float64)
        share = np.divide(sums[:, 1], sums[:, 0], out=np.zeros(len(sums)), where=sums[:, 0] > 0)
        value = self.low + np.clip(share, 0.0, 1.0) * (self.high - self.low)
        return voter, np.stack([value, np.ones(len(value))], axis=1)
