"""Displays of margins: margin graphs with bounds and those of the Bayes rule, margins of several models, robust errors.

Figures 2, 5 and 6 of the AdaBoost_R paper, and Figure 4 of the DeepBoost paper, are such pictures.
"""

import math
from collections.abc import Mapping
from typing import Any, Self

import numpy as np

from electorate.estimators.guarantees import refuse_without
from electorate.exact import Floats
from electorate.inspection.margins import log_mean, margins
from electorate.report.drawing import SHADES, Display, finish, lines, named, on_both, panels, plain
from electorate.theory import training
from electorate.theory.margins import Graph, Margins

MARGIN = {"normalised": "normalised margin", "logistic": "logistic margin", "award": "average award"}
BINS = 24
POINTS = 81  # values of rho


class MarginPicture(Display):
    """The axes of margin graphs: from -1 to 1, with a thin line at 0, where right and wrong meet."""

    def _finish_margins(self, graphs: Mapping[str, Any]) -> None:
        self.ax_.axvline(0.0, color="0.8", linewidth=0.8, zorder=0)
        self.ax_.set(xlim=(-1.02, 1.02), ylim=(-0.02, 1.02))
        kinds = {graph.kind for graph in graphs.values() if isinstance(graph, Margins)}
        what = MARGIN[kinds.pop()] if len(kinds) == 1 else "margin"
        finish(self.ax_, f"{what}, theta", "share of rows up to theta", "upper left")


class MarginDisplay(MarginPicture):
    """The margin graph: the share of rows with a margin of at most theta, against theta.

    Parameters
    ----------
    graphs : mapping of names to margins
        As of :func:`margins`, or of ``bayes_margins()`` of a simulated problem.
    bound : pair of arrays, optional
        Thetas, and the proven bound on the margin error at each.

    Attributes
    ----------
    ax_, figure_, lines_ : after ``plot``

    Examples
    --------
    >>> from electorate import AdaBoostClassifier
    >>> from electorate.report import MarginDisplay
    >>> from electorate.simulate import XD6
    >>> X, y = XD6(0.2).sample(300, 0)
    >>> model = AdaBoostClassifier(n_estimators=20).fit(X, y)
    >>> display = MarginDisplay.from_estimator(model, X, y, kind="logistic", bayes=XD6(0.2).bayes_margins())
    >>> sorted(display.graphs)
    ['Bayes rule', 'training']
    """

    def __init__(self, graphs: Mapping[str, Graph], bound: tuple[Floats, Floats] | None = None) -> None:
        if not graphs:
            raise ValueError("no margins to draw: give at least one")
        self.graphs = dict(graphs)
        self.bound = bound

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        X_test: Any = None,
        y_test: Any = None,
        kind: str | None = None,
        sample_weight: Any = None,
        bayes: Graph | None = None,
        ax: Any = None,
    ) -> Self:
        """Draw the training rows of a model, with their bound where training proves one, and test rows.

        bayes: the margins of the Bayes rule, where they are known.
        """

        def measured(X: Any, y: Any, weight: Any = None) -> Margins:
            return margins(estimator, X, y, kind=kind, sample_weight=weight)

        graphs = on_both(measured, (X, y, sample_weight), X_test, y_test)
        training = graphs["training"]
        proved = None if isinstance(training.proof, str) else training.bound_curve()
        return cls(graphs if bayes is None else {**graphs, "Bayes rule": bayes}, proved).plot(ax)

    def _draw(self, ax: Any) -> None:
        for (name, graph), style in zip(self.graphs.items(), lines(), strict=False):
            steps = "steps-post" if isinstance(graph, Margins) else "default"
            self.lines_ += ax.plot(*graph.curve(), drawstyle=steps, label=named(name), **style)
        if self.bound is not None:
            self._draw_bound(*self.bound)
        self._finish_margins(self.graphs)


