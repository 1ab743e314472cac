"""Sample weights as the exact sums need them: multiplicities where they are whole, reals in (0, 1] otherwise.

Weights are only ever divided by a power of two or by their smallest value when that is exact, never by a float
sum, so that scaling them by a power of two changes no bit and weight k is the row k times. Factors of the classes
stay apart from whole weights, so that this holds with class weights too.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from electorate.data.all_reduce import Max, Min, Reduce, ReduceSteps, run_locally

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
    def counts_rows(self) -> bool:
        """Whether a weight of k is k rows."""
        return self.each.is_integer() and self.each < MOST_TIMES

    @property
    def rows(self) -> NDArray[np.int64]:
        """How many rows each stands for: its sample weight where that is whole, else one."""
        return self.times * int(self.each) if self.counts_rows else np.minimum(self.times, 1)

    @property
    def shares(self) -> NDArray[np.float64]:
        """In proportion to the weights; the same after they were scaled by a power of two."""
        return self.times.astype(np.float64) if self.real is None else self.real * self.times

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
    if factor is None:
        return run_locally(read_weights_steps(weight))
    factors, group = np.unique(factor, return_inverse=True)
    return run_locally(read_weights_steps(weight, group.ravel(), factors))


def read_weights_steps(
    weight: NDArray[np.float64],
    group: NDArray[np.int64] | None = None,
    factors: NDArray[np.float64] | None = None,
) -> ReduceSteps[Weights]:
    """The weights of one part of the rows, on the scale that all parts share; factors: of the rows' groups."""
    weight = np.asarray(weight, dtype=np.float64)
    refuse_bad(weight)
    if group is None or factors is None:
        group, factors = np.zeros(len(weight), dtype=np.int64), None
    n_groups = 1 if factors is None else len(factors)
    facts = yield from _facts(weight, group, n_groups)
    if facts.most == 0:
        raise ValueError("sample_weight is zero for every row (after class_weight): nothing is left to fit")
    scale = yield from _scale(weight, group, facts)
    if factors is not None:
        scale = _with_factors(scale, facts, factors)
    bits = _bits(scale.total)
    times, real = scale.apply(weight, group)
    counted = scale.total
    if real is not None:
        here = int((times * np.rint(real * 2.0**bits).astype(np.int64)).sum())
        (counted,) = yield Reduce((here,))
    with np.errstate(over="ignore"):  # more than the largest float64 is inf
        given = float(np.ldexp(counted * (1.0 if real is None else 2.0**-bits) * scale.worth, scale.power))
    return Weights(times, real, bits, given, scale.worth if real is None else scale.each)


@dataclass(frozen=True)
class _Facts:
    """Of all weights: per group the largest and how many are positive; of all, the smallest and their lowest bit."""

    largest: NDArray[np.float64]
    rows: NDArray[np.int64]
    least: float
    exponent: int

    @property
    def most(self) -> float:
        return float(self.largest.max())


def _facts(weight: NDArray[np.float64], group: NDArray[np.int64], n_groups: int) -> ReduceSteps[_Facts]:
    positive = weight[weight > 0] if np.any(weight == 0) else weight
    where = group if len(positive) == len(weight) else group[weight > 0]
    largest = np.zeros(n_groups)
    if n_groups == 1:
        largest[0] = positive.max(initial=0.0)
    else:
        np.maximum.at(largest, where, positive)
    rows = np.bincount(where, minlength=n_groups)
    least = float(positive.min(initial=np.inf))
    exponent = _lowest_exponent(positive) if len(positive) else 2000
    most, rows, low, bit = yield Reduce((Max(largest), rows, Min(least), Min(exponent)))
    return _Facts(most.value, rows, float(low.value), int(bit.value))


@dataclass(frozen=True)
class _Scale:
    """How weights become times and reals. unit: of one time, where weights are whole; power: of the reals.

    By group: many, what the times are multiplied by, and much, the reals; None where nothing is.
    """

    unit: float | None
    per_group: NDArray[np.int64]  # the times, before `many`
    many: NDArray[np.int64] | None = None
    much: NDArray[np.float64] | None = None
    shift: int = 0  # of weights that are not whole
    again: int = 0  # of their product with `much`
    power: int = 0
    worth: float = 1.0
    each: float = 1.0

    @property
    def total(self) -> int:
        times = self.per_group if self.many is None else self.per_group * self.many
        return int(times.sum())

    def apply(
        self, weight: NDArray[np.float64], group: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.float64] | None]:
        """The times and reals of some rows."""
        if self.unit is None:
            times, real = (weight > 0).astype(np.int64), _share(weight, self.shift)
        else:
            times, real = np.rint(weight / self.unit).astype(np.int64), None
        if self.many is not None:
            times = times * self.many[group]
        if self.much is not None:
            much = np.where(weight > 0, self.much[group], 0.0)
            real = much if real is None else _share(real * much, self.again)
        return times, real


