"""Other libraries that our algorithms are compared with, where they are installed."""

import importlib.util
import sys

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from threadpoolctl import threadpool_limits

import electorate
from electorate.cli import main
from electorate.comparison.algorithms import BASELINES, PEERS, Facts, applicable
from electorate.model.library_model import CLASSES
from tests.comparison.small_comparisons import NAMES, QUICK


def table(n: int = 300) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Numbers with missing values, codes of categories, labels, and a quantity."""
    rng = np.random.default_rng(0)
    code = rng.integers(0, 4, n).astype(float)
    x = rng.normal(size=n)
    quantity = np.where(code % 2 == 0, 2.0, -2.0) + x + 0.3 * rng.normal(size=n)
    columns = np.column_stack([x, code])
    columns[::17, 0] = np.nan
    columns[::19, 1] = np.nan
    return columns, (quantity > 0).astype(int), quantity


@pytest.mark.parametrize("name", list(PEERS))
@pytest.mark.parametrize("is_classifier", [True, False])
def test_peers_learn_from_categories_and_missing_values(name, is_classifier):
    if name in CLASSES and importlib.util.find_spec(name) is None:
        pytest.skip(f"{name} is not installed")
    X, labels, quantity = table()
    target = labels if is_classifier else quantity
    peer = PEERS[name][0 if is_classifier else 1]
    for setting in peer.grid:
        with threadpool_limits(1):
            model = peer.build(setting, Facts([1], 0, 4)).fit(X, target, sample_weight=np.ones(len(X)))
            error = np.mean(np.abs(model.predict(X) - target))
        assert error < (0.15 if is_classifier else 1.4)  # 1.8 for a constant
        if is_classifier:
            assert model.predict_proba(X).shape == (len(X), 2)


def test_the_baselines_are_the_class_shares_and_the_median():
    X, y, quantity = table()
    weight = np.arange(len(y)).astype(float)
    classes, median = (one.build({}, Facts([1], 0)) for one in BASELINES)
    proba = classes.fit(X, y, sample_weight=weight).predict_proba(X)
    assert proba[:, 1] == pytest.approx(np.full(len(y), np.average(y, weights=weight)))
    median.set_params(**BASELINES[1].grid[0]) if BASELINES[1].grid[0] else None
    assert median.fit(X, quantity).predict(X) == pytest.approx(np.full(len(y), np.median(quantity)))


def test_a_peer_that_is_not_installed_is_named_with_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "catboost", None)
    with pytest.raises(ValueError, match="catboost is not installed: pip install catboost"):
        applicable("binary", peers=["catboost"])
    with pytest.raises(ValueError, match="no peer is called 'sgd'; choose from linear, forest"):
        applicable("binary", peers=["sgd"])


def test_default_peers():
    names = [a.name for a in applicable("binary", quick=True)]
    assert names[:5] == ["majority class", "linear model", "random forest", "extra trees", "HistGradientBoosting"]
    assert [a.name for a in applicable("binary", NAMES)] == ["majority class", *NAMES[:1], *NAMES[1:]]
    assert [a.name for a in applicable("regression", [], ["hgb"])] == ["median", "HistGradientBoosting"]


@pytest.mark.parametrize("name", list(CLASSES))
def test_a_winner_of_a_library_is_stored_and_read_where_the_file_is_trusted(name, tmp_path, monkeypatch, capsys):
    pytest.importorskip(name)
    monkeypatch.chdir(tmp_path)
    X, y, _ = table(200)
    frame = pd.DataFrame({"x": X[:, 0], "code": np.where(np.isnan(X[:, 1]), None, X[:, 1].astype(str)), "y": y})
    frame.to_csv("t.csv", index=False)
    few = ["--target", "y", "--peers", name, "--algorithm", "AdaBoost, stumps", "--no-stack", "--quick", "--quiet"]
    assert main(["compare", "t.csv", *few, "--folds", "2", "--n-jobs", "1"]) == 0
    assert "electorate predict --trust t.compare/winner.model" in capsys.readouterr().out
    model = "t.compare/winner.model"
    assert main(["predict", model, "t.csv"]) == 1
    assert "a manipulated file can crash: if you trust the file, add --trust" in capsys.readouterr().err
    for command in ("predict", "score", "explain", "report"):
        target = [] if command == "predict" else ["--target", "y"]
        assert main([command, "--trust", model, "t.csv", *target]) == 0
    assert main(["verify", "--trust", model]) == 0


def test_default_peers_are_compared_on_sparse_rows_and_categories():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"c": rng.choice(list("abc"), 150), "x": rng.normal(size=150)})
    y = np.where((frame["c"] == "a") ^ (frame["x"] > 0), "yes", "no")
    many = sparse.csr_array(np.column_stack([frame["x"] > 0, frame["c"] == "a"]).astype(float))
    for table_of_kind in (frame, many):
        found = electorate.compare(table_of_kind, y, algorithms=NAMES[:1], peers=["linear", "forest", "hgb"], **QUICK)
        assert not found.failed
        assert {"linear model", "random forest", "HistGradientBoosting"} <= set(found.columns["algorithm"])
