"""Where a table comes from: a file or standard input; CSV, TSV, Parquet or Arrow, plain or gzipped.

A table that cannot be read raises `TableError`, which names the file, and the line where there is one.
"""

import codecs
import contextlib
import csv
import difflib
import io
import os
import re
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import Any

from electorate.optional import optional
from electorate.text import literal

FORMATS = ("csv", "tsv", "parquet", "arrow")
ENDINGS = {".csv": "csv", ".tsv": "tsv", ".tab": "tsv", ".parquet": "parquet", ".pq": "parquet"}
ENDINGS |= {".arrow": "arrow", ".feather": "arrow", ".ipc": "arrow"}
KINDS = ("number", "text")
MISSING = ("", "NA", "N/A", "#N/A", "NaN", "nan", "NULL", "null", "n/a", "None", "<NA>")
GZIP = b"\x1f\x8b"
# First bytes of files that are neither texts nor of our formats.
FOREIGN = {
    b"PK\x03\x04": "this is a spreadsheet or an archive: save the table as CSV",
    b"\xd0\xcf\x11\xe0": "this is a spreadsheet or an archive: save the table as CSV",
    b"\x28\xb5\x2f\xfd": "this is packed with zstd: unpack it first, for example zstd -dc FILE | electorate ... -",
    b"BZh": "this is packed with bzip2: unpack it first, for example bzip2 -dc FILE | electorate ... -",
    b"\xfd7zXZ": "this is packed with xz: unpack it first, for example xz -dc FILE | electorate ... -",
}
LISTED = 40  # columns in a message
SEPARATORS = (",", ";", "\t", "|")
ENCODINGS = ("utf-8", "cp1252", "latin-1")  # the first that fits; UTF-16 has a mark of byte order
FIRST = 2**20  # bytes by which the encoding, the separator and the kinds of columns are guessed
SURE = 1 / 16  # of a file: after that, the rest is expected to be like the beginning
PER_ROW = 24  # bytes of the target, the weights and the order of the rows


class TableError(ValueError):
    """A table that cannot be used as it is."""


class _LazyArrow:
    """pyarrow and its modules, imported on first use."""

    def __getattr__(self, name: str) -> Any:
        package = optional("pyarrow", "reading tables")
        return import_module(f"pyarrow.{name}") if name in ("compute", "csv", "parquet") else getattr(package, name)


arrow: Any = _LazyArrow()


