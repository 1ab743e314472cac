"""No kernel writes out of bounds for tables of no rows, columns, bins, labels or rounds; tables without columns."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import electorate as el
from electorate.cli import main
from electorate.kernels import FILE_OF
from electorate.tables.scan import ScannedColumn, ScannedTable, open_source

PROGRAM = Path(__file__).parent / "zero_sizes.py"


@pytest.mark.process
def test_no_kernel_writes_out_of_bounds() -> None:
    """Arrays lie between guard bytes; those that kernels make for themselves are checked by `make sanitize`."""
    done = subprocess.run(
        [sys.executable, str(PROGRAM)],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
        env={**os.environ, "PYTHONPATH": str(PROGRAM.parents[2])},
    )
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr[-500:]


def test_every_kernel_is_called(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(PROGRAM.parent))
    import zero_sizes

    assert set(zero_sizes.CASES) == set(FILE_OF)
    new = zero_sizes.Guarded()
    array = new(3)
    assert new.are_intact()
    np.lib.stride_tricks.as_strided(array, (4,))[3] = 1  # one cell after the end
    assert not new.are_intact()


@pytest.mark.parametrize("scan", ["always", "never"])
@pytest.mark.parametrize("weights", [[], ["--weights", "w"]])
@pytest.mark.parametrize("command", ["fit", "compare"])
def test_a_table_with_nothing_but_the_target(
    command: str, scan: str, weights: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table, out = tmp_path / "only.csv", tmp_path / "only.model"
    rows = [f"{'ab'[i % 2]},1" if weights else "ab"[i % 2] for i in range(500)]
    table.write_text("\n".join(["t,w" if weights else "t", *rows]) + "\n")
    code = main([command, str(table), "--target", "t", "--out", str(out), "--scan", scan, *weights])
    lines = capsys.readouterr().err.strip().splitlines()[command == "compare" :]  # it says what it reads first
    assert code == 1
    assert len(lines) == 1
    assert lines[0].endswith("there is no column besides the target" + (" and the weights" if weights else ""))
    assert not out.exists()


def test_a_scan_without_columns_is_refused() -> None:
    source = open_source(np.zeros((500, 1)))
    y = ScannedColumn(source, np.arange(500) % 2)
    with pytest.raises(ValueError, match="X has no columns"):
        el.AdaBoostClassifier(n_estimators=2).fit(ScannedTable(source, []), y)
