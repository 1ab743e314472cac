"""scikit-learn's own checks of estimators, for the totally corrective ones: none fails, none is expected to."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from electorate import LPBoostClassifier, Pool, RLPBoostClassifier, RQPBoostClassifier, Trees

FEW = {"n_estimators": 5}
MODELS = [
    LPBoostClassifier(),
    LPBoostClassifier(C=1.0, solver="scipy", **FEW),
    LPBoostClassifier(C=np.inf),
    LPBoostClassifier(Trees(2), nu=0.5, **FEW),
    LPBoostClassifier(Pool(), **FEW),
    RLPBoostClassifier(**FEW),
    RLPBoostClassifier(Trees(2), C=1.0, solver="scipy", **FEW),
    RQPBoostClassifier(**FEW),
    RQPBoostClassifier(DecisionTreeClassifier(max_depth=2), C=0.1, n_estimators=10),
]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks(MODELS)
def test_checks(estimator: Any, check: Callable[[Any], None]) -> None:
    check(estimator)
