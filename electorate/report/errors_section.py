"""The section of a report about errors: a confusion matrix, or residuals."""

from typing import Any

import numpy as np

from electorate.arrays import AnyArray, Floats
from electorate.data.row_subset import evenly_spaced
from electorate.report import charts
from electorate.report.page import ReportSection, grid, number, text

MOST_DOTS = 1500
SHADES = (0.005, 0.05, 0.15, 0.35, 0.65)  # shares of a row from which a cell is darker


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
