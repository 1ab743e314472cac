"""Going on from a fitted model: 50 rounds and then 100 are 100, digest for digest, or a refusal that says why."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.tree import DecisionTreeClassifier
from training_cases import CLASSES, MODELS, ONE_OF_EACH, assert_same, noisy, plain

from electorate import AdaBoostClassifier, RealAdaBoostClassifier, Stumps, load


def fitted(model: Any, X: Any, y: Any, *rounds: int, **more: Any) -> Any:
    """Fitted with so many rounds, and then warm with so many more."""
    model = clone(model).set_params(warm_start=len(rounds) > 1)
    for n_estimators in rounds:
        model.set_params(n_estimators=n_estimators).fit(X, y, **more)
    return model


@pytest.mark.parametrize("n_classes", CLASSES)
@pytest.mark.parametrize("name", MODELS)
def test_some_rounds_and_then_more(name: str, n_classes: int) -> None:
    X, y = noisy(n_classes)
    weight = np.random.default_rng(1).random(len(y))
    warm = fitted(MODELS[name], X, y, 50, 51, 100, sample_weight=weight)
    at_once = fitted(MODELS[name], X, y, 100, sample_weight=weight)
    assert len(at_once.steps_) >= 100
    assert_same(warm, at_once)
    assert warm.digest_ != fitted(MODELS[name], X, y, 50, sample_weight=weight).digest_


@pytest.mark.parametrize("n_classes", CLASSES)
@pytest.mark.parametrize("name", MODELS)
def test_the_seconds_add_up(name: str, n_classes: int) -> None:
    X, y = noisy(n_classes, 60)
    seconds = fitted(MODELS[name], X, y, 5, 10).history_["seconds"].reshape(10, -1)
    assert np.all(np.diff(seconds, axis=0) > 0)


@pytest.mark.parametrize(
    ("name", "n_classes"),
    [("AdaBoost, stumps", 2), ("AdaBoost, trees", 3), ("Real AdaBoost, trees", 3), ("AdaBoost_R, stumps", 2)],
)
def test_after_a_perfect_voter(name: str, n_classes: int) -> None:
    X = np.arange(30.0)[:, None]
    y = np.repeat(np.arange(n_classes), 30 // n_classes)
    at_once = fitted(MODELS[name], X, y, 100)
    assert at_once.stop_reason_ == "perfect_voter"
    assert_same(fitted(MODELS[name], X, y, 50, 100), at_once)


@pytest.mark.parametrize("n_classes", CLASSES)
@pytest.mark.parametrize("name", MODELS)
def test_after_there_was_no_edge(name: str, n_classes: int) -> None:
    """Every value has every label: nothing to learn from the start."""
    X = np.repeat(np.arange(4.0), n_classes)[:, None]
    y = np.tile(np.arange(n_classes), 4)
    at_once = fitted(MODELS[name], X, y, 10)
    assert at_once.stop_reason_ == "no_edge"
    assert len(at_once.steps_) < 10
    assert_same(fitted(MODELS[name], X, y, 5, 10), at_once)


@pytest.mark.parametrize("random_state", [0, None])
@pytest.mark.parametrize("n_classes", CLASSES)
@pytest.mark.parametrize("name", MODELS)
def test_with_early_stopping(name: str, n_classes: int, random_state: int | None) -> None:
    """The same rows are set aside, also where nobody named them."""
    X, y = noisy(n_classes)
    model = clone(MODELS[name]).set_params(early_stopping=True, n_iter_no_change=8, random_state=random_state)
    warm = clone(model).set_params(warm_start=True)
    for rounds in (3, 15, 60):
        warm.set_params(n_estimators=rounds).fit(X, y)
    # what was drawn for `None` can be drawn again
    at_once = clone(model).set_params(n_estimators=60, warm_start=True)
    at_once._validation_seed = warm._validation_seed
    assert_same(warm, at_once.fit(X, y))
    if random_state is not None:
        assert_same(warm, fitted(model, X, y, 60))


@pytest.mark.parametrize("n_classes", CLASSES)
@pytest.mark.parametrize("name", ONE_OF_EACH)
def test_with_validation_rows_of_ones_own(name: str, n_classes: int) -> None:
    X, y = noisy(n_classes)
    X_val, y_val = noisy(n_classes, 80, seed=5)
    model = clone(MODELS[name]).set_params(early_stopping=True, n_iter_no_change=5)
    given = {"X_val": X_val, "y_val": y_val}
    at_once = fitted(model, X, y, 80, **given)
    assert_same(fitted(model, X, y, 4, 9, 80, **given), at_once)
    assert_same(fitted(model, X, y, 80, 90, **given), fitted(model, X, y, 90, **given))


@pytest.mark.parametrize("n_classes", CLASSES)
def test_early_stopping_may_begin_later(n_classes: int) -> None:
    """The rounds that are there are judged then, as if they had been from the start."""
    X, y = noisy(n_classes)
    X_val, y_val = noisy(n_classes, 80, seed=5)
    model = RealAdaBoostClassifier(n_estimators=4, warm_start=True).fit(X, y)
    model.set_params(early_stopping=True, n_iter_no_change=5, n_estimators=60).fit(X, y, X_val=X_val, y_val=y_val)
    from_the_start = RealAdaBoostClassifier(early_stopping=True, n_iter_no_change=5, n_estimators=60)
    assert_same(model, from_the_start.fit(X, y, X_val=X_val, y_val=y_val))


@pytest.mark.parametrize("n_classes", CLASSES)
def test_early_stopping_may_end(n_classes: int) -> None:
    X, y = noisy(n_classes)
    model = RealAdaBoostClassifier(n_estimators=3, warm_start=True, early_stopping=True)
    model.fit(X, y, X_val=X, y_val=y)
    assert model.best_round_ == 3
    model.set_params(early_stopping=False, n_estimators=12).fit(X, y)
    assert not hasattr(model, "best_round_")
    assert_same(model, RealAdaBoostClassifier(n_estimators=12).fit(X, y))


@pytest.mark.parametrize("n_classes", CLASSES)
@pytest.mark.parametrize("name", MODELS)
def test_of_a_model_from_a_file(name: str, n_classes: int, tmp_path: Path) -> None:
    X, y = noisy(n_classes)
    fitted(MODELS[name], X, y, 20).save(tmp_path / "model")
    model = load(tmp_path / "model").set_params(warm_start=True, n_estimators=40).fit(X, y)
    assert_same(model, fitted(MODELS[name], X, y, 40))


@pytest.mark.parametrize("n_classes", CLASSES)
def test_of_a_model_from_a_file_with_early_stopping(n_classes: int, tmp_path: Path) -> None:
    """The file says which rows were set aside."""
    X, y = noisy(n_classes)
    model = RealAdaBoostClassifier(n_estimators=6, early_stopping=True, n_iter_no_change=5, warm_start=True).fit(X, y)
    model.save(tmp_path / "model")
    again = load(tmp_path / "model").set_params(n_estimators=60).fit(X, y)
    assert_same(again, model.set_params(n_estimators=60).fit(X, y))


@pytest.mark.parametrize("n_classes", CLASSES)
@pytest.mark.parametrize("voter", [DecisionTreeClassifier(max_depth=2), DecisionTreeClassifier(splitter="random")])
def test_of_wrapped_voters(voter: Any, n_classes: int) -> None:
    """Seeds go on where they were."""
    X, y = plain(n_classes)
    voter = clone(voter).set_params(max_depth=2)
    warm = fitted(AdaBoostClassifier(voter, random_state=3), X, y, 5, 12)
    at_once = fitted(AdaBoostClassifier(voter, random_state=3), X, y, 12)
    np.testing.assert_array_equal(warm.steps_, at_once.steps_)
    np.testing.assert_array_equal(warm.decision_function(X), at_once.decision_function(X))


def test_without_warm_start_a_fit_starts_anew() -> None:
    X, y = noisy(2)
    model = AdaBoostClassifier(n_estimators=20).fit(X, y)
    assert model.set_params(n_estimators=5).fit(X, y).digest_ == AdaBoostClassifier(n_estimators=5).fit(X, y).digest_


# ---------------------------------------------------------------- refusals


def test_fewer_rounds_are_refused() -> None:
    X, y = noisy(2)
    model = AdaBoostClassifier(n_estimators=20, warm_start=True).fit(X, y)
    digest = model.digest_
    with pytest.raises(ValueError, match="n_estimators=10 is less than the 20 rounds"):
        model.set_params(n_estimators=10).fit(X, y)
    assert model.digest_ == digest
    assert model.set_params(n_estimators=20).fit(X, y).digest_ == digest


OTHER_DATA = {
    "another value": lambda X, y, w: (X.assign(a=X["a"] * 2), y, w),
    "a row less": lambda X, y, w: (X[1:], y[1:], w[1:]),
    "another label": lambda X, y, w: (X, np.where(np.arange(len(y)) == 7, y[np.argmax(y != y[7])], y), w),
    "labels in another order": lambda X, y, w: (X, y[::-1], w),
    "another weight": lambda X, y, w: (X, y, np.where(np.arange(len(y)) == 7, 1.5, w)),
    "columns in another order": lambda X, y, w: (X[["b", "a", "c", "kind", "count"]], y, w),
    "a column less": lambda X, y, w: (X[["a", "b", "c", "kind"]], y, w),
    "a new label": lambda X, y, w: (X, np.where(np.arange(len(y)) == 7, "new", y), w),
    "a label less": lambda X, y, w: (X, np.where(y == "maybe", "yes", y), w),
    "another category": lambda X, y, w: (X.assign(kind=X["kind"].cat.rename_categories({"kind 1": "other"})), y, w),
}


@pytest.mark.parametrize("what", OTHER_DATA)
@pytest.mark.parametrize("name", ["AdaBoost, stumps", "AdaBoost, trees", "Real AdaBoost, stumps", "AdaBoost_R, stumps"])
def test_other_data_are_refused(what: str, name: str) -> None:
    X, y = noisy(3)
    weight = np.ones(len(y))
    model = clone(MODELS[name]).set_params(n_estimators=6, warm_start=True).fit(X, y, weight)
    digest = model.digest_
    with pytest.raises(ValueError, match=r"not those|label|feature"):
        model.set_params(n_estimators=8).fit(*OTHER_DATA[what](X, y, weight))
    assert model.digest_ == digest


def test_rows_in_another_order_are_the_same_data() -> None:
    X, y = noisy(2)
    order = np.random.default_rng(0).permutation(len(y))
    warm = AdaBoostClassifier(n_estimators=6, warm_start=True).fit(X, y).set_params(n_estimators=20)
    assert_same(warm.fit(X.iloc[order], y[order]), fitted(AdaBoostClassifier(Stumps()), X, y, 20))


def test_other_data_are_refused_for_wrapped_voters() -> None:
    X, y = plain(2)
    model = AdaBoostClassifier(DecisionTreeClassifier(max_depth=2), n_estimators=4, warm_start=True).fit(X, y)
    with pytest.raises(ValueError, match="not those"):
        model.set_params(n_estimators=8).fit(X, 1 - y)
