"""A whole table for training: columns of numbers and of texts, and the target.

Types are guessed from the beginning and held to: a cell that does not fit is an error with its line, not a new type.
"""

import csv
import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from electorate.shown import literal
from electorate.tables.source import Source, TableError, pyarrow, read_header

MOSTLY = 0.95  # a column of so many numbers is one of numbers, and the other cells are mistakes
LONGEST_FIELD = 2**27


def read_table(source: Source, target: str) -> tuple[Any, NDArray[Any]]:
    """The columns without the target, as a pyarrow table, and the target's values."""
    columns, labels, _ = read_weighted_table(source, target, None)
    return columns, labels


def read_weighted_table(
    source: Source, target: str, weights: str | None
) -> tuple[Any, NDArray[Any], NDArray[np.float64] | None]:
    """As read_table; and the column of weights, which is none of the columns to learn from."""
    table = _read_text(source) if source.is_text else _read_binary(source)
    if table.num_rows == 0:
        raise source.error("the table has no rows")
    source.find(target, table.column_names)
    labels = _labels(source, table.column(target), target)
    taken = [target] if weights is None else [target, weights]
    weight = None if weights is None else _weights(source, table, target, weights)
    rest = table.drop_columns([*taken, *(name for name in source.drop if name not in taken)])
    if rest.num_columns == 0:
        raise source.error("there is no column beside the target" + ("" if weights is None else " and the weights"))
    return rest, labels, weight


@contextmanager
def by_line(source: Source, table: Any, before: int = 0) -> Iterator[None]:
    """What does not want an infinite number of the table may say so: here it is told by its line.

    before: rows of the source that came earlier.
    """
    try:
        yield
    except ValueError:
        _refuse_infinite(source, table, before)
        raise


def _refuse_infinite(source: Source, table: Any, before: int) -> None:
    arrow = pyarrow()
    import pyarrow.compute as pc

    for name in table.column_names:
        if not arrow.types.is_floating(table.column(name).type):
            continue
        row = pc.index(pc.fill_null(pc.is_inf(table.column(name)), False), True).as_py()
        if row >= 0:
            where, line = _where(source, before + row)
            raise source.error(
                f"column {literal(name)!r}{where} is infinite, or too large: give a finite number, or nothing where "
                "it is not known",
                line,
            )


def _read_binary(source: Source) -> Any:
    arrow = pyarrow()

    try:
        data = io.BytesIO(source.open().read())
        read = pyarrow_reader(source, data)
        source.check_names([str(name) for name in read.column_names])
    except (arrow.ArrowInvalid, arrow.ArrowIOError) as error:
        raise source.error(f"this is no {source.kind} table: {literal(error)}") from None
    for name, kind in source.types.items():
        wanted = arrow.float64() if kind == "number" else arrow.string()
        try:
            read = read.set_column(read.column_names.index(name), name, read.column(name).cast(wanted))
        except arrow.ArrowInvalid as error:
            raise source.error(f"column {literal(name)!r} cannot be read as {kind}: {literal(error)}") from None
    return read


def pyarrow_reader(source: Source, data: Any) -> Any:
    arrow = pyarrow()

    if source.kind == "parquet":
        from pyarrow import parquet

        return parquet.read_table(data)
    try:
        return arrow.ipc.open_file(data).read_all()
    except arrow.ArrowInvalid:
        data.seek(0)
        return arrow.ipc.open_stream(data).read_all()


# ---------------------------------------------------------------- text


def _read_text(source: Source) -> Any:
    data = _all_bytes(source)
    names, _ = read_header(source, io.BytesIO(data))
    kinds = {name: source.types.get(name) or kind for name, kind in _guess(source, data, names).items()}
    table = parse(source, data, kinds)
    for place, name in enumerate(names):
        if kinds[name] == "unknown":
            table = table.set_column(place, name, _settle(source, table.column(name), name, data))
    return table


def _all_bytes(source: Source) -> bytes:
    try:
        return bytes(source.open().read())
    except (OSError, EOFError) as error:
        if isinstance(error, FileNotFoundError | PermissionError):
            raise
        raise source.error(f"it cannot be unpacked: {literal(error)}") from None


def _guess(source: Source, data: bytes, names: list[str]) -> dict[str, str]:
    """By the first block: numbers, or unknown, which is settled when the whole column has been read."""
    arrow = pyarrow()
    from pyarrow import csv as arrow_csv

    whole = data if len(data) < 2**20 else data[: data.rfind(b"\n", 0, 2**20) + 1]
    try:
        start = arrow_csv.read_csv(
            io.BytesIO(whole),
            arrow_csv.ReadOptions(use_threads=False, block_size=max(2**20, len(whole) + 1)),
            arrow_csv.ParseOptions(delimiter=source.delimiter, newlines_in_values=True),
            arrow_csv.ConvertOptions(null_values=list(source.missing), strings_can_be_null=True),
        )
    except arrow.ArrowInvalid:
        return dict.fromkeys(names, "unknown")  # the reading of all of it will find the line
    types = dict(zip(start.column_names, start.schema.types, strict=True))
    numeric = {n for n, t in types.items() if arrow.types.is_integer(t) or arrow.types.is_floating(t)}
    return {name: "number" if name in numeric else "unknown" for name in names}


