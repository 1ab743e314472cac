"""`electorate.compare` ranks the algorithms on a table and bounds the error of the winner.

Test rows are held out first. Nested cross-validation on the others ranks the algorithms. The winner is trained without
the test rows and tested on them once, which gives its bound. Then it is refitted on all rows.
"""

import math
import os
import sys
import tempfile
import time
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import joblib
import numpy as np
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing

from electorate.comparison import folds as splits
from electorate.comparison import report
from electorate.comparison.algorithms import LISTED, Facts, applicable, set_known, task_of
from electorate.comparison.cells import Cell, Failed, Protocol, Result
from electorate.comparison.journal import Journal
from electorate.comparison.over_tables import Outcomes
from electorate.comparison.peers import Coded
from electorate.comparison.progress import Progress
from electorate.comparison.ranking import Line, Ranking, baseline, rank
from electorate.comparison.rows import Floats, Places, Rows, as_table, read_rows, read_weight
from electorate.comparison.workers import run_here, run_in_processes
from electorate.safe_write import write_text
from electorate.theory.binomial import binomial_bound

CONFIDENCE = 0.95
FEWEST_ROWS = 20  # fewer rows are too few for folds and test rows
RESULTS, BOUNDED, FINAL = "results.csv", "winner-without-locked-rows.model", "winner.model"


def compare(
    X: Any,
    y: Any,
    *,
    sample_weight: Any = None,
    algorithms: list[Any] | None = None,
    peers: list[str] | None = None,
    folds: int | None = None,
    locked: float = 0.2,
    time_limit: float | None = None,
    task: str = "auto",
    categorical_features: Any = "from_dtype",
    n_jobs: int | None = None,
    seed: int = 0,
    folder: str | os.PathLike[str] | None = None,
    progress: bool = False,
) -> "Comparison":
    """Compare the boosting algorithms on rows X with targets y.

    Parameters
    ----------
    X : array-like, sparse matrix or dataframe
        Anything the estimators accept, with missing values and categories.
    y : array-like
        Class labels, or numbers to predict.
    sample_weight : array-like, optional
        Weights of the rows, for training and for every error of the table. Splits ignore them, and there is no exact
        binomial bound for rows of different weights. Rows of weight 0 are left out.
    algorithms : list of names or of :class:`Algorithm`, optional
        The algorithms to compare; by default all that apply. User-defined ones run in this process.
    peers : list of {"hgb", "xgboost", "lightgbm", "catboost"}, optional
        Other libraries to add to the comparison.
    folds : int, optional
        Number of folds; by default 5, or 3 where rows times classes exceed 200,000.
    locked : float, default=0.2
        The share of test rows, which are held out and used once, for the winner.
    time_limit : float, optional
        Seconds for the cross-validation. Cells that are not run by then are listed.
    task : {"auto", "classification", "regression"}
        With "auto", float targets, and integer targets with more than 20 distinct values, are treated as regression.
    categorical_features : as for the estimators
    n_jobs : int, optional
        Number of processes; all CPUs by default. With 1, everything runs in this process.
    seed : int, default=0
        The same seed gives the same results, bit for bit.
    folder : path, optional
        Folder for intermediate results, the table and the models. The same call with the same folder resumes.
    progress : bool, default=False
        Show progress on stderr.

    Returns
    -------
    Comparison
        The ranked table, and the winner trained without and with the test rows.

    Notes
    -----
    A difference to the first is called "real" with 95% confidence over all pairs of algorithms at once, with the
    variance of Nadeau and Bengio (2003) for cross-validation; otherwise it is a "tie". docs/compare.md explains the
    procedure, and benchmarks/VERDICTS.md shows how often it is right.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import electorate
    >>> X, y = load_iris(return_X_y=True)
    >>> found = electorate.compare(X, y, algorithms=["AdaBoost, stumps", "SAMME.R, trees"], n_jobs=1)
    >>> len(found.columns["algorithm"])
    2
    """
    _check_options(folds, locked, time_limit, seed)
    weight = None
    if sample_weight is not None:
        weight = read_weight(sample_weight, as_table(X).n_rows)
        if not np.all(weight):  # rows of weight 0 are left out
            used = np.flatnonzero(weight)
            X, y, weight = _safe_indexing(X, used), _safe_indexing(y, used), weight[used]
    rows, classes = read_rows(X, y, task, categorical_features, weight)
    work = rows.n_rows * (len(classes) if len(classes) > 2 else 1)
    chosen = applicable(task_of(len(classes)), algorithms, peers, work)
    if rows.n_rows < FEWEST_ROWS:
        raise ValueError(f"{rows.n_rows} rows are too few to compare algorithms: at least {FEWEST_ROWS} are needed")
    training, test = splits.lock(rows.target, locked, seed)
    n_folds = folds or splits.count_folds(len(training), len(classes))
    if n_folds > len(training) // 2:
        raise ValueError(f"{n_folds} folds are too many for {len(training)} rows")
    protocol = Protocol(chosen, n_folds, seed, len(classes))
    setup = Setup(X, rows, classes, training, test, protocol, categorical_features)
    n_jobs = n_jobs or int(joblib.cpu_count())
    with ExitStack() as stack:
        journal: Journal | dict[int, Result] = {}
        is_listed = all(any(a is b for b in LISTED) for a in chosen)  # workers find algorithms by their names
        if folder is not None or (n_jobs > 1 and is_listed):
            passing = None if folder else stack.enter_context(tempfile.TemporaryDirectory(prefix="electorate-"))
            journal = Journal(folder or os.path.join(passing or "", "compare"))
            journal.open(protocol, setup.training_rows, locked)
        results = _run_cells(setup, journal, n_jobs if is_listed else 1, time_limit or math.inf, progress)
        found = Comparison(setup, rank(protocol, results, setup.fold_weights))
        if folder is not None:
            found.write(os.fspath(folder))
            if isinstance(journal, Journal) and not found.not_run:
                journal.close()
    return found


