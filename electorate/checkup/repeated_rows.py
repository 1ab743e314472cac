"""Rows that are there several times, target included."""

from typing import Any

import numpy as np

from electorate.arrays import AnyArray
from electorate.checkup.findings import Finding
from electorate.data.seen_rows import marks_of
from electorate.data.table import read_table

LEAST = 0.5  # share of different rows: where fewer are, columns have few values, and equal rows are no surprise


def find_repeated_rows(X: Any, y: AnyArray | None) -> list[Finding]:
    """Return how many rows equal an earlier one. X: cleaned."""
    table = read_table(X)
    marks = marks_of(table, np.zeros(table.n_rows) if y is None else y)
    different = len(np.unique(marks))
    repeated = len(marks) - different
    if not repeated or different < LEAST * len(marks):
        return []
    equal = f"{repeated:,} row{' equals an earlier one' if repeated == 1 else 's equal an earlier one'}"
    done = "kept: copies on both sides of a split make errors look smaller; remove them if they are mistakes"
    return [Finding("repeated rows", None, f"{equal}{'' if y is None else ', target included'}", done)]
