"""The exact binomial bounds of Clopper and Pearson (1934), for errors on held-out rows.

One-sided, each at its own confidence: the truth is above the upper one with probability at most 1 - confidence. For
a model that was chosen by the same rows, `priced_bound` adds the length of its description to the price.
"""

import math
from collections.abc import Sequence

import numpy as np
from scipy.special import betainccinv, betaincinv, gammaln

from electorate.exact import Bools, Floats
from electorate.theory.bounds import Terms
from electorate.theory.pac_bayes import kl_upper

SMALLEST = 600.0  # of a price: up to that, SciPy's inverse needs no logarithms
PRECISION = 1e-9


def binomial_bound(errors: int, rows: int, confidence: float = 0.95) -> float:
    """Return the largest error rate at which at most `errors` errors have probability 1 - confidence.

    Exact for any number of rows drawn from the distribution of new rows.
    """
    _check(errors, rows)
    return 1.0 if errors == rows else float(betaincinv(errors + 1, rows - errors, confidence))


def binomial_floor(errors: int, rows: int, confidence: float = 0.95) -> float:
    """Return the smallest error rate at which at least `errors` errors have probability 1 - confidence."""
    _check(errors, rows)
    return 0.0 if errors == 0 else float(betaincinv(errors, rows - errors + 1, 1 - confidence))


def priced_bound(errors: int, rows: int, price: float) -> float:
    """Return the upper bound that fails with probability exp(-price), which may be tiny.

    price: ln(1 / delta) for one model fixed in advance; for one that was chosen, also its bits times ln 2.
    """
    _check(errors, rows)
    if errors == rows:
        return 1.0
    if price <= SMALLEST:
        return float(betainccinv(errors + 1, rows - errors, math.exp(-price)))
    low, high = errors / rows, 1.0
    while high - low > PRECISION:  # rounded up, so that it stays a bound
        middle = 0.5 * (low + high)
        low, high = (middle, high) if _log_tail(errors, rows, middle) > -price else (low, middle)
    return high


def _log_tail(errors: int, rows: int, rate: float) -> float:
    """Return log P(at most `errors` errors), for a rate of at least errors / rows; sums from the largest term down."""
    largest = gammaln(rows + 1) - gammaln(errors + 1) - gammaln(rows - errors + 1)
    largest += (errors * math.log(rate) if errors else 0.0) + (rows - errors) * math.log1p(-rate)
    fewer = np.arange(errors, 0, -1, dtype=np.float64)
    ratios = fewer * (1 - rate) / ((rows - fewer + 1) * rate)
    return float(largest + math.log1p(np.cumprod(ratios).sum()))


def _check(errors: int, rows: int) -> None:
    if not 0 <= errors <= rows or rows < 1:
        raise ValueError(f"{errors} errors of {rows} rows")


# ---------------------------------------------------------------- other losses


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
    """Return by positive row the share of negative rows with a larger score; ties count half. The mean is 1 - AUC."""
    below = np.sort(scores[~positive])
    low = np.searchsorted(below, scores[positive], side="left")
    high = np.searchsorted(below, scores[positive], side="right")
    return np.asarray(1 - (low + 0.5 * (high - low)) / max(len(below), 1))
