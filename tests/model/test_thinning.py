"""thin: any ensemble, fewer voters, the same interface; the Lasso against scikit-learn's."""

import os
import pickle
import pkgutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import linprog
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingRegressor,
    RandomForestClassifier,
)
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import Lasso
from sklearn.model_selection import GridSearchCV
from sklearn.tree import DecisionTreeClassifier

import electorate
from electorate import Columns, ThinnedClassifier, Trees, thin
from electorate.estimators.thinned import PROGRAMS
from electorate.training.totally_corrective import VoterMatrix, lasso, pool_of_voters

ROOT = Path(__file__).parents[2]
MODELS = {
    "forest": RandomForestClassifier(40, random_state=0),
    "extra trees": ExtraTreesClassifier(40, random_state=0),
    "bagging": BaggingClassifier(n_estimators=30, max_features=0.6, random_state=0),
    "scikit-learn AdaBoost": AdaBoostClassifier(n_estimators=30, random_state=0),
    "AdaBoost": electorate.AdaBoostClassifier(n_estimators=40),
    "Real AdaBoost": electorate.RealAdaBoostClassifier(Trees(2), n_estimators=20),
    "AdaBoost_R": electorate.AdaBoostRClassifier(n_estimators=20),
    "wrapped": electorate.AdaBoostClassifier(DecisionTreeClassifier(max_depth=2, random_state=0), n_estimators=20),
}


