"""Bounds on the risk of a weighted median: an error is a prediction farther than eps from the target.

A median that is too high has half of its votes above y + eps: both sides of the tube are votes of +-1, and the margin
bounds of votes apply (docs/certificates.md).
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from electorate.inspection.complexity_classes import columns_shape
from electorate.theory import bounds
from electorate.theory.bounds import Counted, Terms
from electorate.theory.certificate import IID, Bound, proved, refused
from electorate.theory.complexity import log_trees, massart
from electorate.voters.pool import Pool

Floats = NDArray[np.float64]
THEOREM_3 = "LocMedBoost paper, Theorem 3"
THEOREM_4 = "LocMedBoost paper, Theorem 4, constants ours"
THEOREM_5 = "LocMedBoost paper, Theorem 5"
FIXED = "the columns were fixed before the training rows were drawn: they are predictions of models fitted elsewhere"
ROWS_AT_ONCE = 4096


def median_bounds(model: Any, error: Any, rows: Any, delta: float) -> list[Bound]:
    """Theorem 3 for columns, Theorem 4 for trees; where neither applies, the reasons."""
    finite, infinite = "median, finitely many voters", "median, tubes"
    try:
        _refuse_conditions(model, error, rows)
    except ValueError as why:
        found = [refused(infinite, THEOREM_4, str(why))]
        if getattr(model, "confidences_", None):
            found.append(Bound("median, smooth confidences", THEOREM_5, "up to constants: not a certificate"))
        return found
    if model._by_rows and np.isnan(rows.table).any():
        reason = "some predictions are missing, where voters abstain: the confidences are not constant"
        return [refused(finite, THEOREM_3, reason)]
    margins = tube_margins(model, rows.X, rows.y.astype(np.float64), error.eps)
    n, complexity = len(margins), _complexity(model, rows)

    def at(part: float) -> Terms:
        return bounds.median_bound(lambda rho: float(np.mean(margins <= rho)), n, complexity, part)

    if model._by_rows:
        return [proved(finite, THEOREM_3, at, delta, (IID, FIXED))]
    reason = "the voters are not a finite set that was fixed before the rows were drawn: Theorem 4 covers them"
    return [refused(finite, THEOREM_3, reason), proved(infinite, THEOREM_4, at, delta, (IID,))]


def _refuse_conditions(model: Any, error: Any, rows: Any) -> None:
    if not hasattr(model, "vote_"):
        raise ValueError("it is about medians, and this model adds its voters up")
    if error.unknown:
        raise ValueError("no eps defines which predictions are wrong: give eps")
    refuse_weights(model, rows)
    if model.vote_.trees is None and not model._by_rows:
        raise ValueError("foreign voters: nothing bounds how complex they are")
    if not model.vote_.n_voters:
        raise ValueError("there are no voters")
    if model.confidences_ or model.vote_.leaves_doubt:
        raise ValueError("the confidences of the voters are not constant")


def refuse_weights(model: Any, rows: Any) -> None:
    """ValueError if the rows, or those of the fit, have weights."""
    seen = getattr(model, "seen_", None)
    if rows.weight is not None or (seen is not None and seen.weighted):
        raise ValueError("the rows have weights, so they are no sample of the rows to come")


def tube_margins(model: Any, X: Any, y: Floats, eps: float) -> Floats:
    """The smaller of the two margins of a row: of the voters not above y + eps, and of those not below y - eps.

    L^(rho) of eq. 9 is the share of rows where it is at most rho, for constant confidences.
    """
    n, outputs = model._outputs(X)
    out = np.empty(n)
    for low in range(0, n, ROWS_AT_ONCE):
        high = min(low + ROWS_AT_ONCE, n)
        votes = model.vote_.votes(*outputs(low, high))
        weights = np.broadcast_to(votes.weights, votes.outputs.shape)
        mass = weights.sum(axis=1)
        target = y[low:high, None]
        above = (weights * (votes.outputs > target + eps)).sum(axis=1)
        below = (weights * (votes.outputs < target - eps)).sum(axis=1)
        out[low:high] = (mass - 2 * np.maximum(above, below)) / np.maximum(mass, 1)
    return out


def _complexity(model: Any, rows: Any) -> Counted:
    """Of the sets {h > y} on n rows: the splits of a tree part them, and every leaf has n + 1 places among targets.

    The targets may be moved by any eps, which the leaves can follow: so eps may have been chosen by the rows. A column
    marks at most n + 1 sets, whatever eps.
    """
    n = len(rows.y)
    if model._by_rows:
        return Counted(massart(n, math.log((n + 1) * model.n_features_in_)), False)
    shape, counted = columns_shape(model, rows.table)
    depth = 1 if isinstance(model._family(), Pool) else model._family().max_depth
    splits = n - 1 if depth is None else min(n - 1, 2 ** min(depth, 62) - 1)
    log_count = log_trees(n, shape, splits) + (splits + 1) * math.log((n + 1) / 2)
    return Counted(massart(n, log_count), counted)
