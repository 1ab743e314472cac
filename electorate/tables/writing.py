"""Predictions to a file or standard output, batch by batch; a file is there whole or not at all.

Texts that a spreadsheet would run as formulas get an apostrophe before them.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

from electorate.escape import FORMULA, NUMBER, cell
from electorate.safe_write import writing
from electorate.tables.columns import texts
from electorate.tables.source import format_of, pyarrow


@contextmanager
def open_writer(path: str, format: str = "") -> Iterator["Writer"]:
    """A writer to a file, or to standard output for "-". What cannot be written to raises before the work."""
    kind, is_packed = format or format_of(path), path.lower().endswith(".gz")
    with nullcontext(sys.stdout.buffer) if path == "-" else writing(path) as file:
        writer = Writer(file, kind, is_packed)
        yield writer
        writer.close()
        file.flush()


class Writer:
    """Opens with the first batch, whose columns all others have."""

    def __init__(self, file: Any, kind: str, is_packed: bool) -> None:
        self.file = file
        self.kind = kind
        self.is_packed = is_packed
        self._sink: Any = None
        self._writer: Any = None

    def write(self, table: Any) -> None:
        table = harmless(table) if self.kind in ("csv", "tsv") else spelled_out(table)
        if self._writer is None:
            self._open(table.schema)
        self._writer.write_table(table)

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()
            if self.is_packed:
                self._sink.close()

    def _open(self, schema: Any) -> None:
        arrow = pyarrow()
        from pyarrow import csv as arrow_csv

        self._sink = arrow.PythonFile(Sink(self.file), "w")
        if self.is_packed:
            self._sink = arrow.CompressedOutputStream(self._sink, "gzip")
        if self.kind == "parquet":
            from pyarrow import parquet

            self._writer = parquet.ParquetWriter(self._sink, schema)
        elif self.kind == "arrow":
            make = arrow.ipc.new_stream if self.file is sys.stdout.buffer else arrow.ipc.new_file
            self._writer = make(self._sink, schema)
        else:
            options = arrow_csv.WriteOptions(delimiter="\t" if self.kind == "tsv" else ",")
            self._writer = arrow_csv.CSVWriter(self._sink, schema, write_options=options)


class Sink:
    """A file for pyarrow: it may be a pipe, which has no position, and pyarrow does not close it."""

    closed = False

    def __init__(self, file: Any) -> None:
        self.file = file
        self.written = 0

    def write(self, data: Any) -> int:
        self.file.write(data)
        self.written += len(data)
        return len(data)

    def tell(self) -> int:
        return self.written

    def flush(self) -> None:
        self.file.flush()

    def close(self) -> None:
        pass


def harmless(table: Any) -> Any:
    """The table with names and texts that no spreadsheet runs."""
    arrow = pyarrow()
    for place, field in enumerate(table.schema):
        column = table.column(place)
        if arrow.types.is_dictionary(field.type) and arrow.types.is_string(field.type.value_type):
            parts = [_told_harmlessly(arrow, part) for part in column.chunks]
            table = table.set_column(place, field, arrow.chunked_array(parts, field.type))
        elif arrow.types.is_string(field.type):
            table = table.set_column(place, field, _harmless(column))
    return table.rename_columns([cell(name) for name in table.column_names])


def _told_harmlessly(arrow: Any, part: Any) -> Any:
    told = [cell(text) for text in part.dictionary.to_pylist()]
    return arrow.DictionaryArray.from_arrays(part.indices, texts(told))


def _harmless(column: Any) -> Any:
    import pyarrow.compute as pc

    bad = pc.and_not(pc.match_substring_regex(column, FORMULA), pc.match_substring_regex(column, NUMBER))
    if not pc.any(bad).as_py():
        return column
    return pc.if_else(bad, pc.binary_join_element_wise("'", column, ""), column)


def spelled_out(table: Any) -> Any:
    """The table with values in place of numbers into a dictionary: a reader need not know how they were made."""
    arrow = pyarrow()
    for place, field in enumerate(table.schema):
        if arrow.types.is_dictionary(field.type):
            table = table.set_column(place, field.name, table.column(place).cast(field.type.value_type))
    return table
