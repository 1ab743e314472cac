"""Data and models that the tests of training share: missing values and categories, two classes and three."""

from typing import Any

import numpy as np
import pandas as pd

from electorate import (
    AdaBoostClassifier,
    AdaBoostRClassifier,
    MedBoostRegressor,
    QuadBoostRegressor,
    RealAdaBoostClassifier,
    Stumps,
    Trees,
    VadaBoostClassifier,
)

MODELS: dict[str, Any] = {
    "AdaBoost, stumps": AdaBoostClassifier(Stumps()),
    "AdaBoost, trees": AdaBoostClassifier(Trees(2)),
    "Real AdaBoost, stumps": RealAdaBoostClassifier(Stumps()),
    "Real AdaBoost, trees": RealAdaBoostClassifier(Trees(2)),
    "SAMME.R, stumps": RealAdaBoostClassifier(Stumps(), step=1),
    "SAMME.R, trees": RealAdaBoostClassifier(Trees(2), step=1),
    "AdaBoost_R, stumps": AdaBoostRClassifier(Stumps()),
    "AdaBoost_R, trees": AdaBoostRClassifier(Trees(2)),
}
ONE_OF_EACH = ["AdaBoost, trees", "Real AdaBoost, stumps", "SAMME.R, stumps", "AdaBoost_R, trees"]
ONE_VS_REST = [name for name in MODELS if name.startswith(("Real AdaBoost", "AdaBoost_R"))]
CLASSES = [2, 3]
VALIDATED = {
    "early stopping": AdaBoostClassifier(n_estimators=30, early_stopping=True, validation_fraction=0.3),
    "lam": VadaBoostClassifier(n_estimators=5, lam="auto", validation_fraction=0.3),
    "eps": MedBoostRegressor(n_estimators=5, eps="validate", validation_fraction=0.3),
    "squares": QuadBoostRegressor(n_estimators=30, early_stopping=True, validation_fraction=0.3),
}


def noisy(n_classes: int, n: int = 240, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    """Numbers, categories and missing values; a fifth of the labels are wrong, so that no voter is ever perfect."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 3))
    kind = rng.integers(0, 6, n)
    score = x[:, 0] + x[:, 1] ** 2 + np.array([0.5, -1, 0, 1, -0.5, 2])[kind]
    labels = np.searchsorted(np.quantile(score, np.arange(1, n_classes) / n_classes), score)
    wrong = rng.random(n) < 0.2
    labels[wrong] = rng.integers(0, n_classes, wrong.sum())
    x[rng.random(x.shape) < 0.1] = np.nan
    frame = pd.DataFrame(x, columns=["a", "b", "c"])
    texts = [None if gone else f"kind {k}" for k, gone in zip(kind, rng.random(n) < 0.1, strict=True)]
    frame["kind"] = pd.Categorical(texts)
    frame["count"] = rng.integers(0, 4, n)
    return frame, np.array(["no", "yes", "maybe"])[labels]


def plain(n_classes: int = 2, n: int = 240, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """The same as an array: codes for categories, numbers for labels."""
    X, y = noisy(n_classes, n, seed)
    X["kind"] = X["kind"].cat.codes.replace(-1, np.nan)
    return X.to_numpy(dtype=np.float64), np.unique(y, return_inverse=True)[1]


def few_distinct_rows(n: int = 300) -> tuple[Any, Any, Any]:
    """Twelve distinct rows, each with many different weights that have no common unit."""
    rng = np.random.default_rng(5)
    X = np.column_stack([rng.integers(0, 4, n), rng.integers(0, 3, n)]).astype(np.float64)
    y = ((X[:, 0] > 1) ^ (rng.random(n) < 0.25)).astype(np.int64)
    return X, y, rng.gamma(0.5, size=n) + 1e-3


def assert_same(one: Any, other: Any) -> None:
    """The same model, and the same story but for the time it took."""
    assert one.digest_ == other.digest_
    assert one.stop_reason_ == other.stop_reason_
    assert getattr(one, "best_round_", None) == getattr(other, "best_round_", None)
    assert one.history_.keys() == other.history_.keys()
    for name in one.history_.keys() - {"seconds"}:
        np.testing.assert_array_equal(one.history_[name], other.history_[name], err_msg=name)
