"""A table of any kind as one matrix for estimators of other libraries: numbers, NaN where missing, category codes."""

from typing import Any

import numpy as np
from scipy import sparse

from electorate.data.bins import read_block
from electorate.data.inputs import category_columns
from electorate.data.table import ArrayTable, Categories, SparseTable, Table, read_table, refuse_infinite


def as_table(X: Any) -> Table:
    if hasattr(X, "shape") and len(X.shape) != 2:
        raise ValueError(f"X has the shape {X.shape}: it must have rows and columns")
    return read_table(np.asarray(X) if isinstance(X, list | tuple) else X)


def read_categories(table: Table, categorical_features: Any) -> dict[int, Categories]:
    """The categories of each category column."""
    wanted = category_columns(table, categorical_features, table.category_columns())
    return {column: Categories(table.levels(column)) for column in wanted}


def widest_of(categories: dict[int, Categories]) -> int:
    return max((len(c.levels) for c in categories.values()), default=0)


def read_matrix(X: Any, table: Table, categories: dict[int, Categories]) -> Any:
    """The columns as float64, with the codes of the categories; CSR for a sparse table without categories."""
    is_sparse = isinstance(table, SparseTable)
    if is_sparse and not categories:
        matrix: Any = sparse.csr_array(X, dtype=np.float64)
        bad = np.flatnonzero(np.isinf(matrix.data))[:1]
        where = np.column_stack([np.searchsorted(matrix.indptr, bad, side="right") - 1, matrix.indices[bad]])
    elif isinstance(table, ArrayTable) and not is_sparse and table.array.dtype.kind not in "fiub":
        raise ValueError(f"X has the type {table.array.dtype}: use numbers, or a dataframe for texts")
    else:
        block = X if isinstance(X, np.ndarray) and not categories else read_block(table, categories, 0, table.n_rows).T
        matrix = np.ascontiguousarray(block, dtype=np.float64)
        where = np.argwhere(np.isinf(matrix))
    if len(where):
        refuse_infinite(table, int(where[0][1]), int(where[0][0]))
    return matrix
