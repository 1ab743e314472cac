"""AdaBoostClassifier against a plain reference, its theorems, and scikit-learn's class on the same voters.

The reference below is brute force in NumPy floats and shares nothing with the package. Where exact ties leave
a choice between voters, functions are compared and not indices: the reference checks the choice and follows it.
"""

import math
import warnings
from collections.abc import Sequence
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.ensemble import AdaBoostClassifier as SklearnAdaBoost
from sklearn.model_selection import train_test_split
from sklearn.utils.class_weight import compute_sample_weight

from electorate import AdaBoostClassifier
from electorate.model.text import comparison
from tests.common.recompute import mean_exp, staged_margins, voted

CLOSE = 1e-9
properties = settings(max_examples=25, derandomize=True, deadline=None)
seeds = st.integers(0, 2**32 - 1)

# ---------------------------------------------------------------- the reference


def every_stump(X, mass):
    """Votes on the rows of every stump: all thresholds, each side for its heaviest label; and the constant.

    mass[row, label]: the weight of the row at its own label.
    """
    yield np.full(len(X), np.argmax(mass.sum(axis=0)))
    for x in X.T:
        for threshold in np.unique(x)[:-1]:
            left = x <= threshold
            yield np.where(left, np.argmax(mass[left].sum(axis=0)), np.argmax(mass[~left].sum(axis=0)))


def samme(X, y, w, labels, rounds, learning_rate=1.0, chosen=()):
    """Discrete AdaBoost (Zhu et al. 2009): votes, errors, steps, and the weights before every round and at the end.

    `chosen`: voters to follow, each of which must be as good as the best.
    """
    w = w / w.sum()
    votes, errors, steps, weights = [], [], [], [w]
    for t in range(rounds):
        mass = np.eye(labels)[y] * w[:, None]
        vote = min(every_stump(X, mass), key=lambda v: w[v != y].sum())
        error = w[vote != y].sum()
        if error > 1 - 1 / labels - 1e-12:
            break
        if t < len(chosen):
            assert w[chosen[t] != y].sum() < error + 1e-12, "another stump was better"
            vote = chosen[t]
        perfect = np.array_equal(vote, y)
        step = 0.5 if perfect else learning_rate / 2 * (math.log((1 - error) / error) + math.log(labels - 1))
        w = w * np.exp(2 * step * (vote != y))
        w = w / w.sum()
        votes, errors, steps, weights = [*votes, vote], [*errors, error], [*steps, step], [*weights, w]
        if perfect:
            break
    return np.array(votes), np.array(errors), np.array(steps), np.array(weights)


