"""Decides which differences between algorithms are larger than chance explains, and how likely each is the best.

Both use one covariance matrix of the mean losses, enlarged for the randomness of training. The first of K algorithms is
selected on the same rows that measure its lead, so a difference is "real" only if it is too large for any pair of K
equal algorithms.

The model: mean losses are roughly normal around the expected losses over draws of rows and seeds. See docs/compare.md
for what is assumed and benchmarks/VERDICTS.md for how often the verdict is wrong.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy import special

LEVEL = 0.05  # probability of any false "real", over all pairs
DRAWS = 20_000
TABULATED = (*range(1, 11), 12, 15, 20, 24, 30, 40, 60, 120)  # degrees of freedom; others are rounded down to these
MANY = 1_000  # degrees of freedom from which infinity is used

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class RowLosses:
    """Losses of all algorithms on the same rows.

    losses: [algorithm, row]. fold: the fold that tested each row. n_folds: folds of the cross-validation, which may be
    more than were run. weight: of the rows, or None.
    """

    losses: Floats
    fold: NDArray[np.int64]
    n_folds: int
    weight: Floats | None = None

    @property
    def share(self) -> Floats:
        """Each row's share of a mean loss."""
        if self.weight is None:
            return np.full(self.losses.shape[1], 1 / self.losses.shape[1])
        relative = self.weight / np.max(self.weight)  # the sum of the weights may overflow
        return np.asarray(relative / np.sum(relative))


@dataclass(frozen=True)
class Verdicts:
    """real: whether each algorithm is worse than the first beyond chance. chance_of_best: sums to 1.

    The first has a chance_of_best of at least 0.95 exactly if its lead over every other algorithm is real.
    """

    real: NDArray[np.bool_]
    chance_of_best: Floats


def judge(rows: RowLosses, first: int, seed: int = 0) -> Verdicts:
    """Compare every algorithm with the first, which must have the least mean loss."""
    mean = rows.losses @ rows.share
    covariance = covariance_of_means(rows)
    spread = np.diag(covariance)
    variance = spread + spread[first] - 2 * covariance[first]
    gap = mean - mean[first]
    real = (gap > 0) & (gap > critical(max(2, len(mean)), np.inf) * np.sqrt(np.maximum(variance, 0.0)))
    chance = _chance_of_best(mean, covariance, ~real, seed)
    if len(chance) > 1:  # scaled, so that the first has 0.95 or more exactly if its lead over all others is real
        least, most = (1 - LEVEL, 1.0) if np.sum(~real) == 1 else (0.0, 1 - LEVEL - 0.01)
        wanted, others = float(np.clip(chance[first], least, most)), 1 - chance[first]
        even = (1 - wanted) / (len(chance) - 1)
        rest = chance * ((1 - wanted) / others) if others > 0 else even
        chance = np.where(np.arange(len(chance)) == first, wanted, rest)
    return Verdicts(real, chance)


def is_better(rows: RowLosses, one: int, other: int) -> bool:
    """Whether the best algorithm has a lower loss than the baseline beyond chance, by the test over rows alone.

    One-sided, with the correction of Bonferroni for the choice of the best. The test over folds would have few degrees
    of freedom where there are few folds, and the baseline does not vary with its training rows.
    """
    difference = np.eye(len(rows.losses))[other] - np.eye(len(rows.losses))[one]
    plain = covariance_over_rows(rows) + np.diag(_smallest_contrasts(rows) ** 2)
    variance = training_factor(rows.n_folds) * float(difference @ plain @ difference)
    degrees = max(1.0, 1 / float(np.sum(rows.share**2)) - 1)
    limit = -float(special.stdtrit(degrees, LEVEL / max(1, len(rows.losses) - 1)))
    return float(difference @ rows.losses @ rows.share) > limit * np.sqrt(max(variance, 0.0))


# ---------------------------------------------------------------- the covariance of the mean losses


