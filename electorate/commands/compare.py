"""`electorate compare`: the main job. A ranked table to standard output; results and models to a folder."""

import argparse
import errno
import os
import sys
from typing import Any

from electorate.escape import literal
from electorate.safe_write import check_writable

EXAMPLES = """examples:
  electorate compare                                    a built-in data set, for a first look
  electorate compare adult.csv.gz --target income
  electorate compare adult.csv.gz --target income --time 60 --with hgb
  electorate compare adult.csv.gz:income titanic.csv:survived wine.csv --target class
several tables end with tests over all of them; FILE:COLUMN names the target of one.
stopped by Ctrl-C or a crash? The same command goes on where it was."""


def add_options(one: argparse.ArgumentParser) -> None:
    from electorate.cli import add_training_options

    one.add_argument(
        "tables", nargs="*", metavar="TABLE", help="CSV, TSV, Parquet or Arrow, plain or gzipped; - is standard input"
    )
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
    if len(options.tables) > 1:
        from electorate.commands.compare_many import run_all

        return run_all(options)
    one = with_target(options, options.tables[0] if options.tables else None)
    folder = options.out or ("breast-cancer.compare" if one.table is None else folder_of(one.table))
    check_folder(folder)
    found = compare_table(one, _example() if one.table is None else read(one), folder, options.time)
    print(found)
    if not found.ranking.lines:
        return 1
    for line in _next_steps(one, found, folder):
        print(line, file=sys.stderr)
    return 0


def check_folder(folder: str) -> None:
    """Raise before the work what making the folder, or writing into it, would raise."""
    there = os.path.abspath(folder)
    while not os.path.lexists(there):
        there = os.path.dirname(there)
    if not os.path.isdir(there):
        raise NotADirectoryError(errno.ENOTDIR, "--out must be a folder, and this is none", there)
    check_writable(os.path.join(there, "new"))


def with_target(options: argparse.Namespace, table: str | None) -> argparse.Namespace:
    """Options for one table; FILE:COLUMN says its target, unless there is a file of that very name."""
    target = options.target
    if table is not None and not os.path.exists(table):
        path, sign, column = table.rpartition(":")
        if sign and path and column and os.path.exists(path):
            table, target = path, column
    return argparse.Namespace(**{**vars(options), "table": table, "target": target})


def compare_table(options: argparse.Namespace, data: Any, folder: str, seconds: float | None) -> Any:
    """data: as `read` returns it."""
    from electorate.comparison.compare import compare

    with data.by_line():
        return compare(
            data.X,
            data.y,
            sample_weight=data.weight,
            algorithms=options.algorithm,
            peers=options.peers,
            folds=options.folds,
            locked=options.locked,
            time_limit=seconds,
            task=options.task,
            n_jobs=options.jobs,
            seed=options.seed,
            folder=folder,
            progress=not options.quiet,
        )


def read(options: argparse.Namespace) -> Any:
    """The columns, the target and the weights of a table."""
    from electorate.cli import source_of
    from electorate.tables.reading import TableRequest, read_training, refuse_no_target

    source = source_of(options)
    if options.target is None:
        refuse_no_target(source)
    found = read_training(source, TableRequest(options.target, options.weights, None, options.skip_missing_target))
    if found.n_skipped:
        print(f"{source.name}: {found.n_skipped} rows without a target left out", file=sys.stderr)
    return found


def _example() -> Any:
    from sklearn.datasets import load_breast_cancer

    from electorate.tables.reading import RowLocator, TrainingTable
    from electorate.tables.source import Source

    data = load_breast_cancer()
    print("no table given: comparing on breast cancer, a data set of scikit-learn", file=sys.stderr)
    return TrainingTable(data.data, data.target_names[data.target], None, RowLocator(Source("breast cancer"), None))


def name_of(table: str) -> str:
    """Of a table: its file's, without endings."""
    if table == "-":
        return "stdin"
    return os.path.splitext(os.path.basename(table).removesuffix(".gz"))[0]


def folder_of(table: str) -> str:
    return name_of(table) + ".compare"


def _next_steps(options: argparse.Namespace, found: Any, folder: str) -> list[str]:
    from electorate.comparison.compare import BOUNDED, FINAL, RESULTS

    shown = literal(folder)
    lines = [f"\n{shown}/{RESULTS}: the table"]
    if os.path.exists(os.path.join(folder, FINAL)):
        name = literal(found.stored)
        about = "the bound is about this model" if found.bounds else "tested on them"
        lines += [
            f"{shown}/{BOUNDED}: {name}, trained without the test rows; {about}",
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
