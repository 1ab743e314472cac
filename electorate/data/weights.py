"""Sample weights as the exact sums need them: multiplicities where they are whole, reals in (0, 1] otherwise.

Weights are only ever divided by a power of two or by their smallest value when that is exact, never by a float
sum, so that scaling them by a power of two changes no bit and weight k is the row k times.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

MOST_BITS = 44  # more would not help: a float64 weight has 53, and sums of 2^18 rows must fit 62
MOST_TIMES = 2**30  # beyond this total multiplicity a row's own grid would get too coarse
LEAST = 2.0**-960  # of a real weight: a channel grows up to the number of rows over it, and must stay finite


@dataclass(frozen=True)
class Weights:
    """times[i]: how often row i counts (0: left out). real[i]: its share in (0, 1], None if all whole."""

    times: NDArray[np.int64]
    real: NDArray[np.float64] | None
    bits: int
    given: float  # the sum of the weights as they were given: n, where n itself enters a formula

    @property
    def unit(self) -> float:
        """Grid units of a channel of 1 on an example that counts once."""
        return 2.0**self.bits if self.real is None else 1.0

    @property
    def whole(self) -> NDArray[np.int64]:
        """Positive integers in proportion to the weights: for bins and counts."""
        if self.real is None:
            return self.times
        return np.where(self.times > 0, np.maximum(1, np.rint(self.real * MOST_TIMES)), 0).astype(np.int64)


def read_weights(weight: NDArray[np.float64]) -> Weights:
    """Checked weights, as the sums want them."""
    _refuse_bad(weight)
    given = float(np.sum(weight))
    times = _as_whole(weight)
    if times is not None:
        return Weights(times, None, _bits(int(times.sum())), given)
    _, power = np.frexp(weight.max())
    real = np.where(weight > 0, np.maximum(np.ldexp(weight, -int(power)), LEAST), 0.0)
    positive = (weight > 0).astype(np.int64)
    return Weights(positive, real, _bits(int(positive.sum())), given)


def _refuse_bad(weight: NDArray[np.float64]) -> None:
    bad = np.flatnonzero(~np.isfinite(weight) | (weight < 0))
    if bad.size:
        row = int(bad[0])
        raise ValueError(f"sample_weight of row {row} is {weight[row]!r}: weights must be finite and not negative")
    if not np.any(weight > 0):
        raise ValueError("sample_weight is 0 for every row (after class_weight): nothing is left to fit")


def _as_whole(weight: NDArray[np.float64]) -> NDArray[np.int64] | None:
    """Multiplicities, if some unit divides all weights exactly: a power of two, or the smallest weight."""
    positive = weight[weight > 0]
    for unit in (_power_of_two_unit(positive), float(positive.min())):
        if positive.max() / MOST_TIMES > unit:
            continue
        times = np.rint(weight / unit)
        if np.array_equal(times * unit, weight) and times.sum() <= MOST_TIMES:
            return times.astype(np.int64)
    return None


def _power_of_two_unit(positive: NDArray[np.float64]) -> float:
    mantissa, power = np.frexp(positive)
    digits = np.ldexp(mantissa, 53).astype(np.int64)
    lowest = digits & -digits
    exponent = power - 53 + np.frexp(lowest.astype(np.float64))[1] - 1
    return float(np.ldexp(1.0, max(int(exponent.min()), -1074)))


def _bits(rows: int) -> int:
    return min(MOST_BITS, 62 - int(np.ceil(np.log2(max(rows, 1)))))