def some_data(seed, labels, rows, generic):
    """Random rows of every label. Generic: no two columns or sums agree by chance; else whole numbers and ties."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.concatenate([np.arange(labels), rng.integers(0, labels, rows - labels)]))
    if generic:
        return rng.normal(size=(rows, 3)) + 0.5 * y[:, None], y, rng.uniform(0.2, 1.0, rows)
    return np.round(rng.normal(size=(rows, 3)) + 0.5 * y[:, None]), y, rng.integers(1, 4, rows).astype(float)


@given(seed=seeds, labels=st.sampled_from([2, 3, 4]), rows=st.integers(8, 30), rate=st.sampled_from([1.0, 0.3]))
@properties
def test_equals_the_reference_without_ties(seed, labels, rows, rate):
    """But those between stumps that are right on the same rows: these go to the first, here and there."""
    X, y, w = some_data(seed, labels, rows, generic=True)
    votes, errors, steps, weights = samme(X, y, w, labels, 8, rate)
    model = AdaBoostClassifier(n_estimators=8, learning_rate=rate).fit(X, y, w)
    np.testing.assert_array_equal(voted(model, X), votes)
    assert_same_arithmetic(model, X, y, errors, steps, weights, w)


@given(seed=seeds, labels=st.sampled_from([2, 3, 4]), rows=st.integers(8, 30), rate=st.sampled_from([1.0, 0.3]))
@properties
def test_equals_the_reference_with_ties(seed, labels, rows, rate):
    X, y, w = some_data(seed, labels, rows, generic=False)
    model = AdaBoostClassifier(n_estimators=8, learning_rate=rate).fit(X, y, w)
    _, errors, steps, weights = samme(X, y, w, labels, 8, rate, chosen=voted(model, X))
    assert_same_arithmetic(model, X, y, errors, steps, weights, w)


def assert_same_arithmetic(model, X, y, errors, steps, weights, w):
    """Errors, edges, steps, decisions and the weights that the margins imply."""
    labels = len(model.classes_)
    edges = 2 * (labels - 1) / labels * (1 - errors) - 2 / labels * errors  # the mean award
    np.testing.assert_allclose(model.estimator_errors_, errors, rtol=0, atol=CLOSE)
    np.testing.assert_allclose(model.history_["edge"], edges, rtol=0, atol=CLOSE)
    np.testing.assert_allclose(model.steps_, steps, rtol=0, atol=CLOSE)
    for margins, expected in zip(staged_margins(model, X, y), weights[1:], strict=True):
        implied = w * np.exp(-margins)
        np.testing.assert_allclose(implied / implied.sum(), expected, rtol=0, atol=CLOSE)
    won = np.zeros((len(y), labels))
    for vote, step in zip(voted(model, X), steps, strict=True):
        won[np.arange(len(y)), vote] += step / steps.sum()
    decision = won[:, 1] * 4 - 2 if labels == 2 else (labels * won - 1) / (labels - 1)
    np.testing.assert_allclose(model.decision_function(X), decision, rtol=0, atol=CLOSE)


# ---------------------------------------------------------------- theorems


@given(seed=seeds, rows=st.integers(6, 40), generic=st.booleans())
@properties
def test_bound_on_the_training_error(seed, rows, generic):
    """Training error <= prod Z_t = mean exp(-y f), and Z_t = sqrt(1 - edge^2) (Schapire and Singer 1999)."""
    X, y, w = some_data(seed, 2, rows, generic)
    model = AdaBoostClassifier(n_estimators=15).fit(X, y, w)
    history = model.history_
    factors = np.sqrt(1 - history["edge"] ** 2)
    if model.stop_reason_ == "perfect_voter":
        factors[-1] = math.exp(-0.5)  # a step of 1/2 in place of an infinite one
    np.testing.assert_allclose(history["objective"], np.cumprod(factors), rtol=CLOSE)
    assert np.all(history["train_error"] <= history["objective"] * (1 + CLOSE))
    np.testing.assert_allclose(history["edge"], 1 - 2 * history["error"], rtol=0, atol=1e-15)


@given(seed=seeds, labels=st.sampled_from([2, 3, 4, 6]), rows=st.integers(8, 40), generic=st.booleans())
@properties
def test_objective(seed, labels, rows, generic):
    """SAMME's loss as in algorithms/adaboost.py is the mean of exp(-margin), and a step minimises it."""
    X, y, w = some_data(seed, labels, rows, generic)
    model = AdaBoostClassifier(n_estimators=15).fit(X, y, w)
    objective = model.history_["objective"]
    margins = staged_margins(model, X, y)
    np.testing.assert_allclose(objective, [mean_exp(m, w) for m in margins], rtol=CLOSE)
    assert np.all(np.diff(np.concatenate([[1.0], objective])) <= CLOSE)
    if model.stop_reason_ != "perfect_voter":
        award = np.diff(margins, axis=0, prepend=0)[-1]
        for other in (0.99, 1.01):
            assert mean_exp(margins[-1] + (other - 1) * award, w) >= objective[-1] * (1 - CLOSE)


@given(seed=seeds, labels=st.sampled_from([2, 3, 5]), generic=st.booleans())
@properties
def test_train_error_is_one_minus_score(seed, labels, generic):
    X, y, w = some_data(seed, labels, 25, generic)
    model = AdaBoostClassifier(n_estimators=10).fit(X, y, w)
    staged = np.array(list(model.staged_score(X, y, sample_weight=w)))
    np.testing.assert_allclose(model.history_["train_error"], 1 - staged, rtol=0, atol=CLOSE)


