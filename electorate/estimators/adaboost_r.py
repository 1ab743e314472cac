"""AdaBoost_R: real-valued voters, weights without exponentials."""

from electorate.algorithms.adaboost_r import AdaBoostR
from electorate.algorithms.protocol import Booster
from electorate.estimators.classifier import StagewiseClassifier
from electorate.families.trees import Trees
from electorate.theory import training as proved


class AdaBoostRClassifier(StagewiseClassifier):
    """AdaBoost_R: real-valued voters, weights without exponentials, steps in closed form.

    Equations 6 to 8 of [1]_. More than two classes are fitted one against the rest.

    Parameters
    ----------
    estimator : a family, a scikit-learn classifier with predict_proba, or None, default=None
        The voters. None means stumps chosen by Matsushita's error, `Trees(1, criterion="matsushita")`.
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
    history_ : dict of ndarray
        Per round: step, edge, error (of the voter), objective (the mean of the weights before normalisation:
        prod (1 - mu^2) at learning_rate 1, eq. 13), train_error, n_voters, floor (the scale of the integer
        sums), seconds, and validation where there are validation rows. The edge is the mu of the paper.
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
    AdaBoostClassifier : Discrete AdaBoost and SAMME.
    compare : Compares all algorithms on one table.
    certificate : Risk bounds of a fitted model.

    Notes
    -----
    A negative mu gives a negative step. With `Trees(..., smoothing=0)` pure leaves output infinity: such a voter
    has the step 0, and its round only changes the weights.

    Probabilities are 1 / (1 + exp(-2 f)), for more than two classes divided by their sum; they are not calibrated.
    The paper's eq. 24 has no 2: `scipy.special.expit(model.decision_function(X))`. With the 2, the probability that
    a single voter of +-1 gives is its accuracy.

    References
    ----------
    .. [1] R. Nock and F. Nielsen, "A Real generalization of discrete AdaBoost", Artificial Intelligence 171, 2007.

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

    def _booster(self, n_labels: int) -> Booster:
        return AdaBoostR(float(self.learning_rate))

    def _default_family(self) -> Trees:
        return Trees(1, criterion="matsushita")
