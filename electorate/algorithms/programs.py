"""The programs of LPBoost, RLPBoost and RQPBoost over given awards, their duals, gaps, and how the forms correspond.

Demiriz, Bennett and Shawe-Taylor 2002 (LPBoost); Raetsch, Onoda and Mueller 2001 (RLPBoost, RQPBoost), as the QuadBoost
and VadaBoost papers use them. awards[t, i] = y_i h_t(x_i), |h| <= 1. Linear programs are solved from the side of the
example weights: one row per voter, so that a new voter is one more row of a live model.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve, lstsq
from scipy.optimize import linprog
from threadpoolctl import threadpool_limits

Array = NDArray[np.float64]
TOLERANCE = 1e-10  # of the solvers, for feasibility on either side
NOTHING = 1e-10  # a weight of a voter below this share of all is rounding
MOST_STEPS = 100  # of the interior point method; it takes 15 to 40
PATIENCE = 8  # of its steps that better nothing
REFINED = 3  # times
MOST_SETS = 30  # of examples and voters at their bounds, tried to end exactly
MOST_OPEN = 1200  # examples and voters between their bounds, for the same
TINY = 1e-12
MOST_SCALE = 1e9  # of C times the total weight: beyond it rounding hides the margins' part of the objective
LEAST_SCALE = 1e-6  # of the same, for RQPBoost: alpha is at most half of it, and votes are multiples of 2^-40


# ---------------------------------------------------------------- the two forms


class Margin(Protocol):
    """What is asked of an ensemble's margins f_i = sum_t alpha_t awards[t, i]: an objective and its dual."""

    @property
    def cap(self) -> Array:
        """The most weight that each example may have."""
        ...

    def primal(self, alpha: Array, margins: Array) -> float: ...

    def dual(self, weights: Array, edge: float) -> float: ...

    def gap(self, primal: float, dual: float) -> float: ...

    def first_weights(self, mass: Array) -> Array: ...


@dataclass(frozen=True)
class Unnormalised:
    """The form in C: min sum(alpha) + sum_i cap_i xi_i, margin_i + xi_i >= 1, alpha, xi >= 0, with cap_i = C s_i.

    Dual: max sum(w), edge of every voter at most 1, 0 <= w <= cap.
    """

    cap: Array

    def primal(self, alpha: Array, margins: Array) -> float:
        """The objective of these voters' weights, with the xi they need."""
        return float(alpha.sum() + np.sum(self.cap * np.maximum(0.0, 1.0 - margins)))

    def dual(self, weights: Array, edge: float) -> float:
        """A lower bound on every objective, where no voter has a larger edge under the weights."""
        return float(weights.sum()) / max(1.0, edge)

    def gap(self, primal: float, dual: float) -> float:
        return max(0.0, primal - dual) / max(1.0, abs(primal))

    def first_weights(self, mass: Array) -> Array:
        return self.cap


@dataclass(frozen=True)
class Normalised:
    """The form in nu: max rho - sum_i cap_i xi_i, margin_i >= rho - xi_i, sum(alpha) = 1, cap_i = s_i / (nu sum(s)).

    Dual: min over weights 0 <= w <= cap, sum(w) = 1, of the largest edge. With cap >= 1 it is the hard margin.
    """

    cap: Array

    def primal(self, alpha: Array, margins: Array) -> float:
        """The objective of these voters' weights, with the best rho and the xi it needs."""
        rho = self.rho(margins)
        missing = np.maximum(0.0, rho - margins)
        return float(rho - np.sum(self.cap[missing > 0] * missing[missing > 0]))

    def rho(self, margins: Array) -> float:
        """Where examples with smaller margins may hold all the weight: the objective's slope in rho changes sign."""
        order = np.argsort(margins, kind="stable")
        held = np.cumsum(np.minimum(self.cap, 1.0)[order])
        return float(margins[order[min(int(np.searchsorted(held, 1.0 - 1e-12)), len(order) - 1)]])

    def dual(self, weights: Array, edge: float) -> float:
        """An upper bound on every objective, where no voter has a larger edge under the weights."""
        return edge / float(weights.sum())

    def gap(self, primal: float, dual: float) -> float:
        return max(0.0, dual - primal)

    def first_weights(self, mass: Array) -> Array:
        return np.asarray(mass / mass.sum())


