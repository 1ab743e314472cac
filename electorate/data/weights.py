"""Sample weights for exact sums: multiplicities if they are whole, else reals in (0, 1].

Weights are only divided by a power of two, or by their smallest value where that is exact, never by a float sum.
So scaling them by a power of two changes no bit, and a row of weight k equals k rows. Class weights are separate
factors, so that this holds with class weights too.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from electorate.data.all_reduce import Max, Min, Reduce, ReduceSteps, run_locally
from electorate.exact import Floats, Ints

MOST_BITS = 44  # more would not help: a float64 weight has 53, and sums of 2^18 rows must fit 62
NO_CLASS_WEIGHT = "sample_weight is zero for every row (after class_weight): nothing is left to fit"
NO_WEIGHT_LEFT = "sample_weight times class_weight is zero for every row: nothing is left to fit"
MOST_ROWS = 2.0**20  # that one row may stand for
LEAST = 2.0**-960  # of a real weight: a channel grows up to the number of rows over it, and must stay finite
MOST_TIMES = 2**30  # beyond this total multiplicity a row's own grid would get too coarse


@dataclass(frozen=True)
class Weights:
    """times[i]: how often row i counts (0: left out). real[i]: how much each time, in (0, 1]; None: all 1.

    are_rows: whether a row that counts k times stands for k rows; else (weights differ by more than 2^20) for one.
    """

    times: Ints
    real: Floats | None
    bits: int
    given: float  # the sum of the weights as they were given: n, where n itself enters a formula
    are_rows: bool = True

    @property
    def unit(self) -> float:
        """Grid units of a channel of 1 on an example that counts once."""
        return 2.0**self.bits if self.real is None else 1.0

    @property
    def rows(self) -> Ints:
        """How many rows each row stands for, whatever the scale of the weights."""
        return self.times if self.are_rows else np.minimum(self.times, 1)

    @property
    def shares(self) -> Floats:
        """Return shares in proportion to the weights; scaling all weights by a power of two does not change them."""
        return self.times.astype(np.float64) if self.real is None else self.real * self.times

    @property
    def n_counted(self) -> int:
        """How many rows all rows stand for."""
        return int(self.rows.sum())

    @property
    def whole(self) -> Ints:
        """Positive integers in proportion to the weights: for bins and counts."""
        if self.real is None:
            return self.times
        return self.times * np.maximum(1, np.rint(self.real * MOST_TIMES)).astype(np.int64)

    def mean(self, values: Floats) -> float:
        """The weighted mean of numbers of any size, the same for any order of the rows.

        It comes from sums of integers. Their grid depends on the largest number and the sum of the weights only.
        """
        largest = float(np.abs(values).max(initial=0.0, where=self.times > 0))
        if largest == 0 or not math.isfinite(largest):
            return largest
        power = math.frexp(largest)[1]
        mass = self._sum(np.ones(len(values)), 0)
        return math.ldexp(self._sum(values, power) / mass, power)

    def _sum(self, values: Floats, power: int) -> int:
        """The weighted sum of numbers up to 2^power, in units that let it fit into 62 bits."""
        bits = 62 - (max(int(self.times.sum()), 1) - 1).bit_length()
        real = values if self.real is None else values * self.real
        return int((np.rint(np.ldexp(real, bits - power)).astype(np.int64) * self.times).sum())


def read_weights(weight: Floats, factor: Floats | None = None) -> Weights:
    """Return the weights of data that has one part. factor: per row, that of its class."""
    if factor is None:
        return run_locally(read_weights_steps(weight))
    factors, group = np.unique(factor, return_inverse=True)
    return run_locally(read_weights_steps(weight, group.ravel(), factors))


def read_weights_steps(
    weight: Floats, group: Ints | None = None, factors: Floats | None = None
) -> ReduceSteps[Weights]:
    """Return the weights of one part, on the scale that all parts share. factors: of the rows' groups."""
    weight = np.asarray(weight, dtype=np.float64)
    refuse_bad(weight)
    if group is None or factors is None:
        group, factors = np.broadcast_to(np.int64(0), weight.shape), None
    n_groups = 1 if factors is None else len(factors)
    largest, rows, least, exponent = yield _extremes(weight, group, n_groups)
    most = float(largest.value.max())
    if most == 0:
        raise ValueError(NO_CLASS_WEIGHT)
    units = _units(most, float(least.value), int(exponent.value))
    unit, per_group = yield from _whole_unit_steps(weight, group, rows, units)
    each, power = unit or 1.0, 0
    real: Floats | None = None
    if unit is None:
        power = int(np.frexp(most)[1])
        times, real = (weight > 0).astype(np.int64), _share(weight, power)
    elif weight.strides == (0,) and len(weight):  # one number for all rows
        times = np.broadcast_to(np.rint(weight[0] / unit).astype(np.int64), weight.shape)
    else:
        times = np.rint(weight / unit).astype(np.int64)
    heaviest = np.where(rows > 0, np.rint(largest.value / (unit or most)), 0.0)  # how often the row of a group counts
    if factors is not None:
        factors = np.where(rows > 0, factors, 0.0)
        if not np.any(factors > 0):
            raise ValueError(NO_WEIGHT_LEFT)
        whole = None if unit is None else _whole_factors(factors, rows, per_group)
        if whole is not None:  # whole factors multiply the times
            many, each = whole[0], each * whole[1]
        else:  # others multiply the reals
            many = (factors > 0).astype(np.int64)
            shift = int(np.frexp(factors.max())[1])
            much = _share(factors, shift)
            here = np.where(weight > 0, much[group], 0.0)
            again = 0 if real is None else int(np.frexp((_share(largest.value, power) * much).max())[1])
            real = here if real is None else _share(real * here, again)
            power += shift + again
        times, per_group, heaviest = times * many[group], per_group * many, heaviest * many
    counted, scale = int(per_group.sum()), 1.0
    bits = min(MOST_BITS, 62 - (max(counted, 1) - 1).bit_length())
    if real is not None:
        (counted,) = yield Reduce((int((times * np.rint(real * 2.0**bits).astype(np.int64)).sum()),))
        scale = 2.0**-bits
    with np.errstate(over="ignore"):  # more than the largest float64 is inf
        return Weights(
            times, real, bits, float(np.ldexp(counted * scale * each, power)), bool(heaviest.max() <= MOST_ROWS)
        )


