"""Tables of any kind, read as blocks of float64 columns.

NumPy arrays, SciPy sparse matrices and dataframes (pandas, polars, pyarrow, through narwhals). A block is
[column, row], C-contiguous, with NaN for missing values; category columns are read as codes of known categories.
"""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import Any

import numpy as np

from electorate.cuda.arrays import RowsThere
from electorate.cuda.device import FLOATS
from electorate.data.all_reduce import SortedUnion
from electorate.data.column_views import View, floats_of, in_one_piece, native_columns, parts_of, views_of
from electorate.data.factors import Factors, as_numbers, factorise, hold_numbers, hold_texts, is_missing
from electorate.data.sparse_format import check_sparse
from electorate.exact import AnyArray, Floats

ARROW_DICTIONARY = "dictionary<values=string, indices=int32, ordered=0>"
Block = Floats
Codes = Floats  # NaN for missing and unknown values


@dataclass(frozen=True)
class Categories:
    """The known levels of one column, in the order of their codes."""

    levels: AnyArray  # float64, or object holding str
    rest: tuple[Any, ...] = ()  # levels too light to have a code of their own: they share the last one

    @property
    def is_text(self) -> bool:
        return self.levels.dtype == object

    @property
    def n_codes(self) -> int:
        return len(self.levels) + bool(self.rest)

    @cached_property
    def code_of(self) -> dict[str, float]:
        """The codes of the known texts."""
        shared = dict.fromkeys(self.rest, float(self.n_codes - 1))
        return {level: float(code) for code, level in enumerate(self.levels.tolist())} | shared

    @cached_property
    def by_number(self) -> tuple[Floats, Codes]:
        """The known numbers, sorted, and their codes."""
        known = np.concatenate([self.levels, np.array(self.rest, dtype=np.float64)])
        codes = np.minimum(np.arange(len(known)), self.n_codes - 1)
        order = np.argsort(known)
        return known[order], codes[order].astype(np.float64)

    def __getstate__(self) -> dict[str, Any]:
        return {"levels": self.levels, "rest": self.rest}  # without the cached properties


class Table:
    """The base of all tables; a table of numbers defines `read_into` only. names: of the columns, or empty."""

    names: list[str]
    n_rows: int
    n_columns: int

    def read_into(self, block: Block, low: int, high: int, columns: Sequence[int]) -> None:
        """Fill a block with some columns of the rows low..high."""
        raise NotImplementedError

    def levels(self, column: int) -> AnyArray:
        """Return the distinct values of a category column, sorted, without missing ones."""
        return _finite_levels(self.numbers(0, self.n_rows, [column]))

    def codes(self, low: int, high: int, column: int, categories: Categories) -> Codes:
        """Return the codes of a category column in the rows low..high; infinite numbers stay infinite."""
        if categories.is_text:
            raise ValueError(f"column {column} was texts when the model was fitted and is now numbers")
        return numeric_codes(self.numbers(low, high, [column])[0], categories)

    def category_columns(self) -> list[int]:
        """Return the columns that are categories by their type."""
        return []

    def numbers(self, low: int, high: int, columns: Sequence[int]) -> Block:
        """Return a new block with some columns of the rows low..high."""
        block = np.empty((len(columns), high - low))
        self.read_into(block, low, high, columns)
        return block

    def column_name(self, column: int) -> str:
        """Return the name of a column for messages: in quotes, or its number."""
        return repr(self.names[column]) if self.names else str(column)

    def row_name(self, row: int) -> str:
        return f"row {row}"


class BlockReader:
    """Reads blocks of a table into one buffer: each is valid until the next one is read.

    Allocating per block costs more than the read where freed pages go back to the system at once, as on Dask workers.
    """

    def __init__(self, table: Table) -> None:
        self.table = table
        self.buffer = np.empty(0)

    def numbers(self, low: int, high: int, columns: Sequence[int]) -> Block:
        size = len(columns) * (high - low)
        if len(self.buffer) < size:
            self.buffer = np.empty(size)
        block = self.buffer[:size].reshape(len(columns), high - low)
        self.table.read_into(block, low, high, columns)
        return block


