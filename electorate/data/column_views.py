"""The columns of a dataframe on its own memory: nothing is copied, and blocks of rows need no calls of its library.

Columns are taken from a dataframe all at once. To look one up by its position or name takes narwhals a pass over the
names of all, which is quadratic in their number.
"""

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

SHORT_CHUNK = 4096  # rows: columns whose chunks are shorter on average are copied into one piece


def native_columns(frame: Any) -> list[Any]:
    """All columns of a narwhals dataframe, as its library holds them."""
    native, library = frame.to_native(), frame.implementation
    if library.is_pandas():
        return [column for _, column in native.items()]
    if library.is_polars():
        return list(native.get_columns())
    if library.is_pyarrow():
        return list(native.columns)
    return [series.to_native() for series in frame.iter_columns()]


def in_one_piece(column: Any) -> Any:
    """A column without chunks; a slice of many chunks takes a pass over them."""
    library = type(column).__module__.partition(".")[0]
    if library == "polars":
        return column.rechunk()
    if library == "pyarrow" and column.num_chunks > 1:
        import pyarrow as pa

        # a table does this in a fifth of the time that the column takes
        return pa.table([column], names=["column"]).combine_chunks().column(0)
    return column


class ChunkedView:
    """Arrays that make up one column, sliced as one; present: of each array, where it has a value, or None."""

    def __init__(self, arrays: list[NDArray[Any]], present: list[NDArray[np.bool_] | None]) -> None:
        self.arrays, self.present = arrays, present
        self.starts = np.concatenate([[0], np.cumsum([len(array) for array in arrays])]).astype(np.int64)

    def __getitem__(self, rows: slice) -> NDArray[np.float64]:
        out = np.empty(rows.stop - rows.start)
        first = max(0, int(np.searchsorted(self.starts, rows.start, side="right")) - 1)
        last = int(np.searchsorted(self.starts, rows.stop, side="left"))
        ends = pairwise(self.starts[first : last + 1].tolist())
        for number, (start, end) in enumerate(ends, start=first):
            low, high = max(start, rows.start), min(end, rows.stop)
            part = out[low - rows.start : high - rows.start]
            part[:] = self.arrays[number][low - start : high - start]
            present = self.present[number]
            if present is not None:
                part[~present[low - start : high - start]] = np.nan
        return out


View = NDArray[Any] | ChunkedView


def views_of(frame: Any, columns: list[Any], types: list[Any]) -> list[View | None]:
    """The columns of numbers as arrays on the dataframe's memory; None for those that hold anything else."""
    library = frame.implementation
    if library.is_pandas():
        view = _view_of_pandas
    elif library.is_polars():
        view = _view_of_polars
    elif library.is_pyarrow():
        view = _view_of_pyarrow
    else:
        return [None] * len(columns)
    return [view(column) if _are_numbers(dtype) else None for column, dtype in zip(columns, types, strict=True)]


def _are_numbers(dtype: Any) -> bool:
    """Whether values have a type that NumPy has too; booleans count as 0 and 1."""
    name = str(dtype)
    return name == "Boolean" or (bool(dtype.is_numeric()) and not dtype.is_decimal() and "128" not in name)


def _view_of_pandas(column: Any) -> View | None:
    return np.asarray(column.to_numpy()) if isinstance(column.dtype, np.dtype) else None


def _view_of_polars(column: Any) -> View | None:
    if column.null_count():
        return None
    if str(column.dtype) == "Boolean":
        return np.asarray(column.to_numpy())  # a byte for each bit
    if column.n_chunks() == 1 or _are_short(len(column), column.n_chunks()):
        return np.asarray(column.rechunk().to_numpy())
    chunks = column.get_chunks()
    return ChunkedView([chunk.to_numpy() for chunk in chunks], [None] * len(chunks))


def _view_of_pyarrow(column: Any) -> View:
    if str(column.type) == "bool":
        column = column.cast("uint8")  # a byte for each bit
    if column.num_chunks > 1 and _are_short(len(column), column.num_chunks):
        return np.asarray(column.to_numpy())
    chunks = column.chunks
    if len(chunks) == 1 and not chunks[0].null_count:
        return np.asarray(chunks[0].to_numpy())
    arrays, present = [], []
    for chunk in chunks:
        held = chunk.buffers()[1]
        rows = slice(chunk.offset, chunk.offset + len(chunk))
        kind = chunk.type.to_pandas_dtype()
        arrays.append(np.frombuffer(held, dtype=kind)[rows] if held is not None else np.zeros(len(chunk), dtype=kind))
        present.append(chunk.is_valid().to_numpy(zero_copy_only=False) if chunk.null_count else None)
    return ChunkedView(arrays, present)


def _are_short(n_rows: int, n_chunks: int) -> bool:
    return n_rows < SHORT_CHUNK * n_chunks
