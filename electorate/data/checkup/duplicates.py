"""Findings about duplicates: columns with (nearly) the same information, and rows that occur more than once."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.stats import rankdata

from electorate.data.checkup.columns import CheckedColumn, Finding, sample_rows
from electorate.data.seen_rows import marks_of
from electorate.data.table import read_table
from electorate.exact import AnyArray, Ints

MOST_COLUMNS = 1000
MOST_COMPARED = 5000  # rows
SAME = 0.9999  # of the rank correlation
FEWEST_OTHERS = 20  # rows whose value is not the commonest: fewer may agree by chance
FEW = 0.1  # share of repeated rows: from here on columns have few values, and equal rows are to be expected


# ---------------------------------------------------------------- near duplicates


def find_near_duplicates(columns: Sequence[CheckedColumn], n_rows: int) -> list[Finding]:
    """Return columns with nearly the same order of rows, or the same categories, as an earlier column."""
    if len(columns) > MOST_COLUMNS or n_rows < FEWEST_OTHERS:
        return []
    rows = sample_rows(n_rows)
    rows = rows[:: max(1, len(rows) // MOST_COMPARED)]
    ordered = [column for column in columns if column.kind in ("number", "date")]
    return _equal_orders(ordered, rows) + _equal_categories(columns, rows)


def _equal_orders(columns: Sequence[CheckedColumn], rows: Ints) -> list[Finding]:
    used, ranks = [], []
    for column in columns:
        numbers = column.numbers[rows]
        known = np.isfinite(numbers)
        rank = rankdata(np.where(known, numbers, -np.inf)).astype(np.float64)
        _, counts = np.unique(rank, return_counts=True)
        if len(rows) - counts.max() >= FEWEST_OTHERS:
            used.append(column)
            ranks.append((rank - rank.mean()) / rank.std())
    if len(used) < 2:
        return []
    correlation = np.abs(np.stack(ranks) @ np.stack(ranks).T) / len(rows)
    return [
        _same_as(used[k], used[first], "the same order of rows" if correlation[k, first] < 0 else "the same order")
        for k in range(len(used))
        if (first := int(np.argmax(correlation[k] >= SAME))) < k
    ]


def _equal_categories(columns: Sequence[CheckedColumn], rows: Ints) -> list[Finding]:
    first: dict[bytes, CheckedColumn] = {}
    found = []
    for column in columns:
        if column.kind not in ("text", "category"):
            continue
        codes = np.nan_to_num(column.numbers[rows], nan=-1.0)
        values, start, place, counts = np.unique(codes, return_index=True, return_inverse=True, return_counts=True)
        if len(values) < 2 or len(rows) - counts.max() < FEWEST_OTHERS:
            continue
        key = np.argsort(np.argsort(start))[place].tobytes()  # numbered in the order in which they come
        if key in first:
            found.append(_same_as(column, first[key], "the same categories under other names, or the same ones"))
        first.setdefault(key, column)
    return found


def _same_as(column: CheckedColumn, other: CheckedColumn, seen: str) -> Finding:
    done = "kept: it does no harm to boosting; leave one out for shorter explanations"
    return Finding("near duplicate", column.name, f"{seen} as {other.name!r}", done)


# ---------------------------------------------------------------- repeated rows


def first_equal(X: Any, y: AnyArray) -> Ints:
    """Return for every row the place of the first that equals it, target included; its own where many rows repeat."""
    _, first, which = np.unique(marks_of(read_table(X), y), return_index=True, return_inverse=True)
    return first[which] if len(which) - len(first) < FEW * len(which) else np.arange(len(which))


def find_repeated_rows(X: Any, y: AnyArray | None) -> list[Finding]:
    """Return how many rows equal an earlier one. X: cleaned."""
    table = read_table(X)
    marks = marks_of(table, np.zeros(table.n_rows) if y is None else y)
    repeated = len(marks) - len(np.unique(marks))
    if not repeated:
        return []
    seen = f"{repeated:,} row{' equals an earlier one' if repeated == 1 else 's equal an earlier one'}"
    done = "kept: compare keeps equal rows together in its folds; remove them if they are mistakes"
    if repeated >= FEW * len(marks):
        seen = f"few distinct rows: {seen}"
        done = "kept: compare divides them among its folds; if they are copies, remove them or pass a group"
    return [Finding("repeated rows", None, seen + ("" if y is None else ", target included"), done)]
