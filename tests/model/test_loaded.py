"""A loaded model is the fitted one, for every estimator: attributes, methods, certificates and refusals."""

import pickle
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from common.cases import DATA, numbers
from common.same_model import attributes, check_same, differences, functions, methods
from sklearn.ensemble import RandomForestClassifier

import electorate
from electorate import Columns, KernelSections, Pool, RegressionTrees, Rules, Stumps, Trees, Union
from electorate.registry import ALGORITHMS

MORE: dict[str, list[dict[str, Any]]] = {
    "AdaBoostClassifier": [{"estimator": Union([Stumps(), Rules(2)]), "early_stopping": True}],
    "RealAdaBoostClassifier": [{"estimator": Trees(2), "step": 1}, {"estimator": KernelSections()}],
    "AdaBoostRClassifier": [{"estimator": Columns()}],
    "VadaBoostClassifier": [{"lam": "auto", "random_state": 0}],
    "DeepBoostClassifier": [{"estimator": KernelSections()}, {"estimator": Union([Stumps(), Rules(2)])}],
    "QuadBoostClassifier": [{"estimator": Columns(), "penalty": "l1", "lam": 0.01}, {"estimator": Stumps()}],
    "QuadBoostRegressor": [
        {"estimator": Columns()},
        {"estimator": RegressionTrees(2), "early_stopping": True},
        {"estimator": RegressionTrees(2), "loss": "quantile", "quantile": 0.8},
    ],
    "LPBoostClassifier": [{"estimator": Columns()}],
    "MedBoostRegressor": [{"estimator": Columns(), "eps": 0.5}, {"estimator": Pool(3)}, {"early_stopping": True}],
    "LocMedBoostRegressor": [{"confidence_by": "bumps"}],
}
CASES = {f"{name} {given or ''}": (name, given) for name in ALGORITHMS for given in [{}, *MORE.get(name, [])]}
CLASSIFICATION = ("two-labels", "three-labels", "categories")


def some_rows(name: str, data: str) -> tuple[Any, Any, tuple[Any, Any]]:
    """Return training rows, and other rows."""
    if ALGORITHMS[name].is_classifier:
        X, y = DATA[data]
        cut = len(y) // 2
        parts = [(X[:cut], y[:cut]), (X[cut:], y[cut:])]
    else:
        parts = []
        for seed in (0, 1):
            X, _ = numbers(2, seed)
            parts.append((X, X[:, 0] + np.abs(X[:, 1])))
    return *parts[0], parts[1]


def fitted_of(name: str, given: dict[str, Any], X: Any, y: Any) -> Any:
    model = getattr(electorate, name)(**given)
    rounds = {"n_estimators": 4} if "n_estimators" in model.get_params() else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.set_params(**rounds).fit(X, y)


@pytest.mark.parametrize("data", CLASSIFICATION)
@pytest.mark.parametrize("case", CASES)
def test_a_loaded_model_is_the_fitted_one(case: str, data: str, tmp_path: Path) -> None:
    name, given = CASES[case]
    by_numbers = isinstance(given.get("estimator"), Columns | KernelSections)
    if (data == "categories" and by_numbers) or (data != "two-labels" and not ALGORITHMS[name].is_classifier):
        pytest.skip("the same data, or voters of numbers only")
    X, y, new = some_rows(name, data)
    fitted = fitted_of(name, given, X, y)
    fitted.held_out_ = {"bound": 0.25, "why": None, "digest": fitted.digest_}
    fitted.save(tmp_path / "model")
    check_same(fitted, electorate.load(tmp_path / "model"), X, y, new)


@pytest.mark.parametrize("model", ["cross-validated", "thinned", "thinned forest", "re-weighted"])
def test_a_model_without_a_file_is_itself_after_pickling(model: str) -> None:
    X, y, new = some_rows("QuadBoostClassifier", "three-labels")
    made = {
        "cross-validated": electorate.QuadBoostClassifierCV(Pool(3), penalty="l1", rounds=[2, 4], cv=2),
        "thinned": electorate.ThinnedClassifier(electorate.AdaBoostClassifier(n_estimators=6), max_voters=4),
        "thinned forest": electorate.ThinnedClassifier(RandomForestClassifier(4, random_state=0), max_voters=4),
        "re-weighted": electorate.RLPBoostClassifier(RandomForestClassifier(2, random_state=0), n_estimators=3),
    }[model].fit(X, y)
    check_same(made, pickle.loads(pickle.dumps(made)), X, y, new)


def test_the_best_model_of_a_cross_validation_is_loaded(tmp_path: Path) -> None:
    X, y, new = some_rows("QuadBoostClassifier", "two-labels")
    best = electorate.QuadBoostClassifierCV(Pool(3), penalty="l1", rounds=[2, 4], cv=2).fit(X, y).best_estimator_
    best.save(tmp_path / "model")
    check_same(best, electorate.load(tmp_path / "model"), X, y, new)


def test_the_check_can_fail() -> None:
    """It compares real values, and finds what a file could have lost."""
    X, y, new = some_rows("AdaBoostClassifier", "two-labels")
    one = fitted_of("AdaBoostClassifier", {}, X, y)
    called = {**attributes(one), **methods(one, X, y), **functions(one, X, y, new)}
    assert {"predict", "staged_predict_proba", "seen_", "steps_", "margins", "certificate of new rows"} <= set(called)
    assert [name for name, value in called.items() if isinstance(value, str) and "Error" in value] == [
        "certificate of training rows"
    ]
    for lost in ("seen_", "history_", "bins_", "stop_reason_"):
        other = pickle.loads(pickle.dumps(one))
        delattr(other, lost)
        with pytest.raises((AssertionError, AttributeError), match=lost):
            check_same(one, other, X, y, new)
    assert differences(np.array([1.0]), np.array([1])) != []
