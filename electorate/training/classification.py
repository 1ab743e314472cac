"""Benches of classifiers: for voters over bins, in any place, and for voters fitted to whole rows in this process.

The model is only asked for its booster, family and options.
"""

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from electorate.data import inputs
from electorate.data.all_reduce import run_locally
from electorate.data.bins import Bins, no_bins
from electorate.engines.rows import RowEngine
from electorate.exact import AnyArray, Ints
from electorate.families.by_rows import ByRows, RowVoterReader
from electorate.families.monotone import is_monotone
from electorate.families.wrapped import ClassifierReader, Wrapped
from electorate.model.casting import PastRun, casts_of, from_casts
from electorate.model.foreign_ensemble import ForeignEnsemble, RowEnsemble
from electorate.model.text import column_names
from electorate.model.trace import CLASSIFIER_COLUMNS, Trace
from electorate.training.callbacks import TrialLimit
from electorate.training.fit import Bench, casts_of_run, common_attributes, past_run, resumed_model, train
from electorate.training.run import OTHER_DATA, Patience, Watcher, run
from electorate.training.stagewise import Stagewise, StagewiseSetting, ValidationScore
from electorate.training.worker_data import ClassWorkerData, Outline

NO_BINS = no_bins(0)
Group = tuple[int | None, Ints | None]  # the label that is fitted against the rest, and [label] as 0 or 1


@dataclass(frozen=True)
class Here:
    """This process as the place of the rows. Elsewhere, workers exchange messages, and engines are over all of them."""

    data: ClassWorkerData

    def all_reduce(self, name: str, *arguments: Any) -> Any:
        """Run the steps of that name on the data of every worker; the result is the same on all."""
        return run_locally(getattr(self.data, name)(*arguments))

    def engine(self, name: str, sizes: dict[str, Any], n_labels: int) -> Any:
        return self.data.engines[name]

    def target_engines(self, names: Sequence[str], n_kappas: int) -> dict[str, Any]:
        return self.data.engines


def groups_of(model: Any, classes: AnyArray) -> list[Group]:
    """The runs of a fit: all labels as they are, or each label against the rest."""
    n_labels = len(classes)
    if not model._one_vs_rest or n_labels <= 2:
        return [(None, None)]
    return [(label, (np.arange(n_labels) == label).astype(np.int64)) for label in range(n_labels)]


def fit_classifier(model: Any, place: Any, outline: Outline, context: Any, data: tuple[Any, Any]) -> None:
    """Fit the model to the rows of a place."""
    inputs.refuse_many_labels(model, len(outline.classes))
    if len(outline.classes) > 2 and is_monotone(model._family()):
        raise ValueError(f"monotonic_cst is for two classes, and y has {len(outline.classes)}: leave it None")
    bench = BinBench(model, outline, place) if model._is_native else RowBench(model, outline, place.data)
    train(bench, groups_of(model, outline.classes), context, data)


class LabelBench(Bench):
    """Base class for algorithms whose vote is a sum. reader: reads the outputs of voters that use whole rows."""

    bins = NO_BINS
    reader: Any = None

    def __init__(self, model: Any, outline: Outline) -> None:
        super().__init__(model)
        self.outline = outline

    def used(self, trace: Trace, run: Any) -> list[Any]:
        """The voters of a run that belong to the model."""
        return casts_of_run(trace, run)

    def fitted(self, traces: list[Trace], runs: list[Any]) -> dict[str, Any]:
        casts = [self.used(trace, run) for trace, run in zip(traces, runs, strict=True)]
        model, n_classes, n_columns = self.model, len(self.outline.classes), self.model.n_features_in_
        attributes = {"classes_": self.outline.classes, "n_classes_": n_classes}
        attributes |= common_attributes(model, traces, self.outline.has_validation)
        if model._is_native:
            ensemble: Any = from_casts(casts, self.bins, 1 if n_classes == 2 else n_classes)
        elif isinstance(self.reader, ClassifierReader):
            return attributes | {"ensemble_": ForeignEnsemble(casts, self.reader, n_columns)}
        else:
            ensemble = RowEnsemble(casts, self.reader, n_columns, model._family())
        return attributes | {"bins_": self.bins if model._is_native else no_bins(n_columns), "ensemble_": ensemble}


