"""What voters said of the rows of a shard, kept for the whole run: one bit per row and voter that says +-1.

For algorithms in which earlier voters compete again. Awards are y h: positive where a voter is right.
"""

import numpy as np
from numpy.typing import NDArray

from electorate import kernels

VOTERS_AT_ONCE = 128  # in one block of bits
UNITS = 2.0**40  # of the grid of votes


class Kept:
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
        block, place = divmod(self.n_bits, VOTERS_AT_ONCE)
        if place == 0:
            self.blocks.append(np.zeros((-(-self.n_rows // 8), VOTERS_AT_ONCE), dtype=np.uint8))
        self.blocks[block][:, place] = np.packbits(award > 0, bitorder="little")
        self.places.append((True, self.n_bits))
        self.n_bits += 1

    def award(self, number: int) -> NDArray[np.float64]:
        bits, place = self.places[number]
        if not bits:
            return self.reals[place]
        block, place = divmod(place, VOTERS_AT_ONCE)
        right = np.unpackbits(self.blocks[block][:, place], count=self.n_rows, bitorder="little")
        return np.where(right > 0, 1.0, -1.0)

    def votes(self, number: int, size: float) -> NDArray[np.float64]:
        """Size times award, on the grid of votes."""
        award = self.award(number)
        return np.rint(size * award * UNITS) / UNITS

    def edges(self, grid: NDArray[np.int64], times: NDArray[np.int64]) -> NDArray[np.int64]:
        """[voter]: the sums of grid times award. A row that counts k times is rounded once."""
        signs = np.zeros(len(self.blocks) * VOTERS_AT_ONCE, dtype=np.int64)
        for number, block in enumerate(self.blocks):
            part = signs[number * VOTERS_AT_ONCE :][:VOTERS_AT_ONCE]
            kernels.correlate_signs(block, grid, part)
        signs = 2 * signs - int(grid.sum())
        reals = np.zeros(len(self.reals), dtype=np.int64)
        if self.reals:
            each = times if len(times) else np.ones(self.n_rows, dtype=np.int64)
            kernels.correlate_reals(np.array(self.reals), (grid // each).astype(np.float64), each, reals)
        found = [signs[place] if bits else reals[place] for bits, place in self.places]
        return np.array(found, dtype=np.int64)
