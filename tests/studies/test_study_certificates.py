"""The study of certificates: the worlds' risks are exact, the bounds cover, and fail without what they pay for."""

import os
from pathlib import Path

import numpy as np
import pytest

from electorate.studies import certificates as study
from electorate.studies.request import Request

FOLDER = Path(os.environ.get("ELECTORATE_DATA", Path(__file__).resolve().parents[3] / "shared" / "data"))
needs_data = pytest.mark.skipif(not (FOLDER / "DATASETS.json").exists(), reason="the data sets are not here")


@pytest.mark.parametrize("name", study.worlds())
def test_the_risk_of_a_world_is_that_of_many_rows(name):
    world = study.worlds()[name]
    rng = np.random.default_rng(0)
    X, y = world.draw(20_000, rng)
    predicted = (np.arange(128) % 3 == 0).astype(int)
    rows = (X @ 2.0 ** np.arange(7)).astype(int)
    assert np.isclose(world.shares.sum(), 1)
    assert np.mean(predicted[rows] != y) == pytest.approx(world.risk(predicted), abs=0.02)


@pytest.mark.parametrize("kind", study.SIMULATED)
def test_bounds_cover_and_fail_where_the_choice_is_not_paid_for(kind):
    """A short version of table 2, in the world where a choice among many tests finds what is not there."""
    found = study.simulate(kind, study.worlds()["coins"], 80)
    assert found["failed"] <= study.most_failures(80)
    assert found["unpaid"] > study.most_failures(80)


@needs_data
def test_table_1(tmp_path):
    text = study.reproduce(Request("table 1", True, FOLDER, tmp_path, ("heart_statlog",)))
    assert "| heart_statlog | 202 |" in text
    assert "card below 1/2, two classes and 150 rows or more: " in text
    assert (tmp_path / "certificates.png").exists()
    assert text == study.reproduce(Request("table 1", True, FOLDER, tmp_path, ("heart_statlog",)))


def test_table_2(tmp_path, monkeypatch):
    monkeypatch.setattr(study, "QUICK", study.Plan(draws=3))
    assert study.reproduce(Request("table 2", True, FOLDER, tmp_path)).count("\n") == 11
