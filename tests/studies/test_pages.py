"""Pages of studies: means, standard errors, differences in standard errors, summaries, and cells that did not run."""

import math

import numpy as np
import pytest
from scipy.stats import ttest_rel

from electorate_studies.pages import (
    Published,
    StudyTable,
    cells_of,
    lowest_lines,
    once,
    order_lines,
    paired_difference,
    paired_test_lines,
    table_lines,
)
from electorate_studies.runs import Outcome, Row, Unit

ERRORS = {"A": (0.10, 0.12, 0.14, 0.12, 0.12), "B": (0.20, 0.20, 0.26, 0.20, 0.24)}
ROWS = [
    Row(Unit("1", "one", split), Outcome(name, error, 1.0), "abc")
    for name, errors in ERRORS.items()
    for split, error in enumerate(errors)
]
ROWS.append(Row(Unit("2", "one", 0), Outcome("A", 0.5, 1.0), "abc"))  # another table's
PRINTED = {"one": (Published(11.0, 0.5), Published(20.0)), "two": once(1.0, 2.0)}
TABLE = StudyTable("Table 1", "1", ("A", "B"), PRINTED, {"one": ("as it is", "high"), "two": ("a guess", "low")})


def test_differences_in_standard_errors() -> None:
    first, second, *others = cells_of(TABLE, ROWS)
    assert first.mean == pytest.approx(12)
    assert first.error == pytest.approx(math.sqrt(2 / 5))
    assert first.in_errors == pytest.approx(1 / math.hypot(math.sqrt(2 / 5), 0.5))
    spread = np.std([20, 20, 26, 20, 24], ddof=1)  # of one split stands for that of a single published run
    assert second.in_errors == pytest.approx(2 / (spread * math.sqrt(1 + 1 / 5)))
    assert [len(cell.errors) for cell in others] == [0, 0]


def test_few_splits_share_the_deviation_of_all_algorithms() -> None:
    few = [row for row in ROWS if row.unit.split < 3]
    first, second = cells_of(TABLE, few)[:2]
    pooled = math.sqrt((np.var([10, 12, 14], ddof=1) + np.var([20, 20, 26], ddof=1)) / 2)
    assert first.error == second.error == pytest.approx(pooled / math.sqrt(3))


def test_the_page_counts_what_was_run_and_says_what_was_not() -> None:
    lines = table_lines(TABLE, ROWS)
    assert next(line for line in lines if line.startswith("| one")).startswith(
        "| one | high | 5 | 12.00 ± 0.63 / 11.00"
    )
    assert next(line for line in lines if line.startswith("| two")).count("not run") == 2
    summary = next(line for line in lines if line.startswith("| A |"))
    assert summary == "| A | 1 of 2 | 12.00 | 11.00 | 1.00 | 1 of 1 | 1 | 12.00 | 11.00 | 1.00 | 1 of 1 |"


def test_one_split_has_no_standard_error() -> None:
    cell = cells_of(TABLE, ROWS[:1])[0]
    assert math.isnan(cell.in_errors)
    assert "| 10.00 / 11.00 ± 0.50 |" in next(line for line in table_lines(TABLE, ROWS[:1]) if line.startswith("| one"))


def test_paired_differences_use_the_splits_of_both() -> None:
    some = [row for row in ROWS if (row.outcome.algorithm, row.unit.split) in (("A", 0), ("A", 1), ("B", 0), ("B", 1))]
    mean, error, splits = paired_difference([*some, ROWS[2]], "1", "one", "B", "A")
    assert (mean, splits) == (pytest.approx(9), 2)
    assert error == pytest.approx(1)


def test_paired_t_tests_are_those_of_scipy() -> None:
    expected = ttest_rel(ERRORS["A"], ERRORS["B"], alternative="less").pvalue
    *_, one, end = paired_test_lines(TABLE, ROWS, [("A", "B"), ("B", "A")], 0.02)
    assert end == ""
    assert one.startswith("| one | 5 | **-10.00 ± ")
    assert one.count(f"({expected:.3f})**") == one.count(f"({1 - expected:.3f})**") == 1
    assert "| 0 / 1 |" in order_lines(TABLE, ROWS, [("B", "A")], 0.02)[-2]


def test_two_splits_have_no_t_test() -> None:
    few = [row for row in ROWS if row.unit.split < 2]
    assert paired_test_lines(TABLE, few, [("A", "B")], 0.02) == []
    assert "| 0 / 0 |" in order_lines(TABLE, few, [("A", "B")], 0.5)[-2]


def test_the_lowest_error_and_those_that_are_not_different_from_it() -> None:
    """B is worse at 1%; C differs from A on one split only. A split without C does not count."""
    third = (0.11, 0.12, 0.14, 0.12)
    rows = [*ROWS, *(Row(Unit("1", "one", k), Outcome("C", error, 1.0), "abc") for k, error in enumerate(third))]
    printed = {"one": once(1.0, 2.0, 3.0), "two": once(1.0, 2.0, 3.0)}
    table = StudyTable("Table 1", "1", ("A", "B", "C"), printed, TABLE.doubts)
    assert ttest_rel(ERRORS["A"][:4], ERRORS["B"][:4]).pvalue < 0.01 < ttest_rel(ERRORS["A"][:4], third).pvalue
    lines = lowest_lines(table, rows, 0.01)
    assert "| one | 4 | A | C |" in lines
    assert lines[-4:-1] == ["| A | 1 | 1 of 1 |", "| B | 0 | 0 of 1 |", "| C | 0 | 1 of 1 |"]
    assert lowest_lines(table, ROWS, 0.01) == []
    equal = [Row(row.unit, Outcome(row.outcome.algorithm, 0.1, 1.0), "abc") for row in rows]
    assert "| one | 4 | A, B, C | - |" in lowest_lines(table, equal, 0.01)
