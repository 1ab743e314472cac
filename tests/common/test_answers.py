"""Every public function and method of a fitted model answers for every kind of model, or says why it does not.

Functions, methods and attributes are found by their signatures. Allowed are a ValueError and a TypeError that this
package raises itself, and for an attribute that a model does not have, an AttributeError with a text of its own.
"""

import traceback
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone, is_classifier
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import electorate
from electorate import (
    AdaBoostClassifier,
    Columns,
    CrossFittedClassifier,
    KernelSections,
    MedBoostRegressor,
    QuadBoostRegressor,
    RealAdaBoostClassifier,
    StackedClassifier,
    StackedRegressor,
    Trees,
)
from electorate.registry import ALGORITHMS
from tests.common.public_calls import FITTED, finished, functions, methods, values_for
from tests.common.small_models import small_model
from tests.test_adding_a_booster import margin_adaboost  # noqa: F401 (a fixture)

PACKAGE = str(Path(electorate.__file__).parent)
NOT_ASKED = ("fit", "set_output", "set_callbacks")
OPTIONAL = {  # beside the required parameters, these together
    "explain": [("y", "row")],
    "certificate": [("train",), ("heldout",), ("train", "heldout")],
    "rule_table": [("X",)],
    "contributions": [("background",)],
    "to_shap": [("X",)],
    "calibrate": [("cv",)],
    "to_sql": [("table",)],
}
rng = np.random.default_rng(0)
X = rng.normal(size=(60, 3))
SCORE = X[:, 0] + X[:, 1] ** 2 + 0.3 * rng.normal(size=60)
LABELS = {
    1: np.full(60, "a"),
    2: np.where(SCORE > 1, "b", "a"),
    3: np.array(list("abc"))[np.digitize(SCORE, [0.5, 1.5])],
}
FRAME = pd.DataFrame(X, columns=["x", "y", "z"]).assign(word=np.where(X[:, 2] > 0, "up", "down"))
FRAME.loc[::7, "x"] = np.nan


def stacked(*more):
    named = [
        ("stumps", AdaBoostClassifier(n_estimators=3)),
        ("trees", RealAdaBoostClassifier(Trees(2), n_estimators=3)),
    ]
    named += more
    return StackedClassifier(named, weights=[1] * len(named))


def stacked_numbers(*more):
    named = [("median", MedBoostRegressor(n_estimators=3)), ("sum", QuadBoostRegressor(n_estimators=3)), *more]
    return StackedRegressor(named, weights=[1] * len(named))


def thinned(estimator):
    return electorate.ThinnedClassifier(estimator, max_voters=4, random_state=0)


def over(family, names):
    """Small models of these algorithms whose voters are of a family."""
    return {f"{name} on {type(family).__name__}": small_model(name, n_estimators=3, estimator=family) for name in names}


MODELS = {
    **{name: small_model(name, n_estimators=3) for name in ALGORITHMS},
    **over(Columns(), ALGORITHMS),
    **over(KernelSections(), ["RealAdaBoostClassifier", "QuadBoostRegressor"]),
    **over(DecisionTreeClassifier(max_depth=1), ["AdaBoostClassifier", "RealAdaBoostClassifier"]),
    **over(DecisionTreeRegressor(max_depth=2), ["AdaBoostRegressor", "MedBoostRegressor", "QuadBoostRegressor"]),
    "stack": stacked(),
    "stack with another library": stacked(("linear", LogisticRegression())),
    "stack of numbers": stacked_numbers(),
    "stack of numbers with another library": stacked_numbers(("linear", Ridge())),
    "certified": electorate.CertifiedClassifier(),
    "cross-fitted": CrossFittedClassifier(AdaBoostClassifier(n_estimators=2)),
    "cross-fitted, another library": CrossFittedClassifier(DecisionTreeClassifier(max_depth=2)),
    "chosen by cross-validation": electorate.QuadBoostClassifierCV(cv=2),
    "thinned": thinned(AdaBoostClassifier(n_estimators=10)),
    "thinned, another library": thinned(AdaBoostClassifier(DecisionTreeClassifier(max_depth=1), n_estimators=10)),
}
SEVERAL = ["AdaBoostClassifier", "AdaBoostRClassifier", "QuadBoostClassifier", "stack", "cross-fitted", "certified"]
WITH_TEXTS = ["AdaBoostClassifier", "MedBoostRegressor", "stack", "stack of numbers", "thinned"]
CASES = [
    *((name, 2, "array") for name in MODELS),
    *((name, n_classes, "array") for name in SEVERAL for n_classes in (1, 3)),
    *((name, 2, "dataframe") for name in WITH_TEXTS),
]


def fault_of(call, optional, values):
    """What is wrong with the answer; None if nothing is."""
    is_attribute = not call.parameters
    try:
        finished(call.function(**call.arguments(values, optional)))
    except AssertionError:
        raise
    except Exception as error:
        if is_attribute and isinstance(error, AttributeError) and "object has no attribute" not in str(error):
            return None
        raised_in = traceback.extract_tb(error.__traceback__)[-1]
        if isinstance(error, ValueError | TypeError) and raised_in.filename.startswith(PACKAGE):
            return None
        at = f"{raised_in.filename}:{raised_in.lineno}"
        return f"{call.name} with {optional}: {type(error).__name__}: {error} ({at})"
    finally:
        plt.close("all")
    return None


def check_answers(model, X, y, folder):
    values = values_for(X, y, folder, model)
    faults, n_asked = [], 0
    for call in [*(one for one in functions() if set(FITTED) & set(one.parameters)), *methods(model)]:
        name = call.name.split(".")[-1]
        if name not in NOT_ASKED:
            for optional in [(), *OPTIONAL.get(name, [])]:
                n_asked += 1
                faults.append(fault_of(call, tuple(one for one in optional if one in call.parameters), values))
    assert n_asked > 40
    assert [fault for fault in faults if fault is not None] == []


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("name", "n_classes", "container"), CASES)
def test_every_question_has_an_answer_or_a_reason(name, n_classes, container, tmp_path):
    model = clone(MODELS[name])
    rows = X if container == "array" else FRAME
    y = LABELS[n_classes] if is_classifier(model) else SCORE
    try:
        model.fit(rows, y)
    except (TypeError, ValueError):
        assert " on " in name  # not every algorithm takes every family
        return
    check_answers(model, rows, y, tmp_path)


@pytest.mark.filterwarnings("ignore")
def test_a_booster_of_the_users_own_answers(margin_adaboost, tmp_path):  # noqa: F811
    check_answers(margin_adaboost(n_estimators=3).fit(X, LABELS[2]), X, LABELS[2], tmp_path)


def test_a_report_of_a_stack_shows_its_errors_and_importances():
    for model, y in ((stacked(), LABELS[2]), (stacked_numbers(), SCORE)):
        page = electorate.report.html_report(model.fit(X, y), X, y)
        assert all(f"id='{section}'" in page for section in ("errors", "columns", "data"))
