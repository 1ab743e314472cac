"""No public entry reads outside of the arrays of a sparse matrix."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.process


def test_every_entry_refuses_an_index_that_is_out_of_range():
    """In a process of its own: without the check, SciPy ends it. The last line says at which entry."""
    root = Path(__file__).parents[2]
    run = subprocess.run(
        [sys.executable, "-m", "tests.common.sparse_entries"], cwd=root, capture_output=True, text=True, timeout=600
    )
    lines = run.stdout.splitlines()
    assert run.returncode == 0, (lines[-1:], run.stderr[-2000:])
    assert [line for line in lines if line.startswith("FAULT")] == []
    assert int(re.fullmatch(r"(\d+) calls", lines[-1])[1]) > 500
