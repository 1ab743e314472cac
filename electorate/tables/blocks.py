"""A text in blocks of whole rows, each of which can be read without the others.

A line may end inside a quoted cell: a block ends where as many quotes were opened as closed. A quote that stays open
for too long is taken for an inch.
"""

from collections.abc import Iterator
from typing import Any

from electorate.tables.source import BLOCK, Source

LONGEST_LINE = 2**26
LONGEST_CELL = 2**24  # in quotes, across lines


def blocks(source: Source, rest: bytes, stream: Any) -> Iterator[memoryview]:
    """What is left of a stream; `rest` was read of it before, and begins with a row."""
    while more := stream.read(BLOCK):
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
