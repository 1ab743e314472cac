"""Parameters are dataclass fields: each has a constraint and is keyword-only, and fitted state counts for Dask."""

import inspect

import numpy as np
import pytest

import electorate
from electorate import AdaBoostClassifier
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
