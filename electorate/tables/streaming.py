"""A table for prediction, in batches: read, predicted and written one after another, in constant memory.

The model says which columns it wants and which of them are numbers; nothing is guessed.
"""

import io
from collections.abc import Iterator
from typing import Any

import numpy as np

from electorate.shown import literal
from electorate.tables.ahead import ahead
from electorate.tables.reading import blame
from electorate.tables.source import BLOCK, Source, pyarrow, read_header

ROWS_AT_ONCE = 65_536


def batches(source: Source, kinds: dict[str, str], keep: list[str]) -> Iterator[Any]:
    """Parts of a table with the columns of `kinds` ("number" or "text") and those to keep, as they are."""
    return ahead(_of_text(source, kinds, keep) if source.is_text else _of_binary(source, kinds, keep))


def _of_text(source: Source, kinds: dict[str, str], keep: list[str]) -> Iterator[Any]:
    arrow = pyarrow()
    from pyarrow import csv as arrow_csv

    names, stream = read_header(source, source.open())
    wanted = list(dict.fromkeys([*kinds, *keep]))
    for name in wanted:
        source.find(name, names)
    types = {name: arrow.float64() if kinds.get(name) == "number" else arrow.string() for name in wanted}
    convert = arrow_csv.ConvertOptions(
        column_types=types, include_columns=wanted, null_values=list(source.missing), strings_can_be_null=True
    )
    block = max(BLOCK, 4 * sum(len(name) + 20 for name in names))
    try:
        reader = arrow_csv.open_csv(
            stream,
            arrow_csv.ReadOptions(block_size=block),
            arrow_csv.ParseOptions(delimiter=source.delimiter),
            convert,
        )
        for batch in reader:
            if batch.num_rows:
                yield arrow.Table.from_batches([batch])
    except arrow.ArrowInvalid as error:
        raise _with_line(source, names, kinds, error) from None


def _with_line(source: Source, names: list[str], kinds: dict[str, str], error: Exception) -> Exception:
    if source.path == "-":
        return source.error(f"it cannot be read: {literal(error)}")
    every = {name: kinds.get(name, "text") for name in names}
    opened = source.open()
    return blame(source, io.BytesIO(opened.read()) if not hasattr(opened, "peek") else opened, every, error)


def _of_binary(source: Source, kinds: dict[str, str], keep: list[str]) -> Iterator[Any]:
    arrow = pyarrow()

    wanted = list(dict.fromkeys([*kinds, *keep]))
    opened = io.BytesIO(source.open().read()) if source.path == "-" else source.path
    try:
        if source.kind == "parquet":
            file = arrow.parquet.ParquetFile(opened)
            names, parts = file.schema_arrow.names, file.iter_batches(ROWS_AT_ONCE, columns=wanted)
        else:
            reader = _arrow_reader(opened)
            names, parts = reader.schema.names, _arrow_batches(reader)
        for name in wanted:
            source.find(name, names)
        for part in parts:
            if part.num_rows:
                yield _typed(source, arrow.Table.from_batches([part]).select(wanted), kinds)
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
