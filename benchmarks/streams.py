"""The command that predicts a large CSV file beside a process that only reads it, by pandas; both from their start.

The rows are those of adult, over and over, where the folder ELECTORATE_DATA (default ../shared/data) has it; else made
up, with as many texts.
"""

import importlib
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from processes import last_line

FEW = 2_000  # rows of a quick run, which are made up
READING = "pandas reads the file"
MODELS = {"100 stumps": 1, "100 trees of depth 3": 3}


def measure(*, n: int, repeats: int) -> dict[str, Any]:
    """Seconds of fresh processes, taking turns; then the peak memory (MiB) of one more of each."""
    pandas = importlib.import_module("pandas")
    ours = importlib.import_module("electorate")
    X, y = _rows(pandas, n)
    with tempfile.TemporaryDirectory() as folder:
        table, out = str(Path(folder, "table.csv")), str(Path(folder, "predicted.csv"))
        pandas.concat([X] * (n // len(X) + 1)).iloc[:n].to_csv(table, index=False)
        reading = f"import pandas; pandas.read_csv({table!r})"
        commands, programs = {READING: ["-c", reading]}, {READING: reading}
        for name, depth in MODELS.items():
            model = ours.RealAdaBoostClassifier(ours.Trees(depth), n_estimators=100).fit(X, y)
            model.save(Path(folder, name))
            order = ["predict", str(Path(folder, name)), table, "--out", out]
            commands[name] = ["-m", "electorate", *order]
            programs[name] = f"from electorate.cli import main; main({order!r})"
        # as an installer would have it, which compiles what it installs
        variables = {"PYTHONPYCACHEPREFIX": str(Path(folder, "compiled")), "PYTHONDONTWRITEBYTECODE": ""}
        took: dict[str, list[float]] = {name: [] for name in commands}
        for turn in range(repeats + 1):
            for name, command in commands.items():
                seconds = _run(command, variables)
                took[name] += [seconds] if turn else []  # the first one compiles
        peak = {name: _peak(program, variables) for name, program in programs.items()}
    return {"seconds": took, "peak": {name: value for name, value in peak.items() if value is not None}}


def _run(arguments: list[str], variables: dict[str, str]) -> float:
    start = time.perf_counter()
    command = [sys.executable, *arguments]
    subprocess.run(command, env={**os.environ, **variables}, check=True, capture_output=True)
    return time.perf_counter() - start


def _peak(program: str, variables: dict[str, str]) -> float | None:
    """By the process itself: what its parent is told includes the parent's own."""
    status = Path("/proc/self/status")
    if not status.exists():
        return None
    lines = f"[line for line in open({str(status)!r}) if line.startswith('VmHWM')]"
    command = [sys.executable, "-c", f"{program}; print({lines}[0].split()[1])"]
    return int(last_line(command, variables)) / 1024


def _rows(pandas: Any, n: int) -> tuple[Any, Any]:
    path = Path(os.environ.get("ELECTORATE_DATA", "../shared/data")) / "adult.csv.gz"
    if path.exists() and n > FEW:
        rows = pandas.read_csv(path)
        return rows, rows.pop("target")
    rng = np.random.default_rng(0)
    numbers = {f"n{k}": rng.integers(0, 1000, FEW) for k in range(6)}
    texts = {f"t{k}": np.array([f"level {i}" for i in range(12)])[rng.integers(0, 12, FEW)] for k in range(8)}
    rows = pandas.DataFrame({**numbers, **texts})
    return rows, (rows["n0"] + 300 * (rows["t0"] < "level 4") + rng.normal(0, 200, FEW)) > 600
