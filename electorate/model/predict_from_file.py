"""Predictions from a model file without its estimator, so that a command that predicts starts at once.

Importing scikit-learn takes longer than predicting a million rows, and Numba half as long: neither is imported here,
Numba for large models only. Only what predicts is read and checked. Other models than sums of trees are left to `load`.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from electorate import modelfile
from electorate.data.bins import Bins, reader
from electorate.data.table import ArrowTable, read_table, refuse_infinite
from electorate.model import decisions
from electorate.model import file_parts as parts
from electorate.model.byte_votes import voting
from electorate.model.masks import MISSING
from electorate.modelfile import Contents, blaming
from electorate.registry import ALGORITHMS
from electorate.threads import ThreadPool

DECIDE = {"sum": decisions.plain, "samme": decisions.as_samme}  # by the vote of the algorithm
FEW_NODES = 2_000  # up to that, NumPy has predicted 1,000,000 rows before Numba's kernels would be there
ROWS = 2**16  # at once: bytes of them stay in the second-level cache
COUNTED = 128  # edges up to which comparing with all of them beats a search

Bytes = NDArray[np.uint8]


class QuickClassifier:
    """The decision function of a fitted classifier, for pyarrow tables that have its columns."""

    n_features_in_: int
    bins_: Bins

    def __init__(self, contents: Contents) -> None:
        parts.read_columns(contents, self)
        self.classes_ = parts.read_classes(contents)
        self.ensemble_ = parts.read_ensemble(contents, self.bins_, len(self.classes_))
        self._voting = voting(self.ensemble_, self.bins_) if len(self.ensemble_.column) <= FEW_NODES else None
        self._decide = DECIDE[ALGORITHMS[contents.kind].vote]

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        table: Any = ArrowTable(X) if ArrowTable.fits(X) else read_table(X)
        if self._voting is None or not isinstance(table, ArrowTable):
            votes = self.ensemble_.votes(table.n_rows, reader(table, self.bins_.categories), ThreadPool(1))
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


def code_cells(codes: NDArray[np.float64]) -> Bytes:
    """The cell of every category code."""
    return np.where(np.isnan(codes), MISSING, codes).astype(np.uint8)


def count_below(edges: NDArray[np.float64], values: NDArray[np.float64]) -> Bytes:
    """The cell of every value: how many edges are below it."""
    if len(edges) > COUNTED:
        cells = np.searchsorted(edges, values).astype(np.uint8)
    else:
        cells = np.zeros(len(values), dtype=np.uint8)
        for edge in edges:
            cells += np.greater(values, edge).view(np.uint8)
    cells[np.isnan(values)] = MISSING
    return cells


def read_quickly(path: Any) -> QuickClassifier | None:
    """Return None for a model that is not a sum of trees over classes; errors are those of `load`."""
    contents = modelfile.read(path)
    registered = ALGORITHMS.get(contents.kind)
    if registered is None or registered.vote not in DECIDE or "offsets" not in contents.arrays:
        return None
    with blaming(contents.source):
        return QuickClassifier(contents)
