"""The one loop: sums from the engine, the best voter from the family, its step from the booster, and again.

The loop knows none of the three. It ends with a reason: the rounds are done, the booster stops, a watcher says so,
or nothing is left to gain.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from electorate.boosting.adaboost import coded
from electorate.boosting.booster import Booster, Step
from electorate.data.bins import Bins
from electorate.engines.messages import Change, Question, Sums
from electorate.voters.trees import Search, Voter

Row = dict[str, float]
FAR = 4.0  # nats, of the 30 that the grid has


class Engine(Protocol):
    """Where the shards live.

    unit: grid units of a full channel on one count; n_examples: the sum of the weights as given, n in a formula;
    n_counted: how many rows they stand for, whatever their scale.
    """

    unit: float
    n_examples: float
    n_counted: int

    def start(self, booster: Booster, group: NDArray[np.int64] | None = None) -> None: ...

    def counts(self) -> NDArray[np.int64]: ...

    def replay(self, booster: Booster, changes: list[Change]) -> float: ...

    def advance(self, booster: Booster, change: Change | None, floor: float, search: bool = True) -> Sums: ...

    def split(self, questions: list[Question]) -> NDArray[np.int64]: ...

    def count_rows(self, nodes: list[int]) -> NDArray[np.int64]: ...


class Family(Protocol):
    """What may vote."""

    def best(self, search: Search) -> Voter: ...

    def outputs(self, voter: Voter, n_rows: int, wanted: str) -> NDArray[np.float64]: ...


class Watcher(Protocol):
    """Looks at every round, may add to its row of history, and may stop the loop with a reason."""

    def replay(self, past: "list[Cast]", rows: list[Row]) -> None: ...

    def after(self, change: Change, outcome: "Outcome") -> str | None: ...


@dataclass(frozen=True)
class Cast:
    """A voter in the ensemble, with the outputs of its leaves and its step."""

    voter: Voter
    outputs: NDArray[np.float64]  # [leaf, output]
    step: Step

    def change(self, booster: Booster) -> Change:
        gains = booster.gains(self.step, self.outputs)
        outside = None if self.voter.fitted is None else (self.voter.fitted, self.step)
        return Change(self.voter.questions, self.voter.leaves, gains, outside)


@dataclass
class Outcome:
    """What a run of the loop leaves: votes cast, a row of history per round, why it ended."""

    casts: list[Cast] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)
    stop_reason: str = "n_estimators"
    best_round: int | None = None  # by validation
    done: bool = False

    @property
    def kept(self) -> list[Cast]:
        """The voters of the model: once all is done, those up to the best round."""
        return self.casts[: self.best_round] if self.done else self.casts


def history_of(rows: list[Row]) -> dict[str, NDArray[Any]]:
    """Rows of history as columns."""
    names = rows[0] if rows else ("step", "edge", "error", "objective", "train_error", "n_voters", "seconds")
    columns = {name: np.array([row[name] for row in rows], dtype=np.float64) for name in names}
    columns["n_voters"] = columns["n_voters"].astype(np.int64)
    return columns


@dataclass(frozen=True)
class Setting:
    """What stays fixed in a run."""

    engine: Engine
    family: Family
    booster: Booster
    bins: Bins


def boost(setting: Setting, rounds: int, past: Outcome | None = None, watchers: Sequence[Watcher] = ()) -> Outcome:
    """Go on from `past`, or start, until there are `rounds` rounds, or fewer with a reason."""
    started = time.perf_counter()
    engine, booster = setting.engine, setting.booster
    counts = engine.counts().sum(axis=0)
    mass = int(counts[0].sum())
    outcome = Outcome() if past is None else Outcome(list(past.casts), list(past.rows))
    before = outcome.rows[-1]["seconds"] if outcome.rows else 0.0
    if outcome.casts and booster.perfect(outcome.casts[-1].step):
        return replace(outcome, stop_reason="perfect_voter", done=True)
    sums = _start(setting, outcome.casts)
    for watcher in watchers:
        watcher.replay(outcome.casts, outcome.rows)
    for number in range(len(outcome.casts) + 1, rounds + 1):
        voter = setting.family.best(Search(sums, setting.bins, counts, engine))
        outputs = setting.family.outputs(voter, engine.n_counted, booster.leaves)
        step = booster.step(voter.sums, outputs)
        if step.stop == "no_edge":
            outcome.stop_reason = step.stop
            break
        cast = Cast(voter, coded(outputs), step)
        change = cast.change(booster)
        sums, floor = _exchange(setting, change, sums.lowest, step.stop is None and number < rounds)
        outcome.casts.append(cast)
        outcome.rows.append(
            {
                "step": step.size,
                "edge": step.edge,
                "error": step.error,
                "objective": booster.objective(int(sums.totals.sum()) / (mass * engine.unit), floor),
                "train_error": sums.wrong / mass,
                "n_voters": number,
                "seconds": before + time.perf_counter() - started,
            }
        )
        reasons = [watcher.after(change, outcome) for watcher in watchers]
        reason = step.stop or next(filter(None, reasons), None)
        if reason is not None:
            outcome.stop_reason = reason
            break
    outcome.done = True
    return outcome


def _start(setting: Setting, casts: list[Cast]) -> Sums:
    """The sums after the voters so far, with the floor they had when the last of them came."""
    engine, booster = setting.engine, setting.booster
    if not casts:
        return engine.advance(booster, None, 0.0)
    *changes, last = [cast.change(booster) for cast in casts]
    return _exchange(setting, last, engine.replay(booster, changes), True)[0]


def _exchange(setting: Setting, change: Change, lowest: float, search: bool) -> tuple[Sums, float]:
    """The sums after a change, and their floor: what the lowest state can have fallen to.

    Where all rose far above it, the grid would be coarse: the sums are then taken again with the floor raised.
    """
    booster = setting.booster
    floor = lowest + float(change.gains[booster.floor_row].min())
    sums = setting.engine.advance(booster, change, floor, search)
    if sums.lowest - floor > FAR:
        floor = sums.lowest
        sums = setting.engine.advance(booster, None, floor, search)
    return sums, floor
