"""Smooth convex losses of v = 1 - y f, for DeepBoost: Phi of Cortes, Mohri and Syed, "Deep Boosting", section 3.

A user's loss is an object with `value(v)` and `slope(v)` of arrays: convex, never falling, at least 1 where v is
above 1. Slopes may vanish; an optional `log_slope(v)` distinguishes those that are too small for floats.
"""

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from electorate.algorithms.protocol import Channel, Floors, Formula
from electorate.exact import LOG2, Floats, exp, log, softplus
from electorate.kernels import formulas


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
    """Return the slope at one point."""
    return float(log_slope(loss, np.array([v]))[0])


# ---------------------------------------------------------------- channels


@dataclass(frozen=True)
class LossSlope(Channel):
    """Phi'(1 - y f) / Phi'(1)."""

    loss: Any = None
    vanishes: ClassVar[bool] = True
    bounded: ClassVar[bool] = True

    def formula(self, floors: Floors) -> Formula | None:
        if type(self.loss) is not Logistic:
            return None
        return Formula(formulas.SIGMOID, floors.each[0] - slope_at(self.loss, 1.0) - log(LOG2), 1.0)

    def values(self, state: Floats, floors: Floors, first: Floats | None) -> Floats:
        if self.formula(floors) is not None:
            return super().values(state, floors, first)
        weight = log_slope(self.loss, 1.0 - state[0])
        weight = weight + (floors.each[0] - slope_at(self.loss, 1.0))
        return exp(np.minimum(weight, 700.0))

    def growth(self, gain: float) -> float:
        """At most the exponential's where the loss has a `log_slope`; else only `log_at` is a bound."""
        return -min(gain, 0.0) if hasattr(self.loss, "log_slope") else math.inf

    def log_at(self, margin: float) -> float:
        return slope_at(self.loss, 1.0 - margin) - slope_at(self.loss, 1.0)


@dataclass(frozen=True)
class LossValue(Channel):
    """Phi(1 - y f) / Phi(1)."""

    loss: Any = None
    column: ClassVar[str] = "loss_floor"
    searched: ClassVar[bool] = False
    highest_floor: ClassVar[float] = 600.0  # exp of it must be finite
    vanishes: ClassVar[bool] = True

    def formula(self, floors: Floors) -> Formula | None:
        if type(self.loss) is not Logistic:
            return None
        return Formula(formulas.SOFTPLUS, exp(floors.each[1]) / value_at_one(self.loss) / LOG2, 1.0)

    def values(self, state: Floats, floors: Floors, first: Floats | None) -> Floats:
        if self.formula(floors) is not None:
            return super().values(state, floors, first)
        return np.asarray(self.loss.value(1.0 - state[0]) * (exp(floors.each[1]) / value_at_one(self.loss)))


def value_at_one(loss: Any) -> float:
    """Phi(1), the loss of an example before any voter."""
    return float(loss.value(np.ones(1))[0])