def read_table(X: Any) -> Table:
    """Return the table of an array, a sparse matrix, whose indices are checked, or a dataframe."""
    if isinstance(X, np.ndarray):
        return ArrayTable(X)
    return SparseTable(check_sparse(X)) if hasattr(X, "tocsc") else FrameTable(X)


def refuse_infinite(table: Table, column: int, row: int) -> None:
    """Raise ValueError for an infinite cell; column -1: there is none."""
    if column >= 0:
        where = f"column {table.column_name(column)}, {table.row_name(row)}"
        todo = "Replace it by a finite number, or by NaN if it is unknown."
        raise ValueError(f"Input X contains infinity or a value too large for float64: {where}. {todo}")


def numeric_codes(values: Floats, categories: Categories) -> Codes:
    """Return the codes of categories that are numbers; infinite values stay infinite, for the caller to refuse."""
    known, codes = categories.by_number
    unknown = np.where(np.isinf(values), values, np.nan)
    if not len(known):
        return unknown
    place = np.minimum(np.searchsorted(known, values), len(known) - 1)
    return np.where(known[place] == values, codes[place], unknown)


def codes_of_values(factors: Factors, categories: Categories) -> Codes:
    """Return the code of each value, and NaN as a last one, for missing rows."""
    if not categories.is_text:
        return numeric_codes(factors.numbers, categories)
    values = factors.values
    if not hold_texts(values):
        values = [None if is_missing(value) else str(value) for value in values]
    return np.array([*map(categories.code_of.get, values), None], dtype=np.float64)  # None becomes NaN


def _finite_levels(values: Floats) -> Floats:
    """Sorted and distinct; -0.0 is 0.0."""
    return np.unique(values[np.isfinite(values)] + 0.0)


def _as_slice(columns: Sequence[int]) -> Any:
    """A slice where the columns are neighbours (no copy), else the list."""
    first, count = columns[0], len(columns)
    if list(columns) == list(range(first, first + count)):
        return slice(first, first + count)
    return list(columns)


class ArrayTable(Table):
    """A two-dimensional NumPy array of numbers (memory-mapped ones too). there: the same on a device, or None."""

    there: RowsThere | None = None
    array: AnyArray

    def __init__(self, array: AnyArray) -> None:
        self.array = array
        self.dtype = array.dtype
        self.names = []
        self.n_rows, self.n_columns = array.shape

    @property
    def is_floats(self) -> bool:
        """Whether kernels of a device can read the numbers."""
        return self.dtype in FLOATS and self.dtype.isnative

    def read_into(self, block: Block, low: int, high: int, columns: Sequence[int]) -> None:
        np.copyto(block, self.array[low:high, _as_slice(columns)].T, casting="unsafe")


class ThereTable(ArrayTable):
    """Rows on a device; they are copied to this process when something needs them here."""

    def __init__(self, there: RowsThere) -> None:
        self.there = there
        self.dtype = there.array.dtype
        self.names = []
        self.n_rows, self.n_columns = there.array.shape

    @cached_property
    def array(self) -> AnyArray:  # type: ignore[override]
        assert self.there is not None
        return self.there.here()


def float_parts(table: Table) -> list[Any] | None:
    """Return arrays [row, column] of floats that are a table, one below the other, where they live; else None."""
    if isinstance(table, StackedTable):
        parts = [float_parts(part) for part in table.tables]
        return None if any(part is None for part in parts) else [array for part in parts for array in part or ()]
    if not isinstance(table, ArrayTable) or not table.is_floats:
        return None
    return [table.array if table.there is None else table.there.array]


