"""Formats a comparison as columns, text and CSV: the ranked table, its meaning, and what was not run.

Names come from the package or the user and are escaped.
"""

import csv
import io
import math
import re
from importlib import import_module
from typing import Any

from electorate.comparison.algorithms import Setting
from electorate.comparison.cells import Protocol
from electorate.comparison.metrics import METRICS, Metric
from electorate.comparison.ranking import Line, Ranking
from electorate.escape import cell as safe
from electorate.escape import literal
from electorate.registry import ALGORITHMS, FAMILIES

Table = dict[str, list[Any]]
PRINTED = {  # name: head and format in the printed table, besides metrics
    "rank": ("", "{}"),
    "algorithm": ("algorithm", "{}"),
    "standard_error": ("", "± {:.4f}"),
    "calibration_error": ("cal. error", "{:.3f}"),
    "size": ("size", "{:.0f}"),
    "fit_seconds": ("fit s", "{:.2f}"),
    "predict_ms_per_1000": ("pred ms/1000", "{:.2f}"),
    "held_out_bound": ("bound", "{:.4f}"),
    "chance_of_best": ("P(best)", "{:.2f}"),
    "difference_to_first": ("vs first", "{}"),
}
BESIDE = ("error", "log_loss", "mae", "rmse")  # metrics that are printed beside the one that ranks
LONGEST_CODE = 10_000  # characters


def columns(ranking: Ranking, bounds: dict[str, float], metric: Metric) -> Table:
    """The table by columns, the metric that ranks first; NaN where there is no number."""
    rows = []
    for place, line in enumerate(ranking.lines, 1):
        values = {metric.name: line.values[metric.name], "standard_error": line.standard_error} | line.values
        rows.append(
            {"rank": place, "algorithm": line.algorithm.name}
            | values
            | {name: getattr(line, name) for name in ("calibration_error", "size", "fit_seconds")}
            | {
                "predict_ms_per_1000": 1000 * line.predict_seconds,
                "held_out_bound": bounds.get(line.algorithm.name, float("nan")),
                "chance_of_best": line.chance_of_best,
                "difference_to_first": "first" if place == 1 else line.verdict,
                "settings_run": line.settings_run,
                "setting": describe_line(line),
            }
        )
    return {name: [row[name] for row in rows] for name in (rows[0] if rows else {})}


def describe(setting: Setting) -> str:
    return " ".join(f"{name}={value}" for name, value in setting.items())


def describe_line(line: Line) -> str:
    """The setting, or the models of a stack with their weights."""
    shares = sorted(line.stack, key=lambda one: -one[1])
    return " + ".join(f"{weight:.3f} {part.algorithm.name}" for part, weight in shares) or describe(line.setting)


def as_csv(table: Table) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([safe(name) for name in table])
    writer.writerows([_exact(value) for value in row] for row in zip(*table.values(), strict=True))
    return out.getvalue()


def _exact(value: Any) -> str:
    if isinstance(value, float):
        return "" if math.isnan(value) else repr(value)
    return safe(value)


def as_frame(table: Table, library: str, name: str) -> Any:
    """A dataframe of the preferred library, or else of one that is installed. name: the attribute to use instead."""
    for each in sorted(["pandas", "polars", "pyarrow"], key=lambda each: each != library):
        try:
            module = import_module(each)
        except ImportError:
            continue
        return module.table(table) if each == "pyarrow" else module.DataFrame(table)
    raise ImportError(f"no dataframe library is installed: pip install pandas, or use .{name}")


def as_text(ranking: Ranking, bounds: dict[str, float], metric: Metric) -> str:
    """The table, aligned, the best first."""
    rows = printed(ranking, bounds, metric)
    return align(rows, {1, len(rows[0]) - 1})


def printed(ranking: Ranking, bounds: dict[str, float], metric: Metric) -> list[list[str]]:
    """The heads and the rows of the printed table; columns without a value are left out."""
    table = columns(ranking, bounds, metric)
    table["difference_to_first"][0] = ""
    forms = {name: (METRICS[name].head, "{:.4f}") for name in (metric.name, *BESIDE) if name in table} | PRINTED
    cells = [
        [forms[name][0], *(_text(value, forms[name][1]) for value in table[name])] for name in table if name in forms
    ]
    lines = [line for line in cells if any(line[1:])]
    return [list(row) for row in zip(*lines, strict=True)]


def _text(value: Any, form: str) -> str:
    if isinstance(value, float) and math.isnan(value):
        return ""
    return form.format(literal(value, 40) if isinstance(value, str) else value)


