"""AdaBoost_R (Nock and Nielsen, "A Real generalization of discrete AdaBoost"): weights are carried, steps closed."""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from electorate.algorithms.adaboost import awards
from electorate.algorithms.protocol import Booster, Step
from electorate.exact import Floats, Ints, atanh, log1p, on_grid, ordered_sum, tanh

ALL = 1 - 1e-15  # a mu this close to 1 is 1


@dataclass(frozen=True)
class AdaBoostR(Booster):
    """AdaBoost_R, eq. 6 to 8, for two labels. state[0] is -log of the weight, carried; state[1] the margin y f.

    The weights are products of 1 - mu y h / h*, not a function of the margin, with h* = max |h|. The objective, their
    mean, is prod (1 - mu^2), eq. 13. The learning rate shrinks mu to tanh(rate artanh mu) in eq. 6 and 7.
    """

    learning_rate: float = 1.0
    leaves: ClassVar[str] = "log_odds"

    n_states = 2

    @property
    def margin_row(self) -> int:
        return 1

    def step(self, sums: Ints, outputs: Floats) -> Step:
        """Return the step from mu, eq. 8. A voter with infinite outputs has the step 0 and still moves the weights."""
        share = relative_awards(outputs)
        weight = sums / int(sums.sum())
        mu = float(ordered_sum(weight * share.T))
        error = float(ordered_sum(weight[share.T < 0]))
        largest = float(np.abs(outputs).max(initial=0.0))
        if abs(mu) >= ALL:
            finite = largest if math.isfinite(largest) else 1.0
            return Step(float(on_grid(math.copysign(0.5 / finite, mu))), mu, error, "perfect_voter")
        size = self.learning_rate * atanh(mu) / largest if largest > 0 else 0.0
        size = float(on_grid(size)) if math.isfinite(largest) else 0.0
        moves = size != 0 or (math.isinf(largest) and mu != 0)
        return Step(size, mu, error, None if moves else "no_edge")

    def stored(self, outputs: Floats) -> Floats:
        return coded(outputs)

    def perfect(self, step: Step) -> bool:
        return abs(step.edge) >= ALL

    def gains(self, step: Step, outputs: Floats) -> Floats:
        share = relative_awards(outputs)
        gains = np.zeros((2, *share.shape))
        if not self.perfect(step):  # there 0/0 = 1 leaves the weights as they are
            mu = tanh(self.learning_rate * atanh(step.edge))
            gains[0] = on_grid(-log1p(-mu * share))  # eq. 7
        if step.size != 0:
            gains[1] = on_grid(step.size * awards(outputs, 2))
        return gains


def coded(outputs: Floats) -> Floats:
    """Return outputs: where some are infinite, they count as +-1 and the others as 0."""
    infinite = np.isinf(outputs)
    return np.where(infinite, np.sign(outputs), 0.0) if np.any(infinite) else outputs


def relative_awards(outputs: Floats) -> Floats:
    """[label, leaf]: y h / h*, in [-1, 1]."""
    h = coded(outputs)[:, 0]
    largest = np.abs(h).max(initial=0.0)
    h = h / largest if largest > 0 else h
    return np.stack([-h, h])
