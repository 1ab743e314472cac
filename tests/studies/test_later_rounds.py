"""Checks of single sentences: 1,000 rounds of DeepBoost's stored choices, EBBoost with lam above 1, Theorem 5."""

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from electorate_studies import deepboost, vadaboost
from electorate_studies.request import Request
from electorate_studies.runs import Outcome, Row, Unit, read_results

DATA = Path(os.environ.get("ELECTORATE_DATA", Path(__file__).parents[3] / "shared" / "data"))
STORED = Path(__file__).parents[2] / "docs" / "studies"
needs_data = pytest.mark.skipif(not (DATA / "DATASETS.json").exists(), reason="the data sets are not here")


@needs_data
@pytest.mark.parametrize("key", deepboost.AGAIN)
def test_stored_choices_of_deepboost_are_fitted_again(key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With as many rounds as in the table, the errors are those that are stored; so later rounds continue them."""
    unit = Unit(key, "ionosphere", 1)
    monkeypatch.setattr(deepboost, "TIMES", 1)
    found = deepboost.run_fold(unit, DATA, deepboost.PAPER, STORED / "deepboost.csv")
    first = unit._replace(table=deepboost.AGAIN[key])
    stored = {row.outcome.algorithm: row.outcome for row in read_results(STORED / "deepboost.csv") if row.unit == first}
    assert [one.algorithm for one in found] == list(stored) == list(deepboost.ALGORITHMS[first.table])
    for one in found:
        assert one.error == pytest.approx(stored[one.algorithm].error, abs=1e-6)
        assert one.voters == stored[one.algorithm].voters


@needs_data
def test_only_the_small_sets_have_more_rounds() -> None:
    every = deepboost.units(Request("all", False, DATA, DATA))
    assert {unit.data for unit in every if unit.table in deepboost.AGAIN} == set(deepboost.SMALL)


def test_ebboost_with_any_lam_is_the_better_by_validation_error() -> None:
    rows = []
    for split, (usual, free) in enumerate([((0.2, 0.1), (0.15, 0.3)), ((0.2, 0.1), (0.2, 0.3))]):
        for table, algorithm, lam, (validation, error) in (
            ("1", "EBBoost", 0.4, usual),
            (vadaboost.LARGER, vadaboost.ABOVE, 4.0, free),
        ):
            outcome = Outcome(algorithm, error, 0.0, {"lam": lam, "validation": validation})
            rows.append(Row(Unit(table, "wisc", split), outcome, ""))
    errors = [[one.error for one in both] for both in vadaboost.any_lam(rows)["wisc"]]
    assert errors == [[0.1, 0.3], [0.1, 0.1]]  # of equals, lam of at most 1
    assert "| wisc | 2 | 1 of 2 | 10.00 | 20.00 | +10.00 ± 10.00 |" in vadaboost.larger_lines(rows)
    assert vadaboost.larger_lines([replace(row, unit=row.unit._replace(table="2")) for row in rows]) == []


def rounds_ratio(error: np.ndarray) -> np.ndarray:
    """Theorem 5 of the VadaBoost paper: rounds of VadaBoost at lam = 0 for one of AdaBoost, at a constant error."""
    p = error * (1 - error)
    return np.log(4 * p) / np.log(2 * p + np.sqrt(p))


def test_vadaboost_needs_twice_adaboosts_rounds_at_most_and_a_third_more_above_an_error_of_two_fifths() -> None:
    errors = np.linspace(1e-6, 0.5 - 1e-4, 20_000)
    ratio = rounds_ratio(errors)
    assert np.all(ratio <= 2)
    assert np.all(np.diff(ratio) < 1e-6)  # falls with the error
    weak = ratio[errors > 0.4]
    assert weak.max() < 1.34
    assert weak.min() > 4 / 3 - 1e-6