def _check_options(folds: int | None, locked: float, time_limit: float | None, seed: int) -> None:
    if folds is not None and folds < 2:
        raise ValueError(f"folds is {folds}: it must be at least 2")
    if not 0 < locked < 1:
        raise ValueError(f"locked is {locked}: the share of test rows must be between 0 and 1")
    if time_limit is not None and not time_limit > 0:
        raise ValueError(f"time_limit is {time_limit}: it must be a positive number of seconds")
    if seed < 0:
        raise ValueError(f"seed is {seed}: it must not be negative")


def _run_cells(
    setup: "Setup", journal: Journal | dict[int, Result], n_jobs: int, seconds: float, progress: bool
) -> dict[Cell, Result]:
    """Run the cells that the journal lacks; returns all results."""
    protocol, deadline = setup.protocol, time.monotonic() + seconds
    before = {number: journal.get(number) for number in range(len(protocol.cells))}
    finished = {protocol.cells[number]: result for number, result in before.items() if result is not None}
    missing = [number for number, result in before.items() if result is None]
    shown = Progress(protocol, finished, sys.stderr if progress else None)

    def done(number: int) -> None:
        shown.done(protocol.cells[number], journal.get(number))

    lost: dict[int, str] = {}
    try:
        if missing and n_jobs > 1 and isinstance(journal, Journal):
            lost = run_in_processes(missing, journal.folder, n_jobs, deadline, done)
        else:
            run_here(missing, setup.training_rows, protocol, journal, deadline, done)
    finally:
        shown.end()
    results = {cell: journal.get(number) for number, cell in enumerate(protocol.cells)}
    results |= {protocol.cells[number]: Failed(why) for number, why in lost.items()}
    return {cell: result for cell, result in results.items() if result is not None}


@dataclass(frozen=True)
class Setup:
    """The data and the protocol of a comparison. training, test: positions of the rows."""

    X: Any
    rows: Rows
    classes: NDArray[Any]
    training: Places
    test: Places
    protocol: Protocol
    categorical_features: Any

    @cached_property
    def training_rows(self) -> Rows:
        return self.rows.take(self.training)

    @property
    def fold_weights(self) -> dict[int, Floats] | None:
        rows, protocol = self.training_rows, self.protocol
        if rows.weight is None:
            return None
        part = splits.outer(rows.target, protocol.n_folds, protocol.seed)
        return {fold: rows.weight[part == fold] for fold in range(protocol.n_folds)}

    @cached_property
    def y(self) -> NDArray[Any]:
        return self.classes[self.rows.target] if len(self.classes) else self.rows.target

    def build(self, line: Line) -> Any:
        """The estimator of a line, as the user would make it: for the columns of X."""
        setting, seed = line.algorithm.grid[line.setting], self.protocol.seed
        if line.algorithm.peer:
            return Coded(line.algorithm, setting, seed, self.categorical_features)
        model = line.algorithm.build(setting, Facts([], seed))
        return set_known(model, {"categorical_features": self.categorical_features, "n_jobs": None})

    def fit(self, line: Line, which: Places | None = None) -> Any:
        """The estimator of a line, fitted to some rows, or to all."""
        X = self.X if which is None else _safe_indexing(self.X, which)
        rows = slice(None) if which is None else which
        weighted = {} if self.rows.weight is None else {"sample_weight": self.rows.weight[rows]}
        return self.build(line).fit(X, self.y[rows], **weighted)

    def test_result(self, model: Any) -> dict[str, Any]:
        """The error of a model on the test rows, and the exact bound that follows, or why there is none."""
        predicted, target = model.predict(_safe_indexing(self.X, self.test)), self.y[self.test]
        losses = (predicted != target if len(self.classes) else np.abs(predicted - target)).astype(np.float64)
        weight = None if self.rows.weight is None else self.rows.weight[self.test]
        result = {"rows": len(self.test), "error": float(np.average(losses, weights=weight))}
        if not len(self.classes):
            return result | {"bound": None, "why": "an exact binomial bound is for classification, not for regression"}
        if self.rows.weight is not None and np.ptp(self.rows.weight):
            why = "an exact binomial bound does not apply to rows of different weights"
            return result | {"bound": None, "why": why}
        errors = int(losses.sum())
        bound = binomial_bound(errors, len(self.test), CONFIDENCE)
        return result | {"errors": errors, "bound": bound, "confidence": CONFIDENCE}


