"""Some rows of a table as a table of their own, from which nothing can be learnt about the other rows.

A pandas index tells which rows were left out, `attrs` may hold anything about the whole table, and a categorical column
lists categories that occur in other rows only: pandas categories, polars Enum and Categorical, pyarrow dictionaries.
"""

import sys
from collections.abc import Mapping
from typing import Any

import numpy as np

from electorate.arrays import AnyArray
from electorate.data.row_subset import take_rows

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
        return _own_arrow(some, known, pyarrow)
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


def _own_arrow(X: Any, known: Known, pyarrow: Any) -> tuple[Any, Known]:
    used: dict[str, Any] = {}
    columns = []
    for name, column in zip(X.column_names, X.columns, strict=True):
        if pyarrow.types.is_dictionary(column.type):
            column, used[name] = _own_dictionary(column, known.get(name))
        columns.append(column)
    return pyarrow.Table.from_arrays(columns, names=X.column_names), used  # without the metadata of the schema


def _own_dictionary(column: Any, known: Any) -> tuple[Any, list[Any]]:
    """The same for a column of pyarrow."""
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
