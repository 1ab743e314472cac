"""Groups of arrays that the kernels of both kinds take."""

from typing import Any, NamedTuple

PANEL = 13  # words of four columns side by side: two blocks of sums over them fit in the shared memory of a Hopper GPU
ROWS_PER_PART = 2048  # of a task of `partition`
MOST_LABELS = 8  # of histograms that are searched on the device
NO_SCORE = -(2**63)
ALL_ROWS = -1  # the buffer of the root: all rows in their own order


class Codes(NamedTuple):
    """The bins of all cells: bytes in panels of words, [panel][row][word], or 16 bits as [row][column]."""

    data: Any  # flat, uint32 or uint16
    n_rows: int
    n_columns: int  # a multiple of four for bytes
    width: int  # bins of a column

    @property
    def wide(self) -> bool:
        return self.data.dtype.itemsize == 2

    def panels(self) -> list[Any]:
        """[row, word] of every panel."""
        n_words, found = self.n_columns // 4, []
        for first in range(0, n_words, PANEL):
            words = min(PANEL, n_words - first)
            at = first * self.n_rows
            found.append(self.data[at : at + words * self.n_rows].reshape(self.n_rows, words))
        return found


class Tree(NamedTuple):
    """Splits of a voter: split s sends a row to children[s, 0] if on_left[s, code], else to children[s, 1].

    A child is another split, or ~ the number of a leaf; begin: the same of the root.
    """

    column: Any
    on_left: Any
    children: Any
    begin: int


class ColumnArrays(NamedTuple):
    """What a search needs of the columns."""

    n_bins: Any  # int32
    has_missing: Any
    ordered: Any


class Orders(NamedTuple):
    """Row numbers of the nodes of a growing tree; the children of a node are in the other buffer than the node."""

    first: Any
    second: Any


class ColumnTables(NamedTuple):
    """Votes by column: column j of the table has the cells first[j]..first[j + 1], the last one for missing values.

    edges: of all columns, two fewer than cells; tables[output, cell]; constant[output]: the votes of all rows.
    """

    columns: Any  # int32
    first: Any  # int32
    edges: Any
    tables: Any
    constant: Any


class ValueTrees(NamedTuple):
    """Trees over values: voter t begins at the node roots[t]. members: a row of `sets`, or -1 for a threshold."""

    roots: Any  # int32
    column: Any  # -1 at a leaf
    threshold: Any
    members: Any
    missing_left: Any
    kids: Any  # [node, left and right], counted from the first node of all
    sets: Any  # [set, code of a category]


class MedianRule(NamedTuple):
    """How a median is chosen. place: of a node's output among all n_places outputs in order; weight: of its vote.

    lower: the lowest place with half of the weight up to it, not with more than half. decides: the last voter decides
    alone where it has a weight.
    """

    place: Any  # int32
    weight: Any
    n_places: int
    lower: bool
    decides: bool
