"""Scores of a fitted model: scikit-learn's metrics, intervals against the bootstrap, and the command."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binomtest
from sklearn import metrics as sk
from sklearn.datasets import load_diabetes, load_iris, make_classification

import electorate as el
from electorate.cli import main


def two_classes() -> tuple[el.AdaBoostClassifier, np.ndarray, np.ndarray]:
    X, y = make_classification(700, weights=[0.7], flip_y=0.15, random_state=0)
    return el.AdaBoostClassifier(n_estimators=20).fit(X[:300], y[:300]), X[300:], y[300:]


def references(model, X, y, weight=None) -> dict[str, float]:
    """The same metrics by scikit-learn."""
    predicted = model.predict(X)
    if not hasattr(model, "classes_"):
        squared = sk.mean_squared_error(y, predicted, sample_weight=weight)
        absolute = sk.mean_absolute_error(y, predicted, sample_weight=weight)
        return {"mae": absolute, "rmse": squared**0.5, "r2": sk.r2_score(y, predicted, sample_weight=weight)}
    proba = model.predict_proba(X)
    binary = len(model.classes_) == 2
    return {
        "error": sk.zero_one_loss(y, predicted, sample_weight=weight),
        "balanced_error": 1 - sk.balanced_accuracy_score(y, predicted, sample_weight=weight),
        "auc": sk.roc_auc_score(y, proba[:, 1] if binary else proba, multi_class="ovr", sample_weight=weight),
        "f1": sk.f1_score(y, predicted, average="binary" if binary else "macro", sample_weight=weight),
        "log_loss": sk.log_loss(y, proba, sample_weight=weight),
    }


def three_classes():
    X, y = load_iris(return_X_y=True)
    X = X + np.random.default_rng(0).normal(size=X.shape)
    return el.AdaBoostClassifier(n_estimators=10).fit(X[::2], y[::2]), X[1::2], y[1::2]


def numbers():
    X, y = load_diabetes(return_X_y=True)
    return el.MedBoostRegressor(n_estimators=10).fit(X[::2], y[::2]), X[1::2], y[1::2]


@pytest.mark.parametrize("make", [two_classes, three_classes, numbers])
@pytest.mark.parametrize("weighted", [False, True])
def test_values_are_those_of_scikit_learn(make, weighted: bool) -> None:
    model, X, y = make()
    weight = np.random.default_rng(0).uniform(0.5, 2, len(y)) if weighted else None
    found = el.scores(model, X, y, sample_weight=weight)
    expected = references(model, X, y, weight)
    assert set(found.metrics) == set(expected)
    for name, interval in found.metrics.items():
        assert interval.value == pytest.approx(expected[name], rel=1e-9), name
        assert interval.low <= interval.value <= interval.high
    assert sum(group.rows for group in found.calibration) == len(y)
    if found.classes:
        reference = sk.confusion_matrix(y, model.predict(X), sample_weight=weight)
        np.testing.assert_allclose(found.confusion, reference)


@pytest.mark.parametrize("make", [two_classes, three_classes, numbers])
def test_intervals_are_those_of_the_bootstrap(make) -> None:
    model, X, y = make()
    found = el.scores(model, X, y)
    rng = np.random.default_rng(0)
    draws = [references(model, X[rows], y[rows]) for rows in rng.integers(0, len(y), (100, len(y)))]
    for name, interval in found.metrics.items():
        spread = np.std([draw[name] for draw in draws])
        width = (interval.high - interval.low) / (2 * 1.96)
        assert 0.7 * spread < width < 1.4 * spread, name


def test_the_interval_of_the_error_is_exact() -> None:
    model, X, y = two_classes()
    wrong = int(np.sum(model.predict(X) != y))
    expected = binomtest(wrong, len(y)).proportion_ci(0.9, "exact")
    error = el.scores(model, X, y, confidence=0.9).metrics["error"]
    assert (error.low, error.high) == pytest.approx((expected.low, expected.high))


def test_no_error_at_all_leaves_doubt() -> None:
    X = np.arange(40.0)[:, None]
    found = el.scores(el.AdaBoostClassifier().fit(X, X[:, 0] > 19), X, X[:, 0] > 19)
    doubt = binomtest(0, 20).proportion_ci(0.95, "exact").high
    assert found.metrics["balanced_error"].high == pytest.approx(doubt)
    assert found.metrics["f1"].low == found.metrics["auc"].low == pytest.approx(1 - doubt)


def test_a_calibrated_model_is_calibrated() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 1))
    y = (rng.random(20_000) < 1 / (1 + np.exp(-2 * X[:, 0]))).astype(int)
    model = el.DeepBoostClassifier(loss="logistic", beta=0, n_estimators=60).fit(X[:10_000], y[:10_000])
    for group in el.scores(model, X[10_000:], y[10_000:], confidence=0.9999).calibration:
        assert group.observed.low - 0.03 <= group.predicted <= group.observed.high + 0.03


def test_what_cannot_be_scored() -> None:
    model, X, y = two_classes()
    for X_bad, y_bad, message in ((X, y[:-1], "inconsistent"), (X, np.full(len(y), "x"), "none is one of")):
        with pytest.raises(ValueError, match=message):
            el.scores(model, X_bad, y_bad)
    with pytest.raises(ValueError, match="confidence"):
        el.scores(model, X, y, confidence=1)
    with pytest.raises(ValueError, match="not one of"):
        el.scores(model, X, np.append(y[:-1], 7))


def test_the_command(tmp_path: Path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    x = rng.normal(size=400)
    frame = pd.DataFrame({"id": [f"c{k}" for k in range(400)], "price": [f"${1000 * v:,.2f}" for v in x]})
    frame["y"] = np.where(x + rng.normal(size=400) / 2 > 0, "yes", "no")
    frame["w"] = rng.integers(1, 4, 400)
    frame.loc[:3, "y"] = frame.loc[:3, "y"].str.upper()
    frame[:200].to_csv("train.csv", index=False)
    frame[200:].assign(y=frame["y"][200:].str.title()).to_csv("test.csv", index=False)
    assert main(["fit", "train.csv", "--target", "y", "--drop", "w", "--out", "m", "--quiet"]) == 0
    capsys.readouterr()
    assert main(["score", "m", "test.csv", "--target", "y", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    model = el.load("m")
    error = np.mean(model.predict(frame[200:]) != frame["y"][200:].to_numpy())
    assert found["metrics"]["error"]["value"] == pytest.approx(error)
    assert sum(map(sum, found["confusion"])) == found["rows"] == 200
    assert main(["score", "m", "test.csv", "--target", "y", "--csv", "--weights", "w"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "metric,value,low,high"
    assert len(lines) == 6
    assert main(["score", "m", "test.csv", "--target", "y"]) == 0
    output = capsys.readouterr()
    assert "confusion matrix" in output.out
    assert model.digest_ in output.err
    assert main(["score", "m", "test.csv"]) == 1
    assert "--target" in capsys.readouterr().err
