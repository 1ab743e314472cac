"""Without an optional package, every public entry either works or says what to install."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from electorate.optional import EXTRAS, dataframe, optional


@pytest.mark.process
def test_every_entry_works_or_says_what_to_install():
    root = Path(__file__).parents[2]
    command = [sys.executable, "-m", "tests.common.without_packages"]
    run = subprocess.run(command, cwd=root, capture_output=True, text=True, timeout=300)
    assert run.returncode == 0, run.stderr[-2000:]
    lines = run.stdout.splitlines()
    assert [line for line in lines if line.startswith("FAULT")] == []
    assert int(re.fullmatch(r"(\d+) told what to install", lines[-1])[1]) > 10


def test_the_message_names_the_extra(monkeypatch):
    project = (Path(__file__).parents[2] / "pyproject.toml").read_text()
    for package, extra in EXTRAS.items():
        assert re.search(rf"^{extra} = .*{package}", project, flags=re.MULTILINE)
        monkeypatch.setitem(sys.modules, package, None)
        with pytest.raises(ImportError, match=rf"plot needs {package}: pip install 'electorate\[{extra}\]'"):
            optional(package, "plot")
    monkeypatch.setitem(sys.modules, "pandas", None)
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(ImportError, match="a table needs pandas or polars: pip install pandas"):
        dataframe({}, "a table")
