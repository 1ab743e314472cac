"""RLPBoost and RQPBoost on the voters of an ensemble: against the programs written out, and as estimators."""

import time
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.tree import DecisionTreeClassifier
from test_lpboost import table
from test_lpboost_programs import by_projected_gradient, primal_in_nu

import electorate
from electorate import (
    AdaBoostClassifier,
    AdaBoostRClassifier,
    Columns,
    KernelSections,
    LPBoostClassifier,
    RealAdaBoostClassifier,
    RLPBoostClassifier,
    RQPBoostClassifier,
    TimeLimit,
    Trees,
)
from electorate.training import totally_corrective

KINDS = {"lp": RLPBoostClassifier, "qp": RQPBoostClassifier}


def awards_of(model: Any, X: Any, y: Any) -> Any:
    """[voter, row] of y h, by the voters' own predictions."""
    outputs = np.array([np.where(voter.predict(X) == 1, 1.0, -1.0) for voter in model.estimators_])
    return outputs * np.where(y == 1, 1.0, -1.0)


def test_rlp_is_the_program_over_the_voters_of_adaboost() -> None:
    X, y = table(0, n=100)
    weight = np.random.default_rng(0).integers(1, 4, len(y)).astype(float)
    base = AdaBoostClassifier(n_estimators=25).fit(X, y, sample_weight=weight)
    awards = awards_of(base, X, y)
    for c in (1.0, 10 / weight.sum(), 2 / weight.sum()):
        model = RLPBoostClassifier(n_estimators=25, C=c).fit(X, y, sample_weight=weight)
        best = primal_in_nu(awards, c * weight)
        assert model.history_["objective"][-1] == pytest.approx(best, abs=1e-8)
        assert model.gap_ < 1e-8
        given = RLPBoostClassifier(ensemble=base, C=c).fit(X, y, sample_weight=weight)
        assert given.digest_ == model.digest_
    default = RLPBoostClassifier(n_estimators=25).fit(X, y, sample_weight=weight)
    best = primal_in_nu(awards, 5 * weight / weight.sum())
    assert default.history_["objective"][-1] == pytest.approx(best, abs=1e-8)


def test_rqp_is_the_program_over_the_voters_of_adaboost() -> None:
    """One weight for every round: the copies of a voter have a weight each, and steps_ their sum."""
    X, y = table(1, n=80)
    base = AdaBoostClassifier(n_estimators=40).fit(X, y)
    model = RQPBoostClassifier(ensemble=base, C=0.2).fit(X, y)
    awards = awards_of(base, X, y)
    best = by_projected_gradient(awards, np.full(len(y), 0.2), 20_000)
    assert model.history_["objective"][-1] == pytest.approx(best, rel=1e-7)
    assert model.kkt_residual_ < 1e-6
    assert model.gap_ < 1e-7
    f = np.where(y == 1, 1, -1) * model.decision_function(X)
    times = [np.sum(np.all(awards == one, axis=1)) for one in awards_of(model, X, y)]
    assert max(times) > 1
    objective = np.sum(model.steps_**2 / times) + 0.2 * np.maximum(0, 1 - f).sum()
    assert model.history_["objective"][-1] == pytest.approx(objective, rel=1e-9)


