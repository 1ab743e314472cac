"""Regression targets: checked, put into at most 64 bins; their median and spread.

All of it depends on the multiset of (target, weight) only: neither on the order of the rows nor on their partitions.
"""

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from electorate import kernels
from electorate.data.all_reduce import Max, Reduce, ReduceSteps
from electorate.data.bins import SKETCH_VALUES, Sketch
from electorate.data.inputs import check_labels, check_n_rows, read_y, refuse_missing

Array = NDArray[np.float64]
TARGET_BINS = 64
MOST_INTEGER_CLASSES = 20  # integer targets with more distinct values are treated as regression
DIGIT_BITS = 8


def check_targets(estimator: Any, y: Any, n_rows: int) -> Array:
    """Return y as one column of finite numbers."""
    given = read_y(estimator, y)
    if given.dtype.kind == "c":
        raise ValueError("Complex data not supported: y has complex numbers")
    try:
        targets = given.astype(np.float64) + 0.0  # -0.0 is 0.0
    except (TypeError, ValueError) as error:
        raise ValueError(f"y must hold numbers: {error}") from None
    except OverflowError:
        raise ValueError("y holds a number that is too large for float64: divide it by a power of ten") from None
    check_n_rows(targets, n_rows)
    refuse_missing(targets, ~np.isfinite(targets), "target")
    if len(targets) and not np.isfinite(4 * (float(targets.max()) - float(targets.min()))):
        raise ValueError("the range of y is too large for float64: divide y by a large number")
    return targets


def check_either(estimator: Any, y: Any, n_rows: int) -> NDArray[Any]:
    """Return y, checked as numbers if it holds numbers, else as class labels: before the task is known."""
    values = np.asarray(y)
    if values.dtype.kind not in "iufb":
        return check_labels(estimator, values, n_rows)
    check_targets(estimator, values, n_rows)
    return values


def guess_task(y: Any) -> str:
    """Treat float targets, and integer targets with more than 20 distinct values, as regression."""
    values = np.asarray(y.to_numpy() if hasattr(y, "to_numpy") else y)
    if values.dtype.kind not in "iuf":
        return "classification"
    finite = values[np.isfinite(values)] if values.dtype.kind == "f" else values
    is_integer = values.dtype.kind in "iu" or bool(np.all(finite == np.rint(finite)))
    return "classification" if is_integer and len(np.unique(finite)) <= MOST_INTEGER_CLASSES else "regression"


def bin_targets_steps(
    y: Array, weights: NDArray[np.int64], most: int = TARGET_BINS
) -> ReduceSteps[tuple[NDArray[np.int64], Array]]:
    """Return the bin of every target, and the value of each bin: the middle of its lowest and its highest target."""
    sketch, counted = Sketch(SKETCH_VALUES), weights > 0
    sketch.add(y[counted], weights[counted])
    ends, values = yield Reduce((sketch,), partial(_cut_targets, most))
    return np.minimum(np.searchsorted(ends, y), len(ends) - 1).astype(np.int64), values


def _cut_targets(most: int, sketches: tuple[Sketch]) -> tuple[Array, Array]:
    """Return the last target of every bin, and the value of the bin."""
    values, totals = sketches[0].result()
    last = kernels.cuts(np.maximum(totals, 1), most)
    ends = values[last]
    first = values[np.concatenate([[0], last[:-1] + 1])]
    return ends, first + 0.5 * (ends - first)


def median_steps(values: Array, weights: NDArray[np.int64]) -> ReduceSteps[float]:
    """Return the weighted median, of two the larger: f_0+ of eq. 7.

    It is found digit by digit, of integers in the order of the numbers, so that only counts are exchanged.
    """
    values, weights = np.ascontiguousarray(values[weights > 0]), weights[weights > 0]
    bits = values.view(np.uint64)
    keys = np.where(bits >> np.uint64(63) == 1, ~bits, bits | np.uint64(2**63))
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
    key = found ^ (1 << 63) if found >> 63 else found ^ (2**64 - 1)
    return float(np.array([key], dtype=np.uint64).view(np.float64)[0])


def spread_steps(y: Array, weights: NDArray[np.int64], centre: float) -> ReduceSteps[float]:
    """Return the median distance from the centre; if it is 0, a hundredth of the largest; for equal targets 1."""
    distance = np.abs(y - centre)
    typical = yield from median_steps(distance, weights)
    (widest,) = yield Reduce((Max(float(distance[weights > 0].max(initial=0.0))),))
    if typical > 0:
        return typical
    return float(widest.value) / 100 if widest.value > 0 else 1.0
