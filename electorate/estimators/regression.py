"""What all median-voting regressors share: from the user's table to the loop and back to a fitted model.

A regressor adds its booster, what its trees are grown by, and how the middle of the vote is chosen.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, RegressorMixin, _fit_context
from sklearn.metrics import r2_score
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from electorate import kernels
from electorate.boosting.loop import Row, history_of
from electorate.boosting.medboost import MedStep
from electorate.boosting.targets import TargetOutcome, TargetSetting, boost_targets
from electorate.data.agree import alone
from electorate.data.bins import Bins, finding_bins, read_block
from electorate.data.split import drawing, hashing
from electorate.data.table import Table, refuse_infinite
from electorate.data.targets import bin_targets, check_targets, middle
from electorate.data.weights import Weights, read_weights
from electorate.engines.pool import Pool, count_jobs
from electorate.engines.shard import Examples
from electorate.engines.targets import Heard, Targets, TargetThreads
from electorate.ensemble import Read, from_casts
from electorate.estimators import inputs
from electorate.estimators.certified import Certified
from electorate.estimators.lazily import is_dask
from electorate.estimators.regression_voters import RegressionVoters
from electorate.estimators.seen import seen_of
from electorate.median import Median, Stage, Votes
from electorate.voters.regression_trees import EdgeTrees, RegressionTrees, SquaresTrees
from electorate.voters.wrapped_regressors import WrappedRegressor

Array = NDArray[np.float64]
NO_BINS = Bins([], {}, np.zeros(0, dtype=np.bool_), np.zeros(0, dtype=np.int64))
Say = Callable[[int, int], tuple[Array, Array | None]]


@dataclass(frozen=True)
class Rows:
    """The rows of a fit: X as it was given, as a table (native trees only), targets, and their weights."""

    X: Any
    table: Any
    y: Array
    weight: Array

    @property
    def read(self) -> Weights:
        return read_weights(self.weight)


@dataclass
class Bench:
    """Where models are made: bins and engines over rows that do not change between tries."""

    rows: Rows
    heard: Rows | None  # to choose by
    weights: Weights
    bins: Bins
    pool: Pool
    n_shards: int
    confidences: list[Any] | None
    fallback: float

    def engine(self, rows: Rows, labels: NDArray[np.int64], n_labels: int, n_shards: int) -> TargetThreads:
        examples = Examples(rows.table, labels, n_labels, rows.read)
        kappas = None
        if self.confidences is not None:
            kappas = evaluate(self.confidences, rows.X, rows.table, self.bins, len(rows.y))
        native = self.bins is not NO_BINS
        return TargetThreads(Targets(examples, rows.y, kappas), self.bins if native else None, self.pool, n_shards)


class BoostedRegressor(Certified, RegressorMixin, BaseEstimator):
    """Subclasses set the parameters below and define `_try`."""

    estimator: Any
    n_estimators: int
    max_bins: int | str
    categorical_features: Any
    n_jobs: int | None
    random_state: Any

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012
        "estimator": [HasMethods(["fit", "predict"]), RegressionTrees, None],
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        "max_bins": [Interval(Integral, 2, 255, closed="both"), StrOptions({"exact"})],
        "categorical_features": [StrOptions({"from_dtype"}), "array-like", None],
        "n_jobs": [Interval(Integral, None, -1, closed="right"), Interval(Integral, 1, None, closed="left"), None],
        "random_state": ["random_state"],
    }
    _n_shards: int | None = None  # for tests: the model must not depend on it
    _draws = False  # whether a wrapped regressor gets drawn rows instead of weights
    _ties = "upper"  # of the vote: f_0+ of eq. 7, or "lower", as scikit-learn

    # ------------------------------------------------------------ what a regressor adds

    def _fit_bench(self, bench: Bench) -> dict[str, Any]:
        """The attributes of the fitted model."""
        raise NotImplementedError

    def _criterion(self) -> str:
        raise NotImplementedError

    def _choose_confidences(self, bins: Bins) -> list[Any] | None:
        return None

    def _part(self) -> float | None:
        """The part of the rows to set aside."""
        return None

    # ------------------------------------------------------------ fitting

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit to rows X with targets y.

        Parameters
        ----------
        X : array-like, sparse matrix or dataframe
        y : array-like of numbers
        sample_weight : array-like, optional
            A whole weight k is the row k times; rows of weight 0 are left out.
        """
        if is_dask(X):
            raise TypeError(f"{type(self).__name__} is fitted in this process: compute the Dask collection first")
        family = self._family()
        if isinstance(family, RegressionTrees):
            family._validate_params()
        checked = self._check_rows(X, reset=True)
        native = self._is_native
        n_rows = checked.n_rows if native else checked.shape[0]
        targets = check_targets(self, y, n_rows)
        weight = inputs.check_weight(sample_weight, n_rows)
        if not np.any(weight > 0):
            raise ValueError("sample_weight is zero for every row: nothing is left to fit")
        rows = Rows(X if native else checked, checked if native else None, targets, weight)
        jobs = count_jobs(self.n_jobs, n_rows * self.n_features_in_)
        with Pool(jobs) as pool:
            fitted = self._fit_bench(self._bench(rows, pool, self._n_shards or jobs))
        for name in ("offset_", "calibration_", "best_round_"):
            self.__dict__.pop(name, None)
        self.__dict__.update(fitted)
        self.seen_ = seen_of([(checked, targets, weight)])
        return self

    def _bench(self, rows: Rows, pool: Pool, n_shards: int) -> Bench:
        heard = None
        part = self._part()
        if part is not None:
            aside = self._aside(rows, part)
            heard = replace(rows, weight=aside)
            rows = replace(rows, weight=rows.weight - aside)
        weights, bins = rows.read, NO_BINS
        if self._is_native:
            columns = inputs.category_columns(rows.table, self.categorical_features, rows.table.category_columns())
            bins = alone(finding_bins(rows.table, weights.whole, columns, self.max_bins, pool))
        confidences = self._choose_confidences(bins)
        fallback = middle(rows.y, weights.whole)
        return Bench(rows, heard, weights, bins, pool, n_shards if self._is_native else 1, confidences, fallback)

    def _aside(self, rows: Rows, part: float) -> Array:
        """The weight of every row to choose by: rows are drawn by what they hold, so their order does not matter."""
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        hashes = alone(hashing(rows.table if rows.table is not None else rows.X, seed))
        kernels.fold(rows.y, hashes)
        weights = rows.read
        times = weights.rows
        if not weights.counts_rows:
            kernels.fold(weights.shares, hashes)
        aside = alone(drawing(hashes, times, np.zeros(len(times), dtype=np.int64), 1, part, 0))
        if not aside.any() or not np.any(times - aside > 0):
            raise ValueError(
                "too few rows to set some aside to choose by (one sample is not enough): give eps and rho as numbers"
            )
        return np.asarray(rows.weight * (aside / np.maximum(times, 1)))

    def _run(self, bench: Bench, booster: Any, earning: Any = None) -> TargetOutcome:
        """One run of the loop. earning: of trees grown by the edge, a function of the targets of the bins."""
        rows, weights = bench.rows, bench.weights
        by_edge = self._is_native and self._criterion() == "edge"
        labels, values = np.zeros(len(rows.y), dtype=np.int64), np.zeros(1)
        if by_edge:
            labels, values = bin_targets(rows.y, weights.whole)
        engine = bench.engine(rows, labels, len(values), bench.n_shards)
        family: Any
        if not self._is_native:
            family = WrappedRegressor(self._family(), rows.X, rows.y, self.random_state, self._draws)
        elif by_edge:
            family = _Native(EdgeTrees(self._family(), earning(values)))
        else:
            counted = rows.y[weights.times > 0]
            low, high = float(counted.min()), float(counted.max())
            engine.want_targets(low, high)
            family = _Native(SquaresTrees(self._family(), low, high))
        watch = self._watch(bench)
        outcome = boost_targets(TargetSetting(engine, family, booster, bench.bins), self.n_estimators, watch)
        return outcome if watch is None else outcome.keep(watch.best_round)

    def _watch(self, bench: Bench) -> "Chooser | None":
        if bench.heard is None:
            return None
        rows = bench.heard
        engine = bench.engine(rows, np.zeros(len(rows.y), dtype=np.int64), 1, 1)
        return Chooser(engine, self, rows, bench.fallback)

    def _fitted(self, bench: Bench, outcome: TargetOutcome) -> dict[str, Any]:
        native = self._is_native
        steps = np.array([cast.step.size for cast in outcome.casts], dtype=np.float64)
        vote = Median(
            from_casts([outcome.casts], bench.bins, 2) if native else None,
            [] if native else [cast.voter.fitted for cast in outcome.casts],
            steps,
            np.array(outcome.kappas, dtype=np.int32),
            outcome.decides,
        )
        return {
            "vote_": vote,
            "bins_": bench.bins,
            "confidences_": list(bench.confidences or []),
            "fallback_": bench.fallback,
            "history_": history_of(outcome.rows),
            "stop_reason_": outcome.stop_reason,
            "estimator_": self._family(),
            **({"best_round_": outcome.best_round} if outcome.best_round is not None else {}),
        }

    def _family(self) -> Any:
        return self.estimator if self.estimator is not None else RegressionTrees()

    @property
    def _is_native(self) -> bool:
        return isinstance(self._family(), RegressionTrees)

    def _check_rows(self, X: Any, reset: bool) -> Any:
        if self._is_native:
            return inputs.check_table(self, X, reset=reset)
        return inputs.check_array_like(self, X, reset=reset)

    # ------------------------------------------------------------ attributes

    @property
    def steps_(self) -> Array:
        """alpha, one per voter; infinite for one that decides alone."""
        steps = self.vote_.steps.copy()
        if self.vote_.decides:
            steps[-1] = math.inf
        return steps

    @property
    def estimator_weights_(self) -> Array:
        return self.steps_

    @property
    def estimator_errors_(self) -> Array:
        return self.history_["error"][: self.vote_.n_voters]

    @property
    def estimators_(self) -> Any:
        return RegressionVoters(self) if self._is_native else list(self.vote_.fitted)

    @property
    def feature_importances_(self) -> Array:
        """The share of the steps that rests on each column."""
        check_is_fitted(self)
        return self.vote_.importances(self.n_features_in_)

    @property
    def digest_(self) -> str:
        """SHA-256 of the model: equal digests are equal models."""
        from electorate.estimators import regression_files

        check_is_fitted(self)
        return regression_files.digest(self)

    def save(self, path: Any) -> None:
        """Write the model to a file that `electorate.load` reads; a failed write leaves an old file as it was."""
        from electorate.estimators import regression_files

        check_is_fitted(self)
        regression_files.save(self, path)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "vote_")

    # ------------------------------------------------------------ prediction

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
        n_rows, say = self._say(X)
        out = np.full(n_rows, self.fallback_)
        if not self.vote_.n_voters:
            return out
        parts: dict[int, Array] = {}
        with Pool(count_jobs(self.n_jobs, n_rows * self.vote_.n_voters)) as pool:
            self.vote_.each_block(n_rows, say, pool, lambda low, high, votes: parts.update({low: answer(votes)}))
        return np.concatenate([parts[low] for low in sorted(parts)], axis=-1) if parts else out

    def _say(self, X: Any) -> tuple[int, Say]:
        checked = self._check_rows(X, reset=False)
        vote: Median = self.vote_
        native = self._is_native
        n_rows = checked.n_rows if native else checked.shape[0]
        kappas = None
        if self.confidences_:
            table = checked if native else None
            kappas = evaluate(self.confidences_, X if native else checked, table, self.bins_, n_rows)
        if native:
            return n_rows, vote.speak(self._reader(checked), kappas)
        return n_rows, vote.replay(checked, kappas)

    def _reader(self, table: Table) -> Read:
        """Blocks of a table as the trees want them: categories as codes, nothing infinite."""
        categories = self.bins_.categories

        def read(low: int, high: int) -> Array:
            block = read_block(table, categories, low, high)
            column, row = kernels.first_infinite(block)
            refuse_infinite(table, column, low + row)
            return block

        return read

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


