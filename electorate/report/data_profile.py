"""The contents of a table, column by column."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from electorate.data.table import Categories, Table
from electorate.exact import Ints
from electorate.report.page import number


@dataclass(frozen=True)
class ColumnProfile:
    """What one column holds."""

    name: str
    kind: str  # "numbers" or "categories"
    missing: float  # share
    distinct: int
    summary: str


def profile(table: Table, names: list[str], is_category: Callable[[int], bool]) -> list[ColumnProfile]:
    """Return the profiles of all columns. is_category: whether a column, by its number, holds categories."""
    return [
        (_categories if is_category(column) else _numbers)(table, column, name) for column, name in enumerate(names)
    ]


def _numbers(table: Table, column: int, name: str) -> ColumnProfile:
    x = table.numbers(0, table.n_rows, [column])[0]
    known = ~np.isnan(x)
    values, summary = np.unique(x[known]), "no values"
    if len(values):
        low, middle, high = values[0], np.median(x[known]), values[-1]
        summary = f"{number(float(low))} to {number(float(high))}, median {number(float(middle))}"
    return ColumnProfile(name, "numbers", float(1 - known.mean()), len(values), summary)


def _categories(table: Table, column: int, name: str) -> ColumnProfile:
    levels, place = level_codes(table, column)
    known = place >= 0
    counts = np.bincount(place[known], minlength=len(levels))
    order = np.argsort(-counts, kind="stable")[:3]
    listed = ", ".join(f"{levels[k]} ({counts[k]})" for k in order)
    summary = listed + (", ..." if len(levels) > 3 else "")
    return ColumnProfile(name, "categories", float(1 - known.mean()), len(levels), summary)


def level_codes(table: Table, column: int) -> tuple[list[str], Ints]:
    """Return the levels of a column as texts, and the place of each row's among them, -1 where it is missing."""
    levels = table.levels(column)
    codes = table.codes(0, table.n_rows, column, Categories(levels))
    places = np.where(np.isnan(codes), -1, np.nan_to_num(codes)).astype(np.int64)
    return [str(level) for level in levels.tolist()], places
