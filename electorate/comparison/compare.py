"""`electorate.compare` ranks the algorithms on a table and bounds the error of the winner.

Test rows are held out first. Nested cross-validation on the others ranks the algorithms. The winner is trained without
the test rows and tested on them once, which gives its bound. Then it is refitted on all rows.
"""

import math
import os
import tempfile
import time
from collections.abc import Collection
from contextlib import ExitStack, suppress
from dataclasses import replace
from typing import Any

import joblib
import numpy as np
from numpy.typing import NDArray

from electorate.checkup.check_up import CheckUp
from electorate.checkup.columns import read_columns
from electorate.comparison import folds as splits
from electorate.comparison import report
from electorate.comparison.algorithms import BALANCED, Algorithm, Size, applicable, balanced, every_algorithm, task_of
from electorate.comparison.cells import Protocol, Tested
from electorate.comparison.certified_winner import REFITTED, CertifiedWinner, check_certify, cross_fit
from electorate.comparison.checked_rows import check_open_rows
from electorate.comparison.journal import Journal, Store
from electorate.comparison.metrics import metric_for
from electorate.comparison.over_tables import Outcomes
from electorate.comparison.race import Race, Reserve, rungs_for
from electorate.comparison.ranking import FoldRows, Line, rank
from electorate.comparison.refits import Refits
from electorate.comparison.rows import Floats, Rows, read_rows
from electorate.comparison.scanned import RowDraw, ScannedRefits, draw_sample
from electorate.comparison.stack import MOST_MODELS, leaders, stack_of
from electorate.comparison.workers import WorkLimits, run_cells
from electorate.data.inputs import check_weight
from electorate.data.row_subset import take_rows
from electorate.escape import literal
from electorate.safe_write import write_text
from electorate.training.lazy_inputs import is_scanned, refuse_lazy_for

HUGE = 200_000  # rows times classes from which three folds are enough
QUICK_FOLDS = 3
STACK_SHARE = 0.25  # of a time limit: if its refits take longer, a stack has no time reserved
FEWEST_ROWS = 20  # fewer rows are too few for folds and test rows
RESULTS, BOUNDED, FINAL = "results.csv", "winner-without-test-rows.model", "winner.model"
OUR_BOUNDED, OUR_FINAL = "best-of-electorate-without-test-rows.model", "best-of-electorate.model"


