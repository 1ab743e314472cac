"""The risk of a routed predictor: each part of the inputs is predicted by a model that was trained without it.

Part k has n_k rows, of which its model gets E_k wrong. Given which rows are in which part, E_k is binomial with rate
R_k = P(error | part k), since the model of part k did not see its rows. The risk is sum p_k R_k, with p_k = P(part k).
Models of different parts share training rows, so the E_k are dependent and are never added up. The evidence of each
part against its rate is a random variable with expectation 1, and so is its mean: Markov's inequality needs no
independence. Nor does the union bound, which is smaller for two or three parts.
"""

import math
from collections.abc import Sequence
from functools import lru_cache
from itertools import product
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import betaincc, ndtri

from electorate.exact import Bools, Floats, Hashes, Ints
from electorate.theory.binomial import binomial_bound, priced_bound
from electorate.theory.bounds import Terms

OF_SHARES = 0.1  # the part of delta for the p_k; the rest is for the R_k
OF_FAR = 0.001  # the part of delta for limits of each R_k, beyond which evidence is not computed
FEW = 3  # parts up to which a union bound is smaller
NEARER = 0.25  # standard deviations from the quantile of delta at which evidence begins: any fixed number is valid
CELLS = 1000  # of the rates of a part
LOWEST_PRICE = 1e-9


class RateEvidence(NamedTuple):
    """Against the rates of a part: in the cell that ends at `rates` it is at least `least`."""

    rates: Floats
    least: Floats


def routed_bound(errors: Sequence[int], rows: Sequence[int], delta: float) -> Terms:
    """The largest sum p_k R_k over shares and rates that the counts allow, with probability 1 - delta."""
    of_rates, shares = (1 - OF_SHARES) * delta, Shares(rows, OF_SHARES * delta)
    by = _by_union if len(rows) <= FEW else _by_evidence
    expected, worst = by(errors, rows, of_rates, shares)
    observed = float(sum(errors)) / float(sum(rows))
    return {"observed": observed, "parts": expected - observed, "shares": worst - expected}


def _by_union(errors: Sequence[int], rows: Sequence[int], delta: float, shares: "Shares") -> tuple[float, float]:
    """Return the bound with each R_k at its limit: for the shares of the rows, and for the worst ones."""
    rates = part_limits(errors, rows, delta)
    return float(np.asarray(rows) @ rates) / sum(rows), shares.largest_mean(rates)


def _by_evidence(errors: Sequence[int], rows: Sequence[int], delta: float, shares: "Shares") -> tuple[float, float]:
    """Return the bound where the R_k are at most their far limits, and mean evidence against them is below 1 / delta.

    By weak duality the sum is at most price / delta + sum max_r (p_k r - price w_k evidence_k(r)) for any price, where
    w_k = n_k / n; each maximum is convex in p_k, so chords bound it between the limits of p_k.
    """
    low, high, weights = shares.low, shares.high, np.asarray(rows, dtype=np.float64) / sum(rows)
    far, delta = part_limits(errors, rows, OF_FAR * delta), (1 - OF_FAR) * delta
    curves = [evidence_against(*one, delta) for one in zip(errors, rows, far.tolist(), strict=True)]
    rates, evidence = np.array([curve.rates for curve in curves]), np.array([curve.least for curve in curves])
    evidence *= weights[:, None]

    def at(p: Floats, price: float) -> Floats:
        return np.asarray(np.max(p[:, None] * rates - price * evidence, axis=1))

    def worst(price: float) -> float:
        lower = at(low, price)
        slopes = (at(high, price) - lower) / np.maximum(high - low, 1e-300)
        return price / delta + float(lower.sum() - low @ slopes) + shares.largest_mean(slopes)

    found = minimize_scalar(lambda log: worst(math.exp(log)), bounds=(math.log(LOWEST_PRICE), 0.0), method="bounded")
    price = math.exp(float(found.x))
    return price / delta + float(at(weights, price).sum()), worst(price)


def allows(errors: Ints, rows: Ints, rates: Floats, shares: Floats, delta: float) -> Bools:
    """Whether counts [..., part] allow these rates [..., part] and shares [part] of the parts.

    Then `routed_bound` is not below the mean of the rates, for four parts or more. The converse does not hold: the
    bound is that of the worst rates and shares.
    """
    of_rates, some = (1 - OF_SHARES) * delta, np.maximum(rows, 1)
    n, parts = rows.sum(axis=-1), rows.shape[-1]
    is_near = (rows == 0) | (_cdf(errors, some, rates) >= OF_FAR * of_rates / parts)
    a = begin(some, rates, (1 - OF_FAR) * of_rates)
    evidence = np.square(np.maximum(a - errors, 0.0)) / np.maximum(mean_square(a, some, rates), 1e-300)
    mean = (rows / n[..., None] * evidence).sum(axis=-1)
    sets = np.array(list(product([0, 1], repeat=parts))[1:-1]).T
    tails = _cdf(rows @ sets, n[..., None], np.minimum(shares @ sets, 1.0))
    is_share = tails >= math.exp(-price_of_sums(parts, OF_SHARES * delta))
    return np.asarray(is_near.all(axis=-1) & is_share.all(axis=-1) & (mean < 1 / ((1 - OF_FAR) * of_rates)))


