"""The script that puts VadaBoost and DeepBoost beside AdaBoost runs, and says where the paper's order does not hold."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DATA = Path(os.environ.get("ELECTORATE_DATA", ROOT.parent / "shared" / "data"))


@pytest.mark.skipif(not (DATA / "DATASETS.json").exists(), reason="the data sets are not here")
def test_two_sets(tmp_path):
    out = tmp_path / "table.md"
    command = [str(ROOT / "benchmarks" / "penalties.py"), "--tiny", "--out", str(out), "--only", "pima", "mnist_17"]
    done = subprocess.run(
        [sys.executable, *command],
        env={**os.environ, "PYTHONPATH": str(ROOT), "ELECTORATE_DATA": str(DATA)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    text = out.read_text()
    errors = [float(line.split("|")[3].split()[0]) for line in text.splitlines() if "DeepBoost |" in line]
    assert len(errors) == 2
    assert all(0 <= error < 45 for error in errors)
    assert text.count("the paper's order") == 2
    assert sum(line.startswith(("| pima | stumps", "| mnist_17 | trees")) for line in text.splitlines()) == 2