@dataclass(frozen=True)
class Source:
    """A table and how to read it.

    types: "number" or "text" by column, where it should not be guessed. missing: cells that mean a missing value.
    drop: columns to leave out, by name or by position from 1 on. separator: of the cells of a text, where it is not
    the format's. decimal: the sign before the fraction of a number.
    """

    path: str
    format: str = ""
    types: dict[str, str] = field(default_factory=dict)
    missing: tuple[str, ...] = MISSING
    drop: tuple[str, ...] = ()
    separator: str = ""
    encoding: str = "utf-8"
    decimal: str = "."

    @property
    def name(self) -> str:
        return "standard input" if self.path == "-" else literal(self.path)

    @property
    def kind(self) -> str:
        return self.format or format_of(self.path)

    @property
    def is_text(self) -> bool:
        return self.kind in ("csv", "tsv")

    @property
    def is_file(self) -> bool:
        """Whether it can be read a second time."""
        return self.path != "-" and os.path.isfile(self.path)

    @property
    def delimiter(self) -> str:
        return self.separator or ("\t" if self.kind == "tsv" else ",")

    @property
    def number(self) -> str:
        """The regular expression of a number."""
        sign = re.escape(self.decimal)
        return rf"^[+-]?([0-9]+{sign}?[0-9]*|{sign}[0-9]+)([eE][+-]?[0-9]+)?$"

    @property
    def is_utf8(self) -> bool:
        return codecs.lookup(self.encoding).name == "utf-8"

    def error(self, message: str, line: int | None = None, row: int | None = None) -> TableError:
        """Return an error that names the file, and the line, or else the row, where one is given."""
        place = f", line {line}" if line is not None else "" if row is None else f", row {row + 1}"
        return TableError(f"{self.name}{place}: {message}")

    def bad_byte(self, error: UnicodeDecodeError, line: int) -> TableError:
        """Return the error for a byte that cannot be decoded. line: that of the first byte of the text."""
        byte, line = error.object[error.start], line + error.object[: error.start].count(b"\n")
        if self.is_utf8:
            return self.error(f"byte 0x{byte:02x} is not UTF-8: add the --encoding, for example latin-1", line)
        return self.error(f"byte 0x{byte:02x} is not {self.encoding}: is --encoding right?", line)

    def open(self) -> "OpenedSource":
        return OpenedSource(self)

    # ------------------------------------------------------------ columns by name

    def find_all(self, wanted: Iterable[str], names: list[str]) -> None:
        """Raise TableError, with a similar name, if a column is not there."""
        known = set(names)
        for name in wanted:
            if name not in known:
                close = difflib.get_close_matches(name, names[:10_000], 1)
                hint = f"did you mean {literal(close[0])!r}? It has" if close else "it has"
                raise self.error(f"no column is called {literal(name)!r}; {hint} {list_names(names)}")

    def training_places(self, names: list[str]) -> list[int]:
        """Return the places of all columns but the dropped ones; each must have a name of its own."""
        dropped: set[int] = set()
        for wanted in self.drop:
            blank = not wanted.strip()
            found = {place for place, name in enumerate(names) if name == wanted or (blank and not name.strip())}
            found = found or _by_position(wanted, names)
            if not found:
                self.find_all([wanted], names)
            dropped |= found
        places = [place for place in range(len(names)) if place not in dropped]
        line = 1 if self.is_text else None
        first: dict[str, int] = {}
        for place in places:
            name, number = names[place], place + 1
            if not name.strip():
                hint = f"name it, or leave it out with --drop {number} (it may be an index that pandas wrote)"
                raise self.error(f"column {number} has no name: {hint}", line)
            if name in first:
                both = f"columns {first[name]} and {number} are both called {literal(name)!r}"
                raise self.error(f"{both}: rename one, or leave one out with --drop {number}", line)
            first[name] = number
        self.find_all(self.types, [*first, *(names[place] for place in dropped)])
        return places

    def places(self, wanted: list[str], names: list[str]) -> list[int]:
        """Return the places of these columns; names of other columns may be repeated."""
        self.find_all(wanted, names)
        needed = set(wanted)
        by_name: dict[str, int] = {}
        for place, name in enumerate(names):
            if name in needed and by_name.setdefault(name, place) != place:
                raise self.error(f"columns {by_name[name] + 1} and {place + 1} are both called {literal(name)!r}")
        return [by_name[name] for name in wanted]


def _by_position(wanted: str, names: list[str]) -> set[int]:
    """The place of a position from 1 on; or from 0 on in pandas' name of a column without a name."""
    position = re.fullmatch(r"(Unnamed: )?([0-9]{1,9})", wanted)
    if position is None:
        return set()
    place = int(position[2]) - (position[1] is None)
    return {place} if 0 <= place < len(names) and not (position[1] and names[place].strip()) else set()


class OpenedSource:
    """The bytes of a table, unpacked; those of a text in UTF-8."""

    def __init__(self, source: Source) -> None:
        if source.path != "-" and os.path.isdir(source.path):
            raise source.error("this is a folder")
        if source.path == "-" and sys.stdin is None:
            raise source.error("it is closed: name a file, or redirect one to it")
        self.source = source
        raw: Any = sys.stdin.buffer if source.path == "-" else open(source.path, "rb")  # noqa: SIM115
        self._raw = raw if isinstance(raw, io.BufferedReader) else io.BufferedReader(raw)
        first = self._raw.peek(8)[:8]
        for start, message in FOREIGN.items():
            if first.startswith(start):
                raise source.error(message)
        self.is_packed = first.startswith(GZIP)
        self._stream: Any = self._raw
        if self.is_packed:
            self._stream = arrow.CompressedInputStream(arrow.PythonFile(self._raw, "r"), "gzip")
        is_plain = not source.is_text or source.is_utf8
        self._decoder = None if is_plain else codecs.getincrementaldecoder(source.encoding)()
        self._n_unpacked = 0
        self._n_lines = 0

    def read(self, size: int = -1) -> bytes:
        """Return up to `size` bytes; b"" at the end."""
        try:
            data: bytes = self._stream.read(size) if size >= 0 else self._stream.read()
        except OSError as error:
            if not self.is_packed:
                raise
            done = f"{self._n_unpacked:,} bytes could be unpacked ({literal(error)})"
            raise self.source.error(f"the gzip file is damaged or cut short; {done}: copy or pack it again") from None
        self._n_unpacked += len(data)
        if self._decoder is None:
            return data
        try:
            text = self._decoder.decode(data, final=not data)
        except UnicodeDecodeError as error:
            raise self.source.bad_byte(error, self._n_lines + 1) from None
        except UnicodeError as error:
            raise self.source.error(f"{literal(error)}: is --encoding {self.source.encoding} right?") from None
        self._n_lines += text.count("\n")
        if data and not text and size != 0:
            return self.read(size)  # a part of a character: the rest follows
        return text.encode("utf-8", "replace")

    @property
    def share_read(self) -> float | None:
        """How much of the file has been read; None if its size is not known."""
        if not self.source.is_file:
            return None
        return min(1.0, self._raw.tell() / max(1, os.fstat(self._raw.fileno()).st_size))


