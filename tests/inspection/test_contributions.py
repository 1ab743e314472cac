"""contributions: exact Shapley values of trees, against all subsets of columns, and additive."""

from itertools import combinations
from math import factorial
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.tree import DecisionTreeClassifier

from electorate import (
    AdaBoostClassifier,
    AdaBoostRClassifier,
    DeepBoostClassifier,
    LPBoostClassifier,
    MedBoostRegressor,
    PairedStumps,
    QuadBoostClassifier,
    QuadBoostRegressor,
    RealAdaBoostClassifier,
    RegressionTrees,
    Rules,
    Stumps,
    Trees,
    VadaBoostClassifier,
)
from electorate.inspection import contributions, shape_functions

MODELS: list[Any] = [
    AdaBoostClassifier(Trees(3), n_estimators=6),
    RealAdaBoostClassifier(Trees(4), n_estimators=3),
    RealAdaBoostClassifier(Trees(2), step=1, n_estimators=3),
    AdaBoostRClassifier(Rules(3), n_estimators=4),
    VadaBoostClassifier(PairedStumps(), n_estimators=4),
    DeepBoostClassifier(n_estimators=10),
    QuadBoostClassifier(n_estimators=10),
    LPBoostClassifier(Trees(2), n_estimators=6, tol=0.5),
]


def table(labels: int, n: int = 40) -> Any:
    """Numbers, missing values and a column of categories."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(n, 3)).round(1), columns=["a", "b", "c"])
    X.loc[::6, "b"] = np.nan
    X["kind"] = pd.Categorical(rng.choice(list("pqr"), n))
    y = np.argmax(np.stack([X["a"], X["c"] * X["a"], X["kind"] == "q"][:labels]) + rng.normal(size=(labels, n)), axis=0)
    return X, y


def numbers() -> Any:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 12))
    return X, (X[:, 0] * X[:, 1] + rng.normal(size=300) > 0).astype(int)


def by_subsets(model: Any, X: pd.DataFrame, background: pd.DataFrame) -> Any:
    """[row, column] or [row, class, column], by the definition."""
    d = X.shape[1]
    values = {}
    for size in range(d + 1):
        for chosen in combinations(range(d), size):
            mixed = pd.concat([background] * len(X), ignore_index=True)
            for j in chosen:
                mixed[X.columns[j]] = np.repeat(X.iloc[:, j].array, len(background))
            decision = model.decision_function(mixed)
            values[chosen] = decision.reshape(len(X), len(background), *decision.shape[1:]).mean(axis=1)
    found = []
    for j in range(d):
        rest = [k for k in range(d) if k != j]
        found.append(
            sum(
                factorial(size)
                * factorial(d - 1 - size)
                / factorial(d)
                * (values[tuple(sorted((*chosen, j)))] - values[chosen])
                for size in range(d)
                for chosen in combinations(rest, size)
            )
        )
    return np.stack(found, axis=-1)


@pytest.mark.parametrize("labels", [2, 3])
@pytest.mark.parametrize("model", MODELS, ids=repr)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_they_are_shapley_values_and_additive(model: Any, labels: int) -> None:
    X, y = table(labels)
    model = model.fit(X, y)
    rows, background = X.iloc[:5], X.iloc[10:22]
    found = contributions(model, rows, background)
    wanted = by_subsets(model, rows, background)
    values = found.values if labels == 2 else np.moveaxis(found.values, 0, 1)
    np.testing.assert_allclose(values, wanted, atol=1e-10)
    np.testing.assert_allclose(found.base, model.decision_function(background).mean(axis=0), atol=1e-12)
    for other in (found, contributions(model, X)):
        given = rows if other is found else X
        np.testing.assert_allclose(other.decision, model.decision_function(given), atol=1e-12)
    assert found.names == list(X.columns)


def test_of_stumps_they_are_the_centred_shape_functions() -> None:
    X, y = numbers()
    model = RealAdaBoostClassifier(n_estimators=20).fit(X, y)
    found = contributions(model, X)
    assert np.allclose(found.values.mean(axis=0), 0, atol=1e-12)
    for shape in shape_functions(model)[1]:
        added = shape.at(X[:, shape.column])
        np.testing.assert_allclose(found.values[:, shape.column], added - added.mean(), atol=1e-10)


@pytest.mark.parametrize("family", [Stumps(), Trees(3), PairedStumps()], ids=repr)
def test_they_add_up_to_1e_12(family: Any) -> None:
    X, y = numbers()
    model = AdaBoostClassifier(family, n_estimators=60).fit(X, y)
    assert np.max(np.abs(contributions(model, X, X[:50]).decision - model.decision_function(X))) < 1e-12


def test_of_stumps_they_do_not_depend_on_threads() -> None:
    X, y = numbers()
    found = [contributions(AdaBoostClassifier(n_jobs=jobs).fit(X, y), X).values for jobs in (1, 3)]
    assert np.array_equal(*found)


def test_regressors_are_explained() -> None:
    X, y = table(2)
    model = QuadBoostRegressor(RegressionTrees(3), n_estimators=5).fit(X, y + X["a"])
    found = contributions(model, X.iloc[:5], X)
    np.testing.assert_allclose(found.decision, model.predict(X.iloc[:5]), atol=1e-12)


def test_deep_trees_are_additive() -> None:
    """Leaves with up to eight columns on their path; every row is a background row."""
    X, y = numbers()
    model = RealAdaBoostClassifier(Trees(8), n_estimators=5).fit(X, y)
    np.testing.assert_allclose(contributions(model, X).decision, model.decision_function(X), atol=1e-10)


def test_what_is_refused() -> None:
    X, y = numbers()
    with pytest.raises(NotFittedError):
        contributions(AdaBoostClassifier(), X)
    for model in (AdaBoostClassifier(DecisionTreeClassifier(max_depth=1), n_estimators=2), MedBoostRegressor()):
        with pytest.raises(TypeError, match=r"electorate's trees|weighted median"):
            contributions(model.fit(X, y), X)
    with pytest.raises(ValueError, match="features"):
        contributions(AdaBoostClassifier(n_estimators=2).fit(X, y), X[:, :1])
