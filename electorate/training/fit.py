"""Runs the tasks of a bench and sets the fitted attributes: one run, or one per class or candidate.

Shared by all algorithms: resuming, watchers, callbacks, and the attributes of the model.
"""

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from electorate.model.casting import PastRun
from electorate.model.ensemble import Ensemble
from electorate.model.trace import Trace, joined_history
from electorate.training.callbacks import Checkpoint, Hooks
from electorate.training.run import Method, Watcher, run


class Bench:
    """Prepares the runs of one fit. A task describes one run: a grouping of labels, or a candidate.

    Subclasses define `start`, `past` and `fitted`.
    """

    def __init__(self, model: Any) -> None:
        self.model = model

    def past(self, task: Any) -> PastRun:
        """Return the rounds that a run resumes from."""
        raise NotImplementedError

    def start(self, task: Any, past: PastRun) -> Method | None:
        """Return a method that has replayed its past; None if there is nothing to learn."""
        raise NotImplementedError

    def watchers(self, task: Any, method: Any) -> list[Watcher]:
        """Return the watchers of a run, besides callbacks."""
        return []

    def finish(self, method: Any) -> None:
        """Complete the trace of a run that has ended."""

    def again(self, task: Any, trace: Trace) -> Any:
        """Return a task to run in place of one that has ended, or None."""
        return None

    def fitted(self, traces: list[Trace], runs: list[Any]) -> dict[str, Any]:
        """Return the fitted attributes, from the traces of all runs. runs: methods, or past runs."""
        raise NotImplementedError

    def check(self, traces: list[Trace]) -> None:
        """Raise ValueError if the runs do not make a model."""


def train(bench: Bench, tasks: Sequence[Any], context: Any, data: tuple[Any, Any]) -> None:
    """Run every task, then set the attributes of the model."""
    model, tasks = bench.model, list(tasks)
    runs: list[Any] = [bench.past(task) for task in tasks]

    def fitted(traces: list[Trace]) -> dict[str, Any]:
        """Return the attributes after the traces so far; the other runs contribute the rounds they resume from."""
        return bench.fitted([*traces, *(run.trace for run in runs[len(traces) :])], runs)

    with Hooks(model, context, data, fitted, len(tasks)) as hooks:
        for number, past in enumerate(list(runs)):
            task = tasks[number]
            while task is not None:
                hooks.prepare()
                method = bench.start(task, past)
                if method is None:
                    past.trace.stop_reason = "no_edge"
                    hooks.finished.append(past.trace)
                    break
                runs[number], tasks[number] = method, task
                watchers = [*bench.watchers(task, method), *([hooks] if hooks.wanted else [])]
                trace = run(method, model.n_estimators, watchers)
                bench.finish(method)
                task = bench.again(task, trace)
                if task is None:
                    hooks.finished.append(trace)
                else:
                    hooks.expect(trace.n_rounds)
        bench.check(hooks.finished)


def common_attributes(model: Any, traces: Sequence[Trace], has_validation: bool) -> dict[str, Any]:
    """Return the attributes that every kind of model has."""
    attributes = {
        "estimator_": model._family(),
        "history_": joined_history(traces),
        "stop_reason_": max(traces, key=lambda trace: trace.n_rounds).stop_reason,
    }
    if has_validation:
        attributes["best_round_"] = max(trace.kept.n_rounds for trace in traces)
    return attributes


def casts_of_run(trace: Trace, run: Any) -> list[Any]:
    """Return the voters of the rounds up to the best one, with their last weights."""
    return [run.cast(number, weight) for number, weight in trace.kept.last_weights()]


# ---------------------------------------------------------------- resuming


def resumed_model(model: Any, attribute: str = "ensemble_") -> Any:
    """The model that training resumes from: a checkpoint, the fitted model itself for a warm start, or None."""
    before = getattr(model, "_resume", None)
    if before is None and model.warm_start and hasattr(model, attribute):
        before = model
    if before is not None and before._n_rounds > model.n_estimators:
        raise ValueError(
            f"n_estimators={model.n_estimators} is less than the {before._n_rounds} rounds there are: "
            "a warm start can only add"
        )
    return before


def past_run(trace: Trace, history: dict[str, Any], rows: Any, casts: list[Any]) -> PastRun:
    """The rounds of a fitted model as a run resumes from them. rows: of the history, in order."""
    moves = [(number, cast.step.size) for number, cast in enumerate(casts)]
    names = [name for name in history if name not in ("label", "validation")]  # validation is scored again
    columns = {name: history[name][rows][: len(casts)] for name in names}
    trace.add_rounds(range(1, len(casts) + 1), [k for k, _ in moves], [size for _, size in moves], columns)
    return PastRun(trace, casts)


def resume_lost(model: Any, context: Any) -> bool:
    """Return whether a fit that lost a worker can continue, from its checkpoint or from the start."""
    checkpoints = [callback for callback in getattr(model, "_skl_callbacks", []) if isinstance(callback, Checkpoint)]
    for checkpoint in checkpoints:
        model.__dict__.pop("_rescued", None)
        checkpoint.setup(model, context)
    return bool(checkpoints)


def validation_seed(model: Any) -> int:
    """Return the seed of the validation split; it is stored, so that a resumed fit draws the same rows."""
    before = getattr(model, "_resume", None) or (model if model.warm_start else None)
    seed = getattr(before, "_validation_seed", None)
    if seed is None:
        seed = check_random_state(model.random_state).randint(2**31 - 1)
    model._validation_seed = int(seed)
    return int(seed)


# ---------------------------------------------------------------- warnings

STUMP = 3  # nodes
LOST = 0.5  # of the error of guessing: from here on, stumps do not separate the classes


def warn_of_traps(model: Any) -> None:
    """Warn if a fitted classifier has one of these problems; the warning says what to use instead."""
    ensemble = model.ensemble_
    if not isinstance(ensemble, Ensemble) or not ensemble.n_voters:
        return
    name, largest = type(model).__name__, int(np.diff(ensemble.offsets).max())
    if model.stop_reason_ == "perfect_voter" and model._n_rounds == 1 and largest > STUMP:
        found = "the first tree classifies every training row correctly, so the vote ends after one round"
        todo = "use a smaller max_depth, for example Trees(3), or RealAdaBoostClassifier(Trees(3), step=1)"
        warnings.warn(f"{name}: {found} and the model is that one tree: {todo}.", UserWarning, stacklevel=7)
    n_classes, errors = model.n_classes_, model.history_.get("train_error", ())
    if n_classes > 2 and not model._one_vs_rest and largest <= STUMP and len(errors):
        error = float(errors[-1])
        if error > LOST * (1 - 1 / n_classes):
            found = f"stumps have two leaves and do not tell {n_classes} classes apart (training error {error:.2f})"
            todo = "use deeper voters, for example Trees(3), or AdaBoostRClassifier, which fits one class at a time"
            warnings.warn(f"{name}: {found}: {todo}.", UserWarning, stacklevel=7)
