"""A finite pool in this process: rows of its Gram matrix, and what the rounds move: weights and correlations.

Rows are made when they are asked for and kept within a bound of memory; one that had to go is made again, the same.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from electorate import kernels

Floats = NDArray[np.float64]
Places = NDArray[np.int64]  # [move]: round, voter
Numbers = tuple[int, float, float]  # which penalty, its lam, the largest weight
WANTS_ROW = 1  # what a kernel says where it cannot go on
MOST_BYTES = 2**30  # of Gram rows


class Gram:
    """Row `slot[j]` of `rows` is voter j's; slot[j] is -1 where it is not there. The oldest goes first."""

    def __init__(self, pool: Any, most_bytes: int | None = None) -> None:
        self.pool = pool
        n = len(pool.mu)
        self.slot = np.full(n, -1, dtype=np.int64)
        self.rows = np.empty((0, n))
        self.most = max(1, min(n, (MOST_BYTES if most_bytes is None else most_bytes) // (8 * max(n, 1))))
        self.owners: list[int] = []  # [slot]: whose row it holds
        self.oldest = 0

    def load(self, j: int) -> None:
        if self.slot[j] >= 0:
            return
        at = self._room()
        self.rows[at] = self.pool.row(j)
        self.slot[j] = at
        self.owners[at] = j

    def load_all(self, voters: list[int]) -> None:
        """The rows of so many voters at once, at most as many as there is room for."""
        missing = [j for j in voters if self.slot[j] < 0]
        if len(self.owners) + len(missing) > self.most:  # else one of them could make another go
            self.slot[:] = -1
            self.owners, self.oldest = [], 0
        for j in voters:
            self.load(j)

    def _room(self) -> int:
        """A place for one more row."""
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


class PoolState:
    """The weights of a pool's voters, and c: their correlations with the residual."""

    def __init__(self, pool: Any, gram: Gram | None = None) -> None:
        self.pool = pool
        self.gram = Gram(pool) if gram is None else gram
        self.c = np.array(pool.mu)
        self.weight = np.zeros(len(pool.mu))

    def afresh(self) -> "PoolState":
        """Before any round, with the same Gram rows."""
        return PoolState(self.pool, self.gram)

    def copy(self) -> "PoolState":
        there = self.afresh()
        there.c, there.weight = self.c.copy(), self.weight.copy()
        return there

    def row(self, j: int) -> Floats:
        """Voter j's row of the Gram matrix."""
        self.gram.load(j)
        return np.asarray(self.gram.rows[self.gram.slot[j]])

    def gap(self, numbers: Numbers) -> float:
        return float(kernels.quad_gap(*numbers, self.pool.power, self.c, self.pool.mu, self.weight))

    def rounds(
        self, rules: tuple[int, float, float, int, float, int], first: int, last: int, most_moves: int
    ) -> tuple[int, list[tuple[Places, Floats]]]:
        """Rounds first..last, as far as they come: why they ended (0: all done, or no more room), and their moves.

        rules: the numbers of the penalty, mode, tol, the most voters.
        """
        places, moves = np.empty((most_moves, 2), dtype=np.int64), np.empty((most_moves, 5))
        info = np.zeros(6, dtype=np.int64)
        parts = []
        while first <= last:
            state = (self.c, self.pool.mu, self.pool.eta, self.weight, self.gram.rows, self.gram.slot)
            first = kernels.quad_rounds(*rules, self.pool.power, *state, first, last, places, moves, info)
            made = int(info[0])
            parts.append((places[:made].copy(), moves[:made].copy()))
            if info[1] != WANTS_ROW:
                break
            self.gram.load(int(info[2]))
        return int(info[1]), parts

    def replay(self, kind: int, lam: float, mode: int, places: Places, moves: Floats) -> None:
        """Make moves again, of which moves[:, 0], the weights, is known: the other columns are filled."""
        low = 0
        while low < len(places):
            high = self._reach(places[low:, 1]) + low
            self.gram.load_all(np.unique(places[low:high, 1]).tolist())
            state = (self.c, self.pool.eta, self.weight, self.gram.rows, self.gram.slot)
            kernels.quad_replay(kind, lam, mode, places[low:high], moves[low:high], *state)
            low = high

    def _reach(self, voters: Places) -> int:
        """How many of these moves are by no more voters than there is room for rows."""
        first = np.sort(np.unique(voters, return_index=True)[1])
        return int(first[self.gram.most]) if len(first) > self.gram.most else len(voters)
