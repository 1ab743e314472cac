"""Columns of pyarrow from what they are made of: its own conversions import pandas, which takes a while."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from electorate.tables.source import pyarrow


def numbers(values: Any) -> Any:
    """Small whole numbers, as int32."""
    held = np.ascontiguousarray(values, dtype=np.int32)
    return pyarrow().Array.from_buffers(pyarrow().int32(), len(held), [None, pyarrow().py_buffer(held)])


def texts(values: list[str]) -> Any:
    packed = [value.encode() for value in values]
    ends: NDArray[np.int32] = np.cumsum([0, *map(len, packed)]).astype(np.int32)
    buffers = [None, pyarrow().py_buffer(ends), pyarrow().py_buffer(b"".join(packed))]
    return pyarrow().Array.from_buffers(pyarrow().string(), len(values), buffers)
