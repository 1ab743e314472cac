"""QuadBoost for real targets: L2Boosting with the same penalties.

Targets are brought to -1..1 by a shift and a power of two before training, and back afterwards, so that all sums stay
exact.
"""

import math
from collections.abc import Iterator
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, RegressorMixin, _fit_context, is_regressor
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.validation import check_is_fitted, column_or_1d

from electorate.boosting.grid import UNITS
from electorate.boosting.pool_rounds import Rules
from electorate.boosting.quadboost import PENALTIES
from electorate.data.agree import alone
from electorate.data.bins import finding_bins
from electorate.data.weights import Weights, read_weights
from electorate.engines.pool import Pool as ThreadPool
from electorate.engines.pool import count_jobs
from electorate.engines.shard import Examples
from electorate.engines.threads import Threads
from electorate.estimators import inputs
from electorate.estimators.base import BoostedClassifier
from electorate.estimators.certified import Certified
from electorate.estimators.quad_afresh import RowVoters
from electorate.estimators.quad_pools import Case, ColumnPool, StumpPool
from electorate.estimators.quad_training import Fitting, train
from electorate.estimators.quadboost import QuadBoostClassifier, with_voters
from electorate.estimators.room import Outline
from electorate.estimators.seen import seen_of
from electorate.voters import means
from electorate.voters.columns import Columns, RealColumns
from electorate.voters.kernel_sections import KernelSections
from electorate.voters.pool import Pool

Floats = NDArray[np.float64]


