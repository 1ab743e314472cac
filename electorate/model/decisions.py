"""How votes decide: from their sums, in units of the grid, to the numbers that decision functions give."""

import numpy as np
from numpy.typing import NDArray

from electorate.grid import UNITS


def plain(votes: NDArray[np.int64], n_classes: int, total: float) -> NDArray[np.float64]:
    """The sum of the votes: of two classes one number per row, else a column per class."""
    f = votes / UNITS
    return np.asarray(f[0]) if n_classes == 2 else np.ascontiguousarray(f.T)


def as_samme(votes: NDArray[np.int64], n_classes: int, total: float) -> NDArray[np.float64]:
    """On the scale of scikit-learn's AdaBoost: shares of all steps, whose sum is `total`; rows add up to 0."""
    if n_classes == 1 or total == 0:
        return np.zeros(votes.shape[1] if n_classes == 2 else (votes.shape[1], n_classes))
    f = votes / (UNITS * total)
    if n_classes == 2:
        return np.asarray(2 * f[0])
    others = n_classes - 1
    return np.ascontiguousarray((f * (n_classes / others) - 1 / others).T)
