"""AdaBoost and its relatives as scikit-learn estimators: the public names.

Importing this module imports neither NumPy nor scikit-learn. Type checkers read __init__.pyi.
"""

import sys

if sys.version_info < (3, 11):  # noqa: UP036 (an old pip can install the package anyway)
    raise ImportError(f"electorate needs Python 3.11 or newer; this is Python {sys.version.split()[0]}")

__version__ = "0.1.0"


def __getattr__(name: str) -> object:
    from importlib import import_module

    from electorate.registry import MODULES

    if name == "__all__":
        return __dir__()
    if name not in MODULES:
        raise AttributeError(f"module 'electorate' has no attribute {name!r}")
    value = getattr(import_module(MODULES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    from electorate.registry import MODULES

    return ["__version__", *sorted(MODULES)]
