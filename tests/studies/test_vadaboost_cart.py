"""VadaBoost's table 2 with several sizes of CART: the summary by hand, and which splits are run without a limit."""

import os
from pathlib import Path

import pytest

from electorate_studies import vadaboost
from electorate_studies.pages import once
from electorate_studies.request import Request
from electorate_studies.runs import Outcome, Row, Unit

DATA = Path(os.environ.get("ELECTORATE_DATA", Path(__file__).parents[3] / "shared" / "data"))
PUBLISHED = {"one": once(10.0, 9.0, 0.0, 0.0), "two": once(20.0, 18.0, 0.0, 0.0)}
ERRORS = {  # by table, data set and algorithm, for two splits
    ("2", "one", "AdaBoost"): (0.10, 0.12),
    ("2", "one", "VadaBoost"): (0.10, 0.10),
    ("2", "two", "AdaBoost"): (0.20, 0.20),
    ("2", "two", "VadaBoost"): (0.22, 0.24),
    ("3", "one", "AdaBoost"): (0.13, 0.13),
    ("3", "one", "VadaBoost"): (0.13, 0.13),
}
ROWS = [
    Row(Unit(table, name, split), Outcome(algorithm, error, 1.0), "abc")
    for (table, name, algorithm), errors in ERRORS.items()
    for split, error in enumerate(errors)
]


def test_the_sizes_side_by_side() -> None:
    lines = vadaboost.cart_lines(ROWS, PUBLISHED)
    assert "| one | 11.00 / 10.00 | 13.00 / 13.00 | not run / not run | 10.00 / 9.00 |" in lines
    # differences of VadaBoost on the two sets: 0 and -2 (mean -1, s.e. 1), 2 and 4 (mean 3, s.e. 1)
    assert "| 2 splits | 2 | 0.50 | 3.00 | +0.50 | +3.00 | +1.00 ± 0.71 | 1, 0, 1 |" in lines
    assert "| 3 splits on a path | 1 | 3.00 | 4.00 | +3.00 | +4.00 | +0.00 ± 0.00 | 0, 1, 0 |" in lines
    assert "| no limit | 0 | - | - | - | - | - | 0, 0, 0 |" in lines
    assert vadaboost.cart_lines([row for row in ROWS if row.unit.table == "2"], PUBLISHED) == []


@pytest.mark.skipif(not (DATA / "DATASETS.json").exists(), reason="the data sets are not here")
def test_trees_without_a_limit_run_on_the_smaller_data_sets() -> None:
    units = vadaboost.units(Request("table 4", False, DATA, DATA))
    assert {unit.data for unit in units} == set(vadaboost.UNLIMITED) < set(vadaboost.SETS)
    assert {unit.split for unit in units} == set(range(vadaboost.UNLIMITED_SPLITS))
    assert max(unit.split for unit in vadaboost.units(Request("table 3", False, DATA, DATA))) == 49
