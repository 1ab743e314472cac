"""DeepBoost: coordinate descent on a loss plus a price per voter that grows with the complexity of its family.

Paper: Cortes, Mohri and Syed, "Deep Boosting"; Figure 2 and equation numbers below. F of eq. 4 is the mean of
Phi(1 - y f) plus the sum of Lambda_j |alpha_j|, Lambda_j = lam r_j + beta (eq. 3). S_t is the sum of Phi'(1 - y f).
"""

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from electorate.algorithms.adaboost import awards
from electorate.algorithms.losses import log_slope
from electorate.algorithms.protocol import Floating, Level, Room, Step
from electorate.grid import on_grid
from electorate.messages import Sums

Array = NDArray[np.float64]
ONE = np.ones(1)  # v of an example before any voter


@dataclass
class Pending:
    """What the voter that was chosen is right and wrong on, in units, its step, and a bound on the loss after it."""

    right: int = 0
    wrong: int = 0
    size: float = 0.0
    loss: float = 1.0


@dataclass
class DeepBoost(Floating):
    """With the exponential loss. state[0] is the margin y f; the channel is Phi'(1 - y f) / Phi'(1), times exp(floor).

    free: no price is asked, so that a voter that is never wrong ends the run. noted: what the search notes of a round.
    """

    loss: Any
    free: bool = False
    pending: Pending = field(default_factory=Pending)
    noted: dict[str, float] = field(default_factory=lambda: {"penalty": 0.0})
    leaves: ClassVar[str] = "any"  # from -1 to 1; families over bins are asked for labels
    n_states: ClassVar[int] = 1
    margin_row: ClassVar[int] = 0
    keeps: ClassVar[bool] = True  # the shards keep what every voter says

    def channel(self, state: Array, floor: Any) -> Array:
        return np.exp(float(floor) - state[0])

    def next_floor(self, floor: Any, sums: NDArray[np.int64], gains: Array, room: Room) -> float:
        """Outputs are from -1 to 1, so the sum grows at most as if they were all -1 or 1."""
        spare, now = 0.5 * room.count, self.pending
        right, wrong = math.log(now.right + spare) - now.size, math.log(now.wrong + spare) + now.size
        return float(floor) + math.log(room.full / 2) - float(np.logaddexp(right, wrong))

    def notes(self, sums: Sums, one: float, floor: Any) -> dict[str, float]:
        return dict(self.noted)

    def wrong(self, state: Array, label: int) -> NDArray[np.bool_]:
        return np.asarray(state[0] < 0 if label == 0 else state[0] <= 0)

    def spoken(self, outputs: Array) -> Array:
        """From -1 to 1."""
        largest = float(np.abs(outputs).max(initial=0.0))
        return outputs / largest if largest > 1 else outputs

    def gains(self, step: Step, outputs: Array) -> Array:
        return np.asarray(on_grid(step.size * awards(outputs, 2)))[None]

    def perfect(self, step: Step) -> bool:
        return self.free and step.error in (0, 1)

    def step(self, sums: NDArray[np.int64], outputs: Array) -> Step:
        raise TypeError("DeepBoost's steps come with the search")

    # ------------------------------------------------------------ F of eq. 4

    def log_slope_of(self, sums: Sums, one: float, floor: Any) -> float:
        """The logarithm of S_t over the number of examples."""
        return math.log(sums.total / one) - float(floor) + float(log_slope(self.loss, ONE)[0])

    def mean_loss(self, sums: Sums, one: float, floor: Any) -> float:
        return math.exp(min(self.log_slope_of(sums, one, floor), 700.0))

    def measured(self, sums: Sums, one: float, floor: Any) -> float:
        return self.mean_loss(sums, one, floor) + self.noted["penalty"]

    # ------------------------------------------------------------ the step

    def new_weight(self, error: float, weight: float, price: float) -> float:
        """Lines 12 to 16, for a voter of this weighted error, weight, and Lambda m / S_t: its weight after the step.

        The minimum of F along the voter for outputs +-1 and the exponential loss, else of a bound that touches F.
        """
        right = 1 - error
        there = _times_exp(right, weight) - _times_exp(error, -weight)
        if abs(there) <= price:
            return 0.0
        root = price + math.sqrt(price * price + 4 * error * right)
        if there > price:
            return weight + math.log(2 * right / root)
        return weight - math.log(2 * error / root)


