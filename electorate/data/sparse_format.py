"""Checks SciPy sparse matrices before compiled code reads them.

SciPy does not check index arrays that are set after construction, and neither do its kernels: an index out of range
reads or writes outside the arrays and may end the process. Entries that are unsorted or repeated are legal. They are
sorted and summed, in a copy.
"""

import sys
from typing import Any

import numpy as np


def is_sparse(X: Any) -> bool:
    """Whether X is a SciPy sparse matrix or array, without importing SciPy: then there is none."""
    module = sys.modules.get("scipy.sparse")
    return module is not None and bool(module.issparse(X))


def check_sparse(X: Any) -> Any:
    """Return X with sorted and distinct indices, in CSR or CSC format; what is not sparse is returned unchanged."""
    if not is_sparse(X):
        return X
    if X.ndim != 2:
        raise ValueError(f"Expected 2D array, got a {X.ndim}D sparse array instead: X needs rows and columns")
    if X.format not in ("csr", "csc", "bsr", "lil"):
        X = X.tocoo()
    if X.format not in ("csr", "csc"):
        _refuse_fault(X)
        X = X.tocsr()
    _refuse_fault(X)
    if not _is_canonical(X):
        n_stored = int(X.indptr[-1])
        X = type(X)((X.data[:n_stored], X.indices[:n_stored], X.indptr), shape=X.shape, copy=True)
        X.has_sorted_indices = X.has_canonical_format = False
        X.sum_duplicates()
    return X


def _refuse_fault(X: Any) -> None:
    fault = {"coo": _fault_of_coordinates, "lil": _fault_of_lists}.get(X.format, _fault_of_compressed)(X)
    if fault is not None:
        raise ValueError(f"X is a sparse matrix in {X.format.upper()} format, but {fault}")


def _fault_of_compressed(X: Any) -> str | None:
    """What is wrong with the arrays of a CSR, CSC or BSR matrix."""
    fault = _fault_of_data(X.data, 3 if X.format == "bsr" else 1)
    if fault is not None:
        return fault
    rows, columns = X.shape if X.format != "csc" else X.shape[::-1]
    if X.format == "bsr":
        if X.data.shape[1:] != X.blocksize:
            return f"its data have the shape {X.data.shape}"
        rows, columns = rows // X.blocksize[0], columns // X.blocksize[1]
    fault = _fault_of_type(X.indptr, "indptr") or _fault_of_type(X.indices, "indices")
    if fault is not None:
        return fault
    if len(X.indptr) != rows + 1:
        return f"its indptr has {len(X.indptr)} entries: X of shape {X.shape} needs {rows + 1}"
    if X.indptr[0] != 0:
        return f"its indptr starts with {X.indptr[0]}: it must start with 0"
    if len(X.indices) != len(X.data):
        return f"its indices and data have different lengths: {len(X.indices)} and {len(X.data)}"
    falls = X.indptr[1:] < X.indptr[:-1]
    if np.any(falls):
        place = int(np.argmax(falls))
        return f"its indptr decreases from {X.indptr[place]} to {X.indptr[place + 1]} at position {place + 1}"
    n_stored = int(X.indptr[-1])
    if n_stored > len(X.indices):
        return f"its indptr ends with {n_stored}, and there are only {len(X.indices)} indices"
    return _fault_of_range(X.indices[:n_stored], columns, "indices", X.indptr)


def _fault_of_coordinates(X: Any) -> str | None:
    """What is wrong with a COO matrix; also of formats that SciPy turns into it without reading indices."""
    wrong = _fault_of_data(X.data, 1)
    if wrong is not None:
        return wrong
    for name, indices, size in (("row", X.row, X.shape[0]), ("col", X.col, X.shape[1])):
        fault = _fault_of_type(indices, name)
        if fault is None and len(indices) != len(X.data):
            fault = f"its {name} and data have different lengths: {len(indices)} and {len(X.data)}"
        fault = fault or _fault_of_range(indices, size, name)
        if fault is not None:
            return fault
    return None


def _fault_of_lists(X: Any) -> str | None:
    if len(X.rows) != X.shape[0] or len(X.data) != X.shape[0]:
        return f"it has {len(X.rows)} lists for the shape {X.shape}"
    for row, (columns, values) in enumerate(zip(X.rows, X.data, strict=True)):
        if not (isinstance(columns, list) and isinstance(values, list)):
            return f"row {row} is no pair of lists"
        if len(columns) != len(values):
            return f"row {row} has {len(columns)} columns and {len(values)} values"
        ok = [isinstance(column, int | np.integer) and 0 <= column < X.shape[1] for column in columns]
        if not all(ok):
            return f"row {row} has the index {columns[ok.index(False)]!r}: it must be from 0 to {X.shape[1] - 1}"
    return None


def _fault_of_type(indices: Any, name: str) -> str | None:
    if isinstance(indices, np.ndarray) and indices.ndim == 1 and indices.dtype.kind in "iu" and indices.dtype.isnative:
        return None
    found = f"{indices.ndim}D array of {indices.dtype}" if isinstance(indices, np.ndarray) else type(indices)
    return f"its {name} is a {found}: it must be a one-dimensional array of integers"


def _fault_of_data(data: Any, ndim: int) -> str | None:
    is_plain = isinstance(data, np.ndarray) and data.ndim == ndim and data.dtype.isnative
    if is_plain and data.dtype.kind in "biufc" and data.dtype != np.float16:  # SciPy has no float16
        return None
    found = f"{data.ndim}D array of {data.dtype}" if isinstance(data, np.ndarray) else type(data)
    return f"its data are a {found}: they must be a {ndim}D array of numbers in the byte order of this machine"


def _fault_of_range(indices: Any, size: int, name: str, indptr: Any = None) -> str | None:
    if not len(indices) or (indices.min() >= 0 and indices.max() < size):
        return None
    place = int(np.argmax((indices < 0) | (indices >= size)))
    where = f"entry {place}"
    if indptr is not None:
        where += f", in row or column {int(np.searchsorted(indptr, place, side='right')) - 1} of the compressed axis"
    return f"its {name} has the index {indices[place]} ({where}): it must be from 0 to {size - 1}"


def _is_canonical(X: Any) -> bool:
    """Whether the indices rise strictly within each row (CSR) or column (CSC), and nothing else is stored.

    The flags of the matrix are not used: they may be older than its arrays.
    """
    n_stored = int(X.indptr[-1])
    if n_stored != len(X.indices):
        return False
    stays = X.indices[1:] <= X.indices[:-1]
    starts = X.indptr[1:-1]
    stays[starts[(starts > 0) & (starts < n_stored)] - 1] = False
    return not np.any(stays)
