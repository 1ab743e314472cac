"""The algorithms that `compare` tries, one line each: a name, an estimator, its voters and a small grid of settings.

Other libraries (peers) are added by name. The settings of a grid are tried in their order.
"""

import importlib
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from electorate.registry import ALGORITHMS

BINARY, MULTICLASS, REGRESSION = "binary", "multiclass", "regression"
CLASSIFICATION = (BINARY, MULTICLASS)
Setting = dict[str, Any]  # parameters, as set_params takes them


@dataclass(frozen=True)
class Facts:
    """What an estimator is built from, besides its parameters: positions of the category columns, and the seed."""

    categorical: list[int]
    seed: int
    widest: int = 0  # number of categories of the column that has most


@dataclass(frozen=True)
class Algorithm:
    """An algorithm for `compare`. make: returns an estimator with everything but a setting of the grid."""

    name: str
    tasks: tuple[str, ...]
    make: Callable[[Facts], Any]
    grid: tuple[Setting, ...]
    peer: bool = False
    most_rows: int | None = None  # with more rows (times classes, if more than 2) it is too slow to be tried by default

    def build(self, setting: Setting, facts: Facts) -> Any:
        return self.make(facts).set_params(**setting)


@dataclass(frozen=True)
class Ours:
    """Makes an estimator of this package; family: the class of its voters, or None for its default."""

    estimator: str
    family: str | None = None
    fixed: Setting = field(default_factory=dict)

    def __call__(self, facts: Facts) -> Any:
        package = importlib.import_module("electorate")
        voters = None if self.family is None else getattr(package, self.family)()
        model = getattr(package, self.estimator)(voters, **self.fixed)
        common = {"categorical_features": facts.categorical or None, "random_state": facts.seed, "n_jobs": 1}
        return set_supported(model, common)


def set_supported(model: Any, values: Setting) -> Any:
    """Set those of the parameters that the model has."""
    own = model.get_params(deep=False)
    return model.set_params(**{name: value for name, value in values.items() if name in own})


def _grid(names: str, *settings: tuple[Any, ...]) -> tuple[Setting, ...]:
    """One setting for each tuple of values. names: of the parameters, separated by spaces."""
    return tuple(dict(zip(names.split(), values, strict=True)) for values in settings)


def _each(name: str, *values: Any) -> tuple[Setting, ...]:
    """100 rounds with each of the values of one parameter."""
    return tuple({"n_estimators": 100, name: value} for value in values)


def _ours(
    name: str, estimator: str, family: str | None, grid: tuple[Setting, ...], most_rows: int | None = None, **fixed: Any
) -> Algorithm:
    tasks = (REGRESSION,) if estimator.endswith("Regressor") else CLASSIFICATION
    return Algorithm(name, tasks, Ours(estimator, family, fixed), grid, most_rows=most_rows)


STUMPS, TREES = "n_estimators learning_rate", "estimator__max_depth n_estimators learning_rate"
REAL_TREES = _grid(TREES, (3, 100, 0.1), (3, 100, 1.0), (6, 100, 0.1))
R2_TREES = _grid(TREES, (6, 100, 0.5), (3, 100, 1.0))
DEEP = _grid("n_estimators estimator__max_depth lam", (100, 3, 1e-3), (100, 5, 1e-3))
QUAD_L1 = _grid("n_estimators penalty lam reweight", (300, "l1", 0.003, "cyclic"))
QUAD_L2 = _grid("n_estimators penalty lam", (200, "l2", 1.0))
QUAD_LINF = "n_estimators penalty alpha_max"

OURS = (
    _ours("AdaBoost, stumps", "AdaBoostClassifier", "Stumps", _grid(STUMPS, (100, 1.0), (400, 1.0))),
    _ours("Real AdaBoost, stumps", "RealAdaBoostClassifier", None, _grid(STUMPS, (100, 1.0), (300, 0.3))),
    _ours("AdaBoost, trees", "AdaBoostClassifier", "Trees", _grid(TREES, (3, 100, 1.0), (6, 100, 0.3))),
    _ours("SAMME.R, trees", "RealAdaBoostClassifier", "Trees", REAL_TREES, step=1),
    _ours("Real AdaBoost, trees", "RealAdaBoostClassifier", "Trees", REAL_TREES),
    _ours("AdaBoost_R, trees", "AdaBoostRClassifier", "Trees", _grid(TREES, (3, 100, 0.3), (1, 100, 1.0))),
    _ours("VadaBoost, stumps", "VadaBoostClassifier", None, _each("lam", 0.5, 0.1)),
    _ours("EBBoost, stumps", "EBBoostClassifier", None, _each("lam", 0.5, 0.1)),
    _ours("DeepBoost, trees", "DeepBoostClassifier", "Trees", DEEP),
    _ours("QuadBoost, pool", "QuadBoostClassifier", None, QUAD_L1 + _grid(QUAD_LINF, (300, "linf", 0.1))),
    _ours("QuadBoost, stumps", "QuadBoostClassifier", "Stumps", _grid(QUAD_LINF, (100, "linf", 0.1)) + QUAD_L2),
    _ours("LPBoost, stumps", "LPBoostClassifier", None, _each("nu", 0.2, 0.1, 0.5), most_rows=5_000),
    _ours("RLPBoost, stumps", "RLPBoostClassifier", None, _each("nu", 0.2, 0.1, 0.5), most_rows=10_000),
    _ours("RQPBoost, stumps", "RQPBoostClassifier", None, _each("C", 0.1, 0.01, 1.0), most_rows=20_000),
    _ours("AdaBoost.R2, trees", "AdaBoostRegressor", "RegressionTrees", R2_TREES),
    _ours("MedBoost, trees", "MedBoostRegressor", "RegressionTrees", _each("estimator__max_depth", 3, 5)),
    _ours("LocMedBoost, trees", "LocMedBoostRegressor", "RegressionTrees", _each("estimator__max_depth", 3, 5)),
    _ours("QuadBoost, regression", "QuadBoostRegressor", None, _grid("n_estimators", (100,), (300,))),
)


