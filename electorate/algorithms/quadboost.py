"""QuadBoost: quadratic risk, steps in closed form; vanilla, L1, L2 and Linf penalties (the paper's eq. 6 to 9).

Paper: Fortier-Dubois et al., "Efficient Learning of Ensembles with QuadBoost". Everything follows from three numbers of
a voter: c = mu - M, its correlation with the residual; eta, its mean square; and its weight. The kernels compute with
them: `quad_weight` (eq. 6 to 9), `quad_drop`, `quad_gap` and `lasso_gap`.
"""

import math
from dataclasses import dataclass
from typing import ClassVar

from electorate import kernels

MODES = {"never": 0, "cyclic": 1, "greedy": 2}


@dataclass(frozen=True)
class Penalty:
    """None: the risk alone. `kind` is its number in the kernels."""

    lam: float = 0.0
    alpha_max: float = math.inf
    kind: ClassVar[int] = 0

    @property
    def numbers(self) -> tuple[int, float, float]:
        return self.kind, float(self.lam), float(self.alpha_max)

    def best(self, pull: float, eta: float) -> float:
        """The best weight of a voter, on the grid of votes. pull: mu - M, with M of the other voters (eq. 6)."""
        return float(kernels.quad_weight(*self.numbers, pull, eta))

    def drop(self, c: float, eta: float, old: float, new: float) -> float:
        """By how much the objective falls when the weight goes from old to new: g(old) - g(new).

        g(a) = eta a^2 - 2 a (c + old eta) + cost(a); c: the correlation with the residual, this voter included.
        """
        return float(kernels.quad_drop(self.kind, float(self.lam), c, eta, old, new))

    def cost(self, weight: float) -> float:
        """What a voter of this weight adds to the objective."""
        return 0.0


@dataclass(frozen=True)
class L1(Penalty):
    """risk + 2 lam |alpha|_1, eq. 7: a soft threshold at lam."""

    kind: ClassVar[int] = 1

    def cost(self, weight: float) -> float:
        return 2 * self.lam * abs(weight)


@dataclass(frozen=True)
class L2(Penalty):
    """risk + lam sum alpha^2, eq. 8."""

    kind: ClassVar[int] = 2

    def cost(self, weight: float) -> float:
        return self.lam * weight * weight


@dataclass(frozen=True)
class Linf(Penalty):
    """The risk over |alpha| <= alpha_max, eq. 9: the step is clipped."""

    kind: ClassVar[int] = 3


PENALTIES: dict[str | None, type[Penalty]] = {None: Penalty, "l1": L1, "l2": L2, "linf": Linf}


@dataclass(frozen=True)
class WeightRules:
    """How the weights are set.

    tol: for L1's last correlation and for the gap; max_voters: distinct voters at once; rate: the part of its best
    weight that a voter enters with, where no voter is re-weighted and the voters are searched.
    """

    penalty: Penalty
    reweight: str = "never"
    tol: float = 0.0
    max_voters: int | None = None
    rate: float = 1.0

    @property
    def mode(self) -> int:
        return MODES[self.reweight]
