"""EBBoost: every voter by brute force at its own step, AdaBoost at lam 0, VadaBoost's step at lam 1, bits, refusals."""

from itertools import combinations, product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from test_vadaboost import BITS, cost, problems
from training_cases import noisy, plain

from electorate import (
    AdaBoostClassifier,
    Columns,
    EBBoostClassifier,
    PairedStumps,
    Pool,
    Rules,
    Stumps,
    Trees,
    Union,
    VadaBoostClassifier,
    load,
)
from electorate.algorithms.ebboost import EBBoost
from electorate.families.ebboost_search import extreme_sets
from tests.common import checks
from tests.common.cases import DATA
from tests.common.engines import ENGINES

few_cases = settings(derandomize=True, max_examples=25, deadline=None)
FAMILIES = {"stumps": Stumps(), "pool": Pool(4), "paired": PairedStumps(), "union": Union([Stumps(), PairedStumps()])}


def cost_at_best(w, s, right, lam):
    """(4) at the best alpha of Algorithm 3; and that alpha."""

    def side(rows):
        return (1 - lam) * w[rows].sum() ** 2 + lam * np.sum(w[rows] ** 2 / s[rows])

    ups, downs = side(right), side(~right)
    return 2 * np.sqrt(ups * downs) + 2 * (1 - lam) * w[right].sum() * w[~right].sum(), ups, downs


def splits(X):
    """All questions, as masks of the left: thresholds of numbers, sets of the values of a column of text."""
    for name in X:
        x = X[name]
        if name == "kind":
            levels = sorted(set(x))
            sets = [set(c) for k in range(1, len(levels)) for c in combinations(levels, k)]
            sets = sets if len(levels) <= 10 else [{level} for level in levels]
            yield from ((name, x.isin(chosen).to_numpy()) for chosen in sets)
        else:
            yield from ((name, (x <= cut).to_numpy()) for cut in sorted(set(x))[:-1])


def labelings(X, pairs):
    """What all voters say: constants, stumps, and where `pairs` all 16 labelings of pairs on different columns."""
    n = len(X)
    yield np.ones(n)
    for (one, first), (two, second) in product(splits(X), repeat=2) if pairs else ():
        if one < two:
            leaf = 2 * first.astype(int) + second
            for said in product((-1, 1), repeat=4):
                yield np.array(said)[leaf]
    for _, left in splits(X):
        yield np.where(left, 1, -1)


@pytest.mark.parametrize("lam", [0.0, 0.4, 1.0, 2.5])
@pytest.mark.parametrize("weights", ["none", "whole", "real"])
@pytest.mark.parametrize("pairs", [False, True])
def test_every_voter_is_ranked(lam, weights, pairs):
    """The voter of each round has the lowest cost of all, sets of categories included, and its own best step."""
    for seed in range(1 if pairs else 3):
        rng = np.random.default_rng(seed)
        n = 20 if pairs else 50
        X = pd.DataFrame(rng.normal(size=(n, 2)).round(0 if pairs else 1), columns=["a", "b"])
        X["kind"] = rng.choice(list("pqrs" if pairs else "pqrstuv"), n).astype(object)
        y = (X["a"] + X["kind"].isin(list("qs")) + rng.normal(size=n) > 0.5).astype(int).to_numpy()
        weight = {"none": np.ones(n), "whole": rng.integers(1, 4, n) * 1.0, "real": rng.uniform(0.1, 1, n)}[weights]
        family = PairedStumps("exhaustive") if pairs else Stumps()
        model = EBBoostClassifier(family, lam=lam, n_estimators=3, max_bins="exact").fit(X, y, weight)
        signs, s, f = 2 * y - 1, weight / weight.sum(), np.zeros(n)
        for t, voter in enumerate(model.estimators_):
            w = s * np.exp(-signs * f)
            w /= w.sum()
            h = 2 * voter.predict(X).astype(int) - 1
            mine, ups, downs = cost_at_best(w, s, h == signs, lam)
            least = min(cost_at_best(w, s, said == signs, lam)[0] for said in labelings(X, pairs))
            assert mine == pytest.approx(least, rel=1e-9, abs=1e-12)
            if downs > 0:
                assert model.steps_[t] == pytest.approx(0.25 * np.log(ups / downs), rel=1e-9)
            f += model.steps_[t] * h


