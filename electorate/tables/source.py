"""Where a table comes from: a file or standard input; CSV, TSV, Parquet or Arrow, plain or gzipped.

A table that cannot be read raises `TableError`, which names the file, and the line where there is one.
"""

import codecs
import difflib
import io
import os
import re
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from electorate.escape import literal

FORMATS = ("csv", "tsv", "parquet", "arrow")
ENDINGS = {".csv": "csv", ".tsv": "tsv", ".tab": "tsv", ".parquet": "parquet", ".pq": "parquet"}
ENDINGS |= {".arrow": "arrow", ".feather": "arrow", ".ipc": "arrow"}
KINDS = ("number", "text")
MISSING = ("", "NA", "N/A", "#N/A", "NaN", "nan", "NULL", "null", "n/a", "None", "<NA>")
GZIP = b"\x1f\x8b"
# First bytes of what is neither a text nor one of our formats.
FOREIGN = {
    b"PK\x03\x04": "this is a spreadsheet or an archive: save the table as CSV",
    b"\xd0\xcf\x11\xe0": "this is a spreadsheet or an archive: save the table as CSV",
    b"\x28\xb5\x2f\xfd": "this is packed with zstd: unpack it first, for example zstd -dc FILE | electorate ... -",
    b"BZh": "this is packed with bzip2: unpack it first, for example bzip2 -dc FILE | electorate ... -",
    b"\xfd7zXZ": "this is packed with xz: unpack it first, for example xz -dc FILE | electorate ... -",
}
SHOWN = 40  # columns that a message lists


class TableError(ValueError):
    """A table that cannot be used as it is."""


