"""Rows set aside for validation: drawn by what they hold, not by where they stand.

The draw is then the same for any order of the rows, a row of weight k is drawn as k rows would be, and rows of weight 0
change nothing. Equal rows are drawn one by one, so both sides see what is frequent.
"""

import hashlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from electorate import kernels
from electorate.data.bins import block_rows
from electorate.data.table import Categories, Table, read_table


def hash_rows(X: Any, seed: int) -> NDArray[np.uint64]:
    """A hash of what every row of a table, or of an array, holds."""
    if isinstance(X, np.ndarray) and (X.ndim != 2 or X.dtype.kind not in "biuf"):
        return np.array([_hash(f"{seed} {row.tolist()!r}") for row in X], dtype=np.uint64)
    table: Table = X if hasattr(X, "n_rows") else read_table(X)
    texts = {j: levels for j in table.category_columns() if (levels := Categories(table.levels(j))).is_text}
    numeric = [j for j in range(table.n_columns) if j not in texts]
    hashes = np.full(table.n_rows, _hash(str(seed)), dtype=np.uint64)
    rows = block_rows(table.n_columns)
    for low in range(0, table.n_rows, rows):
        part = hashes[low : low + rows]
        if numeric:
            for column in table.numbers(low, low + len(part), numeric):
                kernels.fold(column, part)
    for j, levels in texts.items():
        number = np.array([*(_hash(text) >> 11 for text in levels.levels.tolist()), np.nan])
        codes = table.codes(0, table.n_rows, j, levels)
        kernels.fold(number[np.where(np.isnan(codes), -1, codes).astype(np.int64)], hashes)
    return hashes


def _hash(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode(errors="surrogatepass"), digest_size=8).digest(), "little")


def draw(
    hashes: NDArray[np.uint64], weight: NDArray[np.float64], times: NDArray[np.int64], part: float
) -> NDArray[np.int64]:
    """Of rows that stand for `times` rows each, how many to set aside: every n-th in the order of their hashes.

    At least one, unless there is no other; never all.
    """
    order = np.lexsort((weight, hashes))
    total = int(times.sum())
    wanted = min(int(np.ceil(part * total)), total - 1)
    passed = np.cumsum(times[order])
    drawn = -(-passed * wanted // max(total, 1))  # of the rows so far, in whole numbers
    out = np.zeros(len(times), dtype=np.int64)
    out[order] = np.diff(drawn, prepend=0)
    return out
