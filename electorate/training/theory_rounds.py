"""QuadBoost that lowers Theorem 1's bound itself: L2 and Linf with the paper's lam, which grows with the voters.

A round gives the voter that lowers the bound most, old or new, its best weight. It stops where none does: a voter that
enters must lower the risk by more than it adds to the penalty.
"""

from typing import Any

import numpy as np

from electorate.algorithms.quadboost import WeightRules
from electorate.algorithms.quadboost_bound import Bound
from electorate.arrays import Floats
from electorate.grid import on_grid
from electorate.training.pool_rounds import PoolRounds
from electorate.voters.means import Gram, PoolMeans


class TheoryRounds(PoolRounds):
    """Rounds that lower Theorem 1's bound on a finite pool. The bound is not convex, so the gap is infinite."""

    def __init__(self, pool: PoolMeans, rules: WeightRules, gram: Gram | None = None) -> None:
        super().__init__(pool, rules, gram)
        assert isinstance(rules.penalty, Bound)
        self.bound = rules.penalty

    @property
    def gap(self) -> float:
        return np.inf

    def best(self) -> tuple[int, float, float]:
        """Return the voter that lowers the bound most, its best weight, and by how much the bound falls."""
        weight, eta, bound = self.weight, self.pool.eta, self.bound
        used = weight != 0
        held = int(np.count_nonzero(used))
        n_others, others = held - used, bound.without(weight)
        pull = self.c + weight * eta
        positive = eta > 0
        sizes = bound.best_sizes(np.abs(pull), np.where(positive, eta, 1.0), n_others + 1.0, others)
        new = np.asarray(on_grid(np.copysign(np.minimum(sizes, bound.alpha_max), pull)))
        new[~positive] = 0.0
        if self.rules.max_voters is not None and held >= self.rules.max_voters:
            new[~used] = 0.0
        none = bound.of(n_others.astype(np.float64), others)  # the penalty without the voter
        with_it = np.where(new != 0, bound.of(n_others + 1.0, bound.joined(others, new)), none)
        value = new * (eta * new - 2 * pull) + with_it
        new = np.where(value < none, new, 0.0)  # it may be best to leave
        now = weight * (eta * weight - 2 * pull) + self._bound_now()
        drops = np.where(new != weight, now - np.minimum(value, none), 0.0)
        place = int(np.argmax(drops))
        return place, float(new[place]), float(drops[place])

    def _bound_now(self) -> float:
        """The penalty of the weights."""
        n = np.count_nonzero(self.weight)
        return float(self.bound.of(np.asarray(float(n)), np.asarray(self.bound.norm(self.weight))))

    def advance(self, most: int) -> str | None:
        for _ in range(most):
            voter, new, drop = self.best() if len(self.weight) else (0, 0.0, 0.0)
            if drop <= self.rules.tol:
                return "converged"
            self.record(np.array([self.trace.n_rounds + 1]), np.array([voter]), self._move(voter, new))
        return None

    def _move(self, voter: int, new: float) -> Floats:
        """Give a voter a new weight; return the details of the move."""
        old, eta = float(self.weight[voter]), float(self.pool.eta[voter])
        pull = float(self.c[voter] + old * eta)
        before = self._bound_now()
        self.weight[voter] = new
        drop = (old - new) * (eta * (old + new) - 2 * pull) + before - self._bound_now()
        self.c -= (new - old) * self.gram.load(voter)
        return np.array([[new, new, pull, drop, float(np.count_nonzero(self.weight))]])

    def _repeat(self, places: Any, details: Floats) -> Floats:
        moves = zip(places[:, 1].tolist(), details[:, 0].tolist(), strict=True)
        return np.concatenate([self._move(voter, new) for voter, new in moves])


def rounds_of(pool: PoolMeans, rules: WeightRules, gram: Gram) -> PoolRounds:
    """The rounds for these rules."""
    kind = TheoryRounds if isinstance(rules.penalty, Bound) else PoolRounds
    return kind(pool, rules, gram)