def covariance_of_means(rows: RowLosses) -> Floats:
    """[algorithm, algorithm] of mean losses, over draws of the rows and over training.

    The plain covariance over rows is multiplied so that a difference has to pass two tests. One is over rows, with the
    variance of Nadeau and Bengio (2003) for training sets that overlap. The other is over folds, and matters where
    training in a fold changes results more than that correction allows.
    """
    plain = covariance_over_rows(rows)
    n_algorithms = len(rows.losses)
    if n_algorithms < 2:
        return plain
    over_rows = training_factor(rows.n_folds) * critical(n_algorithms, 1 / np.sum(rows.share**2) - 1) ** 2
    factor = max(over_rows, _factor_over_folds(rows, plain))
    rounding = 1e-6 * np.abs(rows.losses) @ rows.share  # keeps the matrix regular where algorithms have equal losses
    more = np.diag(_smallest_contrasts(rows) ** 2 + rounding**2)
    return (plain + more) * (factor / critical(n_algorithms, np.inf) ** 2)


def training_factor(n_folds: int) -> float:
    """By how much Nadeau and Bengio enlarge the variance of a mean over all folds, 1/F to 1/F + n_test/n_train."""
    return 1 + n_folds / (n_folds - 1)


def covariance_over_rows(rows: RowLosses) -> Floats:
    """Of the weighted mean losses, by leaving out one row at a time: this exposes rows of dominating weight."""
    share = rows.share
    centred = rows.losses - (rows.losses @ share)[:, None]
    influence = centred * (share / np.maximum(1 - share, 0.5))
    heaviest = int(np.argmax(share))
    if share[heaviest] > 0.5:  # the residual of such a row is inexact, or 0
        rest = np.where(np.arange(len(share)) == heaviest, 0.0, np.maximum(share, np.finfo(np.float64).tiny))
        influence[:, heaviest] = share[heaviest] * (rows.losses[:, heaviest] - rows.losses @ (rest / np.sum(rest)))
    return np.asarray(influence @ influence.T)


def _smallest_contrasts(rows: RowLosses) -> Floats:
    """For each algorithm, one more row on which it alone errs: how much that would move its mean.

    It counts as much as a typical row (root mean square) of those that separate it from the nearest other algorithm.
    With this term a few rows without a counterexample do not have a variance of 0 (the adjustment of Agresti and Min
    for paired proportions).
    """
    share, k = rows.share, len(rows.losses)
    nearest = np.zeros(k)
    for a in range(k):
        moved = share * (rows.losses - rows.losses[a])
        apart = np.sqrt(np.sum(moved**2, axis=1) / np.maximum(1, np.sum(moved != 0, axis=1)))
        nearest[a] = np.min(apart[apart > 0], initial=np.inf)
    return np.where(np.isinf(nearest), 0.0, nearest)


def _factor_over_folds(rows: RowLosses, plain: Floats) -> float:
    """The multiple of the plain covariance by which a difference passes the test over folds.

    The variance between folds relative to that over rows is averaged over all pairs: one pair in 5 folds has 4 degrees
    of freedom, too few for several algorithms. Pairs that vary together count for fewer degrees.
    """
    folds, fold = np.unique(rows.fold, return_inverse=True)
    k, n = len(rows.losses), len(folds)
    one, other = np.triu_indices(k, 1)
    contrasts = np.eye(k)[one] - np.eye(k)[other]
    over_rows = contrasts @ plain @ contrasts.T
    variance = np.diag(over_rows)
    differ = variance > 1e-12 * (np.diag(plain)[one] + np.diag(plain)[other])
    if n < 2 or not np.any(differ):
        return 0.0
    share = np.bincount(fold, rows.share)
    sums = contrasts @ np.array([np.bincount(fold, rows.share * losses) for losses in rows.losses])
    off = sums - sums.sum(axis=1, keepdims=True) * share
    ratio = n / (n - 1) * float(np.mean(np.sum(off**2, axis=1)[differ] / variance[differ]))
    shared = over_rows[np.ix_(differ, differ)] ** 2 / np.outer(variance[differ], variance[differ])
    return ratio * critical(k, (n - 1) / float(np.mean(shared))) ** 2


