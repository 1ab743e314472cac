"""Class weights multiply sample weights; where a class has almost all the weight, it also gets almost all the votes."""

from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.dummy import DummyClassifier
from sklearn.tree import DecisionTreeClassifier
from training_cases import CLASSES, MODELS, ONE_OF_EACH, noisy, plain

from electorate import AdaBoostClassifier


@pytest.mark.parametrize("n_classes", CLASSES)
@pytest.mark.parametrize("name", ONE_OF_EACH)
def test_class_weights_multiply_sample_weights(name: str, n_classes: int) -> None:
    X, y = noisy(n_classes)
    weight = np.random.default_rng(0).integers(1, 4, len(y)).astype(float)
    times = {"no": 3, "yes": 0.5}
    model = clone(MODELS[name]).set_params(n_estimators=8)
    by_class = clone(model).set_params(class_weight=times).fit(X, y, weight)
    by_row = clone(model).fit(X, y, weight * [times.get(label, 1) for label in y])
    assert by_class.digest_ == by_row.digest_
    assert by_class.digest_ != clone(model).fit(X, y, weight).digest_


@pytest.mark.parametrize("n_classes", CLASSES)
def test_balanced_classes_weigh_the_same(n_classes: int) -> None:
    X, y = noisy(n_classes)
    kept = (y != "no") | (np.arange(len(y)) % 3 == 0)
    X, y = X[kept], y[kept]
    weight = np.random.default_rng(0).random(len(y))
    total = {label: weight[y == label].sum() for label in np.unique(y)}
    each = weight.sum() / len(total) / np.array([total[label] for label in y])
    balanced = AdaBoostClassifier(n_estimators=8, class_weight="balanced").fit(X, y, weight)
    by_hand = AdaBoostClassifier(n_estimators=8).fit(X, y, weight * each)
    np.testing.assert_allclose(balanced.steps_, by_hand.steps_, rtol=1e-9)
    np.testing.assert_array_equal(balanced.predict(X), by_hand.predict(X))


def test_a_class_may_be_named_that_has_no_weight() -> None:
    X, y = noisy(3)
    weight = (y != "maybe").astype(float)
    model = AdaBoostClassifier(n_estimators=3, class_weight={"maybe": 2, "no": 1, "yes": 1}).fit(X, y, weight)
    assert model.classes_.tolist() == ["no", "yes"]
    with pytest.raises(ValueError, match="class_weight names 'perhaps', which is not a class of y"):
        AdaBoostClassifier(class_weight={"perhaps": 2}).fit(X, y)


# ---------------------------------------------------------------- almost all the weight


def lopsided(y: Any, light: float = 1e-7) -> np.ndarray:
    return np.where(y == np.unique(y)[0], 1.0, light)


@pytest.mark.parametrize("n_classes", CLASSES)
@pytest.mark.parametrize("name", MODELS)
def test_a_class_with_almost_all_the_weight_is_predicted(name: str, n_classes: int) -> None:
    """A few light rows that stand alone must not turn the verdict on all that lies on their side."""
    X, y = noisy(n_classes, 60)
    X_new, _ = noisy(n_classes, 400, seed=9)
    model = clone(MODELS[name]).set_params(n_estimators=4).fit(X, y, lopsided(y))
    assert np.mean(model.predict(X_new) == np.unique(y)[0]) > 0.95
    assert model.estimators_[0].to_text().startswith("always ")
    assert np.all(np.diff(model.history_["objective"][:: len(model.steps_) // 4]) < 0)


@pytest.mark.parametrize("times", [2.0**-600, 0.5, 2.0**600])
def test_the_rule_does_not_depend_on_the_scale_of_the_weights(times: float) -> None:
    X, y = noisy(2)
    weight = lopsided(y)
    digests = {AdaBoostClassifier(n_estimators=4).fit(X, y, w).digest_ for w in (weight, weight * times)}
    assert len(digests) == 1


def test_the_rule_only_holds_where_it_must() -> None:
    """At one in a thousand questions are asked from the start."""
    X, y = noisy(2)
    model = AdaBoostClassifier(n_estimators=1).fit(X, y, lopsided(y, 1e-3))
    assert model.estimators_[0].to_text().startswith("if ")


@pytest.mark.parametrize("n_classes", CLASSES)
def test_wrapped_voters_begin_with_a_constant(n_classes: int) -> None:
    X, y = plain(n_classes)
    X = np.nan_to_num(X)
    voter = DecisionTreeClassifier(max_depth=2, splitter="random")
    model = AdaBoostClassifier(voter, n_estimators=6, random_state=0)
    model.fit(X, y, lopsided(y))
    assert isinstance(model.estimators_[0], DummyClassifier)
    assert not any(isinstance(other, DummyClassifier) for other in model.estimators_[1:])
    assert np.mean(model.predict(X) == 0) > 0.95
    assert 0 < model.feature_importances_.sum() < 1  # the constant rests on no column
    warm = clone(model).set_params(warm_start=True, n_estimators=3).fit(X, y, lopsided(y))
    warm.set_params(n_estimators=6).fit(X, y, lopsided(y))
    np.testing.assert_array_equal(warm.decision_function(X), model.decision_function(X))
