"""Displays of a weighted median: voters with their quantiles (the LocMedBoost paper's Figure 2), and intervals.

Both are drawn along one number. Lines differ by dashes, which remain in grey.
"""

from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import narwhals.stable.v2 as nw
import numpy as np
from scipy.sparse import issparse

from electorate.data.column_views import floats_of
from electorate.data.sparse_format import check_sparse
from electorate.estimators.guarantees import refuse_without
from electorate.exact import UNITS, Floats
from electorate.model.median import Votes
from electorate.report.drawing import Display, finish, plain
from electorate.training.lazy_inputs import refuse_lazy_for

Target = tuple[float, float, float] | None  # x, y, eps
POINTS = 200  # along a feature
MOST_VOTERS = 40  # drawn
MEDIANS = "a MedBoostRegressor or LocMedBoostRegressor"


@dataclass(eq=False, repr=False)
class QuantilesDisplay(Display):
    """The outputs of voters along a number, the median of the vote f_0+, and its quantiles f_rho- and f_rho+.

    Parameters
    ----------
    x : ndarray
    predictions : ndarray
        [point, voter].
    low, middle, high : ndarray
    rho : float
    target : (x, y, eps), optional
        A target with its tube: the vote is rho-robust and eps-precise there if both quantiles are inside.
    name : str, default="x"

    Attributes
    ----------
    ax_, figure_ : after ``plot``

    Examples
    --------
    >>> import numpy as np
    >>> from electorate import MedBoostRegressor
    >>> from electorate.report import QuantilesDisplay
    >>> X = np.linspace(0, 6, 200)[:, None]
    >>> model = MedBoostRegressor(n_estimators=10).fit(X, np.sin(X[:, 0]))
    >>> QuantilesDisplay.from_estimator(model, X, 0, rho=0.2).rho
    0.2
    """

    x: Any
    predictions: Any
    low: Any
    middle: Any
    high: Any
    _: KW_ONLY
    rho: float
    target: Target = None
    name: str = "x"

    def __post_init__(self) -> None:
        for name in ("x", "predictions", "low", "middle", "high"):
            setattr(self, name, np.asarray(getattr(self, name), dtype=np.float64))

    @classmethod
    def from_voters(cls, x: Any, predictions: Any, steps: Any = None, *, rho: float, **more: Any) -> Self:
        """Return a display of voters with the confidence 1, from their outputs; steps: their weights, else equal."""
        predictions = np.ascontiguousarray(predictions, dtype=np.float64)
        weights = np.ones(predictions.shape[1]) if steps is None else np.asarray(steps, dtype=np.float64)
        units = np.rint(weights / weights.sum() * UNITS).astype(np.int64)[None]
        votes = Votes(predictions, units, np.full(len(predictions), float(units.sum())))
        quantiles = votes.quantiles(rho, False), votes.quantiles(0.0, True), votes.quantiles(rho, True)
        return cls(x, predictions, *quantiles, rho=rho, **more)

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, feature: int | str, *, rho: float = 0.25, ax: Any = None) -> Self:
        """Draw the voters of a fitted MedBoostRegressor along one feature, the others at their middle."""
        refuse_without(estimator, "predict_interval", "QuantilesDisplay", MEDIANS)
        grid, rows, _, name = along(X, feature)
        if not len(estimator.estimators_):
            raise ValueError("QuantilesDisplay: the model has no voters to draw")
        predictions = np.stack([voter.predict(rows) for voter in estimator.estimators_[:MOST_VOTERS]], axis=1)
        low, high = estimator.predict_interval(rows, rho=rho)
        return cls(grid, predictions, low, estimator.predict(rows), high, rho=rho, name=name).plot(ax)

    def _draw(self, ax: Any) -> None:
        voters = ax.plot(self.x, self.predictions, color="0.75", linewidth=0.8)
        voters[0].set_label("voters")
        black = {"color": "black", "linewidth": 1.8}
        ax.plot(self.x, self.high, linestyle=(0, (6, 2)), label=f"f_rho+, rho = {self.rho:g}", **black)
        ax.plot(self.x, self.middle, color="black", linewidth=2.4, label="f_0+, the median")
        ax.plot(self.x, self.low, linestyle=(0, (1.5, 1.5)), label="f_rho-", **black)
        if self.target is not None:
            at, y, eps = self.target
            bar = {"fmt": "o", "color": "black", "capsize": 6, "markersize": 6, "markerfacecolor": "white"}
            ax.errorbar(at, y, yerr=eps, label="y, y - eps to y + eps", zorder=4, **bar)
        finish(ax, plain(self.name), "output", "best")


