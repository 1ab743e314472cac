"""The risk of a routed predictor: each part of the inputs is answered by a model that was trained without it.

Part k has n_k rows, of which its model gets E_k wrong. Given which rows are in which part, E_k is binomial with rate
R_k = P(error | part k), since the model of part k did not see its rows. The risk is sum p_k R_k, with p_k = P(part k).
Models of different parts share training rows, so the E_k are dependent and are never added up: each has its own bound.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from electorate.theory.binomial import binomial_bound, binomial_floor
from electorate.theory.bounds import Terms

OF_SHARES = 0.1  # the part of delta for the p_k; the rest is split evenly over the parts

Floats = NDArray[np.float64]


def routed_bound(errors: Sequence[int], rows: Sequence[int], delta: float) -> Terms:
    """The largest sum p_k u_k over a simultaneous confidence set for p, where u_k bounds R_k; an empty part has 1."""
    limits = part_limits(errors, rows, (1 - OF_SHARES) * delta)
    counted = np.asarray(rows, dtype=np.float64)
    observed, shares = float(sum(errors)) / float(counted.sum()), counted / counted.sum()
    expected = float(shares @ limits)
    worst = largest_mean(limits, *share_limits(rows, OF_SHARES * delta))
    return {"observed": observed, "parts": expected - observed, "shares": worst - expected}


def part_limits(errors: Sequence[int], rows: Sequence[int], delta: float) -> Floats:
    """Upper limits of all R_k, together with probability 1 - delta: Clopper and Pearson's, each at delta / K."""
    each = delta / len(rows)
    return np.array([binomial_bound(e, n, 1 - each) if n else 1.0 for e, n in zip(errors, rows, strict=True)])


def share_limits(rows: Sequence[int], delta: float) -> tuple[Floats, Floats]:
    """Lower and upper limits of all p_k, together with probability 1 - delta: n_k is binomial with the rate p_k."""
    total, each = int(sum(rows)), 1 - delta / (2 * len(rows))
    low = np.array([binomial_floor(int(n), total, each) for n in rows])
    return low, np.array([binomial_bound(int(n), total, each) for n in rows])


def largest_mean(values: Floats, low: Floats, high: Floats) -> float:
    """The largest sum p_k v_k over shares between the limits that sum to 1: the largest values get all they can."""
    left, total = 1.0 - float(low.sum()), float(low @ values)
    for place in np.argsort(-values, kind="stable"):
        more = min(left, float(high[place] - low[place]))
        total, left = total + more * float(values[place]), left - more
    return total if left <= 0 else total + left * float(values.max(initial=0.0))


def heavy_share(hashes: NDArray[np.uint64]) -> float:
    """The share of rows that have the most frequent input."""
    _, counts = np.unique(hashes, return_counts=True)
    return float(counts.max(initial=0)) / max(len(hashes), 1)
