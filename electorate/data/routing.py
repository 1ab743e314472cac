"""Which part an input belongs to: a salted hash of its features, the same for every container that holds them.

Numbers are hashed as float64, texts as texts. Which columns hold texts is decided once, by the training rows.
"""

import numpy as np

from electorate import kernels
from electorate.arrays import Hashes, Ints
from electorate.data.bins import block_rows
from electorate.data.split import hash_text
from electorate.data.table import Categories, Table


def text_columns(table: Table) -> list[int]:
    """The columns of the training rows that are hashed as texts."""
    return [j for j in table.category_columns() if Categories(table.levels(j)).is_text]


def input_hashes(table: Table, texts: list[int], salt: int) -> Hashes:
    """A hash of the features of every row; equal inputs have equal hashes. A missing value is a value of its own."""
    hashes = np.full(table.n_rows, hash_text(f"part {salt}"), dtype=np.uint64)
    numeric = [j for j in range(table.n_columns) if j not in set(texts)]
    rows = block_rows(table.n_columns)
    for low in range(0, table.n_rows if numeric else 0, rows):
        part = hashes[low : low + rows]
        for column in table.numbers(low, low + len(part), numeric):
            kernels.fold(column, part)
    for j in texts:
        levels = Categories(np.array([str(level) for level in table.levels(j).tolist()], dtype=object))
        number = np.array([*(float(hash_text(text) >> 11) for text in levels.levels.tolist()), np.nan])
        codes = table.codes(0, table.n_rows, j, levels)
        kernels.fold(number[np.where(np.isnan(codes), -1, codes).astype(np.int64)], hashes)
    return hashes


def parts_of(hashes: Hashes, n_parts: int) -> Ints:
    """The part of every row."""
    return (hashes % np.uint64(n_parts)).astype(np.int64)
