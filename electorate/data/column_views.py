"""The columns of a dataframe as arrays on its own memory: nothing is copied, and slices need no call of its library.

Columns are taken from a dataframe all at once. Looking one up by position or name takes narwhals a pass over all names,
which is quadratic in their number.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from itertools import accumulate, pairwise
from typing import Any

import numpy as np

from electorate.exact import AnyArray, Bools, Floats

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


def parts_of(starts: list[int], low: int, high: int) -> Iterator[tuple[int, int, int, int]]:
    """Yield the parts that hold rows low..high, which of their rows these are, and where they go in a block of them.

    starts: the first row of each part, and the end of the last one.
    """
    first, last = max(bisect_right(starts, low) - 1, 0), bisect_left(starts, high)
    for number, (start, end) in enumerate(pairwise(starts[first : last + 1]), start=first):
        begin, stop = max(low, start), min(high, end)
        if begin < stop:
            yield number, begin - start, stop - start, begin - low


class ChunkedView:
    """Arrays that make up one column, sliced as one. present: for each array, where it has a value, or None."""

    def __init__(self, arrays: list[AnyArray], present: list[Bools | None]) -> None:
        self.arrays, self.present = arrays, present
        self.starts = list(accumulate(map(len, arrays), initial=0))

    def __getitem__(self, rows: slice) -> Floats:
        out = np.empty(rows.stop - rows.start)
        for number, low, high, place in parts_of(self.starts, rows.start, rows.stop):
            part, present = out[place : place + high - low], self.present[number]
            part[:] = self.arrays[number][low:high]
            if present is not None:
                part[~present[low:high]] = np.nan
        return out


def floats_of(series: Any) -> Floats:
    """Return a series of numbers as float64, NaN where missing. Integers beyond 2^53 are rounded, as NumPy does.

    pyarrow's own cast refuses these, and names no column.
    """
    import narwhals.stable.v2 as nw

    if not series.dtype.is_integer() or series.implementation.is_polars():
        return np.asarray(series.cast(nw.Float64).to_numpy(), dtype=np.float64)
    present = ~np.asarray(series.is_null().to_numpy(), dtype=np.bool_)
    values = np.full(len(present), np.nan)
    values[present] = series.drop_nulls().to_numpy()
    return values


View = AnyArray | ChunkedView


def views_of(columns: list[Any], types: list[Any]) -> list[View | None]:
    """Return the columns of numbers as arrays on the dataframe's memory; None for other columns and libraries."""
    views = {"pandas": _view_of_pandas, "polars": _view_of_polars, "pyarrow": _view_of_pyarrow}
    view = views.get(_library(columns[0])) if columns else None
    if view is None:
        return [None] * len(columns)
    found: list[View | None] = []
    for column, dtype in zip(columns, types, strict=True):
        is_number = dtype.is_numeric() and not dtype.is_decimal() and "128" not in str(dtype)  # NumPy has the type
        found.append(view(column) if is_number or str(dtype) == "Boolean" else None)
    return found


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
