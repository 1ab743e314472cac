"""Tables of every kind against the plain NumPy array of the same numbers and codes: same blocks, levels and codes.
Columns that are neither numbers nor categories are refused by name."""

import copy
import datetime
import decimal
import pickle
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from electorate.data import column_views
from electorate.data.factors import factorise
from electorate.data.table import Block, BlockReader, Categories, StackedTable, Table, numeric_codes, read_table

few_cases = settings(derandomize=True, max_examples=25, deadline=None)
NAN = np.nan


def numbers(n: int = 37, d: int = 5) -> np.ndarray:
    rng = np.random.default_rng(n)
    X = rng.integers(-3, 4, (n, d)) / 2
    X[rng.random((n, d)) < 0.2] = NAN
    return X


def blocks(table: Table) -> list[Block]:
    """All rows at once, some, none; columns that are neighbours and columns that are not."""
    n, d = table.n_rows, table.n_columns
    ranges = [(0, n), (n // 3, n // 2), (n - 1, n), (2, 2)]
    picks = [range(d), [0], [d - 1, 0], list(range(d))[::-1]]
    return [table.numbers(low, high, columns) for low, high in ranges for columns in picks]


def assert_same(table: Table, X: np.ndarray) -> None:
    """The blocks of a table are those of the array X, by slicing it."""
    n, d = X.shape
    assert (table.n_rows, table.n_columns) == (n, d)
    expected = blocks(read_table(np.array(X, dtype=np.float64)))
    for block, other in zip(blocks(table), expected, strict=True):
        assert block.dtype == np.float64
        assert block.flags.c_contiguous
        np.testing.assert_array_equal(block, other)
    np.testing.assert_array_equal(table.numbers(0, n, range(d)), X.T)


# ---------------------------------------------------------------- arrays


def strided(X: np.ndarray) -> np.ndarray:
    wide = np.zeros((2 * X.shape[0], 3 * X.shape[1]))
    wide[::2, ::-3] = X
    return wide[::2, ::-3]


def read_only(X: np.ndarray) -> np.ndarray:
    X = X.copy()
    X.flags.writeable = False
    return X


ARRAYS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "C": np.ascontiguousarray,
    "F": np.asfortranarray,
    "strided": strided,
    "float32": lambda X: X.astype(np.float32),
    "float16": lambda X: X.astype(np.float16),
    "big-endian": lambda X: X.astype(">f8"),
    "read-only": read_only,
    "object": lambda X: X.astype(object),
}


@pytest.mark.parametrize("kind", ARRAYS)
def test_arrays(kind: str) -> None:
    X = numbers()
    table = read_table(ARRAYS[kind](X))
    assert_same(table, X)
    assert table.names == []
    assert table.category_columns() == []


@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int64, np.uint64, np.bool_])
def test_arrays_of_integers(kind: type) -> None:
    X = np.arange(60).reshape(12, 5).astype(kind)
    assert_same(read_table(X), X.astype(np.float64))


def test_memory_mapped_arrays(tmp_path: Path) -> None:
    X = numbers()
    np.save(tmp_path / "X.npy", X)
    assert_same(read_table(np.load(tmp_path / "X.npy", mmap_mode="r")), X)


def test_a_block_is_a_copy() -> None:
    X = np.asfortranarray(numbers())
    before = X.copy()
    for container in (X, pd.DataFrame(X), pl.DataFrame(X), sparse.csc_array(X)):
        read_table(container).numbers(0, len(X), range(5))[:] = 7
        np.testing.assert_array_equal(X, before)


@pytest.mark.parametrize("make", [sparse.csr_matrix, sparse.csc_matrix, sparse.csr_array, sparse.csc_array])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int32])
def test_sparse_matrices(make: Callable[[np.ndarray], Any], dtype: type) -> None:
    X = numbers()
    X[np.random.default_rng(1).random(X.shape) < 0.6] = 0.0
    X[:, 2] = 0.0
    X = np.rint(np.nan_to_num(X)) if dtype is np.int32 else X
    table = read_table(make(X.astype(dtype)))
    assert_same(table, X)
    for j in range(5):
        np.testing.assert_array_equal(table.levels(j), read_table(X).levels(j))
        categories = Categories(table.levels(j))
        np.testing.assert_array_equal(table.codes(3, 20, j, categories), read_table(X).codes(3, 20, j, categories))


