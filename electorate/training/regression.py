"""The bench of regressors that vote by weighted median.

The model is only asked for its candidates, family and options.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from electorate.algorithms.protocol import Step
from electorate.data.bins import no_bins
from electorate.engines.targets import TargetEngine
from electorate.exact import Floats
from electorate.families.finite_regressors import ColumnPredictions, ColumnPredictor, PoolOfValues
from electorate.families.pool import Pool
from electorate.families.regression_trees import EdgeTrees, SquaresTrees
from electorate.families.trees import Voter
from electorate.families.wrapped import WrappedRegressor, finite_predictions, own_confidences
from electorate.model.casting import PastRun, casts_of, from_casts
from electorate.model.median import Median
from electorate.model.trace import MEDIAN_COLUMNS, Trace
from electorate.training.classification import NO_BINS, find_bins
from electorate.training.fit import Bench, casts_of_run, common_attributes, past_run, resumed_model, train
from electorate.training.median_stagewise import MedianStagewise, TargetCast, TargetSetting, ValidationError
from electorate.training.run import Patience, Watcher
from electorate.training.worker_data import TargetOutline


@dataclass(frozen=True)
class Try:
    """A booster to run. earning: for trees grown by the edge, made from the values of the bins of the target.

    attributes: those that the fitted model then has.
    """

    booster: Any
    earning: Callable[[Floats], Any] | None = None
    attributes: dict[str, Any] = field(default_factory=dict)


def fit_regressor(model: Any, place: Any, outline: TargetOutline, context: Any, data: tuple[Any, Any]) -> None:
    """Fit the model to the rows of a place, once or once per candidate."""
    tries: list[Try] = model._tries(outline)
    # which of several candidates is best depends on all rounds, so they are run again
    before = resumed_model(model, "vote_") if len(tries) == 1 else None
    if before is not None:
        tries = [model._as_before(one, before) for one in tries]
    train(MedianBench(model, place, outline, before), tries, context, data)


class MedianBench(Bench):
    """judge: the place of the validation rows, if there are any. rows: X and y, for voters that are fitted to them."""

    def __init__(self, model: Any, place: Any, outline: TargetOutline, before: Any) -> None:
        super().__init__(model)
        self.outline, self.before = outline, before
        self.native: bool = model._is_native
        unbinned = no_bins(model.n_features_in_) if model._by_rows else NO_BINS
        self.bins = find_bins(model, place, before, unbinned=unbinned)
        self.rows: Any = None
        self.X_val: Any = None
        if not self.native:
            data = place.data
            self.rows = data.given.table, data.given.labels
            self.X_val = None if data.validation is None else data.validation.table
        self.confidences = model._choose_confidences(self.bins) if before is None else (before.confidences_ or None)
        self.doubts = getattr(model, "confidence_by", "constant") != "constant"
        self.own: bool = getattr(model, "confidence_by", "") == "voter"
        criterion = model._criterion() if self.native else ""
        bins = self.bins if self.native else None
        place.all_reduce("build", bins, model.max_bins, self.confidences, model._by_rows)
        n_kappas = 1 if self.confidences is None else len(self.confidences)
        names = ("train", "validation") if outline.has_validation else ("train",)
        engines = place.target_engines(names, n_kappas)
        self.engine: TargetEngine = engines["train"]
        self.judge = engines.get("validation")
        if criterion == "squared_error":
            self.engine.want_targets(outline.low, outline.high)
        self._finer: Iterator[Try] | None = None

    def past(self, task: Try) -> PastRun:
        trace = Trace(MEDIAN_COLUMNS)
        if self.before is None:
            return PastRun(trace)
        history, vote = self.before.history_, self.before.vote_
        rows = [{name: float(history[name][k]) for name in ("step", "edge", "error")} for k in range(vote.n_voters)]
        if vote.trees is not None:
            casts: list[Any] = casts_of(vote.trees, self.bins, None, rows)
        else:
            casts = [self._predicted_again(one, row) for one, row in zip(vote.fitted, rows, strict=True)]
        last = vote.n_voters - 1
        casts = [
            TargetCast(cast.voter, cast.outputs, cast.step, int(vote.kappa[t]), vote.decides and t == last)
            for t, cast in enumerate(casts)
        ]
        return past_run(trace, history, slice(None), casts)

    def _predicted_again(self, fitted: Any, row: dict[str, float]) -> TargetCast:
        """Return a voter that was fitted to rows, with its predictions for them."""
        size = row["step"] if math.isfinite(row["step"]) else 0.0
        X = self.rows[0]
        voter = Voter([], [], np.zeros((0, 0), dtype=np.int64), fitted, predictions_of(fitted, X))
        sure = own_confidences(fitted, X)[:, None] if self.own else np.zeros((0, 2))
        return TargetCast(voter, sure, Step(size, row["edge"], row["error"]))

    def start(self, task: Try, past: PastRun) -> MedianStagewise:
        setting = TargetSetting(
            self.engine, self._family(task, past), task.booster, self.bins, task.attributes, self.doubts
        )
        return MedianStagewise(setting, past)

    def _family(self, one: Try, past: PastRun) -> Any:
        """The voters as they are searched, after the rounds of the past."""
        model, family = self.model, self.model._family()
        if self.rows is not None:
            X, y = self.rows
            if model._by_rows:
                return ColumnPredictions(X, one.booster.cost.award)
            wrapped = WrappedRegressor(family, X, y, model.random_state, model._draws, self.own)
            wrapped.skip(past.trace.n_rounds)
            return wrapped
        if isinstance(family, Pool):
            return PoolOfValues(family, self.outline.values, one.booster.cost.award, model._abstains())
        if one.earning is not None and model._criterion() == "edge":
            return EdgeTrees(family, one.earning(self.outline.values))
        return SquaresTrees(family, self.outline.low, self.outline.high)

    def watchers(self, task: Try, method: Any) -> list[Watcher]:
        if self.judge is None:
            return []
        predict = None if self.X_val is None else partial(outputs_of, X=self.X_val, own=self.own)
        score = ValidationError(self.judge, method, self.outline.fallback, self.model._lower, predict)
        return [Patience(score, float(self.model.tol), int(self.model.n_iter_no_change))]

    def again(self, task: Try, trace: Trace) -> Try | None:
        """A finer candidate, where the first voter is perfect."""
        if self._finer is None:
            self._finer = self.model._finer(task)
        finer = None
        if self.before is None and trace.stop_reason == "perfect_voter" and trace.n_rounds == 1:
            finer = next(self._finer, None)
        if finer is None:
            self._finer = None
        return finer

    def fitted(self, traces: list[Trace], runs: list[Any]) -> dict[str, Any]:
        """Return the attributes; of several candidates, the first with the least error on validation rows counts."""
        scores = [trace.history.get("validation", np.empty(0)).min(initial=math.inf) for trace in traces]
        chosen = int(np.argmin(scores))
        trace, method = traces[chosen], runs[chosen]
        casts = casts_of_run(trace, method)
        vote = Median(
            from_casts([casts], self.bins, 2) if self.native else None,
            [] if self.native else [cast.voter.fitted for cast in casts],
            np.array([cast.step.size for cast in casts], dtype=np.float64),
            np.array([cast.kappa for cast in casts], dtype=np.int32),
            bool(casts and casts[-1].decides),
            self.own,
        )
        return {
            "vote_": vote,
            "bins_": self.bins,
            "confidences_": list(self.confidences or []),
            "fallback_": self.outline.fallback,
            **common_attributes(self.model, [trace], self.outline.has_validation),
            **method.setting.attributes,
        }


def outputs_of(fitted: Any, X: Any, own: bool) -> tuple[Floats, Floats]:
    """Return the predictions of a voter for other rows, and its own confidences, if it has any."""
    return predictions_of(fitted, X), own_confidences(fitted, X)[:, None] if own else np.zeros((0, 2))


def predictions_of(fitted: Any, X: Any) -> Floats:
    """Return the predictions of a voter that was fitted to rows; NaN where a column abstains."""
    return fitted.predict(X) if isinstance(fitted, ColumnPredictor) else finite_predictions(fitted, X)
