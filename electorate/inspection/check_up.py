"""`electorate.check_up` looks at a table before training, and fits the cleaning of its columns."""

import math
import shlex
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from electorate.data.checkup.column_findings import (
    find_constant,
    find_dates,
    find_identifiers,
    find_numbers,
    find_spellings,
    order_of_dates,
)
from electorate.data.checkup.columns import CheckedColumn, Finding, FoundStep, quote, read_columns
from electorate.data.checkup.duplicates import find_near_duplicates, find_repeated_rows
from electorate.data.checkup.leaks import find_class_sizes, find_leaks, find_target_step
from electorate.data.cleaning import Cleaning, Drop, ReadDates, ReadNumbers, Step
from electorate.data.inputs import to_array
from electorate.data.row_subset import evenly_spaced
from electorate.data.sparse_format import check_sparse
from electorate.data.targets import guess_task
from electorate.estimators.logistic_adaboost import LogisticAdaBoostClassifier
from electorate.estimators.quadboost_regressor import QuadBoostRegressor
from electorate.exact import AnyArray, Floats, Ints
from electorate.families.regression_trees import RegressionTrees
from electorate.families.trees import Trees
from electorate.text import literal
from electorate.training.lazy_inputs import refuse_lazy_for

MOST_LINES = 5  # printed of one kind
TIME_ORDER = "time order"
MOST_TRIED, MOST_CELLS, FEWEST_TRIED = 5_000, 1_000_000, 100  # rows and cells of a quick model
ONLY = "kept: no other column would be left"


