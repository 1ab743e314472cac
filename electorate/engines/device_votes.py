"""The outputs of voters for the rows of a device, stored for the whole run, as `vote_bits.py` does in this process."""

from typing import Any

import numpy as np

from electorate.engines.vote_bits import UNITS


class DeviceVotes:
    """Awards y h of voters, as bytes where they are +-1. xp: the module of the device's arrays."""

    def __init__(self, xp: Any) -> None:
        self.xp = xp
        self.awards: list[Any] = []

    def __len__(self) -> int:
        return len(self.awards)

    def add(self, award: Any, signs: bool) -> None:
        """signs: all awards of the voter are +-1."""
        self.awards.append(award.astype(np.int8) if signs else award.copy())

    def award(self, number: int) -> Any:
        return self.awards[number]

    def gains(self, number: int, size: float) -> Any:
        """Size times award, on the grid of votes."""
        return self.xp.rint(size * self.awards[number].astype(np.float64) * UNITS) / UNITS

    def edge(self, number: int, grid: Any, times: Any) -> int:
        """The sum of grid times award. A row that counts k times is rounded once."""
        award = self.awards[number]
        if award.dtype == np.int8:
            return int((grid * award).sum())
        units = self.xp.rint(award * (grid // times)).astype(np.int64)
        return int((units * times).sum())
