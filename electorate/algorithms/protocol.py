"""What the loop asks of a booster: the arithmetic of one algorithm, on sums and on single examples.

A booster never sees a table or a vector over all examples to reduce: what is a sum over examples comes in as one.
"""

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from electorate.messages import Sums


@dataclass
class Step:
    """A booster's verdict on a voter: its step, edge and weighted error, and why to stop, if so."""

    size: float
    edge: float
    error: float
    stop: str | None = None


class Room(Protocol):
    """What the sums of an engine may come to."""

    count: int  # how many rows count, repetitions included
    full: int  # what sums on the grid may come to


class Booster(Protocol):
    leaves: ClassVar[str]  # the outputs it prefers: "label", "log_odds"
    floor_row: ClassVar[int]  # of the state: minus the logarithm of an example's weight
    margin_row: ClassVar[int]  # of the state: y f

    @property
    def n_states(self) -> int:
        """Numbers carried per example."""
        ...

    def step(self, sums: NDArray[np.int64], outputs: NDArray[np.float64]) -> Step:
        """The step for a voter with these outputs[leaf, output], from the weights sums[leaf, label]."""
        ...

    def spoken(self, outputs: NDArray[np.float64]) -> NDArray[np.float64]:
        """The outputs as the ensemble keeps them: finite."""
        ...

    def perfect(self, step: Step) -> bool:
        """Whether the voter was never wrong, so that nothing can be added."""
        ...

    def gains(self, step: Step, outputs: NDArray[np.float64]) -> NDArray[np.float64]:
        """[state, label, leaf]: what the voter adds to an example's state."""
        ...

    def channel(self, state: NDArray[np.float64], floor: float) -> NDArray[np.float64]:
        """The number whose sums steer the search, exp(floor - state) say; the loop sees to it that sums fit."""
        ...

    def next_floor(self, floor: float, sums: NDArray[np.int64], gains: NDArray[np.float64], room: Room) -> float:
        """The floor for the sums after a voter with these gains[state, label, leaf], from sums[leaf, label] before."""
        ...

    def better_floor(self, floor: float, sums: Sums, before: Sums | None, room: Room) -> float | None:
        """A floor to sum again with, or None where these sums will do. before: those of the try before."""
        ...

    def resumed(self, row: dict[str, float], floor: float) -> float:
        """The floor that was there after the round of this row of history. floor: that of no voter."""
        ...

    def notes(self, sums: Sums, one: float, floor: float) -> dict[str, float]:
        """What a row of history keeps beside what all keep, from the sums after the round."""
        ...

    def wrong(self, state: NDArray[np.float64], label: int) -> NDArray[np.bool_]:
        """Which examples of this label the ensemble gets wrong."""
        ...

    def measured(self, sums: Sums, one: float, floor: float) -> float:
        """What the algorithm lowers. one: what the sums come to where the channel's mean is 1."""
        ...


class Level(float):
    """A floor that knows more than its number: what a booster carries from one exchange to the next.

    search: whether the sums with it are for the search; those before it are a few numbers, without a histogram.
    """

    search: bool = True

    def __new__(cls, value: float, **known: Any) -> "Level":
        made = super().__new__(cls, value)
        made.__dict__.update(known)
        return made

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(name)


class Floating:
    """Weights exp(floor - state[floor_row]), with a floor that follows their total.

    A unit of the grid is 2^-bits. The floor is set before the sums are known, from the sums before them and what the
    voter does to each leaf and label, so that the total comes as near to what fits as a bound on it allows: rounding
    is then small against the total, whatever the weights. The same rule on every engine.
    """

    floor_row: ClassVar[int] = 0

    def channel(self, state: NDArray[np.float64], floor: float) -> NDArray[np.float64]:
        """Example weights, times exp(floor)."""
        weight: NDArray[np.float64] = floor - state[self.floor_row]
        np.exp(weight, out=weight)
        return weight

    def next_floor(self, floor: float, sums: NDArray[np.int64], gains: NDArray[np.float64], room: Room) -> float:
        spare = 0.5 * room.count  # rounding may have taken half a unit from every row
        weights, moves = sums.T.ravel().tolist(), gains[self.floor_row].ravel().tolist()
        least = min(moves)
        most = math.fsum((weight + spare) * math.exp(least - move) for weight, move in zip(weights, moves, strict=True))
        return floor + least + math.log(room.full / 2) - math.log(most)

    def better_floor(self, floor: float, sums: Sums, before: Sums | None, room: Room) -> float | None:
        """Where the bound on the total was far off and the grid came out coarse, unless a finer one shows no more."""
        total = sums.total
        if total >= room.full >> 4 or (before is not None and 0 < total <= before.total):
            return None
        return floor + math.log(room.full / 2) - math.log(total + 0.5 * room.count)

    def resumed(self, row: dict[str, float], floor: float) -> float:
        return row["floor"]

    def notes(self, sums: Sums, one: float, floor: float) -> dict[str, float]:
        return {}

    def measured(self, sums: Sums, one: float, floor: float) -> float:
        return self.objective(sums.total / one, floor)

    def objective(self, mean: float, floor: float) -> float:
        """The mean of the weights."""
        return mean * math.exp(min(-floor, 700.0))
