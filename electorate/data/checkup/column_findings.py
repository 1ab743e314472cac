"""Findings about single columns: constants, dates, identifiers, numbers as text, and spellings."""

import re

import numpy as np

from electorate.data.checkup.columns import CheckedColumn, Finding, FoundStep, quote
from electorate.data.cleaning import Drop, MergeSpellings, ReadDates, ReadNumbers
from electorate.data.date_text import PARTS, guess_date_order, parse_date, part_of_dates
from electorate.data.factors import as_number
from electorate.data.number_text import MOSTLY, common_spellings, guess_number_format, is_placeholder, plain_spelling
from electorate.exact import Floats

WORDS = {"ymd": "year, month, day", "mdy": "month, day, year", "dmy": "day, month, year"}
DISTINCT = 0.9  # share of the rows
MANY = 0.25  # share of the rows from which a column has many categories
FEWEST_ROWS = 20
GAPS = 2.0  # consecutive numbers of which half the rows were taken away
WORDS_OF_TEXT = 3.0  # on average
ID_NAME = re.compile(r"(^|[^a-z])(id|ids|uuid|guid|key|index|idx|rowid|row|nr|no|number|serial|unnamed)([^a-z]|$)")
CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
MOST_CODES = 10  # a column of texts with at most so many different whole numbers may hold codes of categories
FEWEST_DATES, SORTED = 10, 0.98  # the share of the steps from row to row that go in one direction
# Of the usual gap between dates; the share of these gaps; the variance of the numbers of rows by date over their mean.
EVEN, MOST_EVEN, DISPERSED = 0.2, 0.6, 0.3


# ---------------------------------------------------------------- constants


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


# ---------------------------------------------------------------- dates


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


def order_of_dates(days: Floats) -> str:
    """Return how dates are ordered, in words: they are sorted or evenly spaced; or nothing."""
    known = days[np.isfinite(days)]
    dates, counts = np.unique(known, return_counts=True)
    if len(dates) < FEWEST_DATES or len(known) < MOSTLY * len(days):
        return ""
    steps = np.diff(known)
    if max(np.sum(steps > 0), np.sum(steps < 0)) >= SORTED * np.sum(steps != 0):
        return "the rows are sorted by it"
    gaps = np.diff(dates)
    even = np.mean(np.abs(gaps / np.median(gaps) - 1) <= EVEN)
    if even >= MOST_EVEN and counts.var() <= DISPERSED * counts.mean():  # not the days of events, which are chance
        return "its dates are evenly spaced"
    return ""


def _varies(values: np.ndarray) -> bool:
    known = values[np.isfinite(values)]
    return bool(len(known)) and bool(np.any(known != known[0]))


# ---------------------------------------------------------------- identifiers


def find_identifiers(column: CheckedColumn, n_rows: int) -> FoundStep | None:
    """Return an identifier or free text, which is left out, or many categories, which are only named."""
    if n_rows < FEWEST_ROWS:
        return None
    if column.kind == "number":
        return _find_row_number(column)
    if column.kind not in ("text", "category"):
        return None
    n_known, distinct = int(column.counts.sum()), int(np.count_nonzero(column.counts))
    if n_known < FEWEST_ROWS or distinct < MANY * n_known:
        return None
    texts = [str(value) for value in column.factors.present]
    seen = f"{distinct:,} different texts in {n_known:,} rows, such as {quote(texts, 2)}"
    if distinct < DISTINCT * n_known:
        done = "kept: categories of few rows are treated as one"
        return FoundStep(Finding("many categories", column.name, seen, done))
    n_words = float(np.mean([len(text.split()) for text in texts[:1000]]))
    if n_words >= WORDS_OF_TEXT:
        done = "left out: turn it into columns, for example with scikit-learn's TfidfVectorizer"
        return FoundStep(Finding("free text", column.name, seen, done), Drop())
    return FoundStep(Finding("identifier", column.name, seen, "left out"), Drop())


def _find_row_number(column: CheckedColumn) -> FoundStep | None:
    """Whole numbers that differ in every row: consecutive ones, or with the name of an identifier."""
    numbers = column.numbers[np.isfinite(column.numbers)]
    if len(numbers) < FEWEST_ROWS or np.any(numbers != np.rint(numbers)):
        return None
    distinct = np.unique(numbers)
    if len(distinct) < len(numbers):
        return None
    spread = float(distinct[-1] - distinct[0]) + 1
    is_named = ID_NAME.search(CAMEL.sub("_", column.name).casefold()) is not None
    if spread > GAPS * len(numbers) and not is_named:
        return None
    seen = f"a different whole number in each of {len(numbers):,} rows, from {distinct[0]:.0f} to {distinct[-1]:.0f}"
    return FoundStep(Finding("identifier", column.name, seen, "left out"), Drop())


# ---------------------------------------------------------------- numbers


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


# ---------------------------------------------------------------- spellings


def find_spellings(column: CheckedColumn) -> FoundStep | None:
    """Return the spellings to merge in a column of texts."""
    if not column.has_texts:
        return None
    texts = column.factors.present
    common = common_spellings(column.factors.values, column.counts)
    if not common:
        return None
    seen = f"spellings that differ by case or space: {describe_spellings(texts, common)}"
    finding = Finding("spelling", column.name, seen, f"merged into {quote(list(common.values()))}")
    return FoundStep(finding, MergeSpellings(common))


def describe_spellings(texts: list[str], common: dict[str, str]) -> str:
    """Return the spellings of the first texts that have several."""
    groups = [sorted(text for text in texts if plain_spelling(text) == plain) for plain in list(common)[:2]]
    return "; ".join(quote(group) for group in groups) + ("; ..." if len(common) > 2 else "")