# ---------------------------------------------------------------- the rate of a part


def part_limits(errors: Sequence[int], rows: Sequence[int], delta: float) -> Floats:
    """Upper limits of all R_k, together with probability 1 - delta: Clopper and Pearson's, each at delta / K."""
    each = delta / len(rows)
    return np.array([binomial_bound(e, n, 1 - each) if n else 1.0 for e, n in zip(errors, rows, strict=True)])


@lru_cache(maxsize=4096)
def evidence_against(errors: int, rows: int, far: float, delta: float) -> RateEvidence:
    """((a(r) - E)_+)^2 / E((a(r) - B)_+)^2 for rates r up to `far`, in cells: a(r) is below the mean of the binomial B.

    Its expectation is 1 where r is the rate. a increases with r where it is positive, and B increases stochastically,
    so in a cell the evidence is at least that with a at its lower end in the numerator, and in the denominator a at its
    upper end and B at its lower end. An empty part says nothing.
    """
    if not rows:
        return RateEvidence(np.ones(CELLS + 1), np.zeros(CELLS + 1))
    ends = np.linspace(errors / rows, far, CELLS + 1)
    starts = np.concatenate([[0.0], ends[:-1]])
    least = np.square(np.maximum(begin(rows, starts, delta) - errors, 0.0))
    return RateEvidence(ends, least / np.maximum(mean_square(begin(rows, ends, delta), rows, starts), 1e-300))


def begin(rows: int | Ints, rates: Floats, delta: float) -> Floats:
    """a(r): below the mean, nearer to it than the quantile of delta of a normal distribution, and not below 0."""
    deviations = max(0.0, -float(ndtri(delta)) - NEARER)
    return np.asarray(np.maximum(rows * rates - deviations * np.sqrt(rows * rates * (1 - rates)), 0.0))


def mean_square(a: Floats, rows: int | Ints, rates: Floats) -> Floats:
    """E((a - B)_+)^2 for B binomial with each rate.

    With E(B; B <= j) = n r P(B' <= j - 1) and E(B (B - 1); B <= j) = n (n - 1) r^2 P(B'' <= j - 2), where B' and B''
    have one and two trials less.
    """
    last, mean = np.floor(a), rows * rates
    once = mean * _cdf(last - 1, rows - 1, rates)
    twice = mean * (rows - 1) * rates * _cdf(last - 2, rows - 2, rates)
    return np.asarray(np.maximum(a * a * _cdf(last, rows, rates) - 2 * a * once + once + twice, 0.0))


def _cdf(errors: Floats | Ints, rows: int | Ints, rates: Floats) -> Floats:
    """P(B <= errors)."""
    inside = (errors >= 0) & (errors < rows)  # below: 0; above, also for no trials: 1
    some = np.where(inside, errors, 0.0)
    found = betaincc(some + 1, np.maximum(rows - some, 1.0), rates)
    return np.asarray(np.where(inside, found, ((errors >= 0) & (errors >= rows)).astype(np.float64)))


# ---------------------------------------------------------------- the shares of the parts


def price_of_sums(parts: int, delta: float) -> float:
    """ln of the 2^K - 2 sums of shares, over delta."""
    return parts * math.log(2) + math.log1p(-(2.0 ** (1 - parts))) - math.log(delta)


class Shares:
    """Limits of the p_k that hold together with probability 1 - delta.

    The rows in any set of parts are binomial with the sum of its p_k as rate, so each of the 2^K - 2 sums has an upper
    limit at an equal part of delta. Lower limits are those of the other parts.
    """

    def __init__(self, rows: Sequence[int], delta: float) -> None:
        parts = len(rows)
        self.rows, self.total = np.asarray(rows, dtype=np.int64), int(sum(rows))
        self.price = price_of_sums(parts, delta)
        self.known: dict[frozenset[int], float] = {}
        every = range(parts)
        self.high = np.array([self.limit([part]) for part in every])
        self.low = np.array([1 - self.limit([other for other in every if other != part]) for part in every])

    def limit(self, parts: Sequence[int]) -> float:
        """An upper limit of the sum of the p_k of some parts."""
        if (some := frozenset(parts)) not in self.known:
            self.known[some] = priced_bound(int(self.rows[list(parts)].sum()), self.total, self.price)
        return self.known[some]

    def largest_mean(self, values: Floats) -> float:
        """An upper limit of sum p_k v_k: the value of the last part, and what the first 1, 2, ... have above the next.

        From the largest value down, sum p_k v_k = v_K + sum_j (v_j - v_j+1) (p_1 + ... + p_j).
        """
        order = np.argsort(-values, kind="stable")
        steps = -np.diff(values[order])
        return float(values[order[-1]]) + math.fsum(
            step * self.limit(order[: count + 1].tolist()) for count, step in enumerate(steps.tolist()) if step > 0
        )


def heavy_share(hashes: Hashes) -> float:
    """The share of rows that have the most frequent input."""
    _, counts = np.unique(hashes, return_counts=True)
    return float(counts.max(initial=0)) / max(len(hashes), 1)
