"""QuadBoost's training: a pool or a searched family, one run per label, and the attributes of the fitted model."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from electorate.model.moves import Moves
from electorate.model.trace import Trace, joined_history
from electorate.training import classification
from electorate.training.callbacks import Hooks
from electorate.training.pool_rounds import quad_trace
from electorate.training.quad_data import Group, QuadCase, QuadOptions
from electorate.training.quad_pools import ColumnPool, EnginePool, StumpPool
from electorate.training.quad_searches import BinFamily, EstimatorFamily
from electorate.training.run import Patience, run
from electorate.training.worker_data import Outline, Room
from electorate.voters.columns import Columns
from electorate.voters.pool import Pool


@dataclass
class QuadFit:
    """One fit: all its runs, one or one per label.

    source: where the voters come from, a finite pool or a searched family. before: the model to resume from; history:
    of that model, in the units of `options`.
    """

    model: Any
    options: QuadOptions
    source: Any
    outline: Outline
    before: Any = None
    history: dict[str, NDArray[Any]] | None = None
    groups: Sequence[tuple[int | None, Group]] = ((None, None),)

    def train(self, context: Any, data: tuple[Any, Any]) -> None:
        """Nothing of the model changes before all is done."""
        self.pasts = [self._past(label) for label, _ in self.groups]
        self.methods: list[Any] = []
        self.gaps: list[float] = []
        with Hooks(self.model, context, data, self._fitted, len(self.groups)) as hooks:
            if len(self.outline.classes) == 1:
                hooks.finished.append(quad_trace())
                hooks.finished[0].stop_reason = "no_edge"
                return
            for number in range(len(self.groups)):
                hooks.finished.append(self._run(number, hooks))

    def _run(self, number: int, hooks: Hooks) -> Trace:
        """One run: two labels, one label against the rest, or numbers."""
        options, (label, group) = self.options, self.groups[number]
        hooks.prepare()
        stored = () if self.before is None else self.source.stored_voters(self.before, label)
        method = self.source.start(group, self.pasts[number], stored)
        self.methods.append(method)
        score = self.source.score(group, method)
        watchers: list[Any] = [] if score is None else [Patience(score, options.tol, options.patience)]
        trace = run(method, options.n_estimators, [*watchers, hooks] if hooks.wanted else watchers)
        self.gaps.append(self.source.finish(group, method))
        return trace

    def _past(self, label: int | None) -> Trace:
        """The trace of a run that is resumed."""
        if self.before is None:
            return quad_trace()
        places, details = self.before.moves_.about(label)
        history = self.before.history_ if self.history is None else self.history
        mine = slice(None) if label is None else history["label"] == label
        rounds = int(places[-1, 0]) if len(places) else 0
        names = [name for name in history if name not in ("label", "validation", "train_error")]
        if self.options.records_errors and "train_error" in history:
            names.append("train_error")
        columns = {name: history[name][mine][:rounds] for name in names}
        return quad_trace(places[:, 0], places[:, 1], details, columns)

    def _fitted(self, traces: list[Trace]) -> dict[str, Any]:
        """The attributes of the model that these runs make, with those still to come as they were before."""
        runs = [*traces, *self.pasts[len(traces) :]]
        kept = [trace.kept for trace in runs]
        history = joined_history(runs)
        history.setdefault("train_error", np.full(len(history["step"]), np.nan))
        attributes = {
            "classes_": self.outline.classes,
            "n_classes_": len(self.outline.classes),
            "estimator_": self.options.family,
            "moves_": Moves.of([(np.stack([trace.rounds, trace.voters], axis=1), trace.details) for trace in kept]),
            "history_": history,
            "stop_reason_": max(runs, key=lambda trace: trace.n_rounds).stop_reason,
            "gap_": max(self.gaps) if len(self.gaps) == len(runs) else np.inf,
            **self.source.made([self._casts(*run) for run in enumerate(kept)], self.outline.classes),
        }
        if self.outline.listens:
            attributes["best_round_"] = max(trace.n_rounds for trace in kept)
        return attributes

    def _casts(self, number: int, trace: Trace) -> list[Any]:
        if not trace.n_rounds:
            return []
        if number < len(self.methods):
            voters = self.methods[number].voters
        else:
            voters = self.source.stored_voters(self.before, self.groups[number][0])
        return [self.source.cast(voters[voter], weight) for voter, weight in trace.last_weights()]


def train_classifier(model: Any, place: Any, outline: Outline, context: Any, data: tuple[Any, Any]) -> None:
    """Fit a classifier by a pool or by a searched family, in this process or on a cluster."""
    before = resumed_model(model)
    options, family = model._options(), model._family()
    if hasattr(place, "room") and not model._is_native:
        case = case_of(place.room, outline)
        source: Any = ColumnPool(options, case) if isinstance(family, Columns) else EstimatorFamily(options, case)
    else:
        case = case_of(place.room, outline) if hasattr(place, "room") else None
        bins = place.agree("find_bins", model.categorical_features, model.max_bins)
        if before is not None:
            classification._refuse_other_data(before, bins, outline.classes)
        said = place.agree("build", bins, model.max_bins)
        engines = {name: place.engine(name, numbers, len(outline.classes)) for name, numbers in said.items()}
        train, judge = engines["train"], engines.get("heard")
        if isinstance(family, Pool) and case is not None:
            source = StumpPool(options, case, bins, train, judge)
        else:
            source = (EnginePool if isinstance(family, Pool) else BinFamily)(options, bins, train, judge)
    groups = classification._groups(model, outline.classes)
    QuadFit(model, options, source, outline, before, groups=groups).train(context, data)


def case_of(room: Room, outline: Outline) -> QuadCase:
    """The rows of this process."""
    heard = room.examples.get("heard")
    validation = None if heard is None else QuadCase(heard, outline.classes)
    return QuadCase(room.examples["train"], outline.classes, None, validation)


def resumed_model(model: Any) -> Any:
    """The model to resume from: a checkpoint's, the fitted one for a warm start, or None."""
    before = getattr(model, "_resume", None)
    if before is None and model.warm_start and hasattr(model, "ensemble_"):
        before = model
    rounds = int(before.moves_.round.max(initial=0)) if before is not None else 0
    if rounds > model.n_estimators:
        raise ValueError(
            f"n_estimators={model.n_estimators} is less than the {rounds} rounds there are: a warm start can only add"
        )
    return before
