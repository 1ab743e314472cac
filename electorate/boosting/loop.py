"""The one loop: sums from the engine, the best voter from the family, its step from the booster, and again.

The loop knows none of the three. It ends with a reason: the rounds are done, the booster stops, or nothing
is left to gain.
"""

import time
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from electorate.boosting.booster import Booster, Step
from electorate.data.bins import Bins
from electorate.data.weights import Weights
from electorate.engines.messages import Change, Question, Sums
from electorate.voters.trees import Search, Voter

COLUMNS = ("step", "edge", "error", "objective", "train_error", "n_voters", "seconds")


class Engine(Protocol):
    """Where the shards live."""

    def start(self, booster: Booster) -> None: ...

    def counts(self) -> NDArray[np.int64]: ...

    def advance(self, booster: Booster, change: Change | None, floor: float, search: bool = True) -> Sums: ...

    def split(self, questions: list[Question]) -> NDArray[np.int64]: ...

    def count_rows(self, nodes: list[int]) -> NDArray[np.int64]: ...


class Family(Protocol):
    """What may vote."""

    def best(self, search: Search) -> Voter: ...

    def outputs(self, sums: NDArray[np.int64], n_examples: float) -> NDArray[np.float64]: ...


@dataclass(frozen=True)
class Cast:
    """A voter in the ensemble, with the outputs of its leaves and its step."""

    voter: Voter
    outputs: NDArray[np.float64]  # [leaf, output]
    step: Step


@dataclass
class Outcome:
    """What a run of the loop leaves: votes cast, a row of history per round, why it ended."""

    casts: list[Cast] = field(default_factory=list)
    rows: list[tuple[float, ...]] = field(default_factory=list)
    stop_reason: str = "n_estimators"

    def history(self) -> dict[str, NDArray[Any]]:
        table = np.array(self.rows, dtype=np.float64).reshape(-1, len(COLUMNS))
        columns = dict(zip(COLUMNS, table.T.copy(), strict=True))
        columns["n_voters"] = columns["n_voters"].astype(np.int64)
        return columns


def boost(
    engine: Engine, family: Family, booster: Booster, bins: Bins, weights: Weights, rounds: int
) -> Outcome:
    """Run `rounds` rounds, or fewer with a reason."""
    started = time.perf_counter()
    engine.start(booster)
    counts = engine.counts().sum(axis=0)
    mass = int(counts[0].sum())
    outcome = Outcome()
    sums = engine.advance(booster, None, 0.0)
    for number in range(1, rounds + 1):
        voter = family.best(Search(sums, bins, counts, engine))
        outputs = family.outputs(voter.sums, weights.given)
        step = booster.step(voter.sums, outputs)
        if step.stop == "no_edge":
            outcome.stop_reason = step.stop
            break
        gains = booster.gains(step, outputs)
        floor = sums.lowest + float(gains[0].min())
        last = step.stop is not None or number == rounds
        sums = engine.advance(booster, Change(voter.questions, voter.leaves, gains), floor, search=not last)
        objective = booster.objective(int(sums.totals.sum()) / (mass * weights.unit), floor)
        outcome.casts.append(Cast(voter, outputs, step))
        seconds = time.perf_counter() - started
        outcome.rows.append(
            (step.size, step.edge, step.error, objective, sums.wrong / mass, number, seconds)
        )
        if step.stop is not None:
            outcome.stop_reason = step.stop
            break
    return outcome
