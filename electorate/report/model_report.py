"""A fitted model on labelled rows as one HTML file."""

import os
import platform
import re
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from electorate import __version__
from electorate.data.cleaning import clean_beforehand
from electorate.data.inputs import check_table
from electorate.data.row_subset import some_rows
from electorate.inspection.check_up import check_up
from electorate.inspection.importances import check_explainable, column_importances
from electorate.model.text import column_names
from electorate.registry import MODULES, import_lines
from electorate.report.page import ReportSection, code, pairs, render, table, text
from electorate.report.sections import (
    columns_section,
    errors_section,
    margins_section,
    probabilities_section,
    profile,
    rounds_section,
    rules_section,
)
from electorate.text import write_text
from electorate.training.lazy_inputs import refuse_lazy_for

MOST_ROWS = 5000  # for curves by rounds
FEWEST_SHUFFLED, MOST_SHUFFLED = 200, 1000  # for importances and partial dependence
CHECK_SECONDS = 5.0  # of the search for leaks in a wide table
MOST_VOTES = 400_000  # rows times voters; with more voters, fewer rows are used


def html_report(
    model: Any, X: Any, y: Any, *, path: str | os.PathLike[str] | None = None, title: str = "", command: str = ""
) -> str:
    """Return a report about a fitted model as one self-contained HTML page.

    The report shows errors, ROC and calibration curves, margins with a slider over rounds, learning curves and proven
    bounds by rounds, importances, shape functions, rules, a profile of the table with warnings, and how to repeat it.
    The page loads nothing, and its Content-Security-Policy allows only its own script.

    Parameters
    ----------
    model : fitted estimator of electorate
    X : array-like, sparse matrix or dataframe
        Rows, preferably rows that were not used for training.
    y : array-like
        Their labels or targets.
    path : path, optional
        Where to write the page.
    title : str, optional
        The heading; by default the name of the class.
    command : str, optional
        The command that repeats the report. The page shows it.

    Returns
    -------
    str
        The page.

    See Also
    --------
    explain : The same as text, and for one row.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from electorate import AdaBoostClassifier
    >>> from electorate.report import html_report
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> page = html_report(AdaBoostClassifier(n_estimators=10).fit(X[::2], y[::2]), X[1::2], y[1::2])
    >>> page.startswith("<!DOCTYPE html>")
    True
    """
    refuse_lazy_for("html_report", X)
    model = getattr(model, "best_estimator_", model)
    check_is_fitted(model)
    check_explainable(model, "html_report")
    bare, X, y = clean_beforehand(model, X, y)
    y = np.asarray(y)
    if hasattr(model, "classes_"):
        unknown = sorted(set(y.tolist()) - set(model.classes_.tolist()), key=str)
        if unknown:
            raise ValueError(f"y contains the label {unknown[0]!r}, which is not one of the classes of the model")
    name = title or type(model).__name__
    lead = f"<p class='soft'>{text(type(model).__name__)}, {len(y):,} rows, {model.n_features_in_:,} columns.</p>"
    sections = model_sections(bare, X, y)
    _add_findings(sections[-1], X, y, "classification" if hasattr(model, "classes_") else "regression")
    page = render(name, lead, [*sections, how_section(model, len(y), command)])
    if path is not None:
        write_text(path, page)
    return page


def model_sections(model: Any, X: Any, y: Any, profiled: Any = None) -> list[ReportSection]:
    """Return the sections about a model on some rows. profiled: the rows of the profile, if they differ."""
    some_X, some_y = some_rows(X, y, MOST_ROWS)
    n_voters = max(1, len(getattr(model, "steps_", ())))
    few_X, few_y = some_rows(X, y, int(np.clip(MOST_VOTES // n_voters, FEWEST_SHUFFLED, MOST_SHUFFLED)))
    importances = column_importances(model, few_X, few_y, repeats=2)
    return [
        errors_section(model, X, y),
        probabilities_section(model, X, y),
        margins_section(model, some_X, some_y),
        rounds_section(model, some_X, some_y),
        columns_section(model, few_X, importances),
        rules_section(model),
        _data_section(model, X if profiled is None else profiled),
    ]


def training_sections(model: Any, X: Any, y: Any) -> list[ReportSection]:
    """Return the sections about a model that say nothing about its errors, on its training rows."""
    n_voters = max(1, len(getattr(model, "steps_", ())))
    few_X, few_y = some_rows(X, y, int(np.clip(MOST_VOTES // n_voters, FEWEST_SHUFFLED, MOST_SHUFFLED)))
    importances = column_importances(model, few_X, few_y, repeats=2)
    return [columns_section(model, few_X, importances), rules_section(model), _data_section(model, X)]


def _data_section(model: Any, X: Any) -> ReportSection:
    section = ReportSection("data", "Data")
    if not hasattr(model, "bins_"):
        return section
    found = profile(check_table(model, X, reset=False), column_names(model), model.bins_.categories.__contains__)
    rows = [(one.name, one.kind, f"{one.missing:.1%}", one.distinct, one.summary) for one in found]
    section.add(table(["column", "kind", "missing", "distinct", "values"], rows))
    return section


def _add_findings(section: ReportSection, X: Any, y: Any, task: str) -> None:
    """Add what the check-up finds in these rows; nothing is cleaned here."""
    for finding in check_up(X, y, task=task, time_limit=CHECK_SECONDS):
        where = "" if finding.column is None else f" {finding.column!r}"
        section.add(f"<p class='warn'>{text(f'{finding.kind}{where}: {finding.seen}')}</p>")


def how_section(model: Any, n_rows: int, command: str) -> ReportSection:
    """Return how it was computed, and how to repeat it."""
    section = ReportSection("how", "How it was computed")
    entries: list[tuple[str, object]] = [("model", " ".join(repr(model).split())), ("rows", f"{n_rows:,}")]
    for name, attribute in (("digest", "digest_"), ("training stopped", "stop_reason_")):
        if hasattr(model, attribute):
            entries.append((name, getattr(model, attribute)))
    entries += [
        ("curves by rounds", f"computed from at most {MOST_ROWS:,} rows (every k-th row)"),
        ("importances", f"computed from at most {MOST_SHUFFLED:,} rows; each column was shuffled twice"),
        ("versions", f"electorate {__version__}, Python {platform.python_version()}, NumPy {np.__version__}"),
    ]
    section.add(pairs(entries))
    add_code(section, command, _python_code(model))
    return section


def add_code(section: ReportSection, command: str, python: str) -> None:
    """Add the command, if there is one, and the Python code that repeat the work."""
    if command:
        section.add("<p>The command that repeats it:</p>" + code(command))
    section.add("<p>In Python:</p>" + code(python))


def _python_code(model: Any) -> str:
    """Return code that fits a model like this one and writes its report."""
    made = repr(model)
    used = {name for name in re.findall(r"\b[A-Z]\w+", made) if name in MODULES}
    cleans = getattr(model, "cleaning_", None) is not None
    own = type(model).__name__
    imports = import_lines({own, *used, "html_report", *(["check_up"] if cleans else [])})
    if own not in MODULES:
        imports.append(f"from {type(model).__module__} import {own}")
    fitted = f"check_up(X_train, y_train).fit({made}, X_train, y_train)" if cleans else f"{made}.fit(X_train, y_train)"
    lines = "\n".join(imports)
    return f"""{lines}

model = {fitted}
html_report(model, X, y, path="report.html")"""
