"""scikit-learn's own checks of the two estimators that carry a bound."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from electorate import AdaBoostClassifier, CertifiedClassifier, CrossFittedClassifier

MODELS = [
    CertifiedClassifier(n_estimators=1, max_terms=1, prior_rounds=2, prior_fractions=(0.5,)),  # all labels in the prior
    CrossFittedClassifier(AdaBoostClassifier(n_estimators=3), n_folds=3),
]


@pytest.mark.filterwarnings("ignore:one input holds")
@parametrize_with_checks(MODELS)
def test_scikit_learn(estimator, check):
    check(estimator)
