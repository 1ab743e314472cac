"""Means over rows of the outputs of voters: with a target, with each other, squared. All from exact integer sums.

What QuadBoost needs of a finite pool: mu, eta and rows of the Gram matrix, the same for any order of the rows, and for
weight k as for k rows.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from electorate import kernels
from electorate.data.weights import Weights
from electorate.exact import Floats
from electorate.families.columns import RealColumns, SignColumns

MOST_BYTES = 2**30  # of Gram rows


class Means:
    """Weighted means over the rows that count. Columns hold +-1 (as bits) or numbers from -1 to 1."""

    def __init__(self, weights: Weights) -> None:
        self.times = weights.times
        self.real = np.ones(len(weights.times)) if weights.real is None else weights.real
        self.unit = 2.0**weights.bits
        self.equal = weights.real is None and bool(np.all(self.times == 1))
        self.mass = int((self.on_grid(np.ones(len(self.times))) * self.times).sum())

    def on_grid(self, values: Floats, outputs: Floats | float = 1.0) -> NDArray[np.int64]:
        """Values from -1 to 1, or their products with outputs, times the real weight of a row, in whole units."""
        return np.rint(values * self.real * self.unit * outputs).astype(np.int64)

    def mean(self, values: Floats, outputs: Floats | float = 1.0) -> float:
        """The mean of values, or of their products with outputs, which are from -1 to 1."""
        return int((self.on_grid(values, outputs) * self.times).sum()) / self.mass

    def mean_square(self, values: Floats) -> float:
        """The mean of the squares of numbers of any size."""
        square = values**2
        scale = 2.0 ** math.ceil(math.log2(max(float(square.max(initial=0.0)), 1.0)))
        return self.mean(square / scale) * scale

    def correlate(self, columns: SignColumns | RealColumns, values: Floats) -> Floats:
        """The means of values, from -1 to 1, times each column."""
        if isinstance(columns, SignColumns):
            return columns.correlate(self.on_grid(values) * self.times) / self.mass
        sums = np.zeros(columns.n_columns, dtype=np.int64)
        kernels.correlate_reals(columns.values, values * self.real * self.unit, self.times, sums)
        return np.asarray(sums / self.mass)


@dataclass(frozen=True)
class PoolMeans:
    """A finite pool by its means: mu with the target, eta of the squares, power of the target's square.

    row: given a voter, the means of its products with every voter.
    """

    mu: Floats
    eta: Floats
    power: float
    row: Callable[[int], Floats]


def pool_of(columns: SignColumns | RealColumns, means: Means, target: Floats) -> PoolMeans:
    """All columns as voters."""

    def row(k: int) -> Floats:
        if isinstance(columns, SignColumns) and means.equal:
            return columns.gram_row(k) / columns.n_rows
        return means.correlate(columns, columns.column(k))

    if isinstance(columns, SignColumns):
        eta = np.ones(columns.n_columns)
    else:
        eta = np.array([means.mean(column, column) for column in columns.values])
    return PoolMeans(means.correlate(columns, target), eta, means.mean(target * target), row)


def silenced(pool: PoolMeans, j: int) -> PoolMeans:
    """The pool, but voter j outputs 0 and so is never chosen."""

    others = np.arange(len(pool.mu)) != j

    def row(k: int) -> Floats:
        return np.where(others, pool.row(k), 0.0)

    return PoolMeans(np.where(others, pool.mu, 0.0), np.where(others, pool.eta, 0.0), pool.power, row)


def centred(pool: PoolMeans, outputs: Floats, target: float) -> PoolMeans:
    """The pool with every voter and the target less their means, outputs and target: for a free intercept."""

    def row(k: int) -> Floats:
        return np.asarray(pool.row(k) - outputs[k] * outputs)

    eta = np.maximum(pool.eta - outputs * outputs, 0.0)
    return PoolMeans(pool.mu - outputs * target, eta, max(pool.power - target * target, 0.0), row)


def mirrored(pool: PoolMeans) -> PoolMeans:
    """The pool and its complements: voter n + j has the outputs of voter j, negated."""
    n = len(pool.mu)

    def row(k: int) -> Floats:
        mine = pool.row(k % n)
        return np.concatenate([mine, -mine]) if k < n else np.concatenate([-mine, mine])

    return PoolMeans(np.concatenate([pool.mu, -pool.mu]), np.concatenate([pool.eta, pool.eta]), pool.power, row)


# ---------------------------------------------------------------- Gram rows


class Gram:
    """Rows of the Gram matrix of a pool, made on demand and stored within a bound of memory.

    Row `slot[j]` of `rows` is voter j's; slot[j] is -1 where it is not stored. The oldest goes first; it is made again,
    the same, where it is needed.
    """

    def __init__(self, pool: PoolMeans, most_bytes: int | None = None) -> None:
        self.pool = pool
        n = len(pool.mu)
        self.slot = np.full(n, -1, dtype=np.int64)
        self.rows = np.empty((0, n))
        self.most = max(1, min(n, (MOST_BYTES if most_bytes is None else most_bytes) // (8 * max(n, 1))))
        self.owners: list[int] = []  # [slot]: whose row it holds
        self.oldest = 0

    def load(self, j: int) -> Floats:
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
