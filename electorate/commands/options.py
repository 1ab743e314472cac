"""Options that several commands share, and the table that they describe."""

import argparse
import codecs
import os
import re
import stat
import sys
from typing import Any

from electorate.tables.source import FORMATS, KINDS, MISSING, Source, find_out, list_names
from electorate.text import literal

TABLE = "CSV, TSV, Parquet or Arrow, plain or gzipped; - is standard input"
# Arguments of the Python functions whose option has another name.
RENAMED = {"sample_weight": "--weights", "sample_weight_val": "--weights", "locked": "--test-fraction"}
RENAMED |= {"keep": "--type", "heldout": "--heldout", "time_limit": "--time-limit"}
QUOTED_OR_CALL = r"'(?:[^'\\]|\\.)*'|\w+\([^()]*\)"
OF_ESTIMATORS = ("n_jobs", "max_bins", "early_stopping", "class_weight", "eps", "cost", "max_leaves")  # --set in fit
REGRESSION = "auto: float targets, and integer targets with more than 20 distinct values, are treated as regression"


def add_model(one: argparse.ArgumentParser) -> None:
    one.add_argument("model", help="a model file")
    trust = "read a model of LightGBM, XGBoost or CatBoost, too, which a manipulated file can crash"
    one.add_argument("--trust", action="store_true", help=trust)


def add_model_and_table(one: argparse.ArgumentParser, table: str = TABLE) -> None:
    add_model(one)
    one.add_argument("table", help=table)


def add_table_options(one: argparse.ArgumentParser) -> None:
    add = one.add_argument
    add("--format", choices=FORMATS, default="", help="the format of the table, if the file name does not show it")
    add("--delimiter", type=_delimiter, metavar="CHARACTER", help="the character between cells, e.g. ';' (found out)")
    add("--decimal", choices=(".", ","), default=".", help="the decimal separator (.)")
    add("--encoding", type=_encoding, metavar="NAME", help="the encoding of a text file, e.g. latin-1 (found out)")
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
    add("--no-check-up", dest="check_up", action="store_false", help="train without the check-up and its cleaning")
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
    types, drop = dict(getattr(options, "type", [])), tuple(getattr(options, "drop", ()))
    missing = (*MISSING, *options.missing)
    source = Source(path, options.format, types, missing, drop, decimal=options.decimal)
    usual = source.delimiter
    source = find_out(source, options.encoding or "", options.delimiter or "")
    if source.is_text and source.decimal == source.delimiter:
        raise ValueError("--decimal and the delimiter are the same character: add --delimiter ';' or another")
    found = [] if source.is_utf8 or options.encoding else [f"the encoding is {source.encoding}"]
    found += [] if source.delimiter == usual or options.delimiter else [f"{source.delimiter!r} separates the cells"]
    if found:
        print(f"{source.name}: {' and '.join(found)}", file=sys.stderr)
    return source


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


def in_options(text: str, options: argparse.Namespace) -> str:
    """Return a message of the library with the options of the command in place of Python's arguments.

    Names that are words too, such as `seed`, are arguments where a value follows or the message begins with them.
    """
    typed = vars(options)
    names = {name: f"--set {name}" for name in OF_ESTIMATORS} if "set" in typed else {}
    names |= {name: "--" + name.replace("_", "-") for name in typed if name not in ("model", "table", "set")} | RENAMED
    for wrong, right in (
        ("pass X_val and y_val, or", "use more rows, or"),
        ("pass equal_rows='allow' (--allow-equal-rows)", "add --allow-equal-rows"),
        ("pass equal_rows='allow'", "add --allow-equal-rows"),
        ("or give another folder: scan(..., folder=...)", "or set TMPDIR to another folder"),
        ("use load(path, foreign=True)", "add --trust"),
        ("of heldout took", "of --heldout took"),
    ):
        text = text.replace(wrong, right)
    text = re.sub("^(Input )?y(?= (contains|has|holds|must|varies))", "the target", text)
    text = re.sub("^(Input )?X(?= (contains|has|holds|must))", "the table", text)

    def translate(match: re.Match[str]) -> str:
        name, value = match["name"], match["value"]
        is_argument = name is not None and (
            value is not None or match.start() == 0 or ("_" in name and not names[name].startswith("--set"))
        )
        if not is_argument:
            return match[0]
        sign = "=" if names[name].startswith("--set") else " "
        return names[name] + ("" if value is None else sign + value.strip("'"))

    known = "|".join(sorted(map(re.escape, names), key=len, reverse=True))
    pattern = rf"(?<![\w.(-])`?(?P<name>{known})\b(?:=(?P<value>'[^']*'|[\w.+-]*\w))?`?(?![\w('])"
    return re.sub(rf"{pattern}|{QUOTED_OR_CALL}", translate, text)


def refuse_own_input(option: str, out: str, inputs: dict[str, str | None]) -> None:
    """Raise ValueError if a command would replace a file that it reads, however the two are spelled or linked.

    out: "-" is standard output. inputs: what each file is -> its path.
    """
    try:
        target = os.fstat(1) if out == "-" else os.stat(out)
    except OSError:
        return  # a new file
    for what, path in inputs.items():
        try:
            same = path is not None and path != "-" and os.path.samestat(target, os.stat(path))
        except OSError:
            continue
        if same and stat.S_ISREG(target.st_mode):
            written = "standard output" if out == "-" else f"{option} {literal(out)}"
            raise ValueError(f"{written} is {what} itself: give {option} another name")
