"""A pyarrow table of float64 and dictionaries of texts, read from its memory without importing narwhals or pandas.

pyarrow's own conversions import pandas; without it, a command that predicts starts sooner.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from electorate.data.factors import Factors
from electorate.data.table import FrameTable

DICTIONARY = "dictionary<values=string, indices=int32, ordered=0>"


class ArrowTable(FrameTable):
    """A pyarrow table whose columns are of these two types, each in one chunk."""

    def __init__(self, table: Any) -> None:
        parts = [column.chunk(0) for column in table.columns]
        views = [_filled(part, np.float64, np.nan) if str(part.type) == "double" else None for part in parts]
        self._set(list(table.column_names), table.num_rows, table.columns, views)
        for j in self.category_columns():
            self._factors[j] = Factors(parts[j].dictionary.to_pylist(), _filled(parts[j].indices, np.int32, -1))

    @staticmethod
    def fits(table: Any) -> bool:
        return all(column.num_chunks == 1 and str(column.type) in ("double", DICTIONARY) for column in table.columns)


def _filled(part: Any, kind: type[np.generic], missing: float) -> NDArray[Any]:
    """The values of a chunk, with `missing` where there is none."""
    valid, values = part.buffers()
    rows = slice(part.offset, part.offset + len(part))
    held = np.frombuffer(values, dtype=kind)[rows]
    if not part.null_count:
        return held
    present = np.unpackbits(np.frombuffer(valid, dtype=np.uint8), bitorder="little")[rows]
    return np.where(present, held, kind(missing))
