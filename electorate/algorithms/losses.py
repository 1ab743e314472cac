"""Smooth convex losses of v = 1 - y f, for DeepBoost: Phi of Cortes, Mohri and Syed, "Deep Boosting", section 3.

A user's loss is an object with `value(v)` and `slope(v)` of arrays: convex, never falling, at least 1 where v is
above 1. Slopes may vanish; an optional `log_slope(v)` distinguishes those that are too small for floats.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from electorate.arrays import Floats
from electorate.special import LOG2, exp, log, softplus


@dataclass(frozen=True)
class Exponential:
    """exp(v): AdaBoost's."""

    def value(self, v: Floats) -> Floats:
        return exp(v)

    def slope(self, v: Floats) -> Floats:
        return exp(v)

    def log_slope(self, v: Floats) -> Floats:
        return v


@dataclass(frozen=True)
class Logistic:
    """log2(1 + exp(v)). Because v is 1 - y f, this is not plain logistic regression."""

    def value(self, v: Floats) -> Floats:
        return softplus(v) / LOG2

    def slope(self, v: Floats) -> Floats:
        return exp(self.log_slope(v))

    def log_slope(self, v: Floats) -> Floats:
        return -softplus(-v) - log(LOG2)


@dataclass(frozen=True)
class SquaredHinge:
    """max(0, 1 + v)^2, as an example of a loss whose slope vanishes: its steps come from a line search."""

    def value(self, v: Floats) -> Floats:
        return np.maximum(0.0, 1.0 + v) ** 2

    def slope(self, v: Floats) -> Floats:
        return 2.0 * np.maximum(0.0, 1.0 + v)


NAMED: dict[str, Any] = {"exponential": Exponential(), "logistic": Logistic()}


def log_slope(loss: Any, v: Floats) -> Floats:
    """The logarithm of the slope; -inf where it is 0."""
    if hasattr(loss, "log_slope"):
        return np.asarray(loss.log_slope(v))
    return log(np.asarray(loss.slope(v)))


def slope_at(loss: Any, v: float) -> float:
    """The same at one point."""
    return float(log_slope(loss, np.array([v]))[0])