def test_sparse_matrices_with_an_entry_said_twice() -> None:
    X = sparse.csr_array((np.array([1.0, 2.0, 4.0]), np.array([0, 0, 1]), np.array([0, 2, 3])), shape=(2, 3))
    assert_same(read_table(X), np.array([[3.0, 0.0, 0.0], [0.0, 4.0, 0.0]]))


# ---------------------------------------------------------------- dataframes of numbers


def optional(values: list[Any]) -> list[Any]:
    return [None if value != value else value for value in values]


def whole(values: list[Any]) -> list[Any]:
    return [value if value is None else int(value) for value in optional(values)]


def truth(values: list[Any]) -> list[Any]:
    return [value if value is None else value > 0 for value in optional(values)]


def decimals(values: list[Any]) -> list[Any]:
    return [value if value is None else decimal.Decimal(value) for value in optional(values)]


def chunked(values: list[Any], kind: Any = None) -> pa.ChunkedArray:
    half = len(values) // 2
    return pa.chunked_array([pa.array(values[:half], kind), pa.array(values[half:], kind)])


def in_two(make: Callable[[list[Any]], pl.Series]) -> Callable[[list[Any]], pl.Series]:
    def column(values: list[Any]) -> pl.Series:
        half = len(values) // 2
        return make(values[:half]).append(make(values[half:]))

    return column


# name: how to make a column, what a value becomes (as float)
PANDAS: dict[str, tuple[Callable[[list[Any]], Any], Callable[[list[Any]], list[Any]]]] = {
    "float64": (lambda v: pd.Series(v, dtype="float64"), list),
    "float32": (lambda v: pd.Series(v, dtype="float32"), list),
    "Float64": (lambda v: pd.array(optional(v), dtype="Float64"), list),
    "Float32": (lambda v: pd.array(optional(v), dtype="Float32"), list),
    "Int64": (lambda v: pd.array(whole(v), dtype="Int64"), whole),
    "boolean": (lambda v: pd.array(truth(v), dtype="boolean"), truth),
    "arrow": (lambda v: pd.Series(optional(v), dtype=pd.ArrowDtype(pa.float64())), list),
    "arrow int": (lambda v: pd.Series(whole(v), dtype=pd.ArrowDtype(pa.int16())), whole),
    "object": (lambda v: pd.Series(optional(v), dtype=object), list),
    "object nan": (lambda v: pd.Series(v, dtype=object), list),
    "object NA": (lambda v: pd.Series([pd.NA if k is None else k for k in optional(v)], dtype=object), list),
    "object ints": (lambda v: pd.Series(whole(v), dtype=object), whole),
    "object bools": (lambda v: pd.Series(truth(v), dtype=object), truth),
    "object decimals": (lambda v: pd.Series(decimals(v), dtype=object), list),
    "category of floats": (lambda v: pd.Series(v).astype("category"), list),
    "texts of numbers": (lambda v: pd.Series([k if k is None else str(k) for k in optional(v)], dtype="str"), list),
}
POLARS: dict[str, tuple[Callable[[list[Any]], pl.Series], Callable[[list[Any]], list[Any]]]] = {
    "Float64": (lambda v: pl.Series(optional(v), dtype=pl.Float64), list),
    "Float64 nan": (lambda v: pl.Series(v, dtype=pl.Float64), list),
    "Float32": (lambda v: pl.Series(optional(v), dtype=pl.Float32), list),
    "two chunks": (in_two(lambda v: pl.Series(v, dtype=pl.Float64)), list),
    "Int64": (lambda v: pl.Series(whole(v), dtype=pl.Int64), whole),
    "Int8": (lambda v: pl.Series(whole(v), dtype=pl.Int8), whole),
    "Int128": (lambda v: pl.Series(whole(v), dtype=pl.Int128), whole),
    "Boolean": (lambda v: pl.Series(truth(v), dtype=pl.Boolean), truth),
    "Decimal": (lambda v: pl.Series(decimals(v), dtype=pl.Decimal(10, 3)), list),
    "Object": (lambda v: pl.Series(optional(v), dtype=pl.Object), list),
}
ARROW: dict[str, tuple[Callable[[list[Any]], Any], Callable[[list[Any]], list[Any]]]] = {
    "float64": (lambda v: pa.array(optional(v), pa.float64()), list),
    "float64 nan": (lambda v: pa.array(v, pa.float64()), list),
    "float32": (lambda v: pa.array(optional(v), pa.float32()), list),
    "two chunks": (lambda v: chunked(optional(v)), list),
    "two chunks nan": (lambda v: chunked(v), list),
    "int64": (lambda v: pa.array(whole(v), pa.int64()), whole),
    "int8": (lambda v: chunked(whole(v), pa.int8()), whole),
    "bool": (lambda v: pa.array(truth(v)), truth),
    "decimal": (lambda v: pa.array(decimals(v), pa.decimal128(10, 3)), list),
    "dictionary": (lambda v: pa.array(optional(v)).dictionary_encode(), list),
    "dictionary in two chunks": (lambda v: chunked(optional(v)).dictionary_encode(), list),
}
FRAMES: dict[str, tuple[Callable[[dict[str, Any]], Any], dict[str, Any]]] = {
    "pandas": (pd.DataFrame, PANDAS),
    "polars": (pl.DataFrame, POLARS),
    "pyarrow": (pa.table, ARROW),
}
COLUMNS = [(library, kind) for library, (_, kinds) in FRAMES.items() for kind in kinds]


