"""The header of a text table: the names of its columns, in the first line that is not empty."""

import csv
from dataclasses import dataclass
from typing import Any

from electorate.tables.source import Source

OTHER_SEPARATORS = (";", "\t", "|", ",")
LONGEST = 64 * 2**20
MOST_COLUMNS = 2**21
MOST_LINES = 100  # of a header with line breaks in quoted names


@dataclass(frozen=True)
class Header:
    """names: as they are. rest: what else was read of the stream. line: the number of the line after the header."""

    names: list[str]
    rest: bytes
    line: int
    length: int


def read_header(source: Source, stream: Any) -> Header:
    prefix, n_empty = _first_lines(source, stream)
    end = _end(prefix)
    first, rest = prefix[:end], prefix[end:]
    line = n_empty + 1
    if b"\r" in first[:-2] and b'"' not in first:
        raise source.error("lines end with a carriage return alone: save the table with usual line ends", line)
    if first.count(source.delimiter.encode()) >= MOST_COLUMNS:
        raise source.error(f"the header has more than {MOST_COLUMNS:,} columns", line)
    try:
        text = first.decode("utf-8-sig").removesuffix("\n").removesuffix("\r")
        names = next(csv.reader(text.splitlines(keepends=True), delimiter=source.delimiter, strict=True))
    except UnicodeDecodeError as error:
        message = f"byte 0x{error.object[error.start]:02x} is not UTF-8: say the --encoding, for example latin-1"
        raise source.error(message, line) from None
    except (csv.Error, StopIteration):
        raise source.error("the header cannot be read: a quote is not closed, or it has no names", line) from None
    _refuse_one_name(source, names, line)
    if all(_is_number(name) for name in names):
        raise source.error("the first line holds numbers, not names: add a line with the columns' names", line)
    return Header(names, rest, line + first.count(b"\n"), len(first))


def _first_lines(source: Source, stream: Any) -> tuple[bytes, int]:
    """What was read, at least to the end of the header if it has one; and how many empty lines came before it."""
    prefix, n_empty = b"", 0
    while len(prefix) < LONGEST:
        more = stream.read(2**20)
        if not prefix and more[:2] in (b"\xff\xfe", b"\xfe\xff"):
            raise source.error("this is UTF-16: add --encoding utf-16", 1)
        prefix += more
        text = prefix.removeprefix(b"\xef\xbb\xbf")
        start = len(text) - len(text.lstrip(b"\r\n"))
        n_empty += text.count(b"\n", 0, start)
        prefix = text[start:]
        if not more or _end(prefix) < len(prefix):
            break
    if not prefix.strip():
        raise source.error("the table is empty")
    return prefix, n_empty


def _end(text: bytes) -> int:
    """Behind the line end of the header: the first that is in no quoted name."""
    end = text.find(b"\n")
    for _ in range(MOST_LINES):
        if end < 0 or text.count(b'"', 0, end) % 2 == 0:
            break
        end = text.find(b"\n", end + 1)
    else:
        end = text.find(b"\n")
    return len(text) if end < 0 else end + 1


def _refuse_one_name(source: Source, names: list[str], line: int) -> None:
    """A header that is one long name has another separator."""
    others = [sign for sign in OTHER_SEPARATORS if len(names) == 1 and sign in names[0] and sign != source.delimiter]
    if others:
        shown = r"'\t'" if others[0] == "\t" else f"'{others[0]}'"
        message = f"the header is one name; if its parts are columns, add --delimiter {shown}"
        raise source.error(message, line)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
