"""Votes over cells as bytes, by NumPy alone: no compiled kernel to wait for. The votes are those of `Ensemble.votes`.

Stumps vote by one table per column. In trees every question crosses out leaves, as in masks.py; what is left of a byte
of leaves is looked up in the table of its 256 values.
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
NO_CUT = np.uint8(0)
GATHERED = 16  # categories up to which adding them up beats a table

Bytes = NDArray[np.uint8]
Votes = NDArray[np.int64]


@dataclass(frozen=True)
class ColumnTables:
    """[output, cell] for every column that stumps ask about; constant: of voters that ask nothing."""

    constant: NDArray[np.int64]
    tables: list[NDArray[np.int64]]

    @classmethod
    def of(cls, ensemble: Ensemble) -> "ColumnTables":
        wide = []
        for table in tables_of(ensemble):
            wide.append(np.zeros((len(table), VALUES), dtype=np.int64))
            wide[-1][:, : table.shape[1] - 1] = table[:, :-1]
            wide[-1][:, MISSING] = table[:, -1]
        return cls(ensemble.constant, wide)

    def add(self, cells: Bytes, votes: Votes) -> None:
        votes += self.constant[:, None]
        said = np.empty(cells.shape[1], dtype=np.int64)
        for table, column in zip(self.tables, cells, strict=True):
            for output, total in zip(table, votes, strict=True):
                total += np.take(output, column, out=said, mode="clip")


class Asked(NamedTuple):
    """Cells on one side: those up to `cut`, or those in `members`; else `by_cell` says of all cells what is kept."""

    place: int
    shift: int
    cut: np.uint8
    members: list[int] | None
    crossing: list[tuple[int, np.uint8, np.uint8]]  # plane; what is kept of it on the other side, and what differs here
    by_cell: list[tuple[int, Bytes]]


class Crossing:
    """Trees of few leaves, about columns of few cells."""

    def __init__(self, ensemble: Ensemble, masks: Masks, bins: Bins) -> None:
        self.leaves = masks.leaves.tolist()
        self.units = np.ascontiguousarray(ensemble.units[masks.nodes].T)  # [output, leaf]
        n_codes = bins.n_bins[ensemble.cells.columns].tolist()
        splits = [_asked(masks.tests, number, n_codes) for number in range(len(masks.tests.place))]
        self.voters = [splits[first:last] for first, last in pairwise(masks.offsets.tolist())]

    def add(self, cells: Bytes, votes: Votes) -> None:
        work = Work(cells)
        for number, splits in enumerate(self.voters):
            first, last = self.leaves[number : number + 2]
            left = 255 if splits else 1  # a tree of one leaf is there already
            planes = [np.full(cells.shape[1], left, dtype=np.uint8) for _ in range(first, last, 8)]
            for split in splits:
                work.cross_out(split, planes)
            self._vote(self.units[:, first:last], planes, votes, work.said)

    def _vote(self, units: NDArray[np.int64], planes: list[Bytes], votes: Votes, said: Votes) -> None:
        for place, plane in enumerate(planes):
            mine = units[:, 8 * place : 8 * place + 8]
            for output in np.flatnonzero(mine.any(axis=1)).tolist():
                table = np.zeros(VALUES, dtype=np.int64)
                table[BITS[: mine.shape[1]]] = mine[output]
                votes[output] += np.take(table, plane, out=said, mode="clip")


class Work:
    """The cells, also one higher, so that a missing one is below all others; and room for results."""

    def __init__(self, cells: Bytes) -> None:
        rows = cells.shape[1]
        self.cells = cells, cells + np.uint8(1)
        self.side = np.empty(rows, dtype=np.uint8)
        self.kept = np.empty(rows, dtype=np.uint8)
        self.said = np.empty(rows, dtype=np.int64)
        self._equal: dict[tuple[int, int], Bytes] = {}

    def cross_out(self, split: Asked, planes: list[Bytes]) -> None:
        column, kept = self.cells[split.shift][split.place], self.kept
        if split.by_cell:
            for place, by_cell in split.by_cell:
                planes[place] &= np.take(by_cell, column, out=kept, mode="clip")
            return
        if split.members is None:
            np.less_equal(column, split.cut, out=self.side.view(np.bool_))
        else:
            self._gather(split.place, split.members)
        for place, other, differs in split.crossing:
            np.multiply(self.side, differs, out=kept)
            planes[place] &= np.bitwise_xor(kept, other, out=kept)

    def _gather(self, place: int, members: list[int]) -> None:
        self.side[:] = 0
        for cell in members:
            if (place, cell) not in self._equal:
                self._equal[place, cell] = (self.cells[0][place] == cell).view(np.uint8)
            self.side |= self._equal[place, cell]


def _asked(tests: Tests, number: int, n_codes: list[int]) -> Asked:
    place, table = int(tests.place[number]), int(tests.table[number])
    planes = range(*tests.span[number].tolist())
    right, left = tests.keep[number, :, 0], tests.keep[number, :, 1]
    if table < 0:
        crossing = [(plane, right[plane], left[plane] ^ right[plane]) for plane in planes]
        return Asked(place, int(tests.shift[number]), tests.cut[number], None, crossing, [])
    on_left = tests.tables[table] > 0
    cells = [*range(n_codes[place]), MISSING]
    sides = [[cell for cell in cells if on_left[cell] == is_left] for is_left in (True, False)]
    members, other = (sides[0], right) if len(sides[0]) <= len(sides[1]) else (sides[1], left)
    if len(members) <= GATHERED:
        crossing = [(plane, other[plane], left[plane] ^ right[plane]) for plane in planes]
        return Asked(place, 0, NO_CUT, members, crossing, [])
    by_cell = [(plane, np.where(on_left, left[plane], right[plane])) for plane in planes]
    return Asked(place, 0, NO_CUT, None, [], by_cell)


Voting = ColumnTables | Crossing


def voting(ensemble: Ensemble, bins: Bins) -> Voting | None:
    """None where bytes cannot tell cells, or the leaves of a tree, apart."""
    if ensemble.masks is None:
        return None
    if ensemble.lookup is not None and not ensemble.fits_tables(VALUES):
        return None
    return ColumnTables.of(ensemble) if ensemble.lookup is not None else Crossing(ensemble, ensemble.masks, bins)
