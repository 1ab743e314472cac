"""The fitted model as plain arrays: voters as small trees of nodes, their steps, and a vote by weighted sum.

Votes are integers on the 2^-40 grid, so any order of adding gives the same bits. An ensemble of stumps is
additive over columns: it predicts by one lookup table per column, whatever the number of voters.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from electorate import kernels
from electorate.data.bins import block_rows, pad_edges, similar_sizes
from electorate.exact import UNITS, AnyArray, Bools, Floats, Ints
from electorate.model.masks import MISSING, Masks
from electorate.threads import ThreadPool

LEAF = -1
NODE_ARRAYS = ("column", "threshold", "members", "missing_left", "children", "value")
SET_WIDTH = 256  # category codes; the last one stands for missing and is not used
ArrayType = tuple[str, tuple[int | None, ...]]  # dtype and shape in a file
ARRAY_TYPES: dict[str, ArrayType] = {
    "offsets": ("<i8", (None,)),
    "column": ("<i4", (None,)),
    "threshold": ("<f8", (None,)),
    "members": ("<i4", (None,)),
    "missing_left": ("|b1", (None,)),
    "children": ("<i4", (None, 2)),
    "value": ("<f8", (None, None)),
    "steps": ("<f8", (None,)),
    "rounds": ("<i4", (None,)),
    "about": ("<i4", (None,)),
    "sets": ("|b1", (None, SET_WIDTH)),
}
CLIMBED = 48  # edges up to which comparing with all of them beats a search
MOST_TABLE = 1 << 22  # entries of tables by column, beyond a few times what the nodes themselves hold
VOTERS_AT_ONCE = 64  # walked over a block in one kernel call: stays far under 0.2 s

SERIAL = ThreadPool(1)
Tables = list[Ints]  # of each column, [output, cell]
Read = Callable[[int, int], Floats]  # rows low..high as a block [column, row]


@dataclass(frozen=True)
class Ensemble:
    """Voter t has the nodes offsets[t]..offsets[t+1], its root first; children come after their parent."""

    offsets: Ints
    column: NDArray[np.int32]  # LEAF at a leaf
    threshold: Floats  # x <= threshold goes left
    members: NDArray[np.int32]  # row of `sets` for a test by category, else -1
    missing_left: Bools
    children: NDArray[np.int32]  # [node, left and right], counted from the voter's root
    value: Floats  # [node, output] of leaves
    steps: Floats
    rounds: NDArray[np.int32]  # in which each voter came, from 1, ascending
    about: NDArray[np.int32]  # the label that a one-against-rest voter is about, -1 for all
    sets: Bools  # [set, category code]: goes left
    n_columns: int  # of the table

    @property
    def n_voters(self) -> int:
        return len(self.steps)

    @property
    def n_outputs(self) -> int:
        return int(self.value.shape[1])

    @cached_property
    def units(self) -> Ints:
        """[node, output]: step times leaf value, in units of the grid."""
        steps = np.repeat(self.steps, np.diff(self.offsets))
        return np.rint(steps[:, None] * self.value * UNITS).astype(np.int64, order="C")

    @cached_property
    def child_nodes(self) -> Ints:
        """[node, left and right], counted from the first node of all; of no use at leaves."""
        return np.repeat(self.offsets[:-1], np.diff(self.offsets))[:, None] + self.children

    @cached_property
    def constant(self) -> Ints:
        """[output]: the votes of all voters of one leaf."""
        roots = self.offsets[:-1]
        return np.asarray(self.units[roots[self.column[roots] == LEAF]].sum(axis=0))

    @cached_property
    def cells(self) -> "Cells":
        return Cells.of(self)

    @cached_property
    def ladder(self) -> "Ladder":
        return Ladder.of(self)

    @cached_property
    def masks(self) -> Masks | None:
        """The masks for voters of few leaves, about columns of few cells."""
        return Masks.of(self)

    @cached_property
    def lookup(self) -> "Lookup | None":
        """Tables by column, if every voter is a stump and they are not too large."""
        return Lookup.of(self) if np.all(np.diff(self.offsets) <= 3) and self.fits_tables(0) else None

    def fits_tables(self, least: int) -> bool:
        """Return whether tables of all cells of all columns, `least` or more of each, take little memory."""
        entries = sum(max(least, len(edges) + 2) for edges in self.cells.edges) * self.n_outputs
        return entries <= MOST_TABLE + 4 * self.value.size

    def votes(self, n_rows: int, read: Read, pool: ThreadPool = SERIAL) -> Ints:
        """[output, row] of the summed votes, in units of the grid."""
        votes = np.zeros((self.n_outputs, n_rows), dtype=np.int64)
        vote = self.lookup.fill if self.lookup is not None else self._walk
        ends = [n_rows * k // pool.n_jobs for k in range(pool.n_jobs + 1)]
        pool.map(lambda part: vote(votes, *part, read), pairwise(ends))
        return votes

    def staged_votes(self, n_rows: int, read: Read) -> Iterator[tuple[int, Ints]]:
        """Yield after every round how many voters there are and their votes (the same array, added to)."""
        votes = np.zeros((self.n_outputs, n_rows), dtype=np.int64)
        cells = np.empty((len(self.cells.columns), n_rows), dtype=np.int32 if self.masks is None else np.uint8)
        for low, high in _blocks(0, n_rows, self.n_columns):
            cells[:, low:high] = self.find_cells(read(low, high))
        ends = np.flatnonzero(np.diff(self.rounds, append=-1)) + 1
        for first, last in pairwise([0, *ends.tolist()]):
            self._walk_cells(cells, votes, first, last)
            yield last, votes

    def _walk(self, votes: Ints, low: int, high: int, read: Read) -> None:
        """votes[:, low:high], block by block."""
        for at, end in _blocks(low, high, self.n_columns):
            cells = self.find_cells(read(at, end))
            part = np.zeros((self.n_outputs, end - at), dtype=np.int64)
            for first in range(0, self.n_voters, VOTERS_AT_ONCE):
                self._walk_cells(cells, part, first, min(first + VOTERS_AT_ONCE, self.n_voters))
            votes[:, at:end] = part

    def find_cells(self, block: Floats) -> AnyArray:
        """[place, row]: the cell of every value of a block, as bytes where `masks` are used."""
        return self.cells.find(block, -1, np.int32) if self.masks is None else self.cells.find(block, MISSING, np.uint8)

    @cached_property
    def leaf_units(self) -> Ints:
        """[output, leaf] of the units, in the order of `masks`."""
        assert self.masks is not None
        return np.ascontiguousarray(self.units[self.masks.nodes].T)

    def _walk_cells(self, cells: AnyArray, votes: Ints, first: int, last: int) -> None:
        offsets = self.offsets[first : last + 1]
        if self.masks is not None:
            ends = (self.masks.offsets[first : last + 1], self.masks.leaves[first : last + 1])
            kernels.vote(cells, *ends, self.masks.tests, self.leaf_units, votes, *self.masks.scratch(cells.shape[1]))
        elif len(self.sets):
            tests = (self.cells.place, self.cells.cut, self.members, self.missing_left)
            kernels.walk(cells, offsets, *tests, self.children, self.sets, self.units, votes)
        else:
            scratch = np.empty(cells.shape[1], dtype=np.int32)
            depths = self.ladder.depths[first:last]
            nodes = (self.ladder.place, self.ladder.low, self.ladder.cut, self.ladder.kids)
            kernels.walk_ordered(cells, offsets, depths, *nodes, self.units, votes, scratch)

    def only(self, voter: int) -> "Ensemble":
        """The ensemble of one voter, with a step of 1."""
        return self.chosen([voter], [1.0])

    def chosen(self, voters: list[int], steps: list[float]) -> "Ensemble":
        """The ensemble of these voters, with other steps."""
        chosen = np.array(voters, dtype=np.int64)
        sizes = self.offsets[chosen + 1] - self.offsets[chosen]
        offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        nodes = np.arange(offsets[-1]) + np.repeat(self.offsets[chosen] - offsets[:-1], sizes)
        parts = {name: getattr(self, name)[nodes] for name in NODE_ARRAYS}
        used = parts["members"] >= 0
        sets = self.sets[parts["members"][used]]
        parts["members"][used] = np.arange(len(sets))
        return Ensemble(
            offsets=offsets,
            steps=np.array(steps, dtype=np.float64),
            rounds=np.arange(1, len(voters) + 1, dtype=np.int32),
            about=self.about[chosen],
            sets=sets,
            n_columns=self.n_columns,
            **parts,
        )

    def importances(self) -> Floats:
        """The share of the steps that rests on each column; a voter's own is divided among its splits."""
        inner = self.column != LEAF
        splits = np.maximum(1, np.add.reduceat(inner, self.offsets[:-1])) if self.n_voters else 1
        share = np.repeat(np.abs(self.steps) / splits, np.diff(self.offsets))
        total = np.bincount(self.column[inner], weights=share[inner], minlength=self.n_columns)
        return np.asarray(total / max(total.sum(), np.finfo(np.float64).tiny))

    def arrays(self) -> dict[str, AnyArray]:
        return {name: getattr(self, name) for name in ARRAY_TYPES}

    def __getstate__(self) -> dict[str, Any]:
        return {f.name: getattr(self, f.name) for f in fields(self)}  # not the tables derived from them


