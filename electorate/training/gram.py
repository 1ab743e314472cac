"""Rows of the Gram matrix of a finite pool, made on demand and stored within a bound of memory.

A row that had to go is made again, the same.
"""

import numpy as np
from numpy.typing import NDArray

from electorate.voters.means import PoolMeans

MOST_BYTES = 2**30


class Gram:
    """Row `slot[j]` of `rows` is voter j's; slot[j] is -1 where it is not stored. The oldest goes first."""

    def __init__(self, pool: PoolMeans, most_bytes: int | None = None) -> None:
        self.pool = pool
        n = len(pool.mu)
        self.slot = np.full(n, -1, dtype=np.int64)
        self.rows = np.empty((0, n))
        self.most = max(1, min(n, (MOST_BYTES if most_bytes is None else most_bytes) // (8 * max(n, 1))))
        self.owners: list[int] = []  # [slot]: whose row it holds
        self.oldest = 0

    def load(self, j: int) -> NDArray[np.float64]:
        """The row of voter j."""
        if self.slot[j] < 0:
            at = self._free_slot()
            self.rows[at] = self.pool.row(j)
            self.slot[j] = at
            self.owners[at] = j
        return np.asarray(self.rows[self.slot[j]])

    def load_all(self, voters: list[int]) -> None:
        """Store the rows of several voters at once, at most `most` of them."""
        missing = [j for j in voters if self.slot[j] < 0]
        if len(self.owners) + len(missing) > self.most:  # else one of them could make another go
            self.slot[:] = -1
            self.owners, self.oldest = [], 0
        for j in voters:
            self.load(j)

    def _free_slot(self) -> int:
        if len(self.owners) == self.most:
            at, self.oldest = self.oldest, (self.oldest + 1) % self.most
            self.slot[self.owners[at]] = -1
            return at
        if len(self.owners) == len(self.rows):
            more = np.empty((min(self.most, max(16, 2 * len(self.rows))), len(self.slot)))
            more[: len(self.rows)] = self.rows
            self.rows = more
        self.owners.append(-1)
        return len(self.owners) - 1
