"""Confidence kappa(x) of a voter in LocMedBoost: constant, smooth bumps, or any function of the user's.

Confidences are numbers from 0 to 1, those of functions after they are divided by the largest one of the training rows,
where that is above 1: kappa and c kappa make the same vote, with rho and nu in units of c. Trees decide which of their
leaves abstain: see regression_trees.py.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from electorate.data.bins import Bins
from electorate.special import exp

Array = NDArray[np.float64]
LEAST = 0.1  # of a bump, far from its centre: Theorem 5 wants a bound below


@dataclass(frozen=True)
class Sure:
    """kappa = 1."""

    def of(self, X: Any, columns: Callable[[int], Array], n_rows: int) -> Array:
        return np.ones(n_rows)


@dataclass(frozen=True)
class Bump:
    """least + (1 - least) exp(-((x - centre) / width)^2 / 2) of one column; `least` where it is missing.

    Lipschitz with the constant (1 - least) / (width sqrt(e)), as Theorem 5 requires.
    """

    column: int
    centre: float
    width: float
    least: float = LEAST

    @property
    def lipschitz(self) -> float:
        return (1 - self.least) / (self.width * math.sqrt(math.e))

    def of(self, X: Any, columns: Callable[[int], Array], n_rows: int) -> Array:
        with np.errstate(over="ignore"):  # infinitely far away is right: exp gives 0
            away = (columns(self.column) - self.centre) / self.width
            near = exp(-0.5 * away * away)
        return np.where(np.isnan(near), self.least, self.least + (1 - self.least) * near)


@dataclass
class Given:
    """A function of X, as the user gave it. scale: what it is divided by; larger values of other rows count as it."""

    function: Callable[[Any], Any]
    scale: float = 1.0

    def of(self, X: Any, columns: Callable[[int], Array], n_rows: int) -> Array:
        return np.minimum(self._values(X, n_rows) / self.scale, 1.0)

    def fit(self, X: Any, n_rows: int) -> None:
        """Take the scale from the rows of training."""
        self.scale = max(1.0, float(self._values(X, n_rows).max(initial=0.0)))

    def _values(self, X: Any, n_rows: int) -> Array:
        sure = np.asarray(self.function(X), dtype=np.float64)
        if sure.shape != (n_rows,):
            raise ValueError(f"a confidence gave an array of shape {sure.shape} for {n_rows} rows: one number per row")
        bad = np.flatnonzero(~((sure >= 0) & np.isfinite(sure)))
        if bad.size:
            what = "it must be finite and not negative"
            raise ValueError(f"a confidence is {sure[bad[0]]!r} in row {int(bad[0])}: {what}")
        return sure


def bumps(bins: Bins, n_bumps: int, random: np.random.RandomState) -> list[Any]:
    """Always, and up to n_bumps places of columns: a quarter, half and three quarters of the way through their bins."""
    places = []
    for column, edges in enumerate(bins.edges):
        if column not in bins.categories and len(edges) >= 2:
            quarter, half, three = (float(edges[len(edges) * k // 4]) for k in (1, 2, 3))
            width = max(three - quarter, (edges[-1] - edges[0]) / 4)
            places += [Bump(column, centre, float(width)) for centre in sorted({quarter, half, three})]
    chosen = np.sort(random.permutation(len(places))[:n_bumps])
    return [Sure(), *(places[k] for k in chosen.tolist())]
