"""What our algorithms are compared with: constants, linear models, other libraries where they are installed."""

import importlib.util
import sys

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.dummy import DummyClassifier
from threadpoolctl import threadpool_limits

import electorate
from electorate.comparison.algorithms import CLASSIFICATION, PEERS, Facts, applicable
from electorate.comparison.cells import Coded
from electorate.comparison.peers import LIBRARIES, Constant, Linear


def table(n: int = 300) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Numbers with missing values, codes of categories, labels, and a quantity."""
    rng = np.random.default_rng(0)
    code = rng.integers(0, 4, n).astype(float)
    x = rng.normal(size=n)
    quantity = np.where(code % 2 == 0, 2.0, -2.0) + x + 0.3 * rng.normal(size=n)
    columns = np.column_stack([x, code])
    columns[::17, 0] = np.nan
    columns[::19, 1] = np.nan
    return columns, (quantity > 0).astype(int), quantity


@pytest.mark.parametrize("name", ["linear", *LIBRARIES])
@pytest.mark.parametrize("is_classifier", [True, False])
def test_peers_learn_from_categories_and_missing_values(name, is_classifier):
    if name != "linear" and importlib.util.find_spec(LIBRARIES[name][0].split(".")[0]) is None:
        pytest.skip(f"{name} is not installed")
    X, labels, quantity = table()
    target = labels if is_classifier else quantity
    peer = PEERS[name][0 if is_classifier else 1]
    for setting in peer.grid:
        with threadpool_limits(1):
            model = peer.build(setting, Facts([1], 0, 4)).fit(X, target, sample_weight=np.ones(len(X)))
            error = np.mean(np.abs(model.predict(X) - target))
        assert error < (0.15 if is_classifier else 1.4)  # 1.8 for a constant
        if is_classifier:
            assert model.predict_proba(X).shape == (len(X), 2)


def test_the_linear_model_is_scaled_and_takes_sparse_rows():
    X, y, _ = table()
    X = np.nan_to_num(X)
    X[:, 0] *= 1e6
    one = Linear(categorical=(1,)).fit(X, y).predict(X)
    X[:, 0] /= 1e6
    assert np.mean(one == Linear(categorical=(1,)).fit(X, y).predict(X)) > 0.99
    random = np.random.default_rng(0)
    many = sparse.csr_array(random.random((200, 30)) * (random.random((200, 30)) < 0.2))
    label = (many.toarray()[:, 0] > 0).astype(int)
    assert np.mean(Linear(strength=100.0).fit(many, label).predict(many) == label) > 0.9


def test_the_constant_is_that_of_scikit_learn():
    X, y, quantity = table()
    weight = np.arange(len(y)).astype(float)
    ours = Constant().fit(X, y, weight).predict_proba(X)
    assert np.array_equal(ours, DummyClassifier(strategy="prior").fit(X, y, weight).predict_proba(X))
    assert np.all(Constant(False).fit(X, quantity).predict(X) == np.median(quantity))
    assert Constant(False, "mean").fit(X, quantity).predict(X)[0] == pytest.approx(quantity.mean())


def test_probabilities_of_a_peer_are_calibrated_without_changing_its_predictions():
    X, y, _ = table()
    model = Coded(PEERS["linear"][0], {"strength": 1.0}, 0, None, True).fit(np.nan_to_num(X), y)
    before, labels = model.predict_proba(np.nan_to_num(X)), model.predict(np.nan_to_num(X))
    model.temperature_ = 0.5
    after = model.predict_proba(np.nan_to_num(X))
    assert after.sum(axis=1) == pytest.approx(np.ones(len(X)))
    assert np.array_equal(np.argmax(after, axis=1), labels)
    assert np.all(after.max(axis=1) <= before.max(axis=1))


def test_a_peer_that_is_not_installed_is_named_with_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "interpret.glassbox", None)
    with pytest.raises(ValueError, match="ebm is not installed: pip install interpret-core"):
        applicable("binary", peers=["ebm"])
    with pytest.raises(ValueError, match="no peer is called 'sgd'"):
        applicable("binary", peers=["sgd"])


def test_default_peers_are_compared_on_sparse_rows_and_categories():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"c": rng.choice(list("abc"), 150), "x": rng.normal(size=150)})
    y = np.where((frame["c"] == "a") ^ (frame["x"] > 0), "yes", "no")
    names = ["AdaBoost, stumps"]
    with threadpool_limits(1):
        one = electorate.compare(frame, y, algorithms=names, peers=["linear", "hgb"], n_jobs=1, quick=True, folds=2)
        many = sparse.csr_array(np.column_stack([frame["x"] > 0, frame["c"] == "a"]).astype(float))
        two = electorate.compare(many, y, algorithms=names, peers=["linear", "hgb"], n_jobs=1, quick=True, folds=2)
    for found in (one, two):
        assert not found.failed
        assert len(found.columns["algorithm"]) == 4
    assert set(CLASSIFICATION) == set(one.ranking.lines[0].algorithm.tasks)
