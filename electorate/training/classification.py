"""From a problem to a fitted ensemble: bins, shards, watchers, the loop, once or once per class.

Everything here serves all classifiers; the model is only asked for its booster, family and options.
"""

import copy
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from electorate.data import inputs
from electorate.data.all_reduce import run_locally
from electorate.data.bins import Bins
from electorate.engines.rows import Rows
from electorate.model.casting import casts_of, from_casts
from electorate.model.foreign_ensemble import ForeignEnsemble
from electorate.model.outcome import Cast, Outcome, Row, history_of
from electorate.model.row_ensemble import RowEnsemble
from electorate.model.text import column_names
from electorate.training.callbacks import Checkpoint, Hooks, TrialLimit
from electorate.training.stagewise import OTHER_DATA, Family, Setting, Watcher, boost
from electorate.training.stopping import Validation
from electorate.training.worker_data import Outline, Room
from electorate.voters.by_rows import ByRows, Hearing
from electorate.voters.wrapped import Speech, Wrapped

NO_BINS = Bins([], {}, np.zeros(0, dtype=np.bool_), np.zeros(0, dtype=np.int64))


class Place(Protocol):
    """Where the rows are: rooms that agree, and engines over all of them."""

    def agree(self, name: str, *arguments: Any) -> Any:
        """Run the steps of that name in every room; what they come to is the same in all."""
        ...

    def engine(self, name: str, said: dict[str, Any], n_labels: int) -> Any:
        """Over the shards of that name in all rooms, which say this of themselves together."""
        ...


@dataclass(frozen=True)
class Here:
    """This process."""

    room: Room

    def agree(self, name: str, *arguments: Any) -> Any:
        return run_locally(getattr(self.room, name)(*arguments))

    def engine(self, name: str, said: dict[str, Any], n_labels: int) -> Any:
        return self.room.engines[name]


@dataclass(frozen=True)
class Bench:
    """Where a model is made: its problem as binned shards, and those of the rows to stop by."""

    model: Any
    family: Family
    bins: Bins
    engine: Any
    judge: Any


def run(model: Any, place: Place, outline: Outline, context: Any, data: tuple[Any, Any]) -> None:
    """Fit the model by its family. Nothing of it changes before all is done."""
    before = _before(model)
    classes = outline.classes
    inputs.refuse_many_labels(model, len(classes))
    bins: Bins = place.agree("find_bins", model.categorical_features, model.max_bins)
    if before is not None:
        _refuse_other_data(before, bins, classes)
    n_outputs = 1 if len(classes) == 2 else len(classes)
    groups = _groups(model, classes)
    pasts = [_past(before, label, lambda *of: casts_of(before.ensemble_, bins, *of)) for label, _ in groups]

    def make(outcomes: list[Outcome]) -> dict[str, Any]:
        runs = [*outcomes, *pasts[len(outcomes) :]]
        ensemble = from_casts([run.kept for run in runs], bins, n_outputs)
        return {"bins_": bins, **fitted(model, outline, ensemble, runs)}

    with Hooks(model, context, data, make, len(groups)) as hooks:
        if len(classes) == 1:
            hooks.finished.append(Outcome(stop_reason="no_edge"))
        else:
            bench = _set_up(model, place, bins, len(classes))
            for (_, group), past in zip(groups, pasts, strict=True):
                hooks.finished.append(_run_one(bench, group, past, hooks))


def run_wrapped(model: Any, room: Room, outline: Outline, context: Any, data: tuple[Any, Any]) -> None:
    """Fit the model by a classifier that is fitted anew every round, on X as it was given."""
    before = _before(model)
    classes, examples, heard = outline.classes, room.examples["train"], room.examples.get("heard")
    X: Any = examples.table
    inputs.refuse_many_labels(model, len(classes))
    speech: Any = _hearing(model, classes) if model._by_rows else _speech(model, outline)
    groups = _groups(model, classes)
    engine = Rows(examples, lambda voter: speech.of(voter, X))
    pasts = [_past(before, label, lambda *of: before.ensemble_.casts(*of, engine.hear)) for label, _ in groups]

    def make(outcomes: list[Outcome]) -> dict[str, Any]:
        runs = [*outcomes, *pasts[len(outcomes) :]]
        kept = [run.kept for run in runs]
        if model._by_rows:
            row_ensemble = RowEnsemble(kept, speech, X.shape[1], model._family())
            return {"bins_": no_bins(X.shape[1]), **fitted(model, outline, row_ensemble, runs)}
        return fitted(model, outline, ForeignEnsemble(kept, speech, X.shape[1]), runs)

    with Hooks(model, context, data, make, len(groups)) as hooks:
        judge = None
        if heard is not None:
            judge = Rows(heard, lambda voter: speech.of(voter, heard.table))
        for (_, group), past in zip(groups, pasts, strict=True):
            if len(classes) == 1:
                hooks.finished.append(Outcome(stop_reason="no_edge"))
                break
            labels = classes[examples.labels] if group is None else group[examples.labels]
            family: Any
            if model._by_rows:
                family = ByRows(model._family(), X, speech, column_names(model))
            else:
                family = Wrapped(model._family(), X, labels, speech, model.random_state)
            family.skip(len(past.casts))
            bench = Bench(model, family, NO_BINS, engine, judge)
            hooks.finished.append(_run_one(bench, group, past, hooks))
        none = len(classes) > 1 and not any(outcome.casts for outcome in hooks.finished)
        if none and not model._by_rows:
            raise ValueError(
                f"BaseClassifier in {type(model).__name__} ensemble is worse than random, ensemble can not be fit."
            )


