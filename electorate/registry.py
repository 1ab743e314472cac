"""The public names and the module of each; for an algorithm also what else finds it by name.

An algorithm joins the package with one line in ALGORITHMS. This module imports nothing of the package.
"""

import sys
from collections import ChainMap
from collections.abc import Callable, Iterable
from importlib import import_module
from typing import Any, NamedTuple


class RegisteredAlgorithm(NamedTuple):
    """One estimator class.

    title: the name in tables and texts. vote: how the outputs of the voters become a prediction: "sum", "samme" (a sum
    in shares of all steps, as scikit-learn's AdaBoost has it), "number" (a sum in units of the target), "median", or
    "stack" (a mean of several models), or "peer" (a model of scikit-learn).
    """

    name: str
    module: str
    title: str
    vote: str

    @property
    def is_classifier(self) -> bool:
        return self.name.endswith("Classifier")


ALGORITHMS = {
    entry[0]: RegisteredAlgorithm(entry[0], f"electorate.estimators.{entry[1]}", *entry[2:])
    for entry in (
        ("AdaBoostClassifier", "adaboost", "AdaBoost", "samme"),
        ("RealAdaBoostClassifier", "real_adaboost", "Real AdaBoost", "sum"),
        ("LogisticAdaBoostClassifier", "logistic_adaboost", "Logistic AdaBoost", "sum"),
        ("AdaBoostRClassifier", "adaboost_r", "AdaBoost_R", "sum"),
        ("VadaBoostClassifier", "vadaboost", "VadaBoost", "sum"),
        ("EBBoostClassifier", "ebboost", "EBBoost", "sum"),
        ("LocMedBoostClassifier", "locmedboost", "LocMedBoost", "sum"),
        ("DeepBoostClassifier", "deepboost", "DeepBoost", "sum"),
        ("QuadBoostClassifier", "quadboost", "QuadBoost", "sum"),
        ("QuadBoostRegressor", "quadboost_regressor", "QuadBoost", "number"),
        ("LPBoostClassifier", "lpboost", "LPBoost", "sum"),
        ("RLPBoostClassifier", "totally_corrective", "RLPBoost", "sum"),
        ("RQPBoostClassifier", "totally_corrective", "RQPBoost", "sum"),
        ("AdaBoostRegressor", "adaboost_r2", "AdaBoost.R2", "median"),
        ("MedBoostRegressor", "medboost", "MedBoost", "median"),
        ("LocMedBoostRegressor", "medboost", "LocMedBoost", "median"),
    )
}

PEERS = {  # models of scikit-learn in the form of this package
    name: RegisteredAlgorithm(name, "electorate.estimators.peers", "scikit-learn", "peer")
    for name in ("PeerClassifier", "PeerRegressor")
}
STACKED = ChainMap(ALGORITHMS, PEERS)  # what the file of a stack may contain

_MORE_WRITTEN = {
    entry[0]: RegisteredAlgorithm(entry[0], f"electorate.{entry[1]}", *entry[2:])
    for entry in (
        ("CertifiedClassifier", "certified.certified_classifier", "Certified vote", "sum"),
        ("StackedClassifier", "estimators.stacked_classifier", "Stack", "stack"),
        ("StackedRegressor", "estimators.stacked_classifier", "Stack", "stack"),
    )
}
WRITTEN = ChainMap(ALGORITHMS, PEERS, _MORE_WRITTEN)  # estimators that a model file may hold

FAMILIES = {
    "Columns": "electorate.families.columns",
    "KernelSections": "electorate.families.kernel_sections",
    "PairedStumps": "electorate.families.paired_stumps",
    "Pool": "electorate.families.pool",
    "RegressionTrees": "electorate.families.regression_trees",
    "Rules": "electorate.families.rules",
    "Stumps": "electorate.families.trees",
    "Trees": "electorate.families.trees",
    "Union": "electorate.families.union",
}

_OTHERS = {
    "certified.certified_classifier": "CertifiedClassifier",
    "certified.cross_fitted": "CrossFittedClassifier",
    "comparison.compare": "compare",
    "comparison.over_tables": "compare_over",
    "comparison.scores": "scores",
    "estimators.quadboost_cv": "QuadBoostClassifierCV",
    "estimators.stacked_classifier": "StackedClassifier StackedRegressor",
    "estimators.thinned": "ThinnedClassifier thin",
    "families.wrapped": "Resampled",
    "inspection.certificates": "certificate",
    "inspection.check_up": "check_up",
    "inspection.explain": "explain",
    "inspection.margins": "margins",
    "model.files": "load",
    "tables.scan": "scan",
    "training.callbacks": "Checkpoint ProgressBar TimeLimit",
}
_EXPORT = {"export.summed_trees": "export_input", "model.skops_types": "trusted_types"}
_INSPECTION = {
    "inspection.check_up": "CheckUp",
    "inspection.family_complexity": "complexity_of empirical_rademacher",
    "inspection.loss_certificates": "loss_certificate",
    "inspection.margins": "margin_table staged_margins",
    "inspection.rules": "rule_table",
    "inspection.shapes": "shape_functions tree_sizes",
    "inspection.shapley": "contributions",
    "inspection.theorems": "convergence",
}
_REPORT = {
    "report.margin_displays": "BoundDisplay CostDisplay CumulativeMarginsDisplay MarginDisplay RobustErrorDisplay",
    "report.model_report": "html_report",
    "report.regression": "IntervalDisplay QuantilesDisplay",
    "report.voter_displays": "PathDisplay ShapeDisplay TreeSizesDisplay",
}


def _module_of_each(modules: dict[str, str]) -> dict[str, str]:
    return {name: f"electorate.{module}" for module, names in modules.items() for name in names.split()}


MODULES = {name: algorithm.module for name, algorithm in ALGORITHMS.items()} | FAMILIES | _module_of_each(_OTHERS)
PUBLIC = {  # by the package that they are imported from
    "electorate": MODULES,
    "electorate.export": _module_of_each(_EXPORT),
    "electorate.inspection": _module_of_each(_INSPECTION),
    "electorate.report": _module_of_each(_REPORT),
}


def lazy_names(package: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return __getattr__ and __dir__ of a package: a public name, or a package with some, is imported on first use."""

    def names() -> list[str]:
        return sorted(PUBLIC[package])

    def get(name: str) -> Any:
        if name == "__all__":
            return names()
        if f"{package}.{name}" in PUBLIC:
            return import_module(f"{package}.{name}")
        if name not in PUBLIC[package]:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(PUBLIC[package][name]), name)
        setattr(sys.modules[package], name, value)
        return value

    return get, names


def import_lines(names: Iterable[str]) -> list[str]:
    """Return the lines of Python that import the public ones of these names."""
    wanted = set(names)
    found = ((package, sorted(wanted & modules.keys())) for package, modules in PUBLIC.items())
    return [f"from {package} import {', '.join(public)}" for package, public in found if public]
