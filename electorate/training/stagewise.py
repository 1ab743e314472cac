"""The one loop: sums from the engine, the best voter from the family, its step from the booster, and again.

The loop knows none of the three. It ends with a reason: the rounds are done, the booster stops, a watcher says so,
or nothing is left to gain.
"""

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from electorate.algorithms.protocol import Booster, Step
from electorate.data.bins import Bins
from electorate.grid import LONGEST
from electorate.messages import Change, Split, Sums
from electorate.model.outcome import Cast, Outcome, Row
from electorate.voters.trees import Search, Voter

OTHER_DATA = (
    "the rows are not those the model was fitted on ({}): a warm start or a checkpoint goes on with the same X, y and "
    "weights; set warm_start=False, or remove the checkpoint, to start anew"
)
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

    fitted_elsewhere: ClassVar[bool]  # by other people's code, one after another

    def best(self, search: Search) -> Voter: ...

    def constant(self, search: Search) -> Voter:
        """The voter that says the same of every row."""
        ...

    def outputs(self, voter: Voter, n_rows: int, wanted: str) -> NDArray[np.float64]: ...


class Watcher(Protocol):
    """Looks at every round, may add to its row of history, and may stop the loop with a reason.

    replay: at the start, what there is already; it may be cut short.
    """

    def replay(self, outcome: "Outcome") -> str | None: ...

    def after(self, change: Change, outcome: "Outcome") -> str | None: ...


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
    sums, floor, one = _start(setting, outcome, mass)
    reach = sum(cast.reach for cast in outcome.casts)
    reasons = [watcher.replay(outcome) for watcher in watchers]
    if outcome.casts and booster.perfect(outcome.casts[-1].step):
        reasons.insert(0, "perfect_voter")
    reason = next(filter(None, reasons), None)
    for number in range(len(outcome.casts) + 1, rounds + 1):
        if reason is not None:
            break
        search = Search(sums, setting.bins, counts, engine, floor)
        voter = setting.family.best(search) if number > 1 else _first(setting.family, search)
        outputs = setting.family.outputs(voter, engine.n_counted, booster.leaves)
        step = _judge(setting, voter, outputs)
        if step.stop in NOTHING_LEFT:
            reason = step.stop
            break
        cast = Cast(voter, booster.spoken(outputs), step)
        change = cast.change(booster)
        if not any(
            change.gains.ravel().tolist()
        ):  # too little for the grid of votes: every round from here would be the same
            reason = "no_edge"
            break
        reach += cast.reach
        _refuse_far(reach, number)
        floor = booster.next_floor(floor, voter.sums, change.gains, engine)
        sums, floor = exchange(engine, booster, change, floor, step.stop is None and number < rounds)
        outcome.casts.append(cast)
        outcome.rows.append(
            {
                "step": step.size,
                "edge": step.edge,
                "error": step.error,
                "objective": booster.measured(sums, one, floor),
                "train_error": sums.wrong / mass,
                "n_voters": number,
                "floor": float(floor),
                "seconds": before + time.perf_counter() - started,
                **booster.notes(sums, one, floor),
            }
        )
        reasons = [step.stop, *(watcher.after(change, outcome) for watcher in watchers)]
        reason = next(filter(None, reasons), None)
    outcome.stop_reason = reason or outcome.stop_reason
    outcome.done = True
    return outcome


def _start(setting: Setting, outcome: Outcome, mass: int) -> tuple[Sums, float, float]:
    """The sums after the voters so far, on the grid they had when the last of them came, and what a mean of 1 is."""
    engine, booster = setting.engine, setting.booster
    sums, floor = exchange(engine, booster, None, 0.0, not outcome.casts)
    one = sums.total * math.exp(-floor)
    if outcome.casts:
        engine.replay(booster, [cast.change(booster) for cast in outcome.casts])
        last = outcome.rows[-1]
        floor = booster.resumed(last, floor)
        sums = engine.advance(booster, None, floor)
        now = {"objective": booster.measured(sums, one, floor), "train_error": sums.wrong / mass}
        _refuse_other(last, now)
    return sums, floor, one


def _refuse_other(last: Row, now: Row) -> None:
    for name, value in now.items():
        if not math.isclose(value, last[name], rel_tol=1e-9):
            raise ValueError(OTHER_DATA.format(f"{name} was {last[name]:.9g} after the last round and is {value:.9g}"))


def _first(family: Family, search: Search) -> Voter:
    """The best voter. Where one label has almost all the weight, the first one only says so, unless it is perfect.

    Any question would then better the vote by next to nothing, yet be obeyed with the large step that is due to the
    label: class weights of 1000 and 0.0001 must not end in a verdict by a handful of light rows.
    """
    total = search.sums.total
    if total - int(search.sums.totals.max()) >= ALMOST_NOTHING * total:
        return family.best(search)
    if not family.fitted_elsewhere:
        best = family.best(search)
        if int(best.sums.max(axis=1).sum()) == total:
            return best
    return family.constant(search)


def _refuse_far(reach: float, number: int) -> None:
    if reach >= LONGEST:
        raise ValueError(
            f"after {number} rounds votes can come to {reach:.3g}, more than can be summed exactly ({LONGEST:.3g}): "
            "use a lower learning_rate, or fewer n_estimators"
        )


def _judge(setting: Setting, voter: Voter, outputs: NDArray[np.float64]) -> Step:
    """The booster's step. Weight too light for the grid is not none: a perfect voter must be right on every row."""
    if voter.step is not None:
        return voter.step
    step = setting.booster.step(voter.sums, outputs)
    if step.stop == "perfect_voter":
        rows = setting.engine.leaf_rows(voter)
        if setting.booster.step(rows, outputs).stop != "perfect_voter":
            return setting.booster.step(np.maximum(voter.sums, np.minimum(rows, 1)), outputs)
    return step


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
