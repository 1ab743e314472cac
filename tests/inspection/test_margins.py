"""Margins: recomputed from voters and steps, staged, as integrals; what training proves of them; the Bayes rule's."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from samples import messy, noisy
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from test_medboost import MODELS as MEDIANS
from test_medboost import awards, fitted

import electorate
from electorate import (
    AdaBoostClassifier,
    AdaBoostRClassifier,
    AdaBoostRegressor,
    Columns,
    DeepBoostClassifier,
    EBBoostClassifier,
    LPBoostClassifier,
    MedBoostRegressor,
    PairedStumps,
    Pool,
    QuadBoostClassifier,
    QuadBoostClassifierCV,
    RealAdaBoostClassifier,
    RLPBoostClassifier,
    Rules,
    Stumps,
    Trees,
    VadaBoostClassifier,
    margins,
    thin,
)
from electorate.inspection import margin_table, staged_margins
from electorate.simulate import XD6, TwoNorm
from electorate.theory.margins import Margins, MarginTable, Proof
from electorate.theory.training import margin_errors

checked = settings(derandomize=True, max_examples=25, deadline=None)
seeds = st.integers(0, 2**32 - 1)
THETAS = np.concatenate([[-1.0, -1 + 1e-9], np.linspace(-0.99, 0.99, 45), [1 - 1e-9, 1.0]])
EXPONENTIAL: list[Any] = [
    AdaBoostClassifier(n_estimators=12),
    AdaBoostClassifier(Trees(2), n_estimators=12, learning_rate=0.5),
    RealAdaBoostClassifier(n_estimators=12),
    RealAdaBoostClassifier(Trees(2), n_estimators=12, step=1),
    AdaBoostRClassifier(n_estimators=12),
    AdaBoostRClassifier(Trees(2), n_estimators=12, learning_rate=0.3),
    AdaBoostRClassifier(Trees(2, smoothing=0), n_estimators=12),
    AdaBoostRClassifier(Rules(3), n_estimators=12),
    VadaBoostClassifier(n_estimators=12),
    EBBoostClassifier(n_estimators=12),
]
OTHERS: list[Any] = [
    DeepBoostClassifier(Trees(2), beta=0.01, n_estimators=25),
    QuadBoostClassifier(n_estimators=20),
    QuadBoostClassifier(Pool(5), penalty="l1", lam=0.01, reweight="greedy", n_estimators=40),
    QuadBoostClassifier(Trees(2, criterion="edge"), n_estimators=8),
    LPBoostClassifier(PairedStumps(), nu=0.3, tol=0.2, n_estimators=30),
    RLPBoostClassifier(n_estimators=10),
]
WRAPPED: list[Any] = [
    AdaBoostClassifier(DecisionTreeClassifier(max_depth=2), n_estimators=8),
    AdaBoostClassifier(LogisticRegression(), n_estimators=5),
]


def plain_votes(model: Any, X: Any) -> Any:
    """[voter, row] of h in {-1, 1}, by asking each voter for its label."""
    said = np.array([voter.predict(X) for voter in model.estimators_])
    return np.where(said == model.classes_[1], 1.0, -1.0)


# ---------------------------------------------------------------- classifiers


@pytest.mark.parametrize("model", [EXPONENTIAL[0], *OTHERS, *WRAPPED], ids=repr)
def test_normalised_margins_are_recomputed_from_labels_and_steps(model: Any) -> None:
    """Eq. 21 for voters of +-1."""
    X, y = noisy(150)
    model = clone(model).fit(X, y)
    said, steps = plain_votes(model, X), model.steps_
    expected = (2 * y - 1) * (steps @ said) / np.abs(steps).sum()
    found = margins(model, X, y)
    np.testing.assert_allclose(found.values, expected, atol=1e-9)
    assert found.kind == "normalised"
    sure = expected != 0
    np.testing.assert_array_equal((found.values > 0)[sure], (model.predict(X) == y)[sure])


@pytest.mark.parametrize("model", [*EXPONENTIAL, *OTHERS], ids=repr)
@pytest.mark.parametrize("kind", ["normalised", "logistic"])
def test_margins_are_those_of_the_decision_function_and_staged(model: Any, kind: str) -> None:
    X, y = messy(150)
    model = clone(model).fit(X, y)
    f = model.decision_function(X)
    if isinstance(model, AdaBoostClassifier):
        f = f * model.steps_.sum() / 2  # scikit-learn's scale to the papers'
    score = np.where(y == 1, f, -f)
    found = margins(model, X, y, kind=kind)
    np.testing.assert_allclose(found.scores, score, atol=1e-9)
    if kind == "logistic":
        np.testing.assert_allclose(found.values, (np.exp(score) - 1) / (np.exp(score) + 1), atol=1e-9)  # eq. 9
    assert np.all(np.abs(found.values) <= 1)
    stages = list(staged_margins(model, X, y, kind=kind))
    assert len(stages) == len(list(model.staged_predict(X)))
    np.testing.assert_allclose(stages[-1].values, found.values, atol=1e-12)
    for stage, said in zip(stages, model.staged_predict(X), strict=True):
        sure = stage.scores != 0
        np.testing.assert_array_equal((stage.values > 0)[sure], (said == y)[sure])


@pytest.mark.parametrize("family", [Trees(2), Trees(3, leaves="gentle"), Rules(2)], ids=repr)
def test_voters_that_say_more_than_1_are_normalised_by_the_most_they_can_say(family: Any) -> None:
    X, y = noisy(200)
    model = RealAdaBoostClassifier(family, n_estimators=10).fit(X, y)
    ensemble = model.ensemble_
    most = [np.abs(ensemble.value[a:b]).max() for a, b in zip(ensemble.offsets[:-1], ensemble.offsets[1:], strict=True)]
    expected = np.where(y == 1, 1, -1) * model.decision_function(X) / (np.abs(model.steps_) @ most)
    np.testing.assert_allclose(margins(model, X, y).values, expected, atol=1e-12)


@pytest.mark.parametrize(
    "model",
    [
        AdaBoostClassifier(n_estimators=12),
        RealAdaBoostClassifier(Trees(2), n_estimators=6),
        RealAdaBoostClassifier(Trees(2), step=1, n_estimators=6),
        AdaBoostRClassifier(n_estimators=6),
        DeepBoostClassifier(n_estimators=15),
        QuadBoostClassifier(n_estimators=15),
        AdaBoostClassifier(DecisionTreeClassifier(max_depth=2), n_estimators=6),
    ],
    ids=repr,
)
def test_more_than_two_classes(model: Any) -> None:
    """Right and sure is positive, wrong negative; never beyond -1 and 1; SAMME as Schapire et al. define it."""
    X, y = noisy(200, labels=3)
    labels = np.array(["a", "b", "c"])[y]
    model = clone(model).fit(X, labels)
    found = margins(model, X, labels)
    right = model.predict(X) == labels
    assert np.all(found.values[right] >= 0)
    assert np.all(found.values[~right] <= 0)
    assert np.all(np.abs(found.values) <= 1)
    np.testing.assert_allclose(list(staged_margins(model, X, labels))[-1].values, found.values, atol=1e-12)
    if type(model) is AdaBoostClassifier:
        votes = np.array([[model.steps_[voted == k].sum() for k in model.classes_]
                          for voted in np.array([v.predict(X) for v in model.estimators_]).T])  # fmt: skip
        own = votes[np.arange(len(y)), y]
        votes[np.arange(len(y)), y] = -1
        np.testing.assert_allclose(found.values, (own - votes.max(axis=1)) / model.steps_.sum(), atol=1e-12)
    with pytest.raises(ValueError, match="two classes"):
        margins(model, X, labels, kind="logistic")


def test_weights_are_repetitions() -> None:
    X, y = noisy(80)
    times = np.random.default_rng(0).integers(0, 4, 80)
    rows = np.repeat(np.arange(80), times)
    model = AdaBoostClassifier(n_estimators=10).fit(X, y, times)
    one, other = margins(model, X, y, sample_weight=times), margins(model, X[rows], y[rows])
    np.testing.assert_allclose(one.margin_error(THETAS), other.margin_error(THETAS), atol=1e-15)
    assert (one.minimum, one.quantile(0.3)) == (other.minimum, other.quantile(0.3))
    assert one.area == pytest.approx(other.area)
    np.testing.assert_allclose(one.bound(THETAS), other.bound(THETAS), rtol=1e-12)


# ---------------------------------------------------------------- the object


@checked
@given(st.lists(st.tuples(st.floats(-1, 1), st.integers(0, 3)), min_size=1, max_size=30))
def test_graph_quantiles_and_area(rows: list[tuple[float, int]]) -> None:
    values, weights = np.array([v for v, _ in rows]), np.array([float(w) for _, w in rows])
    if not weights.any():
        weights[0] = 1.0
    found = Margins(values, weights, values, "normalised")
    for theta in [*values.tolist(), *THETAS.tolist()]:
        assert found.margin_error(theta) == pytest.approx(weights[values <= theta].sum() / weights.sum(), abs=1e-12)
    assert found.minimum == values[weights > 0].min()
    many = np.repeat(values, weights.astype(int))
    for share in (0.0, 0.1, 0.5, 0.9, 1.0):
        assert found.quantile(share) == np.quantile(many, share, method="inverted_cdf")
    theta, error = found.curve()
    integral = float(np.sum(np.diff(theta) * error[:-1]))  # of the staircase
    assert found.area == pytest.approx(integral, abs=1e-12)
    assert found.area == pytest.approx(1 - found.mean, abs=1e-12)
    np.testing.assert_array_equal(found.margin_error(theta), error)


def test_side_by_side() -> None:
    X, y = XD6(0.2).sample(200, 0)
    models = {"one": AdaBoostClassifier(n_estimators=5).fit(X, y), "a\x1b[31m": AdaBoostRClassifier().fit(X, y)}
    bayes = TwoNorm(noise=0.1).bayes_margins()
    table = MarginTable(margin_table(models, X, y, kind="logistic", bayes=bayes), (0.0, 0.25))
    assert list(table) == ["one", "a\x1b[31m", "Bayes"]
    assert table["one"].margin_error(0.0) == pytest.approx(1 - models["one"].score(X, y), abs=0.02)
    lines = str(table).splitlines()
    assert len(lines) == 4
    assert "\x1b" not in str(table)
    assert {row["name"]: row[0.25] for row in table.rows()}["Bayes"] == TwoNorm(noise=0.1).bayes_margins().margin_error(
        0.25
    )
    with pytest.raises(ValueError, match="at least one"):
        MarginTable({})


# ---------------------------------------------------------------- what training proves


@pytest.mark.parametrize("model", EXPONENTIAL, ids=repr)
@pytest.mark.parametrize("kind", ["normalised", "logistic"])
def test_training_margins_keep_below_their_bound_in_every_round(model: Any, kind: str) -> None:
    """For every theta, with weights and with rows that contradict each other."""
    for seed in range(3):
        X, y = messy(60, seed=seed)
        X, y = np.vstack([X, X[:15]]), np.concatenate([y, 1 - y[:15]])
        weight = np.random.default_rng(seed).uniform(0.2, 1, len(y))
        fit = clone(model).fit(X, y, sample_weight=weight)
        for stage in staged_margins(fit, X, y, kind=kind, sample_weight=weight):
            assert np.all(stage.margin_error(THETAS) <= stage.bound(THETAS) + 1e-9)
            drawn = np.interp(THETAS, *stage.bound_curve())
            assert np.all((stage.bound(THETAS) <= drawn + 1e-9) & (drawn <= stage.bound(THETAS) + 0.01))
        infinite = getattr(fit.estimator, "smoothing", None) == 0  # rounds of infinite outputs cost 1 + |mu|
        assert stage.bound(0.0) < 1 or infinite
        if not infinite:
            with pytest.raises(ValueError, match="others"):
                margins(fit, X, 1 - fit.predict(X), kind=kind, sample_weight=weight).bound(0.0)


@pytest.mark.parametrize("model", [m for m in EXPONENTIAL if not isinstance(m, AdaBoostRClassifier)], ids=repr)
def test_the_bound_is_markovs_with_the_mean_of_the_training_rows(model: Any) -> None:
    """Not larger: in every round it is exp(s) times the mean of exp(-y f), from the votes themselves."""
    X, y = messy(60)
    weight = np.random.default_rng(0).uniform(0.2, 1, len(y))
    fit = clone(model).fit(X, y, sample_weight=weight)
    for stage in staged_margins(fit, X, y, sample_weight=weight):
        mean = np.average(np.exp(-stage.scores), weights=weight)
        reach = stage.proof.reach
        np.testing.assert_allclose(
            stage.bound(THETAS), np.minimum(1, np.exp(np.array(THETAS) * reach) * mean), rtol=1e-6
        )


@checked
@given(seeds)
def test_theorem_1_is_never_below_markov(seed: int) -> None:
    """Eq. 11 as printed, with the error of the empirical Bayes rule, bounds the bound: Markov alone says more."""
    X, y = noisy(50, seed=seed % 2**31)
    X, y = np.vstack([X, X[:10]]), np.concatenate([y, 1 - y[:10]])
    model = AdaBoostRClassifier(Trees(2), n_estimators=15).fit(X, y)
    found = margins(model, X, y, kind="logistic")
    printed = np.array([margin_errors(model.history_["edge"], theta, bayes=10 / 60)[-1] for theta in THETAS])
    assert np.all(found.bound(THETAS) <= np.minimum(1.0, printed) + 1e-12)
    assert np.all(found.margin_error(THETAS) <= printed + 1e-12)


def test_the_bound_is_one_that_can_fail() -> None:
    """With a product of normalisers half as large it does not hold."""
    X, y = noisy(200)
    found = margins(AdaBoostClassifier(n_estimators=30).fit(X, y), X, y)
    proof = found.proof
    assert isinstance(proof, Proof)
    assert np.any(found.margin_error(THETAS) > Proof(proof.log_mean - 1.5, proof.reach, False).bound(THETAS))


def test_where_nothing_is_proved_it_says_why() -> None:
    X, y = noisy(150)
    for model, words in (
        (QuadBoostClassifier(n_estimators=5), "does not store"),
        (AdaBoostClassifier(n_estimators=5), "two classes"),
    ):
        labels = y if isinstance(model, QuadBoostClassifier) else noisy(150, labels=3)[1]
        with pytest.raises(ValueError, match=words):
            margins(model.fit(X, labels), X, labels).bound(0.0)


def test_bounds_after_early_stopping_warm_start_and_a_file(tmp_path: Any) -> None:
    X, y = noisy(300)
    model = AdaBoostClassifier(n_estimators=60, early_stopping=True, n_iter_no_change=3, random_state=0)
    model.fit(X, y, X_val=X[:50], y_val=y[:50])
    assert len(model.steps_) < len(model.history_["step"])
    found = margins(model, X, y)
    assert np.all(found.margin_error(THETAS) <= found.bound(THETAS) + 1e-9)
    grown = AdaBoostClassifier(n_estimators=5, warm_start=True).fit(X, y).set_params(n_estimators=9).fit(X, y)
    grown.save(tmp_path / "m")
    np.testing.assert_array_equal(
        margins(electorate.load(tmp_path / "m"), X, y).values,
        margins(AdaBoostClassifier(n_estimators=9).fit(X, y), X, y).values,
    )


# ---------------------------------------------------------------- median votes


@pytest.mark.parametrize("name", list(MEDIANS))
def test_award_margins_of_median_votes(name: str) -> None:
    """Average awards, staged; their error bounds the robust error and is bounded by Theorem 1, for every rho."""
    model, X, y, weight = fitted(name, 1)
    steps = model.vote_.steps
    found = margins(model, X, y, sample_weight=weight)
    u = awards(model, X, y)
    if not model.vote_.decides:
        np.testing.assert_allclose(found.values, steps @ u / steps.sum(), atol=1e-12)
        np.testing.assert_allclose(found.minimum, model.history_["min_margin"][len(steps) - 1], atol=1e-9)
    for t, stage in enumerate(staged_margins(model, X, y, sample_weight=weight)):
        if isinstance(stage.proof, Proof):
            for rho in (-2.0, -0.7, -0.3, 0.0, 0.2, 0.9):
                assert stage.margin_error(rho) <= stage.bound(rho) + 1e-9
                assert stage.bound(rho) == pytest.approx(min(1.0, model.error_bounds(rho)[t]), rel=1e-9)
    np.testing.assert_allclose(stage.values, found.values, atol=1e-12)
    for rho in (-0.7, -0.3, -0.05, 0.0, 0.2, 0.5):
        assert model.robust_error(X, y, rho, weight) <= found.margin_error(rho) + 1e-12


def test_a_voter_that_decides_alone_has_its_own_award() -> None:
    X = np.arange(40.0)[:, None]
    y = (X[:, 0] > 20) * 10.0
    model = MedBoostRegressor(eps=1.0, n_estimators=5).fit(X, y)
    assert model.vote_.decides
    found = margins(model, X, y)
    assert found.minimum == 1
    with pytest.raises(ValueError, match="infinite"):
        found.bound(0.0)


# ---------------------------------------------------------------- others


def test_any_classifier_in_log_odds_has_logistic_margins() -> None:
    X, y = noisy(200)
    model = LogisticRegression().fit(X, y)
    p = model.predict_proba(X)[np.arange(200), y]
    np.testing.assert_allclose(margins(model, X, y, kind="logistic").values, 2 * p - 1, atol=1e-9)  # eq. 23
    with pytest.raises(TypeError, match="logistic"):
        margins(model, X, y)


def test_thinned_and_cross_validated_models() -> None:
    X, y = noisy(200)
    forest = thin(AdaBoostClassifier(n_estimators=30).fit(X, y), X, y, max_voters=8)
    found = margins(forest, X, y)
    f = forest.decision_function(X) / np.abs(forest.weights_).sum()
    np.testing.assert_allclose(found.values, np.where(y == 1, f, -f), atol=1e-9)
    chosen = QuadBoostClassifierCV(Columns(), penalty="l2", values=[1.0], rounds=[10]).fit(np.sign(X), y)
    np.testing.assert_allclose(
        margins(chosen, np.sign(X), y).values, margins(chosen.best_estimator_, np.sign(X), y).values
    )


def test_an_empty_model_has_no_margin() -> None:
    X, y = np.zeros((20, 2)), np.array([0, 1] * 10)
    model = AdaBoostClassifier().fit(X, y)
    found = margins(model, X, y)
    assert found.minimum <= 0
    assert found.bound(0.0) == 1


@pytest.mark.parametrize(
    ("call", "word"),
    [
        (lambda model, X, y: margins(model, X, y, kind="hard"), "kind='hard'"),
        (lambda model, X, y: margins(model, X, y, kind="award"), "MedBoostRegressor"),
        (lambda model, X, y: margins(model, X, y + 5), "label 5"),
        (lambda model, X, y: margins(model, X[:50], y), "50 rows"),
        (lambda model, X, y: margins(model, X, y, sample_weight=np.zeros(len(y))), "zero for every row"),
        (lambda model, X, y: margins(model, X, y).quantile(1.5), "share"),
        (lambda model, X, y: margins(MedBoostRegressor(n_estimators=3).fit(X, y), X, y, kind="logistic"), "award"),
        (
            lambda model, X, y: margins(
                RealAdaBoostClassifier(DecisionTreeClassifier(max_depth=1), n_estimators=2).fit(X, y), X, y
            ),
            "logistic",
        ),
    ],
)
def test_mistakes_are_named(call: Any, word: str) -> None:
    X, y = noisy(100)
    with pytest.raises(ValueError, match=word):
        call(AdaBoostClassifier(Stumps(), n_estimators=5).fit(X, y), X, y)


def test_regressors_without_eps_have_no_margins() -> None:
    X, y = noisy(60)
    model = AdaBoostRegressor(DecisionTreeRegressor(max_depth=2), n_estimators=3).fit(X, y)
    with pytest.raises(TypeError, match="no margins"):
        margins(model, X, y)


def test_sure_of_the_wrong_label_is_never_minus_1() -> None:
    """A vote is finite: the bound at theta = -1 is 0, and so is the margin error."""
    found = margins(LogisticRegression(C=1e9, max_iter=500).fit([[0.0], [1.0]], [0, 1]), [[1e6]], [0], kind="logistic")
    assert found.margin_error(-1.0) == 0
    assert found.minimum == math.nextafter(-1, 0)
