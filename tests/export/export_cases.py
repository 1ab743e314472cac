"""Every algorithm that votes by a sum, on every native family: small models, and rows on which exports could differ."""

import warnings
from functools import cache
from typing import Any

import numpy as np
import pandas as pd

from electorate import PairedStumps, Pool, RegressionTrees, Rules, Stumps, Trees, Union
from electorate.registry import ALGORITHMS
from tests.common.small_models import small_model

SUMS = [name for name, algorithm in ALGORITHMS.items() if algorithm.vote != "median"]
FAMILIES = {
    "stumps": Stumps(),
    "trees": Trees(3),
    "log-odds": Trees(2, leaves="log_odds"),
    "rules": Rules(2),
    "pairs": PairedStumps(),
    "pool": Pool(5),
    "union": Union([Stumps(), Rules(2), Trees(2)]),
    "regression trees": RegressionTrees(3),
}
# families that an algorithm refuses, with a message of its own
REFUSED = {
    ("LogisticAdaBoostClassifier", "pool"),
    *(("EBBoostClassifier", family) for family in ("trees", "log-odds", "rules", "union")),
    ("QuadBoostClassifier", "log-odds"),
}
LABELS = {2: np.array(["no", "yes, it's"]), 3: np.array([-7, 0, 12])}


@cache
def rows(seed: int = 0, n: int = 90) -> Any:
    """Two columns of numbers, one with missing values; texts; numbers that are categories. Names that need quotes."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "a": rng.normal(size=n),
            'b "c"': rng.integers(0, 6, n) / 7,
            "text": rng.choice(["red", "it's", 'a"b', "", "grün"], n),
            "code": rng.choice([-3.0, 0.0, 0.1, 4.0, 64.0, 1e9], n),
        }
    )
    frame.loc[rng.random(n) < 0.25, "a"] = np.nan
    frame.loc[rng.random(n) < 0.15, "text"] = None
    frame.loc[rng.random(n) < 0.1, "code"] = np.nan
    return frame


def score(frame: Any) -> Any:
    by_text = frame["text"].map({"red": 1.0, "it's": -1.0, "": 0.5}).fillna(0.0)
    by_code = frame["code"].map({0.1: 1.0, 64.0: -1.0}).fillna(0.2)
    return np.nan_to_num(frame["a"], nan=0.7) + by_text + by_code + frame.iloc[:, 1]


def target(name: str, n_labels: int) -> Any:
    number = np.asarray(score(rows()))
    if not ALGORITHMS[name].is_classifier:
        return number
    return LABELS[n_labels][np.digitize(number, np.quantile(number, np.arange(1, n_labels) / n_labels))]


def fits(name: str, family: str) -> bool:
    """Whether the algorithm takes the family."""
    if family == "regression trees" or not ALGORITHMS[name].is_classifier:
        return not ALGORITHMS[name].is_classifier and family in ("pool", "regression trees")
    return (name, family) not in REFUSED


CASES = [
    (name, family, n_labels)
    for name in SUMS
    for family in FAMILIES
    for n_labels in ((2, 3) if ALGORITHMS[name].is_classifier else (0,))
    if fits(name, family)
]


@cache
def fitted(name: str, family: str, n_labels: int) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        voters = Trees(3, criterion="edge") if (name, family) == ("QuadBoostClassifier", "trees") else FAMILIES[family]
        model = small_model(name, estimator=voters, categorical_features=["text", "code"])
        return model.fit(rows(), target(name, n_labels))


def probes(model: Any) -> Any:
    """Training rows; missing values everywhere; unseen categories; every threshold, and the doubles beside it."""
    frame, rng = rows(), np.random.default_rng(1)
    nothing = pd.DataFrame({name: [None if name == "text" else np.nan] for name in frame})
    unseen = frame.head(30).assign(text="blue", code=rng.choice([0.5, -2.0, 63.9999, 1e18, 2.0**32], 30))
    parts = [frame, nothing, unseen, frame.assign(code=-0.0).head(5)]
    trees = model.ensemble_
    for column, name in enumerate(frame):
        used = (trees.column == column) & (trees.members < 0) & np.isfinite(trees.threshold)
        for threshold in np.unique(trees.threshold[used]).tolist():
            near = [np.nextafter(threshold, -np.inf), threshold, np.nextafter(threshold, np.inf)]
            parts.append(frame.sample(3, random_state=0).assign(**{name: near}))
    return pd.concat(parts, ignore_index=True).astype({"text": object})
