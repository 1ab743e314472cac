"""Groups of equal rows: keys of rows, a row of every group, and the total weight of each.

Groups are sorted by label and then by key, so that nothing made of them depends on the order of the rows.
"""

from typing import Any

import numpy as np

from electorate.data.sparse_format import check_sparse
from electorate.exact import AnyArray, Floats, Ints


def mass_of(counts: Ints, given: float) -> Floats:
    """Return sample weights that sum to `given`, from integers in proportion to them."""
    return np.asarray(counts * (given / int(counts.sum())))


def keys_of(rows: AnyArray) -> AnyArray:
    """Return one comparable key per row of numbers."""
    rows = np.ascontiguousarray(rows)
    return rows.view(np.dtype((np.void, rows.dtype.itemsize * rows.shape[1]))).ravel()


def group_rows(keys: AnyArray, labels: Ints) -> tuple[Ints, Ints]:
    """Return a row of every distinct (label, key), by label and then by key; and the group of every row."""
    chosen, group, n_groups = [np.empty(0, dtype=np.int64)], np.empty(len(labels), dtype=np.int64), 0
    for label in np.unique(labels):
        rows = np.flatnonzero(labels == label)
        _, first, where = np.unique(keys[rows], return_index=True, return_inverse=True)
        chosen.append(rows[first])
        group[rows] = n_groups + where.ravel()
        n_groups += len(first)
    return np.concatenate(chosen), group


def keys_of_table(X: Any) -> AnyArray:
    """Return a key per row of an array or sparse matrix; of anything but numbers the row number: all are distinct."""
    if hasattr(X, "tocsr"):
        X = check_sparse(X).tocsr().sorted_indices()
        X.sum_duplicates()
        ends = zip(X.indptr, X.indptr[1:], strict=False)
        return np.array([X.indices[a:b].tobytes() + b"|" + X.data[a:b].tobytes() for a, b in ends], dtype=object)
    if not isinstance(X, np.ndarray) or X.ndim != 2 or X.dtype.kind not in "fiub":
        return np.arange(X.shape[0])
    values = X.astype(np.float64) + 0.0  # -0.0 is 0.0
    values[np.isnan(values)] = np.nan
    return keys_of(values)
