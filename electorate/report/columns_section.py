"""The section of a report about columns: importances, and shape functions or partial dependence."""

from collections.abc import Callable
from typing import Any

import numpy as np

from electorate.data.row_subset import evenly_spaced
from electorate.inspection.importances import Importances
from electorate.inspection.partial_dependence import partial_dependence
from electorate.inspection.shapes import ShapeFunction, shape_functions
from electorate.model.ensemble import Ensemble
from electorate.report import charts
from electorate.report.median_dependence import median_dependence
from electorate.report.page import Chart, ReportSection

MOST_COLUMNS = 20
CELLS = 60  # of a shape function
Options = list[tuple[str, Chart]]


def columns_section(model: Any, X: Any, found: Importances) -> ReportSection:
    """Return the section of the most important columns."""
    section = ReportSection("columns", "Columns")
    order = found.order[:MOST_COLUMNS]
    names = [found.names[k] for k in order]
    kinds = [("permutation", found.permutation, "growth of the error when shuffled")]
    if found.margin is not None:
        kinds.append(("margin", found.margin, "fall of the mean margin when shuffled"))
    kinds.append(("splits", found.split, "share of the steps"))
    options = [(kind, charts.bars("Importances", names, values[order], label)) for kind, values, label in kinds]
    section.chart("How much each column matters.", charts.choice("Importances", "By", options))
    ensemble = getattr(model, "ensemble_", None)
    caption = "The mean prediction if a column had this value in all rows (partial dependence)."
    shapes: Options = []
    if isinstance(ensemble, Ensemble) and ensemble.lookup is not None and hasattr(model, "classes_"):
        caption, shapes = "What a column adds to the decision.", _shapes(model)
    elif isinstance(ensemble, Ensemble):
        shapes = _dependences(model, found, lambda k: partial_dependence(model, X, [k], grid_resolution=CELLS))
    elif getattr(getattr(model, "vote_", None), "trees", None) is not None:
        shapes = _dependences(model, found, lambda k: median_dependence(model, X, k))
    if shapes:
        section.chart(caption, charts.choice("Shape of a column", "Column", shapes))
    return section


def _shapes(model: Any) -> Options:
    labels = [str(label) for label in model.classes_.tolist()]
    return [(shape.name, _shape(shape, labels)) for shape in shape_functions(model)[1][:MOST_COLUMNS]]


def _shape(shape: ShapeFunction, labels: list[str]) -> Chart:
    """Return the chart of a shape function, or one per class."""
    values = np.atleast_2d(shape.values)
    named = ["decision"] if len(values) == 1 else labels
    if shape.levels is not None:
        levels = [str(level) for level in shape.levels][:CELLS]
        options = [
            (name, charts.bars(shape.name, levels, one[:CELLS], "added"))
            for name, one in zip(named, values, strict=True)
        ]
        return charts.choice(shape.name, "Class", options)
    edges = shape.edges[np.isfinite(shape.edges)]
    kept = evenly_spaced(len(edges), CELLS)
    pad = 0.05 * float(np.ptp(edges[kept])) or 1.0 if len(kept) else 1.0
    ends = edges[kept] if len(kept) else np.zeros(1)
    x = np.concatenate([ends[:1] - pad, ends, ends[-1:] + pad])
    cells = [*kept.tolist(), len(edges)] if len(kept) else [0, 0]
    options = []
    for name, one in zip(named, values, strict=True):
        series = charts.line("added", x, one[[*cells, cells[-1]]], step=True)
        options.append((name, charts.lines(shape.name, charts.axis(shape.name), charts.axis(""), [series])))
    return charts.choice(shape.name, "Class", options)


def _dependences(model: Any, found: Importances, curve_of: Callable[[int], Any]) -> Options:
    labels = [str(label) for label in model.classes_.tolist()] if hasattr(model, "classes_") else ["prediction"]
    named = [f"probability of {labels[1]}"] if len(labels) == 2 else labels
    charted: Options = []
    for column in found.order[:MOST_COLUMNS]:
        if found.split[column] > 0:
            curve = curve_of(column)
            if len(curve.grid_values[0]):
                charted.append((found.names[column], _dependence(found.names[column], named, curve)))
    return charted


def _dependence(column: str, named: list[str], curve: Any) -> Chart:
    grid, options = curve.grid_values[0], []
    for name, values in zip(named, curve.average, strict=True):
        if grid.dtype == object:
            options.append((name, charts.bars(column, [str(level) for level in grid], values, name)))
        else:
            series = [charts.line(name, grid, values)]
            options.append((name, charts.lines(column, charts.axis(column), charts.axis(""), series)))
    return charts.choice(column, "Class", options)
