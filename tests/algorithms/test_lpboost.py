"""LPBoostClassifier: its optimum is that of the full program over the whole pool; what it says where there is none."""

import warnings
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.tree import DecisionTreeClassifier
from test_lpboost_programs import primal_in_c, primal_in_nu

import electorate
from electorate import Columns, KernelSections, LPBoostClassifier, PairedStumps, Pool, Stumps, TimeLimit, Trees
from electorate.algorithms.lpboost import in_nu
from electorate.algorithms.solvers.linear import Fresh, Live

SOLVERS = ["scipy", "highspy"]


def table(seed: int = 0, n: int = 80, noise: float = 0.1) -> tuple[Any, Any]:
    """Few values per column, so that every threshold can be written down; some rows twice."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 6, size=(n, 4)).astype(float)
    y = (X[:, 0] + X[:, 1] > X[:, 2] + 3) ^ (rng.random(n) < noise)
    return X, y.astype(int)


def all_stumps(X: Any, constants: bool = True) -> Any:
    """[voter, row] of all stumps, their complements and the constants."""
    said = [np.ones(len(X))] if constants else []
    for column in X.T:
        for low, high in pairwise(np.unique(column)):
            said.append(np.where(column <= (low + high) / 2, -1.0, 1.0))
    return np.vstack([said, -np.array(said)])


def awards(said: Any, y: Any) -> Any:
    return said * np.where(y == 1, 1.0, -1.0)


def objective(model: Any) -> float:
    return float(model.history_["objective"][-1])


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("seed", range(3))
def test_stumps_reach_the_program_over_all_of_them(seed: int, solver: str) -> None:
    X, y = table(seed)
    weight = np.random.default_rng(seed).integers(1, 4, len(y)).astype(float)
    every = awards(all_stumps(X), y)
    for c in (0.02, 0.2):
        model = LPBoostClassifier(C=c, tol=1e-9, solver=solver).fit(X, y, sample_weight=weight)
        assert model.stop_reason_ == "converged"
        assert objective(model) == pytest.approx(primal_in_c(every, c * weight), rel=1e-8, abs=1e-8)
        assert model.gap_ < 1e-8
    for nu in (0.15, 0.5):
        model = LPBoostClassifier(nu=nu, tol=1e-9, solver=solver).fit(X, y, sample_weight=weight)
        assert objective(model) == pytest.approx(primal_in_nu(every, weight / (nu * weight.sum())), abs=1e-8)
        assert model.gap_ < 1e-8
        assert model.steps_.sum() == pytest.approx(1.0, abs=1e-9)
        assert "all voters of Stumps()" in model.certificate_


@pytest.mark.parametrize("solver", SOLVERS)
def test_the_hard_margin_of_separable_rows(solver: str) -> None:
    X, y = table(4, noise=0.0)
    said = all_stumps(X)
    best = primal_in_nu(awards(said, y), None)
    assert best > 0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = LPBoostClassifier(C=np.inf, tol=1e-9, solver=solver).fit(X, y)
    assert objective(model) == pytest.approx(best, abs=1e-8)
    assert model.score(X, y) == 1.0
    margins = np.where(y == 1, 1, -1) * model.decision_function(X)
    assert margins.min() == pytest.approx(best, abs=1e-8)
    same = LPBoostClassifier(nu=1 / len(y), tol=1e-9, solver=solver).fit(X, y)
    assert objective(same) == pytest.approx(best, abs=1e-8)


@pytest.mark.parametrize("solver", SOLVERS)
def test_the_hard_margin_of_other_rows_is_reported(solver: str) -> None:
    X, y = table(5, noise=0.3)
    with pytest.warns(ConvergenceWarning, match="infeasible.*gap") as said:
        model = LPBoostClassifier(C=np.inf, tol=1e-9, solver=solver).fit(X, y)
    assert len(said) == 1
    assert objective(model) == pytest.approx(primal_in_nu(awards(all_stumps(X), y), None), abs=1e-8)
    assert objective(model) <= 1e-9
    assert np.all(np.isfinite(model.steps_))
    assert model.gap_ < 1e-8


def test_the_fitted_forms_correspond() -> None:
    """C = D / beta gives the same model up to a factor: 1 / beta is its optimum."""
    X, y = table(6)
    nu = 0.4
    first = LPBoostClassifier(nu=nu, tol=1e-10).fit(X, y)
    beta = objective(first)
    assert beta > 0
    second = LPBoostClassifier(C=1 / (nu * len(y)) / beta, tol=1e-10).fit(X, y)
    assert objective(second) == pytest.approx(1 / beta, rel=1e-8)


def test_columns_and_pools_reach_their_programs() -> None:
    X, y = table(7)
    said = all_stumps(X, constants=False)
    half = said[: len(said) // 2]
    best = primal_in_nu(awards(said, y), np.full(len(y), 1 / (0.3 * len(y))))
    for model, rows in (
        (LPBoostClassifier(Columns(), nu=0.3, tol=1e-9), half.T),
        (LPBoostClassifier(Pool(), nu=0.3), X),
    ):
        assert objective(model.set_params(tol=1e-9).fit(rows, y)) == pytest.approx(best, abs=1e-8)
        assert "exhaustive" in model.certificate_
    real = np.random.default_rng(0).normal(size=(len(y), 15))
    scaled = real / np.abs(real).max(axis=0)
    best = primal_in_nu(awards(np.vstack([scaled.T, -scaled.T]), y), np.full(len(y), 1 / (0.3 * len(y))))
    model = LPBoostClassifier(Columns(), nu=0.3, tol=1e-9).fit(real, y)
    assert objective(model) == pytest.approx(best, abs=1e-8)


@pytest.mark.parametrize(
    "family", [PairedStumps(search="exhaustive"), PairedStumps(), Trees(2), KernelSections(), DecisionTreeClassifier()]
)
def test_any_family(family: Any) -> None:
    X, y = table(8, n=60)
    if isinstance(family, DecisionTreeClassifier):
        family.set_params(max_depth=2, random_state=0)
    model = LPBoostClassifier(family, nu=0.3, n_estimators=60, tol=1e-6)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X, y)
    whole = getattr(family, "exhaustive", False)
    assert ("over all voters" if whole else "over the columns found") in model.certificate_
    f = np.where(y == 1, 1, -1) * model.decision_function(X)
    form = in_nu(np.ones(len(y)), 0.3)
    assert form.primal(model.steps_, f) == pytest.approx(objective(model), abs=1e-9)
    assert model.history_["train_error"][-1] == pytest.approx(1 - model.score(X, y))
    better = np.diff(model.history_["objective"])
    assert np.all(better >= -1e-9)


def test_solvers_agree() -> None:
    X, y = table(9, n=150, noise=0.2)
    for options in ({"nu": 0.2}, {"C": 0.05}):
        a, b = (LPBoostClassifier(**options, tol=1e-9, solver=solver).fit(X, y) for solver in SOLVERS)
        assert objective(a) == pytest.approx(objective(b), rel=1e-8, abs=1e-8)
        assert a.certificate_.split(" of the optimum ")[1] == b.certificate_.split(" of the optimum ")[1]
        assert max(a.gap_, b.gap_) < 1e-8


def test_history_and_steps() -> None:
    X, y = table(10)
    model = LPBoostClassifier(nu=0.2, tol=1e-9).fit(X, y)
    history = model.history_
    assert {"step", "edge", "error", "objective", "gap", "train_error", "n_voters", "seconds"} <= set(history)
    assert np.all(np.diff(history["objective"]) >= -1e-9)
    assert np.all(history["gap"] >= 0)
    assert model.gap_ == history["gap"][-1]
    assert history["n_voters"][-1] == len(model.steps_) == len(model.estimators_) == history["kept"].sum()
    assert np.all(model.steps_ > 0)
    assert len({voter.to_text() for voter in model.estimators_}) == len(model.steps_)
    assert model.estimator_errors_.shape == model.steps_.shape
    *_, last = model.staged_decision_function(X)
    np.testing.assert_array_equal(last, model.decision_function(X))


# ---------------------------------------------------------------- what must never happen


def test_too_few_rounds_are_not_silent() -> None:
    X, y = table(11, noise=0.2)
    with pytest.warns(ConvergenceWarning, match="n_estimators=3 rounds ended with a duality gap") as said:
        model = LPBoostClassifier(n_estimators=3, tol=1e-9).fit(X, y)
    assert len(said) == 1
    assert model.stop_reason_ == "n_estimators"
    assert model.gap_ > 1e-9
    full = LPBoostClassifier(tol=1e-9).fit(X, y)
    assert objective(full) <= objective(model) + model.gap_ + 1e-9


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_solver_that_gives_up_is_not_silent(solver: str, monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = table(12)
    kind = Fresh if solver == "scipy" else Live
    solve, calls = kind.solve, []

    def sometimes(self: Any) -> Any:
        calls.append(1)
        self.status = "iteration limit reached"
        return solve(self) if len(calls) < 4 else None

    monkeypatch.setattr(kind, "solve", sometimes)
    with pytest.warns(ConvergenceWarning, match="gave up.*iteration limit.*gap"):
        model = LPBoostClassifier(solver=solver, tol=1e-9).fit(X, y)
    assert model.stop_reason_ == "solver"
    assert len(model.history_["gap"]) == 3
    assert 0 < model.gap_ < np.inf
    assert set(model.predict(X)) <= {0, 1}


def test_separable_zero_edge_and_perfect_voters() -> None:
    X = np.arange(10.0)[:, None]
    y = (X[:, 0] > 4).astype(int)
    for options in ({}, {"C": 1.0}, {"C": np.inf}):
        model = LPBoostClassifier(**options).fit(X, y)
        assert model.stop_reason_ == "converged"
        assert model.score(X, y) == 1.0
        assert np.all(np.isfinite(model.steps_))
    blind = np.zeros((10, 1))
    model = LPBoostClassifier().fit(blind, y)
    assert model.stop_reason_ == "converged"
    assert len(np.unique(model.predict(blind))) == 1
    with pytest.warns(UserWarning, match="so small, for a total sample weight of 10, that no voter is worth"):
        model = LPBoostClassifier(C=1e-6).fit(X, y)
    assert len(model.steps_) == 0
    np.testing.assert_array_equal(model.predict_proba(X), 0.5)
    one = LPBoostClassifier().fit(X, np.zeros(10))
    assert one.stop_reason_ == "no_edge"
    assert one.gap_ == 0


def test_options_that_contradict_each_other() -> None:
    X, y = table()
    with pytest.raises(ValueError, match="two forms of one program"):
        LPBoostClassifier(C=1.0, nu=0.1).fit(X, y)
    with pytest.raises(ValueError, match="'nu' parameter"):
        LPBoostClassifier(nu=1.5).fit(X, y)


def test_dask_is_refused_in_words() -> None:
    class Collection:
        def __dask_graph__(self) -> None: ...

        def to_delayed(self) -> None: ...

    with pytest.raises(TypeError, match=r"LPBoostClassifier needs every row.*compute\(\)"):
        LPBoostClassifier().fit(Collection(), [0, 1])


def test_callbacks() -> None:
    X, y = table(13, n=200, noise=0.3)
    model = LPBoostClassifier(tol=1e-12)
    model.set_callbacks(TimeLimit(1e-9))
    model.fit(X, y)
    assert model.stop_reason_ == "time_limit"
    assert len(model.history_["gap"]) == 1


# ---------------------------------------------------------------- the same bits


def cases() -> dict[str, tuple[Any, Any]]:
    X, y = table(14, n=70, noise=0.15)
    frame = pd.DataFrame(X).rename(columns=str)
    frame["0"] = frame["0"].astype(int).map(dict(enumerate("abcdef"))).astype("category")
    frame.loc[::7, "1"] = np.nan
    return {
        "stumps": (LPBoostClassifier(nu=0.2), (X, y)),
        "in C": (LPBoostClassifier(C=0.1), (X, y)),
        "three classes": (LPBoostClassifier(nu=0.3), (X, y + (X[:, 3] > 3))),
        "categories": (LPBoostClassifier(nu=0.3), (frame, y)),
        "columns": (LPBoostClassifier(Columns(), nu=0.3), (np.where(X > 2, 1.0, -1.0), y)),
        "trees": (LPBoostClassifier(Trees(2, min_samples_leaf=3), nu=0.3, n_estimators=40), (X, y)),
    }


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", cases())
def test_rows_weights_threads_and_solvers(name: str) -> None:
    model, (X, y) = cases()[name]
    take = (lambda rows: X.iloc[rows]) if hasattr(X, "iloc") else (lambda rows: X[rows])
    rng = np.random.default_rng(0)
    times = rng.integers(0, 4, len(y))
    digest = model.fit(X, y, sample_weight=times).digest_
    rows = rng.permutation(np.repeat(np.arange(len(y)), times))
    assert model.fit(take(rows), y[rows]).digest_ == digest
    for jobs in (1, 2, 4):
        assert model.set_params(n_jobs=jobs).fit(X, y, sample_weight=times).digest_ == digest
    if name not in ("in C", "trees"):  # there the number of rows itself counts
        assert model.fit(X, y, sample_weight=times * 0.25).digest_ == digest
    real = rng.uniform(0.1, 1, len(y))
    digest = model.fit(X, y, sample_weight=real).digest_
    order = rng.permutation(len(y))
    assert model.fit(take(order), y[order], sample_weight=real[order]).digest_ == digest


@pytest.mark.parametrize("name", cases())
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_files(name: str, tmp_path: Any) -> None:
    model, (X, y) = cases()[name]
    model.fit(X, y).save(tmp_path / "model")
    again = electorate.load(tmp_path / "model")
    assert again.digest_ == model.digest_
    assert again.certificate_ == model.certificate_
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", cases())
def test_probabilities_agree_with_predictions(name: str) -> None:
    model, (X, y) = cases()[name]
    proba = model.fit(X, y).predict_proba(X)
    np.testing.assert_allclose(proba.sum(axis=1), 1)
    assert np.all((proba >= 0) & (proba <= 1))
    np.testing.assert_array_equal(model.classes_[np.argmax(proba, axis=1)], model.predict(X))


def test_class_weight_is_sample_weight() -> None:
    X, y = table(15)
    one = LPBoostClassifier(class_weight={0: 1, 1: 3}).fit(X, y)
    two = LPBoostClassifier().fit(X, y, sample_weight=np.where(y == 1, 3, 1))
    assert one.digest_ == two.digest_


def test_default_family_is_stumps() -> None:
    X, y = table(16)
    assert LPBoostClassifier().fit(X, y).digest_ == LPBoostClassifier(Stumps()).fit(X, y).digest_


def test_the_order_of_rows_is_nobodys_business_where_columns_share_bytes() -> None:
    """Codes of columns that share a byte are given out as rows come; a program over examples must not notice."""
    rng = np.random.default_rng(0)
    X = (rng.random((300, 40)) < 0.08).astype(float)
    X[:, 0] = rng.normal(size=300)
    y = (X[:, 1:].sum(axis=1) + X[:, 0] + rng.normal(0, 0.7, 300) > 3).astype(int)
    order = rng.permutation(300)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        models = [LPBoostClassifier(Trees(2), n_estimators=40).fit(X[rows], y[rows]) for rows in (slice(None), order)]
    assert models[0].digest_ == models[1].digest_
