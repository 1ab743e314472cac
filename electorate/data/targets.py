"""Targets that are numbers: checked, put in at most 64 bins, their middle and their spread.

All of it is a function of the multiset of (target, weight), by steps that parts of the rows agree on: neither the order
of the rows nor where they live matters.
"""

from dataclasses import dataclass
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import column_or_1d

from electorate import kernels
from electorate.data.all_reduce import Max, Reduce, ReduceSteps
from electorate.data.bins import SKETCH_VALUES, Sketch

Array = NDArray[np.float64]
TARGET_BINS = 64
DIGIT_BITS = 8


def check_targets(estimator: Any, y: Any, n_rows: int) -> Array:
    """y as one column of finite numbers."""
    if y is None:
        raise ValueError(f"{type(estimator).__name__} requires y to be passed, but the target y is None")
    series = nw.from_native(y, pass_through=True, allow_series=True)
    given = column_or_1d(series.to_numpy() if isinstance(series, nw.Series | nw.DataFrame) else y, warn=True)
    if given.dtype.kind == "c":
        raise ValueError("Complex data not supported: y has complex numbers")
    try:
        targets = given.astype(np.float64) + 0.0  # -0.0 is 0.0
    except (TypeError, ValueError) as error:
        raise ValueError(f"y must hold numbers: {error}") from None
    except OverflowError:
        raise ValueError("y holds a number that is too large for float64: divide it by a power of ten") from None
    if len(targets) != n_rows:
        raise ValueError(
            f"Found input variables with inconsistent numbers of samples: X has {n_rows} rows, y {len(targets)}"
        )
    bad = np.flatnonzero(~np.isfinite(targets))
    if bad.size:
        row = int(bad[0])
        kind = "infinity" if np.isinf(targets[row]) else "NaN"
        raise ValueError(f"Input y contains {kind}: row {row} has the target {targets[row]}; drop such rows")
    if len(targets) and not np.isfinite(4 * (float(targets.max()) - float(targets.min()))):
        raise ValueError("y spans more than a float64 can tell apart: divide it by a large number")
    return targets


def bin_targets_steps(
    y: Array, weights: NDArray[np.int64], most: int = TARGET_BINS
) -> ReduceSteps[tuple[NDArray[np.int64], Array]]:
    """The bin of every target, and what stands for each bin: the middle of its lowest and its highest target.

    From a sketch, as the bins of columns are: the same wherever the rows live.
    """
    sketch, counted = Sketch(SKETCH_VALUES), weights > 0
    sketch.add(y[counted], weights[counted])
    ends, values = yield Reduce((sketch,), Cuts(most))
    return np.minimum(np.searchsorted(ends, y), len(ends) - 1).astype(np.int64), values


@dataclass(frozen=True)
class Cuts:
    """Called with the sketch of all targets: the last target of every bin, and what stands for it."""

    most: int

    def __call__(self, facts: tuple[Sketch]) -> tuple[Array, Array]:
        values, totals = facts[0].result()
        last = kernels.cuts(np.maximum(totals, 1), self.most)
        ends = values[last]
        first = values[np.concatenate([[0], last[:-1] + 1])]
        return ends, first + 0.5 * (ends - first)


def median_steps(values: Array, weights: NDArray[np.int64]) -> ReduceSteps[float]:
    """The weighted median, of two the larger: f_0+ of eq. 7.

    Digit by digit of the numbers as integers in the same order, so that only counts are exchanged.
    """
    keys, weights = _in_order(values[weights > 0]), weights[weights > 0]
    (total,) = yield Reduce((int(weights.sum()),))
    need, found = total // 2 + 1, 0
    for shift in range(64 - DIGIT_BITS, -1, -DIGIT_BITS):
        digits = ((keys >> np.uint64(shift)) & np.uint64(2**DIGIT_BITS - 1)).astype(np.int64)
        here = np.zeros(2**DIGIT_BITS, dtype=np.int64)
        np.add.at(here, digits, weights)
        (counts,) = yield Reduce((here,))
        so_far = np.cumsum(counts)
        digit = int(np.searchsorted(so_far, need))
        need -= int(so_far[digit] - counts[digit])
        found |= digit << shift
        keys, weights = keys[digits == digit], weights[digits == digit]
    bits = found ^ (1 << 63) if found >> 63 else found ^ (2**64 - 1)
    return float(np.array([bits], dtype=np.uint64).view(np.float64)[0])


def _in_order(values: Array) -> NDArray[np.uint64]:
    """Integers in the order of the numbers."""
    bits = np.ascontiguousarray(values).view(np.uint64)
    negative = bits >> np.uint64(63) == 1
    return np.where(negative, ~bits, bits | np.uint64(2**63))


def spread_steps(y: Array, weights: NDArray[np.int64], centre: float) -> ReduceSteps[float]:
    """The median distance from the centre; where that is 0, a hundredth of the largest; of equal targets, 1."""
    distance = np.abs(y - centre)
    typical = yield from median_steps(distance, weights)
    (widest,) = yield Reduce((Max(float(distance[weights > 0].max(initial=0.0))),))
    if typical > 0:
        return typical
    return float(widest.value) / 100 if widest.value > 0 else 1.0
