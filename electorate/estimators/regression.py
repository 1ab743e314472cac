"""What all median-voting regressors share: from the user's table to the loop and back to a fitted model.

A regressor adds its tries: boosters, and what its trees are grown by; and how the middle of the vote is chosen.
"""

import logging
import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import count
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, RegressorMixin, _fit_context
from sklearn.callback import CallbackSupportMixin
from sklearn.metrics import r2_score
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from electorate.data import inputs
from electorate.data.bins import Bins, reader
from electorate.data.seen_rows import Seen, seen_of
from electorate.data.table import Table
from electorate.data.targets import check_targets
from electorate.engines.running_median import Stage
from electorate.estimators.base import MOST_ATTEMPTS, Rows
from electorate.estimators.certified import Certified
from electorate.messages import WorkerLostError
from electorate.model.ensemble import Read
from electorate.model.median import Median, Votes
from electorate.model.regression_voters import RegressionVoters
from electorate.threads import ThreadPool, count_jobs, count_shards
from electorate.training.callbacks import Checkpoint
from electorate.training.classification import Here
from electorate.training.dask_inputs import is_dask, open_cluster, open_target_room, row_by_row
from electorate.training.fit import resume_lost, validation_seed
from electorate.training.regression import Try, fit_regressor
from electorate.training.rollback import Undoing
from electorate.training.target_worker_data import TargetOutline, TargetPlan, TargetRoom, values_of
from electorate.training.worker_data import Given
from electorate.voters.columns import Columns
from electorate.voters.instances import TakesInstances
from electorate.voters.pool import Pool
from electorate.voters.regression_trees import RegressionTrees

Array = NDArray[np.float64]
MOST_LEVELS = 6  # of a tree whose histograms are all kept; deeper ones are grown in parts
Say = Callable[[int, int], tuple[Array, Array | None]]


