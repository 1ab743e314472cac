"""Identifiers and free text: columns that are different in (nearly) every row, so that nothing carries over."""

import re

import numpy as np

from electorate.checkup.columns import CheckedColumn
from electorate.checkup.findings import Finding, FoundStep, quote
from electorate.data.cleaning import Drop

DISTINCT = 0.9  # share of the rows
MANY = 0.25  # share of the rows from which a column has many categories
FEWEST_ROWS = 20
GAPS = 2.0  # consecutive numbers of which half the rows were taken away
WORDS_OF_TEXT = 3.0  # on average
ID_NAME = re.compile(r"(^|[^a-z])(id|ids|uuid|guid|key|index|idx|rowid|row|nr|no|number|serial|unnamed)([^a-z]|$)")
CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")


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
