"""`electorate data`: lists the papers' data sets; fetches one from OpenML, or copies it from a folder."""

import argparse
import csv
import io
import os
import sys
from typing import Any

from electorate.text import check_writable, literal, write_text, writing

EXAMPLES = """examples:
  electorate data                          list the data sets
  electorate data letter --out letter.csv  from OpenML
  electorate data letter --out letter.csv --folder /srv/data
A folder holds NAME.csv.gz or NAME.csv; ELECTORATE_DATA names the default."""

# Name, number at OpenML, and the name there. The version is that with the papers' rows and classes, if there is one. A
# wrong number does no harm, since the name is checked.
SETS_AT_OPENML = """
abalone 183 abalone, adult 1590 adult, australian 40981 Australian, balance_scale 11 balance-scale,
breast_w 15 breast-w, bupa 8 liver-disorders, car 40975 car, cmc 23 cmc, covtype 1596 covertype,
credit_crx 29 credit-approval, ecoli 39 ecoli, german 31 credit-g, glass 41 glass, heart_statlog 53 heart-statlog,
hepatitis 55 hepatitis, house_votes 56 vote, ionosphere 59 ionosphere, letter 6 letter, mnist 554 mnist_784,
monks1 333 monks-problems-1, monks2 334 monks-problems-2, monks3 335 monks-problems-3, mushroom 24 mushroom,
optdigits 28 optdigits, pima 37 diabetes, ringnorm 1496 ringnorm, segment 36 segment, spambase 44 spambase,
splice 46 splice, tic_tac_toe 50 tic-tac-toe, titanic 40704 Titanic, twonorm 1507 twonorm, vehicle 54 vehicle
"""
SETS = {name: (int(number), called) for name, number, called in map(str.split, SETS_AT_OPENML.split(","))}
UNCONFIRMED = ("bupa", "titanic")  # numbers that were not found in an independent list
ENDINGS = (".csv.gz", ".csv")


def add_options(one: argparse.ArgumentParser) -> None:
    one.add_argument("name", nargs="?", help="the name of a data set")
    one.add_argument("--out", metavar="FILE", help="the CSV file to write; the last column is the target")
    one.add_argument("--folder", default=os.environ.get("ELECTORATE_DATA"), help="a folder with data sets")


def run(options: argparse.Namespace) -> int:
    from electorate.tables.source import Source

    name, folder = options.name, options.folder
    if name is None:
        found = os.listdir(folder) if folder is not None else []
        local = {file.split(".")[0] for file in found if file.endswith(ENDINGS)}
        for name in sorted({*SETS, *local}):
            number, called = SETS.get(name, (0, ""))
            doubt = ", unconfirmed" if name in UNCONFIRMED else ""
            homes = ["folder"] * (name in local) + [f"OpenML {number} ({called}{doubt})"] * (name in SETS)
            print(f"{literal(name)}\t{', '.join(homes)}")
        return 0
    if options.out is None:
        raise ValueError("--out is missing: electorate data NAME --out FILE")
    check_writable(options.out)
    is_local = folder is not None and os.path.basename(name) == name
    paths = [os.path.join(folder, name + ending) for ending in ENDINGS] if is_local else []
    path = next((path for path in paths if os.path.exists(path)), None)
    if path is not None:
        opened = Source(path).open()
        with writing(options.out) as file:
            while part := opened.read(2**20):
                file.write(part)
    elif name in SETS:
        write_text(options.out, _fetch(*SETS[name]))
    else:
        raise ValueError(f"no data set is called {literal(name)!r}: electorate data lists them")
    print(literal(options.out), file=sys.stderr)
    return 0


def _fetch(number: int, name: str) -> str:
    """A data set of OpenML, as CSV."""
    from sklearn.datasets import fetch_openml

    try:
        data = fetch_openml(data_id=number, as_frame=False, parser="liac-arff")
    except OSError as error:
        raise OSError(f"OpenML cannot be reached ({error}): use --folder with a folder that has the data") from None
    found = str(data.details.get("name", ""))
    if found.casefold() != name.casefold():
        raise ValueError(f"OpenML {number} is {literal(found)!r}, not {name!r}: nothing is written; use --folder")
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*data.feature_names, "target"])
    categories = [data.categories.get(name) for name in data.feature_names]
    for row, label in zip(data.data, data.target, strict=True):
        writer.writerow([*map(_text, row, categories), label])
    return text.getvalue()


def _text(value: Any, categories: list[Any] | None) -> str:
    """A cell: integers without a fraction, nothing for a missing value, categories by their names."""
    if value is None or value != value:
        return ""
    if categories is not None:
        return str(categories[int(value)])
    return repr(int(value)) if isinstance(value, float) and value == int(value) else str(value)