def _speech(model: Any, outline: Outline) -> Speech:
    classes = outline.classes
    booster = model._booster(len(classes))
    smoothing = float(np.finfo(np.float64).eps) if booster.fixed_steps else 1.0 / outline.n_counted
    one_vs_rest = model._one_vs_rest and len(classes) > 2
    return Speech(np.arange(2) if one_vs_rest else classes, booster.leaves, smoothing)


def _hearing(model: Any, classes: NDArray[Any]) -> Any:
    """How voters by rows are heard: each says one number, for two classes."""
    if len(classes) > 2 and not model._one_vs_rest:
        raise ValueError(
            f"{type(model).__name__} cannot boost {type(model._family()).__name__} for {len(classes)} classes: it fits "
            "all classes at once, and these voters tell two apart: use AdaBoostRClassifier, or scikit-learn's "
            "OneVsRestClassifier"
        )
    heard = np.arange(2) if len(classes) > 2 else classes
    return Hearing(heard, model._booster(2).leaves, type(model).__name__)


def no_bins(n_columns: int) -> Bins:
    """Of a table that nobody cuts."""
    nothing = np.zeros(n_columns, dtype=np.int64)
    return Bins([np.empty(0)] * n_columns, {}, nothing.astype(np.bool_), nothing)


def _set_up(model: Any, place: Place, bins: Bins, n_labels: int) -> Bench:
    said = place.agree("build", bins, model.max_bins)
    engines = {name: place.engine(name, numbers, n_labels) for name, numbers in said.items()}
    return Bench(model, model._family(), bins, engines["train"], engines.get("heard"))


def _run_one(bench: Bench, group: NDArray[np.int64] | None, past: Outcome, hooks: Hooks) -> Outcome:
    """One run of the loop: all labels, or one against the rest."""
    model, engine = bench.model, bench.engine
    hooks.prepare()
    booster = model._chosen_booster(bench, group, engine.n_labels if group is None else 2)
    engine.start(booster, group)
    watchers: list[Watcher] = []
    if bench.judge is not None and model.early_stopping:
        bench.judge.start(booster, group)
        watchers.append(Validation(bench.judge, booster, model.scoring, model.tol, model.n_iter_no_change))
    if hooks.wanted:
        watchers.append(hooks)
    setting = Setting(engine, model._searching(bench, booster, past), booster, bench.bins)
    return boost(setting, model.n_estimators, past, watchers)


def listen(bench: Bench, group: NDArray[np.int64] | None, booster: Any, part: float) -> float:
    """The score of a run with this booster on the rows set aside: after its last round, or after the best if the model
    stops by them. For choosing among boosters. part: of the time that is left, where there is a limit."""
    model, engine, judge = bench.model, bench.engine, bench.judge
    family = copy.copy(bench.family)
    if isinstance(family, Wrapped):
        family.random = copy.deepcopy(family.random)  # what it draws, the chosen run draws again
    bench = replace(bench, family=family)
    engine.start(booster, group)
    judge.start(booster, group)
    patience = model.n_iter_no_change if model.early_stopping else model.n_estimators + 1
    validation = Validation(judge, booster, model.scoring, model.tol, patience)
    setting = Setting(engine, model._searching(bench, booster, Outcome()), booster, bench.bins)
    outcome = boost(setting, model.n_estimators, None, [validation, TrialLimit(model, part)])
    if not outcome.rows:
        return float("inf")
    return validation.best if model.early_stopping else outcome.rows[-1]["validation"]


