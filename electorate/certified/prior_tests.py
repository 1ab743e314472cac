"""Tests that a part of the rows proposes: cuts at its quantiles, sets of its categories, whether a value is missing.

The other rows take no part, so a code that names one of these tests by its number is a prior for them. Columns and
categories are ordered by the labels of that part: what looks useful there is cheaper to name.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from electorate.certified.description import subdivision_bits
from electorate.data.bins import Bins, find_bins, reader
from electorate.data.table import Table
from electorate.exact import Bools, Ints
from electorate.threads import ThreadPool

MOST_COLUMNS = 64  # that have a probability: the best ones by the labels of the prior rows
MOST_CUTS = 15  # of a column: four depths of the subdivision
MISSING_TEST = 1 / 8  # the probability of the test whether a value is missing, where the prior rows have such
ROWS_AT_ONCE = 2**16


class BinTest(NamedTuple):
    """A test of one column. members: by bin, missing last: those where it holds. cut: the last bin, or -1 for a set."""

    column: int
    members: Bools
    cut: int
    bits: float


@dataclass(frozen=True)
class PriorTests:
    """The tests, over coarse bins of the prior rows. shares: the probability of each column."""

    bins: Bins
    tests: list[BinTest]
    shares: NDArray[np.float64]

    @classmethod
    def of(cls, table: Table, labels: Ints, n_classes: int, categorical: list[int]) -> "PriorTests":
        """table, labels: of the prior rows."""
        ones = np.ones(table.n_rows, dtype=np.int64)
        bins = find_bins(table, ones, categorical, MOST_CUTS + 1, ThreadPool(1))
        codes = coarse_codes(table, bins)
        tests, gains = [], np.full(table.n_columns, -1.0)
        for column in range(table.n_columns):
            counts = np.zeros((int(bins.n_bins[column]) + 1, n_classes))
            np.add.at(counts, (codes[column], labels), 1.0)
            found = list(_tests_of(bins, column, counts))
            tests.append(found)
            gains[column] = max((_purity(counts, test.members) for test in found), default=-1.0)
        best = [int(j) for j in np.argsort(-gains, kind="stable")[:MOST_COLUMNS] if gains[j] >= 0]
        shares = np.zeros(table.n_columns)
        shares[best] = 1 / (np.arange(len(best)) + 2.0)
        return cls(bins, [test for j in sorted(best) for test in tests[j]], shares / max(shares.sum(), 1e-300))

    @property
    def column(self) -> Ints:
        """Return the column of each test."""
        return np.array([test.column for test in self.tests], dtype=np.int64)

    @property
    def bits(self) -> NDArray[np.float64]:
        return np.array([test.bits for test in self.tests])


def coarse_codes(table: Table, bins: Bins) -> Ints:
    """[column, row]: the bin of every value; a missing value, or an unknown category, is in the one after the last."""
    read = reader(table, bins.categories)
    codes = np.empty((table.n_columns, table.n_rows), dtype=np.int64)
    for low in range(0, table.n_rows, ROWS_AT_ONCE):
        block = read(low, min(low + ROWS_AT_ONCE, table.n_rows))
        for column, values in enumerate(block):
            missing = np.isnan(values)
            found = np.searchsorted(bins.edges[column], np.where(missing, 0.0, values))
            codes[column, low : low + len(values)] = np.where(missing, bins.n_bins[column], found)
    return codes


def _tests_of(bins: Bins, column: int, counts: NDArray[np.float64]) -> Iterator[BinTest]:
    """The tests of a column. counts: of labels by bin in the prior rows."""
    n_bins, has_missing = int(bins.n_bins[column]), bool(bins.has_missing[column])
    left = 1 - MISSING_TEST if has_missing else 1.0
    if has_missing and n_bins:
        yield BinTest(column, np.arange(n_bins + 1) < n_bins, n_bins - 1, -math.log2(MISSING_TEST))
    sets = _category_sets(counts) if column in bins.categories else _cuts(n_bins)
    heavy = counts[:-1].sum() / 2
    for members, cut, bits in sets:
        more = bits - math.log2(left) + has_missing
        sides = (False, True) if has_missing else (bool(counts[:-1][members].sum() >= heavy),)
        for side in sides:  # without missing values in the prior rows they go with the heavier side
            yield BinTest(column, np.append(members, side), cut, more)


def _cuts(n_bins: int) -> Iterator[tuple[Bools, int, float]]:
    for cut, bits in enumerate(subdivision_bits(max(n_bins - 1, 0)).tolist()):
        yield np.arange(n_bins) <= cut, cut, bits


def _category_sets(counts: NDArray[np.float64]) -> Iterator[tuple[Bools, int, float]]:
    """Single categories, and those up to a place in the order of how often they had one class; half of the mass each.

    The class is the one whose share differs most between categories.
    """
    n_codes = len(counts) - 1
    if n_codes < 2:
        return
    for code in range(n_codes):
        yield np.arange(n_codes) == code, -1, 1 + math.log2(n_codes)
    overall = (counts.sum(axis=0) + 0.5) / (counts.sum() + 0.5 * counts.shape[1])
    size = counts[:-1].sum(axis=1, keepdims=True)
    shares = (counts[:-1] + 2 * overall) / (size + 2)  # smoothed by two rows
    apart = (size * (shares - overall) ** 2 / (overall * (1 - overall))).sum(axis=0)
    order = np.argsort(shares[:, int(np.argmax(apart))], kind="stable")
    for place, bits in enumerate(subdivision_bits(n_codes - 1).tolist()):
        members = np.zeros(n_codes, dtype=np.bool_)
        members[order[: place + 1]] = True
        yield members, -1, 1 + bits


def _purity(counts: NDArray[np.float64], members: Bools) -> float:
    """Gini's gain of a test on the prior rows, up to a constant."""
    sides: Any = counts[members].sum(axis=0), counts[~members].sum(axis=0)
    return float(sum((side**2).sum() / max(side.sum(), 1.0) for side in sides))
