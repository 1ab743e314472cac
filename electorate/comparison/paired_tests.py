"""Tests of two or more algorithms over several data sets, each a function of a few numbers.

Tests of a hypothesis return two-sided p-values; the Poisson binomial test returns a probability. They are exact where
enumeration is feasible.
"""

import numpy as np
from scipy import special

from electorate.exact import Floats

DRAWS = 4_000
CELLS_AT_ONCE = 4_000_000
EXACT_RANKS = 60  # up to so many differences the distribution of the signed ranks is exact


# ---------------------------------------------------------------- the Poisson binomial test


def chance_of_better(wins: float, losses: float) -> float:
    """The probability that one algorithm errs less often than another on one data set.

    wins: rows that only the other gets wrong; losses: rows that only the first gets wrong. The share of wins among them
    has a uniform prior, so a Beta(wins + 1, losses + 1) posterior; the result is the probability that it exceeds 1/2
    (Lacoste, Laviolette and Marchand 2012, "Bayesian comparison of machine learning algorithms on single and multiple
    datasets").
    """
    if not (wins >= 0 and losses >= 0):
        raise ValueError(f"{wins} wins and {losses} losses: counts of rows cannot be negative")
    return float(special.betainc(losses + 1, wins + 1, 0.5))


def chance_if_independent(error: float, other: float, rows: int) -> float:
    """`chance_of_better` from two error rates alone, as if the errors of the two algorithms were independent."""
    return chance_of_better(rows * other * (1 - error), rows * error * (1 - other))


def chances_of_all_pairings(errors: int, others: int, rows: int) -> tuple[float, float]:
    """The least and the largest `chance_of_better` that numbers of errors allow, over all numbers of common errors."""
    both = range(max(0, errors + others - rows), min(errors, others) + 1)
    chances = [chance_of_better(others - k, errors - k) for k in both]
    return min(chances), max(chances)


def poisson_binomial(chances: Floats) -> Floats:
    """Probabilities of 0, 1, ..., n successes in n independent trials with these probabilities."""
    probability = np.ones(1)
    for chance in np.asarray(chances, dtype=np.float64):
        probability = np.append(probability * (1 - chance), 0.0) + np.append(0.0, probability * chance)
    return probability


def chance_of_majority(chances: Floats) -> float:
    """The Poisson binomial test: the probability that an algorithm is better on more than half of the data sets.

    chances: of being better on each. Exactly half of the data sets counts half, so the probabilities of two algorithms
    add up to 1.
    """
    probability = poisson_binomial(chances)
    more = 2 * np.arange(len(probability)) - (len(probability) - 1)  # wins minus losses
    return float(probability[more > 0].sum() + 0.5 * probability[more == 0].sum())


# ---------------------------------------------------------------- losses other than 0 and 1, by simulation


