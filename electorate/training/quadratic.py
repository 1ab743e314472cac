"""QuadBoost's training: a pool, or a family that is searched afresh, the rounds, and back to a model.

Nothing of the model changes before all is done.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from electorate.model.moves import Moves
from electorate.training.callbacks import Hooks
from electorate.training.classification import groups_of, refuse_other_bins
from electorate.training.pool_rounds import Run
from electorate.training.quad_far import FarPool
from electorate.training.quad_pools import Case, ColumnPool, Listener, Past, StumpPool, last_weights
from electorate.training.quad_searches import BinVoters, RowVoters
from electorate.training.worker_data import ClassWorkerData, Outline
from electorate.voters.columns import Columns
from electorate.voters.pool import Pool


class PoolHooks(Hooks):
    """Callbacks look at these runs as they do at those of the loop."""

    @property
    def row(self) -> Any:
        """The last round of this run."""
        return self.now.rows[self.n_whole - 1] if self.n_whole else None

    @property
    def so_far(self) -> list[Any]:
        if any(outcome is self.now for outcome in self.finished):
            return self.finished
        return [*self.finished, self.now.cut(self.n_whole)]


def run(model: Any, place: Any, outline: Outline, context: Any, data: tuple[Any, Any]) -> None:
    """Fit the model by a pool, or by a family that is searched afresh each round."""
    before = going_on_from(model)
    case = case_of(place.room, outline) if hasattr(place, "room") else None
    pool = _pool(model, place, case, outline, before)
    groups = groups_of(model, outline.classes)
    train(pool, groups, model, outline, before, Fitting(context, data))


def case_of(room: ClassWorkerData, outline: Outline) -> Case:
    """The rows of this process."""
    heard = room.examples.get("validation")
    validation = None if heard is None else Case(heard, outline.classes)
    return Case(room.examples["train"], outline.classes, validation)


def _pool(model: Any, place: Any, case: Case | None, outline: Outline, before: Any) -> Any:
    family = model._family()
    if case is not None and not model._is_native:
        return ColumnPool(case) if isinstance(family, Columns) else RowVoters(model, case)
    if case is None:
        _refuse_far(model, outline)
    bins = place.agree("find_bins", model.categorical_features, model.max_bins)
    if before is not None:
        refuse_other_bins(before, bins, outline.classes)
    said = place.agree("build", bins, model.max_bins)
    engines = {name: place.engine(name, numbers, len(outline.classes)) for name, numbers in said.items()}
    if case is not None and isinstance(family, Pool):
        return StumpPool(model, case, bins, engines["train"], engines.get("validation"))
    if isinstance(family, Pool):
        return FarPool(model, bins, engines["train"], len(outline.classes))
    return BinVoters(model, bins, engines["train"], engines.get("validation"))


def _refuse_far(model: Any, outline: Outline) -> None:
    """What takes the rows of this process."""
    name = type(model).__name__
    if outline.has_validation:
        raise ValueError(
            f"{name} on a Dask cluster does not stop by validation: use early_stopping=False, or rows of this process"
        )
    if model.reweight != "never" and not isinstance(model._family(), Pool):
        raise ValueError(
            f"{name} on a Dask cluster re-weights only the voters of a Pool: use Pool(), reweight='never', or rows of "
            "this process"
        )


@dataclass(frozen=True)
class Fitting:
    """What the callbacks of a fit get to see."""

    context: Any
    data: tuple[Any, Any]


def train(pool: Any, groups: list[Any], model: Any, outline: Outline, before: Any, fitting: Fitting) -> None:
    """All runs: one, or one per label."""
    pasts = [_past(before, label) for label, _ in groups]

    def make(outcomes: list[Any]) -> dict[str, Any]:
        made = fitted(model, outline, pool, [*outcomes, *(past.run for past in pasts[len(outcomes) :])])
        told: dict[str, Any] = model._as_told(made, pool)
        return told

    with PoolHooks(model, fitting.context, fitting.data, make, len(groups)) as hooks:
        for number, ((_, group), past) in enumerate(zip(groups, pasts, strict=True)):
            if len(outline.classes) == 1:
                hooks.finished.append(Run(stop_reason="no_edge"))
                break
            hooks.prepare()
            rounds = pool.start(model, group, number, past)
            run = _run_one(rounds, pool.listener(model, group, number), model, hooks)
            pool.finish(rounds)
            hooks.finished.append(run)


def _run_one(rounds: Any, listener: Listener | None, model: Any, hooks: Hooks) -> Any:
    """One run: two labels, or one against the rest."""
    watchers: list[Callable[[Run], str | None]] = [listener.after] if listener is not None else []
    if hooks.wanted:
        watchers.append(lambda run: hooks.after(run))
    hooks.replay(rounds.run)
    reason = listener.after(rounds.run) if listener is not None else None
    if reason is not None:
        rounds.run = rounds.run.cut(len(rounds.run.validation))
    run = rounds.advance(model.n_estimators if reason is None else 0, _all(watchers))
    run.stop_reason = reason or run.stop_reason
    return run


def _all(watchers: list[Callable[[Run], str | None]]) -> Callable[[Run], str | None] | None:
    """The first reason that one of them gives; all get to see every round."""
    if not watchers:
        return None
    return lambda run: next(filter(None, [watcher(run) for watcher in watchers]), None)


def going_on_from(model: Any) -> Any:
    """The model to go on from: a checkpoint's, the fitted one for a warm start, or None."""
    before = getattr(model, "_resume", None)
    if before is None and model.warm_start and hasattr(model, "ensemble_"):
        before = model
    rounds = int(before.moves_.round.max(initial=0)) if before is not None else 0
    if rounds > model.n_estimators:
        raise ValueError(
            f"n_estimators={model.n_estimators} is less than the {rounds} rounds there are: a warm start can only add"
        )
    return before


