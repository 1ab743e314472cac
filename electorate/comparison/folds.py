"""Splits the rows by one seed: test rows to hold out, rows for screening, folds, and inner splits for settings.

Splits are stratified, row by row; a class with few rows is missing from some parts. Where rows have groups, a group is
never divided. Where rows have times, models are always tested on later rows than they are trained on.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from electorate.comparison.rows import Parts, Places, Rows

LARGE = 2_000  # training rows from which one inner split is enough, and settings are screened
INNER_PARTS = 4  # parts of the single inner split; one of them is for validation
ONE_FIT, ONE_FIT_PARTS = 5_000, 10  # training rows from which a cell has one fit, and then one of so many parts
SCREENING_SHARE, MOST_SCREENING_ROWS = 0.15, 5_000  # rows that settings are screened on, and that no fold tests
FIRST_BLOCK = 0.4  # of the rows with times: too early to be tested


def _by_class(groups: NDArray[np.int64], rng: np.random.Generator) -> Places:
    """The rows in random order within each group, group after group."""
    shuffled = rng.permutation(len(groups))
    return np.asarray(shuffled[np.argsort(groups[shuffled], kind="stable")])


def deal(groups: NDArray[np.int64], n_parts: int, rng: np.random.Generator) -> Places:
    """The part of each row, from 0 to n_parts - 1: sizes differ by at most one, within every group too."""
    part = np.empty(len(groups), dtype=np.int64)
    part[_by_class(groups, rng)] = np.arange(len(groups)) % n_parts
    return part


def deal_whole(groups: NDArray[np.int64], n_parts: int, rng: np.random.Generator) -> Places:
    """The part of each row, where rows of a group stay together: large groups first, each to the smallest part."""
    _, codes, sizes = np.unique(groups, return_inverse=True, return_counts=True)
    shuffled = rng.permutation(len(sizes))
    filled, part = np.zeros(n_parts), np.empty(len(sizes), dtype=np.int64)
    for group in shuffled[np.argsort(-sizes[shuffled], kind="stable")]:
        part[group] = np.argmin(filled)
        filled[part[group]] += sizes[group]
    return np.asarray(part[codes])


def strata(target: NDArray[np.number]) -> NDArray[np.int64]:
    """Class codes as they are; for regression, deciles."""
    if target.dtype.kind == "i":
        return np.asarray(target, dtype=np.int64)
    rank = np.argsort(np.argsort(target, kind="stable"), kind="stable")
    return np.asarray(rank * 10 // max(1, len(target)), dtype=np.int64)


def draw(target: NDArray[np.number], share: float, rng: np.random.Generator) -> NDArray[np.bool_]:
    """A mask of about `share` of every class."""
    groups = strata(target)
    steps = np.floor(np.arange(1, len(groups) + 1) * share + 0.5)  # even steps: every stretch holds its share
    drawn = np.zeros(len(groups), dtype=np.bool_)
    drawn[_by_class(groups, rng)] = np.diff(steps, prepend=np.floor(0.5)) > 0
    return drawn


def _draw_whole(groups: NDArray[np.int64], share: float, rng: np.random.Generator) -> NDArray[np.bool_]:
    """A mask of about `share` of the rows that divides no group; at least one group is in, and one is out."""
    _, codes, sizes = np.unique(groups, return_inverse=True, return_counts=True)
    order = rng.permutation(len(sizes))
    before = np.cumsum(sizes[order]) - sizes[order] / 2
    drawn = np.zeros(len(sizes), dtype=np.bool_)
    drawn[order[before <= share * len(groups)]] = True
    drawn[order[0]], drawn[order[-1]] = True, False
    return np.asarray(drawn[codes])


def _cut_at(time: NDArray[np.float64], shares: list[float]) -> Places:
    """The block of each row by its time; rows of equal time are in the same block."""
    order = np.sort(time, kind="stable")
    places = [min(len(order) - 1, round(share * len(order))) for share in shares]
    return np.asarray(np.searchsorted(order[places], time, side="right"), dtype=np.int64)


def lock(rows: Rows, share: float, seed: int) -> Parts:
    """Training and test rows, in order. The test rows are about `share` of every class, whole groups, or the latest."""
    rng = np.random.default_rng([seed, 0])
    if rows.time is not None:
        locked = _cut_at(rows.time, [1 - share]) > 0
    elif rows.group is not None:
        locked = _draw_whole(rows.group, share, rng)
    else:
        locked = draw(rows.target, share, rng)
    if locked.all() or not locked.any():
        raise ValueError("the column of times or groups has too few different values to hold out test rows")
    return np.flatnonzero(~locked), np.flatnonzero(locked)


@dataclass(frozen=True)
class Splits:
    """Every split of the training rows of a comparison.

    screening: rows to learn from and to validate on, or None. folds: training rows and rows to test.
    """

    screening: Parts | None
    folds: list[Parts]


def split(rows: Rows, n_folds: int, seed: int, screens: bool) -> Splits:
    """screens: whether some rows are for screening. They are training rows in every fold, and tested in none."""
    if rows.time is not None:
        return _split_by_time(rows, n_folds, screens)
    kept = np.zeros(rows.n_rows, dtype=np.bool_)
    if screens:
        share = min(SCREENING_SHARE, MOST_SCREENING_ROWS / rows.n_rows)
        rng = np.random.default_rng([seed, 5])
        kept = draw(rows.target, share, rng) if rows.group is None else _draw_whole(rows.group, share, rng)
    others = np.flatnonzero(~kept)
    part = np.full(rows.n_rows, -1)
    rng = np.random.default_rng([seed, 1])
    if rows.group is None:
        part[others] = deal(strata(rows.target[others]), n_folds, rng)
    else:
        part[others] = deal_whole(rows.group[others], n_folds, rng)
    folds = [(np.flatnonzero(part != fold), np.flatnonzero(part == fold)) for fold in range(n_folds)]
    return Splits((others, np.flatnonzero(kept)) if screens else None, folds)


def _split_by_time(rows: Rows, n_folds: int, screens: bool) -> Splits:
    """Every fold tests the rows of one stretch of time, with all earlier rows as training rows."""
    assert rows.time is not None
    starts = [FIRST_BLOCK + (1 - FIRST_BLOCK) * fold / n_folds for fold in range(n_folds)]
    block = _cut_at(rows.time, starts)
    folds = [(np.flatnonzero(block <= fold), np.flatnonzero(block == fold + 1)) for fold in range(n_folds)]
    if any(not len(one) or not len(other) for one, other in folds):
        raise ValueError(f"the column of times has too few different values for {n_folds} folds: use fewer folds")
    first = folds[0][0]
    is_late = _cut_at(rows.time[first], [1 - 1 / INNER_PARTS]) > 0
    both = bool(is_late.any()) and not bool(is_late.all())
    return Splits((first[~is_late], first[is_late]) if screens and both else None, folds)


def inner(rows: Rows, fold: int, seed: int, single_parts: int = INNER_PARTS) -> list[Parts]:
    """Splits of one fold's training rows: 3-fold cross-validation for small data, else one part for validation."""
    if rows.time is not None:
        is_late = _cut_at(rows.time, [1 - 1 / single_parts]) > 0
        if is_late.any() and not is_late.all():
            return [(np.flatnonzero(~is_late), np.flatnonzero(is_late))]
    n_parts, n_used = (3, 3) if rows.n_rows < LARGE else (single_parts, 1)
    rng = np.random.default_rng([seed, 2, fold])
    deals = deal(strata(rows.target), n_parts, rng) if rows.group is None else deal_whole(rows.group, n_parts, rng)
    return [(np.flatnonzero(deals != p), np.flatnonzero(deals == p)) for p in range(n_used)]
