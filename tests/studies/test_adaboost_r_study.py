"""The script that runs rules on the domains of the AdaBoost_R paper runs, and lands where the paper does."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DATA = Path(os.environ.get("ELECTORATE_DATA", ROOT.parent / "shared" / "data"))
NEAR = {
    "Monks1": 8,
    "Votes": 3,
    "XD6": 5,
}  # percent between our error and the paper's, where all is known of the domain


@pytest.mark.skipif(not (DATA / "DATASETS.json").exists(), reason="the data sets are not here")
def test_three_domains(tmp_path):
    out = tmp_path / "table.md"
    done = subprocess.run(
        [sys.executable, str(ROOT / "benchmarks" / "adaboost_r.py"), "--out", str(out), "--only", *NEAR],
        env={**os.environ, "PYTHONPATH": str(ROOT), "ELECTORATE_DATA": str(DATA)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    rows = {line.split("|")[1].strip(): line.split("|")[4:-1] for line in out.read_text().splitlines() if "|" in line}
    for name, near in NEAR.items():
        figures = [[float(x) for x in cell.replace("(", "").replace(")", "").split()] for cell in rows[name]]
        assert len(figures) == 6
        gaps = [abs(ours - paper) for ours, paper in figures]
        assert sorted(gaps)[3] <= near, (name, figures)
    real = [float(cell.split()[0]) for cell in rows["Monks1"]][5]
    assert real < 3  # after 50 rounds real AdaBoost has learned Monks1, 1.50 in the paper
