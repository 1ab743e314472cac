"""The outputs of a voter's leaves, from the weight of each label in them.

Two labels: one output, positive for label 1. K > 2 labels: one output per label.
"""

import numpy as np
from numpy.typing import NDArray

from electorate import special

FEW = 100  # outputs of leaves that take less time in Python than in NumPy


def leaf_outputs(kind: str, sums: NDArray[np.int64], smoothing: float) -> NDArray[np.float64]:
    """outputs[leaf, output] from sums[leaf, label]. smoothing: added to each share of the total weight."""
    if kind == "label":
        return label_outputs(sums)
    share = sums / max(int(sums.sum()), 1) + smoothing
    if kind == "log_odds":
        return log_odds_outputs(share)
    n_labels, total = share.shape[1], special.ordered_sum(share, axis=1)[:, None]
    p = np.divide(share, total, out=np.full_like(share, 1 / n_labels), where=total > 0)
    return p[:, 1:] - p[:, :1] if n_labels == 2 else p - 1 / n_labels  # "gentle": p(+) - p(-), or p_k - 1/K


def label_outputs(sums: NDArray[np.int64]) -> NDArray[np.float64]:
    """The heaviest label of each leaf (of equals, the first): h = +-1, or 1 for one of K labels."""
    if sums.shape[1] == 2 and len(sums) <= FEW:
        return np.array([[1.0 if second > first else -1.0] for first, second in sums.tolist()])
    if sums.shape[1] == 2:
        return np.where(sums[:, 1] > sums[:, 0], 1.0, -1.0)[:, None]
    return np.eye(sums.shape[1])[np.argmax(sums, axis=1)]


def log_odds_outputs(share: NDArray[np.float64]) -> NDArray[np.float64]:
    """Half the log-odds; for K > 2 SAMME.R's (K-1) (log p_k - mean log p). 0 for a leaf without weight."""
    n_labels = share.shape[1]
    with np.errstate(invalid="ignore"):
        log = special.log(share)
        centred = log - special.ordered_sum(log, axis=1)[:, None] / n_labels
        outputs = 0.5 * (log[:, 1:] - log[:, :1]) if n_labels == 2 else (n_labels - 1) * centred
    outputs[share.sum(axis=1) == 0] = 0.0
    return np.asarray(outputs)
