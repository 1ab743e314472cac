"""RQPBoost's quadratic program: an interior point method on its dual, then active sets for the last digits."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve, lstsq
from threadpoolctl import threadpool_limits

from electorate.algorithms.totally_corrective import Quadratic
from electorate.exact import Bools, Floats

Mask = Bools
MOST_STEPS = 100  # of the interior point method; it takes 15 to 40
PATIENCE = 8  # steps without improvement
REFINEMENTS = 3
MOST_SETS = 30  # sets of examples and voters at their bounds that are tried
MOST_OPEN = 1200  # examples and voters between their bounds, for the same
TINY = 1e-12


@dataclass(frozen=True)
class QuadraticSolution:
    """residual: how far the weights are from where a step along the dual's gradient would leave them; 0 at the optimum.

    gap: between the objectives, relative to the larger of 1 and the primal one.
    """

    alpha: Floats
    weights: Floats
    objective: float
    gap: float
    residual: float
    converged: bool = False


def solve_quadratic(awards: Floats, form: Quadratic, tol: float = 1e-9) -> QuadraticSolution:
    """Solve the dual by a primal-dual interior point method; systems are as large as the voters, not the examples.

    The dual is min |G x|^2 / 4 - c x over x = (w, z) >= 0, w <= cap, with G = (awards, I): z takes up what is negative.
    """
    with threadpool_limits(1):  # BLAS sums in another order on more threads
        best = _interior(awards, form, tol)
        for eps in (1e-5, 1e-3, 1e-7):
            if not _accurate(best, tol):
                best = _by_active_sets(awards, form, best, eps, tol)
    return replace(best, converged=best.gap <= 1e-8 and best.residual <= 1e-6)


def _accurate(found: QuadraticSolution, tol: float) -> bool:
    return found.gap <= tol and found.residual <= max(1e-8, tol)


def _interior(awards: Floats, form: Quadratic, tol: float) -> QuadraticSolution:
    """Take steps until none improves the gap: margins of exactly 1 with weights of exactly 0 stop it early."""
    point = _Point.start(awards, form.cap)
    best, since = _evaluate(awards, form, point.x), 0
    for _ in range(MOST_STEPS):
        if _accurate(best, tol) or since >= PATIENCE:
            break
        try:
            point.step(awards, form.cap)
        except LinAlgError:
            break
        now = _evaluate(awards, form, point.x)
        if not np.isfinite(now.gap):
            break
        best, since = (now, 0) if now.gap < best.gap else (best, since + 1)
    return best


def _by_active_sets(
    awards: Floats, form: Quadratic, near: QuadraticSolution, eps: float, tol: float
) -> QuadraticSolution:
    """Finish by active sets: once the examples and voters at a bound are known, the rest is a linear system.

    The first guess of the sets takes eps for a bound; whatever then violates a bound changes its set.
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
        now = _evaluate(awards, form, weights)
        best = min(best, now, key=lambda found: max(found.gap, found.residual))
        if _accurate(best, tol):
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
    awards: Floats, cap: Floats, low: Mask, high: Mask, active: Mask, near: QuadraticSolution
) -> tuple[Floats, Floats]:
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


def _evaluate(awards: Floats, form: Quadratic, x: Floats) -> QuadraticSolution:
    """The solution of the weights in the first part of x, with its gap and residual."""
    weights = np.clip(x[: len(form.cap)], 0.0, form.cap)
    edges = awards @ weights
    alpha = 0.5 * np.maximum(0.0, edges)
    margins = alpha @ awards
    primal, dual = form.primal(alpha, margins), form.dual(weights, edges)
    moved = np.clip(weights + (1.0 - margins), 0.0, form.cap)
    residual = float(np.abs(weights - moved).max(initial=0.0))
    return QuadraticSolution(alpha, weights, primal, (primal - dual) / max(1.0, abs(primal)), residual)


