"""How large numbers become on the integer grid: a floor per channel, chosen so that sums fit and rounding is small.

A channel is multiplied by exp(floor) and rounded to whole units. The floor is chosen before the sums are known, from
the sums before them and a bound on their growth: the total then comes as near to what fits as the bound allows. The
rule is the same on every engine. Where the bound was far off and the grid came out coarse, the shards sum again.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from electorate import exact as special
from electorate import kernels
from electorate.algorithms.protocol import NO_FLOORS, Booster, Channel, ExponentialWeight, Floors, LossOfVotes, Mean
from electorate.exact import LOG2, Floats
from electorate.families.trees import Groups, Voter
from electorate.messages import Change, Sums
from electorate.model.trace import Row

MOST_TRIES = 2000  # 60,000 nats: no step is longer, and a state that is not a number must not loop for ever


@dataclass(frozen=True)
class LogMean(Mean):
    """A mean that is known by its logarithm and by that of the number of examples."""

    log_mean: float
    log_count: float

    @property
    def value(self) -> float:
        return special.exp(min(self.log_mean, 700.0))

    @property
    def log(self) -> float:
        return self.log_mean

    @property
    def log_sum(self) -> float:
        return self.log_count + self.log_mean

    @property
    def log_n(self) -> float:
        return self.log_count


class Scale:
    """The sums of a booster's channels after every round, and the floors of the grid that they are on.

    engine: with `count`, how many rows count, repetitions included, and `full`, what sums on the grid may come to.
    """

    sums: Sums
    one: float  # what the first sum comes to where the mean of its channel is 1

    def __init__(self, engine: Any, booster: Booster) -> None:
        self.engine = engine
        self.booster = booster
        self.channel = booster.channels[0]
        self.loss = LossOfVotes(
            booster, ExponentialWeight(booster.margin_row)
        )  # a normalised channel needs its mean, Z
        self.spare = 0.5 * engine.count  # rounding may have taken half a unit from every row
        self.log_full = special.log(engine.full / 2)
        self.floors = NO_FLOORS
        self.lowest = 0.0  # a bound on all margins
        self.mean_floor = 0.0  # of the sum that Z comes from
        self.log_one = 0.0  # of the sum of exp(-margin) before any voter

    # ------------------------------------------------------------ sums

    def start(self, search: bool) -> None:
        """Sum before any voter. search: whether histograms are needed."""
        floors = Floors((0.0,) * len(self.booster.channels))
        if self.channel.normalised:
            _, self.log_one = self._sum_loss(None, 0.0)
            floors = Floors((self.log_full - self.log_one,))
        self.sums, self.floors = self._sum(self.booster, None, floors, search)
        self.one = self.sums.total * special.exp(-self.floors.each[0])

    def resume(self, row: Row) -> None:
        """Sum after the round of this row of history, whose voters have been replayed."""
        each = tuple(row[channel.column] for channel in self.booster.channels)
        self.floors = Floors(each, row["log_mean"] if self.channel.normalised else 0.0)
        self.mean_floor = row.get("mean_floor", 0.0)
        self.lowest = row.get("low", 0.0)
        self.sums = self.engine.advance(self.booster, None, self.floors)

    def advance(self, change: Change, voter: Voter, size: float, search: bool) -> None:
        """Apply the change of a voter with this step, and sum."""
        self.lowest -= abs(size)
        gains = change.gains[self.channel.row]
        if self.channel.normalised:
            leaves = list(zip(voter.sums.T.ravel().tolist(), gains.ravel().tolist(), strict=True))
            self._advance_normalised(change, leaves, search)
            return
        channels, each = self.booster.channels, self.floors.each
        bounds = (None,) * len(channels) if voter.chosen is None else voter.chosen.bounds
        floors = [
            self._floor_of_leaves(place, voter, gains) if bound is None else self._next_floor(channel, floor, bound)
            for place, (channel, floor, bound) in enumerate(zip(channels, each, bounds, strict=False))
        ]
        self.sums, self.floors = self._sum(self.booster, change, Floors(tuple(floors)), search)

    def _advance_normalised(self, change: Change, leaves: Groups, search: bool) -> None:
        """First the sum of exp(-margin), which grows at most as the worst leaf does; then, with Z, the channel."""
        least, log_mean = min(gain for _, gain in leaves), self.floors.log_mean
        most = special.log_sum_exp([self.log_one + log_mean, special.log(self.spare) - self.mean_floor])
        before, total = self._sum_loss(change, self.log_full + least - most)
        shift = log_mean - (total - self.log_one)
        relative = [(units, gain - shift) for units, gain in leaves]
        floor = self._next_floor(self.channel, self.floors.each[0], relative)
        floors = Floors((floor,), total - self.log_one)
        self.sums, self.floors = self._sum(self.booster, None, floors, search, before)

    def _sum_loss(self, change: Change | None, floor: float) -> tuple[Sums, float]:
        """The sum of exp(-margin), and its logarithm."""
        sums, floors = self._sum(self.loss, change, Floors((floor,)), False)
        self.mean_floor = floors.each[0]
        return sums, special.log(sums.total) - self.mean_floor

    def _sum(
        self, booster: Booster, change: Change | None, floors: Floors, search: bool, before: Sums | None = None
    ) -> tuple[Sums, Floors]:
        """One exchange; another while a channel came out coarse and has a larger sum than `before`."""
        sums = self.engine.advance(booster, change, floors, search)
        if min(totals_of(sums)) >= self.engine.full >> 4:
            return sums, floors
        for _ in range(MOST_TRIES):
            last = [None, None] if before is None else totals_of(before)
            tried = zip(booster.channels, floors.each, totals_of(sums), last, strict=False)
            each = tuple(self._finer_floor(*channel) for channel in tried)
            if each == floors.each:
                break
            floors, before = floors._replace(each=each), sums
            sums = self.engine.advance(booster, None, floors, search)
        return sums, floors

    # ------------------------------------------------------------ floors

    def _floor_of_leaves(self, place: int, voter: Voter, gains: Floats) -> float:
        """Return the floor after a change, without a bound from the search.

        The sums of the first channel are known by leaf; those of others grow at most as the worst leaf does.
        """
        channel, floor = self.booster.channels[place], self.floors.each[place]
        if place == 0:
            growing = gains if channel.shrinks else np.minimum(gains, 0.0)
            return floor + self.log_full - kernels.log_total(voter.sums, growing, self.spare)
        total = special.log(totals_of(self.sums)[place] + self.spare)
        return floor + self.log_full - total - channel.growth(float(gains.min()))

    def _next_floor(self, channel: Channel, floor: float, bound: Groups | float) -> float:
        """Return the floor after a change, from groups of examples or from the logarithm of a bound on the mean."""
        if isinstance(bound, float):
            return min(-LOG2 - bound, channel.highest_floor)
        grown = [special.log(units + self.spare) + channel.growth(gain) for units, gain in bound]
        if math.inf in grown:
            return -channel.log_at(self.lowest) - LOG2
        return floor + self.log_full - special.log_sum_exp(grown)

    def _finer_floor(self, channel: Channel, floor: float, total: int, before: int | None) -> float:
        """A floor to sum again with, or the same. before: the total of the last try."""
        if total >= self.engine.full >> 4 or (before is not None and 0 < total <= before):
            return floor
        if channel.vanishes and total == 0 and before is not None:  # 0 twice is taken for 0
            return floor
        return min(floor + self.log_full - special.log(total + self.spare), channel.highest_floor)

    def along(self, number: int, size: float) -> float:
        """The edge of a stored voter after one more step along it, relative to the sum of the weights before it."""
        floor = min(self.floors.each[0], -self.channel.log_at(self.lowest - abs(size)) - LOG2)
        _, edge = self.engine.along(self.booster, number, size, Floors((floor,))).tolist()
        return float(edge / self.sums.total * special.exp(self.floors.each[0] - floor))

    # ------------------------------------------------------------ what comes out

    def means(self, one: float) -> list[Mean]:
        """Return the mean of every channel; of a normalised one and of exp(-margin). one: the units of a mean of 1."""
        found = [Mean(total, one, floor) for total, floor in zip(totals_of(self.sums), self.floors.each, strict=True)]
        if self.channel.normalised:
            found.append(LogMean(0, one, 0.0, self.floors.log_mean, self.log_one))
        return found

    def columns(self) -> Row:
        """What history holds of the floors, so that `resume` finds the same grid."""
        names = [channel.column for channel in self.booster.channels]
        row = dict(zip(names, self.floors.each, strict=False))
        if self.channel.normalised:
            row |= {"log_mean": self.floors.log_mean, "mean_floor": self.mean_floor}
        if self.channel.bounded:
            row["low"] = self.lowest
        return row


def totals_of(sums: Sums) -> list[int]:
    """Return the total of every channel."""
    return [sums.total] if sums.more is None else [sums.total, sums.more.total]
