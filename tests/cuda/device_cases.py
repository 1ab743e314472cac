"""Tables and models on which a GPU, or the twins in its place, must give the digests of the CPU."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array

import electorate as el

N = 2400


class Rows(NamedTuple):
    X: Any
    y: np.ndarray
    weight: np.ndarray | None = None
    options: dict[str, Any] = {}  # noqa: RUF012


def _numbers(rng: np.random.Generator, n: int, columns: int = 7) -> np.ndarray:
    return rng.normal(size=(n, columns)).astype(np.float32)


def _score(X: Any, rng: np.random.Generator) -> np.ndarray:
    X = np.nan_to_num(np.asarray(X, dtype=np.float64)[:, :3])
    return X[:, 0] + X[:, 1] * X[:, -1] + 0.5 * rng.normal(size=len(X))


def plain(rng: np.random.Generator, n: int) -> Rows:
    X = _numbers(rng, n)
    return Rows(X, _score(X, rng))


def missing(rng: np.random.Generator, n: int) -> Rows:
    X = _numbers(rng, n)
    y = _score(X, rng)
    X[rng.random(X.shape) < 0.2] = np.nan
    X[:, 5] = np.nan
    return Rows(X, y)


def whole_weights(rng: np.random.Generator, n: int) -> Rows:
    rows = plain(rng, n)
    return rows._replace(weight=rng.integers(0, 5, n).astype(float))


def real_weights(rng: np.random.Generator, n: int) -> Rows:
    rows = missing(rng, n)
    return rows._replace(weight=rng.exponential(size=n))


def categories(rng: np.random.Generator, n: int) -> Rows:
    X = _numbers(rng, n).astype(np.float64)
    X[:, 0], X[:, 3] = rng.integers(0, 9, n), rng.integers(0, 40, n)
    return Rows(X, _score(X - 4, rng) + np.sin(X[:, 3]), None, {"categorical_features": [0, 3]})


def few_values(rng: np.random.Generator, n: int) -> Rows:
    X = rng.integers(0, 3, (n, 30)).astype(np.float32)
    X[:, 7] = 1.0
    return Rows(X, _score(X - 1, rng))


def many_columns(rng: np.random.Generator, n: int) -> Rows:
    X = _numbers(rng, n, 61)
    return Rows(X, _score(X, rng))


def exact_bins(rng: np.random.Generator, n: int) -> Rows:
    rows = plain(rng, n)
    return rows._replace(options={"max_bins": "exact"})


def sparse(rng: np.random.Generator, n: int) -> Rows:
    X = _numbers(rng, n) * (rng.random((n, 7)) < 0.3)
    return Rows(csr_array(X), _score(X, rng))


def copies(rng: np.random.Generator, n: int) -> Rows:
    rows = plain(rng, n // 8)
    return Rows(np.tile(rows.X, (8, 1)).astype(np.float64), np.tile(rows.y, 8))


def few_bins_by_column(rng: np.random.Generator, n: int) -> Rows:
    X = np.asfortranarray(_numbers(rng, n) * np.float32(1e30))
    return Rows(X, _score(X / 1e30, rng), None, {"max_bins": 5})


def validation_rows(rng: np.random.Generator, n: int) -> Rows:
    rows = missing(rng, n)
    return rows._replace(options={"early_stopping": True, "random_state": 0})


ODDITIES: dict[str, Callable[[np.random.Generator, int], Rows]] = {
    each.__name__: each
    for each in (
        *(plain, missing, whole_weights, real_weights, categories, few_values, many_columns, exact_bins, sparse),
        *(copies, few_bins_by_column, validation_rows),
    )
}
CLASSIFIERS: dict[str, Any] = {
    "AdaBoost": el.AdaBoostClassifier(n_estimators=6),
    "AdaBoost, 3 classes": el.AdaBoostClassifier(el.Trees(2), n_estimators=4),
    "AdaBoost, trees": el.AdaBoostClassifier(el.Trees(4), n_estimators=3),
    "AdaBoost, random columns": el.AdaBoostClassifier(el.Trees(6, max_features=2), n_estimators=3),
    "AdaBoost, deep trees": el.AdaBoostClassifier(el.Trees(9, min_samples_leaf=3), n_estimators=2),
    "AdaBoost, trees by the edge": el.AdaBoostClassifier(el.Trees(3, criterion="edge"), n_estimators=3),
    "AdaBoost, Matsushita's trees": el.AdaBoostClassifier(el.Trees(3, criterion="matsushita"), n_estimators=3),
    "AdaBoost, rules": el.AdaBoostClassifier(el.Rules(), n_estimators=3),
    "AdaBoost, paired stumps": el.AdaBoostClassifier(el.PairedStumps(), n_estimators=3),
    "Real AdaBoost": el.RealAdaBoostClassifier(n_estimators=6),
    "Real AdaBoost, 3 classes": el.RealAdaBoostClassifier(el.Trees(3), n_estimators=3),
    "Logistic AdaBoost": el.LogisticAdaBoostClassifier(n_estimators=4),
    "AdaBoost_R": el.AdaBoostRClassifier(n_estimators=5),
    "AdaBoost_R, 3 classes": el.AdaBoostRClassifier(el.Trees(3), n_estimators=3),
    "VadaBoost": el.VadaBoostClassifier(n_estimators=5),
    "VadaBoost, trees": el.VadaBoostClassifier(el.Trees(3), n_estimators=3),
    "EBBoost": el.EBBoostClassifier(n_estimators=5),
    "DeepBoost": el.DeepBoostClassifier(n_estimators=5),
    "DeepBoost, logistic": el.DeepBoostClassifier(el.Stumps(), loss="logistic", n_estimators=5),
}
REGRESSORS: dict[str, Any] = {
    "MedBoost": el.MedBoostRegressor(n_estimators=4),
    "MedBoost, stumps": el.MedBoostRegressor(el.RegressionTrees(1), n_estimators=4),
    "LocMedBoost": el.LocMedBoostRegressor(n_estimators=3),
    "AdaBoost.R2": el.AdaBoostRegressor(el.RegressionTrees(4), n_estimators=4),
    "AdaBoost.R2, random columns": el.AdaBoostRegressor(el.RegressionTrees(4, max_features=2), n_estimators=4),
}
MODELS = CLASSIFIERS | REGRESSORS


def digests(model: str, oddity: str, n: int = N) -> tuple[str, str]:
    """Of one fit on the CPU and one on the device."""
    rows = ODDITIES[oddity](np.random.default_rng(len(model) * len(oddity)), n)
    target = rows.y
    if model in CLASSIFIERS:
        cuts = np.quantile(target, [1 / 3, 2 / 3] if "3 classes" in model else [0.4])
        target = np.searchsorted(cuts, target)
    found = []
    for device in ("cpu", "cuda"):
        fitted = with_options(model, rows).set_params(device=device)
        found.append(fitted.fit(rows.X, target, rows.weight).digest_)
    return found[0], found[1]


def with_options(model: str, rows: Rows) -> Any:
    """A model with the options of an oddity."""
    return MODELS[model].__class__(**MODELS[model].get_params(deep=False) | rows.options)
