"""scikit-learn's own tests of its AdaBoostClassifier, from the installed package, run on ours.

Their module is read, the one import is swapped, and its tests are collected here. The regressor stays theirs, and
tests of the regressor alone are left out.
"""

import inspect
import types
import warnings
from typing import Any

import numpy as np
import pytest
import sklearn.ensemble.tests.test_weight_boosting as theirs
from sklearn.tree import DecisionTreeClassifier

from electorate import AdaBoostClassifier

THEIR_IMPORT = "from sklearn.ensemble import AdaBoostClassifier, AdaBoostRegressor\n"
OUR_IMPORT = "from electorate import AdaBoostClassifier\nfrom sklearn.ensemble import AdaBoostRegressor\n"
OF_THE_REGRESSOR = {
    "test_regression_toy",
    "test_diabetes",
    "test_sparse_regression",
    "test_sample_weight_adaboost_regressor",
    "test_adaboostregressor_sample_weight",
}
EXCEPTIONS = {
    "test_iris": "reads random_state of every voter, and stumps use no randomness; run below with wrapped trees",
    "test_sample_weights_infinite": "expects a warning that weights overflow, and ours are logarithms; see below",
    "test_deprecated_algorithm": "of releases before 1.8: a parameter that this class never had",
}


def swapped() -> types.ModuleType:
    """Their module with our class in it."""
    source = inspect.getsource(theirs)
    assert source.count(THEIR_IMPORT) == 1
    module = types.ModuleType("theirs_with_ours")
    exec(compile(source.replace(THEIR_IMPORT, OUR_IMPORT), "theirs_with_ours", "exec"), module.__dict__)
    return module


ours = swapped()
for name in [name for name in vars(ours) if name.startswith("test_")]:
    if name not in EXCEPTIONS and name not in OF_THE_REGRESSOR:
        globals()[name] = getattr(ours, name)


@pytest.fixture(params=[0, 1, 42])
def global_random_seed(request: pytest.FixtureRequest) -> int:
    return int(request.param)


def test_the_class_under_test_is_ours_and_no_test_is_lost() -> None:
    assert ours.AdaBoostClassifier is AdaBoostClassifier
    there = {name for name in vars(theirs) if name.startswith("test_")}
    left_out = (OF_THE_REGRESSOR | set(EXCEPTIONS)) & there
    assert left_out >= OF_THE_REGRESSOR
    assert there - set(globals()) == left_out
    assert len(there & set(globals())) >= 15


def test_iris_of_scikit_learn_with_wrapped_trees(monkeypatch: pytest.MonkeyPatch) -> None:
    def with_trees(**parameters: Any) -> AdaBoostClassifier:
        return AdaBoostClassifier(DecisionTreeClassifier(max_depth=1), **parameters)

    monkeypatch.setattr(ours, "AdaBoostClassifier", with_trees)
    ours.test_iris()


def test_learning_rate_23_overflows_nothing() -> None:
    """The data and parameters of test_sample_weights_infinite."""
    iris = ours.iris
    with warnings.catch_warnings(), np.errstate(all="raise", under="ignore"):
        warnings.simplefilter("error")
        model = AdaBoostClassifier(n_estimators=30, learning_rate=23.0).fit(iris.data, iris.target)
        assert np.all(np.isfinite(model.decision_function(iris.data)))
        assert np.all(np.isfinite(model.predict_proba(iris.data)))
    assert np.all(np.isfinite(model.steps_))
    assert np.all(np.isfinite(model.history_["objective"]))
    assert model.score(iris.data, iris.target) > 0.6
