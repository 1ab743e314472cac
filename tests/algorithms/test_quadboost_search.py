"""QuadBoost over families that are searched afresh each round: the search by signed residuals against brute force."""

from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import Ridge
from sklearn.neighbors import KNeighborsRegressor
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from training_cases import noisy, plain

import electorate
from electorate import KernelSections, PairedStumps, QuadBoostClassifier, Rules, Stumps, Trees
from electorate.families.splits import lifted
from tests.common import checks
from tests.common.cases import DATA
from tests.common.engines import ENGINES

NATIVE = {
    "stumps": Stumps(),
    "trees": Trees(2, criterion="edge"),
    "pairs": PairedStumps(),
    "rules": Rules(2),
}
WAYS = {
    "vanilla": {},
    "l1-never": {"penalty": "l1", "lam": 0.05},
    "l1-greedy": {"penalty": "l1", "lam": 0.05, "reweight": "greedy"},
    "l2-cyclic": {"penalty": "l2", "lam": 0.3, "reweight": "cyclic"},
    "linf-greedy": {"penalty": "linf", "alpha_max": 0.05, "reweight": "greedy"},
}


def cost(model: QuadBoostClassifier) -> Any:
    return {
        None: lambda w: 0 * w,
        "l1": lambda w: 2 * model.lam * np.abs(w),
        "l2": lambda w: model.lam * w**2,
        "linf": lambda w: 0 * w,
    }[model.penalty]


def signs_of(model: QuadBoostClassifier, y: Any) -> np.ndarray:
    return np.where(y == model.classes_[1], 1, -1)


def test_lifting_leaves_every_comparison_as_it_was() -> None:
    """Brute force over all voters of all columns: what each is right on grows by one and the same number."""
    rng = np.random.default_rng(0)
    for _ in range(20):
        sums = rng.integers(-50, 50, (2, 3, 4))
        sums[:, :, -1] += sums[:, :1, :].sum(axis=2) - sums.sum(axis=2)  # all columns have the same totals
        up, totals = lifted(sums)
        assert up.min() >= 0
        assert np.all(up.sum(axis=2) == totals[:, None])
        grown = set()
        for said in range(2**4):
            labels = (said >> np.arange(4)) & 1
            grown |= {int((up - sums)[labels, j, np.arange(4)].sum()) for j in range(3)}
        assert len(grown) == 1


@pytest.mark.parametrize("way", ["vanilla", "l1-never", "l2-cyclic", "l1-greedy"])
def test_stumps_are_the_best_for_the_residual_in_every_round(way: str) -> None:
    """The largest |mean of h (y - f)| over all thresholds of all columns, long after residuals have both signs."""
    X, y = plain(2, 120)
    X = np.nan_to_num(X, nan=-3.0)
    model = QuadBoostClassifier(Stumps(), n_estimators=60, tol=0.0, **WAYS[way]).fit(X, y)
    stumps = [np.where(X[:, j] <= t, -1.0, 1.0) for j in range(X.shape[1]) for t in np.unique(X[:, j])[:-1]]
    H = np.stack([*stumps, np.ones(len(y))])
    target = signs_of(model, y)
    residual = target.astype(float)
    seen_both = False
    moves = model.moves_
    for number, f in enumerate(model.staged_decision_function(X), start=1):
        best = np.abs(H @ residual / len(y)).max()
        first = np.flatnonzero(moves.round == number)[0]
        known = set(moves.number[moves.round < number].tolist())
        if moves.number[first] not in known or model.reweight == "never":
            assert abs(model.history_["edge"][number - 1]) == pytest.approx(best, abs=1e-9)
        residual = target - f
        seen_both |= bool(np.any(residual * target < 0))
    assert seen_both or way != "vanilla"


