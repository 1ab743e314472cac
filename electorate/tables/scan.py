"""`scan`: a table that is read when it is used, batch by batch, and never as a whole."""

import difflib
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from electorate.data.inputs import to_array
from electorate.data.table import Table, read_table
from electorate.tables.batches import Batch, BatchSource, Names, is_array, prefetched, rows_at_once
from electorate.tables.scanned_files import ArraySource, FileSource, FunctionSource, StreamSource, open_dataset

READ_ONCE = "{} can be read once, and a scan reads several times: pass a function that returns it"
Progress = Callable[[str, int, int | None, int | None], None]
Vector = NDArray[Any]


@dataclass(frozen=True)
class Storage:
    """The place where a fit keeps the bins of a scanned table.

    memory: bytes that bins and state may take before they go to files; None: half of what is free. folder: of these
    files; None: the system's folder of temporary files.
    """

    memory: int | None = None
    folder: str | None = None


@dataclass(frozen=True, eq=False)
class ScannedColumn:
    """One column of a scanned table: the target, or the weights. `to_numpy` reads it."""

    source: BatchSource = field(repr=False)
    column: Any  # its name, its place in an array, or an array of its own
    batch_rows: int | None = None
    whole: bool = False  # numbers are read as integers

    def values(self, batch: Batch) -> Vector:
        """Return the values of the rows of a batch."""
        values = self._values(batch)
        return values.astype(np.int64) if self.whole else values

    def _values(self, batch: Batch) -> Vector:
        if isinstance(self.column, np.ndarray):
            return np.asarray(self.column[batch.first : batch.first + batch.rows.shape[0]])
        if is_array(batch.rows):
            return np.asarray(batch.rows[:, self.column])
        return np.asarray(to_array(batch.rows.get_column(self.column)))

    @property
    def read(self) -> Names:
        """The columns to read for it."""
        return [] if isinstance(self.column, np.ndarray) else [self.column]

    def to_numpy(self) -> Vector:
        """Return the whole column as an array."""
        parts = list(self.parts())
        return np.concatenate(parts) if parts else np.empty(0)

    def parts(self) -> Iterator[Vector]:
        """Yield the values of every batch."""
        for batch in self.source.batches(self.read, rows_at_once(1, self.batch_rows)):
            if batch.rows.shape[0]:
                yield self.values(batch)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Vector:
        return self.to_numpy().astype(dtype, copy=False) if dtype is not None else self.to_numpy()


@dataclass(frozen=True, eq=False)
class ScannedTable:
    """Rows and columns of a source that are read when they are needed.

    `fit`, `predict` and the like take it in place of a dataframe. columns: the names, or the places in an array.
    progress(what, rows, n_rows, n_bytes): is called while a fit reads; of the table, n_rows and n_bytes, or None.
    """

    source: BatchSource = field(repr=False)
    columns: Names
    batch_rows: int | None = None
    storage: Storage = Storage()
    progress: Progress | None = None

    @property
    def like(self) -> Any:
        """An empty table with these columns, as a dataframe or an array."""
        if is_array(self.source.like):
            return self.source.like[:, self.columns]
        return nw.from_native(self.source.like).select(*self.columns).to_native()

    def table(self, batch: Batch) -> Any:
        """Return the columns of a batch, as a dataframe or an array."""
        if is_array(batch.rows):
            whole = self.columns == list(range(batch.rows.shape[1]))
            return batch.rows if whole else batch.rows[:, self.columns]
        return batch.rows.select(*self.columns).to_native()

    def tables(self) -> Iterator[Any]:
        """Yield the rows in order, as dataframes or arrays."""
        for batch in self.batches():
            yield self.table(batch)

    def batches(self, others: Names | None = None, columns: Names | None = None, what: str = "") -> Iterator[Batch]:
        """Yield batches, read ahead by another thread.

        others: columns beside these; columns: only some of these; what: they are read for, to report the progress.
        """
        wanted = list(dict.fromkeys([*(self.columns if columns is None else columns), *(others or [])]))
        size = rows_at_once(len(self.columns), self.batch_rows)
        rows = 0
        for batch in prefetched(batch for batch in self.source.batches(wanted, size) if batch.rows.shape[0]):
            yield batch
            rows += batch.rows.shape[0]
            if self.progress is not None and what:
                self.progress(what, rows, self.source.n_rows, self.source.n_bytes)

    @property
    def names(self) -> list[str]:
        return [] if is_array(self.source.like) else [str(name) for name in self.columns]

    def empty(self) -> Table:
        """A table without rows."""
        return read_table(self.like)


