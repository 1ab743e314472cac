"""Parquet and Arrow tables: their columns by name, their rows batch by batch."""

import io
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from electorate.escape import literal
from electorate.tables.source import Source, pyarrow

ROWS_AT_ONCE = 65_536
CELLS_AT_ONCE = 2**23
MAGIC = b"ARROW1\0\0"  # an Arrow file is a stream between this and a table of contents


@dataclass(frozen=True)
class BinaryTable:
    """schema: of all columns. file: of Parquet, or a reader of Arrow batches."""

    source: Source
    schema: Any
    file: Any

    @property
    def n_bytes(self) -> int:
        """What a Parquet file says it takes, unpacked; 0 where nothing is said."""
        if self.source.kind != "parquet":
            return 0
        meta = self.file.metadata
        return sum(int(meta.row_group(i).total_byte_size) for i in range(meta.num_row_groups))

    def batches(self, places: list[int]) -> Iterator[Any]:
        """The columns at these places, some rows at a time."""
        n_rows = max(256, min(ROWS_AT_ONCE, CELLS_AT_ONCE // max(1, len(places))))
        with _named(self.source):
            for batch in self._parts(places, n_rows):
                for start in range(0, batch.num_rows, n_rows):
                    yield batch.slice(start, n_rows)

    def _parts(self, places: list[int], n_rows: int) -> Iterator[Any]:
        if self.source.kind == "parquet":
            every = self.schema.names  # pyarrow makes the list anew each time it is asked
            names = [every[place] for place in places]
            yield from (batch.select(names) for batch in self.file.iter_batches(n_rows, columns=names))
            return
        batches = self.file
        if hasattr(batches, "num_record_batches"):
            batches = map(batches.get_batch, range(batches.num_record_batches))
        yield from (batch.select(places) for batch in batches)


@contextmanager
def _named(source: Source) -> Iterator[None]:
    """What pyarrow cannot read, said with the name of the file."""
    arrow = pyarrow()
    try:
        yield
    except (arrow.ArrowException, OSError, EOFError) as error:
        if isinstance(error, FileNotFoundError | PermissionError):
            raise
        kind = {"parquet": "Parquet", "arrow": "Arrow"}[source.kind]
        raise source.error(f"this is no {kind} table, or it is damaged: {literal(error)}") from None


def open_binary(source: Source) -> BinaryTable:
    """The table, before its rows are read. Files are mapped; an Arrow stream is read as it comes."""
    with _named(source):
        if source.kind == "parquet":
            from pyarrow import parquet

            file = parquet.ParquetFile(_seekable(source), pre_buffer=False)
            return BinaryTable(source, file.schema_arrow, file)
        reader = _arrow_reader(source)
        return BinaryTable(source, reader.schema, reader)


def _seekable(source: Source) -> Any:
    """Parquet is read from its end."""
    arrow = pyarrow()
    opened = source.open()
    if source.is_file and not opened.is_packed:
        return arrow.memory_map(source.path)
    return io.BytesIO(opened.read())


def _arrow_reader(source: Source) -> Any:
    arrow = pyarrow()
    opened = source.open()
    if not opened.is_packed:
        path = "/dev/stdin" if source.path == "-" else source.path
        if os.path.isfile(path) and os.path.getsize(path):
            mapped = arrow.memory_map(path)
            try:
                return arrow.ipc.open_file(mapped)
            except arrow.ArrowInvalid:
                mapped.seek(0)
                return arrow.ipc.open_stream(mapped)
    return arrow.ipc.open_stream(arrow.PythonFile(_Stream(opened), "r"))


class _Stream:
    """Bytes of an Arrow stream that cannot be read twice; of a file, what comes after its first mark."""

    closed = False

    def __init__(self, opened: Any) -> None:
        self._opened = opened
        first = opened.read(len(MAGIC))
        self._first = b"" if first == MAGIC else first

    def read(self, size: int = -1) -> bytes:
        """So many bytes, unless the end comes before: pyarrow takes less for the end."""
        parts = [self._first[:size] if size >= 0 else self._first]
        self._first = self._first[len(parts[0]) :]
        missing = size - len(parts[0])
        while missing > 0 and (part := self._opened.read(missing)):
            parts.append(part)
            missing -= len(part)
        return b"".join(parts)

    def close(self) -> None:
        pass


# ---------------------------------------------------------------- types


def is_usable(kind: Any) -> bool:
    """Whether a column of this type holds numbers, texts or categories."""
    types = pyarrow().types
    if types.is_dictionary(kind):
        return is_usable(kind.value_type)
    is_text = types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind)
    is_number = types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind) or types.is_boolean(kind)
    return is_text or is_number or types.is_null(kind)


def refuse_unusable(source: Source, fields: list[Any]) -> None:
    """One error for all columns that hold neither numbers nor texts."""
    bad = [field for field in fields if not is_usable(field.type)]
    if not bad:
        return
    shown = ", ".join(f"{literal(field.name, 40)!r} ({literal(field.type, 40)})" for field in bad[:20])
    more = f" and {len(bad) - 20} more" if len(bad) > 20 else ""
    drop = " ".join(f"--drop {_quoted(field.name)}" for field in bad[:20])
    times = [field.name for field in bad if pyarrow().types.is_temporal(field.type)]
    hint = f", or read a date as a number (seconds since 1970) with --type {_quoted(times[0])}=number" if times else ""
    raise source.error(f"these columns hold neither numbers nor texts: {shown}{more}. Leave them out with {drop}{hint}")


def _quoted(name: str) -> str:
    shown = literal(name, 40)
    return shown if shown.replace("_", "").isalnum() else f"'{shown}'"


def cast(source: Source, column: Any, name: str, kind: str) -> Any:
    """The column as numbers or texts; dates and times as numbers are seconds."""
    arrow = pyarrow()
    try:
        if kind == "text":
            return column.cast(arrow.string())
        if arrow.types.is_temporal(column.type):
            return _seconds(arrow, column)
        return column.cast(arrow.float64())
    except (arrow.ArrowInvalid, arrow.ArrowNotImplementedError) as error:
        raise source.error(f"column {literal(name)!r} cannot be read as {kind}: {literal(error)}") from None


def _seconds(arrow: Any, column: Any) -> Any:
    import pyarrow.compute as pc

    types = arrow.types
    if types.is_duration(column.type):
        whole = column.cast(arrow.duration("us"))
    elif types.is_time(column.type):
        whole = column.cast(arrow.time64("us"))
    else:
        whole = column.cast(arrow.timestamp("us", getattr(column.type, "tz", None)), safe=False)
    return pc.divide(whole.cast(arrow.int64()).cast(arrow.float64()), 1e6)
