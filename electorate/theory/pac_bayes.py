"""PAC-Bayes bounds for a weighted vote over voters that were fixed before the rows: weights may be chosen by the rows.

Margins m are y f / |alpha|_1, from -1 to 1. The loss of voter h on a row is (1 - y h) / 2, from 0 to 1; its mean over
the weights rho = |alpha| / |alpha|_1 is q = (1 - m) / 2, and the vote is wrong only where q >= 1/2. All bounds rest on
kl(mean || expectation) <= (KL(rho || pi) + ln(2 sqrt(n) / delta)) / n, for all rho at once (Seeger 2002; Maurer 2004).
"""

import math
from dataclasses import dataclass, field

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import digamma, gammaln

from electorate.exact import Floats
from electorate.theory.bounds import Terms, total

FEWEST = 8  # rows: Maurer's lemma needs them
DRAWN = tuple(2**k for k in range(13))  # voters drawn to stand for the vote
MARGINS = tuple(2.0**-k for k in range(8))
PRECISION = 1e-10


@dataclass(frozen=True)
class WeighedVote:
    """Margins of a vote on n rows. divergence: KL(rho || pi), for voters and a prior fixed before the rows.

    shares: rho, of the voters with a weight. choice: ln of 1 / the prior of these voters and their signs.
    """

    margins: Floats
    divergence: float
    shares: Floats = field(default_factory=lambda: np.ones(1))
    choice: float = 0.0

    @classmethod
    def of(cls, margins: Floats, weights: Floats, n_voters: int) -> "WeighedVote":
        """Return the vote with these weights over `n_voters` voters."""
        used = np.abs(weights[weights != 0])
        return cls(margins, divergence(weights, n_voters), used / used.sum(), choice_of_voters(weights, n_voters))

    @property
    def n(self) -> int:
        return len(self.margins)

    @property
    def losses(self) -> Floats:
        """The mean loss of the voters, by row."""
        return np.clip((1 - self.margins) / 2, 0.0, 1.0)

    def budget(self, delta: float, times: float = 1.0, divergence: float | None = None) -> float:
        """Return the largest kl that the bound allows. times: of the divergence. divergence: of another posterior."""
        if self.n < FEWEST:
            return math.inf
        paid = times * (self.divergence if divergence is None else divergence)
        return (paid + math.log(2 * math.sqrt(self.n) / delta)) / self.n


def divergence(weights: Floats, n_voters: int) -> float:
    """Return the KL of the shares of the weights from the uniform prior over all voters and their complements."""
    shares = np.abs(weights[weights != 0]) / np.abs(weights).sum()
    return float(math.log(2 * n_voters) + (shares * np.log(shares)).sum())


def choice_of_voters(weights: Floats, n_voters: int) -> float:
    """ln of 1 / the prior of the voters with a weight: their number, which of all voters they are, and their signs."""
    k = int(np.count_nonzero(weights))
    sets = gammaln(n_voters + 1) - gammaln(k + 1) - gammaln(n_voters - k + 1)
    return math.log(n_voters) + float(sets) + k * math.log(2)


def binary_kl(p: float, q: float) -> float:
    """Return KL(p || q) of two Bernoulli distributions."""
    first = p * math.log(p / q) if p > 0 else 0.0
    second = (1 - p) * math.log((1 - p) / (1 - q)) if p < 1 else 0.0
    return first + second


def kl_upper(p: float, budget: float) -> float:
    """The largest q with kl(p || q) <= budget, rounded up."""
    low, high = p, 1.0
    if budget == math.inf or p >= 1:
        return 1.0
    while high - low > PRECISION:
        q = 0.5 * (low + high)
        low, high = (q, high) if binary_kl(p, q) <= budget else (low, q)
    return high


def kl_lower(p: float, budget: float) -> float:
    """The smallest q with kl(p || q) <= budget, rounded down."""
    return 1.0 - kl_upper(1.0 - p, budget)


def gibbs_bound(vote: WeighedVote, delta: float) -> Terms:
    """The vote is wrong only where half of the weight is: twice the risk of a voter drawn by the weights."""
    observed = float(vote.losses.mean())
    return {"twice the loss": 2 * observed, "complexity": 2 * (kl_upper(observed, vote.budget(delta)) - observed)}


def margin_bound(vote: WeighedVote, delta: float) -> Terms:
    """Voters drawn by the weights stand for the vote: Langford, Seeger and Megiddo 2001, at the best N and margin."""
    part = delta / (len(DRAWN) * len(MARGINS))
    tried = [_margin_terms(vote, margin, drawn, part) for drawn in DRAWN for margin in MARGINS]
    return min(tried, key=total)


