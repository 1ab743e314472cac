"""Stagewise boosting: sums from the engine, the best voter from the family, its step from the booster, and again.

The method depends on none of the three. A round is one voter and its step; earlier steps stay as they are.
"""

import math
import time
from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from electorate.algorithms.protocol import Booster, Step
from electorate.data.bins import Bins
from electorate.grid import LONGEST
from electorate.messages import Change, Split, Sums
from electorate.model.outcome import Cast, PastRun
from electorate.model.trace import Row, Trace
from electorate.training.run import OTHER_DATA
from electorate.voters.trees import Search, Voter

ALMOST_NOTHING = 2.0**-20
NOTHING_LEFT = ("no_edge", "converged", "zero_gradient")  # the voter is not used
MOST_TRIES = 2000  # 60,000 nats: no step is longer, and a state that is no number must not hang


class Engine(Protocol):
    """Where the shards live.

    unit: grid units of a full channel on one count; n_counted: how many rows they stand for, whatever their scale.
    """

    unit: float
    count: int  # how many rows count, repetitions included
    full: int  # what sums on the grid may come to
    n_counted: int

    def start(self, booster: Booster, group: NDArray[np.int64] | None = None) -> None: ...

    def counts(self) -> NDArray[np.int64]: ...

    def replay(self, booster: Booster, changes: list[Change]) -> float: ...

    def advance(self, booster: Booster, change: Change | None, floor: float, search: bool = True) -> Sums: ...

    def split(self, splits: list[Split]) -> NDArray[np.int64]: ...

    def look(self, splits: list[Split], of_rows: bool = False) -> NDArray[np.int64]: ...

    def count_rows(self, nodes: list[int]) -> NDArray[np.int64]: ...

    def leaf_rows(self, voter: Voter) -> NDArray[np.int64]: ...


class Family(Protocol):
    """What may vote."""

    fitted_elsewhere: ClassVar[bool]  # by third-party code, one voter after another

    def best(self, search: Search) -> Voter: ...

    def constant(self, search: Search) -> Voter:
        """The voter with the same output for every row."""
        ...

    def outputs(self, voter: Voter, n_rows: int, wanted: str) -> NDArray[np.float64]: ...


@dataclass(frozen=True)
class Setting:
    """What stays fixed in a run. n_estimators: rounds, the last of which need not prepare another search."""

    engine: Engine
    family: Family
    booster: Booster
    bins: Bins
    n_estimators: int


class Stagewise:
    """AdaBoost and its relatives, as a method of `training.run`. The rounds of `past` are replayed first."""

    def __init__(self, setting: Setting, past: PastRun) -> None:
        self.setting = setting
        self.trace = past.trace.cut(past.trace.n_rounds)
        self.casts: list[Cast] = list(past.casts)
        self.counts = setting.engine.counts().sum(axis=0)
        self.mass = int(self.counts[0].sum())
        self.reach = sum(cast.reach for cast in self.casts)
        before = self.trace.row(self.trace.n_rounds)["seconds"] if self.casts else 0.0
        self.started = time.perf_counter() - before
        self.sums: Sums
        self.floor: float
        self.one: float  # the sum of the channel where its mean is 1
        self._replay()
        perfect = bool(self.casts) and setting.booster.perfect(self.casts[-1].step)
        self.ended = "perfect_voter" if perfect else None

    def cast(self, number: int, weight: float) -> Cast:
        return self.casts[number]

    def change(self, number: int) -> Change:
        """What voter `number` changes in the rows."""
        return self.casts[number].change(self.setting.booster)

    def advance(self, most: int) -> str | None:
        reason = None
        for _ in range(most):
            reason = self._round()
            if reason is not None:
                break
        return reason

    def _round(self) -> str | None:
        setting, trace = self.setting, self.trace
        engine, booster, family = setting.engine, setting.booster, setting.family
        search = Search(self.sums, setting.bins, self.counts, engine, self.floor)
        voter = family.best(search) if self.casts else _first(family, search)
        outputs = family.outputs(voter, engine.n_counted, booster.leaves)
        step = self._judge(voter, outputs)
        if step.stop in NOTHING_LEFT:
            return step.stop
        cast = Cast(voter, booster.spoken(outputs), step)
        change = cast.change(booster)
        if not any(change.gains.ravel().tolist()):
            return "no_edge"  # the step rounds to 0 on the grid of votes: all later rounds would be the same
        self.reach += cast.reach
        number = trace.n_rounds + 1
        refuse_far(self.reach, number, "use a lower learning_rate, or fewer n_estimators")
        self.floor = booster.next_floor(self.floor, voter.sums, change.gains, engine)
        more = step.stop is None and number < setting.n_estimators
        self.sums, self.floor = exchange(engine, booster, change, self.floor, more)
        row = {
            "step": step.size,
            "edge": step.edge,
            "error": step.error,
            **self._measured(),
            "n_voters": number,
            "floor": float(self.floor),
            "seconds": time.perf_counter() - self.started,
            **booster.notes(self.sums, self.one, self.floor),
        }
        trace.add_round([(len(self.casts), step.size)], row)
        self.casts.append(cast)
        return step.stop

    def _judge(self, voter: Voter, outputs: NDArray[np.float64]) -> Step:
        """The booster's step. A perfect voter must be right on every row, also on those too light for the grid."""
        if voter.step is not None:
            return voter.step
        booster = self.setting.booster
        step = booster.step(voter.sums, outputs)
        if step.stop == "perfect_voter":
            rows = self.setting.engine.leaf_rows(voter)
            if booster.step(rows, outputs).stop != "perfect_voter":
                return booster.step(np.maximum(voter.sums, np.minimum(rows, 1)), outputs)
        return step

    def _measured(self) -> Row:
        objective = self.setting.booster.measured(self.sums, self.one, self.floor)
        return {"objective": objective, "train_error": self.sums.wrong / self.mass}

    def _replay(self) -> None:
        """The sums after the voters so far, on the grid they had after the last round, and what a mean of 1 is."""
        engine, booster = self.setting.engine, self.setting.booster
        self.sums, self.floor = exchange(engine, booster, None, 0.0, not self.casts)
        self.one = self.sums.total * math.exp(-self.floor)
        if self.casts:
            engine.replay(booster, [cast.change(booster) for cast in self.casts])
            last = self.trace.row(self.trace.n_rounds)
            self.floor = booster.resumed(last, self.floor)
            self.sums = engine.advance(booster, None, self.floor)
            refuse_other(last, self._measured())