def plain_array(table: Table) -> AnyArray | None:
    """Return the array of a table that kernels read in place: rows of floats, one after another; else None."""
    array = getattr(table, "array", None)
    if type(array) is not np.ndarray or array.dtype not in (np.float32, np.float64):
        return None
    return array if array.flags.c_contiguous and array.flags.aligned and array.dtype.isnative else None


class SparseTable(Table):
    """A SciPy sparse matrix; an absent entry is the number 0, as everywhere in scikit-learn."""

    def __init__(self, matrix: Any) -> None:
        self.names = []
        self.by_row, self.by_column = matrix.tocsr(), matrix.tocsc()
        self.n_rows, self.n_columns = map(int, matrix.shape)

    def read_into(self, block: Block, low: int, high: int, columns: Sequence[int]) -> None:
        rows = self.by_row[low:high] if high - low < self.n_rows else self.by_column
        block[:] = rows[:, _as_slice(columns)].toarray().T


class FrameTable(Table):
    """A dataframe that narwhals supports. Texts, categories and enums are categories; the rest are numbers."""

    def __init__(self, frame: Any) -> None:
        import narwhals.stable.v2 as nw

        frame = nw.from_native(frame)
        frame = frame.collect() if isinstance(frame, nw.LazyFrame) else frame
        types: list[Any] = list(frame.schema.values())
        texts = (nw.Categorical, nw.Enum, nw.String, nw.Object)
        columns = native_columns(frame)
        self._set([str(name) for name in frame.columns], frame.shape[0], columns, views_of(columns, types))
        self._is_text = [isinstance(dtype, texts) for dtype in types]
        for j, dtype in enumerate(types):
            if str(dtype) == "Unknown" and self._one(j).null_count() == self.n_rows:
                self._factors[j] = Factors([], np.full(self.n_rows, -1, dtype=np.int32))
            elif dtype.is_temporal() or dtype.is_nested() or str(dtype) in ("Binary", "Unknown"):
                todo = "turn it into numbers (for a date: the days since some day) or drop it"
                raise ValueError(f"column {self.names[j]!r} has the type {dtype}, neither numbers nor texts: {todo}")

    def _set(self, names: list[str], n_rows: int, columns: list[Any], views: Sequence[View | None]) -> None:
        """views: of the columns that NumPy can read in place."""
        self.names, self.n_rows, self.n_columns = names, n_rows, len(names)
        self._columns, self._views = columns, views
        self._is_text = [view is None for view in views]
        # By column, on first use: narwhals series; factors; codes of the factors' values, with their categories.
        self._series: dict[int, Any] = {}
        self._factors: dict[int, Factors] = {}
        self._codes: dict[int, tuple[Categories, Codes]] = {}

    def read_into(self, block: Block, low: int, high: int, columns: Sequence[int]) -> None:
        for place, column in enumerate(columns):
            block[place] = self._numbers(column, low, high, strict=True)

    def levels(self, column: int) -> AnyArray:
        if not self._is_text[column]:
            return _finite_levels(self._numbers(column, 0, self.n_rows))
        present = self._factored(column).present
        if hold_numbers(present):
            return _finite_levels(as_numbers(present))
        return np.array(sorted(set(map(str, present))), dtype=object)

    def codes(self, low: int, high: int, column: int, categories: Categories) -> Codes:
        if not (categories.is_text or self._is_text[column]):
            return numeric_codes(self._numbers(column, low, high), categories)
        factors = self._factored(column)
        if column not in self._codes or self._codes[column][0] is not categories:
            self._codes[column] = categories, codes_of_values(factors, categories)
        return np.asarray(self._codes[column][1][factors.rows[low:high]])

    def category_columns(self) -> list[int]:
        return [j for j, is_text in enumerate(self._is_text) if is_text]

    def _numbers(self, column: int, low: int, high: int, strict: bool = False) -> Floats:
        """strict: values that are neither numbers nor missing are an error; else they are missing."""
        view = self._views[column]
        if view is not None:
            return np.asarray(view[low:high], dtype=np.float64)
        if not self._is_text[column] and column not in self._factors:
            return floats_of(self._one(column)[low:high])
        factors = self._factored(column)
        if strict and factors.not_a_number is not None:
            found = f"now holds something else: {factors.not_a_number!r} is not a number"
            raise ValueError(f"column {self.names[column]!r} was numbers when the model was fitted and {found}")
        return np.asarray(factors.numbers[factors.rows[low:high]])

    def _one(self, column: int) -> Any:
        """A column as a narwhals series in one piece: slices of it are cheap."""
        import narwhals.stable.v2 as nw

        if column not in self._series:
            self._series[column] = nw.from_native(in_one_piece(self._columns[column]), series_only=True)
        return self._series[column]

    def _factored(self, column: int) -> Factors:
        if column not in self._factors:
            try:
                self._factors[column] = factorise(self._one(column))
            except TypeError as error:
                name = repr(self.names[column])
                raise ValueError(f"column {name} holds values that are neither numbers nor texts: {error}") from error
        return self._factors[column]