def test_a_set_may_be_cheaper_than_the_one_with_the_best_edge():
    """Else ranking all sets would be for nothing."""
    for seed in range(300):
        rng = np.random.default_rng(seed)
        w, s, y = rng.dirichlet(np.ones(24) / 3), np.full(24, 1 / 24), rng.choice([-1, 1], 24)
        kind = np.arange(24) % 6
        by_edge = np.array([np.sum((w * y)[kind == k]) > 0 for k in range(6)])[kind]
        costs = [
            cost_at_best(w, s, np.where(np.isin(kind, c), 1, -1) == y, 2.0)[0]
            for k in range(7)
            for c in combinations(range(6), k)
        ]
        if min(costs) < cost_at_best(w, s, np.where(by_edge, 1, -1) == y, 2.0)[0] * (1 - 1e-9):
            return
    raise AssertionError("the set with the best edge always was the cheapest")


@few_cases
@given(problems(), st.sampled_from(sorted(FAMILIES)), st.sampled_from([0.0, 0.3, 1.0, 4.0]))
def test_the_cost_is_what_it_says_and_falls(problem, family, lam):
    X, y, weight, _ = problem
    model = EBBoostClassifier(FAMILIES[family], lam=lam, n_estimators=12).fit(X, y, weight)
    costs = [cost(f, 2 * y - 1, weight, lam) for f in model.staged_decision_function(X)]
    np.testing.assert_allclose(model.history_["objective"], costs, rtol=1e-9)
    assert np.all(np.diff(np.concatenate([[1.0], costs])) < 0)


@few_cases
@given(problems(), st.sampled_from(sorted(FAMILIES)))
def test_at_lam_0_it_is_adaboost(problem, family):
    """Up to ties: as long as both take the same voter, all is the same; a tie leaves the objective the same."""
    X, y, weight, _ = problem
    ours = EBBoostClassifier(FAMILIES[family], lam=0, n_estimators=1).fit(X, y, weight)
    theirs = AdaBoostClassifier(FAMILIES[family], n_estimators=1).fit(X, y, weight)
    np.testing.assert_allclose(ours.steps_, theirs.steps_, rtol=1e-9)
    np.testing.assert_allclose(ours.history_["objective"], theirs.history_["objective"] ** 2, rtol=1e-9)


