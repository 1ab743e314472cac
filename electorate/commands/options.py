"""Options that several commands share, and the table that they describe."""

import argparse
import codecs
import sys
from typing import Any

from electorate.escape import literal
from electorate.tables.source import FORMATS, KINDS, MISSING, Source, format_of, list_names

TABLE = "CSV, TSV, Parquet or Arrow, plain or gzipped; - is standard input"
REGRESSION = "auto: float targets, and integer targets with more than 20 distinct values, are treated as regression"


def add_model_and_table(one: argparse.ArgumentParser, table: str = TABLE) -> None:
    one.add_argument("model", help="a model file")
    one.add_argument("table", help=table)


def add_table_options(one: argparse.ArgumentParser) -> None:
    add = one.add_argument
    add("--format", choices=FORMATS, default="", help="the format of the table, if the file name does not show it")
    add("--delimiter", type=_delimiter, metavar="CHARACTER", help="the character between cells, e.g. ';'")
    add("--decimal", choices=(".", ","), default=".", help="the decimal separator (.)")
    add(
        "--encoding",
        type=_encoding,
        default="utf-8",
        metavar="NAME",
        help="the encoding of a text file, e.g. latin-1 (utf-8)",
    )
    add("--missing", action="append", default=[], metavar="TEXT", help="a cell that means a missing value, e.g. '?'")


def add_skip_option(one: argparse.ArgumentParser) -> None:
    one.add_argument("--skip-missing-target", action="store_true", help="skip rows with a missing target")


def add_training_options(one: argparse.ArgumentParser) -> None:
    add = one.add_argument
    add("--target", metavar="COLUMN", help="the column to predict")
    add("--weights", metavar="COLUMN", help="the column with the weights of the rows")
    drop = "a column to leave out, by name or by position, starting at 1; '' is a column without a name"
    add("--drop", action="append", default=[], metavar="COLUMN", help=drop)
    types = "treat the column as number or text instead of guessing"
    add("--type", action="append", default=[], metavar="COLUMN=KIND", type=_type, help=types)
    add("--task", choices=("auto", "classification", "regression"), default="auto", help=REGRESSION)
    add(
        "--no-check-up",
        dest="check_up",
        action="store_false",
        help="train on the columns without the check-up and its cleaning",
    )
    add("--quiet", action="store_true", help="show no progress")
    add_skip_option(one)
    add_table_options(one)


def _delimiter(text: str) -> str:
    character = {"\\t": "\t", "tab": "\t"}.get(text, text)
    if len(character) != 1 or not character.isascii() or character in '"\r\n' or character.isalnum():
        raise argparse.ArgumentTypeError(f"{literal(text)!r} cannot separate cells: use ; or | or \\t")
    return character


def _type(text: str) -> tuple[str, str]:
    column, sign, kind = text.rpartition("=")
    if not sign or not column or kind not in KINDS:
        raise argparse.ArgumentTypeError(f"{literal(text)!r} is not COLUMN=number or COLUMN=text")
    return column, kind


def _encoding(text: str) -> str:
    try:
        codecs.lookup(text).incrementaldecoder("strict").decode(b"")
        "".encode(text)
    except (LookupError, TypeError, UnicodeError):
        known = "utf-8, latin-1, cp1252, utf-16"
        raise argparse.ArgumentTypeError(f"no encoding is called {literal(text)!r}; for example {known}") from None
    return text


def source_of(options: argparse.Namespace, path: str | None = None) -> Source:
    """The table that the options name, or the one at `path` read with the same options."""
    path = options.table if path is None else path
    if options.decimal == (options.delimiter or ","):
        is_tsv = (options.format or format_of(path)) == "tsv" and not options.delimiter
        if not is_tsv:
            raise ValueError("--decimal and the delimiter are the same character: add --delimiter ';' or another")
    types, drop = dict(getattr(options, "type", [])), tuple(getattr(options, "drop", ()))
    missing, separator = (*MISSING, *options.missing), options.delimiter or ""
    return Source(path, options.format, types, missing, drop, separator, options.encoding, options.decimal)


def read(options: argparse.Namespace, source: Source | None = None, target: Any = None, only: Any = None) -> Any:
    """The columns, the target and the weights of a table, by default those that the options name."""
    from electorate.tables.reading import TableRequest, column_names, read_training

    source, target = source or source_of(options), target or options.target
    if target is None:
        raise no_target(source, column_names(source))
    to_clean = only is None and getattr(options, "check_up", False)
    wanted = TableRequest(target, getattr(options, "weights", None), only, options.skip_missing_target, to_clean)
    found = read_training(source, wanted)
    if found.n_skipped:
        print(f"{source.name}: {found.n_skipped} rows without a target left out", file=sys.stderr)
    return found


def no_target(source: Source, names: list[str]) -> Exception:
    """Return the error for a command without --target."""
    return source.error(f"which column is to be predicted? Add --target COLUMN. The columns are {list_names(names)}")


def split_names(text: str) -> list[str]:
    """Names that are separated by commas."""
    return [name.strip() for name in text.split(",") if name.strip()]
