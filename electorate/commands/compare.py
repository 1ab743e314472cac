"""`electorate compare`: the main job. A ranked table to standard output; results and models to a folder."""

import argparse
import os
import sys
from typing import Any

from electorate.shown import literal

EXAMPLES = """examples:
  electorate compare                                    a built-in data set, for a first look
  electorate compare adult.csv.gz --target income
  electorate compare adult.csv.gz --target income --time 60 --with hgb
stopped by Ctrl-C or a crash? The same command goes on where it was."""


def add_options(one: argparse.ArgumentParser) -> None:
    from electorate.cli import add_training_options

    one.add_argument("table", nargs="?", help="CSV, TSV, Parquet or Arrow, plain or gzipped; - is standard input")
    add_training_options(one)
    one.add_argument(
        "--task", choices=("auto", "classification", "regression"), default="auto", help="what the target is"
    )
    one.add_argument("--out", metavar="FOLDER", help="for results, models and what is needed to go on")
    one.add_argument("--time", type=_seconds, metavar="SECONDS", help="for the comparison, e.g. 60 or 5m")
    one.add_argument("--with", dest="peers", type=_names, default=[], metavar="PEERS", help="hgb,xgboost,lightgbm,...")
    one.add_argument("--algorithm", action="append", metavar="NAME", help="only this one; may be repeated")
    one.add_argument("--folds", type=int, help="of the cross-validation")
    one.add_argument("--locked", type=float, default=0.2, help="share of rows set aside for the bound (0.2)")
    one.add_argument("--seed", type=int, default=0, help="the same seed gives the same table (0)")
    one.add_argument("--jobs", type=int, metavar="N", help="processes; all CPUs by default")
    one.add_argument("--quiet", action="store_true", help="no progress")


def run(options: argparse.Namespace) -> int:
    from electorate.comparison.compare import compare

    X, y, folder = _data(options)
    found = compare(
        X,
        y,
        algorithms=options.algorithm,
        peers=options.peers,
        folds=options.folds,
        locked=options.locked,
        time_limit=options.time,
        task=options.task,
        n_jobs=options.jobs,
        seed=options.seed,
        folder=folder,
        progress=not options.quiet,
    )
    print(found)
    if not found.ranking.lines:
        return 1
    for line in _next_steps(options, found, folder):
        print(line, file=sys.stderr)
    return 0


def _data(options: argparse.Namespace) -> tuple[Any, Any, str]:
    if options.table is None:
        from sklearn.datasets import load_breast_cancer

        data = load_breast_cancer()
        print("no table given: comparing on breast cancer, a data set of scikit-learn", file=sys.stderr)
        return data.data, data.target_names[data.target], options.out or "breast-cancer.compare"
    from electorate.cli import source_of
    from electorate.tables.reading import read_table

    if options.target is None:
        raise ValueError("which column is to be predicted? Say --target COLUMN")
    X, y = read_table(source_of(options), options.target)
    return X, y, options.out or _folder_of(options.table)


def _folder_of(table: str) -> str:
    if table == "-":
        return "stdin.compare"
    base = os.path.basename(table).removesuffix(".gz")
    return os.path.splitext(base)[0] + ".compare"


def _next_steps(options: argparse.Namespace, found: Any, folder: str) -> list[str]:
    from electorate.comparison.compare import BOUNDED, FINAL, RESULTS

    shown = literal(folder)
    lines = [f"\n{shown}/{RESULTS}: the table"]
    if os.path.exists(os.path.join(folder, FINAL)):
        name = literal(found.stored)
        lines += [
            f"{shown}/{BOUNDED}: {name}, trained without the locked rows; the bound is about this model",
            f"{shown}/{FINAL}: {name}, refitted on all rows; it carries no bound",
        ]
        if options.table is not None:
            lines.append(f"to predict: electorate predict {shown}/{FINAL} NEW_TABLE --out predictions.csv")
    else:
        lines.append(
            f"{literal(found.stored)} has no file format: from Python, electorate.compare(...).model is the winner"
        )
    if found.not_run:
        lines.append("the same command without --time goes on with what was not run")
    return lines


def _seconds(text: str) -> float:
    units = {"s": 1, "m": 60, "h": 3600}
    number, unit = (text[:-1], text[-1]) if text[-1:] in units else (text, "s")
    try:
        return float(number) * units[unit]
    except ValueError:
        raise argparse.ArgumentTypeError(f"{literal(text)!r} is no time: 90, 90s, 5m or 1h") from None


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]