@pytest.mark.parametrize("c", [0.01, 0.3, 5.0])
def test_copies_of_a_voter_are_columns_of_their_own(c: float) -> None:
    """The program with a column for every copy, against the one that counts them."""
    rng = np.random.default_rng(7)
    outputs, second = rng.choice([-1.0, 1.0], (6, 40)), rng.random(40) < 0.5
    times, rows = np.array([1, 4, 2, 1, 7, 1]), np.ones(40, dtype=np.int64)
    once = totally_corrective.VoterMatrix.of(outputs, second, rows, 40.0, times)
    each = totally_corrective.VoterMatrix.of(np.repeat(outputs, times, axis=0), second, rows, 40.0)
    found, expected = (totally_corrective.weigh_quadratic(one, c) for one in (once, each))
    copies = np.repeat(np.arange(6), times)
    np.testing.assert_allclose(found.alpha, np.bincount(copies, expected.alpha), atol=1e-7)
    assert found.objective == pytest.approx(expected.objective, rel=1e-8)
    assert found.gap < 1e-7


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "base",
    [
        AdaBoostClassifier(Trees(2), n_estimators=15),
        RealAdaBoostClassifier(n_estimators=15),
        AdaBoostRClassifier(n_estimators=15),
        AdaBoostClassifier(DecisionTreeClassifier(max_depth=2, random_state=0), n_estimators=15),
        LPBoostClassifier(nu=0.3),
    ],
)
def test_any_ensemble_of_ours(kind: str, base: Any) -> None:
    for X, y in (table(2), load_iris(return_X_y=True)):
        base.fit(X, y)
        before = base.decision_function(X)
        model = KINDS[kind](ensemble=base, C=1 / (0.4 * len(y)) if kind == "lp" else 1.0).fit(X, y)
        assert model.score(X, y) > 0.75
        assert 0 < len(model.steps_) <= len(base.steps_) * (1 if len(np.unique(y)) == 2 else 3)
        assert np.all(model.steps_ > 0)
        proba = model.predict_proba(X)
        np.testing.assert_allclose(proba.sum(axis=1), 1)
        np.testing.assert_array_equal(model.classes_[np.argmax(proba, axis=1)], model.predict(X))
        *_, last = model.staged_decision_function(X)
        np.testing.assert_array_equal(last, model.decision_function(X))
        np.testing.assert_array_equal(base.decision_function(X), before)
        assert "over the voters of the ensemble" in model.certificate_


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_bits(kind: str, tmp_path: Any) -> None:
    rng = np.random.default_rng(3)
    for X, y in (table(3), load_iris(return_X_y=True)):
        times = rng.integers(0, 4, len(y))
        rows = rng.permutation(np.repeat(np.arange(len(y)), times))
        model = KINDS[kind](n_estimators=15).fit(X, y, sample_weight=times)
        for jobs in (1, 2):
            assert KINDS[kind](n_estimators=15, n_jobs=jobs).fit(X[rows], y[rows]).digest_ == model.digest_
        model.save(tmp_path / "model")
        again = electorate.load(tmp_path / "model")
        assert again.digest_ == model.digest_
        assert again.gap_ == model.gap_
        np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


def test_columns() -> None:
    X, y = table(4)
    signs = np.where(X > 2, 1.0, -1.0)
    model = RLPBoostClassifier(Columns(), n_estimators=10).fit(signs, y)
    assert model.score(signs, y) > 0.6
    assert model.gap_ < 1e-8


def test_what_is_refused_or_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = table(5)
    with pytest.raises(ValueError, match=r"C=0.001 is less than 1 / n"):
        RLPBoostClassifier(C=0.001).fit(X, y)
    with pytest.raises(NotFittedError):
        RLPBoostClassifier(ensemble=AdaBoostClassifier()).fit(X, y)
    base = AdaBoostClassifier(n_estimators=5).fit(X, y)
    with pytest.raises(ValueError, match="same classes"):
        RQPBoostClassifier(ensemble=base).fit(X, y + 1)
    with pytest.raises(ValueError, match="give one"):
        RQPBoostClassifier(Trees(2), ensemble=base).fit(X, y)
    with pytest.raises(ValueError, match="features"):
        RQPBoostClassifier(ensemble=base).fit(X[:, :2], y)
    solve = totally_corrective.solve_quadratic

    def early(*given: Any) -> Any:
        found = solve(*given)
        return type(found)(found.alpha, found.weights, found.objective, 0.1, 0.1, False)

    monkeypatch.setattr(totally_corrective, "solve_quadratic", early)
    with pytest.warns(ConvergenceWarning, match="ended early.*gap of 0.1"):
        model = RQPBoostClassifier(n_estimators=5).fit(X, y)
    assert model.stop_reason_ == "solver"
    assert model.gap_ >= 0.1


