"""MedBoost and LocMedBoost over finite sets of voters: exhaustive search, and the largest margin is approached."""

import math
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from after_round import stop_with
from scipy.optimize import linprog
from sklearn.base import clone
from sklearn.tree import DecisionTreeRegressor

import electorate
from electorate import (
    AdaBoostRegressor,
    Checkpoint,
    Columns,
    LocMedBoostRegressor,
    MedBoostRegressor,
    Pool,
    RegressionTrees,
)

NU = 0.2


# ---------------------------------------------------------------- an independent reference


def rows(seed: int, n: int = 24) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Few distinct values, so that every stump can be listed; weights of 0 to 3."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 4, size=(n, 2)).astype(float)
    y = rng.integers(0, 4, size=n).astype(float) + (X[:, 0] > 1)
    return X, y, rng.integers(0, 4, n).astype(float)


def stumps(X: np.ndarray, y: np.ndarray, abstain: bool) -> np.ndarray:
    """[voter, row] of every stump with targets on its sides, NaN where a side abstains, and the constants."""
    values = [*np.unique(y), *([math.nan] if abstain else [])]
    voters = []
    for column in X.T:
        for threshold in np.unique(column)[:-1]:
            left = column <= threshold
            voters += [np.where(left, a, b) for a, b in product(values, values)]
    return np.array(voters)


def awards(said: np.ndarray, y: np.ndarray, eps: float, cost: str) -> np.ndarray:
    """kappa theta of eq. 4: [voter, row]."""
    away = np.abs(said - y)
    theta = np.where(away <= eps, 1.0, -1.0) if cost == "zero_one" else 1 - 2 * away / eps
    return np.where(np.isnan(said), 0.0, theta)


def largest_margin(matrix: np.ndarray) -> float:
    """max over convex weights of the voters of the least margin, by HiGHS."""
    n_voters, n = matrix.shape
    found = linprog(
        np.concatenate([np.zeros(n_voters), [-1.0]]),
        A_ub=np.hstack([-matrix.T, np.ones((n, 1))]),
        b_ub=np.zeros(n),
        A_eq=np.concatenate([np.ones(n_voters), [0.0]])[None],
        b_eq=[1.0],
        bounds=[(0, None)] * n_voters + [(None, None)],
        method="highs",
    )
    assert found.status == 0
    return float(-found.fun)


def rounds_needed(matrix: np.ndarray, weight: np.ndarray, nu: float = NU) -> int:
    """A^2 log n / (2 nu^2) + 1, with log(1 / min s_i) for log n."""
    share = weight / weight.sum()
    spread = matrix.max() - matrix.min()
    return math.ceil(spread**2 * math.log(1 / share.min()) / (2 * nu**2)) + 1


def check_margin(model: Any, X: np.ndarray, y: np.ndarray, weight: np.ndarray, said: np.ndarray) -> None:
    """Corollary 2: after so many rounds the least margin is within nu of the largest there can be."""
    kept = weight > 0
    matrix = awards(said, y, model.eps, model.cost)[:, kept]
    goal = largest_margin(matrix)
    most = rounds_needed(matrix, weight[kept])
    fitted = clone(model).set_params(n_estimators=most).fit(X, y, weight)
    edges, margins = fitted.history_["edge"], fitted.history_["min_margin"]
    assert np.all(edges >= goal - 1e-9)  # the search is exhaustive: the largest edge is at least that
    assert np.all(margins <= goal + 1e-9)
    if fitted.stop_reason_ == "perfect_voter":
        assert goal >= 1 - 1e-9
        return
    assert len(margins) == most
    assert margins[-1] > goal - NU - 1e-9