def compare(
    X: Any,
    y: Any,
    *,
    sample_weight: Any = None,
    algorithms: list[Any] | None = None,
    peers: list[str] | None = None,
    metric: str | None = None,
    group: Any = None,
    time_column: Any = None,
    folds: int | None = None,
    locked: float = 0.2,
    certify: str | None = None,
    stack: bool | None = None,
    sample_rows: int | None = None,
    time_limit: float | None = None,
    quick: bool = False,
    task: str = "auto",
    check_up: bool = True,
    keep: Collection[str] = (),
    categorical_features: Any = "from_dtype",
    n_jobs: int | None = None,
    seed: int = 0,
    folder: str | os.PathLike[str] | None = None,
    progress: bool = False,
) -> "Comparison":
    """Compare the boosting algorithms on rows X with targets y.

    Parameters
    ----------
    X : array-like, sparse matrix, dataframe or scanned table
        Anything the estimators accept, with missing values and categories. With a table of :func:`scan`, algorithms
        are compared on a sample; the winner is then fitted to all rows but the test rows, batch by batch.
    y : array-like
        Class labels, or numbers to predict.
    sample_weight : array-like, optional
        Weights of the rows, for training and for every error of the table. Splits ignore them, and there is no exact
        binomial bound for rows of different weights. Rows of weight 0 are left out.
    algorithms : list of names or of :class:`Algorithm`, optional
        The algorithms to compare; by default all that apply. User-defined ones run in this process.
    peers : list of {"linear", "hgb", "lightgbm", "xgboost", "catboost", "ebm"}, optional
        Models of other libraries to compare with. By default a regularised linear model and HistGradientBoosting, or
        none where `algorithms` are named. The majority class (a constant for regression) is always there.
    metric : {"error", "balanced_error", "auc", "log_loss", "f1", "mae", "rmse"}, optional
        What settings are chosen by and algorithms are ranked by: "error" by default, "mae" for regression. The others
        are columns of the table. F1 is that of the second class; for more than two classes, F1 and AUC are means over
        the classes. For "balanced_error" and "f1" every setting is tried with and without `class_weight="balanced"`.
    group : array-like, optional
        A value per row. Rows with the same value are never divided between training and testing.
    time_column : array-like of numbers or dates, optional
        A value per row. Models are tested on later rows than they were trained on.
    folds : int, optional
        Number of folds; by default 5, or 3 with `quick` and where rows times classes exceed 200,000.
    locked : float, default=0.2
        The share of test rows, which are held out and used once, for the winner.
    certify : {"crossfit"}, optional
        Hand over the winner as `certified`, too, also if it is a peer: a :class:`CrossFittedClassifier` that is
        trained on all rows and has a bound. The bound pays for the choice among all settings of the comparison: fewer
        `algorithms` and `peers`, or `quick`, make it smaller. It is for classification without weights, groups and
        times, and the check-up must leave the columns as they are.
    stack : bool, optional
        Rank a stack of the three best algorithms of this package, too: see :class:`StackedClassifier`. By default
        unless `algorithms` are named. A scanned table has none.
    sample_rows : int, optional
        Of a scanned table: how many rows to sample, test rows included. By default 200,000, or as many as take an
        eighth of the free memory.
    time_limit : float, optional
        Seconds for everything, the refits of the winner included. Cells that are not run by then are listed.
    quick : bool, default=False
        One setting per algorithm, three folds, and without the slowest algorithms.
    task : {"auto", "classification", "regression"}
        With "auto", float targets, and integer targets with more than 20 distinct values, are treated as regression.
    check_up : bool, default=True
        Check the columns first, on the rows that are not held out, and clean them: see :func:`check_up`. Scanned
        tables are used as they are.
    keep : collection of str
        Columns that the check-up leaves as they are.
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
    >>> names = ["AdaBoost, stumps", "SAMME.R, trees"]
    >>> found = electorate.compare(X, y, algorithms=names, folds=2, quick=True, n_jobs=1)
    >>> found.columns["algorithm"][-1]
    'majority class'
    """
    limits = WorkLimits(n_jobs or int(joblib.cpu_count()), time_limit or math.inf)
    _check_options(folds, locked, time_limit, seed)
    sample = None
    if is_scanned(X):
        _check_scanned(group, time_column, sample_rows)
        sample = draw_sample(X, y, sample_weight, RowDraw(seed, locked), sample_rows)
        X, y, sample_weight, check_up = sample.X, sample.y, sample.weight, False
    refuse_lazy_for("compare", X)
    X, y, weight, beside = _rows_with_weight(X, y, sample_weight, {"group": _codes(group), "time": _times(time_column)})
    check = CheckUp([], None)
    if check_up and read_columns(X)[2] >= FEWEST_ROWS:
        check = check_open_rows(X, y, task, keep, lambda rows: splits.lock(_with_columns(rows, beside), locked, seed))
    X, y = check.clean(X), check.clean_target(y)
    rows, classes = read_rows(X, y, task, categorical_features, weight)
    rows = _with_columns(rows, beside)
    if rows.n_rows < FEWEST_ROWS:
        raise ValueError(f"{rows.n_rows} rows are too few to compare algorithms: at least {FEWEST_ROWS} are needed")
    parts = splits.lock(rows, locked, seed) if sample is None else sample.parts
    n_open, n_classes = len(parts[0]), len(classes)
    chosen = applicable(task_of(n_classes), algorithms, peers, Size(n_open, n_classes), quick)
    ranked_by = metric_for(metric, n_classes)
    chosen = [balanced(one) for one in chosen] if ranked_by.balances else chosen
    n_folds = _count_folds(folds, n_open, n_classes, quick)
    training = rows.take(parts[0])
    protocol = Protocol(chosen, n_folds, seed, n_classes, ranked_by, _rungs(training, n_folds, seed))
    race = Race(protocol, frozenset(a for a, one in enumerate(chosen) if algorithms is not None or one.peer))
    labels = classes[rows.target] if n_classes else rows.target
    given = (X, labels, rows, parts, categorical_features, seed, n_classes > 0, check)
    refits = Refits(*given) if sample is None else ScannedRefits(*given, sample=sample)
    check_certify(certify, sample is not None, rows, n_classes, check)
    stacks = (algorithms is None if stack is None else stack) and sample is None
    found = Comparison(race, training, refits, certify, stacks)
    found.run(folder, locked, limits, progress)
    return found


