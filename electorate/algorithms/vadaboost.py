"""VadaBoost and EBBoost: boosting that also penalises the variance of the exponential loss.

Paper: Shivaswamy and Jebara, "Variance Penalizing AdaBoost" (equation and algorithm numbers below). With e = exp(-y f)
and means over the rows by their sample weight, cost (3) over n^2 is (mean e)^2 + lam (mean e^2 - (mean e)^2).
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from electorate.algorithms.adaboost import AdaBoost
from electorate.algorithms.protocol import Level, Room, Step
from electorate.grid import on_grid
from electorate.messages import Sums

Array = NDArray[np.float64]
MOST = 340.0  # of log(e/Z), whose square must be finite: only rows of sample weight under 1e-147 can have more


@dataclass(frozen=True)
class VadaBoost(AdaBoost):
    """Algorithm 2, for two labels. state[0] is the margin y f; lam is from 0 to 1.

    The weights u = lam (e/Z)^2 + (1 - lam) e/Z need Z, the mean of e, first. A round is therefore two exchanges: the
    sum of e without a histogram, then the sums of u, which every family searches as it searches AdaBoost's. Both floors
    follow their totals; u is linear in the sample weight, so weight k is the row k times. Cost (3) over n^2 is Z^2
    times the mean of u.
    """

    lam: float = 0.5

    # ------------------------------------------------------------ the two exchanges

    def channel(self, state: Array, floor: Any) -> Array:
        """e times exp(floor), or u times exp(floor)."""
        weight: Array = -state[0]
        if not _of_u(floor):
            weight += float(floor)
            np.exp(weight, out=weight)
            return weight
        weight -= floor.log_mean
        np.minimum(weight, MOST, out=weight)
        np.exp(weight, out=weight)
        weight *= self.lam * weight + (1 - self.lam)
        weight *= math.exp(floor)
        return weight

    def next_floor(self, floor: Any, sums: NDArray[np.int64], gains: Array, room: Room) -> float:
        """For the sum of e, which grows at most as the worst leaf does; what u's leaves hold comes along."""
        moves = gains[0].ravel().tolist()
        least = min(moves)
        total = floor.log_one + floor.log_mean  # the logarithm of the sum of e
        high = float(np.logaddexp(total, math.log(0.5 * room.count) - floor.mean_floor))
        held = tuple(zip(sums.T.ravel().tolist(), moves, strict=True))
        return Level(math.log(room.full / 2) + least - high, search=False, before=floor, held=held)

    def better_floor(self, floor: Any, sums: Sums, before: Sums | None, room: Room) -> float | None:
        better = super().better_floor(floor, sums, before, room)
        if better is not None or _of_u(floor):
            return None if better is None else Level(better, **_known(floor))
        last = _known(floor).get("before")
        total = math.log(sums.total) - float(floor)
        if last is None:  # no voter yet: e and u are 1
            return Level(math.log(room.full / 2) - total, log_one=total, log_mean=0.0, mean_floor=float(floor))
        log_mean = total - last.log_one
        most = _most(floor.held, last.log_mean - log_mean, 0.5 * room.count)
        there = float(last) + math.log(room.full / 2) - most
        return Level(there, log_one=last.log_one, log_mean=log_mean, mean_floor=float(floor))

    def resumed(self, row: dict[str, float], floor: Any) -> float:
        return Level(row["floor"], log_one=floor.log_one, log_mean=row["log_mean"], mean_floor=row["mean_floor"])

    def notes(self, sums: Sums, one: float, floor: Any) -> dict[str, float]:
        """The logarithm of Z, and the floor that it was summed with."""
        return {"log_mean": floor.log_mean, "mean_floor": floor.mean_floor}

    # ------------------------------------------------------------ the step

    def step(self, sums: NDArray[np.int64], outputs: Array) -> Step:
        """Lemma 2: half of AdaBoost's step, from the sums of u. A perfect voter gets half of what AdaBoost gives it."""
        whole = super().step(sums, outputs)
        size = float(on_grid(0.5 * whole.size))
        stop = whole.stop if size > 0 else "no_edge"
        return Step(size, whole.edge, whole.error, stop)

    def objective(self, mean: float, floor: Any) -> float:
        """Cost (3) over n^2."""
        log = math.log(mean) - float(floor) + 2 * floor.log_mean
        return math.exp(min(log, 700.0))


def _of_u(floor: Any) -> bool:
    return isinstance(floor, Level) and floor.search


def _known(floor: Any) -> dict[str, Any]:
    return floor.__dict__ if isinstance(floor, Level) else {"search": False}


def _most(held: Any, shift: float, spare: float) -> float:
    """The logarithm of a bound on the sums of u: where e/Z is c times what it was, u is at most c or c^2 times."""
    each = [math.log(units + spare) + max(shift - gain, 2 * (shift - gain)) for units, gain in held]
    return float(np.logaddexp.reduce(each))
