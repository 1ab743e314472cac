"""MedBoost and LocMedBoost (Kegl, "Generalization error and algorithmic convergence of median boosting"): costs, rho.

Awards are theta = 1 - 2 C_eps(h, y) times the confidence kappa (eq. 4); a step minimises exp(rho alpha) times the
sum of weight exp(-alpha award), eq. 5. Equation and line numbers are those of the paper and its Figure 1.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from electorate.grid import LONGEST, on_grid
from electorate.messages import Moments

Array = NDArray[np.float64]
MOST_PASSES = 60
CLOSE = 1e-13  # of a step, relative
FIRST = 4.0  # the longest first try, where awards are at most 1


class Passes(Protocol):
    """Exact sums over the awards of the voter that was applied last."""

    def reward(self, rewarding: Any, unit: bool = False) -> tuple[float, float]: ...

    def moments(self, alpha: float, most: float) -> Moments: ...


# ---------------------------------------------------------------- costs, eq. 2


@dataclass(frozen=True)
class ZeroOne:
    """C = 1 where the target is farther than eps, else 0."""

    eps: float
    unit: ClassVar[bool] = True  # whether awards are -1 or 1

    def award(self, said: Array, y: Array) -> Array:
        award = np.subtract(said, y)  # in place: one array of all rows instead of three
        np.abs(award, out=award)
        np.subtract(self.eps, award, out=award)
        return np.copysign(1.0, award, out=award)


@dataclass(frozen=True)
class Linear:
    """C = |h - y| / eps: without a bound, so it can chase outliers."""

    eps: float
    unit: ClassVar[bool] = False  # whether awards are -1 or 1

    def award(self, said: Array, y: Array) -> Array:
        with np.errstate(over="ignore"):  # the booster refuses an infinite award
            return 1.0 - (2.0 / self.eps) * np.abs(said - y)


@dataclass(frozen=True)
class GivenCost:
    """A cost of the user's, cost(said, y, eps) for arrays; at least 1 where the target is farther than eps."""

    eps: float
    unit: ClassVar[bool] = False  # whether awards are -1 or 1
    function: Callable[[Array, Array, float], Array]

    def award(self, said: Array, y: Array) -> Array:
        cost = np.asarray(self.function(said, y, self.eps), dtype=np.float64)
        if cost.shape != y.shape:
            raise ValueError(f"cost gave an array of shape {cost.shape} for {len(y)} rows: give one number per row")
        bad = np.flatnonzero(~(cost >= (np.abs(said - y) > self.eps)) | ~np.isfinite(cost))
        if bad.size:
            row = int(bad[0])
            raise ValueError(
                f"cost({said[row]!r}, {y[row]!r}, eps={self.eps!r}) is {cost[row]!r}: a cost must be finite, not "
                "negative, and at least 1 where the prediction is farther than eps from the target (eq. 2)"
            )
        return 1.0 - 2.0 * cost


# ---------------------------------------------------------------- rho, section 3


@dataclass
class Adaptive:
    """rho_t = gamma_t - nu (Corollary 2)."""

    nu: float

    def __call__(self, edge: float, lowest: float) -> float:
        return _in_range(edge - self.nu, edge, lowest)

    def resume(self, edges: Array) -> None:
        """Go on after rounds with these edges."""


@dataclass
class LowestEdge:
    """rho_t = min over the rounds so far of gamma_j, minus nu: the rule of Raetsch and Warmuth."""

    nu: float
    least: float = math.inf

    def __call__(self, edge: float, lowest: float) -> float:
        self.least = min(self.least, edge)
        return _in_range(self.least - self.nu, edge, lowest)

    def resume(self, edges: Array) -> None:
        self.least = float(edges.min(initial=math.inf))


@dataclass
class Constant:
    """The same rho in every round."""

    rho: float

    def __call__(self, edge: float, lowest: float) -> float:
        return self.rho

    def resume(self, edges: Array) -> None:
        pass


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
    """A verdict on a voter. infinite: line 8, it decides alone. log_z: log of the sum of w exp(-alpha award)."""

    size: float
    edge: float
    rho: float
    log_z: float
    stop: str | None = None
    infinite: bool = False


@dataclass
class MedBoost:
    """Figure 1. cost.award: theta of eq. 4; rule: rho from the edge and the lowest award."""

    cost: Any
    rule: Any
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
        return med_step(engine, ends, self.rule)

    def resume(self, trace: Any) -> str | None:
        """Go on after the rounds of a trace; why not, if so."""
        if not trace.n_rounds:
            return None
        self.rule.resume(trace.history["edge"])
        return "perfect_voter" if math.isinf(trace.history["step"][-1]) else None


def med_step(engine: Passes, ends: tuple[float, float], rule: Callable[[float, float], float]) -> MedStep:
    """Lines 7 to 11 of Figure 1. ends: the lowest and the highest award of the voter."""
    lowest, highest = ends
    most = max(abs(lowest), abs(highest))
    if most == 0:
        return MedStep(0.0, 0.0, 0.0, 0.0, "no_edge")  # it abstains everywhere
    start = engine.moments(0.0, most)
    edge = min(max(start.mean, lowest), highest)
    rho = rule(edge, lowest)
    if lowest >= rho:
        if edge <= rho:
            return MedStep(0.0, edge, rho, 0.0, "no_edge")  # all awards are rho: nothing is gained
        return MedStep(0.0, edge, rho, 0.0, "perfect_voter", infinite=True)
    if edge <= rho:
        return MedStep(0.0, edge, rho, 0.0, "no_edge")
    size = float(on_grid(line_search(engine, start, rho, most, (lowest, highest))))
    if size <= 0:
        return MedStep(0.0, edge, rho, 0.0, "no_edge")
    return MedStep(size, edge, rho, math.nan)


def line_search(engine: Passes, start: Moments, rho: float, most: float, ends: tuple[float, float]) -> float:
    """The alpha at which the mean award under the moved weights is rho: there eq. 5 is least.

    In closed form where awards are +-1. Otherwise Newton steps inside a bracket: a few passes over the data.
    """
    if ends == (-1.0, 1.0) and start.second == start.weight > abs(start.first):
        right, wrong = start.weight + start.first, start.weight - start.first  # twice the weights of 1 and -1
        return 0.5 * (math.log(right / wrong) + math.log1p(-rho) - math.log1p(rho))
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


def abstaining_step(right: float, wrong: float, silent: float, rho: float) -> float:
    """The step in closed form for the 0-1 cost and kappa in {0, 1}, from the three weights."""
    root = math.sqrt((rho * silent) ** 2 + 4 * (1 - rho * rho) * right * wrong)
    return math.log((-rho * silent + root) / (2 * (1 + rho) * wrong))
