"""AdaBoost.R2, a drop-in replacement for scikit-learn's regressor."""

from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar

from sklearn.utils._param_validation import Interval, StrOptions

from electorate.algorithms.adaboost_r2 import AdaBoostR2
from electorate.estimators.regressor import BoostedRegressor
from electorate.training.regression import Try
from electorate.training.worker_data import TargetOutline


@dataclass(eq=False, repr=False, kw_only=True)
class AdaBoostRegressor(BoostedRegressor):
    """AdaBoost.R2: a drop-in replacement for scikit-learn's class.

    Takes NumPy arrays, SciPy sparse matrices, dataframes (pandas, polars, pyarrow) and Dask collections; with the
    trees of electorate, missing values and categories need no preparation, and the model is the same to the bit for
    any `n_jobs`.

    Parameters
    ----------
    estimator : RegressionTrees, a scikit-learn regressor or None, default=None
        The voters. None means `RegressionTrees(3)`, grown by least squares under the weights. A scikit-learn
        regressor is fitted to rows drawn in proportion to the weights, as in scikit-learn.
    n_estimators : int, default=50
        The largest number of rounds.
    learning_rate : float, default=1.0
        Every step is multiplied by it. The theorems hold at 1.
    loss : {"linear", "square", "exponential"}, default="linear"
        The loss of a distance, as a share of the largest one.
    early_stopping : bool, default=False
        Stop when the mean absolute error of validation rows has not improved by more than `tol` for
        `n_iter_no_change` rounds, and keep the rounds up to the best one.
    validation_fraction : float, default=0.1
        The fraction of the rows that is set aside for validation, unless `fit` gets `X_val` and `y_val`. Rows
        are drawn by their content: their order does not matter, and a row of weight k is drawn as k rows.
    n_iter_no_change : int, default=50
        Rounds without improvement after which training stops.
    tol : float, default=0.0
        The smallest improvement of the validation score that counts.
    max_bins : int or "exact", default=255
        The largest number of bins per column, besides one for missing values. A column with no more distinct
        values is searched exactly. "exact" uses 16-bit bins: exact up to 65,534 distinct values.
    categorical_features : "from_dtype", array-like or None, default="from_dtype"
        Positions, names or a mask of the categorical columns. "from_dtype" takes the text, category
        and enum columns of a dataframe.
    warm_start : bool, default=False
        Whether `fit` adds rounds to the fitted model, given the same data: 50 rounds and then 100 equal 100
        rounds, digest for digest.
    n_jobs : int or None, default=None
        The number of threads. None means all CPUs that are available to this process, or fewer for small tables.
        The model does not depend on it.
    device : {"cpu", "cuda", "auto"}, default="cpu"
        Where the model is trained: by threads of this process, or on an NVIDIA GPU. "auto" uses a GPU for large
        tables where there is one. Rows that live on a GPU are trained on there. The model does not depend on it.
    random_state : int, RandomState instance or None, default=None
        The seed of the validation split and of third-party estimators. The families of electorate use no
        randomness.

    Attributes
    ----------
    n_features_in_ : int
        The number of columns of X.
    feature_names_in_ : ndarray of str
        The names of the columns, where X has string names.
    estimators_ : sequence of voters
        A read-only view of the voters; each has `predict` and `to_text`.
    steps_ : ndarray
        The logarithms of (1 - error) / error, one per voter.
    estimator_weights_ : ndarray
        The weights of the voters; equal to `steps_`.
    estimator_errors_ : ndarray
        The weighted error of each voter.
    fallback_ : float
        The weighted median of the training targets: the prediction where no voter has any confidence.
    history_ : dict of ndarray
        Per round: step, edge, error ((1 - edge) / 2), rho, log_z, objective (the product of the E_rho of the
        rounds), min_margin, target_margin, margin_error (the share of rows with a margin of at most 0),
        n_voters, seconds, and validation where there are validation rows.
    stop_reason_ : str
        Why training ended: `n_estimators`, `no_edge` (no voter is better than chance), `perfect_voter` (one
        makes no error), `validation`, `time_limit`, `callback` or `interrupted`.
    best_round_ : int
        With early stopping, the number of rounds kept.
    feature_importances_ : ndarray
        The share of the steps that belongs to splits on each column.
    digest_ : str
        SHA-256 of the model. Models with equal digests are equal.
    seen_ : Seen
        Hashes of the training rows, so that `certificate` can refuse them as held-out rows. Not part of the
        model.

    See Also
    --------
    MedBoostRegressor : Boosting by weighted median.
    QuadBoostRegressor : Quadratic risk.
    compare : Compares all algorithms on one table.
    certificate : Risk bounds of a fitted model.

    References
    ----------
    .. [1] H. Drucker, "Improving regressors using boosting techniques", ICML 1997.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from electorate import AdaBoostRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> AdaBoostRegressor(n_estimators=20).fit(X, y).predict(X).shape
    (442,)
    """

    n_estimators: int = 50
    learning_rate: float = 1.0
    loss: str = "linear"

    _draws = True
    _keeps_monotone = True
    _lower = True
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BoostedRegressor._parameter_constraints,
        "learning_rate": [Interval(Real, 2.0**-20, None, closed="left")],
        "loss": [StrOptions({"linear", "square", "exponential"})],
    }

    def _criterion(self) -> str:
        if self._family().criterion == "edge":
            raise ValueError("RegressionTrees(criterion='edge') is for MedBoost: AdaBoost.R2 has no eps")
        return "squared_error"

    def _tries(self, outline: TargetOutline) -> list[Try]:
        return [Try(AdaBoostR2(self.loss, float(self.learning_rate)))]