@pytest.mark.parametrize("family", NATIVE)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("classes", [2, 3])
def test_objective_stages_warm_start_and_files(family: str, way: str, classes: int, tmp_path: Any) -> None:
    X, y = noisy(classes)
    make = lambda **more: QuadBoostClassifier(NATIVE[family], **{"n_estimators": 16, **WAYS[way], **more})  # noqa: E731
    model = make().fit(X, y)
    if classes == 2:
        target = signs_of(model, y)
        risk = np.mean((target - model.decision_function(X)) ** 2)
        paid = cost(model)(model.moves_.details[:, 1] if model.reweight == "never" else model.steps_).sum()
        assert model.history_["objective"][-1] == pytest.approx(risk + paid, abs=1e-10)
        errors = 1 - np.array(list(model.staged_score(X, y)))
        np.testing.assert_allclose(model.history_["train_error"], errors, atol=1e-12)
        assert np.all(np.diff(model.history_["objective"]) < 0)
    rounds = int(model.moves_.round.max())
    stages = [f.copy() for f in model.staged_decision_function(X)]
    np.testing.assert_array_equal(stages[-1], model.decision_function(X))
    half = make(n_estimators=max(1, rounds // 2)).fit(X, y)
    np.testing.assert_array_equal(half.decision_function(X), stages[max(1, rounds // 2) - 1])
    half.save(tmp_path / "model")
    going = electorate.load(tmp_path / "model").set_params(warm_start=True, n_estimators=16).fit(X, y)
    assert going.digest_ == model.digest_
    np.testing.assert_array_equal(going.history_["objective"], model.history_["objective"])


@pytest.mark.parametrize("check", [
    checks.check_weight_is_repetition,
    checks.check_zero_weight_is_no_row,
    checks.check_weights_times_power_of_two,
    checks.check_rows_permuted,
    checks.check_any_parts,
], ids=lambda check: check.__name__)  # fmt: skip
@pytest.mark.parametrize("data", ["two-labels", "ties", "missing", "categories"])
@pytest.mark.parametrize(("family", "way"), [("stumps", "vanilla"), ("trees", "l1-greedy"), ("pairs", "l2-cyclic")])
def test_bits(check: Any, data: str, family: str, way: str) -> None:
    check(ENGINES["threads"], QuadBoostClassifier(NATIVE[family], n_estimators=8, **WAYS[way]), *DATA[data])


@pytest.mark.parametrize("data", ["two-labels", "ties", "missing"])
@pytest.mark.parametrize(("family", "way"), [("stumps", "vanilla"), ("trees", "l1-greedy"), ("pairs", "l2-cyclic")])
def test_the_training_error_of_every_round(data: str, family: str, way: str) -> None:
    model = QuadBoostClassifier(NATIVE[family], n_estimators=8, **WAYS[way])
    checks.check_train_error_is_score(ENGINES["threads"], model, *DATA[data])


def test_of_three_classes_every_error_is_that_of_one_against_the_rest() -> None:
    """Recomputed from the decision function of that class, in every round."""
    X, y = DATA["categories"]
    model = QuadBoostClassifier(Stumps(), n_estimators=8).fit(X, y)
    stages = [f.copy() for f in model.staged_decision_function(X)]
    for label, kind in enumerate(model.classes_):
        mine = model.history_["label"] == label
        errors = [np.mean((f[:, label] > 0) != (y == kind)) for f in stages[: int(mine.sum())]]
        np.testing.assert_allclose(model.history_["train_error"][mine], errors, atol=1e-12)


def test_vanilla_on_stumps_is_vanilla_on_a_pool_of_all_of_them() -> None:
    """A pool of every threshold, searched by its means, and the same stumps searched by their sums."""
    rng = np.random.default_rng(1)
    X = rng.integers(0, 6, (100, 4)).astype(float)
    y = (X[:, 0] + X[:, 1] + rng.normal(size=100) > 5).astype(int)
    pool = QuadBoostClassifier(electorate.Pool(10), n_estimators=25).fit(X, y)
    stumps = QuadBoostClassifier(Stumps(), n_estimators=25).fit(X, y)
    same = np.isclose(pool.history_["edge"], stumps.history_["edge"], atol=1e-12)
    constant = [v.to_text().startswith("always") for v in stumps.estimators_]
    assert np.all(same) or any(constant)  # stumps may be constant, a pool has none
    assert np.all(same[: constant.index(True) if any(constant) else None])


def test_l1_over_stumps_tends_to_the_lasso_over_all_stumps() -> None:
    from sklearn.linear_model import Lasso

    rng = np.random.default_rng(2)
    X = rng.integers(0, 8, (150, 4)).astype(float)
    y = np.where(X[:, 0] - X[:, 1] + rng.normal(size=150) > 0, 1, -1)
    columns = [np.where(X[:, j] <= t, -1.0, 1.0) for j in range(4) for t in np.unique(X[:, j])[:-1]]
    H = np.stack([*columns, np.ones(150)], axis=1)
    lasso = Lasso(alpha=0.05, fit_intercept=False, tol=1e-14, max_iter=100_000).fit(H, y).coef_
    least = np.mean((y - H @ lasso) ** 2) + 0.1 * np.abs(lasso).sum()
    for way in ("greedy", "cyclic"):
        model = QuadBoostClassifier(Stumps(), penalty="l1", lam=0.05, reweight=way, tol=1e-9, n_estimators=2000)
        model.fit(X, y)
        assert model.stop_reason_ == "converged"
        assert model.history_["objective"][-1] == pytest.approx(least, abs=1e-8)
        assert model.history_["objective"][-1] - least <= model.gap_ + 1e-12


# ---------------------------------------------------------------- voters by rows


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("family", [KernelSections(), DecisionTreeRegressor(max_depth=2), Ridge()], ids=repr)
def test_voters_by_rows(family: Any, way: str) -> None:
    """Scaled to at most 1, weighted in closed form, replayed, gone on with."""
    X, y = plain(2, 90)
    X = np.nan_to_num(X)
    weight = np.random.default_rng(0).integers(0, 3, len(y))
    make = lambda **more: QuadBoostClassifier(family, **{"n_estimators": 12, "random_state": 0, **WAYS[way], **more})  # noqa: E731
    model = make().fit(X, y, weight)
    outputs = np.stack([voter.outputs(X) for voter in model.ensemble_.fitted])
    assert np.abs(outputs).max() <= 1
    f = model.decision_function(X)
    np.testing.assert_allclose(f, model.steps_ @ outputs, atol=1e-9)
    risk = np.average((signs_of(model, y) - f) ** 2, weights=weight)
    paid = cost(model)(model.moves_.details[:, 1] if model.reweight == "never" else model.steps_).sum()
    assert model.history_["objective"][-1] == pytest.approx(risk + paid, abs=1e-9)
    *_, last = model.staged_decision_function(X)
    np.testing.assert_array_equal(last, f)
    going = make(n_estimators=5, warm_start=True).fit(X, y, weight)
    np.testing.assert_array_equal(going.set_params(n_estimators=12).fit(X, y, weight).decision_function(X), f)


def test_a_regressor_is_fitted_to_the_residuals() -> None:
    X, y = plain(2, 90)
    X = np.nan_to_num(X)
    model = QuadBoostClassifier(DecisionTreeRegressor(max_depth=2, random_state=0), n_estimators=3).fit(X, y)
    target = signs_of(model, y)
    first = DecisionTreeRegressor(max_depth=2).fit(X, target).predict(X)
    # least squares along a fitted tree is the tree itself
    np.testing.assert_allclose(next(model.staged_decision_function(X)), first, atol=1e-9)


def test_early_stopping() -> None:
    X, y = plain(2, 200)
    X = np.nan_to_num(X)
    for family in (Stumps(), DecisionTreeRegressor(max_depth=3), KernelSections()):
        model = QuadBoostClassifier(family, n_estimators=200, early_stopping=True, random_state=0, tol=0.0).fit(X, y)
        assert model.stop_reason_ in ("validation", "no_edge")
        assert model.best_round_ == int(np.argmin(model.history_["validation"])) + 1


def test_what_cannot_be_boosted_is_refused() -> None:
    X, y = plain(2, 60)
    for family, why in (
        (Trees(2), "criterion='edge'"),
        (Trees(1, criterion="edge", leaves="gentle"), "leaves='label'"),
        (DecisionTreeClassifier(), "not a regressor"),
    ):
        with pytest.raises(ValueError, match=why):
            QuadBoostClassifier(family).fit(X, y)
    with pytest.raises(ValueError, match="counts voters"):
        QuadBoostClassifier(DecisionTreeRegressor(), penalty="l1", lam="theory").fit(X, y)
    with pytest.raises(ValueError, match="sample_weight"):
        QuadBoostClassifier(KNeighborsRegressor()).fit(np.nan_to_num(X), y, np.arange(60) + 1)


# ---------------------------------------------------------------- elsewhere


@pytest.mark.parametrize("engine", ["disk", "threads", pytest.param("dask", marks=pytest.mark.process)])
@pytest.mark.parametrize("family", [Stumps(), Trees(2, criterion="edge"), electorate.Pool(5)], ids=repr)
def test_the_same_model_on_every_engine(engine: str, family: Any) -> None:
    X, y = DATA["missing"]
    model = QuadBoostClassifier(family, penalty="l1", lam=0.02, n_estimators=8)
    here = QuadBoostClassifier(family, penalty="l1", lam=0.02, n_estimators=8).fit(X, y)
    there = checks.fitted(ENGINES[engine], model, X, y)
    np.testing.assert_array_equal(there.decision_function(X), here.decision_function(X))
    assert there.digest_ == here.digest_


@pytest.mark.process
@pytest.mark.parametrize("penalty", [None, "l1", "l2", "linf"])
def test_a_pool_on_a_cluster_is_the_pool_here(penalty: str | None) -> None:
    """Its means are sums of the shards, its rounds the driver's: of three labels too, weighted again too."""
    X, y = DATA["categories"]
    weight = checks.real_weights(len(y))
    for way in ("never", "greedy"):
        model = QuadBoostClassifier(electorate.Pool(5), penalty=penalty, lam=0.02, reweight=way, n_estimators=15)
        here = clone(model).fit(X, y, weight)
        there = checks.fitted(ENGINES["dask"], model, X, y, weight)
        assert there.digest_ == here.digest_
        np.testing.assert_array_equal(there.history_["objective"], here.history_["objective"])
        np.testing.assert_allclose(there.history_["train_error"], here.history_["train_error"], atol=1e-12)


@pytest.mark.process
@pytest.mark.parametrize("penalty", ["l2", "linf"])
def test_the_bound_is_lowered_on_a_cluster_as_here(penalty: str) -> None:
    X, y = DATA["missing"]
    weight = np.full(len(y), 500)  # the theory's lam leaves voters where there are many rows
    more = {"lam": "theory", "reweight": "greedy", "alpha_max": None, "n_estimators": 6}
    model = QuadBoostClassifier(electorate.Pool(5), penalty=penalty, **more)
    here = clone(model).fit(X, y, weight)
    assert len(here.steps_) > 1
    assert checks.fitted(ENGINES["dask"], model, X, y, weight).digest_ == here.digest_


@pytest.mark.process
@pytest.mark.parametrize("weights", ["none", "real"])
@pytest.mark.parametrize("way", ["cyclic", "greedy"])
def test_searched_voters_are_weighted_again_on_a_cluster_as_here(way: str, weights: str) -> None:
    X, y = DATA["missing"]
    weight = None if weights == "none" else checks.real_weights(len(y))
    for family in (Stumps(), Trees(2, criterion="edge")):
        model = QuadBoostClassifier(family, penalty="l1", lam=0.02, reweight=way, n_estimators=8)
        here = clone(model).fit(X, y, weight)
        there = checks.fitted(ENGINES["dask"], model, X, y, weight)
        assert there.digest_ == here.digest_
        np.testing.assert_array_equal(there.history_["objective"], here.history_["objective"])


@pytest.mark.process
@pytest.mark.parametrize("scoring", ["loss", "error"])
@pytest.mark.parametrize("data", ["missing", "categories"])
def test_validation_stops_on_a_cluster_as_here(scoring: str, data: str) -> None:
    X, y = DATA[data]
    weight = checks.real_weights(len(y))
    patience = {"early_stopping": True, "n_iter_no_change": 2, "random_state": 0, "n_estimators": 12}
    for family in (electorate.Pool(5), Stumps()):
        model = QuadBoostClassifier(family, scoring=scoring, reweight="greedy", validation_fraction=0.3, **patience)
        here = clone(model).fit(X, y, weight)
        there = checks.fitted(ENGINES["dask"], model, X, y, weight)
        assert there.digest_ == here.digest_
        assert there.best_round_ == here.best_round_
        np.testing.assert_array_equal(there.history_["validation"], here.history_["validation"])
