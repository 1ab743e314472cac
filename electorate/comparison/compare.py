"""`electorate.compare` ranks the algorithms on a table and bounds the error of the winner.

Test rows are held out first. Nested cross-validation on the others ranks the algorithms. The winner is trained without
the test rows and tested on them once, which gives its bound. Then it is refitted on all rows.
"""

import math
import os
import tempfile
import time
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from typing import Any

import joblib
import numpy as np
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing

from electorate.comparison import folds, report, statistics
from electorate.comparison.algorithms import Algorithm, Facts, applicable
from electorate.comparison.cells import Cell, Protocol, in_order
from electorate.comparison.journal import Expected, Failed, Journal, Memory
from electorate.comparison.over_tables import Outcomes
from electorate.comparison.peers import Coded
from electorate.comparison.plan import listed, plan_of
from electorate.comparison.progress import Progress, Silent
from electorate.comparison.ranking import Line, Ranking, baseline, rank
from electorate.comparison.rows import Rows, as_table, read_rows, read_weight, task_of
from electorate.comparison.workers import run_here, run_there
from electorate.safe_write import write_text

CONFIDENCE = 0.95
TINY = 20  # rows under which folds and a locked part say nothing
RESULTS, BOUNDED, FINAL = "results.csv", "winner-without-locked-rows.model", "winner.model"


@dataclass(frozen=True)
class Options:
    """How to compare; see `compare`."""

    folds: int | None = None
    locked: float = 0.2
    seed: int = 0
    time_limit: float | None = None
    n_jobs: int | None = None
    task: str = "auto"
    categorical_features: Any = "from_dtype"

    def check(self) -> None:
        if self.folds is not None and self.folds < 2:
            raise ValueError(f"folds is {self.folds}: it must be at least 2")
        if not 0 < self.locked < 1:
            raise ValueError(f"locked is {self.locked}: it is the share of rows set aside, between 0 and 1")
        if self.time_limit is not None and not self.time_limit > 0:
            raise ValueError(f"time_limit is {self.time_limit}: it must be a positive number of seconds")
        if self.seed < 0:
            raise ValueError(f"seed is {self.seed}: it must not be negative")


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
        Anything the estimators accept. Missing values and categories need no preparation.
    y : array-like
        Class labels, or numbers to predict.
    sample_weight : array-like, optional
        Weights of the rows, for training and for every error of the table. Folds are drawn without regard to weights,
        and the exact binomial bound does not apply to rows of different weights. Rows of weight 0 are left out.
    algorithms : list of names or of :class:`Algorithm`, optional
        The algorithms to compare; by default all that apply. Algorithms of your own run in this process.
    peers : list of {"hgb", "xgboost", "lightgbm", "catboost"}, optional
        Other libraries to add to the comparison.
    folds : int, optional
        Number of folds; by default 5, or 3 where rows times classes exceed 200,000.
    locked : float, default=0.2
        The share of test rows, which are held out until the winner is known.
    time_limit : float, optional
        Seconds for the cross-validation. What is not run by then is left out and named.
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
    options = Options(folds, locked, seed, time_limit, n_jobs, task, categorical_features)
    options.check()
    X, y, weight = _weighed(X, y, sample_weight)
    rows, classes = read_rows(X, y, task, categorical_features, weight)
    work = rows.n_rows * (len(classes) if len(classes) > 2 else 1)
    chosen = _choose(algorithms, peers, task_of(classes), work)
    setup = Setup(X, y, rows, classes, options, chosen)
    return setup.compare(folder, Progress() if progress else Silent())


def _weighed(X: Any, y: Any, sample_weight: Any) -> tuple[Any, Any, NDArray[np.float64] | None]:
    """Rows of weight 0 are not there."""
    weight = read_weight(sample_weight, as_table(X).n_rows) if sample_weight is not None else None
    if weight is None or np.all(weight):
        return X, y, weight
    kept = np.flatnonzero(weight)
    return _safe_indexing(X, kept), _safe_indexing(y, kept), weight[kept]


