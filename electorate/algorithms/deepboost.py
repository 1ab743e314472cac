"""DeepBoost: coordinate descent on a loss plus a price per voter that grows with the complexity of its family.

Paper: Cortes, Mohri and Syed, "Deep Boosting"; Figure 2 and equation numbers below. F of eq. 4 is the mean of
Phi(1 - y f) plus the sum of Lambda_j |alpha_j|, Lambda_j = lam r_j + beta (eq. 3). S_t is the sum of Phi'(1 - y f).
The competition of lines 4 to 11, in which old voters take part, is in `families/deepboost_search.py`.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from electorate.algorithms.adaboost import awards
from electorate.algorithms.losses import Exponential, LossSlope, LossValue, slope_at, value_at_one
from electorate.algorithms.protocol import EXPONENTIAL, Booster, Channel, Mean, Step
from electorate.exact import Floats, exp, log, on_grid


@dataclass(frozen=True)
class DeepBoost(Booster):
    """state[0] is the margin y f. free: no voter has a price, so that a perfect voter ends the run."""

    loss: Any
    free: bool = False
    leaves: ClassVar[str] = "any"  # from -1 to 1; families over bins return labels
    keeps_votes: ClassVar[bool] = True

    @property
    def channels(self) -> Sequence[Channel]:
        """The loss itself only where it is not its own slope."""
        if isinstance(self.loss, Exponential):
            return EXPONENTIAL
        return (LossSlope(loss=self.loss), LossValue(loss=self.loss))

    def stored(self, outputs: Floats) -> Floats:
        """Return the outputs to store, from -1 to 1."""
        largest = float(np.abs(outputs).max(initial=0.0))
        return outputs / largest if largest > 1 else outputs

    def perfect(self, step: Step) -> bool:
        return self.free and step.error in (0, 1)

    def gains(self, step: Step, outputs: Floats) -> Floats:
        return np.asarray(on_grid(step.size * awards(outputs, 2)))[None]

    def log_slope(self, means: Sequence[Mean]) -> float:
        """The logarithm of S_t over the number of examples."""
        return means[0].log + slope_at(self.loss, 1.0)

    def mean_loss(self, means: Sequence[Mean]) -> float:
        if len(means) == 1:
            return exp(min(self.log_slope(means), 700.0))
        return means[1].value * value_at_one(self.loss)

    def objective(self, means: Sequence[Mean], penalty: float) -> float:
        """F, eq. 4."""
        return self.mean_loss(means) + penalty

    def new_weight(self, error: float, weight: float, price: float) -> float:
        """Lines 12 to 16, for a voter of this weighted error, weight, and Lambda m / S_t: its weight after the step.

        The minimum of F along the voter for outputs +-1 and the exponential loss, else of a bound that touches F.
        """
        right = 1 - error
        there = _times_exp(right, weight) - _times_exp(error, -weight)
        if abs(there) <= price:
            return 0.0
        root = price + math.sqrt(price * price + 4 * error * right)
        if there > price:
            return weight + log(2 * right / root)
        return weight - log(2 * error / root)


def _times_exp(share: float, power: float) -> float:
    """share times exp(power), without overflow."""
    return share * exp(min(power, 700.0)) if share > 0 else 0.0
