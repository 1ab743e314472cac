"""VadaBoost: cost (3) recomputed from outside, the paper's identities, bits, what goes wrong, lam="auto"."""

import time
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.dummy import DummyClassifier
from sklearn.tree import DecisionTreeClassifier
from training_cases import noisy, plain

from electorate import Checkpoint, Pool, Rules, Stumps, TimeLimit, Trees, Union, VadaBoostClassifier, load
from tests.common import checks
from tests.common.cases import DATA
from tests.common.engines import ENGINES

few_cases = settings(derandomize=True, max_examples=25, deadline=None)
FAMILIES = {"stumps": Stumps(), "trees": Trees(3), "rules": Rules(2), "union": Union([Stumps(), Trees(2)])}
LAMS = [0.0, 0.3, 1.0]


def cost(f, signs, weight, lam):
    """(3) over n^2, in plain floats."""
    e, s = np.exp(-signs * f), weight / weight.sum()
    mean = np.sum(s * e)
    return mean**2 + lam * (np.sum(s * e**2) - mean**2)


@st.composite
def problems(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n = draw(st.integers(8, 60))
    X = rng.normal(size=(n, 3)).round(draw(st.integers(0, 2)))
    y = (X[:, 0] + X[:, 1] * X[:, 2] > rng.normal(size=n) * draw(st.sampled_from([0.1, 1.0]))).astype(int)
    y[:2] = 0, 1
    weight = draw(st.sampled_from(["none", "whole", "real"]))
    weights = {"none": np.ones(n), "whole": rng.integers(1, 4, n) * 1.0, "real": rng.uniform(0.01, 1, n)}
    return X, y, weights[weight], draw(st.sampled_from([0.0, 0.1, 0.5, 0.9, 1.0]))


@few_cases
@given(problems(), st.sampled_from(sorted(FAMILIES)))
def test_the_cost_is_what_it_says_and_falls(problem, family):
    """Corollary 4."""
    X, y, weight, lam = problem
    model = VadaBoostClassifier(FAMILIES[family], lam=lam, n_estimators=15).fit(X, y, weight)
    costs = [cost(f, 2 * y - 1, weight, lam) for f in model.staged_decision_function(X)]
    np.testing.assert_allclose(model.history_["objective"], costs, rtol=1e-9)
    path = np.concatenate([[1.0], costs])
    assert np.all(np.diff(path) < 1e-12 * path[:-1])


@few_cases
@given(problems())
def test_weights_and_steps_of_algorithm_2(problem):
    """u_i = lam w_i^2 / s_i + (1 - lam) w_i; alpha = log(right / wrong) / 4; the stump is the best of all by u."""
    X, y, weight, lam = problem
    model = VadaBoostClassifier(lam=lam, n_estimators=8, max_bins="exact").fit(X, y, weight)
    signs, s, f = 2 * y - 1, weight / weight.sum(), np.zeros(len(y))
    for t, voter in enumerate(model.estimators_):
        w = s * np.exp(-signs * f)
        w /= w.sum()
        u = lam * w**2 / s + (1 - lam) * w
        h = 2 * voter.predict(X).astype(int) - 1
        right, wrong = u[h == signs].sum(), u[h != signs].sum()
        assert right == pytest.approx(best_right(X, signs, u), rel=1e-9)
        if wrong > 1e-12 * right:
            assert model.steps_[t] == pytest.approx(0.25 * np.log(right / wrong), rel=1e-6, abs=1e-9)
        f += model.steps_[t] * h


def best_right(X, signs, u):
    """By brute force over all stumps and the constants."""
    best = max(u[signs > 0].sum(), u[signs < 0].sum())
    for x in X.T:
        for cut in np.unique(x):
            h = np.where(x <= cut, 1, -1)
            best = max(best, u[h == signs].sum(), u[h != signs].sum())
    return best


@few_cases
@given(problems())
def test_at_lam_0_the_cost_is_a_product_of_errors(problem):
    """Theorem 5's identity: prod (2 e (1 - e) + sqrt(e (1 - e))), with the errors there were; not AdaBoost."""
    X, y, weight, _ = problem
    model = VadaBoostClassifier(lam=0, n_estimators=10).fit(X, y, weight)
    error = model.history_["error"][model.history_["error"] > 0]
    product = np.cumprod(2 * error * (1 - error) + np.sqrt(error * (1 - error)))
    np.testing.assert_allclose(model.history_["objective"][: len(error)], product, rtol=1e-9)


@few_cases
@given(st.integers(0, 2**32 - 1), st.floats(0, 1), st.floats(-2, 2))
def test_v_is_at_most_u(seed, lam, alpha):
    """Theorem 3: V <= U, equal at alpha 0 and at lam 1; with sample weights."""
    rng = np.random.default_rng(seed)
    s, w, right = rng.dirichlet(np.ones(9)), rng.dirichlet(np.ones(9)), rng.random(9) < 0.6

    def v_and_u(alpha, lam):
        moved = w * np.exp(np.where(right, -alpha, alpha))
        v = (1 - lam) * moved.sum() ** 2 + lam * np.sum(moved**2 / s)
        u = lam * w**2 / s + (1 - lam) * w
        return v, u[right].sum() * np.exp(-2 * alpha) + u[~right].sum() * np.exp(2 * alpha)

    v, u = v_and_u(alpha, lam)
    assert v <= u * (1 + 1e-12)
    assert np.isclose(*v_and_u(0.0, lam), rtol=1e-12)
    assert np.isclose(*v_and_u(alpha, 1.0), rtol=1e-12)


# ---------------------------------------------------------------- bits


BITS = [
    *(checks.check_weight_is_repetition, checks.check_zero_weight_is_no_row, checks.check_weights_times_power_of_two),
    *(checks.check_rows_permuted, checks.check_any_parts, checks.check_staged_is_fitted),
    *(checks.check_history_is_complete, checks.check_objective_never_rises, checks.check_train_error_is_score),
    checks.check_stops_with_a_reason,
]


@pytest.mark.parametrize("family", ["stumps", "union"])
@pytest.mark.parametrize("data", ["two-labels", "ties", "missing"])
@pytest.mark.parametrize("check", BITS)
def test_common_checks(check, data, family):
    check(ENGINES["threads"], VadaBoostClassifier(FAMILIES[family], lam=0.4, n_estimators=6), *DATA[data])


@pytest.mark.parametrize("family", FAMILIES)
def test_one_against_the_rest(family, tmp_path):
    X, y = noisy(3)
    model = VadaBoostClassifier(FAMILIES[family], lam=0.4, n_estimators=6)
    for check in (checks.check_weight_is_repetition, checks.check_any_parts):
        check(ENGINES["threads"], model, X, y)
    whole = clone(model).fit(X, y)
    whole.save(tmp_path / "model")
    assert load(tmp_path / "model").digest_ == whole.digest_
    part = clone(model).set_params(n_estimators=2, warm_start=True).fit(X, y)
    assert part.set_params(n_estimators=6).fit(X, y).digest_ == whole.digest_
    for label in range(3):
        mine = whole.history_["label"] == label
        lonely = clone(model).fit(X, y == whole.classes_[label])
        np.testing.assert_array_equal(whole.history_["objective"][mine], lonely.history_["objective"])


def test_any_estimator_votes():
    X, y = plain()
    X = np.nan_to_num(X)
    for lam in LAMS:
        model = VadaBoostClassifier(DecisionTreeClassifier(max_depth=2), lam=lam, n_estimators=10).fit(X, y)
        costs = [cost(f, 2 * y - 1, np.ones(len(y)), lam) for f in model.staged_decision_function(X)]
        np.testing.assert_allclose(model.history_["objective"], costs, rtol=1e-9)
        assert np.all(np.diff(costs) < 0)


def test_early_stopping_listens():
    X, y = noisy(2)
    model = VadaBoostClassifier(early_stopping=True, n_estimators=200, n_iter_no_change=5, random_state=0).fit(X, y)
    assert model.stop_reason_ == "validation"
    assert model.best_round_ == len(model.steps_) == np.argmin(model.history_["validation"]) + 1


@pytest.mark.process
@pytest.mark.parametrize("family", ["stumps", "trees"])
def test_the_same_model_on_dask(family):
    X, y = DATA["missing"]
    weight = checks.real_weights(len(y))
    model = VadaBoostClassifier(FAMILIES[family], lam=0.4, n_estimators=5)
    here = clone(model).fit(X, y, weight)
    there = ENGINES["dask"].fit(clone(model), X, y, weight)
    assert there.digest_ == here.digest_
    np.testing.assert_array_equal(there.history_["objective"], here.history_["objective"])


# ---------------------------------------------------------------- what goes wrong


def test_separable_rows_end_with_a_reason():
    X, y = np.arange(20.0)[:, None], np.arange(20) >= 10
    model = VadaBoostClassifier(lam=0.5, n_estimators=1000).fit(X, y)
    assert model.stop_reason_ == "perfect_voter"
    assert model.score(X, y) == 1
    assert np.all(np.isfinite(model.steps_))


@pytest.mark.parametrize("lam", LAMS)
def test_finite_where_weights_span_hundreds_of_orders(lam):
    """1,000 rounds of depth 6, until margins are hundreds of nats apart; and sample weights of 1e-300 beside 1."""
    X, y = noisy(2, 200)
    model = VadaBoostClassifier(Trees(6), lam=lam, n_estimators=1000).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        weight = np.where(np.arange(200) % 2, 1.0, 1e-300)
        light = VadaBoostClassifier(Trees(2), lam=lam, n_estimators=300).fit(X, y, weight)
    for fitted in (model, light):
        assert np.all(np.isfinite(fitted.history_["objective"]))
        assert np.all(np.isfinite(fitted.decision_function(X)))
        path = fitted.history_["objective"]
        assert np.all(np.diff(path) <= 1e-9 * path[:-1])


def test_learners_that_are_no_use():
    """RELIABILITY 14: no better than chance in round 1, and one that breaks later."""

    class Breaks(DecisionTreeClassifier):
        calls = 0

        def fit(self, X, y, sample_weight=None):
            Breaks.calls += 1
            if Breaks.calls > 3:
                raise RuntimeError("broken")
            return super().fit(X, y, sample_weight)

    X, y = plain()
    X = np.nan_to_num(X)
    even = np.concatenate([np.flatnonzero(y == k)[:90] for k in (0, 1)])
    with pytest.raises(ValueError, match="worse than random"):
        VadaBoostClassifier(DummyClassifier(strategy="prior")).fit(X[even], y[even])
    model = VadaBoostClassifier(Breaks(max_depth=1), n_estimators=9)
    with pytest.raises(RuntimeError, match="broken") as caught:
        model.fit(X, y)
    assert "in round 4" in str(caught.value.__notes__)
    assert len(model.steps_) == 3


def test_checkpoints(tmp_path):
    X, y = noisy(2, 120)
    model = VadaBoostClassifier(Trees(2), lam="auto", n_estimators=8, random_state=0)
    whole = clone(model).fit(X, y)
    part = clone(model).set_params(n_estimators=4)
    part.set_callbacks(Checkpoint(tmp_path / "c")).fit(X, y)
    rest = clone(model).set_callbacks(Checkpoint(tmp_path / "c")).fit(X, y)
    assert rest.lam_ == part.lam_
    if part.lam_ == whole.lam_:
        assert rest.digest_ == whole.digest_


def test_scaling_of_weights():
    X, y = noisy(2, 120)
    weight = np.random.default_rng(0).uniform(0.1, 1, 120)
    model = VadaBoostClassifier(n_estimators=8)
    one = clone(model).fit(X, y, weight).decision_function(X)
    np.testing.assert_allclose(clone(model).fit(X, y, weight * 3e-7).decision_function(X), one, rtol=1e-9)


def test_parameters_are_checked():
    X, y = plain(2, 40)
    for lam in (-0.1, 1.1, "none"):
        with pytest.raises(ValueError, match="lam"):
            VadaBoostClassifier(lam=lam).fit(X, y)


# ---------------------------------------------------------------- lam="auto"


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("early", [False, True])
def test_lam_is_chosen_on_rows_set_aside(n_classes, early, tmp_path):
    X, y = noisy(n_classes)
    auto = VadaBoostClassifier(Pool(3), lam="auto", n_estimators=7, early_stopping=early, random_state=0)
    model = clone(auto).fit(X[:160], y[:160], X_val=X[160:], y_val=y[160:])
    runs = 1 if n_classes == 2 else 3
    assert model.lam_.shape == (runs,)
    assert model.lam_scores_.shape == (runs, 11)
    np.testing.assert_array_equal(model.lam_, np.argmin(model.lam_scores_, axis=1) / 10)
    if n_classes == 2:
        fixed = clone(auto).set_params(lam=float(model.lam_[0]))
        given = {"X_val": X[160:], "y_val": y[160:]} if early else {}
        assert fixed.fit(X[:160], y[:160], **given).digest_ == model.digest_
        if not early:
            f, signs = model.decision_function(X[160:]), np.where(y[160:] == model.classes_[1], 1, -1)
            assert model.lam_scores_.min() == pytest.approx(np.mean(np.exp(-signs * f)), rel=1e-9)
    model.save(tmp_path / "model")
    again = load(tmp_path / "model")
    assert again.digest_ == model.digest_
    np.testing.assert_array_equal(again.lam_scores_, model.lam_scores_)
    warm = clone(auto).set_params(n_estimators=3, warm_start=True)
    warm.fit(X[:160], y[:160], X_val=X[160:], y_val=y[160:])
    chosen = warm.lam_.copy()
    warm.set_params(n_estimators=7).fit(X[:160], y[:160], X_val=X[160:], y_val=y[160:])
    np.testing.assert_array_equal(warm.lam_, chosen)


def test_a_time_limit_holds_for_the_candidates_too():
    X, y = noisy(2)
    model = VadaBoostClassifier(lam="auto", n_estimators=2**62, random_state=0).set_callbacks(TimeLimit(0.5))
    started = time.monotonic()
    model.fit(X, y)
    assert time.monotonic() - started < 20
    assert model.stop_reason_ == "time_limit"
    assert len(model.lam_) == 1
