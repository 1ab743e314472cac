"""Sources of batches that need no file format: arrays and memory maps, functions that return batches, Arrow streams."""

from collections.abc import Callable, Iterator
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from electorate.optional import optional
from electorate.tables.batches import Batch, BatchSource, Names, is_array, sliced


class ArraySource(BatchSource):
    """A two-dimensional array, memory-mapped or not."""

    def __init__(self, array: NDArray[Any], name: str = "the array") -> None:
        if array.ndim != 2:
            raise ValueError(f"{name} has the shape {array.shape}: rows and columns are needed")
        if array.dtype.kind not in "fiub":
            raise ValueError(f"{name} has the type {array.dtype}: numbers are needed")
        self.name, self.names, self.array = name, None, array
        self.like = np.asarray(array[:0])
        self.n_bytes, self.n_rows = int(array.nbytes), len(array)

    def batches(self, columns: Names, n_rows: int) -> Iterator[Batch]:
        for low in range(0, len(self.array), n_rows):
            yield Batch(np.asarray(self.array[low : low + n_rows]), self.name, low)


class FunctionSource(BatchSource):
    """A function that returns an iterator of batches, dataframes or arrays, from the start each time."""

    def __init__(self, function: Callable[[], Any], name: str = "the batches") -> None:
        self.function, self.name = function, name
        first = next(self._frames(), None)
        if first is None:
            raise ValueError(f"{name}: there is no batch, so the columns are not known")
        self.names = None if is_array(first) else [str(column) for column in first.columns]
        self.like = first[:0] if is_array(first) else first.head(0).to_native()
        self.schema = _schema(first)

    def _frames(self) -> Iterator[Any]:
        for number, rows in enumerate(self.function()):
            if is_array(rows):
                if rows.ndim != 2:
                    raise ValueError(
                        f"batch {number} of {self.name} has the shape {rows.shape}: it must be rows and columns"
                    )
                yield rows
                continue
            yield as_frame(rows, f"batch {number} of {self.name}")

    def batches(self, columns: Names, n_rows: int) -> Iterator[Batch]:
        for number, frame in enumerate(self._frames()):
            where = f"batch {number} of {self.name}"
            check_schema(self.schema, _schema(frame), where)
            yield from sliced([Batch(frame if is_array(frame) else frame.select(*columns), where)], n_rows)


class StreamSource(BatchSource):
    """Anything that exports an Arrow stream again and again: a DuckDB relation, a dataframe, a polars lazy frame."""

    def __init__(self, exporter: Any) -> None:
        self.exporter = exporter
        self.name = f"the stream of a {type(exporter).__name__}"
        schema = self._reader().schema
        self.names, self.like = list(schema.names), schema.empty_table()
        self.schema = _schema(as_frame(self.like, self.name))

    def _reader(self) -> Any:
        pa = optional("pyarrow", "scan")
        if hasattr(self.exporter, "collect_batches"):  # of polars: its streaming engine
            return _PolarsReader(self.exporter)
        return pa.RecordBatchReader.from_stream(self.exporter)

    def batches(self, columns: Names, n_rows: int) -> Iterator[Batch]:
        row = 0
        for batch in self._reader():
            frame = as_frame(batch, self.name)
            check_schema(self.schema, _schema(frame), f"{self.name}, row {row}")
            yield from sliced([Batch(frame.select(*columns), self.name, row)], n_rows)
            row += frame.shape[0]


class _PolarsReader:
    """The batches of a polars lazy frame, computed by its streaming engine."""

    def __init__(self, frame: Any) -> None:
        self.frame = frame

    @property
    def schema(self) -> Any:
        return self.frame.collect_schema().to_frame().to_arrow().schema

    def __iter__(self) -> Iterator[Any]:
        return (batch.to_arrow() for batch in self.frame.collect_batches(maintain_order=True))


def as_frame(rows: Any, where: str) -> Any:
    """Return a batch as a narwhals dataframe; pyarrow record batches too."""
    if type(rows).__module__.partition(".")[0] == "pyarrow" and not hasattr(rows, "combine_chunks"):
        import pyarrow as pa

        rows = pa.Table.from_batches([rows])
    try:
        return nw.from_native(rows, eager_only=True)
    except TypeError:
        kind = type(rows).__name__
        raise TypeError(f"{where} is of type {kind}: batches are dataframes, Arrow tables or arrays") from None


def _schema(rows: Any) -> dict[str, str]:
    """The names of the columns and their types, as far as they matter; of an array, how many columns it has."""
    if is_array(rows):
        return {str(j): "number" for j in range(rows.shape[1])}
    return {str(name): kind_of(dtype) for name, dtype in rows.schema.items()}


def kind_of(dtype: Any) -> str:
    """The type of a column in a word: all numbers are one, and so are all texts."""
    if dtype.is_numeric() or str(dtype) == "Boolean":
        return "number"
    text = isinstance(dtype, (nw.Categorical, nw.Enum, nw.String, nw.Object))
    return "text" if text else str(dtype)


def check_schema(expected: dict[str, str], found: dict[str, str], where: str) -> None:
    """Raise ValueError where a batch has other columns than the first one, or other types."""
    if found == expected:
        return
    missing, more = expected.keys() - found.keys(), found.keys() - expected.keys()
    if missing or more:
        what = (
            f"lacks the column {min(missing)!r}" if missing else f"has the column {min(more)!r}, which is not expected"
        )
        raise ValueError(f"{where} {what}: all batches must have the same columns")
    name = next(name for name in expected if found[name] != expected[name])
    if "Unknown" in (found[name], expected[name]):  # only missing values
        return
    kinds = f"holds {found[name]}s, expected {expected[name]}s"
    raise ValueError(f"{where}: column {name!r} {kinds}: all batches must have the same types")
