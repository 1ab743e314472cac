"""The study of peers: the halves of the data sets, flipped labels, equal budgets, resuming, the page."""

import base64
import json
import shutil
from dataclasses import replace
from functools import partial
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from electorate.comparison.algorithms import OURS, PEERS, Size
from electorate.comparison.rows import Rows
from electorate_studies import peers
from electorate_studies.peers_page import Page, complete
from electorate_studies.request import Request
from electorate_studies.runs import Lines, stored

BITS = {  # test rows that are predicted wrongly
    peers.PORTFOLIO: np.arange(16) < 8,
    peers.STACK: np.arange(16) >= 8,
    "good": np.arange(16) < 2,
    "bad": np.arange(16) < 12,
}
PAGES = Path(__file__).parents[2] / "docs" / "studies"
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
        listed.append({**facts, "classes": {"yes": 110, "no": 110}, "categorical": [], "text_columns": ["c"]})
    (tmp_path / "DATASETS.json").write_text(json.dumps({"datasets": listed}))
    return tmp_path


def few(is_classifier: bool, size: Size, budget: int) -> dict:
    ours = replace(OURS[0], grid=({"estimator__max_depth": 2, "n_estimators": 4, "learning_rate": 1.0},))
    linear = replace(PEERS["linear"][0], grid=({"C": 1.0}, {"C": 0.1}))
    return {peers.PORTFOLIO: [ours], "linear model": [linear]}


def test_the_study_runs_and_resumes(folder, tmp_path, monkeypatch):
    monkeypatch.setattr(peers, "methods", few)
    request = Request("table 1", True, folder, tmp_path / "out", SETS[:2])
    page = peers.reproduce(request)
    assert "Quick version" in page
    assert "20% of the labels flipped" in page
    assert page.count("| one |") == 2
    assert len((tmp_path / "out" / "peers-table-1-quick.csv").read_text().splitlines()) == 1 + 2 * 2 * 3
    assert (tmp_path / "out" / "peers-table-1-quick.png").exists()
    monkeypatch.setattr(peers, "run_unit", lambda *_: 1 / 0)  # nothing is computed again
    assert peers.reproduce(request) == page
    next((tmp_path / "out").glob("*.jsonl")).unlink()
    assert peers.reproduce(request) == page  # from the CSV file
    assert peers.reproduce(replace(request, render=True)) == page


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
    wanted = sum((peers.CLASSIFIERS if is_classifier else peers.REGRESSORS).values())
    assert sum(len(one.grid) for one in found[peers.PORTFOLIO]) == min(budget, wanted)


def test_gaps_ranks_and_what_is_complete():
    rows = []
    wrong = {name: base64.b64encode(np.packbits(bits).tobytes()).decode() for name, bits in BITS.items()}
    for (name, bits), split in product(BITS.items(), range(2)):
        result = {"error": bits.mean(), "log_loss": 0.5, "seconds": 1.0, "rows": 16, "wrong": wrong[name]}
        rows.append({"data": "a", "split": split, "flipped": 0.0, "method": name, **result})
    rows.append({**rows[0], "data": "b", "method": peers.PORTFOLIO})  # without the other methods
    rows.append({**rows[-2], "split": 1, "method": peers.SLOW, "error": 0.25, "seconds": 60.0})  # not on all splits
    page = Page(complete(rows, 0.0, ["a", "b"]), "error", set())
    assert page.sets == ["a"]
    gap = page.gap("a", peers.PORTFOLIO)
    assert (gap.best, gap.mine, gap.its) == ("good", 0.5, 0.125)
    assert gap.error == pytest.approx(np.sqrt(2 * 6) / 32)  # six rows differ, in both splits
    assert gap.is_behind(0.01)
    assert not gap.is_behind(0.2)
    assert page.ranks == {
        peers.PORTFOLIO: 2.5,
        peers.STACK: 2.5,
        "good": 1.0,
        "bad": 4.0,
    }
    assert page.ranks_among([peers.STACK, "good", "bad"]) == {peers.STACK: 2, "good": 1, "bad": 3}
    assert "| a | 0.2500 | 0.5000 | 0.5000 | good | 0.1250 | 60 |" in page.text()
    for name in BITS:  # one of two splits has no rows
        page.results["a", name][0].pop("wrong")
    assert page.gap("a", peers.PORTFOLIO).error == pytest.approx(np.sqrt(6) / 16 / np.sqrt(2))
    page.results["a", "good"][1].pop("wrong")
    assert np.isnan(page.gap("a", peers.PORTFOLIO).error)


def test_results_survive_the_csv_file(tmp_path):
    values = {"error": 1 / 3, "log_loss": 0.5, "seconds": 1.25, "chosen": "a, 'b'", "rows": 3, "wrong": "oA=="}
    lines = Lines(tmp_path / "table-1.jsonl")
    for key, of in ((["a", 1, 0.2, "one, two"], values), (["b", 0, 0.0, "three"], {"mae": 2.0})):
        lines.compute(key, partial(dict, of))
    request = Request("table 1", False, tmp_path, tmp_path, render=True)
    rows = stored(request, "peers", partial(peers.compute, request, peers.FULL[1]), peers.TEXTS, lines=True)
    first = {"data": "b", "split": 0, "flipped": 0.0, "method": "three", "mae": 2.0}
    second = {"data": "a", "split": 1, "flipped": 0.2, "method": "one, two", **values, "error": pytest.approx(1 / 3)}
    assert rows == [first, second]
    assert peers.compute(request, peers.FULL[1])[0]["mae"] == 2.0


def test_the_slow_method_is_run_on_small_data_sets():
    small = {"name": "a", "n_rows": 300, "classes": {"u": 1, "v": 2}}
    assert peers.Unit(small, 0, 0.0).has(peers.SLOW)
    assert not peers.Unit(small, 1, 0.0).has(peers.SLOW)
    assert not peers.Unit(small, 0, 0.2).has(peers.SLOW)
    assert not peers.Unit({**small, "n_rows": 3_000}, 0, 0.0).has(peers.SLOW)
    assert peers.Unit({**small, "n_rows": 3_000}, 1, 0.2).has("CatBoost")


@pytest.mark.parametrize("table", ["table 1", "table 2"])
def test_the_stored_pages_are_made_from_the_stored_results(table, tmp_path):
    name = f"peers-{table.replace(' ', '-')}"
    shutil.copy(PAGES / f"{name}.csv", tmp_path)
    text = peers.reproduce(Request(table, False, tmp_path / "no data", tmp_path, render=True))
    assert text == (PAGES / f"{name}.md").read_text(encoding="utf-8")
    summary = [line for line in text.split("## Clean labels")[0].splitlines() if line.startswith("| ")]
    page = (PAGES / "peers.md").read_text(encoding="utf-8")
    assert table == "table 2" or [line for line in summary if line not in page] == []