class IntervalDisplay(Display):
    """The median of a vote and an interval along one feature.

    Parameters
    ----------
    grid, predicted, low, high : ndarray
    label : str
        What the interval is.
    name : str
        Of the feature.
    rows : (values, targets), optional
        Points to draw too.

    Attributes
    ----------
    ax_, figure_ : after ``plot``

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from electorate import MedBoostRegressor
    >>> from electorate.report import IntervalDisplay
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> model = MedBoostRegressor(n_estimators=20).fit(X[:300], y[:300]).calibrate(X[300:], y[300:])
    >>> display = IntervalDisplay.from_estimator(model, X, "bmi", coverage=0.9)
    >>> bool((display.low <= display.predicted).all())
    True
    """

    def __init__(
        self, grid: Any, predicted: Any, low: Any, high: Any, *, label: str, name: str, rows: Any = None
    ) -> None:
        self.grid, self.predicted, self.low, self.high = (
            np.asarray(one, dtype=np.float64) for one in (grid, predicted, low, high)
        )
        self.label, self.name, self.rows = label, name, rows

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        feature: int | str,
        y: Any = None,
        *,
        rho: float | None = None,
        coverage: float | None = None,
        ax: Any = None,
    ) -> Self:
        """Draw the intervals of a fitted MedBoostRegressor or LocMedBoostRegressor.

        Parameters
        ----------
        X : array-like or dataframe
            Rows that show where the features lie: numbers are at their median, others at their most common value.
        feature : position or name of a column of numbers
        y : array-like, optional
            Targets of X, drawn as points; these rows differ in the other features too.
        rho, coverage
            As in ``predict_interval``; without either, rho = 0.25.
        """
        refuse_without(estimator, "predict_interval", "IntervalDisplay", MEDIANS)
        rho = 0.25 if rho is None and coverage is None else rho
        grid, at, values, name = along(X, feature)
        low, high = estimator.predict_interval(at, rho=rho, coverage=coverage)
        label = f"quantiles of the vote, rho = {rho:g}" if rho is not None else f"{coverage:.0%} of new targets"
        rows = None if y is None else (values, np.asarray(y, dtype=np.float64))
        return cls(grid, estimator.predict(at), low, high, label=label, name=name, rows=rows).plot(ax)

    def _draw(self, ax: Any) -> None:
        """Infinite ends are left out."""
        if self.rows is not None:
            ax.plot(*self.rows, linestyle="", marker=".", markersize=3, color="0.6", label="rows", zorder=1)
        known = np.isfinite(self.low) & np.isfinite(self.high)
        low, high = (np.where(known, end, np.nan) for end in (self.low, self.high))
        ax.fill_between(self.grid, low, high, color="0.85", linewidth=0, label=self.label, zorder=0)
        for end in (low, high):
            ax.plot(self.grid, end, color="0.35", linewidth=0.9, zorder=2)
        ax.plot(self.grid, self.predicted, color="black", linewidth=1.9, label="median of the vote", zorder=3)
        finish(ax, plain(self.name), "target", "best")


# ---------------------------------------------------------------- rows along a feature


def along(X: Any, feature: int | str) -> tuple[Floats, Any, Floats, str]:
    """Points along a feature, rows that differ in it only, its values in X, and its name."""
    refuse_lazy_for("a display along a feature", X)
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    if not isinstance(frame, nw.DataFrame):
        if isinstance(feature, str):
            raise ValueError(f"feature={feature!r} names a column, and X has no names: give its position")
        table = np.asarray(check_sparse(X).toarray() if issparse(X) else X, dtype=np.float64)
        grid = _points(table[:, feature], feature)
        rows = np.repeat(np.nanmedian(table, axis=0)[None], POINTS, axis=0)
        rows[:, feature] = grid
        return grid, rows, table[:, feature], f"x{feature}"
    name = feature if isinstance(feature, str) else frame.columns[feature]
    if name not in frame.columns:
        raise ValueError(f"feature={feature!r} is not a column of X: it has {frame.columns}")
    if not frame[name].dtype.is_numeric():
        raise ValueError(f"feature={name!r} holds no numbers: intervals are drawn along numbers")
    values = floats_of(frame[name])
    grid, backend = _points(values, name), frame.implementation
    middle = []  # of every column: the median of numbers, else the commonest value
    for column in (frame[one] for one in frame.columns):
        if column.dtype.is_numeric():
            middle.append(nw.new_series(column.name, [column.median()], nw.Float64, backend=backend))
        else:
            middle.append(column.drop_nulls().mode().head(1))
    number = nw.new_series(name, grid, nw.Float64, backend=backend)
    rows = nw.concat([frame.head(1).select(middle)] * POINTS).with_columns(number).to_native()
    return grid, rows, values, name


def _points(values: Floats, feature: int | str) -> Floats:
    known = values[np.isfinite(values)]
    if not len(known) or known.min() == known.max():
        raise ValueError(f"feature={feature!r} has fewer than two values: there is nothing to draw along")
    return np.linspace(known.min(), known.max(), POINTS)
