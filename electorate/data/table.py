"""A table of any kind, read as blocks of float64 columns: the one face the rest of the package sees.

NumPy arrays, SciPy sparse matrices and dataframes (pandas, polars, pyarrow, through narwhals). A block is
[column, row], C-contiguous, missing values as NaN; category columns come as codes of known categories.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from electorate.data.column_views import in_one_piece, native_columns, views_of
from electorate.data.factors import Factors, as_numbers, factorise, hold_numbers, hold_texts, is_missing

Block = NDArray[np.float64]


@dataclass(frozen=True)
class Categories:
    """The known levels of one column, in code order: numbers or texts. `rest`: code of all other known ones."""

    levels: NDArray[Any]  # float64, or object holding str
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
        codes = {level: float(code) for code, level in enumerate(self.levels.tolist())}
        codes.update(dict.fromkeys(self.rest, float(self.n_codes - 1)))
        return codes

    @cached_property
    def by_number(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The known numbers, sorted, and their codes."""
        known = np.concatenate([self.levels, np.array(self.rest, dtype=np.float64)])
        codes = np.minimum(np.arange(len(known)), self.n_codes - 1)
        order = np.argsort(known)
        return known[order], codes[order].astype(np.float64)

    def __getstate__(self) -> dict[str, Any]:
        return {f.name: getattr(self, f.name) for f in fields(self)}  # not what is derived from them


class Named(Protocol):
    names: list[str]  # of the columns; empty where they have none


class Table(Named, Protocol):
    n_rows: int
    n_columns: int

    def numbers(self, low: int, high: int, columns: Sequence[int]) -> Block: ...

    def levels(self, column: int) -> NDArray[Any]:
        """The distinct values of a category column, sorted, without missing ones."""
        ...

    def codes(self, low: int, high: int, column: int, categories: Categories) -> NDArray[np.float64]: ...

    def category_columns(self) -> list[int]:
        """The columns that are categories by their type."""
        ...


def read_table(X: Any) -> Table:
    """The table behind a container that scikit-learn's validation has let through."""
    if isinstance(X, np.ndarray):
        return ArrayTable(X)
    return SparseTable(X) if hasattr(X, "tocsc") else FrameTable(X)


def refuse_infinite(table: Named, column: int, row: int) -> None:
    """column -1: none was found."""
    if column >= 0:
        name = repr(table.names[column]) if table.names else str(column)
        place = table.place(row) if hasattr(table, "place") else f"row {row}"
        raise ValueError(
            f"Input X contains infinity or a value too large for float64: column {name}, {place}. "
            "Replace it by a finite number, or by NaN if it is unknown."
        )


def numeric_codes(values: NDArray[np.float64], categories: Categories) -> NDArray[np.float64]:
    """Codes of number categories; NaN for values that were not seen; infinite ones stay, for the caller to refuse."""
    known, codes = categories.by_number
    unseen = np.where(np.isinf(values), values, np.nan)
    if not len(known):
        return unseen
    place = np.minimum(np.searchsorted(known, values), len(known) - 1)
    return np.where(known[place] == values, codes[place], unseen)


