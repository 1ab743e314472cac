"""`electorate data`: the papers' data sets, listed; fetched from OpenML, or copied from a folder that has them."""

import argparse
import csv
import io
import os
import sys
from typing import Any

from electorate.escape import literal
from electorate.safe_write import check_writable, write_text, writing

EXAMPLES = """examples:
  electorate data                          what there is
  electorate data letter --out letter.csv  from OpenML
  electorate data letter --out letter.csv --folder /srv/data
A folder holds NAME.csv.gz or NAME.csv; ELECTORATE_DATA names one for good."""

# name: number and name at OpenML, of the version that has the papers' rows and classes, as far as there is one. What is
# fetched must bear that name, so a wrong number does no harm.
SETS = {
    "abalone": (183, "abalone"),
    "adult": (1590, "adult"),
    "australian": (40981, "Australian"),
    "balance_scale": (11, "balance-scale"),
    "breast_w": (15, "breast-w"),
    "bupa": (8, "liver-disorders"),
    "car": (40975, "car"),
    "cmc": (23, "cmc"),
    "covtype": (1596, "covertype"),
    "credit_crx": (29, "credit-approval"),
    "ecoli": (39, "ecoli"),
    "german": (31, "credit-g"),
    "glass": (41, "glass"),
    "heart_statlog": (53, "heart-statlog"),
    "hepatitis": (55, "hepatitis"),
    "house_votes": (56, "vote"),
    "ionosphere": (59, "ionosphere"),
    "letter": (6, "letter"),
    "mnist": (554, "mnist_784"),
    "monks1": (333, "monks-problems-1"),
    "monks2": (334, "monks-problems-2"),
    "monks3": (335, "monks-problems-3"),
    "mushroom": (24, "mushroom"),
    "optdigits": (28, "optdigits"),
    "pima": (37, "diabetes"),
    "ringnorm": (1496, "ringnorm"),
    "segment": (36, "segment"),
    "spambase": (44, "spambase"),
    "splice": (46, "splice"),
    "tic_tac_toe": (50, "tic-tac-toe"),
    "titanic": (40704, "Titanic"),
    "twonorm": (1507, "twonorm"),
    "vehicle": (54, "vehicle"),
}
UNCONFIRMED = ("bupa", "titanic")  # numbers that no independent list has shown us


def add_options(one: argparse.ArgumentParser) -> None:
    one.add_argument("name", nargs="?", help="of a data set")
    one.add_argument("--out", metavar="FILE", help="the CSV to write; the last column is the target")
    one.add_argument("--folder", default=os.environ.get("ELECTORATE_DATA"), help="where data sets are already")


def run(options: argparse.Namespace) -> int:
    if options.name is None:
        print("\n".join(_listed(options.folder)))
        return 0
    if options.out is None:
        raise ValueError("where to? Say --out FILE")
    check_writable(options.out)
    path = _local(options.folder, options.name)
    if path is not None:
        _copy(path, options.out)
    elif options.name in SETS:
        _write(options.out, _fetch(*SETS[options.name]))
    else:
        raise ValueError(f"no data set is called {literal(options.name)!r}: electorate data lists them")
    print(literal(options.out), file=sys.stderr)
    return 0


def _listed(folder: str | None) -> list[str]:
    there = set()
    if folder is not None:
        there = {name.split(".")[0] for name in os.listdir(folder) if name.endswith((".csv", ".csv.gz"))}
    lines = []
    for name in sorted({*SETS, *there}):
        homes = (["folder"] if name in there else []) + ([_at_openml(name)] if name in SETS else [])
        lines.append(f"{literal(name)}\t{', '.join(homes)}")
    return lines


def _at_openml(name: str) -> str:
    number, called = SETS[name]
    return f"OpenML {number} ({called}{', unconfirmed' if name in UNCONFIRMED else ''})"


def _local(folder: str | None, name: str) -> str | None:
    if folder is None or os.path.basename(name) != name:
        return None
    paths = [os.path.join(folder, name + ending) for ending in (".csv.gz", ".csv")]
    return next((path for path in paths if os.path.exists(path)), None)


def _copy(path: str, out: str) -> None:
    from electorate.tables.source import Source

    opened = Source(path).open()
    with writing(out) as file:
        while part := opened.read(2**20):
            file.write(part)


def _fetch(number: int, name: str) -> tuple[list[str], Any, Any]:
    from sklearn.datasets import fetch_openml

    try:
        data = fetch_openml(data_id=number, as_frame=False, parser="liac-arff")
    except OSError as error:
        raise OSError(f"OpenML cannot be reached ({error}): use --folder with a folder that has the data") from None
    found = str(data.details.get("name", ""))
    if found.casefold() != name.casefold():
        raise ValueError(f"OpenML {number} is {literal(found)!r}, not {name!r}: nothing is written; use --folder")
    return [*data.feature_names, "target"], data, data.target


def _write(out: str, fetched: tuple[list[str], Any, Any]) -> None:
    names, data, target = fetched
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(names)
    for row, label in zip(data.data, target, strict=True):
        cells = [_text(value, data.categories.get(name)) for name, value in zip(names, row, strict=False)]
        writer.writerow([*cells, label])
    write_text(out, text.getvalue())


def _text(value: Any, categories: list[Any] | None) -> str:
    """A number shortly, nothing for what is missing; categories by their names."""
    if value is None or value != value:
        return ""
    if categories is not None:
        return str(categories[int(value)])
    return repr(int(value)) if isinstance(value, float) and value == int(value) else str(value)