def parse(source: Source, data: bytes, kinds: dict[str, str]) -> Any:
    """The text as columns: float64 for numbers, strings for the rest; errors name the line."""
    arrow = pyarrow()
    from pyarrow import csv as arrow_csv

    types = {name: arrow.float64() if kind == "number" else arrow.string() for name, kind in kinds.items()}
    try:
        return arrow_csv.read_csv(
            io.BytesIO(data),
            arrow_csv.ReadOptions(block_size=max(2**20, 4 * data.find(b"\n"))),
            arrow_csv.ParseOptions(delimiter=source.delimiter, newlines_in_values=b'"' in data),
            arrow_csv.ConvertOptions(column_types=types, null_values=list(source.missing), strings_can_be_null=True),
        )
    except (arrow.ArrowInvalid, arrow.ArrowNotImplementedError) as error:
        raise blame(source, io.BytesIO(data), kinds, error) from None


def _settle(source: Source, column: Any, name: str, data: bytes) -> Any:
    """A column of texts: numbers if all are; if nearly all are, the first that is none is a mistake."""
    if source.types.get(name) == "text" or column.null_count == len(column):
        return column
    import pyarrow.compute as pc

    is_number = pc.match_substring_regex(pc.utf8_trim_whitespace(column), NUMBER)
    share = pc.mean(pc.cast(is_number, "float64")).as_py()
    if share == 1.0:
        return pc.utf8_trim_whitespace(column).cast("float64")
    if share >= MOSTLY:
        row = np.flatnonzero(~is_number.fill_null(True).to_numpy(zero_copy_only=False))[0]
        raise _odd(source, name, column[int(row)].as_py(), line_of(source, io.BytesIO(data), int(row)))
    return column


NUMBER = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"


def _odd(source: Source, name: str, value: str, line: int | None) -> TableError:
    shown, column = literal(value, 40), literal(name, 60)
    return source.error(
        f"column {column!r} holds numbers, but here {shown!r}: correct it, or say --missing {shown!r} if it means "
        f"that nothing is known, or --type {column}=text",
        line,
    )


# ---------------------------------------------------------------- blame


def blame(source: Source, stream: Any, kinds: dict[str, str], error: Exception) -> TableError:
    """The error with the line it comes from, found by reading again, slowly."""
    names = list(kinds)
    numbers = [place for place, name in enumerate(names) if kinds[name] == "number"]
    csv.field_size_limit(LONGEST_FIELD)
    text = io.TextIOWrapper(stream, encoding="utf-8-sig", errors="strict", newline="")
    reader = csv.reader(text, delimiter=source.delimiter)
    line = 1
    try:
        next(reader)
        for row in reader:
            line = reader.line_num
            if not row:
                continue
            if len(row) != len(names):
                return source.error(f"{len(row)} cells, but the header has {len(names)} names", line)
            for place in numbers:
                if row[place] not in source.missing and not re.match(NUMBER, row[place].strip()):
                    return _odd(source, names[place], row[place], line)
    except UnicodeDecodeError:
        return source.error("this line, or one of the next, is not UTF-8: save the table as UTF-8", line + 1)
    except csv.Error as broken:
        return source.error(f"it cannot be read: {literal(broken)}", line + 1)
    return source.error(f"it cannot be read: {literal(error)}")


def line_of(source: Source, stream: Any, row: int) -> int | None:
    """The line in which a row ends: cells may hold line breaks."""
    csv.field_size_limit(LONGEST_FIELD)
    reader = csv.reader(
        io.TextIOWrapper(stream, encoding="utf-8-sig", errors="replace", newline=""), delimiter=source.delimiter
    )
    there = -1  # the header
    for cells in reader:
        there += bool(cells)
        if there == row + 1:
            return reader.line_num
    return None


# ---------------------------------------------------------------- the target and the weights


def _where(source: Source, row: int) -> tuple[str, int | None]:
    """A row in words, where its line is not known; and its line."""
    line = line_of(source, source.open(), row) if source.is_text and source.path != "-" else None
    return "" if line is not None else f" of row {row + 1}", line


def _weights(source: Source, table: Any, target: str, name: str) -> NDArray[np.float64]:
    """Numbers from 0 on, not all 0."""
    if source.find(name, table.column_names) == target:
        raise source.error(f"the column {literal(name)!r} cannot be both target and weights")
    arrow = pyarrow()
    column = table.column(name)
    if not (arrow.types.is_integer(column.type) or arrow.types.is_floating(column.type)):
        raise source.error(f"the column {literal(name)!r} holds no numbers: weights are numbers from 0 on")
    weight = np.asarray(column.cast("float64").to_numpy(), dtype=np.float64)
    bad = np.flatnonzero(~(weight >= 0) | np.isinf(weight))  # what is missing is NaN
    if bad.size:
        where, line = _where(source, int(bad[0]))
        said = "missing" if np.isnan(weight[bad[0]]) else f"{weight[bad[0]]:g}"
        raise source.error(f"the weight {literal(name)!r}{where} is {said}: weights are numbers from 0 on", line)
    if not np.any(weight):
        raise source.error(f"all weights in {literal(name)!r} are 0")
    return weight


def _labels(source: Source, column: Any, name: str) -> NDArray[Any]:
    """As texts, or numbers; whole numbers as integers."""
    if column.null_count:
        row = int(np.flatnonzero(column.is_null().to_numpy(zero_copy_only=False))[0])
        where, line = _where(source, row)
        raise source.error(f"the target {literal(name)!r}{where} is empty: fill it in, or remove the row", line)
    values = np.asarray(column.to_numpy())
    if values.dtype.kind == "f" and np.all(values == np.rint(values)) and np.all(np.abs(values) < 2**53):
        return values.astype(np.int64)
    return np.asarray(values)
