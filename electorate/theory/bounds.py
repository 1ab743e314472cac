"""Bounds on the risk of a weighted vote, from its margins on rows drawn like new ones and its voters' complexity.

Margins are y f / |alpha|_1 with voters whose outputs are in [-1, 1], so from -1 to 1. Each bound is a sum of named
terms; it holds with probability 1 - delta over the draw of the n rows, for all votes at once: however it was found.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy.special import gammaln

from electorate.exact import Floats

Terms = dict[str, float]

CORNER = 0.1  # of the ramp of `deep`: the part of its width on which its slope changes
FEWEST = 16  # rows: Maurer and Pontil's theorem needs them
NORMS = tuple(2.0 ** (k / 4) for k in range(81))  # at which `vote_bound` looks: every one is allowed
LEVELS = 20  # margins 1/2, 1/4, ... that are tried


# ---------------------------------------------------------------- complexities


class Known(NamedTuple):
    """A bound on a Rademacher complexity, and the rest of delta after its own confidence is paid.

    of_these: it holds for these rows only, so roots count three times and with half of delta (Mohri et al., Thm 3.1).
    """

    r: float
    delta: float
    of_these: bool

    def root(self, n: int, log_times: float = 0.0) -> float:
        """sqrt((log_times + log(1 / delta)) / (2 n)), or for these rows three times that, delta halved."""
        times, delta = (3.0, self.delta / 2) if self.of_these else (1.0, self.delta)
        return times * math.sqrt((log_times - math.log(delta)) / (2 * n))


@dataclass(frozen=True)
class Counted:
    """A complexity from a count of labelings: Massart's sqrt(2 log N / n). of_these: the count is of these rows."""

    r: float
    of_these: bool = False

    def at(self, delta: float) -> Known:
        return Known(self.r, delta, self.of_these)


@dataclass(frozen=True)
class Drawn:
    """A complexity from random signs: the mean best agreement of some draws. A quarter of delta pays for its error."""

    mean: float
    n: int
    draws: int

    def at(self, delta: float) -> Known:
        """One sign moves the mean by 2 / (n draws): McDiarmid's inequality."""
        above = math.sqrt(2 * math.log(4 / delta) / (self.n * self.draws))
        return Known(self.mean + above, 0.75 * delta, True)


Complexity = Counted | Drawn


# ---------------------------------------------------------------- losses for QuadBoost's Theorem 1


@dataclass(frozen=True)
class Loss:
    """An upper bound of 1{z <= 0}. lipschitz: of the loss clipped at 1, which is what the proof uses."""

    name: str
    of: Callable[[Floats], Floats]
    lipschitz: float

    def clipped(self, z: Floats) -> Floats:
        return np.minimum(self.of(z), 1.0)


HINGE = Loss("hinge", lambda z: np.maximum(0.0, 1.0 - z), 1.0)
SQUARED_HINGE = Loss("squared hinge", lambda z: np.maximum(0.0, 1.0 - z) ** 2, 2.0)
QUADRATIC = Loss("quadratic", lambda z: (1.0 - z) ** 2, 2.0)
EXPONENTIAL = Loss("exponential", lambda z: np.exp(np.minimum(-z, 700.0)), 1.0)
LOGISTIC = Loss("logistic", lambda z: np.logaddexp(0.0, -z) / np.log(2.0), 0.5 / np.log(2.0))  # its slope at 0
LOSSES = {loss.name: loss for loss in (HINGE, SQUARED_HINGE, QUADRATIC, EXPONENTIAL, LOGISTIC)}
CHECKED = np.linspace(-64.0, 64.0, 2**16 + 1)  # where a loss of the caller's is checked


def checked_loss(loss: "str | Loss") -> Loss:
    """Return a loss by its name, or one that is at least [z <= 0] and, clipped at 1, as steep as it says at most."""
    if isinstance(loss, str):
        if loss not in LOSSES:
            raise ValueError(f"loss={loss!r}: one of {', '.join(map(repr, LOSSES))}, or a Loss of your own")
        return LOSSES[loss]
    values, clipped = loss.of(CHECKED), loss.clipped(CHECKED)
    low = CHECKED[~(values >= (CHECKED <= 0))]
    if low.size:
        z = float(low[np.argmin(np.abs(low))])
        value = float(loss.of(np.array([z]))[0])
        raise ValueError(f"the {loss.name} loss is {value:.4g} at y f = {z:g}: it must be at least [y f <= 0]")
    steep = np.abs(np.diff(clipped)) / np.diff(CHECKED)
    if not steep.max() <= loss.lipschitz * (1 + 1e-6):
        z = float(CHECKED[int(np.argmax(steep))])
        raise ValueError(
            f"the {loss.name} loss clipped at 1 has the slope {steep.max():.4g} at y f = {z:g}, more than its "
            f"lipschitz={loss.lipschitz:g}"
        )
    return loss


# ---------------------------------------------------------------- QuadBoost, Theorem 1


