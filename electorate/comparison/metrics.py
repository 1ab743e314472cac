"""The metrics of a comparison. Each is a mean over rows: of losses, or of what a row contributes to a ratio.

For AUC and F1, which are no means, the loss of a row is the metric plus the influence of the row on it, so that the
mean over rows is the metric and their spread is its sampling error. All metrics are losses here: 1 - AUC and 1 - F1.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from electorate.exact import Floats
from electorate.model.decisions import log_probabilities

SMALLEST = float(np.finfo(np.float64).eps)  # smaller probabilities are raised to this one before the logarithm
CONFIDENCE_BINS = 15


@dataclass(frozen=True)
class Scored:
    """Rows that a model was tested on.

    scores: for two classes one column, positive for the second class; else a column per class; the predictions of a
    regressor. temperature: of the probabilities. weight: of the rows, or None.
    """

    target: NDArray[np.number]
    scores: Floats
    n_classes: int
    temperature: float = 1.0
    weight: Floats | None = None

    @property
    def decision(self) -> Floats:
        return np.asarray(self.scores[:, 0]) if self.scores.shape[1] == 1 else self.scores

    @cached_property
    def labels(self) -> NDArray[np.int64]:
        """The predicted classes; of equals, the first."""
        if self.n_classes == 2:
            return np.asarray(self.decision > 0, dtype=np.int64)
        return np.asarray(np.argmax(self.scores, axis=1), dtype=np.int64)

    @cached_property
    def log_probabilities(self) -> Floats:
        return log_probabilities(self.decision, self.temperature)

    @cached_property
    def share(self) -> Floats:
        """Weights with the mean 1."""
        if self.weight is None:
            return np.ones(len(self.target))
        return np.asarray(self.weight / np.mean(self.weight))


@dataclass(frozen=True)
class Metric:
    """A metric that algorithms can be ranked by. head: of its column. is_gain: shown as 1 - loss.

    balances: rare classes count more than their rows, so that models with weights of the classes are tried too.
    """

    name: str
    for_classes: bool
    head: str
    losses: Callable[[Scored], Floats] = field(repr=False)
    is_gain: bool = False
    balances: bool = False

    def value(self, scored: Scored) -> float:
        """The loss, whatever is shown."""
        return float(np.average(self.losses(scored), weights=scored.weight))

    def shown(self, loss: float) -> float:
        return 1 - loss if self.is_gain else loss


# ---------------------------------------------------------------- losses of rows


def _errors(scored: Scored) -> Floats:
    return (scored.labels != scored.target).astype(np.float64)


def _balanced_errors(scored: Scored) -> Floats:
    """Errors, weighted so that every class counts the same."""
    codes = scored.target.astype(np.int64)
    totals = np.bincount(codes, scored.share, minlength=scored.n_classes)
    return np.asarray(_errors(scored) * len(codes) / (np.count_nonzero(totals) * totals[codes]))


def _log_losses(scored: Scored) -> Floats:
    codes = scored.target.astype(np.int64)
    own = scored.log_probabilities[np.arange(len(codes)), codes]
    return np.asarray(-np.maximum(own, np.log(SMALLEST)))


def _ranking_errors(scored: Scored) -> Floats:
    """1 - AUC: the share of pairs in the wrong order; for more than two classes the mean over classes."""
    codes, n_rows = scored.target.astype(np.int64), len(scored.target)
    classes = [1] if scored.n_classes == 2 else range(scored.n_classes)
    found = []
    for one in classes:
        score = scored.decision if scored.n_classes == 2 else scored.log_probabilities[:, one]
        own = codes == one
        if own.all() or not own.any():
            continue
        lost = np.empty(n_rows)
        lost[own] = 1 - _share_below(score[own], score[~own], scored.share[~own])
        lost[~own] = 1 - _share_below(-score[~own], -score[own], scored.share[own])
        value = float(np.average(lost[own], weights=scored.share[own]))
        total = np.where(own, scored.share[own].sum(), scored.share[~own].sum())
        found.append(value + (lost - value) * n_rows / total)
    return np.mean(found, axis=0) if found else np.full(n_rows, 0.5)


def _share_below(scores: Floats, others: Floats, weight: Floats) -> Floats:
    """Return for each score the weight of the others below it, and half of that of equals."""
    order = np.argsort(others, kind="stable")
    total = np.concatenate([[0.0], np.cumsum(weight[order])])
    ordered = others[order]
    low, high = (np.searchsorted(ordered, scores, side=side) for side in ("left", "right"))
    return np.asarray((total[low] + total[high]) / (2 * total[-1]))


def _f1_losses(scored: Scored) -> Floats:
    """1 - F1 of the second of two classes, or the mean over more classes."""
    codes = scored.target.astype(np.int64)
    found = []
    for one in [1] if scored.n_classes == 2 else range(scored.n_classes):
        own, called = codes == one, scored.labels == one
        wrong = (own != called).astype(np.float64)
        counted = wrong + 2.0 * (own & called)
        base = float(np.average(counted, weights=scored.share))
        if base > 0:
            value = float(np.average(wrong, weights=scored.share)) / base
            found.append(value + (wrong - value * counted) / base)
        elif scored.n_classes == 2:
            found.append(np.zeros(len(codes)))
    return np.asarray(np.mean(found, axis=0))


def _distances(scored: Scored) -> Floats:
    return np.abs(scored.decision - scored.target)


def _squares(scored: Scored) -> Floats:
    """The root of the mean square, plus the influence of each row on it."""
    squares = np.square(scored.decision - scored.target)
    root = float(np.sqrt(np.average(squares, weights=scored.share)))
    return np.asarray(root + (squares - root**2) / (2 * root)) if root > 0 else squares


def calibration_error(scored: Scored) -> float:
    """How far the probability of the predicted class is from the share of correct predictions, over bins."""
    sure = np.exp(scored.log_probabilities.max(axis=1))
    place = np.minimum((sure * CONFIDENCE_BINS).astype(np.int64), CONFIDENCE_BINS - 1)
    gap = np.bincount(place, scored.share * (sure - (1 - _errors(scored))), minlength=CONFIDENCE_BINS)
    return float(np.sum(np.abs(gap)) / np.sum(scored.share))


METRICS = {
    metric.name: metric
    for metric in (
        Metric("error", True, "error", _errors),
        Metric("balanced_error", True, "balanced error", _balanced_errors, balances=True),
        Metric("auc", True, "AUC", _ranking_errors, is_gain=True),
        Metric("f1", True, "F1", _f1_losses, is_gain=True, balances=True),
        Metric("log_loss", True, "log loss", _log_losses),
        Metric("mae", False, "mean abs. error", _distances),
        Metric("rmse", False, "RMSE", _squares),
    )
}


def metric_for(name: str | None, n_classes: int) -> Metric:
    """The metric to rank by; by default the error, or the mean absolute error of a regression."""
    chosen = name or ("error" if n_classes else "mae")
    fitting = [metric.name for metric in METRICS.values() if metric.for_classes == (n_classes > 0)]
    if chosen not in fitting:
        task = "classification" if n_classes else "regression"
        raise ValueError(f"metric is {chosen!r}: for {task} choose from {', '.join(fitting)}")
    return METRICS[chosen]
