"""The target: spellings of labels, numbers as text, classes of few rows, imbalance."""

from typing import Any

import numpy as np

from electorate.arrays import AnyArray, Ints
from electorate.checkup.column_findings import describe_spellings
from electorate.checkup.findings import Finding, FoundStep, quote
from electorate.data.cleaning import MergeSpellings, ReadNumbers
from electorate.data.number_text import guess_number_format
from electorate.data.spelling import common_spellings
from electorate.escape import literal

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