@dataclass(frozen=True)
class Cells:
    """Columns cut at the thresholds of the ensemble: a voter then tests small integers."""

    columns: Ints  # that some voter splits on, ascending
    edges: list[Floats]
    place: NDArray[np.int32]  # of each node's column in `columns`, -1 at a leaf
    cut: NDArray[np.int32]  # the last cell that a node sends left

    @classmethod
    def of(cls, ensemble: Ensemble) -> "Cells":
        inner = ensemble.column != LEAF
        columns = np.unique(ensemble.column[inner]).astype(np.int64)
        place = np.where(inner, np.searchsorted(columns, ensemble.column), LEAF).astype(np.int32)
        cut = np.zeros(len(place), dtype=np.int32)
        edges: list[Floats] = []
        inner_nodes = np.flatnonzero(inner)
        order = inner_nodes[np.argsort(place[inner_nodes], kind="stable")]
        ends = np.cumsum(np.bincount(place[inner_nodes], minlength=len(columns))).tolist()
        for low, high in pairwise([0, *ends]):
            nodes = order[low:high]
            if ensemble.members[nodes[0]] >= 0:
                edges.append(np.arange(0.5, SET_WIDTH - 2, dtype=np.float64))
            else:
                edges.append(np.array(np.unique(ensemble.threshold[nodes]), dtype=np.float64))
                cut[nodes] = np.searchsorted(edges[-1], ensemble.threshold[nodes])
        return cls(columns, edges, place, cut)

    @cached_property
    def padded(self) -> list[tuple[Ints, Floats, Ints]]:
        """Places, padded edges and depths, in groups of columns that waste little on padding."""
        return [(places, *pad_edges([self.edges[k] for k in places])) for places in similar_sizes(self.edges)]

    def find(self, block: Floats, missing: int, kind: type[np.generic]) -> AnyArray:
        """[place, row]: the cell of every value of a block."""
        rows = block.shape[1]
        cells = np.empty((len(self.columns), rows, 1), dtype=kind)
        scratch, every = np.empty(rows, dtype=np.int32), np.arange(rows)
        alone = len(self.padded) == 1
        for places, edges, depths in self.padded:
            some = cells if alone else np.empty((len(places), rows, 1), dtype=kind)
            kernels.encode(block[self.columns[places]], edges, depths, missing, every, some, scratch)
            if not alone:
                cells[places] = some
        return cells[:, :, 0]


