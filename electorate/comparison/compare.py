"""`electorate.compare` ranks the algorithms on a table and bounds the error of the winner.

Test rows are held out first. Nested cross-validation on the others ranks the algorithms. The winner is trained without
the test rows and tested on them once, which gives its bound. Then it is refitted on all rows.
"""

import math
import os
import tempfile
from contextlib import ExitStack
from typing import Any

import joblib
import numpy as np
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing

from electorate.comparison import folds as splits
from electorate.comparison import report
from electorate.comparison.algorithms import Facts, applicable, every_algorithm, set_supported, task_of
from electorate.comparison.cells import Coded, Protocol
from electorate.comparison.journal import Journal, Store
from electorate.comparison.over_tables import Outcomes
from electorate.comparison.ranking import Line, baseline, rank
from electorate.comparison.rows import Parts, Places, Rows, as_table, read_rows
from electorate.comparison.workers import run_cells
from electorate.data.inputs import check_weight
from electorate.safe_write import write_text
from electorate.theory.binomial import binomial_bound

CONFIDENCE = 0.95
HUGE = 200_000  # rows times classes from which three folds are enough
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
        weight = check_weight(sample_weight, as_table(X).n_rows)
        used = np.flatnonzero(weight)
        if not len(used):
            raise ValueError("all weights are 0")
        if len(used) < len(weight):
            X, y, weight = _safe_indexing(X, used), _safe_indexing(y, used), weight[used]
    rows, classes = read_rows(X, y, task, categorical_features, weight)
    work = rows.n_rows * (len(classes) if len(classes) > 2 else 1)
    chosen = applicable(task_of(len(classes)), algorithms, peers, work)
    if rows.n_rows < FEWEST_ROWS:
        raise ValueError(f"{rows.n_rows} rows are too few to compare algorithms: at least {FEWEST_ROWS} are needed")
    parts = splits.lock(rows.target, locked, seed)
    n_folds = folds or (3 if len(parts[0]) * max(1, len(classes)) > HUGE else 5)
    if n_folds > len(parts[0]) // 2:
        raise ValueError(f"{n_folds} folds are too many for {len(parts[0])} rows")
    protocol = Protocol(chosen, n_folds, seed, len(classes))
    y = classes[rows.target] if len(classes) else rows.target
    found = Comparison(X, y, rows, parts, protocol, categorical_features)
    found.run(folder, locked, n_jobs or int(joblib.cpu_count()), time_limit or math.inf, progress)
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
    notes : list of str
        The same in words, and the algorithms that are not ranked.
    """

    def __init__(self, X: Any, y: NDArray[Any], rows: Rows, parts: Parts, protocol: Protocol, categorical: Any) -> None:
        self.X, self.y, self.rows, self.protocol, self.categorical_features = X, y, rows, protocol, categorical
        self.training, self.test = parts
        self.training_rows = rows.take(self.training)
        self.models: dict[str, tuple[Any, Any]] = {}
        self.bounds: dict[str, float] = {}
        self.stored: str | None = None

    def run(self, folder: Any, locked: float, n_jobs: int, seconds: float, progress: bool) -> None:
        """Run the cells, rank the algorithms, train and test the first, and write the results to the folder."""
        rows, protocol = self.training_rows, self.protocol
        is_listed = all(one in every_algorithm() for one in protocol.algorithms)  # workers find them by their names
        with ExitStack() as stack:
            journal: Store = {}
            if folder is not None or (n_jobs > 1 and is_listed):
                place = folder or stack.enter_context(tempfile.TemporaryDirectory(prefix="electorate-"))
                journal = Journal(place)
                journal.open(protocol, rows, locked)
            results = run_cells(protocol, rows, journal, n_jobs if is_listed else 1, seconds, progress)
        weights = None
        if rows.weight is not None:
            part = splits.outer(rows.target, protocol.n_folds, protocol.seed)
            weights = {fold: rows.weight[part == fold] for fold in range(protocol.n_folds)}
        self.ranking = rank(protocol, results, weights)
        self.not_run, self.failed = self.ranking.not_run, self.ranking.failed
        self.notes = report.missing(self.ranking, protocol)
        self._train()
        if folder is not None:
            self.write(os.fspath(folder))
            if isinstance(journal, Journal) and not self.not_run:
                journal.close()

    def _train(self) -> None:
        """Train the winner, and the best that has a file format if the winner has none."""
        chosen = self.ranking.lines[:1]
        storable = next((line for line in self.ranking.lines if hasattr(self._build(line), "save")), None)
        if storable is not None and storable is not chosen[0]:
            chosen = [*chosen, storable]
        for line in chosen:
            name = self.stored = line.algorithm.name
            model, final = self._fit(line, self.training), self._fit(line, None)
            model.held_out_ = self._test(model)
            final.held_out_ = {"bound": None, "why": "no rows were held out: refitted on all of them"}
            for each in (model, final):
                if hasattr(each, "digest_"):  # the statement is about this model only, and is not stored with another
                    each.held_out_["digest"] = each.digest_
            self.models[name] = model, final
            if model.held_out_["bound"] is not None:
                self.bounds[name] = model.held_out_["bound"]

    def _build(self, line: Line) -> Any:
        """The estimator of a line, as the user would make it: for the columns of X."""
        setting, seed = line.algorithm.grid[line.setting], self.protocol.seed
        if line.algorithm.peer:
            return Coded(line.algorithm, setting, seed, self.categorical_features, self.protocol.n_classes > 0)
        model = line.algorithm.build(setting, Facts([], seed))
        return set_supported(model, {"categorical_features": self.categorical_features, "n_jobs": None})

    def _fit(self, line: Line, which: Places | None) -> Any:
        """The estimator of a line, fitted to some rows, or to all."""
        X = self.X if which is None else _safe_indexing(self.X, which)
        rows = slice(None) if which is None else which
        weighted = {} if self.rows.weight is None else {"sample_weight": self.rows.weight[rows]}
        return self._build(line).fit(X, self.y[rows], **weighted)

    def _test(self, model: Any) -> dict[str, Any]:
        """The error of a model on the test rows, and the exact bound that follows, or why there is none."""
        weight, is_regression = self.rows.weight, self.protocol.n_classes == 0
        predicted, target = model.predict(_safe_indexing(self.X, self.test)), self.y[self.test]
        losses = (np.abs(predicted - target) if is_regression else predicted != target).astype(np.float64)
        error = float(np.average(losses, weights=None if weight is None else weight[self.test]))
        result = {"rows": len(self.test), "error": error}
        if is_regression:
            return result | {"bound": None, "why": "an exact binomial bound is for classification, not for regression"}
        if weight is not None and np.ptp(weight):
            why = "an exact binomial bound does not apply to rows of different weights"
            return result | {"bound": None, "why": why}
        errors = int(losses.sum())
        bound = binomial_bound(errors, len(self.test), CONFIDENCE)
        return result | {"errors": errors, "bound": bound, "confidence": CONFIDENCE}

    # ------------------------------------------------------------ results

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
        return report.as_frame(self.columns, type(self.X).__module__.split(".")[0], "columns")

    @property
    def outcomes(self) -> Outcomes:
        names = [line.algorithm.name for line in self.ranking.lines]
        return Outcomes(names, self.ranking.losses, self.ranking.weight, self.protocol.n_folds)

    @property
    def head(self) -> str:
        n_folds, used = self.protocol.n_folds, len(self.ranking.folds)
        some = "" if used == n_folds else f", {used} of them run by all"
        weighted = "" if self.rows.weight is None else "; errors are weighted"
        test = f"{len(self.test):,} test rows held out and used once"
        return f"{len(self.training):,} rows in {n_folds} folds{some}; {test}; seed {self.protocol.seed}{weighted}"

    @property
    def meaning(self) -> list[str]:
        """The table in words."""
        n_classes, rows = self.protocol.n_classes, self.training_rows
        error = baseline(rows.target, n_classes, rows.weight)
        return report.meaning(self.ranking, error, self.model_without_locked.held_out_, n_classes == 0)

    def __repr__(self) -> str:
        if not self.ranking.lines:
            return "\n".join(["nothing to rank: no algorithm was run in any fold", *self.notes])
        table = report.as_text(self.ranking, self.bounds, self.protocol.n_classes == 0)
        return "\n".join([self.head, "", table, "", *self.meaning, *self.notes])

    def write(self, folder: str) -> None:
        """Write the table as CSV and, where there is a file format, the models of `stored`."""
        if self.stored is not None:
            write_text(os.path.join(folder, RESULTS), report.as_csv(self.columns))
            for model, name in zip(self.models[self.stored], (BOUNDED, FINAL), strict=True):
                if hasattr(model, "save"):
                    model.save(os.path.join(folder, name))