def scan(
    source: Any,
    *,
    target: Any = None,
    weights: Any = None,
    columns: Any = None,
    filters: Any = None,
    batch_rows: int | None = None,
    memory: int | None = None,
    folder: Any = None,
) -> Any:
    """Return a table that is read batch by batch, for fits and predictions on tables larger than memory.

    A fit reads it twice: the target and the edges of the bins, then the bins themselves, one byte per cell, which stay
    in memory or go to temporary files. With weights or early stopping it reads the target and the weights first. The
    model is the same as that of a fit in memory, whatever the sizes of batches and files and their order.

    Parameters
    ----------
    source : str, path, array, object or callable
        A Parquet, Arrow or CSV file; a folder or a pattern of Parquet or Arrow files; a ``.npy`` file or an array,
        memory-mapped or not; a pyarrow dataset; anything with ``__arrow_c_stream__`` that can be read again, such as
        a DuckDB relation; a polars lazy frame; or a function without arguments that returns an iterator of batches
        (dataframes, Arrow tables or arrays), the same ones each time.
    target : str, int or array, optional
        The column of labels or targets: its name; its place, or an array of its own, if the source is an array.
    weights : str, int or array, optional
        The column of sample weights.
    columns : list, optional
        The columns of X. By default all but the target and the weights.
    filters : list of (column, operator, value), or pyarrow expression, optional
        Which rows of Parquet and Arrow files to read.
    batch_rows : int, optional
        The most rows of a batch. By default 131,072, fewer for many columns.
    memory : int, optional
        Bytes that the bins and the state of a fit may take before they are moved to temporary files. By default half
        of the free memory.
    folder : str or path, optional
        The folder of the temporary files. They have no name there, and are gone when the process ends.

    Returns
    -------
    X : ScannedTable
    y : ScannedColumn
        Only if `target` is given.
    w : ScannedColumn
        Only if `weights` is given.

    See Also
    --------
    AdaBoostClassifier : Takes them in ``fit``, ``predict`` and ``score``, like all stagewise algorithms.

    Examples
    --------
    >>> import numpy as np
    >>> from electorate import AdaBoostClassifier, scan
    >>> rows = np.random.default_rng(0).normal(size=(1000, 4))
    >>> labels = (rows[:, 0] + rows[:, 1] > 0).astype(int)
    >>> X, y = scan(rows, target=labels, batch_rows=300)
    >>> model = AdaBoostClassifier(n_estimators=10).fit(X, y)
    >>> model.digest_ == AdaBoostClassifier(n_estimators=10).fit(rows, labels).digest_
    True
    """
    for name, value in (("batch_rows", batch_rows), ("memory", memory)):
        if value is not None and not (isinstance(value, int | np.integer) and value > 0):
            raise ValueError(f"{name}={value!r}: it must be a positive integer")
    if folder is not None and not os.path.isdir(folder):
        raise NotADirectoryError(f"folder={os.fspath(folder)!r}: there is no such folder for temporary files")
    opened = open_source(source, filters, target, weights)
    named = [
        ScannedColumn(opened, _column_of(opened, option, given), batch_rows)
        for option, given in (("target", target), ("weights", weights))
        if given is not None
    ]
    chosen = _features(opened, columns, [column for each in named for column in each.read])
    storage = Storage(None if memory is None else int(memory), None if folder is None else os.fspath(folder))
    X = ScannedTable(opened, chosen, batch_rows, storage)
    return (X, *named) if named else X


