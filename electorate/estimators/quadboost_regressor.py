"""QuadBoost for real targets: L2Boosting with the same penalties.

Targets are brought to -1..1 by a shift and a power of two before training, and back afterwards, so that all sums stay
exact.
"""

import copy
import math
from collections.abc import Iterator
from dataclasses import dataclass
from numbers import Integral, Real
from types import SimpleNamespace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, RegressorMixin, _fit_context, is_regressor
from sklearn.callback import CallbackSupportMixin
from sklearn.metrics import r2_score
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from electorate import kernels
from electorate.algorithms.quadboost import PENALTIES
from electorate.data import inputs
from electorate.data.all_reduce import run_locally
from electorate.data.bins import find_bins_steps
from electorate.data.seen_rows import seen_of
from electorate.data.split import candidate_steps, draw, hash_rows
from electorate.data.targets import check_targets
from electorate.data.weights import Weights, read_weights
from electorate.engines.memory import Threads
from electorate.engines.residuals import Residuals
from electorate.engines.shard import Examples
from electorate.estimators.base import Rows
from electorate.estimators.certified import Certified
from electorate.estimators.classifier import BoostedClassifier
from electorate.estimators.quadboost import QuadBoostClassifier, with_voters
from electorate.grid import UNITS
from electorate.model import files
from electorate.threads import ThreadPool, count_jobs
from electorate.training.dask_inputs import refuse_dask, row_by_row
from electorate.training.fit import validation_seed
from electorate.training.pool_rounds import Rules
from electorate.training.quad_pools import Case, ColumnPool, FinitePool, Patience, StumpPool
from electorate.training.quad_searches import RowVoters
from electorate.training.quad_trees import TreeVoters
from electorate.training.quadratic import Fitting, going_on_from, train
from electorate.training.rollback import Undoing
from electorate.training.run import OTHER_DATA
from electorate.training.worker_data import Outline
from electorate.voters import means
from electorate.voters.columns import Columns, RealColumns
from electorate.voters.instances import TakesInstances
from electorate.voters.kernel_sections import KernelSections
from electorate.voters.pool import Pool
from electorate.voters.regression_trees import RegressionTrees

Floats = NDArray[np.float64]
NOBODY = np.arange(2)  # there are no classes; runs of two labels are those of numbers too
SMALLEST, LARGEST = 1e-150, 1e150  # sizes of targets whose squares are normal floats
SCALED = {"step": 1, "edge": 1, "objective": 2, "train_error": 2, "validation": 2}  # powers of the scale of y


FITTED = (
    *("moves_", "ensemble_", "bins_", "history_", "gap_", "stop_reason_", "estimator_", "best_round_"),
    *("scale_", "start_", "centres_"),
)


@dataclass(frozen=True)
class Frame:
    """Targets as training sees them: ((y - shift) / scale - first) / parts, from -1 to 1; scale and parts are exact."""

    shift: float
    scale: float
    first: float = 0.0
    parts: float = 1.0

    def inside(self, y: Floats) -> Floats:
        return np.asarray(((y - self.shift) / self.scale - self.first) / self.parts)

    @property
    def unit(self) -> float:
        """Of y, what is 1 inside."""
        return self.scale * self.parts

    @property
    def middle(self) -> float:
        """Of y, what is 0 inside."""
        return self.shift + self.scale * self.first


@dataclass(frozen=True)
class Given:
    """Rows of a fit with their targets and weights; heard: the validation rows, if any."""

    table: Any
    y: Floats
    weights: Weights
    heard: "Given | None" = None

    def case(self, frame: Frame) -> Case:
        heard = None if self.heard is None else self.heard.case(frame)
        target = np.where(self.weights.times > 0, frame.inside(self.y), 0.0)
        examples = Examples(self.table, np.zeros(len(self.y), dtype=np.int64), 1, self.weights)
        return Case(examples, NOBODY[:1], heard, target)


