"""electorate: boosting by votes, with proofs.

The public names. Importing this module imports neither Numba nor scikit-learn's estimators.
"""

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

if sys.version_info < (3, 11):  # noqa: UP036 (an old pip installs it all the same when told to)
    raise ImportError(f"electorate needs Python 3.11 or newer; this is Python {sys.version.split()[0]}")

__version__ = "0.1.0"

_HOMES = {
    "AdaBoostClassifier": "electorate.estimators.adaboost",
    "AdaBoostRClassifier": "electorate.estimators.adaboost_r",
    "AdaBoostRegressor": "electorate.estimators.adaboost_r2",
    "BoundDisplay": "electorate.report.round_displays",
    "Checkpoint": "electorate.training.callbacks",
    "Columns": "electorate.voters.columns",
    "CostDisplay": "electorate.report.round_displays",
    "CumulativeMarginsDisplay": "electorate.report.margin_displays",
    "DeepBoostClassifier": "electorate.estimators.deepboost",
    "EBBoostClassifier": "electorate.estimators.ebboost",
    "IntervalDisplay": "electorate.report.regression",
    "KernelSections": "electorate.voters.kernel_sections",
    "LPBoostClassifier": "electorate.estimators.lpboost",
    "LocMedBoostRegressor": "electorate.estimators.medboost",
    "MarginDisplay": "electorate.report.margin_displays",
    "MedBoostRegressor": "electorate.estimators.medboost",
    "ModelFormatError": "electorate.modelfile",
    "PairedStumps": "electorate.voters.paired_stumps",
    "PathDisplay": "electorate.report.path_display",
    "Pool": "electorate.voters.pool",
    "ProgressBar": "electorate.training.callbacks",
    "QuadBoostClassifier": "electorate.estimators.quadboost",
    "RLPBoostClassifier": "electorate.estimators.totally_corrective",
    "RQPBoostClassifier": "electorate.estimators.totally_corrective",
    "QuadBoostClassifierCV": "electorate.estimators.quadboost_cv",
    "QuadBoostRegressor": "electorate.estimators.quadboost_regressor",
    "QuantilesDisplay": "electorate.report.regression",
    "RealAdaBoostClassifier": "electorate.estimators.real_adaboost",
    "RegressionTrees": "electorate.voters.regression_trees",
    "Resampled": "electorate.voters.wrapped",
    "RobustErrorDisplay": "electorate.report.robust_error",
    "Rules": "electorate.voters.rules",
    "ShapeDisplay": "electorate.report.shape_display",
    "Stumps": "electorate.voters.trees",
    "ThinnedClassifier": "electorate.thinning",
    "TimeLimit": "electorate.training.callbacks",
    "TreeSizesDisplay": "electorate.report.tree_sizes",
    "Trees": "electorate.voters.trees",
    "Union": "electorate.voters.union",
    "VadaBoostClassifier": "electorate.estimators.vadaboost",
    "WorkerLostError": "electorate.messages",
    "certificate": "electorate.inspection.certificates",
    "compare": "electorate.comparison.compare",
    "compare_over": "electorate.comparison.over_tables",
    "complexity_of": "electorate.inspection.family_complexity",
    "contributions": "electorate.inspection.shapley",
    "convergence": "electorate.inspection.convergence",
    "empirical_rademacher": "electorate.inspection.family_complexity",
    "load": "electorate.model.files",
    "margin_table": "electorate.inspection.margins",
    "margins": "electorate.inspection.margins",
    "rule_table": "electorate.inspection.rule_table",
    "shape_functions": "electorate.inspection.shapes",
    "staged_margins": "electorate.inspection.margins",
    "thin": "electorate.thinning",
    "trusted_types": "electorate.skops_types",
}

