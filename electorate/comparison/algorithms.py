"""The algorithms that `compare` tries, as one list: a name, where it applies, how it is made, a small grid.

An algorithm joins by one line. One whose estimator this installation lacks is left out; peers join by name.
"""

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

BINARY, MULTICLASS, REGRESSION = "binary", "multiclass", "regression"
CLASSIFICATION = (BINARY, MULTICLASS)
Setting = dict[str, Any]  # parameters, as set_params takes them


@dataclass(frozen=True)
class Facts:
    """What an estimator may know beside its parameters."""

    categorical: list[int]
    seed: int
    widest: int = 0  # categories of the widest category column


@dataclass(frozen=True)
class Algorithm:
    """make: an estimator with everything but a setting of the grid. Settings are tried in their order."""

    name: str
    tasks: tuple[str, ...]
    make: Callable[[Facts], Any]
    grid: tuple[Setting, ...]
    peer: bool = False
    most_rows: int | None = None  # with more, times the classes beyond two, it takes too long to be tried unasked

    def build(self, setting: Setting, facts: Facts) -> Any:
        return self.make(facts).set_params(**setting)


def _of(module: str, name: str) -> Callable[..., Any]:
    return getattr(importlib.import_module(module), name)


@dataclass(frozen=True)
class Ours:
    """Makes an estimator of this package; family: the class of its voters, or None for its own."""

    estimator: str
    family: str | None = None
    step: int | str | None = None  # only where an algorithm has it

    def __call__(self, facts: Facts) -> Any:
        voters = None if self.family is None else _of("electorate", self.family)()
        fixed = {} if self.step is None else {"step": self.step}
        known = {"categorical_features": facts.categorical or None, "random_state": facts.seed, "n_jobs": 1}
        model = _of("electorate", self.estimator)(voters, **fixed)
        taken = model.get_params(deep=False)
        return model.set_params(**{name: value for name, value in known.items() if name in taken})

    @property
    def is_here(self) -> bool:
        return hasattr(importlib.import_module("electorate"), self.estimator)


def _trees(depth: int, rounds: int, rate: float) -> Setting:
    return {"estimator__max_depth": depth, "n_estimators": rounds, "learning_rate": rate}


def _stumps(rounds: int, rate: float) -> Setting:
    return {"n_estimators": rounds, "learning_rate": rate}


OURS = (
    Algorithm(
        "AdaBoost, stumps",
        CLASSIFICATION,
        Ours("AdaBoostClassifier", "Stumps"),
        (_stumps(100, 1.0), _stumps(400, 1.0)),
    ),
    Algorithm(
        "Real AdaBoost, stumps",
        CLASSIFICATION,
        Ours("RealAdaBoostClassifier"),
        (_stumps(100, 1.0), _stumps(300, 0.3)),
    ),
    Algorithm(
        "AdaBoost, trees",
        CLASSIFICATION,
        Ours("AdaBoostClassifier", "Trees"),
        (_trees(3, 100, 1.0), _trees(6, 100, 0.3)),
    ),
    Algorithm(
        "SAMME.R, trees",
        CLASSIFICATION,
        Ours("RealAdaBoostClassifier", "Trees", 1),
        (_trees(3, 100, 0.1), _trees(3, 100, 1.0), _trees(6, 100, 0.1)),
    ),
    Algorithm(
        "Real AdaBoost, trees",
        CLASSIFICATION,
        Ours("RealAdaBoostClassifier", "Trees"),
        (_trees(3, 100, 0.1), _trees(3, 100, 1.0), _trees(6, 100, 0.1)),
    ),
    Algorithm(
        "AdaBoost_R, trees",
        CLASSIFICATION,
        Ours("AdaBoostRClassifier", "Trees"),
        (_trees(3, 100, 0.3), _trees(1, 100, 1.0)),
    ),
    Algorithm(
        "VadaBoost, stumps",
        CLASSIFICATION,
        Ours("VadaBoostClassifier"),
        tuple({"n_estimators": 100, "lam": lam} for lam in (0.5, 0.1)),
    ),
    Algorithm(
        "EBBoost, stumps",
        CLASSIFICATION,
        Ours("EBBoostClassifier"),
        tuple({"n_estimators": 100, "lam": lam} for lam in (0.5, 0.1)),
    ),
    Algorithm(
        "DeepBoost, trees",
        CLASSIFICATION,
        Ours("DeepBoostClassifier", "Trees"),
        tuple({"n_estimators": 100, "estimator__max_depth": d, "lam": lam} for d, lam in ((3, 1e-3), (5, 1e-3))),
    ),
    Algorithm(
        "QuadBoost, pool",
        CLASSIFICATION,
        Ours("QuadBoostClassifier"),
        (
            {"n_estimators": 300, "penalty": "l1", "lam": 0.003, "reweight": "cyclic"},
            {"n_estimators": 300, "penalty": "linf", "alpha_max": 0.1},
        ),
    ),
    Algorithm(
        "QuadBoost, stumps",
        CLASSIFICATION,
        Ours("QuadBoostClassifier", "Stumps"),
        (
            {"n_estimators": 100, "penalty": "linf", "alpha_max": 0.1},
            {"n_estimators": 200, "penalty": "l2", "lam": 1.0},
        ),
    ),
    Algorithm(
        "LPBoost, stumps",
        CLASSIFICATION,
        Ours("LPBoostClassifier"),
        tuple({"n_estimators": 100, "nu": nu} for nu in (0.2, 0.1, 0.5)),
        most_rows=5_000,
    ),
    Algorithm(
        "RLPBoost, stumps",
        CLASSIFICATION,
        Ours("RLPBoostClassifier"),
        tuple({"n_estimators": 100, "nu": nu} for nu in (0.2, 0.1, 0.5)),
        most_rows=10_000,
    ),
    Algorithm(
        "RQPBoost, stumps",
        CLASSIFICATION,
        Ours("RQPBoostClassifier"),
        tuple({"n_estimators": 100, "C": price} for price in (0.1, 0.01, 1.0)),
        most_rows=20_000,
    ),
    Algorithm(
        "AdaBoost.R2, trees",
        (REGRESSION,),
        Ours("AdaBoostRegressor", "RegressionTrees"),
        (_trees(6, 100, 0.5), _trees(3, 100, 1.0)),
    ),
    Algorithm(
        "MedBoost, trees",
        (REGRESSION,),
        Ours("MedBoostRegressor", "RegressionTrees"),
        tuple({"n_estimators": 100, "estimator__max_depth": depth} for depth in (3, 5)),
    ),
    Algorithm(
        "LocMedBoost, trees",
        (REGRESSION,),
        Ours("LocMedBoostRegressor", "RegressionTrees"),
        tuple({"n_estimators": 100, "estimator__max_depth": depth} for depth in (3, 5)),
    ),
    Algorithm(
        "QuadBoost, regression",
        (REGRESSION,),
        Ours("QuadBoostRegressor"),
        tuple({"n_estimators": rounds} for rounds in (100, 300)),
    ),
)


