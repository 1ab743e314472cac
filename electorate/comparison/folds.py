"""Splits the rows by one seed: test rows to hold out, folds for testing, and inner splits for choosing a setting.

All splits are stratified, row by row; a class with few rows is missing from some parts.
"""

import numpy as np
from numpy.typing import NDArray

from electorate.comparison.rows import Parts, Places

LARGE = 2_000  # training rows from which one inner split is enough
INNER_PARTS = 4  # parts of the single inner split; one of them is for validation


def _by_class(groups: NDArray[np.int64], rng: np.random.Generator) -> Places:
    """The rows in random order within each group, group after group."""
    shuffled = rng.permutation(len(groups))
    return np.asarray(shuffled[np.argsort(groups[shuffled], kind="stable")])


def deal(groups: NDArray[np.int64], n_parts: int, rng: np.random.Generator) -> Places:
    """The part of each row, from 0 to n_parts - 1: sizes differ by at most one, within every group too."""
    part = np.empty(len(groups), dtype=np.int64)
    part[_by_class(groups, rng)] = np.arange(len(groups)) % n_parts
    return part


def strata(target: NDArray[np.number]) -> NDArray[np.int64]:
    """Class codes as they are; for regression, deciles."""
    if target.dtype.kind == "i":
        return np.asarray(target, dtype=np.int64)
    rank = np.argsort(np.argsort(target, kind="stable"), kind="stable")
    return np.asarray(rank * 10 // max(1, len(target)), dtype=np.int64)


def lock(target: NDArray[np.number], share: float, seed: int) -> Parts:
    """Training and test rows, in order: about `share` of every class is held out for the test."""
    groups = strata(target)
    steps = np.floor(np.arange(1, len(groups) + 1) * share + 0.5)  # even steps: every stretch holds its share
    locked = np.zeros(len(groups), dtype=np.bool_)
    locked[_by_class(groups, np.random.default_rng([seed, 0]))] = np.diff(steps, prepend=np.floor(0.5)) > 0
    return np.flatnonzero(~locked), np.flatnonzero(locked)


def outer(target: NDArray[np.number], n_folds: int, seed: int) -> Places:
    """The fold in which each training row is tested."""
    return deal(strata(target), n_folds, np.random.default_rng([seed, 1]))


def inner(target: NDArray[np.number], fold: int, seed: int) -> list[Parts]:
    """Splits of one fold's training rows: 3-fold cross-validation for small data, else one quarter for validation."""
    n_parts, n_used = (3, 3) if len(target) < LARGE else (INNER_PARTS, 1)
    part = deal(strata(target), n_parts, np.random.default_rng([seed, 2, fold]))
    return [(np.flatnonzero(part != p), np.flatnonzero(part == p)) for p in range(n_used)]
