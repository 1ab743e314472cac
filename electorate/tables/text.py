"""Text tables: the header, blocks of whole rows, and blocks parsed into columns of numbers, texts or categories.

Each block can be parsed without the others. A line may end inside a quoted cell, so a block ends where all quotes are
closed. A quote that stays open for too long is treated as a literal quote character. Errors name the line.
"""

import csv
import io
import re
from bisect import bisect_right
from collections.abc import Iterator
from itertools import islice
from typing import Any, NamedTuple

from electorate.data.factors import as_number
from electorate.exact import Ints
from electorate.tables.source import SEPARATORS, Source, TableError, arrow
from electorate.text import literal

LONGEST_HEADER = 64 * 2**20
MOST_COLUMNS = 2**21
MOST_HEADER_LINES = 100  # with line breaks in quoted names
BLOCK = 2**22
LONGEST_LINE = 2**26
LONGEST_CELL = 2**24  # in quotes, across lines
LONGEST_FIELD = 2**27
ROWS_OF_WIDE_TABLES = 64  # a block holds at least about this many: every column of a block costs a call


class TextBlock(NamedTuple):
    """Rows of a text, and the number of the line they begin in."""

    text: memoryview
    line: int

    def rows(self, source: Source) -> Iterator[tuple[int, list[str]]]:
        """Yield the rows that are not empty, each with the number of the line it ends in."""
        csv.field_size_limit(LONGEST_FIELD)
        text = io.StringIO(bytes(self.text).decode("utf-8", "replace"), newline="")
        reader = csv.reader(text, delimiter=source.delimiter)
        return ((self.line + reader.line_num - 1, row) for row in reader if row)

    def line_of(self, source: Source, row: int) -> int | None:
        """Return the line in which a row ends: cells may hold line breaks."""
        return next((line for line, _ in islice(self.rows(source), row, None)), None)

    def has_row_per_line(self, n_rows: int) -> bool:
        text = bytes(self.text)
        is_empty_line = text.startswith((b"\n", b"\r")) or b"\n\n" in text or b"\n\r" in text
        other_ends = text.count(b"\r") - text.count(b"\r\n")
        return not is_empty_line and not other_ends and text.rstrip(b"\n").count(b"\n") + 1 == n_rows


class TextTable:
    """A text table. names: of its columns, in the first line that is not empty."""

    def __init__(self, source: Source) -> None:
        self.source, self.stream = source, source.open()
        prefix, n_empty = self._first_lines()
        end = _end_of_header(prefix)
        first, line = prefix[:end], n_empty + 1
        if b"\r" in first[:-2] and b'"' not in first:
            raise source.error("lines end with a carriage return alone: save the table with usual line ends", line)
        if first.count(source.delimiter.encode()) >= MOST_COLUMNS:
            raise source.error(f"the header has more than {MOST_COLUMNS:,} columns", line)
        csv.field_size_limit(LONGEST_FIELD)
        try:
            text = first.decode("utf-8-sig").removesuffix("\n").removesuffix("\r")
            names = next(csv.reader(text.splitlines(keepends=True), delimiter=source.delimiter, strict=True))
        except UnicodeDecodeError as error:
            raise source.bad_byte(error, line) from None
        except (csv.Error, StopIteration):
            raise source.error("the header cannot be read: a quote is not closed, or it has no names", line) from None
        others = [sign for sign in SEPARATORS if sign != source.delimiter and len(names) == 1 and sign in names[0]]
        if others:
            sign = r"\t" if others[0] == "\t" else others[0]
            raise source.error(f"the header is one name; if its parts are columns, add --delimiter '{sign}'", line)
        if all(as_number(name) is not None for name in names):
            raise source.error("the first line holds numbers, not names: add a line with the columns' names", line)
        self.names, self._rest = names, prefix[end:]
        self._line, self._length = line + first.count(b"\n"), len(first)

    def _first_lines(self) -> tuple[bytes, int]:
        """Read to the end of the header or further; also return how many empty lines came before it."""
        prefix, n_empty = b"", 0
        while len(prefix) < LONGEST_HEADER:
            more = self.stream.read(2**20)
            if not prefix and more[:2] in (b"\xff\xfe", b"\xfe\xff"):
                raise self.source.error("this is UTF-16: add --encoding utf-16", 1)
            text = (prefix + more).removeprefix(b"\xef\xbb\xbf")
            start = len(text) - len(text.lstrip(b"\r\n"))
            n_empty += text.count(b"\n", 0, start)
            prefix = text[start:]
            if not more or _end_of_header(prefix) < len(prefix):
                break
        if not prefix.strip():
            raise self.source.error("the table is empty")
        return prefix, n_empty

    def blocks(self) -> Iterator[TextBlock]:
        """Yield the rows below the header."""
        rest, line, more = self._rest, self._line, b"begin"
        while more:
            more = self.stream.read(max(BLOCK, ROWS_OF_WIDE_TABLES * self._length))
            rest += more
            end = _end_of_rows(rest) if more else len(rest)
            if end:
                yield TextBlock(memoryview(rest)[:end], line)
                line += rest.count(b"\n", 0, end)
                rest = rest[end:]
            elif len(rest) > LONGEST_LINE:
                raise self.source.error(f"a row is longer than {LONGEST_LINE >> 20} MiB")


def _end_of_header(text: bytes) -> int:
    """The place after the first line end that is in no quoted name."""
    first = end = text.find(b"\n")
    for _ in range(MOST_HEADER_LINES):
        if end < 0 or text.count(b'"', 0, end) % 2 == 0:
            return len(text) if end < 0 else end + 1
        end = text.find(b"\n", end + 1)
    return first + 1


