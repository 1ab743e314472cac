"""The columns of a dataframe as arrays on its own memory: nothing is copied, and slices need no call of its library.

Columns are taken from a dataframe all at once. Looking one up by position or name takes narwhals a pass over all names,
which is quadratic in their number.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

SHORT_CHUNK = 4096  # rows: columns whose chunks are shorter on average are copied into one piece


def native_columns(frame: Any) -> list[Any]:
    """Return all columns of a narwhals dataframe as objects of its library."""
    native, library = frame.to_native(), frame.implementation
    if library.is_pandas():
        return [column for _, column in native.items()]
    if library.is_polars():
        return list(native.get_columns())
    if library.is_pyarrow():
        return list(native.columns)
    return [series.to_native() for series in frame.iter_columns()]


def in_one_piece(column: Any) -> Any:
    """Return a column without chunks: a slice of many chunks takes a pass over them."""
    library = _library(column)
    if library == "polars":
        return column.rechunk()
    if library == "pyarrow" and column.num_chunks > 1:
        import pyarrow as pa

        # a table does this in a fifth of the time that the column takes
        return pa.table([column], names=["column"]).combine_chunks().column(0)
    return column


def _library(column: Any) -> str:
    return type(column).__module__.partition(".")[0]


class ChunkedView:
    """Arrays that make up one column, sliced as one. present: for each array, where it has a value, or None."""

    def __init__(self, arrays: list[NDArray[Any]], present: list[NDArray[np.bool_] | None]) -> None:
        self.arrays, self.present = arrays, present
        self.starts = np.cumsum([0, *map(len, arrays)])

    def __getitem__(self, rows: slice) -> NDArray[np.float64]:
        out = np.empty(rows.stop - rows.start)
        first = max(0, int(np.searchsorted(self.starts, rows.start, side="right")) - 1)
        last = int(np.searchsorted(self.starts, rows.stop, side="left"))
        for number, start in enumerate(self.starts[first:last].tolist(), start=first):
            array, present = self.arrays[number], self.present[number]
            low, high = max(start, rows.start), min(start + len(array), rows.stop)
            part = out[low - rows.start : high - rows.start]
            part[:] = array[low - start : high - start]
            if present is not None:
                part[~present[low - start : high - start]] = np.nan
        return out


View = NDArray[Any] | ChunkedView


def views_of(columns: list[Any], types: list[Any]) -> list[View | None]:
    """Return the columns of numbers as arrays on the dataframe's memory; None for other columns and libraries."""
    views = {"pandas": _view_of_pandas, "polars": _view_of_polars, "pyarrow": _view_of_pyarrow}
    view = views.get(_library(columns[0])) if columns else None
    if view is None:
        return [None] * len(columns)
    return [view(column) if _are_numbers(dtype) else None for column, dtype in zip(columns, types, strict=True)]


def _are_numbers(dtype: Any) -> bool:
    """Whether NumPy has the type of the values; booleans count as 0 and 1."""
    name = str(dtype)
    return name == "Boolean" or (bool(dtype.is_numeric()) and not dtype.is_decimal() and "128" not in name)


def _view_of_pandas(column: Any) -> View | None:
    return np.asarray(column.to_numpy()) if isinstance(column.dtype, np.dtype) else None


def _view_of_polars(column: Any) -> View | None:
    if column.null_count():
        return None
    if str(column.dtype) == "Boolean":
        return np.asarray(column.to_numpy())  # a byte for each bit
    if column.n_chunks() == 1 or len(column) < SHORT_CHUNK * column.n_chunks():
        return np.asarray(column.rechunk().to_numpy())
    chunks = column.get_chunks()
    return ChunkedView([chunk.to_numpy() for chunk in chunks], [None] * len(chunks))


def _view_of_pyarrow(column: Any) -> View:
    if str(column.type) == "bool":
        column = column.cast("uint8")  # a byte for each bit
    chunks = column.chunks
    if len(chunks) > 1 and len(column) < SHORT_CHUNK * len(chunks):
        return np.asarray(column.to_numpy())
    if len(chunks) == 1 and not chunks[0].null_count:
        return np.asarray(chunks[0].to_numpy())
    arrays, present = [], []
    for chunk in chunks:
        values, kind = chunk.buffers()[1], chunk.type.to_pandas_dtype()
        rows = slice(chunk.offset, chunk.offset + len(chunk))
        arrays.append(np.zeros(len(chunk), dtype=kind) if values is None else np.frombuffer(values, dtype=kind)[rows])
        present.append(chunk.is_valid().to_numpy(zero_copy_only=False) if chunk.null_count else None)
    return ChunkedView(arrays, present)