def test_at_lam_0_it_is_adaboost_round_by_round():
    """Where no two voters tie."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 4))
    y = (X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(size=400) > 0).astype(int)
    weight = rng.uniform(0.5, 1, 400)
    for family in (Stumps(), Pool(6)):
        ours = EBBoostClassifier(family, lam=0, n_estimators=30).fit(X, y, weight)
        theirs = AdaBoostClassifier(family, n_estimators=30).fit(X, y, weight)
        np.testing.assert_allclose(ours.steps_, theirs.steps_, rtol=1e-7)
        np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))


@pytest.mark.parametrize("levels", [11, 40, 200])
@pytest.mark.parametrize("seed", range(3))
def test_at_lam_0_it_is_adaboost_with_many_categories(seed, levels):
    """Real weights, so that no two voters tie; every level is there, so that none is unseen."""
    rng = np.random.default_rng(seed)
    n = 5 * levels
    kind = np.concatenate([np.arange(levels), rng.integers(0, levels, n - levels)])
    X = pd.DataFrame({"kind": pd.Categorical(kind), "other": pd.Categorical(rng.permutation(kind))})
    X["number"] = rng.normal(size=n)
    X.loc[::7, "other"] = np.nan
    y = (rng.normal(size=levels)[kind] + X["number"] + rng.normal(size=n) > 0).to_numpy().astype(int)
    weight = rng.uniform(0.5, 1, n)
    ours = EBBoostClassifier(lam=0, n_estimators=20).fit(X, y, weight)
    theirs = AdaBoostClassifier(n_estimators=20).fit(X, y, weight)
    np.testing.assert_allclose(ours.steps_, theirs.steps_, rtol=1e-7)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))


@few_cases
@given(st.data())
def test_extreme_sets_are_the_best_for_every_direction(data):
    """Against all sets: for any (a, b), none has a larger sum of a first + b second than the best extreme one."""
    numbers = st.lists(st.integers(-(2**40), 2**40), min_size=7, max_size=7)
    first, second = (np.array(data.draw(numbers)) for _ in range(2))
    found = extreme_sets(first, second)
    np.testing.assert_array_equal(found[0], first > 0)
    every = np.array(list(product((0, 1), repeat=7)))
    for angle in np.linspace(0, 2 * np.pi, 37):
        value = np.cos(angle) * first + np.sin(angle) * second
        best = max((found @ value).max(), (~found @ value).max())
        assert best >= (every @ value).max() * (1 - 1e-9)


@pytest.mark.parametrize("lam", [0.0, 0.4, 1.0, 2.5])
def test_extreme_sets_hold_the_cheapest_set_of_all(lam):
    """Not proved, so observed: the same cost as all sets, on random data whose sets can all be tried."""
    booster = EBBoost(2, 1.0, lam)
    for seed in range(50):
        rng = np.random.default_rng(seed)
        w, y, kind = rng.dirichlet(np.full(30, 0.5)), rng.choice([-1, 1], 30), rng.integers(0, 8, 30)
        spread, squares = 30 * np.sum(w**2), w**2 / np.sum(w**2)
        gains = [np.rint(2.0**40 * np.bincount(kind, y * mass, 8)).astype(np.int64) for mass in (w, squares)]
        costs = []
        for sets in (extreme_sets(*gains), np.array(list(product((False, True), repeat=8)))):
            right = np.where(sets[:, kind], y > 0, y < 0)
            costs.append(booster.rank(right @ w, right @ squares, spread).min())
        assert costs[0] == pytest.approx(costs[1], rel=1e-9)


@pytest.mark.parametrize("family", [Stumps(), PairedStumps()])
def test_with_many_categories_the_cost_is_no_higher_than_adaboosts_sets_reach(family):
    """One round, from equal weights: both channels are alike, so AdaBoost's set is the cheapest one."""
    rng = np.random.default_rng(0)
    kind = rng.integers(0, 30, 300)
    X = pd.DataFrame({"kind": pd.Categorical(kind), "number": rng.normal(size=300)})
    y = (rng.normal(size=30)[kind] * np.sign(X["number"]) > 0).to_numpy().astype(int)
    for lam in (0.0, 0.5, 1.0):
        ours = EBBoostClassifier(family, lam=lam, n_estimators=1).fit(X, y)
        theirs = AdaBoostClassifier(family, n_estimators=1).fit(X, y)
        assert ours.history_["error"][0] <= theirs.history_["error"][0] + 1e-12


@few_cases
@given(problems())
def test_at_lam_1_the_step_is_vadaboosts(problem):
    """And so is the choice: cost (3) is then the mean of e^2, and u is w^2."""
    X, y, weight, _ = problem
    ours = EBBoostClassifier(lam=1, n_estimators=1).fit(X, y, weight)
    theirs = VadaBoostClassifier(lam=1, n_estimators=1).fit(X, y, weight)
    if ours.stop_reason_ != "perfect_voter":
        np.testing.assert_allclose(ours.steps_, theirs.steps_, rtol=1e-9)
        np.testing.assert_allclose(ours.history_["objective"], theirs.history_["objective"], rtol=1e-9)


# ---------------------------------------------------------------- bits


@pytest.mark.parametrize("family", ["stumps", "union"])
@pytest.mark.parametrize("data", ["two-labels", "ties", "missing"])
@pytest.mark.parametrize("check", BITS)
def test_common_checks(check, data, family):
    check(ENGINES["threads"], EBBoostClassifier(FAMILIES[family], lam=0.4, n_estimators=6), *DATA[data])


