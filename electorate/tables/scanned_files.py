"""Sources of batches but for CSV: Parquet and Arrow files, folders of them, arrays, functions and Arrow streams."""

import glob
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from electorate.optional import optional
from electorate.tables.batches import Batch, BatchSource, Names, is_array, sliced
from electorate.text import literal

FORMATS = {".parquet": "parquet", ".pq": "parquet", ".arrow": "ipc", ".feather": "ipc", ".ipc": "ipc"}


def open_dataset(path: str, filters: Any) -> "FileSource":
    """Return the source of a path: a file, a folder of files of one format, or a pattern such as part-*.parquet."""
    ds = optional("pyarrow.dataset", "scan")
    found: Any = path
    if not os.path.exists(path):
        found = sorted(glob.glob(path, recursive=True))
        if not found:
            raise FileNotFoundError(f"no file is called {literal(path)!r}, and none matches it as a pattern")
    format = format_of(path if isinstance(found, str) else found[0])
    if format is None and format_of(path.removesuffix(".gz")) is not None:
        raise ValueError(
            f"{literal(path)}: a scan reads no packed Parquet or Arrow file: unpack it, or add --scan never"
        )
    if format is None:
        raise ValueError(f"{literal(path)}: its files are neither Parquet ({', '.join(FORMATS)}) nor CSV")
    with named(path, format):
        dataset = ds.dataset(found, format=format, partitioning="hive", exclude_invalid_files=False)
    return FileSource(dataset, literal(path), filters)


def format_of(path: str) -> str | None:
    """The format of a file by its ending; of a folder, that of its first file."""
    if os.path.isdir(path):
        files = sorted(name for _, _, names in os.walk(path) for name in names if not name.startswith((".", "_")))
        path = files[0] if files else ""
    return FORMATS.get(os.path.splitext(path)[1].lower())


class FileSource(BatchSource):
    """The files of a pyarrow dataset, one after another, row group by row group."""

    def __init__(self, dataset: Any, name: str, filters: Any = None) -> None:
        self.dataset, self.name = dataset, name
        self.like = dataset.schema.empty_table()
        self.names = list(dataset.schema.names)
        self.fragments = list(dataset.get_fragments())
        if not self.fragments or not hasattr(self.fragments[0], "filesystem"):
            raise ValueError(f"{name}: it has no files")
        self.filters = _expression(filters)
        self.filter_columns = _columns_of(filters, self.names)
        self.schema = _kinds(self.like)
        paths = [fragment.path for fragment in self.fragments]
        infos = self.fragments[0].filesystem.get_file_info(paths)
        self.n_bytes = sum(int(info.size or 0) for info in infos)
        self.n_rows = self._count_rows() if self.filters is None else None

    def _count_rows(self) -> int:
        total = 0
        for fragment in self.fragments:
            with named(fragment.path, _format(fragment)):
                total += int(fragment.count_rows())
        return total

    def state(self) -> Any:
        paths = [fragment.path for fragment in self.fragments]
        infos = self.fragments[0].filesystem.get_file_info(paths)
        return {info.path: (info.size, info.mtime_ns) for info in infos}

    def batches(self, columns: Names, n_rows: int) -> Iterator[Batch]:
        wanted = list(dict.fromkeys([*columns, *self.filter_columns]))
        for fragment in self.fragments:
            for table, where, first in self._tables(fragment, wanted, n_rows):
                if self.filters is not None:
                    table = table.filter(self.filters)
                yield from sliced([Batch(as_frame(table.select(columns), where), where, first)], n_rows)

    def _tables(self, fragment: Any, columns: list[str], n_rows: int) -> Iterator[tuple[Any, str, int]]:
        """The rows of one file, with the columns of its folders; where each begins."""
        import pyarrow as pa
        import pyarrow.dataset as ds

        keys = ds.get_partition_keys(fragment.partition_expression)
        stored = [name for name in columns if name not in keys]
        for batch, where, first in self._stored(fragment, stored, n_rows):
            table = pa.Table.from_batches([batch])
            for name in columns:
                if name in keys:
                    kind = self.dataset.schema.field(name).type
                    values = pa.array([keys[name]] * table.num_rows) if table.num_rows else pa.array([], kind)
                    table = table.append_column(name, values.cast(kind))
            yield table.select(columns), where, first

    def _stored(self, fragment: Any, columns: list[str], n_rows: int) -> Iterator[tuple[Any, str, int]]:
        """The record batches of one file."""
        path, format = literal(fragment.path), _format(fragment)
        expected = {name: self.schema[name] for name in self.schema if name in columns}
        with named(fragment.path, format):
            if format != "parquet":
                for number, batch in enumerate(fragment.to_batches(columns=columns, batch_readahead=1)):
                    yield batch, f"{path}, batch {number}", 0
                return
            import pyarrow.parquet as pq

            opened = fragment.filesystem.open_input_file(fragment.path)
            file = pq.ParquetFile(opened, pre_buffer=False, page_checksum_verification=True)
        found = _kinds(file.schema_arrow.empty_table())
        check_schema(expected, {name: found[name] for name in expected if name in found}, path)
        for group in range(file.num_row_groups):
            where, first = f"{path}, row group {group}", 0
            for batch in _guarded(file.iter_batches(n_rows, row_groups=[group], columns=columns), fragment.path, group):
                yield batch, where, first
                first += batch.num_rows


def _guarded(batches: Iterable[Any], path: str, group: int) -> Iterator[Any]:
    """Yield batches; an error names the file and the row group."""
    with named(path, "parquet", group):
        yield from batches


@contextmanager
def named(path: str, format: str, group: int | None = None) -> Iterator[None]:
    """Turn the errors of pyarrow into a ValueError that names the file, and the row group."""
    import pyarrow as pa

    try:
        yield
    except (pa.ArrowException, OSError, EOFError) as error:
        if isinstance(error, FileNotFoundError | PermissionError):
            raise
        kind = "Parquet" if format == "parquet" else "Arrow"
        place = f"{literal(path)}" if group is None else f"{literal(path)}, row group {group}"
        todo = "write it again, or leave it out"
        raise ValueError(f"{place}: this is not a {kind} file, or it is damaged ({error}): {todo}") from error


def _format(fragment: Any) -> str:
    """Return the format of a file of a pyarrow dataset."""
    import pyarrow.dataset as ds

    return "parquet" if isinstance(fragment, ds.ParquetFileFragment) else "ipc"


def _kinds(table: Any) -> dict[str, str]:
    return {str(name): kind_of(dtype) for name, dtype in as_frame(table, "").schema.items()}


def _expression(filters: Any) -> Any:
    """Filters as a pyarrow expression: given as one, or as lists of (column, operator, value)."""
    if not isinstance(filters, list | tuple):
        return filters
    import pyarrow.parquet as pq

    return pq.filters_to_expression(filters)


def _columns_of(filters: Any, names: list[str]) -> list[str]:
    """The columns that filters use; all of them, where that cannot be seen."""
    if filters is None:
        return []
    if not isinstance(filters, list | tuple):
        return names
    flat = [item for entry in filters for item in (entry if isinstance(entry, list) else [entry])]
    return [str(column) for column, _, _ in flat]


# ---------------------------------------------------------------- sources of batches


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
