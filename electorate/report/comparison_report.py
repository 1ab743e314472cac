"""The result of `compare` as one HTML file: the ranking, and the best model of this package on the test rows."""

import os
from typing import Any

import numpy as np

from electorate.data.cleaning import without_cleaning
from electorate.data.row_subset import take_rows
from electorate.data.split import hash_rows
from electorate.report import charts
from electorate.report.html_report import add_code, how_section, model_sections
from electorate.report.page import ReportSection, code, grid, render, text
from electorate.safe_write import write_text

Z95 = 1.959964  # of the normal distribution
INTERVALS = "Violet: worse than the first beyond chance; blue: a tie."
IN_PYTHON = "in Python: "


def comparison_report(found: Any, path: str | os.PathLike[str], *, title: str = "Comparison", command: str = "") -> str:
    """Write the report of a finished comparison, and return it."""
    sections = [_ranking(found)]
    if found.best_of_ours is None or not len(found.refits.parts[1]):
        sections.append(_repeat_section(command))
    else:
        model, test = found.models[found.best_of_ours][0], found.refits.parts[1]
        name, bare, (X, y) = found.best_of_ours, without_cleaning(model), (found.refits.X, found.refits.y)
        if hasattr(bare, "weights_"):  # of a stack
            heaviest = int(np.argmax(bare.weights_))
            name, bare = f"{name}: {bare.names_[heaviest]}, its model of the largest weight", bare.estimators_[heaviest]
        parts = model_sections(bare, take_rows(X, test), y[test], profiled=(X, y))
        n_test = found.refits.n_test
        sampled = "" if len(test) == n_test else f"{len(test):,} of "
        note = f"{name}, trained without the test rows, on {sampled}the {n_test:,} test rows."
        parts[0].body.insert(0, f"<p>{text(note)}</p>")
        warnings = [*_duplicates(found, bare), *(f"Check-up before training: {one}." for one in found.check_up)]
        parts[-1].body[:0] = [f"<p class='warn'>{text(warning)}</p>" for warning in warnings]
        sections += [*parts, how_section(model, len(test), command)]
    page = render(title, f"<p class='soft'>{text(found.head)}</p>", sections)
    write_text(path, page)
    return page


def _ranking(found: Any) -> ReportSection:
    section, columns, metric = ReportSection("ranking", "Ranking"), found.columns, found.protocol.metric
    for line in found.meaning:
        in_python = line.startswith(IN_PYTHON)
        section.add(code(line.removeprefix(IN_PYTHON).replace("; ", "\n", 1)) if in_python else _paragraph(line))
    is_baseline = np.array([bool(line.algorithm.baseline) for line in found.ranking.lines])
    middle = np.array(columns[metric.name], dtype=np.float64)
    reach = Z95 * np.nan_to_num(np.array(columns["standard_error"], dtype=np.float64))
    drawn = np.flatnonzero(~is_baseline) if not is_baseline.all() else np.arange(len(middle))
    ends = ((middle - reach)[drawn], middle[drawn], (middle + reach)[drawn])
    names, tied = ([columns[name][k] for k in drawn] for name in ("algorithm", "difference_to_first"))
    base = float(middle[is_baseline][0]) if is_baseline.any() else None
    chart = charts.intervals("Algorithms", names, ends, [one != "real" for one in tied], metric.head, _near(base, ends))
    baseline = "" if base is None else f" Baseline: {base:.4f}."
    section.chart(f"Cross-validated {metric.head}, with 95% intervals. {INTERVALS}{baseline}", chart)
    section.below = _printed(found.printed, columns["setting"]) + "".join(map(_paragraph, found.notes))
    return section


def _paragraph(line: str) -> str:
    return f"<p>{text(line[:1].upper() + line[1:])}.</p>"


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
    mine = hashes[training]
    folds = found.protocol.split(found.training_rows).folds
    n_folds = sum(int(np.isin(mine[tested], mine[learned]).sum()) for learned, tested in folds)
    if not n_test + n_folds:
        return []
    return [
        f"Duplicates across folds: {n_folds:,} rows equal a training row of their fold, and {n_test:,} of the "
        f"{len(test):,} test rows equal a training row (in all columns but the target). "
        "Errors on such rows can be lower than on new rows."
    ]


def _repeat_section(command: str) -> ReportSection:
    """Return how to repeat a comparison that has no model to show."""
    section = ReportSection("how", "How it was computed")
    add_code(section, command, "import electorate\n\nfound = electorate.compare(X, y)")
    return section
