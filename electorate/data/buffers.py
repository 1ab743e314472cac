"""Blocks of a table, read one after another into the same room.

Room that is new with every block costs more than reading: the pages of a large array come from the system each time,
wherever memory goes back at once, as on the workers of Dask.
"""

from collections.abc import Sequence

import numpy as np

from electorate.data.stack import Stack
from electorate.data.table import ArrayTable, Block, Table, as_slice


class BlockReader:
    """What `numbers` returns is good until it is called again."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self.room = np.empty(0)

    def numbers(self, low: int, high: int, columns: Sequence[int]) -> Block:
        size = len(columns) * (high - low)
        if len(self.room) < size:
            self.room = np.empty(size)
        block = self.room[:size].reshape(len(columns), high - low)
        _fill(self.table, low, high, columns, block)
        return block


def _fill(table: Table, low: int, high: int, columns: Sequence[int], block: Block) -> None:
    if type(table) is ArrayTable:
        np.copyto(block, table.array[low:high, as_slice(columns)].T, casting="unsafe")
    elif isinstance(table, Stack):
        for part, first, last, place in table.parts(low, high):
            _fill(part, first, last, columns, block[:, place : place + last - first])
    else:
        block[:] = table.numbers(low, high, columns)
