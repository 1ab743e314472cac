"""Predictions to a file or standard output, batch by batch; a file is there whole or not at all.

Texts that a spreadsheet would run as formulas get an apostrophe before them.
"""

import os
import sys
from types import TracebackType
from typing import Any

from electorate.shown import cell
from electorate.tables.columns import texts
from electorate.tables.source import format_of, pyarrow

FORMULA = r"^[=+\-@\t\r](?s:.)"
NUMBER = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"


class Writer:
    """Opens with the first batch, whose columns all others have."""

    def __init__(self, path: str, format: str = "") -> None:
        self.path = path
        self.kind = format or format_of(path)
        self.is_packed = path.lower().endswith(".gz")
        self._passing = None if path == "-" else f"{path}.{os.getpid()}.tmp"
        self._sink: Any = None
        self._writer: Any = None

    def write(self, table: Any) -> None:
        table = harmless(table) if self.kind in ("csv", "tsv") else spelled_out(table)
        if self._writer is None:
            self._open(table.schema)
        self._writer.write_table(table)

    def _open(self, schema: Any) -> None:
        arrow = pyarrow()
        from pyarrow import csv as arrow_csv

        self._sink = arrow.PythonFile(sys.stdout.buffer, "w") if self._passing is None else self._file()
        if self.kind == "parquet":
            from pyarrow import parquet

            self._writer = parquet.ParquetWriter(self._sink, schema)
        elif self.kind == "arrow":
            make = arrow.ipc.new_stream if self._passing is None else arrow.ipc.new_file
            self._writer = make(self._sink, schema)
        else:
            options = arrow_csv.WriteOptions(delimiter="\t" if self.kind == "tsv" else ",")
            self._writer = arrow_csv.CSVWriter(self._sink, schema, write_options=options)

    def _file(self) -> Any:
        arrow = pyarrow()
        assert self._passing is not None
        sink = arrow.OSFile(self._passing, "wb")
        return arrow.CompressedOutputStream(sink, "gzip") if self.is_packed else sink

    def __enter__(self) -> "Writer":
        if self._passing is not None:  # what cannot be written is better known before the work
            with open(self._passing, "wb"):
                pass
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if self._writer is not None and kind is None:
                self._writer.close()
            if self._passing is not None and self._sink is not None:
                self._sink.close()
            if self._passing is not None and kind is None:
                os.replace(self._passing, self.path)
            elif self._passing is None and kind is None:
                sys.stdout.flush()
        finally:
            if self._passing is not None and os.path.exists(self._passing):
                os.remove(self._passing)


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