@pytest.mark.parametrize(("library", "kind"), COLUMNS)
@pytest.mark.parametrize("missing", [True, False])
def test_columns_of_numbers(library: str, kind: str, missing: bool) -> None:
    make_frame, kinds = FRAMES[library]
    make_column, expected = kinds[kind]
    X = numbers() if missing else np.nan_to_num(numbers(), nan=4.0)
    frame = make_frame({f"c{j}": make_column(X[:, j].tolist()) for j in range(5)})
    plain = np.array([expected(X[:, j].tolist()) for j in range(5)], dtype=np.float64).T
    table = read_table(frame)
    assert table.names == ["c0", "c1", "c2", "c3", "c4"]
    assert_same(table, plain)
    if kind not in ("texts of numbers", "object decimals"):  # their levels are texts
        for j in range(5):
            np.testing.assert_array_equal(table.levels(j), read_table(plain).levels(j))
    categories = Categories(np.array([-1.0, 0.0, 0.5, 1.0]), rest=(1.5,))
    for j in range(5):
        codes = read_table(plain).codes(5, 30, j, categories)
        np.testing.assert_array_equal(table.codes(5, 30, j, categories), codes)


def test_frames_of_many_types_at_once() -> None:
    X = numbers()
    columns = {kind: make(X[:, 0].tolist()) for kind, (make, _) in PANDAS.items()}
    expected = [expect(X[:, 0].tolist()) for _, expect in PANDAS.values()]
    assert_same(read_table(pd.DataFrame(columns).set_axis(np.zeros(37))), np.array(expected, dtype=np.float64).T)
    lazy = pl.DataFrame({kind: make(X[:, 1].tolist()) for kind, (make, _) in POLARS.items()}).drop("Object").lazy()
    expected = [expect(X[:, 1].tolist()) for kind, (_, expect) in POLARS.items() if kind != "Object"]
    assert_same(read_table(lazy), np.array(expected, dtype=np.float64).T)


def test_column_names_are_texts() -> None:
    assert read_table(pd.DataFrame(numbers(d=3), columns=[0, "a", ("b", 1)])).names == ["0", "a", "('b', 1)"]
    with pytest.raises(ValueError, match="unique column names"):
        read_table(pd.DataFrame(numbers(d=2), columns=["a", "a"]))