@dataclass(frozen=True)
class Ladder:
    """Nodes laid out for going down without branches: a leaf leads to itself."""

    depths: NDArray[np.int32]  # of each voter
    place: NDArray[np.int32]
    low: NDArray[np.int32]  # a cell goes left if low <= cell <= cut; a missing one is -1
    cut: NDArray[np.int32]
    kids: NDArray[np.int32]  # [node, 1 if left], counted from the first node of all

    @classmethod
    def of(cls, ensemble: Ensemble) -> "Ladder":
        inner = ensemble.column != LEAF
        kids = np.where(inner[:, None], ensemble.child_nodes[:, ::-1], np.arange(len(inner))[:, None])
        depth = np.zeros(len(inner), dtype=np.int32)
        for node in np.flatnonzero(inner)[::-1]:  # children come after their parent
            depth[node] = 1 + depth[kids[node]].max()
        return cls(
            depth[ensemble.offsets[:-1]],
            np.where(inner, ensemble.cells.place, 0).astype(np.int32),
            np.where(ensemble.missing_left, -1, 0).astype(np.int32),
            np.where(inner, ensemble.cells.cut, -2).astype(np.int32),
            np.ascontiguousarray(kids, dtype=np.int32),
        )


@dataclass(frozen=True)
class Lookup:
    """Votes by column: the sum over all stumps on it, as rises at its edges, or as a table of its cells.

    A column with few edges is climbed edge by edge; one with many is searched for its cell.
    """

    n_columns: int
    constant: Ints  # [output]: the votes below all edges
    climbed: tuple[AnyArray, ...]  # columns, first, edges, rises, absent: see kernels.climb
    searched: list[tuple[AnyArray, ...]]  # columns, edges, depths, first, tables: see kernels.lookup

    @classmethod
    def of(cls, ensemble: Ensemble) -> "Lookup":
        cells, tables, n_outputs = ensemble.cells, tables_of(ensemble), ensemble.n_outputs
        few = np.array([len(edges) <= CLIMBED for edges in cells.edges], dtype=np.bool_)
        constant = ensemble.constant
        for place in np.flatnonzero(few):
            constant = constant + tables[place][:, 0]
        many = np.flatnonzero(~few)
        groups = similar_sizes([cells.edges[k] for k in many]) if len(many) else []
        searched = [_searched(cells, tables, many[group], n_outputs) for group in groups]
        return cls(ensemble.n_columns, constant, _climbed(cells, tables, np.flatnonzero(few), n_outputs), searched)

    def fill(self, votes: Ints, low: int, high: int, read: Read) -> None:
        """votes[:, low:high], block by block."""
        for at, end in _blocks(low, high, self.n_columns):
            block = read(at, end)
            part = np.repeat(self.constant[:, None], end - at, axis=1)
            kernels.climb(block, *self.climbed, part)
            for searched in self.searched:
                kernels.lookup(block, *searched, part, np.empty(end - at, dtype=np.int32))
            votes[:, at:end] = part


