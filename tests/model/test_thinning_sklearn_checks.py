"""scikit-learn's own checks of estimators, for ThinnedClassifier: none fails, none is expected to."""

from collections.abc import Callable
from typing import Any

from sklearn.ensemble import RandomForestClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from electorate import AdaBoostClassifier, ThinnedClassifier, Trees

MODELS = [
    ThinnedClassifier(AdaBoostClassifier(n_estimators=10), max_voters=6),
    ThinnedClassifier(AdaBoostClassifier(Trees(2), n_estimators=3), by="lp"),
    ThinnedClassifier(RandomForestClassifier(4, random_state=0, bootstrap=False), by="qp"),
]


@parametrize_with_checks(MODELS)
def test_checks(estimator: Any, check: Callable[[Any], None]) -> None:
    check(estimator)
