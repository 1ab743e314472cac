"""The result of `compare` as one HTML file: the ranking, and the best model of this package on the test rows."""

import os
from typing import Any

import numpy as np

from electorate.data.row_subset import take_rows
from electorate.report import charts
from electorate.report.html_report import how_section, model_sections
from electorate.report.page import Section, render, table, text
from electorate.safe_write import write_text

Z95 = 1.959964  # of the normal distribution
INTERVALS = "Violet: worse than the first beyond chance; blue: a tie."


def comparison_report(found: Any, path: str | os.PathLike[str], *, title: str = "Comparison", command: str = "") -> str:
    """Write the report of a finished comparison, and return it."""
    sections = [_ranking(found)]
    if found.best_of_ours is not None and len(found.refits.parts[1]):
        model, (X, y, test) = (
            found.models[found.best_of_ours][0],
            (found.refits.X, found.refits.y, found.refits.parts[1]),
        )
        parts = model_sections(model, take_rows(X, test), y[test], profiled=(X, y))
        n_test = found.refits.n_test
        sampled = "" if len(test) == n_test else f"{len(test):,} of "
        note = f"{found.best_of_ours}, trained without the test rows, on {sampled}the {n_test:,} test rows."
        parts[0].body.insert(0, f"<p>{text(note)}</p>")
        sections += [*parts, how_section(model, len(test), command)]
    page = render(title, f"<p class='soft'>{text(found.head)}</p>", sections)
    write_text(path, page)
    return page


def _ranking(found: Any) -> Section:
    section, columns, metric = Section("ranking", "Ranking"), found.columns, found.protocol.metric
    section.add("".join(f"<p>{text(line)}</p>" for line in [*found.meaning, *found.notes]))
    is_baseline = np.array([bool(line.algorithm.baseline) for line in found.ranking.lines])
    middle = np.array(columns[metric.name], dtype=np.float64)
    reach = Z95 * np.nan_to_num(np.array(columns["standard_error"], dtype=np.float64))
    shown = np.flatnonzero(~is_baseline) if not is_baseline.all() else np.arange(len(middle))
    ends = ((middle - reach)[shown], middle[shown], (middle + reach)[shown])
    names, tied = ([columns[name][k] for k in shown] for name in ("algorithm", "difference_to_first"))
    base = float(middle[is_baseline][0]) if is_baseline.any() else None
    chart = charts.intervals("Algorithms", names, ends, [one != "real" for one in tied], metric.head, _near(base, ends))
    baseline = "" if base is None else f" Baseline: {base:.4f}."
    section.chart(f"{metric.head} in cross-validation, with 95% intervals. {INTERVALS}{baseline}", chart)
    rest = [name for name in columns if name not in ("rank", "algorithm")]
    heads = ["algorithm", *(name.replace("_", " ") for name in rest)]
    section.below = table(heads, list(zip(columns["algorithm"], *(columns[name] for name in rest), strict=True)))
    return section


def _near(baseline: float | None, ends: tuple[Any, Any, Any]) -> float | None:
    """Return the baseline, if it is so near that the intervals stay wide enough to be seen."""
    low, high = float(ends[0].min()), float(ends[2].max())
    far = baseline is None or not low - (high - low) <= baseline <= high + (high - low)
    return None if far else baseline
