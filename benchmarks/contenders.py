"""Who competes: electorate and its peers, each boosting stumps, behind one way to make them."""

import importlib
from collections.abc import Callable
from importlib import metadata
from typing import Any, NamedTuple


class Setting(NamedTuple):
    """What every contender is given; None leaves a library's own default."""

    rounds: int
    threads: int | None
    learning_rate: float | None = None
    depth: int = 1


class Contender(NamedTuple):
    """Where an estimator comes from, and its own names for a setting."""

    distributions: tuple[str, ...]
    module: str
    estimator: str
    parameters: Callable[[Setting], dict[str, Any]]


def _ours(s: Setting) -> dict[str, Any]:
    return {"estimator": _trees(s.depth), "n_estimators": s.rounds, "n_jobs": s.threads}


def _trees(depth: int) -> Any:
    """None is stumps."""
    return importlib.import_module("electorate").Trees(depth) if depth > 1 else None


def _on_gini_trees(s: Setting) -> dict[str, Any]:
    trees = importlib.import_module("electorate").Trees(s.depth)
    return {"estimator": trees, "n_estimators": s.rounds, "n_jobs": s.threads}


def _adaboost(s: Setting) -> dict[str, Any]:
    return {"n_estimators": s.rounds}


def _histgradientboosting(s: Setting) -> dict[str, Any]:
    # Its threads are OpenMP's, which the benchmark processes limit by OMP_NUM_THREADS.
    fixed = {"max_leaf_nodes": 2**s.depth, "max_depth": s.depth, "early_stopping": False}
    return {"max_iter": s.rounds, "learning_rate": s.learning_rate, **fixed}


def _xgboost(s: Setting) -> dict[str, Any]:
    common = {"n_estimators": s.rounds, "n_jobs": s.threads, "learning_rate": s.learning_rate}
    return {"max_depth": s.depth, "tree_method": "hist", **common}


def _lightgbm(s: Setting) -> dict[str, Any]:
    common = {"n_estimators": s.rounds, "n_jobs": s.threads, "learning_rate": s.learning_rate}
    return {"num_leaves": 2**s.depth, "max_depth": s.depth, "verbose": -1, **common}


def _catboost(s: Setting) -> dict[str, Any]:
    common = {"iterations": s.rounds, "thread_count": s.threads, "learning_rate": s.learning_rate}
    return {"depth": s.depth, "verbose": False, "allow_writing_files": False, **common}


OURS = "electorate"
DISCRETE, REAL = "electorate, discrete", "electorate, real"  # on the same voters
ADABOOST = "scikit-learn AdaBoost"
_SKLEARN = ("scikit-learn",), "sklearn.ensemble"
CONTENDERS = {
    OURS: Contender(("electorate",), "electorate", "AdaBoostClassifier", _ours),
    DISCRETE: Contender(("electorate",), "electorate", "AdaBoostClassifier", _on_gini_trees),
    REAL: Contender(("electorate",), "electorate", "RealAdaBoostClassifier", _on_gini_trees),
    "HistGradientBoosting": Contender(*_SKLEARN, "HistGradientBoostingClassifier", _histgradientboosting),
    "XGBoost": Contender(("xgboost", "xgboost-cpu"), "xgboost", "XGBClassifier", _xgboost),
    "LightGBM": Contender(("lightgbm",), "lightgbm", "LGBMClassifier", _lightgbm),
    "CatBoost": Contender(("catboost",), "catboost", "CatBoostClassifier", _catboost),
    ADABOOST: Contender(*_SKLEARN, "AdaBoostClassifier", _adaboost),
}
GRADIENT_BOOSTERS = ["HistGradientBoosting", "XGBoost", "LightGBM", "CatBoost"]


def present(names: list[str]) -> tuple[list[str], dict[str, str]]:
    """Those of `names` that can be imported here, and why the others cannot."""
    there: list[str] = []
    missing: dict[str, str] = {}
    for name in names:
        try:
            _class(name)
            there.append(name)
        except (ImportError, AttributeError) as error:
            missing[name] = str(error)
    return there, missing


def build(name: str, setting: Setting) -> Any:
    """An unfitted estimator."""
    parameters = CONTENDERS[name].parameters(setting)
    return _class(name)(**{k: v for k, v in parameters.items() if v is not None})


def versions() -> dict[str, str]:
    """The installed version of everything whose speed shows in the figures."""
    peers = [name for contender in CONTENDERS.values() for name in contender.distributions]
    installed = {d.name: d.version for d in metadata.distributions()}
    wanted = dict.fromkeys(["numpy", "scipy", *peers])
    return {name: installed[name] for name in wanted if name in installed}


def _class(name: str) -> Any:
    contender = CONTENDERS[name]
    return getattr(importlib.import_module(contender.module), contender.estimator)
