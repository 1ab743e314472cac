"""All tables of the papers at a glance, from the stored results: how many cells agree, and how far the means are apart.

`python -m electorate_studies.overview RESULTS DATA` prints the table of docs/studies/index.md.
"""

import sys
from pathlib import Path
from typing import Any

import numpy as np

from electorate_studies import adaboost_r, deepboost, quadboost, vadaboost
from electorate_studies.pages import SURE, Cell, StudyTable, cells_of, n_splits, within_two
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
    head = "table | certain sets run | splits | cells within 2 s.e. | mean absolute difference"
    return markdown_table(f"{head} | difference of the means | aim for the means", lines, "llrrrll")


def _line(paper: str, table: StudyTable, cells: list[Cell]) -> list[object]:
    sure = [cell for cell in cells if table.doubts[cell.data][1] in SURE]
    run = [cell for cell in sure if cell.errors]
    title = f"{paper}, {table.title.split(':')[0]}"
    counts = f"{len({cell.data for cell in run})} of {len({cell.data for cell in sure})}"
    if not run:
        return [title, counts, *"----", f"{AIMS[paper]}: not run"]
    gaps = {name: np.mean([cell.difference for cell in run if cell.algorithm == name]) for name in table.algorithms}
    apart = f"{np.mean([abs(cell.difference) for cell in run]):.2f}"
    means = ", ".join(f"{name} {gap:+.1f}" for name, gap in gaps.items())
    result = "met" if max(map(abs, gaps.values())) <= AIMS[paper] else "missed"
    return [title, counts, n_splits(run), within_two(run), apart, means, f"{AIMS[paper]}: {result}"]


if __name__ == "__main__":
    print("\n".join(overview_lines(Path(sys.argv[1]), Path(sys.argv[2]))))
