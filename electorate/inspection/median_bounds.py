"""Bounds on the risk of a weighted median: an error is a prediction farther than eps from the target.

A median that is too high has half of its votes above y + eps: both sides of the tube are votes of +-1, and the margin
bounds of votes apply (docs/certificates.md).
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from electorate.data.seen_rows import Seen
from electorate.theory import bounds
from electorate.theory.bounds import Counted, Terms
from electorate.theory.certificate import Bound, proved, refused
from electorate.theory.complexity import Shape, log_trees, massart
from electorate.voters.pool import Pool

Floats = NDArray[np.float64]
FINITE = "LocMedBoost paper, Theorem 3"
INFINITE = "LocMedBoost paper, Theorem 4, constants ours"
SMOOTH = "LocMedBoost paper, Theorem 5"
IID = "the training rows were drawn independently, each like the rows to come"
FIXED = "the columns were fixed before the training rows were drawn: they are predictions of models fitted elsewhere"
ROWS_AT_ONCE = 4096


def median_bounds(model: Any, error: Any, rows: Any, delta: float) -> list[Bound]:
    name = "median, tubes"
    try:
        _refuse(model, error, rows)
    except ValueError as why:
        found = [refused(name, INFINITE, str(why))]
        if getattr(model, "confidences_", None):
            up_to = "up to constants: not a certificate"
            found.append(Bound("median, smooth confidences", SMOOTH, up_to))
        return found
    if model._by_rows and np.isnan(rows.table).any():
        reason = "some predictions are missing, where voters abstain: the confidences are not constant"
        return [refused("median, finitely many voters", FINITE, reason)]
    margins = tube_margins(model, rows.X, rows.y.astype(np.float64), error.eps)
    n = len(margins)
    r, counted = _complexity(model, rows, n)

    def at(part: float) -> Terms:
        return bounds.median_bound(lambda rho: float(np.mean(margins <= rho)), n, Counted(r, counted), part)

    finite = "median, finitely many voters"
    if model._by_rows:
        return [proved(finite, FINITE, at, delta, (IID, FIXED))]
    reason = "the voters are not a finite set that was fixed before the rows were drawn: Theorem 4 covers them"
    return [refused(finite, FINITE, reason), proved(name, INFINITE, at, delta, (IID,))]


def _refuse(model: Any, error: Any, rows: Any) -> None:
    if not hasattr(model, "vote_"):
        raise ValueError("it is about medians, and this model adds its voters up")
    if error.unknown:
        raise ValueError("no eps says which predictions are wrong: give eps")
    seen: Seen | None = getattr(model, "seen_", None)
    if rows.weight is not None or (seen is not None and seen.weighted):
        raise ValueError("the rows have weights, so they are no sample of the rows to come")
    if model.vote_.trees is None and not model._by_rows:
        raise ValueError("foreign voters: nothing bounds how complex they are")
    if not model.vote_.n_voters:
        raise ValueError("there are no voters")
    if model.confidences_ or model.vote_.leaves_doubt:
        raise ValueError("the confidences of the voters are not constant")


def tube_margins(model: Any, X: Any, y: Floats, eps: float) -> Floats:
    """The smaller of the two margins of a row: of the voters not above y + eps, and of those not below y - eps.

    L^(rho) of eq. 9 is the share of rows where it is at most rho, for constant confidences.
    """
    n, say = model._say(X)
    out = np.empty(n)
    for low in range(0, n, ROWS_AT_ONCE):
        high = min(low + ROWS_AT_ONCE, n)
        votes = model.vote_.votes(*say(low, high))
        weights = np.broadcast_to(votes.weights, votes.outputs.shape)
        mass = weights.sum(axis=1)
        target = y[low:high, None]
        above = (weights * (votes.outputs > target + eps)).sum(axis=1)
        below = (weights * (votes.outputs < target - eps)).sum(axis=1)
        out[low:high] = (mass - 2 * np.maximum(above, below)) / np.maximum(mass, 1)
    return out


def _complexity(model: Any, rows: Any, n: int) -> tuple[float, bool]:
    """Of the sets {h > y} on n rows: the questions of a tree part them, and every leaf has n + 1 places among targets.

    The targets may be moved by any eps, which the leaves can follow: so eps may have been chosen by the rows. A column
    marks at most n + 1 sets, whatever eps.
    """
    from electorate.inspection.certificates import _levels

    if model._by_rows:
        return massart(n, math.log((n + 1) * model.n_features_in_)), False

    categories = model.bins_.categories
    levels = tuple(_levels(rows.table, j, categories[j].is_text) for j in sorted(categories))
    shape = Shape(0, model.n_features_in_ - len(levels), levels)
    depth = 1 if isinstance(model._family(), Pool) else model._family().max_depth
    splits = n - 1 if depth is None else min(n - 1, 2 ** min(depth, 62) - 1)
    log_count = log_trees(n, shape, splits) + (splits + 1) * math.log((n + 1) / 2)
    return massart(n, log_count), bool(levels)
