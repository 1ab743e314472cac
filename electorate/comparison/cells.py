"""Cells: one algorithm with one setting in one fold, each a pure function of the rows and the seed.

A cell decides inside its training rows how good its setting looks (inner loss) and then tests once on the fold's rows.
Nested cross-validation is read off the cells afterwards: in each fold the setting of least inner loss is tested.
"""

import time
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from electorate.comparison import folds
from electorate.comparison.algorithms import Algorithm, Facts
from electorate.comparison.rows import Coder, Rows

SMALLEST = float(np.finfo(np.float64).eps)  # a probability of 0 costs no more than this one


@dataclass(frozen=True)
class Cell:
    """algorithm, setting: places in the list and in its grid."""

    algorithm: int
    setting: int
    fold: int


@dataclass(frozen=True)
class Tested:
    """What a cell found. losses, log_losses: of the rows of its fold, in order."""

    inner: float
    losses: NDArray[np.float64]
    log_losses: NDArray[np.float64]  # empty for a quantity
    size: int
    fit_seconds: float
    predict_seconds: float


def in_order(algorithms: list[Algorithm], n_folds: int) -> list[Cell]:
    """First settings first, fold by fold, all algorithms in each: whatever is cut off, the rest is comparable."""
    most = max(len(a.grid) for a in algorithms)
    return [
        Cell(a, s, fold)
        for s in range(most)
        for fold in range(n_folds)
        for a in range(len(algorithms))
        if s < len(algorithms[a].grid)
    ]


@dataclass(frozen=True)
class Protocol:
    """Everything a cell depends on, besides the rows."""

    algorithms: list[Algorithm]
    n_folds: int
    seed: int
    n_classes: int


def run(cell: Cell, rows: Rows, protocol: Protocol) -> Tested:
    """One thread each: cells run side by side, and threads that wait for each other cost peers dearly.

    Warnings of hundreds of fits help nobody; those of the winner's are shown.
    """
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return _run(cell, rows, protocol)


def _run(cell: Cell, rows: Rows, protocol: Protocol) -> Tested:
    part = folds.outer(rows.target, protocol.n_folds, protocol.seed)
    training = rows.take(np.flatnonzero(part != cell.fold))
    testing = rows.take(np.flatnonzero(part == cell.fold))
    inner = []
    for learn, decide in folds.inner(training.target, cell.fold, protocol.seed):
        model = _fit(cell, training.take(learn), protocol)
        deciding = training.take(decide)
        inner.append(float(np.average(_losses(model, deciding, protocol.n_classes)[0], weights=deciding.weight)))
    started = time.perf_counter()
    model = _fit(cell, training, protocol)
    fitted = time.perf_counter()
    losses, log_losses = _losses(model, testing, protocol.n_classes)
    passed = time.perf_counter() - fitted
    return Tested(float(np.mean(inner)), losses, log_losses, size_of(model.model), fitted - started, passed)


@dataclass(frozen=True)
class Fitted:
    """present: the label of each column of the model's probabilities. model None: there was one label only."""

    model: Any
    present: NDArray[np.int64]
    coder: Coder


def _fit(cell: Cell, raw: Rows, protocol: Protocol) -> Fitted:
    algorithm = protocol.algorithms[cell.algorithm]
    coder = Coder(raw)
    rows = coder(raw)
    facts = Facts(rows.categorical, protocol.seed, rows.widest)
    model = algorithm.build(algorithm.grid[cell.setting], facts)
    weighted = {} if rows.weight is None else {"sample_weight": rows.weight}
    if not protocol.n_classes:
        return Fitted(model.fit(rows.matrix, rows.target, **weighted), np.empty(0, dtype=np.int64), coder)
    present, codes = np.unique(rows.target, return_inverse=True)  # peers want 0 to K - 1, without gaps
    return Fitted(model.fit(rows.matrix, codes, **weighted) if len(present) > 1 else None, present, coder)


def _losses(fitted: Fitted, raw: Rows, n_classes: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """For each row, 0 or 1 and the log loss; for regression, the absolute error and nothing."""
    rows = fitted.coder(raw)
    if not n_classes:
        losses = np.abs(_finite(fitted.model.predict(rows.matrix), "prediction") - rows.target)
        return _finite(losses, "absolute error").astype(np.float64), np.empty(0)
    proba = np.zeros((rows.n_rows, n_classes))
    given = 1.0 if fitted.model is None else fitted.model.predict_proba(rows.matrix)
    proba[:, fitted.present] = _finite(given, "probability")
    of_label = np.clip(proba[np.arange(rows.n_rows), rows.target], SMALLEST, 1.0)
    return (np.argmax(proba, axis=1) != rows.target).astype(np.float64), -np.log(of_label)


def _finite(values: Any, name: str) -> Any:
    """Refuse NaN and infinity: a mean loss of NaN cannot be ranked."""
    bad = np.argwhere(~np.isfinite(values))
    if len(bad):
        row = int(bad[0][0])
        raise ValueError(f"the {name} for test row {row} of the fold is {np.asarray(values)[tuple(bad[0])]}")
    return values


def size_of(model: Any) -> int:
    """Voters, or trees; 0 where a model does not say."""
    if hasattr(model, "steps_"):
        return len(model.steps_)
    for name in ("n_iter_", "tree_count_", "n_estimators"):
        if isinstance(getattr(model, name, None), int | np.integer):
            return int(getattr(model, name))
    return 0
