"""Commands on tables that are read batch by batch: the same models, an estimate before the work, progress."""

import io
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from electorate import load
from electorate.cli import main
from electorate.commands import scanned
from electorate.data import inputs
from electorate.tables.text import TextTable


@pytest.fixture
def rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> pd.DataFrame:
    """A table as CSV, as Parquet, and as a folder of two Parquet files."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    n = 400
    found = pd.DataFrame({"x": rng.normal(size=n).round(3), "c": rng.choice(["red", "blue", "green"], n)})
    found["n"] = rng.integers(0, 9, n)
    found.loc[::9, "x"] = np.nan
    found["y"] = ((found["x"].fillna(0) > 0) ^ (found["c"] == "red") ^ (rng.random(n) < 0.1)).astype(float)
    found["w"] = rng.integers(0, 3, n)
    found.to_csv("t.csv", index=False)
    whole = pa.Table.from_pandas(found, preserve_index=False)
    pq.write_table(whole, "t.parquet", row_group_size=90)
    Path("parts").mkdir()
    pq.write_table(whole.slice(300), "parts/a.parquet")
    pq.write_table(whole.slice(0, 300), "parts/b.parquet")
    return found


def fit(table: str, out: str, *more: str) -> str:
    options = ["--target", "y", "--weights", "w", "--voters", "Trees", "--set", "n_estimators=4", "--no-check-up"]
    assert main(["fit", table, "--out", out, *options, *more]) == 0
    return str(load(out).digest_)


def test_fit_writes_the_same_model(rows: pd.DataFrame, capsys: pytest.CaptureFixture[str]) -> None:
    """Numbers of the target are whole in all rows, so labels are integers, as in memory."""
    expected = fit("t.csv", "here", "--scan", "never")
    capsys.readouterr()
    for table in ("t.csv", "t.parquet", "parts", "parts/*.parquet"):
        assert fit(table, "there", "--scan", "always") == expected
        printed = capsys.readouterr()
        assert printed.out.strip() == expected
        assert "read batch by batch" in printed.err
        assert "KiB of memory and 0 KiB of temporary files" in printed.err


def test_a_text_is_read_three_times(rows: pd.DataFrame, monkeypatch: pytest.MonkeyPatch) -> None:
    """To settle types and labels, for the edges, for the bins."""
    passes, blocks = [], TextTable.blocks

    def counted(self: TextTable) -> Any:
        passes.append(1)
        return blocks(self)

    monkeypatch.setattr(TextTable, "blocks", counted)
    more = ["--target", "y", "--set", "n_estimators=2"]
    assert main(["fit", "t.csv", "--out", "model", "--scan", "always", *more]) == 0
    assert len(passes) == 3


def test_large_tables_are_scanned_by_themselves(
    rows: pd.DataFrame, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = fit("t.parquet", "here")
    assert "read batch by batch" not in capsys.readouterr().err
    monkeypatch.setattr(scanned, "SHARE", 10**9)
    assert fit("t.parquet", "there") == expected
    assert "400 rows are read batch by batch" in capsys.readouterr().err
    assert fit("parts", "folder") == fit("parts/*.parquet", "pattern") == expected


def test_regression_and_drops(rows: pd.DataFrame) -> None:
    more = ["--target", "x", "--skip-missing-target", "--drop", "w", "--set", "n_estimators=3", "--no-check-up"]
    for scan, out in (("never", "here"), ("always", "there")):
        command = ["fit", "t.parquet", "--algorithm", "MedBoost", "--out", out, *more, "--scan", scan]
        assert main(command) == 0
    assert load("here").digest_ == load("there").digest_


def test_dropped_columns_of_a_text(rows: pd.DataFrame) -> None:
    """By name and by position, as in memory."""
    for drop in ("c", "2"):
        digests = [fit("t.csv", "m", "--drop", drop, "--scan", scan) for scan in ("never", "always")]
        assert digests[0] == digests[1]
        assert list(load("m").feature_names_in_) == ["x", "n"]


def test_certify(rows: pd.DataFrame, capsys: pytest.CaptureFixture[str]) -> None:
    fit("parts/b.parquet", "model", "--scan", "always")
    printed = []
    command = ["certify", "model", "--heldout", "parts/a.parquet", "--target", "y", "--json", "--allow-equal-rows"]
    command += ["--train", "parts/b.parquet"]
    for scan in ("never", "always"):
        capsys.readouterr()
        assert main([*command, "--scan", scan]) == 0
        printed.append(capsys.readouterr().out)
    assert printed[0] == printed[1]
    assert "held-out rows equal a row of the fit" in printed[0]


def test_what_a_scan_cannot_do(rows: pd.DataFrame, capsys: pytest.CaptureFixture[str]) -> None:
    for table, more, message in (
        ("t.csv", ["--target", "y", "--skip-missing-target"], "--skip-missing-target needs the table in memory"),
        ("t.parquet", ["--target", "y", "--type", "n=text"], "--type needs the table in memory"),
        ("t.parquet", [], "which column is to be predicted? Add --target COLUMN"),
        ("t.parquet", ["--target", "z"], "no column is called 'z'"),
    ):
        assert main(["fit", table, "--out", "m", "--scan", "always", *more]) != 0
        assert message in capsys.readouterr().err


def test_progress() -> None:
    file = io.StringIO()
    progress = scanned.ScanProgress(file)
    progress("bins", 25, 100, 4_000_000_000)
    progress("bins", 50, 100, 4_000_000_000)  # too soon after the first
    progress("bins", 100, 100, 4_000_000_000)
    first, second = file.getvalue().split("\r")[1:]
    assert first.startswith("bins: 25 of 100 rows, 1.00 of 4.00 GB, 0 s left")
    assert second == "bins: 100 of 100 rows, 4.00 of 4.00 GB, 0 s left \n"
    file.truncate(0)
    progress("targets", 25, None, None)
    assert "targets: 25 rows" in file.getvalue()


def test_the_size_of_a_table(rows: pd.DataFrame) -> None:
    from electorate.tables.source import Source

    assert scanned.bytes_in_memory(Source("t.csv")) == Path("t.csv").stat().st_size
    assert scanned.bytes_in_memory(Source("t.parquet")) >= 400 * 8
    assert inputs.free_memory() is None or inputs.free_memory() > 0
