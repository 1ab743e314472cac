"""Several tables as one, without copying: the partitions that are on one worker.

Rows are those of the first table, then of the second, and so on.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from electorate.data.all_reduce import SortedUnion
from electorate.data.table import Block, Categories, Codes, Table


class Stack(Table):
    """partitions: the numbers of the tables among all partitions, to name rows by."""

    def __init__(self, tables: Sequence[Table], partitions: Sequence[int]) -> None:
        self.tables = tables
        self.partitions = partitions
        self.starts = np.cumsum([0, *(table.n_rows for table in tables)])
        self.n_rows = int(self.starts[-1])
        self.n_columns = tables[0].n_columns
        self.names = tables[0].names

    def read_into(self, block: Block, low: int, high: int, columns: Sequence[int]) -> None:
        for table, first, last, place in self._parts(low, high):
            table.read_into(block[:, place : place + last - first], first, last, columns)

    def levels(self, column: int) -> NDArray[Any]:
        name = f"column {self.names[column] if self.names else column!r}"
        found = [SortedUnion(table.levels(column), name) for table in self.tables]
        return sum(found[1:], start=found[0]).values

    def codes(self, low: int, high: int, column: int, categories: Categories) -> Codes:
        found = [table.codes(first, last, column, categories) for table, first, last, _ in self._parts(low, high)]
        return np.concatenate([np.empty(0), *found])

    def category_columns(self) -> list[int]:
        return sorted({column for table in self.tables for column in table.category_columns()})

    def row_name(self, row: int) -> str:
        table = int(np.searchsorted(self.starts, row, side="right")) - 1
        return f"row {row - int(self.starts[table])} of partition {self.partitions[table]}"

    def _parts(self, low: int, high: int) -> Iterator[tuple[Table, int, int, int]]:
        """Yield the tables that hold rows low..high, which of their rows these are, and where they go in a block."""
        first = max(int(np.searchsorted(self.starts, low, side="right")) - 1, 0)
        last = int(np.searchsorted(self.starts, high, side="left"))
        for table, start in zip(self.tables[first:last], self.starts[first:last].tolist(), strict=True):
            begin, stop = max(low, start), min(high, start + table.n_rows)
            if begin < stop:
                yield table, begin - start, stop - start, begin - low
