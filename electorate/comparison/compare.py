"""`electorate.compare` finds the best model for a table, and says how well it will do and how sure that is.

One cross-validation tests all candidates; everything else is a function of its out-of-fold predictions. Some rows are
held out of large tables: they test one model, once. What is handed over is trained on all rows.
"""

import math
import os
import sys
import tempfile
from collections.abc import Callable, Collection
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import joblib
import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from electorate.comparison import folds as splits
from electorate.comparison.algorithms import Size, applicable, balanced, task_of
from electorate.comparison.certified_winner import check_certify
from electorate.comparison.fits import Plan
from electorate.comparison.metrics import Metric, metric_for
from electorate.comparison.ranking import ACCURACY, PREFERENCES
from electorate.comparison.refits import Refits
from electorate.comparison.result import FEWEST_ROWS, Comparison, Where
from electorate.comparison.rows import Parts, Rows, read_rows, read_target
from electorate.comparison.scanned import RowDraw, Sample, ScannedRefits, draw_sample
from electorate.comparison.workers import ProcessPool, WorkLimits
from electorate.data.checkup.columns import read_columns
from electorate.data.checkup.leaks import find_target_step
from electorate.data.cleaning import Cleaning
from electorate.data.date_text import guess_date_order, parse_date
from electorate.data.inputs import check_weight, free_memory, to_array
from electorate.data.row_subset import take_rows
from electorate.exact import Floats
from electorate.inspection.check_up import TIME_ORDER, CheckUp, check_up
from electorate.training.lazy_inputs import is_scanned, refuse_lazy_for

QUICK_FOLDS = 3
CHECK_UP = 0.1  # of a time limit for the search for leaks
COPIES = 6  # of the numbers of a table that a process may need


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
) -> Comparison:
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
    peers : list of {"linear", "forest", "extra_trees", "hgb", "lightgbm", "xgboost", "catboost"}, optional
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
    time_column : str, or array-like of numbers or dates, optional
        A value per row, or the name of a column of the dataframe X, which stays a feature: its trend, month, weekday
        and hour. Models are tested on later rows than they were trained on.
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
        # worker processes find algorithms by their names; a text is a sequence of texts, too
        named = all(isinstance(one, str) for one in algorithms or ())
        where = _open_workers(folder, replay, limits, named, open_until_end)
        X, y = _target_of(X, y, target)
        if isinstance(time_column, str) and not is_scanned(X):
            refuse_lazy_for("compare", X)
            name, time_column = time_column, _column_of(X, time_column, "time_column")
            keep = [*keep, name] if time_column.dtype.is_numeric() else keep  # the number of a row, too, may be a trend
        draw = RowDraw(seed, splits.HELD_OUT_SHARE if test_fraction is None else test_fraction)
        table = _in_memory(X, y, sample_weight, group, time_column, draw, sample_rows)
        hold_out = partial(splits.hold_out, share=test_fraction, seed=seed)
        check = CheckUp([], None)
        if check_up and table.sample is None and read_columns(table.X)[2] >= FEWEST_ROWS:
            seconds = None if time_limit is None else CHECK_UP * time_limit
            check = check_open_rows(
                table.X, table.y, task, keep, lambda rows: hold_out(table.with_columns(rows)), seconds
            )
            if table.times is not None:
                check = replace(check, findings=[one for one in check.findings if one.kind != TIME_ORDER])
        X, y = check.clean(table.X), check.clean_target(table.y)
        rows, classes = read_rows(X, y, task, categorical_features, table.weight)
        rows = table.with_columns(rows)
        if rows.n_rows < FEWEST_ROWS:
            raise ValueError(f"{rows.n_rows} rows are too few to compare algorithms: at least {FEWEST_ROWS} are needed")
        parts = hold_out(rows) if table.sample is None else table.sample.parts
        size = Size(len(parts[0]), len(classes))
        chosen = applicable(task_of(size.n_classes), algorithms, peers, size, quick)
        ranked_by = metric_for(metric, size.n_classes)
        rows, classes, positive_code = _order_classes(rows, classes, positive, ranked_by)
        chosen = [balanced(algorithm) for algorithm in chosen] if ranked_by.balances else chosen
        n_folds = folds or (QUICK_FOLDS if quick else 5)
        if n_folds > size.n_rows // 2:
            raise ValueError(f"{n_folds} folds are too many for {size.n_rows} rows")
        labels = classes[rows.target] if size.n_classes else rows.target
        given = (X, labels, rows, parts, categorical_features, seed, size.n_classes > 0, check)
        refits = Refits(*given) if table.sample is None else ScannedRefits(*given, sample=table.sample)
        check_certify(certify, table.sample is not None, rows, size.n_classes, check)
        asked = frozenset(a for a, one in enumerate(chosen) if algorithms is not None and not one.baseline)
        plan = Plan(chosen, n_folds, seed, size.n_classes, ranked_by)
        comparison = Comparison(plan, rows.take(parts[0]), refits, classes, asked, certify)
        comparison.prefer, comparison.positive = prefer, positive_code
        comparison.stacks = stack and table.sample is None
        if where.pool is not None:
            where.pool.shrink(_fitting_processes(n_processes, rows))
        comparison.run(where, limits, _shows_progress(progress))
    return comparison


