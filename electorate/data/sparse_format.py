"""Checks SciPy sparse matrices before compiled code reads them.

SciPy does not check index arrays that are set after construction, and neither do its kernels: an index out of range
reads or writes outside the arrays and may end the process. Entries that are unsorted or repeated are legal. They are
sorted and summed, in a copy.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

Indices = NDArray[Any]


def check_sparse(X: Any) -> Any:
    """X with sorted and distinct indices, in CSR or CSC format; what is not a sparse matrix is returned unchanged."""
    if not issparse(X):
        return X
    if X.ndim != 2:
        raise ValueError(f"Expected 2D array, got a {X.ndim}D sparse array instead: X needs rows and columns")
    if X.format == "bsr":
        _check_blocks(X)
    if X.format not in ("csr", "csc", "bsr", "lil"):
        X = X.tocoo()
        _check_coordinates(X)
    if X.format == "lil":
        _check_lists(X)
    if X.format not in ("csr", "csc"):
        X = X.tocsr()
    rows, columns = X.shape if X.format == "csr" else X.shape[::-1]
    _check_compressed(X, rows, columns)
    return X if _is_canonical(X) else _canonical_copy(X)


def _check_compressed(X: Any, rows: int, columns: int) -> None:
    """rows, columns: those of a CSR matrix; the other way round for CSC, and in blocks for BSR."""
    what = f"X is a sparse matrix in {X.format.upper()} format, but its"
    _refuse_unless_integers(X.indptr, f"{what} indptr")
    _refuse_unless_integers(X.indices, f"{what} indices")
    if len(X.indptr) != rows + 1:
        raise ValueError(f"{what} indptr has {len(X.indptr)} entries: X of shape {X.shape} needs {rows + 1}")
    if X.indptr[0] != 0:
        raise ValueError(f"{what} indptr starts with {X.indptr[0]}: it must start with 0")
    if len(X.indices) != len(X.data):
        raise ValueError(f"{what} indices and data have different lengths: {len(X.indices)} and {len(X.data)}")
    falls = X.indptr[1:] < X.indptr[:-1]
    if np.any(falls):
        place = int(np.argmax(falls))
        raise ValueError(
            f"{what} indptr decreases from {X.indptr[place]} to {X.indptr[place + 1]} at position {place + 1}"
        )
    n_stored = int(X.indptr[-1])
    if n_stored > len(X.indices):
        raise ValueError(f"{what} indptr ends with {n_stored}, and there are only {len(X.indices)} indices")
    _refuse_out_of_range(X.indices[:n_stored], columns, f"{what} indices", X.indptr)


def _check_blocks(X: Any) -> None:
    block = X.blocksize
    if X.data.ndim != 3 or X.data.shape[1:] != block:
        raise ValueError(f"X is a sparse matrix in BSR format, but its data have the shape {X.data.shape}")
    _check_compressed(X, X.shape[0] // block[0], X.shape[1] // block[1])


def _check_coordinates(X: Any) -> None:
    """Of COO format, and of formats that SciPy turns into it without looking at indices."""
    for name, indices, size in (("row", X.row, X.shape[0]), ("col", X.col, X.shape[1])):
        what = f"X is a sparse matrix in COO format, but its {name}"
        _refuse_unless_integers(indices, what)
        if len(indices) != len(X.data):
            raise ValueError(f"{what} and data have different lengths: {len(indices)} and {len(X.data)}")
        _refuse_out_of_range(indices, size, what)


def _check_lists(X: Any) -> None:
    if len(X.rows) != X.shape[0] or len(X.data) != X.shape[0]:
        raise ValueError(f"X is a sparse matrix in LIL format of shape {X.shape}, but it has {len(X.rows)} lists")
    for row, (columns, values) in enumerate(zip(X.rows, X.data, strict=True)):
        if len(columns) != len(values):
            raise ValueError(
                f"X is a sparse matrix in LIL format, but row {row} has {len(columns)} columns and {len(values)} values"
            )


def _refuse_unless_integers(indices: Indices, what: str) -> None:
    if not isinstance(indices, np.ndarray) or indices.ndim != 1 or indices.dtype.kind not in "iu":
        found = f"{indices.ndim}D array of {indices.dtype}" if isinstance(indices, np.ndarray) else type(indices)
        raise ValueError(f"{what} is a {found}: it must be a one-dimensional array of integers")


def _refuse_out_of_range(indices: Indices, size: int, what: str, indptr: Indices | None = None) -> None:
    if not len(indices) or (indices.min() >= 0 and indices.max() < size):
        return
    place = int(np.argmax((indices < 0) | (indices >= size)))
    where = f"entry {place}"
    if indptr is not None:
        where += f", in row or column {int(np.searchsorted(indptr, place, side='right')) - 1} of the compressed axis"
    raise ValueError(f"{what} has the index {indices[place]} ({where}): it must be from 0 to {size - 1}")


def _is_canonical(X: Any) -> bool:
    """Whether the indices rise strictly within each row (CSR) or column (CSC), and nothing else is stored.

    The flags of the matrix are not trusted: they may be older than its arrays.
    """
    n_stored = int(X.indptr[-1])
    if n_stored != len(X.indices):
        return False
    stays = X.indices[1:] <= X.indices[:-1]
    starts = X.indptr[1:-1]
    stays[starts[(starts > 0) & (starts < n_stored)] - 1] = False
    return not np.any(stays)


def _canonical_copy(X: Any) -> Any:
    n_stored = int(X.indptr[-1])
    parts = (X.data[:n_stored], X.indices[:n_stored], X.indptr)
    X = type(X)(parts, shape=X.shape, copy=True)
    X.has_sorted_indices = X.has_canonical_format = False
    X.sum_duplicates()
    return X