def _rungs(training: Rows, n_folds: int, seed: int) -> tuple[int, ...]:
    """Rungs of the screening; none for a small table."""
    if training.n_rows < splits.LARGE:
        return ()
    screening = splits.split(training, n_folds, seed, screens=True).screening
    return () if screening is None else rungs_for(len(screening[0]))


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
            values = values.astype("datetime64[us]").astype(np.int64)
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
    if len(used) == len(weight):
        return X, y, weight, beside
    beside = {name: None if values is None else values[used] for name, values in beside.items()}
    return take_rows(X, used), take_rows(y, used), weight[used], beside


def _count_folds(folds: int | None, n_rows: int, n_classes: int, quick: bool) -> int:
    few = quick or n_rows * max(1, n_classes) > HUGE
    n_folds = folds or (QUICK_FOLDS if few else 5)
    if n_folds > n_rows // 2:
        raise ValueError(f"{n_folds} folds are too many for {n_rows} rows")
    return n_folds


def _check_options(folds: int | None, locked: float, time_limit: float | None, seed: int) -> None:
    if folds is not None and folds < 2:
        raise ValueError(f"folds is {folds}: it must be at least 2")
    if not 0 < locked < 1:
        raise ValueError(f"locked is {locked}: the share of test rows must be between 0 and 1")
    if time_limit is not None and not time_limit > 0:
        raise ValueError(f"time_limit is {time_limit}: it must be a positive number of seconds")
    if seed < 0:
        raise ValueError(f"seed is {seed}: it must not be negative")


def _check_scanned(group: Any, time_column: Any, sample_rows: int | None) -> None:
    for name, values in (("group", group), ("time_column", time_column)):
        if values is not None:
            raise ValueError(f"{name} needs every row in memory, and X is a scanned table: read it, or a part of it")
    if sample_rows is not None and sample_rows < FEWEST_ROWS:
        raise ValueError(f"sample_rows is {sample_rows}: it must be at least {FEWEST_ROWS}")


def _is_listed(algorithm: Algorithm) -> bool:
    """Whether worker processes find it by its name."""
    return any(one.name == algorithm.name and one.make == algorithm.make for one in every_algorithm())


class StackWithin:
    """Makes the line of a stack, if there is time for its refits. is_late: whether there was not."""

    def __init__(self, limits: WorkLimits, reserve: Reserve) -> None:
        self.limits, self.reserve, self.is_late = limits, reserve, False

    def __call__(
        self, lines: list[Line], nested: list[dict[int, Tested]], there: FoldRows
    ) -> tuple[Line, Floats] | None:
        chosen = leaders(lines, nested)
        left = self.limits.started + self.limits.seconds - time.monotonic()
        self.is_late = self.reserve.of_stack(sum(lines[place].fit_seconds for place in chosen)) > left
        if self.is_late:
            return None
        return stack_of([lines[place] for place in chosen], [nested[place] for place in chosen], there)