@dataclass(frozen=True)
class ComparedTable:
    """The rows that are compared on, in memory: those that were passed, or a sample of a scanned table.

    weight: None if all are equal. groups, times: a number per row, or None.
    """

    X: Any
    y: Any
    weight: Floats | None
    groups: NDArray[np.int64] | None
    times: Floats | None
    sample: Sample | None

    def with_columns(self, rows: Rows) -> Rows:
        """Return the rows with their groups or times."""
        if self.groups is not None and self.times is not None:
            raise ValueError("group and time_column cannot be used together: choose one")
        for name, values in (("group", self.groups), ("time", self.times)):
            if values is not None and len(values) != rows.n_rows:
                raise ValueError(f"{name} has {len(values)} values for {rows.n_rows} rows")
        return replace(rows, group=self.groups, time=self.times)


def _in_memory(
    X: Any, y: Any, weight: Any, group: Any, time_column: Any, draw: RowDraw, sample_rows: int | None
) -> ComparedTable:
    """Return the rows of weight above 0, or those of a sample. draw, sample_rows: of scanned tables."""
    sample = None
    if is_scanned(X):
        for name, values in (("group", group), ("time_column", time_column)):
            if values is not None:
                raise ValueError(f"{name} needs every row in memory, and X is scanned: read it, or a part of it")
        if sample_rows is not None and sample_rows < FEWEST_ROWS:
            raise ValueError(f"sample_rows is {sample_rows}: it must be at least {FEWEST_ROWS}")
        sample = draw_sample(X, y, weight, draw, sample_rows)
        X, y, weight = sample.X, sample.y, sample.weight
    refuse_lazy_for("compare", X)
    table = ComparedTable(X, y, None, _codes(group), _times(time_column), sample)
    if weight is None:
        return table
    weight = check_weight(weight, read_columns(X)[2])
    used = np.flatnonzero(weight)
    if not len(used):
        raise ValueError("all weights are 0")
    weight = np.ldexp(weight, -int(np.frexp(np.max(weight))[1]))  # sums must not overflow or underflow
    if len(used) == len(weight):
        return replace(table, weight=weight)
    groups = None if table.groups is None else table.groups[used]
    times = None if table.times is None else table.times[used]
    return ComparedTable(take_rows(X, used), take_rows(y, used), weight[used], groups, times, sample)


def _open_workers(folder: Any, replay: Any, limits: WorkLimits, named: bool, until_end: ExitStack) -> Where:
    """Start worker processes where they can be used. named: no algorithm is an estimator, fitted in this process."""
    place, pool = None if folder is None else os.fspath(folder), None
    if named and (limits.n_jobs > 1 or limits.seconds < math.inf):
        place = place or until_end.enter_context(tempfile.TemporaryDirectory(prefix="electorate-"))
        pool = ProcessPool(place, limits.n_jobs)
        until_end.callback(pool.stop)
    return Where(place, pool, folder is not None, replay)


