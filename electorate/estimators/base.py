"""What all boosted estimators share: from the user's table through training to a fitted model.

A classifier or regressor adds how rows are read and how votes become predictions; one file per algorithm adds its
parameters and its booster. Nothing here depends on the algorithm.
"""

import difflib
import logging
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from inspect import Parameter, signature
from itertools import count
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, is_classifier
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from electorate.cuda.arrays import is_there
from electorate.data import inputs
from electorate.data.cleaning import cleaned_target
from electorate.data.seen_rows import Seen, seen_of
from electorate.estimators.guarantees import Certified
from electorate.estimators.voting import ReadsRows
from electorate.exact import AnyArray, Floats
from electorate.export.exported import Exported
from electorate.families.monotone import is_monotone
from electorate.messages import WorkerLostError
from electorate.model import files
from electorate.modelfile import Contents
from electorate.threads import ThreadPool, count_jobs, count_shards
from electorate.training.callbacks import CallbackSupport, fit_context
from electorate.training.classification import Here
from electorate.training.dask_inputs import is_dask, open_cluster
from electorate.training.fit import resume_lost, validation_seed
from electorate.training.lazy_inputs import NotInMemoryError, is_scanned, trained_on_cpus
from electorate.training.scanned_place import open_scan
from electorate.training.scanned_rows import staged_scores
from electorate.training.worker_data import GivenRows, chosen_device, readable_errors, refuse_device

MOST_ATTEMPTS = 100  # of a fit whose workers keep getting lost
Rows = tuple[Any, Any, Any]  # X, y, sample_weight


class SavedModel(BaseEstimator):
    """A model with a file of its own."""

    @property
    def digest_(self) -> str:
        """SHA-256 of the model: equal digests are equal models."""
        check_is_fitted(self)
        return files.digest(self)

    def save(self, path: Any) -> None:
        """Write the model to a file that `electorate.load` reads; a failed write leaves an old file as it was."""
        check_is_fitted(self)
        files.save(self, path)

    def _stored_parameters(self) -> dict[str, Any]:
        """The parameters that a file holds: those that do not depend on the machine."""
        parameters = self.get_params(deep=False)
        return {name: value for name, value in parameters.items() if name not in ("device", "algorithm")}


