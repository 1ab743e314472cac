"""Any scikit-learn classifier as a voter: the models of scikit-learn's AdaBoost, and what happens when it fails."""

import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import load_iris
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import AdaBoostClassifier as Theirs
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression, Perceptron
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier

from electorate import (
    AdaBoostClassifier,
    AdaBoostRClassifier,
    Checkpoint,
    RealAdaBoostClassifier,
    Resampled,
    VadaBoostClassifier,
)

checked = settings(derandomize=True, max_examples=25, deadline=None)
seeds = st.integers(0, 2**32 - 1)
ALL_THREE = [AdaBoostClassifier, RealAdaBoostClassifier, AdaBoostRClassifier]
FOUR = [*ALL_THREE, VadaBoostClassifier]


def blobs(seed: int, n_classes: int = 2, n_rows: int = 90) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Noisy classes in four columns."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(n_rows, 4))
    y = np.argmax(X @ random.normal(size=(4, n_classes)) + random.normal(size=(n_rows, n_classes)), axis=1)
    y[:n_classes] = np.arange(n_classes)
    return X, y


# ---------------------------------------------------------------- the same as scikit-learn


def same_as_theirs(base: Any, X: Any, y: Any, weight: Any = None, **options: Any) -> tuple[Any, Any]:
    """Both models, after comparing all they say."""
    options = {"n_estimators": 8, "random_state": 3, **options}
    ours = AdaBoostClassifier(clone(base), **options).fit(X, y, sample_weight=weight)
    theirs = Theirs(clone(base), **options).fit(X, y, sample_weight=weight)
    rounds = len(theirs.estimators_)  # theirs has places for all rounds, also for those that did not take place
    np.testing.assert_allclose(ours.estimator_weights_, theirs.estimator_weights_[:rounds], rtol=1e-9)
    np.testing.assert_allclose(ours.estimator_errors_, theirs.estimator_errors_[:rounds], atol=1e-9)
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-9)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-9)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    np.testing.assert_array_equal(ours.classes_, theirs.classes_)
    stages = zip(ours.staged_decision_function(X), theirs.staged_decision_function(X), strict=True)
    for our_stage, their_stage in stages:
        np.testing.assert_allclose(our_stage, their_stage, atol=1e-9)
    return ours, theirs


BASES = [DecisionTreeClassifier(max_depth=2, min_samples_leaf=5), GaussianNB(), LogisticRegression(C=0.1)]


@pytest.mark.parametrize("base", BASES, ids=lambda base: type(base).__name__)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_same_as_scikit_learn(base: Any, n_classes: int) -> None:
    @settings(checked, max_examples=6)
    @given(seeds, st.sampled_from([1.0, 0.3]), st.booleans())
    def holds(seed: int, rate: float, weighted: bool) -> None:
        X, y = blobs(seed, n_classes)
        weight = np.random.default_rng(seed).uniform(0.5, 2, len(y)) if weighted else None
        same_as_theirs(base, X, y, weight, learning_rate=rate)

    holds()


def test_voters_get_scikit_learns_random_states() -> None:
    X, y = blobs(0)
    base = DecisionTreeClassifier(max_depth=1, splitter="random")
    ours, theirs = same_as_theirs(base, X, y)
    states = [voter.random_state for voter in ours.estimators_]
    assert states == [voter.random_state for voter in theirs.estimators_]
    assert len(set(states)) == len(states) == 8


def test_string_labels() -> None:
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    ours, _ = same_as_theirs(DecisionTreeClassifier(max_depth=1), X, names)
    assert set(ours.predict(X)) <= set(names)
    assert ours.estimators_[0].classes_.tolist() == ["setosa", "versicolor", "virginica"]


@pytest.mark.parametrize("model", [RealAdaBoostClassifier, AdaBoostRClassifier])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_string_labels_and_real_outputs(model: Any, n_classes: int) -> None:
    X, y = blobs(1, n_classes)
    names = np.array(["a", "b", "c"])[y]
    by_name = model(GaussianNB(), n_estimators=3).fit(X, names)
    by_number = model(GaussianNB(), n_estimators=3).fit(X, y)
    np.testing.assert_allclose(by_name.decision_function(X), by_number.decision_function(X), atol=1e-12)
    np.testing.assert_array_equal(by_name.predict(X), np.array(["a", "b", "c"])[by_number.predict(X)])


