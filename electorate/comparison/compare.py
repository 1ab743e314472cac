"""`electorate.compare` finds the best model for a table, and says how well it will do and how sure that is.

One cross-validation tests all candidates; everything else is a function of its out-of-fold predictions. Some rows are
held out of large tables: they test one model, once. What is handed over is trained on all rows.
"""

import json
import math
import os
import sys
import tempfile
import time
from collections.abc import Collection
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from typing import Any

import joblib
import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from electorate import kernels
from electorate.checkup.check_up import CheckUp
from electorate.checkup.columns import read_columns
from electorate.comparison import answer as words
from electorate.comparison import folds as splits
from electorate.comparison import report
from electorate.comparison.algorithms import PEERS, Size, applicable, balanced, task_of
from electorate.comparison.certified_winner import CertifiedWinner, check_certify, cross_fit
from electorate.comparison.checked_rows import check_open_rows
from electorate.comparison.fits import Failed, FitRunner, Plan
from electorate.comparison.journal import Journal, Store, plan_of
from electorate.comparison.metrics import metric_for
from electorate.comparison.over_tables import Outcomes
from electorate.comparison.ranking import ACCURACY, PREFERENCES, Line, Ranker, columns_of
from electorate.comparison.refits import Recipe, Refits
from electorate.comparison.rows import Floats, Parts, Rows, read_rows
from electorate.comparison.scanned import RowDraw, ScannedRefits, draw_sample
from electorate.comparison.schedule import Costs, Results, Schedule
from electorate.comparison.workers import ProcessPool, Progress, Work, WorkLimits
from electorate.data.inputs import check_weight, free_memory
from electorate.data.row_subset import take_rows
from electorate.escape import literal
from electorate.model.files import NotStorableError
from electorate.safe_write import write_text
from electorate.training.lazy_inputs import is_scanned, refuse_lazy_for

QUICK_FOLDS = 3
FEWEST_ROWS = 20  # fewer rows are too few for folds
MOST_LINES = 12  # of the printed table
CHECK_UP = 0.1  # of a time limit for the search for leaks
QUICK_ROWS = 1_000  # where there was no time for a fit
COPIES = 6  # of the numbers of a table that a process may need
RESERVED, AFTER = 0.3, 0.5  # of a time limit for refits at most; seconds for what follows them
RESULTS, BOUNDED, FINAL = "results.csv", "winner-without-test-rows.model", "winner.model"


