"""Every family made of sums gives the same digest on a Dask cluster as here."""

from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from dask_cluster import cuts, scattered
from sklearn.base import clone
from training_cases import noisy, plain

from electorate import (
    AdaBoostClassifier,
    AdaBoostRClassifier,
    Columns,
    KernelSections,
    MedBoostRegressor,
    PairedStumps,
    Pool,
    RealAdaBoostClassifier,
    RegressionTrees,
    Rules,
    Stumps,
    Trees,
    Union,
)

pytestmark = pytest.mark.process

MODELS = {
    "AdaBoost, paired stumps": AdaBoostClassifier(PairedStumps()),
    "AdaBoost, a pool": AdaBoostClassifier(Pool(4)),
    "AdaBoost_R, rules": AdaBoostRClassifier(Rules(3)),
    "AdaBoost, random columns": AdaBoostClassifier(Trees(4, max_features=2)),
    "Real AdaBoost, a union": RealAdaBoostClassifier(Union([Rules(2), PairedStumps(), Trees(2), Stumps()])),
}


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("name", MODELS)
def test_the_same_digest(client: Any, name: str, n_classes: int) -> None:
    X, y = noisy(n_classes, 150)
    weight = np.random.default_rng(0).integers(0, 4, 150)
    model = clone(MODELS[name]).set_params(n_estimators=4)
    here = clone(model).fit(X, y.astype(object), weight)
    far = clone(model).fit(*scattered((X, pd.Series(y.astype(object)), weight), cuts(150, 3)))
    assert far.digest_ == here.digest_


BALANCED = [
    AdaBoostClassifier(Trees(2, min_samples_leaf=4)),
    AdaBoostClassifier(Trees(3, criterion="edge")),
    AdaBoostRClassifier(Rules(2)),
    AdaBoostClassifier(PairedStumps()),
    MedBoostRegressor(RegressionTrees(2)),
    MedBoostRegressor(RegressionTrees(2, criterion="squared_error")),
]


@pytest.mark.parametrize("model", BALANCED, ids=repr)
def test_the_same_digest_where_no_single_test_gains(client: Any, model: Any) -> None:
    X = np.array(list(product([0.0, 1.0], repeat=6)))
    y = (X[:, 2] != X[:, 4]).astype(float)
    model = clone(model).set_params(n_estimators=4)
    here = clone(model).fit(X, y)
    far = clone(model).fit(*scattered((X, y, None), cuts(64, 3)))
    assert far.digest_ == here.digest_
    assert np.round(here.predict(X)).tolist() == y.tolist()


def test_an_exhaustive_search(client: Any) -> None:
    X, y = plain(2, 60)
    model = AdaBoostClassifier(PairedStumps("exhaustive"), n_estimators=1, max_bins=4)
    assert clone(model).fit(*scattered((X, y, None), cuts(60, 2))).digest_ == clone(model).fit(X, y).digest_


@pytest.mark.parametrize("family", [Columns(), KernelSections()], ids=repr)
def test_families_by_rows_stay_here(client: Any, family: Any) -> None:
    X, y = plain(2, 60)
    with pytest.raises((TypeError, ValueError), match=type(family).__name__):
        RealAdaBoostClassifier(family).fit(*scattered((np.nan_to_num(X), y, None), cuts(60, 2)))
