"""Stopping by validation: a second set of rows that only listens.

The score after every round is an exact sum too, so it is the same for any number of threads and shards.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from electorate.algorithms.protocol import Booster
from electorate.messages import Change
from electorate.model.outcome import Outcome
from electorate.training.stagewise import Engine


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
        self.best = math.inf
        self.best_round = 0

    def replay(self, outcome: Outcome) -> str | None:
        """Listen to the rounds there are, as if they came now; rounds after the stop are forgotten."""
        for number, cast in enumerate(outcome.casts, start=1):
            reason = self._listen(cast.change(self.booster), outcome, number)
            if reason is not None:
                del outcome.casts[number:], outcome.rows[number:]
                return reason
        return None

    def after(self, change: Change, outcome: Outcome) -> str | None:
        return self._listen(change, outcome, len(outcome.rows))

    def _listen(self, change: Change, outcome: Outcome, number: int) -> str | None:
        score = self._score(change)
        outcome.rows[number - 1]["validation"] = score
        if score < self.best - self.tol or self.best_round == 0:
            self.best, self.best_round = score, number
        outcome.best_round = self.best_round
        return "validation" if number - self.best_round >= self.patience else None

    def _score(self, change: Change) -> float:
        floor = self.engine.replay(self.judge, [change])  # type: ignore[arg-type]
        sums = self.engine.advance(self.judge, None, floor, search=False)  # type: ignore[arg-type]
        if self.scoring == "error":
            return sums.wrong / self.mass
        return sums.total / (self.mass * self.engine.unit) * math.exp(min(-floor, 700.0))
