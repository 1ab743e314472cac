"""The result of `compare` as one HTML file: the ranking, and the best model of this package on the test rows."""

import os
import time
from typing import Any

import numpy as np

from electorate.data.cleaning import without_cleaning
from electorate.data.row_subset import some_rows, take_rows
from electorate.data.split import hash_rows
from electorate.report import charts
from electorate.report.model_report import MOST_SHUFFLED, add_code, how_section, model_sections, training_sections
from electorate.report.page import ReportSection, code, grid, render, text
from electorate.text import write_text

SLACK, MOST_SECONDS = 1.0, 300.0  # after a time limit; without one
SECONDS_OF_A_COLUMN = 1e-3  # to describe it
NO_TIME = "There was no time to describe the columns: <code>electorate report</code> does so for any model and table."
INTERVALS = "Violet: worse than the first beyond chance; blue: a tie."


def comparison_report(
    comparison: Any, path: str | os.PathLike[str], *, title: str = "Comparison", command: str = ""
) -> str:
    """Write the report of a comparison, and return it.

    With test rows it shows the model that was trained without them, on them. Without, what needs no unseen rows.
    """
    sections = [_answer(comparison), _ranking(comparison)]
    test, model = comparison.refits.parts[1], comparison.model_without_test_rows
    is_tested = model is not None and len(test) > 0
    model = model if is_tested else comparison.model
    if not (is_tested or hasattr(model, "digest_")):
        sections.append(_repeat_section(command))
    elif not _has_time(comparison, _shown(comparison, model)[1]):
        sections.append(_repeat_section(command))
        sections[-1].body.insert(0, f"<p>{NO_TIME}</p>")
    elif is_tested:
        sections += _model_sections(comparison, model, command)
    else:
        sections += _training_sections(comparison, command)
    page = render(title, f"<p class='soft'>{text(comparison.head)}</p>", sections)
    write_text(path, page)
    return page


def _has_time(comparison: Any, model: Any) -> bool:
    """Return whether the model can be described in the time that is left. Each column it uses is shuffled twice."""
    if not hasattr(model, "feature_importances_"):
        return True
    few = some_rows(comparison.refits.X, comparison.refits.y, MOST_SHUFFLED)[0]
    started = time.perf_counter()
    model.predict(few)
    passes = 4 * int(np.count_nonzero(model.feature_importances_))
    seconds = passes * (time.perf_counter() - started) + SECONDS_OF_A_COLUMN * model.n_features_in_
    return bool(seconds < min(MOST_SECONDS, comparison.limits.left + SLACK))


def _model_sections(comparison: Any, model: Any, command: str) -> list[ReportSection]:
    """Return the sections about the model without the test rows, on them."""
    name, bare = _shown(comparison, model)
    (X, y), test = (comparison.refits.X, comparison.refits.y), comparison.refits.parts[1]
    parts = model_sections(bare, take_rows(X, test), y[test], profiled=X)
    n_test = comparison.refits.n_test
    sampled = "" if len(test) == n_test else f"{len(test):,} of "
    note = f"{name}, trained without the test rows, on {sampled}the {n_test:,} test rows."
    parts[0].body.insert(0, f"<p>{text(note)}</p>")
    warnings = [*_duplicates(comparison, bare), *_checked(comparison)]
    parts[-1].body[:0] = [f"<p class='warn'>{text(warning)}</p>" for warning in warnings]
    return [*parts, how_section(model, len(test), command)]


def _training_sections(comparison: Any, command: str) -> list[ReportSection]:
    """Return the sections that need no unseen rows: columns, rules and the data."""
    name, bare = _shown(comparison, comparison.model)
    X, y = comparison.refits.X, comparison.refits.y
    parts = training_sections(bare, X, y)
    note = f"{name}, trained on all rows: no rows were held out, so that its errors are shown in the ranking only."
    parts[0].body.insert(0, f"<p>{text(note)}</p>")
    warnings = [*_duplicates(comparison, bare), *_checked(comparison)]
    parts[-1].body[:0] = [f"<p class='warn'>{text(warning)}</p>" for warning in warnings]
    return [*parts, how_section(comparison.model, len(y), command)]


