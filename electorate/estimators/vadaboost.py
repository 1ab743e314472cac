"""VadaBoost, and the choice of lam that EBBoost shares with it."""

from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval, StrOptions

from electorate.algorithms.protocol import Booster
from electorate.algorithms.vadaboost import VadaBoost
from electorate.estimators.base import BoostedClassifier, one_vs_rest_probabilities
from electorate.modelfile import Contents, require
from electorate.theory import training as proved
from electorate.training.classification import validation_score
from electorate.training.fit import resumed_model

LAMS = tuple(k / 10 for k in range(11))  # that lam="auto" tries


class Penalised(BoostedClassifier):
    """What the two share: lam, and its choice."""

    lam: Any
    learning_rate: float
    _one_vs_rest = True

    @property
    def _needs_validation(self) -> bool:
        return self.early_stopping or self.lam == "auto"

    def _with_lam(self, lam: float, n_labels: int) -> Booster:
        raise NotImplementedError

    def _booster(self, n_labels: int) -> Booster:
        """With lam="auto", one like those that it stands for."""
        return self._with_lam(0.5 if self.lam == "auto" else float(self.lam), n_labels)

    def _chosen_booster(self, bench: Any, group: Any, n_labels: int) -> Booster:
        """With lam="auto", the one whose votes are best on the rows set aside; a model that goes on keeps its lam."""
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

    def _probabilities(self, decision: NDArray[np.float64]) -> NDArray[np.float64]:
        return one_vs_rest_probabilities(decision)

    def _more_arrays(self) -> dict[str, NDArray[Any]]:
        if self.lam != "auto" or not hasattr(self, "lam_"):
            return {}
        return {"lam": np.asarray(self.lam_), "lam_scores": np.asarray(self.lam_scores_)}

    def _read_more(self, contents: Contents) -> None:
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
    """VadaBoost (Shivaswamy and Jebara): AdaBoost that also penalises the variance of the exponential loss.

    Algorithm 2 of "Variance Penalizing AdaBoost", for any family and any scikit-learn classifier: the penalty is all in
    the weights. Parameters, methods and attributes are those of :class:`AdaBoostRClassifier`, and:

    Parameters
    ----------
    lam : float from 0 to 1, or "auto", default=0.5
        The price of the variance. "auto" tries 0, 0.1, ..., 1 on the same bins and keeps the best for the rows set
        aside (``validation_fraction``, or ``X_val`` and ``y_val``), by ``scoring``: with early stopping by the best
        round of each, else by the last.

    Attributes
    ----------
    lam_, lam_scores_ : ndarray of (classes or 1,) and (classes or 1, 11)
        With "auto": what was chosen, and the scores of 0, 0.1, ..., 1.

    Notes
    -----
    Steps are a quarter of the log-odds (Lemma 2): VadaBoost at lam 0 is not AdaBoost, it takes half steps.
    ``history_["objective"]`` is cost (3) over n^2, which falls in every round; ``log_mean`` is the logarithm of the
    mean of exp(-y f), ``mean_floor`` the floor of the grid it was summed on. Probabilities are 1 / (1 + exp(-2 f)),
    for more than two classes divided by their sum; they are not calibrated.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from electorate import VadaBoostClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> VadaBoostClassifier(lam=0.3, n_estimators=20).fit(X, y).stop_reason_
    'n_estimators'
    """

    _guarantees = proved.Guarantees(proved.COST_3, "VadaBoost paper: the mean of exp(-y f)", proved.vadaboost)

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012
        **BoostedClassifier._parameter_constraints,
        "lam": [Interval(Real, 0, 1, closed="both"), StrOptions({"auto"})],
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        lam: float | str = 0.5,
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
        self.lam = lam
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

    def _with_lam(self, lam: float, n_labels: int) -> Booster:
        return VadaBoost(n_labels, float(self.learning_rate), lam)
