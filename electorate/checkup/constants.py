"""Columns that have one value only, or none."""

import numpy as np

from electorate.checkup.columns import CheckedColumn
from electorate.checkup.findings import Finding, FoundStep, quote


def find_constant(column: CheckedColumn) -> FoundStep | None:
    """Return a column of one value; missing values beside it are another value."""
    if column.kind == "other":
        return None
    numbers = column.numbers
    known = np.isfinite(numbers)
    if known.all() and len(numbers) and np.all(numbers == numbers[0]):
        value = f"{numbers[0]:g}" if column.kind == "number" else quote(column.factors.present, 1)
        seen = "one date in all rows" if column.kind == "date" else f"{value} in all rows"
    elif not known.any() and not np.isinf(numbers).any():
        seen = "no value in any row"
    else:
        return None
    return FoundStep(Finding("constant", column.name, seen, "kept: no voter can use it"))
