"""The classifiers among scikit-learn's tools and in everybody's containers; the Adult data as they come."""

import os
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.base import clone, is_regressor
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.feature_selection import SelectFromModel
from sklearn.inspection import partial_dependence, permutation_importance
from sklearn.metrics import brier_score_loss
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from training_cases import CLASSES, MODELS, ONE_OF_EACH, noisy, plain

import electorate
from electorate import (
    AdaBoostClassifier,
    AdaBoostRClassifier,
    LogisticAdaBoostClassifier,
    QuadBoostRegressor,
    RealAdaBoostClassifier,
    Trees,
)
from electorate.export import trusted_types
from electorate.registry import ALGORITHMS


def few(name: str, rounds: int = 10) -> Any:
    return clone(MODELS[name]).set_params(n_estimators=rounds)


# ---------------------------------------------------------------- scikit-learn's tools


@pytest.mark.parametrize(
    "model",
    [
        AdaBoostClassifier(DecisionTreeClassifier(max_depth=3)),
        RealAdaBoostClassifier(DecisionTreeClassifier(max_depth=3)),
        LogisticAdaBoostClassifier(DecisionTreeClassifier(max_depth=3)),
        QuadBoostRegressor(DecisionTreeRegressor(max_depth=3), learning_rate=0.3),
    ],
    ids=lambda model: type(model).__name__,
)
def test_monotone_trees_make_a_monotone_model(model: Any) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    f = X[:, 0] - X[:, 1] / 2 + np.sin(3 * X[:, 2]) + rng.normal(size=400)
    y = f if is_regressor(model) else f > 0
    model = clone(model).set_params(n_estimators=30, random_state=0)

    def least_rise(signs: list[int] | None) -> float:
        """Of what decides, along the first column, and, downwards, along the second."""
        fitted = clone(model).set_params(estimator__monotonic_cst=signs).fit(X, y)
        found = []
        for column, sign in ((0, 1), (1, -1)):
            Z = np.repeat(X[:50], 30, axis=0)
            Z[:, column] = np.tile(np.linspace(-3, 3, 30), 50)
            decide = fitted.predict if is_regressor(model) else fitted.decision_function
            found.append(np.diff(sign * decide(Z).reshape(50, 30), axis=1).min())
        return float(min(found))

    assert least_rise([1, -1, 0]) >= 0
    assert least_rise(None) < 0


def times_four(X: np.ndarray) -> np.ndarray:
    return 4 * X


@pytest.mark.parametrize("n_classes", CLASSES)
@pytest.mark.parametrize("name", MODELS)
def test_in_a_pipeline(name: str, n_classes: int) -> None:
    """Scaling by a power of two moves no bin: the same predictions as without."""
    X, y = plain(n_classes)
    scaled = make_pipeline(FunctionTransformer(times_four), few(name)).fit(X, y)
    np.testing.assert_array_equal(scaled.predict_proba(X), few(name).fit(X, y).predict_proba(X))
    X, y = noisy(n_classes)
    hot = ColumnTransformer([("hot", OneHotEncoder(), ["kind"])], remainder="passthrough")
    assert make_pipeline(hot, few(name)).fit(X, y).score(X, y) > 1.2 / n_classes


@pytest.mark.parametrize("n_classes", CLASSES)
@pytest.mark.parametrize("name", ["AdaBoost, trees", "Real AdaBoost, trees", "SAMME.R, trees", "AdaBoost_R, trees"])
def test_a_search_over_the_depth_of_trees(name: str, n_classes: int) -> None:
    X, y = noisy(n_classes)
    grid = {"estimator__max_depth": [1, 3], "n_estimators": [2, 6]}
    search = GridSearchCV(few(name), grid, cv=2).fit(X, y)
    assert search.best_estimator_.estimator.max_depth == search.best_params_["estimator__max_depth"]
    alone = clone(MODELS[name]).set_params(**search.best_params_).fit(X, y)
    assert search.best_estimator_.digest_ == alone.digest_
    scores = search.cv_results_["mean_test_score"]
    assert len(set(scores)) > 1
    assert not np.any(np.isnan(scores))
    assert MODELS[name].estimator.max_depth == 2  # the caller's own stays as it was


@pytest.mark.parametrize("n_classes", CLASSES)
@pytest.mark.parametrize("name", ONE_OF_EACH)
def test_cross_validation(name: str, n_classes: int) -> None:
    X, y = noisy(n_classes)
    scores = cross_val_score(few(name), X, y, cv=3, error_score="raise")
    assert scores.mean() > 1.2 / n_classes
    np.testing.assert_array_equal(scores, cross_val_score(few(name), X, y, cv=3, n_jobs=2))
    predicted = cross_val_predict(few(name), X, y, cv=3, method="predict_proba")
    assert predicted.shape == (len(y), n_classes)


@pytest.mark.parametrize("n_classes", CLASSES)
@pytest.mark.parametrize("name", ONE_OF_EACH)
def test_calibrated_probabilities(name: str, n_classes: int) -> None:
    X, y = noisy(n_classes)
    model = CalibratedClassifierCV(few(name, 60), cv=3).fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1)
    if n_classes == 2:
        X_new, y_new = noisy(2, 2000, seed=3)
        assert brier_score_loss(y_new, model.predict_proba(X_new)[:, 1], pos_label="yes") < 0.22


def test_inside_one_vs_rest() -> None:
    X, y = plain(3)
    outside = OneVsRestClassifier(RealAdaBoostClassifier(n_estimators=10)).fit(X, y)
    inside = RealAdaBoostClassifier(n_estimators=10).fit(X, y)
    np.testing.assert_array_equal(outside.decision_function(X), inside.decision_function(X))
    np.testing.assert_array_equal(outside.predict(X), inside.predict(X))