@pytest.mark.parametrize("family", FAMILIES)
def test_one_against_the_rest(family, tmp_path):
    X, y = noisy(3)
    model = EBBoostClassifier(FAMILIES[family], lam=0.4, n_estimators=5)
    for check in (checks.check_weight_is_repetition, checks.check_any_parts):
        check(ENGINES["threads"], model, X, y)
    whole = clone(model).fit(X, y)
    whole.save(tmp_path / "model")
    assert load(tmp_path / "model").digest_ == whole.digest_
    part = clone(model).set_params(n_estimators=2, warm_start=True).fit(X, y)
    assert part.set_params(n_estimators=5).fit(X, y).digest_ == whole.digest_


def test_columns_vote():
    X, y = plain()
    X = np.where(np.nan_to_num(X) > 0.3, 1, -1)
    weight = np.random.default_rng(0).uniform(0.1, 1, len(y))
    model = EBBoostClassifier(Columns(), lam=0.7, n_estimators=6).fit(X, y, weight)
    costs = [cost(f, 2 * y - 1, weight, 0.7) for f in model.staged_decision_function(X)]
    np.testing.assert_allclose(model.history_["objective"], costs, rtol=1e-9)
    signs, s = 2 * y - 1, weight / weight.sum()
    least = min(cost_at_best(s, s, column == signs, 0.7)[0] for column in X.T)
    assert costs[0] == pytest.approx(least, rel=1e-9)


def test_lam_is_chosen_and_rows_are_listened_to():
    X, y = noisy(2)
    model = EBBoostClassifier(lam="auto", n_estimators=40, early_stopping=True, random_state=0).fit(X, y)
    assert model.lam_[0] == np.argmin(model.lam_scores_[0]) / 10
    assert model.history_["validation"].min() == pytest.approx(model.lam_scores_.min())


@pytest.mark.process
@pytest.mark.parametrize("family", ["stumps", "paired"])
def test_the_same_model_on_dask(family):
    X, y = DATA["missing"]
    weight = checks.real_weights(len(y))
    model = EBBoostClassifier(FAMILIES[family], lam=0.4, n_estimators=5)
    here = clone(model).fit(X, y, weight)
    there = ENGINES["dask"].fit(clone(model), X, y, weight)
    assert there.digest_ == here.digest_
    np.testing.assert_array_equal(there.history_["objective"], here.history_["objective"])


# ---------------------------------------------------------------- what goes wrong


@pytest.mark.parametrize("family", [Trees(2), Rules(2), Union([Stumps(), Trees(2)])])
def test_families_that_cannot_be_enumerated_are_refused(family):
    X, y = plain(2, 40)
    with pytest.raises(ValueError, match=r"cannot boost .*must be enumerated \(section 5.*VadaBoostClassifier"):
        EBBoostClassifier(family).fit(X, y)


def test_separable_rows_end_with_a_reason():
    X, y = np.arange(20.0)[:, None], np.arange(20) >= 10
    model = EBBoostClassifier(lam=0.5, n_estimators=1000).fit(X, y)
    assert model.stop_reason_ == "perfect_voter"
    assert model.score(X, y) == 1


@pytest.mark.parametrize("lam", [0.0, 1.0, 10.0])
def test_finite_where_weights_span_hundreds_of_orders(lam):
    X, y = np.repeat(np.arange(6.0), 30)[:, None], np.tile([0, 1], 90)
    X = np.column_stack([X, np.tile(np.arange(30.0), 6)])
    model = EBBoostClassifier(PairedStumps(), lam=lam, n_estimators=1000, max_bins=8).fit(X, y)
    weight = np.where(np.arange(180) % 7, 1.0, 1e-300)
    light = EBBoostClassifier(lam=lam, n_estimators=100).fit(X, y, weight)
    for fitted in (model, light):
        assert np.all(np.isfinite(fitted.history_["objective"]))
        assert np.all(np.diff(fitted.history_["objective"]) <= 1e-9)


def test_a_set_of_many_levels_is_found():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"kind": rng.choice(list("abcdefghijklmn"), 200).astype(object)})
    y = X["kind"].isin(list("ace")).astype(int) ^ (rng.random(200) < 0.1)
    model = EBBoostClassifier(n_estimators=1).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), X["kind"].isin(list("ace")).astype(int))
