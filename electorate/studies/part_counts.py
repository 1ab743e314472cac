"""Cross-fitting in five and in ten parts beside a model of all rows: bounds, and differences of their test errors.

More parts leave more rows for each model, and fewer to count its errors on. Test errors of two models on the same rows
are paired: the standard error of their difference comes from the rows that only one of them gets wrong.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from electorate import AdaBoostClassifier, CrossFittedClassifier
from electorate.data.routing import input_hashes, text_columns
from electorate.data.table import read_table
from electorate.studies.worlds import DELTA
from electorate.theory.binomial import binomial_bound

NUMBERS = (5, 10, 20)  # of parts
MORE = 0.3  # points of test error that a cross-fitted model may lose
HEADS = (
    "data set | rows | errors in a part | held-out | five parts | ten parts | "
    "test error, all rows | five parts, points more | ten parts, points more"
)
Found = dict[str, list[dict[str, Any]]]


def hashes_of(X: Any) -> NDArray[np.uint64]:
    """Of the inputs of a table: equal inputs have equal ones."""
    table = read_table(X)
    return input_hashes(table, text_columns(table), 0)


def paired(one: NDArray[np.bool_], other: NDArray[np.bool_]) -> list[int]:
    """How many rows only the first model gets wrong, how many only the second, and how many rows there are."""
    return [int(np.sum(one & ~other)), int(np.sum(other & ~one)), len(one)]


def excess(counts: list[int]) -> tuple[float, float]:
    """The difference of two errors in points, and its standard error."""
    only_one, only_other, rows = counts
    mean = (only_one - only_other) / rows
    return 100 * mean, 100 * math.sqrt(max((only_one + only_other) / rows - mean**2, 0.0) / rows)


def split_parts(X: Any, y: NDArray[Any], seed: int, rounds: int) -> dict[str, Any]:
    """One split: a held-out fifth of three quarters of the rows, cross-fitting, and errors on the last quarter."""
    order = np.random.default_rng([seed, 3]).permutation(len(y))
    n = 3 * len(y) // 4
    train, test, fifth = order[:n], order[n:], n // 5
    plain = AdaBoostClassifier(n_estimators=rounds)
    held_out = clone(plain).fit(X.iloc[train[fifth:]], y[train[fifth:]])
    wrong = int(np.sum(held_out.predict(X.iloc[train[:fifth]]) != y[train[:fifth]]))
    missed = clone(plain).fit(X.iloc[train], y[train]).predict(X.iloc[test]) != y[test]
    found: dict[str, Any] = {"rows": n, "held-out": binomial_bound(wrong, fifth, 1 - DELTA)}
    found["error"] = float(missed.mean())
    found["paired held-out"] = paired(held_out.predict(X.iloc[test]) != y[test], missed)
    for number in NUMBERS:
        model = CrossFittedClassifier(plain, n_folds=number).fit(X.iloc[train], y[train])
        found[f"bound {number}"] = float(model.bound_)
        found[f"errors {number}"] = model.part_errors_.tolist()
        found[f"paired {number}"] = paired(model.predict(X.iloc[test]) != y[test], missed)
    return found


def _mean(splits: list[dict[str, Any]], key: str) -> float:
    return float(np.mean([one[key] for one in splits]))


def _excess(splits: list[dict[str, Any]], number: int) -> tuple[float, float]:
    """Over the test rows of all splits."""
    return excess([sum(one[f"paired {number}"][place] for one in splits) for place in range(3)])


def parts_table(found: Found) -> tuple[str, list[list[Any]]]:
    """The heads and rows of the table."""
    rows = []
    for name, splits in sorted(found.items()):
        reference, error = _mean(splits, "held-out"), _mean(splits, "error")
        bounds = [f"{(b := _mean(splits, f'bound {k}')):.3f} ({b / reference:.2f})" for k in NUMBERS]
        more = [f"{x:+.2f} ± {se:.2f}" for x, se in (_excess(splits, k) for k in NUMBERS)]
        counted = float(np.mean([one["errors 5"] for one in splits]))
        rows.append([name, splits[0]["rows"], f"{counted:.0f}", f"{reference:.3f}", *bounds, f"{error:.3f}", *more])
    return HEADS, rows


def parts_aims(found: Found) -> list[str]:
    """How many sets meet each aim, by means over the splits."""
    every = list(found.values())
    rows = np.array([splits[0]["rows"] for splits in every])
    fewest = np.array([np.mean([min(one["errors 5"]) for one in splits]) for splits in every])
    counted, others = (rows >= 2000) & (fewest >= 20), ~((rows >= 2000) & (fewest >= 20)) & (fewest >= 1)
    lines = []
    for number in NUMBERS:
        ratio = np.array([_mean(splits, f"bound {number}") / _mean(splits, "held-out") for splits in every])
        more = np.array([_excess(splits, number) for splits in every]).reshape(-1, 2)
        lines += [
            f"- {number} parts, within 1.15 times the held-out bound, 2,000 rows and 20 errors or more in each part of "
            f"five: {int((ratio[counted] <= 1.15).sum())} of {int(counted.sum())}",
            f"- {number} parts, within 1.3 times, the others with errors in each part of five: "
            f"{int((ratio[others] <= 1.3).sum())} of {int(others.sum())}; the median ratio of all sets is "
            f"{np.median(ratio):.2f}",
            f"- {number} parts, test error at most {MORE} points above that of all rows: "
            f"{int((more[:, 0] <= MORE).sum())} of {len(every)}; beyond by more than two standard errors: "
            f"{int((more[:, 0] - 2 * more[:, 1] > MORE).sum())}; mean difference {more[:, 0].mean():+.2f} points",
        ]
    return lines
