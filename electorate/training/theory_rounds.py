"""QuadBoost that lowers Theorem 1's bound itself: L2 and Linf with the paper's lam, which grows with the voters.

By Lemma 1 a vote of n voters has n^(1 - 1/p) |alpha|_p times the complexity R of one voter: the bound is, without its
logarithms, F(alpha) = risk + 8 R n^(1 - 1/p) |alpha|_p, with n the number of weights that are not 0. A round gives the
voter that lowers F most, old or new, its best weight. It stops where none does: a voter that enters must lower the risk
by more than it adds to the penalty.
"""

import math
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from electorate.algorithms.quadboost import Penalty
from electorate.grid import on_grid
from electorate.training.pool_rounds import Places, PoolRounds, Rules, Run, State
from electorate.training.run import OTHER_DATA

Floats = NDArray[np.float64]
HALVINGS = 60


@dataclass(frozen=True)
class Bound(Penalty):
    """8 R n^(1 - 1/p) |alpha|_p. lam: the theory's, 8 R, before the factor n^(1 - 1/p)."""

    def of(self, n: Floats, norm: Floats) -> Floats:
        """The penalty of n voters whose weights have this norm."""
        raise NotImplementedError

    def norm(self, weights: Floats) -> float:
        raise NotImplementedError

    def without(self, weights: Floats) -> Floats:
        """[voter]: the norm of all weights but this one."""
        raise NotImplementedError

    def joined(self, others: Floats, weight: Floats) -> Floats:
        """The norm of a weight together with others of this norm."""
        raise NotImplementedError

    def best_sizes(self, pull: Floats, eta: Floats, n: Floats, others: Floats) -> Floats:
        """The best |weight| of a voter that is one of n, beside others of this norm. pull: |mu - M|; eta > 0."""
        raise NotImplementedError


class BoundL2(Bound):
    """8 R sqrt(n) |alpha|_2. Its stationary weight is that of eq. 8 with lam = 4 R sqrt(n) / |alpha|_2."""

    kind: ClassVar[int] = 4

    def of(self, n: Floats, norm: Floats) -> Floats:
        return np.asarray(self.lam * np.sqrt(n) * norm)

    def norm(self, weights: Floats) -> float:
        return math.sqrt(math.fsum((weights * weights).tolist()))

    def without(self, weights: Floats) -> Floats:
        total = math.fsum((weights * weights).tolist())
        alone = np.count_nonzero(weights) - (weights != 0) == 0  # no others: exactly 0
        return np.where(alone, 0.0, np.sqrt(np.maximum(total - weights * weights, 0.0)))

    def joined(self, others: Floats, weight: Floats) -> Floats:
        return np.sqrt(others * others + weight * weight)

    def best_sizes(self, pull: Floats, eta: Floats, n: Floats, others: Floats) -> Floats:
        lam = self.lam * np.sqrt(n)
        alone = np.maximum(pull - lam / 2, 0.0) / eta  # as L1
        low, high = np.zeros_like(pull), pull / eta
        for _ in range(HALVINGS):  # the slope 2 eta x - 2 pull + lam x / norm rises with x
            x = 0.5 * (low + high)
            norm = self.joined(others, x)
            slope = 2 * (eta * x - pull) + lam * np.divide(x, norm, out=np.ones_like(x), where=norm > 0)
            low, high = np.where(slope < 0, x, low), np.where(slope < 0, high, x)
        return np.where(others > 0, 0.5 * (low + high), alone)


class BoundLinf(Bound):
    """8 R n |alpha|_inf: a voter pays for the largest weight, whatever its own."""

    kind: ClassVar[int] = 5

    def of(self, n: Floats, norm: Floats) -> Floats:
        return np.asarray(self.lam * n * norm)

    def norm(self, weights: Floats) -> float:
        return float(np.abs(weights).max(initial=0.0))

    def without(self, weights: Floats) -> Floats:
        sizes = np.abs(weights)
        largest = sizes.max(initial=0.0)
        place = int(np.argmax(sizes)) if len(sizes) else 0
        out = np.full(len(sizes), largest)
        out[place : place + 1] = np.delete(sizes, place).max(initial=0.0)
        return out

    def joined(self, others: Floats, weight: Floats) -> Floats:
        return np.maximum(others, np.abs(weight))

    def best_sizes(self, pull: Floats, eta: Floats, n: Floats, others: Floats) -> Floats:
        beyond = (pull - self.lam * n / 2) / eta
        return np.where(beyond > others, beyond, np.minimum(pull / eta, others))