class _Native:
    fitted_elsewhere = False

    def __init__(self, trees: Any) -> None:
        self.best = trees.best


class Chooser:
    """Listens on rows set aside: the mean absolute error of the vote after every round."""

    def __init__(self, engine: TargetThreads, model: Any, rows: Rows, fallback: float) -> None:
        self.engine = engine
        self.shard = engine.shards[0]
        self.model = model
        self.rows = rows
        self.fallback = fallback
        self.stage = Stage(len(self.shard.y), 64)
        self.best = math.inf
        self.best_round = 0
        self.number = 0

    def __call__(self, heard: Heard, step: MedStep, row: Row) -> str | None:
        self.engine.hear(heard)
        self.number += 1
        shard = self.shard
        sure = None if isinstance(shard.sure, float) else shard.sure
        units = int(np.rint(step.size * 2.0**40))
        self.stage.add(shard.said.copy(), units, sure, step.infinite)
        found = self.stage.quantiles(0.0, True)
        found = np.where(np.isfinite(found), found, self.fallback)
        weight = shard.weights.shares
        score = math.fsum(weight * np.abs(found - shard.y)) / math.fsum(weight)
        row["validation"] = score
        if score < self.best - self.model.tol or self.best_round == 0:
            self.best, self.best_round = score, self.number
        patient = self.number - self.best_round < self.model.n_iter_no_change
        return None if patient else "validation"


def evaluate(confidences: list[Any], X: Any, table: Any, bins: Bins, n_rows: int) -> Array:
    """[candidate, row] of the confidences."""

    def column(j: int) -> Array:
        if table is not None:
            return np.asarray(table.numbers(0, n_rows, [j])[0], dtype=np.float64)
        one = X[:, [j]]
        return np.asarray(one.toarray() if hasattr(one, "toarray") else one, dtype=np.float64).ravel()

    return np.stack([confidence.of(X, column, n_rows) for confidence in confidences])
