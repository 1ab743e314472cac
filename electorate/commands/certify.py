"""`electorate certify`: bounds on the risk of a model, from held-out rows and from its training rows."""

import argparse
import json
import sys
from typing import Any

from electorate.commands.model_rows import read_labelled
from electorate.commands.options import add_model, add_skip_option, add_table_options, in_options, source_of
from electorate.commands.scanned import add_scan_option, scan_labelled, wants_scan
from electorate.text import literal

EXAMPLES = """examples:
  electorate certify adult.model --heldout unseen.csv --target income
  electorate certify adult.model --heldout unseen.csv --train adult.csv.gz --delta 0.01 --json
Held-out rows must not have been used for training: the model stores hashes of its training rows and refuses them."""


def add_options(one: argparse.ArgumentParser) -> None:
    add = one.add_argument
    add_model(one)
    add("--heldout", metavar="TABLE", help="rows that were not used for training: CSV, TSV, Parquet, Arrow")
    add("--train", metavar="TABLE", help="the training rows")
    add("--target", metavar="COLUMN", help="the column to predict (the only one that the model does not use)")
    add("--delta", type=_share, default=0.05, help="probability that a bound fails (0.05)")
    add("--eps", type=_distance, help="for regression: larger absolute errors count as errors (the model's)")
    add("--allow-equal-rows", action="store_true", help="held-out rows may equal training rows, by coincidence")
    add("--json", action="store_true", help="print JSON")
    add_skip_option(one)
    add_scan_option(one)
    add_table_options(one)


def _share(text: str) -> float:
    try:
        delta = float(text)
    except ValueError:
        delta = -1.0
    if not 0 < delta < 1:
        raise argparse.ArgumentTypeError(f"{literal(text)!r} is not a number between 0 and 1")
    return delta


def _distance(text: str) -> float:
    try:
        eps = float(text)
    except ValueError:
        eps = -1.0
    if not 0 <= eps < float("inf"):
        raise argparse.ArgumentTypeError(f"{literal(text)!r} is not a finite number from 0 on")
    return eps


def run(options: argparse.Namespace) -> int:
    from electorate import certificate, load

    if options.heldout is None and options.train is None:
        raise ValueError("add --heldout TABLE, --train TABLE or both: a bound needs rows")
    model = load(options.model, foreign=options.trust)
    if options.eps is not None and hasattr(model, "classes_"):
        raise ValueError("--eps is for regression, and this model predicts classes: leave it out")
    rows: Any = {name: _rows(model, name, options) for name in ("train", "heldout")}
    equal = "allow" if options.allow_equal_rows else "refuse"
    found = certificate(model, **rows, delta=options.delta, eps=options.eps, equal_rows=equal)
    print(json.dumps(found.to_dict(), indent=1) if options.json else in_options(str(found), options))
    print(f"{literal(options.model)}: digest {model.digest_}", file=sys.stderr)
    return 0


def _rows(model: Any, name: str, options: argparse.Namespace) -> tuple[Any, Any] | None:
    """The columns of the model, and the target; large tables are scanned."""
    path = getattr(options, name)
    if path is None:
        return None
    source = source_of(options, path)
    if model.cleaning_ is None and wants_scan(options, source):
        return scan_labelled(model, source, options)
    return read_labelled(model, path, options)[:2]