class Comparison:
    """The result of `compare`.

    Attributes
    ----------
    columns : dict of lists
        The ranked table.
    frame : dataframe
        The same, in the library of X, or else pandas, polars or pyarrow, whichever is installed.
    winner : str or None
        The name of the first algorithm; None if nothing beats the baseline beyond chance.
    setting : dict
        The winner's parameters, as set_params takes them.
    code : str
        Python code that trains the winner.
    threshold : float or None
        For two classes, ranked by `balanced_error` or `f1`: predicting the second class above this probability instead
        of 0.5 lowers the cross-validated loss of the winner. None if it does not.
    model : estimator
        The winner refitted on all rows. No row was held out from it, so it has no bound. Its probabilities are
        calibrated by the predictions for the rows of all folds. Of a scanned table, `model_without_locked`.
    model_without_locked : estimator
        The winner trained without the test rows. Of a scanned table, to all others; `notes` has how many they are.
    bound : float
        With 95% confidence, an upper bound on the error of `model_without_locked` on rows like these (exact binomial,
        Clopper and Pearson); NaN for regression, for rows of different weights and for splits by group or time.
    models, bounds : dict
        The two models (without test rows, on all rows) and the bound by algorithm: of the winner and of `best_of_ours`.
        The second model of a peer is None until `model` is used.
    best_of_ours : str or None
        The first algorithm with a file format. Another library may be the winner.
    certified : CertifiedWinner or None
        With `certify`, the winner (if that is a stack, the best single algorithm) as a cross-fitted ``model`` on all
        rows, with its ``bound`` and the ``sentence`` that one may quote; ``candidates`` is the number of settings that
        the bound pays for.
    outcomes : Outcomes
        The losses of every algorithm on the rows tested, as `compare_over` takes them.
    check_up : CheckUp
        What was found about the columns and the target, and the cleaning that the models keep.
    seconds : dict
        How long cells and refits took.
    not_run, failed : list and dict
        The cells that are missing from the table.
    notes : list of str
        The same in words, and the algorithms that are not ranked.
    """

    def __init__(
        self, race: Race, training_rows: Rows, refits: Refits, certify: str | None = None, stacks: bool = False
    ) -> None:
        self.race, self.protocol, self.training_rows, self.refits = race, race.protocol, training_rows, refits
        self.certify, self.stacks = certify, stacks
        self.certified: CertifiedWinner | None = None
        self.check_up = refits.check_up
        self.models: dict[str, tuple[Any, Any]] = {}
        self.bounds: dict[str, float] = {}
        self.best_of_ours: str | None = None
        self.seconds: dict[str, float] = {}

    def run(self, folder: Any, locked: float, limits: WorkLimits, progress: bool) -> None:
        """Run the cells, rank the algorithms, train and test the first, and write the results to the folder."""
        rows, protocol = self.training_rows, self.protocol
        in_processes = limits.n_jobs > 1 and all(map(_is_listed, protocol.algorithms))
        with ExitStack() as stack:
            journal: Store = {}
            if folder is not None or in_processes:
                place = folder or stack.enter_context(tempfile.TemporaryDirectory(prefix="electorate-"))
                journal = Journal(place)
                journal.open(protocol, rows, locked, self.refits.describe())
            used = limits if in_processes else replace(limits, n_jobs=1)
            reserve = self._reserve(limits)
            results = run_cells(self.race, rows, journal, used, reserve, progress)
        self.seconds["cells"] = time.monotonic() - limits.started
        stacking = StackWithin(limits, reserve)
        self.ranking = rank(self.race, results, rows, stacking if self.stacks else None)
        self.not_run, self.failed = self.ranking.not_run, self.ranking.failed
        self.notes = report.dropped(self.race.dropped(results), self.race.unscreened(results), protocol)
        self.notes += report.missing(self.ranking, protocol)
        self.notes += ["not ranked (ran out of time): stacked"] if stacking.is_late else []
        self._train()
        self.notes += self.refits.notes()
        self.seconds["refits"] = time.monotonic() - limits.started - self.seconds["cells"]
        if folder is not None:
            self.write(os.fspath(folder))
            if isinstance(journal, Journal) and not self.not_run:
                journal.close()

    def _reserve(self, limits: WorkLimits) -> Reserve:
        """Refits are on the training rows and on all rows. They use all CPUs, which leaves a margin."""
        n_learn = min(len(learn) for learn, _ in self.protocol.split(self.training_rows).folds)
        n_rows = self.training_rows.n_rows
        final = self.refits.n_refitted - n_rows
        if self.certify is not None:
            final += REFITTED * self.refits.rows.n_rows
        n_stacked = MOST_MODELS if self.stacks else 0
        return Reserve(self.protocol, n_rows / n_learn, final / n_learn, n_stacked, STACK_SHARE * limits.seconds)

    def _train(self) -> None:
        """Train the winner, and the best of ours if another library won."""
        lines = self.ranking.lines
        if not self.ranking.beats_baseline:
            return
        ours = next((line for line in lines if hasattr(self.refits.build(line), "save")), None)
        if ours is not None:
            self.best_of_ours = ours.algorithm.name
        for line in (lines[0], ours):
            if line is not None and line.algorithm.name not in self.models:
                without, final = self.refits.fit_both(line)
                self.models[line.algorithm.name] = without, final
                bound = without.held_out_["bound"]
                if bound is not None:
                    self.bounds[line.algorithm.name] = bound
        if self.certify is not None:  # the weights of a stack are no candidates that were fixed before
            single = next(line for line in lines if not line.stack)
            self.certified = cross_fit(single, self.refits, self.protocol)

    # ------------------------------------------------------------ results

    @property
    def _first(self) -> Line:
        if not self.ranking.lines:
            raise ValueError("no algorithm was run in any fold: allow more time\n" + "\n".join(self.notes))
        return self.ranking.lines[0]

    @property
    def winner(self) -> str | None:
        return self._first.algorithm.name if self.ranking.beats_baseline or not self.ranking.lines else None

    def _won(self) -> str:
        if self.winner is None:
            raise ValueError("there is no winner: nothing beats the baseline beyond chance")
        return self.winner

    @property
    def setting(self) -> dict[str, Any]:
        return dict(self._first.setting)

    @property
    def code(self) -> str:
        if self._first.algorithm.peer:
            return self._peer_code()
        model = self.refits.build(self._first)
        if self._first.stack:  # a fit finds the weights, and calibrates the models that they are for
            model.set_params(weights=None)
        return report.as_code(model, self.check_up.cleaning is not None)

    def _peer_code(self) -> str:
        code = str(self.model_without_locked.model_.code)
        if not BALANCED.items() <= self._first.setting.items():
            return code
        weight = "compute_sample_weight('balanced', y)"
        return "from sklearn.utils import compute_sample_weight; " + code.replace("y)", f"y, sample_weight={weight})")

    @property
    def threshold(self) -> float | None:
        found = self._first.threshold
        return found.probability if found is not None and found.helps else None

    @property
    def model(self) -> Any:
        without, final = self.models[self._won()]
        if final is None:
            final = self.refits.fit_final(self._first)
            self.models[self._won()] = without, final
        return final

    @property
    def model_without_locked(self) -> Any:
        return self.models[self._won()][0]

    @property
    def bound(self) -> float:
        return self.bounds.get(self.winner or "", float("nan"))

    @property
    def columns(self) -> report.Table:
        return report.columns(self.ranking, self.bounds, self.protocol.metric)

    @property
    def printed(self) -> list[list[str]]:
        """The heads and the rows of the printed table."""
        return report.printed(self.ranking, self.bounds, self.protocol.metric)

    @property
    def frame(self) -> Any:
        return report.as_frame(self.columns, type(self.refits.X).__module__.split(".")[0], "columns")

    @property
    def outcomes(self) -> Outcomes:
        names = [line.algorithm.name for line in self.ranking.lines]
        return Outcomes(names, self.ranking.losses, self.ranking.weight, self.protocol.n_folds)

    @property
    def head(self) -> str:
        protocol, rows = self.protocol, self.refits.rows
        used = len(self.ranking.folds)
        some = "" if used == protocol.n_folds else f", {used} of them run by all"
        weighted = "" if rows.weight is None else "; errors are weighted"
        by = "; split by group" if rows.group is not None else "; split by time" if rows.time is not None else ""
        test = f"{self.refits.n_test:,} test rows held out and used once"
        drawn = self.refits.drawn_from
        where = f"{self.training_rows.n_rows:,} rows{drawn} in {protocol.n_folds} folds{some}{by}"
        return f"{where}; {test}; seed {protocol.seed}{weighted}"

    @property
    def meaning(self) -> list[str]:
        """The table in words."""
        metric = self.protocol.metric
        lines = report.meaning(self.ranking, metric)
        for line in self.ranking.lines:
            if line.algorithm.name in self.models:
                lines += report.tested(line, self.models[line.algorithm.name][0].held_out_)
        if self.certified is not None:
            lines.append(self.certified.sentence)
        if self.winner is not None:
            lines.append(f"winner: {literal(self.winner, 40)} ({report.describe_line(self._first) or 'defaults'})")
            lines.append(f"in Python: {self.code}")
            lines += report.threshold(self._first, np.unique(self.refits.y)[-1], metric)
        return lines

    def __repr__(self) -> str:
        if not self.ranking.lines:
            return "\n".join(["nothing to rank: no algorithm was run in any fold", *self.notes])
        table = report.as_text(self.ranking, self.bounds, self.protocol.metric)
        checked = [repr(self.check_up), ""] if self.check_up.findings else []
        return "\n".join([*checked, self.head, "", table, "", *self.meaning, *self.notes])

    def write(self, folder: str) -> None:
        """Write the table as CSV, and the models of the best of ours: as the winner only if it is the winner."""
        if not self.ranking.lines:
            return
        write_text(os.path.join(folder, RESULTS), report.as_csv(self.columns))
        names = (BOUNDED, FINAL) if self.best_of_ours == self.winner else (OUR_BOUNDED, OUR_FINAL)
        without, final = self.models.get(self.best_of_ours or "", (None, None))
        stored = {} if without is None else {names[0]: without} | ({} if final is without else {names[1]: final})
        for name in {BOUNDED, FINAL, OUR_BOUNDED, OUR_FINAL} - set(stored):
            with suppress(FileNotFoundError):  # of an earlier run, whose winner was another
                os.remove(os.path.join(folder, name))
        for name, model in stored.items():
            model.save(os.path.join(folder, name))
