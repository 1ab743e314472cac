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

from electorate_studies.request import Floats, markdown_table, paragraphs, text
from electorate_studies.runs import Outcome, Row, by_algorithm

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
    """

    title: str
    key: str
    algorithms: tuple[str, ...]
    published: dict[str, tuple[Published, ...]]
    doubts: dict[str, tuple[str, str]]


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

    def __str__(self) -> str:
        printed = plus_minus(f"{self.published.mean:.2f}", self.published.error)
        if not self.errors:
            return f"{NOT_RUN} / {printed}"
        apart = "" if math.isnan(self.in_errors) else f" ({self.in_errors:+.1f})"
        return f"{plus_minus(f'{self.mean:.2f}', self.error)} / {printed}{apart}"


def plus_minus(mean: str, error: float) -> str:
    """A figure with its standard error, if there is one."""
    return mean if math.isnan(error) else f"{mean} ± {error:.2f}"


def within_two(cells: Iterable[Cell]) -> str:
    """How many cells are within two standard errors, of those that have one."""
    apart = [abs(cell.in_errors) for cell in cells if not math.isnan(cell.in_errors)]
    return f"{sum(one <= 2 for one in apart)} of {len(apart)}"


def cells_of(table: StudyTable, rows: Iterable[Row]) -> list[Cell]:
    """Every cell of a table, run or not."""
    found, cells = by_algorithm(rows), []
    for data, figures in table.published.items():
        outcomes = [found.get((table.key, data, algorithm), {}) for algorithm in table.algorithms]
        errors = [tuple(100 * one.error for one in of.values()) for of in outcomes]
        variances = [np.var(some, ddof=1) for some in errors if len(some) >= FEWEST]
        pooled = math.sqrt(np.mean(variances)) if variances else math.nan
        each = zip(table.algorithms, figures, errors, strict=True)
        cells += [Cell(data, algorithm, figure, some, pooled) for algorithm, figure, some in each]
    return cells


def table_lines(table: StudyTable, rows: Sequence[Row]) -> list[str]:
    """The table, then its summary: mean differences and cells within two standard errors, of all and the sure sets."""
    cells, lines, summary = cells_of(table, rows), [], []
    for data in table.published:
        of_set = [cell for cell in cells if cell.data == data]
        lines.append([data, table.doubts[data][1], n_splits(of_set) or "0", *of_set])
    for algorithm in table.algorithms:
        run = [cell for cell in cells if cell.algorithm == algorithm and cell.errors]
        sure = [cell for cell in run if table.doubts[cell.data][1] in SURE]
        count = f"{len(run)} of {len(table.published)}"
        summary.append([algorithm, count, *_summary(run), len(sure), *_summary(sure)])
    head = " | ".join(("data set", "classes", "splits", *table.algorithms))
    part = "mean ours | mean published | mean absolute difference | within 2 s.e."
    means = markdown_table(f"algorithm | sets run | {part} | certain sets | {part}", summary, "l" + "r" * 10)
    return paragraphs(f"## {table.title}", text("table", many=MANY), markdown_table(head, lines), means)


def n_splits(cells: Iterable[Cell]) -> str:
    """The least and the largest number of splits of the cells that were run."""
    counts = sorted({len(cell.errors) for cell in cells if cell.errors})
    return "-".join(map(str, dict.fromkeys((*counts[:1], *counts[-1:]))))


def _summary(cells: list[Cell]) -> list[str]:
    if not cells:
        return ["-"] * 4
    figures = [[cell.mean, cell.published.mean, abs(cell.difference)] for cell in cells]
    return [*(f"{mean:.2f}" for mean in np.mean(figures, axis=0)), within_two(cells)]


def doubt_lines(tables: Iterable[StudyTable]) -> list[str]:
    """How every data set was made, and how sure that is."""
    known = {data: doubt for table in tables for data, doubt in table.doubts.items()}
    rows = [[name, how, f"**{sure}**" if sure not in SURE else sure] for name, (how, sure) in known.items()]
    return paragraphs("## Data sets", markdown_table("data set | how the two classes were made | certainty", rows))


def provenance(rows: Sequence[Row]) -> str:
    """Which code made the rows, and how long it took."""
    commits = ", ".join(dict.fromkeys(row.commit for row in rows)) or "none"
    hours = sum(row.outcome.seconds for row in rows) / 3600
    return f"{len(rows):,} results, {hours:.1f} hours of processor time; code: {commits}."


def paired_difference(rows: Iterable[Row], table: str, data: str, one: str, other: str) -> tuple[float, float, int]:
    """One algorithm's error less the other's over the splits of both, in percent: mean, standard error and splits."""
    some = by_algorithm(row for row in rows if row.unit[:2] == (table, data))
    first, second = (some.get((table, data, name), {}) for name in (one, other))
    return mean_and_error([100 * first[k].error - 100 * second[k].error for k in first if k in second])


def mean_and_error(gaps: Sequence[float]) -> tuple[float, float, int]:
    """Of differences: the mean, its standard error (NaN for fewer than two), and how many there are."""
    if len(gaps) < FEWEST:
        return (float(np.mean(gaps)) if len(gaps) else math.nan), math.nan, len(gaps)
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
        tails = [_tail(*gaps[data]) for data in run]
        better, worse = sum(tail < level for tail in tails), sum(1 - tail < level for tail in tails)
        mean = f"{np.mean(ours):+.2f} / {np.mean(printed):+.2f}" if run else "-"
        lines.append([f"{one} - {other}", len(run), record(printed), record(ours), mean, f"{better} / {worse}"])
    head = "difference | sets | wins, ties, losses: published | ours | mean: ours / published | better / worse"
    return paragraphs(text("order", tested=TESTED, level=level), markdown_table(head, lines, "lrlllr"))


def record(gaps: Iterable[float], tied: float = TIED) -> str:
    """Wins, ties and losses."""
    all_gaps = np.array([*gaps])
    sides = all_gaps < -tied, np.abs(all_gaps) <= tied, all_gaps > tied
    return ", ".join(str(np.count_nonzero(side)) for side in sides)


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
    found = by_algorithm(rows)
    for data in table.published:
        errors = _common_errors([found.get((table.key, data, algorithm), {}) for algorithm in table.algorithms])
        if len(errors) < TESTED:
            continue
        means = errors.mean(axis=0)
        tails = [_tail(*mean_and_error(gaps)) for gaps in (errors - errors[:, [int(np.argmin(means))]]).T]
        tested = dict(zip(table.algorithms, zip(means, tails, strict=True), strict=True))
        best = [name for name, (mean, _) in tested.items() if mean <= means.min() + TIED]
        same = [name for name, (_, tail) in tested.items() if name not in best and 2 * min(tail, 1 - tail) >= level]
        lowest.update(best)
        equal.update([*best, *same])
        lines.append([data, len(errors), ", ".join(best), ", ".join(same) or "-"])
    if not lines:
        return []
    every = [[name, lowest[name], f"{equal[name]} of {len(lines)}"] for name in table.algorithms]
    body = markdown_table("data set | splits | lowest | not significantly different", lines, "lrll")
    counts = markdown_table("algorithm | lowest | lowest or not different", every, "lrr")
    return paragraphs(text("lowest", tested=TESTED, level=level), body, counts)


def _common_errors(outcomes: Sequence[dict[int, Outcome]]) -> Floats:
    """[split, algorithm], in percent, of the splits that were run with all algorithms."""
    splits = [split for split in outcomes[0] if all(split in of for of in outcomes)]
    return np.array([[100 * of[split].error for of in outcomes] for split in splits])


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
    about = text("paired tests", level=level, above=1 - level, tested=TESTED)
    return paragraphs(about, markdown_table(head, lines, "lr")) if lines else []


def _tested(mean: float, error: float, splits: int, level: float) -> str:
    if error == 0:
        return f"{mean:+.2f} ± {error:.2f}"
    tail = _tail(mean, error, splits)
    shown = f"{mean:+.2f} ± {error:.2f} ({tail:.3f})"
    return f"**{shown}**" if min(tail, 1 - tail) < level else shown


def introduction(title: str, doc: str | None, rows: Sequence[Row], quick: bool) -> list[str]:
    """The first lines of a page: the protocol, as the module of the study describes it, and where the rows are from."""
    protocol = [" ".join(part.split()) for part in (doc or "").strip().split("\n\n")]
    return paragraphs(f"# {title}", text("quick") if quick else "", *protocol, provenance(rows))