class CumulativeMarginsDisplay(MarginPicture):
    """Margins of several models on the same rows: Figure 4 of the DeepBoost paper.

    Parameters
    ----------
    margins : mapping of names to Margins

    Attributes
    ----------
    ax_, figure_ : after ``plot``
    axes_ : list, after ``plot_panels``

    Examples
    --------
    >>> from electorate import AdaBoostClassifier
    >>> from electorate.report import CumulativeMarginsDisplay
    >>> from electorate.simulate import XD6
    >>> X, y = XD6(noise=0.1).sample(100, random_state=0)
    >>> models = {f"{n} rounds": AdaBoostClassifier(n_estimators=n).fit(X, y) for n in (5, 20)}
    >>> sorted(CumulativeMarginsDisplay.from_estimators(models, X, y).margins)
    ['20 rounds', '5 rounds']
    """

    axes_: list[Any]

    def __init__(self, margins: Mapping[str, Margins]) -> None:
        if not margins:
            raise ValueError("no margins to draw: give at least one")
        self.margins = dict(margins)

    @classmethod
    def from_estimators(
        cls, estimators: Mapping[str, Any], X: Any, y: Any, *, kind: str | None = None, ax: Any = None
    ) -> Self:
        """Draw the same rows under several models."""
        return cls({name: margins(model, X, y, kind=kind) for name, model in estimators.items()}).plot(ax)

    def _draw(self, ax: Any) -> None:
        """Draw only the cumulative margins, in one picture."""
        self._draw_curves([(name, *found.curve()) for name, found in self.margins.items()], "steps-post")
        self._finish_margins(self.margins)

    def plot_panels(self) -> Self:
        """Draw them as the paper does: a panel with the distribution of each model, and one with all, cumulative."""
        *single, last = self.axes_ = panels(self, len(self.margins) + 1, 2, 3.6)
        edges = np.linspace(min(-1.0, min(found.minimum for found in self.margins.values())), 1.0, BINS + 1)
        look = {"color": SHADES[0], "edgecolor": "white"}
        most = 0.0
        for panel, (name, found) in zip(single, self.margins.items(), strict=True):
            shares = panel.hist(found.values, edges, weights=found.weights / found.weights.sum(), **look)[0]
            most = max(most, float(shares.max()))
            panel.set_title(plain(name), fontsize="medium")
            finish(panel, MARGIN[found.kind], "share of rows", None)
        for panel in single:
            panel.set_ylim(0, 1.05 * most)
        return self.plot(last)


class RobustErrorDisplay(Display):
    """The share of rows on which a median vote is not rho-robust eps-precise, against rho.

    L^(rho) of eq. 9 of the LocMedBoost paper.

    Parameters
    ----------
    rho : ndarray
    errors : mapping of names to arrays with one number per rho
    bound : ndarray, optional
        The bound of Theorem 1 for the training rows, at every rho; it does not apply to test rows.

    Attributes
    ----------
    ax_, figure_, lines_ : after ``plot``

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from electorate import MedBoostRegressor
    >>> from electorate.report import RobustErrorDisplay
    >>> X, y = load_diabetes(return_X_y=True)
    >>> display = RobustErrorDisplay.from_estimator(MedBoostRegressor(n_estimators=20).fit(X, y), X, y)
    >>> bool((display.errors["training"] <= display.bound + 1e-9).all())
    True
    """

    def __init__(self, rho: Any, errors: Mapping[str, Any], bound: Any = None) -> None:
        self.rho: Floats = np.asarray(rho, dtype=np.float64)
        self.errors = {name: np.asarray(found, dtype=np.float64) for name, found in errors.items()}
        self.bound = None if bound is None else np.asarray(bound, dtype=np.float64)
        for name, found in (*self.errors.items(), ("bound", self.bound)):
            if found is not None and found.shape != self.rho.shape:
                raise ValueError(f"{name!r} has {found.size} numbers for {self.rho.size} values of rho")
        if not self.errors:
            raise ValueError("no errors to draw: give at least one")

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        X_test: Any = None,
        y_test: Any = None,
        sample_weight: Any = None,
        ax: Any = None,
    ) -> Self:
        """Draw the rows that a MedBoostRegressor was fitted to, with the bound, and test rows."""
        refuse_without(estimator, "robust_error", "RobustErrorDisplay", "a MedBoostRegressor or LocMedBoostRegressor")
        rho = np.linspace(-1.0, 1.0, POINTS)

        def measured(X: Any, y: Any, weight: Any = None) -> list[float]:
            return [estimator.robust_error(X, y, at, weight) for at in rho]

        errors = on_both(measured, (X, y, sample_weight), X_test, y_test)
        bounds = estimator.error_bounds(rho)
        bound = np.minimum(1.0, bounds[:, -1]) if bounds.shape[-1] else np.ones(len(rho))
        return cls(rho, errors, bound).plot(ax)

    def _draw(self, ax: Any) -> None:
        self._draw_curves([(name, self.rho, found) for name, found in self.errors.items()], "steps-post")
        if self.bound is not None:
            self._draw_bound(self.rho, self.bound)
        ax.axvline(0.0, color="0.8", linewidth=0.8, zorder=0)
        ax.set_ylim(-0.02, 1.02)
        finish(ax, "rho", "robust error", "upper left")


# ---------------------------------------------------------------- rounds

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
    >>> from electorate import AdaBoostClassifier
    >>> from electorate.report import BoundDisplay
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
        """Draw on a logarithmic scale: zeros have no line."""
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
    >>> from electorate import VadaBoostClassifier
    >>> from electorate.report import CostDisplay
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