def in_c(mass: Array, c: float) -> Unnormalised:
    """mass: the sample weights as given, so that a weight of k is k rows."""
    refuse_scale("LPBoost", c, float(mass.sum()))
    return Unnormalised(c * mass)


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


def in_nu(mass: Array, nu: float) -> Normalised:
    """Scaling all weights changes nothing."""
    return Normalised(mass / (nu * mass.sum()))


def hard(mass: Array) -> Normalised:
    return Normalised(np.ones_like(mass))


def to_c_form(alpha: Array, margins: Array, form: Normalised, d: float) -> tuple[Array, float]:
    """The weights and the C of the form in C that has the same solution up to a factor: C = D / beta.

    beta > 0 is the optimum of the form in nu, D = 1 / (nu n); the optimum of the form in C is then 1 / beta.
    """
    beta = form.primal(alpha, margins)
    if beta <= 0:
        raise ValueError(f"the optimum of the form in nu is {beta:.3g}: only a positive one has a form in C")
    return alpha / form.rho(margins), d / beta


# ---------------------------------------------------------------- solving the linear ones


@dataclass(frozen=True)
class Solution:
    """alpha[voter] and, from the dual, weights[example]."""

    alpha: Array
    weights: Array


class Master(Protocol):
    """The program over the voters found so far. solve: None where the solver gave up; `status` says why."""

    status: str

    def add(self, awards: Array) -> None: ...

    def solve(self) -> Solution | None: ...


class Fresh:
    """Solved anew each time, by HiGHS through SciPy."""

    def __init__(self, margin: Margin) -> None:
        self.margin = margin
        self.rows: list[Array] = []
        self.status = ""

    def add(self, awards: Array) -> None:
        self.rows.append(awards)

    def solve(self) -> Solution | None:
        n, normalised = len(self.margin.cap), isinstance(self.margin, Normalised)
        awards = np.array(self.rows).reshape(-1, n)
        bounds = np.stack([np.zeros(n), self.margin.cap], axis=1)
        options = {"primal_feasibility_tolerance": TOLERANCE, "dual_feasibility_tolerance": TOLERANCE}
        if normalised:
            found = linprog(
                c=np.append(np.zeros(n), 1.0),
                A_ub=np.column_stack([awards, -np.ones(len(awards))]),
                b_ub=np.zeros(len(awards)),
                A_eq=np.append(np.ones(n), 0.0)[None],
                b_eq=[1.0],
                bounds=np.vstack([bounds, [-np.inf, np.inf]]),
                method="highs-ds",
                options=options,
            )
        else:
            found = linprog(
                c=-np.ones(n),
                A_ub=awards,
                b_ub=np.ones(len(awards)),
                bounds=bounds,
                method="highs-ds",
                options=options,
            )
        self.status = str(found.message)
        if found.status != 0:
            return None
        return _tidy(-found.ineqlin.marginals, found.x[:n], self.margin)