def _scale(weight: NDArray[np.float64], group: NDArray[np.int64], facts: _Facts) -> ReduceSteps[_Scale]:
    """Whole, if a unit divides all weights exactly: a power of two, or the smallest weight."""
    units = _units(facts.most, facts.least, facts.exponent)
    if units:
        found: list[Any] = []
        for unit in units:
            times = np.rint(weight / unit)
            found += [Min(np.array_equal(times * unit, weight)), _per_group(times, group, len(facts.rows))]
        answer = yield Reduce(tuple(found))
        for unit, fits, times in zip(units, answer[::2], answer[1::2], strict=True):
            if fits.value and int(times.sum()) <= MOST_TIMES:
                return _Scale(unit, times, worth=unit, each=unit)
    shift = int(np.frexp(facts.most)[1])
    return _Scale(None, facts.rows, shift=shift, power=shift)


def _per_group(times: NDArray[np.float64], group: NDArray[np.int64], n_groups: int) -> NDArray[np.int64]:
    """Whole sums; of one group, without looking at it. Doubles hold them: they are at most 2^30 times the rows."""
    if n_groups == 1:
        return np.array([int(times.sum())], dtype=np.int64)
    return np.bincount(group, weights=times, minlength=n_groups).astype(np.int64)


def _with_factors(scale: _Scale, facts: _Facts, factors: NDArray[np.float64]) -> _Scale:
    """Whole factors multiply the times, others the reals."""
    factors = np.where(facts.rows > 0, factors, 0.0)
    if not np.any(factors > 0):
        raise ValueError("sample_weight times class_weight is zero for every row: nothing is left to fit")
    whole = _whole_factors(scale, facts, factors) if scale.unit is not None else None
    if whole is not None:
        many, unit = whole
        return replace(scale, many=many, worth=scale.worth * unit)
    power = int(np.frexp(factors.max())[1])
    much = _share(factors, power)
    many = (factors > 0).astype(np.int64)
    if scale.unit is not None:
        return replace(scale, many=many, much=much, power=power)
    again = int(np.frexp((_share(facts.largest, scale.shift) * much).max())[1])
    return replace(scale, many=many, much=much, again=again, power=scale.power + power + again)


def _whole_factors(
    scale: _Scale, facts: _Facts, factors: NDArray[np.float64]
) -> tuple[NDArray[np.int64], float] | None:
    positive = factors[factors > 0]
    for unit in _units(float(positive.max()), float(positive.min()), _lowest_exponent(positive)):
        times = np.rint(factors / unit)
        if np.array_equal(times * unit, factors) and int((times * facts.rows).sum()) <= MOST_TIMES:
            fits = float((times * scale.per_group).sum()) <= MOST_TIMES
            return (times.astype(np.int64), unit) if fits else None
    return None


def _share(weight: NDArray[np.float64], power: int) -> NDArray[np.float64]:
    """Weights divided by a power of two that leaves none above 1."""
    return np.where(weight > 0, np.maximum(np.ldexp(weight, -power), LEAST), 0.0)


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


def _units(most: float, least: float, exponent: int) -> list[float]:
    """What may divide all weights: a power of two, or the smallest one; not more than MOST_TIMES times."""
    power = float(np.ldexp(1.0, max(exponent, -1074)))
    return [unit for unit in (power, least) if most / MOST_TIMES <= unit]


def _lowest_exponent(positive: NDArray[np.float64]) -> int:
    """Of the lowest bit that any of the numbers has."""
    mantissa, power = np.frexp(positive)
    digits = np.ldexp(mantissa, 53).astype(np.int64)
    lowest = digits & -digits
    exponent = power - 53 + np.frexp(lowest.astype(np.float64))[1] - 1
    return int(exponent.min())


def _bits(rows: int) -> int:
    return min(MOST_BITS, 62 - int(np.ceil(np.log2(max(rows, 1)))))
