"""Trees that predict a number: grown by the edge of MedBoost over bins of the target, or by least squares.

The edge is that of eq. 1 of the LocMedBoost paper: the weight on which a side can be within eps, less the rest. Leaves
then predict what is best for their rows exactly, not for the bins of their targets.
"""

from dataclasses import dataclass
from functools import cached_property
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils._param_validation import Interval, StrOptions

from electorate import kernels
from electorate.exact import Ints, ordered_sum
from electorate.families.monotone import clipped, read_signs
from electorate.families.splits import TARGET, Found, SplitFinder, SquaresFinder, by_mean, least_rows
from electorate.families.trees import MAX_FEATURES, Limits, Search, Voter, draw_for, grow_by
from electorate.kernels.layouts import TargetRule

Array = NDArray[np.float64]
WINDOW, DISTANCE, TABLE = 0, 1, 2  # what a side earns: see target_search.hpp
NO_TABLE = np.zeros((0, 0))


@dataclass(frozen=True)
class Earning:
    """What a leaf can earn on each bin of the target, and which value it then predicts.

    reach[k]: the first bin that shares a window with bin k. rate: of the distance. table[value, bin]: of any cost.
    """

    kind: int
    eps: float
    targets: Array  # one per bin of the target, ascending
    reach: Ints
    rate: float
    table: Array
    abstains: bool

    @cached_property
    def away(self) -> Array:
        """The targets less the middle one: sums of these lose no digits where all targets are far from 0."""
        return np.asarray(self.targets - self.targets[len(self.targets) // 2])

    def of_side(self, weights: Ints) -> float:
        edge = float(kernels.side_edge(self.kind, weights, self.reach, self.targets, self.rate, self.table))
        return max(edge, 0.0) if self.abstains else edge

    def most(self, weights: Ints) -> float:
        """What leaves could earn that hold one bin of the target each."""
        if self.kind != TABLE:
            return float(weights.sum())
        each = self.table.max(axis=0)
        return float(ordered_sum(weights * (np.maximum(each, 0.0) if self.abstains else each)))

    def median(self, targets: Array, weights: Ints) -> tuple[float, bool]:
        """The weighted median of a leaf with these sorted targets, and whether the leaf earns by it."""
        so_far = np.cumsum(weights)
        value = float(targets[np.searchsorted(so_far, so_far[-1] / 2)]) if len(targets) else 1.0
        return value, float(ordered_sum(weights * (1 - self.rate * np.abs(targets - value)))) > 0

    def in_table(self, weights: Ints) -> tuple[float, bool]:
        """The best value for a leaf with these weights of the bins of the target, and whether the leaf earns by it."""
        earned = ordered_sum(self.table * weights, axis=1)
        return float(self.targets[np.argmax(earned)]), float(earned.max()) > 0


def windows(targets: Array, eps: float) -> Ints:
    """reach[k]: the first target that is within 2 eps of target k."""
    reach = np.searchsorted(targets, targets - 2 * eps * (1 + 1e-12)).astype(np.int64)
    return np.minimum(reach, np.arange(len(targets)))


@dataclass(kw_only=True)
class TargetFinder(SplitFinder):
    """Finds the split with the largest edge."""

    earning: Earning

    def score_threshold(self, histogram: Ints, totals: Ints, *limits: Any) -> float:
        earning, (*limits_but_found, found) = self.earning, limits
        how = (
            earning.kind,
            earning.reach,
            earning.targets,
            earning.away,
            earning.rate,
            earning.table,
            earning.abstains,
        )
        return float(kernels.best_target_threshold(histogram, totals, *limits_but_found, *how, found))

    def order(self, sums: Ints) -> Ints:
        return by_mean(sums.sum(axis=0), np.arange(len(sums)) @ sums)

    def rise(self, sums: Ints) -> int:
        return super().rise(np.stack([sums.sum(axis=1), sums @ np.arange(sums.shape[1])], axis=1))

    def finer(self, nodes: Any, engine: Any) -> list[Found | None]:
        """The splits with the least squared error of the number of the target's bin."""
        histograms = [node.histogram for node in nodes]
        sums = [np.stack([each.sum(axis=0), np.tensordot(np.arange(len(each)), each, 1)]) for each in histograms]
        return [self.by_squares(node, mine) for node, mine in zip(nodes, sums, strict=True)]

    def value(self, totals: Ints) -> float:
        return self.earning.of_side(totals)

    criterion_number = TARGET

    @property
    def target_rule(self) -> TargetRule:
        e = self.earning
        return TargetRule(e.kind, e.reach, e.targets, e.away, e.rate, e.table, e.abstains)

    def final(self, nodes: Any, engine: Any) -> list[bool]:
        """Whether a node earns all it can."""
        return [self.value(node.totals) >= self.earning.most(node.totals) * (1 - 1e-12) for node in nodes]


class RegressionTrees(BaseEstimator):
    """The family of trees that predict a number, grown greedily, level by level.

    Parameters
    ----------
    max_depth : int or None, default=3
        The most splits on a path; 1: stumps.
    min_samples_leaf : int, default=1
        The fewest rows in a leaf. A row of whole weight k counts k times, after weights that are all even have been
        halved: multiplying all of them by a power of two changes nothing.
    criterion : {"auto", "edge", "squared_error"}, default="auto"
        What a split is chosen by: the edge of MedBoost (eq. 1 of the paper), over at most 64 bins of the target, or
        the squared error. "auto": what the booster is made for.
    max_features : int, float, "sqrt" or None, default=None
        How many columns every split may choose from, drawn by a hash; see `Trees`.
    random_state : int, default=0
        The seed of this hash. It has no effect if `max_features` is None.
    monotonic_cst : array-like of int of shape (n_columns,) or None, default=None
        For each column, 1 if the prediction may only rise with it, -1 if it may only fall, 0 for no constraint; see
        `Trees`.

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
        "max_features": MAX_FEATURES,
        "random_state": [Interval(Integral, 0, None, closed="left")],
        "monotonic_cst": ["array-like", None],
    }

    def __init__(
        self,
        max_depth: int | None = 3,
        *,
        min_samples_leaf: int = 1,
        criterion: str = "auto",
        max_features: float | str | None = None,
        random_state: int = 0,
        monotonic_cst: Any = None,
    ) -> None:
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.criterion = criterion
        self.max_features = max_features
        self.random_state = random_state
        self.monotonic_cst = monotonic_cst

    def limits(self, search: Search) -> Limits:
        draw, signs = draw_for(self, search), read_signs(self.monotonic_cst, search.bins)
        return Limits(self.max_depth, least_rows(self.min_samples_leaf), draw=draw, signs=signs)

    def monotone(self, voter: Voter, values: Array, weights: Ints) -> Array:
        """The values of a tree's leaves, clipped where it has to be monotone."""
        if self.monotonic_cst is None:
            return values
        return clipped(voter.splits, voter.leaves, values, weights, np.asarray(self.monotonic_cst))


@dataclass(frozen=True)
class EdgeTrees:
    """RegressionTrees grown by the edge, for one fit: `best` returns a voter and [leaf, (value, confidence)]."""

    family: RegressionTrees
    earning: Earning
    by_histograms: ClassVar[bool] = True

    def best(self, search: Search, kappa: int) -> tuple[Voter, Array]:
        limits, earning = self.family.limits(search), self.earning
        finder = TargetFinder(search.bins, search.counts, limits.min_samples_leaf, earning=earning)
        voter = grow_by(finder, search, limits)
        engine: Any = search.engine
        tree, outputs = (voter.splits, voter.leaves), np.ones((len(voter.leaves), 2))
        if earning.kind == WINDOW:
            first, last = engine.leaf_windows(*tree, earning.eps).T
            outputs[:, 0] = np.where(np.isnan(first), 1.0, first + 0.5 * (last - first))  # NaN: a leaf without rows
            if earning.abstains:
                near, whole = engine.leaf_near(*tree, outputs[:, 0], earning.eps).T
                outputs[:, 1] = near > whole - near
        elif earning.kind == DISTANCE and not earning.abstains:
            outputs[:, 0] = [1.0 if median is None else median for median in engine.leaf_medians(*tree)]
        else:
            if earning.kind == TABLE:
                found = [earning.in_table(sums) for sums in voter.sums]
                has_rows = engine.leaf_rows(*tree) > 0
            else:
                found = [earning.median(*leaf) for leaf in engine.leaf_targets(*tree).leaves()]
                has_rows = np.ones(len(found), dtype=np.bool_)
            for number, (value, earns) in enumerate(found):
                outputs[number] = value if has_rows[number] else 1.0, earns or not earning.abstains
        outputs[:, 0] = self.family.monotone(voter, outputs[:, 0], voter.sums.sum(axis=1))
        return voter, outputs


@dataclass(frozen=True)
class SquaresTrees:
    """RegressionTrees grown by least squares; targets are summed as shares of the way from low to high."""

    family: RegressionTrees
    low: float
    high: float
    by_histograms: ClassVar[bool] = True

    def best(self, search: Search, kappa: int) -> tuple[Voter, Array]:
        limits = self.family.limits(search)
        voter = grow_by(SquaresFinder(search.bins, search.counts, limits.min_samples_leaf), search, limits)
        sums = voter.sums.astype(np.float64)
        share = np.divide(sums[:, 1], sums[:, 0], out=np.zeros(len(sums)), where=sums[:, 0] > 0)
        value = self.low + np.clip(share, 0.0, 1.0) * (self.high - self.low)
        value = self.family.monotone(voter, value, voter.sums[:, 0])
        return voter, np.stack([value, np.ones(len(value))], axis=1)
