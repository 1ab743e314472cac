"""Second-order bounds for a weighted vote: how often two voters, drawn by the weights, are wrong together.

q is the weight that is wrong on a row (electorate/theory/pac_bayes.py), and E q^2 the tandem loss of two voters drawn
independently. Its PAC-Bayes bound counts KL(rho || pi) twice, since rho^2 and pi^2 are its posterior and its prior.
"""

import numpy as np
from scipy.optimize import minimize_scalar

from electorate.theory.bounds import Terms
from electorate.theory.pac_bayes import WeighedVote, kl_lower, kl_upper


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
