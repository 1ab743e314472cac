"""From a fitted model and held-out rows to bounds on other losses than the error."""

import math
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from electorate.data import inputs
from electorate.estimators.guarantees import refuse_others
from electorate.exact import Ints
from electorate.inspection.certificates import CLOPPER, IID_OUT, LabelledRows, overlap
from electorate.theory.binomial import binomial_bound, class_limits, clipped_log_losses, mean_bound, misranked
from electorate.theory.bounds import Terms, total
from electorate.theory.certificate import PROVED, VACUOUS, Bound, bound_called

CHERNOFF = "Chernoff's bound, kl"
HOEFFDING = "Hoeffding 1963 for pairs of rows, kl"
LOSSES = ("classes", "cost", "log", "auc", "absolute", "interval")
OF_NUMBERS = ("absolute", "interval")


@dataclass(frozen=True)
class LossCertificate:
    """Bounds on the losses of a model, all together with probability 1 - delta."""

    model: str
    delta: float
    bounds: tuple[Bound, ...]
    notes: tuple[str, ...] = ()

    def __getitem__(self, name: str) -> Bound:
        return bound_called(name, self.bounds)

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and texts, as for JSON."""
        bounds = [bound.to_dict() for bound in self.bounds]
        return {"model": self.model, "delta": self.delta, "bounds": bounds, "notes": list(self.notes)}

    def __str__(self) -> str:
        first = f"{self.model}, all together with {100 * (1 - self.delta):g}% confidence:"
        lines = [f"  {b.name}: at most {b.value:.4f} (observed {b.terms['observed']:.4f})" for b in self.bounds]
        return "\n".join([first, *lines, f"Assumed: {IID_OUT}.", *self.notes])


def loss_certificate(
    model: Any,
    heldout: Any,
    *,
    loss: str = "classes",
    costs: Any = None,
    clip: float = 0.01,
    largest: float | None = None,
    coverage: float | None = None,
    rho: float | None = None,
    delta: float = 0.05,
    equal_rows: str = "refuse",
) -> LossCertificate:
    """Bounds on other losses than the error, from held-out rows.

    Parameters
    ----------
    model : a fitted estimator of electorate's
    heldout : (X, y)
        Rows from the distribution of new rows that were not used for fitting, stopping or calibration.
    loss : {"classes", "cost", "log", "auc", "absolute", "interval"}, default="classes"
        "classes": the error of every class, and the balanced error, their mean. "cost": the expected cost. "log": the
        logarithmic loss of `predict_proba`. "auc": 1 - AUC, for two classes. "absolute": the absolute error of a
        regressor. "interval": how often a target is outside of `predict_interval`; 1 less that is the coverage.
    costs : array-like of shape (classes, classes), optional
        For "cost": what it costs to predict a class (column) for a row of a class (row), in the order of ``classes_``.
    clip : float, default=0.01
        For "log": smaller probabilities of a label count as this one, so that the loss is bounded.
    largest : float, optional
        For "absolute": larger errors count as this one. It must be fixed before the held-out rows are seen.
    coverage, rho : float, optional
        For "interval": one of them, as `predict_interval` takes it. The rows of `calibrate` are no held-out rows.
    delta : float, default=0.05
        The probability with which any of the bounds may fail.
    equal_rows : {"refuse", "allow"}, default="refuse"
        As in :func:`certificate`.

    Returns
    -------
    LossCertificate
        ``print`` shows the bounds; ``certificate["balanced error"].value``, ``bounds``, ``to_dict()``.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from electorate import AdaBoostClassifier
    >>> from electorate.inspection import loss_certificate
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = AdaBoostClassifier(n_estimators=20).fit(X[:300], y[:300])
    >>> bool(loss_certificate(model, (X[300:], y[300:]))["balanced error"].value < 0.2)
    True
    """
    if not (isinstance(delta, float) and 0 < delta < 1):
        raise ValueError(f"delta={delta!r}: it must be a number between 0 and 1")
    if loss not in LOSSES:
        raise ValueError(f"loss={loss!r}: it must be one of {', '.join(LOSSES)}")
    refuse_others(model, "loss_certificate")
    check_is_fitted(model)
    is_interval = loss == "interval"
    if hasattr(model, "classes_") == (loss in OF_NUMBERS) or (is_interval and not hasattr(model, "predict_interval")):
        raise ValueError(f"loss={loss!r} is not for {type(model).__name__}")
    rows = LabelledRows.of(model, heldout, "heldout")
    if rows.weight is not None:
        raise ValueError("held-out rows with weights do not have the distribution of new rows")
    why, notes = overlap(model, rows, equal_rows)
    if why is not None:
        raise ValueError(f"heldout: {why}")
    made: dict[str, Any] = {
        "classes": partial(_of_classes, delta=delta),
        "cost": partial(_of_costs, costs=costs, delta=delta),
        "log": partial(_of_probabilities, clip=clip, delta=delta),
        "auc": partial(_of_ranks, delta=delta),
        "absolute": partial(_of_distances, largest=largest, delta=delta),
        "interval": partial(_of_intervals, coverage=coverage, rho=rho, delta=delta),
    }
    found = tuple(made[loss](model, rows))
    return LossCertificate(type(model).__name__, delta, found, (*_assumed(loss, model, clip, largest), *notes))


def _assumed(loss: str, model: Any, clip: float, largest: float | None) -> list[str]:
    """What a bound on this loss also assumes, as a sentence."""
    before = "fixed before the held-out rows were seen"
    if loss == "cost":
        return [f"The costs were {before}."]
    if loss == "log":
        return [f"Probabilities of a label below {clip:g} count as {clip:g}; this number was {before}."]
    if loss == "auc":
        return [f"The positive class is {model.classes_.tolist()[1]!r}."]
    if loss == "absolute":
        return [f"Errors above {largest:g} count as {largest:g}; this number was {before}."]
    return []


def _bound(name: str, source: str, terms: Terms, delta: float, largest: float = 1.0) -> Bound:
    """largest: of the loss; a bound that is not below it is vacuous."""
    value = total(terms)
    return Bound(name, source, PROVED if value < largest else VACUOUS, value, terms, (IID_OUT,), delta)


def _codes(model: Any, rows: LabelledRows) -> Ints:
    return inputs.encode_labels(rows.y, model.classes_, np.ones(len(rows.y)), "heldout")


def _of_classes(model: Any, rows: LabelledRows, delta: float) -> list[Bound]:
    codes, k = _codes(model, rows), len(model.classes_)
    wrong = model.predict(rows.X) != rows.y
    counts, errors = np.bincount(codes, minlength=k), np.bincount(codes[wrong], minlength=k)
    limits, shares = class_limits(errors.tolist(), counts.tolist(), delta), errors / np.maximum(counts, 1)
    bounds = []
    for label, share, limit, n in zip(model.classes_.tolist(), shares, limits, counts, strict=True):
        terms: Terms = {"observed": float(share), "confidence": float(limit - share)}
        bounds.append(_bound(f"error of class {label!r}", f"{CLOPPER}: {n} rows", terms, delta))
    mean: Terms = {"observed": float(shares.mean()), "confidence": float(limits.mean() - shares.mean())}
    return [*bounds, _bound("balanced error", CLOPPER, mean, delta)]


def _of_costs(model: Any, rows: LabelledRows, costs: Any, delta: float) -> list[Bound]:
    table, k = np.asarray(0.0 if costs is None else costs, dtype=np.float64), len(model.classes_)
    if table.shape != (k, k) or not np.all(np.isfinite(table) & (table >= 0)) or not table.any():
        raise ValueError(f"costs must be {k} rows of {k} numbers that are not negative, in the order of classes_")
    predicted = np.searchsorted(model.classes_, model.predict(rows.X))
    losses = table[_codes(model, rows), predicted]
    return [_bound("cost", CHERNOFF, mean_bound(losses, delta, float(table.max())), delta, float(table.max()))]


def _of_probabilities(model: Any, rows: LabelledRows, clip: float, delta: float) -> list[Bound]:
    if not 0 < clip < 1:
        raise ValueError(f"clip={clip!r}: it must be a number between 0 and 1")
    codes = _codes(model, rows)
    losses = clipped_log_losses(model.predict_proba(rows.X)[np.arange(len(codes)), codes], clip)
    largest = -math.log(clip)
    return [_bound("log loss", CHERNOFF, mean_bound(losses, delta, largest), delta, largest)]


def _of_ranks(model: Any, rows: LabelledRows, delta: float) -> list[Bound]:
    if len(model.classes_) != 2:
        raise ValueError("loss='auc' is for two classes")
    positive = _codes(model, rows) == 1
    fewer = int(min(positive.sum(), (~positive).sum()))
    if not fewer:
        raise ValueError("loss='auc' needs held-out rows of both classes")
    losses = misranked(model.predict_proba(rows.X)[:, 1], positive)
    return [_bound("1 - AUC", HOEFFDING, mean_bound(losses, delta, 1.0, fewer), delta)]


def _of_distances(model: Any, rows: LabelledRows, largest: float | None, delta: float) -> list[Bound]:
    if largest is None or not 0 < largest < math.inf:
        raise ValueError("loss='absolute' needs largest, the error from which on all errors count the same")
    losses = np.minimum(np.abs(model.predict(rows.X) - rows.y.astype(np.float64)), largest)
    return [_bound("absolute error", CHERNOFF, mean_bound(losses, delta, largest), delta, largest)]


def _of_intervals(
    model: Any, rows: LabelledRows, coverage: float | None, rho: float | None, delta: float
) -> list[Bound]:
    low, high = model.predict_interval(rows.X, rho=rho, coverage=coverage)
    target = rows.y.astype(np.float64)
    missed, n = int(np.sum((target < low) | (target > high))), len(target)
    terms: Terms = {"observed": missed / n, "confidence": binomial_bound(missed, n, 1 - delta) - missed / n}
    return [_bound("outside of the interval", f"{CLOPPER}: {missed} of {n}", terms, delta)]