def compare(
    X: Any,
    y: Any = None,
    *,
    target: str | None = None,
    sample_weight: Any = None,
    algorithms: Any = None,
    peers: list[str] | None = None,
    metric: str | None = None,
    prefer: str = ACCURACY,
    group: Any = None,
    time_column: Any = None,
    folds: int | None = None,
    test_fraction: float | None = None,
    certify: str | None = None,
    stack: bool = True,
    sample_rows: int | None = None,
    time_limit: float | None = None,
    quick: bool = False,
    task: str = "auto",
    positive: Any = None,
    check_up: bool = True,
    keep: Collection[str] = (),
    categorical_features: Any = "from_dtype",
    n_jobs: int | None = None,
    seed: int = 0,
    folder: str | os.PathLike[str] | None = None,
    replay: str | os.PathLike[str] | None = None,
    progress: bool | None = None,
) -> "Comparison":
    """Find the best model for rows X with targets y, and say how well it will do.

    Parameters
    ----------
    X : array-like, sparse matrix, dataframe or scanned table
        Anything the estimators accept, with missing values and categories. With a table of :func:`scan`, models are
        compared on a sample; an algorithm of ours that wins is then fitted to all rows but the test rows.
    y : array-like, optional
        Class labels, or numbers to predict.
    target : str, optional
        Instead of y: the name of the column of the dataframe X to predict.
    sample_weight : array-like, optional
        Weights of the rows, for training and for every error of the table. Splits ignore them, and there is no exact
        binomial bound for rows of different weights. Rows of weight 0 are left out.
    algorithms : list, optional
        Names of algorithms, estimators (any scikit-learn classifier or regressor, or a pipeline), pairs (name,
        estimator), and :class:`Algorithm`; "all" for every algorithm of this package. By default those that are fast
        enough. Estimators get the columns of X as they are, run in this process, and are no members of a stack.
    peers : list of {"linear", "forest", "extra_trees", "hgb", "lightgbm", "xgboost", "catboost", "ebm"}, optional
        Models of other libraries to compare with. By default the first four, or none where `algorithms` are named. The
        baseline (the majority class, or the median) is always there.
    metric : {"error", "balanced_error", "auc", "log_loss", "f1", "mae", "rmse"}, optional
        What models are ranked by: "error" by default, "mae" for regression. With the default the log loss, which is
        smoother, chooses among candidates. For "balanced_error" and "f1" every setting is tried with and without
        `class_weight="balanced"`.
    prefer : {"accuracy", "speed", "readable"}, default="accuracy"
        Which model is handed over: the best, or among those that tie with it or are within a point, the fastest to
        predict or the easiest to read.
    group : array-like, optional
        A value per row. Rows with the same value are never divided between training and testing.
    time_column : array-like of numbers or dates, optional
        A value per row. Models are tested on later rows than they were trained on.
    folds : int, optional
        Number of folds; by default 5, or 3 with `quick`. Large tables have one split.
    test_fraction : float, optional
        The share of test rows, which are held out and used once, for one model; 0 for none. By default a fifth (at
        most 10,000) of 2,000 or more rows.
    certify : {"crossfit"}, optional
        Hand over the winner as `certified`, too: a :class:`CrossFittedClassifier` that is trained on all rows and has
        a bound. The bound pays for the choice among all settings of the comparison: fewer `algorithms` and `peers`,
        or `quick`, make it smaller. It is for classification without weights, groups and times, and the check-up must
        leave the columns as they are.
    stack : bool, default=True
        Whether a stack of several models may be handed over: see :class:`StackedClassifier`.
    sample_rows : int, optional
        Of a scanned table: how many rows to sample, test rows included. By default 200,000, or as many as take an
        eighth of the free memory.
    time_limit : float, optional
        Seconds for everything, check-up and refits included. There is a model to hand over after the first fits.
    quick : bool, default=False
        One setting per algorithm, three folds, and without the slowest algorithms.
    task : {"auto", "classification", "regression"}
        With "auto", float targets, and integer targets with more than 20 distinct values, are treated as regression.
    positive : label, optional
        The class that F1 is about; by default the rarer of two.
    check_up : bool, default=True
        Check the columns first, on the rows that are not held out, and clean them: see :func:`check_up`. Scanned
        tables are used as they are.
    keep : collection of str
        Columns that the check-up leaves as they are.
    categorical_features : as for the estimators
    n_jobs : int, optional
        Number of processes; all CPUs by default and with -1. With 1 and no time limit, everything runs in this process.
    seed : int, default=0
        Without a time limit the same seed gives the same results, bit for bit.
    folder : path, optional
        Folder for intermediate results, the table and the models. The same call with the same folder resumes.
    replay : path, optional
        The folder of an earlier comparison that was cut short, by a time limit or Ctrl-C: use the same fits.
    progress : bool, optional
        Show progress on stderr; by default on terminals and in notebooks.

    Returns
    -------
    Comparison
        The answer in words, the table, and the model.

    Notes
    -----
    Estimates are corrected for the choice among candidates by the bootstrap (BBC-CV: Tsamardinos, Greasidou and
    Borboudakis 2018). "worse" than the best is said with 95% confidence over all models at once (Hsu 1984); otherwise
    it is a "tie". docs/compare.md explains the procedure, and benchmarks/VERDICTS.md shows how often it is right.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import electorate
    >>> X, y = load_iris(return_X_y=True)
    >>> names = ["AdaBoost, stumps", "SAMME.R, trees"]
    >>> comparison = electorate.compare(X, y, algorithms=names, folds=2, quick=True, n_jobs=1)
    >>> comparison.columns["algorithm"][-1]
    'majority class'
    """
    n_processes = int(joblib.cpu_count()) if n_jobs is None else int(joblib.effective_n_jobs(n_jobs))
    limits = WorkLimits(n_processes, math.inf if time_limit is None else time_limit)
    _check_options(folds, test_fraction, time_limit, seed, prefer)
    with ExitStack() as open_until_end:
        keeps = folder is not None
        place, pool = None if folder is None else os.fspath(folder), None
        if not _has_estimators(algorithms) and (n_processes > 1 or time_limit is not None):
            place = place or open_until_end.enter_context(tempfile.TemporaryDirectory(prefix="electorate-"))
            pool = ProcessPool(place, n_processes)
            open_until_end.callback(pool.stop)
        X, y = _target_of(X, y, target)
        sample = None
        if is_scanned(X):
            _check_scanned(group, time_column, sample_rows)
            draw = RowDraw(seed, splits.HELD_OUT_SHARE if test_fraction is None else test_fraction)
            sample = draw_sample(X, y, sample_weight, draw, sample_rows)
            X, y, sample_weight, check_up = sample.X, sample.y, sample.weight, False
        refuse_lazy_for("compare", X)
        beside = {"group": _codes(group), "time": _times(time_column)}
        X, y, weight, beside = _rows_with_weight(X, y, sample_weight, beside)
        check = CheckUp([], None)
        if check_up and read_columns(X)[2] >= FEWEST_ROWS:

            def lock(rows: Rows) -> Parts:
                return splits.hold_out(_with_columns(rows, beside), test_fraction, seed)

            seconds = None if time_limit is None else CHECK_UP * time_limit
            check = check_open_rows(X, y, task, keep, lock, seconds)
        X, y = check.clean(X), check.clean_target(y)
        rows, classes = read_rows(X, y, task, categorical_features, weight)
        rows = _with_columns(rows, beside)
        if rows.n_rows < FEWEST_ROWS:
            raise ValueError(f"{rows.n_rows} rows are too few to compare algorithms: at least {FEWEST_ROWS} are needed")
        parts = splits.hold_out(rows, test_fraction, seed) if sample is None else sample.parts
        n_open, n_classes = len(parts[0]), len(classes)
        chosen = applicable(task_of(n_classes), algorithms, peers, Size(n_open, n_classes), quick)
        ranked_by = metric_for(metric, n_classes)
        positive_code = _positive_code(rows, classes, positive)
        if ranked_by.name == "f1" and positive_code == 0 and n_classes == 2:  # F1 is that of the second class
            rows, classes, positive_code = replace(rows, target=1 - rows.target), classes[::-1], 1
        chosen = [balanced(one) for one in chosen] if ranked_by.balances else chosen
        n_folds = folds or (QUICK_FOLDS if quick else 5)
        if n_folds > n_open // 2:
            raise ValueError(f"{n_folds} folds are too many for {n_open} rows")
        plan = Plan(chosen, n_folds, seed, n_classes, ranked_by)
        named = frozenset(a for a, one in enumerate(chosen) if algorithms is not None and not one.baseline)
        labels = classes[rows.target] if n_classes else rows.target
        given = (X, labels, rows, parts, categorical_features, seed, n_classes > 0, check)
        refits = Refits(*given) if sample is None else ScannedRefits(*given, sample=sample)
        check_certify(certify, sample is not None, rows, n_classes, check)
        comparison = Comparison(plan, rows.take(parts[0]), refits, classes, named, certify)
        comparison.prefer, comparison.stacks, comparison.positive = prefer, stack and sample is None, positive_code
        if pool is not None:
            pool.shrink(_fitting_processes(n_processes, rows))
        comparison.run(Where(place, pool, keeps, replay), limits, _shows_progress(progress))
    return comparison


