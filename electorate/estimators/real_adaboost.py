"""Real AdaBoost with a searched step, and SAMME.R."""

from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax
from sklearn.utils._param_validation import Options, StrOptions

from electorate.algorithms.protocol import Booster
from electorate.algorithms.real_adaboost import RealAdaBoost
from electorate.estimators.base import BoostedClassifier, one_vs_rest_probabilities
from electorate.theory import training as proved
from electorate.voters.trees import Trees


class RealAdaBoostClassifier(BoostedClassifier):
    """Real AdaBoost (Schapire and Singer) for voters with real outputs; SAMME.R with ``step=1``.

    The other parameters, the methods and the attributes are those of :class:`AdaBoostClassifier`.

    Parameters
    ----------
    estimator : a family, a scikit-learn classifier with predict_proba, or None, default=None
        What votes. None means stumps chosen by Matsushita's error, ``Trees(1, criterion="matsushita")``. Leaves say
        half the log-odds of their labels; a classifier says the same of its ``predict_proba``.
    step : "search" or 1, default="search"
        How far to go along a voter: as far as the exponential loss falls, or always 1. With ``step=1`` this is SAMME.R,
        which scikit-learn removed in 1.6, for any number of classes.

    Notes
    -----
    ``decision_function`` is the sum of steps times outputs, f; for two classes the probabilities are
    1 / (1 + exp(-2 f)). For more, ``step=1`` gives a softmax of f / (K - 1); with ``step="search"`` classes are fitted
    one against the rest. Probabilities are not calibrated.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from electorate import RealAdaBoostClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> RealAdaBoostClassifier(step=1, n_estimators=20).fit(X, y).predict_proba(X).shape
    (150, 3)
    """

    _guarantees = proved.Guarantees(
        proved.MEAN_EXP,
        "Schapire and Singer 1999: the product of Z_t",
        proved.real_adaboost,
        proved.edges_over_largest,
    )

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012
        **BoostedClassifier._parameter_constraints,
        "step": [StrOptions({"search"}), Options(Real, {1})],
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        step: str | int = "search",
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
        self.step = step
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

    @property
    def _one_vs_rest(self) -> bool:  # type: ignore[override]
        """The step that is searched for is unbounded where no leaf is wrong, which for K > 2 proves nothing."""
        return self.step == "search"

    def _validate_family(self) -> None:
        super()._validate_family()
        if self.step == 1 and not getattr(self._family(), "says_log_odds", True):
            raise ValueError(
                f"RealAdaBoostClassifier(step=1) cannot boost {type(self._family()).__name__}: SAMME.R takes every "
                "step as 1, which is right for voters that say half the log-odds, and these do not: use step='search'"
            )

    def _booster(self, n_labels: int) -> Booster:
        return RealAdaBoost(n_labels, float(self.learning_rate), self.step == "search")

    def _default_family(self) -> Trees:
        return Trees(1, criterion="matsushita")

    def _probabilities(self, decision: NDArray[np.float64]) -> NDArray[np.float64]:
        if self._one_vs_rest:
            return one_vs_rest_probabilities(decision)
        return np.asarray(softmax(decision / (self.n_classes_ - 1), axis=1))
