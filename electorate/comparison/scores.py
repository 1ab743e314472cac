"""`electorate.scores`: how well a fitted model predicts rows with known targets, with confidence intervals."""

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

from electorate.comparison.metrics import METRICS, SMALLEST, Scored, calibration_error
from electorate.comparison.report import align
from electorate.data import inputs
from electorate.data.cleaning import cleaned_target
from electorate.data.targets import check_targets
from electorate.estimators.stacked import pooled_decision
from electorate.exact import Floats
from electorate.text import literal
from electorate.theory.binomial import binomial_bound, binomial_floor

GROUPS = 10  # of the calibration table
MOST_CLASSES = 20  # of a confusion matrix that is printed


@dataclass(frozen=True)
class Interval:
    """A metric, and a confidence interval of it."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class CalibrationGroup:
    """Rows with similar predictions. predicted: their mean; observed: of the targets."""

    rows: int
    predicted: float
    observed: Interval


@dataclass(frozen=True)
class Scores:
    """The result of `scores`.

    Attributes
    ----------
    rows : int
    confidence : float
        The confidence of each interval.
    metrics : dict of Interval
        error, balanced_error, auc, f1 and log_loss of a classifier; mae, rmse and r2 of a regressor.
    calibration : list of CalibrationGroup
        For two classes by the probability of the second, for more by that of the predicted class, for regression by
        the prediction.
    calibration_error : float
        The mean distance of the probability of the predicted class to the share of correct predictions; NaN for
        regression.
    classes : list
    confusion : array [true class, predicted class]
        Numbers of rows, or weights. Empty for regression.
    """

    rows: int
    confidence: float
    metrics: dict[str, Interval]
    calibration: list[CalibrationGroup]
    calibration_error: float
    classes: list[Any] = field(default_factory=list)
    confusion: Floats = field(default_factory=lambda: np.empty((0, 0)))

    def to_dict(self) -> dict[str, Any]:
        """Return the scores, for JSON."""
        groups = [{**vars(group), "observed": vars(group.observed)} for group in self.calibration]
        error = None if math.isnan(self.calibration_error) else self.calibration_error
        return {
            "rows": self.rows,
            "confidence": self.confidence,
            "metrics": {name: vars(interval) for name, interval in self.metrics.items()},
            "classes": self.classes,
            "confusion": self.confusion.tolist(),
            "calibration_error": error,
            "calibration": groups,
        }

    def columns(self) -> dict[str, list[Any]]:
        """Return the metrics as a table by columns."""
        found: dict[str, list[Any]] = {"metric": list(self.metrics)}
        return found | {key: [getattr(one, key) for one in self.metrics.values()] for key in ("value", "low", "high")}

    def __str__(self) -> str:
        lines = [f"{self.rows:,} rows; intervals with {self.confidence:.0%} confidence each", ""]
        table = [[name, f"{m.value:.4f}", _range(m)] for name, m in self.metrics.items()]
        lines.append(align(table, {0}))
        if self.classes:
            lines += ["", *self._confusion_lines()]
        heads = ["rows", "predicted", "observed", ""]
        groups = [
            [
                f"{g.rows:,}",
                f"{g.predicted:.4f}",
                f"{g.observed.value:.4f}",
                f"{g.observed.low:.4f} to {g.observed.high:.4f}",
            ]
            for g in self.calibration
        ]
        about = "prediction" if not self.classes else "probability of the predicted class"
        if len(self.classes) == 2:
            about = f"probability of {literal(self.classes[1], 40)!r}"
        error = "" if math.isnan(self.calibration_error) else f"; calibration error {self.calibration_error:.4f}"
        return "\n".join([*lines, "", f"calibration, by the {about}{error}", align([heads, *groups], set())])

    def _confusion_lines(self) -> list[str]:
        if len(self.classes) > MOST_CLASSES:
            return [f"confusion matrix: {len(self.classes)} classes; use JSON"]
        names = [literal(label, 20) for label in self.classes]
        rows = [[name, *(f"{value:,.6g}" for value in row)] for name, row in zip(names, self.confusion, strict=True)]
        return ["confusion matrix (rows: true class, columns: predicted class)", align([["", *names], *rows], {0})]


def _range(interval: Interval) -> str:
    return f"{interval.low:.4f} to {interval.high:.4f}"


def scores(model: Any, X: Any, y: Any, *, sample_weight: Any = None, confidence: float = 0.95) -> Scores:
    """Return the metrics of a fitted model on rows with known targets, with confidence intervals.

    Parameters
    ----------
    model : estimator
        A fitted classifier or regressor of this package.
    X : array-like, sparse matrix or dataframe
        Rows that were not used for training. A model with a cleaning takes the raw columns.
    y : array-like
        Their labels or targets.
    sample_weight : array-like, optional
    confidence : float, default=0.95
        Of each interval.

    Returns
    -------
    Scores
        Metrics with intervals, the confusion matrix, a calibration table.

    See Also
    --------
    certificate : Bounds on the risk, with their assumptions.

    Notes
    -----
    The interval of the error is exact for rows of equal weight (Clopper and Pearson 1934). The others are normal
    approximations by the influence of each row on the metric, for AUC that of DeLong et al. (1988). Where no row is
    wrong, they are as wide as the exact interval for the smallest class. For two classes, F1 is that of the second; for
    more, AUC and F1 are means over classes, each against the rest.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from electorate import AdaBoostClassifier, scores
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> found = scores(AdaBoostClassifier().fit(X[::2], y[::2]), X[1::2], y[1::2])
    >>> found.metrics["error"].low < found.metrics["error"].value < found.metrics["error"].high
    True
    """
    if not 0 < confidence < 1:
        raise ValueError(f"confidence is {confidence}: it must be between 0 and 1")
    target = np.asarray(inputs.to_array(cleaned_target(model, y)))
    weight = None if sample_weight is None else inputs.check_weight(sample_weight, len(target))
    if not len(target):
        raise ValueError("there are no rows to score")
    if hasattr(model, "classes_"):
        return _score_classes(model, X, target, weight, confidence)
    return _score_numbers(model, X, check_targets(model, target, len(target)), weight, confidence)


# ---------------------------------------------------------------- classification


def _score_classes(model: Any, X: Any, labels: NDArray[Any], weight: Floats | None, confidence: float) -> Scores:
    classes = model.classes_
    if not np.any(np.isin(labels, classes)):
        raise ValueError(f"y has labels like {labels[:1].tolist()}: none is one of {classes.tolist()!r:.200}")
    codes = inputs.encode_labels(labels, classes, np.ones(len(labels)), "y")
    if not hasattr(model, "predict_proba"):
        raise TypeError(f"scores needs probabilities, and this {type(model).__name__} has no predict_proba")
    proba = np.asarray(model.predict_proba(X))
    inputs.check_n_rows(codes, len(proba))
    decision = np.asarray(model.decision_function(X)) if hasattr(model, "decision_function") else pooled_decision(proba)
    rows = Scored(codes, decision[:, None] if decision.ndim == 1 else decision, len(classes), weight=weight)
    rows.__dict__["log_probabilities"] = np.log(np.clip(proba, SMALLEST, 1.0))
    metrics = {}
    for metric in METRICS.values():
        if metric.for_classes and not (metric.name in ("auc", "f1") and len(classes) < 2):
            losses = metric.losses(rows)
            losses = 1 - losses if metric.is_gain else losses
            centre = _class_means(losses, codes, rows.share) if metric.name == "balanced_error" else None
            bound = 1.0 if metric.name != "log_loss" else math.inf
            metrics[metric.name] = _interval(losses, rows.share, confidence, bound, centre)
    wrong = rows.labels != codes
    if not wrong.any():
        least = int(np.bincount(codes)[np.unique(codes)].min())
        width = binomial_bound(0, least, (1 + confidence) / 2)
        for name, perfect in (("balanced_error", 0.0), ("f1", 1.0), ("auc", 1.0)):
            if name in metrics and metrics[name].value == perfect:
                metrics[name] = Interval(perfect, max(0.0, perfect - width), min(1.0, perfect + width))
    if weight is None:
        metrics["error"] = _exact(int(wrong.sum()), len(codes), confidence)
    confusion = np.zeros((len(classes), len(classes)))
    np.add.at(confusion, (codes, rows.labels), 1.0 if weight is None else weight)
    if len(classes) == 2:
        groups = _groups(proba[:, 1], (codes == 1).astype(np.float64), rows.share, confidence)
    else:
        groups = _groups(proba.max(axis=1), 1.0 - wrong, rows.share, confidence)
    found = calibration_error(rows)
    return Scores(len(codes), confidence, metrics, groups, found, classes.tolist(), confusion)


def _class_means(values: Floats, codes: NDArray[np.int64], share: Floats) -> Floats:
    """The mean over the class of each row."""
    totals = np.bincount(codes, share)
    means = np.divide(np.bincount(codes, values * share), totals, out=np.zeros(len(totals)), where=totals > 0)
    return np.asarray(means[codes])


# ---------------------------------------------------------------- regression


def _score_numbers(model: Any, X: Any, target: Floats, weight: Floats | None, confidence: float) -> Scores:
    predicted = np.asarray(model.predict(X), dtype=np.float64)
    inputs.check_n_rows(target, len(predicted))
    rows = Scored(target, predicted[:, None], 0, weight=weight)
    metrics = {
        metric.name: _interval(metric.losses(rows), rows.share, confidence)
        for metric in METRICS.values()
        if not metric.for_classes
    }
    metrics["r2"] = _r_squared(predicted, target, rows.share, confidence)
    return Scores(
        len(target), confidence, metrics, _groups(predicted, target, rows.share, confidence, math.inf), math.nan
    )


def _r_squared(predicted: Floats, target: Floats, share: Floats, confidence: float) -> Interval:
    """1 - the squared error over the variance, and the influence of each row on it."""
    squares = np.square(target - predicted)
    spread = np.square(target - np.average(target, weights=share))
    variance = float(np.average(spread, weights=share))
    if variance == 0:
        return Interval(math.nan, math.nan, math.nan)
    lost = float(np.average(squares, weights=share)) / variance
    found = _interval(1 - lost - (squares - lost * spread) / variance, share, confidence, lowest=-math.inf)
    return Interval(found.value, found.low, min(found.high, 1.0))


# ---------------------------------------------------------------- intervals


def _interval(
    values: Floats,
    share: Floats,
    confidence: float,
    highest: float = math.inf,
    centre: Floats | None = None,
    lowest: float = 0.0,
) -> Interval:
    """The weighted mean of values, and a normal interval. centre: of each value, where it is not the mean of all."""
    mean = float(np.average(values, weights=share))
    away = share * (values - (mean if centre is None else centre))
    width = float(norm.ppf((1 + confidence) / 2)) * math.sqrt(float(np.sum(np.square(away)))) / float(share.sum())
    return Interval(mean, max(lowest, mean - width), min(highest, mean + width))


def _exact(errors: int, rows: int, confidence: float) -> Interval:
    """Clopper and Pearson's interval of a share."""
    each = (1 + confidence) / 2
    return Interval(errors / rows, binomial_floor(errors, rows, each), binomial_bound(errors, rows, each))


def _groups(
    predicted: Floats, observed: Floats, share: Floats, confidence: float, highest: float = 1.0
) -> list[CalibrationGroup]:
    """Groups of about equally many rows, in the order of the predictions; equal predictions are in one group."""
    order = np.argsort(predicted, kind="stable")
    n_rows = len(order)
    ends = np.unique(np.searchsorted(predicted[order], predicted[order[(np.arange(1, GROUPS) * n_rows) // GROUPS]]))
    parts = [part for part in np.split(order, ends) if len(part)]
    is_share = highest == 1.0 and bool(np.all(share == share[0]))
    found = []
    for part in parts:
        lowest = 0.0 if highest == 1.0 else -math.inf
        interval = _interval(observed[part], share[part], confidence, highest, lowest=lowest)
        if is_share:
            interval = _exact(int(observed[part].sum()), len(part), confidence)
        mean = float(np.average(predicted[part], weights=share[part]))
        found.append(CalibrationGroup(len(part), mean, interval))
    return found
