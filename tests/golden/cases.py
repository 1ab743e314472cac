"""Every registered algorithm with every family it takes, on small awkward data: what a refactoring must not change.

`python -m tests.golden.record` writes digests.json, with `--new` only what is not in it; test_golden.py compares. A
record holds the digest of the model, a hash of its decisions and a hash of each column of its history; those of
RQPBoost, whose bits depend on the processor, hold its objectives instead.

A record changes only for a defect or an improvement that an issue names, in a commit of its own. Its message lists the
records that change, and why.
"""

from __future__ import annotations

import hashlib
import json
import re
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.base import clone, is_classifier

import electorate as el
from electorate.registry import ALGORITHMS
from tests.common.small_models import small_model

DIGESTS = Path(__file__).with_name("digests.json")
WEIGHTS = ("none", "whole", "real")
# Interior points are found by BLAS and LAPACK, whose bits depend on the processor: objectives are compared instead.
BY_LINEAR_ALGEBRA = re.compile("RQPBoost")

STUMPS, TREES, PAIRS, RULES = el.Stumps(), el.Trees(3), el.PairedStumps(), el.Rules(2)
UNION = el.Union([el.Stumps(), el.Rules(2), el.Trees(2)])
EDGE_TREES, POOL, COLUMNS = el.Trees(2, criterion="edge"), el.Pool(4), el.Columns()
SEARCHED = {"stumps": STUMPS, "trees": TREES, "pairs": PAIRS, "rules": RULES, "union": UNION, "pool": POOL}
KERNELS = el.KernelSections("rbf", gamma=0.5)
DEEP = {"stumps": STUMPS, "pairs": PAIRS, "trees": EDGE_TREES, "union": el.Union([el.Stumps(), el.PairedStumps()])}
QUAD = {"stumps": STUMPS, "trees": EDGE_TREES, "pool": POOL}
REGRESSION, QUAD_REGRESSION = {"trees": el.RegressionTrees(3)}, {"trees": el.RegressionTrees(2), "pool": POOL}


class Case(NamedTuple):
    model: Any  # not fitted
    data: str
    weights: str


Settings = tuple[dict[str, Any], dict[str, Any]]  # parameters, and families by name

# Of every algorithm: name of a setting -> parameters and families over bins; all take missing values and categories.
SETTINGS: dict[str, dict[str, Settings]] = {
    "AdaBoostClassifier": {"AdaBoost": ({}, SEARCHED), "AdaBoost, slow": ({"learning_rate": 0.3}, SEARCHED)},
    "RealAdaBoostClassifier": {
        "Real AdaBoost": ({}, SEARCHED),
        # its steps are 1, which is right for log-odds only: a pool is refused
        "SAMME.R": ({"step": 1}, {name: family for name, family in SEARCHED.items() if name != "pool"}),
    },
    "LogisticAdaBoostClassifier": {
        "Logistic AdaBoost": ({}, {name: family for name, family in SEARCHED.items() if name != "pool"}),
    },
    "AdaBoostRClassifier": {"AdaBoost_R": ({}, SEARCHED)},
    "VadaBoostClassifier": {"VadaBoost": ({}, SEARCHED)},
    "EBBoostClassifier": {"EBBoost": ({}, {"stumps": STUMPS, "pairs": PAIRS, "pool": POOL})},
    "LocMedBoostClassifier": {
        "LocMedBoost classifier": ({}, {"stumps": STUMPS, "trees": TREES}),
        "LocMedBoost classifier, abstaining": ({"abstain": True}, {"stumps": STUMPS, "pool": POOL, "rules": RULES}),
    },
    "DeepBoostClassifier": {"DeepBoost": ({}, DEEP), "DeepBoost, logistic": ({"loss": "logistic"}, DEEP)},
    "QuadBoostClassifier": {
        "QuadBoost": ({}, QUAD),
        "QuadBoost, L1": ({"penalty": "l1", "lam": 0.02, "reweight": "cyclic"}, QUAD),
        "QuadBoost, L2": ({"penalty": "l2", "lam": 0.5, "reweight": "greedy"}, QUAD),
        "QuadBoost, Linf": ({"penalty": "linf", "alpha_max": 0.2}, QUAD),
    },
    "LPBoostClassifier": {"LPBoost": ({}, {"stumps": STUMPS, "pool": POOL})},
    "RLPBoostClassifier": {"RLPBoost": ({}, {"stumps": STUMPS})},
    "RQPBoostClassifier": {"RQPBoost": ({}, {"stumps": STUMPS})},
    "AdaBoostRegressor": {"R2": ({}, REGRESSION)},
    "MedBoostRegressor": {"MedBoost": ({}, REGRESSION), "MedBoost, linear": ({"cost": "linear"}, REGRESSION)},
    "LocMedBoostRegressor": {"LocMedBoost": ({}, REGRESSION)},
    "QuadBoostRegressor": {
        "QuadBoost regressor": ({}, QUAD_REGRESSION),
        "QuadBoost regressor, L1": ({"penalty": "l1", "lam": 0.02, "reweight": "cyclic"}, QUAD_REGRESSION),
    },
}
# Voters over whole rows of numbers.
BY_ROWS: dict[str, dict[str, Any]] = {
    "AdaBoostRClassifier": {"columns": COLUMNS, "kernels": KERNELS},
    "RealAdaBoostClassifier": {"columns": COLUMNS},
    "QuadBoostClassifier": {"columns": COLUMNS, "kernels": KERNELS},
    "LPBoostClassifier": {"columns": COLUMNS},
    "EBBoostClassifier": {"columns": COLUMNS},
    "LocMedBoostClassifier": {"columns": COLUMNS, "kernels": KERNELS},
    "QuadBoostRegressor": {"columns": COLUMNS, "kernels": KERNELS},
}
# The family that is the default, with other options.
OPTIONS: dict[str, tuple[str, dict[str, Any]]] = {
    "AdaBoost, stopped": (
        "AdaBoostClassifier",
        {"n_estimators": 30, "early_stopping": True, "n_iter_no_change": 3, "random_state": 0},
    ),
    "VadaBoost, auto": ("VadaBoostClassifier", {"lam": "auto", "random_state": 0}),
    "AdaBoost, exact": ("AdaBoostClassifier", {"max_bins": "exact"}),
    "AdaBoost, few bins": ("AdaBoostClassifier", {"estimator": el.Trees(3), "max_bins": 4}),
}


