"""AdaBoostClassifier: discrete AdaBoost, SAMME for more than two labels, in the place of scikit-learn's class.

Parameters, methods and attributes of scikit-learn's class keep their meaning; `steps_` are the papers' alpha.
"""

from collections.abc import Iterator
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax
from sklearn.base import BaseEstimator, ClassifierMixin, _fit_context
from sklearn.metrics import accuracy_score
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from electorate import kernels
from electorate.boosting.adaboost import AdaBoost
from electorate.boosting.grid import UNITS
from electorate.boosting.loop import Outcome, boost
from electorate.data.bins import find_bins, read_block
from electorate.data.table import Table, refuse_infinite
from electorate.data.weights import read_weights
from electorate.engines.pool import Pool, count_jobs
from electorate.engines.shard import Examples
from electorate.engines.threads import Threads
from electorate.ensemble import Read, from_stumps
from electorate.estimators import files, inputs
from electorate.estimators.voter_view import Voters
from electorate.voters.stumps import Stumps


class AdaBoostClassifier(ClassifierMixin, BaseEstimator):
    """Discrete AdaBoost by native stumps; SAMME for more than two classes.

    Takes NumPy arrays, SciPy sparse matrices and dataframes (pandas, polars, pyarrow); missing values and
    categories need no preparation. The fitted model is the same to the bit for any ``n_jobs``.

    Parameters
    ----------
    estimator : Stumps or None, default=None
        The family of voters. None means :class:`Stumps`.
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
    n_jobs : int or None, default=None
        Threads. None: all CPUs this process may use, one for small work. Never changes the result.
    random_state : int, RandomState or None
        Not used by stumps, which are searched exhaustively; kept for scikit-learn's signature.

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
        Per round: step, edge, error (of the voter), objective (mean exp(-margin)), train_error, n_voters, seconds.
    stop_reason_ : str
        ``n_estimators``, ``no_edge`` or ``perfect_voter``.
    feature_importances_ : ndarray
        The share of the steps that rests on each column.
    digest_ : str
        SHA-256 of the model. Equal digests are equal models.

    Notes
    -----
    A decision of exactly 0 is ``classes_[0]``. Ties between stumps go to the first column, then the first
    threshold. ``decision_function`` and ``predict_proba`` are scikit-learn's; the probabilities are not calibrated.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from electorate import AdaBoostClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = AdaBoostClassifier(n_estimators=100).fit(X, y)
    >>> model.stop_reason_
    'n_estimators'
    """

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012
        "estimator": [Stumps, None],
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        # steps are multiples of 2^-40: a smaller rate would round them away
        "learning_rate": [Interval(Real, 2.0**-20, None, closed="left")],
        "class_weight": [dict, StrOptions({"balanced"}), None],
        "max_bins": [Interval(Integral, 2, 255, closed="both"), StrOptions({"exact"})],
        "categorical_features": [StrOptions({"from_dtype"}), "array-like", None],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        estimator: Stumps | None = None,
        *,
        n_estimators: int = 50,
        learning_rate: float = 1.0,
        class_weight: Any = None,
        max_bins: int | str = 255,
        categorical_features: Any = "from_dtype",
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.class_weight = class_weight
        self.max_bins = max_bins
        self.categorical_features = categorical_features
        self.n_jobs = n_jobs
        self.random_state = random_state

    # ------------------------------------------------------------ fitting

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit to rows X with labels y, each row counted sample_weight times."""
        before = dict(self.__dict__)
        try:
            self._fit(X, y, sample_weight)
        except BaseException:  # a failed or interrupted fit leaves the model as it was
            self.__dict__.clear()
            self.__dict__.update(before)
            raise
        return self

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> None:
        table = inputs.check_table(self, X, reset=True)
        given = inputs.check_labels(self, y, table.n_rows)
        weight = inputs.check_weight(sample_weight, table.n_rows)
        weights = read_weights(weight, inputs.class_factors(weight, given, self.class_weight))
        classes = np.unique(given[weights.times > 0])
        inputs.refuse_many(classes)
        labels = np.minimum(np.searchsorted(classes, given), len(classes) - 1).astype(np.int64)
        self._run(Examples(table, labels, len(classes), weights))
        self.classes_ = classes
        self.n_classes_ = len(classes)

    def _run(self, examples: Examples) -> None:
        """Bins, shards, rounds."""
        table, weights = examples.table, examples.weights
        booster = AdaBoost(examples.n_labels, self.learning_rate)
        categorical = inputs.category_columns(table, self.categorical_features)
        jobs = count_jobs(self.n_jobs, table.n_rows * table.n_columns)
        n_shards = self._n_shards or jobs
        inputs.refuse_too_large(self._bytes_needed(examples, booster, n_shards, 256))
        with Pool(jobs) as pool:
            bins = find_bins(table, weights.whole, categorical, self.max_bins, pool)
            if examples.n_labels == 1:
                outcome = Outcome(stop_reason="no_edge")
            else:
                inputs.refuse_too_large(self._bytes_needed(examples, booster, n_shards, bins.width))
                engine = Threads(examples, bins, pool, n_shards)
                outcome = boost(engine, self._family(), booster, bins, weights.unit, self.n_estimators)
        self.estimator_ = self._family()
        self.bins_ = bins
        self.ensemble_ = from_stumps(outcome.voters, outcome.steps, bins, examples.n_labels)
        self.history_ = outcome.history()
        self.stop_reason_ = outcome.stop_reason

    _n_shards: int | None = None  # for tests: the model must not depend on it

    def _family(self) -> Stumps:
        return self.estimator if self.estimator is not None else Stumps()

    def _bytes_needed(self, examples: Examples, booster: AdaBoost, n_shards: int, width: int) -> int:
        """Binned copy, state and working vectors of the shards, and their histograms; in Python integers."""
        columns = examples.table.n_columns + 3
        cell = 2 if self.max_bins == "exact" else 1
        vectors = booster.n_states + (9 if examples.weights.real is None else 12)
        histogram = 8 * examples.n_labels * columns * width
        return examples.table.n_rows * (cell * columns + 8 * vectors) + (n_shards + 3) * histogram

    # ------------------------------------------------------------ attributes

    @property
    def steps_(self) -> NDArray[np.float64]:
        return self.ensemble_.steps

    @property
    def estimator_weights_(self) -> NDArray[np.float64]:
        return 2 * self.ensemble_.steps

    @property
    def estimator_errors_(self) -> NDArray[np.float64]:
        return self.history_["error"]

    @property
    def estimators_(self) -> Voters:
        return Voters(self)

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        check_is_fitted(self)
        return self.ensemble_.importances(self.n_features_in_)

    @property
    def digest_(self) -> str:
        check_is_fitted(self)
        return files.digest(self)

    def save(self, path: Any) -> None:
        """Write the model to a file that `electorate.load` reads; a failed write leaves an old file as it was."""
        check_is_fitted(self)
        files.save(self, path)

    # ------------------------------------------------------------ prediction

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """As scikit-learn's: for two classes 2 f / sum of steps in [-2, 2], else one column per class."""
        check_is_fitted(self)
        table = inputs.check_table(self, X, reset=False)
        with Pool(count_jobs(self.n_jobs, table.n_rows * table.n_columns)) as pool:
            votes = self.ensemble_.votes(table.n_rows, self._reader(table), pool)
        return self._decision(votes, float(self.steps_.sum()))

    def staged_decision_function(self, X: Any) -> Iterator[NDArray[np.float64]]:
        """The decision function after every round."""
        check_is_fitted(self)
        table = inputs.check_table(self, X, reset=False)
        stages = self.ensemble_.staged_votes(table.n_rows, self._reader(table))
        for votes, total in zip(stages, np.cumsum(self.steps_), strict=True):
            yield self._decision(votes, float(total))

    def predict(self, X: Any) -> NDArray[Any]:
        """The class with the most votes; of equals, the first."""
        return self._classes_of(self.decision_function(X))

    def staged_predict(self, X: Any) -> Iterator[NDArray[Any]]:
        """The predictions after every round."""
        for decision in self.staged_decision_function(X):
            yield self._classes_of(decision)

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """scikit-learn's probabilities: a softmax of the decision function, not calibrated."""
        return self._probabilities(self.decision_function(X))

    def staged_predict_proba(self, X: Any) -> Iterator[NDArray[np.float64]]:
        """The probabilities after every round."""
        for decision in self.staged_decision_function(X):
            yield self._probabilities(decision)

    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """The logarithms of `predict_proba`."""
        return np.asarray(np.log(self.predict_proba(X)))

    def staged_score(self, X: Any, y: Any, sample_weight: Any = None) -> Iterator[float]:
        """The accuracy after every round."""
        for predicted in self.staged_predict(X):
            yield float(accuracy_score(y, predicted, sample_weight=sample_weight))

    def _reader(self, table: Table) -> Read:
        """Blocks of a table as the ensemble wants them: categories as codes, nothing infinite."""
        categories = self.bins_.categories

        def read(low: int, high: int) -> NDArray[np.float64]:
            block = read_block(table, categories, low, high)
            column, row = kernels.first_infinite(block)
            refuse_infinite(table, column, low + row)
            return block

        return read

    def _decision(self, votes: NDArray[np.int64], total: float) -> NDArray[np.float64]:
        if self.n_classes_ == 1 or total == 0:
            return np.zeros(votes.shape[1] if self.n_classes_ == 2 else (votes.shape[1], self.n_classes_))
        f = votes / (UNITS * total)
        if self.n_classes_ == 2:
            return np.asarray(2 * f[0])
        others = self.n_classes_ - 1
        return np.ascontiguousarray((f * (self.n_classes_ / others) - 1 / others).T)

    def _winner(self, decision: NDArray[np.float64]) -> NDArray[np.int64]:
        return np.asarray(decision > 0 if self.n_classes_ == 2 else np.argmax(decision, axis=1), dtype=np.int64)

    def _classes_of(self, decision: NDArray[np.float64]) -> NDArray[Any]:
        return np.asarray(self.classes_.take(self._winner(decision), axis=0))

    def _probabilities(self, decision: NDArray[np.float64]) -> NDArray[np.float64]:
        if self.n_classes_ == 1:
            return np.ones((len(decision), 1))
        if self.n_classes_ == 2:
            log_odds = np.stack([-decision, decision], axis=1) / 2
        else:
            log_odds = decision / (self.n_classes_ - 1)
        return _keep_winner(softmax(log_odds, axis=1), self._winner(decision))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        return tags


def _keep_winner(proba: NDArray[np.float64], winner: NDArray[np.int64]) -> NDArray[np.float64]:
    """Where rounding made equal what was not, the winner keeps the larger number: argmax agrees with predict."""
    lost = np.flatnonzero(np.argmax(proba, axis=1) != winner)
    proba[lost, winner[lost]] = np.nextafter(proba[lost].max(axis=1, initial=0.0), 1.0)
    return proba
