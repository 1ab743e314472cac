"""Regressors beside what they are measured by: MedBoost beside gradient boosting, a median beside a sum.

One thread, contenders taking turns.
"""

import time
from statistics import median
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor

from electorate import MedBoostRegressor
from electorate.threads import ThreadPool


def fit(*, quick: bool = False) -> dict[str, Any]:
    """Trees of depth 3, 100 rounds, 100,000 x 20, and the mean absolute error on as many new rows."""
    n, rounds, repeats = (2_000, 5, 1) if quick else (100_000, 100, 5)
    (X, y), (X_new, y_new) = _table(n, 0), _table(n, 1)
    given: dict[str, Any] = {
        "electorate": MedBoostRegressor(n_estimators=rounds, n_jobs=1),
        "HistGradientBoosting": HistGradientBoostingRegressor(
            loss="absolute_error", max_iter=rounds, max_depth=3, early_stopping=False
        ),
    }
    took: dict[str, list[float]] = {name: [] for name in given}
    for model in given.values():
        model.fit(X[:1_000], y[:1_000])
    for _ in range(repeats):
        for name, model in given.items():
            started = time.perf_counter()
            model.fit(X, y)
            took[name].append(time.perf_counter() - started)
    seconds = {name: median(times) for name, times in took.items()}
    errors = {f"{name}, error": float(np.mean(np.abs(model.predict(X_new) - y_new))) for name, model in given.items()}
    figures = {f"{name}, s": value for name, value in seconds.items()}
    return {**figures, **errors, "ratio": seconds["HistGradientBoosting"] / seconds["electorate"]}


def predict(*, quick: bool = False) -> dict[str, Any]:
    """The median of 500 trees on 1,000,000 rows, and the weighted sum of the same trees."""
    n, rounds, repeats = (2_000, 20, 1) if quick else (1_000_000, 500, 3)
    model = MedBoostRegressor(n_estimators=rounds, n_jobs=1).fit(*_table(min(n, 20_000), 0))
    X, _ = _table(n, 1)
    table = model._check_rows(X, reset=False)
    trees, read, alone = model.vote_.trees, model._reader(table), ThreadPool(1)
    took: dict[str, list[float]] = {"median": [], "sum": []}
    for _ in range(repeats):
        started = time.perf_counter()
        model.predict(X)
        between = time.perf_counter()
        trees.votes(n, read, alone)
        took["median"].append(between - started)
        took["sum"].append(time.perf_counter() - between)
    seconds = {name: median(times) for name, times in took.items()}
    return {**{f"{name}, s": value for name, value in seconds.items()}, "ratio": seconds["median"] / seconds["sum"]}


def _table(n: int, seed: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 20))
    return X, 2 * X[:, 0] + 3 * np.abs(X[:, 1]) + X[:, 2] * X[:, 3] + rng.normal(size=n)
