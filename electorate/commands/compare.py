"""`electorate compare`: says which model to use, and writes the results, a report and the model to a folder.

With several tables, each is compared in a folder of its own; then tests over all of them follow.
"""

import argparse
import errno
import os
import shlex
import sys
import time
from contextlib import suppress
from typing import Any

from electorate.commands.options import TABLE, add_training_options, read, source_of, split_names
from electorate.commands.scanned import ScannedData, add_scan_option, announce, read_scanned, wants_scan
from electorate.text import check_writable, literal, write_text

EXAMPLES = """examples:
  electorate compare                                    a built-in data set, for a first look
  electorate compare adult.csv.gz --target income
  electorate compare adult.csv.gz --target income --time-limit 60 --peers hgb,lightgbm
  electorate compare loans.csv --target default --metric auc --time-column date --prefer readable
  electorate compare adult.csv.gz:income titanic.csv:survived wine.csv --target class
With several tables, tests over all of them follow; FILE:COLUMN names the target of one.
After Ctrl-C or a crash the same command resumes."""
PASSED = (  # that `compare` takes
    *("algorithms", "peers", "metric", "prefer", "folds", "test_fraction", "certify", "stack", "sample_rows", "quick"),
    *("task", "positive", "check_up", "n_jobs", "seed", "replay", "time_column"),
)
FORMATS = ("text", "markdown", "json")
METRICS = ("error", "balanced_error", "auc", "log_loss", "f1", "mae", "rmse")
REPORT = "report.html"
STARTING = 0.5  # seconds before this module was imported, where the system does not tell
LEAST_SECONDS = 1.0  # of a time limit, where reading the table took all of it
ERRORS, PAIRS = "errors.csv", "pairs.csv"  # of several tables


def add_options(one: argparse.ArgumentParser) -> None:
    add = one.add_argument
    add("tables", nargs="*", metavar="TABLE", help=TABLE)
    add_training_options(one)
    folder = "the folder for the results, the report and the models (TABLE.compare)"
    add("--folder", "--out", dest="folder", metavar="FOLDER", help=folder)
    limit = "a limit for the whole run, refits included, e.g. 60 or 5m"
    add("--time-limit", "--time", dest="time_limit", type=_seconds, metavar="SECONDS", help=limit)
    add("--quick", action="store_true", help="one setting per algorithm, three folds, no slow algorithms")
    add("--metric", choices=METRICS, help="what models are ranked by (error; mae for regression)")
    prefer = "hand over the most accurate model (default), or the fastest or most readable of those nearly as good"
    add("--prefer", choices=("accuracy", "speed", "readable"), default="accuracy", help=prefer)
    add("--positive", metavar="LABEL", help="the class that F1 and the report are about (the rarer of two)")
    add("--group", metavar="COLUMN", help="a column whose equal values stay together in every split; no feature")
    by_time = "train on earlier rows and test on later ones; the column is used as trend, month, weekday and hour"
    add("--time-column", metavar="COLUMN", help=by_time)
    peers = "other models to compare with (linear,forest,extra_trees,hgb); also lightgbm, xgboost, catboost"
    add("--peers", "--with", dest="peers", type=split_names, metavar="NAMES", help=peers)
    only = "compare only this algorithm; can be repeated; all: every algorithm of this package"
    add("--algorithm", "--algorithms", action="append", dest="algorithms", metavar="NAME", help=only)
    add("--folds", type=int, help="number of folds of the cross-validation")
    share = "share of the rows held out as test rows (0.2, at most 10,000 rows, from 2,000 rows on)"
    add("--test-fraction", type=float, metavar="SHARE", help=share)
    certify = "also cross-fit the winner on all rows, with a bound that covers the choice among all settings"
    add("--certify", choices=("crossfit",), help=certify)
    add("--no-stack", dest="stack", action="store_false", help="hand over a single model, no stack of several")
    sample = "for a table that is read batch by batch: the number of sampled rows (200,000, or what fits into memory)"
    add("--sample-rows", type=int, metavar="N", help=sample)
    add_scan_option(one)
    add("--seed", type=int, default=0, help="the same seed gives the same table (0)")
    add("--n-jobs", "--jobs", type=int, dest="n_jobs", metavar="N", help="number of processes (all CPUs, as with -1)")
    replay = "the folder of a comparison that a time limit cut short: use the same fits, for the same result"
    add("--replay", metavar="FOLDER", help=replay)
    add("--output", choices=FORMATS, default="text", help="how the answer is printed (text)")


def _seconds(text: str) -> float:
    units = {"s": 1, "m": 60, "h": 3600}
    number, unit = (text[:-1], text[-1]) if text[-1:] in units else (text, "s")
    try:
        return float(number) * units[unit]
    except ValueError:
        raise argparse.ArgumentTypeError(f"{literal(text)!r} is not a time: 90, 90s, 5m or 1h") from None