@dataclass(eq=False, repr=False, kw_only=True)
class BoostedModel(Certified, Exported, CallbackSupport, ReadsRows, SavedModel):
    """The fields are the parameters; subclasses are dataclasses too, and add theirs."""

    estimator: Any = field(default=None, kw_only=False)
    n_estimators: int = 100
    max_bins: int | str = 255
    categorical_features: Any = "from_dtype"
    tol: float = 0.0
    n_jobs: int | None = None
    device: str = "cpu"
    random_state: Any = None

    early_stopping = False  # these two are parameters of `StopsEarly`
    warm_start = False

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "estimator": [HasMethods(["fit", "predict"]), HasMethods(["best"]), None],
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        "max_bins": [Interval(Integral, 2, 255, closed="both"), StrOptions({"exact"})],
        "categorical_features": [StrOptions({"from_dtype"}), "array-like", None],
        "tol": [Interval(Real, 0, None, closed="left")],
        "n_jobs": [Interval(Integral, None, -1, closed="right"), Interval(Integral, 1, None, closed="left"), None],
        "device": [StrOptions({"cpu", "cuda", "auto"})],
        "random_state": ["random_state"],
    }
    _keeps_monotone = False  # whether a vote of monotone voters is monotone
    _n_shards: ClassVar[int | None] = None  # for tests: the model must not depend on it
    _worker_data: ClassVar[Any]  # the class that holds the rows of one worker
    _fitted_attribute = "ensemble_"
    _on_devices = False  # whether it can be trained on a GPU, given a family over bins

    def __new__(cls, *_: Any, **parameters: Any) -> Self:
        """Refuse unknown parameters by the name of this class; a dataclass would name its base."""
        known = signature(cls.__init__).parameters
        unknown = [name for name in parameters if name not in known]
        if unknown and not any(each.kind is Parameter.VAR_KEYWORD for each in known.values()):
            close = difflib.get_close_matches(unknown[0], known, 1)
            hint = f": did you mean {close[0]!r}?" if close else ""
            raise TypeError(f"{cls.__name__} has no parameter {unknown[0]!r}{hint}")
        return super().__new__(cls)

    # ------------------------------------------------------------ what an estimator adds

    def _default_family(self) -> Any:
        raise NotImplementedError

    def _read_y(self, y: Any, n_rows: int) -> AnyArray:
        """Labels, or targets."""
        raise NotImplementedError

    def _plan(self, resumes: bool) -> Any:
        """Return the options of `prepare` of the worker data. resumes: from a fitted model."""
        raise NotImplementedError

    def _count_runs(self, outline: Any) -> int:
        """Return the number of runs of a fit."""
        raise NotImplementedError

    def _train(self, place: Any, outline: Any, context: Any, data: tuple[Any, Any]) -> None:
        raise NotImplementedError

    @property
    def _is_native(self) -> bool:
        """Whether voters are searched over bins."""
        raise NotImplementedError

    @property
    def _by_rows(self) -> bool:
        """Whether voters are of one of electorate's families that use whole rows."""
        return getattr(self._family(), "sees", "bins") == "rows"

    def _has_formulas(self) -> bool:
        """Whether kernels can compute the weights of examples."""
        return True

    @property
    def _needs_validation(self) -> bool:
        """Whether some rows take no part in training."""
        return self.early_stopping

    @property
    def _n_rounds(self) -> int:
        """The number of rounds of the fitted model."""
        return int(self.ensemble_.rounds.max(initial=0))

    def _refuse_lazy(self, X: Any) -> None:
        """Raise NotInMemoryError where voters or options need every row in the memory of this process."""
        if not self._is_native:
            raise NotInMemoryError(
                f"{type(self._family()).__name__} needs every row in one place: use Stumps or Trees", X
            )

    # ------------------------------------------------------------ fitting

    @fit_context(prefer_skip_nested_validation=True)
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
        """Fit the model.

        Parameters
        ----------
        X : array-like, sparse matrix, dataframe, Dask collection or scanned table
            Rows and columns.
        y : array-like
            Labels of a classifier, numbers of a regressor.
        sample_weight : array-like, optional
            An integer weight k equals k copies of the row; rows of weight 0 are dropped.
        X_val, y_val, sample_weight_val : optional
            Validation rows for early stopping, or to choose a parameter by, instead of a part of X.

        Returns
        -------
        self
        """
        with self._undo_on_failure():
            self._validate_family()
            refuse_device(self, trained_on_cpus(X), here=not is_dask(X))
            context = self._init_callback_context(max_subtasks=None)
            if not self._needs_validation and (X_val is not None or y_val is not None):
                raise ValueError("X_val was given, but early_stopping is False: set early_stopping=True to use it")
            if self._needs_validation and (
                (X_val is None) != (y_val is None) or (X_val is None and sample_weight_val is not None)
            ):
                raise ValueError("Pass X_val and y_val together, and sample_weight_val only with both.")
            resumes = self.warm_start and hasattr(self, self._fitted_attribute)
            if not resumes:
                self.__dict__.pop("cleaning_", None)
            rows = (X, y, sample_weight)
            validation = None if X_val is None else (X_val, y_val, sample_weight_val)
            fit = self._fit_on_cluster if is_dask(X) else self._fit_scanned if is_scanned(X) else self._fit_here
            fit(rows, validation, resumes, context)
            context.call_on_fit_task_end(estimator=self, X=X, y=y)
        return self

    def _fit_here(self, rows: Rows, validation: Rows | None, resumes: bool, context: Any) -> None:
        """Fit in this process."""
        given = [self._given(*rows, reset=not resumes)]
        if validation is not None:
            given.append(self._given(*validation, reset=False))
        n_rows = len(given[0].labels)
        jobs = count_jobs(self.n_jobs, n_rows * self.n_features_in_)
        parts = [one.as_seen(part[2]) for one, part in zip(given, (rows, validation), strict=False)]  # type: ignore[index]
        with ThreadPool(jobs) as pool:
            data = [self._worker_data(given, pool, self._n_shards or self._count_shards(jobs, n_rows))]
            if self._is_native:  # functions of X get it as it was given
                data[0].X = {"train": rows[0]} | ({} if validation is None else {"validation": validation[0]})
            del given  # weights of 1 are not kept
            data[0].device = device = chosen_device(self, n_rows * self.n_features_in_, is_there(rows[0]))
            hashing = None  # a device that has failed cannot hash rows either
            try:
                plan = self._split_plan(resumes, validation)
                with readable_errors(device):
                    self._prepare_and_train(Here(data.pop()), plan, rows, context, begins=True)
                hashing = device
            finally:  # when the shards are gone, whose memory this takes; also for rounds that were rescued
                self.seen_ = seen_of(parts, pool, hashing).after(self if resumes else None)

    def _count_shards(self, n_jobs: int, n_rows: int) -> int:
        return count_shards(n_jobs, n_rows)

    def _fit_on_cluster(self, rows: Rows, validation: Rows | None, resumes: bool, context: Any) -> None:
        """Fit on the workers of a Dask cluster; where one is lost and there is a checkpoint, on those that are left."""
        self._refuse_lazy(rows[0])
        plan = self._split_plan(resumes, validation)
        self.seen_ = Seen(None, rows[2] is not None)
        for attempt in count(1):
            try:
                with open_cluster(self, rows, validation, reset=not resumes) as place:
                    self._prepare_and_train(place, plan, rows, context, begins=attempt == 1)
                return
            except WorkerLostError as lost:
                if attempt == MOST_ATTEMPTS or not resume_lost(self, context):
                    raise
                logging.getLogger("electorate").warning("%s; continuing without it", lost.args[0])

    def _fit_scanned(self, rows: Rows, validation: Rows | None, resumes: bool, context: Any) -> None:
        """Fit to a table that is read batch by batch."""
        self._refuse_lazy(rows[0])
        plan = self._split_plan(resumes, validation)
        with open_scan(self, rows, validation, plan.seed if plan.part is not None else None, not resumes) as place:
            try:
                self._prepare_and_train(place, plan, rows, context, begins=True)
            finally:  # also for rounds that were rescued
                self.seen_ = place.seen.after(self if resumes else None)

    def _split_plan(self, resumes: bool, validation: Rows | None) -> Any:
        """The plan, with the rows to set aside unless validation rows were given."""
        return self._plan(resumes)

    def _prepare_and_train(self, place: Any, plan: Any, rows: Rows, context: Any, begins: bool) -> None:
        outline = place.all_reduce("prepare", plan)
        if begins:
            context.max_subtasks = self.n_estimators * self._count_runs(outline)
            context.call_on_fit_task_begin(estimator=self, X=rows[0], y=rows[1])
        self._train(place, outline, context, rows[:2])

    def _given(self, X: Any, y: Any, sample_weight: Any, reset: bool) -> GivenRows:
        table = self._check_rows(X, reset=reset)
        n_rows = table.n_rows if self._is_native else table.shape[0]
        y = self._read_y(y if reset else cleaned_target(self, y), n_rows)
        return GivenRows(table, y, inputs.check_weight(sample_weight, n_rows))

    def _family(self) -> Any:
        return self.estimator if self.estimator is not None else self._default_family()

    def _validate_family(self) -> None:
        family = self._family()
        if hasattr(family, "best") and hasattr(family, "_parameter_constraints"):
            family._validate_params()
        self._refuse_monotone(family)

    def _refuse_monotone(self, family: Any) -> None:
        if not self._keeps_monotone and is_monotone(family):
            raise ValueError(
                f"{type(self).__name__} does not keep trees monotone, since a step may be negative or depend on the "
                "row: leave monotonic_cst=None, or use AdaBoost, Real AdaBoost, Logistic AdaBoost, QuadBoostRegressor "
                "(without penalty and reweight), AdaBoostRegressor or MedBoostRegressor"
            )

    # ------------------------------------------------------------ the fitted model

    def staged_score(self, X: Any, y: Any, sample_weight: Any = None) -> Iterator[float]:
        """The accuracy of a classifier, R squared of a regressor, after every round."""
        if is_scanned(X):
            yield from staged_scores(self, X, y, sample_weight)
            return
        metric = accuracy_score if is_classifier(self) else r2_score
        for predicted in self.staged_predict(X):
            yield float(metric(y, predicted, sample_weight=sample_weight))

    @property
    def feature_importances_(self) -> Floats:
        """The share of the steps that belongs to splits on each column."""
        check_is_fitted(self)
        return np.asarray(self.ensemble_.importances())

    @property
    def estimator_weights_(self) -> Floats:
        """The weight of each voter."""
        return self.steps_

    def _add_seen(self, X: Any, y: AnyArray) -> None:
        """Add the rows of a calibration to those that do not count as held out."""
        if getattr(self, "seen_", None) is not None:
            self.seen_ = self.seen_.and_also(seen_of([(self._check_rows(X, reset=False), y, np.ones(len(y)))]))

    def _more_arrays(self) -> dict[str, AnyArray]:
        """Return further arrays of a model file, besides ensemble, bins and history."""
        return {}

    def _read_more(self, contents: Contents) -> None:
        """Read the arrays of `_more_arrays` from an untrusted file; ValueError if they are invalid."""

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, self._fitted_attribute)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = getattr(self._family(), "takes_missing", True)
        return tags


@dataclass(eq=False, repr=False, kw_only=True)
class StopsEarly(BoostedModel):
    """A model of rounds: it may stop early by validation rows, and a warm start adds rounds."""

    early_stopping: bool = False
    validation_fraction: float = 0.1
    n_iter_no_change: int = 10
    warm_start: bool = False

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BoostedModel._parameter_constraints,
        "early_stopping": ["boolean"],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
        "n_iter_no_change": [Interval(Integral, 1, None, closed="left")],
        "warm_start": ["boolean"],
    }

    def _split_plan(self, resumes: bool, validation: Rows | None) -> Any:
        plan = self._plan(resumes)
        if not self._needs_validation or validation is not None:
            return plan
        return replace(plan, part=self.validation_fraction, seed=validation_seed(self))