def posterior_means(
    losses: Floats, seed: int, draws: int = DRAWS, weight: Floats | None = None, factor: float = 1.0
) -> Floats:
    """[draw, algorithm] of mean losses under weights of the rows drawn from a Dirichlet(1, ..., 1).

    losses: [algorithm, row]. Rows with equal outcomes are merged: their weights add up, and so do the parameters of the
    Dirichlet (Rubin 1981; as in Lacoste et al. 2012, "Bayesian comparison of machine learning algorithms on single and
    multiple datasets"). The prior is one row for each algorithm that it alone gets wrong: of two algorithms, the share
    of the rows between them that the first gets wrong is then uniform. Without the prior one row would decide.
    weight: of the rows; a drawn mean is then that of weight times loss over that of the weight.
    factor: each row counts as 1 / factor of a row, which multiplies the variance by about as much.
    """
    prior = np.eye(len(losses)) * float(np.ptp(losses, axis=0).max(initial=0.0))  # as far apart as any row shows
    seen = np.concatenate([losses.T, prior])
    if weight is not None:
        seen = np.column_stack([seen, np.append(weight / np.mean(weight), np.ones(len(losses)))])
    patterns, place = np.unique(seen, axis=0, return_inverse=True)
    counts = np.bincount(place.ravel(), np.append(np.full(losses.shape[1], 1 / factor), np.ones(len(losses))))
    of_row = np.ones(len(patterns)) if weight is None else patterns[:, -1]
    lost = of_row[:, None] * patterns[:, : len(losses)]
    rng = np.random.default_rng([seed, 3])
    means = np.empty((draws, len(losses)))
    at_once = max(1, CELLS_AT_ONCE // len(patterns))
    for low in range(0, draws, at_once):
        high = min(draws, low + at_once)
        drawn = rng.standard_gamma(counts, size=(high - low, len(counts)))
        means[low:high] = (drawn @ lost) / (drawn @ of_row)[:, None]
    return means


def chance_of_worse(means: Floats, first: int) -> Floats:
    """The probability that each algorithm's loss is larger than that of `first`; equal ones count half."""
    more = means - means[:, [first]]
    tiny = 1e-12 * means[:, [first]]
    return np.asarray(((more > tiny) + 0.5 * (np.abs(more) <= tiny)).mean(axis=0))


# ---------------------------------------------------------------- two algorithms


def sign_test(difference: Floats) -> float:
    """The exact sign test of wins and losses; data sets without a difference are left out."""
    wins, losses = int(np.sum(difference < 0)), int(np.sum(difference > 0))
    if wins + losses == 0:
        return 1.0
    return float(min(1.0, 2 * special.bdtr(min(wins, losses), wins + losses, 0.5)))


def wilcoxon_test(difference: Floats) -> float:
    """The signed-rank test (Wilcoxon 1945): differences of 0 are left out, equal ones share a rank.

    Exact up to 60 differences, with ties too; beyond, a normal approximation with the correction for ties.
    """
    there = difference[difference != 0]
    if not len(there):
        return 1.0
    ranks = ranks_of(np.abs(there))
    lower = min(float(ranks[there > 0].sum()), float(ranks[there < 0].sum()))
    if len(there) <= EXACT_RANKS:
        return float(min(1.0, 2 * _share_of_signs(ranks, lower)))
    deviation = np.sqrt(np.sum(ranks**2) / 4)
    return float(min(1.0, 2 * special.ndtr((lower - ranks.sum() / 2) / deviation)))


def _share_of_signs(ranks: Floats, most: float) -> float:
    """The share of all sign patterns whose positive ranks add up to at most `most`."""
    whole = np.rint(2 * ranks).astype(np.int64)  # shared ranks are halves
    probability = np.zeros(int(whole.sum()) + 1)
    probability[0] = 1.0
    for rank in whole:
        probability[rank:] = 0.5 * (probability[rank:] + probability[:-rank])
        probability[:rank] *= 0.5
    return float(probability[: int(np.rint(2 * most)) + 1].sum())


def t_test(difference: Floats) -> float:
    """Student's paired t-test, which assumes normal differences."""
    n = len(difference)
    if n < 2:
        return 1.0
    mean, deviation = float(np.mean(difference)), float(np.std(difference, ddof=1))
    if deviation <= 1e-15 * float(np.abs(difference).max(initial=0.0)):
        return 1.0 if mean == 0 else 0.0
    return float(2 * special.stdtr(n - 1, -abs(mean) / deviation * np.sqrt(n)))


# ---------------------------------------------------------------- all algorithms


def ranks_of(values: Floats) -> Floats:
    """Ranks from 1 for the least; equal values share the mean of their ranks."""
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return np.asarray((last - (counts - 1) / 2)[place])


def rank_rows(errors: Floats) -> Floats:
    """[data set, algorithm]: ranks within each data set."""
    return np.array([ranks_of(row) for row in errors])


def friedman_test(errors: Floats) -> tuple[float, float]:
    """The statistic and p-value of the hypothesis of equal ranks (Friedman 1937), corrected for ties.

    errors: [data set, algorithm]. The p-value uses the chi-square approximation, with one degree of freedom less than
    there are algorithms.
    """
    n, k = errors.shape
    ranks = rank_rows(errors)
    spread = float(np.sum(ranks**2) - n * k * (k + 1) ** 2 / 4)
    if k < 2 or spread == 0:
        return 0.0, 1.0
    sums = ranks.sum(axis=0)
    statistic = (k - 1) * float(np.sum((sums - n * (k + 1) / 2) ** 2)) / spread
    return statistic, float(special.chdtrc(k - 1, statistic))


def nemenyi_test(errors: Floats) -> Floats:
    """[algorithm, algorithm] p-values of equal mean ranks, for all pairs at once (Nemenyi 1963; Demsar 2006)."""
    from scipy.stats import studentized_range

    n, k = errors.shape
    mean = rank_rows(errors).mean(axis=0)
    apart = np.abs(mean[:, None] - mean) / np.sqrt(k * (k + 1) / (6 * n))
    pairs = np.triu_indices(k, 1)
    p = np.ones((k, k))
    p[pairs] = [float(studentized_range.sf(q * np.sqrt(2), k, np.inf)) for q in apart[pairs]]
    return np.asarray(np.minimum(p, p.T))


def critical_difference(n_sets: int, n_algorithms: int, level: float = 0.05) -> float:
    """Mean ranks farther apart than this differ at the level, over all pairs at once (Nemenyi)."""
    from scipy.stats import studentized_range

    q = float(studentized_range.ppf(1 - level, n_algorithms, np.inf)) / np.sqrt(2)
    return float(q * np.sqrt(n_algorithms * (n_algorithms + 1) / (6 * n_sets)))


def holm(p: Floats) -> Floats:
    """p-values of several tests, adjusted to bound the probability of any false positive (Holm 1979)."""
    order = np.argsort(p, kind="stable")
    raised = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    adjusted = np.empty(len(p))
    adjusted[order] = np.minimum(1.0, raised)
    return adjusted