def run(options: argparse.Namespace) -> int:
    if len(options.tables) > 1:
        return _run_all(options)
    started = time.monotonic()
    one = _with_target(options, options.tables[0] if options.tables else None)
    folder = options.folder or ("breast-cancer" if one.table is None else _name(one.table)) + ".compare"
    _check_folder(folder)
    if not options.quiet:
        what = f"reading {literal(one.table)}" if one.table else "no table given: breast cancer, a set of scikit-learn"
        print(what, file=sys.stderr, flush=True)
    data = _example() if one.table is None else _read(one)
    spent = _since_start(STARTING + time.monotonic() - started)
    comparison = _compare(one, data, folder, None if options.time_limit is None else options.time_limit - spent)
    print(_printed(comparison, options.output, _next_steps(one, comparison, folder)))
    _write_report(comparison, folder, _name(one.table or "breast-cancer"))
    return 0


def _since_start(otherwise: float) -> float:
    """Seconds since the process of this command was started (Linux): a busy machine takes long to import."""
    if sys.argv[1:2] != ["compare"]:  # called by a program
        return otherwise
    with suppress(OSError, ValueError, IndexError, AttributeError):
        with open("/proc/self/stat") as file:
            ticks = int(file.read().rpartition(")")[2].split()[19])  # starttime, see proc(5)
        spent = time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")
        return max(spent, otherwise - STARTING)
    return otherwise


def _printed(comparison: Any, output: str, steps: list[str]) -> str:
    """The answer and the table as text, Markdown or JSON."""
    if output == "json":
        return str(comparison.to_json())
    if output == "markdown":
        return str(comparison.to_markdown())
    text = str(comparison)
    head, sign, rest = text.partition("\n\n" + comparison.head)
    return head + "\n" + "\n".join(steps) + sign + rest


def _read(options: argparse.Namespace) -> Any:
    """The table, in memory or as a scan, with a line about what that takes."""
    from electorate.comparison.scanned import rows_to_sample
    from electorate.data.targets import guess_task

    source = source_of(options)
    if not wants_scan(options, source):
        return read(options, source)
    for name in ("group", "time_column"):
        if getattr(options, name) is not None:
            raise source.error(f"--{name.replace('_', '-')} needs the table in memory: add --scan never")
    data = read_scanned(options, source)
    n_rows = options.sample_rows or rows_to_sample(len(data.X.columns))
    more = f"; algorithms are compared on a sample of at most {n_rows:,} rows"
    announce(data, source, guess_task(data.labels) if options.task == "auto" else options.task, sys.stderr, more)
    return data


def _write_report(found: Any, folder: str, title: str) -> None:
    from electorate.report.comparison_report import comparison_report

    command = shlex.join(["electorate", *sys.argv[1:]]) if sys.argv[1:2] == ["compare"] else ""
    comparison_report(found, os.path.join(folder, REPORT), title=title, command=command)


def _with_target(options: argparse.Namespace, table: str | None) -> argparse.Namespace:
    """Options for one table; FILE:COLUMN names its target, unless there is a file of exactly that name."""
    target = options.target
    if table is not None and not os.path.exists(table):
        path, sign, column = table.rpartition(":")
        if sign and path and column and os.path.exists(path):
            table, target = path, column
    return argparse.Namespace(**{**vars(options), "table": table, "target": target})


def _name(table: str) -> str:
    """The name of the file, without endings."""
    return "stdin" if table == "-" else os.path.splitext(os.path.basename(table).removesuffix(".gz"))[0]


def _check_folder(folder: str) -> None:
    """Raise before the work what creating the folder, or writing into it, would raise."""
    existing = os.path.abspath(folder)
    while not os.path.lexists(existing):
        existing = os.path.dirname(existing)
    if not os.path.isdir(existing):
        raise NotADirectoryError(errno.ENOTDIR, "--folder must be a folder, and this is not one", existing)
    check_writable(os.path.join(existing, "new"))


def _example() -> Any:
    from sklearn.datasets import load_breast_cancer

    from electorate.tables.reading import TrainingTable
    from electorate.tables.source import Source
    from electorate.tables.text import RowLocator

    data = load_breast_cancer()
    return TrainingTable(data.data, data.target_names[data.target], None, RowLocator(Source("breast cancer")))