@pytest.mark.parametrize(
    "frame",
    [
        pl.DataFrame({"a": pl.Series([None] * 6)}),
        pa.table({"a": pa.nulls(6)}),
        pd.DataFrame({"a": pd.Series([None] * 6, dtype=object)}),
        pd.DataFrame({"a": pd.Series([None] * 6, dtype="Int64")}),
    ],
)
def test_columns_without_any_value(frame: Any) -> None:
    table = read_table(frame)
    assert np.isnan(table.numbers(1, 5, [0])).all()
    assert table.levels(0).tolist() == []
    for levels in (np.array([1.0]), np.array(["a"], dtype=object), np.empty(0)):
        assert np.isnan(table.codes(1, 5, 0, Categories(levels))).all()


# ---------------------------------------------------------------- columns of texts and categories

TEXTS = ["b", None, "a", "c", "", "b", "\u00e9", "a b", None, "<b>", "10", "9", "z" * 300, "a"]
LEVELS = sorted({text for text in TEXTS if text is not None})
CODES = [NAN if text is None else float(LEVELS.index(text)) for text in TEXTS]
DAY = datetime.date(2020, 1, 1)


def objects(*missing: Any) -> pd.Series:
    gaps = iter(missing)
    return pd.Series([next(gaps) if text is None else text for text in TEXTS], dtype=object)


TEXT_FRAMES: dict[str, Callable[[], Any]] = {
    "pandas str": lambda: pd.DataFrame({"t": pd.Series(TEXTS, dtype="str")}),
    "pandas string": lambda: pd.DataFrame({"t": pd.Series(TEXTS, dtype="string")}),
    "pandas string python": lambda: pd.DataFrame({"t": pd.Series(TEXTS, dtype="string[python]")}),
    "pandas arrow": lambda: pd.DataFrame({"t": pd.Series(TEXTS, dtype=pd.ArrowDtype(pa.string()))}),
    "pandas arrow dictionary": lambda: pd.DataFrame(
        {"t": pd.Series(TEXTS, dtype=pd.ArrowDtype(pa.dictionary(pa.int32(), pa.string())))}
    ),
    "pandas object None": lambda: pd.DataFrame({"t": objects(None, None)}),
    "pandas object nan": lambda: pd.DataFrame({"t": objects(NAN, None)}),
    "pandas object NA": lambda: pd.DataFrame({"t": objects(pd.NA, pd.NaT)}),
    "pandas category": lambda: pd.DataFrame({"t": pd.Categorical(TEXTS)}),
    "pandas category, others too": lambda: pd.DataFrame({"t": pd.Categorical(TEXTS, ["x", *LEVELS[::-1], "y"])}),
    "pandas category, ordered": lambda: pd.DataFrame({"t": pd.Categorical(TEXTS, LEVELS[::-1], ordered=True)}),
    "polars String": lambda: pl.DataFrame({"t": TEXTS}),
    "polars Categorical": lambda: pl.DataFrame({"t": TEXTS}, schema={"t": pl.Categorical}),
    "polars Enum": lambda: pl.DataFrame({"t": TEXTS}, schema={"t": pl.Enum(["x", *LEVELS[::-1], "y"])}),
    "polars Object": lambda: pl.DataFrame({"t": TEXTS}, schema={"t": pl.Object}),
    "polars lazy": lambda: pl.DataFrame({"t": TEXTS}).lazy(),
    "polars chunks": lambda: pl.concat([pl.DataFrame({"t": TEXTS[:5]}), pl.DataFrame({"t": TEXTS[5:]})], rechunk=False),
    "pyarrow string": lambda: pa.table({"t": TEXTS}),
    "pyarrow large_string": lambda: pa.table({"t": pa.array(TEXTS, pa.large_string())}),
    "pyarrow string_view": lambda: pa.table({"t": pa.array(TEXTS, pa.string_view())}),
    "pyarrow chunks": lambda: pa.table({"t": chunked(TEXTS)}),
    "pyarrow dictionary": lambda: pa.table({"t": pa.array(TEXTS).dictionary_encode()}),
    "pyarrow dictionaries": lambda: pa.table(
        {"t": pa.chunked_array([pa.array(part).dictionary_encode() for part in (TEXTS[:5], TEXTS[5:])])}
    ),
    "pyarrow dictionary, others too": lambda: pa.table(
        {
            "t": pa.DictionaryArray.from_arrays(
                pa.array([text and LEVELS.index(text) + 1 if text != "" else 1 for text in TEXTS], pa.uint8()),
                pa.array(["x", *LEVELS, None, "b"]),
            )
        }
    ),
}


