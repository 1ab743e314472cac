"""EBBoost: every voter is ranked by cost (3) at its own best step, so all of them must be enumerated.

Paper: Shivaswamy and Jebara, "Variance Penalizing AdaBoost", Algorithm 3. Two channels, w and w^2, are summed in one
exchange; the costs of all voters follow from the sums of what they get right.
"""

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from electorate.algorithms.adaboost import AdaBoost
from electorate.algorithms.protocol import Level, Room, Step
from electorate.grid import on_grid
from electorate.messages import Sums

Array = NDArray[np.float64]
MOST = 1e150  # of a weight on the grid, whose square must be finite: no sum that fits has more


@dataclass(frozen=True)
class EBBoost(AdaBoost):
    """Algorithm 3, for two labels and any lam from 0. state[0] is the margin y f.

    The channels are exp(floor - y f) and exp(floor.squares - 2 y f), each with a floor that follows its total.
    held: of the voter that was chosen, the sums of the second channel with what each gains.
    """

    lam: float = 0.5
    held: list[tuple[int, float]] = field(default_factory=list, compare=False)

    def second(self, state: Array, channel: Array, floor: Any) -> Array:
        """The squares of the first channel, on their own floor."""
        squares = np.minimum(channel, MOST)
        squares *= squares
        squares *= math.exp(min(_squares(floor) - 2 * float(floor), 700.0))
        return squares

    def next_floor(self, floor: Any, sums: NDArray[np.int64], gains: Array, room: Room) -> float:
        first = super().next_floor(floor, sums, gains, room)
        spare = 0.5 * room.count
        grown = [math.log(units + spare) - 2 * gain for units, gain in self.held]
        return Level(first, squares=_squares(floor) + math.log(room.full / 2) - float(np.logaddexp.reduce(grown)))

    def better_floor(self, floor: Any, sums: Sums, before: Sums | None, room: Room) -> float | None:
        assert sums.more is not None
        squares = _squares(floor)
        first = super().better_floor(float(floor), sums, before, room)
        second = super().better_floor(squares, sums.more, None if before is None else before.more, room)
        if first is None and second is None:
            return None
        return Level(float(floor) if first is None else first, squares=squares if second is None else second)

    def resumed(self, row: dict[str, float], floor: Any) -> float:
        return Level(row["floor"], squares=row["floor_of_squares"])

    def notes(self, sums: Sums, one: float, floor: Any) -> dict[str, float]:
        """The floor of the second channel, and the logarithm of the mean of e."""
        return {"floor_of_squares": _squares(floor), "log_mean": self.log_mean(sums, one, floor)}

    # ------------------------------------------------------------ costs

    def spread(self, sums: Sums, one: float, floor: Any) -> float:
        """The mean of e^2 over the square of the mean of e: 1 where all are equal."""
        assert sums.more is not None
        if sums.total == 0 or sums.more.total == 0:  # only on the grid of another fit, which cannot be resumed here
            return math.inf
        logs = math.log(sums.more.total) - _squares(floor) - 2 * (math.log(sums.total) - float(floor)) + math.log(one)
        return math.exp(min(logs, 700.0))

    def measured(self, sums: Sums, one: float, floor: Any) -> float:
        """Cost (3) over n^2."""
        penalised = 1 + self.lam * max(self.spread(sums, one, floor) - 1, 0.0)
        return math.exp(min(2 * self.log_mean(sums, one, floor) + math.log(penalised), 700.0))

    def log_mean(self, sums: Sums, one: float, floor: Any) -> float:
        """The logarithm of the mean of e."""
        return math.log(sums.total / one) - float(floor) if sums.total else -math.inf

    def rank(self, right: Any, right_squares: Any, spread: float) -> Any:
        """Cost (3) of voters at their own best steps, relative to no step: from their shares of w and of w^2."""
        lam, wrong, wrong_squares = self.lam, 1.0 - right, 1.0 - right_squares
        ups = (1 - lam) * right * right + lam * (right_squares * spread)
        downs = (1 - lam) * wrong * wrong + lam * (wrong_squares * spread)
        return 2 * np.sqrt(np.maximum(ups * downs, 0.0)) + 2 * (1 - lam) * right * wrong

    def settle(self, weights: Any, squares: Any, spread: float) -> Step:
        """The step of the voter that is right and wrong on these (right, wrong) sums of w and of w^2."""
        (right, wrong), (_, down) = weights, squares
        total = right + wrong
        error, edge = wrong / total, (right - wrong) / total
        if wrong == 0 and down == 0:
            return Step(0.5, edge, error, "perfect_voter")
        ups, downs = self.sides(weights, squares, spread)
        best = 0.25 * math.log(ups / downs)
        size = float(on_grid(self.learning_rate * best)) if best > 0 else 0.0
        return Step(size, edge, error, None if size > 0 else "no_edge")

    def sides(self, weights: Any, squares: Any, spread: float) -> tuple[float, float]:
        """What the cost has before exp(-2 alpha) and before exp(2 alpha)."""
        both = [
            (1 - self.lam) * (weight / sum(weights)) ** 2 + self.lam * spread * (square / sum(squares))
            for weight, square in zip(weights, squares, strict=True)
        ]
        return both[0], both[1]

    def step(self, sums: NDArray[np.int64], outputs: Array) -> Step:
        raise TypeError("EBBoost's steps come with the search")


def _squares(floor: Any) -> float:
    return floor.squares if isinstance(floor, Level) else 2 * float(floor)
