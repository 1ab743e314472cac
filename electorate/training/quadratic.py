"""The bench of QuadBoost: a finite pool or a searched family, one run per label, and the fitted model."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from electorate.families.by_rows import RowVoterReader
from electorate.families.columns import Columns
from electorate.families.pool import Pool
from electorate.model.casting import Cast, PastRun
from electorate.model.moves import Moves
from electorate.model.trace import Trace
from electorate.training.classification import Here, LabelBench, build_engines, find_bins, groups_of
from electorate.training.fit import resumed_model, train
from electorate.training.pool_rounds import COLUMNS, N_DETAILS, WEIGHT, QuadRounds
from electorate.training.quad_data import Group, QuadSource, case_of
from electorate.training.quad_pools import ColumnPool, EnginePool, StumpPool
from electorate.training.quad_searches import BinSource, EstimatorFamily
from electorate.training.run import Patience, Watcher
from electorate.training.worker_data import Outline

History = dict[str, NDArray[Any]]
TWO = np.arange(2)  # classes, where one is fitted against the rest; a regressor is made like a classifier of two


@dataclass
class QuadPast(PastRun):
    """The rounds that a run resumes from. source: makes a voter of what `casts` holds and a weight."""

    source: Any = None

    def cast(self, number: int, weight: float) -> Cast:
        cast: Cast = self.source.cast(self.casts[number], weight)
        return cast


class QuadBench(LabelBench):
    """source: where the voters come from, a finite pool or a searched family.

    before: the model to resume from; history: of that model, in the units of the source.
    """

    def __init__(
        self, model: Any, source: QuadSource, outline: Outline, before: Any = None, history: History | None = None
    ) -> None:
        super().__init__(model, outline)
        self.source, self.bins = source, source.bins
        classes = TWO if len(outline.classes) > 2 else outline.classes
        self.reader = RowVoterReader(classes, "log_odds", type(model).__name__)
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
        names = [*COLUMNS, *(["train_error"] if self.model._records_errors and "train_error" in history else [])]
        columns = {name: history[name][mine][:n_rounds] for name in names}
        trace.add_rounds(rounds, moves.number[moved], details[:, WEIGHT], columns, details)
        return QuadPast(trace, list(self.source.stored_voters(self.before, label)), self.source)

    def start(self, task: tuple[int | None, Group], past: Any) -> QuadRounds | None:
        if len(self.outline.classes) == 1:
            return None
        return self.source.start(task[1], past.trace, past.casts)

    def watchers(self, task: Any, method: Any) -> list[Watcher]:
        score = self.source.score(method)
        tol = self.model.tol / self.source.unit**self.source.loss.power
        return [] if score is None else [Patience(score, tol, self.model.n_iter_no_change)]

    def finish(self, method: Any) -> None:
        self.gaps.append(self.source.finish(method))

    def fitted(self, traces: list[Trace], runs: list[Any]) -> dict[str, Any]:
        attributes = super().fitted(traces, runs) | {
            "moves_": Moves.of([trace.kept for trace in traces]),
            "gap_": max(self.gaps) if len(self.gaps) == len(traces) else np.inf,
        }
        history = attributes["history_"]
        history.setdefault("train_error", np.full(len(history["step"]), np.nan))
        return attributes


def fit_quad_classifier(model: Any, place: Any, outline: Outline, context: Any, data: tuple[Any, Any]) -> None:
    """Fit a classifier by a pool or by a searched family, in this process or on a cluster."""
    before = resumed_model(model)
    family = model._family()
    case = case_of(place.data, outline.classes) if isinstance(place, Here) else None
    source: QuadSource
    if case is not None and not model._is_native:
        source = (ColumnPool if isinstance(family, Columns) else EstimatorFamily)(model, 1.0, case)
    else:
        bins = find_bins(model, place, before, outline.classes)
        shards = build_engines(model, place, bins, len(outline.classes))
        if isinstance(family, Pool) and case is not None:
            source = StumpPool(model, 1.0, case, bins, *shards)
        else:
            source = (EnginePool if isinstance(family, Pool) else BinSource)(model, 1.0, bins, *shards)
    bench = QuadBench(model, source, outline, before)
    train(bench, groups_of(model, outline.classes), context, data)
