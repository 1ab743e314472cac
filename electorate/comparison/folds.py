"""Splits the rows by one seed: rows to hold out, rows for screening, and folds.

Folds are stratified, row by row; a class with few rows is missing from some of them. Where few rows are repeated, equal
ones stay together. Where rows have groups, a group is never divided. Where rows have times, models are always tested on
later rows than they are trained on.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from electorate.comparison.rows import Parts, Places, Rows
from electorate.data.checkup.duplicates import first_equal

HELD_OUT_FROM = 2_000  # rows from which some are held out
HELD_OUT_SHARE, MOST_HELD_OUT = 0.2, 10_000
FEWEST_GROUPS = 6  # with fewer groups or times all of them are needed for the folds
SCREENED_FROM = 3_000  # rows from which candidates are screened on a part of them
SCREENING_SHARE, MOST_SCREENING_ROWS = 0.15, 5_000  # rows that candidates are screened on, and that no fold tests
SECOND_SCREENING_FROM, SECOND_SCREENING_ROWS = 24_000, 16_000
MOST_FOLDED = 60_000  # rows, times the classes if there are more than two, from which one split replaces the folds
MOST_TESTED = 20_000  # rows of that split
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


def hold_out(rows: Rows, share: float | None, seed: int) -> Parts:
    """Rows to learn from and rows to hold out, in order: drawn plainly, in whole groups, or the latest.

    share: None for a fifth (at most 10,000) of 2,000 or more rows. There may be none.
    """
    if share is None:
        is_small = rows.n_rows < HELD_OUT_FROM or rows.n_units < FEWEST_GROUPS
        share = 0.0 if is_small else min(HELD_OUT_SHARE, MOST_HELD_OUT / rows.n_rows)
    if share == 0:
        return np.arange(rows.n_rows), np.empty(0, dtype=np.int64)
    rng = np.random.default_rng([seed, 0])
    if rows.time is not None:
        held = _cut_at(rows.time, [1 - share]) > 0
    elif rows.group is not None:
        held = _draw_whole(rows.group, share, rng)
    else:  # not by class: the bound is for rows that are drawn independently
        held = np.zeros(rows.n_rows, dtype=np.bool_)
        held[rng.permutation(rows.n_rows)[: max(1, round(share * rows.n_rows))]] = True
    if held.all() or not held.any():
        raise ValueError("the column of times or groups has too few different values to hold out test rows")
    return np.flatnonzero(~held), np.flatnonzero(held)


@dataclass(frozen=True)
class Splits:
    """Every split of the training rows of a comparison, in levels: screenings on more and more rows, then folds.

    levels: of each level the training rows and the rows to test, by split. Rows that screen are tested in no fold.
    """

    levels: list[list[Parts]]

    @cached_property
    def places(self) -> list[tuple[int, Parts]]:
        """The level and the rows of every split, in order."""
        return [(level, parts) for level, splits in enumerate(self.levels) for parts in splits]

    def numbers(self, level: int) -> range:
        """The numbers of the splits of a level."""
        before = sum(map(len, self.levels[:level]))
        return range(before, before + len(self.levels[level]))


def split(rows: Rows, n_folds: int, n_classes: int, seed: int) -> Splits:
    """The levels for these rows."""
    if rows.time is not None:
        return _split_by_time(rows, n_folds, seed)
    n_folds = min(n_folds, rows.n_units)
    if n_folds < 2:
        raise ValueError("all rows are of one group: rows of another group are needed to test on")
    first = first_equal(rows.matrix, rows.target) if rows.group is None else np.arange(rows.n_rows)
    screening = _screening(rows, first, seed)
    kept = np.zeros(rows.n_rows, dtype=np.bool_)
    if screening:
        kept[screening[0][0][1]] = True
    others = np.flatnonzero(~kept)
    one_split = rows.n_rows * (n_classes if n_classes > 2 else 1) > MOST_FOLDED
    n_parts = max(n_folds, -(-len(others) // MOST_TESTED)) if one_split else n_folds
    part = np.full(rows.n_rows, -1)
    rng = np.random.default_rng([seed, 1])
    if rows.group is None:
        part[others] = deal(strata(rows.target[others]), n_parts, rng)
        part = part[first]
    else:
        part[others] = deal_whole(rows.group[others], min(n_parts, len(np.unique(rows.group[others]))), rng)
    tested = range(1) if one_split else np.unique(part[others]).tolist()
    folds = [(np.flatnonzero(part != fold), np.flatnonzero(part == fold)) for fold in tested]
    return Splits([*screening, folds])


def _screening(rows: Rows, first: Places, seed: int) -> list[list[Parts]]:
    """One split a level, of fewer rows; none for a small table."""
    if rows.n_rows < SCREENED_FROM or rows.n_units < FEWEST_GROUPS:
        return []
    rng = np.random.default_rng([seed, 5])
    share = min(SCREENING_SHARE, MOST_SCREENING_ROWS / rows.n_rows)
    kept = draw(rows.target, share, rng)[first] if rows.group is None else _draw_whole(rows.group, share, rng)
    others = np.flatnonzero(~kept)
    return [[(_some(others, rows, most, seed), np.flatnonzero(kept))] for most in _screening_sizes(rows.n_rows)]


def _screening_sizes(n_rows: int) -> list[int]:
    sizes = [int(np.clip(n_rows // 4, 1_000, 4_000))]
    return [*sizes, SECOND_SCREENING_ROWS] if n_rows >= SECOND_SCREENING_FROM else sizes


def _some(places: Places, rows: Rows, most: int, seed: int) -> Places:
    """At most so many of the rows at these places, of every class its share."""
    if len(places) <= most:
        return places
    return places[draw(rows.target[places], most / len(places), np.random.default_rng([seed, 6, most]))]


def _split_by_time(rows: Rows, n_folds: int, seed: int) -> Splits:
    """Every fold tests the rows of one stretch of time, with all earlier rows as training rows.

    Fewer folds where there are few different times. A screening trains on the rows before the first fold.
    """
    assert rows.time is not None
    for n_parts in range(n_folds, 0, -1):
        starts = [FIRST_BLOCK + (1 - FIRST_BLOCK) * fold / n_parts for fold in range(n_parts)]
        block = _cut_at(rows.time, starts)
        folds = [(np.flatnonzero(block <= fold), np.flatnonzero(block == fold + 1)) for fold in range(n_parts)]
        if all(len(learn) and len(test) for learn, test in folds):
            break
    else:
        raise ValueError("the column of times has one value only: later rows are needed to test on")
    first = folds[0][0]
    is_late = _cut_at(rows.time[first], [0.75]) > 0
    if rows.n_rows < SCREENED_FROM or is_late.all() or not is_late.any():
        return Splits([folds])
    early, late = first[~is_late], first[is_late]
    late = late[:MOST_SCREENING_ROWS]
    screening = [[(_some(early, rows, most, seed), late)] for most in _screening_sizes(rows.n_rows)]
    return Splits([*screening, folds])