def halves(labels: int) -> Any:
    X, y = load_breast_cancer(return_X_y=True) if labels == 2 else load_iris(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    first, second = order[: len(y) // 2], order[len(y) // 2 :]
    names = np.array(["a", "b", "c"])[y]
    return X[first], names[first], X[second], names[second]


@pytest.mark.parametrize("by", ["lp", "qp", "quad-l1"])
@pytest.mark.parametrize("name", MODELS)
def test_fewer_voters_with_the_same_interface(name: str, by: str) -> None:
    for labels in (2, 3):
        X, y, X_thin, y_thin = halves(labels)
        model = MODELS[name].fit(X, y)
        small = thin(model, X_thin, y_thin, by=by, max_voters=9)
        assert 0 < len(small.kept_) <= 9
        assert small.weights_.shape == (1 if labels == 2 else 3, len(small.kept_))
        assert np.all(np.any(small.weights_ != 0, axis=0))
        np.testing.assert_array_equal(small.classes_, model.classes_)
        assert small.score(X_thin, y_thin) > 0.88
        assert f"kept {len(small.kept_)} of" in small.summary_
        proba = small.predict_proba(X_thin)
        np.testing.assert_allclose(proba.sum(axis=1), 1)
        np.testing.assert_array_equal(small.classes_[np.argmax(proba, axis=1)], small.predict(X_thin))
        stages = list(small.staged_decision_function(X_thin))
        np.testing.assert_array_equal(stages[-1], small.decision_function(X_thin))
        *_, last = small.staged_predict(X_thin)
        np.testing.assert_array_equal(last, small.predict(X_thin))
        again = pickle.loads(pickle.dumps(small))
        np.testing.assert_array_equal(again.predict(X), small.predict(X))


def test_the_decision_is_the_weighted_vote_of_the_trees_kept() -> None:
    X, y, X_thin, y_thin = halves(2)
    forest = MODELS["forest"].fit(X, y)
    small = thin(forest, X_thin, y_thin, max_voters=12)
    votes = [2 * forest.estimators_[t].predict_proba(X)[:, 1] - 1 for t in small.kept_]
    np.testing.assert_allclose(small.decision_function(X), small.weights_[0] @ np.array(votes), atol=1e-9)
    mine = electorate.AdaBoostClassifier(n_estimators=30).fit(X, y)
    small = thin(mine, X_thin, y_thin, max_voters=12)
    votes = [np.where(mine.estimators_[t].predict(X) == "b", 1, -1) for t in small.kept_]
    np.testing.assert_allclose(small.decision_function(X), small.weights_[0] @ np.array(votes), atol=1e-9)


def test_explanations_of_a_thinned_model() -> None:
    X, y, X_thin, y_thin = halves(2)
    small = thin(MODELS["AdaBoost"].fit(X, y), X_thin, y_thin, max_voters=6)
    assert electorate.inspection.rule_table(small, X).columns["step"] == small.steps_.tolist()
    constant, shapes = electorate.inspection.shape_functions(small)
    decision = small.decision_function(X)
    np.testing.assert_allclose(constant + sum(shape.at(X[:, shape.column]) for shape in shapes), decision, atol=1e-9)
    found = electorate.inspection.contributions(small, X[:5], background=X)
    np.testing.assert_allclose(found.decision, decision[:5], atol=1e-9)
    forest = thin(MODELS["forest"].fit(X, y), X_thin, y_thin, max_voters=3)
    for refused in (
        electorate.inspection.rule_table,
        electorate.inspection.shape_functions,
        lambda model: electorate.inspection.contributions(model, X),
    ):
        with pytest.raises(TypeError, match="ThinnedClassifier"):
            refused(forest)


def test_predictions_for_dask_arrays() -> None:
    X, y, X_thin, y_thin = halves(2)
    rows = pytest.importorskip("dask.array").from_array(X, chunks=(50, 30))
    for name in ("AdaBoost", "forest"):
        model = MODELS[name].fit(X, y)
        for max_voters in (3, 9):  # with the same parameters, Dask must not take one for the other
            small = thin(model, X_thin[max_voters:], y_thin[max_voters:], max_voters=9)
            np.testing.assert_array_equal(small.predict_proba(rows).compute(), small.predict_proba(X))


def test_a_thinned_model_does_not_carry_the_others_along() -> None:
    X, y, X_thin, y_thin = halves(2)
    for name in ("forest", "bagging", "wrapped"):
        model = MODELS[name].fit(X, y)
        small = thin(model, X_thin, y_thin, max_voters=3)
        assert len(pickle.dumps(small)) < 0.6 * len(pickle.dumps(model))


def test_without_a_limit_the_fewest_within_a_standard_error() -> None:
    X, y, X_thin, y_thin = halves(2)
    forest = MODELS["forest"].fit(X, y)
    small = thin(forest, X_thin, y_thin)
    best = max(choice.score for choice in small.tried_)
    near = [c for c in small.tried_ if c.score >= best - np.sqrt(best * (1 - best) / len(y_thin) * 4)]
    taken = next(c for c in small.tried_ if f"lam={c.strength:g} times" in small.summary_)
    assert taken.n_voters == min(c.n_voters for c in near if c.n_voters)


@pytest.mark.parametrize("by", ["lp", "qp", "quad-l1"])
def test_weights_are_repetition_and_neither_scale_nor_order_matters(by: str) -> None:
    X, y, X_thin, y_thin = halves(2)
    forest = MODELS["forest"].fit(X, y)
    rng = np.random.default_rng(0)
    times = rng.integers(1, 4, size=len(y_thin))
    order = rng.permutation(int(times.sum()))
    rows = np.repeat(np.arange(len(y_thin)), times)[order]
    weighted = thin(forest, X_thin, y_thin, by=by, max_voters=5, sample_weight=times)
    scaled = thin(forest, X_thin, y_thin, by=by, max_voters=5, sample_weight=4.0 * times)
    repeated = thin(forest, X_thin[rows], y_thin[rows], by=by, max_voters=5)
    for other in (scaled, repeated):
        np.testing.assert_array_equal(weighted.kept_, other.kept_)
        np.testing.assert_allclose(weighted.weights_, other.weights_, rtol=1e-9)
        assert weighted.tried_ == other.tried_


def test_fitting_and_thinning_in_one_estimator() -> None:
    X, y, X_test, y_test = halves(3)
    small = ThinnedClassifier(RandomForestClassifier(30, random_state=0), by="lp", max_voters=9).fit(X, y)
    assert 0 < len(small.kept_) <= 9
    assert small.score(X_test, y_test) > 0.88
    search = GridSearchCV(small, {"max_voters": [3, 6], "estimator__max_depth": [2]}, cv=2).fit(X, y)
    assert len(search.best_estimator_.kept_) <= search.best_params_["max_voters"]


def test_a_frozen_ensemble_is_not_fitted_again() -> None:
    X, y, X_thin, y_thin = halves(2)
    forest = MODELS["forest"].fit(X, y)
    frozen = ThinnedClassifier(FrozenEstimator(forest), max_voters=8).fit(X_thin, y_thin)
    votes = [2 * forest.estimators_[t].predict_proba(X)[:, 1] - 1 for t in frozen.kept_]
    np.testing.assert_allclose(frozen.decision_function(X), frozen.weights_[0] @ np.array(votes), atol=1e-9)


def test_what_thin_returns_can_be_cloned_and_fitted_again() -> None:
    X, y, X_thin, y_thin = halves(2)
    small = thin(MODELS["AdaBoost"].fit(X, y), X_thin, y_thin, by="lp", max_voters=4)
    again = clone(small)
    assert again.get_params(deep=False).keys() == small.get_params(deep=False).keys()
    with pytest.raises(NotFittedError):
        again.predict(X)
    assert len(again.fit(X, y).kept_) <= 4


def test_a_class_with_one_row_is_known() -> None:
    X, y, _, _ = halves(2)
    y = y.copy()
    y[0] = "z"
    small = ThinnedClassifier(electorate.AdaBoostClassifier(n_estimators=20)).fit(X, y)
    assert small.classes_.tolist() == ["a", "b", "z"]


def test_a_limit_above_the_number_of_voters_is_no_limit() -> None:
    X, y, X_thin, y_thin = halves(2)
    forest = MODELS["forest"].fit(X, y)
    for by in ("lp", "qp", "quad-l1"):
        huge, exact = (thin(forest, X_thin, y_thin, by=by, max_voters=many) for many in (10**30, 40))
        np.testing.assert_array_equal(huge.kept_, exact.kept_)
        np.testing.assert_array_equal(huge.weights_, exact.weights_)


@pytest.mark.parametrize(
    ("by", "smallest"), [("lp", lambda s, n: s), ("qp", lambda s, n: s**-2 / n), ("quad-l1", lambda s, n: s)]
)
def test_a_strength_is_what_the_documentation_says(by: str, smallest: Any) -> None:
    """The weights solve the documented program: its optimality conditions hold at the documented parameter."""
    X, y, X_thin, y_thin = halves(2)
    forest = MODELS["forest"].fit(X, y)
    small = thin(forest, X_thin, y_thin, by=by)
    strength = next(
        c.strength for c in small.tried_ if PROGRAMS[by].text.format(c.strength, c.strength**-2) in small.summary_
    )
    said = np.array([2 * tree.predict_proba(X_thin)[:, 1] - 1 for tree in forest.estimators_])
    signs, n = np.where(y_thin == "b", 1.0, -1.0), len(y_thin)
    alpha = np.zeros(len(said))
    alpha[small.kept_] = small.weights_[0]
    parameter = smallest(strength, n)
    margins = signs * (alpha @ said)
    if by == "quad-l1":  # KKT of the Lasso: |correlation| <= lam, equal to it where alpha is not 0
        lam = parameter * np.abs(said @ signs / n).max()
        assert np.abs(said @ (signs - alpha @ said) / n).max() <= lam * (1 + 1e-2)
        assert np.abs(said[alpha != 0] @ (signs - alpha @ said) / n) == pytest.approx(lam, rel=1e-2)
        return
    if by == "lp":
        best = linprog(
            np.concatenate([np.zeros(len(said)), [-1.0], np.full(n, 1 / (parameter * n))]),
            A_ub=np.column_stack([-(signs * said).T, np.ones(n), -np.eye(n)]),
            b_ub=np.zeros(n),
            A_eq=np.concatenate([np.ones(len(said)), np.zeros(n + 1)])[None],
            b_eq=[1.0],
            bounds=[(0, None)] * len(said) + [(None, None)] + [(0, None)] * n,
        )
        ours = max(rho - np.maximum(rho - margins, 0).sum() / (parameter * n) for rho in margins)
        assert ours == pytest.approx(-best.fun, abs=1e-4)
        return
    objective = alpha @ alpha + parameter * np.maximum(1 - margins, 0).sum()
    for shrink in (0.97, 1.03):  # a scaled alpha is no better
        moved = shrink**2 * (alpha @ alpha) + parameter * np.maximum(1 - shrink * margins, 0).sum()
        assert moved >= objective * (1 - 1e-6)


def test_dataframes_categories_and_missing_values() -> None:
    X, y, X_thin, y_thin = halves(2)
    frames = [pd.DataFrame(part).rename(columns=lambda j: f"c{j}") for part in (X, X_thin)]
    for frame in frames:
        frame["c0"] = pd.Categorical(np.where(frame["c0"] > 13, "large", "small"))
        frame.loc[::5, "c1"] = np.nan
    model = electorate.AdaBoostClassifier(n_estimators=30).fit(frames[0], y)
    small = thin(model, frames[1], y_thin, max_voters=10)
    assert small.score(frames[1], y_thin) > 0.9
    forest = RandomForestClassifier(20, random_state=0).fit(frames[0].drop(columns="c0"), y)
    small = thin(forest, frames[1].drop(columns="c0"), y_thin, max_voters=5)
    assert small.score(frames[1].drop(columns="c0"), y_thin) > 0.9
    with pytest.raises(ValueError, match="feature names"):
        small.predict(frames[1])


def test_columns_can_be_thinned() -> None:
    rng = np.random.default_rng(0)
    X = rng.choice([-1.0, 1.0], size=(200, 12))
    y = (X[:, :3].sum(axis=1) > 0).astype(int)
    model = electorate.AdaBoostClassifier(Columns(), n_estimators=20).fit(X, y)
    assert thin(model, X, y, by="lp", max_voters=3).score(X, y) == 1.0


def test_what_is_refused() -> None:
    X, y, X_thin, y_thin = halves(2)
    forest = MODELS["forest"].fit(X, y)
    for given, message in (
        ({"by": "magic"}, "'by' parameter"),
        ({"max_voters": 0}, "'max_voters' parameter"),
        ({"max_voters": 2.5}, "'max_voters' parameter"),
        ({"validation_fraction": 1.0}, "validation_fraction"),
        ({"sample_weight": -np.ones(len(y_thin))}, "Negative"),
    ):
        with pytest.raises(ValueError, match=message):
            thin(forest, X_thin, y_thin, **given)
    with pytest.raises(NotFittedError):
        thin(RandomForestClassifier(), X, y)
    with pytest.raises(TypeError, match="not an ensemble that can be re-weighted"):
        thin(DecisionTreeClassifier().fit(X, y), X, y)
    with pytest.raises(TypeError, match="not an ensemble that can be re-weighted"):
        thin(GradientBoostingRegressor(n_estimators=2).fit(X, X[:, 0]), X, y)
    with pytest.raises(ValueError, match="not one of"):
        thin(forest, X_thin, np.full(len(X_thin), "z"))
    with pytest.raises(ValueError, match="features"):
        thin(forest, X_thin[:, :3], y_thin)
    X, y, X_thin, y_thin = halves(3)
    with pytest.raises(ValueError, match=r"max_voters=2: .* 3 classes"):
        thin(MODELS["forest"].fit(X, y), X_thin, y_thin, max_voters=2)
    with pytest.raises(ValueError, match="one class only"):
        ThinnedClassifier().fit(X, np.zeros(len(X)))


@pytest.mark.parametrize("seed", range(3))
def test_the_lasso_is_scikit_learns(seed: int) -> None:
    rng = np.random.default_rng(seed)
    said = np.where(rng.normal(size=(15, 120)) > 0, 1.0, -1.0)
    y = np.sign(said[0] + said[1] + rng.normal(size=120))
    examples = VoterMatrix.of(said, y > 0, np.ones(120, dtype=np.int64), 120.0)
    path = (0.3, 0.05, 0.001)
    for lam, ours in zip(path, lasso(pool_of_voters(examples), path, 0.0), strict=True):
        theirs = Lasso(alpha=lam, fit_intercept=False, tol=1e-12, max_iter=100_000).fit(said.T, y).coef_
        np.testing.assert_allclose(ours, theirs, atol=1e-7)


def test_public_names_are_not_submodules() -> None:
    """Importing a submodule sets an attribute of the package: it would replace the function of the same name."""
    submodules = {module.name for module in pkgutil.iter_modules(electorate.__path__)}
    assert not submodules & set(electorate.__all__)


@pytest.mark.process
def test_thin_is_the_function_in_every_import_order() -> None:
    script = """
import sys
from itertools import permutations
for order in permutations(["ThinnedClassifier", "thin", "electorate.estimators.thinned"]):
    for name in [name for name in sys.modules if name.split(".")[0] == "electorate"]:
        del sys.modules[name]
    for name in order:
        exec(f"import {name}" if "." in name else f"from electorate import {name}")
    import electorate
    assert callable(thin) and callable(electorate.thin), order
"""
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    env = {**os.environ, "PYTHONPATH": path}
    subprocess.run([sys.executable, "-c", script], env=env, check=True, capture_output=True, timeout=300)


@pytest.mark.process
def test_the_thinning_benchmark_runs(tmp_path: Path) -> None:
    folder = Path(os.environ.get("ELECTORATE_DATA", ROOT.parent / "shared" / "data"))
    if not (folder / "covtype.csv.gz").exists():
        pytest.skip("the data sets are not here")
    out = tmp_path / "THINNING.md"
    command = [sys.executable, str(ROOT / "benchmarks" / "thinning.py"), "--trees", "20", "--most-rows", "1000"]
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    env = {**os.environ, "PYTHONPATH": path, "ELECTORATE_DATA": str(folder)}
    subprocess.run([*command, "--out", str(out)], env=env, check=True, capture_output=True, timeout=300)
    text = out.read_text()
    assert text.count("| thin, by=") == 6
