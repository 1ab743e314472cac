"""Pictures of a vote by weighted median: the LocMedBoost paper's Figure 2, and intervals along one feature.

Matplotlib is imported when a picture is drawn. Lines differ by style as well as by shade, so they survive a grey printer.
"""

from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from electorate.median import Votes

Array = NDArray[np.float64]
POINTS = 200  # along a feature


def figure_2(rho: float = 0.25, eps: float = 0.22, seed: int = 13) -> Any:
    """The paper's Figure 2, for nine straight lines with equal weights and confidences of 1: a Matplotlib figure.

    (a) f_rho-, f_rho+ and the median f_0+ of eq. 7 and 8. (b) The same beside a target: the vote is rho-robust and
    eps-precise there if both quantiles are within eps of it.
    """
    import matplotlib.pyplot as plt

    x = np.linspace(0.0, 1.0, POINTS)
    lines = _lines(x, seed)
    low, middle, high = _quantiles(lines, rho)
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.2), sharey=True, layout="constrained")
    for ax in (left, right):
        ax.plot(x, lines, color="0.75", linewidth=0.8, zorder=1)
        _draw_quantiles(ax, x, low, middle, high)
        ax.set(xlabel="x", xlim=(0, 1))
    left.set_title(f"(a) quantiles of nine voters, rho / c(x) = {rho:g}")
    _label_ends(left, {"f_0+, the median": middle[-1], "f_rho+": high[-1], "f_rho-": low[-1]})
    at = int(0.55 * POINTS)
    target = float((low[at] + high[at]) / 2)
    right.errorbar(x[at], target, yerr=eps, fmt="o", color="black", capsize=6, markersize=5, zorder=4)
    right.annotate("y + eps", (x[at], target + eps), xytext=(8, 4), textcoords="offset points")
    right.annotate("y - eps", (x[at], target - eps), xytext=(8, -12), textcoords="offset points")
    right.set_title("(b) rho-robust and eps-precise at a target y")
    return figure


def _lines(x: Array, seed: int) -> Array:
    """[point, line]"""
    rng = np.random.default_rng(seed)
    return rng.uniform(-0.5, 0.5, 9) + np.outer(x - 0.5, rng.uniform(-1.2, 1.2, 9))


def _quantiles(said: Array, rho: float) -> tuple[Array, Array, Array]:
    """f_rho-, f_0+ and f_rho+ of voters with equal weights."""
    votes = Votes(np.ascontiguousarray(said), np.ones((1, said.shape[1]), dtype=np.int64), np.full(len(said), 9.0))
    return votes.quantiles(rho, False), votes.quantiles(0.0, True), votes.quantiles(rho, True)


def _draw_quantiles(ax: Any, x: Array, low: Array, middle: Array, high: Array) -> None:
    ax.plot(x, high, color="black", linestyle="--", linewidth=1.6, zorder=3)
    ax.plot(x, middle, color="black", linewidth=2.2, zorder=3)
    ax.plot(x, low, color="black", linestyle=":", linewidth=1.8, zorder=3)


def _label_ends(ax: Any, ends: dict[str, float]) -> None:
    """Names to the right of where lines end, apart from each other."""
    span = float(np.diff(ax.get_ylim())[0])
    last = -np.inf
    for name, value in sorted(ends.items(), key=lambda item: item[1]):
        last = max(value, last + 0.06 * span)
        ax.annotate(name, (1.0, last), xytext=(4, 0), textcoords="offset points", va="center", annotation_clip=False)


# ---------------------------------------------------------------- a fitted model


def interval_plot(
    model: Any,
    X: Any,
    feature: int | str,
    y: Any = None,
    *,
    rho: float | None = None,
    coverage: float | None = None,
    ax: Any = None,
) -> Any:
    """The median and an interval of a fitted MedBoost along one feature, the others at their middle: Matplotlib axes.

    Parameters
    ----------
    model : a fitted MedBoostRegressor or LocMedBoostRegressor
    X : array-like or dataframe
        The rows that say where the features lie: numbers stand at their median, others at their commonest value.
    feature : position or name of a column of numbers
    y : array-like, optional
        Targets of the rows of X, drawn as points. They differ in the other features too.
    rho, coverage
        As in `predict_interval`; without either, rho = 0.25.
    ax : Matplotlib axes, optional
    """
    import matplotlib.pyplot as plt

    ax = ax if ax is not None else plt.subplots(figsize=(6.4, 4.2), layout="constrained")[1]
    rho = 0.25 if rho is None and coverage is None else rho
    grid, rows, values, name = _along(X, feature)
    low, high = model.predict_interval(rows, rho=rho, coverage=coverage)
    said = f"{coverage:.0%} of new targets" if coverage is not None else f"quantiles of the vote, rho = {rho:g}"
    if y is not None:
        ax.plot(values, np.asarray(y), linestyle="", marker=".", markersize=3, color="0.6", label="rows", zorder=1)
    known = np.isfinite(low) & np.isfinite(high)
    edge = {"step": None, "color": "0.35", "linewidth": 0.8}
    ax.fill_between(grid, low, high, where=known, color="0.85", zorder=0, label=said)
    for end in (low, high):
        ax.plot(grid, np.where(known, end, np.nan), color=edge["color"], linewidth=edge["linewidth"], zorder=2)
    ax.plot(grid, model.predict(rows), color="black", linewidth=1.8, label="median of the vote", zorder=3)
    ax.set(xlabel=name, ylabel="target", xlim=(grid[0], grid[-1]))
    ax.legend(frameon=False, fontsize="small")
    return ax


def _along(X: Any, feature: int | str) -> tuple[Array, Any, Array, str]:
    """Points along a feature, rows that differ in it only, its values in X, and its name."""
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    if not isinstance(frame, nw.DataFrame):
        table = np.asarray(X, dtype=np.float64)
        if isinstance(feature, str):
            raise ValueError(f"feature={feature!r} names a column, and X has no names: give its position")
        values = table[:, feature]
        grid = _points(values, feature)
        rows = np.repeat(np.nanmedian(table, axis=0)[None], POINTS, axis=0)
        rows[:, feature] = grid
        return grid, rows, values, f"x{feature}"
    name = feature if isinstance(feature, str) else frame.columns[feature]
    if name not in frame.columns:
        raise ValueError(f"feature={feature!r} is not a column of X: it has {frame.columns}")
    if not frame[name].dtype.is_numeric():
        raise ValueError(f"feature={name!r} holds no numbers: intervals are drawn along numbers")
    values = frame[name].cast(nw.Float64).to_numpy()
    grid = _points(values, name)
    one = frame.head(1).select([_middle(frame[column]).alias(column) for column in frame.columns])
    rows = nw.concat([one] * POINTS)
    along = nw.new_series(name, grid, nw.Float64, backend=frame.implementation)
    return grid, rows.with_columns(along).to_native(), values, name


def _middle(column: Any) -> Any:
    """The median of numbers, else the commonest value, as a series of one."""
    if column.dtype.is_numeric():
        return nw.new_series(column.name, [column.median()], nw.Float64, backend=column.implementation)
    return column.drop_nulls().mode(keep="all").head(1)


def _points(values: Array, feature: int | str) -> Array:
    known = values[np.isfinite(values)]
    if not len(known) or known.min() == known.max():
        raise ValueError(f"feature={feature!r} has fewer than two values: there is nothing to draw along")
    return np.linspace(known.min(), known.max(), POINTS)
