"""The weighted median of votes that come one after another: the voters so far, sorted by their predictions."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from electorate import kernels
from electorate.exact import Ints

Array = NDArray[np.float64]


class Stage:
    """The voters so far, sorted by their predictions of each row."""

    def __init__(self, n_rows: int, n_voters: int) -> None:
        self.values = np.empty((n_rows, n_voters))
        self.weights = np.empty((n_rows, n_voters), dtype=np.int64)
        self.mass = np.zeros(n_rows, dtype=np.int64)
        self.reach = np.zeros(n_rows)
        self.count = 0
        self.alone: tuple[Array, Array] | None = None  # the predictions of a voter that decides, and its confidence

    def add(self, values: Array, units: int, sure: Array | None, decides: bool = False) -> None:
        if decides:
            self.alone = values, np.ones(len(values)) if sure is None else sure
            return
        weights = np.full(len(values), units) if sure is None else np.rint(units * sure).astype(np.int64)
        if self.count == self.values.shape[1]:  # more than were announced
            self.values = np.concatenate([self.values, np.empty_like(self.values[:, : max(8, self.count)])], axis=1)
            self.weights = np.concatenate([self.weights, np.empty_like(self.weights[:, : max(8, self.count)])], axis=1)
        kernels.insert_votes(self.values, self.weights, self.count, np.ascontiguousarray(values), weights)
        self.count += 1
        self.mass += weights
        self.reach += units

    def quantiles(self, rho: float, upper: bool) -> Array:
        need, inside = needs(self.mass, self.reach, rho)
        found = np.zeros(len(self.mass))
        if self.count:
            kernels.sorted_quantiles(self.values, self.weights, self.count, need, not upper, found)
        found = outside(found, inside, rho, upper)
        if self.alone is not None:
            values, sure = self.alone
            known = np.where(np.abs(rho) < sure, values, outside(values, np.zeros(len(values), dtype=bool), rho, upper))
            found = np.where(sure > 0, known, found)
        return found

    def lower_medians(self) -> Array:
        found = np.zeros(len(self.mass))
        if self.count:
            kernels.sorted_quantiles(self.values, self.weights, self.count, (self.mass + 1) // 2, False, found)
        return np.where(self.mass > 0, found, np.inf)


def needs(mass: Ints, reach: Array, rho: Any) -> tuple[Ints, NDArray[np.bool_]]:
    """How much weight must lie up to a quantile, and where it is defined: |rho| < c(x).

    2 above < mass - rho reach, eq. 7 times the mass: the votes above may come to the largest integer below half that.
    """
    inside = (np.abs(rho) * reach < mass) & (mass > 0)
    if np.isscalar(rho) and rho == 0:
        return mass // 2 + 1, inside
    with np.errstate(invalid="ignore", over="ignore"):
        above = np.ceil((mass - rho * reach) / 2) - 1
    return np.clip(mass - np.where(inside, above, 0).astype(np.int64), 1, np.maximum(mass, 1)), inside


def outside(found: Array, inside: NDArray[np.bool_], rho: Any, upper: bool) -> Array:
    """rho infinity, and minus that for the lower quantile; for rho = 0 the upper one is infinity."""
    if np.all(inside):
        return found
    end = np.where(np.broadcast_to(rho, found.shape) >= 0, np.inf, -np.inf)
    return np.where(inside, found, end if upper else -end)
