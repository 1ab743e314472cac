"""The display of shape functions of stump ensembles: what each column adds to the vote.

The sum of all of them, and the constant, is the decision of the model.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np

from electorate.estimators.certified import refuse_without
from electorate.inspection.shapes import ShapeFunction, deciles_of, shape_functions, shape_parts
from electorate.report.drawing import SHADES, finish, panels, plain

WIDTH = 14  # characters of a category
MANY = 12  # categories that are drawn, the strongest


class ShapeDisplay:
    """One panel per column: the shape function as a staircase, or a bar per category.

    Parameters
    ----------
    shapes : list of ShapeFunction
        As of :func:`shape_functions`.
    about : int, default=0
        With more than two classes, the position in ``classes_`` of the class to draw.
    deciles : mapping of columns to arrays, optional
        Values of numeric columns to mark below the staircase, to show where the rows are.

    Attributes
    ----------
    axes_, figure_ : after ``plot``

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from electorate import AdaBoostClassifier, ShapeDisplay
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> display = ShapeDisplay.from_estimator(AdaBoostClassifier().fit(X, y), most=2)
    >>> len(display.axes_)
    2
    """

    axes_: list[Any]
    figure_: Any

    def __init__(
        self, shapes: Sequence[ShapeFunction], about: int = 0, deciles: Mapping[int, Any] | None = None
    ) -> None:
        if not shapes:
            raise ValueError("no column to draw: no stump tests any of them")
        self.shapes = list(shapes)
        self.about = about
        self.deciles = dict(deciles or {})

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any = None, *, columns: Sequence[str] | None = None, most: int = 6, label: Any = None
    ) -> Self:
        """Of a fitted model of stumps: these columns, or those that matter most.

        X: rows that decide what matters; those columns matter whose part of the vote differs most from row to row. The
        deciles of the rows are marked. Without rows, those that can move the vote farthest.
        label: of more than two classes, the one whose votes are drawn.
        """
        refuse_without(estimator, "classes_", "ShapeDisplay", "classifiers of stumps")
        about, deciles = _place(estimator, label), {}
        if X is None:
            shapes = shape_functions(estimator)[1]
        else:
            shapes, added = shape_parts(estimator, X)
            added = added if added.ndim == 2 else added[about]
            deciles = deciles_of(estimator, X, shapes)
            shapes = [shapes[k] for k in np.argsort(-added.std(axis=0), kind="stable").tolist()]
        if columns is None:
            return cls(shapes[:most], about, deciles).plot()
        by_name = {shape.name: shape for shape in shapes}
        for name in columns:
            if name not in by_name:
                raise ValueError(f"columns: no stump tests {name!r}")
        return cls([by_name[name] for name in columns], about, deciles).plot()

    def plot(self, axes: Sequence[Any] | None = None) -> Self:
        """Draw into the given axes, one per column, or into a new figure."""
        n = len(self.shapes)
        axes = panels(self, n, min(n, 3), 3.0) if axes is None else axes
        if len(axes) != n:
            raise ValueError(f"axes: {len(axes)} were given for {n} columns")
        self.axes_ = list(axes)
        self.figure_ = self.axes_[0].figure
        for place, (panel, shape) in enumerate(zip(self.axes_, self.shapes, strict=True)):
            values = shape.values if shape.values.ndim == 1 else shape.values[self.about]
            if shape.levels is None:
                _staircase(panel, shape, values, self.deciles.get(shape.column))
            else:
                _bars(panel, shape, values)
            if shape.had_missing:
                missing = float(shape.missing if np.ndim(shape.missing) == 0 else shape.missing[self.about])
                panel.axhline(missing, color="0.4", linestyle=(0, (2, 2)), linewidth=1.2, label="missing")
                panel.legend(loc="best", frameon=False, fontsize="x-small")
            panel.axhline(0.0, color="0.85", linewidth=0.8, zorder=0)
            finish(panel, plain(shape.name, 28), "added to f" if place == 0 else "", None)
            panel.tick_params(labelsize="small")
        return self


def _staircase(panel: Any, shape: ShapeFunction, values: Any, deciles: Any) -> None:
    edges = shape.edges[np.isfinite(shape.edges)]
    if not len(edges):
        panel.axhline(values[0], color="0.0", linewidth=1.6)
        panel.set_xticks([])
        return
    beyond = 0.08 * (float(edges[-1] - edges[0]) or 1.0)
    seen = edges if deciles is None else np.concatenate([edges, deciles])
    ends = np.concatenate([[seen.min() - beyond], edges, [seen.max() + beyond]])
    if deciles is not None:
        panel.vlines(deciles, 0, 0.04, color="0.35", linewidth=0.9, transform=panel.get_xaxis_transform())
    panel.stairs(values[: len(edges) + 1], ends, baseline=None, color="0.0", linewidth=1.6)
    panel.locator_params(axis="x", nbins=4)


def _bars(panel: Any, shape: ShapeFunction, values: Any) -> None:
    """The strongest categories, from the lowest to the highest."""
    assert shape.levels is not None
    strongest = np.argsort(-np.abs(values), kind="stable")[:MANY]
    order = strongest[np.argsort(values[strongest], kind="stable")]
    panel.bar(np.arange(len(order)), values[order], color=SHADES[2], edgecolor="0.15", linewidth=0.6)
    names = [plain(shape.levels[k], WIDTH) for k in order.tolist()]
    panel.set_xticks(np.arange(len(order)), names, rotation=60, ha="right", rotation_mode="anchor")


def _place(model: Any, label: Any) -> int:
    known = model.classes_.tolist()
    if len(known) == 2:
        if label is not None:
            raise ValueError("label is for more than two classes: with two, f is for the second")
        return 0
    if label is None:
        raise ValueError(f"label: of the classes {', '.join(map(repr, known[:6]))}, give the one whose votes to draw")
    if label not in known:
        raise ValueError(f"label={label!r} is not among the classes of the model")
    return int(known.index(label))