def _features(source: BatchSource, columns: Any, taken: Names) -> Names:
    """The columns of X: those that were given, or all that are not taken."""
    every = list(range(source.like.shape[1])) if source.names is None else source.names
    if columns is None:
        chosen = [column for column in every if column not in taken]
    else:
        chosen = [_column_of(source, "columns", column) for column in columns]
        both = [column for column in chosen if column in taken]
        if both:
            raise ValueError(f"columns: {both[0]!r} is the target or the weights")
    if not chosen:
        raise ValueError(f"{source.name}: no column is left for X")
    return chosen


def open_source(source: Any, filters: Any = None, target: Any = None, weights: Any = None) -> BatchSource:
    """Return the source of what was given to `scan`."""
    if filters is not None and not (isinstance(source, str | Path) or hasattr(source, "get_fragments")):
        raise ValueError("filters are for Parquet and Arrow files: filter the rows where they come from")
    if isinstance(source, str | Path):
        return _open_path(os.fspath(source), filters, target, weights)
    if isinstance(source, np.ndarray):
        return ArraySource(source)
    if hasattr(source, "get_fragments"):
        return FileSource(source, "the dataset", filters)
    if type(source).__name__ == "RecordBatchReader":
        raise TypeError(READ_ONCE.format("a RecordBatchReader"))
    if hasattr(source, "__arrow_c_stream__") or hasattr(source, "collect_batches"):
        return StreamSource(source)
    if callable(source):
        return FunctionSource(source)
    if hasattr(source, "__next__"):
        raise TypeError(READ_ONCE.format("an iterator"))
    raise TypeError(
        f"scan cannot read an object of type {type(source).__name__}: give a path, an array, an Arrow stream or a "
        "function that returns batches"
    )


def _open_path(path: str, filters: Any, target: Any, weights: Any) -> BatchSource:
    plain = path.lower().removesuffix(".gz")
    if plain.endswith(".npy"):
        return ArraySource(np.load(path, mmap_mode="r", allow_pickle=False), os.path.basename(path))
    if not plain.endswith((".csv", ".tsv", ".tab")):
        return open_dataset(path, filters)
    from electorate.tables.scanned_text import TextSource
    from electorate.tables.source import Source

    if filters is not None:
        raise ValueError("filters are for Parquet and Arrow files: write the CSV file as one of these")
    return TextSource(Source(path), target, weights)


def _column_of(source: BatchSource, option: str, column: Any) -> Any:
    """The name of a column; of an array without names its place, or an array of its own."""
    if source.names is None:
        return _place_of(source, option, column)
    if not isinstance(column, str) or column not in source.names:
        close = difflib.get_close_matches(str(column), source.names, 1)
        hint = f"did you mean {close[0]!r}?" if close else f"it has {', '.join(map(repr, source.names[:20]))}"
        raise ValueError(f"{option}: {source.name} has no column {column!r}; {hint}")
    return column


def _place_of(source: BatchSource, option: str, column: Any) -> Any:
    """The place of a column in an array, or an array of its own."""
    n_columns = source.like.shape[1]
    if isinstance(column, int | np.integer) and not isinstance(column, bool):
        if not -n_columns <= column < n_columns:
            raise ValueError(f"{option}={column}: {source.name} has the columns 0 to {n_columns - 1}")
        return int(column) % n_columns
    if isinstance(column, str) and column.endswith(".npy"):
        column = np.load(column, mmap_mode="r", allow_pickle=False)
    if isinstance(source, ArraySource) and isinstance(column, np.ndarray):
        if column.shape != (source.n_rows,):
            raise ValueError(f"{option} has the shape {column.shape}, and {source.name} has {source.n_rows} rows")
        return column
    raise ValueError(f"{option}={column!r}: {source.name} has columns without names; give the place of one")


# ---------------------------------------------------------------- subsets

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
