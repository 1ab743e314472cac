"""Every algorithm with every family it takes, on small awkward data: what a change of structure must not change.

`python -m tests.golden.record` writes digests.json; test_golden.py compares. A record holds the digest of the model,
a hash of its decisions and a hash of each column of its history.
"""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.base import clone, is_classifier

import electorate as el

DIGESTS = Path(__file__).with_name("digests.json")
ROUNDS = 7
WEIGHTS = ("none", "whole", "real")

STUMPS, TREES, PAIRS, RULES = el.Stumps(), el.Trees(3), el.PairedStumps(), el.Rules(2)
UNION = el.Union([el.Stumps(), el.Rules(2), el.Trees(2)])
EDGE_TREES, POOL, COLUMNS = el.Trees(2, criterion="edge"), el.Pool(4), el.Columns()
SEARCHED = {"stumps": STUMPS, "trees": TREES, "pairs": PAIRS, "rules": RULES, "union": UNION, "pool": POOL}
KERNELS = el.KernelSections("rbf", gamma=0.5)


class Case(NamedTuple):
    model: Any  # not fitted
    data: str
    weights: str


def _over(name: str, model: Any, families: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    for family, estimator in families.items():
        yield f"{name}, {family}", clone(model).set_params(estimator=estimator, n_estimators=ROUNDS)


def classifiers() -> dict[str, Any]:
    """Name of an algorithm and its family -> an estimator; all of them take missing values and categories."""
    adaboosts = {
        "AdaBoost": el.AdaBoostClassifier(),
        "AdaBoost, slow": el.AdaBoostClassifier(learning_rate=0.3),
        "Real AdaBoost": el.RealAdaBoostClassifier(),
        "SAMME.R": el.RealAdaBoostClassifier(step=1),
        "AdaBoost_R": el.AdaBoostRClassifier(),
        "VadaBoost": el.VadaBoostClassifier(lam=0.3),
    }
    found = {key: made for name, model in adaboosts.items() for key, made in _over(name, model, SEARCHED)}
    del found["SAMME.R, pool"]  # refused: its steps are 1, which is right for log-odds only
    found |= _over("EBBoost", el.EBBoostClassifier(lam=0.3), {"stumps": STUMPS, "pairs": PAIRS, "pool": POOL})
    deep = {"stumps": STUMPS, "pairs": PAIRS, "trees": EDGE_TREES, "union": el.Union([el.Stumps(), el.PairedStumps()])}
    found |= _over("DeepBoost", el.DeepBoostClassifier(lam=1e-3, beta=1e-3), deep)
    found |= _over("DeepBoost, logistic", el.DeepBoostClassifier(loss="logistic", lam=1e-3, beta=1e-3), deep)
    quad = {"stumps": STUMPS, "trees": EDGE_TREES, "pool": POOL}
    found |= _over("QuadBoost", el.QuadBoostClassifier(), quad)
    found |= _over("QuadBoost, L1", el.QuadBoostClassifier(penalty="l1", lam=0.02, reweight="cyclic"), quad)
    found |= _over("QuadBoost, L2", el.QuadBoostClassifier(penalty="l2", lam=0.5, reweight="greedy"), quad)
    found |= _over("QuadBoost, Linf", el.QuadBoostClassifier(penalty="linf", alpha_max=0.2), quad)
    found |= _over("LPBoost", el.LPBoostClassifier(nu=0.3), {"stumps": STUMPS, "pool": POOL})
    found |= _over("RLPBoost", el.RLPBoostClassifier(), {"stumps": STUMPS})
    found |= _over("RQPBoost", el.RQPBoostClassifier(), {"stumps": STUMPS})
    patient = {"early_stopping": True, "n_iter_no_change": 3, "random_state": 0}
    found["AdaBoost, stopped"] = el.AdaBoostClassifier(n_estimators=30, **patient)
    found["VadaBoost, auto"] = el.VadaBoostClassifier(n_estimators=ROUNDS, lam="auto", random_state=0)
    found["AdaBoost, exact"] = el.AdaBoostClassifier(n_estimators=ROUNDS, max_bins="exact")
    found["AdaBoost, few bins"] = el.AdaBoostClassifier(el.Trees(3), n_estimators=ROUNDS, max_bins=4)
    return found


def regressors() -> dict[str, Any]:
    trees = {"trees": el.RegressionTrees(3)}
    found = dict(_over("R2", el.AdaBoostRegressor(random_state=0), trees))
    found |= _over("MedBoost", el.MedBoostRegressor(), trees)
    found |= _over("MedBoost, linear", el.MedBoostRegressor(cost="linear"), trees)
    found |= _over("LocMedBoost", el.LocMedBoostRegressor(), trees)
    quad = {"trees": el.RegressionTrees(2), "pool": POOL}
    found |= _over("QuadBoost regressor", el.QuadBoostRegressor(), quad)
    found |= _over("QuadBoost regressor, L1", el.QuadBoostRegressor(penalty="l1", lam=0.02, reweight="cyclic"), quad)
    return found


def by_rows() -> dict[str, Any]:
    """Voters over whole rows of numbers: columns and kernels."""
    found = dict(_over("AdaBoost_R", el.AdaBoostRClassifier(), {"columns": COLUMNS, "kernels": KERNELS}))
    found |= _over("Real AdaBoost", el.RealAdaBoostClassifier(), {"columns": COLUMNS})
    found |= _over("QuadBoost", el.QuadBoostClassifier(), {"columns": COLUMNS, "kernels": KERNELS})
    found |= _over("LPBoost", el.LPBoostClassifier(nu=0.3), {"columns": COLUMNS})
    found |= _over("EBBoost", el.EBBoostClassifier(lam=0.3), {"columns": COLUMNS})
    found |= _over("QuadBoost regressor", el.QuadBoostRegressor(), {"columns": COLUMNS, "kernels": KERNELS})
    return found


# ---------------------------------------------------------------- data


def numbers(n: int = 120, seed: int = 0) -> pd.DataFrame:
    return pd.DataFrame(np.random.default_rng(seed).normal(size=(n, 4)), columns=list("abcd"))


def messy(n: int = 120, seed: int = 1) -> pd.DataFrame:
    """Missing values, ties, a column of categories."""
    rng = np.random.default_rng(seed)
    frame = numbers(n, seed)
    frame["b"] = frame["b"].round(1)
    frame = frame.mask(rng.random(frame.shape) < 0.1)
    frame["kind"] = pd.Categorical(rng.choice(list("vwxyz"), n))
    return frame


def signs(n: int = 120, seed: int = 2) -> np.ndarray:
    return np.where(np.random.default_rng(seed).random((n, 6)) < 0.5, -1.0, 1.0)


def target(X: Any, n_classes: int) -> np.ndarray:
    """n_classes labels, or quantities for 0, that the columns tell with noise."""
    values = np.nan_to_num(np.asarray(X)[:, :3].astype(np.float64))
    rng = np.random.default_rng(7)
    score = values[:, 0] + values[:, 1] * values[:, 2] + 0.5 * rng.normal(size=len(values))
    if not n_classes:
        return score
    return np.searchsorted(np.quantile(score, np.arange(1, n_classes) / n_classes), score)


def weights_of(name: str, n: int) -> np.ndarray | None:
    rng = np.random.default_rng(11)
    return {"none": None, "whole": rng.integers(0, 4, n).astype(float), "real": rng.exponential(size=n)}[name]


TABLES = {"numbers": numbers, "messy": messy, "three classes": messy, "signs": signs}


def cases() -> dict[str, Case]:
    found = {}
    for name, model in {**classifiers(), **regressors()}.items():
        for data in ("numbers", "messy"):
            for weights in WEIGHTS:
                found[f"{name} | {data} | {weights}"] = Case(model, data, weights)
        if is_classifier(model):
            found[f"{name} | three classes | none"] = Case(model, "three classes", "none")
    for name, model in by_rows().items():
        for weights in WEIGHTS:
            found[f"{name} | signs | {weights}"] = Case(model, "signs", weights)
    return found


def load_data(case: Case) -> tuple[Any, np.ndarray, np.ndarray | None]:
    X = TABLES[case.data]()
    n_classes = 0 if not is_classifier(case.model) else 3 if case.data == "three classes" else 2
    return X, target(X, n_classes), weights_of(case.weights, len(X))


# ---------------------------------------------------------------- records


def record(model: Any, X: Any) -> dict[str, Any]:
    """What must stay, of a fitted model."""
    decide = model.decision_function if is_classifier(model) else model.predict
    history = {name: _hash(column) for name, column in model.history_.items() if name != "seconds"}
    return {"digest": model.digest_, "decisions": _hash(decide(X)), "stop": model.stop_reason_, "history": history}


def fit(case: Case, **options: Any) -> dict[str, Any]:
    X, y, weights = load_data(case)
    model = clone(case.model).set_params(**options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y, sample_weight=weights)
    return record(model, X)


def _hash(values: Any) -> str:
    return hashlib.sha256(np.ascontiguousarray(values, dtype=np.float64).tobytes()).hexdigest()[:16]


def stored() -> dict[str, Any]:
    """{"made_on": what the bits depend on, "records": {case: record}}."""
    return dict(json.loads(DIGESTS.read_text()))
