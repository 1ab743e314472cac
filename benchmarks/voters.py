"""Families beside what they are measured by: columns of +-1 beside NumPy's product, rules beside trees.

One thread, contenders taking turns.
"""

import time
from collections.abc import Callable
from statistics import median
from typing import Any

import numpy as np

from electorate import AdaBoostClassifier, DeepBoostClassifier, EBBoostClassifier, Rules, Trees
from electorate.families.columns import SignColumns
from synthetic import table


def columns(*, quick: bool = False) -> dict[str, Any]:
    """The correlation of every column with a vector: exact integers from bits, and X.T @ v in float64."""
    n, many, repeats = (500, 200, 3) if quick else (10_000, 5_000, 15)
    rng = np.random.default_rng(0)
    X = np.where(rng.random((n, many)) < 0.5, -1.0, 1.0)
    units = rng.integers(-(2**44), 2**44, n)
    voters, v, transposed = SignColumns(X), units.astype(np.float64), X.T
    exact = voters.correlate(units)
    np.testing.assert_allclose(transposed @ v, exact, atol=1e-9 * float(np.abs(v).sum()))
    voters.gram_row(0)
    took = _turns(
        {
            "electorate, from bits": lambda _: voters.correlate(units),
            "NumPy, float64": lambda _: transposed @ v,
            "electorate, a Gram row": lambda k: voters.gram_row(1 + k),
            "NumPy, a Gram row": lambda k: transposed @ X[:, 1 + k],
        },
        repeats,
    )
    ms = {f"{name}, ms": 1e3 * seconds for name, seconds in took.items()}
    ratio = took["NumPy, float64"] / took["electorate, from bits"]
    gram = took["NumPy, a Gram row"] / took["electorate, a Gram row"]
    return {**ms, "ratio": ratio, "Gram rows, ratio": gram}


def rules(*, quick: bool = False) -> dict[str, Any]:
    """A round of rules of three tests, and of trees of depth three, on the same table."""
    n, rounds, repeats = (2_000, 5, 1) if quick else (100_000, 20, 5)
    X, y = table(n, 50)
    families = {"rules of 3 tests": Rules(3), "trees of depth 3": Trees(3)}
    for family in families.values():
        AdaBoostClassifier(family, n_estimators=2, n_jobs=1).fit(X, y)
    took: dict[str, list[float]] = {name: [] for name in families}
    for _ in range(repeats):
        for name, family in families.items():
            model = AdaBoostClassifier(family, n_estimators=rounds, n_jobs=1).fit(X, y)
            took[name] += np.diff(model.history_["seconds"])[:-1].tolist()
    middle = {name: median(times) for name, times in took.items()}
    ratio = middle["rules of 3 tests"] / middle["trees of depth 3"]
    return {**{f"a round of {name}, ms": 1e3 * seconds for name, seconds in middle.items()}, "ratio": ratio}


def penalised(*, quick: bool = False) -> dict[str, Any]:
    """A stump round of EBBoost and a round of DeepBoost's trees of depth 5, each beside AdaBoost's with such voters."""
    n, rounds, repeats = (2_000, 8, 1) if quick else (100_000, 100, 3)
    X, y = table(n, 50)
    trees = AdaBoostClassifier(Trees(5, criterion="edge"))
    pairs = {
        "EBBoost, stumps": (EBBoostClassifier(), AdaBoostClassifier()),
        "DeepBoost, trees of depth 5": (DeepBoostClassifier(Trees(5), lam=1e-4, beta=1e-4), trees),
    }
    figures: dict[str, Any] = {}
    for name, pair in pairs.items():
        took: list[list[float]] = [[], []]
        for _ in range(repeats):
            for place, model in enumerate(pair):
                fitted = model.set_params(n_estimators=rounds, n_jobs=1).fit(X, y)
                took[place] += np.diff(fitted.history_["seconds"])[1:-1].tolist()
        ours, theirs = median(took[0]), median(took[1])
        figures |= {f"a round of {name}, ms": 1e3 * ours, "beside AdaBoost's, ms, " + name: 1e3 * theirs}
        figures[f"ratio, {name}"] = ours / theirs
    return figures


def _turns(contenders: dict[str, Callable[[int], Any]], repeats: int) -> dict[str, float]:
    took: dict[str, list[float]] = {name: [] for name in contenders}
    for k in range(repeats):
        for name, function in contenders.items():
            start = time.perf_counter()
            function(k)
            took[name].append(time.perf_counter() - start)
    return {name: median(times) for name, times in took.items()}
