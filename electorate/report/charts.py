"""Charts as plain numbers, for the script of the report: one function per kind."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from electorate.exact import Ints
from electorate.report.page import Chart, rounded

MOST_POINTS = 160  # of a line


def axis(label: str, low: float | None = None, high: float | None = None) -> dict[str, Any]:
    limits = {"min": low, "max": high}
    return {"label": label} | {name: rounded(float(value)) for name, value in limits.items() if value is not None}


def line(name: str, x: Any, y: Any, *, dash: bool = False, step: bool = False, points: bool = False) -> dict[str, Any]:
    """A series; long ones are thinned to equally spaced places, with both ends."""
    xs, ys = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if len(xs) > MOST_POINTS:
        places = np.unique(np.linspace(0, len(xs) - 1, MOST_POINTS).round().astype(np.int64))
        xs, ys = xs[places], ys[places]
    found: dict[str, Any] = {"name": name, "x": rounded(xs), "y": rounded(ys)}
    return found | {key: True for key, wanted in (("dash", dash), ("step", step), ("points", points)) if wanted}


def lines(title: str, x: dict[str, Any], y: dict[str, Any], series: Sequence[Any], *, diagonal: bool = False) -> Chart:
    return {"kind": "lines", "title": title, "x": x, "y": y, "series": list(series), "diagonal": diagonal}


def bars(title: str, names: Sequence[str], values: Any, label: str) -> Chart:
    return {"kind": "bars", "title": title, "names": list(names), "values": rounded(values), "label": label}


def dots(
    title: str, x: dict[str, Any], y: dict[str, Any], xs: Any, ys: Any, *, diagonal: bool = False, zero: bool = False
) -> Chart:
    points = {"xs": rounded(xs), "ys": rounded(ys), "diagonal": diagonal, "zero": zero}
    return {"kind": "dots", "title": title, "x": x, "y": y} | points


def choice(title: str, label: str, options: Sequence[tuple[str, Chart]]) -> Chart:
    """One of several charts, to be chosen by name; the only one if there is one."""
    if len(options) == 1:
        return options[0][1] | {"title": title}
    return {"kind": "choice", "title": title, "label": label, "options": [{"name": n, "chart": c} for n, c in options]}


def stages(
    title: str, x: dict[str, Any], y: dict[str, Any], rounds: Sequence[int], xs: Any, series: Sequence[Any]
) -> Chart:
    """A chart with a slider over rounds. series: names, whether dashed, and [round, x] of the values."""
    found = [{"name": name, "dash": dash, "ys": rounded(ys)} for name, dash, ys in series]
    slider = {"slider": "Round", "rounds": list(rounds), "xs": rounded(xs), "stages": found}
    return {"kind": "stages", "title": title, "x": x, "y": y} | slider


def intervals(
    title: str,
    names: Sequence[str],
    ends: tuple[Any, Any, Any],
    tied: Sequence[bool],
    label: str,
    baseline: float | None,
) -> Chart:
    """Intervals by name. ends: the lower ends, the middles and the upper ends; tied: with the first."""
    low, mid, high = (rounded(values) for values in ends)
    values = {"low": low, "mid": mid, "high": high, "baseline": rounded(baseline)}
    return {"kind": "intervals", "title": title, "names": list(names), "tied": list(tied), "label": label} | values


def some_rounds(n_rounds: int, most: int = 40) -> Ints:
    """Rounds to show: all, or about equally spaced on a scale of logarithms, with the first and the last."""
    if n_rounds <= most:
        return np.arange(1, n_rounds + 1)
    return np.unique(np.geomspace(1, n_rounds, most).round().astype(np.int64))
