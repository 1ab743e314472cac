"""Cells: one algorithm with one setting in one fold, each a pure function of the rows and the seed.

A cell scores its setting by splits of the fold's training rows (inner loss), then trains on all of them and tests on
the fold's rows. Nested cross-validation follows from the cells: in each fold the setting of least inner loss counts.
`Coded` fits an estimator of any library to a table of any kind.
"""

import time
import warnings
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from electorate.comparison import folds
from electorate.comparison.algorithms import Algorithm, Facts, Setting
from electorate.comparison.rows import Floats, Rows, as_table, read_categories, read_matrix, widest_of

SMALLEST = float(np.finfo(np.float64).eps)  # smaller probabilities are raised to this one before the logarithm


@dataclass(frozen=True)
class Cell:
    """algorithm, setting: positions in the list of algorithms and in the grid."""

    algorithm: int
    setting: int
    fold: int


@dataclass(frozen=True)
class Tested:
    """The result of a cell. losses, log_losses: of the rows of its fold, in order."""

    inner: float
    losses: Floats
    log_losses: Floats  # empty for regression
    size: int
    fit_seconds: float
    predict_seconds: float


@dataclass(frozen=True)
class Failed:
    """A cell whose estimator raised an error."""

    message: str


Result = Tested | Failed


@dataclass(frozen=True)
class Protocol:
    """Everything a cell depends on, besides the rows."""

    algorithms: list[Algorithm]
    n_folds: int
    seed: int
    n_classes: int

    @cached_property
    def cells(self) -> list[Cell]:
        """First settings first, fold by fold, all algorithms in each: a run that is cut short stays comparable."""
        return [
            Cell(a, setting, fold)
            for setting in range(max(len(algorithm.grid) for algorithm in self.algorithms))
            for fold in range(self.n_folds)
            for a, algorithm in enumerate(self.algorithms)
            if setting < len(algorithm.grid)
        ]


def run(cell: Cell, rows: Rows, protocol: Protocol) -> Result:
    """Run a cell with one thread, since cells run side by side. Warnings are hidden; the winner's fit repeats them."""
    try:
        with threadpool_limits(1), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return _test(cell, rows, protocol)
    except Exception as error:  # of the estimator: it is reported below the table
        return Failed(f"{type(error).__name__}: {error}"[:500])


def _test(cell: Cell, rows: Rows, protocol: Protocol) -> Tested:
    part = folds.outer(rows.target, protocol.n_folds, protocol.seed)
    training = rows.take(np.flatnonzero(part != cell.fold))
    testing = rows.take(np.flatnonzero(part == cell.fold))
    algorithm, n_classes = protocol.algorithms[cell.algorithm], protocol.n_classes

    def fit(rows: Rows) -> Coded:
        setting = algorithm.grid[cell.setting]
        model = Coded(algorithm, setting, protocol.seed, rows.categorical, n_classes > 0)
        return model.fit(rows.matrix, rows.target, rows.weight)

    inner = []
    for learn, validate in folds.inner(training.target, cell.fold, protocol.seed):
        validation = training.take(validate)
        losses, _ = _losses(fit(training.take(learn)), validation, n_classes)
        inner.append(float(np.average(losses, weights=validation.weight)))
    started = time.perf_counter()
    model = fit(training)
    fitted = time.perf_counter()
    losses, log_losses = _losses(model, testing, n_classes)
    passed = time.perf_counter() - fitted
    return Tested(float(np.mean(inner)), losses, log_losses, _size_of(model.model_), fitted - started, passed)


class Coded:
    """Fits the estimator of an algorithm to a table of any kind: `model_` gets float64 with NaN for missing values.

    Categories become codes from 0 on, and so do classes, without gaps, as other libraries need them. `model_` is None
    where the rows have one class only.
    """

    def __init__(
        self, algorithm: Algorithm, setting: Setting, seed: int, categorical_features: Any, is_classifier: bool
    ) -> None:
        self.algorithm, self.setting, self.seed = algorithm, setting, seed
        self.categorical_features, self.is_classifier = categorical_features, is_classifier

    def fit(self, X: Any, y: NDArray[Any], sample_weight: Floats | None = None) -> Self:
        table = as_table(X)
        self.categories_ = read_categories(table, self.categorical_features)
        facts = Facts(list(self.categories_), self.seed, widest_of(self.categories_))
        model = self.algorithm.build(self.setting, facts)
        if self.is_classifier:
            self.classes_, y = np.unique(y, return_inverse=True)
        weighted = {} if sample_weight is None else {"sample_weight": sample_weight}
        is_constant = self.is_classifier and len(self.classes_) == 1
        self.model_: Any = None if is_constant else model.fit(read_matrix(X, table, self.categories_), y, **weighted)
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        if self.model_ is None:
            return np.repeat(self.classes_, as_table(X).n_rows)
        found = np.asarray(self.model_.predict(read_matrix(X, as_table(X), self.categories_))).ravel()
        return np.asarray(self.classes_[found.astype(np.int64)]) if self.is_classifier else found

    def predict_proba(self, X: Any) -> Floats:
        if self.model_ is None:
            return np.ones((as_table(X).n_rows, 1))
        return np.asarray(self.model_.predict_proba(read_matrix(X, as_table(X), self.categories_)))


def _losses(model: Coded, rows: Rows, n_classes: int) -> tuple[Floats, Floats]:
    """For each row, 0 or 1 and the log loss; for regression, the absolute error and nothing."""
    if not n_classes:
        losses = np.abs(_finite(model.predict(rows.matrix), "prediction") - rows.target)
        return _finite(losses, "absolute error").astype(np.float64), np.empty(0)
    proba = np.zeros((rows.n_rows, n_classes))
    proba[:, model.classes_] = _finite(model.predict_proba(rows.matrix), "probability")
    of_label = np.clip(proba[np.arange(rows.n_rows), rows.target], SMALLEST, 1.0)
    return (np.argmax(proba, axis=1) != rows.target).astype(np.float64), -np.log(of_label)


def _finite(values: Any, name: str) -> Any:
    """Raise for NaN and infinity: a mean loss of NaN cannot be ranked."""
    bad = np.argwhere(~np.isfinite(values))
    if len(bad):
        row = int(bad[0][0])
        raise ValueError(f"the {name} for test row {row} of the fold is {np.asarray(values)[tuple(bad[0])]}")
    return values


def _size_of(model: Any) -> int:
    """The number of voters or trees; 0 where it is not known."""
    if hasattr(model, "steps_"):
        return len(model.steps_)
    sizes = (getattr(model, name, None) for name in ("n_iter_", "tree_count_", "n_estimators"))
    return next((int(size) for size in sizes if isinstance(size, int | np.integer)), 0)
