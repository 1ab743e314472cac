"""Pictures against rounds: errors and what is proved of them, and the cost that VadaBoost lowers.

Both take plain numbers per round; for fitted models they find them in `history_`.
"""

import math
from collections.abc import Mapping
from typing import Any, Self

import numpy as np

from electorate.inspection.margins import log_mean
from electorate.report.drawing import Floats, axes, finish, lines, named, plain

Rounds = Mapping[str, Any]  # name -> one number per round


class BoundDisplay:
    """Bounds against rounds, beside what they are about.

    Parameters
    ----------
    bounds, observed : mappings of names to arrays with one number per round
    what : str, default="training error"
        What both are about, for the axis.

    Attributes
    ----------
    ax_, figure_, lines_ : after ``plot``

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from electorate import AdaBoostClassifier, BoundDisplay
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> display = BoundDisplay.from_estimator(AdaBoostClassifier(n_estimators=20).fit(X, y))
    >>> list(display.bounds)
    ['product of the normalisers', 'exp(-sum of edge² / 2)']
    """

    ax_: Any
    figure_: Any
    lines_: list[Any]

    def __init__(self, bounds: Rounds, observed: Rounds | None = None, what: str = "training error") -> None:
        self.bounds = {name: _numbers(name, values) for name, values in bounds.items()}
        self.observed = {name: _numbers(name, values) for name, values in (observed or {}).items()}
        self.what = what
        if not self.bounds and not self.observed:
            raise ValueError("nothing to draw: give bounds, or what was observed")

    @classmethod
    def from_estimator(cls, estimator: Any, *, rho: float = 0.0, ax: Any = None) -> Self:
        """The training error of a model after every round, and what its theorem proves of it.

        rho: of MedBoost, the margin whose error is bounded; what was observed is known for 0.
        """
        return cls(*_proved(estimator, rho)).plot(ax)

    @classmethod
    def from_prediction(cls, prediction: Any, *, ax: Any = None) -> Self:
        """One statement about every round: its ``name``, and what was ``predicted`` and ``observed``."""
        return cls({"predicted": prediction.predicted}, {"observed": prediction.observed}, prediction.name).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw into axes, or into new ones. The scale is logarithmic: where something is 0 it has no line."""
        self.ax_ = axes(self, ax)
        self.figure_ = self.ax_.figure
        self.lines_ = []
        for (name, values), style in zip({**self.observed, **self.bounds}.items(), lines(), strict=False):
            shown = np.where(values > 0, values, np.nan)
            self.lines_ += self.ax_.plot(np.arange(1, len(values) + 1), shown, label=named(name), **style)
        self.ax_.axhline(1.0, color="0.8", linewidth=0.8, zorder=0)  # above it a bound says nothing
        self.ax_.set_yscale("log")
        finish(self.ax_, "round", plain(self.what))
        return self


def _numbers(name: str, values: Any) -> Floats:
    found = np.asarray(values, dtype=np.float64)
    if found.ndim != 1:
        raise ValueError(f"{name!r} must hold one number per round, not an array of shape {found.shape}")
    return found


def _proved(model: Any, rho: float) -> tuple[dict[str, Any], dict[str, Any], str]:
    history = model.history_
    if hasattr(model, "error_bounds"):
        observed = {"margins of at most 0": history["margin_error"][: model.vote_.n_voters]} if rho == 0 else {}
        name = f"product of E at rho = {rho:g}"
        return {name: model.error_bounds(rho)}, observed, f"share of rows that miss at rho = {rho:g}"
    if not isinstance(log_mean(model, 0), float):
        raise ValueError(f"nothing is drawn of {type(model).__name__}: {log_mean(model, 0)}; give bounds of your own")
    rounds = int(model.ensemble_.rounds[-1]) if len(model.ensemble_.rounds) else 0
    product = [math.exp(min(float(log_mean(model, t + 1)), 700.0)) for t in range(rounds)]
    bounds: dict[str, Any] = {"product of the normalisers": product}
    if _edges_are_shares(model):
        bounds["exp(-sum of edge² / 2)"] = np.exp(-0.5 * np.cumsum(history["edge"][:rounds] ** 2))
    return bounds, {"training error": history["train_error"][:rounds]}, "training error"


def _edges_are_shares(model: Any) -> bool:
    """Where the edge of the history is mu of eq. 8, the plainer bound of Theorem 1 can be drawn: discrete, AdaBoost_R.

    A learning rate other than 1 has no theorem.
    """
    name = type(model).__name__
    return name in ("AdaBoostClassifier", "AdaBoostRClassifier") and model.learning_rate == 1


class CostDisplay:
    """1 + cost against rounds, on a logarithmic scale: Figure 2 of the VadaBoost paper.

    Parameters
    ----------
    costs : mapping of names to arrays with one number per round

    Attributes
    ----------
    ax_, figure_, lines_ : after ``plot``
    """

    ax_: Any
    figure_: Any
    lines_: list[Any]

    def __init__(self, costs: Rounds) -> None:
        if not costs:
            raise ValueError("no costs to draw: give at least one")
        self.costs = {name: _numbers(name, values) for name, values in costs.items()}

    @classmethod
    def from_estimators(cls, estimators: Mapping[str, Any], n_rows: int, *, ax: Any = None) -> Self:
        """Cost (3) of fitted VadaBoosts and EBBoosts on n_rows training rows, and AdaBoost's cost, squared."""
        return cls({name: _cost(name, model, n_rows) for name, model in estimators.items()}).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        self.ax_ = axes(self, ax)
        self.figure_ = self.ax_.figure
        self.lines_ = []
        for (name, cost), style in zip(self.costs.items(), lines(), strict=False):
            self.lines_ += self.ax_.plot(np.arange(1, len(cost) + 1), 1 + cost, label=named(name), **style)
        self.ax_.set_yscale("log")
        finish(self.ax_, "round", "1 + cost")
        return self


def _cost(name: str, model: Any, n_rows: int) -> Floats:
    """The history has cost (3) over n^2, and of AdaBoost the mean of exp(-y f)."""
    kind = type(model).__name__
    objective = np.asarray(getattr(model, "history_", {}).get("objective", ()))
    if kind in ("VadaBoostClassifier", "EBBoostClassifier"):
        return n_rows**2 * objective
    if kind in ("AdaBoostClassifier", "RealAdaBoostClassifier"):
        return (n_rows * objective) ** 2
    raise ValueError(f"{name!r} is a {kind}, which does not keep cost (3): give VadaBoost, EBBoost or AdaBoost")
