"""The sections of a report about rounds: the margin graph with a slider, learning curves, proved bounds by rounds."""

from itertools import islice
from typing import Any

import numpy as np

from electorate.inspection.convergence import convergence
from electorate.inspection.margins import staged_margins
from electorate.report import charts
from electorate.report.page import ReportSection

THETAS = np.linspace(-1.0, 1.0, 81)


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
