"""Every theorem about training, for every booster and family that it covers, with and without weights."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone

from electorate import (
    AdaBoostClassifier,
    AdaBoostRClassifier,
    DeepBoostClassifier,
    EBBoostClassifier,
    LocMedBoostClassifier,
    LPBoostClassifier,
    MedBoostRegressor,
    PairedStumps,
    Pool,
    QuadBoostClassifier,
    RealAdaBoostClassifier,
    RegressionTrees,
    Rules,
    Stumps,
    Trees,
    Union,
    VadaBoostClassifier,
)
from tests.common import theorems
from tests.common.cases import DATA
from tests.common.checks import real_weights, whole_weights

FAMILIES = {
    "stumps": Stumps(),
    "trees": Trees(2),
    "pairs": PairedStumps(),
    "pool": Pool(5),
    "rules": Rules(2),
    "union": Union([Stumps(), Rules(2), Trees(2)]),
}
OVER_ALL = {
    "AdaBoost": (AdaBoostClassifier(n_estimators=12), theorems.check_products),
    "Real": (RealAdaBoostClassifier(n_estimators=12), theorems.check_products),
    "AdaBoost_R": (AdaBoostRClassifier(n_estimators=12), theorems.check_products),
    "Vada-0": (VadaBoostClassifier(lam=0.0, n_estimators=12), theorems.check_penalised_costs),
    "Vada": (VadaBoostClassifier(lam=0.6, n_estimators=12), theorems.check_penalised_costs),
    "Rho": (LocMedBoostClassifier(n_estimators=12), theorems.check_target_margins),
    "Rho-constant": (LocMedBoostClassifier(rho=0.1, n_estimators=12), theorems.check_target_margins),
    "Rho-abstaining": (LocMedBoostClassifier(abstain=True, n_estimators=12), theorems.check_target_margins),
    "Deep": (DeepBoostClassifier(n_estimators=12), theorems.check_deep_objective),
    "Deep-logistic": (DeepBoostClassifier(loss="logistic", n_estimators=12), theorems.check_deep_objective),
}
OVER_SOME = {
    "EB": (EBBoostClassifier(lam=0.6, n_estimators=12), theorems.check_penalised_costs, ("stumps", "pairs", "pool")),
    "Quad": (QuadBoostClassifier(n_estimators=12), theorems.check_quadratic_risk, ("stumps", "pairs", "pool", "rules")),
    "Quad-L1": (QuadBoostClassifier(penalty="l1", lam=0.02, n_estimators=12), theorems.check_quadratic_risk, ("pool",)),
    "Quad-L2": (QuadBoostClassifier(penalty="l2", lam=0.5, n_estimators=12), theorems.check_quadratic_risk, ("pool",)),
    "Quad-Linf": (
        QuadBoostClassifier(penalty="linf", alpha_max=0.1, n_estimators=12),
        theorems.check_quadratic_risk,
        ("pool",),
    ),
    "LP": (LPBoostClassifier(nu=0.4, tol=1e-5), theorems.check_duality_gap, ("stumps", "pool", "trees")),
}
CASES = [(name, family, model, check) for name, (model, check) in OVER_ALL.items() for family in FAMILIES]
CASES += [(name, family, model, check) for name, (model, check, some) in OVER_SOME.items() for family in some]
TWO_LABELS = ("two-labels", "ties", "missing")


def weights_of(y):
    return (np.ones(len(y)), whole_weights(len(y)).astype(float), real_weights(len(y)))


@pytest.mark.parametrize("data", TWO_LABELS)
@pytest.mark.parametrize(("name", "family", "model", "check"), CASES, ids=lambda v: v if isinstance(v, str) else "")
def test_theorems_of_training(name, family, model, check, data):
    X, y = DATA[data]
    for weight in weights_of(y):
        fitted = clone(model).set_params(estimator=clone(FAMILIES[family]))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of rounds that were too few
            fitted.fit(X, y, sample_weight=weight)
        check(fitted, X, y, weight)
        assert fitted.convergence().holds


@pytest.mark.parametrize("depth", [1, 3])
@pytest.mark.parametrize("rho", ["adaptive", "lowest_edge", -0.4])
def test_theorem_1_of_medians(depth, rho):
    rng = np.random.default_rng(depth)
    X = rng.normal(size=(90, 3))
    y = X[:, 0] + np.abs(X[:, 1]) + rng.normal(0, 0.3, 90)
    for weight in weights_of(y):
        model = MedBoostRegressor(RegressionTrees(depth), rho=rho, n_estimators=12).fit(X, y, weight)
        theorems.check_median_errors(model, X, y, weight)
        assert model.convergence().holds


def spoiled(model, **changes):
    for name, value in changes.items():
        setattr(model, name, value)
    return model


def test_the_checks_can_fail():
    """Half steps, another penalty, a history that is a little too good, another tube."""
    X, y = DATA["two-labels"]
    ones = np.ones(len(y))
    half = AdaBoostClassifier(n_estimators=5, learning_rate=0.5).fit(X, y)
    vada = spoiled(VadaBoostClassifier(lam=0.0, n_estimators=5).fit(X, y), lam=0.9)
    quad = QuadBoostClassifier(n_estimators=5).fit(X, y)
    deep = DeepBoostClassifier(n_estimators=5).fit(X, y)
    targets = X[:, 0] + X[:, 1]
    median = MedBoostRegressor(n_estimators=5).fit(X, targets)
    for model in (quad, deep):
        model.history_ = {**model.history_, "objective": model.history_["objective"] * 0.999}
    for check, model in (
        (theorems.check_products, half),
        (theorems.check_penalised_costs, vada),
        (theorems.check_quadratic_risk, quad),
        (theorems.check_deep_objective, deep),
    ):
        with pytest.raises(AssertionError):
            check(model, X, y, ones)
    with pytest.raises(AssertionError):
        theorems.check_median_errors(spoiled(median, eps_=median.eps_ / 3), X, targets, ones)
