"""The order of the categories of a wide column by their mean target.

In a column with very many categories, the best set of categories for a node is mostly the set that fits its noise. A
column in the order of the mean target is split by thresholds instead, as numbers are. The order, and which categories
are too rare for a bin of their own, depend on sums over the rows of each category only: never on the order of rows,
on chunks or on partitions, and a row of weight k counts as k rows.
"""

import math
from dataclasses import dataclass

import numpy as np

from electorate.arrays import Floats, Ints
from electorate.data.weights import Weights
from electorate.special import ordered_sum

GRID = 2.0**30  # of targets: with at most 2^30 rows, sums stay below 2^61
SHARE_OF_STRENGTH = 1 / 3  # categories of fewer rows than this part of the strength of the smoothing share a bin ...
FEWEST = 2  # ... and so do categories of one row


@dataclass(frozen=True)
class TargetOrder:
    """Orders the columns of `least` categories or more. channels: [3, row], what rows add to the sums of a category.

    These are its weight, the sum of its targets (from 0 to 1) and the sum of their squares, in units of the grid.
    """

    least: int
    channels: Ints

    @classmethod
    def of(cls, least: int, targets: Floats, weights: Weights) -> "TargetOrder":
        """targets: from 0 to 1."""
        real = np.ones(len(targets)) if weights.real is None else weights.real
        sums = np.rint(np.stack([real, real * targets, real * targets * targets]) * GRID).astype(np.int64)
        sums[0] = np.maximum(sums[0], 1)  # weights may differ by more than the grid
        return cls(least, sums * weights.times)


def smoothing_strength(rows: Ints, sums: Ints) -> float:
    """Return how many rows of the mean of all targets to add to every category (empirical Bayes); 1 at least.

    This is the variance of the targets within categories over that of the means between them, both estimated without
    bias. It is infinite where the means differ no more than by chance. rows: of each category. sums: of its channels,
    [3, category].
    """
    n, (each, means, mean) = int(rows.sum()), _means(rows, sums)
    squares = sums[2] / sums[0]
    within = float(ordered_sum(each * np.maximum(squares - means * means, 0.0)))
    between = float(ordered_sum(each * (means - mean) ** 2))
    spread = n - float(ordered_sum(each * each)) / n
    if n <= len(rows) or spread <= 0:
        return math.inf
    variance = within / (n - len(rows))
    apart = (between - (len(rows) - 1) * variance) / spread
    return max(1.0, variance / apart) if apart > 0 else math.inf


def fewest_rows(strength: float) -> float:
    """Return the fewest rows of a category with a bin of its own."""
    return max(FEWEST, SHARE_OF_STRENGTH * strength)


def target_ranks(rows: Ints, sums: Ints, strength: float) -> Ints:
    """Return the place of every category in the order of the smoothed means; of equals the first comes first.

    With an infinite strength all smoothed means are equal: the order is then the one for very large strengths.
    """
    each, means, mean = _means(rows, sums)
    apart = each * (means - mean) / (1.0 + each / strength)
    ranks = np.empty(len(apart), dtype=np.int64)
    ranks[np.argsort(apart, kind="stable")] = np.arange(len(apart))
    return ranks


def _means(rows: Ints, sums: Ints) -> tuple[Floats, Floats, float]:
    """The rows of every category, in proportion to weights; the means of the categories; the mean of all targets."""
    total = int(sums[0].sum())
    return sums[0] * (int(rows.sum()) / total), sums[1] / sums[0], int(sums[1].sum()) / total


def as_shares(y: Floats, low: float, high: float) -> Floats:
    """Targets as numbers from 0 to 1."""
    if not low < high:
        return np.zeros(len(y))
    return np.clip((0.5 * y - 0.5 * low) / (0.5 * high - 0.5 * low), 0.0, 1.0)  # halves, whose difference is finite
