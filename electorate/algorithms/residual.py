"""QuadBoost's channels, signed: the residual of every example, and the output of a voter.

state[0] is the margin y f; for a label of +-1 the residual y - f is y (1 - y f).
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from electorate.algorithms.protocol import Array, Booster, Channel, Floors

PART = 0.25  # of the grid: sums of |1 - y f| are at most those of 1, and the search adds as much again


class ResidualChannel(Channel):
    def values(self, state: Array, floors: Floors, first: Array | None) -> Array:
        return np.asarray((1.0 - state[0]) * PART)


class StateChannel(Channel):
    def values(self, state: Array, floors: Floors, first: Array | None) -> Array:
        return np.array(state[0])


class Residual(Booster):
    """The sums fit whatever the round: the mean of |1 - y f| is at most the root of the risk, which is at most 1."""

    @property
    def channels(self) -> Sequence[Channel]:
        return (ResidualChannel(),)


class Plain(Booster):
    """The state itself, from -1 to 1: its sums are means of a pool's voters, with the labels and with each other."""

    @property
    def channels(self) -> Sequence[Channel]:
        return (StateChannel(),)

    def wrong(self, state: Array, label: int) -> NDArray[np.bool_]:
        return np.zeros(state.shape[1], dtype=np.bool_)
