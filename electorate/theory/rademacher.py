"""The empirical Rademacher complexity by Monte Carlo: the mean, over random signs, of the best agreement with them.

With an interval that is proved, not fitted: one sign moves the mean of all draws by at most 2 / (n draws), so by
McDiarmid's inequality it is within sqrt(2 log(2 / delta) / (n draws)) of its expectation with probability 1 - delta.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Estimate:
    """Of the complexity, with its interval. A search that is not exhaustive gives a lower estimate: `upper` is then
    no bound on the complexity, only on what the search attains on average."""

    value: float
    lower: float
    upper: float
    confidence: float
    draws: int
    exact_search: bool

    @property
    def name(self) -> str:
        return "empirical Rademacher complexity" if self.exact_search else "lower estimate of it, by a greedy search"

    def __str__(self) -> str:
        sure = f"{100 * self.confidence:g}%"
        return f"{self.value:.4g} ({self.name}; {self.lower:.4g} to {self.upper:.4g} at {sure}, {self.draws} draws)"


def monte_carlo(
    agreement: Callable[[NDArray[np.int64]], float],
    n: int,
    *,
    draws: int = 100,
    confidence: float = 0.95,
    exact_search: bool = True,
    seed: int = 0,
) -> Estimate:
    """agreement(signs): the largest mean of sign times output over n rows that the search finds."""
    rng = np.random.default_rng(seed)
    found = [agreement(2 * rng.integers(0, 2, n) - 1) for _ in range(draws)]
    value, width = math.fsum(found) / draws, math.sqrt(2 * math.log(2 / (1 - confidence)) / (n * draws))
    return Estimate(value, max(value - width, 0.0), value + width, confidence, draws, exact_search)
