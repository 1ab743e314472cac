"""QuadBoost on a finite pool of voters: a round costs a row of the Gram matrix, whatever the number of rows.

Only mu, eta and Gram rows of the pool are used. Batches of rounds run inside a kernel.
"""

import math
import time
from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np

from electorate import kernels
from electorate.algorithms.quadboost import Bound, WeightRules
from electorate.exact import Floats, Ints, on_grid
from electorate.families.means import Gram, PoolMeans
from electorate.model.casting import Cast
from electorate.model.trace import Trace
from electorate.training.run import OTHER_DATA, refuse_large_votes

COLUMNS = ("step", "edge", "objective", "n_voters", "seconds")
WEIGHT, STEP, EDGE, DROP, N_VOTERS = range(5)  # details of a move; the drop of the objective
N_DETAILS = 5
REASONS = {0: None, 1: None, 2: "converged", 3: "no_edge", 4: "max_voters"}
WANTS_ROW = 1
WORK_AT_ONCE = 20_000_000  # voters that one call of the kernel looks at: far under 0.2 s


class QuadRounds:
    """What rounds on a pool and rounds of a searched family share: the record of their moves."""

    ended: str | None = None
    make_cast: Callable[[Any, float], Cast]  # of a voter and its weight
    group: Ints | None = None  # [label]: 0 or 1, where one label is fitted against the rest

    def __init__(self, rules: WeightRules, power: float) -> None:
        self.rules = rules
        self.power = power  # the objective without voters: the mean of y^2
        self.trace = Trace(COLUMNS, N_DETAILS)
        self.fall = 0.0  # of the objective, since the first round
        self.started = time.perf_counter()

    def voter(self, number: int) -> Any:
        """The voter of a number in the trace."""
        raise NotImplementedError

    def advance(self, most: int) -> str | None:
        raise NotImplementedError

    def cast(self, number: int, weight: float) -> Cast:
        return self.make_cast(self.voter(number), weight)

    @property
    def sizes(self) -> list[float]:
        """The weights of all voters."""
        raise NotImplementedError

    @property
    def gap(self) -> float:
        """A bound on how far the objective is above its least value."""
        return math.inf

    @property
    def penalty(self) -> float:
        """Paid by the weights; without re-weighting copies count apart."""
        apart = self.trace.details[:, STEP].tolist() if self.rules.mode == 0 else self.sizes
        return math.fsum(map(self.rules.penalty.cost, apart))

    def record(self, rounds: Ints, voters: Ints, details: Floats, **columns: Any) -> None:
        """Add the moves of whole rounds; of several moves in a round, history has the step and edge of the first."""
        numbers = np.arange(self.trace.n_rounds + 1, rounds[-1] + 1 if len(rounds) else 0)
        first: Any = slice(0, 1)
        last: Any = slice(-1, None)
        if len(numbers) != 1:
            first, last = np.searchsorted(rounds, numbers), np.searchsorted(rounds, numbers, side="right") - 1
        falls = np.cumsum(np.append(self.fall, details[:, DROP]))
        history = {
            "step": details[first, STEP],
            "edge": details[first, EDGE],
            "objective": self.power - falls[1:][last],
            "n_voters": details[last, N_VOTERS].astype(np.int64),
            "seconds": np.full(len(numbers), time.perf_counter() - self.started),
        }
        self.trace.add_rounds(rounds, voters, details[:, WEIGHT], history | columns, details)
        self.fall = float(falls[-1])
        refuse_large_votes(math.fsum(map(abs, self.sizes)), self.trace.n_rounds)

    def resume(self, past: Trace, voters: Sequence[Any] = ()) -> None:
        """Make the moves of an earlier run again; refuse if they lower the objective otherwise. voters: of that run."""
        if not past.n_rounds:
            return
        details = self._redo(past, voters)
        columns = {name: past.history[name] for name in ("seconds", "train_error") if name in past.history}
        self.record(past.rounds, past.voters, details, **columns)
        self.started -= float(columns["seconds"][-1])
        self._refuse_other_rows(past)

    def _redo(self, past: Trace, voters: Sequence[Any]) -> Floats:
        """Make the moves of a trace again; return their details."""
        raise NotImplementedError

    def _refuse_other_rows(self, past: Trace) -> None:
        self._refuse_other("objective", past, float(self.trace.history["objective"][-1]), 1e-9)

    def _refuse_other(self, name: str, past: Trace, now: float, tol: float) -> None:
        """Raise where the last entry of a column of history is not what it was."""
        was = float(past.history.get(name, [now])[-1])
        if not math.isclose(now, was, rel_tol=tol, abs_tol=tol / 100):
            raise ValueError(OTHER_DATA.format(f"the {name} was {was:.9g} and is {now:.9g}"))


