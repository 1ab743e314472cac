"""Real AdaBoost (Schapire and Singer 1999), and SAMME.R: the weights of AdaBoost, voters with real outputs."""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from electorate.algorithms.adaboost import ExponentialBooster, awards
from electorate.algorithms.protocol import Step
from electorate.exact import Floats, Ints, exp, on_grid, ordered_sum

FARTHEST = 64.0  # nats that one searched step may move an example: a factor of e^-64 of its weight


@dataclass(frozen=True)
class RealAdaBoost(ExponentialBooster):
    """The step minimises the exponential loss along the voter, eq. 5 of Nock and Nielsen.

    With `search` off every step is the learning rate: with log-odds leaves that is SAMME.R. The award of an
    example is y h for two labels and h_y / (K-1) for more, the exponential loss of Zhu et al.
    """

    search: bool = True
    leaves: ClassVar[str] = "log_odds"

    @property
    def fixed_steps(self) -> bool:
        return not self.search

    def step(self, sums: Ints, outputs: Floats) -> Step:
        if not np.all(np.isfinite(outputs)):
            raise ValueError("a leaf has an infinite output, and no step is best: give the family a smoothing above 0")
        award = awards(outputs, self.n_labels).T
        weight = sums / int(sums.sum())
        edge = float(ordered_sum(weight * award))
        error = float(ordered_sum(weight[award < 0]))
        rate = float(on_grid(self.learning_rate))
        present = award[sums > 0]
        if not np.any(present):
            return Step(0.0, 0.0, error, "no_edge")
        if not self.search:
            return Step(rate, edge, error)
        if np.all(present >= 0):
            return Step(rate, edge, error, "perfect_voter")
        if np.all(present <= 0):
            return Step(-rate, edge, 1.0, "perfect_voter")
        far = FARTHEST / float(np.abs(award).max())
        best = min(max(least_exponential(weight.ravel(), award.ravel()), -far), far)
        size = float(on_grid(self.learning_rate * best))
        return Step(size, edge, error, None if size != 0 else "no_edge")

    def perfect(self, step: Step) -> bool:
        return self.search and step.error in (0, 1)

    def gains(self, step: Step, outputs: Floats) -> Floats:
        return self._with_votes(on_grid(step.size * awards(outputs, self.n_labels)), step.size, outputs)


def least_exponential(weight: Floats, award: Floats) -> float:
    """The alpha that minimises sum weight exp(-alpha award), where some awards are positive and some negative.

    Newton steps inside a bracket of the root of the derivative, by bisection where a step would leave it.
    """
    used = (weight > 0) & (award != 0)
    weight, award = weight[used], award[used]

    def slope_and_curve(alpha: float) -> tuple[float, float]:
        """Minus the first and the second derivative, up to a common positive factor."""
        power = -alpha * award
        term = weight * exp(power - power.max())
        return float(ordered_sum(term * award)), float(ordered_sum(term * award * award))

    sign = math.copysign(1.0, slope_and_curve(0.0)[0])
    far = sign / float(np.abs(award).max())
    while slope_and_curve(far)[0] * sign > 0 and abs(far) < 1e300:
        far *= 2
    low, high = (0.0, far) if sign > 0 else (far, 0.0)
    alpha = 0.5 * (low + high)
    for _ in range(100):
        slope, curve = slope_and_curve(alpha)
        low, high = (alpha, high) if slope > 0 else (low, alpha)
        there = alpha + slope / curve if curve > 0 else low  # squares of tiny awards may underflow
        if not low < there < high:
            there = 0.5 * (low + high)
        if abs(there - alpha) <= 1e-15 * abs(there):
            return float(there)
        alpha = there
    return float(alpha)
