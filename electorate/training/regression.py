"""From rows with targets to a fitted vote: bins, shards, watchers, the loop, once or once per try.

Everything here serves all median-voting regressors; the model is only asked for its tries, family and options.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from electorate.algorithms.protocol import Step
from electorate.data.bins import Bins
from electorate.engines.targets import TargetEngine, TargetEngineHere, TargetsElsewhere
from electorate.model.casting import casts_of, from_casts
from electorate.model.median import Median
from electorate.model.outcome import REGRESSION_COLUMNS as COLUMNS
from electorate.model.outcome import Outcome, Row, history_of
from electorate.training.callbacks import Hooks
from electorate.training.classification import NO_BINS, Here, no_bins
from electorate.training.stagewise import OTHER_DATA
from electorate.training.stagewise_targets import MeanError, TargetCast, TargetSetting, boost_targets
from electorate.training.target_worker_data import TargetOutline
from electorate.voters.finite_regressors import ColumnPredictions, ColumnPredictor, PoolOfValues
from electorate.voters.pool import Pool as FinitePool
from electorate.voters.regression_trees import EdgeTrees, SquaresTrees
from electorate.voters.trees import Voter
from electorate.voters.wrapped_regressors import WrappedRegressor, said_by

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Try:
    """A booster to run. earning: of trees grown by the edge, from what stands for the bins of the target.

    said: the attributes that the fitted model then has.
    """

    booster: Any
    earning: Callable[[Array], Any] | None = None
    said: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Bench:
    """Where a model is made. listening: the place of the rows to stop by, if there are any."""

    model: Any
    outline: TargetOutline
    bins: Bins
    engine: TargetEngine
    listening: Any
    confidences: list[Any] | None
    rows: Any  # X and y, for regressors that are fitted anew every round
    heard: Any = None  # X of rows to stop by that are not among these


def run(model: Any, place: Any, outline: TargetOutline, context: Any, data: tuple[Any, Any]) -> None:
    """Fit the model. Nothing of it changes before all is done."""
    tries: list[Try] = model._tries(outline)
    before = _before(model, len(tries))
    if before is not None:
        tries = [model._as_before(one, before) for one in tries]
    bins: Bins = no_bins(model.n_features_in_) if model._by_columns else NO_BINS
    if model._is_native:
        bins = place.agree("find_bins", model.categorical_features, model.max_bins)
    if before is not None and not before.bins_.same_as(bins):
        raise ValueError(OTHER_DATA.format("their bins differ"))
    bench = _set_up(model, place, outline, bins, before)
    past = Outcome() if before is None else _past(before, bench)

    def make(outcomes: list[Outcome]) -> dict[str, Any]:
        number = _chosen(outcomes)
        return {**fitted(bench, outcomes[number]), **tries[number].said}

    with Hooks(model, context, data, make, len(tries)) as hooks:
        for number, one in enumerate(tries):
            outcome = _run_one(bench, one, past, hooks)
            for finer in model._finer(one) if past.casts == [] else ():
                if outcome.stop_reason != "perfect_voter" or len(outcome.casts) > 1:
                    break
                tries[number] = finer
                outcome = _run_one(bench, finer, past, hooks)
            hooks.finished.append(outcome)


def _set_up(model: Any, place: Any, outline: TargetOutline, bins: Bins, before: Any) -> Bench:
    native = model._is_native
    rows = None if native else (place.room.given.table, place.room.given.labels)
    heard = place.room.heard.table if not native and place.room.heard is not None else None
    confidences = model._choose_confidences(bins) if before is None else (before.confidences_ or None)
    by_edge = native and model._criterion() == "edge"
    n_labels = len(outline.values) if by_edge else 1
    place.agree("build", bins if native else None, model.max_bins, n_labels, confidences, model._by_columns)
    here = isinstance(place, Here)
    names = ["train", "heard"] if outline.listens else ["train"]
    places = {name: place.room.engines[name] if here else TargetsElsewhere(place, name) for name in names}
    n_kappas = 1 if confidences is None else len(confidences)
    engine = (TargetEngineHere if here else TargetEngine)(places["train"], n_kappas)
    if native and model._criterion() == "squared_error":
        engine.want_targets(outline.low, outline.high)
    return Bench(model, outline, bins, engine, places.get("heard"), confidences, rows, heard)


def _run_one(bench: Bench, one: Try, past: Outcome, hooks: Hooks) -> Outcome:
    """One run of the loop."""
    model, outline = bench.model, bench.outline
    hooks.prepare()
    watchers: list[Any] = []
    if bench.listening is not None:
        patience = (float(model.tol), int(model.n_iter_no_change))
        ask = None if bench.heard is None else partial(predictions_of, X=bench.heard)
        watchers.append(MeanError(bench.listening, outline.fallback, model._lower, *patience, ask))
    if hooks.wanted:
        watchers.append(hooks)
    family = _family(bench, one, len(past.casts))
    setting = TargetSetting(bench.engine, family, one.booster, bench.bins)
    return boost_targets(setting, model.n_estimators, past, watchers)


def _family(bench: Bench, one: Try, rounds: int) -> Any:
    """The voters as the loop searches them, after so many rounds."""
    model, outline = bench.model, bench.outline
    if bench.rows is not None:
        X, y = bench.rows
        if model._by_columns:
            return ColumnPredictions(X, one.booster.cost.award)
        family = WrappedRegressor(model._family(), X, y, model.random_state, model._draws)
        family.skip(rounds)
        return family
    if isinstance(model._family(), FinitePool):
        return PoolOfValues(model._family(), outline.values, one.booster.cost.award, model._abstains())
    if one.earning is not None and model._criterion() == "edge":
        return EdgeTrees(model._family(), one.earning(outline.values))
    return SquaresTrees(model._family(), outline.low, outline.high)


def _chosen(outcomes: list[Outcome]) -> int:
    """Of several tries the one with the least error on the rows set aside; of equals the first."""
    scores = [min((row.get("validation", math.inf) for row in one.rows), default=math.inf) for one in outcomes]
    return int(np.argmin(scores))


# ---------------------------------------------------------------- the fitted model


def fitted(bench: Bench, outcome: Outcome) -> dict[str, Any]:
    """The attributes of the model this outcome makes."""
    model, kept = bench.model, outcome.kept
    native = bench.rows is None
    vote = Median(
        from_casts([kept], bench.bins, 2) if native else None,
        [] if native else [cast.voter.fitted for cast in kept],
        np.array([cast.step.size for cast in kept], dtype=np.float64),
        np.array([cast.kappa for cast in kept], dtype=np.int32),  # type: ignore[attr-defined]
        bool(kept and kept[-1].decides),  # type: ignore[attr-defined]
    )
    attributes = {
        "vote_": vote,
        "bins_": bench.bins,
        "confidences_": list(bench.confidences or []),
        "fallback_": bench.outline.fallback,
        "history_": history_of(outcome.rows) if outcome.rows else no_history(),
        "stop_reason_": outcome.stop_reason,
        "estimator_": model._family(),
    }
    if bench.outline.listens:
        attributes["best_round_"] = len(kept)
    return attributes


def no_history() -> dict[str, NDArray[Any]]:
    return {name: np.empty(0, dtype=np.int64 if name == "n_voters" else np.float64) for name in COLUMNS}


# ---------------------------------------------------------------- going on


def _before(model: Any, n_tries: int) -> Any:
    """The model to go on from: a checkpoint's, the fitted one for a warm start, or None."""
    before = getattr(model, "_resume", None)
    if before is None and model.warm_start and hasattr(model, "vote_"):
        before = model
    if before is None or n_tries > 1:  # which try is best can only be said of all rounds: they are run again
        return None
    if before.vote_.n_voters > model.n_estimators:
        raise ValueError(
            f"n_estimators={model.n_estimators} is less than the {before.vote_.n_voters} rounds there are: "
            "a warm start can only add"
        )
    return before


