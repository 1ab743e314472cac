"""The one loop: sums from the engine, the best voter from the family, its step from the booster, and again.

The loop knows none of the three. It ends with a reason: the rounds are done, the booster stops, or nothing
is left to gain.
"""

import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from electorate.boosting.adaboost import AdaBoost
from electorate.boosting.grid import MOST_VOTES
from electorate.data.bins import Bins
from electorate.engines.shard import Change
from electorate.engines.threads import Threads
from electorate.voters.stumps import Stump, Stumps

COLUMNS = ("step", "edge", "error", "objective", "train_error", "n_voters", "seconds")


@dataclass
class Outcome:
    """What a run of the loop leaves: voters with their steps, a row of history per round, why it ended."""

    voters: list[Stump] = field(default_factory=list)
    steps: list[float] = field(default_factory=list)
    rows: list[tuple[float, ...]] = field(default_factory=list)
    stop_reason: str = "n_estimators"

    def history(self) -> dict[str, NDArray[Any]]:
        table = np.array(self.rows, dtype=np.float64).reshape(-1, len(COLUMNS))
        columns = dict(zip(COLUMNS, table.T.copy(), strict=True))
        columns["n_voters"] = columns["n_voters"].astype(np.int64)
        return columns


def boost(engine: Threads, family: Stumps, booster: AdaBoost, bins: Bins, scale: float, rounds: int) -> Outcome:
    """Run `rounds` rounds, or fewer with a reason. scale: grid units of a channel of 1 on an example counted once."""
    started = time.perf_counter()
    engine.start(booster)
    counts = engine.counts().sum(axis=0)
    mass = int(counts[0].sum())
    outcome = Outcome()
    votes = 0.0
    sums = engine.advance(booster, None, 0.0)
    for number in range(1, rounds + 1):
        voter = family.best(sums, bins, counts)
        step = booster.step(voter.right, int(sums.totals.sum()))
        if step.stop == "no_edge":
            outcome.stop_reason = step.stop
            break
        votes += step.size
        _refuse_large(votes, number)
        gains = booster.gains(step.size, voter.labels)
        floor = sums.lowest + float(gains[0].min())
        change = Change(max(voter.column, 0), voter.leaf_of_bin, gains)
        last = step.stop is not None or number == rounds
        sums = engine.advance(booster, change, floor, search=not last)
        outcome.voters.append(voter)
        outcome.steps.append(step.size)
        objective = booster.objective(int(sums.totals.sum()), 1.0 / (mass * scale), floor)
        seconds = time.perf_counter() - started
        row = (step.size, step.edge, step.error, objective, sums.wrong / mass, number, seconds)
        outcome.rows.append(row)
        if step.stop is not None:
            outcome.stop_reason = step.stop
            break
    return outcome


def _refuse_large(votes: float, number: int) -> None:
    """Votes are 64-bit integers; only an absurd learning rate takes them out of range."""
    if not votes < MOST_VOTES:
        raise ValueError(f"learning_rate is too large: in round {number} the steps add up to over 2 million")
