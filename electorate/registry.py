"""The public names and the module of each; for an algorithm also what else finds it by name.

An algorithm joins the package with one line in ALGORITHMS. This module imports nothing of the package.
"""

from collections import ChainMap
from typing import NamedTuple


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
    "inspection.check_up": "CheckUp check_up",
    "comparison.compare": "compare",
    "comparison.over_tables": "compare_over",
    "comparison.scores": "scores",
    "certified.certified_classifier": "CertifiedClassifier",
    "certified.cross_fitted": "CrossFittedClassifier",
    "estimators.quadboost_cv": "QuadBoostClassifierCV",
    "export.summed_trees": "export_input",
    "inspection.certificates": "certificate",
    "inspection.theorems": "convergence",
    "inspection.explain": "explain",
    "inspection.family_complexity": "complexity_of empirical_rademacher",
    "inspection.loss_certificates": "loss_certificate",
    "inspection.margins": "margin_table margins staged_margins",
    "inspection.rules": "rule_table",
    "inspection.shapes": "shape_functions",
    "inspection.shapley": "contributions",
    "messages": "WorkerLostError",
    "model.files": "load",
    "modelfile": "ModelFormatError",
    "report.model_report": "html_report",
    "report.margin_displays": "BoundDisplay CostDisplay CumulativeMarginsDisplay MarginDisplay RobustErrorDisplay",
    "report.regression": "IntervalDisplay QuantilesDisplay",
    "report.voter_displays": "PathDisplay ShapeDisplay TreeSizesDisplay",
    "tables.scan": "scan",
    "model.skops_types": "trusted_types",
    "estimators.stacked_classifier": "StackedClassifier StackedRegressor",
    "estimators.thinned": "ThinnedClassifier thin",
    "training.callbacks": "Checkpoint ProgressBar TimeLimit",
    "families.wrapped": "Resampled",
}

MODULES = (
    {name: algorithm.module for name, algorithm in ALGORITHMS.items()}
    | FAMILIES
    | {name: f"electorate.{module}" for module, names in _OTHERS.items() for name in names.split()}
)
