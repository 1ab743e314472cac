"""The regularisation path of QuadBoost: the weights of all voters of a pool against the penalty.

What varies along the path is what stands on the axis: lam, alpha_max or the rounds.
"""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from electorate.report.drawing import axes, finish, lines, named

FEW = 5  # voters that are told apart
AXES = (("lam", "penalty lam"), ("alpha_max", "largest weight alpha_max"), ("n_estimators", "rounds"))


class PathDisplay:
    """Weights along a path, those of the heaviest voters told apart.

    Parameters
    ----------
    path : as ``QuadBoostClassifier.path`` gives it
    names : sequence of str, optional
        Of the voters of the pool, in its order.

    Attributes
    ----------
    ax_, figure_ : after ``plot``
    """

    ax_: Any
    figure_: Any

    def __init__(self, path: Any, names: Sequence[str] | None = None) -> None:
        if len(path.lam) < 2:
            raise ValueError("a path of one point is no line: give more values")
        n = path.weights.shape[1]
        if names is not None and len(names) != n:
            raise ValueError(f"names: {len(names)} were given for {n} voters")
        self.path = path
        self.names = [f"voter {j}" for j in range(n)] if names is None else [str(name) for name in names]

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, y: Any, *, n_values: int = 50, ax: Any = None) -> Self:
        """The path of a QuadBoostClassifier over its pool, fitted to X and y here."""
        path = estimator.path(X, y, n_values=n_values)
        return cls(path, _names(estimator, X, path.weights.shape[1])).plot(ax)

    @property
    def varies(self) -> str:
        """What changes along the path."""
        return next((name for name, _ in AXES if len(np.unique(getattr(self.path, name))) > 1), "lam")

    def plot(self, ax: Any = None) -> Self:
        self.ax_ = axes(self, ax)
        self.figure_ = self.ax_.figure
        at, weights = getattr(self.path, self.varies), self.path.weights
        heaviest = np.argsort(-np.abs(weights).max(axis=0), kind="stable")
        others = heaviest[FEW:][np.any(weights[:, heaviest[FEW:]] != 0, axis=0)]
        if len(others):
            self.ax_.plot(at, weights[:, others], color="0.78", linewidth=0.7, zorder=1)
        for j, style in zip(heaviest[:FEW].tolist(), lines(), strict=False):
            self.ax_.plot(at, weights[:, j], label=named(self.names[j]), **style)
        self.ax_.axhline(0.0, color="0.6", linewidth=0.6, zorder=0)
        self.ax_.set_xscale("log")
        if self.varies == "lam":
            self.ax_.invert_xaxis()  # from the empty model on
        finish(self.ax_, dict(AXES)[self.varies], "weight")
        return self


def _names(model: Any, X: Any, n_voters: int) -> list[str] | None:
    """Of columns that vote themselves, their names."""
    names = getattr(X, "columns", None)
    if names is None or type(model.estimator).__name__ != "Columns" or len(names) != n_voters:
        return None
    return [str(name) for name in names]
