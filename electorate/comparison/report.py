"""Formats a comparison as text and as CSV: the ranked table, its meaning, and what was not run.

Names come from the package or the user and are escaped.
"""

import csv
import io
import math
from typing import Any

from electorate.comparison.algorithms import Setting
from electorate.comparison.cells import Cell, Protocol
from electorate.comparison.ranking import Line, Ranking
from electorate.escape import cell as safe
from electorate.escape import literal

COLUMNS = (
    "rank",
    "algorithm",
    "error",
    "standard_error",
    "log_loss",
    "size",
    "fit_seconds",
    "predict_ms_per_1000",
    "held_out_bound",
    "chance_of_best",
    "difference_to_first",
    "settings_run",
    "setting",
)


def columns(ranking: Ranking, bounds: dict[str, float]) -> dict[str, list[Any]]:
    """The table by columns; one without a number is NaN."""
    rows = [_row(place, line, bounds) for place, line in enumerate(ranking.lines, 1)]
    return {name: [row[i] for row in rows] for i, name in enumerate(COLUMNS)}


def _row(place: int, line: Line, bounds: dict[str, float]) -> tuple[Any, ...]:
    return (
        place,
        line.algorithm.name,
        line.error,
        line.standard_error,
        line.log_loss,
        line.size,
        line.fit_seconds,
        1000 * line.predict_seconds,
        bounds.get(line.algorithm.name, float("nan")),
        line.chance_of_best,
        "first" if place == 1 else line.verdict,
        line.settings_run,
        describe(line.algorithm.grid[line.setting]),
    )


def describe(setting: Setting) -> str:
    return " ".join(f"{name}={value}" for name, value in setting.items())


def as_csv(table: dict[str, list[Any]]) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([safe(name) for name in table])
    for row in zip(*table.values(), strict=True):
        writer.writerow(["" if isinstance(v, float) and math.isnan(v) else _exact(v) for v in row])
    return out.getvalue()


def _exact(value: Any) -> str:
    return repr(value) if isinstance(value, float) else safe(value)


# ---------------------------------------------------------------- for people

HEADS = ("", "algorithm", "error", "", "log loss", "size", "fit s", "pred ms/1000", "bound", "P(best)", "vs first")


def as_text(ranking: Ranking, bounds: dict[str, float], quantity: bool) -> str:
    """The table, aligned: a row per algorithm, the best first; without columns that say nothing."""
    rows = [_shown(place, line, bounds) for place, line in enumerate(ranking.lines, 1)]
    heads = ["abs. error" if quantity and head == "error" else head for head in HEADS]
    told = [i for i in range(len(heads)) if any(row[i] for row in rows)]
    lines = [[line[i] for i in told] for line in [heads, *rows]]
    return align(lines, {told.index(1), len(told) - 1})


