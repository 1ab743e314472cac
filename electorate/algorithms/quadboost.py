"""QuadBoost: quadratic risk, steps in closed form; vanilla, L1, L2 and Linf penalties (the paper's eq. 6 to 9).

Paper: Fortier-Dubois et al., "Efficient Learning of Ensembles with QuadBoost". Everything follows from three numbers of
a voter: c = mu - M, its correlation with the residual; eta, its mean square; and its weight.
"""

import math
from dataclasses import dataclass
from typing import ClassVar

from electorate.grid import on_grid

MODES = {"never": 0, "cyclic": 1, "greedy": 2}


@dataclass(frozen=True)
class Penalty:
    """None: the risk alone. `kind` is what the kernels call it."""

    lam: float = 0.0
    alpha_max: float = math.inf
    kind: ClassVar[int] = 0

    def best(self, pull: float, eta: float) -> float:
        """The best weight of a voter, on the grid of votes. pull: mu - M, with M of the other voters (eq. 6)."""
        return float(on_grid(self._best(pull, eta))) if eta > 0 else 0.0

    def _best(self, pull: float, eta: float) -> float:
        return pull / eta

    def cost(self, weight: float) -> float:
        """What a voter of this weight adds to the objective."""
        return 0.0

    def saved(self, old: float, new: float) -> float:
        """cost(old) - cost(new), of weights that hardly differ too."""
        return 0.0

    def drop(self, c: float, eta: float, old: float, new: float) -> float:
        """What the objective loses when the weight goes from old to new: g(old) - g(new), exactly.

        g(a) = eta a^2 - 2 a (c + old eta) + cost(a); c: the correlation with the residual, this voter heard.
        """
        change = new - old
        return change * (2 * c - eta * change) + self.saved(old, new)


@dataclass(frozen=True)
class L1(Penalty):
    """risk + 2 lam |alpha|_1, eq. 7: a soft threshold at lam."""

    kind: ClassVar[int] = 1

    def _best(self, pull: float, eta: float) -> float:
        return math.copysign(max(abs(pull) - self.lam, 0.0) / eta, pull)

    def cost(self, weight: float) -> float:
        return 2 * self.lam * abs(weight)

    def saved(self, old: float, new: float) -> float:
        return 2 * self.lam * (abs(old) - abs(new))


@dataclass(frozen=True)
class L2(Penalty):
    """risk + lam sum alpha^2, eq. 8."""

    kind: ClassVar[int] = 2

    def _best(self, pull: float, eta: float) -> float:
        return pull / (eta + self.lam)

    def cost(self, weight: float) -> float:
        return self.lam * weight * weight

    def saved(self, old: float, new: float) -> float:
        return self.lam * (old - new) * (old + new)


@dataclass(frozen=True)
class Linf(Penalty):
    """The risk over |alpha| <= alpha_max, eq. 9: the step is clipped."""

    kind: ClassVar[int] = 3

    def _best(self, pull: float, eta: float) -> float:
        return min(max(pull / eta, -self.alpha_max), self.alpha_max)


PENALTIES: dict[str | None, type[Penalty]] = {None: Penalty, "l1": L1, "l2": L2, "linf": Linf}


def theory_lam(complexity: float) -> float:
    """The lam that Theorem 1 asks of L1, risk + 2 lam |alpha|_1: 4 R_m. For L2 and Linf see theory_rounds.py."""
    return 4 * complexity
