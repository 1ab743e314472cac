"""MedBoost and LocMedBoost (Kegl, "Generalization error and algorithmic convergence of median boosting"): costs, rho.

Awards are theta = 1 - 2 C_eps(h, y) times the confidence kappa (eq. 4); a step minimises exp(rho alpha) times the
sum of weight exp(-alpha award), eq. 5. Equation and line numbers are those of the paper and its Figure 1.
"""

import math
from dataclasses import dataclass
from typing import Any, ClassVar

from electorate.algorithms.solvers.line_search import Passes, line_search
from electorate.exact import on_grid

# ---------------------------------------------------------------- rho, section 3


@dataclass(frozen=True)
class ConstantRho:
    """A rule with the same rho in every round."""

    rho: float

    def __call__(self, edge: float, least: float, lowest: float) -> float:
        return self.rho


@dataclass(frozen=True)
class AdaptiveRho:
    """rho_t = gamma_t - nu (Corollary 2)."""

    nu: float

    def __call__(self, edge: float, least: float, lowest: float) -> float:
        return _in_range(edge - self.nu, edge, lowest)


@dataclass(frozen=True)
class LowestEdge(AdaptiveRho):
    """rho_t = min over the rounds so far of gamma_j, minus nu: the rule of Raetsch and Warmuth."""

    def __call__(self, edge: float, least: float, lowest: float) -> float:
        return _in_range(least - self.nu, edge, lowest)


def _in_range(rho: float, edge: float, lowest: float) -> float:
    """nu must be less than gamma_t - rho_min, else every step is infinite: where it is not, half of that is used.

    Where all awards are the same there is no range: a voter that earns something everywhere is perfect, others gain
    nothing.
    """
    if edge <= lowest:
        return rho if lowest > 0 else edge
    return rho if rho > lowest else 0.5 * (edge + lowest)


# ---------------------------------------------------------------- a step


@dataclass(frozen=True)
class MedStep:
    """The step of a voter, its edge and rho, and a reason to stop or None. infinite: it decides alone (line 8)."""

    size: float
    edge: float
    rho: float
    stop: str | None = None
    infinite: bool = False


@dataclass
class MedBoost:
    """Figure 1. cost.award: theta of eq. 4; rule: rho from the edge, the least edge so far and the lowest award."""

    cost: Any
    rule: Any
    least: float = math.inf  # of the edges so far
    keeps_first: ClassVar[bool] = False  # a voter without an edge, if it is the only one

    def reward(self, engine: Passes) -> tuple[float, float]:
        """The lowest and the highest award of the voter that was applied last."""
        ends = engine.reward(self.cost.award, self.cost.unit)
        if not math.isfinite(ends[0]):
            raise ValueError(
                f"the cost |h - y| / eps is infinite on some row: eps={self.cost.eps:g} is too small for these "
                "targets; use a larger eps, or cost='zero_one'"
            )
        return ends

    def step(self, engine: Passes, ends: tuple[float, float]) -> MedStep:
        """Lines 7 to 11. ends: the lowest and the highest award of the voter."""
        lowest, highest = ends
        most = max(abs(lowest), abs(highest))
        if most == 0:
            return MedStep(0.0, 0.0, 0.0, "no_edge")  # it abstains everywhere
        start = engine.moments(0.0, most)
        edge = min(max(start.mean, lowest), highest)
        self.least = min(self.least, edge)
        rho = self.rule(edge, self.least, lowest)
        if edge <= rho:  # line 10
            return MedStep(0.0, edge, rho, "no_edge")
        if lowest >= rho:  # line 8
            return MedStep(0.0, edge, rho, "perfect_voter", infinite=True)
        size = float(on_grid(line_search(engine, start, rho, most, ends)))  # line 11
        return MedStep(size, edge, rho) if size > 0 else MedStep(0.0, edge, rho, "no_edge")

    def resume(self, trace: Any) -> str | None:
        """Go on after the rounds of a trace; why not, if so."""
        if not trace.n_rounds:
            return None
        self.least = float(trace.history["edge"].min())
        return "perfect_voter" if math.isinf(trace.history["step"][-1]) else None
