"""The one loop: sums from the engine, the best voter from the family, its step from the booster, and again.

The loop knows none of the three. It ends with a reason: the rounds are done, the booster stops, or nothing
is left to gain.
"""

import math
import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from electorate.boosting.adaboost import AdaBoost
from electorate.data.bins import Bins
from electorate.data.weights import Weights
from electorate.engines.shard import Change, Sums
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


@dataclass(frozen=True)
class Room:
    """The grid's: sums up to `full` fit, and rounding moves a sum by at most half of `count` units.

    `floor` says how fine the grid is: one unit is exp(-floor) / 2^bits of a channel. It is set before the sums are
    known, so that their total will come as close to `full` as a bound on it allows. Whatever the weights, rounding
    is then at most 2^(3-bits) of the total: 2^-41 for up to 2^18 rows, 2^-29 for 2^30.
    """

    full: int
    count: int

    @classmethod
    def of(cls, weights: Weights) -> "Room":
        count = int(weights.times.sum())
        return cls(count << weights.bits, count)

    def share(self, units: int) -> float:
        """Of the room, what a sum that was rounded to this many units can at most need."""
        return (2 * units + self.count) / (2 * self.full)

    def advance(
        self, engine: Threads, booster: AdaBoost, change: Change | None, floor: float, search: bool
    ) -> tuple[Sums, float]:
        """One exchange; another where the bound on the total was so far off that the grid came out coarse."""
        sums = engine.advance(booster, change, floor, search)
        while sums.total < self.full >> 4:
            floor = max(sums.lowest, floor - math.log(self.share(sums.total)))
            sums = engine.advance(booster, None, floor, search)
        return sums, floor


def boost(engine: Threads, family: Stumps, booster: AdaBoost, bins: Bins, weights: Weights, rounds: int) -> Outcome:
    """Run `rounds` rounds, or fewer with a reason."""
    started = time.perf_counter()
    engine.start(booster)
    by_label = engine.counts()
    counts = by_label.sum(axis=0)
    mass = int(counts[0].sum())
    room = Room.of(weights)
    outcome = Outcome()
    sums, floor = room.advance(engine, booster, None, 0.0, search=True)
    unit = 1.0 / booster.objective(sums.total, 1.0, floor)  # of the objective, which starts at 1
    for number in range(1, rounds + 1):
        voter = family.best(sums, bins, counts)
        # too little weight for the grid is not none: only a voter that is right on every example is perfect
        right = min(voter.right, sums.total - (voter.right_on(by_label) < mass))
        step = booster.step(right, sums.total)
        if step.stop == "no_edge":
            outcome.stop_reason = step.stop
            break
        floor -= booster.log_total(step.size, room.share(right), room.share(sums.total - right))
        change = Change(max(voter.column, 0), voter.leaf_of_bin, booster.gains(step.size, voter.labels))
        last = step.stop is not None or number == rounds
        sums, floor = room.advance(engine, booster, change, floor, search=not last)
        outcome.voters.append(voter)
        outcome.steps.append(step.size)
        objective = booster.objective(sums.total, unit, floor)
        seconds = time.perf_counter() - started
        row = (step.size, step.edge, step.error, objective, sums.wrong / mass, number, seconds)
        outcome.rows.append(row)
        if step.stop is not None:
            outcome.stop_reason = step.stop
            break
    return outcome