def align(rows: list[list[str]], left: set[int]) -> str:
    """Cells in columns, right-aligned except for the columns `left`."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        cells = enumerate(zip(row, widths, strict=True))
        lines.append("  ".join(text.ljust(w) if i in left else text.rjust(w) for i, (text, w) in cells).rstrip())
    return "\n".join(lines)


def missing(ranking: Ranking, protocol: Protocol) -> list[str]:
    """What was not run and what failed, and the algorithms without a place in the table."""
    lines = []
    left: dict[int, dict[int, list[int]]] = {}  # folds by algorithm and setting
    for cell in sorted(ranking.not_run, key=lambda cell: (cell.algorithm, cell.setting)):
        left.setdefault(cell.algorithm, {}).setdefault(cell.setting, []).append(cell.fold + 1)
    for a, by_setting in left.items():
        lines.append(f"not run: {literal(protocol.algorithms[a].name)}" + _parts(a, by_setting, protocol))
    first = {(cell.algorithm, cell.setting): why for cell, why in reversed(list(ranking.failed.items()))}
    for (a, s), why in sorted(first.items()):
        algorithm = protocol.algorithms[a]
        lines.append(f"failed: {literal(algorithm.name)} ({describe(algorithm.grid[s])}): {literal(why)}")
    late = {protocol.algorithms[a].name for a in left}
    for why, is_late in (("ran out of time", True), ("failed", False)):
        names = [literal(a.name) for a in ranking.left_out if (a.name in late) == is_late]
        if names:
            lines.append(f"not ranked ({why}): {'; '.join(names)}")
    return lines


def _parts(a: int, by_setting: dict[int, list[int]], protocol: Protocol) -> str:
    """The settings and folds of an algorithm that were not run; nothing if none was."""
    grid, whole = protocol.algorithms[a].grid, protocol.n_folds
    if len(by_setting) == len(grid) and all(len(folds) == whole for folds in by_setting.values()):
        return ""
    parts = []
    for s, folds in by_setting.items():
        some = f" in fold{'s' if len(folds) > 1 else ''} {', '.join(map(str, folds))}"
        parts.append((describe(grid[s]) or "default setting") + ("" if len(folds) == whole else some))
    return ": " + "; ".join(parts)


def dropped(left: list[tuple[int, float]], unscreened: list[int], protocol: Protocol) -> list[str]:
    """The algorithms that were screened and not tested in the folds, and those that were not screened."""
    names = [literal(protocol.algorithms[a].name) for a in unscreened]
    late = [f"not tried (ran out of time): {'; '.join(names)}"] if names else []
    if not left:
        return late
    shown = [f"{literal(protocol.algorithms[a].name)} {protocol.metric.shown(loss):.4f}" for a, loss in left]
    rows = f"trained on up to {protocol.rungs[-1]:,} rows"
    return [f"dropped after screening ({protocol.metric.head}, {rows}): {'; '.join(shown)}", *late]


def meaning(ranking: Ranking, metric: Metric) -> list[str]:
    """The table in words."""
    first, *rest = ranking.lines
    name = literal(first.algorithm.name, 40)
    if not ranking.beats_baseline:
        return [_no_winner(ranking, metric)]
    lines = []
    ties = [literal(line.algorithm.name, 40) for line in rest if line.verdict == "tie"]
    if rest:
        confidence = f"95% confidence over all {len(ranking.lines)} algorithms, retraining included"
        lines.append(f'vs first: "real" = worse beyond chance ({confidence}); "tie" = no difference proven')
        if not ties:
            lines.append(f"the lead of {name} over every other algorithm is real")
        elif len(ties) == len(rest) > 1:
            lines.append(f"tied with {name}: all others; choose by size, speed or log loss")
        else:
            lines.append(f"tied with {name}: {'; '.join(ties)}")
    return lines


def _no_winner(ranking: Ranking, metric: Metric) -> str:
    first = ranking.lines[0]
    base = next((line for line in ranking.lines if line.algorithm.baseline), first)
    value = f"{metric.head} {base.values[metric.name]:.4f}"
    best = "" if first is base else f"; {literal(first.algorithm.name, 40)} has {first.values[metric.name]:.4f}"
    return f"NOTHING BEATS THE BASELINE beyond chance ({base.algorithm.name}: {value}{best}): there is no winner"


def tested(line: Line, held_out: dict[str, Any]) -> list[str]:
    """What is known of a model that was trained without the test rows."""
    name = literal(line.algorithm.name, 40)
    what = "error" if "error" in line.values else "mean absolute error"
    result = f"has the {what} {held_out['error']:.4f} on them; {held_out.get('why')}"
    if held_out["bound"] is not None:
        bound = f"with {held_out['confidence']:.0%} confidence its error is at most {held_out['bound']:.4f}"
        result = f"misclassifies {held_out['errors']:,} of them: {bound}"
    return [f"{name}, trained without the {held_out['rows']:,} test rows, {result}"]


def threshold(line: Line, label: Any, metric: Metric) -> list[str]:
    """How a threshold other than 0.5 improves the winner, if it does. label: the second class."""
    found = line.threshold
    if found is None or not found.helps:
        return []
    values = f"{metric.head} {metric.shown(found.loss):.4f} instead of {metric.shown(found.plain):.4f}"
    where = f"predicting {literal(str(label), 40)} where its probability is above {found.probability:.3f}"
    code = f"FixedThresholdClassifier(FrozenEstimator(model), threshold={found.probability:.3f})"
    return [f"{where} gives it the {values} (cross-validated); in Python: {code}.fit(X, y)"]


def as_code(model: Any, cleans: bool) -> str:
    """The Python code that makes an unfitted estimator like this one, and fits it. cleans: after the check-up."""
    text = " ".join(model.__repr__(N_CHAR_MAX=LONGEST_CODE).split())
    used = [name for name in (*ALGORITHMS, *FAMILIES) if re.search(rf"\b{name}\(", text)]
    names = ", ".join([*sorted({type(model).__name__, *used}), *(["check_up"] if cleans else [])])
    return f"from electorate import {names}; " + (
        f"check_up(X, y).fit({text}, X, y)" if cleans else f"{text}.fit(X, y)"
    )
