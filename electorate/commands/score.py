"""`electorate score`: the errors of a model on a table, with confidence intervals, confusion matrix and calibration."""

import argparse
import json
import sys

from electorate.commands.model_rows import read_labelled
from electorate.commands.options import add_model_and_table, add_skip_option, add_table_options
from electorate.text import literal

EXAMPLES = """examples:
  electorate score adult.model unseen.csv --target income
  electorate score adult.model unseen.csv --target income --json > scores.json
  electorate score adult.model unseen.csv --target income --csv > metrics.csv
Score rows that were not used for training; `electorate certify` refuses those that were."""


def add_options(one: argparse.ArgumentParser) -> None:
    add = one.add_argument
    add_model_and_table(one, "rows with their target: CSV, TSV, Parquet, Arrow")
    add("--target", metavar="COLUMN", help="the column to predict (the only one that the model does not use)")
    add("--weights", metavar="COLUMN", help="the column with the weights of the rows")
    add("--confidence", type=float, default=0.95, help="the confidence of each interval (0.95)")
    output = one.add_mutually_exclusive_group()
    output.add_argument("--json", action="store_true", help="print all of it as JSON")
    output.add_argument("--csv", action="store_true", help="print the metrics as CSV")
    add_skip_option(one)
    add_table_options(one)


def run(options: argparse.Namespace) -> int:
    from electorate import load, scores
    from electorate.comparison.report import as_csv

    model = load(options.model, foreign=options.trust)
    X, y, weight = read_labelled(model, options.table, options)
    found = scores(model, X, y, sample_weight=weight, confidence=options.confidence)
    if options.json:
        print(json.dumps(found.to_dict(), indent=1))
    else:
        print(as_csv(found.columns()).rstrip("\n") if options.csv else found)
    print(f"{literal(options.model)}: digest {model.digest_}", file=sys.stderr)
    return 0
