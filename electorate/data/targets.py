"""Targets that are numbers: checked, put in at most 64 bins, their middle and their spread.

All of it is a function of the multiset of (target, weight): the order of the rows does not matter.
"""

from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import column_or_1d

from electorate import kernels

Array = NDArray[np.float64]
TARGET_BINS = 64


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


def bin_targets(y: Array, weights: NDArray[np.int64], most: int = TARGET_BINS) -> tuple[NDArray[np.int64], Array]:
    """The bin of every target, and what stands for each bin: the middle of its lowest and its highest target."""
    counted = weights > 0
    values, place = np.unique(y[counted], return_inverse=True)
    totals = np.bincount(place, weights=weights[counted]).astype(np.int64)
    last = kernels.cuts(np.maximum(totals, 1), most)
    ends = values[last]
    first = values[np.concatenate([[0], last[:-1] + 1])]
    labels = np.minimum(np.searchsorted(ends, y), len(ends) - 1).astype(np.int64)
    return labels, first + 0.5 * (ends - first)


def middle(values: Array, weights: NDArray[np.int64]) -> float:
    """The weighted median, of two the larger: f_0+ of eq. 7."""
    order = np.argsort(values, kind="stable")
    so_far = np.cumsum(weights[order])
    return float(values[order[np.searchsorted(so_far, so_far[-1] // 2 + 1)]])


def spread(y: Array, weights: NDArray[np.int64]) -> float:
    """The median distance from the median; where that is 0, a hundredth of the range; of equal targets, 1."""
    distance = np.abs(y - middle(y, weights))
    typical = middle(distance, weights)
    if typical > 0:
        return typical
    widest = float(distance[weights > 0].max(initial=0.0))
    return widest / 100 if widest > 0 else 1.0
