"""Pools of predictions: their weighted mean, and the decision that pooled probabilities amount to."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
SMALLEST = float(np.finfo(np.float64).eps)  # smaller probabilities are raised to this one before the logarithm


def pool(outputs: Floats, weights: Floats) -> Floats:
    """The weighted sum over models of [model, row] or [model, row, class].

    Model by model: products of matrices round a row in another way where it is in another place.
    """
    total = np.zeros(outputs.shape[1:])
    for weight, output in zip(weights.tolist(), outputs, strict=True):
        total += weight * output
    return total


def pooled_decision(pooled: Floats) -> Floats:
    """The log-odds of the second of two classes, or the logarithm of the probability of each class."""
    logarithms = np.log(np.clip(pooled, SMALLEST, 1.0))
    return np.asarray(logarithms[:, 1] - logarithms[:, 0] if pooled.shape[1] == 2 else logarithms)
