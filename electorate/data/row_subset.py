"""Some rows of a table of any kind."""

import sys
from typing import Any

import numpy as np
from sklearn.utils import _safe_indexing

from electorate.arrays import Ints
from electorate.data.sparse_format import check_sparse


def take_rows(X: Any, rows: Any) -> Any:
    """Return some rows of an array, a sparse matrix or a dataframe. rows: positions, or a mask.

    Releases of scikit-learn before 1.8 cannot index tables of pyarrow.
    """
    pyarrow = sys.modules.get("pyarrow")
    if pyarrow is None or not isinstance(X, pyarrow.Table | pyarrow.ChunkedArray | pyarrow.Array):
        return _safe_indexing(check_sparse(X), rows)
    places = np.asarray(rows)
    return X.take(pyarrow.array(np.flatnonzero(places) if places.dtype == np.bool_ else places.astype(np.int64)))


def evenly_spaced(count: int, most: int) -> Ints:
    """Return at most `most` positions of 0 to count - 1, evenly spaced, with both ends."""
    return np.unique(np.linspace(0, count - 1, min(count, most)).astype(np.int64))


def some_rows(X: Any, y: Any, most: int) -> tuple[Any, Any]:
    """Return at most `most` rows, evenly spaced, with their targets, which may be None."""
    n_rows = X.shape[0] if hasattr(X, "shape") else len(X)
    if n_rows <= most:
        return X, y
    rows = evenly_spaced(n_rows, most)
    return take_rows(X, rows), None if y is None else np.asarray(y)[rows]
