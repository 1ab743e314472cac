"""Files, further fits, Dask, scanned tables, CUDA's twins and comparisons give what was recorded."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from electorate.registry import ALGORITHMS
from tests.golden.cases import stored
from tests.golden.paths import COMPARISONS, STRAIGHT, WAYS, records_of, results_of, stored_paths
from tests.golden.test_golden import TOLERANCE, compare_numpy

HERE = [way for way in WAYS if way != "dask"]
ERRORS = {"NotInMemoryError", "TypeError", "ValueError"}


def recorded(table: str, key: str) -> Any:
    compare_numpy(stored_paths()["numpy"])
    return stored_paths()[table][key]


def test_every_algorithm_and_comparison_is_recorded() -> None:
    found = stored_paths()
    assert found["numpy"] == stored()["numpy"]
    assert list(found["paths"]) == sorted(ALGORITHMS), "run `python -m tests.golden.record --new`"
    assert found["comparisons"].keys() == COMPARISONS.keys()


def test_records_of_all_ways_are_those_of_a_straight_fit() -> None:
    for name, records in stored_paths()["paths"].items():
        ways = {records[way] for way in WAYS if records[way] not in ERRORS}
        assert ways == {records.get("straight", STRAIGHT)}, name


@pytest.mark.parametrize("name", ALGORITHMS)
def test_models_and_files_are_those_recorded(name: str) -> None:
    known = {way: record for way, record in recorded("paths", name).items() if way != "dask"}
    assert records_of(name, HERE) == known


@pytest.mark.process
@pytest.mark.parametrize("name", ALGORITHMS)
def test_models_on_dask_are_those_recorded(name: str) -> None:
    assert records_of(name, ["dask"])["dask"] == recorded("paths", name)["dask"]


@pytest.mark.parametrize("task", COMPARISONS)
def test_results_of_comparisons_are_those_recorded(task: str) -> None:
    names, *rows = results_of(task)
    known_names, *known_rows = recorded("comparisons", task)
    assert names == known_names
    assert len(rows) == len(known_rows)
    for row, known in zip(rows, known_rows, strict=True):
        assert [type(cell) for cell in row] == [type(cell) for cell in known]
        numbers = [(cell, other) for cell, other in zip(row, known, strict=True) if isinstance(cell, float)]
        assert [cell for cell in row if isinstance(cell, str)] == [cell for cell in known if isinstance(cell, str)]
        np.testing.assert_allclose(*zip(*numbers, strict=True), rtol=TOLERANCE, atol=TOLERANCE, err_msg=str(row))
