"""Sample weights as the exact sums need them: multiplicities where they are whole, reals in (0, 1] otherwise.

Weights are only ever divided by a power of two or by their smallest value when that is exact, never by a float
sum, so that scaling them by a power of two changes no bit and weight k is the row k times. Factors of the classes
stay apart from whole weights, so that this holds with class weights too.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

MOST_BITS = 44  # more would not help: a float64 weight has 53, and sums of 2^18 rows must fit 62
MOST_TIMES = 2**30  # beyond this total multiplicity a row's own grid would get too coarse


@dataclass(frozen=True)
class Weights:
    """times[i]: how often row i counts (0: left out). real[i]: how much each time, in (0, 1]; None: all 1."""

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
        return self.times * np.maximum(1, np.rint(self.real * MOST_TIMES)).astype(np.int64)


def read_weights(weight: NDArray[np.float64], factor: NDArray[np.float64] | None = None) -> Weights:
    """Checked weights, as the sums want them; times a factor per row, that of its class."""
    refuse_bad(weight)
    times = _as_whole(weight)
    real = None if times is not None else _share(weight)
    if times is None:
        times = (weight > 0).astype(np.int64)
    if factor is not None:
        times, real = _times_factor(times, real, np.where(weight > 0, factor, 0.0))
    with np.errstate(over="ignore"):
        given = float(np.sum(weight if factor is None else weight * factor))
    return Weights(times, real, _bits(int(times.sum())), given)


def _times_factor(
    times: NDArray[np.int64], real: NDArray[np.float64] | None, factor: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.float64] | None]:
    """Whole factors multiply the times, others the reals."""
    if not np.any(factor > 0):
        raise ValueError("sample_weight times class_weight is zero for every row: nothing is left to fit")
    whole = _as_whole(factor) if real is None else None
    if whole is not None and np.sum(times * whole.astype(np.float64)) <= MOST_TIMES:
        return times * whole, None
    share = _share(factor) if real is None else _share(real * _share(factor))
    return times * (factor > 0), share


def _share(weight: NDArray[np.float64]) -> NDArray[np.float64]:
    """Weights divided by the power of two at or above the largest."""
    return np.asarray(np.ldexp(weight, -int(np.frexp(weight.max())[1])))


def refuse_bad(weight: NDArray[np.float64]) -> None:
    """Name the first row whose weight is no weight."""
    bad = np.flatnonzero(~np.isfinite(weight) | (weight < 0))
    if bad.size:
        row = int(bad[0])
        raise ValueError(f"sample_weight of row {row} is {float(weight[row])}: weights must be finite and not negative")
    if not np.any(weight > 0):
        raise ValueError("sample_weight is zero for every row: nothing is left to fit")


def _as_whole(weight: NDArray[np.float64]) -> NDArray[np.int64] | None:
    """Multiplicities, if some unit divides all weights exactly: a power of two, or the smallest weight."""
    positive = weight[weight > 0]
    most = float(positive.max())
    for unit in (_power_of_two_unit(positive), float(positive.min())):
        if most / MOST_TIMES > unit:
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
