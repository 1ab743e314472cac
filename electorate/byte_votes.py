"""Votes over cells as bytes, by NumPy alone: no compiled kernel to wait for. The votes are those of `Ensemble.votes`.

Stumps vote by one table per column. In trees every question crosses out leaves, as in masks.py; what is left of a byte
of leaves is looked up in the table of its 256 values.
"""

from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from electorate.ensemble import Ensemble, tables_of
from electorate.masks import MISSING, Masks

VALUES = 256
BITS = 1 << np.arange(8)

Bytes = NDArray[np.uint8]
Votes = NDArray[np.int64]


@dataclass(frozen=True)
class ColumnTables:
    """[output, cell] for every column that stumps ask about; constant: of voters that ask nothing."""

    constant: NDArray[np.int64]
    tables: list[NDArray[np.int64]]

    @classmethod
    def of(cls, ensemble: Ensemble) -> "ColumnTables":
        roots = ensemble.offsets[:-1]
        constant = ensemble.units[roots[ensemble.column[roots] < 0]].sum(axis=0)
        wide = []
        for table in tables_of(ensemble):
            wide.append(np.zeros((len(table), VALUES), dtype=np.int64))
            wide[-1][:, : table.shape[1] - 1] = table[:, :-1]
            wide[-1][:, MISSING] = table[:, -1]
        return cls(constant, wide)

    def add(self, cells: Bytes, votes: Votes) -> None:
        votes += self.constant[:, None]
        said = np.empty(cells.shape[1], dtype=np.int64)
        for table, column in zip(self.tables, cells, strict=True):
            for output, total in zip(table, votes, strict=True):
                total += np.take(output, column, out=said, mode="clip")


class Question(NamedTuple):
    place: int
    by_table: bool
    shift: int
    cut: np.uint8
    crossing: list[tuple[int, NDArray[np.uint8]]]  # plane; by cell, or [right, left ^ right]: what is kept of it


class Crossing:
    """Trees of few leaves, about columns of few cells."""

    def __init__(self, ensemble: Ensemble, masks: Masks) -> None:
        self.ensemble = ensemble
        self.leaves = masks.leaves.tolist()
        self.units = np.ascontiguousarray(ensemble.units[masks.nodes].T)  # [output, leaf]
        questions = _questions(masks)
        self.voters = [questions[first:last] for first, last in pairwise(masks.offsets.tolist())]

    def add(self, cells: Bytes, votes: Votes) -> None:
        work = Work.of(cells)
        for number, questions in enumerate(self.voters):
            first, last = self.leaves[number : number + 2]
            left = 255 if questions else 1  # a tree of one leaf is there already
            planes = [np.full(cells.shape[1], left, dtype=np.uint8) for _ in range(first, last, 8)]
            for question in questions:
                work.cross_out(question, planes)
            self._vote(self.units[:, first:last], planes, votes, work.said)

    def _vote(self, units: NDArray[np.int64], planes: list[Bytes], votes: Votes, said: Votes) -> None:
        for place, plane in enumerate(planes):
            mine = units[:, 8 * place : 8 * place + 8]
            for output in np.flatnonzero(mine.any(axis=1)).tolist():
                table = np.zeros(VALUES, dtype=np.int64)
                table[BITS[: mine.shape[1]]] = mine[output]
                votes[output] += np.take(table, plane, out=said, mode="clip")


@dataclass(frozen=True)
class Work:
    """The cells, also one higher, so that a missing one is below all others; and room for results."""

    cells: tuple[Bytes, Bytes]
    goes_left: NDArray[np.bool_]
    kept: Bytes
    said: Votes

    @classmethod
    def of(cls, cells: Bytes) -> "Work":
        rows = cells.shape[1]
        one_higher = cells + np.uint8(1)
        return cls((cells, one_higher), np.empty(rows, np.bool_), np.empty(rows, np.uint8), np.empty(rows, np.int64))

    def cross_out(self, question: Question, planes: list[Bytes]) -> None:
        column, kept = self.cells[question.shift][question.place], self.kept
        if question.by_table:
            for place, by_cell in question.crossing:
                planes[place] &= np.take(by_cell, column, out=kept, mode="clip")
            return
        goes_left = np.less_equal(column, question.cut, out=self.goes_left).view(np.uint8)
        for place, (right, both) in question.crossing:
            np.multiply(goes_left, both, out=kept)
            planes[place] &= np.bitwise_xor(kept, right, out=kept)


def _questions(masks: Masks) -> list[Question]:
    tests = masks.tests
    questions = []
    for number, (place, shift, cut, table) in enumerate(
        zip(tests.place.tolist(), tests.shift.tolist(), tests.cut, tests.table.tolist(), strict=True)
    ):
        first, last = tests.span[number].tolist()
        crossing = []
        for plane in range(first, last):
            right, left = tests.keep[number, plane]  # keep[..., 1] where it goes left
            by_cell = np.where(tests.tables[table] > 0, left, right) if table >= 0 else np.array([right, left ^ right])
            crossing.append((plane, by_cell))
        questions.append(Question(place, table >= 0, 0 if table >= 0 else shift, cut, crossing))
    return questions


Voting = ColumnTables | Crossing


def voting(ensemble: Ensemble) -> Voting | None:
    """None where bytes cannot tell cells, or the leaves of a tree, apart."""
    if ensemble.masks is None:
        return None
    return ColumnTables.of(ensemble) if ensemble.lookup is not None else Crossing(ensemble, ensemble.masks)
