"""Comparisons on scanned tables: a sample chooses, all rows that are not held out train, all that are held out test."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.base import clone

import electorate
from electorate import load, scan
from electorate.cli import main
from electorate.comparison import scanned
from electorate.comparison.scanned import RowDraw, draw_sample, rows_to_sample
from electorate.data import inputs

FEW = {"algorithms": ["AdaBoost, stumps"], "peers": [], "quick": True, "folds": 2, "n_jobs": 1}


def rows(n: int = 1500) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3))
    X[::11, 1] = np.nan
    return X, np.where((X[:, 0] > 0) ^ (rng.random(n) < 0.1), "yes", "no")


def test_all_rows_are_held_out_or_trained_on() -> None:
    """The model and its errors are those of a fit in memory to the rows that are not held out."""
    X, y = rows()
    found = {
        size: electorate.compare(*scan(X, target=y, batch_rows=size), sample_rows=300, **FEW) for size in (70, 999)
    }
    one, other = found.values()
    assert one.columns["error"] == other.columns["error"]
    is_open = RowDraw(0, 0.2).is_open(0, len(X))
    assert 0.17 < 1 - is_open.mean() < 0.23
    expected = clone(one.model).fit(X[is_open], y[is_open])
    assert one.model.digest_ == other.model.digest_ == expected.digest_
    held_out = one.model.held_out_
    assert held_out["errors"] == np.sum(expected.predict(X[~is_open]) != y[~is_open])
    assert (held_out["rows"], held_out["training_rows"]) == (np.sum(~is_open), np.sum(is_open))
    assert one.model is one.model_without_test_rows
    shown = repr(one)
    assert "(sampled from 1,500 rows that are read batch by batch)" in shown
    assert f"fitted to all {np.sum(is_open):,} rows that are not held out, batch by batch" in one.notes[-1]


def test_the_sample_is_uniform_and_does_not_depend_on_batches() -> None:
    X, y = np.arange(20_000.0)[:, None], np.arange(20_000) % 3
    samples = [draw_sample(*scan(X, target=y, batch_rows=size), None, RowDraw(1, 0.2), 500) for size in (64, 7001)]
    assert np.array_equal(samples[0].places, samples[1].places)
    places = samples[0].places
    assert len(places) == 500
    assert np.all(np.diff(places) > 0)
    assert np.array_equal(samples[0].X[:, 0], places)
    assert np.array_equal(samples[0].y, places % 3)
    assert np.all(np.abs(np.bincount(places // 4000) - 100) < 50)  # more than 5 standard deviations
    other = draw_sample(*scan(X, target=y), None, RowDraw(2, 0.2), 500)
    assert len(np.intersect1d(places, other.places)) < 50
    training, test = samples[0].parts
    assert abs(len(test) - 100) < 50
    assert len(training) + len(test) == 500


def test_weights_and_columns_of_dataframes() -> None:
    """Rows of weight 0 are neither sampled nor tested. The batches of a function have the types of their own rows."""
    X, y = rows(600)
    frame = pd.DataFrame(X, columns=list("abc")).assign(y=y, w=np.arange(600) % 3 // 1.0, c=["p", "q", None] * 200)
    frame["n"] = np.arange(600) % 7
    parts = [frame[:100], frame[100:400].astype({"n": float}), frame[400:]]
    table, target, weight = scan(lambda: iter(parts), target="y", weights="w")
    found = electorate.compare(table, target, sample_weight=weight, sample_rows=350, **FEW)
    assert found.refits.sample.n_open + found.refits.n_test == 400
    assert np.all(found.refits.sample.places % 3 > 0)
    assert found.model.held_out_["why"] == "an exact binomial bound does not apply to rows of different weights"
    is_open = RowDraw(0, 0.2).is_open(0, 600)
    expected = clone(found.model).fit(frame[is_open].drop(columns=["y", "w"]), y[is_open], frame["w"][is_open])
    assert found.model.digest_ == expected.digest_


def test_a_class_that_the_sample_lacks() -> None:
    X, y = rows(900)
    y = y.astype(object)
    y[[i for i in range(900) if RowDraw(0, 0.2).is_open(i, i + 1)[0]][:2]] = "rare"
    found = electorate.compare(*scan(X, target=y), sample_rows=250, **FEW)
    assert found.model.classes_.tolist() == ["no", "rare", "yes"]
    assert "no row of the sample has the labels 'rare': settings were chosen without them" in found.notes


def test_what_needs_memory_is_fitted_to_the_sample() -> None:
    X, y = rows(600)
    given = FEW | {"algorithms": ["LPBoost, stumps"]}
    found = electorate.compare(*scan(X, target=y), sample_rows=200, **given)
    n_rows = found.training_rows.n_rows
    assert found.model.held_out_["training_rows"] == n_rows < 200
    why = "LPBoostClassifier needs every row in the memory of this process"
    assert f"FITTED TO THE SAMPLE ONLY ({why})" in found.notes[-1]
    assert found.refits.n_test == found.model.held_out_["rows"] > 100


def test_refused_before_the_work() -> None:
    X, y = rows(100)
    table, target = scan(X, target=y)
    for more, message in (
        ({"group": y}, "group needs every row in memory"),
        ({"time_column": y}, "time_column needs every row in memory"),
        ({"sample_rows": 3}, "sample_rows is 3: it must be at least 20"),
    ):
        with pytest.raises(ValueError, match=message):
            electorate.compare(table, target, **more)
    with pytest.raises(TypeError, match="y is no column of the same scan"):
        electorate.compare(table, y)
    y = y.astype(object)
    y[70] = None
    with pytest.raises(ValueError, match=r"contains NaN: row 20 .*counted from row 50 of the array"):
        electorate.compare(*scan(X, target=y, batch_rows=50))
    with pytest.raises(ValueError, match="too few for training and test rows"):
        electorate.compare(*scan(X[:1], target=y[:1]))


def test_the_size_of_a_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inputs, "free_memory", lambda: 2**40)
    assert rows_to_sample(10) == 200_000
    monkeypatch.setattr(inputs, "free_memory", lambda: 8 * 16 * 10 * 5000)
    assert rows_to_sample(10) == 4096
    monkeypatch.setattr(inputs, "free_memory", lambda: None)
    assert rows_to_sample(10**6) == scanned.MOST_SAMPLED


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    X, y = rows(900)
    frame = pd.DataFrame(X, columns=list("abc")).assign(c=np.arange(900) % 4, y=(y == "yes").astype(float))
    pq.write_table(pa.Table.from_pandas(frame, preserve_index=False), "t.parquet", row_group_size=200)
    options = ["--target", "y", "--algorithm", "AdaBoost, stumps", "--quick", "--folds", "2", "--n-jobs", "1"]
    command = ["compare", "t.parquet", *options, "--scan", "always", "--sample-rows", "300"]
    assert main(command) == 0
    printed = capsys.readouterr()
    assert "t.parquet: 900 rows are read batch by batch, without a check-up" in printed.err
    assert "(sampled from 900 rows" in printed.out
    assert "next:   electorate predict t.compare/winner.model" in printed.out
    stored = json.loads(Path("t.compare/comparison.json").read_text())["table"]
    model = load("t.compare/winner-without-test-rows.model")
    assert load("t.compare/winner.model").digest_ == model.digest_  # one fit, to all rows that are not held out
    assert stored == {"rows": 900, "test_rows": model.held_out_["rows"], "sampled_rows": 300}
    assert model.classes_.tolist() == [0, 1]
    page = Path("t.compare/report.html").read_text()
    assert f"of the {stored['test_rows']} test rows" in page
    assert "fitted to all" in page
    assert main(["verify", "t.compare/winner-without-test-rows.model"]) == 0
    assert f"fitted to {900 - stored['test_rows']} rows" in capsys.readouterr().out
    assert main([*command, "--group", "c"]) != 0
    assert "--group needs the table in memory: add --scan never" in capsys.readouterr().err
    assert main([*command[:-1], "400"]) != 0  # another sample in the same folder
    assert "holds a comparison with another table" in capsys.readouterr().err
