"""Rounds of QuadBoost on a finite pool of voters: correlations move by one row of the Gram matrix, whatever the rows.

The pool is known by mu, eta and its Gram rows only, which its state in the engine keeps. Moves are recorded as arrays:
round, voter, new weight.
"""

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, Self, overload

import numpy as np
from numpy.typing import NDArray

from electorate.algorithms.quadboost import MODES, Penalty
from electorate.grid import LONGEST
from electorate.model.trace import Row
from electorate.training.run import OTHER_DATA
from electorate.voters.means import Pool

Floats = NDArray[np.float64]
Places = NDArray[np.int64]  # [move]: round, voter
REASONS = {0: None, 1: None, 2: "converged", 3: "no_edge", 4: "max_voters"}
WORK_AT_ONCE = 20_000_000  # voters looked at in one call: far under 0.2 s


@dataclass(frozen=True)
class Rules:
    """How the weights are set. tol: of the L1 end and of the gap; max_voters: distinct voters at once."""

    penalty: Penalty
    reweight: str = "never"
    tol: float = 0.0
    max_voters: int | None = None

    @property
    def mode(self) -> int:
        return MODES[self.reweight]

    @property
    def numbers(self) -> tuple[int, float, float]:
        return self.penalty.kind, float(self.penalty.lam), float(self.penalty.alpha_max)


@dataclass
class Run:
    """What rounds leave: their moves, and why they ended. moves[move]: weight, step, edge, drop, voters after it."""

    power: float = 1.0
    places: Places = field(default_factory=lambda: np.empty((0, 2), dtype=np.int64))
    moves: Floats = field(default_factory=lambda: np.empty((0, 5)))
    seconds: Floats = field(default_factory=lambda: np.empty(0))
    validation: list[float] = field(default_factory=list)
    errors: list[float] = field(default_factory=list)  # of training, where every round knows it
    stop_reason: str = "n_estimators"
    best_round: int | None = None
    done: bool = False
    gap: float = math.inf
    train_error: float = math.nan

    @property
    def n_rounds(self) -> int:
        return int(self.places[-1, 0]) if len(self.places) else 0

    @property
    def casts(self) -> range:
        return range(self.n_rounds)

    @property
    def rows(self) -> "History":
        return History(self)

    @property
    def kept(self) -> "Run":
        """Once all is done, the rounds up to the best."""
        return self.cut(self.best_round) if self.done and self.best_round is not None else self

    def cut(self, rounds: int) -> "Run":
        n = int(np.searchsorted(self.places[:, 0], rounds, side="right"))
        shorter = replace(self, places=self.places[:n], moves=self.moves[:n], seconds=self.seconds[:rounds])
        shorter.validation, shorter.errors = self.validation[:rounds], self.errors[:rounds]
        return shorter

    def history(self) -> dict[str, NDArray[Any]]:
        """A column per number, an entry per round; of several moves the first is told, and all count."""
        numbers = np.arange(1, self.n_rounds + 1)
        first = np.searchsorted(self.places[:, 0], numbers, side="left")
        last = np.searchsorted(self.places[:, 0], numbers, side="right") - 1
        columns: dict[str, NDArray[Any]] = {
            "step": self.moves[first, 1],
            "edge": self.moves[first, 2],
            "objective": (self.power - np.cumsum(self.moves[:, 3]))[last],
            "n_voters": self.moves[last, 4].astype(np.int64),
            "seconds": self.seconds[: len(numbers)],
        }
        if self.validation:
            columns["validation"] = np.array(self.validation)
        if self.errors:
            columns["train_error"] = np.array(self.errors)
        return columns

    def weights(self, n_voters: int) -> Floats:
        """Of every voter of the pool, after the last round."""
        if self.places[:, 1].max(initial=-1) >= n_voters:
            raise ValueError(
                f"The moves name voter {self.places[:, 1].max()}, and these rows have {n_voters} voters: training can "
                "only resume on the rows and with the family that the model was fitted with."
            )
        weights = np.zeros(n_voters)
        weights[self.places[:, 1]] = self.moves[:, 0]  # of several moves of a voter the last counts
        return weights


class History(Sequence[Row]):
    """The rounds of a run as rows; made when asked for."""

    def __init__(self, run: Run) -> None:
        self.run = run

    def __len__(self) -> int:
        return self.run.n_rounds

    @overload
    def __getitem__(self, item: int) -> Row: ...
    @overload
    def __getitem__(self, item: slice) -> list[Row]: ...
    def __getitem__(self, item: Any) -> Any:
        columns = self.run.history()
        if isinstance(item, slice):
            return [{name: float(column[k]) for name, column in columns.items()} for k in range(len(self))[item]]
        return {name: float(column[item]) for name, column in columns.items()}

    def __iter__(self) -> Iterator[Row]:
        return iter(self[:])


class Growing:
    """An array that grows at its end; it is moved only when it doubles."""

    def __init__(self, array: NDArray[Any]) -> None:
        self.room = np.array(array)
        self.n = len(array)

    def add(self, more: NDArray[Any]) -> NDArray[Any]:
        """All there is, as a view."""
        if self.n + len(more) > len(self.room):
            room = np.empty((max(64, 2 * (self.n + len(more))), *self.room.shape[1:]), dtype=self.room.dtype)
            room[: self.n] = self.room[: self.n]
            self.room = room
        self.room[self.n : self.n + len(more)] = more
        self.n += len(more)
        return self.room[: self.n]