@pytest.mark.parametrize("kind", TEXT_FRAMES)
def test_columns_of_texts(kind: str) -> None:
    table = read_table(TEXT_FRAMES[kind]())
    assert table.category_columns() == [0]
    assert table.levels(0).tolist() == LEVELS
    for low, high in ((0, len(TEXTS)), (3, 9), (4, 4)):
        np.testing.assert_array_equal(table.codes(low, high, 0, Categories(table.levels(0))), CODES[low:high])
    some = Categories(np.array(["c", "a", "nowhere"], dtype=object), rest=("9", "b"))
    code_of = {"c": 0.0, "a": 1.0, "9": 3.0, "b": 3.0}
    np.testing.assert_array_equal(
        table.codes(0, len(TEXTS), 0, some), [code_of.get(text, NAN) if text is not None else NAN for text in TEXTS]
    )
    as_numbers = table.codes(0, len(TEXTS), 0, Categories(np.array([10.0, 9.0])))
    np.testing.assert_array_equal(as_numbers, [{"10": 0, "9": 1}.get(text or "", NAN) for text in TEXTS])
    with pytest.raises(ValueError, match=re.escape("column 't'") + ".*'b' is not a number"):
        table.numbers(0, 2, [0])


@few_cases
@given(texts=st.lists(st.none() | st.text(max_size=4), min_size=1, max_size=30))
def test_any_texts(texts: list[str | None]) -> None:
    texts = [text and text.encode("utf-8", "ignore").decode() for text in texts]
    frames = [
        pd.DataFrame({"t": pd.Series(texts, dtype=object)}),
        pl.DataFrame({"t": texts}, schema={"t": pl.String}),
        pa.table({"t": pa.array(texts, pa.string())}),
    ]
    levels = sorted({text for text in texts if text is not None})
    codes = [NAN if text is None else levels.index(text) for text in texts]
    for frame in frames:
        table = read_table(frame)
        assert table.levels(0).tolist() == levels
        np.testing.assert_array_equal(table.codes(0, len(texts), 0, Categories(np.array(levels, dtype=object))), codes)


def test_many_levels() -> None:
    rng = np.random.default_rng(0)
    places = rng.integers(0, 5000, 20_000)
    texts = np.array([f"{k:04d}" for k in range(5000)], dtype=object)[places]
    categories = Categories(
        np.array([f"{k:04d}" for k in range(254)], dtype=object), tuple(f"{k:04d}" for k in range(254, 4000))
    )
    expected = np.where(places < 4000, np.minimum(places, 254), NAN)
    for frame in (pd.DataFrame({"t": texts}), pl.DataFrame({"t": texts.tolist()}), pa.table({"t": texts.tolist()})):
        table = read_table(frame)
        assert table.levels(0).tolist() == sorted(set(texts))
        codes = [table.codes(low, low + 4000, 0, categories) for low in range(0, 20_000, 4000)]
        np.testing.assert_array_equal(np.concatenate(codes), expected)


NUMBER_CATEGORIES: dict[str, tuple[Any, list[float]]] = {
    "ints": (pd.Categorical([30, 4, None, 30]), [30, 4, NAN, 30]),
    "floats": (pd.Categorical([0.5, -0.0, NAN, 0.0]), [0.5, 0, NAN, 0]),
    "bools": (pd.Categorical([True, False, None, True]), [1, 0, NAN, 1]),
    "objects": (pd.Series([30, 4.5, pd.NA, True], dtype=object), [30, 4.5, NAN, 1]),
    "numpy objects": (pd.Series([np.int8(3), np.float32(4.5), None, np.bool_(True)], dtype=object), [3, 4.5, NAN, 1]),
    "arrow": (
        pd.Series([30, 4, None, 30], dtype=pd.ArrowDtype(pa.dictionary(pa.int8(), pa.int64()))),
        [30, 4, NAN, 30],
    ),
}