def _shown(comparison: Any, model: Any) -> tuple[str, Any]:
    """Return the name and the model that the sections are about: of a stack, the one of the largest weight."""
    name, bare = comparison.winner, without_cleaning(model)
    if hasattr(bare, "weights_"):
        heaviest = int(np.argmax(bare.weights_))
        name, bare = f"{name}: {bare.names_[heaviest]}, its model of the largest weight", bare.estimators_[heaviest]
    return name, bare


def _checked(comparison: Any) -> list[str]:
    return [f"Check-up before training: {one}." for one in comparison.check_up]


def _answer(comparison: Any) -> ReportSection:
    """Return the answer in words."""
    section = ReportSection("answer", "Answer")
    for line in comparison.answer:
        section.add(f"<p>{text(line.strip())}</p>")
    if comparison.certified is not None:
        section.add(f"<p>{text(comparison.certified.sentence)}</p>")
    return section


def _ranking(comparison: Any) -> ReportSection:
    section, columns, metric = ReportSection("ranking", "Ranking"), comparison.columns, comparison.plan.metric
    if hasattr(comparison.model, "get_params"):
        section.add(code(comparison.code.replace("; ", "\n", 1)))
    is_baseline = np.array([one is comparison.ranking.baseline for one in comparison.ranking.lines])
    middle, low, high = (np.array(columns[name], dtype=np.float64) for name in (metric.name, "low", "high"))
    drawn = np.flatnonzero(~is_baseline) if not is_baseline.all() else np.arange(len(middle))
    ends = low[drawn], middle[drawn], high[drawn]
    names, verdicts = ([columns[name][k] for k in drawn] for name in ("algorithm", "verdict"))
    base = float(middle[is_baseline][0]) if is_baseline.any() else None
    is_tied = [one != "worse" for one in verdicts]
    chart = charts.intervals("Algorithms", names, ends, is_tied, metric.head, _near(base, ends))
    baseline = "" if base is None else f" Baseline: {base:.4f}."
    section.chart(f"Cross-validated {metric.head}, with 95% intervals. {INTERVALS}{baseline}", chart)
    notes = [f"<p>{text(line[:1].upper() + line[1:])}.</p>" for line in comparison.notes]
    section.below = "".join([_printed(comparison.printed, columns["setting"]), *notes])
    return section


def _printed(rows: list[list[str]], settings: list[str]) -> str:
    """Return the table as `compare` prints it, with the settings that were chosen."""
    heads, *lines = rows
    left = {1, len(heads) - 1, len(heads)}
    kinds = [" class='text'" if k in left else "" for k in range(len(heads) + 1)]
    head = "".join(
        f"<th scope='col'{kind}>{text(name)}</th>" for kind, name in zip(kinds, [*heads, "setting"], strict=True)
    )
    body = []
    for line, setting in zip(lines, settings, strict=True):
        cells = (f"<td{kind}>{text(cell)}</td>" for kind, cell in zip(kinds, [*line, setting], strict=True))
        body.append(f"<tr>{''.join(cells)}</tr>")
    return grid(head, body, "wide")


def _near(baseline: float | None, ends: tuple[Any, Any, Any]) -> float | None:
    """Return the baseline, if it is so near that the intervals stay wide enough to be seen."""
    low, high = float(ends[0].min()), float(ends[2].max())
    far = baseline is None or not low - (high - low) <= baseline <= high + (high - low)
    return None if far else baseline


def _duplicates(found: Any, model: Any) -> list[str]:
    """Return how many rows were tested by a model that was trained on a copy of them."""
    if not hasattr(model, "bins_"):
        return []
    training, test = found.refits.parts
    hashes = hash_rows(model._check_rows(found.refits.X, reset=False), 0)
    n_test = int(np.isin(hashes[test], hashes[training]).sum())
    own = hashes[training]
    folds = found.schedule.splits.levels[-1]
    n_folds = sum(int(np.isin(own[tested], own[learned]).sum()) for learned, tested in folds)
    if not n_test + n_folds:
        return []
    tested = f", and {n_test:,} of the {len(test):,} test rows equal a training row" if len(test) else ""
    return [
        f"Duplicates across folds: {n_folds:,} rows equal a training row of their fold{tested} (in all columns but the "
        "target). Errors on such rows can be lower than on new rows."
    ]


def _repeat_section(command: str) -> ReportSection:
    """Return how to repeat a comparison that has no model to show."""
    section = ReportSection("how", "How it was computed")
    add_code(section, command, "import electorate\n\nfound = electorate.compare(X, y)")
    return section
