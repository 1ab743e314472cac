"""Results of a study in one CSV file: a row per table, data set, algorithm and split. Runs resume from it.

A unit of work is one split of one data set of one table, for all algorithms of the table: they share what they can.
"""

import csv
import io
import json
import math
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import joblib
import numpy as np

from electorate_studies.request import Request

FIELDS = ("table", "data", "algorithm", "split", "seed", "chosen", "error", "size", "voters", "seconds", "commit")


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


# ---------------------------------------------------------------- the file


def read_results(path: Path) -> list[Row]:
    """Return the stored rows; an incomplete last line is ignored."""
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    return [_row(one) for one in csv.DictReader(io.StringIO(text[: text.rfind("\n") + 1]))]


def _row(one: dict[str, str]) -> Row:
    numbers = {name: float(one[name] or "nan") for name in ("error", "seconds", "size", "voters")}
    outcome = Outcome(one["algorithm"], chosen=json.loads(one["chosen"] or "{}"), **numbers)
    return Row(Unit(one["table"], one["data"], int(one["split"])), outcome, one["commit"])


def write_results(path: Path, unit: Unit, outcomes: list[Outcome]) -> None:
    """Append the rows of a unit in one write, after the last complete line."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    if not path.exists():
        writer.writerow(FIELDS)
    elif path.stat().st_size and not path.read_bytes().endswith(b"\n"):
        os.truncate(path, path.read_bytes().rfind(b"\n") + 1)
    for one in outcomes:
        chosen = json.dumps(one.chosen, sort_keys=True) if one.chosen else ""
        numbers = [_short(value) for value in (one.error, one.size, one.voters, one.seconds)]
        writer.writerow([*unit[:2], one.algorithm, unit.split, unit.split, chosen, *numbers, commit()])
    with open(path, "a", encoding="utf-8") as file:
        file.write(text.getvalue())


def _short(value: float) -> str:
    return "" if math.isnan(value) else f"{value:.6g}"


@lru_cache
def commit() -> str:
    """The commit of the code, with "-dirty" after it where files were changed; "unknown" outside a repository."""
    command = ["git", "-C", str(Path(__file__).parent), "describe", "--always", "--dirty", "--abbrev=10", "--exclude=*"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


# ---------------------------------------------------------------- running


def results_of(request: Request, study: str, units: Callable[[], Iterable[Unit]], make: Make) -> list[Row]:
    """Return the stored results of a study, after running what is missing of the units."""
    path = request.results(study)
    return read_results(path) if request.render else run_units(units(), make, path, request.jobs)


def run_units(units: Iterable[Unit], make: Make, path: Path, jobs: int = 1) -> list[Row]:
    """Run the units that are not stored yet, in their order, and return all stored rows.

    Progress goes to standard error: units done, seconds of the last one, and the time to go, from the mean of the
    units of the same table and data set where there are any.
    """
    stored = read_results(path)
    known = {row.unit for row in stored}
    waiting = [unit for unit in dict.fromkeys(units) if unit not in known]
    took: dict[tuple[str, str], list[float]] = {}
    for done, (unit, outcomes, seconds) in enumerate(_outcomes(waiting, make, jobs), start=1):
        write_results(path, unit, outcomes)
        took.setdefault(unit[:2], []).append(seconds)
        left = _to_go(waiting[done:], took) / max(1, jobs)
        text = f"{done}/{len(waiting)} {unit.table}, {unit.data}, split {unit.split}: {seconds:.1f} s"
        print(f"{text}; {left / 60:.0f} min to go", file=sys.stderr, flush=True)
    return read_results(path) if waiting else stored


def _outcomes(waiting: list[Unit], make: Make, jobs: int) -> Iterator[tuple[Unit, list[Outcome], float]]:
    if jobs == 1:
        return map(_Timed(make), waiting)
    tasks = (joblib.delayed(_Timed(make))(unit) for unit in waiting)
    found: Iterator[Any] = joblib.Parallel(n_jobs=jobs, return_as="generator_unordered")(tasks)
    return found


@dataclass(frozen=True)
class _Timed:
    make: Make

    def __call__(self, unit: Unit) -> tuple[Unit, list[Outcome], float]:
        began = time.perf_counter()
        return unit, self.make(unit), time.perf_counter() - began


def _to_go(waiting: list[Unit], took: dict[tuple[str, str], list[float]]) -> float:
    usual = float(np.mean([second for found in took.values() for second in found]))
    return sum(float(np.mean(took.get(unit[:2], usual))) for unit in waiting)
