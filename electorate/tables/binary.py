"""Parquet and Arrow tables: their columns by name, their rows batch by batch."""

import io
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from electorate.tables.source import MemoryWatch, OpenedSource, Source, TableError, arrow
from electorate.text import literal

ROWS_AT_ONCE = 65_536
CELLS_AT_ONCE = 2**23
UNPACKED_AT_ONCE = 2**22  # bytes
MAGIC = b"ARROW1\0\0"  # an Arrow file is a stream between this and a table of contents


@dataclass(frozen=True)
class BinaryTable:
    """schema: of all columns. file: a Parquet file, or a reader of Arrow batches.

    state: the size and the time of the file when it was opened; None if it is not a file.
    """

    source: Source
    schema: Any
    file: Any
    state: tuple[int, int] | None = None

    @property
    def names(self) -> list[str]:
        return [str(name) for name in self.schema.names]

    def batches(self, places: list[int]) -> Iterator[Any]:
        """Yield the columns at these places, some rows at a time."""
        n_rows = max(256, min(ROWS_AT_ONCE, CELLS_AT_ONCE // max(1, len(places))))
        batches = self.file
        chosen: list[Any] = places
        with _named(self.source, self.state):
            if self.source.kind == "parquet":
                names = self.names
                chosen = [names[place] for place in places]
                batches = self.file.iter_batches(n_rows, columns=chosen)
            elif hasattr(batches, "num_record_batches"):
                stored = sorted(set(places))  # of an Arrow file, only these columns are read
                chosen = [stored.index(place) for place in places]
                options = arrow.ipc.IpcReadOptions(included_fields=stored)
                reader = arrow.ipc.open_file(arrow.OSFile(_path(self.source)), options=options)
                batches = map(reader.get_batch, range(reader.num_record_batches))
            for batch in batches:
                selected = batch.select(chosen)
                for start in range(0, selected.num_rows, n_rows):
                    yield selected.slice(start, n_rows)
        if self.state not in (None, _state(self.source)):
            raise _changed(self.source)


def _path(source: Source) -> str:
    return "/dev/stdin" if source.path == "-" else source.path


def _state(source: Source) -> tuple[int, int] | None:
    """What tells whether a file has changed."""
    try:
        now = os.stat(_path(source))
    except OSError:
        return None
    return now.st_size, now.st_mtime_ns


def _changed(source: Source) -> TableError:
    return source.error("the file changed while it was read: run this again when nothing writes to it")


@contextmanager
def _named(source: Source, state: tuple[int, int] | None = None) -> Iterator[None]:
    """Turn errors of pyarrow into a TableError with the name of the file. state: when it was opened."""
    try:
        yield
    except (arrow.ArrowException, OSError, EOFError) as error:
        if isinstance(error, FileNotFoundError | PermissionError):
            raise
        if state not in (None, _state(source)):
            raise _changed(source) from None
        kind = {"parquet": "a Parquet", "arrow": "an Arrow"}[source.kind]
        raise source.error(f"this is not {kind} table, or it is damaged: {literal(error)}") from None


def open_binary(source: Source) -> BinaryTable:
    """Open a table before its rows are read: a file from where it is, an Arrow stream in order.

    Files are not mapped into memory: the system ends a process that reads a mapped file after it was shortened.
    """
    with _named(source):
        opened, path = source.open(), _path(source)
        if source.kind == "parquet":  # it is read from its end
            in_place = source.is_file and not opened.is_packed
            state = _state(source) if in_place else None
            file = arrow.parquet.ParquetFile(arrow.OSFile(path) if in_place else _unpacked(opened), pre_buffer=False)
            return BinaryTable(source, file.schema_arrow, file, state)
        if opened.is_packed or not os.path.isfile(path) or not os.path.getsize(path):
            reader = arrow.ipc.open_stream(arrow.PythonFile(_Stream(opened), "r"))
            return BinaryTable(source, reader.schema, reader)
        state, data = _state(source), arrow.OSFile(path)
        try:
            reader = arrow.ipc.open_file(data)
        except arrow.ArrowInvalid:
            data.seek(0)
            reader = arrow.ipc.open_stream(data)
        return BinaryTable(source, reader.schema, reader, state)


def _unpacked(opened: OpenedSource) -> io.BytesIO:
    """Return all bytes of a source that cannot be read from its end; MemoryError where they will not fit."""
    data, watch = io.BytesIO(), MemoryWatch(opened.source, opened)
    while part := opened.read(UNPACKED_AT_ONCE):
        watch.add_bytes(len(part))
        data.write(part)
    data.seek(0)
    return data


class _Stream(io.RawIOBase):
    """The bytes of an Arrow stream that cannot be read twice; of an Arrow file, those after its first mark."""

    def __init__(self, opened: OpenedSource) -> None:
        self._opened = opened
        first = opened.read(len(MAGIC))
        self._first = b"" if first == MAGIC else first

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        """Return exactly `size` bytes, or fewer at the end: pyarrow treats a short read as the end."""
        parts = [self._first[:size] if size >= 0 else self._first]
        self._first = self._first[len(parts[0]) :]
        missing = size - len(parts[0])
        while missing > 0 and (part := self._opened.read(missing)):
            parts.append(part)
            missing -= len(part)
        return b"".join(parts)


# ---------------------------------------------------------------- types


def is_usable(kind: Any) -> bool:
    """Whether a column of this type holds numbers, texts or categories."""
    types = arrow.types
    if types.is_dictionary(kind):
        return is_usable(kind.value_type)
    is_text = types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind)
    return is_text or types.is_decimal(kind) or types.is_null(kind) or is_plain_number(kind)


def is_date(kind: Any) -> bool:
    return bool(arrow.types.is_date(kind) or arrow.types.is_timestamp(kind))


def is_plain_number(kind: Any) -> bool:
    types = arrow.types
    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind))


