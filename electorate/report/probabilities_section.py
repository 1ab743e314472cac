"""The section of a report about probabilities: ROC and calibration curves of every class."""

from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score, roc_curve

from electorate.arrays import AnyArray, Bools, Floats
from electorate.report import charts
from electorate.report.page import Chart, ReportSection

MOST_CLASSES = 40  # with curves of their own
BINS = 10  # of a calibration curve


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
