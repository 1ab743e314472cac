"""Statistics of losses per row: an exact bound, standard errors, the chance that one algorithm beats another.

Losses are paired: the same rows for every algorithm.
"""

import numpy as np
from numpy.typing import NDArray

from electorate.theory.binomial import binomial_bound

__all__ = ["binomial_bound", "chance_of_worse", "posterior_means", "standard_error"]

DRAWS = 4_000
CELLS_AT_ONCE = 4_000_000

Losses = NDArray[np.float64]  # [algorithm, row]


def standard_error(losses: NDArray[np.float64], weight: NDArray[np.float64] | None = None) -> float:
    """Of the (weighted) mean over rows, for the models as they were trained."""
    if weight is None:
        return float(np.std(losses) / np.sqrt(len(losses)))
    off = weight * (losses - np.average(losses, weights=weight))
    return float(np.sqrt(np.sum(off**2)) / np.sum(weight))


def posterior_means(
    losses: Losses, seed: int, draws: int = DRAWS, weight: NDArray[np.float64] | None = None, factor: float = 1.0
) -> NDArray[np.float64]:
    """[draw, algorithm] of mean losses under weights of the rows drawn from a Dirichlet(1, ..., 1).

    Rows with equal outcomes are one: their weights add up, and so do the parameters of the Dirichlet (Rubin 1981; as
    in Lacoste et al. 2012, "Bayesian comparison of machine learning algorithms on single and multiple datasets").
    Before any row is seen there is one for each algorithm that it alone gets wrong: of two algorithms, the share of
    the rows between them that the first gets wrong is then uniform. Without them one row would decide everything.
    weight: of the rows; a drawn mean is then that of weight times loss over that of the weight.
    factor: each row counts as 1 / factor of a row, which multiplies the variance by about as much.
    """
    seen = np.concatenate([losses.T, _imagined(losses)])
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


def _imagined(losses: Losses) -> NDArray[np.float64]:
    """[row, algorithm]: as far apart as any row tells algorithms apart, 1 for labels unless all agree."""
    return np.eye(len(losses)) * float(np.ptp(losses, axis=0).max(initial=0.0))


def chance_of_worse(means: NDArray[np.float64], first: int) -> NDArray[np.float64]:
    """That each algorithm's loss is larger than that of `first`; half where they are equal."""
    more = means - means[:, [first]]
    tiny = 1e-12 * means[:, [first]]
    return np.asarray(((more > tiny) + 0.5 * (np.abs(more) <= tiny)).mean(axis=0))
