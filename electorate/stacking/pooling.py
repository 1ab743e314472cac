"""Pools of probabilities: their weighted mean, and the decision that it amounts to."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
SMALLEST = float(np.finfo(np.float64).eps)  # smaller probabilities are raised to this one before the logarithm


def pool(proba: Floats, weights: Floats) -> Floats:
    """[row, class]: the weighted mean of [model, row, class]."""
    return np.asarray(np.tensordot(weights, proba, axes=1))


def pooled_decision(pooled: Floats) -> Floats:
    """The log-odds of the second of two classes, or the logarithm of the probability of each class."""
    logarithms = np.log(np.clip(pooled, SMALLEST, 1.0))
    return np.asarray(logarithms[:, 1] - logarithms[:, 0] if pooled.shape[1] == 2 else logarithms)
