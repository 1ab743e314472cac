"""The study of peers: the halves of the data sets, flipped labels, equal budgets, resuming, the page."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from electorate.comparison.algorithms import OURS, PEERS, Size
from electorate.comparison.rows import Rows
from electorate.studies import peers
from electorate.studies.request import Request

SETS = ("one", "two", "three", "four", "five")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    listed = []
    for name in SETS:
        table = pd.DataFrame(rng.normal(size=(220, 2)), columns=["a", "b"])
        table["c"] = rng.choice(["u", "v"], 220)
        table["target"] = np.where(table["a"] + (table["c"] == "u") > 0, "yes", "no")
        table.to_csv(tmp_path / f"{name}.csv.gz", index=False)
        facts = {"name": name, "file": f"{name}.csv.gz", "task": "classification", "n_rows": 220}
        listed.append({**facts, "categorical": [], "text_columns": ["c"]})
    (tmp_path / "DATASETS.json").write_text(json.dumps({"datasets": listed}))
    return tmp_path


def few(is_classifier: bool, size: Size, budget: int) -> dict:
    ours = replace(OURS[0], grid=({"estimator__max_depth": 2, "n_estimators": 4, "learning_rate": 1.0},))
    linear = replace(PEERS["linear"][0], grid=({"strength": 1.0}, {"strength": 0.1}))
    return {peers.PORTFOLIO: [ours], "linear model": [linear]}


def test_the_study_runs_and_resumes(folder, tmp_path, monkeypatch):
    monkeypatch.setattr(peers, "methods", few)
    request = Request("table 1", True, folder, tmp_path / "out", SETS[:2])
    page = peers.reproduce(request)
    assert "Quick version" in page
    assert "20% of the labels flipped" in page
    assert page.count("| one |") == 2
    monkeypatch.setattr(peers, "run_unit", None)  # nothing is computed again
    assert peers.reproduce(request) == page


def test_half_of_the_data_sets_are_reported(folder):
    request = Request("table 1", False, folder, folder)
    names = [one["name"] for one in peers.data_sets(request)]
    assert 0 < len(names) < len(SETS)
    assert all(peers.is_reported(name) for name in names)
    assert not peers.data_sets(Request("table 2", False, folder, folder))


def test_labels_are_flipped_to_another_class():
    rows = Rows(np.zeros((4_000, 1)), np.arange(4_000) % 3, [], 0)
    flipped = peers.flip(rows, 0.2, 3, 0)
    assert np.mean(flipped.target != rows.target) == pytest.approx(0.2, abs=0.03)
    assert set(flipped.target) == {0, 1, 2}
    assert peers.flip(rows, 0.0, 3, 0) is rows


@pytest.mark.parametrize("is_classifier", [True, False])
@pytest.mark.parametrize("budget", [4, peers.BUDGET])
def test_no_method_has_more_settings_than_the_budget(is_classifier, budget):
    found = peers.methods(is_classifier, Size(2_000), budget)
    for algorithms in found.values():
        assert 0 < sum(len(one.grid) for one in algorithms) <= budget
    assert sum(len(one.grid) for one in found[peers.PORTFOLIO]) == budget