def align(rows: list[list[str]], left: set[int]) -> str:
    """Lines of cells in columns, to the right but for those named."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(_aligned(row, widths, left) for row in rows)


def _aligned(row: list[str], widths: list[int], left: set[int]) -> str:
    parts = (text.ljust(w) if i in left else text.rjust(w) for i, (text, w) in enumerate(zip(row, widths, strict=True)))
    return "  ".join(parts).rstrip()


def _shown(place: int, line: Line, bounds: dict[str, float]) -> list[str]:
    bound = bounds.get(line.algorithm.name)
    return [
        str(place),
        literal(line.algorithm.name, 40),
        f"{line.error:.4f}",
        f"± {line.standard_error:.4f}",
        "" if math.isnan(line.log_loss) else f"{line.log_loss:.3f}",
        f"{line.size:.0f}",
        f"{line.fit_seconds:.2f}",
        f"{1000 * line.predict_seconds:.2f}",
        "" if bound is None else f"{bound:.4f}",
        f"{line.chance_of_best:.2f}",
        "" if place == 1 else line.verdict,
    ]


def missing(ranking: Ranking, protocol: Protocol) -> list[str]:
    """What was not run, a line per algorithm; what failed, a line per algorithm and setting."""
    lines = [f"not run: {text}" for text in _grouped(ranking.not_run, protocol)]
    first = {(cell.algorithm, cell.setting): why for cell, why in reversed(list(ranking.failed.items()))}
    for (a, s), why in sorted(first.items()):
        lines.append(f"failed: {_named(a, s, protocol)}: {literal(why)}")
    return lines


def unranked(ranking: Ranking, protocol: Protocol) -> list[str]:
    """The algorithms without a place in the table, and why."""
    late = {protocol.algorithms[cell.algorithm].name for cell in ranking.not_run}
    groups: dict[str, list[str]] = {"ran out of time": [], "failed": []}
    for algorithm in ranking.left_out:
        groups["ran out of time" if algorithm.name in late else "failed"].append(literal(algorithm.name))
    return [f"not ranked ({why}): {'; '.join(names)}" for why, names in groups.items() if names]


def _grouped(cells: list[Cell], protocol: Protocol) -> list[str]:
    folds: dict[int, dict[int, list[int]]] = {}
    for cell in sorted(cells, key=lambda cell: (cell.algorithm, cell.setting)):
        folds.setdefault(cell.algorithm, {}).setdefault(cell.setting, []).append(cell.fold + 1)
    return [literal(protocol.algorithms[a].name) + _left(a, by, protocol) for a, by in folds.items()]


def _left(a: int, by: dict[int, list[int]], protocol: Protocol) -> str:
    """What is left of one algorithm; by: the folds of each setting."""
    grid = protocol.algorithms[a].grid
    if len(by) == len(grid) and all(len(folds) == protocol.n_folds for folds in by.values()):
        return ""
    whole = protocol.n_folds
    parts = (describe(grid[s]) + ("" if len(folds) == whole else f" in {_some(folds)}") for s, folds in by.items())
    return ": " + "; ".join(parts)


def _some(folds: list[int]) -> str:
    return f"fold{'s' if len(folds) > 1 else ''} {_list(folds)}"


def _named(a: int, s: int, protocol: Protocol) -> str:
    algorithm = protocol.algorithms[a]
    return f"{literal(algorithm.name)} ({describe(algorithm.grid[s])})"


def _list(numbers: list[int]) -> str:
    return ", ".join(map(str, numbers))


def meaning(ranking: Ranking, base: float, held_out: dict[str, Any], quantity: bool) -> list[str]:
    """The table in words. base: the error of the baseline; held_out: the winner's result on the test rows."""
    usual, error = ("median", "absolute error") if quantity else ("majority class", "error")
    lines = [f"baseline ({usual}): {error} {base:.4f}", *lead(ranking)]
    name = literal(ranking.lines[0].algorithm.name, 40)
    if held_out.get("bound") is not None:
        lines.append(
            f"{name}, trained without the {held_out['rows']:,} test rows, misclassifies {held_out['errors']:,} of "
            f"them: with {held_out['confidence']:.0%} confidence its error is at most {held_out['bound']:.4f}"
        )
    elif "error" in held_out:
        lines.append(
            f"{name}, trained without the {held_out['rows']:,} test rows, has the error {held_out['error']:.4f} on "
            f"them; {held_out['why']}"
        )
    return lines


def lead(ranking: Ranking) -> list[str]:
    """What "real" and "tie" mean, and what follows for the first."""
    first, *rest = ranking.lines
    if not rest:
        return []
    name, ties = literal(first.algorithm.name, 40), [line for line in rest if line.verdict == "tie"]
    lines = [
        f'vs first: "real" = worse beyond chance (95% confidence over all {len(ranking.lines)} algorithms, '
        'retraining included); "tie" = no difference proven'
    ]
    if not ties:
        return [*lines, f"the lead of {name} over every other algorithm is real"]
    if len(ties) == len(rest) > 1:
        return [*lines, f"tied with {name}: all others; choose by size, speed or log loss"]
    shown = "; ".join(literal(line.algorithm.name, 40) for line in ties)
    return [*lines, f"tied with {name}: {shown}"]
