"""electorate: boosting by votes, with proofs.

The public names. Importing this module imports neither Numba nor scikit-learn's estimators.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_HOMES = {
    "AdaBoostClassifier": "electorate.estimators.adaboost",
    "ModelFormatError": "electorate.modelfile",
    "Stumps": "electorate.voters.trees",
    "load": "electorate.estimators.files",
}

__all__ = ["AdaBoostClassifier", "ModelFormatError", "Stumps", "__version__", "load"]

if TYPE_CHECKING:
    from electorate.estimators.adaboost import AdaBoostClassifier
    from electorate.estimators.files import load
    from electorate.modelfile import ModelFormatError
    from electorate.voters.trees import Stumps


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'electorate' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
