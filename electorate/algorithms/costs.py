"""Costs of median boosting, eq. 2 of Kegl, "Generalization error and algorithmic convergence of median boosting".

A cost is at least 1 where a prediction is farther than eps from its target; the award is theta = 1 - 2 C_eps, eq. 4.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from electorate.exact import Floats


def full_award(predicted: Floats, y: Floats) -> Floats:
    """1 everywhere: with confidences, the mean award is then their mean, eq. 3."""
    return np.ones_like(predicted)


@dataclass(frozen=True)
class ZeroOneCost:
    """C = 1 where the target is farther than eps, else 0."""

    eps: float
    unit: ClassVar[bool] = True  # whether awards are -1 or 1

    def award(self, predicted: Floats, y: Floats) -> Floats:
        award = np.subtract(predicted, y)  # in place: one array of all rows instead of three
        np.abs(award, out=award)
        np.subtract(self.eps, award, out=award)
        return np.copysign(1.0, award, out=award)


@dataclass(frozen=True)
class LinearCost:
    """C = |h - y| / eps: without a bound, so it can chase outliers."""

    eps: float
    unit: ClassVar[bool] = False  # whether awards are -1 or 1

    def award(self, predicted: Floats, y: Floats) -> Floats:
        with np.errstate(over="ignore"):  # the booster refuses an infinite award
            return 1.0 - (2.0 / self.eps) * np.abs(predicted - y)


@dataclass(frozen=True)
class GivenCost:
    """A cost of the user's, cost(predicted, y, eps) for arrays; at least 1 where the target is farther than eps."""

    eps: float
    unit: ClassVar[bool] = False  # whether awards are -1 or 1
    function: Callable[[Floats, Floats, float], Floats]

    def award(self, predicted: Floats, y: Floats) -> Floats:
        cost = np.asarray(self.function(predicted, y, self.eps), dtype=np.float64)
        if cost.shape != y.shape:
            raise ValueError(f"cost gave an array of shape {cost.shape} for {len(y)} rows: give one number per row")
        bad = np.flatnonzero(~(cost >= (np.abs(predicted - y) > self.eps)) | ~np.isfinite(cost))
        if bad.size:
            row = int(bad[0])
            raise ValueError(
                f"cost({predicted[row]!r}, {y[row]!r}, eps={self.eps!r}) is {cost[row]!r}: a cost must be finite, not "
                "negative, and at least 1 where the prediction is farther than eps from the target (eq. 2)"
            )
        return 1.0 - 2.0 * cost
