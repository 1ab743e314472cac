"""Columns that alone predict the target almost without error: they may hold what is not known before the target is."""

import math
import time
from collections.abc import Sequence

import numpy as np

from electorate.arrays import Floats, Ints
from electorate.checkup.columns import CheckedColumn, bin_codes, sample_rows
from electorate.checkup.findings import Finding

FEWEST_ROWS = 50
LEAKED = 0.05  # of the error (the variance) of the baseline: a column that leaves less is suspected
LITTLE = 0.01


def find_leaks(
    columns: Sequence[CheckedColumn], target: Floats, n_classes: int, seconds: float = math.inf
) -> list[Finding]:
    """Return suspected leaks. target: class codes, or numbers where n_classes is 0. seconds: to search at most."""
    if len(target) < FEWEST_ROWS:
        return []
    rows, ends = sample_rows(len(target)), time.monotonic() + seconds
    y = target[rows]
    found: list[Finding] = []
    for number, column in enumerate(columns):
        if column.kind == "other":
            continue
        if time.monotonic() > ends:
            seen = f"only the first {number:,} of {len(columns):,} columns were searched for leaks"
            return [*found, Finding("time limit", None, seen, "the others are kept; allow more time to search them")]
        is_ordered = column.kind in ("number", "date")
        codes, n_codes = bin_codes(column.numbers[rows], is_ordered)
        left = _left_error(codes, n_codes, y, n_classes, is_ordered)
        if left <= LEAKED:
            share = f"{left:.1%} of the baseline's {'error' if n_classes else 'squared error'} is left"
            seen = f"it alone predicts the target almost without error ({share})"
            done = "kept: leave it out if it is not known before the target is"
            found.append(Finding("leak", column.name, seen, done))
    return found


def _left_error(codes: Ints, n_codes: int, y: Floats, n_classes: int, is_ordered: bool) -> float:
    """The error on each half of a table by code that is learnt from the other half, over that of the baseline."""
    labels, lost, base = y.astype(np.int64), 0.0, 0.0
    half = np.random.default_rng(0).permutation(len(y)) % 2 == 0
    for train in (half, ~half):
        test = ~train
        if n_classes:
            counts = np.zeros((n_codes, n_classes))
            np.add.at(counts, (codes[train], labels[train]), 1)
            usual = np.bincount(labels[train]).argmax()
            counts = _with_neighbours(counts) if is_ordered else counts
            voted = np.where(counts.any(axis=1), np.argmax(counts, axis=1), usual)
            lost += float(np.sum(voted[codes[test]] != labels[test]))
            base += float(np.sum(labels[test] != usual))
        else:
            mean = float(y[train].mean())
            sums: Floats = np.zeros((n_codes, 2))
            np.add.at(sums, codes[train], np.stack([np.ones(train.sum()), y[train]], axis=1))
            sums = _with_neighbours(sums) if is_ordered else sums
            means = np.divide(sums[:, 1], sums[:, 0], out=np.full(n_codes, mean), where=sums[:, 0] > 0)
            lost += float(np.sum((means[codes[test]] - y[test]) ** 2))
            base += float(np.sum((mean - y[test]) ** 2))
    return lost / base if base > 0 else 1.0


def _with_neighbours(sums: Floats) -> Floats:
    """Sums by bin with a little of the neighbouring bins', for bins without rows; not with those of the missing bin."""
    found = sums.copy()
    found[1:-1] += LITTLE * sums[:-2]
    found[:-2] += LITTLE * sums[1:-1]
    return found
