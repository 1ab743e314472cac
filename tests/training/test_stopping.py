"""How a fit ends on data that is too easy or hopeless: with a named reason and finite numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from samples import noisy

from electorate import AdaBoostClassifier

REASONS = {"n_estimators", "no_edge", "perfect_voter"}


def fit(X: Any, y: Any, **options: Any) -> AdaBoostClassifier:
    return AdaBoostClassifier(**{"n_estimators": 30, **options}).fit(X, y)


def assert_finite(model: AdaBoostClassifier, X: Any) -> None:
    assert model.stop_reason_ in REASONS
    assert len(model.estimators_) == len(model.steps_) == len(model.estimator_errors_) <= model.n_estimators
    assert all(len(column) == len(model.steps_) for column in model.history_.values())
    for column in model.history_.values():
        assert np.all(np.isfinite(column))
    assert np.all(model.steps_ > 0)
    assert np.all(np.isfinite(model.predict_proba(X)))


@pytest.mark.parametrize("labels", [2, 3, 5])
@pytest.mark.parametrize("learning_rate", [1.0, 0.1])
def test_separable_data(labels: int, learning_rate: float) -> None:
    """One stump tells two labels apart; more labels take more of them."""
    x = np.linspace(0, 1, 200)
    y = np.minimum((x * labels).astype(int), labels - 1)
    model = fit(x[:, None], y, learning_rate=learning_rate)
    assert_finite(model, x[:, None])
    if labels == 2:
        assert model.stop_reason_ == "perfect_voter"
        assert len(model.steps_) == 1
        assert model.score(x[:, None], y) == 1
        assert model.estimator_errors_.tolist() == [0]
        assert model.history_["train_error"].tolist() == [0]


def test_separable_by_missingness_or_by_category() -> None:
    y = np.arange(60) % 2
    gaps = np.where(y == 1, np.nan, np.arange(60))[:, None]
    sets = np.where(y == 1, np.arange(60) % 6, 10 + np.arange(60) % 6).astype(float)[:, None]
    for X, categorical in ((gaps, []), (sets, [0])):
        model = fit(X, y, categorical_features=categorical)
        assert model.stop_reason_ == "perfect_voter"
        assert model.score(X, y) == 1
        assert_finite(model, X)


def test_a_perfect_voter_ends_the_fit_as_in_scikit_learn() -> None:
    x, y = np.arange(10.0)[:, None], np.arange(10) >= 4
    model = fit(x, y)
    assert model.estimator_weights_.tolist() == [1]
    assert model.decision_function(x).tolist() == [-2] * 4 + [2] * 6


@pytest.mark.parametrize("labels", [2, 3])
def test_no_edge_from_the_start(labels: int) -> None:
    """Every value carries every label once: no voter is better than chance."""
    X = np.repeat(np.arange(6.0), labels)[:, None]
    y = np.tile(np.arange(labels), 6)
    for options in ({}, {"categorical_features": [0]}, {"max_bins": 2}):
        model = fit(X, y, **options)
        assert model.stop_reason_ == "no_edge"
        assert len(model.steps_) == 0
        assert_finite(model, X)
        assert set(model.predict(X)) == {0}
        assert model.feature_importances_.tolist() == [0]


def test_no_edge_later() -> None:
    """The vote for all has an edge once; after it every label weighs the same everywhere."""
    X = np.repeat(np.arange(4.0), 3)[:, None]
    y = np.tile([0, 1, 1], 4)
    model = fit(X, y)
    assert model.stop_reason_ == "no_edge"
    assert len(model.steps_) == 1
    assert model.estimators_[0].to_text() == "always 1"
    assert np.all(model.predict(X) == 1)
    assert_finite(model, X)


def test_all_rounds() -> None:
    X, y = noisy()
    model = fit(X, y)
    assert model.stop_reason_ == "n_estimators"
    assert len(model.steps_) == 30
    assert_finite(model, X)


def test_one_round_of_many_on_hopeless_noise() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 3)), rng.integers(0, 2, 40)
    model = fit(X, y, n_estimators=400)
    assert_finite(model, X)
    assert np.all(model.history_["edge"] > 0)


def test_thousands_of_rounds() -> None:
    """Margins grow to where exp(-margin) is 1e-70; the weights are taken relative to the smallest margin."""
    X, y = noisy(rows=100)
    X[:, 0] = y + np.linspace(-0.4, 0.4, 100)
    y[[5, 50]] = 1 - y[[5, 50]]
    model = fit(X, y, n_estimators=2000)
    assert_finite(model, X)
    assert model.score(X, y) == 1
    margin = np.where(y == 1, 1, -1) * model.decision_function(X) / 2 * model.steps_.sum()
    assert margin.min() > 100
    assert model.history_["objective"][-1] == pytest.approx(np.exp(-margin).mean(), rel=1e-6)
    assert fit(X, y, n_estimators=2000, n_jobs=3).digest_ == model.digest_