def vote_bound(
    margins: Floats,
    voters: int,
    complexity: Complexity,
    delta: float,
    loss: Loss = HINGE,
    p: float = 1.0,
    of: float = 1.0,
) -> Terms:
    """QuadBoost's Theorem 1 for a p from 1 on, at the norm of alpha where it is smallest. of: |alpha|_p / |alpha|_1.

    alpha and c alpha make the same decisions, and the theorem holds for all alpha at once: the norm is free. Norms
    below 1 gain nothing (the proof needs max(norm, 1)).
    """
    norms = NORMS if p == 1 else tuple(norm / of for norm in NORMS)
    return min((vote_terms(margins, norm, voters, complexity, delta, loss, p, of) for norm in norms), key=total)


def vote_terms(
    margins: Floats,
    norm: float,
    voters: int,
    complexity: Complexity,
    delta: float,
    loss: Loss = HINGE,
    p: float = 1.0,
    of: float = 1.0,
) -> Terms:
    """Theorem 1 as printed, for |alpha|_1 = norm: with the clipped loss, as its proof has it, and max(|alpha|_p, 1).

    voters: dim(alpha), the number of distinct ones.
    """
    n, known, size = len(margins), complexity.at(delta), max(norm * of, 1.0)
    of_norm = math.sqrt(math.log(math.log2(2 * size)) / n) if size > 1 else 0.0
    return {
        "loss": float(np.mean(loss.clipped(norm * margins))),
        "complexity": 4 * loss.lipschitz * size * known.r * max(voters, 1) ** (1 - 1 / p),
        "confidence": known.root(n, math.log(math.pi**2 * (max(voters, 1) + 1) ** 2 / 6)),
        "norm": (3.0 if known.of_these else 1.0) * of_norm,
        "at norm": norm,
    }


# ---------------------------------------------------------------- DeepBoost, Theorem 1


def deep_bound(margins: Floats, shares: Floats, complexities: list[Complexity], delta: float) -> Terms:
    """Return the smallest bound over margins rho = 1/2, 1/4, ..., with delta_k = 6 delta / (pi k)^2.

    shares: of |alpha|_1 that lies in each of the p families.
    """
    return min((deep_terms(margins, rho, shares, complexities, part) for rho, part in _levels(delta)), key=total)


def _levels(delta: float) -> list[tuple[float, float]]:
    """Return the margins to try, each with its part of delta."""
    return [(2.0**-k, 6 * delta / (math.pi * k) ** 2) for k in range(1, LEVELS)]


def deep_terms(margins: Floats, rho: float, shares: Floats, complexities: list[Complexity], delta: float) -> Terms:
    """DeepBoost's Theorem 1 at one rho, with the constants of the proof in docs/certificates.md.

    One family: the ordinary margin bound, (2 / rho) r. More: n' voters drawn by alpha stand for the vote; how many come
    from which family is one of binom(n' + p - 1, p - 1) cases. A ramp whose slope changes over a tenth of its width
    turns their scatter, at most 1 / n' in variance, into 1 / (rho^2 w (1 - w) n').
    """
    n, p = len(margins), len(complexities)
    known = [one.at(delta / p) if isinstance(one, Drawn) else one.at(delta) for one in complexities]
    worst = Known(0.0, min(one.delta for one in known), any(one.of_these for one in known))
    weighed = float(np.dot(shares, [one.r for one in known]))
    terms = {"margin error": float(np.mean(margins <= rho)), "complexity": 2 / rho * weighed}
    if p == 1:
        return {**terms, "confidence": worst.root(n), "at rho": rho}
    drawn = _voters_drawn(n, p, rho, worst)
    return {
        **terms,
        "complexity": 2 / (rho * (1 - CORNER)) * weighed,
        "drawing": _scatter(rho, drawn),
        "confidence": worst.root(n, _log_cases(drawn, p)),
        "at rho": rho,
    }


def _scatter(rho: float, drawn: int) -> float:
    return 1 / (rho**2 * CORNER * (1 - CORNER) * drawn)


def _log_cases(drawn: int, p: int) -> float:
    """log binom(drawn + p - 1, p - 1)."""
    return float(gammaln(drawn + p) - gammaln(p) - gammaln(drawn + 1))


@lru_cache(maxsize=4096)
def _voters_drawn(n: int, p: int, rho: float, known: Known) -> int:
    """Return the best power of two: any number is allowed that does not depend on the rows."""
    tried = [2**k for k in range(50)]
    return min(tried, key=lambda drawn: _scatter(rho, drawn) + known.root(n, _log_cases(drawn, p)))


def deep_as_printed(margins: Floats, rho: float, shares: Floats, rates: Floats, delta: float) -> float:
    """Theorem 1 of DeepBoost as the paper prints it (its proof is not in the text); infinite where it is void."""
    n, log_p = len(margins), math.log(max(len(rates), 2))
    inside = rho**2 * n / log_p
    if inside <= 1:
        return math.inf
    drawn = math.ceil(4 / rho**2 * math.log(inside))
    roots = 2 / rho * math.sqrt(log_p / n) + math.sqrt(drawn * log_p / n + math.log(2 / delta) / (2 * n))
    return float(np.mean(margins <= rho)) + 4 / rho * float(np.dot(shares, rates)) + roots


