"""The command `electorate`: compare, fit, predict, certify, verify, reproduce, data, warmup.

Results go to standard output, everything else to standard error. Exit codes: 0 done; 1 the data, the model or the
disk does not allow it; 2 the command line is wrong; 130 interrupted; 141 nobody reads the output any more.
"""

import argparse
import codecs
import os
import signal
import sys
import warnings
from importlib import import_module

from electorate import __version__
from electorate.escape import literal
from electorate.tables.source import FORMATS, KINDS, MISSING, Source, format_of

COMMANDS = {
    "compare": "which boosting to use on a table, and how good it is",
    "fit": "train one algorithm on a table",
    "predict": "predict the rows of a table, of any size, with a model",
    "certify": "say what is proved of a model: bounds on its risk, and why they hold",
    "verify": "check a model file and say what it holds",
    "reproduce": "make a table or a figure of the papers again",
    "data": "list the papers' data sets, or fetch one",
    "warmup": "compile the kernels ahead, for an image or a first user",
}
TROUBLE = (ValueError, TypeError, OSError, MemoryError, RuntimeError, ImportError)


class Formatter(argparse.RawDescriptionHelpFormatter):
    pass


def main(arguments: list[str] | None = None) -> int:
    """Run a command; returns the exit code."""
    given = sys.argv[1:] if arguments is None else arguments
    options = parser(given[0] if given else "").parse_args(given)
    try:
        with warnings.catch_warnings():
            warnings.showwarning = Said(options.command)
            return int(import_module(f"electorate.commands.{options.command}").run(options) or 0)
    except KeyboardInterrupt:
        print("\ninterrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # nothing more is written at exit
        return 141
    except TROUBLE as error:
        if os.environ.get("ELECTORATE_DEBUG"):
            raise
        print(f"electorate {options.command}: {_message(error)}", file=sys.stderr)
        return 1


def _message(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        where = f"{error.filename}: " if error.filename else ""
        return literal(where + error.strerror, 2000)
    lines = [literal(line, 2000) for line in str(error).split("\n")]
    return "\n".join(lines) or type(error).__name__


class Said:
    """Shows warnings as messages, each once."""

    def __init__(self, command: str) -> None:
        self.command = command
        self.before: set[str] = set()

    def __call__(self, message: Warning | str, *_: object, **__: object) -> None:
        text = literal(message, 2000)
        if text not in self.before:
            self.before.add(text)
            print(f"electorate {self.command}: {text}", file=sys.stderr)


def entry() -> None:
    """Where the installed command begins."""
    if hasattr(signal, "SIGTERM"):
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # temporary files go, workers too
    sys.exit(main())


def parser(command: str = "") -> argparse.ArgumentParser:
    """Of all commands, or only of the one that is given, where it is one: the others need not be imported."""
    top = argparse.ArgumentParser(
        prog="electorate",
        description="Boosting by votes, with proofs.",
        epilog="electorate COMMAND --help explains each.",
    )
    top.add_argument("--version", action="version", version=f"electorate {__version__}")
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, does in COMMANDS.items():
        if command in COMMANDS and command != name:
            continue
        module = import_module(f"electorate.commands.{name}")
        one = commands.add_parser(
            name,
            help=does,
            description=does[0].upper() + does[1:] + ".",
            epilog=module.EXAMPLES,
            formatter_class=Formatter,
        )
        module.add_options(one)
    return top


# ---------------------------------------------------------------- options that commands share


def add_table_options(one: argparse.ArgumentParser) -> None:
    one.add_argument("--format", choices=FORMATS, default="", help="of the table, where its name does not say")
    one.add_argument("--delimiter", type=_one_sign, metavar="SIGN", help="between cells, e.g. ';'")
    one.add_argument("--decimal", choices=(".", ","), default=".", help="the sign before the fraction of a number (.)")
    one.add_argument(
        "--encoding", type=_encoding, default="utf-8", metavar="NAME", help="of a text, e.g. latin-1 (utf-8)"
    )
    one.add_argument(
        "--missing", action="append", default=[], metavar="TEXT", help="a cell that means nothing is known, e.g. '?'"
    )


def add_skip_option(one: argparse.ArgumentParser) -> None:
    one.add_argument("--skip-missing-target", action="store_true", help="leave out rows whose target is missing")


def add_training_options(one: argparse.ArgumentParser) -> None:
    one.add_argument("--target", metavar="COLUMN", help="the column to predict")
    one.add_argument("--weights", metavar="COLUMN", help="the column that says how much each row counts")
    one.add_argument(
        "--drop",
        action="append",
        default=[],
        metavar="COLUMN",
        help="a column to leave out, by name or by position from 1 on; '' is a column without a name",
    )
    one.add_argument(
        "--type", action="append", default=[], metavar="COLUMN=KIND", type=_type, help="number or text, not guessed"
    )
    add_skip_option(one)
    add_table_options(one)


def _one_sign(text: str) -> str:
    sign = {"\\t": "\t", "tab": "\t"}.get(text, text)
    if len(sign) != 1 or not sign.isascii() or sign in '"\r\n' or sign.isalnum():
        raise argparse.ArgumentTypeError(f"{literal(text)!r} is no sign that can part cells: ; or | or \\t")
    return sign


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
        raise argparse.ArgumentTypeError(
            f"no encoding is called {literal(text)!r}: utf-8, latin-1, cp1252, utf-16"
        ) from None
    return text


def source_of(options: argparse.Namespace, path: str | None = None) -> Source:
    """The table that the options name, or the one at `path` read with the same options."""
    if options.decimal == (options.delimiter or ","):
        tab = (options.format or format_of(path or options.table)) == "tsv" and not options.delimiter
        if not tab:
            raise ValueError("--decimal , and the delimiter are the same sign: add --delimiter ';' or what it is")
    return Source(
        options.table if path is None else path,
        options.format,
        dict(getattr(options, "type", [])),
        (*MISSING, *options.missing),
        tuple(getattr(options, "drop", ())),
        options.delimiter or "",
        options.encoding,
        options.decimal,
    )


if __name__ == "__main__":
    entry()