class QuadBoostRegressor(TakesInstances, Undoing, Certified, CallbackSupportMixin, RegressorMixin, BaseEstimator):
    """Boosting of the squared error, with an L1, L2 or Linf penalty on the weights, or none.

    Parameters
    ----------
    estimator : Pool, Columns, RegressionTrees, KernelSections, a regressor or None, default=None
        What votes: None means :class:`Pool`. Voters say numbers from -1 to 1: trees, grown by least squares, and any
        regressor are fitted to the residuals of every round and divided by the largest they say.
    penalty, lam, alpha_max, reweight, n_estimators, max_voters, tol
        As in :class:`QuadBoostClassifier`, for the mean of (y - f)^2 in the units of y.
    fit_intercept : bool, default=True
        A constant that is not penalised. On ``Pool`` and ``Columns`` it is the best one at any time, as in
        scikit-learn's Lasso and Ridge; for voters searched afresh it is the mean of y.
    max_bins, categorical_features, n_jobs, random_state
        As in :class:`QuadBoostClassifier`.
    early_stopping, validation_fraction, n_iter_no_change, warm_start
        As in :class:`QuadBoostClassifier`; the score to stop by is the mean of (y - f)^2, and ``tol`` is in its units.

    Attributes
    ----------
    steps_ : ndarray
        The weight of each distinct voter.
    intercept_ : float
        ``start_``, the mean of y, less the steps times ``centres_``: what each voter says on average where the
        intercept is free, else 0.
    gap_, history_, stop_reason_, moves_, best_round_
        As in :class:`QuadBoostClassifier`. train_error is the mean of (y - f)^2, and only there where voters are
        searched afresh; ``moves_`` is in units of ``scale_``.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from electorate import QuadBoostRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> QuadBoostRegressor(penalty="l1", lam=1.0, reweight="cyclic").fit(X, y).stop_reason_
    'n_estimators'
    """

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012
        "estimator": [HasMethods(["fit", "predict"]), HasMethods(["best"]), RegressionTrees, None],
        "penalty": [StrOptions({"l1", "l2", "linf"}), None],
        "lam": [Interval(Real, 0, None, closed="left")],
        "alpha_max": [Interval(Real, 0, None, closed="neither"), None],
        "reweight": [StrOptions({"never", "cyclic", "greedy"})],
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        "max_voters": [Interval(Integral, 1, None, closed="left"), None],
        "tol": [Interval(Real, 0, None, closed="left")],
        "fit_intercept": ["boolean"],
        "max_bins": [Interval(Integral, 2, 255, closed="both"), StrOptions({"exact"})],
        "categorical_features": [StrOptions({"from_dtype"}), "array-like", None],
        **{
            name: BoostedClassifier._parameter_constraints[name]
            for name in ("early_stopping", "validation_fraction", "n_iter_no_change", "warm_start")
        },
        "n_jobs": BoostedClassifier._parameter_constraints["n_jobs"],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        penalty: str | None = None,
        lam: float = 0.01,
        alpha_max: float | None = None,
        reweight: str = "never",
        n_estimators: int = 100,
        max_voters: int | None = None,
        tol: float = 1e-6,
        fit_intercept: bool = True,
        max_bins: int | str = 255,
        categorical_features: Any = "from_dtype",
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 10,
        warm_start: bool = False,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.penalty = penalty
        self.lam = lam
        self.alpha_max = alpha_max
        self.reweight = reweight
        self.n_estimators = n_estimators
        self.max_voters = max_voters
        self.tol = tol
        self.fit_intercept = fit_intercept
        self.max_bins = max_bins
        self.categorical_features = categorical_features
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state

    _n_shards: int | None = None
    _frame_of_fit: Any = None  # while a model is fitted
    # what a model of votes is asked for, as in the classifiers
    _by_rows = BoostedClassifier._by_rows
    _check_rows = BoostedClassifier._check_rows
    _family = BoostedClassifier._family
    _votes = BoostedClassifier._votes
    _needs_validation = BoostedClassifier._needs_validation
    _refuse_validation_rows = BoostedClassifier._refuse_validation_rows
    _reader = BoostedClassifier._reader
    _stages = QuadBoostClassifier._stages
    _alone = QuadBoostClassifier._alone

    def _default_family(self) -> Pool:
        return Pool()

    @property
    def _is_native(self) -> bool:
        return isinstance(self._family(), Pool | RegressionTrees)

    @property
    def _is_finite(self) -> bool:
        return isinstance(self._family(), Pool | Columns)

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
        """Fit to rows X with numbers y.

        Parameters
        ----------
        X : array-like, sparse matrix or dataframe
        y : array-like of numbers
        sample_weight : array-like, optional
            An integer weight k equals k copies of the row; rows of weight 0 are dropped.
        X_val, y_val, sample_weight_val : optional
            Validation rows for early stopping, instead of a part of X.
        """
        self._validate_family()
        refuse_dask(self, X, X_val)
        self._refuse_validation_rows(X_val, y_val, sample_weight_val)
        before = dict(self.__dict__)
        try:
            context = self._init_callback_context(max_subtasks=self.n_estimators)
            context.call_on_fit_task_begin(estimator=self, X=X, y=y)
            heard = None if X_val is None else (X_val, y_val, sample_weight_val)
            given = self._given((X, y, sample_weight), heard)
            self._train(given, self._frame(given), Fitting(context, (X, y)))
            context.call_on_fit_task_end(estimator=self, X=X, y=y)
        except BaseException:
            self._restore(before)
            raise
        parts: list[tuple[Any, NDArray[Any], Floats | None]] = [
            (given.table, given.y, inputs.check_weight(sample_weight, len(given.y)))
        ]
        if heard is not None and given.heard is not None:
            parts.append((given.heard.table, given.heard.y, inputs.check_weight(heard[2], len(given.heard.y))))
        seen = seen_of(parts)
        self.seen_ = seen.after(self if self.warm_start and "ensemble_" in before else None)
        return self

    def _validate_family(self) -> None:
        family = self._family()
        if isinstance(family, Pool | KernelSections | RegressionTrees):
            family._validate_params()
        elif not (isinstance(family, Columns) or (hasattr(family, "fit") and is_regressor(family))):
            raise ValueError(
                f"QuadBoostRegressor cannot boost {type(family).__name__}: use Pool, Columns, RegressionTrees, "
                "KernelSections, a regressor"
            )
        if getattr(family, "criterion", "") == "edge" and isinstance(family, RegressionTrees):
            raise ValueError("QuadBoostRegressor grows trees by least squares: use RegressionTrees(criterion='auto')")

    def _given(self, rows: Rows, heard: Rows | None) -> Given:
        """Return the training rows with the validation rows: those given, or a part set aside."""
        table, target, weight = self._read(rows, reset=not (self.warm_start and hasattr(self, "ensemble_")))
        weights = read_weights(weight)
        if heard is not None:
            table_val, target_val, weight_val = self._read(heard, reset=False)
            return Given(table, target, weights, Given(table_val, target_val, read_weights(weight_val)))
        if not self.early_stopping:
            return Given(table, target, weights)
        aside = set_aside(table, target, weights, self.validation_fraction, validation_seed(self))
        drawn = weight * aside / np.maximum(weights.rows, 1)  # in this order, whole weights stay whole
        return Given(table, target, read_weights(weight - drawn), Given(table, target, read_weights(drawn)))

    def _read(self, rows: Rows, reset: bool) -> tuple[Any, Floats, Floats]:
        X, y, sample_weight = rows
        table = self._check_rows(X, reset=reset)
        n_rows = table.n_rows if self._is_native else table.shape[0]
        return table, check_targets(self, y, n_rows), inputs.check_weight(sample_weight, n_rows)

    def _frame(self, given: Given) -> Frame:
        """Targets that count come to lie from -1 to 1; for voters searched afresh, around their mean."""
        counting = given.y[given.weights.times > 0]
        low, high = float(counting.min()), float(counting.max())
        shift = low + (high - low) / 2 if self.fit_intercept else 0.0
        reach = max(high - shift, shift - low)
        if not (reach == 0 or SMALLEST <= reach <= LARGEST):
            raise ValueError(
                f"y has values as far as {reach:.3g} from {'their middle' if self.fit_intercept else '0'}, and "
                "squares of such numbers are outside the range of float64: multiply y by a power of ten so that it "
                f"lies between {SMALLEST:.0e} and {LARGEST:.0e}"
            )
        frame = Frame(shift, 2.0 ** math.ceil(math.log2(reach)) if reach > 0 else 1.0)
        if self._is_finite or not self.fit_intercept:
            return frame
        inside = np.where(given.weights.times > 0, frame.inside(given.y), 0.0)
        return Frame(frame.shift, frame.scale, mean_of(inside, given.weights), 2.0)

    def _train(self, given: Given, frame: Frame, fitting: Fitting) -> None:
        before = going_on_from(self)
        past = None if before is None else as_trained(before, frame)
        inner = copy.copy(self)  # rounds are told to this one: nothing of the model changes before all is done
        inner.scale_, inner._frame_of_fit = frame.unit, frame
        with ThreadPool(count_jobs(self.n_jobs, len(given.y) * self.n_features_in_)) as threads:
            pool = self._pool(inner, given, frame, threads)
            if past is not None and not before.bins_.same_as(pool.made([[]], inner, NOBODY)["bins_"]):
                raise ValueError(OTHER_DATA.format("their bins differ"))
            outline = Outline(NOBODY, given.heard is not None, given.weights.n_counted)
            try:
                train(pool, [(None, None)], inner, outline, past, fitting)
            except Exception:
                if inner.__dict__.get("_rescued"):  # the rounds before the one that failed
                    self._take(inner, _rescued=True)
                raise
        self._take(inner)

    def _take(self, inner: Any, **more: Any) -> None:
        self.__dict__.pop("best_round_", None)
        self.__dict__.update({name: inner.__dict__[name] for name in FITTED if name in inner.__dict__}, **more)

    def _pool(self, inner: Any, given: Given, frame: Frame, threads: ThreadPool) -> Any:
        case = given.case(frame)
        if isinstance(self._family(), Columns):
            return ColumnPool(case)
        if not self._is_native:
            return RowVoters(inner, case)
        columns = inputs.category_columns(given.table, self.categorical_features, given.table.category_columns())
        bins = run_locally(find_bins_steps(given.table, given.weights.whole, columns, self.max_bins, threads))
        n_shards = self._n_shards or threads.n_jobs
        cases = [case] if case.validation is None else [case, case.validation]
        if isinstance(self._family(), Pool):
            engines = [Threads(one.examples, bins, threads, n_shards) for one in cases]
            return StumpPool(inner, case, bins, engines[0], engines[1] if len(cases) > 1 else None)
        rows = [Residuals(c.examples, c.target, bins, threads, n_shards) for c in cases if c.target is not None]
        return TreeVoters(inner, bins, rows[0], rows[1] if len(cases) > 1 else None)

    def _as_told(self, made: dict[str, Any], pool: Any) -> dict[str, Any]:
        """What training made, in the units of y."""
        frame: Frame = self._frame_of_fit
        fitted = {name: made[name] for name in FITTED if name in made}
        names = [name for name in made["history_"] if self._knows_errors or name != "train_error"]
        fitted["history_"] = {name: made["history_"][name] * frame.unit ** SCALED.get(name, 0) for name in names}
        fitted["gap_"] = made["gap_"] * frame.unit**2
        fitted["scale_"] = frame.unit
        centring = pool.centring(self) if isinstance(pool, FinitePool) else None
        numbers = fitted["moves_"].voters(None)
        fitted["start_"] = frame.middle if centring is None else frame.middle + frame.unit * centring.target
        fitted["centres_"] = np.zeros(len(numbers)) if centring is None else centring.said[numbers]
        return fitted

    @property
    def _knows_errors(self) -> bool:
        """Whether every round knows its training error."""
        return not self._is_finite

    @property
    def _patience(self) -> Patience:
        return Patience("loss", self.tol / self.scale_**2, self.n_iter_no_change)

    def _rules(self, n: float, n_voters: int) -> Rules:
        """In units of the scaled target."""
        unit = self.scale_
        lam = self.lam / unit if self.penalty == "l1" else float(self.lam)
        most = math.inf if self.alpha_max is None else self.alpha_max / unit
        return Rules(PENALTIES[self.penalty](lam, most), self.reweight, self.tol / unit**2, self.max_voters)

    # ------------------------------------------------------------ the fitted model

    @property
    def steps_(self) -> Floats:
        """The weight of each distinct voter."""
        return np.asarray(self.ensemble_.steps * self.scale_)

    @property
    def intercept_(self) -> float:
        return self.start_ - math.fsum((self.steps_ * self.centres_).tolist())

    @property
    def feature_importances_(self) -> Floats:
        """The share of the steps that rests on each column."""
        check_is_fitted(self, "ensemble_")
        return np.asarray(self.ensemble_.importances())

    @property
    def digest_(self) -> str:
        """SHA-256 of the model: equal digests are equal models."""
        check_is_fitted(self, "ensemble_")
        return files.digest(self)

    def save(self, path: Any) -> None:
        """Write the model to a file that `electorate.load` reads; a failed write leaves an old file as it was."""
        check_is_fitted(self, "ensemble_")
        files.save(self, path)

    @row_by_row
    def predict(self, X: Any) -> Floats:
        """Return the predicted target of every row; a lazy array for a Dask collection."""
        check_is_fitted(self, "ensemble_")
        return np.asarray(self.intercept_ + self.scale_ * (self._votes(X)[0] / UNITS))

    def staged_predict(self, X: Any) -> Iterator[Floats]:
        """After every round, as a model of so many rounds would."""
        check_is_fitted(self, "ensemble_")
        weight: dict[int, float] = {}
        for votes, turn in zip(self._stages(X), self.moves_.changes(), strict=True):
            weight |= {place: new for place, _, new in turn}
            said = math.fsum(new * self.scale_ * float(self.centres_[place]) for place, new in weight.items())
            yield (self.start_ - said) + self.scale_ * (votes[0] / UNITS)

    def staged_score(self, X: Any, y: Any, sample_weight: Any = None) -> Iterator[float]:
        """R squared after every round."""
        for predicted in self.staged_predict(X):
            yield float(r2_score(y, predicted, sample_weight=sample_weight))

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "ensemble_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        return with_voters(tags, self._family())


