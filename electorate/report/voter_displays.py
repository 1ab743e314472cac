"""Displays of the voters of a model: their weights along a path of penalties, and the sizes of trees.

Figure 3 of the DeepBoost paper shows such sizes.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np

from electorate.estimators.certified import refuse_without
from electorate.inspection.shapes import tree_sizes
from electorate.report.drawing import HATCHES, SHADES, Display, finish, named

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
    >>> from electorate import PathDisplay, QuadBoostClassifier
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
    >>> from electorate import AdaBoostClassifier, TreeSizesDisplay, Trees
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
