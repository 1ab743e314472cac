"""A whole table for training: columns of numbers and of texts, the target, and weights.

Types are guessed from the beginning and held to: a cell that does not fit is an error with its line, not a new type.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from electorate.escape import literal
from electorate.tables import binary
from electorate.tables.blocks import TextBlock, numbered_blocks
from electorate.tables.header import read_header
from electorate.tables.in_order import in_order
from electorate.tables.memory import MemoryWatch
from electorate.tables.source import Source, list_names, pyarrow
from electorate.tables.text import AS_TEXT, Lines, Parser, has_row_per_line, not_a_number

MOSTLY = 0.95  # a column of so many numbers is one of numbers, and the other cells are mistakes
GUESSED = 2**20  # bytes by which types are guessed


@dataclass(frozen=True)
class TableRequest:
    """What to read. only: no other columns than these; skip: leave out rows without a target."""

    target: str
    weights: str | None = None
    only: list[str] | None = None
    skip_missing_target: bool = False


@dataclass(frozen=True)
class RowLocator:
    """Finds rows of what was read in the table: by their lines where there are lines, else by their numbers."""

    source: Source
    lines: Lines | None
    rows: NDArray[np.int64] | None = None  # the place of each row in the table, where some were left out

    def __call__(self, row: int) -> tuple[str, int | None]:
        """A row in words, where its line is not known; and its line."""
        place = row if self.rows is None else int(self.rows[row])
        line = None if self.lines is None else self.lines.line(place)
        return "" if line is not None else f" of row {place + 1}", line


@dataclass(frozen=True)
class TrainingTable:
    """X: a pyarrow table, or an array. y: texts or numbers. weight: of the rows, or None.

    n_skipped: rows that were left out because they have no target.
    """

    X: Any
    y: NDArray[Any]
    weight: NDArray[np.float64] | None
    where: RowLocator
    n_skipped: int = 0

    @contextmanager
    def by_line(self) -> Iterator[None]:
        """An error about an infinite number is told by its line."""
        try:
            yield
        except ValueError:
            if not isinstance(self.X, np.ndarray):
                refuse_infinite(self.where.source, self.X, self.where)
            raise


def read_table(source: Source, target: str) -> tuple[Any, NDArray[Any]]:
    """The columns without the target, as a pyarrow table, and the target's values."""
    found = read_training(source, TableRequest(target))
    return found.X, found.y


def read_training(source: Source, wanted: TableRequest) -> TrainingTable:
    table, lines = _read_text(source, wanted) if source.is_text else (_read_binary(source, wanted), None)
    if table.num_rows == 0:
        raise source.error("the table has no rows")
    where = RowLocator(source, lines)
    n_rows = table.num_rows
    if wanted.skip_missing_target and table.column(wanted.target).null_count:
        table, where = _with_target(table, where, wanted.target)
    labels = _labels(source, table.column(wanted.target), wanted.target, where)
    taken = [wanted.target] if wanted.weights is None else [wanted.target, wanted.weights]
    weight = None if wanted.weights is None else _weights(source, table, wanted, where)
    rest = table.drop_columns(taken)
    if rest.num_columns == 0:
        raise source.error(
            "there is no column beside the target" + ("" if wanted.weights is None else " and the weights")
        )
    return TrainingTable(rest, labels, weight, where, n_rows - table.num_rows)


def _with_target(table: Any, where: RowLocator, target: str) -> tuple[Any, RowLocator]:
    """The rows whose target is there."""
    there = table.column(target).is_valid()
    rows = np.flatnonzero(there.to_numpy()).astype(np.int64)
    if not len(rows):
        raise where.source.error(f"the target {literal(target)!r} is missing in every row")
    return table.filter(there), RowLocator(where.source, where.lines, rows)


def column_names(source: Source) -> list[str]:
    """The columns of a table, without reading its rows."""
    if source.is_text:
        return read_header(source, source.open()).names
    return [str(name) for name in binary.open_binary(source).schema.names]


