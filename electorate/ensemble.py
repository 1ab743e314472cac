"""The fitted model as plain arrays: voters as small trees of nodes, their steps, and a vote by weighted sum.

Votes are integers on the 2^-40 grid, so any order of adding gives the same bits. An ensemble of stumps is
additive over columns: it predicts by one lookup table per column, whatever the number of voters.
"""

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from electorate import kernels
from electorate.boosting.grid import UNITS
from electorate.data.bins import Bins, block_rows, pad_edges
from electorate.engines.pool import Pool
from electorate.voters.stumps import Stump

LEAF = -1
NODE_ARRAYS = ("column", "threshold", "members", "missing_left", "children", "value")
ARRAYS = ("offsets", *NODE_ARRAYS, "steps", "sets")

Read = Callable[[int, int], NDArray[np.float64]]  # rows low..high as a block [column, row]


@dataclass(frozen=True)
class Ensemble:
    """Voter t has the nodes offsets[t]..offsets[t+1], its root first; children come after their parent."""

    offsets: NDArray[np.int64]
    column: NDArray[np.int32]  # LEAF at a leaf
    threshold: NDArray[np.float64]  # x <= threshold goes left
    members: NDArray[np.int32]  # row of `sets` for a test by category, else -1
    missing_left: NDArray[np.bool_]
    children: NDArray[np.int32]  # [node, left and right], counted from the voter's root
    value: NDArray[np.float64]  # [node, output] of leaves
    steps: NDArray[np.float64]
    n_columns: int
    sets: NDArray[np.bool_]  # [set, category code]: goes left

    @property
    def n_voters(self) -> int:
        return len(self.steps)

    @property
    def n_outputs(self) -> int:
        return int(self.value.shape[1])

    @cached_property
    def units(self) -> NDArray[np.int64]:
        """[node, output]: step times leaf value, in units of the grid."""
        steps = np.repeat(self.steps, np.diff(self.offsets))
        return np.rint(steps[:, None] * self.value * UNITS).astype(np.int64)

    @cached_property
    def lookup(self) -> "Lookup":
        return Lookup.of(self)

    def votes(self, n_rows: int, read: Read, pool: Pool) -> NDArray[np.int64]:
        """[output, row] of the summed votes, in units of the grid."""
        votes = np.empty((self.n_outputs, n_rows), dtype=np.int64)
        ends = [n_rows * k // pool.n_jobs for k in range(pool.n_jobs + 1)]
        lookup = self.lookup
        parts = zip(ends[:-1], ends[1:], strict=True)
        pool.map(lambda part: lookup.fill(votes, *part, read), parts)
        return votes

    def staged_votes(self, n_rows: int, read: Read) -> Iterator[NDArray[np.int64]]:
        """The votes after one voter, two, ... (the same array, added to)."""
        table = self.lookup
        cells = table.cells(n_rows, read)
        votes = np.zeros((self.n_outputs, n_rows), dtype=np.int64)
        for voter in range(self.n_voters):
            root = int(self.offsets[voter])
            if self.column[root] == LEAF:
                votes += self.units[root][:, None]
            else:
                place = int(np.searchsorted(table.columns, self.column[root]))
                on_left = table.on_left(self, root, place)
                left, right = self.units[root + self.children[root]]
                side = on_left[cells[place]]
                votes += np.where(side, left[:, None], right[:, None])
            yield votes

    def only(self, voter: int) -> "Ensemble":
        """The ensemble of one voter, with a step of 1."""
        low, high = self.offsets[voter : voter + 2]
        nodes = {name: getattr(self, name)[low:high] for name in NODE_ARRAYS}
        used = nodes["members"] >= 0
        sets = self.sets[nodes["members"][used]]
        nodes["members"] = nodes["members"].copy()
        nodes["members"][used] = np.arange(len(sets))
        offsets = np.array([0, high - low])
        return Ensemble(offsets=offsets, steps=np.ones(1), sets=sets, n_columns=self.n_columns, **nodes)

    def importances(self, n_columns: int) -> NDArray[np.float64]:
        """The share of the steps that rests on each column."""
        tests = self.column != LEAF
        steps = np.repeat(np.abs(self.steps), np.diff(self.offsets))
        total = np.bincount(self.column[tests], weights=steps[tests], minlength=n_columns)
        return np.asarray(total / max(total.sum(), np.finfo(np.float64).tiny))

    def arrays(self) -> dict[str, NDArray[Any]]:
        return {name: getattr(self, name) for name in ARRAYS}

    def __getstate__(self) -> dict[str, Any]:
        return {f.name: getattr(self, f.name) for f in fields(self)}  # not the tables derived from them

    def hash_into(self, digest: "hashlib._Hash") -> None:
        for name, array in self.arrays().items():
            digest.update(f"{name} {array.dtype.str} {array.shape};".encode())
            digest.update(np.ascontiguousarray(array).tobytes())


@dataclass(frozen=True)
class Lookup:
    """Votes by column: edges cut a column into cells, `tables` holds what all stumps on it say in each."""

    n_columns: int  # of the table
    columns: NDArray[np.int64]  # that some stump tests, ascending
    edges: list[NDArray[np.float64]]
    first: NDArray[np.int64]  # of each column's cells in `tables`; its last cell is for missing values
    tables: NDArray[np.int64]  # [output, cell]
    constant: NDArray[np.int64]  # [output]

    @classmethod
    def of(cls, ensemble: Ensemble) -> "Lookup":
        roots = ensemble.offsets[:-1]
        tested = ensemble.column[roots]
        columns = np.unique(tested[tested != LEAF]).astype(np.int64)
        edges = [_edges(ensemble, roots[tested == column]) for column in columns]
        first = np.concatenate([[0], np.cumsum([len(e) + 2 for e in edges])]).astype(np.int64)
        constant = ensemble.units[roots[tested == LEAF]].sum(axis=0)
        tables = np.zeros((ensemble.n_outputs, int(first[-1])), dtype=np.int64)
        table = cls(ensemble.n_columns, columns, edges, first, tables, constant)
        for place, column in enumerate(columns):
            part = tables[:, first[place] : first[place + 1]]
            for root in roots[tested == column]:
                on_left = table.on_left(ensemble, root, place)
                left, right = ensemble.units[root + ensemble.children[root]]
                part += np.where(on_left, left[:, None], right[:, None])
        return table

    def on_left(self, ensemble: Ensemble, root: int, place: int) -> NDArray[np.bool_]:
        """Which cells of its column a stump sends left."""
        edges = self.edges[place]
        if ensemble.members[root] >= 0:
            on_left = ensemble.sets[ensemble.members[root]][: len(edges) + 2].copy()
        else:
            on_left = np.arange(len(edges) + 2) <= np.searchsorted(edges, ensemble.threshold[root])
        on_left[-1] = ensemble.missing_left[root]
        return np.asarray(on_left)

    def fill(self, votes: NDArray[np.int64], low: int, high: int, read: Read) -> None:
        """votes[:, low:high], block by block."""
        edges, depths = pad_edges(self.edges)
        for at, end, scratch in _blocks(low, high, self.n_columns):
            part = np.repeat(self.constant[:, None], end - at, axis=1)
            block = read(at, end)
            kernels.lookup(block, self.columns, edges, depths, self.first, self.tables, part, scratch)
            votes[:, at:end] = part

    def cells(self, n_rows: int, read: Read) -> NDArray[np.int32]:
        """[tested column, row]: the cell of every value, -1 where missing."""
        edges, depths = pad_edges(self.edges)
        cells = np.empty((len(self.columns), n_rows, 1), dtype=np.int32)
        for at, end, scratch in _blocks(0, n_rows, self.n_columns):
            block = read(at, end)[self.columns]
            kernels.encode(block, edges, depths, -1, np.arange(at, end), cells, scratch)
        return cells[:, :, 0]


def _blocks(low: int, high: int, n_columns: int) -> Iterator[tuple[int, int, NDArray[np.int32]]]:
    rows = block_rows(n_columns)
    scratch = np.empty(rows, dtype=np.int32)
    for at in range(low, high, rows):
        yield at, min(at + rows, high), scratch


def _edges(ensemble: Ensemble, roots: NDArray[np.int64]) -> NDArray[np.float64]:
    """Thresholds on one column, or between the codes of a category column."""
    if ensemble.members[roots[0]] >= 0:
        return np.arange(ensemble.sets.shape[1] - 2) + 0.5
    return np.unique(ensemble.threshold[roots])


def from_stumps(stumps: list[Stump], steps: list[float], bins: Bins, n_labels: int) -> Ensemble:
    """Stumps over bins, as arrays over values."""
    parts = [_nodes(stump, bins, n_labels) for stump in stumps]
    sets = [stump.on_left[:256] for stump in stumps if stump.column >= 0 and stump.cut < 0]
    sizes = [len(part["column"]) for part in parts]
    nodes = {name: _stack(parts, name, empty) for name, empty in _EMPTY.items()}
    by_category = nodes["members"] >= 0
    nodes["members"][by_category] = np.arange(len(sets))
    outputs = 1 if n_labels == 2 else n_labels
    value = _stack(parts, "value", np.empty((0, outputs)))
    return Ensemble(
        offsets=np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        value=value,
        steps=np.array(steps, dtype=np.float64),
        n_columns=len(bins.n_bins),
        sets=np.array(sets, dtype=np.bool_).reshape(-1, 256),
        **nodes,
    )


_EMPTY: dict[str, NDArray[Any]] = {
    "column": np.empty(0, dtype=np.int32),
    "threshold": np.empty(0, dtype=np.float64),
    "members": np.empty(0, dtype=np.int32),
    "missing_left": np.empty(0, dtype=np.bool_),
    "children": np.empty((0, 2), dtype=np.int32),
}


def _stack(parts: list[dict[str, Any]], name: str, empty: NDArray[Any]) -> NDArray[Any]:
    return np.concatenate([empty, *(part[name] for part in parts)]).astype(empty.dtype)


def _nodes(stump: Stump, bins: Bins, n_labels: int) -> dict[str, Any]:
    """The nodes of one stump: a test and two leaves, or one leaf."""
    votes = np.eye(n_labels)[list(stump.labels)]
    if n_labels == 2:
        votes = votes[:, 1:] * 2 - 1
    if stump.column < 0:
        return _leaves(votes[:1])
    leaves = _leaves(np.concatenate([np.zeros_like(votes[:1]), votes]))
    leaves["column"][0] = stump.column
    leaves["members"][0] = 0 if stump.cut < 0 else -1
    leaves["threshold"][0] = bins.threshold(stump.column, stump.cut) if stump.cut >= 0 else 0.0
    leaves["missing_left"][0] = stump.on_left[bins.missing]
    leaves["children"][0] = (1, 2)
    return leaves


def _leaves(value: NDArray[np.float64]) -> dict[str, Any]:
    n = len(value)
    return {
        "column": np.full(n, LEAF),
        "threshold": np.zeros(n),
        "members": np.full(n, -1),
        "missing_left": np.zeros(n, dtype=np.bool_),
        "children": np.full((n, 2), -1),
        "value": value,
    }
