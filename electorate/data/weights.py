"""Sample weights as the exact sums need them: multiplicities where they are whole, reals in (0, 1] otherwise.

Weights are only ever divided by a power of two or by their smallest value when that is exact, never by a float
sum, so that scaling them by a power of two changes no bit and weight k is the row k times.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

MOST_BITS = 44  # more would not help: a float64 weight has 53, and sums of 2^18 rows must fit 62
MOST_TIMES = 2**30  # beyond this total multiplicity a row's own grid would get too coarse


@dataclass(frozen=True)
class Weights:
    """times[i]: how often row i counts (0: left out). real[i]: its share in (0, 1], None if all whole."""

    times: NDArray[np.int64]
    real: NDArray[np.float64] | None
    bits: int
    given: float  # the sum of the weights as they were given: n, where n itself enters a formula
    each: float = 1.0  # the weight, as given, of counting once

    @property
    def unit(self) -> float:
        """Grid units of a channel of 1 on an example that counts once."""
        return 2.0**self.bits if self.real is None else 1.0

    @property
    def rows(self) -> NDArray[np.int64]:
        """How many rows each stands for: its weight where that is whole, else one."""
        if self.real is None and self.each.is_integer() and self.each < MOST_TIMES:
            return self.times * int(self.each)
        return np.minimum(self.times, 1)

    @property
    def n_counted(self) -> int:
        """How many rows they stand for together; scaling weights that are not whole does not change it."""
        return int(self.rows.sum())

    @property
    def whole(self) -> NDArray[np.int64]:
        """Positive integers in proportion to the weights: for bins and counts."""
        if self.real is None:
            return self.times
        return np.where(self.times > 0, np.maximum(1, np.rint(self.real * MOST_TIMES)), 0).astype(np.int64)


def read_weights(weight: NDArray[np.float64]) -> Weights:
    """Weights, finite and not negative and not all 0, as the sums want them."""
    given = float(np.sum(weight))
    times, each = _as_whole(weight)
    if times is not None:
        return Weights(times, None, _bits(int(times.sum())), given, each)
    _, power = np.frexp(weight.max())
    real = np.ldexp(weight, -int(power))
    positive = (weight > 0).astype(np.int64)
    return Weights(positive, real, _bits(int(positive.sum())), given)


def _as_whole(weight: NDArray[np.float64]) -> tuple[NDArray[np.int64] | None, float]:
    """Multiplicities and their unit, if one divides all weights exactly: a power of two, or the smallest weight."""
    positive = weight[weight > 0]
    for unit in (_power_of_two_unit(positive), float(positive.min())):
        if positive.max() / unit > MOST_TIMES:
            continue
        times = np.rint(weight / unit)
        if np.array_equal(times * unit, weight) and times.sum() <= MOST_TIMES:
            return times.astype(np.int64), unit
    return None, 1.0


def _power_of_two_unit(positive: NDArray[np.float64]) -> float:
    mantissa, power = np.frexp(positive)
    digits = np.ldexp(mantissa, 53).astype(np.int64)
    lowest = digits & -digits
    exponent = power - 53 + np.frexp(lowest.astype(np.float64))[1] - 1
    return float(np.ldexp(1.0, max(int(exponent.min()), -1074)))


def _bits(rows: int) -> int:
    return min(MOST_BITS, 62 - int(np.ceil(np.log2(max(rows, 1)))))
