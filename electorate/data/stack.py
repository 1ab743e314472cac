"""Several tables as one, without copying: the partitions that live in one place.

Rows are those of the first table, then of the second, and so on.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from electorate.data.all_reduce import SortedUnion
from electorate.data.table import Block, Categories, Table


class Stack:
    """numbers: of the partitions, to name rows by."""

    def __init__(self, tables: Sequence[Table], numbers: Sequence[int]) -> None:
        self.tables = tables
        self.partitions = numbers
        self.starts = np.concatenate([[0], np.cumsum([table.n_rows for table in tables])]).astype(np.int64)
        self.n_rows = int(self.starts[-1])
        self.n_columns = tables[0].n_columns
        self.names = tables[0].names

    def numbers(self, low: int, high: int, columns: Sequence[int]) -> Block:
        parts = list(self.parts(low, high))
        if len(parts) == 1:
            table, first, last, _ = parts[0]
            return table.numbers(first, last, columns)
        block = np.empty((len(columns), high - low))
        for table, first, last, place in parts:
            block[:, place : place + last - first] = table.numbers(first, last, columns)
        return block

    def levels(self, column: int) -> NDArray[Any]:
        name = f"column {self.names[column] if self.names else column!r}"
        found = [SortedUnion(table.levels(column), name) for table in self.tables]
        return sum(found[1:], start=found[0]).values

    def codes(self, low: int, high: int, column: int, categories: Categories) -> NDArray[np.float64]:
        found = [table.codes(first, last, column, categories) for table, first, last, _ in self.parts(low, high)]
        return found[0] if len(found) == 1 else np.concatenate([np.empty(0), *found])

    def category_columns(self) -> list[int]:
        return sorted({column for table in self.tables for column in table.category_columns()})

    def place(self, row: int) -> str:
        """How to name a row to whoever knows the partitions only."""
        table = int(np.searchsorted(self.starts, row, side="right")) - 1
        return f"row {row - int(self.starts[table])} of partition {self.partitions[table]}"

    def parts(self, low: int, high: int) -> Iterator[tuple[Table, int, int, int]]:
        """The tables that hold rows low..high, which rows of theirs, and where those go."""
        first = int(np.searchsorted(self.starts, low, side="right")) - 1
        for number in range(max(first, 0), len(self.tables)):
            start, end = (int(row) for row in self.starts[number : number + 2])
            if start >= high:
                return
            begin, stop = max(low, start), min(high, end)
            if begin < stop:
                yield self.tables[number], begin - start, stop - start, begin - low