def _groups(model: Any, classes: NDArray[Any]) -> list[tuple[int | None, NDArray[np.int64] | None]]:
    """The runs: all labels as they are, or each label against the rest."""
    n_labels = len(classes)
    if not model._one_vs_rest or n_labels <= 2:
        return [(None, None)]
    return [(label, (np.arange(n_labels) == label).astype(np.int64)) for label in range(n_labels)]


def count_runs(model: Any, outline: Outline) -> int:
    """One, or one per class."""
    return len(_groups(model, outline.classes))


# ---------------------------------------------------------------- the fitted model


def fitted(model: Any, outline: Outline, ensemble: Any, outcomes: list[Outcome]) -> dict[str, Any]:
    """The attributes of the model these outcomes make."""
    attributes = {
        "classes_": outline.classes,
        "n_classes_": len(outline.classes),
        "estimator_": model._family(),
        "ensemble_": ensemble,
        "history_": _history(outcomes),
        "stop_reason_": _reason(outcomes),
    }
    if outline.listens:
        attributes["best_round_"] = max(len(outcome.kept) for outcome in outcomes)
    return attributes


def _history(outcomes: list[Outcome]) -> dict[str, NDArray[Any]]:
    """Round by round; where classes were fitted one by one, with the label each row is about."""
    if len(outcomes) == 1:
        return history_of(outcomes[0].rows)
    rows: list[Row] = []
    for number in range(max(len(outcome.rows) for outcome in outcomes)):
        for label, outcome in enumerate(outcomes):
            if number < len(outcome.rows):
                rows.append({**outcome.rows[number], "label": label})
    return {"label": np.empty(0), **history_of(rows)}


def _reason(outcomes: list[Outcome]) -> str:
    """Of several runs, the reason of the longest."""
    return max(outcomes, key=lambda outcome: len(outcome.rows)).stop_reason


# ---------------------------------------------------------------- going on


def _before(model: Any) -> Any:
    """The model to go on from: a checkpoint's, the fitted one for a warm start, or None."""
    before = getattr(model, "_resume", None)
    if before is None and model.warm_start and hasattr(model, "ensemble_"):
        before = model
    if before is not None and before.ensemble_.n_voters and before.ensemble_.rounds[-1] > model.n_estimators:
        raise ValueError(
            f"n_estimators={model.n_estimators} is less than the {before.ensemble_.rounds[-1]} rounds there are: "
            "a warm start can only add"
        )
    return before


def resume(model: Any, context: Any) -> bool:
    """Whether a fit that was broken off can go on: from its checkpoint, or anew if that was not yet written."""
    checkpoints = [callback for callback in getattr(model, "_skl_callbacks", []) if isinstance(callback, Checkpoint)]
    for checkpoint in checkpoints:
        model.__dict__.pop("_rescued", None)
        checkpoint.setup(model, context)
    return bool(checkpoints)


def _past(before: Any, label: int | None, casts: Callable[[int | None, list[Row]], list[Cast]]) -> Outcome:
    """What a run (of one label) has behind it. casts: the voters that belong to rows of history."""
    if before is None:
        return Outcome()
    history = before.history_
    mine = np.arange(len(history["step"])) if label is None else np.flatnonzero(history["label"] == label)
    names = [name for name in history if name not in ("label", "validation")]  # who listens now judges anew
    rows: list[Row] = [{name: history[name][k].item() for name in names} for k in mine]
    voters = casts(label, rows)
    return Outcome(voters, rows[: len(voters)])


def _refuse_other_data(before: Any, bins: Bins, classes: NDArray[Any]) -> None:
    """Voters can only go on over the bins they were made on, and for the same classes."""
    if not np.array_equal(before.classes_, classes):
        raise ValueError(OTHER_DATA.format(f"their classes were {before.classes_.tolist()!r}"))
    if not before.bins_.same_as(bins):
        raise ValueError(OTHER_DATA.format("their bins differ"))


# ---------------------------------------------------------------- rows to stop by


def validation_seed(model: Any) -> int:
    """The seed of the split, kept so that a warm start sets the same rows aside."""
    before = getattr(model, "_resume", None) or model
    if model.warm_start or before is not model:
        model._validation_seed = getattr(before, "_validation_seed", None)
    if getattr(model, "_validation_seed", None) is None or not (model.warm_start or before is not model):
        model._validation_seed = int(check_random_state(model.random_state).randint(2**31 - 1))
    return int(model._validation_seed)
