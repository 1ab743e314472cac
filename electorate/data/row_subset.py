"""Rows of a table of any kind."""

import sys
from typing import Any

import numpy as np
from sklearn.utils import _safe_indexing


def take_rows(X: Any, rows: Any) -> Any:
    """Return some rows of an array, a sparse matrix or a dataframe. rows: positions, or a mask.

    Releases of scikit-learn before 1.8 cannot index tables of pyarrow.
    """
    pyarrow = sys.modules.get("pyarrow")
    if pyarrow is None or not isinstance(X, pyarrow.Table | pyarrow.ChunkedArray | pyarrow.Array):
        return _safe_indexing(X, rows)
    places = np.asarray(rows)
    return X.take(pyarrow.array(np.flatnonzero(places) if places.dtype == np.bool_ else places.astype(np.int64)))