class QuadBoostRegressor(Certified, RegressorMixin, BaseEstimator):
    """Boosting of the squared error, with an L1, L2 or Linf penalty on the weights, or none.

    Parameters
    ----------
    estimator : Pool, Columns, KernelSections, a regressor or None, default=None
        What votes: None means :class:`Pool`. Voters say numbers from -1 to 1; a regressor is fitted to the residuals of
        every round and divided by the largest it says.
    penalty, lam, alpha_max, reweight, n_estimators, max_voters, tol
        As in :class:`QuadBoostClassifier`, for the mean of (y - f)^2 in the units of y.
    fit_intercept : bool, default=True
        A constant that is not penalised. On ``Pool`` and ``Columns`` it is the best one at any time, as in
        scikit-learn's Lasso and Ridge; for voters searched afresh it is the mean of y.
    max_bins, categorical_features, n_jobs, random_state
        As in :class:`QuadBoostClassifier`.

    Attributes
    ----------
    steps_ : ndarray
        The weight of each distinct voter.
    intercept_ : float
    gap_, history_, stop_reason_, moves_
        As in :class:`QuadBoostClassifier`. Without train_error; ``moves_`` is in units of ``scale_``.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from electorate import QuadBoostRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> QuadBoostRegressor(penalty="l1", lam=1.0, reweight="cyclic").fit(X, y).stop_reason_
    'n_estimators'
    """

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012
        "estimator": [HasMethods(["fit", "predict"]), HasMethods(["best"]), None],
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
        self.n_jobs = n_jobs
        self.random_state = random_state

    warm_start = False
    _n_shards: int | None = None
    _knows_errors = False
    # what a model of votes is asked for, as in the classifiers
    _is_native = BoostedClassifier._is_native
    _by_rows = BoostedClassifier._by_rows
    _check_rows = BoostedClassifier._check_rows
    _family = BoostedClassifier._family
    _votes = BoostedClassifier._votes
    _reader = BoostedClassifier._reader
    _stages = QuadBoostClassifier._stages
    _alone = QuadBoostClassifier._alone

    def _default_family(self) -> Pool:
        return Pool()

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit to rows X with numbers y; a whole weight k is the row k times."""
        self._refuse_family()
        table = self._check_rows(X, reset=True)
        n_rows = table.n_rows if self._is_native else table.shape[0]
        target = check_target(self, y, n_rows)
        weight = inputs.check_weight(sample_weight, n_rows)
        weights = read_weights(weight)
        counting = target[weights.times > 0]
        low, high = float(counting.min()), float(counting.max())
        shift = low + (high - low) / 2 if self.fit_intercept else 0.0
        reach = max(high - shift, shift - low)
        self.scale_ = 2.0 ** math.ceil(math.log2(reach)) if reach > 0 else 1.0
        scaled = np.where(weights.times > 0, (target - shift) / self.scale_, 0.0)
        examples = Examples(table, np.zeros(n_rows, dtype=np.int64), 1, weights)
        self._fit(examples, scaled, shift, (X, y))
        self.seen_ = seen_of([(table, target, weight)])
        return self

    def _refuse_family(self) -> None:
        family = self._family()
        if isinstance(family, Pool | KernelSections):
            family._validate_params()
        elif not (isinstance(family, Columns) or (hasattr(family, "fit") and is_regressor(family))):
            name = type(family).__name__
            raise ValueError(f"QuadBoostRegressor cannot boost {name}: use Pool, Columns, KernelSections, a regressor")

    def _fit(self, examples: Examples, target: Floats, shift: float, data: tuple[Any, Any]) -> None:
        nobody = np.arange(2)
        finite = isinstance(self._family(), Pool | Columns)
        first = 0.0
        if self.fit_intercept and not finite:
            first = mean_of(target, examples.weights)
            target = (target - first) / 2
            self.scale_ *= 2
        case = Case(examples, nobody[:1], None, target)
        n_counted = examples.weights.n_counted
        pool = self._pool(case)
        train(pool, [(None, None)], self, Outline(nobody, False, n_counted), None, Fitting(None, data))
        for name in ("classes_", "n_classes_"):
            del self.__dict__[name]
        self.history_.pop("train_error", None)
        for name, power in (("step", 1), ("edge", 1), ("objective", 2)):
            self.history_[name] = self.history_[name] * self.scale_**power
        self.gap_ *= self.scale_**2
        self.intercept_ = shift + self.scale_ * (self._constant(pool) if finite else first / 2)

    def _pool(self, case: Case) -> Any:
        if isinstance(self._family(), Columns):
            return ColumnPool(case)
        if not self._is_native:
            return RowVoters(self, case)
        table: Any = case.examples.table
        with ThreadPool(count_jobs(self.n_jobs, table.n_rows * table.n_columns)) as threads:
            columns = inputs.category_columns(table, self.categorical_features, table.category_columns())
            bins = alone(finding_bins(table, case.examples.weights.whole, columns, self.max_bins, threads))
            engine = Threads(case.examples, bins, threads, self._n_shards or threads.n_jobs)
            return StumpPool(self, case, bins, engine, None)

    def _constant(self, pool: Any) -> float:
        """What is left of the mean of the target when the voters have spoken."""
        said, rounds = pool.runs[-1]
        if not self.fit_intercept:
            return 0.0
        spoken = said.sums.correlate(np.ones(len(said.target)))
        both = np.concatenate([spoken, -spoken])
        return float(said.sums.mean(said.target) - math.fsum((rounds.weight * both[: len(rounds.weight)]).tolist()))

    def _rules(self, n: float, n_voters: int) -> Rules:
        """In units of the scaled target."""
        lam = self.lam / self.scale_ if self.penalty == "l1" else float(self.lam)
        most = math.inf if self.alpha_max is None else self.alpha_max / self.scale_
        penalty = PENALTIES[self.penalty](lam, most)
        return Rules(penalty, self.reweight, self.tol / self.scale_**2, self.max_voters)

    # ------------------------------------------------------------ the fitted model

    @property
    def steps_(self) -> Floats:
        """The weight of each distinct voter."""
        return np.asarray(self.ensemble_.steps * self.scale_)

    def predict(self, X: Any) -> Floats:
        check_is_fitted(self, "ensemble_")
        return np.asarray(self.intercept_ + self.scale_ * (self._votes(X)[0] / UNITS))

    def staged_predict(self, X: Any) -> Iterator[Floats]:
        """After every round; with the intercept of the last one."""
        check_is_fitted(self, "ensemble_")
        for votes in self._stages(X):
            yield self.intercept_ + self.scale_ * (votes[0] / UNITS)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        return with_voters(tags, self._family())


def check_target(model: Any, y: Any, n_rows: int) -> Floats:
    """y as finite numbers."""
    if y is None:
        raise ValueError(f"{type(model).__name__} requires y to be passed, but the target y is None")
    target = np.asarray(column_or_1d(y, warn=True))
    if target.dtype.kind == "c":
        raise ValueError("Complex data not supported: y holds complex numbers")
    target = target.astype(np.float64)
    if len(target) != n_rows:
        raise ValueError(
            f"Found input variables with inconsistent numbers of samples: X has {n_rows} rows, y {len(target)}"
        )
    bad = np.flatnonzero(~np.isfinite(target))
    if bad.size:
        kind = "infinity" if np.isinf(target[bad[0]]) else "NaN"
        raise ValueError(f"Input y contains {kind}: row {int(bad[0])}; drop such rows")
    return target


def mean_of(target: Floats, weights: Weights) -> float:
    """The exact weighted mean of numbers from -1 to 1."""
    return means.Sums(RealColumns(np.empty((len(target), 0))), weights).mean(target)
