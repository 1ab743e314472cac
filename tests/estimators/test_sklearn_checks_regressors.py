"""scikit-learn's own checks of estimators, for every regressor, cost, confidence and mode: none fails."""

from collections.abc import Callable
from typing import Any

from sklearn.tree import DecisionTreeRegressor
from sklearn.utils.estimator_checks import parametrize_with_checks

from electorate import (
    AdaBoostRegressor,
    Columns,
    LocMedBoostRegressor,
    MedBoostRegressor,
    Pool,
    QuadBoostRegressor,
    RegressionTrees,
)

FEW = {"n_estimators": 5}
WRAPPED = DecisionTreeRegressor(max_depth=2)
MODELS = [
    AdaBoostRegressor(**FEW),
    AdaBoostRegressor(WRAPPED, **FEW),
    MedBoostRegressor(**FEW),
    MedBoostRegressor(cost="linear", rho="lowest_edge", **FEW),
    MedBoostRegressor(RegressionTrees(2, criterion="squared_error"), **FEW),
    MedBoostRegressor(WRAPPED, **FEW),
    MedBoostRegressor(early_stopping=True, **FEW),
    MedBoostRegressor(Columns(), **FEW),
    QuadBoostRegressor(RegressionTrees(2), loss="absolute", learning_rate=0.5, **FEW),
    QuadBoostRegressor(RegressionTrees(2), loss="quantile", quantile=0.3, **FEW),
    LocMedBoostRegressor(**FEW),
    LocMedBoostRegressor(Pool(), **FEW),
    LocMedBoostRegressor(confidence_by="bumps", n_bumps=2, **FEW),
]


@parametrize_with_checks(MODELS)
def test_checks(estimator: Any, check: Callable[[Any], None]) -> None:
    check(estimator)
