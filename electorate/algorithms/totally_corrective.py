"""The programs of RLPBoost and RQPBoost, which weigh the voters of an ensemble again.

Raetsch, Onoda and Mueller 2001, as the VadaBoost paper compares with them. awards[t, i] = y_i h_t(x_i), |h| <= 1.
"""

from dataclasses import dataclass

import numpy as np

from electorate.algorithms.lpboost import Normalised, refuse_scale
from electorate.exact import Floats

# The least C times the total weight. A voter's alpha, per copy, is at most half of it; votes are multiples of 2^-40.
LEAST_SCALE = 1e-6


def rlp(mass: Floats, c: float) -> Normalised:
    """RLPBoost: max rho - C sum(xi); bounded for C >= 1 / n, n being the sum of the weights as given."""
    n = float(mass.sum())
    if c * n < 1:
        raise ValueError(
            f"C={c:g} is less than 1 / n = {1 / n:.4g}, where n = {n:.4g} is the sum of the sample weights: RLPBoost's "
            "program is unbounded; use a larger C, or nu, which does not depend on the scale of the weights"
        )
    return Normalised(c * mass)


@dataclass(frozen=True)
class Quadratic:
    """RQPBoost: min |alpha|^2 + sum_i cap_i xi_i, margin_i >= 1 - xi_i, alpha, xi >= 0, with cap_i = C s_i.

    Dual: max sum(w) - |max(0, awards w)|^2 / 4, 0 <= w <= cap; alpha = max(0, awards w) / 2.
    """

    cap: Floats

    def primal(self, alpha: Floats, margins: Floats) -> float:
        return float(alpha @ alpha + np.sum(self.cap * np.maximum(0.0, 1.0 - margins)))

    def dual(self, weights: Floats, edges: Floats) -> float:
        return float(weights.sum() - 0.25 * np.sum(np.maximum(0.0, edges) ** 2))


def rqp(mass: Floats, c: float) -> Quadratic:
    refuse_scale("RQPBoost", c, float(mass.sum()), LEAST_SCALE)
    return Quadratic(c * mass)
