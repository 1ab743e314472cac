"""Random columns at every split: which ones, and that nothing but the seed and the data decides."""

from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.tree import DecisionTreeClassifier

from electorate import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    DeepBoostClassifier,
    MedBoostRegressor,
    QuadBoostClassifier,
    QuadBoostRegressor,
    RealAdaBoostClassifier,
    RegressionTrees,
    Stumps,
    Trees,
    Union,
    load,
)
from electorate.families.drawn_columns import count_drawn

MODELS = {
    "AdaBoost": AdaBoostClassifier(Trees(3, max_features=2), n_estimators=6),
    "SAMME.R": RealAdaBoostClassifier(Trees(4, max_features="sqrt"), step=1, n_estimators=6),
    "QuadBoost": QuadBoostClassifier(Trees(2, criterion="edge", max_features=0.5), n_estimators=6),
    "MedBoost": MedBoostRegressor(RegressionTrees(3, max_features=2), n_estimators=6),
    "AdaBoost.R2": AdaBoostRegressor(RegressionTrees(3, max_features=2), n_estimators=6),
    "L2 boosting": QuadBoostRegressor(
        RegressionTrees(3, max_features=2), learning_rate=0.1, reweight="never", n_estimators=6
    ),
    "absolute loss": QuadBoostRegressor(
        RegressionTrees(3, max_features=2), loss="absolute", learning_rate=0.1, n_estimators=6
    ),
}


def table(n: int = 300, n_columns: int = 6) -> tuple[Any, Any]:
    """Columns that are equally good: the label with noise of their own."""
    rng = np.random.default_rng(0)
    score = rng.normal(size=n)
    return score[:, None] + rng.normal(size=(n, n_columns)), score


def target(model: Any, score: Any) -> Any:
    return score > 0 if hasattr(model, "decision_function") else score


def splits_of(model: Any) -> list[list[int]]:
    """By voter, the columns of its splits, the root first."""
    found = np.split(model.ensemble_.column, model.ensemble_.offsets[1:-1])
    return [columns[columns >= 0].tolist() for columns in found]


@pytest.mark.parametrize("max_features", [1, 3, 50, 0.01, 0.5, 1.0, "sqrt", None])
@pytest.mark.parametrize("n_columns", [1, 2, 7, 16])
def test_as_many_columns_as_in_scikit_learn(max_features: Any, n_columns: int) -> None:
    X = np.random.default_rng(0).normal(size=(20, n_columns))
    theirs = DecisionTreeClassifier(max_features=max_features).fit(X, X[:, 0] > 0).max_features_
    assert count_drawn(max_features, n_columns) == min(theirs, n_columns)


@pytest.mark.parametrize("name", MODELS)
def test_only_the_seed_and_the_data_decide(name: str, tmp_path: Any) -> None:
    X, score = table()
    model = clone(MODELS[name])
    y = target(model, score)
    once = clone(model).fit(X, y)
    assert clone(model).set_params(n_jobs=3).fit(X, y).digest_ == once.digest_
    assert clone(model).set_params(estimator__random_state=1).fit(X, y).digest_ != once.digest_
    order = np.random.default_rng(1).permutation(len(y))
    assert clone(model).fit(X[order], y[order]).digest_ == once.digest_
    once.save(tmp_path / "model.electorate")
    again = load(tmp_path / "model.electorate")
    assert again.estimator.max_features == model.estimator.max_features
    np.testing.assert_array_equal(again.predict(X), once.predict(X))


@pytest.mark.parametrize("name", ["AdaBoost", "SAMME.R", "MedBoost"])
def test_warm_start_draws_the_same_columns(name: str) -> None:
    X, score = table()
    model = clone(MODELS[name])
    y = target(model, score)
    parts = clone(model).set_params(n_estimators=2, warm_start=True).fit(X, y).set_params(n_estimators=6).fit(X, y)
    assert parts.digest_ == clone(model).fit(X, y).digest_


@pytest.mark.parametrize("name", MODELS)
def test_all_columns_are_the_same_as_none(name: str) -> None:
    X, score = table()
    model = clone(MODELS[name])
    y = target(model, score)
    digests = {
        clone(model).set_params(estimator__max_features=wanted, estimator__random_state=5).fit(X, y).digest_
        for wanted in (None, 1.0, 6, 100)
    }
    assert len(digests) == 1


def test_every_column_has_its_turn() -> None:
    """One column a split: every one is the root of some of 60 trees, and no tree knows what another drew."""
    X, score = table(1000)
    model = AdaBoostClassifier(Trees(2, max_features=1), n_estimators=60).fit(X, score > 0)
    roots = [columns[0] for columns in splits_of(model)]
    assert set(roots) == set(range(6))
    below = {tuple(columns[1:]) for columns in splits_of(model)}
    assert len(below) > 15


def test_where_no_drawn_column_gains_all_are_searched() -> None:
    rng = np.random.default_rng(0)
    X = np.zeros((200, 8))
    X[:, 3] = rng.normal(size=200)
    y = (X[:, 3] > 0) ^ (rng.random(200) < 0.1)
    for depth in (1, 3):
        model = AdaBoostClassifier(Trees(depth, max_features=1), n_estimators=5).fit(X, y)
        assert {column for columns in splits_of(model) for column in columns} == {3}


def test_exhaustive_only_with_all_columns() -> None:
    assert Trees(1, criterion="edge").exhaustive
    assert not Trees(1, criterion="edge", max_features=1).exhaustive


@pytest.mark.parametrize("wrong", [0, 0.0, 1.5, "log2", -1])
def test_what_is_no_number_of_columns_is_refused(wrong: Any) -> None:
    X, score = table()
    with pytest.raises(ValueError, match="max_features"):
        AdaBoostClassifier(Trees(2, max_features=wrong)).fit(X, score > 0)


@pytest.mark.parametrize("family", [Trees(3, max_features=2), Union([Stumps(), Trees(3, max_features=2)])], ids=repr)
def test_deepboost_searches_all_columns(family: Any) -> None:
    X, score = table()
    with pytest.raises(ValueError, match="max_features=None"):
        DeepBoostClassifier(family).fit(X, score > 0)