# ---------------------------------------------------------------- Corollary 2


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("cost", ["zero_one", "linear"])
@pytest.mark.parametrize("kind", [MedBoostRegressor, LocMedBoostRegressor])
def test_a_pool_approaches_the_largest_margin(kind: Any, cost: str, seed: int) -> None:
    X, y, weight = rows(seed)
    eps = 0.5 if cost == "zero_one" else 4.0
    model = kind(Pool(per_feature=10), cost=cost, eps=eps, nu=NU)
    check_margin(model, X, y, weight, stumps(X, y[weight > 0], kind is LocMedBoostRegressor))


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("cost", ["zero_one", "linear"])
@pytest.mark.parametrize("seed", range(3))
def test_columns_approach_the_largest_margin(seed: int, cost: str, missing: bool) -> None:
    rng = np.random.default_rng(seed)
    y = rng.normal(size=30)
    X = y[:, None] + rng.normal(size=(30, 12))
    if missing:
        X[rng.random(X.shape) < 0.1] = np.nan
    weight = rng.integers(0, 4, 30).astype(float)
    model = MedBoostRegressor(Columns(), cost=cost, eps=1.0 if cost == "zero_one" else 4.0, nu=NU)
    check_margin(model, X, y, weight, X.T)


@pytest.mark.parametrize("rule", ["adaptive", "lowest_edge"])
def test_every_round_takes_the_largest_edge(rule: str) -> None:
    """By the weights of eq. 13, recomputed from what the voters say."""
    X, y, _ = rows(1)
    fitted = MedBoostRegressor(Pool(per_feature=10), eps=0.5, nu=0.2, rho=rule, n_estimators=30).fit(X, y)
    matrix = awards(stumps(X, y, False), y, 0.5, "zero_one")
    weight = np.full(len(y), 1 / len(y))
    for t, voter in enumerate(fitted.estimators_):
        earned = awards(voter.predict(X)[None], y, 0.5, "zero_one")[0]
        assert weight @ earned == pytest.approx((matrix @ weight).max(), abs=1e-9)
        assert fitted.history_["edge"][t] == pytest.approx(weight @ earned, abs=1e-9)
        weight *= np.exp(-fitted.steps_[t] * earned)
        weight /= weight.sum()


def test_theorem_1_for_every_rho() -> None:
    X, y, weight = rows(2)
    for model in (MedBoostRegressor(Pool(), eps=0.5), LocMedBoostRegressor(Pool(), eps=0.5)):
        fitted = clone(model).set_params(n_estimators=40).fit(X, y, weight)
        for rho in (-0.8, -0.3, 0.0, 0.2):
            bound = fitted.error_bounds(rho)
            seen = list(fitted.staged_robust_error(X, y, rho, weight))
            assert np.all(np.array(seen) <= bound[: len(seen)] + 1e-9)


# ---------------------------------------------------------------- the set of voters


def test_without_complements_the_right_side_says_no_less() -> None:
    X, y, _ = rows(3)
    fitted = MedBoostRegressor(Pool(complements=False), eps=0.5, n_estimators=40).fit(X, y)
    assert all(np.all(np.diff(voter.predict(np.sort(X, axis=0))) >= 0) for voter in fitted.estimators_)
    loose = MedBoostRegressor(Pool(), eps=0.5, n_estimators=40).fit(X, y)
    assert any(np.any(np.diff(voter.predict(np.sort(X, axis=0))) < 0) for voter in loose.estimators_)


def test_best_pair_is_the_best_of_all_pairs() -> None:
    from electorate.families.finite_regressors import ABSTAIN, best_pair

    rng = np.random.default_rng(0)
    for _ in range(200):
        left, right = rng.integers(-9, 9, size=(2, int(rng.integers(1, 5)), int(rng.integers(1, 4))))
        values = range(len(left))
        for abstains, complements in product((False, True), repeat=2):
            sides = [*values, *([ABSTAIN] if abstains else [])]
            pairs = [(a, b) for a in sides for b in sides if complements or ABSTAIN in (a, b) or a <= b]
            earn = lambda sums, side, t: 0 if side == ABSTAIN else sums[side, t]  # noqa: E731
            best = max(earn(left, a, t) + earn(right, b, t) for a, b in pairs for t in range(left.shape[1]))
            test, (a, b) = best_pair(left, right, abstains, complements)
            assert (a, b) in pairs
            assert earn(left, a, test) + earn(right, b, test) == best


