"""LocMedBoost for classes: AdaBoost_rho, and voters that may abstain. For quantities see medboost.py."""

from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar

from sklearn.utils._param_validation import Interval, StrOptions

from electorate.algorithms.locmedboost import LocMedBoost
from electorate.algorithms.medboost import AdaptiveRho, ConstantRho, LowestEdge
from electorate.algorithms.protocol import Booster
from electorate.estimators.base import StopsEarly
from electorate.estimators.classifier import ROUND_BY_ROUND, BoostedClassifier
from electorate.families.rho_search import RhoSearch
from electorate.theory import training as proved

RULES = {"lowest_edge": LowestEdge, "adaptive": AdaptiveRho}


@dataclass(frozen=True)
class LocMedBoostOfReals(LocMedBoost):
    """LocMedBoost for families whose outputs are confidences."""

    leaves: ClassVar[str] = "any"


@dataclass(eq=False, repr=False, kw_only=True)
class LocMedBoostClassifier(BoostedClassifier, StopsEarly):
    """LocMedBoost for classes: boosting towards the largest smallest margin, with voters that may abstain.

    Figure 1 of [1]_ with the 0-1 cost on labels. For voters that always answer it is AdaBoost_rho: every step is
    shorter by the step that a margin of rho takes. With `rho="lowest_edge"`, the rule of [2]_, the smallest margin
    comes within nu of the largest possible one, where the family is finite and searched exhaustively. More than two
    classes are fitted one against the rest.

    Parameters
    ----------
    estimator : a family (Stumps, Trees, Rules, ...), a scikit-learn classifier or None, default=None
        The voters. None means :class:`Stumps`. A column of `Columns`, or a section of `KernelSections`, votes with its
        sign, and its size is its confidence: 0 abstains.
    rho : "lowest_edge", "adaptive" or float between -1 and 1, default="lowest_edge"
        The margin to reach: the lowest edge so far minus nu; the edge of each round minus nu; or a constant. 0 is
        AdaBoost.
    nu : float, default=0.1
        See `rho`. Where it is not less than the edge minus the lowest award, half of that is used.
    abstain : bool, default=False
        Whether every voter answers in one leaf only, and abstains elsewhere. Of `Stumps` and `Pool` the test whose
        one side has the largest edge is searched for; the best voter of another family keeps its best leaf.
    n_estimators : int, default=100
        The largest number of rounds.
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
        Per round: step, edge, error (of the voter), objective (the mean of exp(-y f)), train_error, n_voters,
        floor (the scale of the integer sums), seconds, and validation where there are validation rows. Also rho,
        and alone: 1 for a voter that ended training by line 8.
    stop_reason_ : str
        Why training ended: `n_estimators`, `no_edge` (line 10 of Figure 1: no voter has an edge above rho),
        `perfect_voter` (line 8: one has no award below rho), `validation`, `time_limit`, `callback` or
        `interrupted`.
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
    LPBoostClassifier : The largest margin by a linear program.
    AdaBoostClassifier : Discrete AdaBoost and SAMME.
    LocMedBoostRegressor : The same algorithm for numbers.
    certificate : Risk bounds of a fitted model.

    Notes
    -----
    A voter without an award below rho ends training (line 8): its step is longer than all earlier ones together, so
    that it decides where it answers. Probabilities are 1 / (1 + exp(-2 f)), for more than two classes divided by their
    sum; they are not calibrated. Where few votes can be right on all rows, the largest smallest margin is negative or
    0, and AdaBoost is the better choice.

    References
    ----------
    .. [1] B. Kegl, "Generalization error and algorithmic convergence of median boosting", NIPS 2004.
    .. [2] G. Raetsch and M. K. Warmuth, "Efficient margin maximizing with boosting", JMLR 6, 2005.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from electorate import LocMedBoostClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> LocMedBoostClassifier(rho=0.02, n_estimators=20).fit(X, y).stop_reason_
    'n_estimators'
    """

    rho: float | str = "lowest_edge"
    nu: float = 0.1
    abstain: bool = False
    scoring: str = "loss"

    _one_vs_rest = True
    _on_devices = True
    _guarantees = proved.Guarantees(proved.MEAN_EXP, proved.MARGIN_TARGET, proved.locmedboost)

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **ROUND_BY_ROUND,
        "rho": [Interval(Real, -1, 1, closed="neither"), StrOptions(set(RULES))],
        "nu": [Interval(Real, 0, None, closed="neither")],
        "abstain": ["boolean"],
    }

    def _validate_family(self) -> None:
        super()._validate_family()
        if self.abstain and not self._is_native:
            raise ValueError(
                f"abstain=True needs voters with leaves, and {type(self._family()).__name__} has none: leave it False "
                "(a column of Columns abstains where it is 0 or missing), or use Stumps, Pool, Trees or Rules"
            )

    def _booster(self, n_labels: int) -> Booster:
        rule = RULES[self.rho](float(self.nu)) if isinstance(self.rho, str) else ConstantRho(float(self.rho))
        return (LocMedBoostOfReals if self._by_rows else LocMedBoost)(n_labels, rule=rule)

    def _searching(self, bench: Any, booster: Any, past: Any) -> RhoSearch:
        search = RhoSearch(bench.family, booster, bool(self.abstain))
        search.resume(past)
        return search
