"""Columns that alone predict the target almost without error: they may hold what is not known before the target is."""

import math
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from electorate.data.checkup.column_findings import describe_spellings
from electorate.data.checkup.columns import CheckedColumn, Finding, FoundStep, bin_codes, quote, sample_rows
from electorate.data.cleaning import MergeSpellings, ReadNumbers
from electorate.data.number_text import common_spellings, guess_number_format
from electorate.exact import AnyArray, Floats, Ints
from electorate.text import literal

FEWEST_ROWS = 50
LEAKED = 0.05  # of the error (the variance) of the baseline: a column that leaves less is suspected
LITTLE = 0.01
KEPT = "kept: leave it out if it is not known before the target is"
FILLED, PURE, RARE = 10, 0.95, 0.2  # rows with an unusual value, the share of them in one class, its share of all rows


def find_leaks(
    columns: Sequence[CheckedColumn], target: Floats, classes: list[Any], seconds: float = math.inf
) -> list[Finding]:
    """Return suspected leaks. target: codes of the classes, or numbers without classes. seconds: to search at most."""
    n_classes = len(classes)
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
            found.append(
                Finding("leak", column.name, f"it alone predicts the target almost without error ({share})", KEPT)
            )
        elif n_classes and (seen := _filled_for_one(codes, n_codes, y.astype(np.int64), classes)):
            found.append(Finding("leak", column.name, seen, KEPT))
    return found


def _filled_for_one(codes: Ints, n_codes: int, labels: Ints, classes: list[Any]) -> str:
    """What is seen of a column that has another value than the usual one in rows of a rare class only; or nothing."""
    usual = int(np.bincount(codes).argmax())
    counts = np.bincount(labels[codes != usual], minlength=len(classes))
    k, n_filled = int(counts.argmax()), int(counts.sum())
    share = float(np.mean(labels == k))
    if n_filled < FILLED or counts[k] < PURE * n_filled or share > RARE:
        return ""
    what = "has a value" if usual == n_codes - 1 else "has another than its usual value"
    whose = f"of the class {literal(classes[k], 40)!r}, which has {share:.1%} of all rows"
    return f"it {what} in {n_filled:,} rows, and {counts[k]:,} of these are {whose}"


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


# ---------------------------------------------------------------- the target

MOST_NUMBERS = 20  # more different numbers, written as text, are a quantity
FEWEST_PER_CLASS = 10
IMBALANCE = 0.05  # share of the smallest class of two
RATIO = 20  # of the largest class of several to the smallest


def find_target_step(y: AnyArray, task: str) -> FoundStep | None:
    """Return what to do to a target of texts."""
    if y.dtype.kind not in "OUT" or not all(isinstance(value, str) for value in y.tolist()):
        return None
    texts, counts = np.unique(y.astype(str), return_counts=True)
    words = texts.tolist()
    if task != "classification":
        found = guess_number_format(words, counts)
        numbers = np.empty(0) if found is None else found.numbers(words)
        if found is not None and np.isfinite(numbers).all() and len(np.unique(numbers)) > MOST_NUMBERS:
            seen = f"numbers as text, such as {quote(words, 2)}"
            return FoundStep(Finding("number as text", None, f"the target holds {seen}", "read"), ReadNumbers(found))
    common = common_spellings(words, counts)
    if common:
        seen = f"labels that differ by case or space: {describe_spellings(words, common)}"
        done = f"merged into {quote(list(common.values()))}"
        return FoundStep(Finding("spelling", None, seen, done), MergeSpellings(common))
    folded = sorted(set(map(str.casefold, words)))
    if len(folded) < len(words):
        twice = [word for word in words if words.count(word.swapcase())]
        done = "kept apart: single characters may be codes; merge them if they mean the same"
        return FoundStep(Finding("spelling", None, f"labels that differ by case: {quote(twice, 4)}", done))
    return None


def find_class_sizes(classes: list[Any], counts: Ints) -> list[Finding]:
    """Return classes with too few rows, or else heavy imbalance."""
    found = []
    few = np.flatnonzero(counts < FEWEST_PER_CLASS)
    for k in few[:10].tolist():
        seen = f"the class {literal(classes[k], 40)!r} has {counts[k]} row{'s' if counts[k] > 1 else ''}"
        found.append(Finding("rare class", None, seen, "kept: its error cannot be judged; merge it, or add rows"))
    least, most = int(counts.min()), int(counts.max())
    share = least / counts.sum()
    heavy = share < IMBALANCE if len(counts) == 2 else most > RATIO * least
    if len(counts) > 1 and heavy:
        name = literal(classes[int(np.argmin(counts))], 40)
        seen = f"{share:.1%} of the rows are of the class {name!r}"
        done = "look at the balanced error or the AUC too, or set class_weight='balanced'"
        found.append(Finding("imbalance", None, seen, done))
    return found