@given(seed=seeds, rows=st.integers(8, 40), generic=st.booleans())
@properties
def test_steps_twice_as_long_gain_nothing(seed, rows, generic):
    """For two labels Z(2 alpha) = e (1-e)/e + (1-e) e/(1-e) = 1: learning_rate = 2 leaves the objective alone."""
    X, y, w = some_data(seed, 2, rows, generic)
    model = AdaBoostClassifier(n_estimators=10, learning_rate=2.0).fit(X, y, w)
    path = np.concatenate([[1.0], model.history_["objective"]])
    told = model.estimator_errors_ > 1e-4  # smaller ones are known to fewer digits
    assert told[0] or model.stop_reason_ == "perfect_voter"
    np.testing.assert_allclose((path[1:] / path[:-1])[told], 1, rtol=CLOSE)


def test_a_decision_of_zero_is_the_first_label():
    """Two voters of the same step disagree on the rows (0, 1): the one of label 1 is wrong, the one of label 0 not."""
    X = np.array([[0, 0], [1, 1], [0, 1], [0, 1]], dtype=float)
    y, w = np.array([0, 1, 1, 0]), np.array([3, 3, 4, 6])
    model = AdaBoostClassifier(n_estimators=2).fit(X, y, w)
    np.testing.assert_array_equal(model.decision_function(X), [-2, 2, 0, 0])
    np.testing.assert_array_equal(model.predict(X), [0, 1, 0, 0])
    assert model.history_["train_error"].tolist() == [0.25, 0.25]


@pytest.mark.parametrize("labels", [2, 3])
def test_objective_where_weights_differ_by_many_powers(labels):
    """Two voters in a row that are wrong on next to nothing: their steps are long and no bit may be lost to it."""
    X = np.array([[0, 1, 1], [1, 0, 1], [1, 1, 0], [0, 0, 0], [0, 0, 0], [1, 1, 1], [1, 1, 1]], dtype=float)
    y = np.array([0, 0, 0, 0, 0, 1, 1])
    w = np.array([3e-6, 2e-6, 1e-6, 1, 1, 1, 1])
    if labels == 3:
        X, y, w = np.vstack([X, [[2, 2, 2]] * 2]), np.append(y, [2, 2]), np.append(w, [1, 1])
        X = np.column_stack([X, X[:, 0] > 1])
    model = AdaBoostClassifier(n_estimators=6).fit(X, y, w)
    _, errors, steps, _ = samme(X, y, w, labels, 6, chosen=voted(model, X))
    np.testing.assert_allclose(model.steps_, steps, rtol=1e-7)
    np.testing.assert_allclose(model.estimator_errors_, errors, rtol=1e-7)
    expected = [mean_exp(m, w) for m in staged_margins(model, X, y)]
    np.testing.assert_allclose(model.history_["objective"], expected, rtol=1e-7)


@given(seed=seeds, labels=st.sampled_from([2, 3]), spread=st.sampled_from([3, 6, 12, 100]), whole=st.booleans())
@properties
def test_errors_and_objective_where_weights_spread(seed, labels, spread, whole):
    """Rounding is relative to the total weight, whatever powers the weights span."""
    X, y, w = some_data(seed, labels, 40, generic=True)
    rng = np.random.default_rng(seed)
    w = 10.0 ** rng.choice([0, 3, 6], 40) if whole else w * 10.0 ** rng.uniform(-spread, 0, 40)
    model = AdaBoostClassifier(n_estimators=25).fit(X, y, w)
    margins = staged_margins(model, X, y)
    np.testing.assert_allclose(model.history_["objective"], [mean_exp(m, w) for m in margins], rtol=CLOSE)
    before = np.vstack([np.zeros(len(y)), margins[:-1]])
    missed = voted(model, X) != y
    errors = [np.average(m, weights=w * np.exp(-b)) for m, b in zip(missed, before, strict=True)]
    np.testing.assert_allclose(model.estimator_errors_, errors, rtol=0, atol=CLOSE)
    assert (model.stop_reason_ == "perfect_voter") == (not missed[-1].any())


