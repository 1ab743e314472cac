"""LocMedBoost for classes: AdaBoost_rho, abstaining voters, and the margin that a linear program reaches."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog
from sklearn.tree import DecisionTreeClassifier

from electorate import (
    AdaBoostClassifier,
    Columns,
    KernelSections,
    LocMedBoostClassifier,
    Pool,
    Rules,
    Stumps,
    Trees,
    Union,
    load,
    margins,
)
from electorate.algorithms.locmedboost import closed_step
from electorate.inspection import convergence
from electorate.theory.training import rounds_to_margin

pytestmark = pytest.mark.filterwarnings("ignore:.*the first tree classifies every training row")
few_cases = settings(derandomize=True, max_examples=25, deadline=None)
FAMILIES = {
    "stumps": Stumps(),
    "trees": Trees(2),
    "rules": Rules(2),
    "pool": Pool(4),
    "union": Union([Stumps(), Trees(2)]),
    "wrapped": DecisionTreeClassifier(max_depth=1, random_state=0),
}


@st.composite
def problems(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n = draw(st.integers(8, 60))
    X = rng.normal(size=(n, 3)).round(draw(st.integers(0, 2)))
    y = (X[:, 0] + X[:, 1] * X[:, 2] > rng.normal(size=n)).astype(int)
    y[:2] = 0, 1
    weight = {"none": np.ones(n), "whole": rng.integers(1, 4, n) * 1.0, "real": rng.uniform(0.01, 1, n)}
    return X, y, weight[draw(st.sampled_from(sorted(weight)))]


# ---------------------------------------------------------------- AdaBoost_rho


@few_cases
@given(problems(), st.sampled_from(sorted(FAMILIES)))
def test_at_rho_0_it_is_adaboost(problem, family):
    """Digest for digest, where no voter is perfect: the step of a perfect one is a convention."""
    X, y, weight = problem
    given_ = {"estimator": FAMILIES[family], "n_estimators": 12, "random_state": 0}
    plain = AdaBoostClassifier(**given_)
    try:
        plain.fit(X, y, weight)
    except ValueError:  # a wrapped classifier that is no better than chance
        return
    if plain.stop_reason_ == "perfect_voter":
        return
    model = LocMedBoostClassifier(rho=0.0, **given_).fit(X, y, weight)
    assert model.stop_reason_ == plain.stop_reason_
    assert np.array_equal(model.history_["objective"], plain.history_["objective"])
    if family != "wrapped":  # which have no digest
        assert model.digest_ == plain.digest_


@few_cases
@given(problems(), st.sampled_from(["trees", "pool", "columns", "kernels"]), st.sampled_from([-0.3, 0.0, 0.1]))
def test_steps_minimise_eq_5(problem, family, rho):
    """For whole confidences, by their closed form, and for any others: the slope of eq. 5 at the step is 0."""
    X, y, weight = problem
    given_ = {"columns": Columns(), "kernels": KernelSections("rbf")}.get(family, FAMILIES.get(family))
    abstain = family in ("trees", "pool")
    model = LocMedBoostClassifier(given_, rho=rho, abstain=abstain, n_estimators=8, max_bins="exact").fit(X, y, weight)
    signs, s = 2 * y - 1, weight / weight.sum()
    votes = np.array(list(model.staged_decision_function(X)))
    before, least = np.zeros(len(y)), []
    for t, step in enumerate(model.steps_):
        w = s * np.exp(-signs * before)
        h = (votes[t] - before) / step
        assert np.abs(h).max() <= 1 + 1e-9
        edge, before = float(w @ (signs * h) / w.sum()), votes[t]
        least.append(edge)
        assert model.history_["edge"][t] == pytest.approx(edge, rel=1e-6, abs=1e-9)
        if model.history_["alone"][t]:
            assert (signs * h)[s > 0].min() >= rho - 1e-9
            continue
        moved = w * np.exp(-step * signs * h)
        assert float(moved @ (signs * h)) / moved.sum() == pytest.approx(rho, abs=1e-6)
    assert convergence(model).holds


@few_cases
@given(st.integers(1, 1000), st.integers(0, 1000), st.integers(0, 1000), st.floats(-0.9, 0.9))
def test_the_closed_step(right, wrong, away, rho):
    """Against the derivative of eq. 5, which is 0 there; PAPERS' form for kappa in {0, 1}."""
    total = right + wrong + away
    if (right - wrong) / total <= rho or (wrong == 0 and (away == 0 or rho <= 0)):
        return
    alpha = closed_step(right, wrong, away, rho)
    up, down = right * math.exp(-alpha), wrong * math.exp(alpha)
    assert (up - down) / (up + down + away) == pytest.approx(rho, abs=1e-9)
    assert alpha >= 0


@few_cases
@given(problems())
def test_a_voter_that_answers_on_one_side_has_the_largest_edge(problem):
    """Against all sides of all stumps."""
    X, y, weight = problem
    model = LocMedBoostClassifier(abstain=True, n_estimators=6, max_bins="exact").fit(X, y, weight)
    signs, before = 2 * y - 1, np.zeros(len(y))
    for t, votes in enumerate(model.staged_decision_function(X)):
        w = weight * np.exp(-signs * before)
        w /= w.sum()
        sides = [side for x in X.T for cut in np.unique(x)[:-1] for side in (x <= cut, x > cut)]
        best = max((abs(float(w[side] @ signs[side])) for side in sides), default=0.0)
        assert model.history_["edge"][t] == pytest.approx(best, rel=1e-6)
        silent = votes == before
        assert any(np.array_equal(~silent, side) for side in sides)
        before = votes


