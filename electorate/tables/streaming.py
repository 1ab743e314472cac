"""A table for prediction, part by part: read, predicted and written in constant memory.

The model says which columns it wants and which of them are numbers; nothing is guessed.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from electorate.escape import literal
from electorate.tables import binary
from electorate.tables.blocks import TextBlock, numbered_blocks
from electorate.tables.header import read_header
from electorate.tables.source import Source, TableError, pyarrow
from electorate.tables.text import Parser, line_in


@dataclass(frozen=True)
class Stream:
    """parts: to be read one after another; table: of a part, in any thread, its columns as a pyarrow table.

    line: of a row of a part, where there are lines.
    """

    parts: Iterable[Any]
    table: Callable[[Any], Any]
    line: Callable[[Any, int], int | None]


def open_stream(source: Source, kinds: dict[str, str], keep: list[str]) -> Stream:
    """The columns of `kinds` ("number" or "text"), and those to keep as they are."""
    wanted = list(dict.fromkeys([*kinds, *keep]))
    return _of_text(source, kinds, wanted) if source.is_text else _of_binary(source, kinds, wanted)


def _of_text(source: Source, kinds: dict[str, str], wanted: list[str]) -> Stream:
    stream = source.open()
    header = read_header(source, stream)
    read_as = {"number": "number", "text": "category", None: "text"}
    places = source.places(wanted, header.names)
    parser = Parser.of_places(
        source, header.names, {place: read_as[kinds.get(name)] for place, name in zip(places, wanted, strict=True)}
    )

    def line(block: TextBlock, row: int) -> int | None:
        return line_in(source, block, row)

    return Stream(numbered_blocks(source, header, stream), parser.table, line)


def _of_binary(source: Source, kinds: dict[str, str], wanted: list[str]) -> Stream:
    opened = binary.open_binary(source)
    places = source.places(wanted, [str(name) for name in opened.schema.names])

    def table(part: Any) -> Any:
        columns = [
            _typed(source, column, name, kinds.get(name)) for name, column in zip(wanted, part.columns, strict=True)
        ]
        return pyarrow().Table.from_arrays(columns, wanted)

    return Stream(opened.batches(places), table, lambda part, row: None)


def _typed(source: Source, column: Any, name: str, kind: str | None) -> Any:
    """Numbers as float64; texts as they are, unless they are dates."""
    types = pyarrow().types
    if kind == "number" and not types.is_float64(column.type):
        try:
            return binary.cast(source, column, name, kind)
        except TableError as error:
            raise TableError(f"{error}; it was numbers when the model was fitted") from None
    if kind == "text" and types.is_temporal(column.type):
        return binary.cast(source, column, name, kind)
    if kind is not None and not binary.is_usable(column.type):
        raise source.error(f"column {literal(name)!r} holds {literal(column.type)}, neither numbers nor texts")
    return column


def kinds_of(model: Any, names: list[str]) -> dict[str, str]:
    """What a fitted model wants each column to be."""
    texts = {column for column, categories in model.bins_.categories.items() if categories.is_text}
    return {name: "text" if place in texts else "number" for place, name in enumerate(names)}


def names_of(model: Any) -> list[str]:
    names = getattr(model, "feature_names_in_", None)
    if names is None:
        raise ValueError("the model was fitted to columns without names: use it from Python")
    return [str(name) for name in np.asarray(names).tolist()]
