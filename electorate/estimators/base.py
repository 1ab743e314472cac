"""What all boosted classifiers share: from the user's table to the loop and back to a fitted model.

A classifier adds its booster and how votes become decisions and probabilities; nothing here knows the algorithm.
"""

import logging
from collections.abc import Iterator
from itertools import count
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin, _fit_context
from sklearn.callback import CallbackSupportMixin
from sklearn.metrics import accuracy_score
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from electorate.algorithms.protocol import Booster
from electorate.data import inputs
from electorate.data.bins import reader
from electorate.data.seen_rows import Seen, seen_of
from electorate.data.table import Table
from electorate.estimators.certified import Certified
from electorate.messages import WorkerLostError
from electorate.model import decisions, files
from electorate.model.ensemble import Read
from electorate.model.voter_view import RowVoter, Voters
from electorate.modelfile import Contents
from electorate.threads import ThreadPool, count_jobs, count_shards
from electorate.training import classification
from electorate.training.dask_inputs import is_dask, open_cluster, row_by_row
from electorate.training.fit import resume_lost, validation_seed
from electorate.training.rollback import Undoing
from electorate.training.worker_data import Given, Outline, Plan, Room
from electorate.voters.instances import TakesInstances
from electorate.voters.trees import Stumps

MOST_ATTEMPTS = 100  # of a fit whose workers keep getting lost
FEW_CLASSES = 100  # up to that many, predict holds the votes of all rows at once
VOTES_AT_ONCE = 2**20
Rows = tuple[Any, Any, Any]  # X, y, sample_weight


