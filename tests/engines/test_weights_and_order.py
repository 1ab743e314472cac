"""What must not change a model: the scale of weights, weights against repeats, the order of rows and columns.

Models are compared by digest wherever the promise is "the same", by steps where it is "equal to 1e-9".
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from samples import messy, noisy
from sklearn.base import clone

from electorate import (
    AdaBoostClassifier,
    DeepBoostClassifier,
    MedBoostRegressor,
    QuadBoostRegressor,
    RealAdaBoostClassifier,
    RegressionTrees,
    Trees,
)

CLASS_WEIGHTS: list[Any] = [None, "balanced", {0: 3, 1: 2}, {0: 0.1, 1: 0.7}]


def fit(X: Any, y: Any, weight: Any = None, **options: Any) -> AdaBoostClassifier:
    return AdaBoostClassifier(**{"n_estimators": 15, **options}).fit(X, y, sample_weight=weight)


def whole(rows: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).integers(1, 6, rows).astype(float)


def real(rows: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).random(rows) + 0.1


# ---------------------------------------------------------------- scale and type of weights


@pytest.mark.parametrize("class_weight", CLASS_WEIGHTS)
@pytest.mark.parametrize("draw", [whole, real])
def test_weights_times_a_power_of_two(draw: Any, class_weight: Any) -> None:
    X, y = messy()
    weight = draw(len(y))
    digest = fit(X, y, weight, class_weight=class_weight).digest_
    for power in (-900, -40, -1, 1, 3, 50, 1000):
        assert fit(X, y, np.ldexp(weight, power), class_weight=class_weight).digest_ == digest, power


@pytest.mark.parametrize("draw", [np.ones, whole, real])
@pytest.mark.parametrize(
    "model",
    [
        AdaBoostClassifier(Trees(3, min_samples_leaf=5), n_estimators=5),
        AdaBoostClassifier(Trees(3, min_samples_split=12), n_estimators=5),
        RealAdaBoostClassifier(Trees(3), n_estimators=5),  # smooths by 1 / n
        DeepBoostClassifier(Trees(2, min_samples_leaf=5), n_estimators=5, lam=0.0),
        AdaBoostClassifier(n_estimators=5, early_stopping=True, validation_fraction=0.3, random_state=0),
        MedBoostRegressor(RegressionTrees(3, min_samples_leaf=5), n_estimators=5),
        QuadBoostRegressor(RegressionTrees(3, min_samples_leaf=5), n_estimators=5),
    ],
    ids=["leaf", "split", "smoothing", "DeepBoost", "validation", "MedBoost", "QuadBoost"],
)
def test_rows_are_counted_whatever_the_scale_of_the_weights(draw: Any, model: Any) -> None:
    X, y = messy(rows=120)
    weight = draw(len(y))
    digests = {clone(model).fit(X, y, sample_weight=np.ldexp(weight, power)).digest_ for power in (-3, 0, 1, 2, 20)}
    assert len(digests) == 1


def test_weights_that_are_all_equal_are_none() -> None:
    X, y = messy(labels=3)
    digest = fit(X, y).digest_
    for value in (1, 0.1, 7, 1e300, 1e-300, np.pi, 5e-324):
        assert fit(X, y, np.full(len(y), value)).digest_ == digest, value
    assert fit(X, y, 3).digest_ == digest


@pytest.mark.parametrize("labels", [2, 3])
@pytest.mark.parametrize("class_weight", [None, "balanced"])
@pytest.mark.parametrize("factor", [1e300, 1e-300, 1 / 3, 1e-310])
def test_weights_times_any_number(labels: int, class_weight: Any, factor: float) -> None:
    """Random weights, so that no two stumps tie and rounding cannot choose between them."""
    X, y = noisy(labels=labels)
    weight = real(len(y))
    model = fit(X, y, weight, class_weight=class_weight)
    scaled = fit(X, y, weight * factor, class_weight=class_weight)
    np.testing.assert_allclose(scaled.steps_, model.steps_, rtol=1e-9)
    np.testing.assert_allclose(scaled.decision_function(X), model.decision_function(X), rtol=1e-9, atol=1e-9)
    assert np.array_equal(scaled.predict(X), model.predict(X))


@pytest.mark.filterwarnings("error")
def test_the_largest_and_smallest_weights_there_are() -> None:
    X, y = noisy()
    weight = whole(len(y))
    digest = fit(X, y, weight).digest_
    assert fit(X, y, weight * (np.finfo(float).max / 8)).digest_ == digest
    assert fit(X, y, weight * 5e-324).digest_ == digest
    balanced = fit(X, y, weight, class_weight="balanced")
    assert fit(X, y, weight * 1e307, class_weight="balanced").digest_ == balanced.digest_


def test_every_type_of_weights() -> None:
    X, y = noisy()
    weight = whole(len(y))
    digest = fit(X, y, weight).digest_
    for kind in (np.int64, np.int8, np.uint64, np.float32, np.float16, object, np.longdouble):
        assert fit(X, y, weight.astype(kind)).digest_ == digest, kind
    others = [weight.tolist(), pd.Series(weight, dtype="Int64"), pl.Series(weight), pl.Series(weight).to_arrow()]
    for other in others:
        assert fit(X, y, other).digest_ == digest, type(other)
    large = weight.astype(np.int64) * (1 << 55)
    assert fit(X, y, large).digest_ == digest
    assert fit(X, y, weight > 3).digest_ == fit(X, y, (weight > 3) * 1.0).digest_


@pytest.mark.parametrize("value", [-1.0, np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("class_weight", [None, "balanced", {0: 2}])
def test_a_bad_weight_is_refused_with_its_row(value: float, class_weight: Any) -> None:
    X, y = noisy(rows=50)
    weight = np.ones(50)
    weight[[13, 20]] = value
    with pytest.raises(ValueError, match=f"`sample_weight`.*row 13 has {value}"):
        fit(X, y, weight, class_weight=class_weight)


@pytest.mark.parametrize(
    ("weight", "words"),
    [
        (np.zeros(50), "sample_weight is zero for every row"),
        (0, "sample_weight is zero for every row"),
        (np.ones(49), r"sample_weight.shape == \(49,\), expected \(50,\)"),
        (np.ones((50, 1)), r"sample_weight.shape == \(50, 1\)"),
        (np.array(["heavy"] * 50), "heavy"),
        (pd.Series([None] + [1.0] * 49, dtype="Float64"), "`sample_weight`.*row 0 has nan"),
    ],
)
def test_weights_that_cannot_be_used(weight: Any, words: str) -> None:
    X, y = noisy(rows=50)
    for class_weight in (None, "balanced"):
        with pytest.raises(ValueError, match=words):
            fit(X, y, weight, class_weight=class_weight)


def test_a_single_weight_is_the_model_of_that_row() -> None:
    X, y = noisy(labels=3)
    for row in (0, 17, 299):
        weight = np.zeros(len(y))
        weight[row] = 0.3
        model = fit(X, y, weight)
        assert model.classes_.tolist() == [y[row]]
        assert np.all(model.predict(X) == y[row])
        assert model.digest_ == fit(X[[row]], y[[row]]).digest_


# ---------------------------------------------------------------- weights that differ by many orders


@pytest.mark.parametrize("ratio", [1e-6, 1e-9, 1e-11])
def test_light_rows_count_when_they_are_all_that_is_left(ratio: float) -> None:
    """The vote for the heavy class comes first; then the light rows decide, with all their digits."""
    X, y = noisy()
    weight = np.where(y == 0, real(len(y)), ratio)
    model = fit(X, y, weight)
    assert model.stop_reason_ == "n_estimators"
    sign = np.where(y == 1, 1, -1)
    logs = np.log(weight)
    for number, (voter, step) in enumerate(zip(model.estimators_, model.steps_, strict=True)):
        vote = np.where(voter.predict(X) == 1, 1, -1)
        share = np.exp(logs - logs.max())
        error = share[vote != sign].sum() / share.sum()
        digits = 1e-9 if number >= 2 else 1e-15 / ratio  # in the first rounds they are that far down the grid
        assert model.history_["error"][number] == pytest.approx(error, rel=10 * digits), number
        logs -= step * vote * sign


def test_weights_too_small_to_matter_do_not() -> None:
    X, y = noisy()
    for light in (1e-20, 1e-300, 5e-324):
        model = fit(X, y, np.where(y == 0, 1, light))
        assert np.all(model.predict(X) == 0)
        assert np.all(np.isfinite(model.steps_))


def test_a_test_that_gains_next_to_nothing_gives_way_to_the_vote_for_all() -> None:
    x = np.array([0.0] * 50 + [1.0] * 50)[:, None]
    y = np.array([0] * 49 + [1] * 51)
    for light in (1e-3, 1e-12):
        weight = np.where(y == 0, 1, light)
        weight[60] = light / 2
        first = fit(x, y, weight).estimators_[0]
        assert first.to_text().startswith("always") == (light < 1e-8)
    separable = fit(x, (x[:, 0] > 0).astype(int), np.where(x[:, 0] > 0, 1e-12, 1))
    assert separable.stop_reason_ == "perfect_voter"
    assert separable.score(x, x[:, 0]) == 1


# ---------------------------------------------------------------- weight k is k rows, weight 0 is none


@pytest.mark.parametrize("class_weight", CLASS_WEIGHTS)
@pytest.mark.parametrize("max_bins", [255, 8, "exact"])
@pytest.mark.parametrize("labels", [2, 3])
def test_weight_k_is_the_row_k_times(labels: int, max_bins: Any, class_weight: Any) -> None:
    for seed in range(3):
        X, y = messy(labels=labels, seed=seed)
        times = np.random.default_rng(seed).integers(0, 6, len(y))
        options = {"max_bins": max_bins, "class_weight": class_weight, "categorical_features": [3]}
        if isinstance(class_weight, dict) and labels == 3:
            options["class_weight"] = {**class_weight, 2: 0.25}
        weighted = fit(X, y, times, **options)
        repeated = fit(np.repeat(X, times, axis=0), np.repeat(y, times), **options)
        assert weighted.digest_ == repeated.digest_
        for scale in (1 / 1024, 4):
            assert fit(X, y, times * scale, **options).digest_ == repeated.digest_


def test_a_class_weight_is_a_sample_weight() -> None:
    X, y = messy()
    for pair in ((3, 2), (0.25, 1), (1, 5)):
        by_class = fit(X, y, class_weight=dict(enumerate(pair)))
        assert by_class.digest_ == fit(X, y, np.take(pair, y)).digest_
    without = fit(X, y, class_weight={0: 1, 1: 1, 7: 5})  # a class that y happens not to hold
    assert without.digest_ == fit(X, y).digest_


def test_balanced_classes_weigh_the_same() -> None:
    X, y = noisy(labels=3)
    y[y == 2] = np.where(np.arange(np.sum(y == 2)) % 3 == 0, 2, 0)
    counts = np.bincount(y)
    by_hand = fit(X, y, class_weight={k: len(y) / (3 * n) for k, n in enumerate(counts)})
    assert fit(X, y, class_weight="balanced").digest_ == by_hand.digest_


@pytest.mark.parametrize("class_weight", [None, "balanced"])
@pytest.mark.parametrize("draw", [whole, real])
def test_weight_0_is_the_row_removed(draw: Any, class_weight: Any) -> None:
    """The removed rows hold what nobody else does: a class, categories, an infinity, the only missing value."""
    X, y = noisy(labels=2)
    X[:, 3] = np.arange(len(y)) % 4
    X[:, 4] = np.round(X[:, 4])
    labels = np.array(["no", "yes", "a much longer label"])[y]
    out = np.random.default_rng(0).random(len(y)) < 0.3
    rows = np.flatnonzero(out)
    labels[rows[0]] = "a much longer label"
    X[rows, 3] += 10
    X[rows[1], 0], X[rows[2], 1], X[rows[3], 2] = np.inf, -np.inf, np.nan
    weight = np.where(out, 0, draw(len(y)))
    options = {"categorical_features": [3], "class_weight": class_weight}
    kept = fit(X[~out], np.array(labels[~out].tolist()), weight[~out], **options)
    assert fit(X, labels, weight, **options).digest_ == kept.digest_
    assert kept.classes_.tolist() == ["no", "yes"]


# ---------------------------------------------------------------- the order of rows and columns


@pytest.mark.parametrize("labels", [2, 3])
@pytest.mark.parametrize("draw", [None, whole, real])
def test_rows_permuted(labels: int, draw: Any) -> None:
    X, y = messy(labels=labels)
    weight = np.ones(len(y)) if draw is None else draw(len(y))
    for max_bins in (255, 8, "exact"):
        options = {"max_bins": max_bins, "categorical_features": [3]}
        digest = fit(X, y, weight, **options).digest_
        for seed in range(3):
            order = np.random.default_rng(seed).permutation(len(y))
            assert fit(X[order], y[order], weight[order], **options).digest_ == digest


@pytest.mark.parametrize("max_bins", [255, "exact"])
def test_rows_permuted_with_more_values_than_a_sketch_holds(max_bins: Any) -> None:
    X, y = noisy(rows=80_000, columns=2)
    order = np.random.default_rng(0).permutation(len(y))
    assert fit(X, y, max_bins=max_bins).digest_ == fit(X[order], y[order], max_bins=max_bins).digest_


@settings(max_examples=30, deadline=None)
@given(st.data())
def test_small_tables_in_any_order_and_multiplicity(data: Any) -> None:
    """Few rows, few values: ties everywhere."""
    rows = data.draw(st.integers(1, 12))
    cell = st.sampled_from([0.0, -0.0, 1.0, 2.0, float("nan"), 1e300, 5e-324])
    X = np.array(data.draw(st.lists(st.tuples(cell, cell), min_size=rows, max_size=rows)))
    y = np.array(data.draw(st.lists(st.integers(0, 2), min_size=rows, max_size=rows)))
    times = np.array(data.draw(st.lists(st.integers(0, 3), min_size=rows, max_size=rows)))
    times[0] = max(times[0], 1)
    order = np.array(data.draw(st.permutations(range(rows))))
    options = {"n_estimators": 5, "categorical_features": data.draw(st.sampled_from([[], [1]]))}
    weighted = fit(X, y, times, **options)
    assert fit(X[order], y[order], times[order], **options).digest_ == weighted.digest_
    repeated = fit(np.repeat(X, times, axis=0), np.repeat(y, times), **options)
    assert repeated.digest_ == weighted.digest_
    proba = weighted.predict_proba(X)
    assert np.array_equal(weighted.classes_[np.argmax(proba, axis=1)], weighted.predict(X))


@pytest.mark.parametrize("labels", [2, 3])
def test_columns_permuted(labels: int) -> None:
    """Weights at random, so that no two stumps tie."""
    X, y = noisy(columns=7, labels=labels)
    X[::11, 2] = np.nan
    X[:, 5] = np.round(X[:, 5] * 2)
    weight = real(len(y))
    model = fit(X, y, weight, categorical_features=[5])
    for seed in range(5):
        order = np.random.default_rng(seed).permutation(7)
        moved = fit(X[:, order], y, weight, categorical_features=[int(np.flatnonzero(order == 5)[0])])
        assert np.array_equal(moved.steps_, model.steps_)
        assert np.array_equal(moved.decision_function(X[:, order]), model.decision_function(X))
        assert np.array_equal(moved.feature_importances_, model.feature_importances_[order])


def test_of_equal_columns_the_first_is_used() -> None:
    X, y = messy()
    model = fit(X, y)
    for order in ([0, 1, 2, 3, 4, 0, 1, 2, 3, 4], [0, 0, 1, 1, 2, 2, 3, 3, 4, 4]):
        doubled = fit(X[:, order], y)
        assert np.array_equal(doubled.steps_, model.steps_)
        assert np.array_equal(doubled.decision_function(X[:, order]), model.decision_function(X))
        used = np.flatnonzero(doubled.feature_importances_)
        assert all(order.index(order[column]) == column for column in used)
