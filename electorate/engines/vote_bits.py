"""The outputs of voters for the rows of a shard, stored for the whole run: one bit per row and voter that is +-1.

For algorithms in which earlier voters compete again. Awards are y h: positive where a voter is right.
"""

import numpy as np
from numpy.typing import NDArray

from electorate import kernels

VOTERS_PER_BLOCK = 128  # of bits
UNITS = 2.0**40  # of the grid of votes


class StoredVotes:
    def __init__(self, n_rows: int) -> None:
        self.n_rows = n_rows
        self.places: list[tuple[bool, int]] = []  # of each voter: whether as bits, and where
        self.n_bits = 0
        self.blocks: list[NDArray[np.uint8]] = []  # [group of 8 rows, voter]
        self.reals: list[NDArray[np.float64]] = []

    def __len__(self) -> int:
        return len(self.places)

    def add(self, award: NDArray[np.float64], signs: bool) -> None:
        """signs: all awards of the voter, in every shard, are +-1."""
        if not signs:
            self.places.append((False, len(self.reals)))
            self.reals.append(award.copy())
            return
        block, place = divmod(self.n_bits, VOTERS_PER_BLOCK)
        if place == 0:
            self.blocks.append(np.zeros((-(-self.n_rows // 8), VOTERS_PER_BLOCK), dtype=np.uint8))
        self.blocks[block][:, place] = np.packbits(award > 0, bitorder="little")
        self.places.append((True, self.n_bits))
        self.n_bits += 1

    def award(self, number: int) -> NDArray[np.float64]:
        bits, place = self.places[number]
        if not bits:
            return self.reals[place]
        block, place = divmod(place, VOTERS_PER_BLOCK)
        right = np.unpackbits(self.blocks[block][:, place], count=self.n_rows, bitorder="little")
        return np.where(right > 0, 1.0, -1.0)

    def gains(self, number: int, size: float) -> NDArray[np.float64]:
        """Size times award, on the grid of votes."""
        return np.rint(size * self.award(number) * UNITS) / UNITS

    def edge(self, number: int, grid: NDArray[np.int64], times: NDArray[np.int64]) -> int:
        """The sum of grid times award. A row that counts k times is rounded once."""
        award = self.award(number)
        if self.places[number][0]:
            return 2 * int(grid[award > 0].sum()) - int(grid.sum())
        each = times if len(times) else np.int64(1)
        return int((np.rint(award * (grid // each)).astype(np.int64) * each).sum())

    def edges(self, grid: NDArray[np.int64], times: NDArray[np.int64]) -> NDArray[np.int64]:
        """[voter]: the same of all of them."""
        signs = np.zeros(len(self.blocks) * VOTERS_PER_BLOCK, dtype=np.int64)
        for number, block in enumerate(self.blocks):
            kernels.correlate_signs(block, grid, signs[number * VOTERS_PER_BLOCK :][:VOTERS_PER_BLOCK])
        signs = 2 * signs - int(grid.sum())
        reals = np.zeros(len(self.reals), dtype=np.int64)
        if self.reals:
            each = times if len(times) else np.ones(self.n_rows, dtype=np.int64)
            kernels.correlate_reals(np.array(self.reals), (grid // each).astype(np.float64), each, reals)
        found = [signs[place] if bits else reals[place] for bits, place in self.places]
        return np.array(found, dtype=np.int64)
