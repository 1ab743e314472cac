"""Trees that may only rise or fall with some columns: the vote does so too, and nothing else about a fit changes."""

import itertools
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone, is_regressor

import electorate
from electorate import (
    AdaBoostClassifier,
    AdaBoostRClassifier,
    AdaBoostRegressor,
    DeepBoostClassifier,
    LocMedBoostRegressor,
    LogisticAdaBoostClassifier,
    MedBoostRegressor,
    QuadBoostRegressor,
    RealAdaBoostClassifier,
    RegressionTrees,
    Stumps,
    Trees,
    Union,
    VadaBoostClassifier,
    load,
)
from electorate.families.monotone import clipped
from electorate.messages import SplitArrays
from electorate.registry import ALGORITHMS

MODELS = {
    "AdaBoost": AdaBoostClassifier(Trees(3)),
    "AdaBoost, edge": AdaBoostClassifier(Trees(2, criterion="edge")),
    "Real AdaBoost": RealAdaBoostClassifier(Trees(3)),
    "SAMME.R": RealAdaBoostClassifier(Trees(4, max_features=2), step=1),
    "Logistic AdaBoost": LogisticAdaBoostClassifier(Trees(5, min_samples_leaf=3)),
    "AdaBoost.R2": AdaBoostRegressor(RegressionTrees(4)),
    "MedBoost": MedBoostRegressor(RegressionTrees(3)),
    "MedBoost, squares": MedBoostRegressor(RegressionTrees(3, criterion="squared_error")),
    "L2 boosting": QuadBoostRegressor(RegressionTrees(4), learning_rate=0.3),
    "absolute loss": QuadBoostRegressor(RegressionTrees(3), loss="absolute", learning_rate=0.3),
    "quantile": QuadBoostRegressor(RegressionTrees(3), loss="quantile", quantile=0.8, learning_rate=0.3),
}
SIGNS = [1, -1, 0]