class State(Protocol):
    """Where the voters of a pool stand: their weights, and c, their correlations with the residual."""

    @property
    def pool(self) -> Pool: ...

    @property
    def c(self) -> Floats: ...

    @property
    def weight(self) -> Floats: ...

    def afresh(self) -> Self: ...

    def copy(self) -> Self: ...

    def row(self, j: int) -> Floats: ...

    def gap(self, numbers: tuple[int, float, float]) -> float: ...

    def rounds(
        self, rules: tuple[int, float, float, int, float, int], first: int, last: int, most_moves: int
    ) -> tuple[int, list[tuple[Places, Floats]]]: ...

    def replay(self, kind: int, lam: float, mode: int, places: Places, moves: Floats) -> None: ...


class PoolRounds:
    """The weights of a pool and its correlations with the residual, round by round."""

    def __init__(self, state: State, rules: Rules) -> None:
        self.state = state
        self.rules = rules
        self._begin(Run(state.pool.power))
        self.started = time.perf_counter()

    def _begin(self, run: Run) -> None:
        self.run = run
        self._places, self._moves, self._seconds = Growing(run.places), Growing(run.moves), Growing(run.seconds)

    @property
    def gap(self) -> float:
        """A bound on how far the objective is above the least over this pool."""
        return self.state.gap(self.rules.numbers)

    @property
    def weight(self) -> Floats:
        """Of every voter of the pool."""
        return self.state.weight

    def replay(self, past: Run, objective: Floats) -> None:
        """Go through the moves of a run again; refuse if they do not lower the objective as they did."""
        if len(past.places) and int(past.places[:, 1].max()) >= len(self.weight):
            raise ValueError(OTHER_DATA.format("their voters differ"))
        moves = np.array(past.moves)
        kind, lam, _ = self.rules.numbers
        self.state.replay(kind, lam, self.rules.mode, past.places, moves)
        self._begin(replace(past, power=self.run.power, moves=moves, done=False, stop_reason="n_estimators"))
        self.started -= float(past.seconds[-1]) if len(past.seconds) else 0.0
        now = self.run.history()["objective"]
        if len(now) and not math.isclose(now[-1], objective[-1], rel_tol=1e-9, abs_tol=1e-12):
            raise ValueError(OTHER_DATA.format(f"the objective was {objective[-1]:.9g} and is {now[-1]:.9g}"))

    def go_on(self, rules: Rules) -> "PoolRounds":
        """The same weights under other rules, for a path of penalties: rounds are counted anew."""
        there = PoolRounds(self.state.copy(), rules)
        there.run.power = self.risk + math.fsum(map(rules.penalty.cost, self.weight[self.weight != 0].tolist()))
        return there

    @property
    def risk(self) -> float:
        """The mean of (y - f)^2, from the correlations."""
        used = np.flatnonzero(self.weight)
        pool = self.state.pool
        terms = self.weight[used] * (pool.mu[used] + self.state.c[used])
        return max(pool.power - math.fsum(terms.tolist()), 0.0)

    def advance(self, rounds: int, after: Callable[[Run], str | None] | None = None) -> Run:
        """Go on until there are so many rounds, or fewer with a reason. after: looks at every round, and may stop."""
        reason = None
        while reason is None and self.run.n_rounds < rounds:
            at_once = 1 if after is not None else self._at_once()
            before = self.run.n_rounds
            reason = self._some(before + 1, min(rounds, before + at_once))
            if after is not None and self.run.n_rounds > before:
                reason = after(self.run) or reason
        self.run.stop_reason = reason or "n_estimators"
        self.run.gap = self.gap
        self.run.done = True
        return self.run

    def _at_once(self) -> int:
        looks = 1 + (int(np.count_nonzero(self.weight)) if self.rules.reweight == "cyclic" else 0)
        return max(1, WORK_AT_ONCE // (looks * max(1, len(self.weight))))

    def _some(self, first: int, last: int) -> str | None:
        """Rounds first..last, as far as they come."""
        held = int(np.count_nonzero(self.weight))
        room = (last - first + 1) * (1 if self.rules.reweight != "cyclic" else held + 2) + held + 2
        most = len(self.weight) if self.rules.max_voters is None else self.rules.max_voters
        why, parts = self.state.rounds((*self.rules.numbers, self.rules.mode, self.rules.tol, most), first, last, room)
        self._record(parts)
        return REASONS[why]

    def _record(self, parts: list[tuple[Places, Floats]]) -> None:
        run = self.run
        for places, moves in parts:
            run.places, run.moves = self._places.add(places), self._moves.add(moves)
        now = np.full(run.n_rounds - len(run.seconds), time.perf_counter() - self.started)
        run.seconds = self._seconds.add(now)
        reach = float(np.abs(self.weight).sum())
        if reach >= LONGEST:
            raise ValueError(
                f"after {run.n_rounds} rounds votes can come to {reach:.3g}, more than can be summed exactly "
                f"({LONGEST:.3g}): use a penalty, or fewer n_estimators"
            )