class BoostedClassifier(TakesInstances, Undoing, Certified, CallbackSupportMixin, ClassifierMixin, BaseEstimator):
    """Subclasses set the parameters below in their constructors and define `_booster` and `_probabilities`."""

    estimator: Any
    n_estimators: int
    class_weight: Any
    max_bins: int | str
    categorical_features: Any
    early_stopping: bool
    validation_fraction: float
    n_iter_no_change: int
    tol: float
    scoring: str
    warm_start: bool
    n_jobs: int | None
    random_state: Any

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012
        "estimator": [HasMethods(["fit", "predict"]), HasMethods(["best"]), None],
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        # steps are multiples of 2^-40: a smaller rate would round them away
        "learning_rate": [Interval(Real, 2.0**-20, None, closed="left")],
        "class_weight": [dict, StrOptions({"balanced"}), None],
        "max_bins": [Interval(Integral, 2, 255, closed="both"), StrOptions({"exact"})],
        "categorical_features": [StrOptions({"from_dtype"}), "array-like", None],
        "early_stopping": ["boolean"],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
        "n_iter_no_change": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "scoring": [StrOptions({"loss", "error"})],
        "warm_start": ["boolean"],
        "n_jobs": [Interval(Integral, None, -1, closed="right"), Interval(Integral, 1, None, closed="left"), None],
        "random_state": ["random_state"],
    }

    # ------------------------------------------------------------ what a classifier adds

    _history_columns = frozenset({"step", "edge", "error", "n_voters", "seconds"})  # that a model file must hold
    _one_vs_rest = False  # one binary problem per class, where the algorithm knows only two labels

    def _booster(self, n_labels: int) -> Booster:
        raise NotImplementedError

    def _chosen_booster(self, bench: Any, group: Any, n_labels: int) -> Booster:
        """The booster of a run, where it takes other runs to choose it."""
        return self._booster(n_labels)

    def _searching(self, bench: Any, booster: Any, past: Any) -> Any:
        """The family as this algorithm searches it."""
        return bench.family

    @property
    def _needs_validation(self) -> bool:
        """Whether some rows take no part in training."""
        return self.early_stopping

    def _default_family(self) -> Any:
        return Stumps()

    def _decision(self, votes: NDArray[np.int64], total: float) -> NDArray[np.float64]:
        """total: of the steps."""
        return decisions.plain(votes, self.n_classes_, total)

    _log_odds_factor = 2.0  # of two classes: how the decision becomes log-odds

    def _probabilities(self, decision: NDArray[np.float64]) -> NDArray[np.float64]:
        """Of more than two classes."""
        raise NotImplementedError

    # ------------------------------------------------------------ fitting

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        X_val: Any = None,
        y_val: Any = None,
        sample_weight_val: Any = None,
    ) -> Self:
        """Fit to rows X with labels y.

        Parameters
        ----------
        X : array-like, sparse matrix or dataframe
        y : array-like of labels
        sample_weight : array-like, optional
            A whole weight k is the row k times; rows of weight 0 are left out.
        X_val, y_val, sample_weight_val : optional
            Rows to stop by when ``early_stopping=True``, instead of a part of X.
        """
        before = dict(self.__dict__)
        try:
            self._fit(X, y, sample_weight, X_val, y_val, sample_weight_val)
        except BaseException:
            self._restore(before)
            raise
        return self

    def _fit(self, X: Any, y: Any, sample_weight: Any, X_val: Any, y_val: Any, sample_weight_val: Any) -> None:
        self._validate_family()
        context = self._init_callback_context(max_subtasks=None)
        going_on = self.warm_start and hasattr(self, "ensemble_")
        self._refuse_rows_to_stop_by(X_val, y_val, sample_weight_val)
        rows = (X, y, sample_weight)
        heard = None if X_val is None else (X_val, y_val, sample_weight_val)
        fit = self._fit_there if is_dask(X) else self._fit_here
        fit(rows, heard, going_on, context)
        context.call_on_fit_task_end(estimator=self, X=X, y=y)

    def _fit_here(self, rows: Rows, heard: Rows | None, going_on: bool, context: Any) -> None:
        """Fit in this process."""
        given = self._given(*rows, reset=not going_on)
        given_val = None if heard is None else self._given(*heard, reset=False)
        n_rows = given.table.n_rows if self._is_native else given.table.shape[0]
        jobs = count_jobs(self.n_jobs, n_rows * self.n_features_in_)
        parts = [given.as_seen(rows[2])] + ([] if given_val is None or heard is None else [given_val.as_seen(heard[2])])
        with ThreadPool(jobs) as pool:
            rooms = [Room(given, given_val, pool, self._n_shards or count_shards(jobs, n_rows))]
            del given, given_val  # weights of 1 are not kept
            try:
                self._fit_in(rooms.pop(), self._plan(going_on, heard is not None), rows, context)
            finally:  # when the shards are gone, whose memory this takes; also of rounds that were saved
                self.seen_ = seen_of(parts, pool).after(self if going_on else None)

    def _fit_in(self, room: Room, plan: Plan, rows: Rows, context: Any) -> None:
        place = classification.Here(room)
        outline = self._begin(place, plan, rows, context)
        self._train(place, outline, context, rows[:2])

    def _fit_there(self, rows: Rows, heard: Rows | None, going_on: bool, context: Any) -> None:
        """Fit on the workers of a Dask cluster; where one is lost and there is a checkpoint, on those that are left."""
        plan = self._plan(going_on, heard is not None)
        self.seen_ = Seen(None, rows[2] is not None)
        for attempt in count(1):
            try:
                with open_cluster(self, rows, heard, reset=not going_on) as place:
                    outline = self._begin(place, plan, rows, context if attempt == 1 else None)
                    self._train(place, outline, context, rows[:2])
                return
            except WorkerLostError as lost:
                if attempt == MOST_ATTEMPTS or not resume_lost(self, context):
                    raise
                logging.getLogger("electorate").warning("%s; going on without it", lost.args[0])

    def _train(self, place: Any, outline: Outline, context: Any, data: tuple[Any, Any]) -> None:
        classification.fit_classifier(self, place, outline, context, data)

    def _begin(self, place: classification.Place, plan: Plan, rows: Rows, context: Any) -> Outline:
        outline: Outline = place.agree("prepare", plan)
        if context is not None:
            context.max_subtasks = self.n_estimators * len(classification.groups_of(self, outline.classes))
            context.call_on_fit_task_begin(estimator=self, X=rows[0], y=rows[1])
        return outline

    def _validate_family(self) -> None:
        if hasattr(self._family(), "best") and hasattr(self._family(), "_parameter_constraints"):
            self._family()._validate_params()

    @property
    def _is_native(self) -> bool:
        """Whether voters are searched over bins; other estimators are fitted anew every round."""
        return hasattr(self._family(), "best") and not self._by_rows

    @property
    def _by_rows(self) -> bool:
        """Whether voters look at whole rows."""
        return getattr(self._family(), "sees", "bins") == "rows"

    def _check_rows(self, X: Any, reset: bool) -> Any:
        """X as a table, as numbers, or for a wrapped estimator as scikit-learn's AdaBoost would give it."""
        if self._is_native:
            return inputs.check_table(self, X, reset=reset)
        if self._by_rows:
            return inputs.check_numbers(self, X, reset=reset)
        return inputs.check_array_like(self, X, reset=reset)

    def _family(self) -> Any:
        return self.estimator if self.estimator is not None else self._default_family()

    def _given(self, X: Any, y: Any, sample_weight: Any, reset: bool) -> Given:
        table = self._check_rows(X, reset=reset)
        n_rows = table.n_rows if self._is_native else table.shape[0]
        labels = inputs.check_labels(self, y, n_rows)
        return Given(table, labels, inputs.check_weight(sample_weight, n_rows))

    def _refuse_rows_to_stop_by(self, X: Any, y: Any, sample_weight: Any) -> None:
        if not self._needs_validation and (X is not None or y is not None):
            raise ValueError("X_val was given, but early_stopping is False: set early_stopping=True to use it")
        if self._needs_validation and ((X is None) != (y is None) or (X is None and sample_weight is not None)):
            raise ValueError(
                "X_val and y_val come together, and sample_weight_val with them: one was given without them"
            )

    def _plan(self, going_on: bool, heard: bool) -> Plan:
        """What to make of the rows; when going on, with the classes there were."""
        classes = self.classes_ if going_on else None
        if not self._needs_validation or heard:
            return Plan(self.class_weight, classes)
        return Plan(self.class_weight, classes, self.validation_fraction, validation_seed(self))

    _n_shards: int | None = None  # for tests: the model must not depend on it

    # ------------------------------------------------------------ attributes

    @property
    def steps_(self) -> NDArray[np.float64]:
        """The papers' alpha, one per voter."""
        return self.ensemble_.steps

    @property
    def _n_rounds(self) -> int:
        return int(self.ensemble_.rounds.max(initial=0))

    @property
    def estimator_weights_(self) -> NDArray[np.float64]:
        return self.ensemble_.steps

    @property
    def estimator_errors_(self) -> NDArray[np.float64]:
        history, ensemble = self.history_, self.ensemble_
        if "label" not in history:
            return history["error"][: ensemble.n_voters]
        kept = np.bincount(ensemble.about, minlength=self.n_classes_)  # of each class, the first so many rounds
        return history["error"][history["n_voters"] <= kept[history["label"].astype(np.int64)]]

    @property
    def estimators_(self) -> Any:
        if self._by_rows:
            return [RowVoter(self, number) for number in range(self.ensemble_.n_voters)]
        return Voters(self) if self._is_native else list(self.ensemble_.fitted)

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        check_is_fitted(self)
        return self.ensemble_.importances()

    @property
    def digest_(self) -> str:
        """SHA-256 of the model: equal digests are equal models."""
        check_is_fitted(self)
        return files.digest(self)

    def save(self, path: Any) -> None:
        """Write the model to a file that `electorate.load` reads; a failed write leaves an old file as it was."""
        check_is_fitted(self)
        files.save(self, path)

    def _kept_parameters(self) -> dict[str, Any]:
        """What a file keeps of the parameters."""
        return dict(self.get_params(deep=False))

    def _more_arrays(self) -> dict[str, NDArray[Any]]:
        """What a model file holds beside the ensemble, the bins and the history."""
        return {}

    def _read_more(self, contents: Contents) -> None:
        """Back again, from a file that is not trusted: ValueError for what `_more_arrays` cannot have written."""

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "ensemble_")

    # ------------------------------------------------------------ prediction

    @row_by_row
    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """The votes: one number per row for two classes, positive for the second; else a column per class."""
        check_is_fitted(self)
        return self._decision(self._votes(X), self._total_step())

    def staged_decision_function(self, X: Any) -> Iterator[NDArray[np.float64]]:
        """The decision function after every round."""
        check_is_fitted(self)
        totals = np.cumsum(np.abs(self.steps_))
        for n_voters, votes in self._staged_votes(X):
            yield self._decision(votes, float(totals[n_voters - 1]))

    def _total_step(self) -> float:
        """The sum of all steps, by which decisions are divided where a booster does so."""
        return float(np.abs(self.steps_).sum())

    def _votes(self, X: Any) -> NDArray[np.int64]:
        table = self._check_rows(X, reset=False)
        if not self._is_native:
            return self.ensemble_.votes(table)
        with ThreadPool(count_jobs(self.n_jobs, table.n_rows * table.n_columns)) as pool:
            return self.ensemble_.votes(table.n_rows, self._reader(table), pool)

    def _votes_in_blocks(self, X: Any) -> Iterator[NDArray[np.int64]]:
        """Yield the votes of successive blocks of rows, of up to VOTES_AT_ONCE votes each."""
        table = self._check_rows(X, reset=False)
        native = self._is_native
        n_rows = table.n_rows if native else table.shape[0]
        at_once = max(1, VOTES_AT_ONCE // self.n_classes_)
        jobs = count_jobs(self.n_jobs, n_rows * table.n_columns) if native else 1
        with ThreadPool(jobs) as pool:
            for low in range(0, n_rows, at_once):
                high = min(low + at_once, n_rows)
                if native:
                    yield self.ensemble_.votes(high - low, _shifted(self._reader(table), low), pool)
                else:
                    yield self.ensemble_.votes(table[low:high])

    def _staged_votes(self, X: Any) -> Iterator[tuple[int, NDArray[np.int64]]]:
        table = self._check_rows(X, reset=False)
        if not self._is_native:
            return self.ensemble_.staged_votes(table)
        return self.ensemble_.staged_votes(table.n_rows, self._reader(table))

    @row_by_row
    def predict(self, X: Any) -> NDArray[Any]:
        """The class with the most votes; of equals, the first."""
        check_is_fitted(self)
        if self.n_classes_ <= FEW_CLASSES:
            return self._classes_of(self.decision_function(X))
        total = self._total_step()
        blocks = [self._classes_of(self._decision(votes, total)) for votes in self._votes_in_blocks(X)]
        return np.concatenate(blocks)

    def staged_predict(self, X: Any) -> Iterator[NDArray[Any]]:
        """The predictions after every round."""
        for decision in self.staged_decision_function(X):
            yield self._classes_of(decision)

    @row_by_row
    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Probabilities of the classes; not calibrated."""
        return self._checked_probabilities(self.decision_function(X))

    def staged_predict_proba(self, X: Any) -> Iterator[NDArray[np.float64]]:
        """The probabilities after every round."""
        for decision in self.staged_decision_function(X):
            yield self._checked_probabilities(decision)

    @row_by_row
    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """The logarithms of `predict_proba`."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.predict_proba(X)))

    def staged_score(self, X: Any, y: Any, sample_weight: Any = None) -> Iterator[float]:
        """The accuracy after every round."""
        for predicted in self.staged_predict(X):
            yield float(accuracy_score(y, predicted, sample_weight=sample_weight))

    def _reader(self, table: Table) -> Read:
        return reader(table, self.bins_.categories)

    def _classes_of(self, decision: NDArray[np.float64]) -> NDArray[Any]:
        best = decision > 0 if self.n_classes_ == 2 else np.argmax(decision, axis=1)
        return np.asarray(self.classes_.take(best, axis=0))

    def _checked_probabilities(self, decision: NDArray[np.float64]) -> NDArray[np.float64]:
        if self.n_classes_ == 1:
            return np.ones((len(decision), 1))
        if self.n_classes_ == 2:
            return _two_probabilities(expit(self._log_odds_factor * decision), decision)
        return _keep_winner(self._probabilities(decision), decision)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = getattr(self._family(), "takes_missing", True)
        return tags


def _shifted(read: Read, by: int) -> Read:
    """Return a reader of the rows after the first `by`."""
    return lambda low, high: read(low + by, high + by)


def _two_probabilities(second: NDArray[np.float64], decision: NDArray[np.float64]) -> NDArray[np.float64]:
    """Both probabilities; where rounding made a positive decision an even chance, the second stays the larger."""
    np.maximum(second, np.nextafter(0.5, 1.0), out=second, where=decision > 0)
    proba = np.empty((len(second), 2))
    proba[:, 1] = second
    np.subtract(1.0, second, out=proba[:, 0])
    return proba


def _keep_winner(proba: NDArray[np.float64], decision: NDArray[np.float64]) -> NDArray[np.float64]:
    """Where rounding made equal what was not, the winner keeps the larger number: argmax agrees with predict."""
    winner = np.argmax(decision, axis=1)
    lost = np.flatnonzero(np.argmax(proba, axis=1) != winner)
    proba[lost, winner[lost]] = np.nextafter(proba[lost].max(axis=1, initial=0.0), 2.0)
    return proba


def one_vs_rest_probabilities(decision: NDArray[np.float64]) -> NDArray[np.float64]:
    """1 / (1 + exp(-2 f)) of each class, divided by their sum; for two classes the sum is 1."""
    alone = expit(2 * decision)
    total = alone.sum(axis=1, keepdims=True)
    return np.asarray(np.divide(alone, total, out=np.full_like(alone, 1 / alone.shape[1]), where=total > 0))
