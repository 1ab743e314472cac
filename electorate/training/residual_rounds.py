"""Rounds of QuadBoost where the best voter is searched afresh each round: stumps, trees, rules, kernels, regressors.

The family sees the residuals. A voter enters by its edge c = mu - M and its mean square eta; voters that are there are
re-weighted by their exact correlations with the residual, which every round begins with.
"""

import math
import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from electorate.grid import LONGEST
from electorate.training.pool_rounds import Growing, Rules, Run
from electorate.training.run import OTHER_DATA

Floats = NDArray[np.float64]
Move = tuple[int, float, float]  # voter, old weight, new weight


@dataclass(frozen=True)
class Found:
    """The best voter for the residuals. key: equal for equal voters."""

    key: Hashable
    voter: Any
    c: float
    eta: float


class Searcher(Protocol):
    """Rows, their residuals and the voters so far."""

    found: list[Found]  # the voters there are, in the order in which they came

    @property
    def heard(self) -> float:
        """The mean of y (y - f)."""
        ...

    @property
    def error(self) -> float:
        """Of the votes."""
        ...

    @property
    def power(self) -> float:
        """The mean of y^2."""
        ...

    def best(self) -> Found | None: ...

    def correlations(self) -> Floats:
        """Of the voters there are with the residual."""
        ...

    def gram(self, k: int) -> Floats:
        """Of voter k with the voters there are."""
        ...

    def apply(self, moves: list[Move]) -> None: ...


class AfreshRounds:
    """As `PoolRounds`, over a family that is searched."""

    def __init__(self, searcher: Searcher, rules: Rules) -> None:
        self.searcher = searcher
        self.rules = rules
        self.weights: list[float] = []
        self.numbers: dict[Hashable, int] = {}
        self._begin(Run(searcher.power))
        self.started = time.perf_counter()

    def _begin(self, run: Run) -> None:
        self.run = run
        self._places, self._moves, self._seconds = Growing(run.places), Growing(run.moves), Growing(run.seconds)

    def replay(self, past: Run, objective: Floats, voters: list[Found]) -> None:
        """Take up a run where it ended; refuse if the risk is another."""
        if not past.n_rounds:
            return
        for voter in voters:
            self._know(voter)
        weights = past.weights(len(voters))
        self.searcher.apply([(j, 0.0, float(w)) for j, w in enumerate(weights)])
        self.weights = weights.tolist()
        self._begin(replace(past, power=self.run.power))
        self.started -= float(past.seconds[-1]) if len(past.seconds) else 0.0
        if self.rules.mode == 0:  # the correlations would cost a pass for every voter
            now = self.searcher.error
            if past.errors and now != past.errors[-1]:
                raise ValueError(OTHER_DATA.format(f"the error was {past.errors[-1]:.9g}, and is {now:.9g}"))
            return
        risk = self.searcher.heard - float(weights @ self.searcher.correlations())
        if not math.isclose(risk + self.paid, objective[-1], rel_tol=1e-8, abs_tol=1e-10):
            raise ValueError(OTHER_DATA.format(f"the objective was {objective[-1]:.9g}, and is {risk + self.paid:.9g}"))

    @property
    def paid(self) -> float:
        """The penalty; without re-weighting copies count apart."""
        apart = self.run.moves[:, 1].tolist() if self.rules.mode == 0 else self.weights
        return math.fsum(map(self.rules.penalty.cost, apart))

    @property
    def risk(self) -> float:
        """By what the moves lowered it."""
        lost = float(np.cumsum(self.run.moves[:, 3])[-1]) if self.run.n_rounds else 0.0
        return max(self.searcher.power - lost - self.paid, 0.0)

    @property
    def gap(self) -> float:
        """Of L1: the Lasso's duality gap, if the search is exhaustive; over the voters found, if not."""
        best = self.searcher.best()
        return self._gap(0.0 if best is None else abs(best.c))

    def _gap(self, largest: float) -> float:
        penalty = self.rules.penalty
        if penalty.kind != 1:
            return math.inf
        for c in self.searcher.correlations().tolist() if self.rules.mode else ():
            largest = max(largest, abs(c))
        risk, heard = self.risk, self.searcher.heard
        size = math.fsum(map(abs, self.weights))
        if risk == 0:
            return 2 * penalty.lam * size
        scale = heard / risk
        if largest > 0:
            scale = min(max(scale, -penalty.lam / largest), penalty.lam / largest)
        return max(risk + 2 * penalty.lam * size - 2 * scale * heard + scale * scale * risk, 0.0)

    def advance(self, rounds: int, after: Callable[[Run], str | None] | None = None) -> Run:
        """Go on until there are so many rounds, or fewer with a reason."""
        reason = None
        while reason is None and self.run.n_rounds < rounds:
            reason = self._round(self.run.n_rounds + 1)
            if reason is None and after is not None:
                reason = after(self.run)
        self.run.stop_reason = reason or "n_estimators"
        self.run.gap = self.gap if self.rules.penalty.kind == 1 else math.inf
        self.run.done = True
        return self.run

    def _round(self, number: int) -> str | None:
        best = self.searcher.best()
        largest = 0.0 if best is None else abs(best.c)
        rules = self.rules
        if rules.penalty.kind == 1 and rules.mode == 0 and largest <= rules.penalty.lam + rules.tol:
            return "converged"
        if rules.mode and rules.penalty.kind == 1 and self._gap(largest) <= rules.tol:
            return "converged"
        if best is not None and best.key not in self.numbers and self._full:
            if rules.mode == 0:
                return "max_voters"
            best = None
        turn = Turn(self, best)
        {"never": turn.enter, "cyclic": turn.sweep, "greedy": turn.greedy}[rules.reweight]()
        if not turn.moves:
            return "no_edge"
        self.searcher.apply(turn.moves)
        self._record(number, turn)
        return None

    @property
    def _full(self) -> bool:
        return self.rules.max_voters is not None and int(np.count_nonzero(self.weights)) >= self.rules.max_voters

    def _know(self, voter: Found) -> int:
        """The number of a voter; it joins those there are if it is new."""
        if voter.key not in self.numbers:
            self.numbers[voter.key] = len(self.searcher.found)
            self.searcher.found.append(voter)
            self.weights.append(0.0)
        return self.numbers[voter.key]

    def _record(self, number: int, turn: "Turn") -> None:
        run = self.run
        run.places = self._places.add(np.array([(number, one[0]) for one in turn.moves], dtype=np.int64))
        run.moves = self._moves.add(np.array(turn.told))
        run.seconds = self._seconds.add(np.array([time.perf_counter() - self.started]))
        run.errors.append(self.searcher.error)
        reach = math.fsum(map(abs, self.weights))
        if reach >= LONGEST:
            raise ValueError(
                f"after {number} rounds votes can come to {reach:.3g}, more than can be summed exactly "
                f"({LONGEST:.3g}): use a penalty, or fewer n_estimators"
            )


