"""AdaBoost.R2, a drop-in replacement for scikit-learn's regressor."""

from numbers import Real
from typing import Any

from sklearn.utils._param_validation import Interval, StrOptions

from electorate.algorithms.adaboost_r2 import AdaBoostR2
from electorate.estimators.regression import BoostedRegressor
from electorate.training.regression import Try
from electorate.training.target_worker_data import TargetOutline


class AdaBoostRegressor(BoostedRegressor):
    """AdaBoost.R2 (Drucker 1997). In the place of scikit-learn's class.

    Takes NumPy arrays, SciPy sparse matrices and dataframes (pandas, polars, pyarrow); with trees of ours, missing
    values and categories need no preparation, and the model is the same to the bit for any ``n_jobs``.

    Parameters
    ----------
    estimator : RegressionTrees, a scikit-learn regressor or None, default=None
        What votes. None means ``RegressionTrees(3)``, grown by least squares to the weights. A scikit-learn regressor
        is fitted to rows drawn with the weights as odds, as scikit-learn's class does.
    n_estimators, learning_rate : int, default=50, and float, default=1.0
        The largest number of rounds; every step is multiplied by the rate.
    loss : {"linear", "square", "exponential"}, default="linear"
        Of a distance as a share of the largest one.
    early_stopping, validation_fraction, n_iter_no_change, tol
        As in :class:`MedBoostRegressor`.
    max_bins, categorical_features, warm_start, n_jobs, random_state
        As in :class:`AdaBoostClassifier`.

    Attributes
    ----------
    estimators_, estimator_weights_, estimator_errors_, feature_importances_
        As in scikit-learn, one entry per voter.
    steps_, history_, stop_reason_, digest_
        As in :class:`AdaBoostClassifier`.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from electorate import AdaBoostRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> AdaBoostRegressor(n_estimators=20).fit(X, y).predict(X).shape
    (442,)
    """

    _draws = True
    _ties = "lower"
    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012
        **BoostedRegressor._parameter_constraints,
        "learning_rate": [Interval(Real, 2.0**-20, None, closed="left")],
        "loss": [StrOptions({"linear", "square", "exponential"})],
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        n_estimators: int = 50,
        learning_rate: float = 1.0,
        loss: str = "linear",
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 50,
        tol: float = 0.0,
        max_bins: int | str = 255,
        categorical_features: Any = "from_dtype",
        warm_start: bool = False,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.loss = loss
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.tol = tol
        self.max_bins = max_bins
        self.categorical_features = categorical_features
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _criterion(self) -> str:
        if self._family().criterion == "edge":
            raise ValueError("RegressionTrees(criterion='edge') is for MedBoost: AdaBoost.R2 has no eps")
        return "squared_error"

    def _tries(self, outline: TargetOutline) -> list[Try]:
        return [Try(AdaBoostR2(self.loss, float(self.learning_rate)))]