# ---------------------------------------------------------------- other libraries


def _make_peer(module: str, estimator: str, options: Setting, seed: str, facts: Facts) -> Any:
    if module == "sklearn.ensemble":  # it takes at most 255 categories per column
        narrow = facts.categorical if facts.widest <= 255 else []
        options = {**options, "categorical_features": narrow or None}
    return getattr(importlib.import_module(module), estimator)(**options, **{seed: facts.seed})


def _peer(
    name: str, module: str, prefix: str, rounds: str = "n_estimators", seed: str = "random_state", **options: Any
) -> tuple[Algorithm, ...]:
    """The classifier and the regressor of another library."""
    grid = _grid(f"{rounds} learning_rate", (100, 0.1), (300, 0.05))
    return tuple(
        Algorithm(name, tasks, partial(_make_peer, module, prefix + ending, options, seed), grid, peer=True)
        for ending, tasks in (("Classifier", CLASSIFICATION), ("Regressor", (REGRESSION,)))
    )


_CATBOOST = {"thread_count": 1, "verbose": False, "allow_writing_files": False}
PEERS = {
    "hgb": _peer("HistGradientBoosting", "sklearn.ensemble", "HistGradientBoosting", "max_iter", early_stopping=False),
    "xgboost": _peer("XGBoost", "xgboost", "XGB", tree_method="hist", n_jobs=1),
    "lightgbm": _peer("LightGBM", "lightgbm", "LGBM", n_jobs=1, verbose=-1),
    "catboost": _peer("CatBoost", "catboost", "CatBoost", "iterations", "random_seed", **_CATBOOST),
}


def ours() -> list[Algorithm]:
    """The algorithms of this package: those of OURS, then registered ones without a line there, with their defaults."""
    listed = {algorithm.make.estimator for algorithm in OURS if isinstance(algorithm.make, Ours)}
    others = [entry for entry in ALGORITHMS.values() if entry.name not in listed]
    tasks = {True: CLASSIFICATION, False: (REGRESSION,)}
    return [*OURS, *(Algorithm(one.title, tasks[one.is_classifier], Ours(one.name), ({},)) for one in others)]


def every_algorithm() -> list[Algorithm]:
    """Ours and those of all peers."""
    return [*ours(), *(algorithm for both in PEERS.values() for algorithm in both)]


# ---------------------------------------------------------------- selection


def applicable(
    task: str, wanted: list[Any] | None = None, peers: list[str] | None = None, n_rows: int = 0
) -> list[Algorithm]:
    """The algorithms to compare: those of the user, then ours, then peers.

    wanted: names of ours and algorithms of the user; None: all of ours that are fast enough for n_rows (times the
    classes, if there are more than two). peers: short names of other libraries.
    """
    own = [item for item in wanted or [] if isinstance(item, Algorithm)]
    listed = {a.name.casefold(): a for a in ours() if task in a.tasks}
    if wanted is None:
        chosen = [a for a in listed.values() if a.most_rows is None or n_rows <= a.most_rows]
    else:
        names = {item.casefold(): item for item in wanted if not isinstance(item, Algorithm)}
        unknown = [name for key, name in names.items() if key not in listed]
        if unknown:
            known = [a.name for a in listed.values()]
            raise ValueError(f"no algorithm for {task} is called {unknown[0]!r}; choose from {known}")
        chosen = [a for key, a in listed.items() if key in names]
    chosen = [*own, *chosen, *(a for name in peers or [] for a in _installed(name) if task in a.tasks)]
    if not chosen:
        raise ValueError(f"no algorithm to compare for {task}: name one, or add a peer, for example 'hgb'")
    if len({a.name for a in chosen}) < len(chosen):
        raise ValueError("two algorithms have the same name: rename one of them")
    return chosen


def _installed(name: str) -> tuple[Algorithm, ...]:
    if name not in PEERS:
        raise ValueError(f"no peer is called {name!r}; choose from {sorted(PEERS)}")
    try:
        importlib.import_module("sklearn" if name == "hgb" else name)
    except ImportError:
        raise ValueError(f"{name} is not installed: pip install {name}, or leave it out") from None
    return PEERS[name]


def task_of(n_classes: int) -> str:
    return {0: REGRESSION, 2: BINARY}.get(n_classes, MULTICLASS)
