"""The contents of a table, column by column, with warnings about them."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import rankdata

from electorate.arrays import Ints
from electorate.data.split import hash_rows
from electorate.data.table import Categories, Table
from electorate.report.page import number

MOSTLY = 0.5  # missing
LEAK = 0.995  # of the largest agreement of a single column with the target
RARE, COMMON = 0.01, 0.95  # shares of classes that are called imbalanced
FEW_ROWS = 50  # below, nothing is called an identifier


@dataclass(frozen=True)
class ColumnProfile:
    """One column. warnings: what looks wrong with it."""

    name: str
    kind: str  # "numbers" or "categories"
    missing: float  # share
    distinct: int
    summary: str
    warnings: list[str]


@dataclass(frozen=True)
class DataProfile:
    """A table and its target."""

    n_rows: int
    columns: list[ColumnProfile]
    n_duplicates: int  # rows that equal an earlier one
    warnings: list[str]  # about the table and the target


def profile(table: Table, names: list[str], is_category: Any, target: Any = None, classes: Any = None) -> DataProfile:
    """Return the profile of a table.

    is_category: whether a column, by its number, holds categories. target: labels or numbers, or None. classes: the
    labels of a classifier, or None for numbers.
    """
    codes = None if target is None or classes is None else np.searchsorted(classes, target)
    columns = []
    for column, name in enumerate(names):
        if is_category(column):
            columns.append(_categories(table, column, name, codes))
        else:
            columns.append(_numbers(table, column, name, target, codes))
    hashes = hash_rows(table, 0)
    n_duplicates = int(table.n_rows - len(np.unique(hashes)))
    warnings = []
    if n_duplicates:
        share = n_duplicates / table.n_rows
        warnings.append(
            f"{n_duplicates} rows ({share:.1%}) repeat an earlier row: where some are in training and others in test, "
            "errors look smaller than they are"
        )
    if codes is not None:
        warnings += _imbalance(codes, [str(label) for label in np.asarray(classes).tolist()])
    return DataProfile(table.n_rows, columns, n_duplicates, warnings)


def _imbalance(codes: Ints, labels: list[str]) -> list[str]:
    shares = np.bincount(codes, minlength=len(labels)) / len(codes)
    found = [
        f"class {label!r} has {share:.1%} of the rows"
        for label, share in zip(labels, shares, strict=True)
        if share < RARE
    ]
    if shares.max() > COMMON:
        found.append(
            f"class {labels[int(shares.argmax())]!r} has {shares.max():.1%} of the rows: compare errors with that"
        )
    return found


def _numbers(table: Table, column: int, name: str, target: Any, codes: Ints | None) -> ColumnProfile:
    x = table.numbers(0, table.n_rows, [column])[0]
    known = ~np.isnan(x)
    values = np.unique(x[known])
    summary, warnings = "no values", _missing(1 - known.mean())
    if len(values):
        low, middle, high = values[0], np.median(x[known]), values[-1]
        summary = f"{number(float(low))} to {number(float(high))}, median {number(float(middle))}"
    if len(values) <= 1:
        warnings.append("constant")
    elif len(values) == known.sum() >= FEW_ROWS and np.all(values == np.rint(values)):
        warnings.append("all values differ: an identifier?")
    agreement = _agreement(
        x[known], None if target is None else np.asarray(target)[known], None if codes is None else codes[known]
    )
    if len(values) > 1 and agreement > LEAK and known.sum() >= FEW_ROWS:
        warnings.append(f"alone it orders the target almost perfectly ({agreement:.3f}): does it leak the answer?")
    return ColumnProfile(name, "numbers", float(1 - known.mean()), len(values), summary, warnings)


def _agreement(x: Any, target: Any, codes: Ints | None) -> float:
    """Return the largest area under the ROC curve of a class, or the rank correlation with numbers, or 0."""
    if target is None or not len(x):
        return 0.0
    ranks = rankdata(x)
    if codes is None:
        other = rankdata(target)
        spread = np.std(ranks) * np.std(other)
        return float(abs(np.mean((ranks - ranks.mean()) * (other - other.mean())) / spread)) if spread else 0.0
    areas = [0.0]
    for code in np.unique(codes):
        mine = codes == code
        n, rest = int(mine.sum()), int((~mine).sum())
        if n and rest:
            area = (ranks[mine].sum() - n * (n + 1) / 2) / (n * rest)
            areas.append(max(area, 1 - area))
    return float(max(areas))


def _categories(table: Table, column: int, name: str, codes: Ints | None) -> ColumnProfile:
    levels, place = level_codes(table, column)
    known = place >= 0
    counts = np.bincount(place[known], minlength=len(levels))
    order = np.argsort(-counts, kind="stable")[:3]
    listed = ", ".join(f"{levels[k]} ({counts[k]})" for k in order)
    summary = listed + (", ..." if len(levels) > 3 else "")
    warnings = _missing(1 - known.mean())
    if len(levels) <= 1:
        warnings.append("constant")
    elif len(levels) > 0.9 * known.sum() and known.sum() >= FEW_ROWS:
        warnings.append("nearly all values differ: an identifier?")
    elif codes is not None and known.sum() >= FEW_ROWS and len(levels) < known.sum() / 5:
        by_class = np.zeros((len(levels), int(codes.max()) + 1))
        np.add.at(by_class, (place[known], codes[known]), 1)
        right, common = by_class.max(axis=1).sum() / known.sum(), np.bincount(codes[known]).max() / known.sum()
        if right > LEAK > common:
            warnings.append(f"alone it predicts {right:.1%} of the target: does it leak the answer?")
    return ColumnProfile(name, "categories", float(1 - known.mean()), len(levels), summary, warnings)


def level_codes(table: Table, column: int) -> tuple[list[str], Ints]:
    """Return the levels of a column as texts, and the place of each row's among them, -1 where it is missing."""
    levels = table.levels(column)
    codes = table.codes(0, table.n_rows, column, Categories(levels))
    return [str(level) for level in levels.tolist()], np.where(np.isnan(codes), -1, np.nan_to_num(codes)).astype(
        np.int64
    )


def _missing(share: float) -> list[str]:
    return [f"{share:.0%} missing"] if share > MOSTLY else []
