"""electorate: boosting by votes, with proofs.

The public names. Importing this module imports neither Numba nor scikit-learn's estimators.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_HOMES = {
    "AdaBoostClassifier": "electorate.estimators.classifiers",
    "AdaBoostRClassifier": "electorate.estimators.classifiers",
    "Checkpoint": "electorate.estimators.callbacks",
    "ModelFormatError": "electorate.modelfile",
    "ProgressBar": "electorate.estimators.callbacks",
    "RealAdaBoostClassifier": "electorate.estimators.classifiers",
    "Resampled": "electorate.voters.wrapped",
    "Stumps": "electorate.voters.trees",
    "TimeLimit": "electorate.estimators.callbacks",
    "Trees": "electorate.voters.trees",
    "WorkerLostError": "electorate.engines.messages",
    "compare": "electorate.comparison.compare",
    "load": "electorate.estimators.files",
}

__all__ = [
    "AdaBoostClassifier",
    "AdaBoostRClassifier",
    "Checkpoint",
    "ModelFormatError",
    "ProgressBar",
    "RealAdaBoostClassifier",
    "Resampled",
    "Stumps",
    "TimeLimit",
    "Trees",
    "WorkerLostError",
    "__version__",
    "compare",
    "load",
]

if TYPE_CHECKING:
    from electorate.comparison.compare import compare
    from electorate.engines.messages import WorkerLostError
    from electorate.estimators.callbacks import Checkpoint, ProgressBar, TimeLimit
    from electorate.estimators.classifiers import (
        AdaBoostClassifier,
        AdaBoostRClassifier,
        RealAdaBoostClassifier,
    )
    from electorate.estimators.files import load
    from electorate.modelfile import ModelFormatError
    from electorate.voters.trees import Stumps, Trees
    from electorate.voters.wrapped import Resampled


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'electorate' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
