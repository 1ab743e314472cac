"""Given voters, weighed anew: the programs of RLPBoost and RQPBoost, and the Lasso, over a matrix of what they say.

Rows that all voters say the same of, with the same label, are one example: the weights do not depend on the order of
the rows, and a weight of k is k rows.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from electorate.algorithms.programs import (
    LEAST_SCALE,
    Margin,
    Normalised,
    Quadratic,
    in_nu,
    margins_of,
    master_of,
    refuse_scale,
    solve_quadratic,
)
from electorate.algorithms.quadboost import L1
from electorate.data.distinct_rows import group_rows, keys_of, mass_of
from electorate.grid import on_grid
from electorate.model.outcome import Outcome
from electorate.training.column_generation import Candidate, Generation
from electorate.training.pool_rounds import PoolRounds, Rules, State

Floats = NDArray[np.float64]
NO_OUTPUTS = np.empty((0, 1))
AT_ONCE = 20  # voters that enter before a linear program is solved again
FAINT = 1e-7  # of the heaviest voter's weight: what an interior point leaves of none
MOST_ROUNDS = 20_000  # of the Lasso: near-copies of each other creep for ever


@dataclass(frozen=True)
class Said:
    """said[voter, example] from -1 to 1, the examples' labels as +-1 and their sample weights as given."""

    said: Floats
    signs: Floats
    mass: Floats

    @classmethod
    def of(cls, said: Floats, second: NDArray[np.bool_], counts: NDArray[np.int64], given: float) -> "Said":
        """second[row]: whether the label is the second one; counts: whole numbers in proportion to the weights."""
        kept, place = group_rows(keys_of(said.T), second.astype(np.int64))
        total = np.zeros(len(kept), dtype=np.int64)
        np.add.at(total, place, counts)
        return cls(np.ascontiguousarray(said[:, kept]), np.where(second[kept], 1.0, -1.0), mass_of(total, given))

    @cached_property
    def awards(self) -> Floats:
        return self.said * self.signs

    def only(self, voters: NDArray[np.int64]) -> "Said":
        return Said(self.said[voters], self.signs, self.mass)

    def best(self, weights: Floats) -> Candidate:
        with threadpool_limits(1):
            edges = self.awards @ weights
        t = int(np.argmax(edges))
        return Candidate(t, NO_OUTPUTS, self.said[t])  # the voter is its number

    def constant(self, weights: Floats) -> Candidate:
        """The best of those that say the same of every example, or of all where none does."""
        same = np.flatnonzero(np.all(self.said == self.said[:, :1], axis=1))
        if not len(same):
            return self.best(weights)
        t = int(same[np.argmax(self.awards[same] @ weights)])
        return Candidate(t, NO_OUTPUTS, self.said[t])


@dataclass(frozen=True)
class Weighed:
    """alpha[voter], the objective, the duality gap; residual of the optimality conditions; what failed, if so."""

    alpha: Floats
    objective: float
    gap: float
    residual: float = 0.0
    failed: str = ""


def weigh_linear(said: Said, margin: Margin, solver: str, tol: float = 1e-9) -> Weighed:
    """The largest soft margin over all these voters; they enter only as they are needed."""
    generation = Generation(said, margin, master_of(margin, solver))
    if generation.lopsided:
        return _one_by_one(said, generation, tol)
    master, alpha, objective = generation.master, np.zeros(len(said.said)), -np.inf
    weights, entered = margin.first_weights(said.mass), np.empty(0, dtype=np.int64)
    while True:
        with threadpool_limits(1):
            edges = said.awards @ weights
        gap = margin.gap(objective, margin.dual(weights, float(edges.max())))
        new = _most_violated(edges, entered)
        if gap <= tol or not len(new):
            return Weighed(alpha, objective, gap)
        for t in new:
            master.add(said.awards[t])
        solution = master.solve()
        if solution is None:
            return Weighed(alpha, objective, gap, 0.0, master.status)
        entered, weights = np.concatenate([entered, new]), solution.weights
        alpha = np.zeros(len(said.said))
        alpha[entered] = on_grid(solution.alpha)
        objective = margin.primal(
            alpha[entered], margins_of(alpha[entered], list(said.awards[entered]), len(said.mass))
        )