# ---------------------------------------------------------------- peers


def _histgradientboosting(facts: Facts, kind: str) -> Any:
    narrow = facts.categorical if facts.widest <= 255 else []  # it takes no more categories
    make = _of("sklearn.ensemble", f"HistGradientBoosting{kind}")
    return make(categorical_features=narrow or None, random_state=facts.seed, early_stopping=False)


def _xgboost(facts: Facts, kind: str) -> Any:
    make = _of("xgboost", f"XGB{kind}")
    return make(tree_method="hist", n_jobs=1, random_state=facts.seed)


def _lightgbm(facts: Facts, kind: str) -> Any:
    return _of("lightgbm", f"LGBM{kind}")(n_jobs=1, random_state=facts.seed, verbose=-1)


def _catboost(facts: Facts, kind: str) -> Any:
    make = _of("catboost", f"CatBoost{kind}")
    return make(thread_count=1, random_seed=facts.seed, verbose=False, allow_writing_files=False)


def _peer(
    name: str, make: Callable[[Facts, str], Any], rounds: str, rate: str, pairs: tuple[tuple[int, float], ...]
) -> tuple[Algorithm, ...]:
    grid = tuple({rounds: n, rate: size} for n, size in pairs)
    classify = Algorithm(name, CLASSIFICATION, lambda facts: make(facts, "Classifier"), grid, peer=True)
    return classify, Algorithm(name, (REGRESSION,), lambda facts: make(facts, "Regressor"), grid, peer=True)


_PAIRS = ((100, 0.1), (300, 0.05))
PEERS = {
    "hgb": _peer("HistGradientBoosting", _histgradientboosting, "max_iter", "learning_rate", _PAIRS),
    "xgboost": _peer("XGBoost", _xgboost, "n_estimators", "learning_rate", _PAIRS),
    "lightgbm": _peer("LightGBM", _lightgbm, "n_estimators", "learning_rate", _PAIRS),
    "catboost": _peer("CatBoost", _catboost, "iterations", "learning_rate", _PAIRS),
}
MODULES = {"hgb": "sklearn", "xgboost": "xgboost", "lightgbm": "lightgbm", "catboost": "catboost"}


def applicable(
    task: str, wanted: list[str] | None = None, peers: list[str] | None = None, n_rows: int = 0
) -> list[Algorithm]:
    """The algorithms for a task, ours first; wanted: names to keep; peers: short names of those that join.

    n_rows: those that are slow with so many (times the classes, if more than two) are tried only if they are named.
    """
    ours = [a for a in OURS if task in a.tasks and (not isinstance(a.make, Ours) or a.make.is_here)]
    if wanted is None:
        ours = [a for a in ours if a.most_rows is None or n_rows <= a.most_rows]
    else:
        known = {a.name.casefold(): a for a in ours}
        unknown = [name for name in wanted if name.casefold() not in known]
        if unknown:
            raise ValueError(f"no algorithm for {task} is called {unknown[0]!r}; there are {[a.name for a in ours]}")
        ours = [a for a in ours if a.name.casefold() in {name.casefold() for name in wanted}]
    joined = [a for name in peers or [] for a in peer(name) if task in a.tasks]
    if not ours + joined:
        raise ValueError(f"no algorithm of this version is for {task}: let a peer join, for example 'hgb'")
    return ours + joined


def peer(name: str) -> tuple[Algorithm, ...]:
    """The algorithms of a peer, if it is installed."""
    if name not in PEERS:
        raise ValueError(f"no peer is called {name!r}; there are {sorted(PEERS)}")
    try:
        importlib.import_module(MODULES[name])
    except ImportError:
        raise ValueError(f"{name} is not installed here: pip install {name}, or leave it out") from None
    return PEERS[name]
