"""Sample weights as the exact sums need them: multiplicities where they are whole, reals in (0, 1] otherwise.

Weights are only ever divided by a power of two or by their smallest value when that is exact, never by a float
sum, so that scaling them by a power of two changes no bit and weight k is the row k times. Factors of the classes
stay apart from whole weights, so that this holds with class weights too.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

MOST_BITS = 44  # more would not help: a float64 weight has 53, and sums of 2^18 rows must fit 62
LEAST = 2.0**-960  # of a real weight: a channel grows up to the number of rows over it, and must stay finite
MOST_TIMES = 2**30  # beyond this total multiplicity a row's own grid would get too coarse


@dataclass(frozen=True)
class Weights:
    """times[i]: how often row i counts (0: left out). real[i]: how much each time, in (0, 1]; None: all 1."""

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
        """How many rows each stands for: its sample weight where that is whole, else one."""
        whole = self.each.is_integer() and self.each < MOST_TIMES
        return self.times * int(self.each) if whole else np.minimum(self.times, 1)

    @property
    def n_counted(self) -> int:
        """How many rows they stand for together; scaling weights that are not whole does not change it."""
        return int(self.rows.sum())

    @property
    def whole(self) -> NDArray[np.int64]:
        """Positive integers in proportion to the weights: for bins and counts."""
        if self.real is None:
            return self.times
        return self.times * np.maximum(1, np.rint(self.real * MOST_TIMES)).astype(np.int64)


def read_weights(weight: NDArray[np.float64], factor: NDArray[np.float64] | None = None) -> Weights:
    """Checked weights, as the sums want them; times a factor per row, that of its class."""
    weight = np.asarray(weight, dtype=np.float64)
    refuse_bad(weight)
    whole = _as_whole(weight)
    times, each = whole if whole is not None else ((weight > 0).astype(np.int64), 1.0)
    real, power = (None, 0) if whole is not None else _share(weight)
    worth = each
    if factor is not None:
        times, real, power, worth = _times_factor(times, real, power, each, np.where(weight > 0, factor, 0.0))
    bits = _bits(int(times.sum()))
    counted = int(times.sum()) if real is None else int((times * np.rint(real * 2.0**bits).astype(np.int64)).sum())
    with np.errstate(over="ignore"):  # more than the largest float64 is inf
        given = float(np.ldexp(counted * (1.0 if real is None else 2.0**-bits) * worth, power))
    return Weights(times, real, bits, given, worth if real is None else each)


def _times_factor(
    times: NDArray[np.int64], real: NDArray[np.float64] | None, power: int, each: float, factor: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.float64] | None, int, float]:
    """Whole factors multiply the times, others the reals."""
    if not np.any(factor > 0):
        raise ValueError("sample_weight times class_weight is zero for every row: nothing is left to fit")
    whole = _as_whole(factor) if real is None else None
    if whole is not None and float(np.sum(times * whole[0].astype(np.float64))) <= MOST_TIMES:
        return times * whole[0], None, 0, each * whole[1]
    share, more = _share(factor)
    if real is not None:
        share, again = _share(real * share)
        more += again + power
    return times * (factor > 0), share, more, each


def _share(weight: NDArray[np.float64]) -> tuple[NDArray[np.float64], int]:
    """Weights divided by the power of two at or above the largest, and that power."""
    power = int(np.frexp(weight.max())[1])
    return np.where(weight > 0, np.maximum(np.ldexp(weight, -power), LEAST), 0.0), power


def refuse_bad(weight: NDArray[np.float64]) -> None:
    bad = np.flatnonzero(~np.isfinite(weight) | (weight < 0))
    if bad.size:
        row = int(bad[0])
        what = (
            "Negative values in data passed to `sample_weight`"
            if weight[row] < 0
            else "A weight in `sample_weight` is not finite"
        )
        raise ValueError(f"{what}: row {row} has {float(weight[row])!r}; weights must be finite and not negative")
    if not np.any(weight > 0):
        raise ValueError("sample_weight is zero for every row (after class_weight): nothing is left to fit")


def _as_whole(weight: NDArray[np.float64]) -> tuple[NDArray[np.int64], float] | None:
    """Multiplicities and their unit, if one divides all weights exactly: a power of two, or the smallest weight."""
    positive = weight[weight > 0]
    most = float(positive.max())
    for unit in (_power_of_two_unit(positive), float(positive.min())):
        if most / MOST_TIMES > unit:
            continue
        times = np.rint(weight / unit)
        if np.array_equal(times * unit, weight) and times.sum() <= MOST_TIMES:
            return times.astype(np.int64), unit
    return None


def _power_of_two_unit(positive: NDArray[np.float64]) -> float:
    mantissa, power = np.frexp(positive)
    digits = np.ldexp(mantissa, 53).astype(np.int64)
    lowest = digits & -digits
    exponent = power - 53 + np.frexp(lowest.astype(np.float64))[1] - 1
    return float(np.ldexp(1.0, max(int(exponent.min()), -1074)))


def _bits(rows: int) -> int:
    return min(MOST_BITS, 62 - int(np.ceil(np.log2(max(rows, 1)))))