class Typed(LogisticRegression):
    """Remembers the type of table it was fitted to."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "Typed":
        super().fit(X, y, sample_weight=sample_weight)
        self.type_ = type(X)
        return self


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        (sparse.csr_matrix, sparse.csr_matrix),
        (sparse.csc_array, sparse.csc_array),
        (sparse.csr_array, sparse.csr_array),
        (sparse.coo_array, sparse.csr_array),
        (sparse.lil_matrix, sparse.csr_matrix),
    ],
)
@pytest.mark.parametrize("model", ALL_THREE)
def test_sparse_tables_stay_sparse(model: Any, given: Any, kept: Any) -> None:
    X, y = blobs(2)
    X[np.abs(X) < 0.5] = 0
    fitted = model(Typed(C=0.1), n_estimators=4).fit(given(X), y)
    assert [voter.type_ for voter in fitted.estimators_] == [kept] * len(fitted.estimators_)
    dense = model(Typed(C=0.1), n_estimators=4).fit(X, y)
    np.testing.assert_allclose(fitted.decision_function(given(X)), dense.decision_function(X), atol=1e-5)


def test_sparse_is_the_same_as_scikit_learn() -> None:
    X, y = blobs(2)
    X[np.abs(X) < 0.5] = 0
    same_as_theirs(LogisticRegression(C=0.1), sparse.csr_array(X), y)


def test_rows_of_weight_0_are_left_out() -> None:
    X, y = blobs(3)
    weight = np.ones(len(y))
    weight[::4] = 0
    whole = AdaBoostClassifier(GaussianNB(), n_estimators=5).fit(X, y, sample_weight=weight)
    part = AdaBoostClassifier(GaussianNB(), n_estimators=5).fit(X[weight > 0], y[weight > 0])
    np.testing.assert_allclose(whole.decision_function(X), part.decision_function(X), atol=1e-9)


@pytest.mark.parametrize("model", ALL_THREE)
def test_an_estimator_without_sample_weight_is_refused_as_scikit_learn_does(model: Any) -> None:
    X, y = blobs(0)
    with pytest.raises(ValueError, match="KNeighborsClassifier doesn't support sample_weight") as ours:
        model(KNeighborsClassifier()).fit(X, y)
    with pytest.raises(ValueError, match="sample_weight") as theirs:
        Theirs(KNeighborsClassifier()).fit(X, y)
    assert str(ours.value).startswith(str(theirs.value))
    assert "Resampled(KNeighborsClassifier(...))" in str(ours.value)


@pytest.mark.parametrize("model", [RealAdaBoostClassifier, AdaBoostRClassifier])
def test_real_outputs_need_predict_proba(model: Any) -> None:
    X, y = blobs(0)
    with pytest.raises(ValueError, match=r"LinearSVC has no predict_proba.*use AdaBoostClassifier"):
        model(LinearSVC()).fit(X, y)
    assert AdaBoostClassifier(LinearSVC(), n_estimators=2).fit(X, y).score(X, y) > 0.5


def test_missing_values_reach_an_estimator_that_takes_them() -> None:
    X, y = blobs(4)
    X[::3, 0] = np.nan
    for base in (DecisionTreeClassifier(max_depth=2), ExtraTreeClassifier(max_depth=3, random_state=0)):
        for model in ALL_THREE:
            fitted = model(base, n_estimators=3).fit(X, y)
            assert np.all(np.isfinite(fitted.decision_function(X)))
            assert fitted.score(X, y) > 0.6
    with pytest.raises(ValueError, match="NaN"):
        AdaBoostClassifier(GaussianNB()).fit(X, y)
    X[0, 1] = np.inf
    with pytest.raises(ValueError, match="infinity"):
        AdaBoostClassifier(DecisionTreeClassifier()).fit(X, y)


def test_feature_importances_are_scikit_learns() -> None:
    X, y = blobs(5)
    ours, theirs = same_as_theirs(DecisionTreeClassifier(max_depth=2, min_samples_leaf=5), X, y)
    np.testing.assert_allclose(ours.feature_importances_, theirs.feature_importances_, atol=1e-9)
    with pytest.raises(AttributeError, match="feature_importances_"):
        _ = AdaBoostClassifier(GaussianNB(), n_estimators=2).fit(X, y).feature_importances_


# ---------------------------------------------------------------- Resampled


class Drawn(KNeighborsClassifier):
    """Remembers the labels it was fitted to."""

    def fit(self, X: Any, y: Any) -> "Drawn":
        super().fit(X, y)
        self.drawn_ = np.array(y)
        return self


def test_resampled_boosts_a_classifier_without_sample_weight() -> None:
    X, y = blobs(6, n_rows=150)
    for model in ALL_THREE:
        base = Resampled(KNeighborsClassifier(5))
        fitted, again = (model(base, n_estimators=4, random_state=0).fit(X, y) for _ in range(2))
        np.testing.assert_array_equal(fitted.decision_function(X), again.decision_function(X))
        assert fitted.score(X, y) > 0.8
        assert len({voter.random_state for voter in fitted.estimators_}) == len(fitted.estimators_)


def test_resampled_draws_with_the_weights_as_odds() -> None:
    X, y = np.arange(400.0)[:, None], np.repeat([0, 1], 200)
    weight = np.where(y == 1, 4.0, 1.0)
    weight[::2] = 0
    fitted = Resampled(Drawn(1), random_state=0).fit(X, y, sample_weight=weight)
    assert len(fitted.estimator_.drawn_) == 400
    assert fitted.estimator_.drawn_.mean() == pytest.approx(0.8, abs=0.06)
    assert np.all(fitted.estimator_._fit_X % 2 == 1)


def test_resampled_has_predict_proba_where_the_base_has_it() -> None:
    assert hasattr(Resampled(KNeighborsClassifier()), "predict_proba")
    assert not hasattr(Resampled(Perceptron()), "predict_proba")
    X, y = blobs(7)
    fitted = Resampled(KNeighborsClassifier(), random_state=0).fit(X, y)
    np.testing.assert_array_equal(fitted.predict_proba(X), fitted.estimator_.predict_proba(X))
    assert AdaBoostClassifier(Resampled(Perceptron()), n_estimators=3, random_state=0).fit(X, y).score(X, y) > 0.6
    with pytest.raises(ValueError, match="Resampled has no predict_proba"):
        RealAdaBoostClassifier(Resampled(Perceptron())).fit(X, y)


@checked
@given(seeds, st.integers(2, 6))
def test_resampled_draws_every_class(seed: int, n_classes: int) -> None:
    """However light: most classifiers refuse to be fitted to one class."""
    random = np.random.default_rng(seed)
    y = np.concatenate([np.arange(n_classes), np.zeros(random.integers(0, 4), dtype=int)])
    X = random.normal(size=(len(y), 2))
    weight = 10 ** random.uniform(-9, 0, len(y))
    fitted = Resampled(Drawn(1), random_state=seed % 1000).fit(X, y, sample_weight=weight)
    assert fitted.classes_.tolist() == list(range(n_classes))
    assert len(fitted.estimator_.drawn_) == len(y)


def test_resampled_leaves_out_classes_without_weight() -> None:
    X, y = blobs(8, 3)
    fitted = Resampled(Drawn(1), random_state=0).fit(X, y, sample_weight=np.where(y == 1, 0.0, 1.0))
    assert fitted.classes_.tolist() == [0, 2]


def test_resampled_takes_lists_and_sparse_tables() -> None:
    X, y = blobs(9)
    expected = Resampled(KNeighborsClassifier(1), random_state=0).fit(X, y).predict(X)
    by_list = Resampled(KNeighborsClassifier(1), random_state=0).fit(X, y.tolist()).predict(X)
    by_sparse = Resampled(KNeighborsClassifier(1), random_state=0).fit(sparse.csr_array(X), y).predict(X)
    np.testing.assert_array_equal(by_list, expected)
    np.testing.assert_array_equal(by_sparse, expected)


# ---------------------------------------------------------------- voters that fail


class Failing(ClassifierMixin, BaseEstimator):
    """A tree that fails in a certain round, and how. Rounds are counted for all clones together."""

    calls = 0

    def __init__(self, fail_in: int = 1, how: str = "raise", max_depth: int = 1) -> None:
        self.fail_in = fail_in
        self.how = how
        self.max_depth = max_depth

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "Failing":
        type(self).calls += 1
        self.fails_now_ = type(self).calls == self.fail_in
        if self.fails_now_ and self.how == "raise":
            raise RuntimeError("the voter broke")
        self.tree_ = DecisionTreeClassifier(max_depth=self.max_depth).fit(X, y, sample_weight=sample_weight)
        self.classes_ = self.tree_.classes_
        return self

    def predict(self, X: Any) -> Any:
        told = self.tree_.predict(X)
        if self.fails_now_ and self.how == "nan":
            return np.where(np.arange(len(told)) == 0, np.nan, told)
        if self.fails_now_ and self.how == "unknown":
            return np.full(len(told), 77)
        if self.fails_now_ and self.how == "worse":
            return self.classes_[::-1][np.searchsorted(self.classes_, told)]
        return told

    def predict_proba(self, X: Any) -> Any:
        proba = self.tree_.predict_proba(X)
        if self.fails_now_ and self.how == "nan":
            proba[0] = np.nan
        return proba


@pytest.fixture(autouse=True)
def _count_anew() -> None:
    Failing.calls = 0


FAILURES = [
    ("raise", RuntimeError, "the voter broke"),
    ("nan", ValueError, "nan, which is not a class|probabilities that are not finite"),
]


@pytest.mark.parametrize(("how", "error", "message"), FAILURES)
@pytest.mark.parametrize("model", FOUR)
def test_a_voter_that_fails_in_round_1(model: Any, how: str, error: Any, message: str) -> None:
    X, y = blobs(10)
    broken = model(Failing(1, how), n_estimators=6)
    with pytest.raises(error, match=message) as caught:
        broken.fit(X, y)
    assert "round 1" in "".join(caught.value.__notes__)
    assert not hasattr(broken, "ensemble_")
    with pytest.raises(NotFittedError):
        broken.predict(X)


@pytest.mark.parametrize(("how", "error", "message"), FAILURES)
@pytest.mark.parametrize("model", FOUR)
def test_a_voter_that_fails_later_leaves_the_rounds_before(model: Any, how: str, error: Any, message: str) -> None:
    X, y = blobs(10)
    broken = model(Failing(4, how), n_estimators=6)
    with pytest.raises(error, match=message) as caught:
        broken.fit(X, y)
    assert "round 4" in "".join(caught.value.__notes__)
    Failing.calls = 100
    good = model(Failing(), n_estimators=3).fit(X, y)
    assert len(broken.estimators_) == len(broken.steps_) == len(broken.history_["step"]) == 3
    np.testing.assert_array_equal(broken.decision_function(X), good.decision_function(X))
    np.testing.assert_array_equal(broken.predict(X), good.predict(X))


def test_a_voter_that_fails_in_the_second_class_of_three() -> None:
    """One class against the rest: the first class is done; the round is that of the class at work."""
    X, y = blobs(11, 3)
    broken = RealAdaBoostClassifier(Failing(5), n_estimators=3)
    with pytest.raises(RuntimeError, match="the voter broke") as caught:
        broken.fit(X, y)
    assert "round 2" in "".join(caught.value.__notes__)
    assert broken.history_["label"].tolist() == [0, 1, 0, 0]
    assert broken.decision_function(X).shape == (len(y), 3)
    assert np.all(broken.decision_function(X)[:, 2] == 0)


def test_a_voter_that_predicts_what_is_no_class() -> None:
    X, y = blobs(10)
    with pytest.raises(ValueError, match=r"Failing predicted .*77.*not a class"):
        AdaBoostClassifier(Failing(2, "unknown"), n_estimators=6).fit(X, y)


def test_a_voter_no_better_than_chance_in_round_1() -> None:
    X, y = blobs(10)
    for model in (AdaBoostClassifier, Theirs):
        Failing.calls = 0
        with pytest.raises(ValueError, match="ensemble is worse than random, ensemble can not be fit"):
            model(Failing(1, "worse")).fit(X, y)
    for kind in (RealAdaBoostClassifier, AdaBoostRClassifier):
        with pytest.raises(ValueError, match="worse than random"):
            kind(DummyClassifier(strategy="uniform")).fit(X, y)


def test_a_voter_no_better_than_chance_later_stops() -> None:
    X, y = blobs(10)
    ours = AdaBoostClassifier(Failing(4, "worse"), n_estimators=6).fit(X, y)
    assert ours.stop_reason_ == "no_edge"
    assert len(ours.steps_) == len(ours.history_["step"]) == 3
    Failing.calls = 0
    theirs = Theirs(Failing(4, "worse"), n_estimators=6).fit(X, y)
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-9)


def test_a_perfect_voter_stops() -> None:
    X, y = blobs(12)
    for model in ALL_THREE:
        fitted = model(DecisionTreeClassifier(), n_estimators=6).fit(X, y)
        assert fitted.stop_reason_ == "perfect_voter"
        assert fitted.predict(X).tolist() == y.tolist()
    same_as_theirs(DecisionTreeClassifier(), X, y)


# ---------------------------------------------------------------- going on, stopping early, and files


@pytest.mark.parametrize("model", ALL_THREE)
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("base", [DecisionTreeClassifier(max_depth=2, splitter="random"), GaussianNB()])
def test_warm_start_is_one_fit(model: Any, n_classes: int, base: Any) -> None:
    X, y = blobs(13, n_classes)
    weight = np.random.default_rng(0).uniform(0.5, 1, len(y))
    weight[::7] = 0
    once = model(base, n_estimators=7, random_state=5).fit(X, y, sample_weight=weight)
    twice = model(base, n_estimators=2, random_state=5, warm_start=True).fit(X, y, sample_weight=weight)
    assert len(twice.history_["step"]) < len(once.history_["step"])
    twice.set_params(n_estimators=7).fit(X, y, sample_weight=weight)
    np.testing.assert_array_equal(twice.steps_, once.steps_)
    np.testing.assert_array_equal(twice.decision_function(X), once.decision_function(X))
    np.testing.assert_array_equal(twice.history_["objective"], once.history_["objective"])


class SurerOutside(GaussianNB):
    """Almost certain, and wrong, of rows with a mark in the last column."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "SurerOutside":
        super().fit(X[:, :-1], y, sample_weight)
        return self

    def predict_proba(self, X: Any) -> Any:
        proba = np.clip(super().predict_proba(X[:, :-1]), 0.3, 0.7)
        proba[X[:, -1] > 0] = [1.0, 0.0]
        return proba