class Live:
    """Kept alive by highspy: a new voter is a new row, and the dual simplex goes on from the last basis."""

    def __init__(self, margin: Margin) -> None:
        highspy: Any = import_module("highspy")
        self.margin = margin
        self.n = len(margin.cap)
        self.normalised = isinstance(margin, Normalised)
        self.n_voters = 0
        self.status = ""
        self.good = highspy.HighsModelStatus.kOptimal
        self.model = model = highspy.Highs()
        self.infinity = highspy.kHighsInf
        options = {"output_flag": False, "parallel": "off", "solver": "simplex", "simplex_strategy": 1}
        options |= {"primal_feasibility_tolerance": TOLERANCE, "dual_feasibility_tolerance": TOLERANCE}
        for name, value in options.items():
            model.setOptionValue(name, value)
        self.variables = np.arange(self.n + self.normalised, dtype=np.int32)
        model.addVars(self.n, np.zeros(self.n), np.minimum(margin.cap, self.infinity))
        if self.normalised:
            model.addVars(1, np.array([-self.infinity]), np.array([self.infinity]))
            model.addRow(1.0, 1.0, self.n, self.variables[:-1], np.ones(self.n))
        cost = np.append(np.zeros(self.n), 1.0) if self.normalised else -np.ones(self.n)
        model.changeColsCost(len(cost), self.variables, cost)

    def add(self, awards: Array) -> None:
        row = np.append(awards, -1.0) if self.normalised else np.asarray(awards, dtype=np.float64)
        used = np.flatnonzero(row)
        most = 0.0 if self.normalised else 1.0
        self.model.addRow(-self.infinity, most, len(used), self.variables[used], np.ascontiguousarray(row[used]))
        self.n_voters += 1

    def solve(self) -> Solution | None:
        for again in (False, True):
            if again:
                self.model.clearSolver()  # from nothing, where the last basis led astray
            self.model.run()
            if self.model.getModelStatus() == self.good:
                found = self.model.getSolution()
                rows = np.array(found.row_dual)[-self.n_voters :] if self.n_voters else np.empty(0)
                return _tidy(-rows, np.array(found.col_value)[: self.n], self.margin)
        self.status = self.model.modelStatusToString(self.model.getModelStatus())
        return None


def _tidy(alpha: Array, weights: Array, margin: Margin) -> Solution:
    """Within the bounds that solvers keep only to a tolerance; voters of no weight have exactly none."""
    alpha = np.maximum(alpha, 0.0)
    return Solution(np.where(alpha > NOTHING * max(1.0, alpha.sum()), alpha, 0.0), np.clip(weights, 0.0, margin.cap))


def can_go_on() -> bool:
    """Whether highspy is installed."""
    return find_spec("highspy") is not None


def master_of(margin: Margin, solver: str) -> Master:
    """solver: "scipy", "highspy", or "auto", which takes highspy where it is installed."""
    if solver == "highspy" and not can_go_on():
        raise ImportError("solver='highspy' needs the package highspy: pip install electorate[lp], or solver='scipy'")
    return Live(margin) if solver != "scipy" and can_go_on() else Fresh(margin)


def margins_of(alpha: Array, awards: Sequence[Array], n: int) -> Array:
    """f_i y_i, summed voter by voter: a product by BLAS may depend on its threads."""
    margins = np.zeros(n)
    for size, award in zip(alpha.tolist(), awards, strict=True):
        if size != 0:
            margins += size * award
    return margins


# ---------------------------------------------------------------- the quadratic one


@dataclass(frozen=True)
class Quadratic:
    """RQPBoost: min |alpha|^2 + sum_i cap_i xi_i, margin_i >= 1 - xi_i, alpha, xi >= 0, with cap_i = C s_i.

    Dual: max sum(w) - |max(0, awards w)|^2 / 4, 0 <= w <= cap; alpha = max(0, awards w) / 2.
    """

    cap: Array

    def primal(self, alpha: Array, margins: Array) -> float:
        return float(alpha @ alpha + np.sum(self.cap * np.maximum(0.0, 1.0 - margins)))

    def dual(self, weights: Array, edges: Array) -> float:
        return float(weights.sum() - 0.25 * np.sum(np.maximum(0.0, edges) ** 2))


@dataclass(frozen=True)
class QuadraticSolution:
    """residual: how far the weights are from where a step along the dual's gradient would leave them; 0 at the optimum.

    gap: between the objectives, relative to the larger of 1 and the primal one.
    """

    alpha: Array
    weights: Array
    objective: float
    gap: float
    residual: float
    converged: bool


def solve_quadratic(awards: Array, form: Quadratic, tol: float = 1e-9) -> QuadraticSolution:
    """By a primal-dual interior point method on the dual; systems are as large as the voters, not the examples.

    The dual is min |G x|^2 / 4 - c x over x = (w, z) >= 0, w <= cap, with G = (awards, I): z takes up what is negative.
    """
    with threadpool_limits(1):  # BLAS sums in another order on more threads
        best = _interior(awards, form, tol)
        for eps in (1e-5, 1e-3, 1e-7):
            if not _good(best, tol):
                best = _settled(awards, form, best, eps, tol)
    fine = best.gap <= 1e-8 and best.residual <= 1e-6
    return QuadraticSolution(best.alpha, best.weights, best.objective, best.gap, best.residual, fine)


