"""AdaBoost for the logistic loss."""

from dataclasses import dataclass

from electorate.algorithms.logistic_adaboost import LogisticAdaBoost
from electorate.algorithms.protocol import Booster
from electorate.estimators.classifier import StagewiseClassifier
from electorate.families.trees import Trees
from electorate.theory import training as proved
from electorate.theory.bounds import LOGISTIC


@dataclass(eq=False, repr=False, kw_only=True)
class LogisticAdaBoostClassifier(StagewiseClassifier):
    """AdaBoost for the logistic loss, on trees: for noisy labels, and for probabilities.

    The weight of an example is 1 / (1 + exp(margin)) and never exceeds 1, where AdaBoost's exp(-margin) has no limit.
    Examples with a wrong label therefore do not take over the vote.

    Parameters
    ----------
    estimator : a family, a scikit-learn classifier with predict_proba, or None, default=None
        The voters. None means `Trees(3, leaves="gentle")`. With `leaves="gentle"` a leaf outputs the difference of the
        probabilities of its labels, else half their log-odds; a classifier outputs the latter of its `predict_proba`.
    n_estimators : int, default=100
        The largest number of rounds.
    learning_rate : float, default=0.2
        Every output is multiplied by it. At 1 or less the loss never rises, with the families of electorate.
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
        The validation score: the mean logistic loss, or the error rate.
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
        The steps, one per round: all are the learning rate.
    estimator_weights_ : ndarray
        The weights of the voters; equal to `steps_`.
    estimator_errors_ : ndarray
        The weighted error of each voter.
    history_ : dict of ndarray
        Per round: step, edge, error (of the voter), objective (the mean of log2(1 + exp(-margin))), train_error,
        n_voters, floor and loss_floor (the scales of the integer sums), seconds, and validation where there are
        validation rows.
    stop_reason_ : str
        Why training ended: `n_estimators`, `no_edge` (no voter is better than chance),
        `validation`, `time_limit`, `callback` or `interrupted`.
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
    RealAdaBoostClassifier : The same voters for the exponential loss.
    DeepBoostClassifier : The logistic loss with a penalty for large voters.
    compare : Compares all algorithms on one table.
    certificate : Risk bounds of a fitted model.

    Notes
    -----
    `decision_function` is f, the sum of the learning rate times outputs, and estimates the log-odds: for two classes
    the probabilities are 1 / (1 + exp(-f)). More classes are fitted one against the rest.

    The objective in `history_` is the mean of log2(1 + exp(-y f)), which is at least the training error.

    References
    ----------
    .. [1] M. Collins, R. E. Schapire and Y. Singer, "Logistic regression, AdaBoost and Bregman distances", Machine
       Learning 48, 2002.
    .. [2] R. E. Schapire and Y. Freund, "Boosting: foundations and algorithms", MIT Press, 2012, section 7.5.
    .. [3] J. Friedman, T. Hastie and R. Tibshirani, "Additive logistic regression", Annals of Statistics 28, 2000, for
       the outputs of `leaves="gentle"`.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from electorate import LogisticAdaBoostClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = LogisticAdaBoostClassifier(n_estimators=20).fit(X, y)
    >>> model.predict_proba(X[:2]).shape
    (2, 2)
    """

    n_estimators: int = 100
    learning_rate: float = 0.2

    _guarantees = proved.Guarantees(
        proved.MEAN_LOG2,
        "Collins, Schapire and Singer 2002: log2(1 + exp(-y f)) is at least 1 where an example is misclassified",
        proved.logistic_adaboost,
        loss=LOGISTIC,
        any_rate=True,
    )

    _one_vs_rest = True
    _log_odds_factor = 1.0
    _keeps_monotone = True

    def _validate_family(self) -> None:
        super()._validate_family()
        if not getattr(self._family(), "says_log_odds", True):
            raise ValueError(
                f"LogisticAdaBoostClassifier cannot boost {type(self._family()).__name__}: every step is the learning "
                "rate, which needs voters that output half the log-odds, and these do not: use DeepBoostClassifier("
                "loss='logistic')"
            )

    def _booster(self, n_labels: int) -> Booster:
        return LogisticAdaBoost(n_labels, float(self.learning_rate))

    def _default_family(self) -> Trees:
        return Trees(3, leaves="gentle")