# ---------------------------------------------------------------- the empirical Bernstein bound, VadaBoost's Theorem 1


def bernstein_bound(losses: Floats, log_count: float, delta: float) -> Terms:
    """Eq. 2 of VadaBoost: Theorem 6 of Maurer and Pontil (2009) for losses from 0 to 1.

    log_count: of the loss class on any 2 n rows, at the scale 1 / n; M(n) is ten times that.
    """
    n = len(losses)
    if n < FEWEST:
        return {"loss": float(np.mean(losses)), "complexity": math.inf}
    log_m = math.log(10) + log_count - math.log(delta)
    return {
        "loss": float(np.mean(losses)),
        "variance": math.sqrt(18 * float(np.var(losses, ddof=1)) * log_m / n),
        "complexity": 15 * log_m / (n - 1),
    }


def clipped_bound(margins: Floats, log_labelings: float, voters: int, dimension: int, delta: float) -> Terms:
    """Eq. 2 of VadaBoost for the loss min(1, exp(-y f)), at the norm |alpha|_1 = 1, 2, 4, ... where it is smallest.

    On any 2 n rows the outputs of the voters are one of so many labelings; given them, votes of a norm of at most B
    are covered at the scale 1 / n by (1 + 2 B n)^dimension others, and the loss changes by no more than the vote.
    """
    n, found = len(margins), []
    for k in range(LEVELS):
        size = 2.0**k
        cover = voters * log_labelings + dimension * math.log1p(2 * size * n) + log_sizes(voters, dimension)
        level = math.log(math.pi**2 * (k + 1) ** 2 / 6)
        found.append({**bernstein_bound(EXPONENTIAL.clipped(size * margins), cover + level, delta), "at norm": size})
    return min(found, key=total)


def log_votes(n: int, voters: int, dimension: int, log_labelings: float) -> float:
    """Return the log of the number of labelings of n rows by the sign of a vote of `voters` voters.

    Given the outputs of the voters, their votes are half-spaces through 0 in `dimension` dimensions: Sauer's lemma.
    """
    return voters * log_labelings + min(log_sauer(n, dimension), n * math.log(2))


def log_sauer(n: int, dimension: int) -> float:
    """Return the log of the number of subsets of n rows by sets of this VC dimension: sum_i binom(n, i)."""
    count = np.arange(min(dimension, n) + 1)
    return float(np.logaddexp.reduce(gammaln(n + 1) - gammaln(count + 1) - gammaln(n - count + 1)))


def log_sizes(voters: int, dimension: int) -> float:
    """Return the price of a vote size that was not fixed in advance: delta_T = 6 delta / (pi T)^2, for each number."""
    numbers = {voters, dimension}
    return sum(math.log(math.pi**2 * max(number, 1) ** 2 / 6) for number in numbers)


# ---------------------------------------------------------------- LocMedBoost, Theorems 3 and 4


def median_bound(robust_error: Callable[[float], float], n: int, complexity: Complexity, delta: float) -> Terms:
    """P(|f - y| > eps) for a weighted median with constant confidences, at the best rho = 1/2, 1/4, ...

    Theorem 4 of LocMedBoost with its constants, proved by Rademacher complexities: docs/certificates.md. robust_error:
    L^(rho) of eq. 9. complexity: of the sets {h > y} that voters mark on (x, y).
    """
    tried = (median_terms(robust_error(rho), rho, n, complexity.at(part)) for rho, part in _levels(delta))
    return min(tried, key=total)


def median_terms(robust: float, rho: float, n: int, known: Known) -> Terms:
    """Both sides of the tube are votes of their own: the smaller of the two has at most the sum of the complexities."""
    return {"robust error": robust, "complexity": 4 / rho * known.r, "confidence": known.root(n), "at rho": rho}


def smooth_order(n: int, rho: float, dimension: int, columns: int, steepness: float, delta: float) -> float:
    """The order in Theorem 5 of LocMedBoost without its constant: no bound.

    steepness: L / a, of confidences that are at least a and change by at most L per unit of any column.
    """
    logs = columns * math.log(max(steepness / rho, 1.0)) + math.log(dimension)
    logs += 2 * math.log(max(math.log(n / dimension), 1.0)) - 2 * math.log(rho)
    return math.sqrt((math.exp(min(logs, 600.0)) - math.log(delta)) / n)


# ---------------------------------------------------------------- sums


def is_summand(name: str) -> bool:
    """Whether a term adds to the bound: those that begin with "at" or "as" do not."""
    return not name.startswith(("at ", "as "))


def total(terms: Terms) -> float:
    """The sum of the terms that add to the bound."""
    return math.fsum(value for name, value in terms.items() if is_summand(name))