def _good(found: QuadraticSolution, tol: float) -> bool:
    return found.gap <= tol and found.residual <= max(1e-8, tol)


def _better(first: QuadraticSolution, second: QuadraticSolution) -> QuadraticSolution:
    return min(first, second, key=lambda found: max(found.gap, found.residual))


def _interior(awards: Array, form: Quadratic, tol: float) -> QuadraticSolution:
    """Steps until nothing gets better: where margins of exactly 1 meet weights of exactly 0, before the very end."""
    point = _Point.start(awards, form.cap)
    best, since = _judged(awards, form, point.x), 0
    for _ in range(MOST_STEPS):
        if _good(best, tol) or since >= PATIENCE:
            break
        try:
            point.step(awards, form.cap)
        except LinAlgError:
            break
        now = _judged(awards, form, point.x)
        if not np.isfinite(now.gap):
            break
        best, since = (now, 0) if now.gap < best.gap else (best, since + 1)
    return best


def _settled(awards: Array, form: Quadratic, near: QuadraticSolution, eps: float, tol: float) -> QuadraticSolution:
    """From close by, by active sets: once it is known who is at a bound, the rest is a linear system.

    The first guess of the sets is right to eps; whoever then violates a bound changes sides.
    """
    share, margins = near.weights / form.cap, near.alpha @ awards
    low = (share < eps) & (margins > 1.0 - eps)
    high = (share > 1.0 - eps) & (margins < 1.0 + eps)
    active = near.alpha > eps
    best = near
    if np.count_nonzero(active) + len(share) - np.count_nonzero(low | high) > MOST_OPEN:
        return near  # too far off to guess, and the system too large
    for _ in range(MOST_SETS):
        alpha, weights = _between(awards, form.cap, low, high, active, near)
        now = _judged(awards, form, weights)
        best = _better(best, now)
        if _good(best, tol):
            break
        margins = alpha @ awards
        free = ~(low | high)
        before = low, high, active
        low = (low & (margins >= 1.0 - TINY)) | (free & (weights < 0))
        high = (high & (margins <= 1.0 + TINY)) | (free & (weights > form.cap))
        active = np.where(active, alpha > 0, awards @ weights > TINY)
        if all(map(np.array_equal, before, (low, high, active))):
            break
    return best


def _between(
    awards: Array, cap: Array, low: NDArray[Any], high: NDArray[Any], active: NDArray[Any], near: QuadraticSolution
) -> tuple[Array, Array]:
    """Margins of 1 for the free examples, alpha = awards w / 2 for the active voters: of such the nearest to `near`."""
    weights, alpha, free = near.weights.copy(), np.where(active, near.alpha, 0.0), ~(low | high)
    weights[low], weights[high] = 0.0, cap[high]
    part = awards[np.ix_(active, free)]
    k, m = part.shape
    table = np.zeros((k + m, k + m))
    table[:k, :k], table[:k, k:], table[k:, :k] = -2.0 * np.eye(k), part, part.T
    off = np.concatenate([2.0 * alpha[active] - awards[active] @ weights, 1.0 - alpha[active] @ part])
    move = lstsq(table, off, cond=1e-12, lapack_driver="gelsy", check_finite=False)[0] if k + m else off
    alpha[active] += move[:k]
    weights[free] += move[k:]
    return alpha, weights


def _judged(awards: Array, form: Quadratic, x: Array) -> QuadraticSolution:
    """The solution that weights (the first part of x) stand for, and how good it is."""
    weights = np.clip(x[: len(form.cap)], 0.0, form.cap)
    edges = awards @ weights
    alpha = 0.5 * np.maximum(0.0, edges)
    margins = alpha @ awards
    primal, dual = form.primal(alpha, margins), form.dual(weights, edges)
    moved = np.clip(weights + (1.0 - margins), 0.0, form.cap)
    residual = float(np.abs(weights - moved).max(initial=0.0))
    return QuadraticSolution(alpha, weights, primal, (primal - dual) / max(1.0, abs(primal)), residual, False)


