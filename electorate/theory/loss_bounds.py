"""Bounds on losses other than the error, from held-out rows: by class, balanced, by costs, or of any bounded loss.

The model is fixed before the rows are drawn. A count is binomial, with Clopper and Pearson's bound; a mean of losses
from 0 to 1 has kl(mean || expectation) <= ln(1/delta) / n where it is below its expectation (Chernoff).
"""

import math
from collections.abc import Sequence

import numpy as np

from electorate.arrays import Bools, Floats
from electorate.theory.binomial import binomial_bound
from electorate.theory.bounds import Terms
from electorate.theory.pac_bayes import kl_upper


def class_limits(errors: Sequence[int], rows: Sequence[int], delta: float) -> Floats:
    """Upper limits of the error of every class, together with probability 1 - delta; 1 for a class without rows.

    Given the labels, the errors among the rows of a class are binomial.
    """
    each = 1 - delta / len(rows)
    return np.array([binomial_bound(e, n, each) if n else 1.0 for e, n in zip(errors, rows, strict=True)])


def mean_bound(losses: Floats, delta: float, largest: float = 1.0, independent: int | None = None) -> Terms:
    """Return a bound on the expectation of losses from 0 to `largest`.

    independent: for a mean over pairs of rows, how many pairs without a common row there can be (Hoeffding 1963).
    """
    n = len(losses) if independent is None else independent
    observed = float(np.mean(losses)) / largest
    upper = kl_upper(observed, math.log(1 / delta) / n) if n else 1.0
    return {"observed": largest * observed, "confidence": largest * (upper - observed)}


def clipped_log_losses(probabilities: Floats, clip: float) -> Floats:
    """-ln of the probability of each row's label, which is taken as `clip` where it is smaller."""
    return np.asarray(-np.log(np.clip(probabilities, clip, 1.0)))


def misranked(scores: Floats, positive: Bools) -> Floats:
    """By positive row, the share of negative rows with a larger score; ties count half. Their mean is 1 - AUC."""
    below = np.sort(scores[~positive])
    low = np.searchsorted(below, scores[positive], side="left")
    high = np.searchsorted(below, scores[positive], side="right")
    return np.asarray(1 - (low + 0.5 * (high - low)) / max(len(below), 1))