@pytest.mark.parametrize("model", [RealAdaBoostClassifier(step=1), RealAdaBoostClassifier(), AdaBoostRClassifier()])
def test_validation_rows_may_hear_what_no_training_row_hears(model: Any) -> None:
    """The score is the mean of exp(-margin) on the validation rows, far below all margins of training."""
    X, y = blobs(14)
    X = np.column_stack([X, np.zeros(len(y))])
    X_val, y_val = X[:20].copy(), y[:20].copy()
    X_val[:5, -1], y_val[:5] = 1, 1
    fitted = clone(model).set_params(
        estimator=SurerOutside(), n_estimators=3, early_stopping=True, n_iter_no_change=9, tol=0.0
    )
    fitted.fit(X[20:], y[20:], X_val=X_val, y_val=y_val)
    keep_all = clone(model).set_params(estimator=SurerOutside(), n_estimators=3).fit(X[20:], y[20:])
    f = list(keep_all.staged_decision_function(X_val))
    expected = [np.mean(np.exp(-np.where(y_val == 1, 1, -1) * stage)) for stage in f]
    np.testing.assert_allclose(fitted.history_["validation"], expected, rtol=1e-9)


@pytest.mark.parametrize("model", ALL_THREE)
def test_there_is_no_file_and_no_digest_of_wrapped_voters(model: Any, tmp_path: Any) -> None:
    X, y = blobs(15)
    fitted = model(GaussianNB(), n_estimators=2).fit(X, y)
    with pytest.raises(TypeError, match="GaussianNB voters has no file format and no digest"):
        fitted.save(tmp_path / "model")
    with pytest.raises(TypeError, match="GaussianNB voters has no file format and no digest"):
        _ = fitted.digest_
    checkpointed = model(GaussianNB(), n_estimators=2)
    checkpointed.set_callbacks(Checkpoint(tmp_path / "checkpoint", every=1))
    with pytest.raises(TypeError, match="no file format"):
        checkpointed.fit(X, y)
    assert list(tmp_path.iterdir()) == []


def test_no_warnings() -> None:
    X, y = blobs(16, 3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for model in (*ALL_THREE, lambda *a, **k: RealAdaBoostClassifier(*a, step=1, **k)):
            fitted = model(DecisionTreeClassifier(max_depth=4), n_estimators=6).fit(X, y)
            fitted.predict_proba(X)
