"""What every study needs: the request, stored results to resume from, columns as numbers, and tables in Markdown.

A study is a module with `OFFERS`, the tables and figures it can make, `NEEDS_DATA`, those that read data sets, and
`reproduce(request)`, which returns Markdown. `WHOLE` lists the requests that make all of it; "all" is the page of a
paper, with all its tables.
"""

import csv
import json
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from electorate.exact import Floats


@dataclass(frozen=True)
class Request:
    """What to run, and where results go.

    Attributes
    ----------
    what : "table 1", or "all": everything that the study offers
    quick : a small version, named so
    data, out : the folders of the data sets and of the results
    only : data sets; all if it is empty
    repeats : splits of each data set; by default the study's
    jobs : processes
    render : only make the page again, from the results that are stored
    """

    what: str
    quick: bool
    data: Path
    out: Path
    only: tuple[str, ...] = ()
    repeats: int | None = None
    jobs: int = 1
    render: bool = False

    @property
    def number(self) -> int:
        return int(self.what.split()[-1])

    def results(self, study: str) -> Path:
        """The CSV file of a study's results; quick ones have their own."""
        return self.out / f"{study}{'-quick' if self.quick else ''}.csv"

    def choose(self, names: Iterable[str], known: Iterable[str]) -> list[str]:
        """The data sets asked for, in the order of `known`; without any, `names`."""
        known = list(known)
        unknown = sorted(set(self.only) - set(known))
        if unknown:
            raise ValueError(f"the study has no data set {unknown[0]!r}: it has {', '.join(known)}")
        return [name for name in known if name in self.only] or list(names)

    def save(self, figure: Any, study: str) -> str:
        """Writes the figure into the folder `out`, and returns the name of the file."""
        name = f"{study}-figure-{self.number}.png"
        self.out.mkdir(parents=True, exist_ok=True)
        figure.savefig(self.out / name, dpi=110)
        return name

    def figure_rows(self, study: str, make: Callable[[], list[dict[str, Any]]], texts: tuple[str, ...] = ()) -> Any:
        """The numbers that a figure is drawn from, in a CSV file: stored ones to render, else made. texts: columns."""
        path = self.results(f"{study}-figure-{self.number}")
        if not self.render:
            write_rows(path, make())
        return stored_rows(path, texts)


class Lines:
    """Results in a text file, one JSON line each, by a key; an incomplete last line is ignored, and overwritten."""

    def __init__(self, path: Path, render: bool = False) -> None:
        self.path = path
        self.render = render  # nothing may be computed
        text = path.read_text(encoding="utf-8") if path.exists() else ""
        complete = [json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("\n")]
        self.found: dict[str, Any] = {json.dumps(key): value for key, value in complete}

    def has(self, key: list[Any]) -> bool:
        return json.dumps(key) in self.found

    def compute(self, key: list[Any], make: Callable[[], Any]) -> Any:
        """The stored result; if there is none, the result of make(), which is then stored."""
        name = json.dumps(key)
        if name not in self.found and self.render:
            raise ValueError(f"{self.path} has no result {name}: run the study without --render")
        if name not in self.found:
            self.found[name] = make()
            self.path.parent.mkdir(parents=True, exist_ok=True)
            if self.path.exists():
                os.truncate(self.path, self.path.read_bytes().rfind(b"\n") + 1)
            with open(self.path, "a", encoding="utf-8") as file:
                file.write(json.dumps([key, self.found[name]]) + "\n")
        return self.found[name]


def write_rows(path: Path, rows: list[dict[str, Any]]) -> None:
    """A CSV file; texts are as they are, other cells are JSON."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(rows[0] if rows else [])
        for row in rows:
            writer.writerow([value if isinstance(value, str) else json.dumps(value) for value in row.values()])


def stored_rows(path: Path, texts: tuple[str, ...]) -> list[dict[str, Any]]:
    """The rows of such a file. texts: the columns of texts."""
    with open(path, encoding="utf-8", newline="") as file:
        return [
            {key: value if key in texts else json.loads(value) for key, value in row.items()}
            for row in csv.DictReader(file)
        ]


def numbers(table: Any) -> Floats:
    """The columns of a pandas table but `target`: numbers as they are, texts as codes in order, NaN if missing."""
    columns = []
    for name in table.columns.drop("target"):
        column = table[name]
        if column.dtype.kind in "iufb":
            columns.append(np.asarray(column.to_numpy(), dtype=np.float64))
        else:
            codes = np.asarray(column.astype("category").cat.codes.to_numpy(), dtype=np.float64)
            columns.append(np.where(codes < 0, np.nan, codes))
    return np.stack(columns, axis=1)


def markdown_table(head: str, rows: Iterable[Iterable[object]], numeric: str = "") -> list[str]:
    """The lines of a table. head: titles with " | " between; numeric: "r" for each column to align right, else "l"."""
    titles = head.split(" | ")
    dashes = "".join("---:|" if side == "r" else "---|" for side in numeric.ljust(len(titles), "l"))
    return [f"| {head} |", f"|{dashes}", *(f"| {' | '.join(map(str, row))} |" for row in rows)]
