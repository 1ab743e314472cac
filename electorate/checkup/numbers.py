"""Numbers that are written as text: with a decimal comma, thousands separators, currency, percent, units or "?"."""

import numpy as np

from electorate.checkup.columns import CheckedColumn
from electorate.checkup.findings import Finding, FoundStep, quote
from electorate.data.cleaning import ReadNumbers
from electorate.data.factors import as_number
from electorate.data.number_text import guess_number_format, is_placeholder

MOST_CODES = 10  # a column of texts with at most so many different whole numbers may hold codes of categories


def find_numbers(column: CheckedColumn) -> FoundStep | None:
    """Return how to read a column of texts as numbers, if it holds numbers."""
    if not column.has_texts:
        return None
    texts = column.factors.values
    found = guess_number_format(texts, column.counts)
    if found is None:
        return None
    numbers = found.numbers(texts)
    is_number = np.isfinite(numbers)
    are_codes = all(text.isascii() and text.isdigit() for text, known in zip(texts, is_number, strict=True) if known)
    if are_codes and len(np.unique(numbers[is_number])) <= MOST_CODES:
        return None
    written = [text for text, known in zip(texts, is_number, strict=True) if known and as_number(text) is None]
    missing = [text for text, known in zip(texts, is_number, strict=True) if not known]
    seen = f"numbers as text, such as {quote(written or texts, 2)}"
    if missing:
        is_usual = all(map(is_placeholder, missing))
        seen += f", and {quote(missing)}" + ("" if is_usual else f" in {int(column.counts[~is_number].sum())} rows")
    comma = ", with a decimal comma" if found.decimal == "," else ""
    done = f"read as numbers{comma}" + (f"; {quote(missing)} as missing" if missing else "")
    return FoundStep(Finding("number as text", column.name, seen, done), ReadNumbers(found))
