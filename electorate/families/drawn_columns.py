"""Random columns at every split of a tree (`max_features`).

Which columns a node may use depends on the seed, the round, the label weights at the root and the path from the root:
not on the engine, on threads, or on the order in which nodes are split.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from electorate import kernels


class ColumnDraw(NamedTuple):
    """How many columns are drawn at every split, and the key of the root."""

    n_drawn: int
    key: np.uint64

    def columns(self, key: np.uint64, n_columns: int) -> NDArray[np.bool_]:
        """Which columns the node with this key may use."""
        drawn = np.empty(self.n_drawn, dtype=np.int64)
        kernels.draw_columns(key, n_columns, drawn)
        wanted = np.zeros(n_columns, dtype=np.bool_)
        wanted[drawn] = True
        return wanted


def fold(key: np.uint64, number: int) -> np.uint64:
    """The key with one more number hashed into it."""
    return np.uint64(kernels.fold_key(key, np.uint64(number % 2**64)))


def child_keys(key: np.uint64) -> tuple[np.uint64, np.uint64]:
    """The keys of the left and the right child."""
    return fold(key, 1), fold(key, 2)


def column_draw(
    max_features: float | str | None, n_columns: int, seed: int, number: int, totals: NDArray[np.int64]
) -> ColumnDraw | None:
    """Return None where all columns are used. number: of the round; totals: the label weights of the root.

    The totals tell apart searches with the same number: the classes of one against the rest, and the rounds of boosters
    that do not count them.
    """
    n_drawn = count_drawn(max_features, n_columns)
    if n_drawn >= n_columns:
        return None
    key = fold(fold(np.uint64(0), seed), number)
    for total in totals.tolist():
        key = fold(key, total)
    return ColumnDraw(n_drawn, key)


def count_drawn(max_features: float | str | None, n_columns: int) -> int:
    """The number of columns that a split may use, at least 1."""
    if max_features is None:
        return n_columns
    if max_features == "sqrt":
        return max(1, int(np.sqrt(n_columns)))
    if isinstance(max_features, int | np.integer):
        return min(int(max_features), n_columns)
    return max(1, int(float(max_features) * n_columns))