@dataclass
class _Point:
    """x = (w, z) with the multipliers `low` of x >= 0 and `high` of w <= cap."""

    x: Floats
    low: Floats
    high: Floats

    @classmethod
    def start(cls, awards: Floats, cap: Floats) -> "_Point":
        x = np.concatenate([0.5 * cap, np.ones(len(awards))])
        return cls(x, np.ones(len(x)), np.ones(len(cap)))

    def step(self, awards: Floats, cap: Floats) -> None:
        """Mehrotra's predictor and corrector."""
        n = len(cap)
        slack = cap - self.x[:n]
        theta = self.low / self.x
        theta[:n] += self.high / slack
        solve = _newton(awards, theta, n)
        gx = awards @ self.x[:n] + self.x[n:]
        gradient = 0.5 * np.concatenate([awards.T @ gx, gx])
        gradient[:n] -= 1.0
        off = gradient - self.low
        off[:n] += self.high
        count = len(self.x) + n
        now = float(self.low @ self.x + self.high @ slack) / count

        def direction(target: float, dx: Floats, dlow: Floats, dhigh: Floats) -> tuple[Floats, Floats, Floats]:
            """Towards low x = high slack = target, with the second-order terms of an earlier direction."""
            side = (target - dlow * dx) / self.x - self.low
            top = (target + dhigh * dx[:n]) / slack - self.high
            right = -off + side
            right[:n] -= top
            move = solve(right)
            return move, side - self.low / self.x * move, top + self.high / slack * move[:n]

        nothing = np.zeros_like(self.x), np.zeros_like(self.x), np.zeros(n)
        dx, dlow, dhigh = direction(0.0, *nothing)
        far = self._reach(dx, dlow, dhigh, slack)
        after = float((self.low + far * dlow) @ (self.x + far * dx))
        after += float((self.high + far * dhigh) @ (slack - far * dx[:n]))
        centre = now * (after / count / now) ** 3
        dx, dlow, dhigh = direction(centre, dx, dlow, dhigh)
        far = 0.995 * self._reach(dx, dlow, dhigh, slack)
        self.x += far * dx
        self.low += far * dlow
        self.high += far * dhigh
        self.x[:n] = np.minimum(self.x[:n], cap * (1 - 1e-16))

    def _reach(self, dx: Floats, dlow: Floats, dhigh: Floats, slack: Floats) -> float:
        """The share of a direction, at most 1, that keeps all that must be positive so."""
        far = 1.0
        pairs = ((self.x, dx), (self.low, dlow), (self.high, dhigh), (slack, -dx[: len(slack)]))
        for value, move in pairs:
            falls = move < 0
            if np.any(falls):
                far = min(far, float((-value[falls] / move[falls]).min()))
        return far


def _newton(awards: Floats, theta: Floats, n: int) -> Any:
    """Solves (G'G / 2 + diag(theta)) d = r by Woodbury's formula, with G = (awards, I)."""
    inverse = 1.0 / theta
    small = (awards * inverse[:n]) @ awards.T
    small[np.diag_indices_from(small)] += 2.0 + inverse[n:]
    size = 1.0 / np.sqrt(np.diag(small))
    small *= size[:, None] * size
    small[np.diag_indices_from(small)] += 1e-15 * len(small)  # near the end, where voters repeat each other
    factor = cho_factor(small, overwrite_a=True, check_finite=False)

    def roughly(right: Floats) -> Floats:
        first = inverse * right
        inner = size * cho_solve(factor, size * (awards @ first[:n] + first[n:]), check_finite=False)
        return np.asarray(first - inverse * np.concatenate([awards.T @ inner, inner]))

    def solve(right: Floats) -> Floats:
        """Refine: near the end theta spans 20 orders of magnitude."""
        found = roughly(right)
        for _ in range(REFINEMENTS):
            gx = 0.5 * (awards @ found[:n] + found[n:])
            found += roughly(right - theta * found - np.concatenate([awards.T @ gx, gx]))
        return found

    return solve
