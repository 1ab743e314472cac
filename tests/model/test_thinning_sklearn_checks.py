"""scikit-learn's own checks of estimators, for ThinnedClassifier: none fails, none is expected to."""

from collections.abc import Callable
from typing import Any

from sklearn.ensemble import RandomForestClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from electorate import AdaBoostClassifier, ThinnedClassifier

MODELS = [
    ThinnedClassifier(AdaBoostClassifier(n_estimators=10), max_voters=6),
    ThinnedClassifier(RandomForestClassifier(2, max_depth=2, random_state=0, bootstrap=False), by="lp"),
]


@parametrize_with_checks(MODELS)
def test_checks(estimator: Any, check: Callable[[Any], None]) -> None:
    check(estimator)
