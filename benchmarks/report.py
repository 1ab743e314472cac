"""What is written down: the table (RESULTS.md) and the chart (results.png) of a run."""

from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

from contenders import OURS

Row = dict[str, Any]

TIMED = ("one core", "two threads", "all cores", "two classes", "five classes")
METHOD = """\
All contenders run interleaved in one process, on the same data, with the same number of rounds and
depth 1. They are fitted to raw float64 arrays, and the time includes the validation of the input. "One core":
the process is pinned to one core with one thread; medians of 5 repeats (21 for 1,000 x 10; fewer for a
contender that has already taken a minute). "Two threads" and "all cores": medians over 7 fresh processes, with
every contender once in each. Before the timing, every contender (with our compiled kernels) is warmed up on at
most 40,000 rows. Errors are measured on held-out rows. The learning rate of the gradient boosters is 0.5, except with
default parameters: with their defaults they learn less in 100 stumps, and the time does not depend on it. Ratios
are ratios of medians. Memory is the peak of a fresh process during fit, minus its memory just before, plus the
input; default threads. The figures are valid only for an idle machine: the load average before a row should be
near 0 for the first row, and near 1 or 2 (the run itself) for later ones."""
QUICK = "**A quick run on tiny data: it shows that everything runs; its figures mean nothing.**"


def table(results: Row) -> str:
    """The whole of RESULTS.md."""
    parts = ["# Benchmarks", *([QUICK] if results["quick"] else []), METHOD, _machine(results)]
    parts += ["## Bars", _bars(results["rows"])]
    for row in results["rows"].values():
        parts += [f"## {row['title']}", *_details(row)]
    return "\n\n".join(parts) + "\n"


def chart(results: Row, path: Path) -> bool:
    """Draw a panel of bars for each timed or weighed group; False without matplotlib."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        return False
    panels = list(_panels(results["rows"]))
    height = 2.4 * -(-len(panels) // 2)
    figure = Figure(figsize=(11, max(height, 2.4)), layout="constrained")
    for k, (title, unit, values) in enumerate(panels):
        axes = figure.add_subplot(-(-len(panels) // 2), 2, k + 1)
        _draw(axes, title, unit, values)
    figure.savefig(path, dpi=110)
    return True


def _machine(results: Row) -> str:
    machine = ", ".join(str(value) for value in results["machine"].values())
    versions = ", ".join(f"{name} {version}" for name, version in results["versions"].items())
    return f"Machine: {machine}.\n\nVersions: {versions}."


def _bars(rows: dict[str, Row]) -> str:
    lines = [
        (row["title"], bar["label"], bar["bar"], _measured(bar), _met(bar["met"]))
        for row in rows.values()
        for bar in row["bars"]
    ]
    return _markdown(("what", "how", "bar", "measured", "met"), lines)


def _measured(bar: Row) -> str:
    if bar["measured"] is None:
        return "not measured"
    against = f" ({bar['against']})" if bar.get("against") else ""
    return f"{bar['measured']:.4g} {bar['unit']}{against}"


def _met(met: bool | None) -> str:
    return {True: "yes", False: "no", None: "open"}[met]


def _details(row: Row) -> list[str]:
    load = f"{row['load before']:.1f} before, {row['load after']:.1f} after"
    parts = [f"Run {row['date']}; load average of the machine {load}."]
    parts += [_times(group, row[group]) for group in TIMED if group in row]
    if "memory" in row:
        lines = [(name, f"{mib:.0f}") for name, mib in row["memory"]["MiB"].items()]
        parts += [_markdown(("contender", "peak, MiB"), lines), *_absent(row["memory"])]
    if "figures" in row:
        lines = [(name, _figure(value)) for name, value in row["figures"].items()]
        parts += [_markdown(("figure", "value (median)"), lines) if lines else "Not measured."]
    return parts


def _percent(error: float | None) -> str:
    return "" if error is None else f"{error:.2%}"


def _times(group: str, found: Row) -> str:
    lines = [
        (name, f"{median(s):.4g}", f"{min(s):.4g} to {max(s):.4g}", _percent(found["error"].get(name)))
        for name, s in sorted(found["seconds"].items(), key=lambda item: median(item[1]))
    ]
    head = (group, "median, s", "range, s", "held-out error")
    return "\n\n".join([_markdown(head, lines), *_absent(found)])


def _absent(found: Row) -> list[str]:
    return [f"Missing here: {', '.join(found['missing'])}."] if found["missing"] else []


def _figure(value: Any) -> str:
    if isinstance(value, list):
        return f"{median(value):.4g}" if value else "not measured"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _markdown(head: tuple[str, ...], lines: Sequence[tuple[str, ...]]) -> str:
    rows = [head, ("---",) * len(head), *lines]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in rows)


def _panels(rows: dict[str, Row]) -> list[tuple[str, str, dict[str, float]]]:
    panels = []
    for row in rows.values():
        for group in TIMED:
            if group in row:
                middle = {name: median(s) for name, s in row[group]["seconds"].items()}
                panels.append((f"{row['title']}\n{group}", "seconds", middle))
        if "memory" in row:
            panels.append((f"{row['title']}\ninput included", "MiB", row["memory"]["MiB"]))
    return panels


def _draw(axes: Any, title: str, unit: str, values: dict[str, float]) -> None:
    """Horizontal bars, the best on top, ours dark: told apart without colour."""
    names = sorted(values, key=lambda name: values[name], reverse=True)
    shades = ["0.15" if name == OURS else "0.72" for name in names]
    bars = axes.barh(names, [values[name] for name in names], color=shades, edgecolor="0.15")
    axes.bar_label(bars, [f"{values[name]:.3g}" for name in names], padding=3, fontsize=8)
    axes.set_title(title, fontsize=9)
    axes.set_xlabel(unit, fontsize=8)
    axes.tick_params(labelsize=8)
    axes.margins(x=0.12)
    axes.spines[["top", "right"]].set_visible(False)
