"""electorate: boosting by votes, with proofs.

The public names. Importing this module imports neither Numba nor scikit-learn's estimators.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_HOMES = {
    "AdaBoostClassifier": "electorate.estimators.classifiers",
    "AdaBoostRClassifier": "electorate.estimators.classifiers",
    "AdaBoostRegressor": "electorate.estimators.regressors",
    "Checkpoint": "electorate.estimators.callbacks",
    "LocMedBoostRegressor": "electorate.estimators.regressors",
    "MedBoostRegressor": "electorate.estimators.regressors",
    "ModelFormatError": "electorate.modelfile",
    "ProgressBar": "electorate.estimators.callbacks",
    "RealAdaBoostClassifier": "electorate.estimators.classifiers",
    "RegressionTrees": "electorate.voters.regression_trees",
    "Resampled": "electorate.voters.wrapped",
    "Stumps": "electorate.voters.trees",
    "TimeLimit": "electorate.estimators.callbacks",
    "Trees": "electorate.voters.trees",
    "WorkerLostError": "electorate.engines.messages",
    "load": "electorate.estimators.files",
}

__all__ = [
    "AdaBoostClassifier",
    "AdaBoostRClassifier",
    "AdaBoostRegressor",
    "Checkpoint",
    "LocMedBoostRegressor",
    "MedBoostRegressor",
    "ModelFormatError",
    "ProgressBar",
    "RealAdaBoostClassifier",
    "RegressionTrees",
    "Resampled",
    "Stumps",
    "TimeLimit",
    "Trees",
    "WorkerLostError",
    "__version__",
    "load",
]

if TYPE_CHECKING:
    from electorate.engines.messages import WorkerLostError
    from electorate.estimators.callbacks import Checkpoint, ProgressBar, TimeLimit
    from electorate.estimators.classifiers import (
        AdaBoostClassifier,
        AdaBoostRClassifier,
        RealAdaBoostClassifier,
    )
    from electorate.estimators.files import load
    from electorate.estimators.regressors import AdaBoostRegressor, LocMedBoostRegressor, MedBoostRegressor
    from electorate.modelfile import ModelFormatError
    from electorate.voters.regression_trees import RegressionTrees
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
