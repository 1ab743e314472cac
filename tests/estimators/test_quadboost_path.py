"""QuadBoost's paths, its choice by cross-validation, and its regressor."""

import io
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import Lasso, Ridge
from sklearn.model_selection import StratifiedKFold
from sklearn.tree import DecisionTreeRegressor
from sklearn.utils.estimator_checks import parametrize_with_checks
from training_cases import noisy

from electorate import (
    Checkpoint,
    Columns,
    Pool,
    ProgressBar,
    QuadBoostClassifier,
    QuadBoostClassifierCV,
    QuadBoostRegressor,
    RegressionTrees,
    TimeLimit,
)


def signs(n: int = 200, columns: int = 25, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = np.where(rng.random((n, columns)) < 0.5, 1.0, -1.0)
    return X, np.where(X[:, :4].sum(axis=1) + 1.5 * rng.normal(size=n) > 0, 1, -1)


# ---------------------------------------------------------------- paths


@pytest.mark.parametrize("way", ["cyclic", "greedy"])
def test_the_l1_path_is_the_lasso_at_every_point(way: str) -> None:
    X, y = signs()
    model = QuadBoostClassifier(Columns(), penalty="l1", reweight=way, tol=1e-10, n_estimators=5000)
    path = model.path(X, y, n_values=15)
    assert path.lam[0] == pytest.approx(np.abs(X.T @ y / len(y)).max())
    assert path.n_voters[0] == 0
    assert np.all(np.diff(path.lam) < 0)
    for lam, objective, gap in zip(path.lam, path.objective, path.gap, strict=True):
        w = Lasso(alpha=lam, fit_intercept=False, tol=1e-12, max_iter=100_000).fit(X, y).coef_
        assert objective == pytest.approx(np.mean((y - X @ w) ** 2) + 2 * lam * np.abs(w).sum(), abs=1e-8)
        assert gap <= 1e-10


def test_the_l2_path_is_ridge_at_every_point() -> None:
    X, y = signs()
    model = QuadBoostClassifier(Columns(), penalty="l2", reweight="greedy", tol=1e-10, n_estimators=5000)
    path = model.path(X, y, values=[10.0, 1.0, 0.1])
    for lam, weights in zip(path.lam, path.weights, strict=True):
        ridge = Ridge(alpha=lam * len(y), fit_intercept=False).fit(X, y).coef_
        np.testing.assert_allclose(weights, ridge, atol=1e-4)


@pytest.mark.parametrize("values", [[1, 7, 40], [40, 7, 1]])
def test_one_run_gives_every_number_of_rounds(values: list[int]) -> None:
    X, y = signs()
    path = QuadBoostClassifier(Columns()).path(X, y, values=values)
    assert path.n_estimators.tolist() == [1, 7, 40]
    for rounds, objective in zip(path.n_estimators.tolist(), path.objective, strict=True):
        alone = QuadBoostClassifier(Columns(), n_estimators=rounds).fit(X, y)
        assert objective == pytest.approx(alone.history_["objective"][-1], abs=1e-12)


def test_a_path_of_alpha_max_without_re_weighting_is_fit_by_fit() -> None:
    X, y = noisy(2)
    model = QuadBoostClassifier(penalty="linf", n_estimators=30)
    path = model.path(X, y, values=[0.1, 0.01])
    assert path.alpha_max.tolist() == [0.01, 0.1]
    for most, weights in zip(path.alpha_max.tolist(), path.weights, strict=True):
        alone = clone(model).set_params(alpha_max=most).fit(X, y)
        assert np.count_nonzero(weights) == np.count_nonzero(alone.steps_)
        assert np.sort(weights[weights != 0]).tolist() == np.sort(alone.steps_[alone.steps_ != 0]).tolist()


def test_paths_need_a_pool_and_values() -> None:
    X, y = noisy(2)
    with pytest.raises(ValueError, match="values of the path"):
        QuadBoostClassifier(penalty="l2").path(X, y)
    with pytest.raises(ValueError, match="finite pool"):
        QuadBoostClassifier(DecisionTreeRegressor()).path(X, y)
    with pytest.raises(ValueError, match="two classes"):
        QuadBoostClassifier(penalty="l1").path(*noisy(3))


# ---------------------------------------------------------------- cross-validation


@pytest.mark.parametrize(
    "more",
    [
        {"rounds": [1, 5, 30]},
        {"penalty": "l1", "reweight": "greedy", "values": [0.02, 0.1, 0.3], "rounds": [500]},
        {"penalty": "l2", "values": [1.0, 10.0], "rounds": [3, 20]},
        {"penalty": "linf", "values": [0.01, 0.1], "rounds": [3, 20], "reweight": "cyclic"},
    ],
    ids=str,
)
@pytest.mark.parametrize("classes", [2, 3])
def test_errors_are_those_of_models_fitted_fold_by_fold(more: dict[str, Any], classes: int) -> None:
    X, y = noisy(classes, 150)
    chooser = QuadBoostClassifierCV(cv=3, tol=1e-9, **more).fit(X, y)
    results = chooser.cv_results_
    splits = list(StratifiedKFold(3).split(np.zeros(len(y)), y))
    for k in range(len(results["lam"])):
        most = results["alpha_max"][k]
        point = {
            "lam": float(results["lam"][k]),
            "alpha_max": None if np.isinf(most) else float(most),
            "n_estimators": int(results["n_estimators"][k]),
        }
        model = QuadBoostClassifier(
            penalty=more.get("penalty"), reweight=more.get("reweight", "never"), tol=1e-9, **point
        )
        if more.get("reweight", "never") != "never" and more["penalty"] != "l1":
            continue  # a path that goes on is another way to the same limit
        errors = [1 - clone(model).fit(X.iloc[a], y[a]).score(X.iloc[b], y[b]) for a, b in splits]
        np.testing.assert_allclose(results["errors"][k], errors, atol=1e-12)
    best = int(np.argmin(results["mean_error"]))
    assert chooser.best_params_["n_estimators"] == results["n_estimators"][best]
    assert chooser.best_estimator_.digest_ == chooser.best_estimator_.fit(X, y).digest_


def test_folds_in_parallel_choose_the_same() -> None:
    X, y = noisy(2, 150)
    bars = [io.StringIO(), io.StringIO()]
    one, two = (
        QuadBoostClassifierCV(rounds=[1, 10, 50], n_jobs=n + 1).set_callbacks(ProgressBar(bar, every=0)).fit(X, y)
        for n, bar in enumerate(bars)
    )
    np.testing.assert_array_equal(one.cv_results_["errors"], two.cv_results_["errors"])
    assert one.best_estimator_.digest_ == two.best_estimator_.digest_
    assert one.stop_reason_ == two.stop_reason_ == "folds"
    for bar in bars:
        told = bar.getvalue()
        assert [f"fold {k}/5" in told for k in range(1, 7)] == [True] * 5 + [False]
        assert told.endswith("\n")
        assert f"error {one.cv_results_['mean_error'].min():.4f}" in told


class Counts:
    """A callback of scikit-learn's protocol that stops after some folds."""

    def __init__(self, most: int) -> None:
        self.most, self.seen = most, []

    def setup(self, estimator: Any, context: Any) -> None: ...

    def teardown(self, estimator: Any, context: Any) -> None: ...

    def on_fit_task_begin(self, estimator: Any, context: Any) -> None: ...

    def on_fit_task_end(self, estimator: Any, context: Any) -> bool:
        self.seen.append(context.task_name)
        return len(self.seen) >= self.most


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_callback_can_end_the_choice(jobs: int) -> None:
    """It is then by the folds that were done."""
    X, y = noisy(2, 150)
    make = lambda: QuadBoostClassifierCV(rounds=[1, 10, 50], n_jobs=jobs)  # noqa: E731
    whole, counts = make().fit(X, y), Counts(2)
    some = make().set_callbacks(counts).fit(X, y)
    assert counts.seen[:2] == ["fold", "fold"]
    assert some.stop_reason_ == "callback"
    np.testing.assert_array_equal(some.cv_results_["errors"], whole.cv_results_["errors"][:, :2])
    at_once = make().set_callbacks(TimeLimit(0)).fit(X, y)
    assert at_once.stop_reason_ == "time_limit"
    assert at_once.cv_results_["errors"].shape == (3, 1)
    with pytest.raises(TypeError, match="Checkpoint"):
        make().set_callbacks(Checkpoint("nowhere")).fit(X, y)


def test_the_grids_are_the_papers() -> None:
    points = QuadBoostClassifierCV(penalty="l2")._points()
    assert len(points) == 100
    assert {point.lam for point in points} == set(np.logspace(0, 3, 10).tolist())
    assert (points[0].n_estimators, points[-1].n_estimators) == (10, 100_000)
    assert [p.n_estimators for p in QuadBoostClassifierCV()._points()] == [1, 2, 5, 10, 22, 46, 100, 215, 464, 1000]


# ---------------------------------------------------------------- regression


def numbers(n: int = 150, columns: int = 12, seed: int = 3) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, columns))
    return X / np.abs(X).max(axis=0), 1000 + 50 * X[:, 0] - 20 * X[:, 1] + 10 * rng.normal(size=n)


