"""AdaBoost_R: real-valued voters, weights without exponentials."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from electorate.algorithms.adaboost_r import AdaBoostR
from electorate.algorithms.protocol import Booster
from electorate.estimators.base import BoostedClassifier, one_vs_rest_probabilities
from electorate.theory import training as proved
from electorate.voters.trees import Trees


class AdaBoostRClassifier(BoostedClassifier):
    """AdaBoost_R (Nock and Nielsen): real-valued voters, weights without exponentials, steps in closed form.

    Equations 6 to 8 of "A Real generalization of discrete AdaBoost". The parameters, methods and attributes are those
    of :class:`RealAdaBoostClassifier`, but for ``step``. More than two classes are fitted one against the rest.

    Notes
    -----
    ``history_["edge"]`` is the paper's mu; ``objective`` is the mean of the unnormalised weights, prod (1 - mu^2) at
    learning_rate 1 (eq. 13). A negative mu votes with a negative step. With ``Trees(..., smoothing=0)`` pure leaves say
    infinity: such a voter has the step 0, and its round only moves the weights.
    Probabilities are 1 / (1 + exp(-2 f)), for more than two classes divided by their sum; they are not calibrated. The
    paper's eq. 24 is 1 / (1 + exp(-f)), without the 2: ``scipy.special.expit(model.decision_function(X))``. The 2 is
    there because the exponential loss is least at half the log-odds; with it, the probability that a single voter of
    +-1 gives is its accuracy.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from electorate import AdaBoostRClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> AdaBoostRClassifier(n_estimators=20).fit(X, y).stop_reason_
    'n_estimators'
    """

    _guarantees = proved.Guarantees(proved.MEAN_WEIGHT, proved.EQ_14, proved.adaboost_r, proved.edges)

    _one_vs_rest = True

    def __init__(
        self,
        estimator: Any = None,
        *,
        n_estimators: int = 50,
        learning_rate: float = 1.0,
        class_weight: Any = None,
        max_bins: int | str = 255,
        categorical_features: Any = "from_dtype",
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 10,
        tol: float = 0.0,
        scoring: str = "loss",
        warm_start: bool = False,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.class_weight = class_weight
        self.max_bins = max_bins
        self.categorical_features = categorical_features
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.tol = tol
        self.scoring = scoring
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _booster(self, n_labels: int) -> Booster:
        return AdaBoostR(float(self.learning_rate))

    def _default_family(self) -> Trees:
        return Trees(1, criterion="matsushita")

    def _probabilities(self, decision: NDArray[np.float64]) -> NDArray[np.float64]:
        return one_vs_rest_probabilities(decision)