def test_many_rows_too_light_for_the_grid():
    """Each is less than half a unit, so the sums show none; a long step makes them more than would fit, unforeseen."""
    light = 2**18 + 1000
    X = np.concatenate([[0.0, 1.0], np.zeros(light)])[:, None]
    y = np.concatenate([[0, 1], np.ones(light, dtype=int)])
    w = np.concatenate([[1.0, 1.0], np.full(light, 0.4 * 2 / (light * 2.0**43))])
    model = AdaBoostClassifier(n_estimators=4).fit(X, y, w)
    missed = model.estimators_[0].predict(X) != y
    step = model.steps_[0]
    expected = np.average(np.exp(np.where(missed, step, -step)), weights=w)
    assert missed.sum() == light
    assert model.history_["objective"][0] == pytest.approx(expected, rel=CLOSE)
    assert np.all((model.estimator_errors_ > 0) & (model.estimator_errors_ < 0.5))


@pytest.mark.parametrize("light", [1e-100, 1e-308, 5e-324])
def test_a_row_of_next_to_no_weight_among_others(light):
    """It takes many rounds until it counts; nothing overflows on the way."""
    X, y, w = np.arange(6.0)[:, None], np.array([0, 1, 0, 1, 1, 1]), np.array([1, light, 1, 1, 1, 1])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = AdaBoostClassifier(n_estimators=60).fit(X, y, w)
    objective = model.history_["objective"]
    assert np.all(np.diff(objective) <= CLOSE * objective[:-1])
    assert model.estimator_errors_[-1] > 0.01


# ---------------------------------------------------------------- scikit-learn on the same voters


class Script:
    """Voters in turn; cloning keeps the place."""

    def __init__(self, voters):
        self.turns = iter(voters)

    def __deepcopy__(self, memo):
        return self


class Replay(ClassifierMixin, BaseEstimator):
    """A weak learner that ignores what it is shown and says what the next voter of a script says."""

    def __init__(self, script=None):
        self.script = script

    def fit(self, X, y, sample_weight=None):
        self.classes_ = np.unique(y)
        self.voter_ = next(self.script.turns)
        return self

    def predict(self, X):
        return self.voter_.predict(X)


@pytest.mark.parametrize("labels", [2, 3, 4])
@pytest.mark.parametrize("rate", [1.0, 0.5, 1.7])
@pytest.mark.parametrize("weighted", [False, True])
def test_equals_scikit_learn_on_the_same_voters(labels, rate, weighted):
    X, y, w = some_data(labels, labels, 80, generic=weighted)
    X_new = np.random.default_rng(0).normal(size=(50, 3))
    assert_scikit_learn_agrees(X, y, w if weighted else None, X_new, rate, 25)


def test_equals_scikit_learn_after_a_perfect_voter():
    X = np.arange(12.0)[:, None]
    model = assert_scikit_learn_agrees(X, X[:, 0] > 4, None, X + 0.5, 1.0, 10)
    assert model.stop_reason_ == "perfect_voter"


def assert_scikit_learn_agrees(X, y, w, X_new, rate, rounds):
    ours = AdaBoostClassifier(n_estimators=rounds, learning_rate=rate).fit(X, y, w)
    theirs = SklearnAdaBoost(Replay(Script(ours.estimators_)), n_estimators=len(ours.estimators_), learning_rate=rate)
    theirs.fit(X, y, w)
    used = len(theirs.estimators_)
    assert used == len(ours.estimators_)
    for name in ("estimator_weights_", "estimator_errors_"):
        np.testing.assert_allclose(getattr(theirs, name)[:used], getattr(ours, name), rtol=0, atol=CLOSE)
    for method in ("decision_function", "predict_proba"):
        np.testing.assert_allclose(getattr(theirs, method)(X_new), getattr(ours, method)(X_new), rtol=0, atol=CLOSE)
        stages = zip(getattr(theirs, f"staged_{method}")(X_new), getattr(ours, f"staged_{method}")(X_new), strict=True)
        for a, b in stages:
            np.testing.assert_allclose(a, b, rtol=0, atol=CLOSE)
    proba = np.sort(ours.predict_proba(X_new), axis=1)
    clear = proba[:, -1] - proba[:, -2] > CLOSE  # where rounding cannot decide
    assert clear.mean() > 0.5
    np.testing.assert_array_equal(theirs.predict(X_new)[clear], ours.predict(X_new)[clear])
    np.testing.assert_allclose(np.exp(ours.predict_log_proba(X_new)), ours.predict_proba(X_new), atol=CLOSE)
    return ours


