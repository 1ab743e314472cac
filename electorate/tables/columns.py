"""Columns of pyarrow from what they are made of: its own conversions import pandas, which takes a while."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from electorate.tables.source import pyarrow


def column(values: NDArray[Any]) -> Any:
    """Of booleans, numbers or texts, none of them missing."""
    if values.dtype.kind in "OU":
        return texts(values.tolist())
    if values.dtype.kind == "b":
        return _held(pyarrow().bool_(), len(values), np.packbits(values, bitorder="little"))
    held = values.astype({"i": np.int64, "u": np.uint64, "f": np.float64}[values.dtype.kind])
    return _held(pyarrow().from_numpy_dtype(held.dtype), len(held), held)


def places(values: Any) -> Any:
    """Places in a dictionary."""
    return _held(pyarrow().int32(), len(values), np.ascontiguousarray(values, dtype=np.int32))


def texts(values: list[str]) -> Any:
    packed = [value.encode() for value in values]
    ends = np.cumsum([0, *map(len, packed)]).astype(np.int32)
    return _held(pyarrow().string(), len(values), ends, b"".join(packed))


def _held(kind: Any, length: int, *buffers: Any) -> Any:
    arrow = pyarrow()
    return arrow.Array.from_buffers(kind, length, [None, *map(arrow.py_buffer, buffers)])
