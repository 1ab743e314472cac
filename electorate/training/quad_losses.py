"""The losses of a regressor that adds trees: squares, and the absolute and quantile losses.

A loss has a mean over rows, the constant with the least mean, and the power of the unit of y that it is measured in.
"""

import math
from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from electorate.exact import Floats
from electorate.families.means import Means

NEAR = 2.0**-30  # far above the grid of votes, where y is from -1 to 1


class TreeLoss(Protocol):
    """A loss of residuals y - f."""

    @property
    def power(self) -> int:
        """The mean loss is in units of y to this power."""

    def mean(self, residual: Floats, means: Means) -> float:
        """The weighted mean, from exact integer sums."""

    def constant(self, target: Floats, means: Means) -> float:
        """The number with the least mean loss as a prediction for all rows; targets are from -1 to 1."""


@dataclass(frozen=True)
class SquaredLoss:
    """(y - f)^2."""

    power: ClassVar[int] = 2

    def mean(self, residual: Floats, means: Means) -> float:
        return means.mean_square(residual)

    def constant(self, target: Floats, means: Means) -> float:
        return means.mean(target)


@dataclass(frozen=True)
class SlopedLoss:
    """above (y - f) where y > f, below (f - y) where y < f.

    1 and 1: the absolute loss. q and 1 - q: the loss that the q-quantile minimises.
    """

    above: float = 1.0
    below: float = 1.0
    power: ClassVar[int] = 1

    @property
    def level(self) -> float:
        """Return the level of the quantile that minimises the mean loss."""
        return self.above / (self.above + self.below)

    def mean(self, residual: Floats, means: Means) -> float:
        losses = np.where(residual > 0, self.above, -self.below) * residual
        scale = 2.0 ** math.ceil(math.log2(max(float(losses.max(initial=0.0)), 1.0)))
        return means.mean(losses / scale) * scale

    def slopes(self, residual: Floats) -> Floats:
        """Minus the derivative by f; 0 where it jumps, also if only rounding keeps f away from y."""
        return np.where(residual > NEAR, self.above, 0.0) - np.where(residual < -NEAR, self.below, 0.0)

    def constant(self, target: Floats, means: Means) -> float:
        group = np.zeros(len(target), dtype=np.int32)
        return float(group_quantiles(target, group, 1, means, self.level)[0])


SQUARED = SquaredLoss()


def make_loss(name: str, quantile: float) -> SquaredLoss | SlopedLoss:
    """name: "squared", "absolute" or "quantile"."""
    if name == "squared":
        return SQUARED
    return SlopedLoss() if name == "absolute" else SlopedLoss(quantile, 1 - quantile)


def group_quantiles(values: Floats, group: NDArray[np.int32], n_groups: int, means: Means, level: float) -> Floats:
    """[group]: the middle of the numbers q with weight(values <= q) >= level and weight(values >= q) >= 1 - level.

    0 for a group without weight. It does not depend on the order of the rows, and weight k is the same as k rows.
    """
    weights = means.on_grid(np.ones(len(values))) * means.times
    order = np.argsort(values)  # of equal values any may come first
    order = order[np.argsort(group[order], kind="stable")]
    ordered, added = values[order], np.cumsum(weights[order])
    ends = np.concatenate([[0], added])[np.searchsorted(group[order], np.arange(n_groups + 1))]
    before, wanted = ends[:-1], level * np.diff(ends)
    lower = np.searchsorted(added, before + np.maximum(np.ceil(wanted), 1).astype(np.int64))
    upper = np.searchsorted(added, before + np.floor(wanted).astype(np.int64) + 1)
    found = np.zeros(n_groups)
    has_weight = np.diff(ends) > 0
    low, high = ordered[lower[has_weight]], ordered[upper[has_weight]]
    found[has_weight] = low + 0.5 * (high - low)
    return found
