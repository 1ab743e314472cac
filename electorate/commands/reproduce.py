"""`electorate reproduce`: tables, figures and theorems of the papers, as Markdown; results go to a folder."""

import argparse
import os
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

from electorate.commands.options import split_names
from electorate.optional import optional
from electorate.text import check_writable, literal, write_text

EXAMPLES = """examples:
  electorate reproduce all --quick                    a small version of the five papers: a minute
  electorate reproduce quadboost --list               what can be reproduced
  electorate reproduce quadboost --table 1 --sets wine,zoo --repeats 3 --jobs 4 --data /srv/data
  electorate reproduce adaboost_r --figure 5 --out figures    a picture; pip install 'electorate[plot]'
  electorate reproduce locmedboost --theorem 2
After Ctrl-C or a crash the same command resumes."""

PAPERS = ("quadboost", "vadaboost", "deepboost", "adaboost_r", "locmedboost")  # modules of electorate_studies
STUDIES = (*PAPERS, "certificates", "peers")
EVERY = "all"
NUMBERED = {"table": "", "figure": "", **dict.fromkeys(("theorem", "lemma"), " (runs an experiment that checks it)")}


def add_options(one: argparse.ArgumentParser) -> None:
    add = one.add_argument
    add("paper", choices=(EVERY, *STUDIES), help=f"the study; {EVERY}: the five papers")
    what = one.add_mutually_exclusive_group()
    for kind, more in NUMBERED.items():
        what.add_argument(f"--{kind}", type=int, metavar="N", help=f"the number of the {kind} in the paper{more}")
    what.add_argument("--list", action="store_true", help="list what can be reproduced")
    add("--quick", action="store_true", help="few repetitions and rounds: seconds, not hours")
    add("--sets", type=split_names, default=[], metavar="NAMES", help="only these data sets, separated by commas")
    add("--repeats", type=_positive, metavar="N", help="splits of every data set; by default the paper's, or fewer")
    add("--render", action="store_true", help="run nothing: make the pages again from the stored results")
    add("--jobs", type=_positive, default=1, metavar="N", help="processes (1)")
    folder = "the folder of the data sets, NAME.csv.gz or NAME.csv; by default that in ELECTORATE_DATA"
    add("--data", default=os.environ.get("ELECTORATE_DATA", "../shared/data"), metavar="FOLDER", help=folder)
    add("--out", metavar="FOLDER", help="the folder for results and intermediate results (PAPER.reproduce)")


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a positive integer")
    return int(text)


def run(options: argparse.Namespace) -> int:
    optional("electorate_studies", "electorate reproduce")
    from electorate_studies.binary_sets import NoDataError

    if options.render and (options.sets or options.repeats):
        raise ValueError("--render makes the pages of all stored results again: leave out --sets and --repeats")
    names = PAPERS if options.paper == EVERY else (options.paper,)
    studies = {name: import_module(f"electorate_studies.{name}") for name in names}
    if options.list:
        for name, study in studies.items():
            print("\n".join(f"{name} --{what}: {does}" for what, does in study.OFFERS.items()))
        return 0
    out = Path(options.out or f"{options.paper}.reproduce")
    out.mkdir(parents=True, exist_ok=True)
    for name, study in studies.items():
        try:
            for what in _wanted(options, name, study):
                _reproduce(options, name, study, what, out)
        except NoDataError as error:
            if options.paper != EVERY:
                raise
            print(f"{name} ends here: {error}", file=sys.stderr)
    return 0


def _wanted(options: argparse.Namespace, name: str, study: Any) -> list[str]:
    """Return the page of a paper and its figures, or the one that the options name."""
    numbers = {kind: getattr(options, kind) for kind in NUMBERED}
    asked = next((f"{kind} {number}" for kind, number in numbers.items() if number is not None), None)
    if asked is not None and asked not in study.OFFERS:
        offers = "\n".join(f"--{what}: {does}" for what, does in study.OFFERS.items())
        raise ValueError(f"there is no {asked} of {name}; choose from\n{offers}")
    whole = [asked] if asked else list(getattr(study, "WHOLE", study.OFFERS))
    return [EVERY] if options.render and EVERY in whole else whole


def _reproduce(options: argparse.Namespace, name: str, study: Any, what: str, out: Path) -> None:
    from electorate_studies.request import Request

    needed = not options.render and (what in study.NEEDS_DATA or (what == EVERY and bool(study.NEEDS_DATA)))
    if needed and not Path(options.data).is_dir():
        raise ValueError(
            f"no folder {literal(options.data)} of data sets: add --data FOLDER, or set ELECTORATE_DATA; `electorate "
            "data NAME --out FOLDER/NAME.csv` fetches a data set"
        )
    if needed and name not in PAPERS and not (Path(options.data) / "DATASETS.json").exists():
        raise ValueError(
            f"{literal(options.data)} has no DATASETS.json, which lists the data sets that {name} uses: --data names a "
            "folder that has it"
        )
    if options.render and not any(out.glob(f"{name}*.csv")) and not any(out.glob("*.jsonl")):
        print(f"{literal(out)} has no results of {name}", file=sys.stderr)
        return
    page = out / (f"{name}.md" if what == EVERY else f"{name}-{what.replace(' ', '-')}.md")
    check_writable(page)
    more = tuple(options.sets), options.repeats, options.jobs, options.render
    text = study.reproduce(Request(what, options.quick, Path(options.data), out, *more))
    write_text(page, text)
    print(text)
    print(f"{literal(page)}: the same", file=sys.stderr)