def _order_classes(rows: Rows, classes: NDArray[Any], positive: Any, metric: Metric) -> tuple[Rows, NDArray[Any], int]:
    """Return rows, classes and the code of the positive class, which comes second where F1 is of interest."""
    code = _positive_code(rows, classes, positive)
    if metric.name == "f1" and code == 0 and len(classes) == 2:
        return replace(rows, target=1 - rows.target), classes[::-1], 1
    return rows, classes, code


def _target_of(X: Any, y: Any, target: str | None) -> tuple[Any, Any]:
    """The columns and the target, which may be a column of a dataframe."""
    if target is None:
        if y is None:
            raise ValueError('what is to be predicted? Pass y, or target="COLUMN" for a column of the dataframe X')
        return X, y
    if y is not None:
        raise ValueError("pass y or target, not both")
    column = _column_of(X, target, "target")
    return nw.from_native(X, eager_only=True).drop(target).to_native(), column.to_numpy()


def _column_of(X: Any, name: str, option: str) -> Any:
    """A column of a dataframe."""
    try:
        frame = nw.from_native(X, eager_only=True)
    except TypeError:
        raise ValueError(f"{option}={name!r} names a column of a dataframe, and X is a {type(X).__name__}") from None
    if name not in frame.columns:
        raise ValueError(f"there is no column {name!r} in X: its columns are {', '.join(map(str, frame.columns[:20]))}")
    return frame[name]


def _fitting_processes(wanted: int, rows: Rows) -> int:
    """Return the number of processes whose tables fit into memory, at least one."""
    matrix, free = rows.matrix, free_memory()
    size = matrix.nbytes if isinstance(matrix, np.ndarray) else matrix.data.nbytes + matrix.indices.nbytes
    return wanted if free is None else max(1, min(wanted, int(free // max(1, COPIES * size))))


def _shows_progress(progress: bool | None) -> bool:
    """Return whether to show progress; by default on terminals and in notebooks."""
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
    """Numbers in the order of the times: numbers and dates as they are, texts read as dates."""
    if column is None:
        return None
    values = np.asarray(column.to_numpy() if hasattr(column, "to_numpy") else column)
    if values.dtype.kind not in "iufb":
        try:
            dates = values.astype("datetime64[us]")
            values = np.where(np.isnat(dates), np.nan, dates.astype(np.int64).astype(np.float64))
        except ValueError as error:
            texts, rows, counts = np.unique(values.astype(str), return_inverse=True, return_counts=True)
            order = guess_date_order(texts.tolist(), counts)
            if order is None:
                what = "a value that is neither a date (like 2026-01-31) nor a number"
                raise ValueError(f"time_column holds {what}: {error}") from None
            values = np.array([parse_date(text, order.order) for text in texts.tolist()], dtype=np.float64)[rows]
    times = values.astype(np.float64)
    missing = np.flatnonzero(~np.isfinite(times))
    if len(missing):
        raise ValueError(f"time_column has no value in row {missing[0]}")
    return times


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


def check_open_rows(
    X: Any, y: Any, task: str, keep: Collection[str], lock: Callable[[Rows], Parts], time_limit: float | None = None
) -> CheckUp:
    """Return the check-up of the rows that `lock` does not hold out.

    Spellings of labels are merged in all rows, since the split depends on the classes: which texts differ only by case
    or space does not depend on other rows.
    """
    columns, n_rows = read_columns(X)[1:]
    labels = np.asarray(to_array(y))
    found = find_target_step(labels, task) if labels.ndim == 1 else None
    step = None if found is None else found.step
    whole = CheckUp([], None if step is None else Cleaning(columns, {}, step))  # type: ignore[arg-type]
    cleaned = whole.clean_target(labels)
    target, _ = read_target(cleaned, n_rows, task)
    opened = lock(Rows(np.empty((n_rows, 0)), target, [], 0))[0]
    check = check_up(take_rows(X, opened), cleaned[opened], keep=keep, task=task, time_limit=time_limit)
    if found is None or step is None:
        return check
    steps = {} if check.cleaning is None else check.cleaning.steps
    return CheckUp([found.finding, *check.findings], replace(whole.cleaning, steps=steps))  # type: ignore[type-var]
