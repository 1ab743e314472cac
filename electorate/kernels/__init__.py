"""Kernels: functions of arrays and numbers, nothing else.

`fast` holds them in Numba, `reference` the same names in plain NumPy; this module hands out the fast ones,
and imports Numba only when the first one is asked for, so that `import electorate` stays light.
"""

from importlib import import_module
from typing import Any


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    kernel = getattr(import_module("electorate.kernels.fast"), name)
    globals()[name] = kernel
    return kernel
