"""The report of a comparison: the answer, the ranking with intervals, and the model on the test rows."""

import html
import json
import re

import numpy as np
import pandas as pd
import pytest

from electorate import compare
from electorate.cli import main
from electorate.comparison.workers import WorkLimits
from electorate.report.comparison_report import comparison_report


@pytest.fixture(scope="module")
def found():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    y = np.where(X[:, 0] + 0.2 * rng.normal(size=400) > 0, "<b>yes</b>", "no")
    names = ["AdaBoost, stumps", "Real AdaBoost, stumps"]
    return compare(X, y, algorithms=names, folds=3, n_jobs=1, test_fraction=0.2, stack=False)


def test_the_ranking_is_drawn_and_listed(found, tmp_path):
    page = comparison_report(found, tmp_path / "report.html", title="<i>", command="electorate compare 'a b.csv'")
    assert (tmp_path / "report.html").read_text("utf-8") == page
    charts = json.loads(re.search(r"id='charts'>(.*?)</script>", page, re.DOTALL)[1])
    ranking = charts[0]
    assert ranking["kind"] == "intervals"
    assert set(ranking["names"]) == {"AdaBoost, stumps", "Real AdaBoost, stumps"}
    assert all(
        low <= mid <= high for low, mid, high in zip(ranking["low"], ranking["mid"], ranking["high"], strict=True)
    )
    assert f"trained without the test rows, on the {len(found.refits.parts[1])} test rows" in page
    sections = re.findall(r"<h2[^>]*>(.*?)</h2>", page)
    assert sections[:2] == ["Answer", "Ranking"]
    assert all(html.escape(line.strip(), quote=True) in page for line in found.answer)
    assert "majority class" in page
    assert "<b>" not in page
    assert "<i>" not in page
    assert "electorate compare &#x27;a b.csv&#x27;" in page


def test_the_command_writes_it(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    rows = [f"{a:.3f},{b:.3f},{'u' if a > 0 else 'v'}" for a, b in rng.normal(size=(80, 2))]
    (tmp_path / "t.csv").write_text("\n".join(["a,b,y", *rows]))
    options = ["--target", "y", "--folds", "2", "--jobs", "1", "--quiet", "--algorithm", "AdaBoost, stumps"]
    assert main(["compare", "t.csv", *options]) == 0
    assert "report: t.compare/report.html" in capsys.readouterr().out
    assert "Ranking" in (tmp_path / "t.compare" / "report.html").read_text("utf-8")


def test_a_cleaned_table_with_copies(tmp_path):
    rng = np.random.default_rng(0)
    n = 120
    x = rng.normal(size=n)
    X = pd.DataFrame(
        {
            "when": pd.date_range("2024-01-01", periods=n, freq="9D").strftime("%d.%m.%Y"),
            "x": x,
        }
    )
    X, y = pd.concat([X, X[:60]], ignore_index=True), np.tile(x > 0, 2)[: n + 60]
    found = compare(X, y, algorithms=["AdaBoost, stumps"], folds=2, n_jobs=1, test_fraction=0.2)
    page = comparison_report(found, tmp_path / "report.html")
    assert "Check-up before training: date &#x27;when&#x27;" in page
    assert "check_up(X_train, y_train).fit(" in page
    test, training = (X["x"].to_numpy()[found.refits.parts[k]] for k in (1, 0))
    copies = int(np.isin(test, training).sum())
    assert copies > 0
    assert f"{copies} of the {len(test)} test rows equal a training row" in page


def test_without_test_rows_nothing_is_said_about_errors_on_training_rows(tmp_path):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 2)), np.arange(60) % 2
    found = compare(X, y, algorithms=["AdaBoost, stumps"], folds=2, n_jobs=1, quick=True)
    page = comparison_report(found, tmp_path / "report.html", command="electorate compare t.csv")
    assert found.winner == "AdaBoost, stumps"
    assert "trained on all rows: no rows were held out" in page
    assert "There is no evidence that it is better than guessing" in page
    assert "electorate compare t.csv" in page
    assert "class='confusion" not in page


@pytest.mark.parametrize("peer", ["linear", "forest"])
@pytest.mark.parametrize("share", [0.0, 0.2])
def test_the_report_of_a_model_of_scikit_learn(peer, share, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 2))
    y = X[:, 0] + 0.1 * rng.normal(size=100)
    found = compare(X, y, algorithms=[], peers=[peer], folds=2, n_jobs=1, quick=True, test_fraction=share)
    page = comparison_report(found, tmp_path / "report.html")
    assert found.winner in page
    assert ("test rows" in page) == (share > 0)


def test_the_report_keeps_the_limit(tmp_path, found, monkeypatch):
    """Columns are shuffled one by one, which takes hours with 100,000 of them."""
    monkeypatch.setattr(found, "limits", WorkLimits(1, seconds=-1.0))
    page = comparison_report(found, tmp_path / "report.html", command="electorate compare t.csv")
    assert re.findall(r"<h2[^>]*>(.*?)</h2>", page) == ["Answer", "Ranking", "How it was computed"]
    assert "no time to describe the columns" in page
    assert "electorate compare t.csv" in page