class Turn:
    """One round: who moves."""

    def __init__(self, rounds: AfreshRounds, best: Found | None) -> None:
        self.rounds = rounds
        self.best = best
        self.penalty = rounds.rules.penalty
        self.moves: list[Move] = []
        self.told: list[tuple[float, ...]] = []

    def enter(self) -> None:
        """A voter enters, perhaps as a copy."""
        if self.best is not None:
            new = self.penalty.best(self.best.c, self.best.eta)
            if self._worth(self.best, self.best.c, 0.0, new) > 0:
                number = self.rounds._know(self.best)
                self._move(number, self.best, self.best.c, 0.0, new)

    def greedy(self) -> None:
        """Old or new, the voter that lowers the objective most."""
        c = self.rounds.searcher.correlations()
        worth = [self._best_of(k, float(c[k])) for k in range(len(c))]
        drops = [drop for _, drop in worth]
        mine = int(np.argmax(drops)) if drops else -1
        fresh = self.best is not None and self.best.key not in self.rounds.numbers
        if fresh and self.best is not None:
            new = self.penalty.best(self.best.c, self.best.eta)
            drop = self._worth(self.best, self.best.c, 0.0, new)
            if drop > 0 and (mine < 0 or drop > drops[mine]):
                self._move(self.rounds._know(self.best), self.best, self.best.c, 0.0, new)
                return
        if mine >= 0 and drops[mine] > 0:
            voter = self.rounds.searcher.found[mine]
            self._move(mine, voter, float(c[mine]), self.rounds.weights[mine], worth[mine][0])

    def sweep(self) -> None:
        """The best voter enters, or moves; then all that are there, one after another."""
        fresh = self.best is not None and self.best.key not in self.rounds.numbers
        if self.best is not None and fresh:
            new = self.penalty.best(self.best.c, self.best.eta)
            if self._worth(self.best, self.best.c, 0.0, new) > 0:
                self.rounds._know(self.best)
        c = np.array(self.rounds.searcher.correlations())
        order = list(range(len(c)))
        if self.best is not None and self.best.key in self.rounds.numbers:
            order.insert(0, self.rounds.numbers[self.best.key])
        for k in order:
            if self.rounds.weights[k] == 0 and (self.best is None or k != self.rounds.numbers.get(self.best.key)):
                continue
            new, drop = self._best_of(k, float(c[k]))
            if drop > 0:
                old = self.rounds.weights[k]
                self._move(k, self.rounds.searcher.found[k], float(c[k]), old, new)
                c -= (new - old) * self.rounds.searcher.gram(k)

    def _best_of(self, k: int, c: float) -> tuple[float, float]:
        voter, old = self.rounds.searcher.found[k], self.rounds.weights[k]
        if old == 0 and self.rounds._full:
            return 0.0, 0.0
        new = self.penalty.best(c + old * voter.eta, voter.eta)
        return new, self._worth(voter, c, old, new)

    def _worth(self, voter: Found, c: float, old: float, new: float) -> float:
        return self.penalty.drop(c, voter.eta, old, new) if new != old else 0.0

    def _move(self, k: int, voter: Found, c: float, old: float, new: float) -> None:
        """old: 0 for a copy that enters, whatever weight the voter has."""
        rounds, drop = self.rounds, self.penalty.drop(c, voter.eta, old, new)
        before = rounds.weights[k]
        rounds.weights[k] = before + (new - old)
        self.moves.append((k, before, rounds.weights[k]))
        held = float(np.count_nonzero(rounds.weights))
        self.told.append((rounds.weights[k], new, c + old * voter.eta, drop, held))