BOUNDS: dict[str, type[Bound]] = {"l2": BoundL2, "linf": BoundLinf}


class TheoryRounds(PoolRounds):
    """Rounds that lower Theorem 1's bound on a finite pool."""

    def __init__(self, state: State, rules: Rules) -> None:
        assert isinstance(rules.penalty, Bound)
        self.bound = rules.penalty
        super().__init__(state, rules)

    @property
    def gap(self) -> float:
        """F is not convex in which voters there are: nothing is known of its least value."""
        return math.inf

    def best(self) -> tuple[int, float, float]:
        """Return the voter that lowers F most, its best weight, and by how much F falls."""
        weight, eta, bound = self.weight, self.state.pool.eta, self.bound
        used = weight != 0
        held = int(np.count_nonzero(used))
        n_others, others = held - used, bound.without(weight)
        pull = self.state.c + weight * eta
        speaks = eta > 0
        sizes = bound.best_sizes(np.abs(pull), np.where(speaks, eta, 1.0), n_others + 1.0, others)
        new = np.asarray(on_grid(np.copysign(np.minimum(sizes, bound.alpha_max), pull)))
        new[~speaks] = 0.0
        if self.rules.max_voters is not None and held >= self.rules.max_voters:
            new[~used] = 0.0
        none = bound.of(n_others.astype(np.float64), others)  # the penalty without the voter
        with_it = np.where(new != 0, bound.of(n_others + 1.0, bound.joined(others, new)), none)
        value = new * (eta * new - 2 * pull) + with_it
        new = np.where(value < none, new, 0.0)  # it may be best to leave
        now = weight * (eta * weight - 2 * pull) + self._penalty()
        drops = np.where(new != weight, now - np.minimum(value, none), 0.0)
        place = int(np.argmax(drops))
        return place, float(new[place]), float(drops[place])

    def _penalty(self) -> float:
        """What the weights there are pay."""
        n = np.count_nonzero(self.weight)
        return float(self.bound.of(np.asarray(float(n)), np.asarray(self.bound.norm(self.weight))))

    def _some(self, first: int, last: int) -> str | None:
        for number in range(first, last + 1):
            voter, new, drop = self.best() if len(self.weight) else (0, 0.0, 0.0)
            if drop <= self.rules.tol:
                return "converged"
            self._record([self._move(number, voter, new)])
        return None

    def _move(self, number: int, voter: int, new: float) -> tuple[Places, Floats]:
        """Give a voter a new weight; the move as it is recorded."""
        state, pool = self.state, self.state.pool
        old = float(state.weight[voter])
        pull = float(state.c[voter] + old * pool.eta[voter])
        before, eta = self._penalty(), float(pool.eta[voter])
        state.weight[voter] = new
        drop = (old - new) * (eta * (old + new) - 2 * pull) + before - self._penalty()
        state.c[:] -= (new - old) * state.row(voter)
        held = float(np.count_nonzero(state.weight))
        return np.array([[number, voter]]), np.array([[new, new, pull, drop, held]])

    def replay(self, past: Run, objective: Floats) -> None:
        """Make the moves of a run again; refuse if they do not lower F as they did."""
        if len(past.places) and int(past.places[:, 1].max()) >= len(self.weight):
            raise ValueError(OTHER_DATA.format("their voters differ"))
        weights = zip(past.places.tolist(), past.moves[:, 0].tolist(), strict=True)
        moves = [self._move(number, voter, new)[1] for (number, voter), new in weights]
        told = np.concatenate([np.empty((0, 5)), *moves])
        self._begin(replace(past, power=self.run.power, moves=told, done=False, stop_reason="n_estimators"))
        self.started -= float(past.seconds[-1]) if len(past.seconds) else 0.0
        now = self.run.history()["objective"]
        if len(now) and not math.isclose(now[-1], objective[-1], rel_tol=1e-9, abs_tol=1e-12):
            raise ValueError(OTHER_DATA.format(f"the objective was {objective[-1]:.9g} and is {now[-1]:.9g}"))


def rounds_of(state: State, rules: Rules) -> PoolRounds:
    """The rounds that these rules ask for."""
    return TheoryRounds(state, rules) if isinstance(rules.penalty, Bound) else PoolRounds(state, rules)