class ClassifierBench(LabelBench):
    """Base class for voters over bins and over rows. engine, judge: over the training and the validation rows."""

    family: Any
    engine: Any
    judge: Any

    def __init__(self, model: Any, outline: Outline) -> None:
        super().__init__(model, outline)
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

    def method(self, booster: Any, group: Ints | None, past: PastRun) -> Stagewise:
        self.engine.start(booster, group)
        family = self.model._searching(self, booster, past)
        return Stagewise(StagewiseSetting(self.engine, family, booster, self.bins, self.model.n_estimators), past)

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


class BinBench(ClassifierBench):
    """Voters that are searched over bins."""

    def __init__(self, model: Any, outline: Outline, place: Any) -> None:
        super().__init__(model, outline)
        self.bins = find_bins(model, place, self.before, outline.classes)
        self.family = model._family()
        self.place = place
        self.engine = None

    def start(self, task: Group, past: PastRun) -> Stagewise | None:
        n_labels = len(self.outline.classes)
        if self.engine is None and n_labels > 1:
            self.engine, self.judge = build_engines(self.model, self.place, self.bins, n_labels)
        return super().start(task, past)

    def casts(self, label: int | None, rows: list[Any]) -> list[Any]:
        return casts_of(self.before.ensemble_, self.bins, label, rows)


class RowBench(ClassifierBench):
    """Voters over whole rows: third-party classifiers, and electorate's own families by rows."""

    def __init__(self, model: Any, outline: Outline, data: ClassWorkerData) -> None:
        super().__init__(model, outline)
        self.examples, validation = data.examples["train"], data.examples.get("validation")
        X: Any = self.examples.table
        self.X = X
        self.by_rows: bool = model._by_rows
        self.reader = self._reader()
        self.engine = RowEngine(self.examples, lambda voter: self.reader.of(voter, self.X))
        self.judge = None
        if validation is not None:
            self.judge = RowEngine(validation, lambda voter: self.reader.of(voter, validation.table))
        if self.by_rows:
            self.bins = no_bins(X.shape[1])

    def _reader(self) -> Any:
        model, classes = self.model, self.outline.classes
        if self.by_rows and len(classes) > 2 and not model._one_vs_rest:
            raise ValueError(
                f"{type(model).__name__} cannot boost {type(model._family()).__name__} for {len(classes)} classes: it "
                "fits all classes at once, and these voters tell two apart: use AdaBoostRClassifier, or scikit-learn's "
                "OneVsRestClassifier"
            )
        booster = model._booster(2)
        smoothing = float(np.finfo(np.float64).eps) if booster.fixed_steps else 1.0 / self.outline.n_counted
        return row_reader(model, classes, booster.leaves, smoothing)

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


def row_reader(model: Any, classes: AnyArray, leaves: str, smoothing: float = 0.0) -> Any:
    """Return the reader of the outputs of voters that use whole rows, for all classes or for one against the rest."""
    if model._one_vs_rest and len(classes) > 2:
        classes = np.arange(2)
    if model._by_rows:
        return RowVoterReader(classes, leaves, type(model).__name__)
    return ClassifierReader(classes, leaves, smoothing)


def find_bins(
    model: Any, place: Any, before: Any = None, classes: AnyArray | None = None, unbinned: Bins = NO_BINS
) -> Bins:
    """The bins of the rows. Raises ValueError where the model that is resumed has other bins, or other classes."""
    bins = unbinned
    if model._is_native:
        bins = place.all_reduce("find_bins", model.categorical_features, model.max_bins)
    if before is not None and classes is not None and not np.array_equal(before.classes_, classes):
        raise ValueError(OTHER_DATA.format(f"their classes were {before.classes_.tolist()!r}"))
    if before is not None and not before.bins_.same_as(bins):
        raise ValueError(OTHER_DATA.format("their bins differ"))
    return bins


def build_engines(model: Any, place: Any, bins: Bins, n_labels: int) -> tuple[Any, Any]:
    """Return the engines over the training rows and, if there are any, over the validation rows."""
    sizes = place.all_reduce("build", bins, model.max_bins)
    engines = {name: place.engine(name, numbers, n_labels) for name, numbers in sizes.items()}
    return engines["train"], engines.get("validation")


def validation_score(bench: Any, group: Ints | None, booster: Any, part: float) -> float:
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
