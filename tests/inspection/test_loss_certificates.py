"""Bounds on other losses, each recomputed, with coverage where the expectation is known."""

import json
import math

import numpy as np
import pytest
from scipy.stats import binom
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.metrics import balanced_accuracy_score, log_loss, mean_absolute_error, roc_auc_score

from electorate import AdaBoostClassifier, AdaBoostRegressor, MedBoostRegressor
from electorate.inspection import loss_certificate
from electorate.theory.binomial import class_limits, mean_bound, misranked
from electorate.theory.bounds import total
from electorate.theory.pac_bayes import binary_kl


@pytest.fixture(scope="module")
def cancer():
    X, y = load_breast_cancer(return_X_y=True)
    return AdaBoostClassifier(n_estimators=10).fit(X[:300], y[:300]), (X[300:], y[300:])


def test_classes_and_balanced_error(cancer):
    model, (X, y) = cancer
    found = loss_certificate(model, (X, y), delta=0.1)
    errors = [int(np.sum(model.predict(X[y == label]) != label)) for label in (0, 1)]
    for label in (0, 1):
        bound = found[f"error of class {label}"].value
        assert binom.cdf(errors[label], np.sum(y == label), bound) == pytest.approx(0.05)
    assert found["balanced error"].terms["observed"] == pytest.approx(1 - balanced_accuracy_score(y, model.predict(X)))
    parts = [found[f"error of class {label}"].value for label in (0, 1)]
    assert found["balanced error"].value == pytest.approx(np.mean(parts))
    assert "balanced error: at most" in str(found)
    json.dumps(found.to_dict())


def test_a_class_without_rows_has_no_bound():
    X, y = load_iris(return_X_y=True)
    model = AdaBoostClassifier(n_estimators=5).fit(X[::2], y[::2])
    some = np.flatnonzero(y < 2)[1::2]
    found = loss_certificate(model, (X[some], y[some]), equal_rows="allow")
    assert found["error of class 2"].value == 1
    assert found["error of class 2"].status == "vacuous"


def test_means(cancer):
    model, (X, y) = cancer
    n, proba = len(y), model.predict_proba(X)
    cost = loss_certificate(model, (X, y), loss="cost", costs=[[0, 5], [1, 0]])["cost"]
    predicted = model.predict(X)
    assert cost.terms["observed"] == pytest.approx(np.mean(np.where(predicted == y, 0, np.where(y == 0, 5, 1))))
    logs = loss_certificate(model, (X, y), loss="log", clip=0.001)["log loss"]
    assert logs.terms["observed"] == pytest.approx(log_loss(y, np.clip(proba, 0.001, 0.999)), rel=0.01)
    assert "below 0.001 count as 0.001" in str(loss_certificate(model, (X, y), loss="log", clip=0.001))
    ranks = loss_certificate(model, (X, y), loss="auc")["1 - AUC"]
    assert ranks.terms["observed"] == pytest.approx(1 - roc_auc_score(y, proba[:, 1]))
    for bound, largest, rows in ((cost, 5, n), (logs, math.log(1000), n), (ranks, 1, min(np.bincount(y)))):
        observed, value = bound.terms["observed"] / largest, bound.value / largest
        assert binary_kl(observed, value) == pytest.approx(math.log(20) / rows, rel=1e-4)


def test_absolute_error():
    X, y = load_diabetes(return_X_y=True)
    model = AdaBoostRegressor(n_estimators=5, random_state=0).fit(X[:300], y[:300])
    found = loss_certificate(model, (X[300:], y[300:]), loss="absolute", largest=400.0)["absolute error"]
    assert found.terms["observed"] == pytest.approx(mean_absolute_error(y[300:], model.predict(X[300:])))
    assert found.terms["observed"] < found.value < 400
    assert found.status == "proved"


def test_intervals():
    """Misses among rows that neither fitted nor calibrated the model are binomial."""
    X, y = load_diabetes(return_X_y=True)
    model = MedBoostRegressor(n_estimators=5).fit(X[:200], y[:200]).calibrate(X[200:300], y[200:300])
    for options in ({"coverage": 0.8}, {"rho": 0.1}):
        found = loss_certificate(model, (X[300:], y[300:]), loss="interval", **options)["outside of the interval"]
        low, high = model.predict_interval(X[300:], **options)
        missed = int(np.sum(~((low <= y[300:]) & (y[300:] <= high))))
        assert found.terms["observed"] == missed / 142
        assert binom.cdf(missed, 142, found.value) == pytest.approx(0.05)
    with pytest.raises(ValueError, match="took part"):
        loss_certificate(model, (X[200:], y[200:]), loss="interval", coverage=0.8)
    with pytest.raises(ValueError, match="either rho"):
        loss_certificate(model, (X[300:], y[300:]), loss="interval")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"loss": "mse"}, "one of classes"),
        ({"loss": "cost"}, "2 rows of 2"),
        ({"loss": "cost", "costs": [[0, -1], [1, 0]]}, "not negative"),
        ({"loss": "log", "clip": 0.0}, "clip"),
        ({"loss": "absolute", "largest": 1.0}, "not for AdaBoostClassifier"),
        ({"loss": "interval", "coverage": 0.9}, "not for AdaBoostClassifier"),
        ({"delta": 1.0}, "delta"),
    ],
)
def test_bad_options(cancer, given, message):
    with pytest.raises(ValueError, match=message):
        loss_certificate(*cancer, **given)


def test_rows_of_the_fit_and_weights_are_refused(cancer):
    model, (X, y) = cancer
    X_all, y_all = load_breast_cancer(return_X_y=True)
    with pytest.raises(ValueError, match="took part"):
        loss_certificate(model, (X_all[:310], y_all[:310]))
    with pytest.raises(ValueError, match="weights"):
        loss_certificate(model, (X, y, np.ones(len(y))))


def test_coverage_of_means_and_pairs():
    """Losses of 0, 1/2 and 1 under heavy imbalance; scores whose AUC is known."""
    rng, draws, delta = np.random.default_rng(0), 400, 0.2
    missed, unpaid, ranked, alone = 0, 0, 0, 0
    for _ in range(draws):
        losses = rng.choice([0, 0.5, 1], 40, p=[0.96, 0.02, 0.02])
        missed += total(mean_bound(losses, delta)) < 0.03
        unpaid += losses.mean() < 0.03
        positive = np.arange(60) < 6
        pairs = misranked(rng.integers(0, 5, 60).astype(float), positive)  # chance: AUC 1/2, many ties
        ranked += total(mean_bound(pairs, delta, 1.0, 6)) < 0.5
        alone += total(mean_bound(pairs, delta, 1.0, 6 * 54)) < 0.5
    most = binom.ppf(0.999, draws, delta)
    assert max(missed, ranked) <= most
    assert unpaid > most
    assert alone > ranked


def test_class_limits_hold_together():
    rng, rates, rows = np.random.default_rng(1), np.array([0.3, 0.02, 0.6]), [40, 15, 5]
    found = [np.all(class_limits(rng.binomial(rows, rates).tolist(), rows, 0.2) >= rates) for _ in range(400)]
    assert 400 - sum(found) <= binom.ppf(0.999, 400, 0.2)
