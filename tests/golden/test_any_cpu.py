"""Stagewise fits with native families do not depend on the CPU: kernels compiled for any x86-64, NumPy without AVX."""

import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
from numpy._core._multiarray_umath import __cpu_dispatch__, __cpu_features__

from tests.golden.cases import cases, fit

ROOT = Path(__file__).parents[2]
NAMES = [
    "AdaBoost, stumps | messy | real",
    "AdaBoost, trees | three classes | none",
    "Real AdaBoost, stumps | messy | real",
    "Real AdaBoost, trees | three classes | none",
    "AdaBoost_R, stumps | numbers | none",
    "VadaBoost, trees | messy | real",
    "EBBoost, stumps | messy | whole",
    "DeepBoost, trees | numbers | none",
    "DeepBoost, logistic, stumps | messy | real",
    "MedBoost, trees | messy | real",
    "MedBoost, linear, trees | numbers | none",
    "LocMedBoost, trees | messy | none",
    "R2, trees | messy | real",
]
FIT = f"""
import json
import sys
import numpy as np
from electorate.voters import trees
from tests.golden.cases import cases, fit

if sys.argv[1:] == ["dense"]:
    trees.FEW_ROWS_PER_LABEL = 0
every = cases()
found = {{name: fit(name, every[name]) for name in {NAMES}}}
print(json.dumps([found, np.show_config(mode="dicts")["SIMD Extensions"].get("found", [])]))
"""


@cache
def usual() -> dict:
    every = cases()
    return {name: fit(name, every[name]) for name in NAMES}


def fit_with(nodes: str, **settings: str) -> tuple[dict, list[str]]:
    """The records of models that another process fits, and the instruction sets that NumPy uses there.

    nodes: "dense" finds all splits from histograms, also those of small nodes.
    """
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **settings}
    done = subprocess.run(
        [sys.executable, "-c", FIT, nodes], env=environment, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True
    )
    found, used = json.loads(done.stdout.splitlines()[-1])
    return found, used


def test_numpy_without_avx() -> None:
    optional = [name for name in __cpu_dispatch__ if __cpu_features__.get(name)]
    if not optional:
        pytest.skip("on this CPU NumPy runs only the code that it runs on every CPU")
    found, used = fit_with("any", NPY_DISABLE_CPU_FEATURES=" ".join(optional))
    assert used == []
    assert found == usual()


def test_kernels_compiled_for_any_x86_64(tmp_path: Path) -> None:
    """Without the kernel of small nodes, which takes a minute to compile and finds the same splits."""
    found, _ = fit_with("dense", NUMBA_CPU_NAME="generic", NUMBA_CACHE_DIR=str(tmp_path))
    assert found == usual()