def _past(before: Any, label: int | None) -> Past:
    """What a run has behind it, and the objective after each of its rounds."""
    if before is None:
        return Past(Run(), np.empty(0))
    places, told = before.moves_.about(label)
    history = before.history_
    mine = slice(None) if label is None else history["label"] == label
    run = Run(places=places, moves=told)
    run.seconds = history["seconds"][mine][: run.n_rounds]
    errors = history["train_error"][mine][: run.n_rounds] if "train_error" in history else np.empty(0)
    run.errors = errors.tolist() if not np.any(np.isnan(errors)) and before._knows_errors else []
    return Past(run, history["objective"][mine][: run.n_rounds], before, label)


# ---------------------------------------------------------------- the fitted model


def fitted(model: Any, outline: Outline, pool: Any, runs: list[Run]) -> dict[str, Any]:
    """The attributes of the model these runs make."""
    kept = [run.kept for run in runs]
    casts = [
        [pool.cast(n, *one) for one in last_weights(run.places[:, 1], run.moves[:, 0])] for n, run in enumerate(kept)
    ]
    attributes = {
        "classes_": outline.classes,
        "n_classes_": len(outline.classes),
        "estimator_": model._family(),
        "moves_": Moves.of([(run.places, run.moves) for run in kept]),
        "history_": history_of(runs),
        "stop_reason_": max(runs, key=lambda run: run.n_rounds).stop_reason,
        "gap_": max(run.gap for run in runs),
        **pool.made(casts, model, outline.classes),
    }
    if outline.has_validation:
        attributes["best_round_"] = max(run.n_rounds for run in kept)
    return attributes


def history_of(runs: list[Run]) -> dict[str, NDArray[Any]]:
    """Round by round; where classes were fitted one by one, with the label each entry is about.

    The training error is known of the model that is kept: on a pool it is no by-product of a round.
    """
    columns = []
    for label, run in enumerate(runs):
        error = np.full(run.n_rounds, np.nan)
        error[run.kept.n_rounds - 1 : run.kept.n_rounds] = run.train_error
        columns.append({"label": np.full(run.n_rounds, float(label)), "train_error": error, **run.history()})
    order = np.argsort(np.concatenate([np.arange(run.n_rounds) for run in runs]), kind="stable")
    names = dict.fromkeys(name for history in columns for name in history if name != "label" or len(runs) > 1)
    nothing = [np.full(run.n_rounds, np.nan) for run in runs]
    return {
        name: np.concatenate([own.get(name, none) for own, none in zip(columns, nothing, strict=True)])[order]
        for name in names
    }
