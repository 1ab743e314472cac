"""Blocks of a text as columns: numbers, texts, or categories; and the line of a cell that cannot be read."""

import csv
import io
import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from electorate.escape import literal
from electorate.tables.blocks import TextBlock, numbered_blocks
from electorate.tables.header import read_header
from electorate.tables.source import Source, TableError, pyarrow

LONGEST_FIELD = 2**27


@dataclass(frozen=True)
class Parser:
    """names: of all columns, in their order. kinds: of those to read, by the name under which they are read.

    "number", "text", "category" (a text that is looked up once in a block, not once in a row) or "guess".
    """

    source: Source
    names: list[str]
    kinds: dict[str, str] = field(default_factory=dict)
    hint: str = ""  # what else can be done about a column of numbers that holds a text

    @classmethod
    def of_places(cls, source: Source, names: list[str], kinds: dict[int, str], hint: str = "") -> "Parser":
        """A parser of the columns at these places; the others may have any names, or none."""
        own = [name if place in kinds else f"\0{place}" for place, name in enumerate(names)]
        return cls(source, own, {own[place]: kind for place, kind in kinds.items()}, hint)

    @cached_property
    def _types(self) -> dict[str, Any]:
        arrow = pyarrow()
        category = arrow.dictionary(arrow.int32(), arrow.string())
        return {"number": arrow.float64(), "text": arrow.string(), "category": category}

    @cached_property
    def _options(self) -> tuple[Any, Any]:
        from pyarrow import csv as arrow_csv

        parse = arrow_csv.ParseOptions(delimiter=self.source.delimiter, newlines_in_values=True)
        convert = arrow_csv.ConvertOptions(
            column_types={name: self._types[kind] for name, kind in self.kinds.items() if kind in self._types},
            include_columns=list(self.kinds),
            null_values=list(self.source.missing),
            strings_can_be_null=True,
            decimal_point=self.source.decimal,
        )
        return parse, convert

    def _parsed(self, text: memoryview) -> Any:
        from pyarrow import csv as arrow_csv

        read = arrow_csv.ReadOptions(use_threads=False, column_names=self.names, block_size=len(text) + 1)
        return arrow_csv.read_csv(pyarrow().BufferReader(text), read, *self._options)

    def inferred(self, text: memoryview) -> list[Any]:
        """The types that pyarrow finds."""
        return list(self._parsed(text).schema.types)

    def table(self, block: TextBlock) -> Any:
        """The columns of a block; an error names the line."""
        arrow = pyarrow()
        if not bytes(block.text).strip():
            return arrow.table({name: arrow.array([], self._types[kind]) for name, kind in self.kinds.items()})
        try:
            return self._parsed(block.text)
        except (arrow.ArrowInvalid, arrow.ArrowNotImplementedError) as error:
            raise self._blame(block, error) from None

    def _blame(self, block: TextBlock, error: Exception) -> TableError:
        """The error with the line it comes from, found by reading the block again, slowly."""
        source = self.source
        try:
            bytes(block.text).decode()
        except UnicodeDecodeError as wrong:
            line = block.line + wrong.object[: wrong.start].count(b"\n")
            message = f"byte 0x{wrong.object[wrong.start]:02x} is not UTF-8: say the --encoding, for example latin-1"
            return source.error(message, line)
        numbers = [place for place, name in enumerate(self.names) if self.kinds.get(name) == "number"]
        is_number = re.compile(source.number)
        line = block.line
        try:
            for line, row in _rows(source, block):
                if len(row) != len(self.names):
                    return source.error(f"{len(row)} cells, but the header has {len(self.names)} names", line)
                for place in numbers:
                    if row[place] not in source.missing and not is_number.match(row[place].strip()):
                        return not_a_number(source, self.names[place], row[place], line, self.hint)
        except csv.Error as broken:
            return source.error(f"this row cannot be read: {literal(broken)}", line + 1)
        return source.error(f"the rows from line {block.line} on cannot be read: {literal(error)}")


AS_TEXT = ", or read it as text with --type {column}=text"


def not_a_number(source: Source, name: str, value: str, line: int | None, hint: str = AS_TEXT) -> TableError:
    shown, column = literal(value, 40), literal(name, 60)
    comma = ""
    if source.decimal == "." and re.match(r"^[+-]?[0-9]+,[0-9]+$", value.strip()):
        comma = "add --decimal , if a comma begins the fraction; else "
    return source.error(
        f"column {column!r} holds numbers, but here {shown!r}: {comma}correct it, or add --missing {shown!r} if it "
        f"means that nothing is known{hint.format(column=column)}",
        line,
    )


def _rows(source: Source, block: TextBlock) -> Iterator[tuple[int, list[str]]]:
    """The rows that are not empty, each with the number of the line it ends in."""
    csv.field_size_limit(LONGEST_FIELD)
    text = io.StringIO(bytes(block.text).decode("utf-8", "replace"), newline="")
    reader = csv.reader(text, delimiter=source.delimiter)
    for row in reader:
        if row:
            yield block.line + reader.line_num - 1, row


def line_in(source: Source, block: TextBlock, row: int) -> int | None:
    """The line in which a row of a block ends: cells may hold line breaks."""
    for place, (line, _) in enumerate(_rows(source, block)):
        if place == row:
            return line
    return None


def has_row_per_line(block: TextBlock, n_rows: int) -> bool:
    text = bytes(block.text)
    is_empty_line = text.startswith((b"\n", b"\r")) or b"\n\n" in text or b"\n\r" in text
    other_ends = text.count(b"\r") - text.count(b"\r\n")
    return not is_empty_line and not other_ends and text.rstrip(b"\n").count(b"\n") + 1 == n_rows


class Lines:
    """The lines of the rows of a text that was read block by block, found without keeping the text."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self._blocks: list[tuple[int, int, bool]] = []  # first row, first line, whether a row is a line
        self._n_rows = 0

    def add(self, line: int, n_rows: int, is_plain: bool) -> None:
        self._blocks.append((self._n_rows, line, is_plain))
        self._n_rows += n_rows

    def line(self, row: int) -> int | None:
        """None where it is not known: a row has line breaks, and the text cannot be read again."""
        at = bisect_right(self._blocks, row, key=lambda block: block[0]) - 1
        if at < 0:
            return None
        first, line, is_plain = self._blocks[at]
        if is_plain:
            return line + row - first
        if not self.source.is_file:
            return None
        stream = self.source.open()
        for i, block in enumerate(numbered_blocks(self.source, read_header(self.source, stream), stream)):
            if i == at:
                return line_in(self.source, block, row - first)
        return None
