"""EBBoost: every voter is ranked by the penalised cost at its own best step."""

from numbers import Real
from typing import Any, ClassVar

from sklearn.utils._param_validation import Interval, StrOptions

from electorate.algorithms.ebboost import EBBoost
from electorate.algorithms.protocol import Booster
from electorate.estimators.classifier import StagewiseClassifier
from electorate.estimators.vadaboost import Penalised
from electorate.families.ebboost_search import EBBoostSearch, refusal
from electorate.theory import training as proved


class EBBoostClassifier(Penalised):
    """EBBoost: every voter is ranked by the variance-penalised cost at its own best step.

    Algorithm 3 of [1]_. All voters must be enumerated, so the families are :class:`Stumps`, :class:`Pool`,
    :class:`PairedStumps`, :class:`Columns` of +-1, and unions of those over bins. More than two classes are fitted
    one against the rest.

    Parameters
    ----------
    estimator : Stumps, Pool, PairedStumps, Columns, a Union or None, default=None
        The voters. None means :class:`Stumps`.
    lam : float from 0, or "auto", default=0.5
        The penalty of the variance. "auto" tries 0, 0.1, ..., 1 on the same bins and takes the one with the
        best validation score (`validation_fraction`, or `X_val` and `y_val`): of its best round with early
        stopping, otherwise of its last.
    n_estimators : int, default=50
        The largest number of rounds.
    learning_rate : float, default=1.0
        Every step is multiplied by it. The theorems hold at 1.
    class_weight : dict, "balanced" or None, default=None
        Factors by which sample weights are multiplied, by class. "balanced" gives every class the same total
        weight.
    max_bins : int or "exact", default=255
        The largest number of bins per column, besides one for missing values. A column with no more distinct
        values is searched exactly. "exact" uses 16-bit bins: exact up to 65,534 distinct values.
    categorical_features : "from_dtype", array-like or None, default="from_dtype"
        Positions, names or a mask of the categorical columns. "from_dtype" takes the text, category
        and enum columns of a dataframe.
    early_stopping : bool, default=False
        Stop when the validation score has not improved by more than `tol` for `n_iter_no_change` rounds, and
        keep the rounds up to the best one.
    validation_fraction : float, default=0.1
        The fraction of every class that is set aside for validation, unless `fit` gets `X_val` and `y_val`.
        Rows are drawn by their content: their order does not matter, and a row of weight k is drawn as k rows.
    n_iter_no_change : int, default=10
        Rounds without improvement after which training stops.
    tol : float, default=0.0
        The smallest improvement of the validation score that counts.
    scoring : {"loss", "error"}, default="loss"
        The validation score: the mean of exp(-margin), or the error rate.
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
    classes_ : ndarray
        The classes of positive weight.
    n_classes_ : int
        The number of classes.
    n_features_in_ : int
        The number of columns of X.
    feature_names_in_ : ndarray of str
        The names of the columns, where X has string names.
    estimators_ : sequence of voters
        A read-only view of the voters; each has `predict` and `to_text`.
    steps_ : ndarray
        The steps alpha of the paper, one per round.
    estimator_weights_ : ndarray
        The weights of the voters; equal to `steps_`.
    estimator_errors_ : ndarray
        The weighted error of each voter.
    lam_ : ndarray of shape (n_runs,)
        With `lam="auto"`, the value chosen for each run: one, or one per class.
    lam_scores_ : ndarray of shape (n_runs, 11)
        With `lam="auto"`, the validation scores of 0, 0.1, ..., 1.
    history_ : dict of ndarray
        Per round: step, edge, error (of the voter), objective (cost (3) over n^2), train_error, n_voters, floor
        (the scale of the integer sums), seconds, and validation where there are validation rows. Also log_mean,
        the logarithm of the mean of exp(-y f), and floor_of_squares, the scale of the sums of squared weights.
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
    VadaBoostClassifier : Penalises the variance of the loss.
    AdaBoostClassifier : Discrete AdaBoost and SAMME.
    compare : Compares all algorithms on one table.
    certificate : Risk bounds of a fitted model.

    Notes
    -----
    In a column of up to ten categories all sets are tried: the set with the best edge need not have the lowest
    cost. In a wider column, single categories are tried, and every set that gains the most under some linear
    combination of the sums of w and of w^2; AdaBoost's set is among them. A pair of splits is tried with all
    labelings of its four leaves; `PairedStumps(search="exhaustive")` tries all pairs. At lam 0 EBBoost is AdaBoost,
    up to ties.

    References
    ----------
    .. [1] P. K. Shivaswamy and T. Jebara, "Variance Penalizing AdaBoost", NIPS 2011.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from electorate import EBBoostClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> EBBoostClassifier(lam=0.3, n_estimators=20).fit(X, y).stop_reason_
    'n_estimators'
    """

    _guarantees = proved.Guarantees(proved.COST_3, "VadaBoost paper: the mean of exp(-y f)", proved.ebboost)

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **StagewiseClassifier._parameter_constraints,
        "lam": [Interval(Real, 0, None, closed="left"), StrOptions({"auto"})],
    }

    def _with_lam(self, lam: float, n_labels: int) -> Booster:
        return EBBoost(n_labels, float(self.learning_rate), lam)

    def _searching(self, bench: Any, booster: Any, past: Any) -> EBBoostSearch:
        return EBBoostSearch(bench.family, booster)

    def _validate_family(self) -> None:
        super()._validate_family()
        why = refusal(self._family())
        if why is not None:
            raise ValueError(f"EBBoostClassifier cannot boost {type(self._family()).__name__}: {why}")
