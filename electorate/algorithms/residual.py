"""What shards compute for QuadBoost, example by example: residuals, a pool's outputs, and validation scores.

state[0] is the margin y f; for a label of +-1 the residual y - f is y (1 - y f).
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
PART = 0.25  # of the grid: sums of |1 - y f| are at most those of 1, and the search adds as much again


@dataclass(frozen=True)
class Residual:
    """The sums fit whatever the round: the mean of |1 - y f| is at most the root of the risk, which is at most 1."""

    keeps: bool = False  # whether shards store the votes of voters
    n_states: ClassVar[int] = 1
    floor_row: ClassVar[int] = 0

    def channel(self, state: Floats, floor: float) -> Floats:
        return np.asarray((1.0 - state[0]) * PART)

    def wrong(self, state: Floats, label: int) -> NDArray[np.bool_]:
        """A tie is the first label."""
        return np.asarray(state[0] < 0 if label == 0 else state[0] <= 0)


@dataclass(frozen=True)
class StateItself:
    """The state, from -1 to 1: its sums are means of a pool's voters, with the labels and with each other."""

    n_states: ClassVar[int] = 1
    floor_row: ClassVar[int] = 0

    def channel(self, state: Floats, floor: float) -> Floats:
        return np.array(state[0])

    def wrong(self, state: Floats, label: int) -> NDArray[np.bool_]:
        return np.zeros(state.shape[1], dtype=np.bool_)


@dataclass(frozen=True)
class ValidationLoss:
    """(y - f)^2 divided by `floor`, or whether f is wrong. The state is y f, -y f and y; floor_row picks a minimum."""

    scoring: str
    floor_row: int = 0
    n_states: ClassVar[int] = 3

    def channel(self, state: Floats, floor: float) -> Floats:
        if self.scoring == "error":
            return self.wrong(state, 0).astype(np.float64)
        return np.asarray((1.0 - state[0]) ** 2 / floor)

    def wrong(self, state: Floats, label: int) -> NDArray[np.bool_]:
        """A tie is the first label."""
        return np.asarray((state[0] < 0) | ((state[0] == 0) & (state[2] > 0)))
