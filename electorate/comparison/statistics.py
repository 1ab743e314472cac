"""Statistics of paired losses (the same rows for every algorithm): standard errors and posterior probabilities."""

import numpy as np
from numpy.typing import NDArray

DRAWS = 4_000
CELLS_AT_ONCE = 4_000_000

Floats = NDArray[np.float64]


def standard_error(losses: Floats, weight: Floats | None = None) -> float:
    """Of the (weighted) mean over rows, for the models as they were trained."""
    if weight is None:
        return float(np.std(losses) / np.sqrt(len(losses)))
    off = weight * (losses - np.average(losses, weights=weight))
    return float(np.sqrt(np.sum(off**2)) / np.sum(weight))


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
