"""Parameters are dataclass fields: each has a constraint and is keyword-only, and fitted state counts for Dask."""

import inspect
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone, is_regressor

import electorate
from electorate import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    CrossFittedClassifier,
    MedBoostRegressor,
    Pool,
    QuadBoostClassifier,
    QuadBoostRegressor,
    RealAdaBoostClassifier,
    RegressionTrees,
    StackedRegressor,
    ThinnedClassifier,
    Trees,
)
from electorate.registry import ALGORITHMS

NAMES = [*ALGORITHMS, "QuadBoostClassifierCV"]


@pytest.mark.parametrize("name", NAMES)
def test_every_parameter_has_a_constraint(name: str) -> None:
    kind = getattr(electorate, name)
    assert set(kind._parameter_constraints) == set(kind().get_params(deep=False))


@pytest.mark.parametrize("name", NAMES)
def test_all_parameters_but_the_estimator_are_keyword_only(name: str) -> None:
    first, *others = inspect.signature(getattr(electorate, name)).parameters.values()
    assert first.name == "estimator"
    assert all(parameter.kind is inspect.Parameter.KEYWORD_ONLY for parameter in others)


def test_models_that_were_fitted_to_other_rows_have_other_tokens() -> None:
    tokenize = pytest.importorskip("dask.base").tokenize
    X = np.random.default_rng(0).normal(size=(40, 3))
    models = [AdaBoostClassifier(n_estimators=3).fit(X, X[:, column] > 0) for column in (0, 0, 1)]
    for model in models:
        model.history_ = {}  # which holds seconds
    same, again, other = (tokenize(model) for model in models)
    assert same == again != other


@pytest.mark.parametrize(
    ("model", "name"),
    [
        (AdaBoostClassifier(Trees(3)), "estimator__max_depth"),
        (AdaBoostClassifier(Trees(3)), "estimator__min_samples_split"),
        (AdaBoostClassifier(Trees(3)), "estimator__min_samples_leaf"),
        (MedBoostRegressor(RegressionTrees(3)), "estimator__max_depth"),
        (QuadBoostClassifier(), "max_voters"),
        (QuadBoostRegressor(), "max_voters"),
        (ThinnedClassifier(AdaBoostClassifier(n_estimators=5)), "max_voters"),
    ],
    ids=lambda given: given if isinstance(given, str) else type(given).__name__,
)
def test_integers_of_any_size_are_limits(model: Any, name: str) -> None:
    """A limit that cannot be reached is as good as any other."""
    X = np.random.default_rng(0).normal(size=(40, 3))
    y = X[:, 0] if is_regressor(model) else X[:, 0] > 0
    if "n_estimators" in model.get_params(deep=False):
        model.set_params(n_estimators=3)
    predicted = [clone(model).set_params(**{name: limit}).fit(X, y).predict(X) for limit in (1000, 10**30)]
    np.testing.assert_array_equal(*predicted)


@pytest.mark.parametrize(
    "model",
    [
        MedBoostRegressor(Pool(4, n_values=np.int8(3)), n_estimators=np.int8(3)),
        MedBoostRegressor(RegressionTrees(np.int8(9)), n_estimators=np.int8(3), early_stopping=True),
        QuadBoostRegressor(RegressionTrees(np.int8(3)), n_estimators=np.int8(3), early_stopping=True),
    ],
    ids=["values of a pool", "levels", "rounds"],
)
def test_integers_of_few_bits(model: Any) -> None:
    """Sizes are computed from them, which do not fit into 8 bits."""
    X = np.random.default_rng(0).normal(size=(80, 3))
    model.fit(X, X[:, 0])
    assert len(model.steps_) <= 3


def test_more_parts_than_rows() -> None:
    X = np.random.default_rng(0).normal(size=(40, 3))
    with pytest.raises(ValueError, match="n_folds=41 is more than the number of rows, n_samples=40"):
        CrossFittedClassifier(AdaBoostClassifier(n_estimators=2), n_folds=41).fit(X, X[:, 0] > 0)
    models = [("a", MedBoostRegressor(n_estimators=1)), ("b", AdaBoostRegressor(n_estimators=1))]
    few, many = (StackedRegressor(models, n_folds=n_folds).fit(X, X[:, 0]) for n_folds in (40, 10**30))
    np.testing.assert_array_equal(few.predict(X), many.predict(X))


@pytest.mark.parametrize("name", ALGORITHMS)
def test_unknown_parameters_are_refused_by_the_name_of_the_class(name: str) -> None:
    with pytest.raises(TypeError, match=f"^{name} has no parameter 'n_jbos': did you mean 'n_jobs'[?]$"):
        getattr(electorate, name)(n_jbos=2)


def test_samme_is_scikit_learns_algorithm_and_samme_r_a_class_of_its_own() -> None:
    X, y = np.array([[0.0], [1.0], [2.0]]), [0, 1, 1]
    plain, named = AdaBoostClassifier(n_estimators=3).fit(X, y), AdaBoostClassifier(n_estimators=3, algorithm="SAMME")
    assert clone(named).fit(X, y).digest_ == plain.digest_
    assert "algorithm" not in plain._stored_parameters()
    line = r"write RealAdaBoostClassifier\(step=1, estimator=Trees\(max_depth=2\),\s+n_estimators=7\)$"
    with pytest.raises(ValueError, match=line):
        AdaBoostClassifier(Trees(2), n_estimators=7, algorithm="SAMME.R").fit(X, y)
    with pytest.raises(TypeError, match=r"RealAdaBoostClassifier has no parameter 'algorithm'"):
        RealAdaBoostClassifier(algorithm="SAMME.R")  # type: ignore[call-arg]
