"""The benchmark harness runs, on tiny data and with the peers at hand, and leaves nothing out."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.process

ROOT = Path(__file__).parent.parent
BARS_PER_ROW = {
    "fit-large": 2,
    "fit-adaboost": 1,
    "fit-small": 2,
    "fit-trees": 2,
    "fit-deep": 2,
    "fit-real": 1,
    "round": 1,
    "columns": 1,
    "rules": 1,
    "quadboost-lasso": 3,
    "quadboost-rounds": 1,
    "fit-medboost": 1,
    "penalised": 2,
    "predict": 2,
    "predict-median": 1,
    "predict-csv": 2,
    "start": 3,
    "memory": 1,
    "dask": 6,
    "lpboost": 1,
}
SOME_ROWS = ("fit-large", "fit-adaboost", "round", "predict", "memory")


def run(*arguments: str, timeout: float = 1200.0) -> subprocess.CompletedProcess[str]:
    """The harness in a process of its own, with this checkout's package."""
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    return subprocess.run(
        [sys.executable, str(ROOT / "benchmarks" / "run.py"), *arguments],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A quick run of some rows; all of them take minutes, most of it to start processes."""
    out = tmp_path_factory.mktemp("bench")
    done = run("--quick", "--out", str(out), *(f"--only={row}" for row in SOME_ROWS))
    assert done.returncode == 0, done.stderr
    return out


@pytest.fixture(scope="module")
def results(folder: Path) -> dict[str, Any]:
    """The raw figures of the quick run."""
    found: dict[str, Any] = json.loads((folder / "results.json").read_text())
    return found


@pytest.mark.slow
def test_every_row_and_bar_is_there(tmp_path: Path) -> None:
    done = run("--quick", "--out", str(tmp_path))
    assert done.returncode == 0, done.stderr
    rows = json.loads((tmp_path / "results.json").read_text())["rows"]
    assert {name: len(row["bars"]) for name, row in rows.items()} == BARS_PER_ROW
    assert all(bar["measured"] is not None for bar in rows["start"]["bars"])


def test_some_rows_with_all_their_bars(results: dict[str, Any]) -> None:
    assert {name: len(row["bars"]) for name, row in results["rows"].items()} == {
        name: BARS_PER_ROW[name] for name in SOME_ROWS
    }
    assert results["quick"] is True
    assert {"numpy", "scipy", "scikit-learn"} <= set(results["versions"])
    assert results["machine"]["cpu"]


@pytest.mark.parametrize(
    ("row", "groups"),
    [
        ("fit-large", ["one core", "two threads"]),
        ("fit-adaboost", ["one core"]),
        ("predict", ["one core"]),
    ],
)
def test_ours_and_scikit_learns_are_timed_with_their_errors(
    results: dict[str, Any], row: str, groups: list[str]
) -> None:
    for group in groups:
        found = results["rows"][row][group]
        peer = "scikit-learn AdaBoost" if row == "fit-adaboost" else "HistGradientBoosting"
        assert {"electorate", peer} <= set(found["seconds"])
        assert set(found["seconds"]) == set(found["error"])
        assert not set(found["seconds"]) & set(found["missing"])
        assert all(s > 0.0 for times in found["seconds"].values() for s in times)
        assert all(0.0 < e < 0.4 for e in found["error"].values())


def test_memory_is_measured(results: dict[str, Any]) -> None:
    (bar,) = results["rows"]["memory"]["bars"]
    assert bar["measured"] > 0.0
    raw = results["rows"]["memory"]["memory"]["raw"]["electorate"]
    assert raw["input"] == 4 * raw["binned"]


def test_the_table_shows_every_bar(folder: Path, results: dict[str, Any]) -> None:
    text = (folder / "RESULTS.md").read_text()
    assert "its figures mean nothing" in text
    for row in results["rows"].values():
        assert f"## {row['title']}" in text
        for bar in row["bars"]:
            assert f"| {row['title']} | {bar['label']} | {bar['bar']} |" in text


def test_missing_peers_are_named(folder: Path, results: dict[str, Any]) -> None:
    missing = results["rows"]["fit-large"]["one core"]["missing"]
    text = (folder / "RESULTS.md").read_text()
    assert all(peer in text for peer in missing)
    if missing:
        assert results["rows"]["fit-large"]["bars"][0]["met"] is None


def test_the_chart_is_a_picture(folder: Path) -> None:
    pytest.importorskip("matplotlib")
    assert (folder / "results.png").read_bytes().startswith(b"\x89PNG")


def test_one_row_keeps_the_others(folder: Path, results: dict[str, Any]) -> None:
    done = run("--quick", "--out", str(folder), "--only", "round")
    assert done.returncode == 0, done.stderr
    again = json.loads((folder / "results.json").read_text())
    assert list(again["rows"]) == list(results["rows"])
    assert again["rows"]["fit-large"] == results["rows"]["fit-large"]


def test_quick_figures_never_replace_real_ones() -> None:
    done = run("--quick")
    assert done.returncode == 2
    assert "--out" in done.stderr