def _finite_levels(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Sorted and distinct; -0.0 is 0.0."""
    return np.unique(values[np.isfinite(values)] + 0.0)


class ArrayTable:
    """A two-dimensional NumPy array of numbers (memory-mapped ones too)."""

    def __init__(self, array: NDArray[Any]) -> None:
        self.array = array
        self.names: list[str] = []
        self.n_rows: int = array.shape[0]
        self.n_columns: int = array.shape[1]

    def numbers(self, low: int, high: int, columns: Sequence[int]) -> Block:
        picked = self.array[low:high, as_slice(columns)]
        return np.array(picked.T, dtype=np.float64, order="C")

    def levels(self, column: int) -> NDArray[Any]:
        return _finite_levels(np.asarray(self.array[:, column], dtype=np.float64))

    def codes(self, low: int, high: int, column: int, categories: Categories) -> NDArray[np.float64]:
        if categories.is_text:
            raise ValueError(f"column {column} was texts when the model was fitted and is now numbers")
        return numeric_codes(self.numbers(low, high, [column])[0], categories)

    def category_columns(self) -> list[int]:
        return []


class SparseTable(ArrayTable):
    """A SciPy sparse matrix; an absent entry is the number 0, as everywhere in scikit-learn."""

    def __init__(self, matrix: Any) -> None:
        self.names = []
        self.by_row = matrix.tocsr()
        self.by_column = matrix.tocsc()
        self.n_rows, self.n_columns = int(matrix.shape[0]), int(matrix.shape[1])

    def numbers(self, low: int, high: int, columns: Sequence[int]) -> Block:
        part = (
            self.by_row[low:high][:, as_slice(columns)]
            if high - low < self.n_rows
            else self.by_column[:, as_slice(columns)]
        )
        return np.array(part.toarray().T, dtype=np.float64, order="C")

    def levels(self, column: int) -> NDArray[Any]:
        return _finite_levels(self.by_column[:, [column]].toarray().astype(np.float64))


class FrameTable:
    """A dataframe that narwhals knows. Texts, categories and enums are categories; the rest are numbers."""

    def __init__(self, frame: Any) -> None:
        import narwhals.stable.v2 as nw

        frame = nw.from_native(frame)
        frame = frame.collect() if isinstance(frame, nw.LazyFrame) else frame
        self.names = [str(name) for name in frame.columns]
        self.n_rows: int
        self.n_columns: int
        self.n_rows, self.n_columns = frame.shape
        self._types: list[Any] = list(frame.schema.values())
        self._columns = native_columns(frame)
        self._series: dict[int, Any] = {}  # of narwhals, by column, as they are asked for
        self._texts = (nw.Categorical, nw.Enum, nw.String, nw.Object)
        self._float = nw.Float64
        self._factors: dict[int, Factors] = {}  # by column, as they are asked for
        self._codes: dict[int, tuple[Categories, NDArray[np.float64]]] = {}  # of the factors' values
        self._refuse_unreadable()
        self._views = views_of(frame, self._columns, self._types)

    def numbers(self, low: int, high: int, columns: Sequence[int]) -> Block:
        block = np.empty((len(columns), high - low))
        for place, column in enumerate(columns):
            block[place] = self._numbers(column, low, high, strict=True)
        return block

    def levels(self, column: int) -> NDArray[Any]:
        if self._is_text(column):
            present = self._factored(column).present
            if not hold_numbers(present):
                return np.array(sorted(set(map(str, present))), dtype=object)
            return _finite_levels(as_numbers(present))
        return _finite_levels(self._numbers(column, 0, self.n_rows))

    def codes(self, low: int, high: int, column: int, categories: Categories) -> NDArray[np.float64]:
        if not (categories.is_text or self._is_text(column)):
            return numeric_codes(self._numbers(column, low, high), categories)
        known, codes = self._codes.get(column, (None, np.empty(0)))
        if known is not categories:
            codes = codes_of_values(self._factored(column), categories)
            self._codes[column] = categories, codes
        return np.asarray(codes[self._factored(column).rows[low:high]])

    def category_columns(self) -> list[int]:
        return [j for j in range(self.n_columns) if self._is_text(j)]

    def _is_text(self, column: int) -> bool:
        return isinstance(self._types[column], self._texts)

    def _refuse_unreadable(self) -> None:
        for j, dtype in enumerate(self._types):
            if str(dtype) == "Unknown" and self._one(j).null_count() == self.n_rows:
                self._factors[j] = Factors([], np.full(self.n_rows, -1, dtype=np.int32))
            elif dtype.is_temporal() or dtype.is_nested() or str(dtype) in ("Binary", "Unknown"):
                raise ValueError(
                    f"column {self.names[j]!r} has the type {dtype}, which has no order and no categories here: "
                    "turn it into numbers (for a date: the days since some day) or drop it"
                )

    def _numbers(self, column: int, low: int, high: int, strict: bool = False) -> NDArray[np.float64]:
        """Where strict, what is neither a number nor missing is refused; else it is missing."""
        view = self._views[column]
        if view is not None:
            return np.asarray(view[low:high], dtype=np.float64)
        if not self._is_text(column) and column not in self._factors:
            return np.asarray(self._one(column)[low:high].cast(self._float).to_numpy(), dtype=np.float64)
        factors = self._factored(column)
        if strict and factors.not_a_number is not None:
            raise ValueError(
                f"column {self.names[column]!r} was numbers when the model was fitted and now holds "
                f"something else: {factors.not_a_number!r} is not a number"
            )
        return np.asarray(factors.numbers[factors.rows[low:high]])

    def _one(self, column: int) -> Any:
        """A column as a narwhals series in one piece, so that slices of it take no time."""
        import narwhals.stable.v2 as nw

        if column not in self._series:
            self._series[column] = nw.from_native(in_one_piece(self._columns[column]), series_only=True)
        return self._series[column]

    def _factored(self, column: int) -> Factors:
        if column not in self._factors:
            try:
                self._factors[column] = factorise(self._one(column))
            except TypeError as error:
                raise ValueError(
                    f"column {self.names[column]!r} holds values that are neither numbers nor texts: {error}"
                ) from error
        return self._factors[column]


def codes_of_values(factors: Factors, categories: Categories) -> NDArray[np.float64]:
    """The code of each value; and one more, NaN, for rows where nothing is."""
    if not categories.is_text:
        return numeric_codes(factors.numbers, categories)
    code_of, values = categories.code_of, factors.values
    if not hold_texts(values):
        values = [None if is_missing(value) else str(value) for value in values]
    return np.array([*map(code_of.get, values), None], dtype=np.float64)  # None is NaN


def as_slice(columns: Sequence[int]) -> Any:
    """A slice where the columns are neighbours (no copy), else the list."""
    first, count = columns[0], len(columns)
    if list(columns) == list(range(first, first + count)):
        return slice(first, first + count)
    return list(columns)