def test_values_are_few_and_lie_among_the_targets() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 2)), rng.normal(size=300)
    fitted = MedBoostRegressor(Pool(n_values=4), n_estimators=60).fit(X, y)
    said = np.unique(np.concatenate([voter.predict(X) for voter in fitted.estimators_]))
    assert 1 < len(said) <= 4
    assert y.min() <= said.min() <= said.max() <= y.max()


def test_targets_of_one_and_minus_one_are_adaboost_rho() -> None:
    """Section 2 of the paper: with the 0-1 cost the margins are those of AdaBoost_rho, here with rho = 0."""
    rng = np.random.default_rng(4)
    X = rng.normal(size=(80, 3)).round(1)
    y = np.where(X[:, 0] + X[:, 1] + rng.normal(size=80) > 0, 1.0, -1.0)
    plain = electorate.AdaBoostClassifier(Pool(), n_estimators=12).fit(X, y)
    median = MedBoostRegressor(Pool(), eps=1.0, rho=0.0, n_estimators=12).fit(X, y)
    np.testing.assert_allclose(median.steps_, plain.steps_, rtol=1e-9)
    np.testing.assert_allclose(median.history_["edge"], plain.history_["edge"], rtol=1e-9)


# ---------------------------------------------------------------- the same model, wherever and however it is made

MODELS = {
    "pool": MedBoostRegressor(Pool(4, n_values=5)),
    "pool, linear": MedBoostRegressor(Pool(4, complements=False), cost="linear", eps=3.0),
    "pool, abstaining": LocMedBoostRegressor(Pool(4)),
    "pool, bumps": LocMedBoostRegressor(Pool(4), confidence_by="bumps", n_bumps=2, random_state=0),
    "columns": MedBoostRegressor(Columns()),
    "columns, linear": LocMedBoostRegressor(Columns(), cost="linear", eps=3.0),
}


def noisy(n: int = 90) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(5)
    X = rng.normal(size=(n, 4)).round(1)
    y = X[:, 0] + np.abs(X[:, 1]) + 0.3 * rng.standard_t(3, n)
    X[rng.random(X.shape) < 0.1] = np.nan
    return X, y, rng.integers(0, 4, n)


@pytest.mark.parametrize("name", MODELS)
def test_order_weights_shards_and_threads_do_not_matter(name: str) -> None:
    X, y, weight = noisy()
    model = clone(MODELS[name]).set_params(n_estimators=15)
    digest = clone(model).fit(X, y, weight).digest_
    order = np.random.default_rng(0).permutation(np.repeat(np.arange(len(y)), weight))
    assert clone(model).fit(X[order], y[order]).digest_ == digest
    for shards in (2, 5):
        parted = clone(model).set_params(n_jobs=shards)
        parted._n_shards = shards
        assert parted.fit(X, y, weight).digest_ == digest


@pytest.mark.parametrize("name", MODELS)
def test_files_stages_and_warm_starts(name: str, tmp_path: Path) -> None:
    X, y, weight = noisy()
    whole = clone(MODELS[name]).set_params(n_estimators=10).fit(X, y, weight)
    stages = list(whole.staged_predict(X))
    np.testing.assert_array_equal(stages[-1], whole.predict(X))
    low, high = whole.predict_interval(X, rho=0.1)
    *_, last = whole.staged_predict_interval(X, rho=0.1)
    np.testing.assert_array_equal([low, high], last)
    half = clone(MODELS[name]).set_params(n_estimators=4).fit(X, y, weight)
    np.testing.assert_array_equal(half.predict(X), stages[3])
    half.save(tmp_path / "model")
    read = electorate.load(tmp_path / "model")
    assert read.digest_ == half.digest_ != whole.digest_
    np.testing.assert_array_equal(read.predict(X), half.predict(X))
    np.testing.assert_array_equal(read.confidence(X), half.confidence(X))
    assert [voter.to_text() for voter in read.estimators_] == [voter.to_text() for voter in half.estimators_]
    assert read.set_params(warm_start=True, n_estimators=10).fit(X, y, weight).digest_ == whole.digest_
    assert whole.feature_importances_.sum() == pytest.approx(1)
    assert np.isfinite(whole.predict(np.full((2, 4), np.nan))).all()


