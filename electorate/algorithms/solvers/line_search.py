"""The step of median boosting: where exp(rho alpha) times the sum of weight exp(-alpha award) is least (eq. 5)."""

import math
from typing import Any, Protocol

from electorate.exact import LONGEST, log, log1p
from electorate.messages import Moments

MOST_PASSES = 60
CLOSE = 1e-13  # of a step, relative
FIRST = 4.0  # the longest first try, where awards are at most 1


class Passes(Protocol):
    """Exact sums over the awards of the voter that was applied last."""

    def reward(self, rewarding: Any, unit: bool = False) -> tuple[float, float]: ...

    def moments(self, alpha: float, most: float) -> Moments: ...


def line_search(engine: Passes, start: Moments, rho: float, most: float, ends: tuple[float, float]) -> float:
    """The alpha at which the mean award under the moved weights is rho: there eq. 5 is least.

    In closed form where awards are +-1. Otherwise Newton steps inside a bracket: a few passes over the data.
    """
    if ends == (-1.0, 1.0) and start.second == start.weight > abs(start.first):
        right, wrong = start.weight + start.first, start.weight - start.first  # twice the weights of 1 and -1
        return 0.5 * (log(right / wrong) + log1p(-rho) - log1p(rho))
    low, high, alpha, now = 0.0, math.inf, 0.0, start
    for _ in range(MOST_PASSES):
        gap, curve = now.mean - rho, now.variance
        low, high = (alpha, high) if gap > 0 else (low, alpha)
        there = alpha + gap / curve if curve > 0 else math.inf
        if math.isinf(high):  # weights too light for the grid may yet count: not too far at once
            there = min(there, max(2 * alpha, FIRST / most))
        elif not low < there < high:
            there = 0.5 * (low + high)
        if abs(there - alpha) <= CLOSE * there or there >= LONGEST:
            return min(there, LONGEST / 2)
        alpha = there
        now = engine.moments(alpha, most)
    return alpha