def as_trained(before: Any, frame: Frame) -> SimpleNamespace:
    """A fitted model as training knows it, to go on from; refused if it was made of other targets."""
    if before.scale_ != frame.unit:
        raise ValueError(OTHER_DATA.format(f"the targets were in units of {before.scale_:g}, now {frame.unit:g}"))
    history = {name: column / frame.unit ** SCALED.get(name, 0) for name, column in before.history_.items()}
    return SimpleNamespace(
        moves_=before.moves_, ensemble_=before.ensemble_, history_=history, _knows_errors=before._knows_errors
    )


def set_aside(table: Any, y: Floats, weights: Weights, part: float, seed: int) -> NDArray[np.int64]:
    """How many of the rows that each stands for to stop by: drawn by what they hold, whatever their order."""
    hashes = hash_rows(table, seed)
    kernels.fold(y, hashes)
    aside = draw(run_locally(candidate_steps(hashes, weights)), part)
    if not aside.any() or not np.any(weights.rows > aside):
        raise ValueError("too few rows to set some aside: early_stopping=True needs more than one sample")
    return aside


def mean_of(target: Floats, weights: Weights) -> float:
    """The exact weighted mean of numbers from -1 to 1."""
    return means.Sums(RealColumns(np.empty((len(target), 0))), weights).mean(target)
