"""Trees laid out for prediction without a descent: every split removes the leaves that it rules out from a bit mask.

A tree's leaves are bits, numbered from left to right; a split leaves those of the side a row goes to, and the one bit
left after all splits is the row's leaf. On bytes this runs over many rows at once, and depth costs little.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from electorate.exact import Ints

if TYPE_CHECKING:
    from electorate.model.ensemble import Ensemble

MISSING = 255  # the cell of a missing value
MOST_CELLS = 255
MOST_LEAVES = 64  # beyond that, going down is as fast


class Tests(NamedTuple):
    """The splits. A cell goes left if, as a byte, cell + shift <= cut: with a shift of 1 a missing one does.

    By category: if its table has a 1. keep[split, byte of leaves, 1 if left], for the bytes of its span.
    """

    place: NDArray[np.int32]
    shift: NDArray[np.uint8]
    cut: NDArray[np.uint8]
    table: NDArray[np.int32]  # row of `tables`, or -1
    tables: NDArray[np.uint8]  # [table, cell]: 1 if it goes left
    span: NDArray[np.int32]  # [split, from and to]
    keep: NDArray[np.uint8]


@dataclass(frozen=True)
class Masks:
    """Splits of voter t: offsets[t]..offsets[t+1]; its leaves: leaves[t]..leaves[t+1] of `nodes`."""

    offsets: Ints
    leaves: Ints
    nodes: Ints
    tests: Tests

    @classmethod
    def of(cls, ensemble: "Ensemble") -> "Masks | None":
        """None where a tree has too many leaves, or a column too many cells, for bytes."""
        if max(map(len, ensemble.cells.edges), default=0) >= MOST_CELLS:
            return None
        if np.diff(ensemble.offsets).max(initial=0) > 2 * MOST_LEAVES - 1:
            return None
        below, first = _leaves(ensemble)
        roots = ensemble.offsets[:-1]
        inner = ensemble.column >= 0
        splits, voters = np.flatnonzero(inner), np.repeat(np.arange(len(roots)), np.diff(ensemble.offsets))
        ends = np.concatenate([[0], np.cumsum(below[roots])]).astype(np.int64)
        nodes = np.empty(ends[-1], dtype=np.int64)
        leaf = np.flatnonzero(~inner)
        nodes[ends[voters[leaf]] + first[leaf]] = leaf
        shift = ensemble.missing_left[splits].astype(np.uint8)
        span, keep = _crossed_out(ensemble, splits, below, first)
        tests = Tests(
            ensemble.cells.place[splits],
            shift,
            (ensemble.cells.cut[splits] + shift).astype(np.uint8),
            *_tables(ensemble, splits),
            span,
            keep,
        )
        return cls(np.searchsorted(splits, ensemble.offsets).astype(np.int64), ends, nodes, tests)

    def scratch(self, rows: int) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
        """Return buffers for the leaves that are left, and for the one that was reached."""
        return np.empty((self.tests.keep.shape[1], rows), dtype=np.uint8), np.empty(rows, dtype=np.uint8)


def _leaves(ensemble: "Ensemble") -> tuple[Ints, Ints]:
    """Return how many leaves lie below every node, and the number of the first one in its tree."""
    below = np.ones(len(ensemble.column), dtype=np.int64)
    first = np.zeros(len(ensemble.column), dtype=np.int64)
    level, levels = ensemble.offsets[:-1], []  # the inner nodes, level by level over all trees
    while len(level := level[ensemble.column[level] >= 0]):
        levels.append(level)
        level = ensemble.child_nodes[level].ravel()
    for level in reversed(levels):
        below[level] = below[ensemble.child_nodes[level]].sum(axis=1)
    for level in levels:
        left, right = ensemble.child_nodes[level].T
        first[left] = first[level]
        first[right] = first[level] + below[left]
    return below, first


def _crossed_out(
    ensemble: "Ensemble", splits: Ints, below: Ints, first: Ints
) -> tuple[NDArray[np.int32], NDArray[np.uint8]]:
    """span and keep. A root also crosses out the bits that are no leaves."""
    left = ensemble.child_nodes[splits, 0]
    low, high = first[splits], first[splits] + below[splits]
    middle = low + below[left]
    roots = ensemble.offsets[:-1]
    width = 8 * int(max(1, -(-below[roots].max(initial=1) // 8)))
    bit = np.arange(width)[None, :]
    beyond = np.isin(splits, roots)[:, None] & (bit >= high[:, None])
    on_left = (bit >= low[:, None]) & (bit < middle[:, None])
    on_right = (bit >= middle[:, None]) & (bit < high[:, None])
    left_over = [np.packbits(~(side | beyond), axis=1, bitorder="little") for side in (on_left, on_right)]
    span = np.stack([low // 8, -(-high // 8)], axis=1).astype(np.int32)
    return span, np.ascontiguousarray(np.stack(left_over, axis=2))


def _tables(ensemble: "Ensemble", splits: Ints) -> tuple[NDArray[np.int32], NDArray[np.uint8]]:
    by_set = ensemble.members[splits] >= 0
    inner_nodes = splits[by_set]
    tables = ensemble.sets[ensemble.members[inner_nodes]].astype(np.uint8)
    tables[:, MISSING] = ensemble.missing_left[inner_nodes]
    table = np.full(len(splits), -1, dtype=np.int32)
    table[by_set] = np.arange(len(inner_nodes))
    return table, tables
