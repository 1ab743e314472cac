"""Rows of every kind of table, by positions and by a mask."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy.sparse import csr_array

from electorate.data.row_subset import take_rows

VALUES = np.arange(12.0).reshape(6, 2)
TABLES = {
    "array": (VALUES, np.asarray),
    "sparse": (csr_array(VALUES), lambda X: X.toarray()),
    "pandas": (pd.DataFrame(VALUES, columns=["a", "b"]), lambda X: X.to_numpy()),
    "polars": (pl.DataFrame({"a": VALUES[:, 0], "b": VALUES[:, 1]}), lambda X: X.to_numpy()),
    "pyarrow": (pa.table({"a": VALUES[:, 0], "b": VALUES[:, 1]}), lambda X: np.column_stack([*X.to_pydict().values()])),
}


@pytest.mark.parametrize("rows", [[3, 0, 3], np.array([5]), VALUES[:, 0] > 5, []], ids=["list", "one", "mask", "none"])
@pytest.mark.parametrize("kind", TABLES)
def test_same_rows_as_numpy(kind, rows):
    table, back = TABLES[kind]
    taken = take_rows(table, rows)
    assert isinstance(taken, type(table))
    expected = VALUES[np.asarray(rows, dtype=bool if len(rows) == 6 else int)]
    np.testing.assert_array_equal(np.asarray(back(taken)).reshape(expected.shape), expected)
