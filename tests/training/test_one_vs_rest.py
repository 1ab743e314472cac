"""More than two classes, one against the rest: every class is what a model of its own would be, to the bit."""

from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.tree import DecisionTreeClassifier
from training_cases import MODELS, ONE_VS_REST, noisy, plain

from electorate import AdaBoostRClassifier, RealAdaBoostClassifier


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", ONE_VS_REST)
def test_a_column_is_the_decision_of_a_model_of_two_classes(name: str, weighted: bool) -> None:
    X, y = noisy(3)
    X_new, _ = noisy(3, 100, seed=1)
    weight = np.random.default_rng(0).random(len(y)) if weighted else None
    model = clone(MODELS[name]).set_params(n_estimators=15).fit(X, y, weight)
    decisions = model.decision_function(X_new)
    for k, label in enumerate(model.classes_):
        alone = clone(MODELS[name]).set_params(n_estimators=15).fit(X, y == label, weight)
        np.testing.assert_array_equal(decisions[:, k], alone.decision_function(X_new))
        mine = model.history_["label"] == k
        for column in ("step", "edge", "error", "objective", "train_error", "n_voters"):
            np.testing.assert_array_equal(model.history_[column][mine], alone.history_[column])


@pytest.mark.parametrize("name", ONE_VS_REST)
def test_with_early_stopping_every_class_stops_by_itself(name: str) -> None:
    X, y = noisy(3)
    X_val, y_val = noisy(3, 120, seed=1)
    model = clone(MODELS[name]).set_params(n_estimators=80, early_stopping=True, n_iter_no_change=5)
    decisions = clone(model).fit(X, y, X_val=X_val, y_val=y_val).decision_function(X_val)
    rounds = []
    for k, label in enumerate(np.unique(y)):
        alone = clone(model).fit(X, y == label, X_val=X_val, y_val=y_val == label)
        np.testing.assert_array_equal(decisions[:, k], alone.decision_function(X_val))
        rounds.append(alone.best_round_)
    assert len(set(rounds)) > 1


@pytest.mark.parametrize("name", ONE_VS_REST)
def test_stages_are_those_of_the_classes(name: str) -> None:
    X, y = noisy(3)
    model = clone(MODELS[name]).set_params(n_estimators=4).fit(X, y)
    alone = [clone(MODELS[name]).set_params(n_estimators=4).fit(X, y == label) for label in model.classes_]
    stages = zip(*(other.staged_decision_function(X) for other in alone), strict=True)
    for decision, columns in zip(model.staged_decision_function(X), stages, strict=True):
        np.testing.assert_array_equal(decision, np.stack(columns, axis=1))


@pytest.mark.parametrize("model", [RealAdaBoostClassifier(), AdaBoostRClassifier()])
def test_wrapped_voters(model: Any) -> None:
    X, y = plain(3)
    model = clone(model).set_params(estimator=DecisionTreeClassifier(max_depth=2), n_estimators=5, random_state=0)
    decisions = clone(model).fit(X, y).decision_function(X)
    for label in range(3):
        alone = clone(model).fit(X, (y == label).astype(int))
        np.testing.assert_array_equal(decisions[:, label], alone.decision_function(X))


def test_probabilities_are_those_of_the_classes_over_their_sum() -> None:
    X, y = noisy(3)
    model = RealAdaBoostClassifier(n_estimators=10).fit(X, y)
    alone = [
        RealAdaBoostClassifier(n_estimators=10).fit(X, y == label).predict_proba(X)[:, 1] for label in model.classes_
    ]
    expected = np.stack(alone, axis=1)
    np.testing.assert_allclose(model.predict_proba(X), expected / expected.sum(axis=1, keepdims=True), rtol=1e-12)
    assert np.array_equal(model.classes_[model.predict_proba(X).argmax(axis=1)], model.predict(X))
