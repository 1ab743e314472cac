"""What shards sum for QuadBoost: the residual of every example, the outputs of a voter, and validation losses.

state[0] is the margin y f; for a label of +-1 the residual y - f is y (1 - y f).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from electorate.algorithms.protocol import Booster, Channel, Floors, Formula
from electorate.exact import Floats
from electorate.kernels import formulas

PART = 0.25  # of the grid: sums of |1 - y f| are at most those of 1, and the search adds as much again


class ResidualChannel(Channel):
    def formula(self, floors: Floors) -> Formula:
        return Formula(formulas.LINE, PART, -PART)


class StateChannel(Channel):
    def formula(self, floors: Floors) -> Formula:
        return Formula(formulas.LINE, 0.0, 1.0)


class SquaredLossChannel(Channel):
    """(y - f)^2, divided by the floor, a power of two."""

    def values(self, state: Floats, floors: Floors, first: Floats | None) -> Floats:
        return np.asarray((1.0 - state[0]) ** 2 / floors.each[0])


class ErrorChannel(Channel):
    """1 where f is wrong; a tie is the first label. state[2] is y."""

    def values(self, state: Floats, floors: Floors, first: Floats | None) -> Floats:
        return np.asarray((state[0] < 0) | ((state[0] == 0) & (state[2] > 0)), dtype=np.float64)


class Residual(Booster):
    """The sums fit whatever the round: the mean of |1 - y f| is at most the root of the risk, which is at most 1."""

    channels = (ResidualChannel(),)


class StoringResidual(Residual):
    """Shards store the votes of all voters, to re-weight them."""

    keeps_votes: ClassVar[bool] = True


class StateItself(Booster):
    """The state, from -1 to 1: its sums are means of a pool's voters, with the labels and with each other."""

    channels = (StateChannel(),)


@dataclass(frozen=True)
class ValidationLoss(Booster):
    """scoring: "loss" or "error". The state is y f, -y f and y."""

    scoring: str

    n_states = 3

    @property
    def channels(self) -> Sequence[Channel]:
        return (ErrorChannel() if self.scoring == "error" else SquaredLossChannel(),)


class HighestMargin(ValidationLoss):
    """The lowest number of its margin row is minus the highest margin."""

    @property
    def margin_row(self) -> int:
        return 1
