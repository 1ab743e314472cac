"""`electorate reproduce`: a paper's table or figure, made again. Markdown to standard output, results to a folder."""

import argparse
import os
import sys
from importlib import import_module
from pathlib import Path

from electorate.escape import literal
from electorate.safe_write import check_writable, write_text

EXAMPLES = """examples:
  electorate reproduce quadboost                      what there is of a paper
  electorate reproduce quadboost --table 1 --quick
  electorate reproduce adaboost_r --figure 5 --out figures    a picture; pip install 'electorate[plot]'
  electorate reproduce quadboost --table 1 --sets wine,zoo --data /srv/data
  electorate reproduce adaboost_r --figure 6 --quick
  electorate reproduce locmedboost --theorem 2
stopped by Ctrl-C or a crash? The same command goes on where it was."""

STUDIES = ("adaboost_r", "deepboost", "locmedboost", "quadboost", "vadaboost")  # modules of electorate.studies


def add_options(one: argparse.ArgumentParser) -> None:
    one.add_argument("paper", choices=STUDIES, help="whose table or figure")
    what = one.add_mutually_exclusive_group()
    what.add_argument("--table", type=int, metavar="N", help="by its number in the paper")
    what.add_argument("--figure", type=int, metavar="N", help="by its number in the paper")
    what.add_argument("--theorem", type=int, metavar="N", help="an experiment that checks it, by its number")
    one.add_argument("--quick", action="store_true", help="few repetitions and rounds: minutes, not hours")
    one.add_argument("--sets", default="", metavar="NAMES", help="only these data sets, with commas between them")
    one.add_argument(
        "--data",
        default=os.environ.get("ELECTORATE_DATA", "../shared/data"),
        metavar="FOLDER",
        help="where the data sets are, with their DATASETS.json; ELECTORATE_DATA names one for good",
    )
    one.add_argument("--out", metavar="FOLDER", help="for results, and what is needed to go on (PAPER.reproduce)")


def run(options: argparse.Namespace) -> int:
    from electorate.studies.request import Request

    study = import_module(f"electorate.studies.{options.paper}")
    offers = [f"--{what}: {does}" for what, does in study.OFFERS.items()]
    asked = {"table": options.table, "figure": options.figure, "theorem": options.theorem}
    what = next((f"{kind} {number}" for kind, number in asked.items() if number is not None), None)
    if what is None:
        print("\n".join(offers))
        return 0
    if what not in study.OFFERS:
        raise ValueError(f"there is no {what} of {options.paper}; there is\n" + "\n".join(offers))
    if what in study.NEEDS_DATA and not (Path(options.data) / "DATASETS.json").exists():
        raise ValueError(f"no DATASETS.json in {literal(options.data)}: say --data FOLDER, or set ELECTORATE_DATA")
    only = tuple(name.strip() for name in options.sets.split(",") if name.strip())
    out = Path(options.out or f"{options.paper}.reproduce")
    out.mkdir(parents=True, exist_ok=True)
    page = out / f"{what.replace(' ', '-')}.md"
    check_writable(page)
    text = study.reproduce(Request(what, options.quick, Path(options.data), out, only))
    write_text(page, text)
    print(text)
    print(f"{literal(page)}: the same", file=sys.stderr)
    return 0
