"""VadaBoost, and the choice of lam that EBBoost shares with it."""

from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from electorate.algorithms.protocol import Booster
from electorate.algorithms.vadaboost import VadaBoost
from electorate.estimators.base import StopsEarly
from electorate.estimators.classifier import BoostedClassifier, StagewiseClassifier
from electorate.exact import AnyArray
from electorate.modelfile import Contents, require
from electorate.theory import training as proved
from electorate.training.classification import validation_score
from electorate.training.fit import resumed_model

LAMS = tuple(k / 10 for k in range(11))  # that lam="auto" tries


@dataclass(eq=False, repr=False, kw_only=True)
class Penalised(BoostedClassifier, StopsEarly):
    """Base class of VadaBoost and EBBoost: lam, and its choice."""

    n_estimators: int = 50
    learning_rate: float = 1.0
    lam: float | str = 0.5
    scoring: str = "loss"

    _on_devices = True
    _one_vs_rest = True

    @property
    def _needs_validation(self) -> bool:
        return self.early_stopping or self.lam == "auto"

    def _with_lam(self, lam: float, n_labels: int) -> Booster:
        raise NotImplementedError

    def _booster(self, n_labels: int) -> Booster:
        """Return the booster; with lam="auto" one of the same kind."""
        return self._with_lam(0.5 if self.lam == "auto" else float(self.lam), n_labels)

    def _chosen_booster(self, bench: Any, group: Any, n_labels: int) -> Booster:
        """Return the booster; with lam="auto" the best on the rows set aside. A resumed model keeps its lam."""
        if self.lam != "auto":
            return self._booster(n_labels)
        run = 0 if group is None else int(np.argmax(group))
        before = resumed_model(self)
        if before is None or len(before.lam_) <= run:
            boosters = [self._with_lam(lam, n_labels) for lam in LAMS]
            parts = [1 / (left + 1) for left in range(len(LAMS), 0, -1)]  # the run with the chosen one is the last
            scores = [validation_score(bench, group, *each) for each in zip(boosters, parts, strict=True)]
            known = getattr(self, "lam_", np.empty(0)), getattr(self, "lam_scores_", np.empty((0, len(LAMS))))
            self.lam_ = np.append(known[0][:run], LAMS[int(np.argmin(scores))])
            self.lam_scores_ = np.vstack([known[1][:run], scores])
        elif before is not self:
            self.lam_, self.lam_scores_ = before.lam_, before.lam_scores_
        return self._with_lam(float(self.lam_[run]), n_labels)

    # ------------------------------------------------------------ the fitted model

    def _more_arrays(self) -> dict[str, AnyArray]:
        if self.lam != "auto" or not hasattr(self, "lam_"):
            return super()._more_arrays()
        return super()._more_arrays() | {"lam": np.asarray(self.lam_), "lam_scores": np.asarray(self.lam_scores_)}

    def _read_more(self, contents: Contents) -> None:
        super()._read_more(contents)
        if self.lam == "auto" and self.ensemble_.n_voters and "lam" not in contents.arrays:
            raise ValueError("the lam that was chosen is missing")
        if self.lam != "auto" or "lam" not in contents.arrays:
            return
        self.lam_ = np.array(require(contents, "lam", "<f8", (None,)))
        self.lam_scores_ = np.array(require(contents, "lam_scores", "<f8", (len(self.lam_), len(LAMS))))
        if len(self.lam_) != (self.n_classes_ if self.n_classes_ > 2 else 1):
            raise ValueError("lam was not chosen once for every class")
        if not np.all(np.isin(self.lam_, LAMS)):
            raise ValueError("lam was chosen among others than electorate tries")


class VadaBoostClassifier(Penalised):
    """VadaBoost: AdaBoost that also penalises the variance of the exponential loss.

    Algorithm 2 of [1]_, for any family and any scikit-learn classifier: the penalty acts through the weights alone.
    More than two classes are fitted one against the rest.

    Parameters
    ----------
    estimator : a family (Stumps, Trees, Rules, ...), a scikit-learn classifier or None, default=None
        The voters. None means :class:`Stumps`.
    lam : float from 0 to 1, or "auto", default=0.5
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
        Per round: step, edge, error (of the voter), objective (cost (3) over n^2, which falls in every round),
        train_error, n_voters, floor (the scale of the integer sums), seconds, and validation where there are
        validation rows. Also log_mean, the logarithm of the mean of exp(-y f), and mean_floor, the scale it was
        summed on.
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
    EBBoostClassifier : Ranks every voter by the penalised cost.
    AdaBoostClassifier : Discrete AdaBoost and SAMME.
    compare : Compares all algorithms on one table.
    certificate : Risk bounds of a fitted model.

    Notes
    -----
    Steps are a quarter of the log-odds (Lemma 2): at lam 0 VadaBoost takes half of AdaBoost's steps. Probabilities
    are 1 / (1 + exp(-2 f)), for more than two classes divided by their sum; they are not calibrated.

    References
    ----------
    .. [1] P. K. Shivaswamy and T. Jebara, "Variance Penalizing AdaBoost", NIPS 2011.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from electorate import VadaBoostClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> VadaBoostClassifier(lam=0.3, n_estimators=20).fit(X, y).stop_reason_
    'n_estimators'
    """

    _guarantees = proved.Guarantees(proved.COST_3, "VadaBoost paper: the mean of exp(-y f)", proved.vadaboost)

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **StagewiseClassifier._parameter_constraints,
        "lam": [Interval(Real, 0, 1, closed="both"), StrOptions({"auto"})],
    }

    def _with_lam(self, lam: float, n_labels: int) -> Booster:
        return VadaBoost(n_labels, float(self.learning_rate), lam)