@pytest.mark.parametrize("kind", NUMBER_CATEGORIES)
def test_categories_that_are_numbers_compare_as_numbers(kind: str) -> None:
    column, expected = NUMBER_CATEGORIES[kind]
    table, plain = read_table(pd.DataFrame({"c": column})), read_table(np.array(expected)[:, None])
    assert table.category_columns() == [0]
    assert not Categories(table.levels(0)).is_text
    assert table.levels(0).tolist() == plain.levels(0).tolist()
    categories = Categories(plain.levels(0))
    np.testing.assert_array_equal(table.codes(0, 4, 0, categories), plain.codes(0, 4, 0, categories))


def test_categories_of_other_objects_compare_as_texts() -> None:
    mixed = pd.Series([1, "1", True, None, 2.5, DAY], dtype=object)
    for column in (mixed, mixed[::-1].reset_index(drop=True)):
        table = read_table(pd.DataFrame({"c": column}))
        assert table.levels(0).tolist() == ["1", "2.5", "2020-01-01", "True"]
    codes = read_table(pd.DataFrame({"c": mixed})).codes(0, 6, 0, Categories(np.array(["1", "True"], dtype=object)))
    np.testing.assert_array_equal(codes, [0, 0, 1, NAN, NAN, NAN])
    for column in (pd.Categorical(pd.to_datetime([DAY, None, DAY])), pd.cut([1.0, NAN, 1.0], [0, 5, 9])):
        table = read_table(pd.DataFrame({"c": column}))
        assert table.category_columns() == [0]
        np.testing.assert_array_equal(table.codes(0, 3, 0, Categories(table.levels(0))), [0, NAN, 0])


@pytest.mark.parametrize("column", [pd.Series([1, 2, 7]), pl.Series([1, 2, 7]), pd.array([1, 2, 7], dtype="Int8")])
def test_numbers_where_texts_were_known(column: Any) -> None:
    frame = (pl.DataFrame if isinstance(column, pl.Series) else pd.DataFrame)({"c": column})
    codes = read_table(frame).codes(0, 3, 0, Categories(np.array(["2", "1"], dtype=object)))
    np.testing.assert_array_equal(codes, [1, 0, NAN])


def test_missing_numbers_where_texts_were_known() -> None:
    known = Categories(np.array(["1.5", "nan"], dtype=object))
    for frame in (pd.DataFrame({"c": [1.5, NAN]}), pl.DataFrame({"c": [1.5, NAN]}), pa.table({"c": [1.5, NAN]})):
        np.testing.assert_array_equal(read_table(frame).codes(0, 2, 0, known), [0, NAN])


def test_the_type_of_a_column_is_that_of_all_its_rows() -> None:
    """narwhals looks at the first hundred objects of a pandas column."""
    late = pd.DataFrame({"c": pd.Series(["a"] * 200 + [3], dtype=object)})
    assert read_table(late).levels(0).tolist() == ["3", "a"]
    early = pd.DataFrame({"c": pd.Series([3] * 200 + ["a"], dtype=object)})
    assert read_table(early).levels(0).tolist() == ["3", "a"]
    with pytest.raises(ValueError, match=r"column 'c'.*'a' is not a number"):
        read_table(early).numbers(0, 5, [0])


# ---------------------------------------------------------------- columns that cannot be read