def test_rows_that_tell_nothing() -> None:
    X, y = np.zeros((20, 2)), np.arange(20) % 2
    for kind in KINDS.values():
        model = kind().fit(X, y)
        assert model.stop_reason_ == "no_edge"
        assert len(np.unique(model.predict(X))) == 1
        assert "nothing to weigh" in model.certificate_
        assert kind().fit(X, np.zeros(20)).predict_proba(X).shape == (20, 1)


@pytest.mark.parametrize("kind", [RLPBoostClassifier, RQPBoostClassifier])
@pytest.mark.parametrize("family", [KernelSections(), Trees(2), Columns()])
def test_a_file_knows_the_family_of_the_ensemble(kind, family, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.choice([-1.0, 1.0], (60, 4)) if isinstance(family, Columns) else rng.normal(size=(60, 4))
    y = X[:, 0] + 0.5 * rng.normal(size=60) > 0
    model = kind(ensemble=RealAdaBoostClassifier(family, n_estimators=5).fit(X, y)).fit(X, y)
    model.save(tmp_path / "model")
    back = electorate.load(tmp_path / "model")
    assert back.digest_ == model.digest_
    np.testing.assert_array_equal(back.decision_function(X), model.decision_function(X))


@pytest.mark.parametrize("power", [-300, -20, -12, 12, 20, 300])
@pytest.mark.parametrize("model", [RQPBoostClassifier(n_estimators=10), LPBoostClassifier(C=1.0)])
def test_weights_of_an_extreme_scale_do_not_give_a_degenerate_model_silently(model: Any, power: int) -> None:
    """C refers to the sum of the weights: the error or warning names both."""
    X, y = table(0, n=60)
    weight = np.full(len(y), 10.0**power)
    if power < 0 and isinstance(model, LPBoostClassifier):  # the constant model is the optimum
        with pytest.warns(UserWarning, match=r"C=1.0 is so small, for a total sample weight of 6e-"):
            assert clone(model).fit(X, y, sample_weight=weight).ensemble_.n_voters == 0
        return
    with pytest.raises(ValueError, match=r"C=1 times the sum of the sample weights, 6e[+-]"):
        clone(model).fit(X, y, sample_weight=weight)


@pytest.mark.parametrize("power", [-3, 0, 3])
def test_within_the_limits_c_and_the_weights_enter_by_their_product(power: int) -> None:
    X, y = table(0, n=60)
    base = AdaBoostClassifier(n_estimators=10).fit(X, y)
    here = RQPBoostClassifier(ensemble=base, C=0.5).fit(X, y)
    there = RQPBoostClassifier(ensemble=base, C=0.5 * 10.0**-power).fit(X, y, np.full(len(y), 10.0**power))
    np.testing.assert_allclose(here.decision_function(X), there.decision_function(X), atol=1e-6)


@pytest.mark.parametrize("power", [-300, -20, 20, 300])
def test_rlpboost_in_nu_does_not_depend_on_the_scale(power: int) -> None:
    X, y = table(0, n=60)
    one = RLPBoostClassifier(n_estimators=10).fit(X, y)
    other = RLPBoostClassifier(n_estimators=10).fit(X, y, np.full(len(y), 10.0**power))
    np.testing.assert_allclose(one.decision_function(X), other.decision_function(X), atol=1e-9)
    if power < 0:
        with pytest.raises(ValueError, match="sum of the sample weights"):
            RLPBoostClassifier(C=1.0, n_estimators=10).fit(X, y, np.full(len(y), 10.0**power))


@pytest.mark.parametrize("kind", KINDS)
def test_a_time_limit_ends_the_rounds_of_adaboost(kind: str) -> None:
    """Noise, on which AdaBoost would go on for 2^31 rounds. A limit that is not reached changes nothing."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 3)), rng.integers(0, 2, 60)
    began = time.monotonic()
    model = KINDS[kind](n_estimators=2**31).set_callbacks(TimeLimit(0.5)).fit(X, y)
    assert time.monotonic() - began < 60
    assert model.stop_reason_ == "time_limit"
    assert model.ensemble_.n_voters
    few = KINDS[kind](n_estimators=4)
    assert clone(few).set_callbacks(TimeLimit(1000)).fit(X, y).digest_ == few.fit(X, y).digest_
    assert few.stop_reason_ == "converged"