@pytest.mark.parametrize("name", ONE_OF_EACH)
def test_permutation_importance(name: str) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    y = (X[:, 1] > 0).astype(int)
    model = few(name).fit(X, y)
    found = permutation_importance(model, X, y, n_repeats=2, random_state=0).importances_mean
    assert found.argmax() == 1
    assert model.feature_importances_.argmax() == 1
    chosen = SelectFromModel(few(name), threshold="mean").fit(X, y).get_support()
    assert chosen.tolist() == [False, True, False]


@pytest.mark.parametrize("name", ONE_OF_EACH)
def test_partial_dependence(name: str) -> None:
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(300, 2)), columns=["a", "b"])
    y = np.where(X["b"] + 0.3 * rng.normal(size=300) > 0, "yes", "no")
    model = few(name).fit(X, y)
    rise = partial_dependence(model, X, ["b"], response_method="predict_proba", grid_resolution=10)["average"][0]
    assert rise[-1] > rise[0] + 0.05
    flat = partial_dependence(model, X, ["a"], response_method="predict_proba", grid_resolution=10)["average"][0]
    assert np.ptp(flat) < np.ptp(rise)


# ---------------------------------------------------------------- containers


@pytest.mark.parametrize("n_classes", CLASSES)
@pytest.mark.parametrize("name", MODELS)
def test_pandas_and_polars_are_one(name: str, n_classes: int) -> None:
    X, y = noisy(n_classes)
    model = few(name).fit(X, y)
    for other, labels in (
        (pl.from_pandas(X), pl.Series(y)),
        (pl.from_pandas(X).lazy(), y),
        (pl.from_pandas(X).to_arrow(), y.tolist()),
        (X.astype({"kind": "str"}).where(X.notna()), pd.Series(y)),
        (X.convert_dtypes(), pd.Series(y, dtype="string")),
    ):
        again = few(name).fit(other, labels)
        np.testing.assert_array_equal(again.decision_function(other), model.decision_function(X))
        np.testing.assert_array_equal(model.predict(other), model.predict(X))
        assert model.feature_names_in_.tolist() == list(X.columns) == again.feature_names_in_.tolist()


@pytest.mark.parametrize("n_classes", CLASSES)
@pytest.mark.parametrize("name", MODELS)
def test_sparse_and_dense_are_one(name: str, n_classes: int) -> None:
    X, y = plain(n_classes)
    X[np.random.default_rng(0).random(X.shape) < 0.5] = 0
    model = few(name).fit(X, y)
    for make in (sparse.csr_array, sparse.csc_matrix, sparse.coo_array):
        again = few(name).fit(make(X), y)
        assert again.digest_ == model.digest_
        np.testing.assert_array_equal(model.predict_proba(make(X)), model.predict_proba(X))


def test_columns_by_name_and_order() -> None:
    X, y = noisy(2)
    model = few("AdaBoost, stumps").fit(X, y)
    with pytest.raises(ValueError, match="feature names"):
        model.predict(X[["b", "a", "c", "kind", "count"]])
    with pytest.raises(ValueError, match="feature"):
        model.predict(X[["a", "b"]])


# ---------------------------------------------------------------- the Adult data

DATA = Path(os.environ.get("ELECTORATE_DATA", Path(__file__).parents[3] / "shared" / "data"))
OFFICIAL = 32_561  # rows of the training set, first in the file


@pytest.mark.skipif(not DATA.is_dir(), reason="the folder of data sets is not there: set ELECTORATE_DATA to it")
@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_adult_as_it_comes(library: str) -> None:
    """Texts, numbers and missing values, without preparation: held-out error under 14.5% for every algorithm."""
    path = DATA / "adult.csv.gz"
    frame: Any = pd.read_csv(path) if library == "pandas" else pl.read_csv(path)
    y = frame["target"].to_numpy()
    X = frame.drop(columns="target") if library == "pandas" else frame.drop("target")
    train, test = slice(OFFICIAL), slice(OFFICIAL, None)
    missing = X.isna().sum().sum() if library == "pandas" else X.null_count().sum_horizontal().item()
    assert missing == 6465
    for model in (
        AdaBoostClassifier(n_estimators=200),
        RealAdaBoostClassifier(Trees(3), n_estimators=40),
        RealAdaBoostClassifier(n_estimators=100, step=1),
        AdaBoostRClassifier(n_estimators=200),
        RealAdaBoostClassifier(n_estimators=500, early_stopping=True, random_state=0),
    ):
        model.fit(X[train], y[train])
        assert 1 - model.score(X[test], y[test]) < 0.145
        assert len(model.bins_.categories) == 8


def test_mlflow_stores_and_loads_a_model(tmp_path: Path) -> None:
    mlflow = pytest.importorskip("mlflow.sklearn", reason="mlflow is not installed")
    X, y = plain(2)
    model = few("AdaBoost, trees").fit(X, y)
    mlflow.save_model(model, tmp_path / "model", skops_trusted_types=trusted_types(model))
    np.testing.assert_array_equal(mlflow.load_model(tmp_path / "model").predict_proba(X), model.predict_proba(X))


@pytest.mark.parametrize("name", ALGORITHMS)
def test_every_attribute_can_be_looked_up(name: str) -> None:
    """`dir` of scikit-learn 1.8 reads every attribute, also those of a model that is not fitted."""
    model = getattr(electorate, name)()
    assert "fit" in dir(model)
    for attribute in object.__dir__(model):
        hasattr(model, attribute)
