"""Dates: columns of that type, or of texts."""

import numpy as np

from electorate.checkup.columns import CheckedColumn
from electorate.checkup.findings import Finding, FoundStep, quote
from electorate.data.cleaning import ReadDates
from electorate.data.date_text import PARTS, guess_date_order, parse_date, part_of_dates
from electorate.data.number_text import is_placeholder

WORDS = {"ymd": "year, month, day", "mdy": "month, day, year", "dmy": "day, month, year"}


def find_dates(column: CheckedColumn, names: set[str]) -> FoundStep | None:
    """Return the parts that vary of a column of dates. names: of all columns."""
    if column.kind == "date":
        days, order, note = column.numbers, "ymd", "a column of dates"
    elif column.has_texts:
        texts = column.factors.values
        guessed = guess_date_order(texts, column.counts)
        if guessed is None:
            return None
        order = guessed.order
        parsed = [parse_date(text, order) for text in texts]
        days = np.array([*parsed, None], dtype=np.float64)[column.factors.rows]
        note = f"dates as text, such as {quote(texts, 1)}, read as {WORDS[order]}"
        note += " (day and month could also be the other way round)" if guessed.is_ambiguous else ""
        odd = [text for text, day in zip(texts, parsed, strict=True) if day is None and not is_placeholder(text)]
        note += f"; not dates, taken as missing: {quote(odd)}" if odd else ""
    else:
        return None
    step = ReadDates(order, tuple(part for part in PARTS if part == "days" or _varies(part_of_dates(days, part))))
    if set(step.names(column.name)) & names:
        return FoundStep(Finding("date", column.name, note, "left as it is: the names of its parts are taken"))
    done = f"replaced by {', '.join(step.parts)}"
    return FoundStep(Finding("date", column.name, note, done), step)


def _varies(values: np.ndarray) -> bool:
    known = values[np.isfinite(values)]
    return bool(len(known)) and bool(np.any(known != known[0]))