def table(model: Any, seed: int = 0) -> tuple[Any, Any]:
    """The target rises with the first column and falls with the second, up to noise and waves."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(400, 3))
    X[rng.random(X.shape) < 0.05] = np.nan
    clean = np.nan_to_num(X)
    f = clean[:, 0] - clean[:, 1] / 2 + np.sin(3 * clean[:, 2]) + np.sin(4 * clean[:, 0]) + rng.normal(size=400)
    return X, f if is_regressor(model) else f > 0


def least_rise(fitted: Any, X: Any, signs: Any = SIGNS, rows: int = 60) -> float:
    """Of what decides, along every column with a sign, in its direction, between rows of X."""
    decide = fitted.predict if is_regressor(fitted) else fitted.decision_function
    found = []
    for column in np.flatnonzero(signs).tolist():
        Z = np.repeat(X[:rows], 40, axis=0)
        Z[:, column] = np.tile(np.linspace(-3, 3, 40), rows)
        found.append(np.diff(signs[column] * decide(Z).reshape(rows, 40), axis=1).min())
    return float(min(found))


@pytest.mark.parametrize("name", MODELS)
def test_the_vote_is_monotone(name: str) -> None:
    model = clone(MODELS[name]).set_params(n_estimators=25)
    X, y = table(model)
    assert least_rise(clone(model).fit(X, y), X) < 0
    fitted = clone(model).set_params(estimator__monotonic_cst=SIGNS).fit(X, y)
    assert least_rise(fitted, X) >= 0
    assert len(fitted.steps_) > 5  # it does learn
    assert (fitted.feature_importances_[:2] > 0).all()


def classifiers(max_depth: int, signs: list[int], leaves: str, criterion: str) -> list[Any]:
    trees = Trees(max_depth, monotonic_cst=signs, leaves=leaves, criterion=criterion)
    return [
        AdaBoostClassifier(trees),
        RealAdaBoostClassifier(trees),
        RealAdaBoostClassifier(trees, learning_rate=0.5),
        RealAdaBoostClassifier(trees, step=1),
        LogisticAdaBoostClassifier(trees),
    ]


def regressors(max_depth: int, signs: list[int]) -> list[Any]:
    trees = RegressionTrees(max_depth, monotonic_cst=signs)
    return [
        AdaBoostRegressor(trees),
        MedBoostRegressor(trees),
        MedBoostRegressor(RegressionTrees(max_depth, monotonic_cst=signs, criterion="squared_error")),
        QuadBoostRegressor(trees),
        QuadBoostRegressor(trees, loss="absolute", learning_rate=0.5),
        QuadBoostRegressor(trees, loss="quantile", learning_rate=0.5),
    ]


@pytest.mark.parametrize("leaves", ["label", "log_odds", "gentle", "targets"])
def test_noise_does_not_turn_a_tree_around(leaves: str) -> None:
    """Targets without any relation to the columns: clipped trees often have a negative edge."""
    for seed in range(30):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(int(rng.integers(20, 60)), 3)).round(int(rng.integers(0, 3)))
        X[rng.random(X.shape) < 0.2 * (seed % 2)] = np.nan
        weight = rng.random(len(X)) if seed % 4 > 1 else None
        y: Any = rng.normal(size=len(X)) if leaves == "targets" else rng.permutation(np.arange(len(X)) % 5 > 1)
        signs, depth = [1, -1, int(rng.integers(-1, 2))], int(rng.integers(2, 5))
        criterion = ["gini", "matsushita", "edge"][seed % 3]
        models = regressors(depth, signs) if leaves == "targets" else classifiers(depth, signs, leaves, criterion)
        for model in models:
            fitted = model.set_params(n_estimators=5).fit(X, y, sample_weight=weight)
            assert least_rise(fitted, X, signs, rows=8) >= 0, (seed, model)


@pytest.mark.parametrize("name", ALGORITHMS)
def test_every_booster_keeps_trees_monotone_or_refuses(name: str) -> None:
    """Whatever the leaves, the criterion, the steps that it has, missing values and weights."""
    kind, n_kept = getattr(electorate, name), 0
    regression = is_regressor(kind())
    leaves = [None] if regression else ["label", "log_odds", "gentle"]
    options = [{"learning_rate": rate} for rate in (1.0, 0.3) if "learning_rate" in kind().get_params()]
    options += [{"step": 1}] if "step" in kind().get_params() else []
    options = options or [{}]
    for seed, leaf, option in itertools.product(range(4), leaves, options):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(40, 3)).round(1)
        X[rng.random(X.shape) < 0.1 * seed] = np.nan
        y: Any = rng.normal(size=40) if regression else rng.permutation(np.arange(40) % 3 > 0)
        trees = RegressionTrees(3) if regression else Trees(3, leaves=leaf, criterion=["gini", "edge"][seed % 2])
        model = kind(trees.set_params(monotonic_cst=SIGNS), n_estimators=4, **option)
        try:
            model.fit(X, y, sample_weight=rng.random(40) if seed > 1 else None)
        except ValueError as error:
            assert "monotone" in str(error)  # noqa: PT017
        else:
            assert least_rise(model, X, rows=8) >= 0, (seed, model)
            n_kept += 1
    kept = {type(model).__name__ for model in MODELS.values()}
    assert n_kept == (4 * len(leaves) * len(options) if name in kept else 0)


@pytest.mark.parametrize("name", MODELS)
def test_threads_order_weights_and_files(name: str, tmp_path: Any) -> None:
    model = clone(MODELS[name]).set_params(n_estimators=5, estimator__monotonic_cst=SIGNS)
    X, y = table(model)
    once = clone(model).fit(X, y)
    assert clone(model).set_params(n_jobs=3).fit(X, y).digest_ == once.digest_
    order = np.random.default_rng(1).permutation(len(y))
    assert clone(model).fit(X[order], y[order]).digest_ == once.digest_
    times = np.arange(len(y)) % 3
    weighted = clone(model).fit(X, y, sample_weight=times)
    assert weighted.digest_ == clone(model).fit(np.repeat(X, times, axis=0), np.repeat(y, times)).digest_
    once.save(tmp_path / "monotone.model")
    again = load(tmp_path / "monotone.model")
    assert list(again.estimator.monotonic_cst) == SIGNS
    np.testing.assert_array_equal(again.predict(X), once.predict(X))


@pytest.mark.parametrize("name", ["AdaBoost", "Logistic AdaBoost", "L2 boosting"])
def test_no_constraint_is_no_difference(name: str) -> None:
    model = clone(MODELS[name]).set_params(n_estimators=8)
    X, y = table(model)
    free = clone(model).set_params(estimator__monotonic_cst=[0, 0, 0]).fit(X, y)
    np.testing.assert_array_equal(free.predict(X), clone(model).fit(X, y).predict(X))


def test_a_monotone_target_loses_nothing() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2_000, 3))
    y = X[:, 0] - X[:, 1] + 0.5 * rng.normal(size=2_000) > 0
    model = LogisticAdaBoostClassifier(Trees(3), n_estimators=60)
    free, bound = (
        clone(model).set_params(estimator__monotonic_cst=signs).fit(X[:1_000], y[:1_000]) for signs in (None, SIGNS)
    )
    assert bound.score(X[1_000:], y[1_000:]) > free.score(X[1_000:], y[1_000:]) - 0.01


def random_tree(rng: np.random.Generator, n_splits: int) -> tuple[SplitArrays, list[int]]:
    """Splits of random leaves, on two columns."""
    leaves, rows = [0], []
    for k in range(n_splits):
        node = leaves.pop(int(rng.integers(len(leaves))))
        rows.append((node, 2 * k + 1, 2 * k + 2, int(rng.integers(2)), 0))
        leaves += [2 * k + 1, 2 * k + 2]
    numbers = np.array(rows, dtype=np.int64).T
    return SplitArrays(
        *(np.ascontiguousarray(each) for each in numbers), np.ones((n_splits, 1), dtype=np.bool_)
    ), leaves


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), n_splits=st.integers(1, 12), sign=st.sampled_from([-1, 1]))
def test_clipped_values_are_in_order_at_every_split(seed: int, n_splits: int, sign: int) -> None:
    rng = np.random.default_rng(seed)
    tree, leaves = random_tree(rng, n_splits)
    values, weights = rng.normal(size=len(leaves)), rng.integers(0, 5, len(leaves))
    found = clipped(tree, leaves, values, weights, np.array([sign, 0]))
    below = {leaf: [value] for leaf, value in zip(leaves, found.tolist(), strict=True)}
    for split in reversed(list(tree)):
        left, right = below[split.left], below[split.right]
        below[split.node] = left + right
        if split.column == 0:
            assert max(left) <= min(right) if sign > 0 else min(left) >= max(right)
    assert values.min() <= found.min()
    assert found.max() <= values.max()
    again = clipped(tree, leaves, found, weights, np.array([sign, 0]))
    np.testing.assert_array_equal(again, found)  # values in order stay as they are


@pytest.mark.parametrize(
    "model",
    [
        DeepBoostClassifier(Trees(2, monotonic_cst=SIGNS)),
        VadaBoostClassifier(Trees(2, monotonic_cst=SIGNS)),
        AdaBoostRClassifier(Trees(2, monotonic_cst=SIGNS)),
        LocMedBoostRegressor(RegressionTrees(2, monotonic_cst=SIGNS)),
        QuadBoostRegressor(RegressionTrees(2, monotonic_cst=SIGNS), reweight="cyclic"),
        DeepBoostClassifier(Union([Stumps(), Trees(2, monotonic_cst=SIGNS)])),
    ],
    ids=lambda model: type(model).__name__,
)
def test_boosters_with_other_weights_refuse(model: Any) -> None:
    X, y = table(model)
    with pytest.raises(ValueError, match="does not keep trees monotone"):
        model.fit(X, y)


def test_errors_say_what_to_do() -> None:
    X, y = table(AdaBoostClassifier())
    with pytest.raises(ValueError, match=r"shape \(2,\); X has 3 columns"):
        AdaBoostClassifier(Trees(2, monotonic_cst=[1, 0])).fit(X, y)
    with pytest.raises(ValueError, match="is 2 for column 1: use -1, 0 or 1"):
        AdaBoostClassifier(Trees(2, monotonic_cst=[1, 2, 0])).fit(X, y)
    with pytest.raises(ValueError, match="for two classes, and y has 3"):
        AdaBoostClassifier(Trees(2, monotonic_cst=SIGNS)).fit(X, np.arange(len(y)) % 3)
    frame = pd.DataFrame({"size": X[:, 0], "colour": np.where(y, "red", "blue")})
    with pytest.raises(ValueError, match="column 1, which has categories: use 0"):
        AdaBoostClassifier(Trees(2, monotonic_cst=[1, 1])).fit(frame, y)
    with pytest.raises(ValueError, match="smoothing > 0"):
        RealAdaBoostClassifier(Trees(6, monotonic_cst=SIGNS, smoothing=0)).fit(X, y)