def _margin_terms(vote: WeighedVote, margin: float, drawn: int, delta: float) -> Terms:
    """The mean of N voters strays from the vote by margin / 2 with probability at most exp(-N margin^2 / 8)."""
    observed = float(np.mean(vote.margins <= margin))
    stray = math.exp(-drawn * margin**2 / 8)
    upper = kl_upper(min(1.0, observed + stray), vote.budget(delta, drawn))
    return {
        "margin error": observed,
        "drawing": 2 * stray,
        "complexity": max(0.0, upper - observed - stray),
        "at margin": margin,
        "at drawn": float(drawn),
    }


# ---------------------------------------------------------------- second-order bounds


def tandem_bound(vote: WeighedVote, delta: float) -> Terms:
    """P(q >= 1/2) <= 4 E q^2 (Masegosa et al. 2020)."""
    observed = float(np.mean(vote.losses**2))
    upper = kl_upper(observed, vote.budget(delta, 2.0))
    return {"tandem loss": 4 * observed, "complexity": 4 * (upper - observed)}


def cantelli_bound(vote: WeighedVote, delta: float) -> Terms:
    """P(q >= 1/2) <= E (q - mu)^2 / (1/2 - mu)^2 for every mu < 1/2 (Wu et al. 2021).

    Half of delta bounds E q^2 from above, half bounds E q from below where mu > 0; mu is then free.
    """
    first, second = float(vote.losses.mean()), float(np.mean(vote.losses**2))
    upper = kl_upper(second, vote.budget(delta / 2, 2.0))
    lower = kl_lower(first, vote.budget(delta / 2))

    def at(mu: float, mean: float, square: float) -> float:
        return (square - 2 * mu * mean + mu**2) / (0.5 - mu) ** 2

    # for mu < 0 the mean would be needed from above; mu = 0 is the tandem bound
    best = minimize_scalar(lambda mu: at(mu, lower, upper), bounds=(0.0, 0.4999), method="bounded").x
    mu = min((0.0, float(best)), key=lambda mu: at(mu, lower, upper))
    observed = at(mu, first, second)
    return {"variance": observed, "complexity": at(mu, lower, upper) - observed, "at mu": mu}


# ---------------------------------------------------------------- Dirichlet margins

CONCENTRATIONS: Floats = np.exp2(np.arange(41) / 2)  # K: the posterior may be chosen freely
DIRICHLET_MARGINS: Floats = np.exp2(-np.arange(1.0, 9.0))  # of a drawn vote: each has an equal part of delta
VACUOUS = 1e6  # kl that proves nothing: for too few rows
CELLS = 4000  # of the margins from -1 to 1, which are rounded down


def dirichlet_bound(vote: WeighedVote, delta: float) -> Terms:
    """The vote is wrong only where most drawn votes have a small margin: at the best K and margin."""
    cells, counts = np.unique(np.floor(vote.margins * (CELLS // 2)), return_counts=True)
    margins, part = cells / (CELLS // 2), delta / len(DIRICHLET_MARGINS)
    paid = (vote.budget(part, divergence=dirichlet_divergence(vote, k)) for k in CONCENTRATIONS)
    budgets = np.minimum(list(paid), VACUOUS)
    beyond = np.maximum(margins - DIRICHLET_MARGINS[:, None], 0.0)  # [margin, cell]
    drawn = np.array([(tail(beyond, k) @ counts) / vote.n for k in CONCENTRATIONS])  # [concentration, margin]
    least = 1 - tail(DIRICHLET_MARGINS, CONCENTRATIONS[:, None])  # of the votes drawn for a row that is wrong
    near = (drawn + np.sqrt(2 * drawn * budgets[:, None]) + 2 * budgets[:, None]) / least  # above kl's, to choose by
    k, margin = np.unravel_index(int(np.argmin(near)), near.shape)
    observed, share = float(drawn[k, margin]), float(least[k, margin])
    return {
        "drawn margins": observed / share,
        "complexity": (kl_upper(min(1.0, observed), float(budgets[k])) - observed) / share,
        "at margin": float(DIRICHLET_MARGINS[margin]),
        "at concentration": float(CONCENTRATIONS[k]),
    }


def tail(distance: Floats, concentration: Floats | float) -> Floats:
    """P(the margin of a drawn vote is so far below the vote's own), at most; 1 at distance 0."""
    return np.asarray(np.exp(-(concentration + 1) * np.square(distance) / 2))


def dirichlet_divergence(vote: WeighedVote, concentration: float) -> float:
    """KL of the drawn weights from the prior: voters and signs, and Dirichlet(K theta) from Dirichlet(1, ..., 1)."""
    alpha = concentration * vote.shares
    from_uniform = gammaln(concentration) - gammaln(alpha).sum() - gammaln(len(alpha))
    moved = (alpha - 1) @ (digamma(alpha) - digamma(concentration))
    return vote.choice + max(0.0, float(from_uniform + moved))