class Comparison:
    """The result of `compare`.

    Attributes
    ----------
    columns : dict of lists
        The ranked table.
    frame : dataframe
        The same, in the library of X, or else pandas, polars or pyarrow, whichever is installed.
    winner : str
        The name of the first algorithm.
    setting : dict
        The winner's parameters, as set_params takes them.
    model : estimator
        The winner refitted on all rows. No row was held out from it, so it has no bound.
    model_without_locked : estimator
        The winner trained without the test rows.
    bound : float
        With 95% confidence, an upper bound on the error of `model_without_locked` on rows like these (exact binomial,
        Clopper and Pearson); NaN for regression and for rows of different weights.
    models, bounds : dict
        The two models (without test rows, on all rows) and the bound by algorithm: of the winner and of `stored`.
    stored : str or None
        The algorithm whose models are written: the winner, or the best with a file format if the winner has none.
    outcomes : Outcomes
        The losses of every algorithm on the rows tested, as `compare_over` takes them.
    not_run, failed : list and dict
        The cells that the table lacks.
    """

    def __init__(self, setup: Setup, ranking: Ranking) -> None:
        self.setup, self.ranking = setup, ranking
        self.not_run, self.failed = ranking.not_run, ranking.failed
        self.models: dict[str, tuple[Any, Any]] = {}
        self.bounds: dict[str, float] = {}
        chosen = ranking.lines[:1]
        storable = next((line for line in ranking.lines if hasattr(setup.build(line), "save")), None)
        if storable is not None and storable is not chosen[0]:
            chosen = [*chosen, storable]
        self.stored = chosen[-1].algorithm.name if chosen else None
        for line in chosen:
            model, final = setup.fit(line, setup.training), setup.fit(line)
            model.held_out_ = setup.test_result(model)
            final.held_out_ = {"bound": None, "why": "no rows were held out: refitted on all of them"}
            for each in (model, final):
                if hasattr(each, "digest_"):  # the statement is about this model only, and is not stored with another
                    each.held_out_["digest"] = each.digest_
            self.models[line.algorithm.name] = model, final
            if model.held_out_["bound"] is not None:
                self.bounds[line.algorithm.name] = model.held_out_["bound"]

    @property
    def _first(self) -> Line:
        if not self.ranking.lines:
            raise ValueError("no algorithm was run in any fold: allow more time\n" + "\n".join(self.notes))
        return self.ranking.lines[0]

    @property
    def winner(self) -> str:
        return self._first.algorithm.name

    @property
    def setting(self) -> dict[str, Any]:
        return dict(self._first.algorithm.grid[self._first.setting])

    @property
    def model(self) -> Any:
        return self.models[self.winner][1]

    @property
    def model_without_locked(self) -> Any:
        return self.models[self.winner][0]

    @property
    def bound(self) -> float:
        return self.bounds.get(self.winner, float("nan"))

    @property
    def columns(self) -> report.Table:
        return report.columns(self.ranking, self.bounds)

    @property
    def frame(self) -> Any:
        return report.as_frame(self.columns, type(self.setup.X).__module__.split(".")[0], "columns")

    @property
    def outcomes(self) -> Outcomes:
        names = [line.algorithm.name for line in self.ranking.lines]
        return Outcomes(names, self.ranking.losses, self.ranking.weight, self.setup.protocol.n_folds)

    # ------------------------------------------------------------ as text and files

    @property
    def notes(self) -> list[str]:
        """What was not run, failed, or is not ranked."""
        return report.missing(self.ranking, self.setup.protocol)

    @property
    def head(self) -> str:
        setup, protocol, used = self.setup, self.setup.protocol, len(self.ranking.folds)
        some = "" if used == protocol.n_folds else f", {used} of them run by all"
        weighted = "" if setup.rows.weight is None else "; errors are weighted"
        return (
            f"{len(setup.training):,} rows in {protocol.n_folds} folds{some}; {len(setup.test):,} test rows held out "
            f"and used once; seed {protocol.seed}{weighted}"
        )

    @property
    def meaning(self) -> list[str]:
        """The table in words."""
        n_classes, rows = len(self.setup.classes), self.setup.training_rows
        error = baseline(rows.target, n_classes, rows.weight)
        return report.meaning(self.ranking, error, self.model_without_locked.held_out_, not n_classes)

    def __repr__(self) -> str:
        if not self.ranking.lines:
            return "\n".join(["nothing to rank: no algorithm was run in any fold", *self.notes])
        table = report.as_text(self.ranking, self.bounds, not len(self.setup.classes))
        return "\n".join([self.head, "", table, "", *self.meaning, *self.notes])

    def write(self, folder: str) -> None:
        """Write the table as CSV and, where there is a file format, the models of `stored`."""
        if self.stored is not None:
            write_text(os.path.join(folder, RESULTS), report.as_csv(self.columns))
            for model, name in zip(self.models[self.stored], (BOUNDED, FINAL), strict=True):
                if hasattr(model, "save"):
                    model.save(os.path.join(folder, name))
