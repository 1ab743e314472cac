"""Discrete AdaBoost and SAMME, a drop-in replacement for scikit-learn's class."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from electorate.algorithms.adaboost import AdaBoost
from electorate.algorithms.protocol import Booster
from electorate.estimators.base import BoostedClassifier
from electorate.model import decisions
from electorate.theory import training as proved


class AdaBoostClassifier(BoostedClassifier):
    """Discrete AdaBoost; SAMME for more than two classes. In the place of scikit-learn's class.

    Takes NumPy arrays, SciPy sparse matrices and dataframes (pandas, polars, pyarrow); missing values and
    categories need no preparation. The fitted model is the same to the bit for any ``n_jobs``.

    Parameters
    ----------
    estimator : a family (Stumps, Trees, Rules, ...), a scikit-learn classifier or None, default=None
        What votes: see docs/families.md. None means :class:`Stumps`.
    n_estimators : int, default=50
        The largest number of rounds.
    learning_rate : float, default=1.0
        Every step is multiplied by it. The theorems hold at 1.
    class_weight : dict, "balanced" or None, default=None
        Multiplies the sample weights by class; "balanced" gives each class the same total weight.
    max_bins : int or "exact", default=255
        Bins per column, besides one for missing values. A column with no more distinct values is searched
        exactly. "exact" uses 16 bits and is exact up to 65,534 distinct values.
    categorical_features : "from_dtype", array-like of positions, names or a mask, or None
        Columns to treat as categories. "from_dtype" takes the text, category and enum columns of a dataframe.
    early_stopping : bool, default=False
        Stop when the score on rows that take no part in training has not improved for ``n_iter_no_change`` rounds
        by more than ``tol``, and keep the rounds up to the best one.
    validation_fraction : float, default=0.1
        The part of every class set aside, unless ``fit`` is given ``X_val`` and ``y_val``. Rows are drawn by what
        they hold: their order does not matter, and a row of weight k is drawn as k rows.
    n_iter_no_change, tol : int, default=10, and float, default=0
        See ``early_stopping``.
    scoring : {"loss", "error"}, default="loss"
        The score to stop by: the mean of exp(-margin), or the error.
    warm_start : bool, default=False
        Go on from the fitted model with the same data: 50 rounds and then 100 are 100, digest for digest.
    n_jobs : int or None, default=None
        Threads. None: all CPUs this process may use, one for small work. Never changes the result.
    random_state : int, RandomState or None
        For the rows set aside, and for wrapped estimators. Stumps and trees use no randomness.

    Attributes
    ----------
    classes_, n_classes_, n_features_in_, feature_names_in_
        As in scikit-learn. ``classes_`` holds the classes of positive weight.
    estimators_ : sequence of voters
        A read-only view; each has ``predict`` and ``to_text``.
    steps_ : ndarray
        The papers' alpha, one per round.
    estimator_weights_, estimator_errors_ : ndarray
        scikit-learn's weight (twice the step) and the weighted error of each voter.
    history_ : dict of ndarray
        Per round: step, edge, error (of the voter), objective (mean exp(-margin)), train_error, n_voters, floor (of
        the grid of the sums), seconds, and validation if early stopping listens.
    stop_reason_ : str
        ``n_estimators``, ``no_edge``, ``perfect_voter``, ``validation``, ``time_limit`` or ``callback``.
    best_round_ : int
        With early stopping, the rounds kept.
    feature_importances_ : ndarray
        The share of the steps that rests on each column.
    digest_ : str
        SHA-256 of the model. Equal digests are equal models.
    seen_ : Seen
        Marks of the rows that took part, for ``certificate``; no part of the model.

    Notes
    -----
    A decision of exactly 0 is ``classes_[0]``. Ties between tests go to the first column, then the first
    threshold. ``decision_function`` and ``predict_proba`` are scikit-learn's: for two classes the votes divided by the
    sum of the weights, times 2; the probabilities are a softmax of that and not calibrated.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from electorate import AdaBoostClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = AdaBoostClassifier(n_estimators=100).fit(X, y)
    >>> model.stop_reason_
    'n_estimators'
    """

    _guarantees = proved.Guarantees(proved.MEAN_EXP, "AdaBoost: the product of Z_t", proved.adaboost, proved.edges)

    def __init__(
        self,
        estimator: Any = None,
        *,
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

    _log_odds_factor = 1.0

    def _booster(self, n_labels: int) -> Booster:
        return AdaBoost(n_labels, float(self.learning_rate))

    @property
    def estimator_weights_(self) -> NDArray[np.float64]:
        return 2 * self.ensemble_.steps

    def _decision(self, votes: NDArray[np.int64], total: float) -> NDArray[np.float64]:
        return decisions.as_samme(votes, self.n_classes_, total)

    def _probabilities(self, decision: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(softmax(decision / (self.n_classes_ - 1), axis=1))
