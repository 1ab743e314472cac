"""`electorate compare TABLE TABLE ...`: each table as if it were alone, then the tests over all of them.

Every table has a folder of its own in one folder, so a run that was stopped goes on where it was.
"""

import argparse
import os
import sys
import time
from typing import Any

from electorate.commands import compare as one_table
from electorate.escape import literal

FOLDER = "tables.compare"
ERRORS, PAIRS = "errors.csv", "pairs.csv"


def run_all(options: argparse.Namespace) -> int:
    """Every table is read before the first is compared: a mistake in the last one shows at once."""
    tables = [one_table.with_target(options, table) for table in options.tables]
    names = _names(options.tables, tables)
    folder = options.out or FOLDER
    one_table.check_folder(folder)
    sizes = _sizes(names, tables)
    os.makedirs(folder, exist_ok=True)
    ended = None if options.time is None else time.monotonic() + options.time
    found: dict[str, Any] = {}
    for i, (name, table) in enumerate(zip(names, tables, strict=True)):
        print(f"{literal(name)}: {sizes[i]} rows, table {i + 1} of {len(tables)}", file=sys.stderr)
        own = os.path.join(folder, name + ".compare")
        found[name] = one_table.compare_table(table, one_table.read(table), own, _share(ended, len(tables) - i))
        print(f"{literal(name)}\n\n{found[name]}\n", flush=True)
    return _conclude(found, folder)


def _names(given: list[str], tables: list[argparse.Namespace]) -> list[str]:
    if any(table.table == "-" for table in tables):
        raise ValueError("standard input cannot be one of several tables: give files")
    names = [one_table.name_of(table.table) for table in tables]
    for i, name in enumerate(names):
        if name in names[:i]:
            raise ValueError(
                f"{literal(given[names.index(name)])} and {literal(given[i])} have the same name: rename one of them"
            )
    return names


def _sizes(names: list[str], tables: list[argparse.Namespace]) -> list[int]:
    """The rows of each; labels and quantities have no algorithm in common."""
    from electorate.comparison.rows import guess_task

    sizes: list[int] = []
    tasks: dict[str, str] = {}
    for name, table in zip(names, tables, strict=True):
        y = one_table.read(table).y
        sizes.append(len(y))
        tasks.setdefault(guess_task(y) if table.task == "auto" else table.task, literal(name))
    if len(tasks) > 1:
        labels, numbers = tasks["classification"], tasks["regression"]
        raise ValueError(f"{labels} has labels and {numbers} a quantity to predict: compare them apart, or say --task")
    return sizes


def _share(ended: float | None, n_left: int) -> float | None:
    """Of the time that is left, for the next of so many tables: never nothing, so that a folder is made."""
    return None if ended is None else max(0.001, (ended - time.monotonic()) / n_left)


def _conclude(found: dict[str, Any], folder: str) -> int:
    from electorate.comparison.over_tables import compare_over
    from electorate.safe_write import write_text

    ranked = {name: one for name, one in found.items() if one.ranking.lines}
    missing = [literal(name) for name in found if name not in ranked]
    if missing:
        print(f"without a result, for want of time: {', '.join(missing)}", file=sys.stderr)
    if len(ranked) < 2:
        print("nothing to say over data sets: fewer than two have a result", file=sys.stderr)
        return 1
    over = compare_over(ranked)
    print(over)
    write_text(os.path.join(folder, ERRORS), over.errors_csv)
    write_text(os.path.join(folder, PAIRS), over.pairs_csv)
    shown = literal(folder)
    print(f"\n{shown}/{ERRORS}, {shown}/{PAIRS}: errors, and all pairs with their tests", file=sys.stderr)
    print(f"{shown}/NAME.compare: what a comparison of one table writes", file=sys.stderr)
    if any(one.not_run for one in found.values()):
        print("the same command without --time goes on with what was not run", file=sys.stderr)
    return 0