def tables_of(ensemble: Ensemble) -> Tables:
    """Return for every column of `cells` the votes [output, cell] of its stumps; the last cell is of missing ones."""
    cells, roots = ensemble.cells, ensemble.offsets[:-1]
    tables = [np.zeros((ensemble.n_outputs, len(edges) + 2), dtype=np.int64) for edges in cells.edges]
    inner_nodes = roots[ensemble.column[roots] != LEAF]
    order = inner_nodes[np.argsort(cells.place[inner_nodes], kind="stable")]
    ends = np.cumsum(np.bincount(cells.place[inner_nodes], minlength=len(tables))).tolist()
    for table, (low, high) in zip(tables, pairwise([0, *ends]), strict=True):
        mine = order[low:high]
        left, right = (ensemble.units[mine + ensemble.children[mine, side]] for side in (0, 1))
        if ensemble.members[mine[0]] < 0:  # each falls from left to right once, after its cut
            table[:, -1] += np.where(ensemble.missing_left[mine, None], left, right).sum(axis=0)
            rises = np.zeros((table.shape[1], len(table)), dtype=np.int64)
            rises[0] = left.sum(axis=0)
            np.add.at(rises, cells.cut[mine] + 1, right - left)
            table[:, :-1] += np.cumsum(rises[:-1], axis=0).T
            continue
        for k, root in enumerate(mine):
            on_left = ensemble.sets[ensemble.members[root]][: table.shape[1]].copy()
            on_left[-1] = ensemble.missing_left[root]
            table += np.where(on_left, left[k][:, None], right[k][:, None])
    return tables


def _climbed(cells: Cells, tables: Tables, chosen: Ints, n_outputs: int) -> tuple[AnyArray, ...]:
    edges, rises, sizes = [np.empty(0)], [np.empty(0, dtype=np.int64)], [0]
    absent = np.zeros(len(chosen) * n_outputs, dtype=np.int64)
    for n, (j, output) in enumerate((j, output) for j in chosen for output in range(n_outputs)):
        table = tables[j][output]
        rise = np.diff(table[:-1])
        edges.append(cells.edges[j][rise != 0])
        rises.append(rise[rise != 0])
        sizes.append(len(rises[-1]))
        absent[n] = table[-1] - table[0]
    return cells.columns[chosen], np.cumsum(sizes), np.concatenate(edges), np.concatenate(rises), absent


def _searched(cells: Cells, tables: Tables, chosen: Ints, n_outputs: int) -> tuple[AnyArray, ...]:
    edges, depths = pad_edges([cells.edges[j] for j in chosen])
    first = np.concatenate([[0], np.cumsum([tables[j].shape[1] for j in chosen])]).astype(np.int64)
    empty = np.empty((n_outputs, 0), dtype=np.int64)
    together = np.ascontiguousarray(np.concatenate([empty, *(tables[j] for j in chosen)], axis=1))
    return cells.columns[chosen], edges, depths, first, together


def _blocks(low: int, high: int, n_columns: int) -> Iterator[tuple[int, int]]:
    rows = block_rows(n_columns)
    for at in range(low, high, rows):
        yield at, min(at + rows, high)
