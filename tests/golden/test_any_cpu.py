"""Stagewise fits with native families do not depend on the CPU: kernels of every level of x86-64, NumPy without AVX."""

import json
import os
import subprocess
import sys
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy._core._multiarray_umath import __cpu_dispatch__, __cpu_features__

from electorate import kernels
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
FIT = """
import json
import numpy as np
from tests.golden.test_any_cpu import records

print(json.dumps([records(), np.show_config(mode="dicts")["SIMD Extensions"].get("found", [])]))
"""


def records() -> dict[str, Any]:
    """Of fitted models, and of the values of exp and log."""
    every, rng = cases(), np.random.default_rng(0)
    x = np.concatenate([rng.uniform(-750, 720, 30_000), rng.integers(0, 0x7FF0 << 48, 30_000).view(np.float64)])
    out = np.empty_like(x)
    found: dict[str, Any] = {name: fit(name, every[name]) for name in NAMES}
    for name, function in (("exp", kernels.exp_of), ("log", kernels.log_of)):
        function(x, out)
        found[name] = sha256(out).hexdigest()
    return found


@cache
def usual() -> dict[str, Any]:
    return records()


def records_with(**settings: str) -> tuple[dict[str, Any], list[str]]:
    """The records of another process, and the instruction sets that NumPy uses there."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **settings}
    done = subprocess.run(
        [sys.executable, "-c", FIT], env=environment, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True
    )
    found, used = json.loads(done.stdout.splitlines()[-1])
    return found, used


@pytest.mark.process
def test_numpy_without_avx() -> None:
    optional = [name for name in __cpu_dispatch__ if __cpu_features__.get(name)]
    if not optional:
        pytest.skip("on this CPU NumPy runs only the code that it runs on every CPU")
    found, used = records_with(NPY_DISABLE_CPU_FEATURES=" ".join(optional))
    assert used == []
    assert found == usual()


@pytest.mark.process
@pytest.mark.parametrize("level", kernels.levels())
def test_every_level_of_x86_64(level: str) -> None:
    assert records_with(ELECTORATE_CPU=level)[0] == usual()


@pytest.mark.parametrize("level", ["v1", "v5", "avx2"])
def test_an_unknown_level_is_refused(level: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ELECTORATE_CPU", level)
    with pytest.raises(ValueError, match=f"ELECTORATE_CPU is '{level}': this processor can run {kernels.levels()[0]}"):
        kernels.compiled.__wrapped__()


def test_levels_are_those_that_linux_states() -> None:
    """The flags of /proc/cpuinfo are without what the operating system does not save."""
    if not (cpuinfo := Path("/proc/cpuinfo")).exists() or kernels.levels() == ("base",):
        pytest.skip("no /proc/cpuinfo of an x86-64 processor")
    flags = set(next(line for line in cpuinfo.read_text().splitlines() if line.startswith("flags")).split())
    needed = {
        "v2": {"cx16", "lahf_lm", "popcnt", "pni", "sse4_1", "sse4_2", "ssse3"},
        "v3": {"avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "abm", "movbe"},
        "v4": {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"},
    }
    missing = next((level for level, names in needed.items() if not names <= flags), None)
    assert kernels.levels() == tuple(needed)[: tuple(needed).index(missing) if missing else 3]