__all__ = [
    "AdaBoostClassifier",
    "AdaBoostRClassifier",
    "AdaBoostRegressor",
    "BoundDisplay",
    "Checkpoint",
    "Columns",
    "CostDisplay",
    "CumulativeMarginsDisplay",
    "DeepBoostClassifier",
    "EBBoostClassifier",
    "IntervalDisplay",
    "KernelSections",
    "LPBoostClassifier",
    "LocMedBoostRegressor",
    "MarginDisplay",
    "MedBoostRegressor",
    "ModelFormatError",
    "PairedStumps",
    "PathDisplay",
    "Pool",
    "ProgressBar",
    "QuadBoostClassifier",
    "QuadBoostClassifierCV",
    "QuadBoostRegressor",
    "QuantilesDisplay",
    "RLPBoostClassifier",
    "RQPBoostClassifier",
    "RealAdaBoostClassifier",
    "RegressionTrees",
    "Resampled",
    "RobustErrorDisplay",
    "Rules",
    "ShapeDisplay",
    "Stumps",
    "ThinnedClassifier",
    "TimeLimit",
    "TreeSizesDisplay",
    "Trees",
    "Union",
    "VadaBoostClassifier",
    "WorkerLostError",
    "__version__",
    "certificate",
    "compare",
    "compare_over",
    "complexity_of",
    "contributions",
    "convergence",
    "empirical_rademacher",
    "load",
    "margin_table",
    "margins",
    "rule_table",
    "shape_functions",
    "staged_margins",
    "thin",
    "trusted_types",
]

if TYPE_CHECKING:
    from electorate.comparison.compare import compare
    from electorate.comparison.over_tables import compare_over
    from electorate.estimators.adaboost import AdaBoostClassifier
    from electorate.estimators.adaboost_r import AdaBoostRClassifier
    from electorate.estimators.adaboost_r2 import AdaBoostRegressor
    from electorate.estimators.deepboost import DeepBoostClassifier
    from electorate.estimators.ebboost import EBBoostClassifier
    from electorate.estimators.lpboost import LPBoostClassifier
    from electorate.estimators.medboost import LocMedBoostRegressor, MedBoostRegressor
    from electorate.estimators.quadboost import QuadBoostClassifier
    from electorate.estimators.quadboost_cv import QuadBoostClassifierCV
    from electorate.estimators.quadboost_regressor import QuadBoostRegressor
    from electorate.estimators.real_adaboost import RealAdaBoostClassifier
    from electorate.estimators.totally_corrective import RLPBoostClassifier, RQPBoostClassifier
    from electorate.estimators.vadaboost import VadaBoostClassifier
    from electorate.inspection.certificates import certificate
    from electorate.inspection.convergence import convergence
    from electorate.inspection.family_complexity import complexity_of, empirical_rademacher
    from electorate.inspection.margins import margin_table, margins, staged_margins
    from electorate.inspection.rule_table import rule_table
    from electorate.inspection.shapes import shape_functions
    from electorate.inspection.shapley import contributions
    from electorate.messages import WorkerLostError
    from electorate.model.files import load
    from electorate.modelfile import ModelFormatError
    from electorate.report.margin_displays import CumulativeMarginsDisplay, MarginDisplay
    from electorate.report.path_display import PathDisplay
    from electorate.report.regression import IntervalDisplay, QuantilesDisplay
    from electorate.report.robust_error import RobustErrorDisplay
    from electorate.report.round_displays import BoundDisplay, CostDisplay
    from electorate.report.shape_display import ShapeDisplay
    from electorate.report.tree_sizes import TreeSizesDisplay
    from electorate.skops_types import trusted_types
    from electorate.thinning import ThinnedClassifier, thin
    from electorate.training.callbacks import Checkpoint, ProgressBar, TimeLimit
    from electorate.voters.columns import Columns
    from electorate.voters.kernel_sections import KernelSections
    from electorate.voters.paired_stumps import PairedStumps
    from electorate.voters.pool import Pool
    from electorate.voters.regression_trees import RegressionTrees
    from electorate.voters.rules import Rules
    from electorate.voters.trees import Stumps, Trees
    from electorate.voters.union import Union
    from electorate.voters.wrapped import Resampled


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'electorate' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