UNREADABLE: dict[str, Any] = {
    "pandas datetime": pd.to_datetime([DAY, None]),
    "pandas datetime zone": pd.to_datetime([DAY, None], utc=True),
    "pandas timedelta": pd.to_timedelta([1, 2]),
    "pandas period": pd.period_range("2020", periods=2),
    "pandas complex": pd.Series([1j, 2.0]),
    "pandas lists": pd.Series([[1], [2]]),
    "pandas dicts": pd.Series([{"a": 1}, None]),
    "pandas arrays": pd.Series([np.arange(2), np.arange(3)]),
    "pandas arrow list": pd.Series([[1], [2]], dtype=pd.ArrowDtype(pa.list_(pa.int64()))),
    "polars date": pl.Series([DAY, None]),
    "polars datetime": pl.Series([datetime.datetime(2020, 1, 1), None]),
    "polars time": pl.Series([datetime.time(1)]),
    "polars duration": pl.Series([datetime.timedelta(1)]),
    "polars list": pl.Series([[1], [2]]),
    "polars array": pl.Series([[1, 2]], dtype=pl.Array(pl.Int64, 2)),
    "polars struct": pl.Series([{"a": 1}]),
    "polars binary": pl.Series([b"a"]),
    "polars objects": pl.Series([[1], {}], dtype=pl.Object),
    "pyarrow date": pa.array([DAY]),
    "pyarrow timestamp": pa.array([datetime.datetime(2020, 1, 1)]),
    "pyarrow list": pa.array([[1], [2]]),
    "pyarrow struct": pa.array([{"a": 1}]),
    "pyarrow map": pa.array([[("a", 1)]], pa.map_(pa.string(), pa.int64())),
    "pyarrow binary": pa.array([b"a"]),
}


@pytest.mark.parametrize("kind", UNREADABLE)
def test_unreadable_columns_are_named(kind: str) -> None:
    make_frame = FRAMES[kind.split()[0]][0]
    frame = make_frame({"fine": [1.0] * len(UNREADABLE[kind]), "odd": UNREADABLE[kind]})
    with pytest.raises(ValueError, match="column 'odd'"):
        read_table(frame).levels(1)
    with pytest.raises(ValueError, match="column 'odd'"):
        read_table(frame).numbers(0, 1, [0, 1])


# ---------------------------------------------------------------- categories and factors


def test_number_codes() -> None:
    categories = Categories(np.array([2.0, 5.0, 7.0]), rest=(1.0, 9.0))
    assert categories.n_codes == 4
    values = np.array([7.0, 1.0, 9.0, 2.0, 3.0, NAN, np.inf, -np.inf, 10.0, 0.0])
    odd = [NAN, NAN, np.inf, -np.inf, NAN, NAN]  # infinite ones are not unseen: they are refused later
    np.testing.assert_array_equal(numeric_codes(values, categories), [2, 3, 3, 0, *odd])
    np.testing.assert_array_equal(numeric_codes(values, Categories(np.empty(0))), [*[NAN] * 4, *odd])
    np.testing.assert_array_equal(numeric_codes(np.array([-0.0]), Categories(np.array([0.0]))), [0])


@pytest.mark.parametrize("levels", [np.array([2.0, 5.0]), np.array(["a", "b"], dtype=object)])
def test_categories_are_copied_without_what_they_remember(levels: np.ndarray) -> None:
    categories = Categories(levels)
    before = pickle.dumps(categories)
    _ = categories.code_of if categories.is_text else categories.by_number
    assert pickle.dumps(categories) == before
    for again in (pickle.loads(before), copy.deepcopy(categories)):
        assert again.levels.tolist() == levels.tolist()
        assert again.rest == ()


def test_factors_hold_each_value_once() -> None:
    import narwhals.stable.v2 as nw

    for kind, make in TEXT_FRAMES.items():
        frame: Any = nw.from_native(make())
        factors = factorise((frame.collect() if isinstance(frame, nw.LazyFrame) else frame)["t"])
        assert [None if row < 0 else factors.values[row] for row in factors.rows] == TEXTS, kind
        assert factors.rows.dtype == np.int32
        assert sorted(set(factors.present)) == LEVELS


@pytest.mark.parametrize("kind", ["float32", "int8", "bool", "columns first", "sparse", "frame", "stack"])
def test_reading_into_the_same_buffer(kind: str) -> None:
    """Block after block as the table gives them, of any columns and sizes."""
    rng = np.random.default_rng(0)
    array = rng.integers(0, 2, (90, 7))
    rows: Any = {
        "columns first": np.asfortranarray(array.astype(np.float64)),
        "sparse": sparse.csr_array(array.astype(np.float64)),
        "frame": pd.DataFrame(array),
    }.get(kind, array.astype(kind if kind in ("float32", "int8", "bool") else np.float64))
    table: Any = read_table(rows)
    if kind == "stack":
        table = StackedTable([read_table(rows[:20]), read_table(rows[20:20]), read_table(rows[20:])], [0, 1, 2])
    reading = BlockReader(table)
    for low, high, columns in [(0, 30, [1, 2, 3]), (10, 12, [5, 0]), (15, 90, list(range(7))), (4, 4, [2])]:
        np.testing.assert_array_equal(reading.numbers(low, high, columns), array[low:high, columns].T)


