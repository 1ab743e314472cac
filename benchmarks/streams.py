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

FEW = 2_000  # rows of a quick run, which are made up
READING = "pandas reads the file"
MODELS = {"100 stumps": 1, "100 trees of depth 3": 3}


def measure(*, n: int, repeats: int) -> dict[str, Any]:
    """Seconds and peak memory (MiB) of fresh processes, taking turns."""
    pandas = importlib.import_module("pandas")
    ours = importlib.import_module("electorate")
    X, y = _rows(pandas, n)
    with tempfile.TemporaryDirectory() as folder:
        table, out = Path(folder, "table.csv"), Path(folder, "predicted.csv")
        pandas.concat([X] * (n // len(X) + 1)).iloc[:n].to_csv(table, index=False)
        commands = {READING: [sys.executable, "-c", f"import pandas; pandas.read_csv({str(table)!r})"]}
        for name, depth in MODELS.items():
            model = ours.RealAdaBoostClassifier(ours.Trees(depth), n_estimators=100).fit(X, y)
            model.save(Path(folder, name))
            order = ["predict", str(Path(folder, name)), str(table), "--out", str(out)]
            commands[name] = [sys.executable, "-m", "electorate", *order]
        compiled = {**os.environ, "PYTHONPYCACHEPREFIX": str(Path(folder, "compiled")), "PYTHONDONTWRITEBYTECODE": ""}
        for command in commands.values():
            _run(command, compiled)  # as an installer would, which compiles what it installs
        found: dict[str, list[tuple[float, float]]] = {name: [] for name in commands}
        for _ in range(repeats):
            for name, command in commands.items():
                found[name].append(_run(command, compiled))
        size = table.stat().st_size / 2**20
    return {
        "MiB": size,
        "seconds": {name: [took for took, _ in runs] for name, runs in found.items()},
        "peak": {name: max(peak for _, peak in runs) for name, runs in found.items()},
    }


def _run(command: list[str], environment: dict[str, str]) -> tuple[float, float]:
    start = time.perf_counter()
    process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"{command} ended with {process.returncode}")
    return time.perf_counter() - start, usage.ru_maxrss / 1024


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