@dataclass(frozen=True)
class Where:
    """folder: of the journal, or None. pool: of worker processes, or None. keeps: whether the folder is the user's."""

    folder: str | None
    pool: ProcessPool | None
    keeps: bool
    replay: Any


def _has_estimators(algorithms: Any) -> bool:
    """Whether worker processes cannot find all algorithms by their names."""
    return not (algorithms is None or isinstance(algorithms, str) or all(isinstance(one, str) for one in algorithms))


def _target_of(X: Any, y: Any, target: str | None) -> tuple[Any, Any]:
    """The columns and the target, which may be a column of a dataframe."""
    if target is None:
        if y is None:
            raise ValueError('what is to be predicted? Pass y, or target="COLUMN" for a column of the dataframe X')
        return X, y
    if y is not None:
        raise ValueError("pass y or target, not both")
    try:
        frame = nw.from_native(X, eager_only=True)
    except TypeError:
        raise ValueError(f"target={target!r} names a column of a dataframe, and X is a {type(X).__name__}") from None
    if target not in frame.columns:
        raise ValueError(
            f"there is no column {target!r} in X: its columns are {', '.join(map(str, frame.columns[:20]))}"
        )
    return frame.drop(target).to_native(), frame[target].to_numpy()


def _fitting_processes(wanted: int, rows: Rows) -> int:
    """As many as the tables of fit into memory, at least one."""
    matrix, free = rows.matrix, free_memory()
    size = matrix.nbytes if isinstance(matrix, np.ndarray) else matrix.data.nbytes + matrix.indices.nbytes
    return wanted if free is None else max(1, min(wanted, int(free // max(1, COPIES * size))))


def _shows_progress(progress: bool | None) -> bool:
    """By default on terminals and in notebooks."""
    if progress is not None:
        return progress
    stream = sys.stderr
    return stream is not None and (stream.isatty() or "ipykernel" in sys.modules)


def _positive_code(rows: Rows, classes: NDArray[Any], positive: Any) -> int:
    """The code of the positive of two classes: the rarer one, or the one that is named."""
    if positive is None:
        return int(np.argmin(np.bincount(rows.target, minlength=2))) if len(classes) == 2 else 0
    if len(classes) != 2:
        raise ValueError(f"positive={positive!r} is for two classes, and the target has {len(classes) or 'numbers'}")
    labels = [str(label) for label in classes]
    if str(positive) not in labels:
        raise ValueError(f"positive is {positive!r}: choose from {', '.join(labels)}")
    return labels.index(str(positive))


def _codes(group: Any) -> NDArray[np.int64] | None:
    if group is None:
        return None
    values = np.asarray(group.to_numpy() if hasattr(group, "to_numpy") else group)
    as_text = values.astype(str) if values.dtype == object else values
    return np.asarray(np.unique(as_text, return_inverse=True)[1], dtype=np.int64)


def _times(column: Any) -> Floats | None:
    """Numbers in the order of the times: numbers and dates as they are, texts as ISO 8601 dates."""
    if column is None:
        return None
    values = np.asarray(column.to_numpy() if hasattr(column, "to_numpy") else column)
    if values.dtype.kind not in "iufb":
        try:
            dates = values.astype("datetime64[us]")
            values = np.where(np.isnat(dates), np.nan, dates.astype(np.int64).astype(np.float64))
        except ValueError as error:
            raise ValueError(
                f"time_column holds a value that is neither a date (like 2026-01-31) nor a number: {error}"
            ) from None
    times = values.astype(np.float64)
    missing = np.flatnonzero(~np.isfinite(times))
    if len(missing):
        raise ValueError(f"time_column has no value in row {missing[0]}")
    return times


def _with_columns(rows: Rows, beside: dict[str, Any]) -> Rows:
    """The rows with groups or times."""
    given = {name: values for name, values in beside.items() if values is not None}
    if len(given) > 1:
        raise ValueError("group and time_column cannot be used together: choose one")
    for name, values in given.items():
        if len(values) != rows.n_rows:
            raise ValueError(f"{name} has {len(values)} values for {rows.n_rows} rows")
    return replace(rows, **given)


def _rows_with_weight(X: Any, y: Any, weight: Any, beside: dict[str, Any]) -> tuple[Any, Any, Any, dict[str, Any]]:
    """The rows, without those of weight 0; beside: other values of the rows, or None."""
    if weight is None:
        return X, y, None, beside
    weight = check_weight(weight, read_columns(X)[2])
    used = np.flatnonzero(weight)
    if not len(used):
        raise ValueError("all weights are 0")
    weight = np.ldexp(weight, -int(np.frexp(np.max(weight))[1]))  # sums must not overflow or underflow
    if len(used) == len(weight):
        return X, y, weight, beside
    beside = {name: None if values is None else values[used] for name, values in beside.items()}
    return take_rows(X, used), take_rows(y, used), weight[used], beside


def _check_options(
    folds: int | None, test_fraction: float | None, time_limit: float | None, seed: int, prefer: str
) -> None:
    if folds is not None and folds < 2:
        raise ValueError(f"folds is {folds}: it must be at least 2")
    if test_fraction is not None and not 0 <= test_fraction < 1:
        raise ValueError(f"test_fraction is {test_fraction}: the share of test rows must be at least 0 and less than 1")
    if time_limit is not None and not time_limit > 0:
        raise ValueError(f"time_limit is {time_limit}: it must be a positive number of seconds")
    if seed < 0:
        raise ValueError(f"seed is {seed}: it must not be negative")
    if prefer not in PREFERENCES:
        raise ValueError(f"prefer is {prefer!r}: choose from {', '.join(PREFERENCES)}")


def _check_scanned(group: Any, time_column: Any, sample_rows: int | None) -> None:
    for name, values in (("group", group), ("time_column", time_column)):
        if values is not None:
            raise ValueError(f"{name} needs every row in memory, and X is a scanned table: read it, or a part of it")
    if sample_rows is not None and sample_rows < FEWEST_ROWS:
        raise ValueError(f"sample_rows is {sample_rows}: it must be at least {FEWEST_ROWS}")


class Comparison:
    """The result of `compare`. Printing it shows the answer in words, and the table.

    Attributes
    ----------
    answer : list of str
        Which model to use, how well it will do, how sure that is.
    winner : str
        The name of the model that is handed over: an algorithm, or "stack".
    model : estimator
        It, trained on all rows. Of a scanned table, `model_without_test_rows`.
    model_without_test_rows : estimator or None
        The same trained without the test rows; None if no rows were held out, or there was no time.
    estimate, limit : float
        The estimated value of the metric on new rows, and a one-sided limit of 95% (exact if rows were held out and
        the metric is the error).
    bound : float
        With 95% confidence, an upper bound on the error of `model_without_test_rows` on rows like these (exact
        binomial, Clopper and Pearson); NaN without test rows, for regression, weights, and splits by group or time.
    evidence : str
        "beyond doubt", "probably" or "no evidence": that the model is better than the baseline.
    columns : dict of lists
        The table.
    frame : dataframe
        The same, in the library of X, or else pandas, polars or pyarrow, whichever is installed.
    setting : dict
        The parameters of the model, as set_params takes them; of a stack, the weights.
    code : str
        Python code that trains the model.
    threshold : float or None
        For two classes, ranked by `balanced_error` or `f1`: predict the second class above this probability.
    certified : CertifiedWinner or None
        With `certify`, the best single algorithm as a cross-fitted ``model`` on all rows, with its ``bound`` and the
        ``sentence`` that one may quote; ``candidates`` is the number of settings that the bound pays for.
    outcomes : Outcomes
        The losses of every algorithm on the rows tested, as `compare_over` takes them.
    check_up : CheckUp
        What was found about the columns and the target, and the cleaning that the models keep.
    seconds : dict
        How long fits and refits took.
    not_run, failed, dropped : list, dict and list
        Candidates that are not in the table: without time, with an error, and worse after some folds.
    notes : list of str
        The same in words.
    """

    def __init__(
        self,
        plan: Plan,
        training_rows: Rows,
        refits: Refits,
        classes: NDArray[Any],
        named: frozenset[int],
        certify: str | None,
    ) -> None:
        self.plan, self.training_rows, self.refits, self.classes = plan, training_rows, refits, classes
        self.named, self.certify = named, certify
        self.prefer, self.stacks, self.positive = ACCURACY, True, 0
        self.certified: CertifiedWinner | None = None
        self.check_up = refits.check_up
        self.model: Any = None
        self.model_without_test_rows: Any = None
        self.seconds: dict[str, float] = {}
        self.notes: list[str] = []

    # ------------------------------------------------------------ the work

    def run(self, where: Where, limits: WorkLimits, progress: bool) -> None:
        """Run the fits, choose, train what is handed over, and write the results to the folder."""
        self.limits = limits
        self.display = Progress(self.plan, limits, sys.stderr if progress else None)
        self.display.note(f"comparing models on {self.training_rows.n_rows:,} rows")
        if not kernels.are_compiled():
            self.display.note("compiling, once on this machine: the first models of this package take about a minute")
        journal: Store = {}
        if where.folder is not None:
            journal = Journal(where.folder)
            journal.open(self.plan, self.training_rows, self.refits.n_test, self.refits.describe())
        runner = FitRunner(self.plan, self.training_rows, self._open_table())
        replayed = None
        if where.replay is not None:
            wanted = plan_of(self.plan, self.training_rows, self.refits.n_test, self.refits.describe())
            sizes = len(self.plan.candidates), len(runner.splits.places)
            replayed = Journal(where.replay).read_outcome(wanted, *sizes)
        self.schedule = Schedule(self.plan, self.training_rows, runner.splits, self.named)
        work = Work(self.schedule, runner, journal, limits, self._reserve, self.display, where.pool)
        self.results = work.run(None if replayed is None else replayed["fits"])
        self.fits = sorted(self.results)
        self.costs, self.interrupted = work.costs, work.interrupted
        self.seconds["fits"] = time.monotonic() - limits.started
        if self.schedule.furthest(self.results) is None:
            self._fit_quickly()
        self._conclude(replayed)
        self.seconds["refits"] = time.monotonic() - limits.started - self.seconds["fits"]
        if where.keeps and isinstance(journal, Journal):
            self._write(journal)

    def _fit_quickly(self) -> None:
        """Where there was no time for any fit: a linear model on few rows, in this process."""
        if self.failed:
            raise ValueError(self._why_nothing())
        baseline = [one for one in self.plan.algorithms if one.baseline]
        linear = [one for one in PEERS["linear"] if set(one.tasks) & set(baseline[0].tasks)]
        self.plan = replace(self.plan, algorithms=[*baseline, *linear], n_folds=2)
        rows = self.training_rows
        drawn = np.random.default_rng([self.plan.seed, 10]).permutation(rows.n_rows)[:QUICK_ROWS]
        self.training_rows = rows.take(np.sort(drawn))
        runner = FitRunner(self.plan, self.training_rows)
        self.schedule = Schedule(self.plan, self.training_rows, runner.splits, self.named)
        work = Work(self.schedule, runner, {}, WorkLimits(1), lambda *_: 0.0, self.display)
        self.results, self.costs = work.run(), work.costs
        self.schedule.late.add(0)
        self.notes.append(f"there was no time for more than a linear model on {self.training_rows.n_rows:,} rows")

    def _open_table(self) -> Any:
        """The columns of the rows that are not held out, for estimators of the user."""
        needed = any(one.takes_table for one in self.plan.algorithms)
        return take_rows(self.refits.X, self.refits.parts[0]) if needed else None

    def _reserve(self, results: Results, costs: Costs) -> float:
        """Seconds for the refits and what follows: of the three slowest of the candidates that are finished."""
        slowest: dict[int, float] = {}
        for c in {fit.candidate for fit in results}:
            algorithm = self.plan.candidates[c].algorithm
            slowest[algorithm] = max(slowest.get(algorithm, 0.0), self._refit_seconds([c], costs))
        three = sum(sorted(slowest.values())[-3:])
        return AFTER + min(RESERVED * self.limits.seconds, three if math.isfinite(self.limits.seconds) else 0.0)

    def _refit_seconds(self, candidates: list[int], costs: Costs, tests: bool = True) -> float:
        """Of these candidates on all rows, and before on those that are not held out."""
        rows = [self.refits.n_rows] + ([len(self.refits.parts[0])] if tests and self.refits.n_test else [])
        return sum(costs.predict(c, n_rows) or 0.0 for c in candidates for n_rows in rows)

    def _is_affordable(self, recipe: Recipe) -> bool:
        """Whether there is time to train it on all rows."""
        return (
            self._refit_seconds([part.candidate for part in recipe.parts], self.costs, tests=False) < self.limits.left
        )

    def _conclude(self, replayed: dict[str, Any] | None) -> None:
        """Choose, and train what is handed over in the time that is left."""
        reached = self.schedule.furthest(self.results)
        if reached is None:
            raise ValueError(self._why_nothing())
        self.level, numbers = reached
        self.display.show("choosing among the models")
        ranker = Ranker(self.schedule, self.level, numbers, self.results, self.stacks)
        allowed = {c for c in ranker.candidates if self._refit_seconds([c], self.costs, tests=False) < self.limits.left}
        if replayed is not None:
            allowed = replayed["allowed"]
        self.allowed = sorted(allowed or ranker.candidates)
        self.ranking = ranker.rank(self.prefer, set(self.allowed), self._is_affordable if replayed is None else None)
        recipe = self.ranking.chosen.recipe
        parts = [part.candidate for part in recipe.parts]
        self.tests = self.refits.n_test > 0 and self._refit_seconds(parts, self.costs) < self.limits.left
        if replayed is not None:
            self.tests = replayed["tests"] and self.refits.n_test > 0
        self.notes += self._missing()
        self.display.show(f"training {words.name_of(self.ranking.chosen)} on all rows")
        if self.tests:
            self.model_without_test_rows = self.refits.fit_without(recipe)
        self.model = self._final(recipe)
        if self.certify is not None:  # the weights of a stack are no candidates that were fixed before
            single = next((one for one in self.ranking.lines if _is_model(one)), self.ranking.lines[0])
            self.certified = cross_fit(single.recipe.parts[0], self.refits, self.plan)
        self.display.end()
        self.notes += self.refits.notes()

    def _final(self, recipe: Recipe) -> Any:
        """The model on all rows; on fewer where there is no time for all."""
        if isinstance(self.refits, ScannedRefits) and self.model_without_test_rows is not None:
            return self.model_without_test_rows
        parts, left = [part.candidate for part in recipe.parts], self.limits.left
        seconds = self._refit_seconds(parts, self.costs, tests=False)
        if seconds <= max(left, AFTER):
            return self.refits.fit_final(recipe)
        n_rows = self.refits.n_rows
        tried = [self.costs.seconds[c][0] for c in parts if c in self.costs.seconds]
        least = min(n_rows, max([FEWEST_ROWS, *tried]))
        wanted = int(np.clip(n_rows * max(left, AFTER) / seconds, least, n_rows))
        self.notes.append(f"trained on {wanted:,} of {n_rows:,} rows, since the time limit allows no more")
        which = np.sort(np.random.default_rng([self.plan.seed, 8]).permutation(n_rows)[:wanted])
        return self.refits.fit_final(recipe, which)

    # ------------------------------------------------------------ what is missing

    @property
    def failed(self) -> dict[str, str]:
        """Why algorithms failed, by name."""
        errors = {fit: result.message for fit, result in self.results.items() if isinstance(result, Failed)}
        return {self.plan.algorithm(fit.candidate).name: errors[fit] for fit in sorted(errors, reverse=True)}

    @property
    def not_run(self) -> list[str]:
        """Algorithms that no candidate of was finished in time."""
        tried = {self.plan.candidates[fit.candidate].algorithm for fit in self.results}
        cut = {self.plan.candidates[c].algorithm for c in self.schedule.unfinished(self.level, self.results)}
        shown = {line.name for line in self.ranking.lines}
        return [
            one.name
            for number, one in enumerate(self.plan.algorithms)
            if number not in tried or (number in cut and one.name not in shown)
        ]

    @property
    def is_partial(self) -> bool:
        """Whether there was no time for something."""
        return bool(self.schedule.late) or self.interrupted

    @property
    def dropped(self) -> list[str]:
        """Algorithms whose candidates were all dropped before the last fold."""
        shown = {line.name for line in self.ranking.lines}
        tested = {self.plan.algorithm(fit.candidate).name for fit in self.results}
        return sorted(tested - shown - set(self.failed) - set(self.not_run))

    def _missing(self) -> list[str]:
        """A line for each reason why algorithms are not in the table."""
        lines = [f"failed: {literal(name)}: {literal(why)}" for name, why in self.failed.items()]
        if self.dropped:
            lines.append(f"dropped as worse before the last fold: {'; '.join(map(literal, self.dropped))}")
        if self.not_run:
            lines.append(f"not run (out of time): {'; '.join(map(literal, self.not_run))}")
        return lines

    def _why_nothing(self) -> str:
        failures = [f"{literal(name)}: {literal(why)}" for name, why in self.failed.items()]
        if failures:
            return "no model could be trained\n" + "\n".join(failures)
        return "no model was trained in the time limit: allow more"

    # ------------------------------------------------------------ results

    @property
    def winner(self) -> str:
        return self.ranking.chosen.name

    @property
    def estimate(self) -> float:
        return self.plan.metric.shown(self._facts().expected[0])

    @property
    def limit(self) -> float:
        return self.plan.metric.shown(self._facts().expected[1])

    @property
    def bound(self) -> float:
        bound = None if self.model_without_test_rows is None else self.model_without_test_rows.held_out_["bound"]
        return math.nan if bound is None else float(bound)

    @property
    def evidence(self) -> str:
        return "no evidence" if self.ranking.evidence is None else self.ranking.evidence.grade

    @property
    def setting(self) -> dict[str, Any]:
        recipe = self.ranking.chosen.recipe
        if recipe.is_stack:
            return {part.algorithm.name: part.weight for part in recipe.parts}
        return dict(recipe.parts[0].setting)

    @property
    def code(self) -> str:
        return report.as_code(self.refits.unfitted(self.ranking.chosen.recipe), self.check_up.cleaning is not None)

    @property
    def threshold(self) -> float | None:
        threshold = self.ranking.chosen.recipe.threshold
        return None if threshold == 0.5 else threshold

    @property
    def columns(self) -> report.Table:
        return columns_of(self.ranking, self.plan.metric)

    @property
    def printed(self) -> list[list[str]]:
        """The heads and the rows of the whole table, as it is printed."""
        return words.table_rows(self.ranking, self.plan.metric, len(self.ranking.lines))

    @property
    def frame(self) -> Any:
        return report.as_frame(self.columns, type(self.refits.X).__module__.split(".")[0], "columns")

    @property
    def outcomes(self) -> Outcomes:
        names = [line.name for line in self.ranking.lines]
        return Outcomes(names, self.ranking.losses, self.ranking.weight, self.plan.n_folds)

    @property
    def answer(self) -> list[str]:
        return words.sentences(self._facts())

    def _facts(self) -> words.Facts:
        rows, without = self.refits.rows, self.model_without_test_rows
        counts = np.bincount(rows.target, minlength=len(self.classes)) if len(self.classes) else np.empty(0)
        shares = (counts / max(1, counts.sum())).tolist()
        dependent = "group" if rows.group is not None else "time" if rows.time is not None else ""
        positive = self.positive if len(counts) == 2 else int(np.argmin(counts)) if len(counts) else 0
        held_out = None if without is None else without.held_out_
        screened = (
            None if self.level == len(self.schedule.splits.levels) - 1 else self.schedule.splits.levels[self.level]
        )
        return words.Facts(
            self.ranking,
            self.plan.metric,
            self.classes.tolist(),
            shares,
            positive,
            held_out,
            dependent,
            None if screened is None else len(screened[0][0]),
        )

    @property
    def head(self) -> str:
        rows, n_test = self.refits.rows, self.refits.n_test
        weighted = "" if rows.weight is None else "; errors are weighted"
        by = "; split by group" if rows.group is not None else "; split by time" if rows.time is not None else ""
        test = f"; {n_test:,} test rows held out" if n_test else ""
        drawn = self.refits.drawn_from
        n_folds = len(self.schedule.splits.levels[-1])
        where = f"{self.training_rows.n_rows:,} rows{drawn} in {n_folds} fold{'s' if n_folds > 1 else ''}{by}"
        return f"{where}{test}; seed {self.plan.seed}{weighted}"

    def __repr__(self) -> str:
        table = report.align(words.table_rows(self.ranking, self.plan.metric, MOST_LINES), {1, -1})
        certified = [self.certified.sentence] if self.certified is not None else []
        lines = [*words.wrapped([*self.answer, *certified]), "", self.head, table, "", *words.wrapped(self.notes)]
        checked = ["", repr(self.check_up)] if self.check_up.findings else []
        return "\n".join([*lines, *checked]).rstrip()

    def to_json(self) -> str:
        """The answer and the table for programs."""
        evidence = self.ranking.evidence
        facts = {
            "answer": self.answer,
            "winner": self.winner,
            "metric": self.plan.metric.name,
            "estimate": self.estimate,
            "limit": self.limit,
            "evidence": self.evidence,
            "p": None if evidence is None else evidence.p,
            "setting": self.setting,
            "table": self.columns,
            "notes": self.notes,
            "check_up": self.check_up.to_dict(),
        }
        return json.dumps(_finite(facts), indent=1, default=str)

    def to_markdown(self) -> str:
        """The answer and the table as Markdown."""
        heads, *rows = words.table_rows(self.ranking, self.plan.metric, MOST_LINES)
        lines = [line.strip() for line in self.answer]
        table = [heads, ["---"] * len(heads), *rows]
        cells = ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in table]
        return "\n".join(
            [*(f"{line}  " for line in lines), "", *cells, "", *(f"- {note}" for note in self.notes)]
        ).rstrip()

    # ------------------------------------------------------------ files

    def _write(self, journal: Journal) -> None:
        """Write the table as CSV, the models, and what was used, for a repeat."""
        write_text(journal.path(RESULTS), report.as_csv(self.columns))
        stored = {FINAL: self.model, BOUNDED: self.model_without_test_rows}
        for name, model in stored.items():
            path = journal.path(name)
            with suppress(FileNotFoundError):  # of an earlier run
                os.remove(path)
            if model is not None:
                self._save(model, path)
        fits = [[fit.candidate, fit.split] for fit in self.fits]
        journal.write_outcome({"fits": fits, "allowed": self.allowed, "tests": self.tests})
        if not self.is_partial:
            journal.close()

    def _save(self, model: Any, path: str) -> None:
        try:
            model.save(path)
        except (AttributeError, NotStorableError, TypeError) as error:
            why = str(error) if isinstance(error, NotStorableError) else "it is no model of this package"
            self.notes.append(f"{words.name_of(self.ranking.chosen)} is not stored: {literal(why)}")


def _finite(value: Any) -> Any:
    """The same with None for numbers that JSON has not."""
    if isinstance(value, dict):
        return {key: _finite(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _is_model(line: Line) -> bool:
    return line.algorithm is not None and not line.algorithm.baseline
