"""`electorate explain`: rules, shape functions and importances of a model, and an explanation of one prediction."""

import argparse

from electorate.commands.model_rows import read_rows
from electorate.commands.options import add_model_and_table, add_skip_option, add_table_options

EXAMPLES = """examples:
  electorate explain adult.model adult.csv.gz --target income
  electorate explain adult.model new.csv --row 1 --top 5
Without --target, importances are computed with the model's own predictions. Rows are counted from 1, without the
header."""


def add_options(one: argparse.ArgumentParser) -> None:
    add = one.add_argument
    add_model_and_table(one)
    add("--target", metavar="COLUMN", help="the column with the labels or targets, for importances")
    add("--row", type=int, metavar="N", help="also explain the prediction for this row, counted from 1")
    add("--top", type=int, default=10, metavar="N", help="how many columns, rules and voters to show (10)")
    add_skip_option(one)
    add_table_options(one)


def run(options: argparse.Namespace) -> int:
    from electorate import explain, load

    if options.top < 1:
        raise ValueError(f"--top {options.top}: show at least 1")
    model = load(options.model, foreign=options.trust)
    X, y = read_rows(model, options)
    if options.row is not None and not 1 <= options.row <= X.num_rows:
        raise ValueError(f"--row {options.row}: {options.table} has the rows 1 to {X.num_rows}")
    row = None if options.row is None else options.row - 1
    print(explain(model, X, y, row=row).to_text(options.top, first_row=1))
    return 0
