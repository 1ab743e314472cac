"""Some rows of a table of any kind, and groups of equal rows."""

import sys
from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import _safe_indexing

from electorate.data.bins import read_block
from electorate.data.inputs import category_columns
from electorate.data.sparse_format import check_sparse
from electorate.data.table import ArrayTable, Categories, SparseTable, Table, read_table, refuse_infinite
from electorate.exact import AnyArray, Floats, Ints


def take_rows(X: Any, rows: Any) -> Any:
    """Return some rows of an array, a sparse matrix or a dataframe. rows: positions, or a mask.

    Indices of a sparse matrix are checked first: SciPy would read outside of its arrays.
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


# ---------------------------------------------------------------- tables of their own

Known = Mapping[str, Any]  # by the name of a column: its categories in their order


def own_table(X: Any, rows: Any, known: Known | None = None) -> tuple[Any, Known]:
    """Return some rows without their index and with their own categories only, and these categories by column.

    rows: positions, or a mask. known: categories of other rows to use instead; a value that is not among them becomes
    missing. Categories without an order are sorted: else they may be in the order of their first rows in the table.
    """
    some, known = take_rows(X, rows), known or {}
    pandas, polars, pyarrow = (sys.modules.get(name) for name in ("pandas", "polars", "pyarrow"))
    if pandas is not None and isinstance(some, pandas.DataFrame):
        return _own_pandas(some, known, pandas)
    if polars is not None and isinstance(some, polars.DataFrame):
        return _own_polars(some, known, polars)
    if pyarrow is not None and isinstance(some, pyarrow.Table):
        used: dict[str, Any] = {}
        columns = []
        for name, column in zip(some.column_names, some.columns, strict=True):
            if pyarrow.types.is_dictionary(column.type):
                column, used[name] = _own_dictionary(column, known.get(name))
            columns.append(column)
        return pyarrow.Table.from_arrays(columns, names=some.column_names), used  # without the metadata of the schema
    return some, {}


def own_labels(labels: AnyArray, rows: Any) -> AnyArray:
    """Return some labels, in an array of texts no wider than the longest of them."""
    some = labels[rows]
    return np.array(some.tolist()) if some.dtype.kind == "U" else some


def _own_pandas(X: Any, known: Known, pandas: Any) -> tuple[Any, Known]:
    X, used = X.reset_index(drop=True), {}
    X.attrs = {}  # metadata of the whole table
    for place, name in enumerate(X.columns):
        column = X.iloc[:, place]
        if isinstance(column.dtype, pandas.CategoricalDtype):
            categories = known[name] if name in known else _pandas_categories(column)
            column = column.cat.set_categories(categories)
            used[name] = column.cat.categories
        elif isinstance(column.dtype, pandas.ArrowDtype) and hasattr(column.dtype.pyarrow_dtype, "index_type"):
            array, used[name] = _own_dictionary(column.array.__arrow_array__(), known.get(name))
            column = pandas.Series(pandas.arrays.ArrowExtensionArray(array))
        else:
            continue
        X.isetitem(place, column)
    return X, used


def _pandas_categories(column: Any) -> Any:
    used = column.cat.remove_unused_categories().cat.categories
    if column.cat.ordered:
        return used
    try:
        return used.sort_values()
    except TypeError:  # values of several types: in the order of their first rows here
        return column.dropna().astype(object).unique()


def _own_polars(X: Any, known: Known, polars: Any) -> tuple[Any, Known]:
    used: dict[str, Any] = {}
    columns = []
    for name, dtype in X.schema.items():
        if not isinstance(dtype, polars.Enum | polars.Categorical):
            continue
        texts = X[name].cast(polars.String)
        present = set(texts.drop_nulls().to_list())
        levels = dtype.categories.to_list() if isinstance(dtype, polars.Enum) else sorted(present)
        used[name] = list(known[name]) if name in known else [level for level in levels if level in present]
        columns.append(texts.cast(polars.Enum(used[name]), strict=False))
    return X.with_columns(columns), used


def _own_dictionary(column: Any, known: Any) -> tuple[Any, list[Any]]:
    """Return a column of pyarrow with its own dictionary."""
    import pyarrow
    from pyarrow import compute

    array = column.combine_chunks() if isinstance(column, pyarrow.ChunkedArray) else column
    levels = array.dictionary
    if known is not None:
        used = pyarrow.array(list(known), type=levels.type)
    else:
        numbers = compute.unique(array.indices).drop_null()
        if array.type.ordered:
            numbers = numbers.take(compute.sort_indices(numbers))
        used = levels.take(numbers).drop_null()
        if not array.type.ordered:
            used = used.take(compute.sort_indices(used))
    codes = compute.index_in(levels, value_set=used, skip_nulls=True).take(array.indices)
    codes = codes.cast(array.type.index_type)
    return pyarrow.DictionaryArray.from_arrays(codes, used, ordered=array.type.ordered), used.to_pylist()


# ---------------------------------------------------------------- one matrix


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


# ---------------------------------------------------------------- groups of equal rows


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
