"""Real AdaBoost with a searched step, and SAMME.R."""

from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar

from sklearn.utils._param_validation import Options, StrOptions

from electorate.algorithms.protocol import Booster
from electorate.algorithms.real_adaboost import RealAdaBoost
from electorate.estimators.classifier import StagewiseClassifier, samme_link, samme_probabilities
from electorate.exact import Floats
from electorate.families.trees import Trees
from electorate.model.decisions import Link
from electorate.theory import training as proved


@dataclass(eq=False, repr=False, kw_only=True)
class RealAdaBoostClassifier(StagewiseClassifier):
    """Real AdaBoost for voters with real outputs; SAMME.R with `step=1`.

    The step minimises the exponential loss along a voter. With `step=1` every step is 1: that is SAMME.R, which
    scikit-learn removed in 1.6.

    Parameters
    ----------
    estimator : a family, a scikit-learn classifier with predict_proba, or None, default=None
        The voters. None means stumps chosen by Matsushita's error, `Trees(1, criterion="matsushita")`. A leaf
        outputs half the log-odds of its labels; a classifier outputs the same of its `predict_proba`.
    step : "search" or 1, default="search"
        The step along a voter: where the exponential loss is least, or always 1, which is SAMME.R for any
        number of classes.
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
    AdaBoostClassifier : Discrete AdaBoost and SAMME.
    AdaBoostRClassifier : Real outputs without exponentials.
    compare : Compares all algorithms on one table.
    certificate : Risk bounds of a fitted model.

    Notes
    -----
    `decision_function` is f, the sum of steps times outputs. For two classes the probabilities are 1 / (1 + exp(-2
    f)). For more, `step=1` gives a softmax of f / (K - 1); with `step="search"` classes are fitted one against the
    rest. Probabilities are not calibrated.

    References
    ----------
    .. [1] R. E. Schapire and Y. Singer, "Improved boosting algorithms using confidence-rated predictions", Machine
       Learning 37, 1999.
    .. [2] J. Zhu, H. Zou, S. Rosset and T. Hastie, "Multi-class AdaBoost", Statistics and Its Interface 2, 2009.
    .. [3] R. Nock and F. Nielsen, "A Real generalization of discrete AdaBoost", Artificial Intelligence 171, 2007.
       Equation 5 is the step.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from electorate import RealAdaBoostClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> RealAdaBoostClassifier(step=1, n_estimators=20).fit(X, y).predict_proba(X).shape
    (150, 3)
    """

    step: str | int = "search"

    _keeps_monotone = True
    _guarantees = proved.Guarantees(
        proved.MEAN_EXP, "Schapire and Singer 1999: the product of Z_t", proved.real_adaboost, proved.edges_over_largest
    )

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **StagewiseClassifier._parameter_constraints,
        "step": [StrOptions({"search"}), Options(Real, {1})],
    }

    @property
    def _one_vs_rest(self) -> bool:  # type: ignore[override]
        """The step that is searched for is unbounded where no leaf is wrong, which for K > 2 proves nothing."""
        return self.step == "search"

    def _validate_family(self) -> None:
        super()._validate_family()
        if self.step == 1 and not getattr(self._family(), "says_log_odds", True):
            raise ValueError(
                f"RealAdaBoostClassifier(step=1) cannot boost {type(self._family()).__name__}: SAMME.R takes every "
                "step as 1, which needs voters that output half the log-odds, and these do not: use step='search'"
            )

    def _booster(self, n_labels: int) -> Booster:
        return RealAdaBoost(n_labels, float(self.learning_rate), self.step == "search")

    def _default_family(self) -> Trees:
        return Trees(1, criterion="matsushita")

    def _probabilities(self, decision: Floats) -> Floats:
        if self._one_vs_rest:
            return super()._probabilities(decision)
        return samme_probabilities(decision, self.n_classes_)

    def _link(self) -> Link:
        by_class = self._one_vs_rest or self.n_classes_ == 2
        return super()._link() if by_class else samme_link(self.n_classes_)