class MemoryWatch:
    """Adds up the memory of a table while it is read, and refuses one that will not fit in what was free."""

    def __init__(self, source: Source, opened: OpenedSource | None = None) -> None:
        from electorate.data.inputs import free_memory

        self.source, self.opened = source, opened
        self.free, self.taken = free_memory(), 0

    def add(self, table: Any) -> Any:
        """Return a table or batch after adding its memory."""
        self.add_bytes(int(table.nbytes) + PER_ROW * int(table.num_rows))
        return table

    def add_bytes(self, n_bytes: int) -> None:
        """Add memory that was taken, and refuse the table if it, or what the rest will take, is not free."""
        self.taken += n_bytes
        share = None if self.opened is None else self.opened.share_read
        is_sure = share is not None and (share >= SURE or (self.free is not None and self.taken > self.free // 4))
        self.expect(int(self.taken / share) if is_sure and share else self.taken)

    def expect(self, needed: int) -> None:
        if self.free is not None and needed > self.free:
            size = f"{needed / 2**30:.1f} GiB of memory or more, and {self.free / 2**30:.1f} GiB are free"
            todo = "use fewer rows, or fewer columns (--drop COLUMN), or `electorate fit`, which reads it in batches"
            if self.source.kind == "parquet" and self.opened is not None:
                todo = "unpack it first, for example with gzip -d"
            raise MemoryError(f"{self.source.name}: the table takes about {size}: {todo}")


def find_out(source: Source, encoding: str, separator: str) -> Source:
    """Return a source with its encoding and separator, which are guessed from the beginning of a file where empty."""
    source = replace(source, encoding=encoding or "utf-8", separator=separator)
    if not (source.is_text and source.is_file):
        return source
    first = replace(source, encoding="utf-8").open().read(FIRST)
    if not encoding:
        is_utf_16 = first[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
        found = next(name for name in ENCODINGS if _decodes(first, name))
        source = replace(source, encoding="utf-16" if is_utf_16 else found)
    if not separator:
        csv.field_size_limit(2 * FIRST)
        lines = first.decode(source.encoding, "replace").lstrip("\ufeff\r\n").splitlines(keepends=True)
        most, lines = 1, lines[: -1 if len(first) == FIRST else None][:20]
        for sign in (source.delimiter, *SEPARATORS):
            widths = {len(row) for row in csv.reader(lines, delimiter=sign) if row}
            if len(widths) == 1 and (cells := widths.pop()) > most:
                most, source = cells, replace(source, separator=sign)
    return source


def _decodes(first: bytes, encoding: str) -> bool:
    with contextlib.suppress(UnicodeDecodeError):
        return codecs.getincrementaldecoder(encoding)().decode(first) is not None
    return False


def format_of(path: str) -> str:
    base = path.lower().removesuffix(".gz")
    return ENDINGS.get(os.path.splitext(base)[1], "csv")


def list_names(names: list[str]) -> str:
    """Return column names for a message."""
    listed = ", ".join(repr(literal(name, 40)) for name in names[:LISTED])
    return f"{listed} and {len(names) - LISTED} more" if len(names) > LISTED else listed