@pytest.mark.parametrize("name", ["pool", "pool, bumps", "columns"])
def test_checkpoints_and_validation_rows(name: str, tmp_path: Path) -> None:
    X, y, weight = noisy()
    model = clone(MODELS[name]).set_params(n_estimators=8, early_stopping=True, n_iter_no_change=3, random_state=0)
    whole = clone(model).fit(X, y, weight)
    path = tmp_path / "checkpoint"
    with pytest.raises(RuntimeError, match="stop"):
        clone(model).set_callbacks(Checkpoint(path, every=1), stop_with(RuntimeError("stop"), 2)).fit(X, y, weight)
    assert clone(model).set_callbacks(Checkpoint(path)).fit(X, y, weight).digest_ == whole.digest_
    given = clone(model).fit(X[:60], y[:60], X_val=X[60:], y_val=y[60:])
    free = clone(model).set_params(early_stopping=False).fit(X[:60], y[:60])
    errors = [np.abs(said - y[60:]).mean() for said in free.staged_predict(X[60:])]
    np.testing.assert_allclose(given.history_["validation"], errors[: len(given.history_["validation"])], rtol=1e-9)


def test_damaged_files_of_columns_are_refused(tmp_path: Path) -> None:
    from electorate import modelfile
    from electorate.modelfile import ModelFormatError

    X, y, _ = noisy()
    fitted = MedBoostRegressor(Columns(), n_estimators=3).fit(X, y)
    fitted.save(tmp_path / "model")
    contents = modelfile.read(tmp_path / "model")
    changes: list[dict[str, np.ndarray]] = [
        {"voter.column": np.array([0, 1, 9], dtype=np.int32)},
        {"voter.column": np.array([0, 1], dtype=np.int32)},
        {"steps": np.array([1.0, -1.0, 1.0])},
        {"steps": np.array([1.0, np.inf, 1.0])},
        {"kappa": np.array([0, 0, 1], dtype=np.int32)},
    ]
    for change in changes:
        modelfile.write(tmp_path / "bad", contents.kind, contents.meta, {**contents.arrays, **change})
        with pytest.raises(ModelFormatError):
            electorate.load(tmp_path / "bad")


# ---------------------------------------------------------------- what is refused, what is proved


def test_what_is_refused() -> None:
    X, y, _ = noisy()
    for family in (Pool(), Columns()):
        with pytest.raises(ValueError, match="estimator"):
            AdaBoostRegressor(family).fit(X, y)
    with pytest.raises(ValueError, match="n_values"):
        MedBoostRegressor(Pool(n_values=0)).fit(X, y)
    with pytest.raises(ValueError, match="abstain"):
        LocMedBoostRegressor(RegressionTrees(criterion="squared_error")).fit(X, y)
    with pytest.raises(ValueError, match="abstain"):
        LocMedBoostRegressor(DecisionTreeRegressor()).fit(np.nan_to_num(X), y)


def test_theorem_3_covers_columns_and_theorem_4_pools() -> None:
    rng = np.random.default_rng(0)
    y = rng.normal(size=3000)
    X = y[:, None] + 0.3 * rng.normal(size=(3000, 4))
    columns = MedBoostRegressor(Columns(), eps=1.0, n_estimators=20).fit(X, y)
    found = {bound.name: bound for bound in columns.certificate(train=(X, y), eps=1.0).bounds}
    finite = found["median, finitely many voters"]
    assert finite.value is not None
    assert 0 < finite.value < 1
    assert "Theorem 3" in finite.source
    pool = MedBoostRegressor(Pool(), eps=1.0, n_estimators=20).fit(X, y)
    of_pool = {bound.name: bound for bound in pool.certificate(train=(X, y), eps=1.0).bounds}
    assert of_pool["median, tubes"].value > finite.value
    assert of_pool["median, finitely many voters"].value is None
    X[0, 0] = np.nan
    again = MedBoostRegressor(Columns(), eps=1.0, n_estimators=20).fit(X, y)
    refused = {bound.name: bound for bound in again.certificate(train=(X, y), eps=1.0).bounds}
    assert refused["median, finitely many voters"].value is None