@dataclass(frozen=True)
class Source:
    """A table and how to read it.

    types: "number" or "text" by column, where it should not be guessed. missing: cells that mean nothing is there.
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

    def error(self, message: str, line: int | None = None) -> TableError:
        where = self.name if line is None else f"{self.name}, line {line}"
        return TableError(f"{where}: {message}")

    def open(self) -> "OpenedSource":
        """The bytes, unpacked; those of a text in UTF-8."""
        return OpenedSource(self)

    # ------------------------------------------------------------ columns by name

    def find(self, name: str, names: list[str]) -> str:
        """The name, if a column has it; else an error with what comes close."""
        self.find_all([name], names)
        return name

    def find_all(self, wanted: Iterable[str], names: list[str]) -> None:
        known = set(names)
        for name in wanted:
            if name not in known:
                close = difflib.get_close_matches(name, names[:10_000], 1)
                hint = f"did you mean {literal(close[0])!r}? It has" if close else "it has"
                raise self.error(f"no column is called {literal(name)!r}; {hint} {list_names(names)}")

    def dropped(self, names: list[str]) -> set[int]:
        """The places of the columns to leave out: by name, by position, or without a name."""
        found: set[int] = set()
        for wanted in self.drop:
            places = {
                place for place, name in enumerate(names) if name == wanted or not (name.strip() or wanted.strip())
            }
            if not places:
                places = _by_position(wanted, names)
            if not places:
                self.find(wanted, names)
            found |= places
        return found

    def kept(self, names: list[str]) -> list[int]:
        """The places of the columns to learn from; each has a name of its own."""
        dropped = self.dropped(names)
        places = [place for place in range(len(names)) if place not in dropped]
        seen: dict[str, int] = {}
        for place in places:
            name = names[place]
            if not name.strip():
                raise self.error(
                    f"column {place + 1} has no name: give it one in the header, or leave it out with "
                    f"--drop {place + 1} (it may be an index that pandas wrote)",
                    1 if self.is_text else None,
                )
            if name in seen:
                raise self.error(
                    f"columns {seen[name]} and {place + 1} are both called {literal(name)!r}: rename one, or leave "
                    f"one out with --drop {place + 1}",
                    1 if self.is_text else None,
                )
            seen[name] = place + 1
        self.find_all(self.types, [*seen, *(names[place] for place in dropped)])
        return places

    def places(self, wanted: list[str], names: list[str]) -> list[int]:
        """The places of these columns; what other columns are called does not matter."""
        self.find_all(wanted, names)
        needed = set(wanted)
        by_name: dict[str, int] = {}
        for place, name in enumerate(names):
            if name in needed and by_name.setdefault(name, place) != place:
                raise self.error(f"columns {by_name[name] + 1} and {place + 1} are both called {literal(name)!r}")
        return [by_name[name] for name in wanted]


def _by_position(wanted: str, names: list[str]) -> set[int]:
    """A position from 1 on; or, as pandas calls what has no name, from 0 on."""
    pandas = re.fullmatch(r"Unnamed: ([0-9]{1,9})", wanted)
    if pandas is not None:
        place = int(pandas[1])
        return {place} if place < len(names) and not names[place].strip() else set()
    place = int(wanted) - 1 if re.fullmatch(r"[0-9]{1,9}", wanted) else -1
    return {place} if 0 <= place < len(names) else set()


class OpenedSource:
    """The bytes of a table, unpacked; what cannot be read is an error with the file's name."""

    def __init__(self, source: Source) -> None:
        if source.path != "-" and os.path.isdir(source.path):
            raise source.error("this is a folder")
        self._source = source
        raw: Any = sys.stdin.buffer if source.path == "-" else open(source.path, "rb")  # noqa: SIM115
        self._raw = raw if isinstance(raw, io.BufferedReader) else io.BufferedReader(raw)
        first = self._raw.peek(8)[:8]
        for start, message in FOREIGN.items():
            if first.startswith(start):
                raise source.error(message)
        self.is_packed = first.startswith(GZIP)
        self._stream: Any = self._raw
        if self.is_packed:
            arrow = pyarrow()
            self._stream = arrow.CompressedInputStream(arrow.PythonFile(self._raw, "r"), "gzip")
        is_plain = not source.is_text or codecs.lookup(source.encoding).name == "utf-8"
        self._decoder = None if is_plain else codecs.getincrementaldecoder(source.encoding)()
        self._n_unpacked = 0
        self._n_lines = 0

    def read(self, size: int = -1) -> bytes:
        """Up to so many bytes; b"" at the end."""
        try:
            data: bytes = self._stream.read(size) if size >= 0 else self._stream.read()
        except OSError as error:
            if not self.is_packed:
                raise
            raise self._source.error(
                f"the gzip file is damaged or cut short; {self._n_unpacked:,} bytes could be unpacked "
                f"({literal(error)}): copy or pack it again"
            ) from None
        self._n_unpacked += len(data)
        return data if self._decoder is None else self._decoded(data, size)

    def _decoded(self, data: bytes, size: int) -> bytes:
        assert self._decoder is not None
        try:
            text = self._decoder.decode(data, final=not data)
        except UnicodeDecodeError as error:
            line = self._n_lines + 1 + error.object[: error.start].count(b"\n")
            raise self._source.error(
                f"byte 0x{error.object[error.start]:02x} is no {self._source.encoding}: is --encoding right?", line
            ) from None
        self._n_lines += text.count("\n")
        if data and not text and size != 0:
            return self.read(size)  # a part of a character: the rest follows
        return text.encode("utf-8", "replace")

    @property
    def share_read(self) -> float | None:
        """How much of the file has been read, if that is known."""
        if not self._source.is_file:
            return None
        return min(1.0, self._raw.tell() / max(1, os.fstat(self._raw.fileno()).st_size))


def format_of(path: str) -> str:
    base = path.lower().removesuffix(".gz")
    return ENDINGS.get(os.path.splitext(base)[1], "csv")


def pyarrow() -> Any:
    try:
        import pyarrow as arrow
    except ImportError:
        raise TableError("reading tables needs pyarrow: pip install 'electorate[tables]'") from None
    return arrow


def list_names(names: list[str]) -> str:
    """Column names for a message."""
    shown = ", ".join(repr(literal(name, 40)) for name in names[:SHOWN])
    return f"{shown} and {len(names) - SHOWN} more" if len(names) > SHOWN else shown