class PoolRounds(QuadRounds):
    """The weights of a pool's voters and c, their correlations with the residual, round by round."""

    def __init__(self, pool: PoolMeans, rules: WeightRules, gram: Gram | None = None) -> None:
        super().__init__(rules, pool.power)
        self.pool = pool
        self.gram = Gram(pool) if gram is None else gram
        self.c = np.array(pool.mu)
        self.weight = np.zeros(len(pool.mu))

    def voter(self, number: int) -> int:
        return number

    @property
    def sizes(self) -> list[float]:
        return self.weight[self.weight != 0].tolist()

    @property
    def gap(self) -> float:
        numbers = self.rules.penalty.numbers
        return float(kernels.quad_gap(*numbers, self.pool.power, self.c, self.pool.mu, self.weight))

    @property
    def risk(self) -> float:
        """The mean of (y - f)^2, from the correlations."""
        used = np.flatnonzero(self.weight)
        terms = self.weight[used] * (self.pool.mu[used] + self.c[used])
        return max(self.pool.power - math.fsum(terms.tolist()), 0.0)

    def again(self) -> Self:
        """Return the rounds as they were before the first, with the same Gram rows."""
        return type(self)(self.pool, self.rules, self.gram)

    def with_rules(self, rules: WeightRules) -> "PoolRounds":
        """Return the rounds with the same weights under other rules, for a path of penalties; they count from 1."""
        other = PoolRounds(self.pool, rules, self.gram)
        other.c, other.weight = self.c.copy(), self.weight.copy()
        other.power = self.risk + math.fsum(map(rules.penalty.cost, self.sizes))
        return other

    def advance(self, most: int) -> str | None:
        rules, held = self.rules, int(np.count_nonzero(self.weight))
        looks = 1 + held if rules.reweight == "cyclic" else 1
        most = min(most, max(1, WORK_AT_ONCE // (looks * max(1, len(self.weight)))))
        most_moves = most * (held + 2 if rules.reweight == "cyclic" else 1) + held + 2
        most_voters = len(self.weight) if rules.max_voters is None else min(rules.max_voters, len(self.weight))
        first, last = self.trace.n_rounds + 1, self.trace.n_rounds + most
        places, details = np.empty((most_moves, 2), dtype=np.int64), np.empty((most_moves, 5))
        info = np.zeros(6, dtype=np.int64)
        parts = []
        numbers = (*rules.penalty.numbers, rules.mode, rules.tol, most_voters, self.pool.power)
        while first <= last:
            state = (self.c, self.pool.mu, self.pool.eta, self.weight, self.gram.rows, self.gram.slot)
            first = kernels.quad_rounds(*numbers, *state, first, last, places, details, info)
            parts.append((places[: info[0]].copy(), details[: info[0]].copy()))
            if info[1] != WANTS_ROW:
                break
            self.gram.load(int(info[2]))
        moves, made = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
        self.record(moves[:, 0], moves[:, 1], made)
        return REASONS[int(info[1])]

    def _redo(self, past: Trace, voters: Sequence[Any]) -> Floats:
        if int(past.voters.max()) >= len(self.weight):
            raise ValueError(OTHER_DATA.format("their voters differ"))
        return self._repeat(np.stack([past.rounds, past.voters], axis=1), past.details.copy())

    def _repeat(self, places: Ints, details: Floats) -> Floats:
        """Make moves again, of which details[:, WEIGHT] is given; fills in the other columns."""
        kind, lam, _ = self.rules.penalty.numbers
        low = 0
        while low < len(places):
            first = np.sort(np.unique(places[low:, 1], return_index=True)[1])
            high = low + int(first[self.gram.most]) if len(first) > self.gram.most else len(places)
            self.gram.load_all(np.unique(places[low:high, 1]).tolist())
            state = (self.c, self.pool.eta, self.weight, self.gram.rows, self.gram.slot)
            kernels.quad_replay(kind, lam, self.rules.mode, places[low:high], details[low:high], *state)
            low = high
        return details


# ---------------------------------------------------------------- the bound itself


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
