"""The fuzzing command: a short run of every kind of case, and that it reports what it must."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.process

ROOT = Path(__file__).resolve().parents[1]
posix_only = pytest.mark.skipif(os.name != "posix", reason="limits of POSIX")


def run(*arguments: str, timeout: float = 300) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "tools" / "fuzz.py"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=timeout, check=False)


@posix_only
def test_a_short_run_of_every_kind_finds_nothing() -> None:
    done = run("--quick", "--seed", "1")
    assert done.returncode == 0, done.stdout + done.stderr
    for kind in ("format", "damaged", "forged", "inputs", "parameters", "sql", "small", "empty", "sparse", "combined"):
        assert f"{kind}: 6 cases, " in done.stdout
    assert "seed 1, cases 0 to 5: 0 findings" in done.stdout


def test_unknown_kinds_are_refused() -> None:
    done = run("--kinds", "forged,others")
    assert done.returncode == 2
    assert "no cases of the kind others" in done.stderr


FAULTS = """
import os, sys
sys.path[:0] = [{tools!r}, {root!r}]
import fuzz
from fuzzing import cases
from fuzzing.outcomes import attempt

def hang():
    while True:
        pass

FAULTS = [lambda: int("x"), lambda: bytearray(1 << 40), os.abort, hang, lambda: 1 / 0]
run = lambda kind, seed, number, bench: attempt("here", FAULTS[number - 5]) or "works"
cases.run = run
cases.Bench.warm_up = lambda self: []
fuzz._bench = lambda folder, how_many: cases.Bench(folder, [])
fuzz.SECONDS_PER_CASE = 3.0
fuzz.PROGRAM = __file__
if __name__ == "__main__":
    sys.exit(fuzz.main(sys.argv[1:]))
"""


@posix_only
@pytest.mark.slow
def test_every_kind_of_failure_is_a_finding(tmp_path: Path) -> None:
    program = tmp_path / "faulty.py"
    program.write_text(FAULTS.format(tools=str(ROOT / "tools"), root=str(ROOT)))
    log = tmp_path / "log"
    command = [sys.executable, str(program), "--kinds", "forged", "--count", "5", "--start", "5", "--log", str(log)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 1, done.stderr
    findings: list[dict[str, Any]] = [json.loads(line) for line in log.read_text().splitlines()]
    whats = ["raw ValueError", "memory", "crash", "hang", "ZeroDivisionError"]
    assert [(one["case"], one["what"]) for one in findings] == [(f"forged:0:{5 + k}", w) for k, w in enumerate(whats)]
    assert "5 findings" in done.stdout
