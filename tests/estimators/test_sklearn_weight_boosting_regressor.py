"""scikit-learn's own tests of its AdaBoostRegressor, from the installed package, run on ours.

Their module is read, the one import is swapped, and its tests of the regressor are collected here, those it shares
with the classifier too.
"""

import inspect
import types
from typing import Any

import numpy as np
import pytest
import sklearn.ensemble.tests.test_weight_boosting as theirs
from sklearn.tree import DecisionTreeRegressor

from electorate import AdaBoostRegressor

THEIR_IMPORT = "from sklearn.ensemble import AdaBoostClassifier, AdaBoostRegressor\n"
OUR_IMPORT = "from electorate import AdaBoostRegressor\nfrom sklearn.ensemble import AdaBoostClassifier\n"
EXCEPTIONS = {
    "test_diabetes": "reads random_state of every voter, and our trees use no randomness; run below with wrapped trees",
}


def swapped() -> types.ModuleType:
    """Their module with our class in it."""
    source = inspect.getsource(theirs)
    assert source.count(THEIR_IMPORT) == 1
    module = types.ModuleType("theirs_with_our_regressor")
    exec(compile(source.replace(THEIR_IMPORT, OUR_IMPORT), "theirs_with_our_regressor", "exec"), module.__dict__)
    return module


ours = swapped()
OF_THE_REGRESSOR = [
    name
    for name, value in vars(ours).items()
    if name.startswith("test_") and "Regressor" in inspect.getsource(getattr(theirs, name)) and callable(value)
]
for name in OF_THE_REGRESSOR:
    if name not in EXCEPTIONS:
        globals()[name] = getattr(ours, name)


@pytest.fixture(params=[0, 1, 42])
def global_random_seed(request: pytest.FixtureRequest) -> int:
    return int(request.param)


def test_the_class_under_test_is_ours_and_no_test_is_lost() -> None:
    assert ours.AdaBoostRegressor is AdaBoostRegressor
    assert set(EXCEPTIONS) <= set(OF_THE_REGRESSOR)
    assert len(EXCEPTIONS) <= 2
    assert len(OF_THE_REGRESSOR) >= 10


@pytest.mark.parametrize("loss", ["linear", "square", "exponential"])
def test_diabetes_of_scikit_learn_with_wrapped_trees(loss: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def with_trees(**parameters: Any) -> AdaBoostRegressor:
        return AdaBoostRegressor(DecisionTreeRegressor(max_depth=3), **parameters)

    monkeypatch.setattr(ours, "AdaBoostRegressor", with_trees)
    ours.test_diabetes(loss)


@pytest.mark.parametrize("loss", ["linear", "square", "exponential"])
def test_diabetes_of_scikit_learn_with_native_trees(loss: str) -> None:
    """But for the random states."""
    model = AdaBoostRegressor(loss=loss).fit(ours.diabetes.data, ours.diabetes.target)
    assert model.score(ours.diabetes.data, ours.diabetes.target) > 0.55


@pytest.mark.parametrize("loss", ["linear", "square", "exponential"])
@pytest.mark.parametrize("learning_rate", [1.0, 0.3])
def test_wrapped_trees_give_the_model_of_scikit_learn(loss: str, learning_rate: float) -> None:
    X, y = ours.diabetes.data[:150], ours.diabetes.target[:150]
    given = {"n_estimators": 15, "loss": loss, "learning_rate": learning_rate, "random_state": 3}
    weight = np.arange(150) % 4  # some rows have none
    mine = AdaBoostRegressor(DecisionTreeRegressor(max_depth=3), **given).fit(X, y, weight)
    other = theirs.AdaBoostRegressor(DecisionTreeRegressor(max_depth=3), **given).fit(X, y, weight)
    n = len(mine.estimators_)
    np.testing.assert_allclose(mine.estimator_weights_, other.estimator_weights_[:n], rtol=1e-7)
    np.testing.assert_allclose(mine.estimator_errors_, other.estimator_errors_[:n], rtol=1e-7)
    np.testing.assert_array_equal(mine.predict(X), other.predict(X))
    for one, two in zip(mine.staged_predict(X), other.staged_predict(X), strict=True):
        np.testing.assert_array_equal(one, two)
