"""The bench of QuadBoost: a finite pool or a searched family, one run per label, and the fitted model."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from electorate.model.casting import Cast, PastRun
from electorate.model.moves import Moves
from electorate.model.trace import Trace
from electorate.training.classification import Here, groups_of, refuse_other_bins
from electorate.training.fit import Bench, casts_of_run, common_attributes, resumed_model, train
from electorate.training.pool_rounds import COLUMNS, N_DETAILS, WEIGHT, QuadRounds
from electorate.training.quad_data import Group, QuadCase, QuadOptions
from electorate.training.quad_pools import ColumnPool, EnginePool, StumpPool
from electorate.training.quad_searches import BinFamily, EstimatorFamily
from electorate.training.run import Patience, Watcher
from electorate.training.worker_data import ClassWorkerData, Outline
from electorate.voters.columns import Columns
from electorate.voters.pool import Pool

History = dict[str, NDArray[Any]]


@dataclass
class QuadPast(PastRun):
    """The rounds that a run resumes from. source: makes a voter of what `casts` holds and a weight."""

    source: Any = None

    def cast(self, number: int, weight: float) -> Cast:
        cast: Cast = self.source.cast(self.casts[number], weight)
        return cast


class QuadBench(Bench):
    """source: where the voters come from, a finite pool or a searched family.

    before: the model to resume from; history: of that model, in the units of `options`.
    """

    def __init__(
        self,
        model: Any,
        options: QuadOptions,
        source: Any,
        outline: Outline,
        before: Any = None,
        history: History | None = None,
    ) -> None:
        super().__init__(model)
        self.options, self.source, self.outline = options, source, outline
        self.before = before
        self.history = history or getattr(before, "history_", {})
        self.gaps: list[float] = []

    def past(self, task: tuple[int | None, Group]) -> QuadPast:
        trace, (label, _), history = Trace(COLUMNS, N_DETAILS), task, self.history
        if self.before is None:
            return QuadPast(trace)
        moves = self.before.moves_
        mine = slice(None) if label is None else history["label"] == label
        moved = slice(None) if label is None else moves.label == label
        rounds, details = moves.round[moved], moves.details[moved]
        n_rounds = int(rounds[-1]) if len(rounds) else 0
        names = [*COLUMNS, *(["train_error"] if self.options.records_errors and "train_error" in history else [])]
        columns = {name: history[name][mine][:n_rounds] for name in names}
        trace.add_rounds(rounds, moves.number[moved], details[:, WEIGHT], columns, details)
        return QuadPast(trace, self.source.stored_voters(self.before, label), self.source)

    def start(self, task: tuple[int | None, Group], past: Any) -> QuadRounds | None:
        if len(self.outline.classes) == 1:
            return None
        rounds: QuadRounds = self.source.start(task[1], past.trace, past.casts)
        return rounds

    def watchers(self, task: Any, method: Any) -> list[Watcher]:
        score = self.source.score(method)
        return [] if score is None else [Patience(score, self.options.tol, self.options.patience)]

    def finish(self, method: Any) -> None:
        self.gaps.append(self.source.finish(method))

    def fitted(self, traces: list[Trace], runs: list[Any]) -> dict[str, Any]:
        every = [*traces, *(run.trace for run in runs[len(traces) :])]
        casts = [casts_of_run(trace, run) for trace, run in zip(every, runs, strict=True)]
        attributes = {
            "classes_": self.outline.classes,
            "n_classes_": len(self.outline.classes),
            "moves_": Moves.of([trace.kept for trace in every]),
            "gap_": max(self.gaps) if len(self.gaps) == len(every) else np.inf,
            **common_attributes(self.model, every, self.outline.has_validation),
            **self.source.made(casts, self.outline.classes),
        }
        history = attributes["history_"]
        history.setdefault("train_error", np.full(len(history["step"]), np.nan))
        return attributes


def fit_quad_classifier(model: Any, place: Any, outline: Outline, context: Any, data: tuple[Any, Any]) -> None:
    """Fit a classifier by a pool or by a searched family, in this process or on a cluster."""
    before = resumed_model(model)
    options, family = model._options(), model._family()
    case = case_of(place.data, outline) if isinstance(place, Here) else None
    source: Any
    if case is not None and not model._is_native:
        source = (ColumnPool if isinstance(family, Columns) else EstimatorFamily)(options, case)
    else:
        bins = place.all_reduce("find_bins", model.categorical_features, model.max_bins)
        if before is not None:
            refuse_other_bins(before, bins, outline.classes)
        counts = place.all_reduce("build", bins, model.max_bins)
        engines = {name: place.engine(name, numbers, len(outline.classes)) for name, numbers in counts.items()}
        shards = engines["train"], engines.get("validation")
        if isinstance(family, Pool) and case is not None:
            source = StumpPool(options, case, bins, *shards)
        else:
            source = (EnginePool if isinstance(family, Pool) else BinFamily)(options, bins, *shards)
    bench = QuadBench(model, options, source, outline, before)
    train(bench, groups_of(model, outline.classes), context, data)


def case_of(data: ClassWorkerData, outline: Outline) -> QuadCase:
    """The rows of this process."""
    validation = data.examples.get("validation")
    held_out = None if validation is None else QuadCase(validation, outline.classes)
    return QuadCase(data.examples["train"], outline.classes, None, held_out)