@pytest.mark.parametrize("load", [load_breast_cancer, load_wine, load_digits])
def test_held_out_error_beside_scikit_learn(load):
    """Not more than 5 points worse than depth-1 trees, on average over three splits. A sanity check, no ranking."""
    X, y = load(return_X_y=True)
    gaps = []
    for seed in range(3):
        X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.4, stratify=y, random_state=seed)
        ours = AdaBoostClassifier(n_estimators=40).fit(X_train, y_train)
        theirs = SklearnAdaBoost(n_estimators=40, random_state=0).fit(X_train, y_train)
        gaps.append(theirs.score(X_test, y_test) - ours.score(X_test, y_test))
    assert np.mean(gaps) <= 0.05


# ---------------------------------------------------------------- parameters


def test_learning_rate_multiplies_the_first_step():
    X, y, w = some_data(0, 3, 40, generic=True)
    steps = [AdaBoostClassifier(n_estimators=1, learning_rate=r).fit(X, y, w).steps_[0] for r in (1.0, 0.25, 3.0)]
    np.testing.assert_allclose(steps, steps[0] * np.array([1.0, 0.25, 3.0]), rtol=CLOSE)


@pytest.mark.parametrize("rate", [5.0, 20.0, 50.0, 1000.0])
def test_long_steps_do_not_pass_for_perfect_voters(rate):
    """Weights then differ by more than the grid can show, but a voter that is wrong somewhere is not perfect."""
    X, y, w = some_data(0, 2, 60, generic=True)
    model = AdaBoostClassifier(n_estimators=10, learning_rate=rate).fit(X, y, w)
    assert model.stop_reason_ == "n_estimators"
    assert np.all(np.isfinite(model.steps_))
    assert model.history_["train_error"][-1] == pytest.approx(1 - model.score(X, y, w))


def test_steps_too_long_to_add_are_refused():
    X, y, w = some_data(0, 2, 60, generic=True)
    with pytest.raises(ValueError, match="learning_rate"):
        AdaBoostClassifier(learning_rate=1e7).fit(X, y, w)


@given(seed=seeds, labels=st.sampled_from([2, 3]))
@properties
def test_class_weight_is_a_sample_weight(seed, labels):
    X, y, w = some_data(seed, labels, 30, generic=True)
    names = np.array(["a", "b", "c"])[y]
    factors = {"a": 3.0, "b": 0.7}
    times = w * np.array([factors.get(name, 1.0) for name in names])
    by_class = AdaBoostClassifier(n_estimators=6, class_weight=factors).fit(X, names, w)
    assert by_class.digest_ == AdaBoostClassifier(n_estimators=6).fit(X, names, times).digest_
    assert by_class.digest_ != AdaBoostClassifier(n_estimators=6).fit(X, names, w).digest_


@given(seed=seeds, labels=st.sampled_from([2, 3]))
@properties
def test_balanced_gives_every_class_the_same_weight(seed, labels):
    X, y, w = some_data(seed, labels, 30, generic=True)
    totals = np.array([math.fsum(w[y == k]) for k in range(labels)])
    balanced = AdaBoostClassifier(n_estimators=6, class_weight="balanced").fit(X, y, w)
    direct = AdaBoostClassifier(n_estimators=6).fit(X, y, w * (math.fsum(totals) / (labels * totals))[y])
    np.testing.assert_array_equal(voted(balanced, X), voted(direct, X))
    np.testing.assert_allclose(balanced.steps_, direct.steps_, rtol=0, atol=CLOSE)


