"""A dataframe column as its distinct values and, for every row, which of them it holds.

Texts and categories are looked at once per distinct value, never per row: the dataframe library finds the values,
with the dictionary it already has where the column is stored as one.
"""

from dataclasses import dataclass
from functools import cached_property
from itertools import compress
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Factors:
    values: list[Any]  # as Python objects; some may occur in no row
    rows: NDArray[np.int32]  # place in `values`, -1 where missing

    @property
    def present(self) -> list[Any]:
        """The values that occur, without missing ones."""
        used = np.zeros(len(self.values) + 1, dtype=np.bool_)
        used[self.rows] = True
        present = compress(self.values, used[:-1])
        return list(present) if hold_texts(self.values) else [value for value in present if not is_missing(value)]

    @cached_property
    def numbers(self) -> NDArray[np.float64]:
        """The values as numbers, NaN for what is none; and one more, NaN, for rows where nothing is."""
        return as_numbers([*self.values, None])

    @cached_property
    def not_a_number(self) -> Any:
        """The first value in a row that is neither a number nor missing, or None."""
        odd = [_number(value) is None and not is_missing(value) for value in self.values]
        found = np.flatnonzero(np.array([*odd, False])[self.rows])
        return self.values[self.rows[found[0]]] if len(found) else None


def factorise(series: Any) -> Factors:
    """The factors of a narwhals series; TypeError where values cannot be told apart (lists and the like)."""
    native, library = series.to_native(), series.implementation
    if library.is_pandas_like():
        return _of_pandas(native)
    if library.is_polars() and str(series.dtype) != "Object":
        return _of_polars(native)
    if library.is_pyarrow():
        return _of_pyarrow(native)
    return _by_rows(series.to_list())


def _of_pandas(native: Any) -> Factors:
    rows, distinct = native.factorize()
    values = distinct.tolist()
    # to pandas 1, 1.0 and True are one object; as texts they are three
    if native.dtype == object and not (hold_texts(values) or hold_numbers(values)):
        return _by_rows(native.tolist())
    return Factors(values, rows.astype(np.int32))


def _of_polars(native: Any) -> Factors:
    distinct = native.drop_nulls().unique()
    rows = native.replace_strict(distinct, list(range(len(distinct))), default=-1)
    return Factors(distinct.to_list(), rows.to_numpy().astype(np.int32))


def _of_pyarrow(native: Any) -> Factors:
    encoded = native.dictionary_encode().unify_dictionaries().combine_chunks()
    rows = encoded.indices.cast("int32").fill_null(-1)
    return Factors(encoded.dictionary.to_pylist(), rows.to_numpy())


def _by_rows(objects: list[Any]) -> Factors:
    """Any objects, one by one: numbers if all are, else their texts."""
    there = [not is_missing(value) for value in objects]
    present = [value for value, is_there in zip(objects, there, strict=True) if is_there]
    key = float if hold_numbers(present) else _text
    places: dict[Any, int] = {}
    rows = np.full(len(objects), -1, dtype=np.int32)
    rows[there] = [places.setdefault(key(value), len(places)) for value in present]
    return Factors(list(places), rows)


def is_missing(value: Any) -> bool:
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, float) and value != value


def hold_texts(values: list[Any]) -> bool:
    return all(kind is str for kind in set(map(type, values)))


def hold_numbers(values: list[Any]) -> bool:
    return all(issubclass(kind, int | float | np.number | np.bool_) for kind in set(map(type, values)))


def as_numbers(values: list[Any]) -> NDArray[np.float64]:
    """NaN for what is no number, or none that float64 can hold."""
    return np.array(list(map(_number, values)), dtype=np.float64)


def _number(value: Any) -> float | None:
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return None


def _text(value: Any) -> str:
    hash(value)  # a list or a dict is no category
    return str(value)
