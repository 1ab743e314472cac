"""Stored results of studies, from which runs resume and pages are made.

`run_units` fills a CSV file with a row per table, data set, algorithm and split: a unit of work is one split of one
data set of one table, for all algorithms of the table, which share what they can. `Lines` stores any results by a key,
and `stored` the rows of one table or figure.
"""

import csv
import io
import json
import math
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import joblib

from electorate_studies.request import Request

FIELDS = ("table", "data", "algorithm", "split", "seed", "chosen", "error", "size", "voters", "seconds", "commit")
RowDict = dict[str, Any]


class Unit(NamedTuple):
    """One split of one data set. split: its number, which is its seed too."""

    table: str
    data: str
    split: int


@dataclass(frozen=True)
class Outcome:
    """What one algorithm reached on one split.

    Attributes
    ----------
    error : the share of test rows that are predicted wrongly; for regression the mean absolute error
    chosen : hyperparameters, by name
    size, voters : the mean size of its voters and their number, where the paper reports them
    seconds : of processor time, the choice of hyperparameters included
    """

    algorithm: str
    error: float
    seconds: float
    chosen: dict[str, Any] = field(default_factory=dict)
    size: float = math.nan
    voters: float = math.nan


@dataclass(frozen=True)
class Row:
    """An outcome as it is stored."""

    unit: Unit
    outcome: Outcome
    commit: str


Make = Callable[[Unit], list[Outcome]]


def by_algorithm(rows: Iterable[Row]) -> dict[tuple[str, str, str], dict[int, Outcome]]:
    """By table, data set and algorithm, the outcome of every split."""
    found: dict[tuple[str, str, str], dict[int, Outcome]] = {}
    for row in rows:
        found.setdefault((*row.unit[:2], row.outcome.algorithm), {})[row.unit.split] = row.outcome
    return found


# ---------------------------------------------------------------- a row for every algorithm and split


def read_results(path: Path) -> list[Row]:
    """Return the stored rows; an incomplete last line is ignored."""
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    rows = []
    for one in csv.DictReader(io.StringIO(text[: text.rfind("\n") + 1])):
        figures = {name: float(one[name] or "nan") for name in ("error", "seconds", "size", "voters")}
        outcome = Outcome(one["algorithm"], chosen=json.loads(one["chosen"] or "{}"), **figures)
        rows.append(Row(Unit(one["table"], one["data"], int(one["split"])), outcome, one["commit"]))
    return rows


def write_results(path: Path, unit: Unit, outcomes: list[Outcome]) -> None:
    """Append the rows of a unit in one write."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    if not path.exists():
        writer.writerow(FIELDS)
    for one in outcomes:
        chosen = json.dumps(one.chosen, sort_keys=True) if one.chosen else ""
        figures = ["" if math.isnan(x) else f"{x:.6g}" for x in (one.error, one.size, one.voters, one.seconds)]
        writer.writerow([*unit[:2], one.algorithm, unit.split, unit.split, chosen, *figures, commit()])
    append(path, text.getvalue())


def append(path: Path, text: str) -> None:
    """Write the text after the last complete line of a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.exists():
        os.truncate(path, path.read_bytes().rfind(b"\n") + 1)
    with open(path, "a", encoding="utf-8") as file:
        file.write(text)


@lru_cache
def commit() -> str:
    """The commit of the code, with "-dirty" after it where files were changed; "unknown" outside a repository."""
    command = ["git", "-C", str(Path(__file__).parent), "describe", "--always", "--dirty", "--abbrev=10", "--exclude=*"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def results_of(request: Request, study: str, units: Callable[[], Iterable[Unit]], make: Make) -> list[Row]:
    """Return the stored results of a study, after running what is missing of the units."""
    path = request.results(study)
    return read_results(path) if request.render else run_units(units(), make, path, request.jobs)


def run_units(units: Iterable[Unit], make: Make, path: Path, jobs: int = 1) -> list[Row]:
    """Run the units that are not stored yet, in their order, and return all stored rows."""
    known = {row.unit for row in read_results(path)}
    waiting = [unit for unit in dict.fromkeys(units) if unit not in known]
    for unit, outcomes in each_result(make, waiting, jobs, lambda unit: f"{unit[0]}, {unit[1]}, split {unit[2]}"):
        write_results(path, unit, outcomes)
    return read_results(path)


def each_result(make: Callable[[Any], Any], waiting: list[Any], jobs: int, title: Callable[[Any], str]) -> Any:
    """Every task with its result, as they are done; progress goes to standard error, with the mean time as a guess."""
    tasks = (joblib.delayed(_timed)(make, task) for task in waiting)
    results = joblib.Parallel(n_jobs=jobs, return_as="generator_unordered")(tasks) if waiting else ()
    passed = 0.0
    for done, (task, result, seconds) in enumerate(results, start=1):
        yield task, result
        passed += seconds
        left = passed / done * (len(waiting) - done) / max(1, jobs) / 60
        text = f"{done}/{len(waiting)} {title(task)}: {seconds:.1f} s; {left:.0f} min to go"
        print(text, file=sys.stderr, flush=True)


def _timed(make: Callable[[Any], Any], task: Any) -> tuple[Any, Any, float]:
    began = time.perf_counter()
    return task, make(task), time.perf_counter() - began


# ---------------------------------------------------------------- results by a key


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

    def by_key(self) -> dict[tuple[Any, ...], Any]:
        return {tuple(json.loads(name)): value for name, value in self.found.items()}

    def compute(self, key: list[Any], make: Callable[[], Any]) -> Any:
        """The stored result; if there is none, the result of make(), which is then stored."""
        name = json.dumps(key)
        if name not in self.found and self.render:
            raise ValueError(f"{self.path} has no result {name}: run the study without --render")
        if name not in self.found:
            self.found[name] = make()
            append(self.path, json.dumps([key, self.found[name]]) + "\n")
        return self.found[name]


# ---------------------------------------------------------------- the rows of a table or figure


def stored(
    request: Request, study: str, make: Callable[[], list[RowDict]], texts: tuple[str, ...] = (), lines: bool = False
) -> list[RowDict]:
    """The numbers of a table or figure, in a CSV file of their own: stored ones to render, else made.

    texts: columns that are not JSON. lines: results are stored in lines too, from which --render makes a missing file.
    """
    path = request.results(f"{study}-{request.name}")
    if not request.render or (lines and not path.exists()):
        write_rows(path, make())
    return stored_rows(path, texts)


def write_rows(path: Path, rows: list[RowDict]) -> None:
    """A CSV file; texts are as they are, other cells are JSON."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(rows[0] if rows else [])
        for row in rows:
            writer.writerow([value if isinstance(value, str) else json.dumps(value) for value in row.values()])


def stored_rows(path: Path, texts: tuple[str, ...]) -> list[RowDict]:
    """The rows of such a file, without empty cells. texts: the columns of texts."""
    with open(path, encoding="utf-8", newline="") as file:
        return [
            {key: value if key in texts else json.loads(value) for key, value in row.items() if value}
            for row in csv.DictReader(file)
        ]
