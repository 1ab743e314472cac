"""A text in blocks of whole rows, each of which can be parsed without the others.

A line may end inside a quoted cell: a block ends where as many quotes were opened as closed. A quote that stays open
for too long is taken for an inch.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

from electorate.tables.header import Header
from electorate.tables.source import Source

BLOCK = 2**22
LONGEST_LINE = 2**26
LONGEST_CELL = 2**24  # in quotes, across lines
ROWS_OF_WIDE_TABLES = 64  # a block holds about so many at least: every column of a block costs a call


class TextBlock(NamedTuple):
    """Rows of a text, and the number of the line they begin in."""

    text: memoryview
    line: int


def numbered_blocks(source: Source, header: Header, stream: Any) -> Iterator[TextBlock]:
    """The rows below a header."""
    line = header.line
    for text in blocks(source, header.rest, stream, max(BLOCK, ROWS_OF_WIDE_TABLES * header.length)):
        yield TextBlock(text, line)
        line += bytes(text).count(b"\n")


def blocks(source: Source, rest: bytes, stream: Any, size: int | None = None) -> Iterator[memoryview]:
    """What is left of a stream; `rest` was read of it before, and begins with a row."""
    while more := stream.read(size or BLOCK):
        rest += more
        end = _end_of_rows(rest)
        if end:
            yield memoryview(rest)[:end]
            rest = rest[end:]
        elif len(rest) > LONGEST_LINE:
            raise source.error(f"a row is longer than {LONGEST_LINE >> 20} MiB")
    if rest:
        yield memoryview(rest)


def _end_of_rows(text: bytes) -> int:
    """Behind the last line end that is in no quoted cell; 0 if there is none yet."""
    end = text.rfind(b"\n") + 1
    inside = text.count(b'"', 0, end) % 2
    while end and inside and len(text) <= LONGEST_CELL:
        before = text.rfind(b"\n", 0, end - 1) + 1
        inside ^= text.count(b'"', before, end) % 2
        end = before
    return end
