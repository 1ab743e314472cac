"""Formats a comparison as columns, text and CSV: the ranked table, its meaning, and what was not run.

Names come from the package or the user and are escaped.
"""

import csv
import io
import math
from importlib import import_module
from typing import Any

from electorate.comparison.algorithms import Setting
from electorate.comparison.cells import Protocol
from electorate.comparison.ranking import Ranking
from electorate.escape import cell as safe
from electorate.escape import literal

Table = dict[str, list[Any]]
COLUMNS = {  # name: head and format in the printed table, or None if it is left out there
    "rank": ("", "{}"),
    "algorithm": ("algorithm", "{}"),
    "error": ("error", "{:.4f}"),
    "standard_error": ("", "± {:.4f}"),
    "log_loss": ("log loss", "{:.3f}"),
    "size": ("size", "{:.0f}"),
    "fit_seconds": ("fit s", "{:.2f}"),
    "predict_ms_per_1000": ("pred ms/1000", "{:.2f}"),
    "held_out_bound": ("bound", "{:.4f}"),
    "chance_of_best": ("P(best)", "{:.2f}"),
    "difference_to_first": ("vs first", "{}"),
    "settings_run": None,
    "setting": None,
}


def columns(ranking: Ranking, bounds: dict[str, float]) -> Table:
    """The table by columns; NaN where there is no number."""
    rows = []
    for place, line in enumerate(ranking.lines, 1):
        more = {
            "rank": place,
            "algorithm": line.algorithm.name,
            "predict_ms_per_1000": 1000 * line.predict_seconds,
            "held_out_bound": bounds.get(line.algorithm.name, float("nan")),
            "difference_to_first": "first" if place == 1 else line.verdict,
            "setting": describe(line.algorithm.grid[line.setting]),
        }
        rows.append(vars(line) | more)
    return {name: [row[name] for row in rows] for name in COLUMNS}


def describe(setting: Setting) -> str:
    return " ".join(f"{name}={value}" for name, value in setting.items())


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


def as_text(ranking: Ranking, bounds: dict[str, float], is_regression: bool) -> str:
    """The table, aligned, the best first; columns without a value are left out."""
    table = columns(ranking, bounds)
    table["difference_to_first"][0] = ""
    heads = COLUMNS | ({"error": ("abs. error", "{:.4f}")} if is_regression else {})
    cells = [[form[0], *(_text(value, form[1]) for value in table[name])] for name, form in heads.items() if form]
    lines = [line for line in cells if any(line[1:])]
    return align([list(row) for row in zip(*lines, strict=True)], {1, len(lines) - 1})


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
        parts.append(describe(grid[s]) + ("" if len(folds) == whole else some))
    return ": " + "; ".join(parts)


def meaning(ranking: Ranking, base: float, held_out: dict[str, Any], is_regression: bool) -> list[str]:
    """The table in words. base: the error of the baseline; held_out: the winner's result on the test rows."""
    usual, error = ("median", "absolute error") if is_regression else ("majority class", "error")
    lines = [f"baseline ({usual}): {error} {base:.4f}"]
    first, *rest = ranking.lines
    name = literal(first.algorithm.name, 40)
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
    if "error" in held_out:
        result = f"has the error {held_out['error']:.4f} on them; {held_out.get('why')}"
        if held_out["bound"] is not None:
            bound = f"with {held_out['confidence']:.0%} confidence its error is at most {held_out['bound']:.4f}"
            result = f"misclassifies {held_out['errors']:,} of them: {bound}"
        lines.append(f"{name}, trained without the {held_out['rows']:,} test rows, {result}")
    return lines
