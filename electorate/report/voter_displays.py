"""Displays of the voters of a model: their weights along a path of penalties, and the sizes of trees.

Figure 3 of the DeepBoost paper shows such sizes.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np

from electorate.estimators.guarantees import refuse_without
from electorate.inspection.shapes import ShapeFunction, deciles_of, shape_functions, shape_parts, tree_sizes
from electorate.report.drawing import HATCHES, SHADES, Display, finish, named, panels, plain

FEW = 5  # voters with a line style of their own
AXES = (("lam", "penalty lam"), ("alpha_max", "largest weight alpha_max"), ("n_estimators", "rounds"))
MANY = 14  # sizes; beyond, not every one is named on the axis


class PathDisplay(Display):
    """The weights of all voters of a pool along a path of QuadBoost; the largest have their own lines.

    The axis shows the quantity that varies along the path: lam, alpha_max or the rounds.

    Parameters
    ----------
    path : as ``QuadBoostClassifier.path`` gives it
    names : sequence of str, optional
        Of the voters of the pool, in its order.

    Attributes
    ----------
    ax_, figure_ : after ``plot``

    Examples
    --------
    >>> from electorate import QuadBoostClassifier
    >>> from electorate.report import PathDisplay
    >>> from electorate.simulate import XD6
    >>> X, y = XD6(noise=0.1).sample(100, random_state=0)
    >>> model = QuadBoostClassifier(penalty="l1", reweight="cyclic", n_estimators=200)
    >>> len(PathDisplay.from_estimator(model, X, y, n_values=5).path.lam)
    5
    """

    def __init__(self, path: Any, names: Sequence[str] | None = None) -> None:
        if len(path.lam) < 2:
            raise ValueError("a path needs two points or more: give more values")
        n = path.weights.shape[1]
        if names is not None and len(names) != n:
            raise ValueError(f"names: {len(names)} were given for {n} voters")
        self.path = path
        self.names = [f"voter {j}" for j in range(n)] if names is None else [str(name) for name in names]

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, y: Any, *, n_values: int = 50, ax: Any = None) -> Self:
        """The path of a QuadBoostClassifier over its pool, fitted to X and y here."""
        refuse_without(estimator, "path", "PathDisplay", "a QuadBoostClassifier")
        path = estimator.path(X, y, n_values=n_values)
        names = getattr(X, "columns", ())  # where the columns are the voters, they have these names
        are_voters = type(estimator.estimator).__name__ == "Columns" and len(names) == path.weights.shape[1]
        return cls(path, names if are_voters else None).plot(ax)

    @property
    def varies(self) -> str:
        """The quantity that varies along the path."""
        return next((name for name, _ in AXES if len(np.unique(getattr(self.path, name))) > 1), "lam")

    def _draw(self, ax: Any) -> None:
        at, weights = getattr(self.path, self.varies), self.path.weights
        heaviest = np.argsort(-np.abs(weights).max(axis=0), kind="stable")
        others = heaviest[FEW:][np.any(weights[:, heaviest[FEW:]] != 0, axis=0)]
        if len(others):
            ax.plot(at, weights[:, others], color="0.78", linewidth=0.7, zorder=1)
        self._draw_curves([(self.names[j], at, weights[:, j]) for j in heaviest[:FEW].tolist()])
        ax.axhline(0.0, color="0.6", linewidth=0.6, zorder=0)
        ax.set_xscale("log")
        if self.varies == "lam":
            ax.invert_xaxis()  # from the empty model on
        finish(ax, dict(AXES)[self.varies], "weight")


class TreeSizesDisplay(Display):
    """The distribution of the sizes of trees: the number of nodes, with leaves, of every distinct voter.

    Parameters
    ----------
    sizes : mapping of names to arrays of integers
        Nodes of every tree of each model.

    Attributes
    ----------
    ax_, figure_ : after ``plot``

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from electorate import AdaBoostClassifier, Trees
    >>> from electorate.report import TreeSizesDisplay
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = AdaBoostClassifier(Trees(2), n_estimators=5).fit(X, y)
    >>> int(TreeSizesDisplay.from_estimator(model).sizes["AdaBoostClassifier"].max())
    7
    """

    def __init__(self, sizes: Mapping[str, Any]) -> None:
        self.sizes = {name: np.asarray(found, dtype=np.int64) for name, found in sizes.items()}
        if not any(len(found) for found in self.sizes.values()):
            raise ValueError("there are no trees to count")

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None) -> Self:
        return cls({type(estimator).__name__: tree_sizes(estimator)}).plot(ax)

    @classmethod
    def from_estimators(cls, estimators: Mapping[str, Any], *, ax: Any = None) -> Self:
        return cls({name: tree_sizes(model) for name, model in estimators.items()}).plot(ax)

    def _draw(self, ax: Any) -> None:
        """Bars beside each other where there are several models."""
        met = np.unique(np.concatenate(list(self.sizes.values())))
        apart = float(np.diff(met).min(initial=2))
        width = 0.8 * apart / len(self.sizes)
        for k, (name, found) in enumerate(self.sizes.items()):
            counts = [int(np.sum(found == size)) for size in met]
            at = met - 0.4 * apart + (k + 0.5) * width
            look = {"color": SHADES[k % len(SHADES)], "hatch": HATCHES[k % len(HATCHES)], "edgecolor": "0.15"}
            ax.bar(at, counts, width, label=named(name), linewidth=0.6, **look)
        if len(met) <= MANY:
            ax.set_xticks(met)
        ax.set_xlim(met[0] - apart, met[-1] + apart)
        ax.yaxis.get_major_locator().set_params(integer=True)
        finish(ax, "nodes of a tree", "trees", "best" if len(self.sizes) > 1 else None)


# ---------------------------------------------------------------- shapes

WIDTH = 14  # characters of a category
MANY_CATEGORIES = 12  # categories that are drawn, the strongest


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
    >>> from electorate import AdaBoostClassifier
    >>> from electorate.report import ShapeDisplay
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
        """Draw these columns of a fitted model of stumps, or those that matter most.

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
    strongest = np.argsort(-np.abs(values), kind="stable")[:MANY_CATEGORIES]
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
