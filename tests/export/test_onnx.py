"""ONNX models in onnxruntime predict what the library predicts, to 1e-12, labels exactly."""

import json

import numpy as np
import pandas as pd
import pytest

from electorate import (
    AdaBoostClassifier,
    MedBoostRegressor,
    QuadBoostClassifierCV,
    QuadBoostRegressor,
    ThinnedClassifier,
)
from electorate.export import export_input
from tests.export.export_cases import CASES, fitted, probes, rows, target

pytest.importorskip("onnx", reason="onnx is not installed")
runtime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")


def run(model, X):
    """The outputs of the exported model by name."""
    proto = model.to_onnx()
    session = runtime.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(names, {"X": export_input(model, X)}), strict=True))


def check(model, X):
    found = run(model, X)
    if not hasattr(model, "classes_"):
        expected = model.predict(X)
        assert np.max(np.abs(found["prediction"] - expected) / np.maximum(1, np.abs(expected))) < 1e-12
        return
    assert found["label"].tolist() == model.predict(X).tolist()
    assert np.max(np.abs(found["decision"] - model.decision_function(X))) < 1e-12
    assert np.max(np.abs(found["probabilities"] - model.predict_proba(X))) < 1e-12
    assert found["decision"].shape == model.decision_function(X).shape


@pytest.mark.parametrize(("name", "family", "n_labels"), CASES)
def test_the_runtime_predicts_what_the_library_predicts(name, family, n_labels):
    model = fitted(name, family, n_labels)
    assert model.ensemble_.n_voters
    check(model, probes(model))


def test_the_input_may_hold_numbers_that_stand_for_nothing():
    """A client that encodes categories itself may send anything."""
    model = fitted("AdaBoostClassifier", "trees", 3)
    unseen = rows().assign(text="blue", code=np.nan)
    session = runtime.InferenceSession(model.to_onnx().SerializeToString())
    for number in (-1.0, 1.5, 77.0, 1e300, np.nan):
        sent = export_input(model, unseen)
        sent[:, 2:] = [number, 0.05]
        assert np.array_equal(session.run(["label"], {"X": sent})[0], model.predict(unseen))


@pytest.mark.parametrize("loss", ["exponential", "logistic"])
def test_losses_of_deepboost(loss):
    model = fitted("DeepBoostClassifier", "trees", 3)
    check(model.__class__(loss=loss, n_estimators=5).fit(rows()[["a"]], target("AdaBoostClassifier", 3)), rows()[["a"]])


@pytest.mark.parametrize("n_labels", [2, 3])
def test_calibrated_probabilities_are_exported(n_labels):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    y = np.digitize(X[:, 0] + rng.normal(size=200), [0, 1][: n_labels - 1])
    check(AdaBoostClassifier(n_estimators=5).fit(X[:100], y[:100]).calibrate(X[100:], y[100:]), X)


def test_a_factor_that_is_nearly_one_is_not_removed():
    """onnxruntime's optimiser removes a product with 1 + 1e-6 and a sum with 1e-9."""
    X = np.arange(40.0)[:, None]
    model = QuadBoostRegressor(n_estimators=3).fit(X, np.where(X[:, 0] > 19, 1e-9, -3e-9))
    assert np.allclose(run(model, X)["prediction"], model.predict(X), rtol=1e-12, atol=0)
    for scale in (1 + 1e-6, 1 - 1e-9):
        model.scale_ = scale
        assert np.allclose(run(model, X)["prediction"], model.predict(X), rtol=1e-14, atol=0)


def test_models_without_splits():
    one_class = AdaBoostClassifier().fit([[1.0], [2.0]], ["a", "a"])
    assert run(one_class, [[1.0], [5.0]])["label"].tolist() == ["a", "a"]
    constant = AdaBoostClassifier().fit([[1.0]] * 5, [0, 1, 1, 1, 1])
    check(constant, [[1.0], [np.nan]])


@pytest.mark.parametrize("classes", [[False, True], [5.0, 7.0], ["a", "ü'\""], [2**40, 2**41]])
def test_labels_keep_their_type(classes):
    X = np.arange(20.0)[:, None]
    model = AdaBoostClassifier().fit(X, np.array(classes)[(X[:, 0] > 9).astype(int)])
    found = run(model, X)["label"]
    assert found.tolist() == model.predict(X).tolist()
    assert found.dtype.kind in (model.classes_.dtype.kind, "O")


def test_the_chosen_model_of_a_search_is_exported():
    X = rows()[["a"]]
    model = QuadBoostClassifierCV(cv=2).fit(X, target("AdaBoostClassifier", 2))
    assert run(model, X)["label"].tolist() == model.predict(X).tolist()


def test_a_thinned_ensemble_is_exported():
    X = rows().drop(columns=["text"])
    check(ThinnedClassifier(AdaBoostClassifier(n_estimators=20)).fit(X, target("AdaBoostClassifier", 3)), X)


def test_many_rare_categories_share_a_number():
    rng = np.random.default_rng(0)
    texts = np.array([f"t{k}" for k in range(300)])
    X = pd.DataFrame({"c": np.concatenate([np.repeat(texts[:250], 3), texts])})
    model = AdaBoostClassifier(n_estimators=20).fit(X, rng.random(len(X)) < 0.5)
    assert model.bins_.categories[0].rest
    check(model, pd.concat([X, pd.DataFrame({"c": ["new", None]})]))


def test_metadata_tell_how_to_encode():
    model = fitted("AdaBoostClassifier", "trees", 2)
    found = {entry.key: entry.value for entry in model.to_onnx().metadata_props}
    assert json.loads(found["columns"]) == list(rows())
    levels = json.loads(found["categories"])["text"]
    assert levels == model.bins_.categories[2].levels.tolist()
    assert found["digest"] == model.digest_
    encoded = export_input(model, rows())[:, 2]
    assert all(levels[int(code)] == text for code, text in zip(encoded, rows()["text"], strict=True) if code == code)


def test_what_cannot_be_exported_is_refused_by_name():
    X, y = rows()[["a"]].fillna(0.0), target("QuadBoostRegressor", 0)
    with pytest.raises(TypeError, match="MedBoostRegressor predicts their weighted median"):
        MedBoostRegressor(n_estimators=2).fit(X, y).to_onnx()
    from sklearn.naive_bayes import GaussianNB

    with pytest.raises(TypeError, match="of the type GaussianNB"):
        AdaBoostClassifier(GaussianNB(), n_estimators=2).fit(X, y > 0).to_onnx()
