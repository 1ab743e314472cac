"""The benchmark data: Gaussian columns, a noisy additive concept with one interaction.

Errors of a hundred stumps lie between 10% and 20%. Filled in place, block by block, so that making
the data needs no memory beyond the data; the same seed and shape give the same table.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Split = tuple[Array, Array, Array, Array]

_BLOCK = 65_536
_SPREAD = 1.8  # classes of about the same size


def table(
    n_rows: int, n_columns: int, *, seed: int = 0, dtype: Any = np.float64, n_classes: int = 2
) -> tuple[Array, Array]:
    """X (C-contiguous, `n_rows` x `n_columns`) and y in 0, ..., n_classes - 1: ranges of one noisy score."""
    rng = np.random.default_rng(seed)
    X = np.empty((n_rows, n_columns), dtype)
    y = np.empty(n_rows, np.int64)
    cuts = np.zeros(1) if n_classes == 2 else _SPREAD * np.linspace(-1.0, 1.0, n_classes - 1)
    for start in range(0, n_rows, _BLOCK):
        block = X[start : start + _BLOCK]
        rng.standard_normal(out=block, dtype=X.dtype.type)
        score = _concept(block) + rng.logistic(0.0, 0.35, len(block))
        y[start : start + _BLOCK] = np.searchsorted(cuts, score)
    return X, y


def split(n_train: int, n_test: int, n_columns: int, n_classes: int = 2) -> Split:
    """A training part and a held-out part of one table."""
    X, y = table(n_train + n_test, n_columns, n_classes=n_classes)
    return X[:n_train], y[:n_train], X[n_train:], y[n_train:]


def _concept(X: Array) -> Array:
    score = 1.2 * X[:, 0] - X[:, 1] + np.sin(2.0 * X[:, 2]) + 0.8 * (np.abs(X[:, 3]) - 0.7)
    score += 0.7 * (X[:, 4] > 0.5) - 0.3 * X[:, 5] ** 2 + 0.5 * X[:, 6] * X[:, 7]
    for j in range(8, min(15, X.shape[1])):
        score += 0.3 * (-1) ** j * X[:, j]
    return np.asarray(score)
