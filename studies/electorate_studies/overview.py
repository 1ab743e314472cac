"""All tables of the papers at a glance, from the stored results: how many cells agree, and how far the means are apart.

`python -m electorate_studies.overview RESULTS DATA` prints the table of docs/studies/index.md.
"""

import math
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from electorate_studies import adaboost_r, deepboost, quadboost, vadaboost
from electorate_studies.pages import SURE, Cell, StudyTable, cells_of
from electorate_studies.request import markdown_table
from electorate_studies.runs import read_results

PAPERS: dict[str, Any] = {
    "QuadBoost": quadboost,
    "VadaBoost": vadaboost,
    "DeepBoost": deepboost,
    "AdaBoost_R": adaboost_r,
}
AIMS = {"QuadBoost": 1.5, "VadaBoost": 1.0, "DeepBoost": 1.0, "AdaBoost_R": 1.5}  # points


def overview_lines(results: Path, data: Path) -> list[str]:
    """A line per table, over the data sets whose classes are certain; differences are ours less the published."""
    lines = []
    for paper, study in PAPERS.items():
        rows = read_results(results / f"{study.__name__.rpartition('.')[2]}.csv")
        lines += [_line(paper, table, cells_of(table, rows)) for table in study.tables(data)]
    head = (
        "table | certain sets run | splits | cells within 2 s.e. | mean absolute difference | difference of the means"
    )
    return markdown_table(f"{head} | aim for the means", lines, "llrrrll")


def _line(paper: str, table: StudyTable, every: Sequence[Cell]) -> list[object]:
    sure = [cell for cell in every if table.doubts[cell.data][1] in SURE]
    run = [cell for cell in sure if cell.errors]
    title = f"{paper}, {table.title.split(':')[0]}"
    if not run:
        return [title, f"0 of {len({cell.data for cell in sure})}", *"----", f"{AIMS[paper]}: not run"]
    tested = [cell for cell in run if not math.isnan(cell.in_errors)]
    splits = sorted({len(cell.errors) for cell in run})
    within = sum(abs(cell.in_errors) <= 2 for cell in tested)
    apart = {
        algorithm: float(np.mean([cell.difference for cell in run if cell.algorithm == algorithm]))
        for algorithm in table.algorithms
    }
    reached = all(abs(gap) <= AIMS[paper] for gap in apart.values())
    return [
        title,
        f"{len({cell.data for cell in run})} of {len({cell.data for cell in sure})}",
        "-".join(map(str, dict.fromkeys((splits[0], splits[-1])))),
        f"{within} of {len(tested)}",
        f"{np.mean([abs(cell.difference) for cell in run]):.2f}",
        ", ".join(f"{algorithm} {gap:+.1f}" for algorithm, gap in apart.items()),
        f"{AIMS[paper]}: {'met' if reached else 'missed'}",
    ]


if __name__ == "__main__":
    print("\n".join(overview_lines(Path(sys.argv[1]), Path(sys.argv[2]))))
