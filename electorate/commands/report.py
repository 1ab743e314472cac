"""`electorate report`: a model and rows with labels as one HTML file."""

import argparse
import os
import shlex
import sys

from electorate.commands.model_rows import read_rows
from electorate.commands.options import add_model_and_table, add_skip_option, add_table_options, refuse_own_input
from electorate.text import check_writable, literal

EXAMPLES = """examples:
  electorate report adult.model unseen.csv --target income -o report.html
The file is self-contained and loads nothing. Use rows that were not used for training: the errors of training rows are
too low."""


def add_options(one: argparse.ArgumentParser) -> None:
    add = one.add_argument
    add_model_and_table(one)
    add("--target", metavar="COLUMN", required=True, help="the column with the labels or targets")
    add("-o", "--out", default="report.html", metavar="FILE", help="the HTML file to write (report.html)")
    add("--title", default="", help="the heading (the name of the table)")
    add_skip_option(one)
    add_table_options(one)


def run(options: argparse.Namespace) -> int:
    from electorate import load
    from electorate.report import html_report

    check_writable(options.out)
    refuse_own_input("--out", options.out, {"the model": options.model, "the table": options.table})
    model = load(options.model, foreign=options.trust)
    X, y = read_rows(model, options)
    title = options.title or f"{type(model).__name__} on {os.path.basename(options.table)}"
    command = shlex.join(
        ["electorate", "report", options.model, options.table, "--target", options.target, "-o", options.out]
    )
    page = html_report(model, X, y, path=options.out, title=title, command=command)
    print(f"{literal(options.out)}: {len(page.encode()) / 1024:.0f} kB", file=sys.stderr)
    return 0
