"""`electorate reproduce`: a table or figure of a paper. Markdown to standard output, results to a folder."""

import argparse
import os
import sys
from importlib import import_module
from pathlib import Path

from electorate.commands.options import split_names
from electorate.escape import literal
from electorate.safe_write import check_writable, write_text

EXAMPLES = """examples:
  electorate reproduce quadboost                      list what can be reproduced
  electorate reproduce quadboost --table 1 --quick
  electorate reproduce adaboost_r --figure 5 --out figures    a picture; pip install 'electorate[plot]'
  electorate reproduce quadboost --table 1 --sets wine,zoo --data /srv/data
  electorate reproduce adaboost_r --figure 6 --quick
  electorate reproduce locmedboost --theorem 2
After Ctrl-C or a crash the same command resumes."""

STUDIES = (
    "adaboost_r",
    "certificates",
    "deepboost",
    "locmedboost",
    "peers",
    "quadboost",
    "vadaboost",
)  # modules of electorate.studies
NUMBERED = {"table": "", "figure": "", "theorem": " (runs an experiment that checks it)"}


def add_options(one: argparse.ArgumentParser) -> None:
    add = one.add_argument
    add("paper", choices=STUDIES, help="the paper")
    what = one.add_mutually_exclusive_group()
    for kind, more in NUMBERED.items():
        what.add_argument(f"--{kind}", type=int, metavar="N", help=f"the number of the {kind} in the paper{more}")
    add("--quick", action="store_true", help="few repetitions and rounds: minutes, not hours")
    add("--sets", type=split_names, default=[], metavar="NAMES", help="only these data sets, separated by commas")
    folder = "the folder of the data sets and DATASETS.json; by default that in ELECTORATE_DATA"
    add("--data", default=os.environ.get("ELECTORATE_DATA", "../shared/data"), metavar="FOLDER", help=folder)
    add("--out", metavar="FOLDER", help="for results and intermediate results (PAPER.reproduce)")


def run(options: argparse.Namespace) -> int:
    from electorate.studies.request import Request

    study = import_module(f"electorate.studies.{options.paper}")
    offers = "\n".join(f"--{what}: {does}" for what, does in study.OFFERS.items())
    numbers = {kind: getattr(options, kind) for kind in NUMBERED}
    what = next((f"{kind} {number}" for kind, number in numbers.items() if number is not None), None)
    if what is None:
        print(offers)
        return 0
    if what not in study.OFFERS:
        raise ValueError(f"there is no {what} of {options.paper}; choose from\n{offers}")
    if what in study.NEEDS_DATA and not (Path(options.data) / "DATASETS.json").exists():
        raise ValueError(f"no DATASETS.json in {literal(options.data)}: add --data FOLDER, or set ELECTORATE_DATA")
    out = Path(options.out or f"{options.paper}.reproduce")
    out.mkdir(parents=True, exist_ok=True)
    page = out / f"{what.replace(' ', '-')}.md"
    check_writable(page)
    text = study.reproduce(Request(what, options.quick, Path(options.data), out, tuple(options.sets)))
    write_text(page, text)
    print(text)
    print(f"{literal(page)}: the same", file=sys.stderr)
    return 0
