"""What all median-voting regressors share: targets, candidates, and the weighted median of the votes."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils._param_validation import HasMethods
from sklearn.utils.validation import check_is_fitted

from electorate.cuda.arrays import RowsThere
from electorate.data.bins import Bins
from electorate.data.cleaning import cleaned
from electorate.data.targets import check_targets
from electorate.engines.running_median import Stage
from electorate.estimators.base import StopsEarly
from electorate.exact import Floats
from electorate.families.columns import Columns
from electorate.families.pool import Pool
from electorate.families.regression_trees import RegressionTrees
from electorate.model.device_votes import medians_there
from electorate.model.median import Median, Votes
from electorate.model.voter_view import Voters
from electorate.threads import ThreadPool, count_jobs, work, worthwhile
from electorate.training.callbacks import Checkpoint
from electorate.training.lazy_inputs import NotInMemoryError, in_batches, in_memory_only, is_scanned, row_by_row
from electorate.training.regression import Try, fit_regressor
from electorate.training.worker_data import TargetOutline, TargetPlan, TargetWorkerData, values_of

MOST_LEVELS = 6  # of a tree whose histograms are all stored; deeper ones are grown in parts
Outputs = Callable[[int, int], tuple[Floats, Floats | None]]  # and confidences, of the rows from a to b


class TargetModel(RegressorMixin, StopsEarly):
    """What all regressors share: their targets."""

    _worker_data = TargetWorkerData

    def _read_y(self, y: Any, n_rows: int) -> Floats:
        return check_targets(self, y, n_rows)


@dataclass(eq=False, repr=False, kw_only=True)
class BoostedRegressor(TargetModel):
    """Subclasses define `_tries` and `_criterion`."""

    n_iter_no_change: int = 50

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **StopsEarly._parameter_constraints,
        "estimator": [HasMethods(["fit", "predict"]), RegressionTrees, None],
    }
    _fitted_attribute = "vote_"
    _on_devices = True
    _draws = False  # whether a third-party regressor gets drawn rows instead of weights
    _lower = False  # of two medians the upper, f_0+ of eq. 7; or the lower, as scikit-learn

    def _count_shards(self, n_jobs: int, n_rows: int) -> int:
        """Return as many shards as are worth a thread that waits for the interpreter: targets have no `Team`."""
        return min(super()._count_shards(n_jobs, n_rows), worthwhile(work(n_rows, self.n_features_in_)))

    # ------------------------------------------------------------ what a regressor adds

    def _tries(self, outline: TargetOutline) -> list[Try]:
        """The candidates: one, or several to choose from by validation."""
        raise NotImplementedError

    def _criterion(self) -> str:
        raise NotImplementedError

    def _choose_confidences(self, bins: Bins) -> list[Any] | None:
        return None

    def _as_before(self, one: Try, before: Any) -> Try:
        """What to resume with after the rounds of `before`."""
        return one

    def _finer(self, one: Try) -> Iterator[Try]:
        """What to run instead, one after another, where the first voter is perfect."""
        return iter(())

    @property
    def _functions(self) -> str | None:
        """The option that holds a function of the user's, which no file and no cluster can take."""
        return None

    # ------------------------------------------------------------ fitting

    def _default_family(self) -> RegressionTrees:
        return RegressionTrees()

    @property
    def _is_native(self) -> bool:
        return isinstance(self._family(), RegressionTrees | Pool)

    @property
    def _by_rows(self) -> bool:
        """Whether the columns of X are themselves the voters."""
        return isinstance(self._family(), Columns)

    def _validate_family(self) -> None:
        super()._validate_family()
        family = self._family()
        if isinstance(family, RegressionTrees):
            family._validate_params()
        if any(isinstance(callback, Checkpoint) for callback in getattr(self, "_skl_callbacks", [])):
            self._refuse_checkpoint()
        self.__dict__.pop("calibration_", None)

    def _refuse_checkpoint(self) -> None:
        if self._functions is not None:
            raise TypeError(f"{self._functions} holds a function, which a checkpoint cannot: fit without Checkpoint")

    def _refuse_lazy(self, X: Any) -> None:
        if self._functions == "confidence_by":
            raise NotInMemoryError("confidence_by is a function of all of X: use 'bumps'", X)
        super()._refuse_lazy(X)

    def _plan(self, resumes: bool) -> TargetPlan:
        family = self._family()
        by_edge = self._is_native and self._criterion() == "edge"
        depth = int(getattr(family, "max_depth", None) or MOST_LEVELS)
        n_histograms = 2 ** (min(depth, MOST_LEVELS) - 1) + 2  # one per node that is split again, one to sum into
        n_values = 0
        if isinstance(family, Pool):
            n_values = int(family.n_values)
            n_histograms = n_values + 2
        return TargetPlan(by_edge, int(self.n_estimators), n_histograms, n_values)

    def _count_runs(self, outline: TargetOutline) -> int:
        return len(self._tries(outline))

    def _train(self, place: Any, outline: TargetOutline, context: Any, data: tuple[Any, Any]) -> None:
        fit_regressor(self, place, outline, context, data)

    # ------------------------------------------------------------ attributes

    @property
    def steps_(self) -> Floats:
        """alpha, one per voter; infinite for one that decides alone."""
        steps = self.vote_.steps.copy()
        if self.vote_.decides:
            steps[-1] = math.inf
        return steps

    @property
    def _n_rounds(self) -> int:
        return int(self.vote_.n_voters)

    @property
    def estimator_errors_(self) -> Floats:
        return self.history_["error"][: self.vote_.n_voters]

    @property
    def estimators_(self) -> Any:
        return Voters(self) if self._is_native or self._by_rows else list(self.vote_.fitted)

    @property
    def feature_importances_(self) -> Floats:
        """The share of the steps that belongs to splits on each column."""
        check_is_fitted(self)
        return self.vote_.importances(self.n_features_in_)

    # ------------------------------------------------------------ prediction

    @row_by_row
    def predict(self, X: Any) -> Floats:
        """The weighted median of the voters, row by row."""
        check_is_fitted(self)
        if self._votes_there(X) and self.vote_.trees is not None and self.vote_.n_voters and not self.confidences_:
            table, categories = self._read_clean(X, reset=False), self.bins_.categories
            return medians_there(self.vote_, table, X, categories, self._lower, self.fallback_)
        return self._evaluate(X, self._median)

    def _median(self, votes: Votes | Stage) -> Floats:
        """The weighted median of the training targets, predicted where no voter has any confidence."""
        found = votes.lower_medians() if self._lower else votes.quantiles(0, True)
        return np.where(np.isfinite(found), found, self.fallback_)

    @in_memory_only
    def staged_predict(self, X: Any) -> Iterator[Floats]:
        """The predictions after every round; the outputs of all voters are held in memory."""
        yield from map(self._median, self._stages(X))

    def _evaluate(self, X: Any, function: Callable[[Votes], Floats]) -> Floats:
        """function(votes), row block by row block; `fallback_` for a model without voters."""
        check_is_fitted(self)
        if is_scanned(X):
            return np.asarray(in_batches(X, lambda rows: self._evaluate(rows, function), axis=-1))
        n_rows, outputs = self._outputs(X, places=True)
        out = np.full(n_rows, self.fallback_)
        if not self.vote_.n_voters:
            return out
        parts: dict[int, Floats] = {}
        with ThreadPool(count_jobs(self.n_jobs, n_rows * self.vote_.n_voters)) as pool:
            self.vote_.each_block(n_rows, outputs, pool, lambda low, _, votes: parts.update({low: function(votes)}))
        return np.concatenate([parts[low] for low in sorted(parts)], axis=-1) if parts else out

    def _outputs(self, X: Any, places: bool = False) -> tuple[int, Outputs]:
        """The number of rows, and the outputs of all voters for a range of them; places: as in `Votes.table`."""
        X = cleaned(self, X.here() if isinstance(X, RowsThere) else X)
        checked = self._read_clean(X, reset=False)
        vote: Median = self.vote_
        native = self._is_native
        n_rows = checked.n_rows if native else checked.shape[0]
        kappas = None
        if self.confidences_:
            kappas = values_of(self.confidences_, X if native else checked, checked, n_rows)
        return n_rows, vote.outputs_on(self._reader(checked) if native else checked, kappas, places)

    def _stages(self, X: Any) -> Iterator[Stage]:
        check_is_fitted(self)
        n_rows, outputs = self._outputs(X)
        yield from self.vote_.staged(*outputs(0, n_rows))