def _end_of_rows(text: bytes) -> int:
    """The place after the last line end that is in no quoted cell; 0 if there is none yet."""
    end = text.rfind(b"\n") + 1
    inside = text.count(b'"', 0, end) % 2
    while end and inside and len(text) <= LONGEST_CELL:
        before = text.rfind(b"\n", 0, end - 1) + 1
        inside ^= text.count(b'"', before, end) % 2
        end = before
    return end


class Parser:
    """Parses blocks. kinds: of the columns to read, by their place: "number", "text", "category" or "guess".

    A category is a text that is stored once per block, not once per row. hint: what else to do about a column of
    numbers that holds a text.
    """

    def __init__(self, source: Source, names: list[str], kinds: dict[int, str], hint: str = "") -> None:
        self.source, self.hint = source, hint
        # Columns that are not read may have any names, or none.
        self.names = [name if place in kinds else f"\0{place}" for place, name in enumerate(names)]
        self.kinds = {self.names[place]: kind for place, kind in kinds.items()}
        category = arrow.dictionary(arrow.int32(), arrow.string())
        types = {"number": arrow.float64(), "text": arrow.string(), "category": category}
        self._types = {name: types[kind] for name, kind in self.kinds.items() if kind in types}
        self._parsing = arrow.csv.ParseOptions(delimiter=source.delimiter, newlines_in_values=True)
        self._converting = arrow.csv.ConvertOptions(
            column_types=self._types,
            include_columns=list(self.kinds),
            null_values=list(source.missing),
            strings_can_be_null=True,
            decimal_point=source.decimal,
        )

    def parse(self, text: memoryview) -> Any:
        """Return the columns of a text as a pyarrow table."""
        reading = arrow.csv.ReadOptions(use_threads=False, column_names=self.names, block_size=len(text) + 1)
        return arrow.csv.read_csv(arrow.BufferReader(text), reading, self._parsing, self._converting)

    def table(self, block: TextBlock) -> Any:
        """Return the columns of a block; an error names the line."""
        if not bytes(block.text).strip():
            return arrow.table({name: arrow.array([], kind) for name, kind in self._types.items()})
        try:
            return self.parse(block.text)
        except (arrow.ArrowInvalid, arrow.ArrowNotImplementedError) as error:
            raise self._blame(block, error) from None

    def _blame(self, block: TextBlock, error: Exception) -> TableError:
        """Return the error with its line, found by reading the block again, slowly."""
        source, line = self.source, block.line
        try:
            bytes(block.text).decode()
        except UnicodeDecodeError as wrong:
            return source.bad_byte(wrong, line)
        numbers = [place for place, name in enumerate(self.names) if self.kinds.get(name) == "number"]
        is_number = re.compile(source.number)
        try:
            for line, row in block.rows(source):
                if len(row) != len(self.names):
                    return source.error(f"{len(row)} cells, but the header has {len(self.names)} names", line)
                for place in numbers:
                    if row[place] not in source.missing and not is_number.match(row[place].strip()):
                        return source.error(not_a_number(source, self.names[place], row[place], self.hint), line)
        except csv.Error as broken:
            return source.error(f"this row cannot be read: {literal(broken)}", line + 1)
        return source.error(f"the rows from line {block.line} on cannot be read: {literal(error)}")


AS_TEXT = ", or read it as text with --type {column}=text"


def not_a_number(source: Source, name: str, value: str, hint: str = AS_TEXT) -> str:
    """Return the message for a text in a column of numbers."""
    found, column, comma = literal(value, 40), literal(name, 60), ""
    if source.decimal == "." and re.match(r"^[+-]?[0-9]+,[0-9]+$", value.strip()):
        comma = "add --decimal , if a comma begins the fraction; else "
    todo = f"{comma}correct it, or add --missing {found!r} if it means a missing value{hint.format(column=column)}"
    return f"column {column!r} holds numbers, but here {found!r}: {todo}"


class BlockLocator:
    """Finds the lines of the rows of one block."""

    def __init__(self, source: Source, block: TextBlock, n_rows: int) -> None:
        self.source, self.block, self.n_rows = source, block, n_rows

    def error(self, message: str, row: int) -> TableError:
        """Return an error that names a row by its line."""
        plain = self.block.has_row_per_line(self.n_rows)
        line = self.block.line + row if plain else self.block.line_of(self.source, row)
        return self.source.error(message, line, row)


class RowLocator:
    """Finds the lines of the rows of a text that was read block by block, without storing the text.

    rows: the place of each row in the table, if some were left out. Rows of other formats have numbers only.
    """

    rows: Ints | None = None

    def __init__(self, source: Source) -> None:
        self.source = source
        self._blocks: list[tuple[int, int, bool]] = []  # first row, first line, whether each row is one line
        self._n_rows = 0

    def add(self, line: int, n_rows: int, is_plain: bool) -> None:
        self._blocks.append((self._n_rows, line, is_plain))
        self._n_rows += n_rows

    def error(self, message: str, row: int) -> TableError:
        """Return an error that names a row by its line if that is known, else by its number."""
        place = row if self.rows is None else int(self.rows[row])
        return self.source.error(message, self._line(place), place)

    def _line(self, row: int) -> int | None:
        """The line of a row; None if a row has line breaks, and the text cannot be read again."""
        at = bisect_right(self._blocks, row, key=lambda block: block[0]) - 1
        if at < 0:
            return None
        first, line, is_plain = self._blocks[at]
        if is_plain:
            return line + row - first
        if not self.source.is_file:
            return None
        blocks = islice(TextTable(self.source).blocks(), at, None)
        return next((block.line_of(self.source, row - first) for block in blocks), None)
