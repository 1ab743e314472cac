"""Pages of studies: our figures beside the published ones, the difference in standard errors, and what is in doubt.

Figures are test errors in percent. The standard error of ours is that over the splits; the standard error of a
difference is the root of the sum of both squared. Where a paper prints none, its figure is of one run: the spread of
one of our splits stands for it.
"""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from scipy.stats import t as student

from electorate.exact import Floats
from electorate_studies.request import markdown_table
from electorate_studies.runs import Row

NOT_RUN = "not run"
SURE = ("high", "medium")
FEWEST = 2  # splits that have a standard error
MANY = 5  # splits from which on a cell has its own deviation
TESTED = 3  # splits from which on there is a paired t-test
TIED = 0.0005  # percent


class Published(NamedTuple):
    """A figure of a paper in percent, with its standard error.

    NaN: the figure is of one run, whose spread is taken to be that of our splits.
    """

    mean: float
    error: float = math.nan


def once(*figures: float) -> tuple[Published, ...]:
    """Figures of one run."""
    return tuple(Published(figure) for figure in figures)


@dataclass(frozen=True)
class StudyTable:
    """A published table, or a figure that is one.

    Attributes
    ----------
    title : the table in the paper and what it is about
    key : the table of the rows in the CSV file
    algorithms : its columns
    published : by data set, a figure for each algorithm
    doubts : by data set, how it was made and how sure that is: high, medium or low
    notes : sentences under the table
    """

    title: str
    key: str
    algorithms: tuple[str, ...]
    published: dict[str, tuple[Published, ...]]
    doubts: dict[str, tuple[str, str]]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Cell:
    """Our errors in percent of one algorithm on one data set, by split, beside the published figure."""

    data: str
    algorithm: str
    published: Published
    errors: tuple[float, ...] = field(default=())
    pooled: float = math.nan  # the deviation of one split, from all algorithms on the data set

    @property
    def mean(self) -> float:
        return float(np.mean(self.errors)) if self.errors else math.nan

    @property
    def spread(self) -> float:
        """The standard deviation of one split: its own, or with few splits that of all algorithms together."""
        return float(np.std(self.errors, ddof=1)) if len(self.errors) >= MANY else self.pooled

    @property
    def error(self) -> float:
        """The standard error of the mean; NaN for fewer than two splits."""
        return self.spread / math.sqrt(len(self.errors)) if len(self.errors) >= FEWEST else math.nan

    @property
    def difference(self) -> float:
        return self.mean - self.published.mean

    @property
    def in_errors(self) -> float:
        """The difference in standard errors; NaN where there is none."""
        theirs = self.spread if math.isnan(self.published.error) else self.published.error
        both = math.hypot(self.error, theirs)
        return self.difference / both if both > 0 else math.nan


def cells_of(table: StudyTable, rows: Iterable[Row]) -> list[Cell]:
    """Every cell of a table, run or not."""
    found: dict[tuple[str, str], list[float]] = {}
    for row in rows:
        if row.unit.table == table.key:
            found.setdefault((row.unit.data, row.outcome.algorithm), []).append(100 * row.outcome.error)
    cells = []
    for data, figures in table.published.items():
        errors = [tuple(found.get((data, algorithm), ())) for algorithm in table.algorithms]
        variances = [np.var(mine, ddof=1) for mine in errors if len(mine) >= FEWEST]
        pooled = math.sqrt(np.mean(variances)) if variances else math.nan
        each = zip(table.algorithms, figures, errors, strict=True)
        cells += [Cell(data, algorithm, figure, mine, pooled) for algorithm, figure, mine in each]
    return cells


def table_lines(table: StudyTable, rows: Sequence[Row]) -> list[str]:
    """The table, then its summary."""
    cells = cells_of(table, rows)
    lines = []
    for data in table.published:
        mine = [cell for cell in cells if cell.data == data]
        counts = sorted({len(cell.errors) for cell in mine if cell.errors})
        splits = "-".join(map(str, dict.fromkeys((counts[0], counts[-1])))) if counts else "0"
        lines.append([data, table.doubts[data][1], splits, *map(_shown, mine)])
    head = " | ".join(("data set", "classes", "splits", *table.algorithms))
    explained = (
        "A cell has our error ± standard error / the published error ± standard error (the "
        "difference in standard errors). "
        f"With fewer than {MANY} splits the deviation is pooled over the algorithms of a data set. "
        "`classes`: how certain it is that the two classes are the paper's."
    )
    notes = [line for note in table.notes for line in (note, "")]
    summary = summary_lines(table, cells)
    return [f"## {table.title}", "", *notes, explained, "", *markdown_table(head, lines), "", *summary, ""]


