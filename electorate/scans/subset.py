"""Some rows of a scanned table, chosen by their number, as a scan of their own; and batches as one table in memory."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from electorate.scans.batches import Batch, BatchSource, Names, is_array
from electorate.scans.scan import ScannedColumn, ScannedTable

Mask = NDArray[np.bool_]
Chosen = Callable[[int, int], Mask]  # of the rows from low to high of a table, which ones


class SubsetSource(BatchSource):
    """The chosen rows of another source. n_rows: how many they are, if that is known. word: for messages."""

    def __init__(self, source: BatchSource, chosen: Chosen, n_rows: int | None, word: str) -> None:
        self.source, self.chosen, self.word = source, chosen, word
        self.name, self.names, self.like = f"{source.name} ({word})", source.names, source.like
        self.n_bytes, self.n_rows = source.n_bytes, n_rows

    def batches(self, columns: Names, n_rows: int) -> Iterator[Batch]:
        """Rows are counted anew from the start of every file or row group, without those that are not chosen."""
        start, where, first = 0, "", 0
        for batch in self.source.batches(columns, n_rows):
            stop = start + batch.rows.shape[0]
            if batch.where != where:
                where, first = batch.where, 0
            rows = batch.rows[np.flatnonzero(self.chosen(start, stop))]
            yield Batch(rows, f"{where} ({self.word})", first, batch.blame)
            start, first = stop, first + rows.shape[0]

    def state(self) -> Any:
        return self.source.state()


def subset_of(X: ScannedTable, columns: Sequence[ScannedColumn | None], source: SubsetSource) -> tuple[Any, ...]:
    """Return X and its columns, such as the target and the weights, with the rows of a subset alone."""
    return replace(X, source=source), *(None if one is None else _column(one, source) for one in columns)


def _column(column: ScannedColumn, source: SubsetSource) -> ScannedColumn:
    values = column.column
    if isinstance(values, np.ndarray):
        values = values[source.chosen(0, len(values))]
    return replace(column, source=source, column=values)


def stacked(tables: Sequence[Any]) -> Any:
    """Return dataframes of one library, or arrays, as one; numbers get a type that holds all of them."""
    if is_array(tables[0]):
        return np.concatenate(tables)
    library = type(tables[0]).__module__.partition(".")[0]
    if library == "pyarrow":
        import pyarrow as pa

        return pa.concat_tables(tables, promote_options="permissive")
    if library == "polars":
        import polars as pl

        return pl.concat(tables, how="vertical_relaxed")
    return nw.concat([nw.from_native(table) for table in tables]).to_native()
