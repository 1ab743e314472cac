"""Predictions from a model file without its estimator, so that a command that predicts starts at once.

Importing scikit-learn takes longer than predicting a million rows: it is not imported here. Only what predicts is read
and checked. Other models than sums of trees are left to `load`.

Stumps vote by one table per column. In trees every split crosses out leaves, as in masks.py; what is left of a byte of
leaves is looked up in the table of its 256 values.
"""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from electorate import modelfile
from electorate.data.bins import Bins, reader
from electorate.data.table import ArrowTable, read_table, refuse_infinite
from electorate.exact import Floats, Ints
from electorate.model import decisions
from electorate.model import file_parts as parts
from electorate.model.ensemble import Ensemble, tables_of
from electorate.model.masks import MISSING, Masks, Tests
from electorate.modelfile import Contents, blaming
from electorate.registry import WRITTEN

DECIDE = {"sum": decisions.plain, "samme": decisions.as_samme}  # by the vote of the algorithm
FEW_NODES = 2_000  # up to that NumPy predicts; larger models are for the compiled kernels
ROWS = 2**16  # at once: bytes of them stay in the second-level cache
COUNTED = 128  # edges up to which comparing with all of them beats a search
VALUES = 256
BITS = 1 << np.arange(8)
GATHERED = 16  # categories up to which adding them up beats a table
Bytes = NDArray[np.uint8]
Votes = Ints


def read_quickly(path: Any) -> "QuickClassifier | None":
    """Return None for a model with a cleaning, or whose vote is no sum of trees; errors are those of `load`."""
    contents = modelfile.read(path)
    registered = WRITTEN.get(contents.kind)
    if registered is None or registered.vote not in DECIDE or "offsets" not in contents.arrays:
        return None
    if contents.meta.get("cleaning") is not None:
        return None
    with blaming(contents.source):
        return QuickClassifier(contents)


class QuickClassifier:
    """The decision function of a fitted classifier, for pyarrow tables that have its columns."""

    n_features_in_: int
    bins_: Bins

    def __init__(self, contents: Contents) -> None:
        parts.read_columns(contents, self)
        self.classes_ = parts.read_classes(contents)
        self.ensemble_ = parts.read_ensemble(contents, self.bins_, len(self.classes_))
        self._voting = voting(self.ensemble_, self.bins_) if len(self.ensemble_.column) <= FEW_NODES else None
        self._decide = DECIDE[WRITTEN[contents.kind].vote]

    def decision_function(self, X: Any) -> Floats:
        table: Any = ArrowTable(X) if ArrowTable.fits(X) else read_table(X)
        if self._voting is None or not isinstance(table, ArrowTable):
            votes = self.ensemble_.votes(table.n_rows, reader(table, self.bins_.categories))
        else:
            votes = np.zeros((self.ensemble_.n_outputs, table.n_rows), dtype=np.int64)
            for low in range(0, table.n_rows, ROWS):
                high = min(low + ROWS, table.n_rows)
                self._voting.add(self._cells(table, low, high), votes[:, low:high])
        return self._decide(votes, len(self.classes_), float(np.abs(self.ensemble_.steps).sum()))

    def _cells(self, table: ArrowTable, low: int, high: int) -> Bytes:
        """[place, row] of the columns that voters split on; ValueError for an infinite value in any column."""
        used, categories = self.ensemble_.cells, self.bins_.categories
        edges = dict(zip(used.columns.tolist(), used.edges, strict=True))
        cells = []
        for column in range(table.n_columns):
            coded = column in categories
            codes = table.codes(low, high, column, categories[column]) if coded else None
            values = table.numbers(low, high, [column])[0] if codes is None else codes
            infinite = np.isinf(values)
            if infinite.any():
                refuse_infinite(table, column, low + int(np.argmax(infinite)))
            if column in edges:
                cells.append(code_cells(values) if coded else count_below(edges[column], values))
        return np.array(cells, dtype=np.uint8).reshape(-1, high - low)


def code_cells(codes: Floats) -> Bytes:
    """The cell of every category code."""
    return np.where(np.isnan(codes), MISSING, codes).astype(np.uint8)


def count_below(edges: Floats, values: Floats) -> Bytes:
    """The cell of every value: how many edges are below it."""
    if len(edges) > COUNTED:
        cells = np.searchsorted(edges, values).astype(np.uint8)
    else:
        cells = np.zeros(len(values), dtype=np.uint8)
        for edge in edges:
            cells += np.greater(values, edge).view(np.uint8)
    cells[np.isnan(values)] = MISSING
    return cells


# ---------------------------------------------------------------- votes over cells as bytes


@dataclass(frozen=True)
class StumpTables:
    """[output, cell] for every column that stumps split on; constant: the votes of voters of one leaf."""

    constant: Ints
    tables: list[Ints]

    @classmethod
    def of(cls, ensemble: Ensemble) -> "StumpTables":
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
        work = CellBuffers(cells)
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


class CellBuffers:
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


def voting(ensemble: Ensemble, bins: Bins) -> StumpTables | Crossing | None:
    """Return None where a byte is too small for the cells of a column, or a tree has too many leaves."""
    if ensemble.masks is None:
        return None
    if ensemble.lookup is not None and not ensemble.fits_tables(VALUES):
        return None
    return StumpTables.of(ensemble) if ensemble.lookup is not None else Crossing(ensemble, ensemble.masks, bins)
