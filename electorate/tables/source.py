"""Where a table comes from: a file or standard input; CSV, TSV, Parquet or Arrow, plain or gzipped.

What cannot be read raises `TableError`, which names the file, and the line where there is one.
"""

import csv
import difflib
import io
import os
import sys
from dataclasses import dataclass, field
from typing import Any

from electorate.shown import literal

FORMATS = ("csv", "tsv", "parquet", "arrow")
ENDINGS = {".csv": "csv", ".tsv": "tsv", ".tab": "tsv", ".parquet": "parquet", ".pq": "parquet"}
ENDINGS |= {".arrow": "arrow", ".feather": "arrow", ".ipc": "arrow"}
KINDS = ("number", "text")
MISSING = ("", "NA", "N/A", "#N/A", "NaN", "nan", "NULL", "null", "n/a", "None", "<NA>")
OTHER_SEPARATORS = (";", "\t", "|", ",")
HEADER_ROOM = 64 * 2**20
BLOCK = 2**22
GZIP = b"\x1f\x8b"


class TableError(ValueError):
    """A table that cannot be used as it is."""


@dataclass(frozen=True)
class Source:
    """types: what columns are, where it should not be guessed. missing: cells that mean nothing is there."""

    path: str
    format: str = ""
    types: dict[str, str] = field(default_factory=dict)
    missing: tuple[str, ...] = MISSING
    drop: tuple[str, ...] = ()
    separator: str = ""  # of the cells of a text, where it is not the format's

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
    def delimiter(self) -> str:
        return self.separator or ("\t" if self.kind == "tsv" else ",")

    def error(self, message: str, line: int | None = None) -> TableError:
        where = self.name if line is None else f"{self.name}, line {line}"
        return TableError(f"{where}: {message}")

    def open(self) -> Any:
        """The bytes, unpacked."""
        if self.path != "-" and os.path.isdir(self.path):
            raise self.error("this is a folder")
        raw: Any = sys.stdin.buffer if self.path == "-" else open(self.path, "rb")  # noqa: SIM115
        if not isinstance(raw, io.BufferedReader):
            raw = io.BufferedReader(raw)
        if raw.peek(2)[:2] == GZIP:
            arrow = pyarrow()
            return arrow.CompressedInputStream(arrow.PythonFile(raw, "r"), "gzip")
        return raw

    def check_names(self, names: list[str]) -> None:
        seen: dict[str, int] = {}
        for place, name in enumerate(names, 1):
            if not name.strip():
                raise self.error(f"column {place} has no name: give it one in the header", 1)
            if name in seen:
                raise self.error(f"columns {seen[name]} and {place} are both called {literal(name)!r}", 1)
            seen[name] = place
        if names and all(_is_number(name) for name in names):
            raise self.error("the first line holds numbers, not names: add a line with the columns' names", 1)
        for name in (*self.types, *self.drop):
            self.find(name, names)

    def find(self, name: str, names: list[str]) -> str:
        """The name, if a column has it; else an error with what comes close."""
        if name in names:
            return name
        close = difflib.get_close_matches(name, names[:10_000], 1)
        hint = f"did you mean {literal(close[0])!r}?" if close else "it has " + _some(names)
        raise self.error(f"no column is called {literal(name)!r}; {hint}")


def format_of(path: str) -> str:
    base = path.lower().removesuffix(".gz")
    return ENDINGS.get(os.path.splitext(base)[1], "csv")


def pyarrow() -> Any:
    try:
        import pyarrow as arrow
    except ImportError:
        raise TableError("reading tables needs pyarrow: pip install 'electorate[tables]'") from None
    return arrow


def read_header(source: Source, stream: Any) -> tuple[list[str], bytes]:
    """The names in the first line of a text table, checked, and what else was read of the stream."""
    prefix = b""
    while b"\n" not in prefix and len(prefix) < HEADER_ROOM:
        more = stream.read(2**20)
        if not more:
            break
        prefix += more
    if not prefix.strip():
        raise source.error("the table is empty")
    if prefix[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise source.error("this is UTF-16: save it as UTF-8", 1)
    if prefix[:4] in (b"PK\x03\x04", b"\xd0\xcf\x11\xe0"):
        raise source.error("this is a spreadsheet or an archive: save the table as CSV")
    first, _, rest = prefix.partition(b"\n")
    if b"\r" in first[:-1] and b'"' not in first:
        raise source.error("lines end with a carriage return alone: save the table with the line ends of today", 1)
    try:
        text = first.decode("utf-8-sig").removesuffix("\r")
        names = next(csv.reader([text], delimiter=source.delimiter, strict=True))
    except UnicodeDecodeError:
        raise source.error("the header is not UTF-8: save the table as UTF-8", 1) from None
    except (csv.Error, StopIteration):
        raise source.error("the header cannot be read: a quote is not closed, or it has no names", 1) from None
    _refuse_one_name(source, names)
    source.check_names(names)
    return names, rest


def _refuse_one_name(source: Source, names: list[str]) -> None:
    """A header that is one long name was parted by something else."""
    others = [sign for sign in OTHER_SEPARATORS if len(names) == 1 and sign in names[0] and sign != source.delimiter]
    if others:
        shown = r"'\t'" if others[0] == "\t" else f"'{others[0]}'"
        raise source.error(f"the header is one name; are its parts columns? Say --delimiter {shown}", 1)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _some(names: list[str]) -> str:
    shown = ", ".join(repr(literal(name, 40)) for name in names[:8])
    return f"{shown} and {len(names) - 8} more" if len(names) > 8 else shown
