"""Metrics as means over rows: equal to scikit-learn's, with weights too, and with the spread of the metric."""

import numpy as np
import pytest
from sklearn import metrics as sk

from electorate.comparison.metrics import METRICS, Scored, calibration_error, metric_for


def drawn(n_classes: int, weighted: bool, n: int = 400, seed: int = 0) -> Scored:
    rng = np.random.default_rng(seed)
    target = rng.integers(0, max(2, n_classes), n)
    if not n_classes:
        target = rng.normal(size=n)
    columns = n_classes if n_classes > 2 else 1
    scores = rng.normal(size=(n, columns))
    if n_classes == 2:
        scores[:, 0] += target - 0.7
    elif n_classes:
        scores[np.arange(n), target] += 1
    scores = np.round(scores, 1)  # with ties
    return Scored(target, scores, n_classes, 0.8, rng.exponential(size=n) if weighted else None)


def reference(name: str, scored: Scored) -> float:
    y, weight = scored.target, scored.weight
    proba = np.exp(scored.log_probabilities) if scored.n_classes else None
    if name == "error":
        return 1 - sk.accuracy_score(y, scored.labels, sample_weight=weight)
    if name == "balanced_error":
        return 1 - sk.balanced_accuracy_score(y, scored.labels, sample_weight=weight)
    if name == "log_loss":
        return sk.log_loss(y, proba, sample_weight=weight)
    if name == "f1":
        average = "binary" if scored.n_classes == 2 else "macro"
        return 1 - sk.f1_score(y, scored.labels, average=average, sample_weight=weight)
    if name == "auc":
        columns = range(scored.n_classes) if scored.n_classes > 2 else [1]
        return 1 - np.mean([sk.roc_auc_score(y == k, proba[:, k], sample_weight=weight) for k in columns])
    if name == "mae":
        return sk.mean_absolute_error(y, scored.decision, sample_weight=weight)
    return sk.root_mean_squared_error(y, scored.decision, sample_weight=weight)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    ("name", "n_classes"),
    [(name, k) for name, metric in METRICS.items() for k in ((2, 4) if metric.for_classes else (0,))],
)
def test_the_mean_over_rows_is_the_metric_of_scikit_learn(name, n_classes, weighted):
    scored = drawn(n_classes, weighted)
    assert METRICS[name].value(scored) == pytest.approx(reference(name, scored), rel=1e-9)
    assert METRICS[name].shown(0.25) == (0.75 if name in ("auc", "f1") else 0.25)


@pytest.mark.parametrize("name", ["auc", "f1", "rmse", "balanced_error"])
def test_the_spread_over_rows_is_the_sampling_error_of_the_metric(name):
    n_classes = 2 if METRICS[name].for_classes else 0
    samples = [drawn(n_classes, False, 500, seed) for seed in range(150)]
    values = [METRICS[name].value(one) for one in samples]
    spreads = [np.std(METRICS[name].losses(one)) / np.sqrt(500) for one in samples]
    assert np.mean(spreads) == pytest.approx(np.std(values), rel=0.3)


def test_rows_of_one_class_have_no_order():
    scored = Scored(np.zeros(5, int), np.arange(5.0)[:, None], 2)
    assert METRICS["auc"].value(scored) == 0.5
    assert METRICS["f1"].value(Scored(np.zeros(5, int), -np.ones((5, 1)), 2)) == 0.0


def test_calibration_error_of_right_and_of_wrong_probabilities():
    rng = np.random.default_rng(0)
    logit = rng.normal(size=20_000) * 2
    y = (rng.random(20_000) < 1 / (1 + np.exp(-logit))).astype(int)
    assert calibration_error(Scored(y, logit[:, None], 2)) < 0.02
    assert calibration_error(Scored(y, logit[:, None], 2, temperature=10.0)) > 0.1
    assert calibration_error(Scored(y, logit[:, None], 2, temperature=0.1)) > 0.1


def test_a_metric_fits_the_task():
    assert metric_for(None, 2).name == "error"
    assert metric_for(None, 0).name == "mae"
    with pytest.raises(ValueError, match="for regression choose from mae, rmse"):
        metric_for("auc", 0)
    with pytest.raises(ValueError, match="for classification choose from error"):
        metric_for("rmse", 3)