def refuse_no_target(source: Source) -> None:
    raise source.error(
        f"which column is to be predicted? Add --target COLUMN. The columns are {list_names(column_names(source))}"
    )


def _places(source: Source, names: list[str], wanted: TableRequest) -> list[int]:
    """The places of the columns to read."""
    extra = [wanted.target] if wanted.weights is None else [wanted.target, wanted.weights]
    source.find_all(extra, names)
    if wanted.weights == wanted.target:
        raise source.error(f"the column {literal(wanted.target)!r} cannot be both target and weights")
    if wanted.only is not None:
        return source.places(list(dict.fromkeys([*wanted.only, *extra])), names)
    places = source.kept(names)
    kept = {names[place] for place in places}
    dropped = [name for name in extra if name not in kept]
    if dropped:
        raise source.error(f"the column {literal(dropped[0])!r} cannot be both dropped and used")
    return places


def refuse_infinite(source: Source, table: Any, where: Callable[[int], tuple[str, int | None]]) -> None:
    arrow = pyarrow()
    import pyarrow.compute as pc

    for name, column in zip(table.column_names, table.columns, strict=True):
        if not arrow.types.is_floating(column.type):
            continue
        row = pc.index(pc.fill_null(pc.is_inf(column), False), True).as_py()
        if row >= 0:
            place, line = where(row)
            raise source.error(
                f"column {literal(name)!r}{place} is infinite, or too large: give a finite number, or nothing where "
                "it is not known",
                line,
            )


# ---------------------------------------------------------------- Parquet and Arrow


def _read_binary(source: Source, wanted: TableRequest) -> Any:
    arrow = pyarrow()
    opened = binary.open_binary(source)
    places = _places(source, [str(name) for name in opened.schema.names], wanted)
    fields = [opened.schema.field(place) for place in places]
    names = [str(field.name) for field in fields]
    binary.refuse_unusable(source, [field for field in fields if field.name not in source.types])
    watch = MemoryWatch(source)
    watch.expect(opened.n_bytes)
    batches = []
    for batch in opened.batches(places):
        watch.add(batch)
        batches.append(batch)
    table = arrow.Table.from_batches(batches, arrow.schema(fields))
    columns = [
        binary.cast(source, column, name, source.types[name]) if name in source.types else column
        for name, column in zip(names, table.columns, strict=True)
    ]
    return arrow.Table.from_arrays(columns, names)


# ---------------------------------------------------------------- text


def _read_text(source: Source, wanted: TableRequest) -> tuple[Any, Lines]:
    arrow = pyarrow()
    stream = source.open()
    header = read_header(source, stream)
    places = _places(source, header.names, wanted)
    blocks = numbered_blocks(source, header, stream)
    first = next(blocks, None)
    if first is None:
        raise source.error("the table has no rows")
    kinds = _guess(source, header.names, places, first)
    parser = Parser.of_places(source, header.names, {place: _read_as(kinds[place]) for place in places}, AS_TEXT)

    def parsed(block: TextBlock) -> tuple[Any, int, bool]:
        table = parser.table(block)
        return table, block.line, has_row_per_line(block, table.num_rows)

    lines, watch = Lines(source), MemoryWatch(source, stream)
    tables = []
    for table, line, is_plain in in_order(parsed, chain([first], blocks)):
        watch.add(table)
        lines.add(line, table.num_rows, is_plain)
        tables.append(table)
    table = arrow.concat_tables(tables)
    unknown = {header.names[place] for place in places if kinds[place] == "unknown"}
    columns = [
        _settle(source, column, name, lines) if name in unknown else column
        for name, column in zip(table.column_names, table.columns, strict=True)
    ]
    return arrow.Table.from_arrays(columns, table.column_names), lines


def _read_as(kind: str) -> str:
    return "number" if kind == "number" else "text"


