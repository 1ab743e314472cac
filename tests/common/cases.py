"""Who goes through the common checks, and their data. All registered algorithms do: a small model of each is in EVERY.

Data sets are small on purpose, and full of what goes wrong: exact ties, missing values, categories, noise.
"""

from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from electorate import (
    AdaBoostClassifier,
    AdaBoostRClassifier,
    PairedStumps,
    Pool,
    QuadBoostClassifier,
    RealAdaBoostClassifier,
    Rules,
    Stumps,
    Trees,
    Union,
)
from electorate.registry import ALGORITHMS
from tests.common.checks import ADABOOST, Theory
from tests.common.small_models import small_model


class Booster(NamedTuple):
    estimator: Any  # not fitted; learning_rate = 1, where the theorems hold
    theory: Theory  # what its numbers must be


EVERY = {name: small_model(name) for name in ALGORITHMS}
BOOSTERS = {
    "AdaBoost": Booster(AdaBoostClassifier(n_estimators=12), ADABOOST),
    "AdaBoost-few-bins": Booster(AdaBoostClassifier(n_estimators=12, max_bins=4), ADABOOST),
    "AdaBoost-exact": Booster(AdaBoostClassifier(n_estimators=12, max_bins="exact"), ADABOOST),
    "AdaBoost-paired": Booster(AdaBoostClassifier(PairedStumps(), n_estimators=12), ADABOOST),
    "AdaBoost-pool": Booster(AdaBoostClassifier(Pool(5), n_estimators=12), ADABOOST),
    "AdaBoost-rules": Booster(AdaBoostClassifier(Rules(3), n_estimators=12), ADABOOST),
    "AdaBoost-union": Booster(AdaBoostClassifier(Union([Stumps(), Rules(2), Trees(2)]), n_estimators=12), ADABOOST),
}
# Voters that come again are merged, and may be weighted again: for two labels. `clusters`: also on Dask.
QUAD = {
    "QuadBoost-pool": QuadBoostClassifier(Pool(5), n_estimators=12),
    "QuadBoost-stumps": QuadBoostClassifier(Stumps(), n_estimators=12),
    "QuadBoost-L1-trees": QuadBoostClassifier(Trees(2, criterion="edge"), penalty="l1", lam=0.02, n_estimators=8),
    "QuadBoost-Linf-pool": QuadBoostClassifier(Pool(5), penalty="linf", alpha_max=0.2, n_estimators=12),
    "QuadBoost-L1-cyclic": QuadBoostClassifier(Pool(5), penalty="l1", lam=0.02, reweight="cyclic", n_estimators=8),
    "QuadBoost-L2-greedy": QuadBoostClassifier(Stumps(), penalty="l2", lam=0.5, reweight="greedy", n_estimators=12),
}
# Voters with real outputs, and trees: they go through the checks of bits.
REAL = {
    "AdaBoost-trees": AdaBoostClassifier(Trees(2), n_estimators=6),
    "AdaBoost-random-columns": AdaBoostClassifier(Trees(4, max_features=2), n_estimators=6),
    "Real": RealAdaBoostClassifier(n_estimators=6),
    "SAMME.R-trees": RealAdaBoostClassifier(Trees(2), step=1, n_estimators=6),
    "AdaBoost_R-trees": AdaBoostRClassifier(Trees(2), n_estimators=6),
}


def numbers(labels: int, seed: int = 0) -> tuple[Any, Any]:
    """Continuous columns; labels by bands of the first two, a tenth of them wrong."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(90, 5))
    score = X[:, 0] + 0.7 * X[:, 1]
    y = np.digitize(score, np.quantile(score, np.arange(1, labels) / labels))
    return X, np.where(rng.random(90) < 0.1, rng.integers(0, labels, 90), y)


def ties() -> tuple[Any, Any]:
    """Whole numbers in few values, a column twice, rows that contradict each other."""
    rng = np.random.default_rng(1)
    X = rng.integers(0, 4, size=(70, 3)).astype(float)
    X = np.column_stack([X, X[:, 0]])
    return X, (X[:, 0] + X[:, 1] > 3) ^ (rng.random(70) < 0.15)


def missing() -> tuple[Any, Any]:
    """A quarter of the cells missing, in the first column by the label."""
    X, y = numbers(2, seed=2)
    rng = np.random.default_rng(3)
    X[rng.random(X.shape) < 0.25] = np.nan
    X[(y == 1) & (rng.random(len(y)) < 0.5), 0] = np.nan
    return X, np.array(["no", "yes"])[y]


def categories() -> tuple[Any, Any]:
    """A dataframe: a category with missing values, a text column, a number; three labels."""
    rng = np.random.default_rng(4)
    color = rng.choice(["red", "green", "blue", "grey", "black"], 80)
    size = rng.choice(["S", "M", "L"], 80)
    y = np.select([np.isin(color, ["red", "grey"]), size == "M"], [0, 1], 2)
    y = np.where(rng.random(80) < 0.15, rng.integers(0, 3, 80), y)
    frame = pd.DataFrame({"color": pd.Categorical(color), "size": size, "number": rng.normal(size=80).round(1)})
    frame.loc[rng.random(80) < 0.1, "color"] = np.nan
    return frame, y


DATA = {
    "two-labels": numbers(2),
    "three-labels": numbers(3),
    "five-labels": numbers(5),
    "ties": ties(),
    "missing": missing(),
    "categories": categories(),
}


def data_for(name: str) -> tuple[Any, Any]:
    """Rows with missing values, and two labels or numbers as the target of a registered algorithm."""
    X, y = DATA["missing"]
    return (X, y) if ALGORITHMS[name].is_classifier else (X, DATA["two-labels"][0][:, 0] + (y == "yes"))