def settings_of(name: str) -> dict[str, Settings]:
    """Those of a registered algorithm: of SETTINGS, or its defaults."""
    return SETTINGS.get(name, {ALGORITHMS[name].title: ({}, {"default": None})})


def over_bins() -> dict[str, Any]:
    """Name of a setting and a family -> an estimator, for every registered algorithm."""
    found = {
        f"{title}, {family}": small_model(name, **parameters, estimator=estimator)
        for name in ALGORITHMS
        for title, (parameters, families) in settings_of(name).items()
        for family, estimator in families.items()
    }
    return found | {title: small_model(name, **parameters) for title, (name, parameters) in OPTIONS.items()}


def by_rows() -> dict[str, Any]:
    return {
        f"{next(iter(settings_of(name)))}, {family}": small_model(name, estimator=estimator)
        for name, families in BY_ROWS.items()
        for family, estimator in families.items()
    }


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
    for name, model in over_bins().items():
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


def record(name: str, model: Any, X: Any) -> dict[str, Any]:
    """Return what must stay, of the fitted model of a case."""
    if BY_LINEAR_ALGEBRA.search(name):
        return {"objectives": _last_objectives(model.history_), "stop": model.stop_reason_}
    decide = model.decision_function if is_classifier(model) else model.predict
    history = {column: _hash(values) for column, values in model.history_.items() if column != "seconds"}
    return {"digest": model.digest_, "decisions": _hash(decide(X)), "stop": model.stop_reason_, "history": history}


def fit(name: str, case: Case) -> dict[str, Any]:
    """Return the record of a case, fitted now."""
    X, y, weights = load_data(case)
    model = clone(case.model)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y, sample_weight=weights)
    return record(name, model, X)


def _hash(values: Any) -> str:
    return hashlib.sha256(np.ascontiguousarray(values, dtype=np.float64).tobytes()).hexdigest()[:16]


def _last_objectives(history: Any) -> list[float]:
    """Return the last objective, or that of each class against the rest."""
    objective = np.asarray(history["objective"])
    label = np.asarray(history.get("label", np.zeros(len(objective))))
    return [float(objective[label == one][-1]) for one in np.unique(label)]


def stored() -> dict[str, Any]:
    """Return {"numpy": the version that the bits depend on, "records": {case: record}}."""
    return dict(json.loads(DIGESTS.read_text()))