def _shown(cell: Cell) -> str:
    printed = cell.published.error
    published = f"{cell.published.mean:.2f}" + ("" if math.isnan(printed) else f" ± {printed:.2f}")
    if not cell.errors:
        return f"{NOT_RUN} / {published}"
    error = "" if math.isnan(cell.error) else f" ± {cell.error:.2f}"
    apart = "" if math.isnan(cell.in_errors) else f" ({cell.in_errors:+.1f})"
    return f"{cell.mean:.2f}{error} / {published}{apart}"


def summary_lines(table: StudyTable, cells: list[Cell]) -> list[str]:
    """Mean differences and the cells within two standard errors, per algorithm, of all sets and of the sure ones."""
    lines = []
    for algorithm in table.algorithms:
        run = [cell for cell in cells if cell.algorithm == algorithm and cell.errors]
        sure = [cell for cell in run if table.doubts[cell.data][1] in SURE]
        count = f"{len(run)} of {len(table.published)}"
        lines.append([algorithm, count, *_summary(run), len(sure), *_summary(sure)])
    part = "mean ours | mean published | mean absolute difference | within 2 s.e."
    head = f"algorithm | sets run | {part} | certain sets | {part}"
    return markdown_table(head, lines, "l" + "r" * 10)


def _summary(cells: list[Cell]) -> list[str]:
    if not cells:
        return ["-"] * 4
    tested = [cell for cell in cells if not math.isnan(cell.in_errors)]
    within = sum(abs(cell.in_errors) <= 2 for cell in tested)
    ours, theirs = (float(np.mean([getter(cell) for cell in cells])) for getter in (_ours, _theirs))
    apart = float(np.mean([abs(cell.difference) for cell in cells]))
    return [f"{ours:.2f}", f"{theirs:.2f}", f"{apart:.2f}", f"{within} of {len(tested)}"]


def _ours(cell: Cell) -> float:
    return cell.mean


def _theirs(cell: Cell) -> float:
    return cell.published.mean


def doubt_lines(tables: Iterable[StudyTable]) -> list[str]:
    """How every data set was made, and how sure that is."""
    known = {data: doubt for table in tables for data, doubt in table.doubts.items()}
    rows = [[name, how, f"**{sure}**" if sure not in SURE else sure] for name, (how, sure) in known.items()]
    return ["## Data sets", "", *markdown_table("data set | how the two classes were made | certainty", rows), ""]


def provenance(rows: Sequence[Row]) -> str:
    """Which code made the rows, and how long it took."""
    commits = ", ".join(dict.fromkeys(row.commit for row in rows)) or "none"
    hours = sum(row.outcome.seconds for row in rows) / 3600
    return f"{len(rows):,} results, {hours:.1f} hours of processor time; code: {commits}."


def paired_difference(rows: Iterable[Row], table: str, data: str, one: str, other: str) -> tuple[float, float, int]:
    """One algorithm's error less the other's over the splits of both, in percent: mean, standard error and splits."""
    by_split: dict[int, dict[str, float]] = {}
    for row in rows:
        if row.unit.table == table and row.unit.data == data:
            by_split.setdefault(row.unit.split, {})[row.outcome.algorithm] = 100 * row.outcome.error
    gaps = [found[one] - found[other] for found in by_split.values() if one in found and other in found]
    if len(gaps) < FEWEST:
        return (float(np.mean(gaps)) if gaps else math.nan), math.nan, len(gaps)
    return float(np.mean(gaps)), float(np.std(gaps, ddof=1) / math.sqrt(len(gaps))), len(gaps)


def order_lines(table: StudyTable, rows: Sequence[Row], pairs: Iterable[tuple[str, str]], level: float) -> list[str]:
    """How often one algorithm errs less than another: in the paper, here, and here by a paired t-test at a level."""
    lines = []
    for one, other in pairs:
        at = [table.algorithms.index(name) for name in (one, other)]
        gaps = {data: paired_difference(rows, table.key, data, one, other) for data in table.published}
        run = [data for data, (_, _, splits) in gaps.items() if splits]
        printed = [table.published[data][at[0]].mean - table.published[data][at[1]].mean for data in run]
        ours = [gaps[data][0] for data in run]
        tests = [_tail(*gaps[data]) for data in run]
        better, worse = (sum(test < level for test in side) for side in (tests, [1 - test for test in tests]))
        mean = f"{np.mean(ours):+.2f} / {np.mean(printed):+.2f}" if run else "-"
        lines.append([f"{one} - {other}", len(run), _record(printed), _record(ours), mean, f"{better} / {worse}"])
    head = "difference | sets | wins, ties, losses: published | ours | mean: ours / published | better / worse"
    text = (
        "The first algorithm wins if its mean error is lower. The last column counts the sets on "
        "which a one-sided paired "
        f"t-test over the splits (at least {TESTED}) finds the first algorithm better, or worse, at {level:.0%}."
    )
    return [text, "", *markdown_table(head, lines, "lrlllr"), ""]


