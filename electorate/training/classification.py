"""Benches of classifiers: voters over bins, wherever the rows are, and voters fitted to whole rows of this process.

The model is only asked for its booster, family and options.
"""

import copy
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from electorate.data import inputs
from electorate.data.all_reduce import run_locally
from electorate.data.bins import Bins
from electorate.engines.rows import Rows
from electorate.model.casting import PastRun, casts_of, from_casts
from electorate.model.foreign_ensemble import ForeignEnsemble, RowEnsemble
from electorate.model.text import column_names
from electorate.model.trace import CLASSIFIER_COLUMNS, Trace
from electorate.training.callbacks import TrialLimit
from electorate.training.fit import Bench, casts_of_run, common_attributes, past_run, resumed_model, train
from electorate.training.run import OTHER_DATA, Patience, Watcher, run
from electorate.training.stagewise import Setting, Stagewise, ValidationScore
from electorate.training.worker_data import ClassWorkerData, Outline
from electorate.voters.by_rows import ByRows, RowVoterReader
from electorate.voters.wrapped import ClassifierReader, Wrapped

NO_BINS = Bins([], {}, np.zeros(0, dtype=np.bool_), np.zeros(0, dtype=np.int64))
Group = tuple[int | None, NDArray[np.int64] | None]  # the label that is fitted against the rest, and [label] as 0 or 1


class Place(Protocol):
    """Where the rows are: worker data that is reduced over all workers, and engines over all of them."""

    def all_reduce(self, name: str, *arguments: Any) -> Any:
        """Run the steps of that name on the data of every worker; the result is the same on all."""
        ...

    def engine(self, name: str, sizes: dict[str, Any], n_labels: int) -> Any:
        """Over the shards of that name on all workers. sizes: their numbers over all workers."""
        ...


@dataclass(frozen=True)
class Here:
    """This process."""

    data: ClassWorkerData

    def all_reduce(self, name: str, *arguments: Any) -> Any:
        return run_locally(getattr(self.data, name)(*arguments))

    def engine(self, name: str, sizes: dict[str, Any], n_labels: int) -> Any:
        return self.data.engines[name]


def groups_of(model: Any, classes: NDArray[Any]) -> list[Group]:
    """The runs of a fit: all labels as they are, or each label against the rest."""
    n_labels = len(classes)
    if not model._one_vs_rest or n_labels <= 2:
        return [(None, None)]
    return [(label, (np.arange(n_labels) == label).astype(np.int64)) for label in range(n_labels)]


def fit_classifier(model: Any, place: Any, outline: Outline, context: Any, data: tuple[Any, Any]) -> None:
    """Fit the model to the rows of a place."""
    inputs.refuse_many_labels(model, len(outline.classes))
    bench = BinBench(model, outline, place) if model._is_native else RowBench(model, outline, place.data)
    train(bench, groups_of(model, outline.classes), context, data)


class ClassifierBench(Bench):
    """What voters over bins and voters over rows share. engine, judge: over the training and the validation rows."""

    bins = NO_BINS
    family: Any
    engine: Any
    judge: Any

    def __init__(self, model: Any, outline: Outline) -> None:
        super().__init__(model)
        self.outline = outline
        self.before = resumed_model(model)

    def past(self, task: Group) -> PastRun:
        trace, (label, _) = Trace(CLASSIFIER_COLUMNS), task
        if self.before is None:
            return PastRun(trace)
        history = self.before.history_
        rows = np.arange(len(history["step"])) if label is None else np.flatnonzero(history["label"] == label)
        errors = [{"edge": float(history["edge"][k]), "error": float(history["error"][k])} for k in rows.tolist()]
        return past_run(trace, history, rows, self.casts(label, errors))

    def casts(self, label: int | None, rows: list[Any]) -> list[Any]:
        """The voters (of one label's run) of the model that training resumes from."""
        raise NotImplementedError

    def ensemble(self, casts: list[list[Any]]) -> Any:
        raise NotImplementedError

    def method(self, booster: Any, group: NDArray[np.int64] | None, past: PastRun) -> Stagewise:
        self.engine.start(booster, group)
        family = self.model._searching(self, booster, past)
        return Stagewise(Setting(self.engine, family, booster, self.bins, self.model.n_estimators), past)

    def start(self, task: Group, past: PastRun) -> Stagewise | None:
        n_labels = len(self.outline.classes)
        if n_labels == 1:
            return None
        group = task[1]
        booster = self.model._chosen_booster(self, group, n_labels if group is None else 2)
        return self.method(booster, group, past)

    def watchers(self, task: Group, method: Any) -> list[Watcher]:
        model = self.model
        if self.judge is None or not model.early_stopping:
            return []
        score = ValidationScore(self.judge, method, task[1], model.scoring)
        return [Patience(score, model.tol, model.n_iter_no_change)]

    def fitted(self, traces: list[Trace], runs: list[Any]) -> dict[str, Any]:
        every = [*traces, *(run.trace for run in runs[len(traces) :])]
        ensemble = self.ensemble([casts_of_run(trace, run) for trace, run in zip(every, runs, strict=True)])
        classes = {"classes_": self.outline.classes, "n_classes_": len(self.outline.classes)}
        common = common_attributes(self.model, every, self.outline.has_validation)
        return {**classes, "ensemble_": ensemble, "bins_": self.bins, **common}