def test_line_8_decides_where_it_answers():
    """At rho = 0 a voter that abstains and is never wrong ends training; a model that goes on knows it."""
    X = np.array([[0.0], [1.0], [2.0], [3.0], [4.0], [5.0]])
    y = np.array([0, 0, 0, 1, 0, 1])
    model = LocMedBoostClassifier(rho=0.0, abstain=True, n_estimators=9, warm_start=True).fit(X, y)
    assert model.stop_reason_ == "perfect_voter"
    assert model.history_["alone"][-1] == 1
    assert np.array_equal(model.predict(X)[:3], [0, 0, 0])
    digest = model.digest_
    assert model.set_params(n_estimators=20).fit(X, y).digest_ == digest
    assert model.stop_reason_ == "perfect_voter"
    fine = LocMedBoostClassifier(abstain=True, n_estimators=9).fit(X, y)
    assert fine.stop_reason_ == "n_estimators"


# ---------------------------------------------------------------- the largest margin


def tables():
    """Votes of -1, 0 and 1, some without 0, and the largest smallest margin of any mean of them, by HiGHS."""
    for seed in range(50):
        rng = np.random.default_rng(seed)
        n, k = int(rng.integers(10, 41)), int(rng.integers(5, 13))
        y = rng.integers(0, 2, n)
        y[:2] = 0, 1
        silent = 0.2 * (seed % 2)
        votes = np.where(rng.random((n, k)) < 0.75, 2.0 * y[:, None] - 1, 1 - 2.0 * y[:, None])
        votes[rng.random((n, k)) < silent] = 0.0
        awards = (2 * y - 1)[:, None] * np.hstack([votes, -votes])
        c = np.append(np.zeros(2 * k), -1.0)
        one = np.append(np.ones(2 * k), 0.0)[None]
        bounds = [(0, None)] * (2 * k) + [(None, None)]
        found = linprog(c, np.hstack([-awards, np.ones((n, 1))]), np.zeros(n), one, [1.0], bounds, method="highs")
        weight = np.ones(n) if seed % 3 else rng.uniform(0.1, 1, n)
        yield votes, y, weight, -found.fun


@pytest.mark.parametrize("rho", ["lowest_edge", "adaptive"])
def test_the_margin_is_within_nu_of_the_optimum_of_the_linear_program(rho):
    """Corollary 2 and Raetsch and Warmuth's theorem, on 50 tables, in the number of rounds that they promise."""
    nu, close = 0.25, 0
    for votes, y, weight, best in tables():
        rounds = rounds_to_margin(float(weight.min() / weight.sum()), nu)
        model = LocMedBoostClassifier(Columns(), rho=rho, nu=nu, n_estimators=rounds).fit(votes, y, weight)
        history = model.history_
        if model.stop_reason_ == "perfect_voter":
            continue
        assert np.all(history["edge"] >= best - 1e-7)
        smallest = margins(model, votes, y).minimum
        assert smallest <= best + 1e-7
        if np.all(history["edge"] - history["rho"] >= nu - 1e-9) and len(history["edge"]) == rounds:
            close += 1
            assert smallest > best - nu
            target = float(history["rho"] @ history["step"] / history["step"].sum())
            assert smallest > target
        assert convergence(model).holds
    assert close >= 45


def test_a_finer_nu_comes_closer():
    """On one table: AdaBoost's margin is smaller than that of a run towards the optimum."""
    votes, y, weight, best = next(tables())
    fine = LocMedBoostClassifier(Columns(), nu=0.02, n_estimators=3000).fit(votes, y, weight)
    assert margins(fine, votes, y).minimum > best - 0.02


# ---------------------------------------------------------------- what is refused, files


def test_what_is_refused():
    X, y = np.array([[1.0], [-1.0], [1.0]]), [0, 1, 0]
    with pytest.raises(ValueError, match="abstain=True needs voters with leaves"):
        LocMedBoostClassifier(Columns(), abstain=True).fit(X, y)
    with pytest.raises(ValueError, match="'rho' parameter"):
        LocMedBoostClassifier(rho=1.0).fit(X, y)


@pytest.mark.parametrize("family", [Stumps(), Rules(2), Pool(5)])
def test_abstaining_models_are_stored_and_continued(family, tmp_path):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(80, 3)), rng.integers(0, 3, 80)
    model = LocMedBoostClassifier(family, abstain=True, n_estimators=5, warm_start=True).fit(X, y)
    model.save(tmp_path / "model")
    assert np.array_equal(load(tmp_path / "model").decision_function(X), model.decision_function(X))
    once = LocMedBoostClassifier(family, abstain=True, n_estimators=9).fit(X, y)
    assert model.set_params(n_estimators=9).fit(X, y).digest_ == once.digest_