def _compare(options: argparse.Namespace, data: Any, folder: str, seconds: float | None) -> Any:
    from electorate.comparison.compare import compare
    from electorate.data.targets import guess_task

    X, group, names = data.X, None, getattr(data.X, "column_names", [])
    for name in ("group", "time_column"):
        if getattr(options, name) not in (None, *names):
            there = f"there is no column {literal(getattr(options, name))!r} in the table"
            raise ValueError(f"--{name.replace('_', '-')}: {there}")
    if options.group is not None:
        X, group = X.drop_columns([options.group]), X.column(options.group).to_numpy()
    passed = {name: getattr(options, name) for name in PASSED} | {"group": group}
    passed |= {
        "keep": list(dict(options.type)),
        "sample_weight": data.weight,
        "time_limit": None if seconds is None else max(seconds, LEAST_SECONDS),
        "folder": folder,
        "progress": not options.quiet,
    }
    if isinstance(data, ScannedData) and options.task == "auto":  # by the labels of all rows, not only of the sample
        passed["task"] = guess_task(data.labels)
    with data.by_line():
        return compare(X, data.y, **passed)


def _next_steps(options: argparse.Namespace, comparison: Any, folder: str) -> list[str]:
    """What to type next."""
    from electorate.comparison.result import BOUNDED, FINAL
    from electorate.model.files import foreign_models

    path, lines = literal(folder), []
    if options.table is not None and os.path.exists(os.path.join(folder, FINAL)):
        trust = " --trust" if foreign_models(comparison.model) else ""
        lines.append(f"   next:   electorate predict{trust} {path}/{FINAL} new.csv")
    lines.append(f"   report: {path}/{REPORT}")
    if comparison.tests:
        lines.append(f"   tested: {path}/{BOUNDED}")
    if comparison.certified is not None:
        python = f"electorate.compare(X, y, certify={comparison.certify!r}, ...).certified.model"
        lines += ["   the cross-fitted model is not stored; in Python, with the same options:", f"   {python}"]
    return [*lines, *_resume([comparison])]


def _resume(found: list[Any]) -> list[str]:
    is_partial = any(one.is_partial for one in found)
    return ["   the same command without --time-limit continues with what was not run"] if is_partial else []


# ---------------------------------------------------------------- several tables


def _run_all(options: argparse.Namespace) -> int:
    """Compare each table, then all of them. Every table is read first, to find errors before the work."""
    tables = [_with_target(options, table) for table in options.tables]
    if any(table.table == "-" for table in tables):
        raise ValueError("standard input cannot be one of several tables: use files")
    names = [_name(table.table) for table in tables]
    for i, name in enumerate(names):
        if name in names[:i]:
            both = f"{literal(options.tables[names.index(name)])} and {literal(options.tables[i])}"
            raise ValueError(f"{both} have the same name: rename one of them")
    folder = options.folder or "tables.compare"
    _check_folder(folder)
    sizes = _check_tasks(names, tables)
    os.makedirs(folder, exist_ok=True)
    deadline = None if options.time_limit is None else time.monotonic() + options.time_limit
    found: dict[str, Any] = {}
    for i, (name, table) in enumerate(zip(names, tables, strict=True)):
        size = "" if sizes[i] is None else f"{sizes[i]} rows, "
        print(f"{literal(name)}: {size}table {i + 1} of {len(tables)}", file=sys.stderr)
        data, seconds = _read(table), None
        if deadline is not None:  # an equal share of the time left; more than 0, so that a folder is made
            seconds = max(0.001, (deadline - time.monotonic()) / (len(tables) - i))
        found[name] = _compare(table, data, os.path.join(folder, name + ".compare"), seconds)
        _write_report(found[name], os.path.join(folder, name + ".compare"), name)
        print(f"{literal(name)}\n\n{found[name]}\n", flush=True)
    return _conclude(found, folder)


def _check_tasks(names: list[str], tables: list[argparse.Namespace]) -> list[int | None]:
    """The number of rows of each table, if it is known; classification and regression have no algorithm in common."""
    from electorate.data.targets import guess_task

    sizes: list[int | None] = []
    tasks: dict[str, str] = {}
    for name, table in zip(names, tables, strict=True):
        data = _read(table)
        is_scanned = isinstance(data, ScannedData)
        y = data.labels if is_scanned else data.y
        sizes.append(data.X.source.n_rows if is_scanned else len(y))
        tasks.setdefault(guess_task(y) if table.task == "auto" else table.task, literal(name))
    if len(tasks) > 1:
        one, other = tasks["classification"], tasks["regression"]
        raise ValueError(f"{one} is classification and {other} is regression: compare them separately, or add --task")
    return sizes


def _conclude(found: dict[str, Any], folder: str) -> int:
    from electorate.comparison.over_tables import compare_over

    over = compare_over(found)
    print(over)
    write_text(os.path.join(folder, ERRORS), over.errors_csv)
    write_text(os.path.join(folder, PAIRS), over.pairs_csv)
    path = literal(folder)
    lines = [
        f"\n{path}/{ERRORS}, {path}/{PAIRS}: errors, and all pairs with their tests",
        f"{path}/NAME.compare: results and models of each table",
    ]
    print("\n".join(lines + _resume(list(found.values()))), file=sys.stderr)
    return 0