# ---------------------------------------------------------------- columns in chunks


def columns_of_every_kind(n: int = 60) -> pa.Table:
    rng = np.random.default_rng(0)
    numbers = rng.normal(size=n)
    texts = np.array(["u", "v", "w"])[rng.integers(0, 3, n)]
    gone = rng.random(n) < 0.2
    columns = {
        "float": pa.array(numbers),
        "float32": pa.array(numbers.astype(np.float32), mask=gone),
        "int": pa.array((10 * numbers).astype(np.int16)),
        "int with nulls": pa.array((10 * numbers).astype(np.int64), mask=gone),
        "bool": pa.array(numbers > 0),
        "bool with nulls": pa.array(numbers > 0, mask=gone),
        "text": pa.array(texts, mask=gone),
        "dictionary": pa.array(texts).dictionary_encode(),
        "nothing": pa.array([None] * n, type=pa.float64()),
    }
    return pa.table(columns)


def cut_up(table: pa.Table, sizes: list[int]) -> pa.Table:
    """In chunks of these sizes; each has a dictionary of its own."""
    starts = np.concatenate([[0], np.cumsum(sizes)]).tolist()
    parts = [table.slice(start, size) for start, size in zip(starts, sizes, strict=False)]
    own = [pa.array(part["dictionary"].to_pylist(), type=pa.string()).dictionary_encode() for part in parts]
    place = table.column_names.index("dictionary")
    return pa.concat_tables([part.set_column(place, "dictionary", new) for part, new in zip(parts, own, strict=True)])


@pytest.mark.parametrize("short", [0, 4096])
@pytest.mark.parametrize("library", ["pyarrow", "polars"])
def test_columns_in_chunks(library: str, short: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether chunks are read one by one or put together first, the values are those of the whole column."""
    monkeypatch.setattr(column_views, "SHORT_CHUNK", short)
    whole = columns_of_every_kind()
    chunked = cut_up(whole, [7, 0, 1, 30, 22])
    if library == "polars":
        chunked = pl.concat([pl.from_arrow(part) for part in chunked.to_batches()], rechunk=False)
        assert chunked["float"].n_chunks() > 1
    one, several = read_table(whole), read_table(chunked)
    assert several.category_columns() == one.category_columns()
    numbers = [j for j in range(one.n_columns) if j not in one.category_columns()]
    for low, high in ((0, 60), (0, 7), (5, 9), (7, 8), (8, 8), (20, 59)):
        np.testing.assert_array_equal(several.numbers(low, high, numbers), one.numbers(low, high, numbers))
    for j in one.category_columns():
        known = Categories(one.levels(j))
        np.testing.assert_array_equal(several.levels(j), known.levels)
        np.testing.assert_array_equal(several.codes(3, 50, j, known), one.codes(3, 50, j, known))


def test_chunks_are_not_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(column_views, "SHORT_CHUNK", 1)
    numbers = np.arange(10.0)
    table = pa.table({"a": pa.chunked_array([numbers[:6], numbers[6:]])})
    (view,) = read_table(table)._views
    assert all(np.shares_memory(chunk, numbers) for chunk in view.arrays)


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_columns_are_taken_in_one_pass(library: str) -> None:
    """A lookup by name or position passes over all columns: 20,000 of them would take minutes."""
    n = 20_000
    values = np.zeros((2, n))
    names = [f"c{j}" for j in range(n)]
    frame = {
        "pandas": lambda: pd.DataFrame(values, columns=names),
        "polars": lambda: pl.DataFrame(values, schema=names),
        "pyarrow": lambda: pa.table([values[:, j] for j in range(n)], names=names),
    }[library]()
    start = time.process_time()
    table = read_table(frame)
    assert table.numbers(0, 2, range(n)).shape == (n, 2)
    assert time.process_time() - start < 10  # takes half a second
