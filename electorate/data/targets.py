"""Regression targets: checked, put into at most 64 bins; their median and spread.

All of it depends on the multiset of (target, weight) only: neither on the order of the rows nor on their partitions.
"""

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from electorate import kernels
from electorate.data.all_reduce import Max, Reduce, ReduceSteps
from electorate.data.bins import SKETCH_VALUES, Sketch
from electorate.data.inputs import check_labels, check_n_rows, read_y, refuse_missing
from electorate.exact import AnyArray, Floats, Hashes, Ints

TARGET_BINS = 64
MOST_INTEGER_CLASSES = 20  # integer targets with more distinct values are treated as regression
DIGIT_BITS = 8
ROWS_AT_ONCE = 2**16


def check_targets(estimator: Any, y: Any, n_rows: int) -> Floats:
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


def check_either(estimator: Any, y: Any, n_rows: int) -> AnyArray:
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


def bin_targets_steps(y: Floats, weights: Ints, most: int = TARGET_BINS) -> ReduceSteps[tuple[AnyArray, Floats]]:
    """Return the bin of every target, and the value of each bin: the middle of its lowest and its highest target."""
    sketch = Sketch(SKETCH_VALUES)
    for values, counts in _in_blocks(y, weights):
        sketch.add(values, counts)
    ends, values = yield Reduce((sketch,), partial(_cut_targets, most))
    bins = np.empty(len(y), dtype=np.uint8 if len(ends) <= 2**8 else np.uint16)
    for low in range(0, len(y), ROWS_AT_ONCE):
        here = slice(low, low + ROWS_AT_ONCE)
        bins[here] = np.minimum(np.searchsorted(ends, y[here]), len(ends) - 1)
    return bins, values


def _in_blocks(y: Floats, weights: Ints) -> Iterator[tuple[Floats, Ints]]:
    """Yield the targets that count, and their weights, some rows at a time: copies of all rows take much memory."""
    for low in range(0, len(y), ROWS_AT_ONCE):
        values, counts = y[low : low + ROWS_AT_ONCE], weights[low : low + ROWS_AT_ONCE]
        yield values[counts > 0], counts[counts > 0]


def _cut_targets(most: int, sketches: tuple[Sketch]) -> tuple[Floats, Floats]:
    """Return the last target of every bin, and the value of the bin."""
    values, totals = sketches[0].result()
    last = kernels.cuts(np.maximum(totals, 1), most)
    ends = values[last]
    first = values[np.concatenate([[0], last[:-1] + 1])]
    return ends, first + 0.5 * (ends - first)


def median_steps(y: Floats, weights: Ints, centre: float | None = None) -> ReduceSteps[float]:
    """Return the weighted median, of two the larger: f_0+ of eq. 7. centre: the median of the distances from there.

    It is found digit by digit, of integers in the order of the numbers, so that only counts are exchanged.
    """
    (total,) = yield Reduce((int(weights.sum()),))
    need, found, n_left = total // 2 + 1, 0, len(y)
    few: list[tuple[Hashes, Ints]] | None = None  # the candidates, once they are few
    for shift in range(64 - DIGIT_BITS, -1, -DIGIT_BITS):
        here, rows = np.zeros((2, 2**DIGIT_BITS), dtype=np.int64)
        remaining = []
        for keys, counts in _keys(y, weights, centre) if few is None else few:
            if shift < 64 - DIGIT_BITS:
                same = keys >> np.uint64(shift + DIGIT_BITS) == np.uint64(found >> (shift + DIGIT_BITS))
                keys, counts = keys[same], counts[same]
            digits = ((keys >> np.uint64(shift)) & np.uint64(2**DIGIT_BITS - 1)).astype(np.int64)
            np.add.at(here, digits, counts)
            rows += np.bincount(digits, minlength=len(rows))
            if n_left <= len(y) // 8:
                remaining.append((keys, counts))
        few = remaining or few
        (sums,) = yield Reduce((here,))
        so_far = np.cumsum(sums)
        digit = int(np.searchsorted(so_far, need))
        need -= int(so_far[digit] - sums[digit])
        n_left = int(rows[digit])
        found |= digit << shift
    key = found ^ (1 << 63) if found >> 63 else found ^ (2**64 - 1)
    return float(np.array([key], dtype=np.uint64).view(np.float64)[0])


def _keys(y: Floats, weights: Ints, centre: float | None) -> Iterator[tuple[Hashes, Ints]]:
    """Yield integers in the order of the targets, or of their distances from a centre, and weights, in blocks."""
    for values, counts in _in_blocks(y, weights):
        bits = (values if centre is None else np.abs(values - centre)).view(np.uint64)
        yield np.where(bits >> np.uint64(63) == 1, ~bits, bits | np.uint64(2**63)), counts


def spread_steps(y: Floats, weights: Ints, centre: float) -> ReduceSteps[float]:
    """Return the median distance from the centre; if it is 0, a hundredth of the largest; for equal targets 1."""
    typical = yield from median_steps(y, weights, centre)
    distances = (np.abs(values - centre).max(initial=0.0) for values, _ in _in_blocks(y, weights))
    (widest,) = yield Reduce((Max(float(max(distances, default=0.0))),))
    if typical > 0:
        return typical
    return float(widest.value) / 100 if widest.value > 0 else 1.0
