"""scikit-learn's own checks of an estimator, for every setting that changes what runs underneath."""

from typing import Any

from sklearn.utils.estimator_checks import parametrize_with_checks

from electorate import AdaBoostClassifier

SETTINGS = [
    AdaBoostClassifier(),
    AdaBoostClassifier(learning_rate=0.5, n_estimators=10),
    AdaBoostClassifier(max_bins=8),
    AdaBoostClassifier(class_weight="balanced"),
    AdaBoostClassifier(n_jobs=2),
]


@parametrize_with_checks(SETTINGS)
def test_scikit_learn(estimator: Any, check: Any) -> None:
    check(estimator)
