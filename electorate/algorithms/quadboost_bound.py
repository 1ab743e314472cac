"""QuadBoost's Theorem 1 as an objective: risk + 8 R n^(1 - 1/p) |alpha|_p, for p = 2 and infinity.

By Lemma 1 a vote of n voters has n^(1 - 1/p) |alpha|_p times the complexity R of one voter. The bound without its
logarithms is F(alpha) = risk + 8 R n^(1 - 1/p) |alpha|_p, with n the number of weights that are not 0.
"""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from electorate.algorithms.quadboost import Penalty
from electorate.arrays import Floats

HALVINGS = 60


@dataclass(frozen=True)
class BoundL2(Penalty):
    """8 R sqrt(n) |alpha|_2, with lam = 8 R. Its stationary weight is that of eq. 8 with 4 R sqrt(n) / |alpha|_2."""

    kind: ClassVar[int] = 4

    def of(self, n: Floats, norm: Floats) -> Floats:
        """The penalty of n voters whose weights have this norm."""
        return np.asarray(self.lam * np.sqrt(n) * norm)

    def norm(self, weights: Floats) -> float:
        return math.sqrt(math.fsum((weights * weights).tolist()))

    def without(self, weights: Floats) -> Floats:
        """[voter]: the norm of all weights but this one."""
        total = math.fsum((weights * weights).tolist())
        alone = np.count_nonzero(weights) - (weights != 0) == 0  # no others: exactly 0
        return np.where(alone, 0.0, np.sqrt(np.maximum(total - weights * weights, 0.0)))

    def joined(self, others: Floats, weight: Floats) -> Floats:
        """The norm of a weight together with others of this norm."""
        return np.sqrt(others * others + weight * weight)

    def best_sizes(self, pull: Floats, eta: Floats, n: Floats, others: Floats) -> Floats:
        """The best |weight| of a voter that is one of n, beside others of this norm. pull: |mu - M|; eta > 0."""
        lam = self.lam * np.sqrt(n)
        alone = np.maximum(pull - lam / 2, 0.0) / eta  # as L1
        low, high = np.zeros_like(pull), pull / eta
        for _ in range(HALVINGS):  # the slope 2 eta x - 2 pull + lam x / norm rises with x
            x = 0.5 * (low + high)
            norm = self.joined(others, x)
            slope = 2 * (eta * x - pull) + lam * np.divide(x, norm, out=np.ones_like(x), where=norm > 0)
            low, high = np.where(slope < 0, x, low), np.where(slope < 0, high, x)
        return np.where(others > 0, 0.5 * (low + high), alone)


@dataclass(frozen=True)
class BoundLinf(Penalty):
    """8 R n |alpha|_inf, with lam = 8 R: a voter pays for the largest weight, whatever its own."""

    kind: ClassVar[int] = 5

    def of(self, n: Floats, norm: Floats) -> Floats:
        return np.asarray(self.lam * n * norm)

    def norm(self, weights: Floats) -> float:
        return float(np.abs(weights).max(initial=0.0))

    def without(self, weights: Floats) -> Floats:
        sizes = np.abs(weights)
        place = int(np.argmax(sizes)) if len(sizes) else 0
        out = np.full(len(sizes), sizes.max(initial=0.0))
        out[place : place + 1] = np.delete(sizes, place).max(initial=0.0)
        return out

    def joined(self, others: Floats, weight: Floats) -> Floats:
        return np.maximum(others, np.abs(weight))

    def best_sizes(self, pull: Floats, eta: Floats, n: Floats, others: Floats) -> Floats:
        beyond = (pull - self.lam * n / 2) / eta
        return np.where(beyond > others, beyond, np.minimum(pull / eta, others))


Bound = BoundL2 | BoundLinf
BOUNDS: dict[str, type[Bound]] = {"l2": BoundL2, "linf": BoundLinf}


def theory_lam(complexity: float) -> float:
    """The lam of Theorem 1 for L1, risk + 2 lam |alpha|_1: 4 R_m."""
    return 4 * complexity
