"""Displays against rounds: errors with their bounds, and the cost that VadaBoost lowers.

Both take one number per round; for fitted models they come from `history_`.
"""

import math
from collections.abc import Mapping
from typing import Any, Self

import numpy as np

from electorate.arrays import Floats
from electorate.estimators.certified import refuse_without
from electorate.inspection.margins import log_mean
from electorate.report.drawing import Display, finish, plain
from electorate.theory import training

Rounds = Mapping[str, Any]  # name -> one number per round


class BoundDisplay(Display):
    """Bounds against rounds, with the observed values.

    Parameters
    ----------
    bounds, observed : mappings of names to arrays with one number per round
    what : str, default="training error"
        The quantity of both, for the label of the axis.

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

    def _draw(self, ax: Any) -> None:
        """On a logarithmic scale: zeros have no line."""
        every = {**self.observed, **self.bounds}.items()
        self._draw_curves([(n, np.arange(1, len(x) + 1), np.where(x > 0, x, np.nan)) for n, x in every])
        ax.axhline(1.0, color="0.8", linewidth=0.8, zorder=0)  # a bound above it is void
        ax.set_yscale("log")
        finish(ax, "round", plain(self.what))


def _numbers(name: str, values: Any) -> Floats:
    found = np.asarray(values, dtype=np.float64)
    if found.ndim != 1:
        raise ValueError(f"{name!r} must hold one number per round, not an array of shape {found.shape}")
    return found


def _proved(model: Any, rho: float) -> tuple[dict[str, Any], dict[str, Any], str]:
    model = getattr(model, "best_estimator_", model)
    refuse_without(model, "history_", "BoundDisplay", "models that are trained round by round")
    history = model.history_
    if hasattr(model, "error_bounds"):
        observed = {"margins of at most 0": history["margin_error"][: model.vote_.n_voters]} if rho == 0 else {}
        name = f"product of E at rho = {rho:g}"
        return {name: model.error_bounds(rho)}, observed, f"share of rows that miss at rho = {rho:g}"
    why = log_mean(model, 0)
    if isinstance(why, str):
        raise ValueError(f"no bound of {type(model).__name__} can be drawn: {why}; pass bounds to BoundDisplay")
    rounds = int(model.ensemble_.rounds[-1]) if len(model.ensemble_.rounds) else 0
    product = [math.exp(min(float(log_mean(model, t + 1)), 700.0)) for t in range(rounds)]
    bounds: dict[str, Any] = {"product of the normalisers": product}
    # the plainer bound of Theorem 1, where the edge of the history is mu of eq. 8; it holds at a learning rate of 1
    if model._guarantees.mu is training.edges and model.learning_rate == 1:
        bounds["exp(-sum of edge² / 2)"] = np.exp(-0.5 * np.cumsum(history["edge"][:rounds] ** 2))
    return bounds, {"training error": history["train_error"][:rounds]}, "training error"


class CostDisplay(Display):
    """1 + cost against rounds, on a logarithmic scale: Figure 2 of the VadaBoost paper.

    Parameters
    ----------
    costs : mapping of names to arrays with one number per round

    Attributes
    ----------
    ax_, figure_, lines_ : after ``plot``

    Examples
    --------
    >>> from electorate import CostDisplay, VadaBoostClassifier
    >>> from electorate.simulate import XD6
    >>> X, y = XD6(noise=0.1).sample(100, random_state=0)
    >>> models = {f"lam = {lam}": VadaBoostClassifier(lam=lam, n_estimators=10).fit(X, y) for lam in (0.0, 0.5)}
    >>> CostDisplay.from_estimators(models, len(y)).ax_.get_xlabel()
    'round'
    """

    def __init__(self, costs: Rounds) -> None:
        if not costs:
            raise ValueError("no costs to draw: give at least one")
        self.costs = {name: _numbers(name, values) for name, values in costs.items()}

    @classmethod
    def from_estimators(cls, estimators: Mapping[str, Any], n_rows: int, *, ax: Any = None) -> Self:
        """Cost (3) of fitted VadaBoosts and EBBoosts on n_rows training rows, and AdaBoost's cost, squared."""
        return cls(cls.costs_of(estimators, n_rows)).plot(ax)

    @staticmethod
    def costs_of(estimators: Mapping[str, Any], n_rows: int) -> dict[str, Floats]:
        """The numbers that `from_estimators` draws."""
        return {name: _cost(name, model, n_rows) for name, model in estimators.items()}

    def _draw(self, ax: Any) -> None:
        self._draw_curves([(name, np.arange(1, len(cost) + 1), 1 + cost) for name, cost in self.costs.items()])
        ax.set_yscale("log")
        finish(ax, "round", "1 + cost")


def _cost(name: str, model: Any, n_rows: int) -> Floats:
    """The history has cost (3) over n^2, or the mean of exp(-y f), whose square it is compared with."""
    kind = getattr(model, "_guarantees", training.Guarantees()).objective
    objective = np.asarray(getattr(model, "history_", {}).get("objective", ()))
    if kind == training.COST_3:
        return n_rows**2 * objective
    if kind == training.MEAN_EXP:
        return (n_rows * objective) ** 2
    raise ValueError(
        f"{name!r} is a {type(model).__name__}, which does not store cost (3): give VadaBoost, EBBoost or AdaBoost"
    )
