"""Voters as training leaves them, with their outputs and steps."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from electorate.algorithms.protocol import Booster, Step
from electorate.messages import Change, StoredVoter
from electorate.model.trace import Row, Trace
from electorate.voters.trees import Voter


@dataclass
class Cast:
    """A voter of an ensemble, with the outputs of its leaves and its step."""

    voter: Voter
    outputs: NDArray[np.float64]  # [leaf, output]
    step: Step

    @property
    def reach(self) -> float:
        """The most it can add to a vote."""
        return abs(self.step.size) * max(map(abs, self.outputs.ravel().tolist()), default=0.0)

    def change(self, booster: Booster) -> Change:
        gains = booster.gains(self.step, self.outputs)
        outside = None if self.voter.fitted is None else (self.voter.fitted, self.step)
        stored = None
        if self.voter.number is not None:
            stored = StoredVoter(self.voter.number, self.step.size, awards_of(self.outputs))
        return Change(self.voter.splits, self.voter.leaves, gains, outside, stored)


@dataclass
class PastRun:
    """The rounds that a run resumes from: its trace, and the voters that the trace numbers."""

    trace: Trace = field(default_factory=Trace)
    casts: list[Any] = field(default_factory=list)

    def cast(self, number: int, weight: float) -> Any:
        return self.casts[number]


def awards_of(outputs: NDArray[np.float64]) -> NDArray[np.float64]:
    """[label, leaf]: y h, of a voter with one output."""
    return np.stack([-outputs[:, 0], outputs[:, 0]])


# ---------------------------------------------------------------- of column generation


@dataclass
class Outcome:
    """Voters with a row of history per round, and why a run ended."""

    casts: list[Cast] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)
    stop_reason: str = "n_estimators"
    best_round: int | None = None
    done: bool = False

    @property
    def n_rounds(self) -> int:
        return len(self.rows)

    def row(self, round: int) -> Row:
        return self.rows[round - 1]

    def cut(self, rounds: int) -> "Outcome":
        return Outcome(self.casts[:rounds], self.rows[:rounds])

    @property
    def kept(self) -> list[Cast]:
        return self.casts


def history_of(rows: list[Row]) -> dict[str, NDArray[Any]]:
    """Rows of history as columns."""
    names = {name: None for row in rows for name in row}
    columns = {name: np.array([row.get(name, np.nan) for row in rows], dtype=np.float64) for name in names}
    columns["n_voters"] = columns["n_voters"].astype(np.int64)
    return columns
