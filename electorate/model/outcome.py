"""What training leaves: voters with their steps, a row of history per round, and why it ended."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from electorate.algorithms.protocol import Booster, Step
from electorate.messages import Change, StoredVoter
from electorate.voters.trees import Voter

Row = dict[str, float]
COLUMNS = ("step", "edge", "error", "objective", "train_error", "n_voters", "floor", "seconds")
REGRESSION_COLUMNS = (
    *("step", "edge", "error", "rho", "log_z", "objective"),
    *("min_margin", "target_margin", "margin_error", "n_voters", "seconds"),
)


@dataclass
class Cast:
    """A voter in the ensemble, with the outputs of its leaves and its step."""

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


def awards_of(outputs: NDArray[np.float64]) -> NDArray[np.float64]:
    """[label, leaf]: y h, of a voter with one output."""
    return np.stack([-outputs[:, 0], outputs[:, 0]])


def history_of(rows: list[Row]) -> dict[str, NDArray[Any]]:
    """Rows of history as columns."""
    names = {name: None for row in rows for name in row} or COLUMNS
    columns = {name: np.array([row.get(name, np.nan) for row in rows], dtype=np.float64) for name in names}
    columns["n_voters"] = columns["n_voters"].astype(np.int64)
    return columns
