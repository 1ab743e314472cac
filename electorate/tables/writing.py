"""Predictions to a file or standard output, batch by batch; a file is replaced whole or not at all.

Texts that a spreadsheet would run as formulas get an apostrophe before them.
"""

import io
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import numpy as np

from electorate.exact import AnyArray
from electorate.tables.source import arrow, format_of
from electorate.text import FORMULA, NUMBER, cell, naming_full_disk, writing


@contextmanager
def open_writer(path: str, format: str = "") -> Iterator["Writer"]:
    """Open a writer to a file, or to standard output for "-". A path that is not writable raises before the work."""
    kind, is_packed = format or format_of(path), path.lower().endswith(".gz")
    name = "standard output" if path == "-" else path
    with naming_full_disk(name), nullcontext(sys.stdout.buffer) if path == "-" else writing(path) as file:
        writer = Writer(file, kind, is_packed)
        yield writer
        writer.close()
        file.flush()


class Writer:
    """Opened with the first batch, whose columns all others have."""

    def __init__(self, file: Any, kind: str, is_packed: bool) -> None:
        self.file, self.kind, self.is_packed = file, kind, is_packed
        self._sink: Any = None
        self._writer: Any = None

    def write(self, table: Any) -> None:
        table = _harmless(table) if self.kind in ("csv", "tsv") else _without_dictionaries(table)
        if self._writer is None:
            self._writer = self._open(table.schema)
        self._writer.write_table(table)

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()
            if self.is_packed:
                self._sink.close()

    def _open(self, schema: Any) -> Any:
        self._sink = arrow.PythonFile(_Sink(self.file), "w")
        if self.is_packed:
            self._sink = arrow.CompressedOutputStream(self._sink, "gzip")
        if self.kind == "parquet":
            return arrow.parquet.ParquetWriter(self._sink, schema)
        if self.kind == "arrow":
            make = arrow.ipc.new_stream if self.file is sys.stdout.buffer else arrow.ipc.new_file
            return make(self._sink, schema)
        options = arrow.csv.WriteOptions(delimiter="\t" if self.kind == "tsv" else ",")
        return arrow.csv.CSVWriter(self._sink, schema, write_options=options)


class _Sink(io.RawIOBase):
    """A file for pyarrow, which does not close it; it may be a pipe, which has no position."""

    def __init__(self, file: Any) -> None:
        self.file = file
        self.written = 0

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self.file.write(data)
        self.written += len(data)
        return len(data)

    def tell(self) -> int:
        return self.written


def _harmless(table: Any) -> Any:
    """The table with names and texts that no spreadsheet runs."""
    for place, field in enumerate(table.schema):
        column = table.column(place)
        if arrow.types.is_dictionary(field.type) and arrow.types.is_string(field.type.value_type):
            parts = [
                arrow.DictionaryArray.from_arrays(part.indices, texts(list(map(cell, part.dictionary.to_pylist()))))
                for part in column.chunks
            ]
            table = table.set_column(place, field, arrow.chunked_array(parts, field.type))
        elif arrow.types.is_string(field.type):
            match, join = arrow.compute.match_substring_regex, arrow.compute.binary_join_element_wise
            bad = arrow.compute.and_not(match(column, FORMULA), match(column, NUMBER))
            if arrow.compute.any(bad).as_py():
                table = table.set_column(place, field, arrow.compute.if_else(bad, join("'", column, ""), column))
    return table.rename_columns([cell(name) for name in table.column_names])


def _without_dictionaries(table: Any) -> Any:
    """The table with values in place of indices into a dictionary, which differs between batches."""
    for place, field in enumerate(table.schema):
        if arrow.types.is_dictionary(field.type):
            table = table.set_column(place, field.name, table.column(place).cast(field.type.value_type))
    return table


# ---------------------------------------------------------------- columns, without importing pandas as pyarrow does


def column(values: AnyArray) -> Any:
    """Return a pyarrow array of booleans, numbers or texts, none of them missing."""
    if values.dtype.kind in "OU":
        return texts(values.tolist())
    if values.dtype.kind == "b":
        return _from_buffers(arrow.bool_(), len(values), np.packbits(values, bitorder="little"))
    wide = values.astype({"i": np.int64, "u": np.uint64, "f": np.float64}[values.dtype.kind])
    return _from_buffers(arrow.from_numpy_dtype(wide.dtype), len(wide), wide)


def indices(values: Any) -> Any:
    """Return a pyarrow array of indices into a dictionary."""
    return _from_buffers(arrow.int32(), len(values), np.ascontiguousarray(values, dtype=np.int32))


def texts(values: list[str]) -> Any:
    encoded = [value.encode() for value in values]
    ends = np.cumsum([0, *map(len, encoded)]).astype(np.int32)
    return _from_buffers(arrow.string(), len(values), ends, b"".join(encoded))


def _from_buffers(kind: Any, length: int, *buffers: Any) -> Any:
    return arrow.Array.from_buffers(kind, length, [None, *map(arrow.py_buffer, buffers)])