def refuse_unusable(source: Source, fields: list[Any]) -> None:
    """Raise one error for all columns that hold neither numbers nor texts."""
    bad = [field for field in fields if not is_usable(field.type)]
    if not bad:
        return
    listed = ", ".join(f"{literal(field.name, 40)!r} ({literal(field.type, 40)})" for field in bad[:20])
    more = f" and {len(bad) - 20} more" if len(bad) > 20 else ""
    drop = " ".join(f"--drop {_quoted(field.name)}" for field in bad[:20])
    times = [field.name for field in bad if arrow.types.is_temporal(field.type)]
    hint = f", or read a date as a number (seconds since 1970) with --type {_quoted(times[0])}=number" if times else ""
    raise source.error(
        f"these columns hold neither numbers nor texts: {listed}{more}. Leave them out with {drop}{hint}"
    )


def _quoted(name: str) -> str:
    safe = literal(name, 40)
    return safe if safe.replace("_", "").isalnum() else f"'{safe}'"


def cast(source: Source, column: Any, name: str, kind: str) -> Any:
    """Return the column as numbers or texts; dates and times as numbers are seconds."""
    types = arrow.types
    try:
        if kind == "text":
            return column.cast(arrow.string())
        if not types.is_temporal(column.type):
            # integers beyond 2^53 are rounded, as in every other container
            return column.cast(arrow.float64(), safe=not types.is_integer(column.type))
        if types.is_duration(column.type):
            whole = column.cast(arrow.duration("us"))
        elif types.is_time(column.type):
            whole = column.cast(arrow.time64("us"))
        else:
            whole = column.cast(arrow.timestamp("us", getattr(column.type, "tz", None)), safe=False)
        return arrow.compute.divide(whole.cast(arrow.int64()).cast(arrow.float64()), 1e6)
    except (arrow.ArrowInvalid, arrow.ArrowNotImplementedError) as error:
        raise source.error(f"column {literal(name)!r} cannot be read as {kind}: {literal(error)}") from None
