"""Votes over cells as bytes, by NumPy alone, so that no kernel has to be compiled.

Stumps vote by one table per column. In trees every split crosses out leaves, as in masks.py; what is left of a byte of
leaves is looked up in the table of its 256 values.
"""

from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from electorate.data.bins import Bins
from electorate.model.ensemble import Ensemble, tables_of
from electorate.model.masks import MISSING, Masks, Tests

VALUES = 256
BITS = 1 << np.arange(8)
GATHERED = 16  # categories up to which adding them up beats a table

Bytes = NDArray[np.uint8]
Votes = NDArray[np.int64]


@dataclass(frozen=True)
class ColumnTables:
    """[output, cell] for every column that stumps split on; constant: the votes of voters of one leaf."""

    constant: NDArray[np.int64]
    tables: list[NDArray[np.int64]]

    @classmethod
    def of(cls, ensemble: Ensemble) -> "ColumnTables":
        tables = tables_of(ensemble)
        wide = [np.zeros((len(table), VALUES), dtype=np.int64) for table in tables]
        for table, copy in zip(tables, wide, strict=True):
            copy[:, : table.shape[1] - 1] = table[:, :-1]
            copy[:, MISSING] = table[:, -1]
        return cls(ensemble.constant, wide)

    def add(self, cells: Bytes, votes: Votes) -> None:
        votes += self.constant[:, None]
        buffer = np.empty(cells.shape[1], dtype=np.int64)
        for table, column in zip(self.tables, cells, strict=True):
            for output, total in zip(table, votes, strict=True):
                total += np.take(output, column, out=buffer, mode="clip")


class ByteSplit(NamedTuple):
    """Cells on one side: those up to `cut`, or those in `members`; else `by_cell` has the leaves left for each cell."""

    place: int
    shift: int = 0
    cut: np.uint8 = np.uint8(0)
    members: list[int] | None = None
    # plane; its leaves that are left on the other side, and those that differ here
    crossing: tuple[tuple[int, np.uint8, np.uint8], ...] = ()
    by_cell: tuple[tuple[int, Bytes], ...] = ()


class Crossing:
    """Trees of few leaves, about columns of few cells."""

    def __init__(self, ensemble: Ensemble, masks: Masks, bins: Bins) -> None:
        self.leaves = masks.leaves.tolist()
        self.units = ensemble.leaf_units
        n_codes = bins.n_bins[ensemble.cells.columns].tolist()
        splits = [_byte_split(masks.tests, number, n_codes) for number in range(len(masks.tests.place))]
        self.voters = [splits[first:last] for first, last in pairwise(masks.offsets.tolist())]

    def add(self, cells: Bytes, votes: Votes) -> None:
        work = Work(cells)
        for number, splits in enumerate(self.voters):
            first, last = self.leaves[number : number + 2]
            left = 255 if splits else 1  # a tree of one leaf is there already
            planes = [np.full(cells.shape[1], left, dtype=np.uint8) for _ in range(first, last, 8)]
            for split in splits:
                work.cross_out(split, planes)
            for place, plane in enumerate(planes):
                mine = self.units[:, first:last][:, 8 * place : 8 * place + 8]
                for output in np.flatnonzero(mine.any(axis=1)).tolist():
                    table = np.zeros(VALUES, dtype=np.int64)
                    table[BITS[: mine.shape[1]]] = mine[output]
                    votes[output] += np.take(table, plane, out=work.votes, mode="clip")


class Work:
    """The cells, also one higher, so that a missing one is below all others; and buffers for results."""

    def __init__(self, cells: Bytes) -> None:
        rows = cells.shape[1]
        self.cells = cells, cells + np.uint8(1)
        self.side = np.empty(rows, dtype=np.uint8)
        self.left = np.empty(rows, dtype=np.uint8)
        self.votes = np.empty(rows, dtype=np.int64)
        self._equal: dict[tuple[int, int], Bytes] = {}

    def cross_out(self, split: ByteSplit, planes: list[Bytes]) -> None:
        column, left = self.cells[split.shift][split.place], self.left
        if split.by_cell:
            for place, by_cell in split.by_cell:
                planes[place] &= np.take(by_cell, column, out=left, mode="clip")
            return
        if split.members is None:
            np.less_equal(column, split.cut, out=self.side.view(np.bool_))
        else:
            self._gather(split.place, split.members)
        for place, other, differs in split.crossing:
            np.multiply(self.side, differs, out=left)
            planes[place] &= np.bitwise_xor(left, other, out=left)

    def _gather(self, place: int, members: list[int]) -> None:
        self.side[:] = 0
        for cell in members:
            if (place, cell) not in self._equal:
                self._equal[place, cell] = (self.cells[0][place] == cell).view(np.uint8)
            self.side |= self._equal[place, cell]


def _byte_split(tests: Tests, number: int, n_codes: list[int]) -> ByteSplit:
    place, table = int(tests.place[number]), int(tests.table[number])
    planes = list(range(*tests.span[number].tolist()))
    right, left = tests.keep[number, :, 0], tests.keep[number, :, 1]
    differs = [left[plane] ^ right[plane] for plane in planes]
    if table < 0:
        crossing = tuple(zip(planes, right[planes], differs, strict=True))
        return ByteSplit(place, int(tests.shift[number]), tests.cut[number], crossing=crossing)
    on_left = tests.tables[table] > 0
    cells = [*range(n_codes[place]), MISSING]
    sides = [[cell for cell in cells if on_left[cell] == is_left] for is_left in (True, False)]
    members, other = (sides[0], right) if len(sides[0]) <= len(sides[1]) else (sides[1], left)
    if len(members) <= GATHERED:
        return ByteSplit(place, members=members, crossing=tuple(zip(planes, other[planes], differs, strict=True)))
    return ByteSplit(place, by_cell=tuple((k, np.where(on_left, left[k], right[k])) for k in planes))


Voting = ColumnTables | Crossing


def voting(ensemble: Ensemble, bins: Bins) -> Voting | None:
    """Return None where a byte is too small for the cells of a column, or a tree has too many leaves."""
    if ensemble.masks is None:
        return None
    if ensemble.lookup is not None and not ensemble.fits_tables(VALUES):
        return None
    return ColumnTables.of(ensemble) if ensemble.lookup is not None else Crossing(ensemble, ensemble.masks, bins)
