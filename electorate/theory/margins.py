"""Margins of a fitted vote as an object, the margin graph of the Bayes rule, and what training proves about margins.

Equation numbers are those of Nock and Nielsen, "A Real generalization of discrete AdaBoost". A margin error at theta
is the share of rows whose margin is at most theta (eq. 10); as a function of theta it is the margin graph.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.integrate import quad
from scipy.special import logsumexp

from electorate.exact import Floats
from electorate.text import literal

KINDS = ("normalised", "logistic", "award")
SLACK = 1e-6  # of a logarithm: sums on the grid against sums of floats
LOWEST = float(np.nextafter(-1.0, 0.0))  # a finite vote never has the margin -1
THETAS = (-0.5, 0.0, 0.1, 0.25, 0.5)  # that tables show


# ---------------------------------------------------------------- what training proves


@dataclass(frozen=True)
class Proof:
    """log_mean bounds the logarithm of the mean of exp(-score) over the training rows; reach divides scores, eq. 21.

    By Markov's inequality the share of rows with a score of at most s is at most exp(s) times that mean.
    """

    log_mean: float
    reach: float
    logistic: bool

    def bound(self, theta: Any) -> Any:
        """Return the bound on the margin error at theta, at most 1."""
        at = np.asarray(theta, dtype=np.float64)
        bounds = np.minimum(1.0, np.exp(np.minimum(self.score(at) + self.log_mean, 0.0)))
        return float(bounds) if at.ndim == 0 else bounds

    def curve(self) -> tuple[Floats, Floats]:
        """Thetas from -1 to 1 and the bounds there, close enough for lines between them: never below the bound."""
        scores = np.log(np.linspace(0.005, 1.0, 200)) - self.log_mean
        inner = np.tanh(scores / 2) if self.logistic else scores / max(self.reach, 1e-300)
        theta = np.unique(np.concatenate([[-1.0, 1.0], inner[np.abs(inner) < 1]]))
        return theta, np.asarray(self.bound(theta))

    def score(self, theta: Floats) -> Floats:
        """Return the score that has this margin."""
        if not self.logistic:
            return np.asarray(theta * self.reach)
        with np.errstate(divide="ignore", invalid="ignore"):
            inside = np.log1p(theta) - np.log1p(-theta)
        return np.where(theta >= 1, np.inf, np.where(theta <= -1, -np.inf, inside))


# ---------------------------------------------------------------- margins of rows


@dataclass(frozen=True, eq=False)
class Margins:
    """The margins of some rows.

    Attributes
    ----------
    values : ndarray
        One margin per row, from -1 to 1 (by an unbounded cost of MedBoost's, also less).
    weights : ndarray
        Of the rows, as given.
    scores : ndarray
        y f, or the sum of steps times awards: margins before they are scaled.
    kind : str
        "normalised": the score over the largest possible one, eq. 21 (for outputs from -1 to 1: over the sum of
        the steps). "logistic": (exp(score) - 1) / (exp(score) + 1), eq. 9. "award": the average award of MedBoost.
    proof : Proof or str
        The bound that training proves for the training rows, or the reason why there is none.
    """

    values: Floats
    weights: Floats
    scores: Floats
    kind: str
    proof: Proof | str = "nothing is known of how the votes were trained"

    def __len__(self) -> int:
        return len(self.values)

    @cached_property
    def _steps(self) -> tuple[Floats, Floats]:
        """Margins that occur, ascending, and the share of rows up to each."""
        used = self.weights > 0
        distinct, place = np.unique(self.values[used], return_inverse=True)
        shares = np.cumsum(np.bincount(place.ravel(), weights=self.weights[used]))
        return distinct, shares / shares[-1]

    def margin_error(self, theta: Any) -> Any:
        """The share of rows with a margin of at most theta (eq. 10): a number, or an array."""
        distinct, shares = self._steps
        found = np.concatenate([[0.0], shares])[np.searchsorted(distinct, theta, side="right")]
        return float(found) if np.ndim(theta) == 0 else found

    @property
    def minimum(self) -> float:
        return float(self._steps[0][0])

    def quantile(self, share: Any) -> Any:
        """The least margin up to which at least this share of the rows lies."""
        wanted = np.asarray(share, dtype=np.float64)
        if not np.all((wanted >= 0) & (wanted <= 1)):
            raise ValueError(f"share={share!r}: a share of the rows lies between 0 and 1")
        distinct, shares = self._steps
        found = distinct[np.minimum(np.searchsorted(shares, wanted * (1 - 1e-15)), len(distinct) - 1)]
        return float(found) if wanted.ndim == 0 else found

    @property
    def mean(self) -> float:
        return float(np.average(self.values, weights=self.weights))

    @property
    def area(self) -> float:
        """The area under the margin graph from -1 to 1: 1 minus the mean margin. Lower is better."""
        return float(1.0 - np.average(np.clip(self.values, -1.0, 1.0), weights=self.weights))

    def curve(self) -> tuple[Floats, Floats]:
        """The graph as points of a staircase that rises at each margin, from -1 to 1."""
        distinct, shares = self._steps
        first, last = min(-1.0, float(distinct[0])), max(1.0, float(distinct[-1]))
        return np.concatenate([[first], distinct, [last]]), np.concatenate([[0.0], shares, [1.0]])

    def bound(self, theta: Any) -> Any:
        """The bound that training proves: :meth:`margin_error` of the training rows is never larger, for every

        theta. Only for the rows and weights that the model was fitted to: others are refused.
        """
        return self._proved().bound(theta)

    def bound_curve(self) -> tuple[Floats, Floats]:
        """Thetas, and :meth:`bound` there, to be joined by lines."""
        return self._proved().curve()

    def _proved(self) -> Proof:
        if isinstance(self.proof, str):
            raise ValueError(f"no bound on these margins: {self.proof}")
        if self.log_mean > self.proof.log_mean + SLACK:
            raise ValueError(
                "the bound is about the rows that the model was fitted to, with their weights, and these are others: "
                f"their mean of exp(-score) is exp({self.log_mean:.6g}), in training it was at most "
                f"exp({self.proof.log_mean:.6g})"
            )
        return self.proof

    @cached_property
    def log_mean(self) -> float:
        """The logarithm of the mean of exp(-score) over these rows."""
        used = self.weights > 0
        return float(logsumexp(-self.scores[used], b=self.weights[used]) - math.log(self.weights[used].sum()))

    def __repr__(self) -> str:
        return (
            f"Margins({self.kind}, {len(self)} rows, minimum {self.minimum:.4g}, median {self.quantile(0.5):.4g}, "
            f"area {self.area:.4g}, error {self.margin_error(0.0):.4g})"
        )


def normalised(scores: Floats, reach: float) -> Floats:
    """Eq. 21, clipped to -1 and 1 against rounding; without any voter 0."""
    return np.clip(scores / reach, -1.0, 1.0) if reach > 0 else np.zeros(len(scores))


def logistic(scores: Floats) -> Floats:
    """Eq. 9, which is tanh(score / 2); never -1, because a finite vote is not."""
    return np.maximum(np.tanh(scores / 2), LOWEST)


# ---------------------------------------------------------------- the Bayes rule


@dataclass(frozen=True, eq=False)
class BayesMargins:
    """The margin graph of the Bayes rule of a law that is known in closed form (eq. 23).

    at(theta, below): the probability of a margin of at most theta, or of less than theta.
    """

    at: Callable[[float, bool], float]

    def margin_error(self, theta: Any) -> Any:
        """Return what :meth:`Margins.margin_error` returns."""
        found = [self.at(one, False) for one in np.asarray(theta, dtype=np.float64).ravel().tolist()]
        return found[0] if np.ndim(theta) == 0 else np.array(found)

    @property
    def area(self) -> float:
        return float(quad(lambda theta: self.at(theta, False), -1, 1, limit=400, points=(-0.999, 0.0, 0.999))[0])

    @property
    def mean(self) -> float:
        return 1.0 - self.area

    def curve(self) -> tuple[Floats, Floats]:
        thetas = np.tanh(np.linspace(-9, 9, 721))
        return thetas, np.asarray(self.margin_error(thetas))


def bayes_margins(probability: Any, weights: Any = None) -> Margins:
    """The graph of the Bayes rule where the probability of the second label is known at points with weights.

    Exact if the points are all there are and the weights their probabilities (eq. 23, Fig. 3); if they are a sample,
    only the points are drawn: their labels are averaged over exactly.
    """
    p = np.asarray(probability, dtype=np.float64)
    if p.ndim != 1 or not len(p) or not np.all((p >= 0) & (p <= 1)):
        raise ValueError("probability: one number from 0 to 1 per point, of the second label given the point")
    mass = np.ones(len(p)) if weights is None else np.asarray(weights, dtype=np.float64)
    if mass.shape != p.shape or not np.all(np.isfinite(mass)) or np.any(mass < 0) or not mass.sum() > 0:
        raise ValueError("weights: one finite number per point, none negative, not all 0")
    values = np.concatenate([2 * p - 1, 1 - 2 * p])
    with np.errstate(divide="ignore"):
        scores = np.log(p) - np.log1p(-p)
    both = np.concatenate([mass * p, mass * (1 - p)])
    return Margins(values, both, np.concatenate([scores, -scores]), "logistic", "they are those of the Bayes rule")


# ---------------------------------------------------------------- side by side


Graph = Margins | BayesMargins


class MarginTable(dict[str, Any]):
    """Margin graphs by name, side by side: a mapping, and a table as text."""

    def __init__(self, graphs: Mapping[str, Graph], thetas: Sequence[float] = THETAS) -> None:
        if not graphs:
            raise ValueError("no margins to put side by side: give at least one")
        super().__init__(graphs)
        self.thetas = tuple(float(theta) for theta in thetas)

    def rows(self) -> list[dict[str, Any]]:
        """A dictionary per graph: minimum, the 10% quantile and the median (None for a law), area, margin errors."""
        found = []
        for name, graph in self.items():
            facts: dict[Any, Any] = {"name": name, "minimum": None, "10%": None, "median": None, "area": graph.area}
            if isinstance(graph, Margins):
                facts |= {"minimum": graph.minimum, "10%": graph.quantile(0.1), "median": graph.quantile(0.5)}
            found.append(facts | {theta: float(graph.margin_error(theta)) for theta in self.thetas})
        return found

    def __str__(self) -> str:
        lines = [["name", "minimum", "10%", "median", "area", *(f"at {theta:g}" for theta in self.thetas)]]
        for name, *facts in (fact.values() for fact in self.rows()):
            lines.append([literal(name, 40), *("" if value is None else f"{value:.4f}" for value in facts)])
        wide = [max(map(len, column)) for column in zip(*lines, strict=True)]
        texts = ([line[0].ljust(wide[0]), *map(str.rjust, line[1:], wide[1:])] for line in lines)
        return "\n".join("  ".join(text).rstrip() for text in texts)

    __repr__ = __str__
