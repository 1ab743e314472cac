"""Class weights in comparisons by metrics for which rare classes count more."""

import numpy as np
from sklearn.metrics import balanced_accuracy_score
from sklearn.model_selection import TunedThresholdClassifierCV, train_test_split

import electorate
from electorate.comparison.algorithms import BALANCED, Facts, applicable, balanced
from electorate.comparison.fits import train


def rare_class(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """One row in fifteen is of the second class, and the classes overlap."""
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < 1 / 15).astype(int)
    return rng.normal(size=(n, 4)) + y[:, None] * 0.9, y


def test_every_setting_is_tried_with_and_without_class_weights() -> None:
    for one in applicable("binary", peers=["linear", "hgb"]):
        grid = balanced(one).grid
        assert list(grid) == list(one.grid) if one.baseline else grid[::2] == one.grid
        assert one.baseline or grid[1::2] == tuple(setting | BALANCED for setting in one.grid)


def test_regressors_have_no_class_weights() -> None:
    assert all(balanced(one).grid == one.grid for one in applicable("regression", peers=[]))


def test_a_peer_with_class_weights_is_one_trained_with_sample_weights() -> None:
    X, y = rare_class(300, 0)
    weight = np.where(y == 1, 300 / (2 * y.sum()), 300 / (2 * (300 - y.sum())))
    peer = next(one for one in applicable("binary", peers=["hgb"]) if one.name == "HistGradientBoosting")
    own = peer.grid[0] | BALANCED
    fitted = [
        train(peer.build(own, Facts([], 0)), own, X, y, None),
        train(peer.build(peer.grid[0], Facts([], 0)), peer.grid[0], X, y, weight),
    ]
    first, second = (model.predict_proba(X) for model in fitted)
    np.testing.assert_array_equal(first, second)
    assert peer.build(own, Facts([], 0)).get_params()["class_weight"] == "balanced"


def test_compare_finds_class_weights_where_they_help() -> None:
    X, y = rare_class(900, 1)
    found = electorate.compare(
        X, y, metric="balanced_error", algorithms=["AdaBoost, stumps"], peers=["linear"], quick=True, n_jobs=1
    )
    assert found.setting["class_weight"] == "balanced"
    assert "balanced" in found.code
    plain = electorate.AdaBoostClassifier(n_estimators=100).fit(X, y)
    X_new, y_new = rare_class(4_000, 2)
    errors = [1 - balanced_accuracy_score(y_new, model.predict(X_new)) for model in (found.model, plain)]
    assert errors[0] < errors[1] - 0.1


def test_a_threshold_is_tuned_by_scikit_learn() -> None:
    X, y = rare_class(1_000, 3)
    train, test, y_train, y_test = train_test_split(X, y, stratify=y, random_state=0)
    plain = electorate.AdaBoostClassifier(n_estimators=30).fit(train, y_train)
    tuned = TunedThresholdClassifierCV(electorate.AdaBoostClassifier(n_estimators=30), cv=3).fit(train, y_train)
    errors = [1 - balanced_accuracy_score(y_test, model.predict(test)) for model in (tuned, plain)]
    assert errors[0] < errors[1]
