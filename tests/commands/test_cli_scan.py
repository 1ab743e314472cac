"""Commands on tables that are read batch by batch: the same models, an estimate before the work, progress."""

import io
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import electorate as el
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


# ---------------------------------------------------------------- the same messages as for a table in memory


GOOD = [f"{k % 7},{'red' if k % 2 else 'blue'},{k // 3 % 2},{1 + k % 3}" for k in range(90)]


def with_line(number: int, text: str, *, before: str = "") -> str:
    """A table with this text in a line; before: what stands in line 9 instead of a row, perhaps more lines."""
    lines = ["x,c,y,w", *GOOD]
    lines[number - 1] = text
    return "\n".join([*lines[:8], before or lines[8], *lines[9:]]) + "\n"


def columns(*values: str) -> str:
    return "\n".join(
        ["x,c,y,w", *(",".join(old or new for old, new in zip(values, row.split(","), strict=True)) for row in GOOD)]
    )


TWO_LINES, EMPTY_LINES = '1,"re\nd",1,1', "1,red,1,1\n\n"
FAULTS = {
    "a short row": (with_line(57, "1,2"), "line 57: 2 cells"),
    "a long row": (with_line(57, "1,red,1,1,9"), "line 57: 5 cells"),
    "a quote that is not closed": (with_line(57, '1,"red,1,1'), "2 cells"),
    "a short row after a cell of two lines": (with_line(57, "1", before=TWO_LINES), "line 58: 1 cells"),
    "a text among numbers": (with_line(57, "oops,red,1,1"), "line 57: column 'x' holds numbers"),
    "a text after a cell of two lines": (with_line(57, "oops,red,1,1", before=TWO_LINES), "line 58: column 'x'"),
    "a text after a missing number": (with_line(57, "oops,red,1,1", before=",red,1,1"), "line 57: column 'x'"),
    "a text after empty lines": (with_line(57, "oops,red,1,1", before=EMPTY_LINES), "line 59: column 'x'"),
    "an infinite number": (with_line(57, "1e999,red,1,1", before=EMPTY_LINES), "line 59: column 'x' is infinite"),
    "no target": (with_line(57, "1,red,,1", before=TWO_LINES), "line 58: the target 'y' is empty"),
    "a target that is NaN": (with_line(57, "1,red,nan,1"), "line 57: the target 'y' is empty"),
    "no label": (
        with_line(57, "1,red,,1").replace(",0,", ",no,").replace(",1,", ",yes,"),
        "line 57: the target 'y' is",
    ),
    "no targets at all": (columns("", "", " ", "").replace(" ", ""), "line 2: the target 'y' is empty"),
    "an infinite target": (with_line(57, "1,red,1e999,1"), "line 57: the target 'y' is infinite"),
    "a text as target": (with_line(57, "1,red,oops,1"), "line 57: column 'y' holds numbers, but here 'oops'"),
    "a negative weight": (with_line(57, "1,red,1,-2", before=EMPTY_LINES), "line 59: the weight 'w' is -2"),
    "no weight": (with_line(57, "1,red,1,"), "line 57: the weight 'w' is missing"),
    "an infinite weight": (with_line(57, "1,red,1,1e999"), "line 57: the weight 'w' is inf"),
    "no weights above 0": (columns("", "", "", "0"), "all weights in 'w' are 0"),
    "one class": (columns("", "", "1", ""), "has one class only"),
    "no rows": ("x,c,y,w\n", "the table has no rows"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_the_messages_are_those_of_a_table_in_memory(
    fault: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    text, expected = FAULTS[fault]
    Path("t.csv").write_text(text)
    order = [
        "fit",
        "t.csv",
        "--target",
        "y",
        "--out",
        "m",
        "--weights",
        "w",
        "--set",
        "n_estimators=2",
        "--no-check-up",
    ]
    found = []
    for scan in ("never", "always"):
        assert main([*order, "--scan", scan]) == 1
        lines = [line for line in capsys.readouterr().err.splitlines() if "read batch by batch" not in line]
        assert len(lines) == 1
        found.append(lines[0])
    assert found[0] == found[1]
    assert expected in found[0]
    assert not Path("m").exists()


def test_a_missing_category_is_no_label(tmp_path: Path) -> None:
    """Also where categories are a dictionary of pyarrow, which NumPy would read as labels without any missing."""
    labels = pa.array([None if k == 5 else "ab"[k % 2] for k in range(60)]).dictionary_encode()
    x = np.arange(60.0)
    pq.write_table(pa.table({"x": x, "y": labels}), tmp_path / "t.parquet")
    for rows in ((x[:, None], pa.chunked_array([labels])), el.scan(tmp_path / "t.parquet", target="y")):
        with pytest.raises(ValueError, match="row 5 has the label None"):
            el.AdaBoostClassifier(n_estimators=2).fit(*rows)


def test_every_column_is_dropped(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "t.csv").write_text("x\n" + "1\n2\n" * 30)
    order = ["fit", str(tmp_path / "t.csv"), "--out", str(tmp_path / "m"), "--drop", "x", "--scan"]
    for more in ([], ["--target", "x"]):
        found = []
        for scan in ("never", "always"):
            assert main([*order, scan, *more]) == 1
            found.append(capsys.readouterr().err)
        assert "t.csv" in found[0]
        assert "Traceback" not in found[1]
        assert "zip" not in found[1]
