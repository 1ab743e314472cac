"""A margin bound for a weighted vote, by weights that are drawn near its own (Biggs, Zantedeschi and Guedj 2022).

Weights are drawn from a Dirichlet distribution with the parameters K theta, where theta are the shares of the vote's
weights. The margin of the drawn vote has the vote's own margin as its mean, and is sub-Gaussian with variance
1 / (K + 1). The prior draws the number of voters, the voters, their signs, and then weights uniformly:
docs/certificates.md.
"""

import numpy as np
from scipy.special import digamma, gammaln

from electorate.arrays import Floats
from electorate.theory.bounds import Terms
from electorate.theory.pac_bayes import WeighedVote, kl_upper

CONCENTRATIONS: Floats = np.exp2(np.arange(41) / 2)  # K: the posterior may be chosen freely
MARGINS: Floats = np.exp2(-np.arange(1.0, 9.0))  # of a drawn vote: each has an equal part of delta
VACUOUS = 1e6  # kl that proves nothing: for too few rows
CELLS = 4000  # of the margins from -1 to 1, which are rounded down


def dirichlet_bound(vote: WeighedVote, delta: float) -> Terms:
    """The vote is wrong only where most drawn votes have a small margin: at the best K and margin."""
    cells, counts = np.unique(np.floor(vote.margins * (CELLS // 2)), return_counts=True)
    margins, part = cells / (CELLS // 2), delta / len(MARGINS)
    paid = (vote.budget(part, divergence=dirichlet_divergence(vote, k)) for k in CONCENTRATIONS)
    budgets = np.minimum(list(paid), VACUOUS)
    beyond = np.maximum(margins - MARGINS[:, None], 0.0)  # [margin, cell]
    drawn = np.array([(tail(beyond, k) @ counts) / vote.n for k in CONCENTRATIONS])  # [concentration, margin]
    least = 1 - tail(MARGINS, CONCENTRATIONS[:, None])  # of the votes drawn for a row that is wrong
    near = (drawn + np.sqrt(2 * drawn * budgets[:, None]) + 2 * budgets[:, None]) / least  # above kl's, to choose by
    k, margin = np.unravel_index(int(np.argmin(near)), near.shape)
    observed, share = float(drawn[k, margin]), float(least[k, margin])
    return {
        "drawn margins": observed / share,
        "complexity": (kl_upper(min(1.0, observed), float(budgets[k])) - observed) / share,
        "at margin": float(MARGINS[margin]),
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
