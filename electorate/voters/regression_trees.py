"""Trees that say a number: grown by the edge of MedBoost over bins of the target, or by least squares.

The edge is that of eq. 1 of the LocMedBoost paper: the weight on which a side can be within eps, less the rest. Leaves
then say what is best for their rows exactly, not for the bins of their targets.
"""

from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils._param_validation import Interval, StrOptions

from electorate import kernels
from electorate.voters.splits import (
    ANY_ROWS,
    Found,
    SquaresFinder,
    Tests,
    enough,
    in_order,
    least_rows,
    prefixes,
    sides_of,
)
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

    def most(self, weights: NDArray[np.int64]) -> float:
        """What leaves could earn that hold one bin of the target each."""
        each = self.table.max(axis=0) if self.kind == TABLE else np.ones(len(weights))
        return float((np.maximum(each, 0.0) if self.abstains else each) @ weights.astype(np.float64))

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
class TargetFinder(Tests):
    """Finds the test with the largest edge."""

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
            best, most = self.threshold(histogram, *found.tolist()), edge
        for column in sorted(bins.categories):
            places = np.arange(len(totals))
            order = in_order(histogram[:, column], places @ histogram[:, column])
            for on_left in prefixes(order, bins.width):
                left = histogram[:, column, on_left].sum(axis=1)
                edge = earning.of_side(left) + earning.of_side(totals - left)
                if edge > most and enough(rows, column, on_left, self.min_rows):
                    best, most = self.members(histogram, column, on_left), edge
        return best

    def finer(self, nodes: Any, engine: Any) -> list[Found | None]:
        """The tests with the least squared error of the number of the target's bin."""
        return [self._by_squares(node) for node in nodes]

    def _by_squares(self, node: Any) -> Found | None:
        places = np.arange(len(node.totals))
        sums = np.stack([node.histogram.sum(axis=0), np.tensordot(places, node.histogram, 1)])
        totals = np.array([node.totals.sum(), places @ node.totals])
        found = SquaresFinder(self.bins, self.counts, self.min_rows).best(sums, totals, node.rows)
        return None if found is None else replace(found, sums=sides_of(node.histogram, found.column, found.on_left))

    def value(self, totals: NDArray[np.int64]) -> float:
        return self.earning.of_side(totals)

    def final(self, nodes: Any, engine: Any) -> list[bool]:
        """Whether a node earns all it can."""
        return [self.value(node.totals) >= self.earning.most(node.totals) * (1 - 1e-12) for node in nodes]


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
        return Limits(self.max_depth, least_rows(self.min_samples_leaf))


@dataclass(frozen=True)
class EdgeTrees:
    """What a round asks of RegressionTrees grown by the edge: a voter, and [leaf, (value, confidence)]."""

    family: RegressionTrees
    earning: Earning
    by_histograms: ClassVar[bool] = True

    def best(self, search: Search, kappa: int) -> tuple[Voter, Array]:
        limits = self.family.limits()
        finder = TargetFinder(search.bins, search.counts, self.earning, limits.min_samples_leaf)
        voter = grow_by(finder, search, limits)
        return voter, self._outputs(voter, search)

    def _outputs(self, voter: Voter, search: Search) -> Array:
        outputs = np.ones((len(voter.leaves), 2))
        engine: Any = search.engine
        tree = voter.splits, voter.leaves
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
        limits = self.family.limits()
        finder = SquaresFinder(search.bins, search.counts, limits.min_samples_leaf)
        voter = grow_by(finder, search, limits)
        sums = voter.sums.astype(np.float64)
        share = np.divide(sums[:, 1], sums[:, 0], out=np.zeros(len(sums)), where=sums[:, 0] > 0)
        value = self.low + np.clip(share, 0.0, 1.0) * (self.high - self.low)
        return voter, np.stack([value, np.ones(len(value))], axis=1)