@pytest.mark.parametrize("way", ["cyclic", "greedy"])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
def test_a_regressor_tends_to_the_lasso_and_to_ridge(way: str, intercept: bool, weighted: bool) -> None:
    X, y = numbers()
    y = y if intercept else y - 1000
    weight = np.random.default_rng(0).integers(0, 4, len(y)) if weighted else None
    X[0 if weight is None else np.flatnonzero(weight)[0]] = 1.0  # every column has its largest among rows that count
    common = {"reweight": way, "fit_intercept": intercept, "n_estimators": 20_000, "tol": 1e-9}
    for model, reference in (
        (QuadBoostRegressor(Columns(), penalty="l1", lam=0.7, **common), Lasso(0.7, tol=1e-13, max_iter=100_000)),
        (
            QuadBoostRegressor(Columns(), penalty="l2", lam=0.2, **common),
            Ridge(0.2 * (len(y) if weight is None else weight.sum()), solver="cholesky"),
        ),
    ):
        fitted = model.fit(X, y, weight)
        reference.set_params(fit_intercept=intercept).fit(X, y, weight)
        assert fitted.stop_reason_ in ("converged", "no_edge")  # tol is at what the grid of votes can tell
        assert fitted.intercept_ == pytest.approx(reference.intercept_, abs=1e-3)
        np.testing.assert_allclose(fitted.predict(X), reference.predict(X), atol=1e-3)
        w = reference.coef_
        paid = 2 * 0.7 * np.abs(w).sum() if model.penalty == "l1" else 0.2 * (w**2).sum()
        least = np.average((y - reference.predict(X)) ** 2, weights=weight) + paid
        assert fitted.history_["objective"][-1] == pytest.approx(least, rel=1e-8, abs=1e-8)