class BinBench(ClassifierBench):
    """Voters that are searched over bins."""

    def __init__(self, model: Any, outline: Outline, place: Place) -> None:
        super().__init__(model, outline)
        self.bins = place.all_reduce("find_bins", model.categorical_features, model.max_bins)
        if self.before is not None:
            refuse_other_bins(self.before, self.bins, outline.classes)
        self.family = model._family()
        self.place = place
        self.engine = None

    def start(self, task: Group, past: PastRun) -> Stagewise | None:
        n_labels = len(self.outline.classes)
        if self.engine is None and n_labels > 1:
            sizes = self.place.all_reduce("build", self.bins, self.model.max_bins)
            engines = {name: self.place.engine(name, numbers, n_labels) for name, numbers in sizes.items()}
            self.engine, self.judge = engines["train"], engines.get("validation")
        return super().start(task, past)

    def casts(self, label: int | None, rows: list[Any]) -> list[Any]:
        return casts_of(self.before.ensemble_, self.bins, label, rows)

    def ensemble(self, casts: list[list[Any]]) -> Any:
        n_classes = len(self.outline.classes)
        return from_casts(casts, self.bins, 1 if n_classes == 2 else n_classes)


class RowBench(ClassifierBench):
    """Voters that are fitted to, or search, whole rows: third-party classifiers, and families of ours by rows."""

    def __init__(self, model: Any, outline: Outline, data: ClassWorkerData) -> None:
        super().__init__(model, outline)
        self.examples, validation = data.examples["train"], data.examples.get("validation")
        X: Any = self.examples.table
        self.X = X
        self.by_rows: bool = model._by_rows
        self.reader: Any = _row_reader(model, outline.classes) if self.by_rows else _reader(model, outline)
        self.engine = Rows(self.examples, lambda voter: self.reader.of(voter, self.X))
        self.judge = None
        if validation is not None:
            self.judge = Rows(validation, lambda voter: self.reader.of(voter, validation.table))
        if self.by_rows:
            self.bins = no_bins(X.shape[1])

    def casts(self, label: int | None, rows: list[Any]) -> list[Any]:
        return casts_of(self.before.ensemble_, self.bins, label, rows, self.engine.evaluate)

    def start(self, task: Group, past: PastRun) -> Stagewise | None:
        group, labels = task[1], self.examples.labels
        if self.by_rows:
            self.family = ByRows(self.model._family(), self.X, self.reader, column_names(self.model))
        else:
            targets = self.outline.classes[labels] if group is None else group[labels]
            self.family = Wrapped(self.model._family(), self.X, targets, self.reader, self.model.random_state)
        self.family.skip(len(past.casts))
        return super().start(task, past)

    def check(self, traces: list[Trace]) -> None:
        none = len(self.outline.classes) > 1 and not any(trace.n_rounds for trace in traces)
        if none and not self.by_rows:
            name = type(self.model).__name__
            raise ValueError(f"BaseClassifier in {name} ensemble is worse than random, ensemble can not be fit.")

    def ensemble(self, casts: list[list[Any]]) -> Any:
        if self.by_rows:
            return RowEnsemble(casts, self.reader, self.X.shape[1], self.model._family())
        return ForeignEnsemble(casts, self.reader, self.X.shape[1])

    def fitted(self, traces: list[Trace], runs: list[Any]) -> dict[str, Any]:
        attributes = super().fitted(traces, runs)
        if not self.by_rows:
            del attributes["bins_"]
        return attributes


def _reader(model: Any, outline: Outline) -> ClassifierReader:
    classes = outline.classes
    booster = model._booster(len(classes))
    smoothing = float(np.finfo(np.float64).eps) if booster.fixed_steps else 1.0 / outline.n_counted
    one_vs_rest = model._one_vs_rest and len(classes) > 2
    return ClassifierReader(np.arange(2) if one_vs_rest else classes, booster.leaves, smoothing)


def _row_reader(model: Any, classes: NDArray[Any]) -> Any:
    """How outputs of voters by rows are read: one number each, for two classes."""
    if len(classes) > 2 and not model._one_vs_rest:
        raise ValueError(
            f"{type(model).__name__} cannot boost {type(model._family()).__name__} for {len(classes)} classes: it fits "
            "all classes at once, and these voters tell two apart: use AdaBoostRClassifier, or scikit-learn's "
            "OneVsRestClassifier"
        )
    two = np.arange(2) if len(classes) > 2 else classes
    return RowVoterReader(two, model._booster(2).leaves, type(model).__name__)


def no_bins(n_columns: int) -> Bins:
    """Empty bins, for an unbinned table."""
    nothing = np.zeros(n_columns, dtype=np.int64)
    return Bins([np.empty(0)] * n_columns, {}, nothing.astype(np.bool_), nothing)


def refuse_other_bins(before: Any, bins: Bins, classes: NDArray[Any] | None = None) -> None:
    """Raise ValueError where voters were made on other bins, or for other classes."""
    if classes is not None and not np.array_equal(before.classes_, classes):
        raise ValueError(OTHER_DATA.format(f"their classes were {before.classes_.tolist()!r}"))
    if not before.bins_.same_as(bins):
        raise ValueError(OTHER_DATA.format("their bins differ"))


def validation_score(bench: Any, group: NDArray[np.int64] | None, booster: Any, part: float) -> float:
    """The validation score of a run with this booster, to choose among boosters.

    With early stopping, of its best round; otherwise of its last. part: its share of the time that is left, if limited.
    """
    model, bench = bench.model, copy.copy(bench)
    bench.family = copy.copy(bench.family)
    if isinstance(bench.family, Wrapped):
        bench.family.random = copy.deepcopy(bench.family.random)  # what it draws, the chosen run draws again
    method = bench.method(booster, group, PastRun(Trace(CLASSIFIER_COLUMNS)))
    patience = model.n_iter_no_change if model.early_stopping else model.n_estimators + 1
    validation = Patience(ValidationScore(bench.judge, method, group, model.scoring), model.tol, patience)
    trace = run(method, model.n_estimators, [validation, TrialLimit(model, part)])
    if not trace.n_rounds:
        return float("inf")
    return validation.best if model.early_stopping else float(trace.history["validation"][-1])
