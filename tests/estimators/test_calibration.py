"""Calibrated probabilities: the log loss falls, predictions and digests stay, files keep them."""

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.metrics import log_loss

import electorate
from electorate import Trees, modelfile
from electorate.model.decisions import ABSENT, fit_temperature, log_probabilities
from electorate.modelfile import ModelFormatError
from electorate.registry import ALGORITHMS

CLASSIFIERS = [name for name, one in ALGORITHMS.items() if one.is_classifier]


def data(n_classes: int, n: int = 600) -> tuple[np.ndarray, np.ndarray]:
    X, y = make_classification(n, 6, n_informative=5, n_redundant=0, n_classes=n_classes, flip_y=0.2, random_state=0)
    return X, np.array(["a", "b", "c"])[y]


@pytest.mark.parametrize("name", CLASSIFIERS)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_calibration_lowers_the_log_loss_and_changes_nothing_else(name, n_classes, tmp_path):
    X, y = data(n_classes)
    model = getattr(electorate, name)(n_estimators=15).fit(X[:300], y[:300])
    before, labels, digest = model.predict_proba(X), model.predict(X), model.digest_
    model.calibrate(X[300:], y[300:])
    after = model.predict_proba(X)
    assert (
        log_loss(y[300:], np.clip(after[300:], 1e-15, 1)) <= log_loss(y[300:], np.clip(before[300:], 1e-15, 1)) + 0.01
    )
    assert np.array_equal(model.classes_[np.argmax(after, axis=1)], labels)
    assert np.array_equal(model.predict(X), labels)
    assert model.digest_ == digest
    model.save(tmp_path / "m")
    stored = electorate.load(tmp_path / "m")
    assert np.array_equal(stored.predict_proba(X), after)
    assert not hasattr(model.fit(X, y), "temperature_")


def test_cross_fitting_is_close_to_calibrating_on_new_rows():
    X, y = data(2, 4_000)
    model = electorate.AdaBoostClassifier(Trees(3), n_estimators=30).fit(X[:2_000], y[:2_000])
    crossed = model.calibrate(X[:2_000], y[:2_000], cv=4).temperature_
    assert crossed == pytest.approx(model.calibrate(X[2_000:], y[2_000:]).temperature_, rel=0.25)
    rare = np.where(np.arange(100) == 0, "b", "a")
    other = electorate.AdaBoostClassifier(n_estimators=2).fit(X[:100], rare)
    with pytest.raises(ValueError, match="'b' has too few distinct rows for cv=2"):
        other.calibrate(X[:100], rare, cv=2)
    for cv in (0, 1, 2.5):
        with pytest.raises(ValueError, match="cv is"):
            other.calibrate(X[:100], rare, cv=cv)
    with pytest.raises(ValueError, match="zero for every row"):
        other.calibrate(X[:100], rare, np.zeros(100))
    with pytest.raises(ValueError, match="not been trained with the class 'z'"):
        model.calibrate(X[:2], np.array(["a", "z"]))


def test_the_temperature_has_the_least_log_loss_and_is_finite():
    rng = np.random.default_rng(0)
    for decision in (rng.normal(size=500), rng.normal(size=(500, 3)), 1e-6 * rng.normal(size=500)):
        n_classes = 2 if decision.ndim == 1 else 3
        truth = np.exp(log_probabilities(decision / np.std(decision), 1.5))
        codes = np.array([rng.choice(n_classes, p=p) for p in truth])
        found = fit_temperature(decision, codes)

        def loss(t, decision=decision, codes=codes):
            return -np.mean(log_probabilities(decision, t)[np.arange(500), codes])

        assert loss(found) <= min(loss(found * factor) for factor in (0.5, 0.9, 1.1, 2.0)) + 1e-6
    assert np.isfinite(fit_temperature(np.array([1.0, -1.0]), np.array([1, 0])))
    assert fit_temperature(np.empty(0), np.empty(0, int)) == 1.0


@pytest.mark.parametrize("n_classes", [2, 3])
def test_neither_order_nor_repetition_of_rows_changes_the_temperature(n_classes):
    rng = np.random.default_rng(0)
    decision = rng.normal(size=301) if n_classes == 2 else rng.normal(size=(301, n_classes))
    codes, weight = rng.integers(0, n_classes, 301), rng.integers(0, 4, 301)
    first = fit_temperature(decision, codes, weight.astype(float))
    repeated = np.repeat(np.arange(301), weight)
    assert fit_temperature(decision[repeated], codes[repeated]) == first
    for _ in range(5):
        order = rng.permutation(301)
        assert fit_temperature(decision[order], codes[order], weight[order].astype(float)) == first
    assert fit_temperature(decision, codes, np.zeros(301)) == 1.0


def test_neither_order_nor_repetition_of_rows_changes_cross_fitting():
    X, y = data(3, 200)
    model = electorate.AdaBoostClassifier(Trees(2), n_estimators=5).fit(X, y)
    weight = np.random.default_rng(0).integers(0, 3, len(y))
    first = model.calibrate(X, y, weight, cv=3).temperature_
    rows = np.random.default_rng(1).permutation(np.repeat(np.arange(len(y)), weight))
    assert model.calibrate(X[rows], y[rows], cv=3).temperature_ == first


def test_a_class_that_the_model_does_not_know_has_no_say():
    """With a column for an absent class, the temperature is that of the other columns."""
    rng = np.random.default_rng(0)
    decision = rng.normal(size=(200, 3))
    codes = np.argmax(decision + rng.normal(size=(200, 3)), axis=1)
    wider = np.insert(decision, 1, ABSENT, axis=1)
    assert fit_temperature(wider, codes + (codes > 0)) == pytest.approx(fit_temperature(decision, codes), rel=1e-3)


@pytest.mark.parametrize("bad", [np.array([-1.0]), np.array([np.nan]), np.array([1.0, 1.0])])
def test_a_forged_temperature_is_refused(bad, tmp_path):
    X, y = data(2)
    model = electorate.AdaBoostClassifier(n_estimators=2).fit(X, y).calibrate(X, y)
    model.save(tmp_path / "m")
    contents = modelfile.read(tmp_path / "m")
    modelfile.write(tmp_path / "m", contents.kind, contents.meta, {**contents.arrays, "temperature": bad})
    with pytest.raises(ModelFormatError):
        electorate.load(tmp_path / "m")
