"""Which rows are locked away, which test in which fold, which decide inside a fold: all by one seed.

Every class is dealt out evenly, one row at a time; a class with few rows simply misses some parts.
"""

import numpy as np
from numpy.typing import NDArray

LARGE = 2_000  # rows from which one split inside a fold says enough
HUGE = 200_000  # rows times classes from which three folds do
INNER_PARTS = 4  # of the single split: a quarter decides

Places = NDArray[np.int64]


def deal(target: NDArray[np.int64], n_parts: int, rng: np.random.Generator) -> Places:
    """The part of each row, of 0 to n_parts - 1: sizes differ by at most one, in every class too."""
    shuffled = rng.permutation(len(target))
    dealt = shuffled[np.argsort(target[shuffled], kind="stable")]
    part = np.empty(len(target), dtype=np.int64)
    part[dealt] = np.arange(len(target)) % n_parts
    return part


def strata(target: NDArray[np.number]) -> NDArray[np.int64]:
    """Labels as they are; of a quantity, its tenths by rank."""
    if target.dtype.kind == "i":
        return np.asarray(target, dtype=np.int64)
    rank = np.argsort(np.argsort(target, kind="stable"), kind="stable")
    return np.asarray(rank * 10 // max(1, len(target)), dtype=np.int64)


def lock(target: NDArray[np.number], share: float, seed: int) -> tuple[Places, Places]:
    """Open and locked rows, in order. Of every class about `share` is locked, drawn by the seed."""
    rng = np.random.default_rng([seed, 0])
    groups = strata(target)
    shuffled = rng.permutation(len(groups))
    dealt = shuffled[np.argsort(groups[shuffled], kind="stable")]
    steps = np.floor(np.arange(1, len(groups) + 1) * share + 0.5)  # even steps: every stretch holds its share
    locked = np.zeros(len(groups), dtype=np.bool_)
    locked[dealt] = np.diff(steps, prepend=np.floor(0.5)) > 0
    return np.flatnonzero(~locked), np.flatnonzero(locked)


def outer(target: NDArray[np.number], n_folds: int, seed: int) -> Places:
    """The fold in which each open row is tested."""
    return deal(strata(target), n_folds, np.random.default_rng([seed, 1]))


def inner(target: NDArray[np.number], fold: int, seed: int) -> list[tuple[Places, Places]]:
    """Splits of one fold's training rows: three ways for small data, else a quarter that decides."""
    rng = np.random.default_rng([seed, 2, fold])
    n_parts = 3 if len(target) < LARGE else INNER_PARTS
    part = deal(strata(target), n_parts, rng)
    used = range(n_parts) if len(target) < LARGE else range(1)
    return [(np.flatnonzero(part != p), np.flatnonzero(part == p)) for p in used]


def count_folds(n_rows: int, n_classes: int) -> int:
    return 3 if n_rows * max(1, n_classes) > HUGE else 5