def _guess(source: Source, names: list[str], places: list[int], block: TextBlock) -> dict[int, str]:
    """By the first rows: numbers, or unknown, which is settled when the whole column has been read."""
    arrow = pyarrow()
    given = {place: source.types[names[place]] for place in places if names[place] in source.types}
    text = bytes(block.text[: GUESSED + 1])
    start = block.text if len(text) <= GUESSED else memoryview(text[: text.rfind(b"\n") + 1] or block.text)
    parser = Parser.of_places(source, names, dict.fromkeys(places, "guess"))
    try:
        types = parser.inferred(start)
    except arrow.ArrowInvalid:  # parsing all of it will find the line
        return {**dict.fromkeys(places, "unknown"), **given}
    numeric = [arrow.types.is_integer(kind) or arrow.types.is_floating(kind) for kind in types]
    return {**dict(zip(places, ("number" if is_it else "unknown" for is_it in numeric), strict=True)), **given}


def _settle(source: Source, column: Any, name: str, lines: Lines) -> Any:
    """A column of texts: numbers if all are; if nearly all are, the first that is none is a mistake."""
    if column.null_count == len(column):
        return column
    import pyarrow.compute as pc

    trimmed = pc.utf8_trim_whitespace(column)
    is_number = pc.match_substring_regex(trimmed, source.number)
    share = pc.mean(pc.cast(is_number, "float64")).as_py()
    if share == 1.0:
        return pc.replace_substring(trimmed, source.decimal, ".").cast("float64")
    if share >= MOSTLY:
        row = int(np.flatnonzero(~is_number.fill_null(True).to_numpy(zero_copy_only=False))[0])
        raise not_a_number(source, name, column[row].as_py(), lines.line(row))
    return column


# ---------------------------------------------------------------- the target and the weights


def _weights(source: Source, table: Any, wanted: TableRequest, where: RowLocator) -> NDArray[np.float64]:
    """Numbers from 0 on, not all 0."""
    arrow = pyarrow()
    name = wanted.weights
    column = table.column(name)
    if not (arrow.types.is_integer(column.type) or arrow.types.is_floating(column.type)):
        raise source.error(f"the column {literal(name)!r} holds no numbers: weights are numbers from 0 on")
    weight = np.asarray(column.cast("float64").to_numpy(), dtype=np.float64)
    bad = np.flatnonzero(~(weight >= 0) | np.isinf(weight))  # what is missing is NaN
    if bad.size:
        place, line = where(int(bad[0]))
        said = "missing" if np.isnan(weight[bad[0]]) else f"{weight[bad[0]]:g}"
        raise source.error(f"the weight {literal(name)!r}{place} is {said}: weights are numbers from 0 on", line)
    if not np.any(weight):
        raise source.error(f"all weights in {literal(name)!r} are 0")
    return weight


def _labels(source: Source, column: Any, name: str, where: RowLocator) -> NDArray[Any]:
    """As texts, or numbers; whole numbers as integers."""
    arrow = pyarrow()
    if column.null_count:
        row = int(np.flatnonzero(column.is_null().to_numpy())[0])
        place, line = where(row)
        raise source.error(
            f"the target {literal(name)!r}{place} is empty: fill it in, or leave out such rows with "
            "--skip-missing-target",
            line,
        )
    if arrow.types.is_decimal(column.type):
        column = column.cast(arrow.float64())
    if not is_plain_number(column.type):
        return _texts(column)
    values = np.asarray(column.to_numpy())
    if values.dtype.kind == "f" and np.all(values == np.rint(values)) and np.all(np.abs(values) < 2**53):
        return values.astype(np.int64)
    return values


def is_plain_number(kind: Any) -> bool:
    types = pyarrow().types
    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind))


def _texts(column: Any) -> NDArray[Any]:
    """Texts as objects, each distinct one held once."""
    arrow = pyarrow()
    if not arrow.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    column = column.unify_dictionaries()
    values = column.chunk(0).dictionary.to_numpy(zero_copy_only=False)
    codes = np.concatenate([chunk.indices.to_numpy(zero_copy_only=False) for chunk in column.chunks])
    return np.asarray(values[codes])