def _most_violated(edges: Floats, entered: NDArray[np.int64]) -> NDArray[np.int64]:
    """The voters with the largest edges, if larger than those of all that are in."""
    least = float(edges[entered].max(initial=-np.inf))
    best = np.argsort(-edges, kind="stable")[:AT_ONCE]
    return np.setdiff1d(best[edges[best] > least], entered)


def _one_by_one(said: Said, generation: Generation, tol: float) -> Weighed:
    outcome: Outcome = generation.run(len(said.said) + 1, tol, lambda outcome: None)
    alpha = np.zeros(len(said.said))
    for cast in outcome.casts:
        number: Any = cast.voter
        alpha[number] += cast.step.size
    return Weighed(alpha, generation.objective, generation.gap, 0.0, generation.failed)


def weigh_quadratic(said: Said, c: float, tol: float = 1e-9) -> Weighed:
    """RQPBoost."""
    refuse_scale("RQPBoost", c, float(said.mass.sum()), LEAST_SCALE)
    form = Quadratic(c * said.mass)
    found = solve_quadratic(said.awards, form, tol)
    alpha = np.asarray(on_grid(np.where(found.alpha > FAINT * found.alpha.max(initial=0.0), found.alpha, 0.0)))
    objective = form.primal(alpha, margins_of(alpha, list(said.awards), len(said.mass)))
    failed = "" if found.converged else "the interior point method ended early"
    gap = found.gap + max(0.0, objective - found.objective) / max(1.0, abs(objective))
    return Weighed(alpha, objective, gap, found.residual, failed)


def rlp(said: Said, c: float) -> Normalised:
    """RLPBoost: max rho - C sum(xi); bounded for C >= 1 / n, n being the sum of the weights as given."""
    n = float(said.mass.sum())
    if c * n < 1:
        raise ValueError(
            f"C={c:g} is less than 1 / n = {1 / n:.4g}, where n = {n:.4g} is the sum of the sample weights: RLPBoost's "
            "program is unbounded; use a larger C, or nu, which does not depend on the scale of the weights"
        )
    return Normalised(c * said.mass)


def soft_margin(said: Said, nu: float) -> Normalised:
    return in_nu(said.mass, nu)


def first_of_each(said: Floats) -> NDArray[np.int64]:
    """The voters, but of those that say the same of every row only the first."""
    return np.sort(np.unique(keys_of(said), return_index=True)[1])


# ---------------------------------------------------------------- the Lasso


@dataclass(frozen=True)
class Normal:
    """gram[j, k] = mean h_j h_k and mu[j] = mean h_j y: all that least squares needs of the examples. y is +-1."""

    gram: Floats
    mu: Floats
    power: float = 1.0

    @classmethod
    def of(cls, said: Said) -> "Normal":
        share = said.mass / said.mass.sum()
        with threadpool_limits(1):
            return cls((said.said * share) @ said.said.T, said.said @ (share * said.signs))

    @property
    def eta(self) -> Floats:
        return np.ascontiguousarray(np.diag(self.gram))

    def row(self, k: int) -> Floats:
        return np.asarray(self.gram[k])


def lasso(state: State, strengths: Iterable[float], tol: float = 1e-9) -> Iterator[Floats]:
    """min mean (y - f)^2 + 2 lam |alpha|_1 for each lam in turn: QuadBoost-L1 on these voters, to a gap of tol."""
    rounds = PoolRounds(state, Rules(L1(0.0)))
    for lam in strengths:
        rounds = rounds.go_on(Rules(L1(lam), "cyclic", tol))
        rounds.advance(MOST_ROUNDS)
        yield rounds.weight.copy()
