"""A table of any kind, read as blocks of float64 columns: the one face the rest of the package sees.

NumPy arrays, SciPy sparse matrices and dataframes (pandas, polars, pyarrow, through narwhals). A block is
[column, row], C-contiguous, missing values as NaN; category columns come as codes of known categories.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

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


class Table(Protocol):
    n_rows: int
    n_columns: int
    names: list[str]  # empty where columns have none

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
    if sparse.issparse(X):
        return SparseTable(X)
    return FrameTable(X)


def refuse_infinite(table: Table, column: int, row: int) -> None:
    """column -1: none was found."""
    if column >= 0:
        name = repr(table.names[column]) if table.names else str(column)
        raise ValueError(
            f"Input X contains infinity or a value too large for float64: column {name}, row {row}. "
            "Replace it by a finite number, or by NaN if it is unknown."
        )


def _refuse_infinite_level(table: Table, column: int, low: int, values: NDArray[np.float64]) -> None:
    bad = np.flatnonzero(np.isinf(values))
    if bad.size:
        refuse_infinite(table, column, low + int(bad[0]))


def numeric_codes(values: NDArray[np.float64], categories: Categories) -> NDArray[np.float64]:
    """Codes of number categories; NaN for values that were not seen."""
    known = np.concatenate([categories.levels, np.asarray(categories.rest, dtype=np.float64)])
    if not len(known):
        return np.full(len(values), np.nan)
    order = np.argsort(known, kind="stable")
    place = np.minimum(np.searchsorted(known[order], values), len(known) - 1)
    code = order[place]
    seen = known[code] == values
    return np.where(seen, np.minimum(code, categories.n_codes - 1), np.nan)


class ArrayTable:
    """A two-dimensional NumPy array of numbers (memory-mapped ones too)."""

    def __init__(self, array: NDArray[Any]) -> None:
        self.array = array
        self.names: list[str] = []
        self.n_rows, self.n_columns = array.shape

    def numbers(self, low: int, high: int, columns: Sequence[int]) -> Block:
        picked = self.array[low:high, _as_slice(columns)]
        return np.array(picked.T, dtype=np.float64, order="C")

    def levels(self, column: int) -> NDArray[Any]:
        values = np.unique(np.asarray(self.array[:, column], dtype=np.float64))
        return np.asarray(values[np.isfinite(values)])

    def codes(self, low: int, high: int, column: int, categories: Categories) -> NDArray[np.float64]:
        if categories.is_text:
            raise ValueError(f"column {column} was texts when the model was fitted and is now numbers")
        values = self.numbers(low, high, [column])[0]
        _refuse_infinite_level(self, column, low, values)
        return numeric_codes(values, categories)

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
            self.by_row[low:high][:, _as_slice(columns)]
            if high - low < self.n_rows
            else self.by_column[:, _as_slice(columns)]
        )
        return np.array(part.toarray().T, dtype=np.float64, order="C")

    def levels(self, column: int) -> NDArray[Any]:
        values = np.unique(self.by_column[:, [column]].toarray())
        return np.asarray(values[np.isfinite(values)], dtype=np.float64)


class FrameTable:
    """A dataframe that narwhals knows. Texts, categories and enums are categories; the rest are numbers."""

    def __init__(self, frame: Any) -> None:
        import narwhals.stable.v2 as nw

        native = nw.from_native(frame)
        self.frame = native.collect() if isinstance(native, nw.LazyFrame) else native
        self.names = [str(name) for name in self.frame.columns]
        self.n_rows, self.n_columns = self.frame.shape
        self._refuse_unreadable()

    def numbers(self, low: int, high: int, columns: Sequence[int]) -> Block:
        block = np.empty((len(columns), high - low))
        for place, column in enumerate(columns):
            block[place] = self._column_numbers(column, low, high)
        return block

    def levels(self, column: int) -> NDArray[Any]:
        try:
            values = self._series(column).drop_nulls().unique().to_numpy()
        except TypeError as error:  # lists and the like
            raise ValueError(f"column {self.names[column]!r} holds what is neither text nor number: {error}") from error
        if _holds_numbers(values):
            numbers = np.unique(values.astype(np.float64))
            return numbers[np.isfinite(numbers)]
        return np.array(sorted({str(value) for value in values}), dtype=object)

    def codes(self, low: int, high: int, column: int, categories: Categories) -> NDArray[np.float64]:
        if not categories.is_text:
            values = self._as_floats(column, low, high)
            _refuse_infinite_level(self, column, low, values)
            return numeric_codes(values, categories)
        return self._text_codes(column, low, high, categories)

    def category_columns(self) -> list[int]:
        import narwhals.stable.v2 as nw

        kinds = (nw.Categorical, nw.Enum, nw.String, nw.Object)
        schema = list(self.frame.schema.values())
        return [j for j, dtype in enumerate(schema) if isinstance(dtype, kinds)]

    def _series(self, column: int) -> Any:
        return self.frame[:, column]

    def _refuse_unreadable(self) -> None:
        for column, (name, dtype) in enumerate(self.frame.schema.items()):
            if str(dtype) == "Unknown" and self._series(column).null_count() == self.n_rows:
                continue  # the type of a column of which nothing is known
            if dtype.is_temporal() or dtype.is_nested() or str(dtype) in ("Binary", "Unknown"):
                raise ValueError(
                    f"column {str(name)!r} has the type {dtype}, which has no order and no categories here: "
                    "turn it into numbers (for a date: the days since some day) or drop it"
                )

    def _column_numbers(self, column: int, low: int, high: int) -> NDArray[np.float64]:
        try:
            return self._as_floats(column, low, high, strict=True)
        except (ValueError, TypeError) as error:
            raise ValueError(
                f"column {self.names[column]!r} was numbers when the model was fitted and now holds "
                f"something else: {error}"
            ) from error

    def _as_floats(self, column: int, low: int, high: int, strict: bool = False) -> NDArray[np.float64]:
        import narwhals.stable.v2 as nw

        series = self._series(column)[low:high]
        if isinstance(series.dtype, nw.Categorical | nw.Enum | nw.String | nw.Object):
            return _floats_of_objects(_objects(series), strict)
        return np.asarray(series.cast(nw.Float64).to_numpy(), dtype=np.float64)

    def _text_codes(self, column: int, low: int, high: int, categories: Categories) -> NDArray[np.float64]:
        """One look-up per distinct text, not per row."""
        values = _objects(self._series(column)[low:high])
        known = {level: float(code) for code, level in enumerate(categories.levels)}
        known.update(dict.fromkeys(categories.rest, float(categories.n_codes - 1)))
        table: dict[Any, float] = {}
        out = np.empty(len(values))
        for i, value in enumerate(values.tolist()):
            try:
                out[i] = table[value]
            except KeyError:
                code = np.nan if is_missing(value) else known.get(str(value), np.nan)
                table[value] = out[i] = code
        return out


def _as_slice(columns: Sequence[int]) -> Any:
    """A slice where the columns are neighbours (no copy), else the list."""
    first, count = columns[0], len(columns)
    if list(columns) == list(range(first, first + count)):
        return slice(first, first + count)
    return list(columns)


def _objects(series: Any) -> NDArray[Any]:
    """The values, None where missing: a pyarrow dictionary's own conversion fills gaps with one of its levels."""
    values = series.to_numpy()
    absent = series.is_null().to_numpy()
    if not absent.any():
        return np.asarray(values)
    values = values.astype(object)
    values[absent] = None
    return np.asarray(values)


def is_missing(value: Any) -> bool:
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, float) and value != value


def _holds_numbers(values: NDArray[Any]) -> bool:
    if values.dtype.kind in "iufb":
        return True
    return values.dtype == object and all(isinstance(value, int | float | np.number) for value in values.tolist())


def _floats_of_objects(values: NDArray[Any], strict: bool) -> NDArray[np.float64]:
    """Numbers out of an object column; what is no number is missing, or refused where strict."""
    out = np.full(len(values), np.nan)
    for i, value in enumerate(values.tolist()):
        if is_missing(value):
            continue
        try:
            out[i] = float(value)
        except (TypeError, ValueError):
            if strict:
                raise ValueError(f"{value!r} is not a number") from None
    return out
