"""All thresholds of a node at once, as arrays: the weights to the left of each.

For families that score a split by more than its own node. The order of the arrays is the order in which ties are
broken: column, cut, then missing values on the left before on the right.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from electorate.data.bins import Bins


@dataclass(frozen=True)
class Cuts:
    """Thresholds: [column, cut, side]; side 0: missing values go left, 1: right. columns: the ordered ones."""

    columns: NDArray[np.int64]
    valid: NDArray[np.bool_]

    @classmethod
    def of(cls, bins: Bins) -> "Cuts":
        """The same thresholds that `kernels.best_threshold` goes through."""
        columns = np.flatnonzero(bins.ordered)
        n_bins, missing = bins.n_bins[columns, None], bins.has_missing[columns, None]
        cut = np.arange(n_bins.max(initial=0))
        right = cut < np.where(missing, n_bins, n_bins - 1)
        left = missing & (cut < n_bins - 1)
        return cls(columns, np.stack([left, right], axis=2))

    def left(self, histogram: NDArray[np.int64]) -> NDArray[np.int64]:
        """[label, column, cut, side]: the weights on the left, from a node's [label, column, bin]."""
        mine = histogram[:, self.columns]
        below = np.cumsum(mine[:, :, : self.valid.shape[1]], axis=2)
        return np.stack([below + mine[:, :, -1:], below], axis=3)

    def place(self, index: int) -> tuple[int, int, int]:
        """Column, cut and missing_left (1 or 0) of a position in the flattened arrays."""
        column, cut, side = np.unravel_index(index, self.valid.shape)
        return int(self.columns[column]), int(cut), 1 - int(side)


def levels_of(bins: Bins, column: int) -> list[int]:
    """The bins of a column of categories, the missing one among them where training had missing values."""
    return [*range(bins.n_bins[column]), *([bins.missing] if bins.has_missing[column] else [])]


def best_of(scores: NDArray[np.float64] | NDArray[np.int64], valid: NDArray[np.bool_], least: float) -> int:
    """The first position of the largest score above `least`, or -1."""
    if not np.any(valid):
        return -1
    lowest = -np.inf if scores.dtype.kind == "f" else np.iinfo(np.int64).min
    masked = np.where(valid, scores, lowest)
    index = int(np.argmax(masked))
    return index if masked.ravel()[index] > least else -1
