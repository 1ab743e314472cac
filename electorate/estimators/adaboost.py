"""Discrete AdaBoost and SAMME, a drop-in replacement for scikit-learn's class."""

from dataclasses import dataclass
from typing import Any, ClassVar

from sklearn.utils._param_validation import StrOptions

from electorate.algorithms.adaboost import AdaBoost
from electorate.algorithms.protocol import Booster
from electorate.estimators.classifier import StagewiseClassifier, samme_link, samme_probabilities
from electorate.exact import Floats, Ints
from electorate.model import decisions
from electorate.model.decisions import Link
from electorate.theory import training as proved


@dataclass(eq=False, repr=False, kw_only=True)
class AdaBoostClassifier(StagewiseClassifier):
    """Discrete AdaBoost; SAMME for more than two classes. A drop-in replacement for scikit-learn's class.

    Takes NumPy arrays, SciPy sparse matrices, dataframes (pandas, polars, pyarrow) and Dask collections; missing
    values and categories need no preparation. The fitted model is the same, bit for bit, for any `n_jobs`.

    Parameters
    ----------
    estimator : a family (Stumps, Trees, Rules, ...), a scikit-learn classifier or None, default=None
        The voters. None means :class:`Stumps`.
    n_estimators : int, default=50
        The largest number of rounds.
    learning_rate : float, default=1.0
        Every step is multiplied by it. The theorems hold at 1.
    algorithm : {"SAMME"}, default="SAMME"
        For code that was written for scikit-learn: "SAMME.R" is :class:`RealAdaBoostClassifier`, and `fit` says how.
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
        scikit-learn's weights: twice the steps.
    estimator_errors_ : ndarray
        The weighted error of each voter.
    history_ : dict of ndarray
        Per round: step, edge, error (of the voter), objective (the mean of exp(-margin)), train_error,
        n_voters, floor (the scale of the integer sums), seconds, and validation where there are validation
        rows.
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
    RealAdaBoostClassifier : Voters with real outputs, and SAMME.R.
    AdaBoostRClassifier : Real outputs without exponentials.
    compare : Compares all algorithms on one table.
    certificate : Risk bounds of a fitted model.

    Notes
    -----
    A decision of exactly 0 is `classes_[0]`. Ties between splits go to the first column, then to the lowest
    threshold. `decision_function` and `predict_proba` are scikit-learn's: for two classes the votes divided by the
    sum of the weights, times 2; the probabilities are a softmax of that and not calibrated.

    References
    ----------
    .. [1] Y. Freund and R. E. Schapire, "A decision-theoretic generalization of on-line learning and an application
       to boosting", JCSS 55, 1997.
    .. [2] J. Zhu, H. Zou, S. Rosset and T. Hastie, "Multi-class AdaBoost", Statistics and Its Interface 2, 2009.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from electorate import AdaBoostClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> AdaBoostClassifier(n_estimators=100).fit(X, y).stop_reason_
    'n_estimators'
    """

    algorithm: str = "SAMME"

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **StagewiseClassifier._parameter_constraints,
        "algorithm": [StrOptions({"SAMME", "SAMME.R"})],
    }
    _guarantees = proved.Guarantees(proved.MEAN_EXP, "AdaBoost: the product of Z_t", proved.adaboost, proved.edges)
    _log_odds_factor = 1.0
    _keeps_monotone = True

    def _validate_params(self) -> None:
        super()._validate_params()
        if self.algorithm == "SAMME.R":
            line = repr(self).replace("AdaBoostClassifier(algorithm='SAMME.R'", "RealAdaBoostClassifier(step=1", 1)
            raise ValueError(f"SAMME.R is a class of its own: write {line}")

    def _booster(self, n_labels: int) -> Booster:
        return AdaBoost(n_labels, float(self.learning_rate))

    @property
    def estimator_weights_(self) -> Floats:
        return 2 * self.ensemble_.steps

    def _decision(self, votes: Ints, total: float) -> Floats:
        return decisions.as_samme(votes, self.n_classes_, total)

    def _probabilities(self, decision: Floats) -> Floats:
        return samme_probabilities(decision, self.n_classes_)

    def _link(self) -> Link:
        return super()._link() if self.n_classes_ == 2 else samme_link(self.n_classes_)
