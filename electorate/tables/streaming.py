"""A table for prediction, part by part: read, predicted and written in constant memory.

The model says which columns it wants and which of them are numbers; nothing is guessed.
"""

import io
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from electorate.shown import literal
from electorate.tables.blocks import blocks
from electorate.tables.reading import blame
from electorate.tables.source import Source, pyarrow, read_header

ROWS_AT_ONCE = 65_536


@dataclass(frozen=True)
class Stream:
    """parts: to be read one after another; table: of a part, in any thread, its columns as a pyarrow table."""

    parts: Iterable[Any]
    table: Callable[[Any], Any]


def open_stream(source: Source, kinds: dict[str, str], keep: list[str]) -> Stream:
    """The columns of `kinds` ("number" or "text"), and those to keep as they are."""
    wanted = list(dict.fromkeys([*kinds, *keep]))
    return _of_text(source, kinds, wanted) if source.is_text else _of_binary(source, kinds, wanted)


def _of_text(source: Source, kinds: dict[str, str], wanted: list[str]) -> Stream:
    arrow = pyarrow()
    from pyarrow import csv as arrow_csv

    stream = source.open()
    names, rest = read_header(source, stream)
    for name in wanted:
        source.find(name, names)
    parse = arrow_csv.ParseOptions(delimiter=source.delimiter, newlines_in_values=True)
    convert = arrow_csv.ConvertOptions(
        column_types={name: _type(arrow, kinds.get(name)) for name in wanted},
        include_columns=wanted,
        null_values=list(source.missing),
        strings_can_be_null=True,
    )

    def table(block: memoryview) -> Any:
        read = arrow_csv.ReadOptions(use_threads=False, column_names=names, block_size=len(block) + 1)
        try:
            return arrow_csv.read_csv(arrow.BufferReader(block), read, parse, convert)
        except arrow.ArrowInvalid as error:
            raise _with_line(source, names, kinds, error) from None

    return Stream(blocks(source, rest, stream), table)


def _type(arrow: Any, kind: str | None) -> Any:
    """Texts to predict from as dictionaries: each is then looked up once in a part, not once in a row."""
    if kind == "number":
        return arrow.float64()
    return arrow.string() if kind is None else arrow.dictionary(arrow.int32(), arrow.string())


def _with_line(source: Source, names: list[str], kinds: dict[str, str], error: Exception) -> Exception:
    if source.path == "-":
        return source.error(f"it cannot be read: {literal(error)}")
    every = {name: kinds.get(name, "text") for name in names}
    opened = source.open()
    return blame(source, io.BytesIO(opened.read()) if not hasattr(opened, "peek") else opened, every, error)


def _of_binary(source: Source, kinds: dict[str, str], wanted: list[str]) -> Stream:
    arrow = pyarrow()

    def table(part: Any) -> Any:
        return _typed(source, arrow.Table.from_batches([part]).select(wanted), kinds)

    return Stream(_batches(source, wanted), table)


def _batches(source: Source, wanted: list[str]) -> Iterator[Any]:
    arrow = pyarrow()
    opened = io.BytesIO(source.open().read()) if source.path == "-" else source.path
    try:
        if source.kind == "parquet":
            from pyarrow import parquet

            file = parquet.ParquetFile(opened)
            names, parts = file.schema_arrow.names, file.iter_batches(ROWS_AT_ONCE, columns=wanted)
        else:
            reader = _arrow_reader(opened)
            names, parts = reader.schema.names, _arrow_batches(reader)
        for name in wanted:
            source.find(name, names)
        yield from parts
    except arrow.ArrowInvalid as error:
        raise source.error(f"this is no {source.kind} table: {literal(error)}") from None


def _arrow_reader(opened: Any) -> Any:
    arrow = pyarrow()
    file = arrow.memory_map(opened) if isinstance(opened, str) else opened
    try:
        return arrow.ipc.open_file(file)
    except arrow.ArrowInvalid:
        file.seek(0)
        return arrow.ipc.open_stream(file)


def _arrow_batches(reader: Any) -> Iterator[Any]:
    if not hasattr(reader, "num_record_batches"):
        yield from reader
        return
    for place in range(reader.num_record_batches):
        yield reader.get_batch(place)


def _typed(source: Source, table: Any, kinds: dict[str, str]) -> Any:
    arrow = pyarrow()
    for name, kind in kinds.items():
        column = table.column(name)
        if kind == "number" and not arrow.types.is_float64(column.type):
            try:
                column = column.cast(arrow.float64())
            except (arrow.ArrowInvalid, arrow.ArrowNotImplementedError) as error:
                message = f"column {literal(name)!r} was numbers when the model was fitted: {literal(error)}"
                raise source.error(message) from None
            table = table.set_column(table.column_names.index(name), name, column)
    return table


def kinds_of(model: Any, names: list[str]) -> dict[str, str]:
    """What a fitted model wants each column to be."""
    texts = {column for column, categories in model.bins_.categories.items() if categories.is_text}
    return {name: "text" if place in texts else "number" for place, name in enumerate(names)}


def names_of(model: Any) -> list[str]:
    names = getattr(model, "feature_names_in_", None)
    if names is None:
        raise ValueError("the model was fitted to columns without names: use it from Python")
    return [str(name) for name in np.asarray(names).tolist()]