def _record(gaps: Sequence[float]) -> str:
    """Wins, ties and losses."""
    counts = (sum(gap < -TIED for gap in gaps), sum(abs(gap) <= TIED for gap in gaps), sum(gap > TIED for gap in gaps))
    return ", ".join(map(str, counts))


def _tail(mean: float, error: float, splits: int) -> float:
    """The probability of so low a paired difference if there were none; 1/2 without a test."""
    if splits < TESTED or (error == 0 and abs(mean) <= TIED):
        return 0.5
    if error == 0:
        return 0.0 if mean < 0 else 1.0
    return float(student.cdf(mean / error, splits - 1))


def lowest_lines(table: StudyTable, rows: Sequence[Row], level: float) -> list[str]:
    """The algorithm with the lowest error on every data set, and those not significantly different from it."""
    lines, lowest, equal = [], Counter[str](), Counter[str]()
    for data in table.published:
        errors = _common_errors(table, rows, data)
        if len(errors) < TESTED:
            continue
        means = errors.mean(axis=0)
        gaps = errors - errors[:, [int(np.argmin(means))]]
        deviations = gaps.std(axis=0, ddof=1) / math.sqrt(len(gaps))
        tails = [_tail(mean, error, len(gaps)) for mean, error in zip(gaps.mean(axis=0), deviations, strict=True)]
        tested = dict(zip(table.algorithms, zip(means, tails, strict=True), strict=True))
        best = [name for name, (mean, _) in tested.items() if mean <= means.min() + TIED]
        same = [name for name, (_, tail) in tested.items() if name not in best and 2 * min(tail, 1 - tail) >= level]
        lowest.update(best)
        equal.update([*best, *same])
        lines.append([data, len(errors), ", ".join(best), ", ".join(same) or "-"])
    if not lines:
        return []
    text = (
        f"The algorithm with the lowest mean error over the splits that were run with all algorithms (at least "
        f"{TESTED}), and those that a two-sided paired t-test does not find different from it at {level:.0%}: the "
        "shaded cells of the paper. With five splits the test finds only large differences."
    )
    every = [[name, lowest[name], f"{equal[name]} of {len(lines)}"] for name in table.algorithms]
    body = markdown_table("data set | splits | lowest | not significantly different", lines, "lrll")
    counts = markdown_table("algorithm | lowest | lowest or not different", every, "lrr")
    return [text, "", *body, "", *counts, ""]


def _common_errors(table: StudyTable, rows: Iterable[Row], data: str) -> Floats:
    """[split, algorithm], in percent, of the splits that were run with all algorithms of the table."""
    by_split: dict[int, dict[str, float]] = {}
    for row in rows:
        if row.unit[:2] == (table.key, data):
            by_split.setdefault(row.unit.split, {})[row.outcome.algorithm] = 100 * row.outcome.error
    whole = [found for found in by_split.values() if all(name in found for name in table.algorithms)]
    return np.array([[found[name] for name in table.algorithms] for found in whole])


def paired_test_lines(
    table: StudyTable, rows: Sequence[Row], pairs: Sequence[tuple[str, str]], level: float
) -> list[str]:
    """The one-sided paired t-tests of every data set with enough splits."""
    lines = []
    for data in table.published:
        gaps = [paired_difference(rows, table.key, data, one, other) for one, other in pairs]
        if min(splits for _, _, splits in gaps) >= TESTED:
            lines.append([data, gaps[0][2], *(_tested(*gap, level) for gap in gaps)])
    head = " | ".join(("data set", "splits", *(f"{one} - {other}" for one, other in pairs)))
    text = (
        "One-sided paired t-tests over the splits: the mean difference ± standard error and, in brackets, the "
        "probability of so low a difference if both algorithms were equally good. Bold: the first algorithm is better "
        f"(below {level:g}) or worse (above {1 - level:g}) at {level:.0%}. Sets with fewer than {TESTED} splits have "
        "no test."
    )
    return [text, "", *markdown_table(head, lines, "lr"), ""] if lines else []


def _tested(mean: float, error: float, splits: int, level: float) -> str:
    if error == 0:
        return f"{mean:+.2f} ± {error:.2f}"
    tail = _tail(mean, error, splits)
    shown = f"{mean:+.2f} ± {error:.2f} ({tail:.3f})"
    return f"**{shown}**" if min(tail, 1 - tail) < level else shown


def introduction(title: str, doc: str | None, rows: Sequence[Row], quick: bool) -> list[str]:
    """The first lines of a page: the protocol, as the module of the study describes it, and where the rows are from."""
    assert doc is not None
    paragraphs = [" ".join(part.split()) for part in doc.strip().split("\n\n")]
    small = (
        ["**A quick run: small parts of the data and of the grids. Only to see that all runs.**", ""] if quick else []
    )
    protocol = [line for part in paragraphs for line in (part, "")]
    return [f"# {title}", "", *small, *protocol, provenance(rows), ""]
