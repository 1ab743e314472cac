"""Voters as training leaves them, with their outputs and steps."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from electorate.algorithms.protocol import Booster, Step
from electorate.messages import Change, StoredVoter
from electorate.model.trace import Trace
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