@dataclass(frozen=True)
class CheckUp:
    """The result of `check_up`.

    Parameters
    ----------
    findings : list of Finding
        What was found: `kind`, `column`, `seen`, `done`.
    cleaning : Cleaning or None
        The steps that clean the columns and the target; None if there is nothing to clean.

    Examples
    --------
    >>> import electorate, pandas
    >>> X = pandas.DataFrame({"price": ["$1,200", "$900", "?"] * 10, "size": range(0, 300, 10)})
    >>> electorate.check_up(X, [0, 1, 1] * 10).clean(X)["price"].tolist()[:3]
    [1200.0, 900.0, nan]
    """

    findings: list[Finding]
    cleaning: Cleaning | None

    def clean(self, X: Any) -> Any:
        """Return the cleaned columns of rows like those of the check-up, in a container of the same kind."""
        return check_sparse(X) if self.cleaning is None else self.cleaning.transform(X)

    def clean_target(self, y: Any) -> Any:
        """Return the target with one spelling per label, or as numbers if it was numbers stored as text."""
        return y if self.cleaning is None else self.cleaning.transform_target(y)

    def fit(self, model: Any, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Fit a model of this package to the cleaned rows and attach the cleaning to it.

        Parameters
        ----------
        model : estimator
        X : dataframe or array
            Not cleaned.
        y : array-like
        sample_weight : array-like, optional

        Returns
        -------
        model : the same estimator
        """
        model.fit(self.clean(X), self.clean_target(y), sample_weight=sample_weight)
        return self.attach_to(model)

    def attach_to(self, model: Any) -> Any:
        """Attach the cleaning to a model that was fitted to cleaned rows, so that it predicts raw rows."""
        if self.cleaning is not None:
            model.cleaning_ = self.cleaning
        return model

    def to_dict(self) -> list[dict[str, Any]]:
        """Return the findings, for JSON."""
        return [finding.to_dict() for finding in self.findings]

    def __iter__(self) -> Iterator[Finding]:
        return iter(self.findings)

    def __len__(self) -> int:
        return len(self.findings)

    def __repr__(self) -> str:
        if not self.findings:
            return "check-up: nothing found"
        lines: list[str] = []
        for kind in dict.fromkeys(finding.kind for finding in self.findings):
            same = [finding for finding in self.findings if finding.kind == kind]
            lines += [f"  {finding}" for finding in same[:MOST_LINES]]
            rest = [finding.column for finding in same[MOST_LINES:]]
            lines += [f"  {kind}: also {len(rest):,} more: {quote(rest, 10)}"] if rest else []
        return "\n".join(["check-up:", *lines])


def check_up(
    X: Any, y: Any = None, *, keep: Collection[str] = (), task: str = "auto", time_limit: float | None = None
) -> CheckUp:
    """Find columns that harm a model, and fit the cleaning of them.

    Parameters
    ----------
    X : dataframe, array or sparse matrix
        Only training rows: otherwise information about other rows would leak into the model. Columns of an array can
        only be dropped; for a sparse matrix, only the target is checked.
    y : array-like, optional
        Class labels, or numbers to predict.
    keep : collection of str
        Columns that are not changed (for an array, their positions as strings).
    task : {"auto", "classification", "regression"}
        With "auto", float targets, and integer targets with more than 20 distinct values, are treated as regression.
    time_limit : float, optional
        Seconds after which no further columns are searched for leaks, which takes most of the time of a wide table.

    Returns
    -------
    CheckUp
        The findings, and the cleaning.

    See Also
    --------
    compare : Does the check-up first, on the rows that are not held out.

    Notes
    -----
    Identifiers and free text are dropped, dates are replaced by their parts, numbers stored as text are converted,
    and spellings that differ only by case or spaces are merged. Everything else is only reported: suspected leaks,
    constants, near duplicates, rare classes, imbalance, repeated rows, the order of time. docs/check_up.md has the
    rules.

    Examples
    --------
    >>> import electorate, pandas
    >>> X = pandas.DataFrame({"price": ["$1,200", "$900", "?"] * 10, "size": range(0, 300, 10)})
    >>> found = electorate.check_up(X, [0, 1, 1] * 10)
    >>> print(found.findings[0])
    number as text 'price': numbers as text, such as '$1,200', '$900', and '?'; read as numbers; '?' as missing
    >>> model = found.fit(electorate.AdaBoostClassifier(n_estimators=5), X, [0, 1, 1] * 10)
    >>> model.predict(pandas.DataFrame({"price": ["$1,150"], "size": [15]}))
    array([0])
    """
    refuse_lazy_for("check_up", X)
    seconds = math.inf if time_limit is None else time_limit
    X = np.asarray(X) if isinstance(X, list | tuple) else X
    columns, names, n_rows = read_columns(X)
    target, target_step = _check_target(y, task)
    every_name = {column.name for column in columns}
    found = {column.place: one for column in columns if (one := _check_column(column, every_name, n_rows, keep))}
    clean = [_after(column, found.get(column.place)) for column in columns]
    findings = [] if target_step is None else [target_step.finding]
    if target is not None:
        codes, classes, counts = _encode(target, task)
        findings += find_class_sizes(classes, counts) if classes else []
        leaks = {one.column: one for one in find_leaks(clean, codes, classes, seconds)}
        for column in columns:  # a suspected leak is never left out
            one = found.get(column.place)
            if column.name in leaks and one is not None and isinstance(one.step, Drop):
                del found[column.place]
        findings += leaks.values()
    if columns and all(isinstance(_step_of(found, column), Drop) for column in columns):
        found = {place: FoundStep(replace(one.finding, done=ONLY)) for place, one in found.items()}
    findings += [one.finding for _, one in sorted(found.items())]
    kinds = {place: one.finding.kind for place, one in found.items()}
    used = [one for one in clean if _step_of(found, one) is None and kinds.get(one.place) != "constant"]
    findings += find_near_duplicates(used, n_rows)
    steps: dict[int, Step] = {place: one.step for place, one in found.items() if one.step is not None}
    step = None if target_step is None else target_step.step
    cleaning = Cleaning(names, steps, step) if steps or step is not None else None  # type: ignore[arg-type]
    result = CheckUp(findings, cleaning)
    if columns and (cleaning is None or cleaning.n_columns):
        cleaned = result.clean(X)
        findings += find_repeated_rows(cleaned, target)
        dated = [one for one in columns if kinds.get(one.place) == "date"]
        for ordered in [one for one in dated if order_of_dates(clean[one.place].numbers)][:1]:
            days = clean[ordered.place].numbers
            hidden = "" if target is None else _hidden_by_splits(cleaned, codes, len(classes), days)
            option = f"--time-column {shlex.quote(literal(ordered.name))} (time_column={ordered.name!r} in Python)"
            done = f"if later rows are to be predicted, add {option}"
            findings.insert(0, Finding(TIME_ORDER, ordered.name, order_of_dates(days) + hidden, done))
    return result


def _hidden_by_splits(X: Any, y: Floats, n_classes: int, days: Floats) -> str:
    """What a quick model loses on rows drawn from all times, and what on the latest ones, if it loses more there."""
    columns = read_columns(X)[0]
    order = np.argsort(days, kind="stable")
    order = order[evenly_spaced(len(order), min(MOST_TRIED, MOST_CELLS // len(columns)))]
    if len(order) < FEWEST_TRIED:
        return ""
    matrix, target = np.stack([column.numbers[order] for column in columns], axis=1), y[order]
    matrix[np.isinf(matrix)] = np.nan
    some: dict[str, Any] = {"n_estimators": 100, "learning_rate": 0.1, "n_jobs": 1}
    model: Any = QuadBoostRegressor(RegressionTrees(6, min_samples_leaf=3, max_features=1 / 3), **some)
    if n_classes:
        model = LogisticAdaBoostClassifier(Trees(6, min_samples_leaf=10, max_features="sqrt", leaves="gentle"), **some)
    lost = []
    for test in (np.random.default_rng(0).permutation(len(order)), np.arange(len(order))):
        late = test >= len(order) - len(order) // 5
        if n_classes and len(np.unique(target[~late])) < 2:
            return ""
        predicted = model.fit(matrix[~late], target[~late]).predict(matrix[late])
        lost.append(float(np.mean(predicted != target[late] if n_classes else np.abs(predicted - target[late]))))
    random, latest = (f"{100 * value:.1f}%" if n_classes else f"{value:.3g}" for value in lost)
    loses = "is wrong for" if n_classes else "is off by"
    return f"; a quick model {loses} {random} on a random fifth of the rows, and {latest} on the latest fifth"


def _check_column(column: CheckedColumn, names: set[str], n_rows: int, keep: Collection[str]) -> FoundStep | None:
    """The first finding about a column."""
    if column.name in keep or column.kind == "other":
        return None
    found = find_constant(column) or find_dates(column, names) or find_numbers(column)
    if found is not None and found.finding.kind != "number as text":
        return found
    return find_identifiers(_after(column, found), n_rows) or found or find_spellings(column)


def _after(column: CheckedColumn, found: FoundStep | None) -> CheckedColumn:
    """The column as the step leaves it; of a date, its days. Other columns stay."""
    step = None if found is None else found.step
    return column.cleaned_by(step) if isinstance(step, ReadNumbers | ReadDates) else column


def _step_of(found: dict[int, FoundStep], column: CheckedColumn) -> Step | None:
    return found[column.place].step if column.place in found else None


def _check_target(y: Any, task: str) -> tuple[AnyArray | None, FoundStep | None]:
    """The target, cleaned, and the step that does it."""
    if y is None:
        return None, None
    target = np.asarray(to_array(y))
    if target.ndim != 1:
        return None, None  # the estimators raise
    found = find_target_step(target, task)
    if found is not None and found.step is not None:
        target = Cleaning(0, {}, found.step).transform_target(target)  # type: ignore[arg-type]
    is_usable = task != "regression" or target.dtype.kind in "iufb"
    return target if is_usable else None, found


def _encode(target: AnyArray, task: str) -> tuple[Floats, list[Any], Ints]:
    """The target as numbers; the classes and their sizes, none for regression."""
    if (guess_task(target) if task == "auto" else task) == "regression":
        return target.astype(np.float64), [], np.empty(0, dtype=np.int64)
    texts = target.astype(str) if target.dtype == object else target
    classes, codes, counts = np.unique(texts, return_inverse=True, return_counts=True)
    return codes.astype(np.float64), classes.tolist(), counts