def _extremes(weight: Floats, group: Ints, n_groups: int) -> Reduce:
    """Per group the largest weight and the number of positive ones; of all, the smallest and the lowest bit."""
    positive, where = (weight[weight > 0], group[weight > 0]) if np.any(weight == 0) else (weight, group)
    largest = np.zeros(n_groups)
    if n_groups == 1:
        largest[0] = positive.max(initial=0.0)
    else:
        np.maximum.at(largest, where, positive)
    rows = np.bincount(where, minlength=n_groups)
    least = float(positive.min(initial=np.inf))
    differing = positive if least < largest.max() else positive[:1]
    exponent = _lowest_exponent(differing) if len(positive) else 2000
    return Reduce((Max(largest), rows, Min(least), Min(exponent)))


def _whole_unit_steps(
    weight: Floats, group: Ints, rows: Ints, units: list[float]
) -> ReduceSteps[tuple[float | None, Ints]]:
    """Return the first unit that divides all weights exactly, and the times per group; else None and the rows."""
    found: list[Any] = []
    for unit in units:
        if len(rows) == 1 and len(weight) and weight.min() == weight.max():
            times = np.rint(weight[:1] / unit)
            found += [Min(bool(times[0] * unit == weight[0])), (times * len(weight)).astype(np.int64)]
            continue
        times = np.rint(weight / unit)  # doubles hold their sums: they are at most 2^30 times the rows
        sums = np.bincount(group, weights=times, minlength=len(rows)) if len(rows) > 1 else np.array([times.sum()])
        found += [Min(np.array_equal(times * unit, weight)), sums.astype(np.int64)]
    answer = (yield Reduce(tuple(found))) if units else ()
    for unit, fits, sums in zip(units, answer[::2], answer[1::2], strict=True):
        if fits.value and int(sums.sum()) <= MOST_TIMES:
            return unit, sums
    return None, rows


def _whole_factors(factors: Floats, rows: Ints, per_group: Ints) -> tuple[Ints, float] | None:
    """Return whole numbers in proportion to the factors, and their unit; None if they are not whole or too large."""
    positive = factors[factors > 0]
    for unit in _units(float(positive.max()), float(positive.min()), _lowest_exponent(positive)):
        times = np.rint(factors / unit)
        if np.array_equal(times * unit, factors) and int((times * rows).sum()) <= MOST_TIMES:
            fits = float((times * per_group).sum()) <= MOST_TIMES
            return (times.astype(np.int64), unit) if fits else None
    return None


def _share(weight: Floats, power: int) -> Floats:
    """Weights divided by a power of two that leaves none above 1."""
    return np.where(weight > 0, np.maximum(np.ldexp(weight, -power), LEAST), 0.0)


def refuse_bad(weight: Floats) -> None:
    bad = np.flatnonzero(~np.isfinite(weight) | (weight < 0))
    if bad.size:
        row = int(bad[0])
        negative = "Negative values in data passed to `sample_weight`"
        what = negative if weight[row] < 0 else "A weight in `sample_weight` is not finite"
        raise ValueError(f"{what}: row {row} has {float(weight[row])!r}; weights must be finite and not negative")


def _units(most: float, least: float, exponent: int) -> list[float]:
    """Candidates for a unit that divides all weights, at most MOST_TIMES times: a power of two, the smallest one."""
    power = float(np.ldexp(1.0, max(exponent, -1074)))
    units = (power,) if power == least else (power, least)
    return [unit for unit in units if most / MOST_TIMES <= unit]


def _lowest_exponent(positive: Floats) -> int:
    """The exponent of the lowest bit that is set in any of the numbers."""
    mantissa, power = np.frexp(positive)
    digits = np.ldexp(mantissa, 53).astype(np.int64)
    exponent = power - 53 + np.frexp((digits & -digits).astype(np.float64))[1] - 1
    return int(exponent.min())