class ArrowTable(FrameTable):
    """A pyarrow table of float64 and dictionaries of texts, each column in one chunk, read from its memory.

    pyarrow's own conversions import pandas, and the base class narwhals; without them, a command that predicts starts
    sooner.
    """

    def __init__(self, table: Any) -> None:
        parts = [column.chunk(0) for column in table.columns]
        views = [_filled(part, np.float64, np.nan) if str(part.type) == "double" else None for part in parts]
        self._set(list(table.column_names), table.num_rows, table.columns, views)
        for j in self.category_columns():
            self._factors[j] = Factors(parts[j].dictionary.to_pylist(), _filled(parts[j].indices, np.int32, -1))

    @staticmethod
    def fits(table: Any) -> bool:
        return all(
            column.num_chunks == 1 and str(column.type) in ("double", ARROW_DICTIONARY) for column in table.columns
        )


def _filled(part: Any, kind: type[np.generic], missing: float) -> AnyArray:
    """The values of a chunk, with `missing` where there is none."""
    valid, values = part.buffers()
    rows = slice(part.offset, part.offset + len(part))
    held = np.frombuffer(values, dtype=kind)[rows]
    if not part.null_count:
        return held
    present = np.unpackbits(np.frombuffer(valid, dtype=np.uint8), bitorder="little")[rows]
    return np.where(present, held, kind(missing))


class StackedTable(Table):
    """Several tables as one, without copying: the partitions on one worker, the rows of the first table first.

    partitions: the numbers of the tables among all partitions, to name rows by.
    """

    def __init__(self, tables: Sequence[Table], partitions: Sequence[int]) -> None:
        self.tables = tables
        self.partitions = partitions
        self.starts = list(accumulate((table.n_rows for table in tables), initial=0))
        self.n_rows = self.starts[-1]
        self.n_columns = tables[0].n_columns
        self.names = tables[0].names

    def read_into(self, block: Block, low: int, high: int, columns: Sequence[int]) -> None:
        for number, first, last, place in parts_of(self.starts, low, high):
            self.tables[number].read_into(block[:, place : place + last - first], first, last, columns)

    def levels(self, column: int) -> AnyArray:
        name = f"column {self.names[column] if self.names else column!r}"
        found = [SortedUnion(table.levels(column), name) for table in self.tables]
        return sum(found[1:], start=found[0]).values

    def codes(self, low: int, high: int, column: int, categories: Categories) -> Codes:
        parts = parts_of(self.starts, low, high)
        found = [self.tables[number].codes(first, last, column, categories) for number, first, last, _ in parts]
        return np.concatenate([np.empty(0), *found])

    def category_columns(self) -> list[int]:
        return sorted({column for table in self.tables for column in table.category_columns()})

    def row_name(self, row: int) -> str:
        table = bisect_right(self.starts, row) - 1
        return f"row {row - self.starts[table]} of partition {self.partitions[table]}"
