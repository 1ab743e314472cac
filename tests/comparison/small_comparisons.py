"""Small tables, fast algorithms and comparisons that the tests of this folder share."""

import json
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer

from electorate import AdaBoostClassifier, Trees
from electorate.comparison.algorithms import CLASSIFICATION, Algorithm, Facts
from electorate.comparison.fits import Plan
from electorate.comparison.metrics import METRICS
from electorate.comparison.rows import Rows, read_rows

NAMES = ["AdaBoost, stumps", "Real AdaBoost, stumps"]
QUICK = {"n_jobs": 1, "quick": True, "folds": 2, "check_up": False}
MEASURED = ("fit_seconds", "predict_ms_per_1000")  # columns of the table that no two runs share


def breast_cancer(n: int = 120) -> tuple[np.ndarray, np.ndarray]:
    X, y = load_breast_cancer(return_X_y=True)
    return X[:n, :6], y[:n]


def noise(n: int = 150, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 3)), rng.integers(0, 2, n)


def two_sides(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """One column shows the class of nine rows in ten."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    return X, ((X[:, 0] > 0) ^ (rng.random(n) < 0.1)).astype(int)


def make_stumps(facts: Facts) -> AdaBoostClassifier:
    return AdaBoostClassifier(n_jobs=1)


def make_trees(facts: Facts) -> AdaBoostClassifier:
    return AdaBoostClassifier(Trees(2), n_jobs=1)


def two_algorithms() -> list[Algorithm]:
    few, more = {"n_estimators": 2}, {"n_estimators": 5}
    stumps = Algorithm("few stumps", CLASSIFICATION, make_stumps, (few, more))
    return [stumps, Algorithm("few trees", CLASSIFICATION, make_trees, (few,))]


def plan_of(algorithms: list[Algorithm], n_folds: int = 3, n_classes: int = 2, metric: str = "error") -> Plan:
    return Plan(algorithms, n_folds, 0, n_classes, METRICS[metric])


def bare_rows(target: Any, **more: Any) -> Rows:
    return Rows(np.zeros((len(target), 1)), np.asarray(target), [], 0, **more)


def rows_of(X: Any, y: Any) -> tuple[Rows, int]:
    rows, classes = read_rows(X, y, "auto", "from_dtype")
    return rows, len(classes)


def table_without_seconds(comparison: Any) -> str:
    return json.dumps({name: column for name, column in comparison.columns.items() if name not in MEASURED})


def answer_without_seconds(comparison: Any) -> list[str]:
    """The sentences, without the line about the fastest model, which is measured."""
    return [line for line in comparison.answer if "fastest" not in line]
