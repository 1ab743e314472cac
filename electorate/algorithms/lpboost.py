"""The linear programs of LPBoost and RLPBoost: objectives, duals and gaps of the forms in C and in nu.

Demiriz, Bennett and Shawe-Taylor 2002 (LPBoost); Raetsch, Onoda and Mueller 2001 (RLPBoost), as the QuadBoost and
VadaBoost papers use them. awards[t, i] = y_i h_t(x_i), |h| <= 1, and margins f_i = sum_t alpha_t awards[t, i].
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from electorate.exact import Floats

MOST_SCALE = 1e9  # of C times the total weight: beyond it rounding hides the margins' part of the objective


@dataclass(frozen=True)
class Unnormalised:
    """The form in C: min sum(alpha) + sum_i cap_i xi_i, margin_i + xi_i >= 1, alpha, xi >= 0, with cap_i = C s_i.

    Dual: max sum(w), edge of every voter at most 1, 0 <= w <= cap.
    """

    cap: Floats
    normalised: ClassVar[bool] = False  # whether the weights of the voters sum to 1

    def primal(self, alpha: Floats, margins: Floats) -> float:
        """The objective of these voters' weights, with the xi they need."""
        return float(alpha.sum() + np.sum(self.cap * np.maximum(0.0, 1.0 - margins)))

    def dual(self, weights: Floats, edge: float) -> float:
        """A lower bound on every objective, where no voter has a larger edge under the weights."""
        return float(weights.sum()) / max(1.0, edge)

    def gap(self, primal: float, dual: float) -> float:
        return max(0.0, primal - dual) / max(1.0, abs(primal))

    def first_weights(self, mass: Floats) -> Floats:
        return self.cap


@dataclass(frozen=True)
class Normalised:
    """The form in nu: max rho - sum_i cap_i xi_i, margin_i >= rho - xi_i, sum(alpha) = 1, cap_i = s_i / (nu sum(s)).

    Dual: min over weights 0 <= w <= cap, sum(w) = 1, of the largest edge. With cap >= 1 it is the hard margin.
    """

    cap: Floats
    normalised: ClassVar[bool] = True

    def primal(self, alpha: Floats, margins: Floats) -> float:
        """The objective of these voters' weights, with the best rho and the xi it needs."""
        rho = self.rho(margins)
        missing = np.maximum(0.0, rho - margins)
        return float(rho - np.sum(self.cap[missing > 0] * missing[missing > 0]))

    def rho(self, margins: Floats) -> float:
        """Return the rho below which examples may hold all the weight: the objective's slope in rho changes sign."""
        order = np.argsort(margins, kind="stable")
        held = np.cumsum(np.minimum(self.cap, 1.0)[order])
        return float(margins[order[min(int(np.searchsorted(held, 1.0 - 1e-12)), len(order) - 1)]])

    def dual(self, weights: Floats, edge: float) -> float:
        """An upper bound on every objective, where no voter has a larger edge under the weights."""
        return edge / float(weights.sum())

    def gap(self, primal: float, dual: float) -> float:
        return max(0.0, dual - primal)

    def first_weights(self, mass: Floats) -> Floats:
        return np.asarray(mass / mass.sum())


Margin = Unnormalised | Normalised  # cap: the most weight that each example may have


def in_c(mass: Floats, c: float) -> Unnormalised:
    """The form in C. mass: the sample weights as given, so that a weight of k equals k rows."""
    refuse_scale("LPBoost", c, float(mass.sum()))
    return Unnormalised(c * mass)


def in_nu(mass: Floats, nu: float) -> Normalised:
    """The form in nu; the scale of the weights does not matter."""
    return Normalised(mass / (nu * mass.sum()))


def hard(mass: Floats) -> Normalised:
    return Normalised(np.ones_like(mass))


def refuse_scale(name: str, c: float, total: float, least: float = 0.0) -> None:
    """Raise where the program in C cannot be solved in double precision. total: of the sample weights."""
    scale = c * total
    if least <= scale <= MOST_SCALE:
        return
    size, limit = ("large", f"at most {MOST_SCALE:g}") if scale > MOST_SCALE else ("small", f"at least {least:g}")
    raise ValueError(
        f"C={c:g} times the sum of the sample weights, {total:.4g}, is {scale:.4g}, too {size} for {name} to solve its "
        f"program accurately; it must be {limit}: change C, or divide the weights by their mean"
    )


def margins_of(alpha: Floats, awards: Sequence[Floats], n: int) -> Floats:
    """f_i y_i, summed voter by voter: a product by BLAS may depend on its threads."""
    margins = np.zeros(n)
    for size, award in zip(alpha.tolist(), awards, strict=True):
        if size != 0:
            margins += size * award
    return margins
