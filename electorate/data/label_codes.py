"""Distinct labels, and labels as codes. Many integers of a small range are looked up in a table instead of sorted."""

import numpy as np

from electorate.arrays import AnyArray, Bools, Ints

MOST_VALUES = 2**16  # of a range, and rows below which sorting is fast enough


def distinct(labels: AnyArray) -> AnyArray:
    """Return the distinct labels, sorted."""
    if (low := _lowest(labels)) is None:
        return np.unique(labels)
    present = np.zeros(MOST_VALUES, dtype=np.bool_)
    present[_offsets(labels, low)] = True
    return (np.flatnonzero(present) + low).astype(labels.dtype)


def codes_of(labels: AnyArray, classes: AnyArray) -> tuple[Ints, Bools | None]:
    """Return the places of labels in sorted classes, and a mask of labels that are not among them, or None."""
    if classes.dtype == labels.dtype and len(classes) and (low := _lowest(labels)) is not None:
        places, known = np.full(MOST_VALUES, -1), _offsets(classes, low)
        inside = (known >= 0) & (known < MOST_VALUES)
        places[known[inside]] = np.flatnonzero(inside)
        codes = places[_offsets(labels, low)]
        if codes.min() >= 0:
            return codes, None
    codes = np.minimum(np.searchsorted(classes, labels), len(classes) - 1).astype(np.int64)
    return codes, classes[codes] != labels


def _lowest(labels: AnyArray) -> int | None:
    """The smallest of many integers that are close to each other; None for other labels."""
    if labels.dtype.kind not in "biu" or not np.can_cast(labels.dtype, np.int64) or len(labels) < MOST_VALUES:
        return None
    low = int(labels.min())
    return low if int(labels.max()) - low < MOST_VALUES else None


def _offsets(labels: AnyArray, low: int) -> Ints:
    whole = labels.astype(np.int64, copy=False)
    return whole if low == 0 else whole - low
