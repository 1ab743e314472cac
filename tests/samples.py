"""Small tables with labels that the tests share, and Python processes for what would harm this one."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[1]


def noisy(rows: int = 300, columns: int = 5, labels: int = 2, seed: int = 0) -> tuple[Any, Any]:
    """Numbers, and labels 0..labels-1 that stumps can learn but not perfectly."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, columns))
    score = X[:, 0] + 0.5 * X[:, min(1, columns - 1)] + 0.7 * rng.normal(size=rows)
    cuts = np.quantile(score, np.arange(1, labels) / labels)
    return X, np.searchsorted(cuts, score)


def messy(rows: int = 300, labels: int = 2, seed: int = 0) -> tuple[Any, Any]:
    """As `noisy`, with missing values, repeated values, and categories 0..4 in column 3."""
    X, y = noisy(rows, 5, labels, seed)
    rng = np.random.default_rng(seed + 1)
    X[:, 1] = np.round(X[:, 1], 1)
    X[:, 3] = (rng.integers(0, 3, rows) + y) % 5
    X[rng.random(X.shape) < 0.1] = np.nan
    return X, y


def run_python(code: str, *arguments: str, timeout: float = 120, **environment: str | None) -> tuple[str, str]:
    """What a process of its own prints and complains. A variable set to None is removed from its environment."""
    variables = {**os.environ, "PYTHONPATH": str(ROOT), **environment}
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        env={name: value for name, value in variables.items() if value is not None},
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout, done.stderr


def read_table(source: Any, target: str) -> tuple[Any, Any]:
    """The columns of a table without its target, as a pyarrow table, and the target's values."""
    from electorate.tables.reading import TableRequest, read_training

    found = read_training(source, TableRequest(target))
    return found.X, found.y