def refuse_other(last: Row, now: Row, close: float = 0.0) -> None:
    """Raise ValueError where the rows, after replay, are not in the state that the history says."""
    for name, value in now.items():
        same = math.isclose(value, last[name], rel_tol=1e-9, abs_tol=close) or (close > 0 and math.isnan(value))
        if not same:
            raise ValueError(OTHER_DATA.format(f"{name} was {last[name]:.9g} after the last round and is {value:.9g}"))


def refuse_far(reach: float, number: int, advice: str) -> None:
    """Raise ValueError where votes can be larger than what can be summed exactly."""
    if reach >= LONGEST:
        raise ValueError(
            f"after {number} rounds votes can come to {reach:.3g}, more than can be summed exactly ({LONGEST:.3g}): "
            f"{advice}"
        )


def _first(family: Family, search: Search) -> Voter:
    """The best voter. Where one label has almost all the weight, the first one is constant, unless one is perfect.

    Any split would then better the vote by next to nothing, yet get the large step that is due to the label: class
    weights of 1000 and 0.0001 must not end in a decision by a handful of light rows.
    """
    total = search.sums.total
    if total - int(search.sums.totals.max()) >= ALMOST_NOTHING * total:
        return family.best(search)
    if not family.fitted_elsewhere:
        best = family.best(search)
        if int(best.sums.max(axis=1).sum()) == total:
            return best
    return family.constant(search)


def exchange(engine: Engine, booster: Booster, change: Change | None, floor: float, search: bool) -> tuple[Sums, float]:
    """One exchange; another where the booster then knows a better floor."""
    sums, before = engine.advance(booster, change, floor, search and getattr(floor, "search", True)), None
    for _ in range(MOST_TRIES):
        better = booster.better_floor(floor, sums, before, engine)
        if better is None:
            break
        floor, before = better, sums
        sums = engine.advance(booster, None, floor, search and getattr(floor, "search", True))
    return sums, floor


# ---------------------------------------------------------------- validation


@dataclass(frozen=True)
class ExponentialLoss:
    """Elementwise as the booster, but the channel is the exponential loss exp(-margin) of the votes."""

    booster: Booster

    @property
    def n_states(self) -> int:
        return self.booster.n_states

    @property
    def floor_row(self) -> int:
        return self.booster.margin_row

    def channel(self, state: NDArray[np.float64], floor: float) -> NDArray[np.float64]:
        return np.exp(floor - state[self.floor_row])

    def wrong(self, state: NDArray[np.float64], label: int) -> NDArray[np.bool_]:
        return self.booster.wrong(state, label)


class ValidationScore:
    """The mean exponential loss, or the error, of validation rows after every round: exact sums, for `Patience`."""

    def __init__(self, engine: Engine, method: Stagewise, group: NDArray[np.int64] | None, scoring: str) -> None:
        self.engine = engine
        self.method = method
        self.loss = ExponentialLoss(method.setting.booster)
        self.scoring = scoring
        engine.start(method.setting.booster, group)
        self.mass = int(engine.counts()[:, 0].sum())

    def __call__(self, trace: Trace, number: int) -> float:
        floor = self.engine.replay(self.loss, [self.method.change(number - 1)])  # type: ignore[arg-type]
        sums = self.engine.advance(self.loss, None, floor, search=False)  # type: ignore[arg-type]
        if self.scoring == "error":
            return sums.wrong / self.mass
        return sums.total / (self.mass * self.engine.unit) * math.exp(min(-floor, 700.0))
