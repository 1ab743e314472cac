"""What the papers prove of training, round by round: from errors, edges and steps, without a look at the rows.

These are bounds and identities of quantities of the training rows; none of them says anything of rows to come.
"""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def product_of_normalisers(mus: Floats) -> Floats:
    """prod sqrt(1 - mu_t^2) after every round: discrete AdaBoost's prod Z_t, and at least those of real ones.

    AdaBoost_R paper, eq. 14 summed over the rows; mu is the edge of a voter of size 1.
    """
    return np.exp(0.5 * np.cumsum(np.log1p(-np.minimum(np.square(mus), 1.0 - 2.0**-53))))


def margin_errors(mus: Floats, theta: float, bayes: float) -> Floats:
    """AdaBoost_R paper, Theorem 1, after every round: the share of rows with a margin (eq. 9) of at most theta.

    bayes: the error of the empirical Bayes rule on identical rows, which the theorem adds.
    """
    return bayes + max(1.0, odds(theta)) * np.exp(-0.5 * np.cumsum(np.square(mus)))


def sharper_margin_errors(mus: Floats, theta: float) -> Floats:
    """What the proof of that theorem gives: a margin is at most theta where exp(-y H) is at least 1 / odds(theta)."""
    return odds(theta) * product_of_normalisers(mus)


def odds(theta: float) -> float:
    """(1 + theta) / (1 - theta)."""
    return (1 + theta) / (1 - theta) if theta < 1 else np.inf


def weak_learning(mus: Floats) -> Floats:
    """exp(-T gamma^2 / 2), gamma the smallest edge so far: exp(-2 gamma'^2 T) for errors of at most 1/2 - gamma'."""
    least = np.minimum.accumulate(np.abs(mus))
    return np.exp(-0.5 * np.arange(1, len(mus) + 1) * least**2)


def quadboost_line(edges: Floats) -> Floats:
    """1 - T gamma^2, gamma the smallest correlation with the residual so far: QuadBoost paper, section 3."""
    least = np.minimum.accumulate(np.abs(edges))
    return 1 - np.arange(1, len(edges) + 1) * least**2


def quadboost_falls(edges: Floats, penalty: str | None, lam: float, most: float | None) -> Floats:
    """By how much the objective falls where a voter of +-1 enters: QuadBoost paper, eq. 6 to 9."""
    size = np.abs(edges)
    if penalty == "l1":
        return np.maximum(size - lam, 0.0) ** 2
    if penalty == "l2":
        return size**2 / (1 + lam)
    if penalty == "linf" and most is not None:
        return np.where(size <= most, size**2, 2 * most * size - most**2)
    return size**2


def vadaboost_identity(errors: Floats) -> Floats:
    """prod (2 e (1 - e) + sqrt(e (1 - e))): cost (3) over n^2 of VadaBoost at lam = 0, with the errors there were."""
    spread = errors * (1 - errors)
    return np.asarray(np.cumprod(2 * spread + np.sqrt(spread)), dtype=np.float64)


def vadaboost_fall(errors: Floats) -> Floats:
    """2 sqrt(e (1 - e)): by at least this factor cost (3) falls; e is the error under u (Theorem 3, Lemma 2)."""
    return 2 * np.sqrt(errors * (1 - errors))


def vadaboost_rounds(error: float) -> float:
    """Theorem 5: how many times AdaBoost's rounds VadaBoost at lam = 0 needs, at a constant error. At most 2."""
    spread = error * (1 - error)
    return float(np.log(4 * spread) / np.log(2 * spread + np.sqrt(spread)))


def median_fall(edges: Floats, rhos: Floats, low: float, high: float) -> Floats:
    """LocMedBoost paper, Lemma 1: a bound on E_rho of every round, for awards from low to high.

    The second fraction of eq. 14 is (A - rho~) / A: its denominator is misprinted.
    """
    spread = high - low
    gamma, rho = (edges - low) / spread, (rhos - low) / spread
    with np.errstate(divide="ignore", invalid="ignore"):
        first = np.where(rho > 0, rho * np.log(rho / gamma), 0.0)
        second = np.where(rho < 1, (1 - rho) * np.log((1 - rho) / (1 - gamma)), 0.0)
    return np.exp(-first - second)