def _past(before: Any, bench: Bench) -> Outcome:
    """What the run has behind it."""
    history, vote = before.history_, before.vote_
    names = [name for name in history if name != "validation"]  # who listens now judges anew
    rows: list[Row] = [{name: history[name][k].item() for name in names} for k in range(vote.n_voters)]
    if vote.trees is not None:
        casts: list[Any] = casts_of(vote.trees, bench.bins, None, rows)
    else:
        casts = [_heard_again(one, bench, row) for one, row in zip(vote.fitted, rows, strict=True)]
    last = vote.n_voters - 1
    return Outcome(
        [
            TargetCast(cast.voter, cast.outputs, cast.step, int(vote.kappa[t]), vote.decides and t == last)
            for t, cast in enumerate(casts)
        ],
        rows,
    )


def _heard_again(one: Any, bench: Bench, row: Row) -> TargetCast:
    """A regressor that was fitted elsewhere, with what it says of the rows."""
    said = predictions_of(one, bench.rows[0])
    size = row["step"] if math.isfinite(row["step"]) else 0.0
    voter = Voter([], [], np.zeros((0, 0), dtype=np.int64), one, said)
    return TargetCast(voter, np.zeros((0, 2)), Step(size, row["edge"], row["error"]))


def predictions_of(fitted: Any, X: Any) -> Array:
    """Return what a voter that is no tree of ours predicts; NaN where a column abstains."""
    return fitted.predict(X) if isinstance(fitted, ColumnPredictor) else said_by(fitted, X)


def validation_seed(model: Any) -> int:
    """The seed of the split, kept so that a warm start sets the same rows aside."""
    before = getattr(model, "_resume", None) or (model if model.warm_start else None)
    known = getattr(before, "_validation_seed", None)
    if known is None:
        known = int(check_random_state(model.random_state).randint(2**31 - 1))
    model._validation_seed = int(known)
    return int(known)