def critical(n_algorithms: int, degrees: float) -> float:
    """The largest |t| of all pairs among equal algorithms stays below this in 95% of cases (Tukey and Kramer)."""
    if degrees >= MANY:
        return _critical(n_algorithms, np.inf)
    return _critical(n_algorithms, max(d for d in TABULATED if d <= max(1.0, degrees + 1e-9)))


@lru_cache(maxsize=1_000)
def _critical(n_algorithms: int, degrees: float) -> float:
    """The quantile of the studentized range over sqrt(2); scipy's takes up to a second, this a few milliseconds."""
    ranges = np.linspace(0.0, 14.0, 1_401)
    z, step = np.linspace(-8.5, 8.5, 171, retstep=True)
    density = np.exp(-0.5 * z**2) / np.sqrt(2 * np.pi)
    between = special.ndtr(z) - special.ndtr(z - ranges[:, None])
    below = n_algorithms * step * np.sum(density * between ** (n_algorithms - 1), axis=1)  # of normal ranges
    if np.isinf(degrees):
        return float(np.interp(1 - LEVEL, below, ranges)) / np.sqrt(2)
    probability = (np.arange(4_000) + 0.5) / 4_000
    deviation = np.sqrt(special.chdtri(degrees, probability) / degrees)
    low, high = 0.0, 1e3
    for _ in range(60):
        middle = (low + high) / 2
        is_below = np.mean(np.interp(middle * deviation, ranges, below)) < 1 - LEVEL
        low, high = (middle, high) if is_below else (low, middle)
    return (low + high) / 2 / np.sqrt(2)


# ---------------------------------------------------------------- the chance of being the best


def _chance_of_best(mean: Floats, covariance: Floats, tied: NDArray[np.bool_], seed: int) -> Floats:
    """Posterior probability of the least expected loss; tied: the first and all that are not "real".

    Expected losses of the tied are draws from one normal distribution, whose variance is estimated and often 0: then
    they are equally likely. Without this shrinkage the best of K equal algorithms would look good by luck alone. The
    others have a flat prior, since one bad algorithm carries no information on the differences between good ones.
    """
    k, n_tied = len(mean), int(np.sum(tied))
    if k == 1 or not np.any(covariance):
        return tied / n_tied
    between = _variance_between(mean[tied], covariance[np.ix_(tied, tied)]) if n_tied > 1 else np.inf
    design = np.eye(k)
    if between == 0:  # one expected loss for all tied
        if n_tied == k:
            return np.full(k, 1 / k)
        design = np.column_stack([tied.astype(np.float64), design[:, ~tied]])
    inverse = np.linalg.inv(covariance)
    precision = design.T @ inverse @ design
    if 0 < between < np.inf:
        precision[np.ix_(tied, tied)] += (np.eye(n_tied) - 1 / n_tied) / between
    posterior = np.linalg.inv(precision)
    centre = posterior @ design.T @ inverse @ mean
    draws = np.random.default_rng([seed, 3]).standard_normal((DRAWS, len(centre)))
    drawn = centre + draws @ np.linalg.cholesky((posterior + posterior.T) / 2).T
    best = np.bincount(np.argmin(drawn, axis=1), minlength=len(centre)) / DRAWS
    return np.asarray(design @ (best / design.sum(axis=0)))


def _variance_between(mean: Floats, covariance: Floats) -> float:
    """Restricted maximum likelihood of the variance of expected losses, over a grid that starts with 0."""
    from scipy.linalg import helmert

    contrasts = helmert(len(mean))
    noise, axes = np.linalg.eigh(contrasts @ covariance @ contrasts.T)
    square = (axes.T @ contrasts @ mean) ** 2
    noise = np.maximum(noise, np.finfo(np.float64).tiny)
    largest = max(float(square.max()), float(noise.max()))
    grid = np.append(0.0, largest * np.geomspace(1e-6, 10.0, 500))[:, None]
    unlikely = np.sum(np.log(grid + noise) + square / (grid + noise), axis=1)
    return float(grid[np.argmin(unlikely), 0])
