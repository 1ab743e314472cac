"""Logistic AdaBoost: the loss recomputed from outside, its weights and outputs, its bound, bits, and early stopping."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.tree import DecisionTreeClassifier

from electorate import LogisticAdaBoostClassifier, Pool, Rules, Stumps, Trees, Union, load
from tests.common import checks
from tests.common.cases import DATA
from tests.common.engines import ENGINES

few_cases = settings(derandomize=True, max_examples=25, deadline=None)
FAMILIES = {
    "stumps": Trees(1),
    "gentle": Trees(3, leaves="gentle"),
    "trees": Trees(2, smoothing=0.01),
    "rules": Rules(2),
    "union": Union([Stumps(), Trees(2)]),
}


def mean_loss(f, signs, weight):
    return np.sum(weight * np.logaddexp(0, -signs * f)) / np.log(2) / weight.sum()


@st.composite
def problems(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n = draw(st.integers(8, 60))
    X = rng.normal(size=(n, 3)).round(draw(st.integers(0, 2)))
    y = (X[:, 0] + X[:, 1] * X[:, 2] > rng.normal(size=n) * draw(st.sampled_from([0.1, 1.0]))).astype(int)
    y[:2] = 0, 1
    weights = {"none": np.ones(n), "whole": rng.integers(1, 4, n) * 1.0, "real": rng.uniform(0.01, 1, n)}
    return X, y, weights[draw(st.sampled_from(sorted(weights)))], draw(st.sampled_from([0.05, 0.3, 1.0]))


@few_cases
@given(problems(), st.sampled_from(sorted(FAMILIES)))
def test_the_loss_is_what_it_says_never_rises_and_bounds_the_error(problem, family):
    X, y, weight, rate = problem
    model = LogisticAdaBoostClassifier(FAMILIES[family], learning_rate=rate, n_estimators=15).fit(X, y, weight)
    losses = [mean_loss(f, 2 * y - 1, weight) for f in model.staged_decision_function(X)]
    np.testing.assert_allclose(model.history_["objective"], losses, rtol=1e-9)
    path = np.concatenate([[1.0], losses])
    assert np.all(np.diff(path) <= 1e-12 * path[:-1])
    assert np.all(model.history_["train_error"] <= model.history_["objective"])
    assert model.convergence().holds


@few_cases
@given(problems(), st.sampled_from(["gentle", "log_odds"]))
def test_outputs_of_leaves_by_the_weights_of_the_paper(problem, leaves):
    """Weights 1 / (1 + exp(y f)): half the log-odds, or the difference of the shares, of the labels of a leaf."""
    X, y, weight, rate = problem
    family = Trees(2, leaves=leaves, smoothing=1e-3)
    model = LogisticAdaBoostClassifier(family, learning_rate=rate, n_estimators=6, max_bins="exact").fit(X, y, weight)
    signs, f = 2 * y - 1, np.zeros(len(y))
    for after in model.staged_decision_function(X):
        w, moved = weight / (1 + np.exp(signs * f)), after - f
        values = np.unique(moved)
        for value in values if len(values) == 4 else ():  # else two leaves have the same output
            low, high = (w[(moved == value) & (signs == sign)].sum() / w.sum() + 1e-3 for sign in (-1, 1))
            expected = (high - low) / (high + low) if leaves == "gentle" else 0.5 * np.log(high / low)
            assert value == pytest.approx(rate * expected, rel=1e-6, abs=1e-9)
        f = after


@few_cases
@given(st.floats(-30, 30), st.floats(-5, 5))
def test_the_bound_of_the_loss(margin, gain):
    """Collins, Schapire and Singer: what a voter adds to the loss of one example is at most w (exp(-gain) - 1)."""
    added = np.logaddexp(0, -(margin + gain)) - np.logaddexp(0, -margin)
    assert added <= (np.exp(-gain) - 1) / (1 + np.exp(margin)) + 1e-12


def test_probabilities_are_those_of_the_log_odds():
    X, y = DATA["two-labels"]
    model = LogisticAdaBoostClassifier(n_estimators=10).fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], 1 / (1 + np.exp(-model.decision_function(X))), rtol=1e-12)


def test_the_validation_score_is_the_logistic_loss(tmp_path):
    X, y = DATA["two-labels"]
    model = LogisticAdaBoostClassifier(n_estimators=40, early_stopping=True, n_iter_no_change=5)
    model.fit(X[:60], y[:60], X_val=X[60:], y_val=y[60:])
    losses = [mean_loss(f, 2 * y[60:] - 1, np.ones(30)) for f in model.staged_decision_function(X[60:])]
    np.testing.assert_allclose(model.history_["validation"][: len(losses)], losses, rtol=1e-9)
    assert model.best_round_ == 1 + int(np.argmin(model.history_["validation"]))
    model.save(tmp_path / "model")
    assert load(tmp_path / "model").digest_ == model.digest_


def test_voters_without_log_odds_are_refused():
    with pytest.raises(ValueError, match=r"LogisticAdaBoostClassifier cannot boost Pool: every step"):
        LogisticAdaBoostClassifier(Pool()).fit(*DATA["two-labels"])


def test_estimators_of_scikit_learn():
    X, y = DATA["three-labels"]
    model = LogisticAdaBoostClassifier(DecisionTreeClassifier(max_depth=2), n_estimators=5).fit(X, y)
    assert model.score(X, y) > 0.6


BITS = [
    *(checks.check_weight_is_repetition, checks.check_zero_weight_is_no_row, checks.check_rows_permuted),
    *(checks.check_any_parts, checks.check_staged_is_fitted),
    *(checks.check_history_is_complete, checks.check_objective_never_rises, checks.check_train_error_is_score),
    checks.check_stops_with_a_reason,
]


@pytest.mark.parametrize("family", ["gentle", "union"])
@pytest.mark.parametrize("data", ["two-labels", "missing"])
@pytest.mark.parametrize("check", BITS)
def test_common_checks(check, data, family):
    model = LogisticAdaBoostClassifier(FAMILIES[family], n_estimators=6, learning_rate=1)
    check(ENGINES["threads"], model, *DATA[data])


def test_warm_start_of_one_against_the_rest():
    X, y = DATA["three-labels"]
    whole = LogisticAdaBoostClassifier(n_estimators=6).fit(X, y)
    part = LogisticAdaBoostClassifier(n_estimators=2, warm_start=True).fit(X, y)
    assert part.set_params(n_estimators=6).fit(X, y).digest_ == whole.digest_
