"""The outputs of voters for the rows of a shard, stored for the whole run: one bit per row and voter that is +-1.

For algorithms in which earlier voters compete again. Awards are y h: positive where a voter is right.
"""

import numpy as np
from numpy.typing import NDArray

from electorate import kernels

FEWEST, MOST = 8, 128  # voters of a block of bits: blocks grow with the voters, so that half of the bits are used
UNITS = 2.0**40  # of the grid of votes


class StoredVotes:
    def __init__(self, n_rows: int) -> None:
        self.n_rows = n_rows
        self.places: list[tuple[int, int]] = []  # of each voter: its block and its place there; block -1: of reals
        self.free = 0  # places in the last block
        self.blocks: list[NDArray[np.uint8]] = []  # [group of 8 rows, voter]
        self.reals: list[NDArray[np.float64]] = []

    def __len__(self) -> int:
        return len(self.places)

    def add(self, award: NDArray[np.float64], signs: bool) -> None:
        """signs: all awards of the voter, in every shard, are +-1."""
        if not signs:
            self.places.append((-1, len(self.reals)))
            self.reals.append(award.copy())
            return
        if self.free == 0:
            self.free = min(MOST, max(FEWEST, sum(block.shape[1] for block in self.blocks)))
            self.blocks.append(np.zeros((-(-self.n_rows // 8), self.free), dtype=np.uint8))
        last = self.blocks[-1]
        place = last.shape[1] - self.free
        last[:, place] = np.packbits(award > 0, bitorder="little")
        self.places.append((len(self.blocks) - 1, place))
        self.free -= 1

    def award(self, number: int) -> NDArray[np.float64]:
        block, place = self.places[number]
        if block < 0:
            return self.reals[place]
        right = np.unpackbits(self.blocks[block][:, place], count=self.n_rows, bitorder="little")
        return np.where(right > 0, 1.0, -1.0)

    def gains(self, number: int, size: float) -> NDArray[np.float64]:
        """Size times award, on the grid of votes."""
        return np.rint(size * self.award(number) * UNITS) / UNITS

    def edge(self, number: int, grid: NDArray[np.int64], times: NDArray[np.int64]) -> int:
        """The sum of grid times award. A row that counts k times is rounded once."""
        award = self.award(number)
        if self.places[number][0] >= 0:
            return 2 * int(grid[award > 0].sum()) - int(grid.sum())
        each = times if len(times) else np.int64(1)
        return int((np.rint(award * (grid // each)).astype(np.int64) * each).sum())

    def edges(self, grid: NDArray[np.int64], times: NDArray[np.int64]) -> NDArray[np.int64]:
        """[voter]: the same of all of them."""
        total, sums = int(grid.sum()), []
        for block in self.blocks:
            right = np.zeros(block.shape[1], dtype=np.int64)
            kernels.correlate_signs(block, grid, right)
            sums.append(2 * right - total)
        reals = np.zeros(len(self.reals), dtype=np.int64)
        if self.reals:
            each = times if len(times) else np.ones(self.n_rows, dtype=np.int64)
            kernels.correlate_reals(np.array(self.reals), (grid // each).astype(np.float64), each, reals)
        sums.append(reals)  # block -1
        return np.array([sums[block][place] for block, place in self.places], dtype=np.int64)
