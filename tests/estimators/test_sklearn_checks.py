"""scikit-learn's own checks of estimators, for every booster, family and mode: none fails, none is expected to."""

from collections.abc import Callable
from typing import Any

from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from electorate import (
    AdaBoostClassifier,
    AdaBoostRClassifier,
    Columns,
    DeepBoostClassifier,
    EBBoostClassifier,
    KernelSections,
    LocMedBoostClassifier,
    LogisticAdaBoostClassifier,
    PairedStumps,
    Pool,
    RealAdaBoostClassifier,
    Rules,
    Stumps,
    Trees,
    Union,
    VadaBoostClassifier,
)
from electorate.algorithms.losses import SquaredHinge

FEW = {"n_estimators": 5}
BOOSTERS = [AdaBoostClassifier(**FEW), RealAdaBoostClassifier(**FEW), AdaBoostRClassifier(**FEW)]
MODELS = [
    *BOOSTERS,
    RealAdaBoostClassifier(step=1, **FEW),
    AdaBoostClassifier(Trees(2), **FEW),
    RealAdaBoostClassifier(Stumps(), **FEW),
    RealAdaBoostClassifier(Trees(2), **FEW),
    RealAdaBoostClassifier(Trees(2), step=1, **FEW),
    AdaBoostRClassifier(Trees(2), **FEW),
    AdaBoostClassifier(DecisionTreeClassifier(max_depth=2), **FEW),
    RealAdaBoostClassifier(DecisionTreeClassifier(max_depth=2), **FEW),
    AdaBoostClassifier(max_bins="exact", **FEW),
    *(type(model)(early_stopping=True, **FEW) for model in BOOSTERS),
    *(type(model)(warm_start=True, **FEW) for model in BOOSTERS),
    AdaBoostClassifier(DecisionTreeClassifier(max_depth=2), early_stopping=True, **FEW),
    AdaBoostClassifier(PairedStumps(), **FEW),
    AdaBoostClassifier(Pool(), **FEW),
    AdaBoostRClassifier(Rules(), **FEW),
    AdaBoostClassifier(Union([Stumps(), Rules()]), **FEW),
    RealAdaBoostClassifier(Columns(), **FEW),
    RealAdaBoostClassifier(KernelSections(), **FEW),
    VadaBoostClassifier(**FEW),
    LocMedBoostClassifier(**FEW),
    LocMedBoostClassifier(Pool(), abstain=True, **FEW),
    LocMedBoostClassifier(KernelSections(), rho=0.05, **FEW),
    LocMedBoostClassifier(DecisionTreeClassifier(max_depth=2), rho="adaptive", **FEW),
    DeepBoostClassifier(**FEW),
    DeepBoostClassifier(Union([Stumps(), PairedStumps(), Trees(3)]), loss="logistic", **FEW),
    DeepBoostClassifier(Trees(3), early_stopping=True, **FEW),
    DeepBoostClassifier(Columns(), loss=SquaredHinge(), **FEW),
    EBBoostClassifier(**FEW),
    LogisticAdaBoostClassifier(),  # with all rounds: class weights of 1000 and 0.0001 must not be forgotten
    LogisticAdaBoostClassifier(Trees(2), early_stopping=True, **FEW),
    EBBoostClassifier(PairedStumps(), lam="auto", n_estimators=1),
    VadaBoostClassifier(Trees(2), lam="auto", n_estimators=2),
    VadaBoostClassifier(DecisionTreeClassifier(max_depth=2), lam=0, **FEW),
]


@parametrize_with_checks(MODELS)
def test_checks(estimator: Any, check: Callable[[Any], None]) -> None:
    check(estimator)
