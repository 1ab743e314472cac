"""The sections of a report about a model: errors, probabilities, margins and rounds, columns, rules, and data."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score, roc_curve

from electorate.data.row_subset import evenly_spaced, take_rows
from electorate.data.table import Categories, Table
from electorate.exact import AnyArray, Bools, Floats, Ints
from electorate.inspection.importances import Importances, ShuffledRows
from electorate.inspection.margins import staged_margins
from electorate.inspection.rules import rule_table
from electorate.inspection.shapes import ShapeFunction, shape_functions
from electorate.inspection.theorems import convergence
from electorate.model.ensemble import Ensemble
from electorate.report import charts
from electorate.report.page import Chart, ReportSection, grid, number, table, text

MOST_DOTS = 1500
SHADES = (0.005, 0.05, 0.15, 0.35, 0.65)  # shares of a row from which a cell is darker
MOST_CLASSES = 40  # with curves of their own
BINS = 10  # of a calibration curve
THETAS = np.linspace(-1.0, 1.0, 81)
MOST_COLUMNS = 20
CELLS = 60  # of a shape function
Options = list[tuple[str, Chart]]
MOST_NODES = 50_000  # writing out the rules of larger ensembles takes long
MOST_ROWS, MOST_POINTS = 200, 15  # a prediction for every pair


# ---------------------------------------------------------------- sections


def errors_section(model: Any, X: Any, y: AnyArray) -> ReportSection:
    """Return the errors of a model on some rows."""
    section = ReportSection("errors", "Errors")
    predicted = model.predict(X)
    if not hasattr(model, "classes_"):
        _add_residuals(section, np.asarray(y, dtype=np.float64), predicted)
        return section
    error, common = float(np.mean(predicted != y)), max(np.mean(y == label) for label in model.classes_)
    section.add(f"<p>Error on these rows: <strong>{error:.4f}</strong>; ")
    section.add(f"baseline (majority class): {1 - common:.4f}.</p>")
    section.note("Rows are true classes, columns are predicted classes. The shade shows the share of the row.")
    section.add(_confusion(model.classes_.tolist(), y.tolist(), predicted.tolist()))
    return section


def _confusion(labels: list[Any], true: list[Any], predicted: list[Any]) -> str:
    place = {label: code for code, label in enumerate(labels)}
    counts = np.zeros((len(labels), len(labels)), dtype=np.int64)
    np.add.at(counts, ([place[label] for label in true], [place[label] for label in predicted]), 1)
    shades = np.searchsorted(SHADES, counts / np.maximum(counts.sum(axis=1, keepdims=True), 1), side="right")
    head = "".join(f"<th scope='col' title='{text(label)}'>{text(label, 12)}</th>" for label in labels)
    rows = []
    for label, row, shade in zip(labels, counts.tolist(), shades.tolist(), strict=True):
        cells = "".join(f"<td class='h{dark}'>{count or ''}</td>" for count, dark in zip(row, shade, strict=True))
        rows.append(f"<tr><th scope='row' title='{text(label)}'>{text(label, 24)}</th>{cells}</tr>")
    return grid(f"<th scope='col'>true</th>{head}", rows, "confusion")


def _add_residuals(section: ReportSection, y: Floats, predicted: Floats) -> None:
    residual, spread = y - predicted, float(np.var(y))
    explained = 1 - float(np.mean(residual**2)) / spread if spread else 0.0
    error, base = float(np.mean(np.abs(residual))), float(np.mean(np.abs(y - np.median(y))))
    section.add(f"<p>Mean absolute error: <strong>{number(error)}</strong>; ")
    section.add(f"R squared: {explained:.4f}; baseline (the median): {number(base)}.</p>")
    some = evenly_spaced(len(y), MOST_DOTS)
    x = charts.axis("predicted")
    section.chart(
        "True against predicted values. Points on the diagonal are predicted without error.",
        charts.dots("Predicted and true values", x, charts.axis("true"), predicted[some], y[some], diagonal=True),
    )
    section.chart(
        "True minus predicted value, against the predicted value.",
        charts.dots("Residuals", x, charts.axis("residual"), predicted[some], residual[some], zero=True),
    )


# ---------------------------------------------------------------- probabilities section


def probabilities_section(model: Any, X: Any, y: AnyArray) -> ReportSection:
    """Return the curves of a classifier; an empty section for other models."""
    section = ReportSection("probabilities", "Probabilities")
    if not hasattr(model, "classes_") or len(model.classes_) < 2:
        return section
    proba, labels = model.predict_proba(X), model.classes_.tolist()
    roc, calibration = [], []
    for code in [1] if len(labels) == 2 else range(min(len(labels), MOST_CLASSES)):
        mine = y == labels[code]
        if mine.any() and not mine.all():
            roc.append((str(labels[code]), _roc(proba[:, code], mine)))
            calibration.append((str(labels[code]), _calibration(proba[:, code], mine)))
    if roc:
        about = f"for class {labels[1]}" if len(labels) == 2 else "one class against the rest"
        section.chart(f"True positive rate by false positive rate, {about}.", charts.choice("ROC", "Class", roc))
        caption = f"Observed share by predicted probability, in {BINS} bins, {about}."
        section.chart(caption, charts.choice("Calibration", "Class", calibration))
    return section


def _roc(proba: Floats, mine: Bools) -> Chart:
    false, true, _ = roc_curve(mine, proba)
    curve = charts.line(f"area {roc_auc_score(mine, proba):.4f}", false, true, step=True)
    return charts.lines("ROC", charts.axis("false positive rate", 0, 1), charts.axis("", 0, 1), [curve], diagonal=True)


def _calibration(proba: Floats, mine: Bools) -> Chart:
    bins = np.minimum((proba * BINS).astype(np.int64), BINS - 1)
    count = np.bincount(bins, minlength=BINS)
    used = count > 0
    mean = np.bincount(bins, weights=proba, minlength=BINS)[used] / count[used]
    share = np.bincount(bins, weights=mine, minlength=BINS)[used] / count[used]
    curve = charts.line("observed", mean, share, points=True)
    x = charts.axis("predicted probability", 0, 1)
    return charts.lines("Calibration", x, charts.axis("", 0, 1), [curve], diagonal=True)


# ---------------------------------------------------------------- rounds sections


def margins_section(model: Any, X: Any, y: Any) -> ReportSection:
    """Return the margins of the rows, with a slider over rounds."""
    section = ReportSection("margins", "Margins")
    rounds = charts.some_rounds(_count_rounds(model)).tolist()
    shares: list[Any] = []
    bounds: list[Any] = []
    try:
        for number, found in enumerate(islice(staged_margins(model, X, y), rounds[-1] if rounds else 0), 1):
            if number in rounds:
                shares.append(found.margin_error(THETAS))
                bounds.append(None if isinstance(found.proof, str) else found.proof.bound(THETAS))
    except (TypeError, ValueError) as error:
        if hasattr(model, "classes_"):
            section.note(f"No margin graph: {error}.")
        return section
    if shares:
        series: list[Any] = [("these rows", False, shares)]
        if any(bound is not None for bound in bounds):
            series.append(("at most, for training rows (proved)", True, bounds))
        x, y_axis = charts.axis("margin", -1, 1), charts.axis("", 0, 1)
        section.chart(
            "The share of rows with a margin of at most the value on the axis. Rows on the left of 0 are errors.",
            charts.stages("Margin graph", x, y_axis, rounds[: len(shares)], THETAS, series),
        )
    return section


def _count_rounds(model: Any) -> int:
    if hasattr(model, "moves_"):
        return len(model.history_["step"])
    return int(getattr(model, "_n_rounds", 0))


def rounds_section(model: Any, X: Any, y: Any) -> ReportSection:
    """Return learning curves, and what the papers prove about every round."""
    section = ReportSection("rounds", "Rounds")
    series = _learning_curves(model, X, y)
    if series:
        what = "error" if hasattr(model, "classes_") else "mean absolute error"
        chart = charts.lines("Learning curve", charts.axis("round"), charts.axis(""), series)
        section.chart(f"The {what} after every round.", chart)
    found = convergence(model) if hasattr(model, "_guarantees") else None
    if found is None or not found.predictions:
        if found is not None and found.why:
            section.note(f"No bound by rounds: {found.why}.")
        return section
    options = []
    for one in found.predictions:
        places, proved = np.arange(1, len(one.observed) + 1), "proved" if one.exact else "proved bound"
        pair = [charts.line("observed", places, one.observed), charts.line(proved, places, one.predicted, dash=True)]
        options.append((one.name, charts.lines(one.name, charts.axis("round"), charts.axis(""), pair)))
    held = "every statement held" if found.holds else "a statement did NOT hold"
    caption = f"What the papers prove about training, and what was observed: {held}."
    section.chart(caption, charts.choice("Bound by rounds", "Statement", options))
    return section


def _learning_curves(model: Any, X: Any, y: Any) -> list[Any]:
    """Return the errors by rounds: of training, of validation where it is an error, and of these rows."""
    series, history = [], getattr(model, "history_", {})
    if hasattr(model, "classes_") and "label" not in history:  # a regressor's history has units of its own loss
        known = {"train_error": "training rows"}
        if getattr(model, "scoring", "") == "error":
            known["validation"] = "validation rows"
        for name, title in known.items():
            values = history.get(name, np.empty(0))
            if np.any(np.isfinite(values)):
                series.append(charts.line(title, np.arange(1, len(values) + 1), values))
    errors = _staged_errors(model, X, y) if hasattr(model, "staged_predict") else []
    if errors:
        series.append(charts.line("these rows", np.arange(1, len(errors) + 1), errors))
    return series


def _staged_errors(model: Any, X: Any, y: Any) -> list[float]:
    if hasattr(model, "classes_"):
        return [float(np.mean(predicted != y)) for predicted in model.staged_predict(X)]
    return [float(np.mean(np.abs(predicted - y))) for predicted in model.staged_predict(X)]


# ---------------------------------------------------------------- columns section


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
        labels = [str(label) for label in model.classes_.tolist()]
        caption = "What a column adds to the decision."
        shapes = [(shape.name, _shape(shape, labels)) for shape in shape_functions(model)[1][:MOST_COLUMNS]]
    elif isinstance(ensemble, Ensemble) or getattr(getattr(model, "vote_", None), "trees", None) is not None:
        shapes = _dependences(model, X, found)
    if shapes:
        section.chart(caption, charts.choice("Shape of a column", "Column", shapes))
    return section


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
    places = evenly_spaced(len(edges), CELLS)
    pad = 0.05 * float(np.ptp(edges[places])) or 1.0 if len(places) else 1.0
    ends = edges[places] if len(places) else np.zeros(1)
    x = np.concatenate([ends[:1] - pad, ends, ends[-1:] + pad])
    cells = [*places.tolist(), len(edges)] if len(places) else [0, 0]
    options = []
    for name, one in zip(named, values, strict=True):
        series = charts.line("added", x, one[[*cells, cells[-1]]], step=True)
        options.append((name, charts.lines(shape.name, charts.axis(shape.name), charts.axis(""), [series])))
    return charts.choice(shape.name, "Class", options)


def _dependences(model: Any, X: Any, found: Importances) -> Options:
    labels = [str(label) for label in model.classes_.tolist()] if hasattr(model, "classes_") else ["prediction"]
    named = [f"probability of {labels[1]}"] if len(labels) == 2 else labels
    charted: Options = []
    for column in found.order[:MOST_COLUMNS]:
        if found.split[column] > 0:
            values, means = mean_predictions(model, X, column)
            if len(values):
                charted.append((found.names[column], _dependence(found.names[column], named, values, means)))
    return charted


def _dependence(column: str, named: list[str], grid: AnyArray, means: Floats) -> Chart:
    options = []
    for name, values in zip(named, means, strict=True):
        if grid.dtype == object:
            options.append((name, charts.bars(column, [str(level) for level in grid], values, name)))
        else:
            series = [charts.line(name, grid, values)]
            options.append((name, charts.lines(column, charts.axis(column), charts.axis(""), series)))
    return charts.choice(column, "Class", options)


# ---------------------------------------------------------------- rules section


def rules_section(model: Any, most: int = 50) -> ReportSection:
    """Return the rules with the largest weights; an empty section if the model has no rules to show."""
    section = ReportSection("rules", "Rules")
    if len(getattr(getattr(model, "ensemble_", None), "column", ())) > MOST_NODES:
        return section
    try:
        columns = rule_table(model).columns
    except (TypeError, ValueError):  # other voters, or trees whose rules are too long to be written out
        return section
    steps = columns["step"]
    order = sorted(range(len(steps)), key=lambda k: -abs(steps[k]))[:most]
    rows: list[tuple[Any, ...]] = [
        (float(steps[k]), columns["rule"][k] or "always", columns["then"][k], columns["otherwise"][k] or "")
        for k in order
    ]
    heads = ["weight", "if", "vote", "else"]
    if not any(row[-1] for row in rows):
        heads, rows = heads[:-1], [row[:-1] for row in rows]
    if len(steps) > most:
        section.note(f"The {most} rules with the largest weights, of {len(steps):,}.")
    section.add(table(heads, rows, "rules"))
    return section


# ---------------------------------------------------------------- partial dependence


def mean_predictions(model: Any, X: Any, column: int) -> tuple[AnyArray, Floats]:
    """Return values of a column, and [output, value] the mean prediction if the column had this value in all rows."""
    table = model._check_rows(X, reset=False)
    some = evenly_spaced(table.n_rows, MOST_ROWS)
    levels: list[str] = []
    if column in model.bins_.categories:
        levels, codes = level_codes(table, column)
        values = np.where(codes < 0, np.nan, codes)[some]
    else:
        values = table.numbers(0, table.n_rows, [column])[0][some]
    distinct, first = np.unique(values, return_index=True)
    known = first[~np.isnan(distinct)]
    places = known[evenly_spaced(len(known), MOST_POINTS)].tolist()
    rows = ShuffledRows(take_rows(X, some))
    means = [_mean_prediction(model, rows.shuffled(column, np.full(rows.n_rows, place))) for place in places]
    grid = np.array([levels[int(code)] for code in values[places]], dtype=object) if levels else values[places]
    return grid, np.array(means).reshape(len(places), -1).T


def _mean_prediction(model: Any, X: Any) -> Floats:
    if not hasattr(model, "classes_"):
        return np.mean(model.predict(X), keepdims=True)
    means = np.mean(model.predict_proba(X), axis=0)
    return means[1:] if len(means) == 2 else means


# ---------------------------------------------------------------- the contents of a table


@dataclass(frozen=True)
class ColumnProfile:
    """What one column holds."""

    name: str
    kind: str  # "numbers" or "categories"
    missing: float  # share
    distinct: int
    summary: str


def profile(table: Table, names: list[str], is_category: Callable[[int], bool]) -> list[ColumnProfile]:
    """Return the profiles of all columns. is_category: whether a column, by its number, holds categories."""
    return [
        (_categories if is_category(column) else _numbers)(table, column, name) for column, name in enumerate(names)
    ]


def _numbers(table: Table, column: int, name: str) -> ColumnProfile:
    x = table.numbers(0, table.n_rows, [column])[0]
    known = ~np.isnan(x)
    values, summary = np.unique(x[known]), "no values"
    if len(values):
        low, middle, high = values[0], np.median(x[known]), values[-1]
        summary = f"{number(float(low))} to {number(float(high))}, median {number(float(middle))}"
    return ColumnProfile(name, "numbers", float(1 - known.mean()), len(values), summary)


def _categories(table: Table, column: int, name: str) -> ColumnProfile:
    levels, place = level_codes(table, column)
    known = place >= 0
    counts = np.bincount(place[known], minlength=len(levels))
    order = np.argsort(-counts, kind="stable")[:3]
    listed = ", ".join(f"{levels[k]} ({counts[k]})" for k in order)
    summary = listed + (", ..." if len(levels) > 3 else "")
    return ColumnProfile(name, "categories", float(1 - known.mean()), len(levels), summary)


def level_codes(table: Table, column: int) -> tuple[list[str], Ints]:
    """Return the levels of a column as texts, and the place of each row's among them, -1 where it is missing."""
    levels = table.levels(column)
    codes = table.codes(0, table.n_rows, column, Categories(levels))
    places = np.where(np.isnan(codes), -1, np.nan_to_num(codes)).astype(np.int64)
    return [str(level) for level in levels.tolist()], places