def _choose(algorithms: list[Any] | None, peers: list[str] | None, task: str, n_rows: int) -> list[Algorithm]:
    if algorithms is None or all(isinstance(item, str) for item in algorithms):
        return applicable(task, algorithms, peers, n_rows)
    own = [item for item in algorithms if isinstance(item, Algorithm)]
    names = [item for item in algorithms if isinstance(item, str)]
    joined = applicable(task, names, peers) if names or peers else []
    chosen = own + joined
    if len({a.name for a in chosen}) < len(chosen):
        raise ValueError("two algorithms have one name")
    return chosen


@dataclass(frozen=True)
class Setup:
    """All that is known before the first cell."""

    X: Any
    y: Any
    rows: Rows
    classes: NDArray[Any]
    options: Options
    algorithms: list[Algorithm]

    @cached_property
    def parts(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        if self.rows.n_rows < TINY:
            raise ValueError(f"{self.rows.n_rows} rows are too few to compare anything: at least {TINY} are needed")
        return folds.lock(self.rows.target, self.options.locked, self.options.seed)

    @cached_property
    def open_rows(self) -> Rows:
        return self.rows.take(self.parts[0])

    @cached_property
    def protocol(self) -> Protocol:
        n_folds = self.options.folds or folds.count_folds(len(self.parts[0]), len(self.classes))
        if n_folds > len(self.parts[0]) // 2:
            raise ValueError(f"{n_folds} folds are too many for {len(self.parts[0])} rows")
        return Protocol(self.algorithms, n_folds, self.options.seed, len(self.classes))

    @property
    def is_listed(self) -> bool:
        """Whether workers can find the algorithms by their names."""
        known = listed()
        return all(any(a is b for b in known) for a in self.algorithms)

    def compare(self, folder: Any, progress: Silent) -> "Comparison":
        n_jobs = self.options.n_jobs or int(joblib.cpu_count())
        here = n_jobs == 1 or not self.is_listed
        if folder is None and here:
            return self._finish(Memory(), True, 1, progress, None)
        if folder is not None:
            return self._finish(self._open(folder), here, n_jobs, progress, os.fspath(folder))
        with tempfile.TemporaryDirectory(prefix="electorate-") as passing:
            return self._finish(self._open(os.path.join(passing, "compare")), here, n_jobs, progress, None)

    def _open(self, folder: Any) -> Journal:
        journal = Journal(folder, self._expected)
        plan = plan_of(self.protocol, self.open_rows, self.options.locked, task_of(self.classes))
        journal.open(plan, self.open_rows)
        return journal

    def _finish(
        self, journal: Journal | Memory, here: bool, n_jobs: int, progress: Silent, keep: str | None
    ) -> "Comparison":
        cells = in_order(self.algorithms, self.protocol.n_folds)
        lost = self._run(cells, journal, here, n_jobs, progress)
        found = {cell: journal.get(number) for number, cell in enumerate(cells)}
        results = {cell: result for cell, result in found.items() if result is not None}
        results |= {cells[number]: Failed(why) for number, why in lost.items()}
        ranking = rank(self.protocol, cells, results, self._weights_by_fold)
        comparison = Comparison(self, ranking)
        if ranking.lines:
            comparison.settle()
        if keep is not None:
            comparison.write(keep)
            if isinstance(journal, Journal) and not ranking.not_run:
                journal.close()
        return comparison

    def _run(
        self, cells: list[Cell], journal: Journal | Memory, here: bool, n_jobs: int, progress: Silent
    ) -> dict[int, str]:
        deadline = time.monotonic() + (self.options.time_limit or math.inf)
        known = [journal.get(number) for number in range(len(cells))]
        missing = [number for number, result in enumerate(known) if result is None]
        finished = {cell: result for cell, result in zip(cells, known, strict=True) if result is not None}
        progress.begin(self.protocol, len(cells), finished)

        def tell(number: int) -> None:
            progress.done(cells[number], journal.get(number))

        try:
            if missing and here:
                run_here(cells, self.open_rows, self.protocol, journal, deadline, tell)
            elif missing:
                assert isinstance(journal, Journal)
                return run_there(missing, journal, n_jobs, deadline, tell)
        finally:
            progress.end()
        return {}

    @property
    def _expected(self) -> Expected:
        part = folds.outer(self.open_rows.target, self.protocol.n_folds, self.options.seed)
        sizes = np.bincount(part, minlength=self.protocol.n_folds).tolist()
        cells = in_order(self.algorithms, self.protocol.n_folds)
        return Expected([sizes[cell.fold] for cell in cells], len(self.classes) > 0)

    @property
    def _weights_by_fold(self) -> dict[int, NDArray[np.float64]] | None:
        weight = self.open_rows.weight
        if weight is None:
            return None
        part = folds.outer(self.open_rows.target, self.protocol.n_folds, self.options.seed)
        return {fold: weight[part == fold] for fold in range(self.protocol.n_folds)}

    def build(self, line: Line) -> Any:
        """The estimator of a line, as the user would make it: with the columns' own types."""
        setting, seed = line.algorithm.grid[line.setting], self.options.seed
        if line.algorithm.peer:
            return Coded(line.algorithm, setting, seed, self.options.categorical_features)
        model = line.algorithm.build(setting, Facts([], seed))
        known = {"categorical_features": self.options.categorical_features, "n_jobs": None}
        return model.set_params(**{k: v for k, v in known.items() if k in model.get_params(deep=False)})

    def fit(self, line: Line, which: NDArray[np.int64] | None) -> Any:
        """On some rows, or all."""
        rows = np.arange(self.rows.n_rows) if which is None else which
        weighted = {} if self.rows.weight is None else {"sample_weight": self.rows.weight[rows]}
        return self.build(line).fit(self.X if which is None else self._take(rows), self._y[rows], **weighted)

    def _take(self, which: NDArray[np.int64]) -> Any:
        return _safe_indexing(self.X, which)

    @cached_property
    def _y(self) -> NDArray[Any]:
        return self.classes[self.rows.target] if len(self.classes) else self.rows.target

    def losses(self, model: Any, which: NDArray[np.int64]) -> NDArray[np.float64]:
        """Of these rows: wrong or not, or how far off."""
        said, true = model.predict(self._take(which)), self._y[which]
        return (said != true).astype(np.float64) if len(self.classes) else np.abs(said - true).astype(np.float64)


@dataclass
class Comparison:
    """What `compare` found.

    Attributes
    ----------
    columns : dict of lists
        The ranked table.
    frame : dataframe
        The same, in the library of X, or else pandas, polars or pyarrow, whichever is installed.
    winner : str
        The name of the first algorithm.
    model : estimator
        The winner refitted on all rows. No row was held out from it: it carries no bound.
    model_without_locked : estimator
        The winner trained without the locked rows.
    bound : float
        With 95% confidence, an upper bound on the error of `model_without_locked` on rows like these (exact binomial,
        Clopper and Pearson); NaN for a quantity, and for rows of different weights.
    outcomes : losses of every algorithm on the rows tested, as `compare_over` takes them
    not_run, failed : what the table lacks
    """

    setup: Setup
    ranking: Ranking
    bounds: dict[str, float] = field(default_factory=dict)
    models: dict[str, tuple[Any, Any]] = field(default_factory=dict)  # by name: without the locked rows, with all

    def settle(self) -> None:
        """Train the winner; where it has no file format, the best that has one too, which is the one to be stored."""
        for line in self._settled:
            model = self.setup.fit(line, self.setup.parts[0])
            final = self.setup.fit(line, None)
            model.held_out_ = self._test(model, line) | _mark(model)
            final.held_out_ = {"bound": None, "why": "no rows were held out: refitted on all of them"} | _mark(final)
            self.models[line.algorithm.name] = model, final

    @property
    def _settled(self) -> list[Line]:
        first = self.ranking.lines[:1]
        stored = next((line for line in self.ranking.lines if hasattr(self.setup.build(line), "save")), None)
        return first if stored is None or stored is first[0] else [*first, stored]

    def _test(self, model: Any, line: Line) -> dict[str, Any]:
        locked = self.setup.parts[1]
        losses, weight = self.setup.losses(model, locked), self.setup.rows.weight
        error = float(np.average(losses, weights=None if weight is None else weight[locked]))
        said = {"rows": len(locked), "error": error}
        if not len(self.setup.classes):
            return said | {"bound": None, "why": "an exact binomial bound is for classes, not for a quantity"}
        if weight is not None and np.ptp(weight):
            why = "an exact binomial bound does not apply to rows of different weights"
            return said | {"bound": None, "why": why}
        errors = int(losses.sum())
        bound = statistics.binomial_bound(errors, len(locked), CONFIDENCE)
        self.bounds[line.algorithm.name] = bound
        return said | {"errors": errors, "bound": bound, "confidence": CONFIDENCE}

    # ------------------------------------------------------------ what users look at

    @property
    def winner(self) -> str:
        return self._first.algorithm.name

    @property
    def _first(self) -> Line:
        if not self.ranking.lines:
            raise ValueError("no algorithm was run in any fold: give it more time\n" + "\n".join(self.notes))
        return self.ranking.lines[0]

    @property
    def setting(self) -> dict[str, Any]:
        """The winner's parameters, as set_params takes them."""
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
    def stored(self) -> str:
        """The name of the algorithm whose models are written: the winner, or the best of ours if that is a peer."""
        return self._settled[-1].algorithm.name

    @property
    def columns(self) -> dict[str, list[Any]]:
        return report.columns(self.ranking, self.bounds)

    @property
    def outcomes(self) -> Outcomes:
        names = [line.algorithm.name for line in self.ranking.lines]
        return Outcomes(names, self.ranking.losses, self.ranking.weight, self.setup.protocol.n_folds)

    @property
    def not_run(self) -> list[Cell]:
        return self.ranking.not_run

    @property
    def failed(self) -> dict[Cell, str]:
        return self.ranking.failed

    @property
    def frame(self) -> Any:
        own = type(self.setup.X).__module__.split(".")[0]
        for library in [own, "pandas", "polars", "pyarrow"]:
            if library not in ("pandas", "polars", "pyarrow"):
                continue
            try:
                module = import_module(library)
            except ImportError:
                continue
            return module.table(self.columns) if library == "pyarrow" else module.DataFrame(self.columns)
        raise ImportError("no dataframe library is installed: pip install pandas, or use .columns")

    # ------------------------------------------------------------ as text and files

    @property
    def notes(self) -> list[str]:
        """What the table does not say by itself."""
        ranking, protocol = self.ranking, self.setup.protocol
        lines = report.missing(ranking, protocol)
        return lines + report.unranked(ranking, protocol)

    def __str__(self) -> str:
        if not self.ranking.lines:
            return "\n".join(["nothing to rank: no algorithm was run in any fold", *self.notes])
        return "\n".join([self.head, "", self.table, "", *self.meaning, *self.notes])

    def __repr__(self) -> str:
        return str(self)

    @property
    def head(self) -> str:
        opened, locked = self.setup.parts
        n_folds, used = self.setup.protocol.n_folds, len(self.ranking.folds)
        some = "" if used == n_folds else f", {used} of them run by all"
        weighed = "" if self.setup.rows.weight is None else "; errors are weighted"
        return (
            f"{len(opened):,} rows in {n_folds} folds{some}; {len(locked):,} test rows held out and used once; "
            f"seed {self.setup.options.seed}{weighed}"
        )

    @property
    def table(self) -> str:
        return report.as_text(self.ranking, self.bounds, not len(self.setup.classes))

    @property
    def meaning(self) -> list[str]:
        n_classes, rows = len(self.setup.classes), self.setup.open_rows
        held_out = self.model_without_locked.held_out_
        return report.meaning(self.ranking, baseline(rows.target, n_classes, rows.weight), held_out, not n_classes)

    def write(self, folder: str) -> None:
        """The table as CSV and the models of the winner, or of the best that has a file format."""
        if not self.ranking.lines:
            return
        write_text(os.path.join(folder, RESULTS), report.as_csv(self.columns))
        model, final = self.models[self.stored]
        if hasattr(model, "save"):
            model.save(os.path.join(folder, BOUNDED))
            final.save(os.path.join(folder, FINAL))


def _mark(model: Any) -> dict[str, str]:
    """A statement is about one model only, and is not stored with another."""
    return {"digest": model.digest_} if hasattr(model, "digest_") else {}