def test_balanced_as_in_scikit_learn_without_weights():
    X, y, _ = some_data(1, 3, 60, generic=True)
    y = np.where(y == 2, 0, y)
    balanced = AdaBoostClassifier(class_weight="balanced").fit(X, y)
    assert balanced.digest_ == AdaBoostClassifier().fit(X, y, compute_sample_weight("balanced", y)).digest_


def test_class_weight_of_no_class_is_refused():
    with pytest.raises(ValueError, match="'z'"):
        AdaBoostClassifier(class_weight={"z": 1.0}).fit([[0.0], [1.0]], ["a", "b"])


# ---------------------------------------------------------------- stopping


def test_stops_without_edge_where_rows_contradict_each_other():
    X = np.array([[0.0], [0.0], [1.0], [1.0]])
    model = AdaBoostClassifier().fit(X, [0, 1, 0, 1])
    assert (model.stop_reason_, len(model.steps_)) == ("no_edge", 0)
    np.testing.assert_array_equal(model.decision_function(X), 0)
    np.testing.assert_array_equal(model.predict(X), 0)  # a decision of 0 is the first class
    np.testing.assert_array_equal(model.predict_proba(X), 0.5)
    assert list(model.staged_predict(X)) == []


def test_stops_without_edge_on_exclusive_or():
    X = np.array([[0.0, 0], [0, 1], [1, 0], [1, 1]])
    assert AdaBoostClassifier().fit(X, [0, 1, 1, 0]).stop_reason_ == "no_edge"


def test_stops_without_edge_later():
    """Contradictory rows, three to one: the constant voter takes all there is, then nothing is left."""
    model = AdaBoostClassifier(n_estimators=50).fit(np.zeros((4, 1)), [0, 1, 1, 1])
    assert model.stop_reason_ == "no_edge"
    assert len(model.steps_) <= 2
    assert model.steps_.sum() == pytest.approx(math.log(3) / 2, abs=1e-11)
    assert model.estimators_[0].to_text() == "always 1"


def test_stops_at_a_perfect_voter():
    model = AdaBoostClassifier(n_estimators=50, learning_rate=0.1).fit([[0.0], [1.0], [2.0]], [0, 0, 1])
    assert (model.stop_reason_, model.steps_.tolist()) == ("perfect_voter", [0.5])
    assert model.estimator_errors_.tolist() == [0.0]
    assert model.history_["train_error"].tolist() == [0.0]


def test_a_voter_wrong_on_a_row_of_hardly_any_weight_is_not_perfect():
    X, y = np.arange(6.0)[:, None], [0, 1, 0, 1, 1, 1]
    weight = [1.0, 1e-16, 1.0, 1.0, 1.0, 1.0]
    model = AdaBoostClassifier(n_estimators=3).fit(X, y, weight)
    assert model.stop_reason_ == "n_estimators"
    assert model.steps_[0] > 10


def test_stops_after_the_rounds_asked_for():
    X, y, w = some_data(0, 3, 40, generic=True)
    model = AdaBoostClassifier(n_estimators=7).fit(X, y, w)
    assert (model.stop_reason_, len(model.steps_)) == ("n_estimators", 7)


# ---------------------------------------------------------------- attributes


@given(seed=seeds, labels=st.sampled_from([2, 3]))
@properties
def test_importances_are_shares_of_the_steps(seed, labels):
    X, y, w = some_data(seed, labels, 30, generic=True)
    model = AdaBoostClassifier(n_estimators=10).fit(X, y, w)
    assert model.feature_importances_.shape == (3,)
    assert model.feature_importances_.sum() == pytest.approx(1)
    used = {f"x{j}" for j in np.flatnonzero(model.feature_importances_)}
    assert used == {voter.to_text().split()[1] for voter in model.estimators_ if voter.to_text()[:2] == "if"}


