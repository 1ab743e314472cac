"""Cross-fitting in 5, 10 and 20 parts beside a model of all rows: bounds, and differences of their test errors.

More parts leave more rows for each model, and fewer to count its errors on. Test errors of two models on the same rows
are paired: the standard error of their difference comes from the rows that only one of them gets wrong.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from electorate import AdaBoostClassifier, CrossFittedClassifier
from electorate.certified.cross_fitted import input_hashes, text_columns
from electorate.data.table import read_table
from electorate.theory.binomial import binomial_bound
from electorate_studies.request import markdown_table
from electorate_studies.worlds import DELTA

NUMBERS = (5, 10, 20)  # of parts
MORE = 0.3  # points of test error that a cross-fitted model may lose
HEADS = " | ".join(
    [
        "data set | rows | errors in a part of five | held-out",
        *(f"{number} parts" for number in NUMBERS),
        "test error, all rows",
        *(f"{number} parts, points more" for number in NUMBERS),
    ]
)
AIMS = (
    "within 1.15 times the held-out bound, 2,000 rows and 20 errors or more in each part of five",
    "within 1.3 times, the others with an error or more in each part of five",
    f"test error at most {MORE} points above that of all rows",
    f"more than {MORE} points above by more than two standard errors",
    "mean difference in points",
    "median ratio to the held-out bound",
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


def _more(splits: list[dict[str, Any]], key: str) -> tuple[float, float]:
    """Points of test error more than with all rows: the mean over the splits, and its standard error.

    Splits of the same rows are dependent: a variance of 1 / J + test rows / training rows times that of a split (Nadeau
    and Bengio 2003).
    """
    points = [excess(one[key])[0] for one in splits]
    if len(points) < 2:
        return points[0], math.nan
    of_test = splits[0][key][2] / splits[0]["rows"]
    return float(np.mean(points)), float(np.std(points, ddof=1) * math.sqrt(1 / len(points) + of_test))


def parts_table(found: Found) -> list[str]:
    """A row for every data set."""
    rows = []
    for name, splits in sorted(found.items()):
        reference, error = _mean(splits, "held-out"), _mean(splits, "error")
        bounds = [f"{(b := _mean(splits, f'bound {k}')):.3f} ({b / reference:.2f})" for k in NUMBERS]
        more = [f"{x:+.2f} ± {se:.2f}" for x, se in (_more(splits, f"paired {k}") for k in NUMBERS)]
        counted = float(np.mean([one["errors 5"] for one in splits]))
        rows.append([name, splits[0]["rows"], f"{counted:.0f}", f"{reference:.3f}", *bounds, f"{error:.3f}", *more])
    return markdown_table(HEADS, rows, "lrrrrrrrrrr")


def parts_aims(found: Found) -> list[str]:
    """How many sets meet each aim, by means over the splits, and which do not."""
    columns, missed = zip(*(_aims_of(found, number) for number in NUMBERS), strict=True)
    heads = " | ".join(["means over the splits", *(f"{number} parts" for number in NUMBERS)])
    held_out = np.mean([_more(splits, "paired held-out")[0] for splits in found.values()])
    return [
        *markdown_table(heads, zip(AIMS, *columns, strict=True), "lrrr"),
        "",
        *missed,
        f"- The models of the held-out bounds, trained on four fifths: mean difference {held_out:+.2f} points.",
    ]


def _aims_of(found: Found, number: int) -> tuple[list[str], str]:
    """The figures for so many parts, and a sentence about the sets that miss an aim."""
    every, names = list(found.values()), np.array(list(found))
    rows = np.array([splits[0]["rows"] for splits in every])
    fewest = np.array([np.mean([min(one["errors 5"]) for one in splits]) for splits in every])
    ratio = np.array([_mean(splits, f"bound {number}") / _mean(splits, "held-out") for splits in every])
    points, error = np.array([_more(splits, f"paired {number}") for splits in every]).T
    counted = (rows >= 2000) & (fewest >= 20)
    far = np.where(counted, ratio > 1.15, ratio > 1.3)
    worse, is_sure = points > MORE, points - 2 * error > MORE
    cells = [
        f"{int(some.sum() - (some & far).sum())} of {int(some.sum())}" for some in (counted, ~counted & (fewest >= 1))
    ]
    cells += [f"{int((~worse).sum())} of {len(every)}", str(int(is_sure.sum()))]
    cells += [f"{points.mean():+.2f}", f"{np.median(ratio):.2f}"]
    beyond = [f"{names[k]} {ratio[k]:.2f}" for k in np.flatnonzero(far & (fewest >= 1))]
    larger = [f"{names[k]} {points[k]:+.2f} ± {error[k]:.2f}" for k in np.flatnonzero(is_sure)]
    return cells, (
        f"- {number} parts, beyond the factor: {', '.join(beyond) or 'none'}. Test error more than {MORE} points above "
        f"by more than two standard errors: {', '.join(larger) or 'none'}."
    )