class BoostedRegressor(TakesInstances, Undoing, CallbackSupportMixin, Certified, RegressorMixin, BaseEstimator):
    """Subclasses set the parameters below in their constructors and define `_tries` and `_criterion`."""

    estimator: Any
    n_estimators: int
    max_bins: int | str
    categorical_features: Any
    early_stopping: bool
    validation_fraction: float
    n_iter_no_change: int
    tol: float
    warm_start: bool
    n_jobs: int | None
    random_state: Any

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012
        "estimator": [HasMethods(["fit", "predict"]), RegressionTrees, None],
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        "max_bins": [Interval(Integral, 2, 255, closed="both"), StrOptions({"exact"})],
        "categorical_features": [StrOptions({"from_dtype"}), "array-like", None],
        "early_stopping": ["boolean"],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
        "n_iter_no_change": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "warm_start": ["boolean"],
        "n_jobs": [Interval(Integral, None, -1, closed="right"), Interval(Integral, 1, None, closed="left"), None],
        "random_state": ["random_state"],
    }
    _n_shards: int | None = None  # for tests: the model must not depend on it
    _draws = False  # whether a wrapped regressor gets drawn rows instead of weights
    _ties = "upper"  # of the vote: f_0+ of eq. 7, or "lower", as scikit-learn

    # ------------------------------------------------------------ what a regressor adds

    def _tries(self, outline: TargetOutline) -> list[Try]:
        """What to run: once, or several times, to choose by rows set aside."""
        raise NotImplementedError

    def _criterion(self) -> str:
        raise NotImplementedError

    def _choose_confidences(self, bins: Bins) -> list[Any] | None:
        return None

    @property
    def _needs_validation(self) -> bool:
        """Whether some rows take no part in training."""
        return self.early_stopping

    @property
    def _functions(self) -> str | None:
        """The option that holds a function of the user's, which no file and no cluster can take."""
        return None

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
        """Fit to rows X with targets y.

        Parameters
        ----------
        X : array-like, sparse matrix or dataframe
        y : array-like of numbers
        sample_weight : array-like, optional
            A whole weight k is the row k times; rows of weight 0 are left out.
        X_val, y_val, sample_weight_val : optional
            Rows to stop and to choose by, instead of a part of X.
        """
        before = dict(self.__dict__)
        try:
            self._fit((X, y, sample_weight), (X_val, y_val, sample_weight_val))
        except BaseException:
            self._restore(before)
            raise
        return self

    def _fit(self, rows: Rows, heard: Rows) -> None:
        family = self._family()
        if isinstance(family, RegressionTrees | Pool):
            family._validate_params()
        context = self._init_callback_context(max_subtasks=None)
        self._refuse_checkpoints()
        self._refuse_rows_to_stop_by(*heard)
        going_on = self.warm_start and hasattr(self, "vote_")
        self.__dict__.pop("calibration_", None)
        fit = self._fit_there if is_dask(rows[0]) else self._fit_here
        fit(rows, None if heard[0] is None else heard, going_on, context)
        context.call_on_fit_task_end(estimator=self, X=rows[0], y=rows[1])

    def _fit_here(self, rows: Rows, heard: Rows | None, going_on: bool, context: Any) -> None:
        """Fit in this process."""
        given = self._given(*rows, reset=not going_on)
        given_val = None if heard is None else self._given(*heard, reset=False)
        jobs = count_jobs(self.n_jobs, len(given.labels) * self.n_features_in_)
        parts = [given.as_seen(rows[2])] + ([] if given_val is None or heard is None else [given_val.as_seen(heard[2])])
        with ThreadPool(jobs) as pool:
            room = TargetRoom(given, given_val, pool, self._n_shards or count_shards(jobs, len(given.labels)))
            room.X = {"train": rows[0] if self._is_native else given.table}
            if heard is not None and given_val is not None:
                room.X["heard"] = heard[0] if self._is_native else given_val.table
            try:
                self._train(Here(room), rows, heard is not None, context)  # type: ignore[arg-type]
            finally:  # also of rounds that were saved
                self.seen_ = seen_of(parts, pool).after(self if going_on else None)

    def _fit_there(self, rows: Rows, heard: Rows | None, going_on: bool, context: Any) -> None:
        """Fit on the workers of a Dask cluster; where one is lost and there is a checkpoint, on those that are left."""
        if self._functions == "confidence_by":
            raise TypeError("confidence_by is a function of X, and the rows are in a Dask collection: use 'bumps'")
        if self._by_columns:
            raise TypeError(
                "Columns needs every row in the memory of this process, and X is a Dask collection: use Pool or "
                "RegressionTrees, or fit on X.compute()"
            )
        self.seen_ = Seen(None, rows[2] is not None)
        for attempt in count(1):
            try:
                with open_cluster(self, rows, heard, reset=not going_on) as place:
                    self._train(place, rows, heard is not None, context, begin=attempt == 1)
                return
            except WorkerLostError as lost:
                if attempt == MOST_ATTEMPTS or not resume_lost(self, context):
                    raise
                logging.getLogger("electorate").warning("%s; going on without it", lost.args[0])

    def _train(self, place: Any, rows: Rows, heard: bool, context: Any, begin: bool = True) -> None:
        outline: TargetOutline = place.agree("prepare", self._plan(heard))
        if begin:
            context.max_subtasks = self.n_estimators * len(self._tries(outline))
            context.call_on_fit_task_begin(estimator=self, X=rows[0], y=rows[1])
        fit_regressor(self, place, outline, context, rows[:2])

    def _given(self, X: Any, y: Any, sample_weight: Any, reset: bool) -> Given:
        table = self._check_rows(X, reset=reset)
        n_rows = table.n_rows if self._is_native else table.shape[0]
        targets = check_targets(self, y, n_rows)
        return Given(table, targets, inputs.check_weight(sample_weight, n_rows))

    def _plan(self, heard: bool) -> TargetPlan:
        by_edge = self._is_native and self._criterion() == "edge"
        depth = getattr(self._family(), "max_depth", None) or MOST_LEVELS
        n_histograms = 2 ** (min(depth, MOST_LEVELS) - 1) + 2  # one per node that is split again, one to sum into
        n_values = 0
        if isinstance(self._family(), Pool):
            n_values = self._family().n_values
            n_histograms = n_values + 2
        plan = TargetPlan(by_edge, self.n_estimators, n_histograms, n_values)
        if not self._needs_validation or heard:
            return plan
        return replace(plan, part=self.validation_fraction, seed=validation_seed(self))

    def _refuse_checkpoints(self) -> None:
        if any(isinstance(callback, Checkpoint) for callback in getattr(self, "_skl_callbacks", [])):
            self._refuse_checkpoint()

    def _refuse_checkpoint(self) -> None:
        if self._functions is not None:
            raise TypeError(f"{self._functions} holds a function, which a checkpoint cannot: fit without Checkpoint")

    def _refuse_rows_to_stop_by(self, X: Any, y: Any, sample_weight: Any) -> None:
        if not self._needs_validation and (X is not None or y is not None):
            raise ValueError("X_val was given, but early_stopping is False: set early_stopping=True to use it")
        if self._needs_validation and ((X is None) != (y is None) or (X is None and sample_weight is not None)):
            raise ValueError(
                "X_val and y_val come together, and sample_weight_val with them: one was given without them"
            )

    def _family(self) -> Any:
        return self.estimator if self.estimator is not None else RegressionTrees()

    @property
    def _is_native(self) -> bool:
        """Whether voters are trees over bins."""
        return isinstance(self._family(), RegressionTrees | Pool)

    @property
    def _by_columns(self) -> bool:
        """Whether the columns of X are themselves the voters."""
        return isinstance(self._family(), Columns)

    def _check_rows(self, X: Any, reset: bool) -> Any:
        if self._is_native:
            return inputs.check_table(self, X, reset=reset)
        if self._by_columns:
            return inputs.check_numbers(self, X, reset=reset)
        return inputs.check_array_like(self, X, reset=reset)

    def _as_before(self, one: Try, before: Any) -> Try:
        """What to go on with after the rounds of `before`."""
        return one

    def _finer(self, one: Try) -> Iterator[Try]:
        """What to try instead, one after another, where the first voter is perfect."""
        return iter(())

    _open_room = staticmethod(open_target_room)  # on a worker

    # ------------------------------------------------------------ attributes

    @property
    def steps_(self) -> Array:
        """alpha, one per voter; infinite for one that decides alone."""
        steps = self.vote_.steps.copy()
        if self.vote_.decides:
            steps[-1] = math.inf
        return steps

    @property
    def _n_rounds(self) -> int:
        return int(self.vote_.n_voters)

    @property
    def estimator_weights_(self) -> Array:
        return self.steps_

    @property
    def estimator_errors_(self) -> Array:
        return self.history_["error"][: self.vote_.n_voters]

    @property
    def estimators_(self) -> Any:
        return RegressionVoters(self) if self._is_native or self._by_columns else list(self.vote_.fitted)

    @property
    def feature_importances_(self) -> Array:
        """The share of the steps that rests on each column."""
        check_is_fitted(self)
        return self.vote_.importances(self.n_features_in_)

    @property
    def digest_(self) -> str:
        """SHA-256 of the model: equal digests are equal models."""
        from electorate.model import regression_files

        check_is_fitted(self)
        return regression_files.digest(self)

    def save(self, path: Any) -> None:
        """Write the model to a file that `electorate.load` reads; a failed write leaves an old file as it was."""
        from electorate.model import regression_files

        check_is_fitted(self)
        regression_files.save(self, path)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "vote_")

    # ------------------------------------------------------------ prediction

    @row_by_row
    def predict(self, X: Any) -> Array:
        """The weighted median of the voters, row by row."""
        return self._ask(
            X, lambda votes: self._median(votes.lower_medians() if self._lower else votes.quantiles(0, True))
        )

    @property
    def _lower(self) -> bool:
        return self._ties == "lower"

    def _median(self, found: Array) -> Array:
        """Where nobody is sure of anything, the weighted median of the training targets."""
        return np.where(np.isfinite(found), found, self.fallback_)

    def staged_predict(self, X: Any) -> Iterator[Array]:
        """The predictions after every round; all that the voters say is held in memory."""
        for stage in self._stages(X):
            yield self._median(stage.lower_medians() if self._lower else stage.quantiles(0, True))

    def staged_score(self, X: Any, y: Any, sample_weight: Any = None) -> Iterator[float]:
        """R squared after every round."""
        for predicted in self.staged_predict(X):
            yield float(r2_score(y, predicted, sample_weight=sample_weight))

    def _ask(self, X: Any, answer: Callable[[Votes], Array]) -> Array:
        """answer(votes), row block by row block."""
        check_is_fitted(self)
        n_rows, say = self._say(X, places=True)
        out = np.full(n_rows, self.fallback_)
        if not self.vote_.n_voters:
            return out
        parts: dict[int, Array] = {}
        with ThreadPool(count_jobs(self.n_jobs, n_rows * self.vote_.n_voters)) as pool:
            self.vote_.each_block(n_rows, say, pool, lambda low, high, votes: parts.update({low: answer(votes)}))
        return np.concatenate([parts[low] for low in sorted(parts)], axis=-1) if parts else out

    def _say(self, X: Any, places: bool = False) -> tuple[int, Say]:
        """How many rows, and what voters say of some of them; places: of trees, see Median.speak."""
        checked = self._check_rows(X, reset=False)
        vote: Median = self.vote_
        native = self._is_native
        n_rows = checked.n_rows if native else checked.shape[0]
        kappas = None
        if self.confidences_:
            kappas = values_of(self.confidences_, X if native else checked, checked, n_rows)
        if native:
            return n_rows, vote.speak(self._reader(checked), kappas, places)
        return n_rows, vote.replay(checked, kappas)

    def _reader(self, table: Table) -> Read:
        return reader(table, self.bins_.categories)

    def _stages(self, X: Any) -> Iterator[Stage]:
        check_is_fitted(self)
        n_rows, say = self._say(X)
        said, sure = say(0, n_rows)
        yield from self.vote_.staged(said, sure)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        return tags
