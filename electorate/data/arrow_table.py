"""A part of a stream as pyarrow read it: float64 and dictionaries of texts, straight from its memory.

Neither narwhals nor pandas is imported, which pyarrow's own conversions do: a command that predicts begins sooner.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from electorate.data.factors import Factors
from electorate.data.table import Block, Categories, codes_of_values, numeric_codes


class ArrowTable:
    """A pyarrow table whose columns are of the types above, each in one piece."""

    def __init__(self, table: Any) -> None:
        self.names: list[str] = list(table.column_names)
        self.n_rows: int = table.num_rows
        self.n_columns: int = table.num_columns
        self._columns = [_read(column.chunk(0)) for column in table.columns]
        self._codes: dict[int, NDArray[np.float64]] = {}

    @staticmethod
    def fits(table: Any) -> bool:
        return all(column.num_chunks == 1 and str(column.type) in ("double", DICTIONARY) for column in table.columns)

    def numbers(self, low: int, high: int, columns: Sequence[int]) -> Block:
        block = np.empty((len(columns), high - low))
        for place, column in enumerate(columns):
            block[place] = self._columns[column][low:high]
        return block

    def codes(self, low: int, high: int, column: int, categories: Categories) -> NDArray[np.float64]:
        held = self._columns[column]
        if not isinstance(held, Factors):
            return numeric_codes(held[low:high], categories)
        if column not in self._codes:
            self._codes[column] = codes_of_values(held, categories)
        return self._codes[column][held.rows[low:high]]


DICTIONARY = "dictionary<values=string, indices=int32, ordered=0>"


def _read(part: Any) -> Any:
    """NaN, or -1 among the numbers of values, where there is nothing."""
    if str(part.type) == "double":
        return _filled(part, np.float64, np.nan)
    return Factors(part.dictionary.to_pylist(), _filled(part.indices, np.int32, -1))


def _filled(part: Any, kind: type[np.generic], missing: float) -> NDArray[Any]:
    valid, values = part.buffers()
    ends = slice(part.offset, part.offset + len(part))
    held = np.frombuffer(values, dtype=kind)[ends]
    if not part.null_count:
        return held
    there = np.unpackbits(np.frombuffer(valid, dtype=np.uint8), bitorder="little")[ends]
    return np.where(there, held, kind(missing))