def test_importances_count_steps():
    X = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    model = AdaBoostClassifier(n_estimators=2).fit(X, [0, 1, 1, 1], [1.0, 2.0, 3.0, 4.0])
    assert [voter.to_text() for voter in model.estimators_[:2]] == ["always 1", "if x0 <= 0.5: 0, else 1"]
    assert model.feature_importances_.tolist() == [1.0, 0.0]


def test_estimators_are_a_read_only_sequence():
    X, y, w = some_data(0, 3, 40, generic=True)
    model = AdaBoostClassifier(n_estimators=5).fit(X, y, w)
    voters = model.estimators_
    texts = [voter.to_text() for voter in voters]
    assert isinstance(voters, Sequence)
    assert len(voters) == len(texts) == 5
    assert voters[-1].to_text() == texts[-1]
    assert [v.to_text() for v in voters[1:4:2]] == texts[1:4:2]
    assert [v.to_text() for v in reversed(voters)] == texts[::-1]
    assert [v.step for v in voters] == model.steps_.tolist()
    for beyond in (5, -6):
        with pytest.raises(IndexError):
            voters[beyond]
    with pytest.raises(TypeError):
        voters[0] = voters[1]
    assert repr(voters[0]).startswith(f"Voter({texts[0]}; step ")
    np.testing.assert_array_equal(model.estimator_weights_, 2 * model.steps_)


# ---------------------------------------------------------------- voters as text


def says(text, row, names):
    """What a voter's text says of a row, read as a person would."""
    if text.startswith("always "):
        return eval(text.removeprefix("always "))
    test, answers = text.removeprefix("if ").split(": ")
    left, right = answers.split(", else ")
    return eval(left if any(_holds(part, row, names) for part in test.split(" or ")) else right)


def _holds(test, row, names):
    name, word, rest = test.split(" ", 2)
    value = row[names.index(name)]
    absent = value is None or value != value
    if word == "is" and rest in ("missing", "not missing", "anything"):
        return {"missing": absent, "not missing": not absent, "anything": True}[rest]
    if word == "is":  # not this one category: a missing value is not it either
        return absent or value != eval(rest.removeprefix("not "))
    if absent:
        return False
    return {
        "<=": lambda: value <= float(rest),
        ">": lambda: value > float(rest),
        "<": lambda: value < float(rest),
        ">=": lambda: value >= float(rest),
        "=": lambda: value == eval(rest),
        "in": lambda: value in eval(rest),
    }[word]()


@given(seed=seeds, labels=st.sampled_from([2, 3]), scale=st.sampled_from([1.0, 1e9, 1e-9]))
@properties
def test_text_of_thresholds_agrees_with_predict(seed, labels, scale):
    """Also close to the threshold: values are few units of the sixth digit apart."""
    rng = np.random.default_rng(seed)
    X = (1 + 1e-6 * rng.integers(0, 9, size=(30, 2))) * scale
    X[rng.random(X.shape) < 0.15] = np.nan
    y = rng.permutation(np.arange(30) % labels)
    model = AdaBoostClassifier(n_estimators=8).fit(X, y)
    for voter in model.estimators_:
        expected = [says(voter.to_text(), row, ["x0", "x1"]) for row in X.tolist()]
        assert voter.predict(X).tolist() == expected


@given(low=st.integers(10, 10**6), apart=st.integers(1, 9), digits=st.integers(0, 8), sign=st.sampled_from([-1, 1]))
@properties
def test_thresholds_between_short_decimals_are_written_short(low, apart, digits, sign):
    """And every short decimal, the written one included, compares with the text as it does with the threshold."""
    scale = sign * 10.0**digits
    threshold = (low / scale) * 0.5 + ((low + apart) / scale) * 0.5
    for side, right in ((0, np.less_equal), (1, np.greater)):
        text = comparison(threshold, side)
        word, written = text.split(" ")
        assert len(Decimal(written).normalize().as_tuple().digits) <= 8
        holds = {"<=": np.less_equal, "<": np.less, ">": np.greater, ">=": np.greater_equal}[word]
        near = [float(written), *((2 * low + apart + d) / (2 * scale) for d in range(-3, 4))]
        assert holds(near, float(written)).tolist() == right(near, threshold).tolist()