def test_l2_boosting_by_a_tree() -> None:
    """Without a penalty every step is the tree itself, fitted to the residuals."""
    X, y = numbers()
    model = QuadBoostRegressor(DecisionTreeRegressor(max_depth=2, random_state=0), n_estimators=4).fit(X, y)
    f = np.full(len(y), y.mean())
    for staged in model.staged_predict(X):
        f += DecisionTreeRegressor(max_depth=2, random_state=0).fit(X, y - f).predict(X)
        np.testing.assert_allclose(staged, f, rtol=1e-9)


@pytest.mark.parametrize("family", [None, Pool(5), Columns()], ids=repr)
def test_a_regressor_counts_weights_as_rows_in_any_order(family: Any) -> None:
    X, y = numbers()
    times = np.random.default_rng(1).integers(0, 3, len(y))
    rows = np.repeat(np.arange(len(y)), times)
    np.random.default_rng(2).shuffle(rows)
    make = lambda: QuadBoostRegressor(family, penalty="l1", lam=1.0, reweight="greedy")  # noqa: E731
    one, other = make().fit(X, y, times), make().fit(X[rows], y[rows])
    np.testing.assert_array_equal(one.predict(X), other.predict(X))
    assert one.history_["objective"].tolist() == other.history_["objective"].tolist()
    jobs = QuadBoostRegressor(family, penalty="l1", lam=1.0, reweight="greedy", n_jobs=2).fit(X, y, times)
    np.testing.assert_array_equal(jobs.predict(X), one.predict(X))
    risk = np.average((y - one.predict(X)) ** 2, weights=times)
    assert one.history_["objective"][-1] == pytest.approx(risk + 2 * np.abs(one.steps_).sum(), rel=1e-9)
    *_, last = one.staged_predict(X)
    np.testing.assert_array_equal(last, one.predict(X))


MODELS = [
    QuadBoostRegressor(n_estimators=10),
    QuadBoostRegressor(RegressionTrees(2), penalty="l2", lam=0.1, n_estimators=6),
    QuadBoostRegressor(RegressionTrees(1), reweight="greedy", early_stopping=True, n_estimators=6),
    QuadBoostRegressor(Pool(5), early_stopping=True, n_estimators=6),
    QuadBoostRegressor(Columns(), penalty="l1", reweight="greedy", n_estimators=20),
    QuadBoostRegressor(Ridge(), penalty="l2", lam=0.1, reweight="cyclic", n_estimators=8),
    QuadBoostClassifierCV(rounds=[1, 5, 20], cv=2),
]


@parametrize_with_checks(MODELS)
def test_checks(estimator: Any, check: Callable[[Any], None]) -> None:
    check(estimator)
