"""Regressors: what a file holds beside the model, hard targets, validation rows. See also test_loaded.py."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import check_cv
from sklearn.tree import DecisionTreeRegressor

import electorate
from electorate import (
    AdaBoostRegressor,
    Checkpoint,
    Columns,
    KernelSections,
    LocMedBoostRegressor,
    MedBoostRegressor,
    PairedStumps,
    QuadBoostClassifier,
    QuadBoostClassifierCV,
    QuadBoostRegressor,
    RegressionTrees,
    Rules,
    Stumps,
    Trees,
)

MODELS = {
    "MedBoost": MedBoostRegressor(n_estimators=4),
    "LocMedBoost": LocMedBoostRegressor(n_estimators=4),
    "AdaBoost.R2": AdaBoostRegressor(n_estimators=4),
    "QuadBoost, pool": QuadBoostRegressor(n_estimators=4),
    "QuadBoost, columns": QuadBoostRegressor(Columns(), n_estimators=4),
    "QuadBoost, trees": QuadBoostRegressor(RegressionTrees(2), n_estimators=4),
}


def numbers(seed: int = 0, n: int = 80) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3)).round(1)
    return X, X[:, 0] + np.abs(X[:, 1]) + 0.3 * rng.normal(size=n)


def reloaded(model: Any, tmp_path: Path) -> Any:
    model.save(tmp_path / "model")
    return electorate.load(tmp_path / "model")


# ---------------------------------------------------------------- what a file holds


@pytest.mark.parametrize("name", MODELS)
def test_what_was_held_out_is_stored_with_this_very_model(name: str, tmp_path: Path) -> None:
    X, y = numbers()
    fitted = clone(MODELS[name]).fit(X, y)
    fitted.held_out_ = {"bound": 0.25, "why": None, "digest": fitted.digest_}
    assert reloaded(fitted, tmp_path).held_out_ == fitted.held_out_
    fitted.held_out_["digest"] = "of another model"
    assert not hasattr(reloaded(fitted, tmp_path), "held_out_")


@pytest.mark.parametrize("name", ["MedBoost", "LocMedBoost", "AdaBoost.R2", "QuadBoost, pool"])
def test_a_list_of_categorical_features_is_stored_and_resumed(name: str, tmp_path: Path) -> None:
    X, y = numbers()
    model = clone(MODELS[name]).set_params(categorical_features=[0, 2])
    whole = clone(model).fit(X, y)
    loaded = reloaded(whole, tmp_path)
    assert list(loaded.categorical_features) == [0, 2]
    np.testing.assert_array_equal(loaded.predict(X), whole.predict(X))
    path = tmp_path / "checkpoint"
    clone(model).set_params(n_estimators=2).set_callbacks(Checkpoint(path, every=1)).fit(X, y)
    assert clone(model).set_callbacks(Checkpoint(path)).fit(X, y).digest_ == whole.digest_


# ---------------------------------------------------------------- hard targets


@pytest.mark.parametrize("rho", [np.inf, -np.inf, np.nan])
def test_rho_must_be_finite(rho: float) -> None:
    with pytest.raises(ValueError, match="rho"):
        MedBoostRegressor(rho=rho).fit(*numbers())


@pytest.mark.parametrize("scale", [1e155, 1e300, 1e-161, 1e-310, 5e-324])
def test_targets_whose_squares_leave_float64_are_refused(scale: float) -> None:
    X, y = numbers()
    for penalty in (None, "l1"):
        with pytest.raises(ValueError, match="multiply y"):
            QuadBoostRegressor(penalty=penalty).fit(X, y * scale)


def test_targets_at_the_ends_of_the_range_fit() -> None:
    X, y = numbers()
    plain = QuadBoostRegressor(n_estimators=5).fit(X, y).predict(X)
    for power in (-490, 490):
        scaled = QuadBoostRegressor(n_estimators=5).fit(X, np.ldexp(y, power)).predict(X)
        np.testing.assert_allclose(np.ldexp(scaled, -power), plain, rtol=1e-9, atol=1e-12)
    assert QuadBoostRegressor().fit(X, np.full(len(y), 1e300)).predict(X)[0] == 1e300


@pytest.mark.parametrize("scale", [1e-310, 5e-324])
def test_denormal_targets_are_fitted_and_stored_or_refused(scale: float, tmp_path: Path) -> None:
    X, y = numbers()
    for name in ("MedBoost", "LocMedBoost", "AdaBoost.R2"):
        fitted = clone(MODELS[name]).fit(X, y * scale)
        np.testing.assert_array_equal(reloaded(fitted, tmp_path).predict(X), fitted.predict(X))
    for kind in (MedBoostRegressor, LocMedBoostRegressor):
        with pytest.raises(ValueError, match="Multiply y"):
            kind(cost="linear").fit(X, y * scale)


def test_a_linear_cost_that_overflows_is_refused() -> None:
    X, y = numbers()
    with pytest.raises(ValueError, match="larger eps"):
        MedBoostRegressor(cost="linear", eps=1e-305).fit(X, y * 1e12)


# ---------------------------------------------------------------- QuadBoost: validation rows, searched families


@pytest.mark.parametrize("estimator", [None, Columns(), RegressionTrees(2), DecisionTreeRegressor(max_depth=2)])
def test_given_validation_rows_are_those_scored(estimator: Any) -> None:
    (X, y), (X_val, y_val) = numbers(), numbers(1)
    weight = np.random.default_rng(2).integers(0, 3, len(y_val))
    model = QuadBoostRegressor(estimator, early_stopping=True, n_estimators=20, n_iter_no_change=20, random_state=0)
    fitted = clone(model).fit(X, y, X_val=X_val, y_val=y_val, sample_weight_val=weight)
    free = clone(model).set_params(early_stopping=False).fit(X, y)
    scores = [np.average((said - y_val) ** 2, weights=weight) for said in free.staged_predict(X_val)]
    np.testing.assert_allclose(fitted.history_["validation"], scores, rtol=1e-9)
    assert fitted.best_round_ == int(np.argmin(scores)) + 1


def test_validation_rows_come_with_early_stopping_and_with_targets() -> None:
    X, y = numbers()
    with pytest.raises(ValueError, match="early_stopping"):
        QuadBoostRegressor().fit(X, y, X_val=X, y_val=y)
    with pytest.raises(ValueError, match="y_val"):
        QuadBoostRegressor(early_stopping=True).fit(X, y, X_val=X)


def test_validation_rows_count_as_seen() -> None:
    (X, y), (X_val, y_val) = numbers(), numbers(1)
    fitted = QuadBoostRegressor(early_stopping=True).fit(X, y, X_val=X_val, y_val=y_val)
    with pytest.raises(ValueError, match=r"took part|training|fitted"):
        fitted.certificate(heldout=(X_val, y_val), eps=0.5)


def test_dask_collections_are_refused_by_name() -> None:
    array = pytest.importorskip("dask.array")
    X, y = numbers()
    there = array.from_array(X, chunks=(20, 3))
    for model in (QuadBoostRegressor(), QuadBoostClassifierCV()):
        with pytest.raises(TypeError, match=f"{type(model).__name__}.*compute"):
            model.fit(there, array.from_array((y > 0).astype(int), chunks=20))
    fitted = QuadBoostRegressor(n_estimators=3).fit(X, y)
    np.testing.assert_array_equal(fitted.predict(there).compute(), fitted.predict(X))


SEARCHED = [
    *(Stumps(), Trees(2, criterion="edge"), Rules(), PairedStumps(), KernelSections()),
    DecisionTreeRegressor(max_depth=1),
]


@pytest.mark.parametrize("family", SEARCHED, ids=lambda family: type(family).__name__)
def test_cross_validation_of_families_that_are_searched(family: Any) -> None:
    X, y = numbers()
    labels = np.where(y > 1, "high", "low")
    values, rounds = [0.05, 0.2], [2, 5]
    found = QuadBoostClassifierCV(family, penalty="l1", values=values, rounds=rounds, cv=2, random_state=0)
    found.fit(X, labels)
    halves = list(check_cv(2, labels, classifier=True).split(X, labels))
    for lam, n_estimators, error in zip(
        *(found.cv_results_[name] for name in ("lam", "n_estimators", "mean_error")), strict=True
    ):
        model = QuadBoostClassifier(family, penalty="l1", lam=lam, n_estimators=int(n_estimators), random_state=0)
        wrong = [np.mean(clone(model).fit(X[a], labels[a]).predict(X[b]) != labels[b]) for a, b in halves]
        assert error == pytest.approx(np.mean(wrong))
    assert found.best_estimator_.get_params()["lam"] in values