def test_thresholds_of_many_digits_are_written_in_full():
    for threshold in np.random.default_rng(0).normal(size=200).tolist():
        assert float(comparison(threshold, 0).split(" ")[1]) == threshold
    assert comparison(0.14150000000000001, 0) == "<= 0.1415"
    assert comparison(np.nextafter(0.1415, 0), 0) == "< 0.1415"  # 0.1415 itself is on the right
    assert comparison(np.nextafter(0.1415, 0), 1) == ">= 0.1415"


@given(seed=seeds, labels=st.sampled_from([2, 3]))
@properties
def test_text_of_categories_agrees_with_predict(seed, labels):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "color": rng.choice(np.array(["red", "green", "dark blue", None], dtype=object), 30),
            "n": rng.integers(0, 4, 30).astype(float),
        }
    )
    y = rng.permutation(np.array(["no", "yes", "perhaps"])[np.arange(30) % labels])
    model = AdaBoostClassifier(n_estimators=8).fit(frame, y)
    frame.loc[30] = ["never seen", np.nan]  # unseen counts as missing
    rows = [[None if value == "never seen" else value for value in row] for row in frame.to_numpy().tolist()]
    for voter in model.estimators_:
        expected = [says(voter.to_text(), row, ["color", "n"]) for row in rows]
        assert voter.predict(frame).tolist() == expected


@pytest.mark.parametrize(
    ("x", "y", "text"),
    [
        ([1.0, 2.0, 3.0, 4.0], [0, 0, 0, 1], "if x0 <= 3.5 or x0 is missing: 0, else 1"),
        ([1.0, 2.0, 3.0, 4.0], [0, 1, 1, 1], "if x0 <= 1.5: 0, else 1"),
        ([1.0, np.nan, 3.0, 4.0], [0, 0, 1, 1], "if x0 <= 2 or x0 is missing: 0, else 1"),
        ([1.0, np.nan, 3.0, 4.0], [0, 1, 1, 1], "if x0 <= 2: 0, else 1"),
        ([1.0, np.nan, 3.0, 2.0], [0, 1, 0, 0], "if x0 is not missing: 0, else 1"),
        ([5.0, 5.0, 5.0], [1, 1, 0], "always 1"),
        ([1234567.0, 1234568.0], [0, 1], "if x0 <= 1234567.5 or x0 is missing: 0, else 1"),
    ],
)
def test_text_of_numbers(x, y, text):
    assert AdaBoostClassifier(n_estimators=1).fit(np.array(x)[:, None], y).estimators_[0].to_text() == text


@pytest.mark.parametrize(
    ("levels", "y", "text"),
    [
        (
            ["a", "b", "c", "c"],
            ["no", "yes", "no", "no"],
            "if level is not 'b': 'no', else 'yes'",
        ),
        (["a", "b", "c", None], ["no", "yes", "yes", "yes"], "if level = 'a': 'no', else 'yes'"),
        (["a", "b", "c", None], ["yes", "yes", "yes", "no"], "if level is missing: 'no', else 'yes'"),
    ],
)
def test_text_of_levels(levels, y, text):
    frame = pd.DataFrame({"level": pd.Series(levels, dtype=object)})
    model = AdaBoostClassifier(n_estimators=1).fit(frame, y)
    assert model.estimators_[0].to_text() == text


def test_text_of_rare_levels():
    """Beyond 254 levels the lightest share a bin."""
    levels = [f"level {k:03d}" for k in range(300)]
    frame = pd.DataFrame({"level": np.repeat(levels, [10 * (1 + (k < 254)) for k in range(300)])})
    y = frame["level"].isin(levels[254:]) | (frame["level"] == "level 007")
    voter = AdaBoostClassifier(n_estimators=1).fit(frame, ~y).estimators_[0]
    assert voter.to_text() == "if level in {'level 007', a rare level}: False, else True"
    np.testing.assert_array_equal(voter.predict(frame), ~y)
