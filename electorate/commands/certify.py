"""`electorate certify`: what is proved of a model, from held-out rows and from those it was fitted to."""

import argparse
import json
import sys
from typing import Any

from electorate.escape import literal

EXAMPLES = """examples:
  electorate certify adult.model --heldout unseen.csv --target income
  electorate certify adult.model --heldout unseen.csv --train adult.csv.gz --delta 0.01 --json
Held-out rows must have taken no part in fitting: the model remembers its rows, and refuses them."""


def add_options(one: argparse.ArgumentParser) -> None:
    from electorate.cli import add_skip_option, add_table_options

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
    add_skip_option(one)
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
    from dataclasses import replace

    from electorate.cli import source_of
    from electorate.tables.reading import TableRequest, read_training
    from electorate.tables.streaming import kinds_of, names_of

    if path is None:
        return None
    names = names_of(model)
    source = replace(source_of(options, path), types=kinds_of(model, names))
    target = options.target or _target(source, names)
    found = read_training(source, TableRequest(target, None, names, options.skip_missing_target))
    if found.n_skipped:
        print(f"{source.name}: {found.n_skipped} rows without a target left out", file=sys.stderr)
    return found.X.select(names), found.y


def _target(source: Any, names: list[str]) -> str:
    from electorate.tables.reading import column_names
    from electorate.tables.source import list_names

    if not source.is_file:
        raise source.error("which column is predicted? Add --target COLUMN: this table can be read only once")
    known = set(names)
    others = [name for name in column_names(source) if name not in known]
    if len(others) != 1:
        unused = list_names(others) if others else "no column"
        raise source.error(f"which column is predicted? Add --target COLUMN: the model does not use {unused}")
    return others[0]


def _share(text: str) -> float:
    try:
        delta = float(text)
    except ValueError:
        delta = -1.0
    if not 0 < delta < 1:
        raise argparse.ArgumentTypeError(f"{literal(text)!r} is no number between 0 and 1")
    return delta
