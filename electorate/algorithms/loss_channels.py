"""What DeepBoost sums where the loss is not the exponential: Phi and Phi' of 1 - y f, relative to those of no voter.

The logistic loss has formulas that kernels compute; a user's loss is computed in NumPy.
"""

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from electorate.algorithms.losses import Logistic, log_slope, slope_at
from electorate.algorithms.protocol import Channel, Floors, Formula
from electorate.arrays import Floats
from electorate.kernels import formulas
from electorate.special import LOG2, exp, log


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