@dataclass
class _Point:
    """x = (w, z) with the multipliers `low` of x >= 0 and `high` of w <= cap."""

    x: Array
    low: Array
    high: Array

    @classmethod
    def start(cls, awards: Array, cap: Array) -> "_Point":
        x = np.concatenate([0.5 * cap, np.ones(len(awards))])
        return cls(x, np.ones(len(x)), np.ones(len(cap)))

    def step(self, awards: Array, cap: Array) -> None:
        """Mehrotra's predictor and corrector."""
        n = len(cap)
        room = cap - self.x[:n]
        theta = self.low / self.x
        theta[:n] += self.high / room
        solve = _newton(awards, theta, n)
        gx = awards @ self.x[:n] + self.x[n:]
        gradient = 0.5 * np.concatenate([awards.T @ gx, gx])
        gradient[:n] -= 1.0
        off = gradient - self.low
        off[:n] += self.high
        count = len(self.x) + n
        now = float(self.low @ self.x + self.high @ room) / count

        def direction(target: float, dx: Array, dlow: Array, dhigh: Array) -> tuple[Array, Array, Array]:
            """Towards low x = high room = target, with the second-order terms of an earlier direction."""
            side = (target - dlow * dx) / self.x - self.low
            top = (target + dhigh * dx[:n]) / room - self.high
            right = -off + side
            right[:n] -= top
            move = solve(right)
            return move, side - self.low / self.x * move, top + self.high / room * move[:n]

        nothing = np.zeros_like(self.x), np.zeros_like(self.x), np.zeros(n)
        dx, dlow, dhigh = direction(0.0, *nothing)
        far = self._reach(dx, dlow, dhigh, room)
        after = float((self.low + far * dlow) @ (self.x + far * dx))
        after += float((self.high + far * dhigh) @ (room - far * dx[:n]))
        centre = now * (after / count / now) ** 3
        dx, dlow, dhigh = direction(centre, dx, dlow, dhigh)
        far = 0.995 * self._reach(dx, dlow, dhigh, room)
        self.x += far * dx
        self.low += far * dlow
        self.high += far * dhigh
        self.x[:n] = np.minimum(self.x[:n], cap * (1 - 1e-16))

    def _reach(self, dx: Array, dlow: Array, dhigh: Array, room: Array) -> float:
        """The share of a direction, at most 1, that keeps all that must be positive so."""
        far = 1.0
        pairs = ((self.x, dx), (self.low, dlow), (self.high, dhigh), (room, -dx[: len(room)]))
        for value, move in pairs:
            falls = move < 0
            if np.any(falls):
                far = min(far, float((-value[falls] / move[falls]).min()))
        return far


def _newton(awards: Array, theta: Array, n: int) -> Any:
    """Solves (G'G / 2 + diag(theta)) d = r by Woodbury's formula, with G = (awards, I)."""
    inverse = 1.0 / theta
    small = (awards * inverse[:n]) @ awards.T
    small[np.diag_indices_from(small)] += 2.0 + inverse[n:]
    size = 1.0 / np.sqrt(np.diag(small))
    small *= size[:, None] * size
    small[np.diag_indices_from(small)] += 1e-15 * len(small)  # where voters repeat each other, near the end
    factor = cho_factor(small, overwrite_a=True, check_finite=False)

    def nearly(right: Array) -> Array:
        first = inverse * right
        inner = size * cho_solve(factor, size * (awards @ first[:n] + first[n:]), check_finite=False)
        return np.asarray(first - inverse * np.concatenate([awards.T @ inner, inner]))

    def solve(right: Array) -> Array:
        """Refined: near the end theta spans 20 orders of magnitude."""
        found = nearly(right)
        for _ in range(REFINED):
            gx = 0.5 * (awards @ found[:n] + found[n:])
            found += nearly(right - theta * found - np.concatenate([awards.T @ gx, gx]))
        return found

    return solve
