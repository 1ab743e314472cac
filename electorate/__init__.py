"""AdaBoost and its relatives as scikit-learn estimators: the public names.

Importing this module imports neither Numba nor scikit-learn's estimators. Type checkers read __init__.pyi.
"""

import sys
from importlib import import_module
from typing import Any

if sys.version_info < (3, 11):  # noqa: UP036 (an old pip can install the package anyway)
    raise ImportError(f"electorate needs Python 3.11 or newer; this is Python {sys.version.split()[0]}")

from electorate.registry import MODULES

__version__ = "0.1.0"
__all__ = ["__version__", *sorted(MODULES)]


def __getattr__(name: str) -> Any:
    if name not in MODULES:
        raise AttributeError(f"module 'electorate' has no attribute {name!r}")
    value = getattr(import_module(MODULES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
