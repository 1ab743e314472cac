"""Means over rows of what voters say: with a target, with each other, squared. All from exact integer sums.

What QuadBoost needs of a finite pool: mu, eta and rows of the Gram matrix, the same for any order of the rows, and for
weight k as for k rows.
"""

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from electorate import kernels
from electorate.data.weights import Weights
from electorate.voters.columns import RealColumns, SignColumns

Floats = NDArray[np.float64]


class Pool(Protocol):
    """A finite set of voters, by their means."""

    @property
    def mu(self) -> Floats:
        """With the target."""
        ...

    @property
    def eta(self) -> Floats:
        """Of the squares."""
        ...

    @property
    def power(self) -> float:
        """Of the target's square."""
        ...

    def row(self, k: int) -> Floats:
        """Of voter k with every voter."""
        ...


class Sums:
    """Sums over the rows that count, of columns of +-1 (as bits) or of numbers from -1 to 1."""

    def __init__(self, columns: SignColumns | RealColumns, weights: Weights) -> None:
        self.columns = columns
        self.times = weights.times
        self.real = np.ones(len(weights.times)) if weights.real is None else weights.real
        self.unit = 2.0**weights.bits
        self.alike = weights.real is None and bool(np.all(self.times == 1))
        self.counts = self.on_grid(np.ones(len(self.times))) * self.times
        self.mass = int(self.counts.sum())

    def on_grid(self, values: Floats) -> NDArray[np.int64]:
        """Values from -1 to 1, times the real weight of a row, in whole units."""
        return np.rint(values * self.real * self.unit).astype(np.int64)

    def mean(self, values: Floats) -> float:
        return int((self.on_grid(values) * self.times).sum()) / self.mass

    def mean_of(self, values: Floats, said: Floats) -> float:
        """The mean of a product, said being from -1 to 1."""
        return int((self.on_products(values, said) * self.times).sum()) / self.mass

    def correlate(self, values: Floats) -> Floats:
        """The means of values, from -1 to 1, times each column."""
        if isinstance(self.columns, SignColumns):
            return self.columns.correlate(self.on_grid(values) * self.times) / self.mass
        sums = np.zeros(self.columns.n_columns, dtype=np.int64)
        kernels.correlate_reals(self.columns.values, values * self.real * self.unit, self.times, sums)
        return np.asarray(sums / self.mass)

    def squares(self) -> Floats:
        if isinstance(self.columns, SignColumns):
            return np.ones(self.columns.n_columns)
        own = (self.on_products(column, column) @ self.times for column in self.columns.values)
        return np.array([int(total) / self.mass for total in own])

    def on_products(self, one: Floats, other: Floats) -> NDArray[np.int64]:
        return np.rint(one * self.real * self.unit * other).astype(np.int64)

    def row(self, k: int) -> Floats:
        if isinstance(self.columns, SignColumns) and self.alike:
            return self.columns.gram_row(k) / self.columns.n_rows
        return self.correlate(self.columns.column(k))


class Columns:
    """The pool of all columns. silence(j): from here on voter j says nothing, and so is never chosen."""

    def __init__(self, sums: Sums, target: Floats) -> None:
        self.sums = sums
        self.mu = sums.correlate(target)
        self.eta = sums.squares()
        self.power = sums.mean(target * target)
        self.silent: int | None = None

    def silence(self, j: int) -> None:
        self.silent = j
        self.mu[j] = self.eta[j] = 0.0

    def row(self, k: int) -> Floats:
        row = self.sums.row(k)
        if self.silent is not None:
            row[self.silent] = 0.0
        return row


class Centred:
    """The same pool, every voter and the target less their means: what a free intercept leaves of them."""

    def __init__(self, pool: Columns, target: Floats) -> None:
        self.pool = pool
        self.said = pool.sums.correlate(np.ones(len(target)))
        self.target = pool.sums.mean(target)
        self.mu = pool.mu - self.said * self.target
        self.eta = np.maximum(pool.eta - self.said * self.said, 0.0)
        self.power = max(pool.power - self.target * self.target, 0.0)

    def row(self, k: int) -> Floats:
        return np.asarray(self.pool.row(k) - self.said[k] * self.said)


class Mirrored:
    """A pool and its complements: voter N + j says the contrary of voter j."""

    def __init__(self, pool: Pool) -> None:
        self.pool = pool
        self.mu = np.concatenate([pool.mu, -pool.mu])
        self.eta = np.concatenate([pool.eta, pool.eta])
        self.power = pool.power

    def row(self, k: int) -> Floats:
        n = len(self.pool.mu)
        row = self.pool.row(k % n)
        return np.concatenate([row, -row]) if k < n else np.concatenate([-row, row])
