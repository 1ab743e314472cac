"""scikit-learn's own checks of QuadBoost, for every penalty, way of re-weighting and kind of voters."""

from collections.abc import Callable
from typing import Any

from sklearn.tree import DecisionTreeRegressor
from sklearn.utils.estimator_checks import parametrize_with_checks

from electorate import Columns, Pool, QuadBoostClassifier, Stumps, Trees

FEW = {"n_estimators": 10}
MODELS = [
    QuadBoostClassifier(**FEW),
    QuadBoostClassifier(penalty="l1", reweight="greedy", **FEW),
    QuadBoostClassifier(Pool(5, complements=False), penalty="l2", reweight="cyclic", **FEW),
    QuadBoostClassifier(penalty="linf", reweight="greedy", early_stopping=True, **FEW),
    QuadBoostClassifier(Columns(), penalty="l1", reweight="cyclic", **FEW),
    QuadBoostClassifier(Stumps(), **FEW),
    QuadBoostClassifier(Trees(2, criterion="edge"), penalty="l1", reweight="greedy", **FEW),
    QuadBoostClassifier(DecisionTreeRegressor(max_depth=2), penalty="l2", reweight="cyclic", **FEW),
    QuadBoostClassifier(Columns(), warm_start=True, class_weight="balanced", **FEW),
]


@parametrize_with_checks(MODELS)
def test_checks(estimator: Any, check: Callable[[Any], None]) -> None:
    check(estimator)
