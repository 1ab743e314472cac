"""`electorate certify`: what is proved of a model, from held-out rows and from those it was fitted to."""

import argparse
import json
import sys
from typing import Any

from electorate.shown import literal

EXAMPLES = """examples:
  electorate certify adult.model --heldout unseen.csv --target income
  electorate certify adult.model --heldout unseen.csv --train adult.csv.gz --delta 0.01 --json
Held-out rows must have taken no part in fitting: the model remembers its rows, and refuses them."""


def add_options(one: argparse.ArgumentParser) -> None:
    from electorate.cli import add_table_options

    one.add_argument("model", help="a model file")
    one.add_argument("--heldout", metavar="TABLE", help="rows that took no part in fitting: CSV, TSV, Parquet, Arrow")
    one.add_argument("--train", metavar="TABLE", help="the rows it was fitted to")
    one.add_argument(
        "--target", metavar="COLUMN", help="what is predicted (the only column that is none of the model's)"
    )
    one.add_argument("--delta", type=_share, default=0.05, help="how often a bound may fail (0.05)")
    one.add_argument(
        "--eps", type=float, help="of regression: what is farther from the target is an error (the model's)"
    )
    one.add_argument(
        "--allow-equal-rows", action="store_true", help="held-out rows may equal rows of the fit, by coincidence"
    )
    one.add_argument("--json", action="store_true", help="for programs")
    add_table_options(one)


def run(options: argparse.Namespace) -> int:
    from electorate import certificate, load

    if options.heldout is None and options.train is None:
        raise ValueError("give --heldout TABLE, --train TABLE or both: a bound needs rows")
    model = load(options.model)
    found = certificate(
        model,
        train=_rows(model, options.train, options),
        heldout=_rows(model, options.heldout, options),
        delta=options.delta,
        eps=options.eps,
        equal_rows="allow" if options.allow_equal_rows else "refuse",
    )
    print(json.dumps(found.to_dict(), indent=1) if options.json else str(found))
    print(f"{literal(options.model)}: digest {model.digest_}", file=sys.stderr)
    return 0


def _rows(model: Any, path: str | None, options: argparse.Namespace) -> tuple[Any, Any] | None:
    """The columns of the model, and the target."""
    from electorate.tables.reading import read_table
    from electorate.tables.source import MISSING, Source
    from electorate.tables.streaming import kinds_of, names_of

    if path is None:
        return None
    names = names_of(model)
    missing = (*MISSING, *options.missing)
    source = Source(path, options.format, kinds_of(model, names), missing, (), options.delimiter or "")
    X, y = read_table(source, options.target or _target(source, names))
    return X.select(names), y


def _target(source: Any, names: list[str]) -> str:
    others = [name for name in _columns(source) if name not in names]
    if len(others) != 1:
        known = ", ".join(literal(name) for name in others[:5]) or "no column"
        raise source.error(f"which column is predicted? Say --target COLUMN: the model does not use {known}")
    return others[0]


def _columns(source: Any) -> list[str]:
    from io import BytesIO

    from electorate.tables.reading import pyarrow_reader
    from electorate.tables.source import read_header

    if source.path == "-":
        raise source.error("which column is predicted? Say --target COLUMN: standard input is read once")
    if source.is_text:
        return read_header(source, source.open())[0]
    return [str(name) for name in pyarrow_reader(source, BytesIO(source.open().read())).column_names]


def _share(text: str) -> float:
    try:
        delta = float(text)
    except ValueError:
        delta = -1.0
    if not 0 < delta < 1:
        raise argparse.ArgumentTypeError(f"{literal(text)!r} is no number between 0 and 1")
    return delta
