"""A dataframe column as its distinct values and, for every row, the place of its value among them.

Texts and categories are read once per distinct value, never per row: the dataframe library finds the values,
with the dictionary it already has where the column is stored as one.
"""

from dataclasses import dataclass
from functools import cached_property
from itertools import compress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from electorate.exact import AnyArray, Bools, Floats, Ints


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
    def numbers(self) -> Floats:
        """The values as numbers, NaN for those that are none; and NaN as a last one, for missing rows."""
        return as_numbers([*self.values, None])

    @cached_property
    def not_a_number(self) -> Any:
        """The first value in a row that is neither a number nor missing, or None."""
        odd = [as_number(value) is None and not is_missing(value) for value in self.values]
        found = np.flatnonzero(np.array([*odd, False])[self.rows])
        return self.values[self.rows[found[0]]] if len(found) else None


def factorise(series: Any) -> Factors:
    """Return the factors of a narwhals series. Values that cannot be hashed (lists) raise TypeError."""
    native, library = series.to_native(), series.implementation
    if library.is_pandas_like():
        places, distinct = native.factorize()
        values = distinct.tolist()
        # to pandas 1, 1.0 and True are one object; as texts they are three
        if native.dtype == object and not (hold_texts(values) or hold_numbers(values)):
            return _factorise_objects(native.tolist())
        return Factors(values, places.astype(np.int32))
    if library.is_polars() and str(series.dtype) != "Object":
        distinct = native.drop_nulls().unique()
        rows = native.replace_strict(distinct, list(range(len(distinct))), default=-1)
        return Factors(distinct.to_list(), rows.to_numpy().astype(np.int32))
    if library.is_pyarrow():
        encoded = native.dictionary_encode().unify_dictionaries().combine_chunks()
        return Factors(encoded.dictionary.to_pylist(), encoded.indices.cast("int32").fill_null(-1).to_numpy())
    return _factorise_objects(series.to_list())


def _factorise_objects(objects: list[Any]) -> Factors:
    """Any objects, one by one: numbers if all are, else their texts."""
    missing = list(map(is_missing, objects))
    key = float if hold_numbers([value for value, gone in zip(objects, missing, strict=True) if not gone]) else _text
    places: dict[Any, int] = {}
    rows = [
        -1 if gone else places.setdefault(key(value), len(places)) for value, gone in zip(objects, missing, strict=True)
    ]
    return Factors(list(places), np.array(rows, dtype=np.int32))


def is_missing(value: Any) -> bool:
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, float) and value != value


def hold_texts(values: list[Any]) -> bool:
    return all(kind is str for kind in set(map(type, values)))


def hold_numbers(values: list[Any]) -> bool:
    return all(issubclass(kind, int | float | np.number | np.bool_) for kind in set(map(type, values)))


def as_numbers(values: list[Any]) -> Floats:
    """Return the values as numbers; NaN for others, and for numbers that float64 cannot hold."""
    return np.array(list(map(as_number, values)), dtype=np.float64)


def as_number(value: Any) -> float | None:
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return None


def _text(value: Any) -> str:
    hash(value)  # lists and dicts raise: they are not categories
    return str(value)


# ---------------------------------------------------------------- labels

MOST_VALUES = 2**16  # of a range, and rows below which sorting is fast enough


def distinct(labels: AnyArray) -> AnyArray:
    """Return the distinct labels, sorted."""
    if (low := _lowest(labels)) is None:
        return np.unique(labels)
    present = np.zeros(MOST_VALUES, dtype=np.bool_)
    present[_offsets(labels, low)] = True
    return (np.flatnonzero(present) + low).astype(labels.dtype)


def codes_of(labels: AnyArray, classes: AnyArray) -> tuple[Ints, Bools | None]:
    """Return the places of labels in sorted classes, and a mask of labels that are not among them, or None."""
    if classes.dtype == labels.dtype and len(classes) and (low := _lowest(labels)) is not None:
        places, known = np.full(MOST_VALUES, -1), _offsets(classes, low)
        inside = (known >= 0) & (known < MOST_VALUES)
        places[known[inside]] = np.flatnonzero(inside)
        codes = places[_offsets(labels, low)]
        if codes.min() >= 0:
            return codes, None
    codes = np.minimum(np.searchsorted(classes, labels), len(classes) - 1).astype(np.int64)
    return codes, classes[codes] != labels


def _lowest(labels: AnyArray) -> int | None:
    """The smallest of many integers that are close to each other; None for other labels."""
    if labels.dtype.kind not in "biu" or not np.can_cast(labels.dtype, np.int64) or len(labels) < MOST_VALUES:
        return None
    low = int(labels.min())
    return low if int(labels.max()) - low < MOST_VALUES else None


def _offsets(labels: AnyArray, low: int) -> Ints:
    whole = labels.astype(np.int64, copy=False)
    return whole if low == 0 else whole - low
