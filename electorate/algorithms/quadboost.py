"""QuadBoost: quadratic risk, steps in closed form; vanilla, L1, L2 and Linf penalties (the paper's eq. 6 to 9).

Paper: Fortier-Dubois et al., "Efficient Learning of Ensembles with QuadBoost". Everything follows from three numbers of
a voter: c = mu - M, its correlation with the residual; eta, its mean square; and its weight. The kernels compute with
them: `quad_weight` (eq. 6 to 9), `quad_drop`, `quad_gap` and `lasso_gap`.
"""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from electorate import kernels
from electorate.exact import Floats

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
        """Return by how much the objective falls when the weight goes from old to new: g(old) - g(new).

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


# ---------------------------------------------------------------- Theorem 1 as an objective

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