class DeepBoostOf(DeepBoost):
    """With any other loss: a second channel, the loss itself, tells F. Its floor, and the lowest margin, come along."""

    def channel(self, state: Array, floor: Any) -> Array:
        weight = log_slope(self.loss, 1.0 - state[0])
        weight = weight + (float(floor) - float(log_slope(self.loss, ONE)[0]))
        return np.exp(np.minimum(weight, 700.0))

    def second(self, state: Array, channel: Array, floor: Any) -> Array:
        there = math.exp(_known(floor)["loss"]) / float(self.loss.value(ONE)[0])
        return np.asarray(self.loss.value(1.0 - state[0]) * there)

    def next_floor(self, floor: Any, sums: NDArray[np.int64], gains: Array, room: Room) -> float:
        """The loss is bounded by F before; its slope grows at most as the exponential's where it has a `log_slope`."""
        now = self.pending
        low = _known(floor)["low"] - abs(now.size)
        first = float(floor) + math.log(room.full / 2)
        if hasattr(self.loss, "log_slope"):
            spare = 0.5 * room.count
            right = math.log(now.right + spare) - min(now.size, 0.0)
            first -= float(np.logaddexp(right, math.log(now.wrong + spare) + max(now.size, 0.0)))
        else:
            most = float(log_slope(self.loss, np.array([1.0 - low]))[0] - log_slope(self.loss, ONE)[0])
            first = -most - math.log(2.0)
        loss = -math.log(2.0) - math.log(max(now.loss, 1e-300) / float(self.loss.value(ONE)[0]))
        return Level(first, loss=min(loss, 600.0), low=low)

    def better_floor(self, floor: Any, sums: Sums, before: Sums | None, room: Room) -> float | None:
        """A slope that is 0 twice is taken for 0."""
        assert sums.more is not None
        known = _known(floor)
        first = second = None
        if sums.total > 0 or before is None:
            first = super().better_floor(float(floor), sums, before, room)
        if sums.more.total > 0:
            second = super().better_floor(known["loss"], sums.more, None if before is None else before.more, room)
        if first is None and second is None:
            return None
        loss = known["loss"] if second is None else min(second, 600.0)
        return Level(float(floor) if first is None else first, loss=loss, low=known["low"])

    def resumed(self, row: dict[str, float], floor: Any) -> float:
        return Level(row["floor"], loss=row["loss_floor"], low=row["low"])

    def notes(self, sums: Sums, one: float, floor: Any) -> dict[str, float]:
        known = _known(floor)
        return {**self.noted, "loss_floor": known["loss"], "low": known["low"]}

    def trial_floor(self, floor: Any, size: float) -> float:
        """One with which the sums certainly fit after a step along some voter."""
        low = _known(floor)["low"] - abs(size)
        most = float(log_slope(self.loss, np.array([1.0 - low]))[0] - log_slope(self.loss, ONE)[0])
        return min(float(floor), -most - math.log(2.0))

    def mean_loss(self, sums: Sums, one: float, floor: Any) -> float:
        assert sums.more is not None
        return sums.more.total / one * math.exp(-_known(floor)["loss"]) * float(self.loss.value(ONE)[0])


def _known(floor: Any) -> dict[str, float]:
    return {"loss": floor.loss, "low": floor.low} if isinstance(floor, Level) else {"loss": float(floor), "low": 0.0}


def _times_exp(share: float, power: float) -> float:
    """share times exp(power), without overflow."""
    return share * math.exp(min(power, 700.0)) if share > 0 else 0.0
