"""Stopping by validation: a second set of rows that only listens.

The score after every round is an exact sum too, so it is the same for any number of threads and shards.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from electorate.boosting.booster import Booster
from electorate.boosting.loop import Cast, Engine, Outcome, Row
from electorate.engines.messages import Change


@dataclass(frozen=True)
class Judge:
    """Looks at examples as a booster does, but sums the exponential loss exp(-margin) of the votes."""

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


class Validation:
    """Stops after `patience` rounds that do not lower the score by more than tol. Lower scores are better."""

    def __init__(self, engine: Engine, booster: Booster, scoring: str, tol: float, patience: int) -> None:
        self.engine = engine
        self.booster = booster
        self.judge = Judge(booster)
        self.scoring = scoring
        self.tol = tol
        self.patience = patience
        self.mass = int(engine.counts()[:, 0].sum())
        self.lowest = 0.0
        self.best = math.inf
        self.best_round = 0

    def replay(self, past: list[Cast], rows: list[Row]) -> None:
        self.lowest = self.engine.replay(self.judge, [cast.change(self.booster) for cast in past])  # type: ignore[arg-type]
        for number, row in enumerate(rows, start=1):
            self._compare(row["validation"], number)

    def after(self, change: Change, outcome: Outcome) -> str | None:
        floor = self.lowest + float(change.gains[self.judge.floor_row].min())
        sums = self.engine.advance(self.judge, change, floor, search=False)  # type: ignore[arg-type]
        if sums.lowest < floor:  # a voter that was fitted elsewhere may be surer here than where it was fitted
            floor = sums.lowest
            sums = self.engine.advance(self.judge, None, floor, search=False)  # type: ignore[arg-type]
        self.lowest = sums.lowest
        if self.scoring == "error":
            score = sums.wrong / self.mass
        else:
            score = int(sums.totals.sum()) / (self.mass * self.engine.unit) * math.exp(min(-floor, 700.0))
        outcome.rows[-1]["validation"] = score
        number = len(outcome.rows)
        self._compare(score, number)
        outcome.best_round = self.best_round
        return "validation" if number - self.best_round >= self.patience else None

    def _compare(self, score: float, number: int) -> None:
        if score < self.best - self.tol or self.best_round == 0:
            self.best, self.best_round = score, number
