"""The algorithms that `compare` tries, one line each: a name, an estimator, its voters and a small grid of settings.

Settings depend on the size of the table: trees are as deep as the rows allow, and the deep ones come first where there
are many rows. Other libraries (peers) are added by name.
"""

import importlib
import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from sklearn.base import clone, is_classifier

from electorate.estimators.outside_fits import is_storable
from electorate.model.library_model import CLASSES, import_library
from electorate.registry import ALGORITHMS

BINARY, MULTICLASS, REGRESSION = "binary", "multiclass", "regression"
CLASSIFICATION = (BINARY, MULTICLASS)
DEFAULT_PEERS = ("linear", "forest", "extra_trees", "hgb")  # unless algorithms are named
EVERY = "all"  # also the algorithms that are left out by default
MANY_ROWS = 5_000  # from which the deepest trees come first
VERY_MANY_ROWS = 20_000  # from which there are fewer rounds
DEEPEST = 12
QUICK_ROUNDS = 100
Setting = dict[str, Any]  # parameters, as set_params takes them
BALANCED: Setting = {"class_weight": "balanced"}


@dataclass(frozen=True)
class Size:
    """What grids depend on. n_classes: 0 for regression."""

    n_rows: int = 1_000
    n_classes: int = 2

    @property
    def deepest(self) -> int:
        """A tree of this depth has about ten rows per leaf, if it is balanced."""
        return int(min(DEEPEST, max(2, round(math.log2(max(1, self.n_rows) / 10)))))

    @property
    def rounds(self) -> int:
        return 100 if self.n_rows >= VERY_MANY_ROWS else 200

    @property
    def depths(self) -> tuple[int, ...]:
        """Depths to try, the most promising first."""
        deepest = self.deepest
        if self.n_rows >= MANY_ROWS:
            return deepest, deepest - 3, 5
        shallow = 3 if self.n_classes <= 4 else 4  # small trees cannot tell many classes apart
        return tuple(dict.fromkeys((min(shallow, deepest), max(2, deepest - 2), deepest)))


@dataclass(frozen=True)
class Facts:
    """What an estimator is built from, besides its parameters: positions of the category columns, and the seed."""

    categorical: list[int]
    seed: int
    widest: int = 0  # number of categories of the column that has most


@dataclass(frozen=True)
class Algorithm:
    """An algorithm for `compare`. make: returns an estimator with everything but a setting of the grid.

    sized: the grid for a table of another size. peer: of another library. baseline: what a model has to beat.
    staged: the number of rounds is chosen from one fit, by predictions after some of its rounds; `rounds` names that
    parameter. wave: when its first setting is tried; later settings follow, one a wave. by_default: whether it is tried
    without being named. takes_table: whether it gets the columns as they are, not as numbers, and is no
    member of a stack. readable: a rank among models that a person can read, 1 for the easiest.
    """

    name: str
    tasks: tuple[str, ...]
    make: Callable[[Facts], Any]
    grid: tuple[Setting, ...]
    peer: bool = False
    baseline: bool = False
    staged: bool = False
    rounds: str = "n_estimators"
    wave: int = 1
    by_default: bool = True
    takes_table: bool = False
    readable: int | None = None
    sized: Callable[[Size], tuple[Setting, ...]] | None = None

    def build(self, setting: Setting, facts: Facts) -> Any:
        """The estimator; for a library without the parameter, class weights are weights of the rows."""
        model = self.make(facts)
        if "class_weight" in setting and "class_weight" not in model.get_params(deep=False):
            setting = {name: value for name, value in setting.items() if name != "class_weight"}
        return model.set_params(**setting)

    def wave_of(self, setting: int) -> int:
        """When a setting is tried; the baseline is first."""
        return 0 if self.baseline else self.wave + setting

    def of_size(self, size: Size) -> "Algorithm":
        return self if self.sized is None else replace(self, grid=self.sized(size))


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


# ---------------------------------------------------------------- grids


def _grid(names: str, *settings: tuple[Any, ...]) -> tuple[Setting, ...]:
    """One setting for each tuple of values. names: of the parameters, separated by spaces."""
    return tuple(dict(zip(names.split(), values, strict=True)) for values in settings)


def _each(name: str, *values: Any) -> tuple[Setting, ...]:
    """100 rounds with each of the values of one parameter."""
    return tuple({"n_estimators": 100, name: value} for value in values)


STUMPS, TREES = "n_estimators learning_rate", "estimator__max_depth n_estimators learning_rate"
LEAVES = TREES + " estimator__min_samples_leaf"
DRAWN = LEAVES + " estimator__max_features"  # random columns at every split
QUAD_L1 = _grid("n_estimators penalty lam reweight", (300, "l1", 0.003, "cyclic"))
QUAD_LINF = "n_estimators penalty alpha_max"
ABSOLUTE: Setting = {"loss": "absolute"}


def _adaboost_trees(size: Size) -> tuple[Setting, ...]:
    """Full steps: the error of AdaBoost on trees hardly depends on the learning rate, but on depth and rounds."""
    return _grid(TREES, *((depth, size.rounds, 1.0) for depth in size.depths))


def _samme_r_trees(size: Size) -> tuple[Setting, ...]:
    deep = max(2, size.deepest - 3)
    if size.n_rows >= MANY_ROWS:
        pairs = ((deep, 1.0), (deep, 0.3), (6, 0.3), (4, 0.1))
        return _grid(TREES, *((depth, size.rounds, rate) for depth, rate in pairs))
    return _grid(DRAWN, (min(6, max(3, size.deepest)), 200, 0.1, 10, "sqrt"), (3, 200, 0.1, 1, None))


def _logistic_trees(size: Size) -> tuple[Setting, ...]:
    """Trees of random columns with small steps, then deeper and plain ones; stumps where labels are noisy."""
    if size.n_rows >= MANY_ROWS:
        deep = max(6, size.deepest - 2)
        settings = _grid(
            DRAWN,
            (deep, size.rounds, 0.2, 20, "sqrt"),
            (deep, size.rounds, 0.2, 20, None),
            (6, size.rounds, 0.2, 20, None),
            (3, size.rounds, 0.2, 20, None),
        )
    else:
        deepest = max(3, size.deepest)
        settings = _grid(
            DRAWN,
            (min(6, deepest), 600, 0.02, 10, "sqrt"),
            (3, 200, 0.1, 5, None),
            (min(8, deepest), 400, 0.05, 3, "sqrt"),
            (1, 400, 0.5, 5, None),
        )
    return tuple(one | {"estimator__leaves": "gentle"} for one in settings)


def _real_trees(size: Size) -> tuple[Setting, ...]:
    if size.n_rows >= MANY_ROWS:
        settings = ((6, 1.0), (max(2, size.deepest - 3), 0.3), (4, 0.3))
        return _grid(TREES, *((depth, size.rounds, rate) for depth, rate in settings))
    return _grid(TREES, (3, 200, 0.1), (3, 200, 1.0), (6, 200, 0.1))


def _deepboost_trees(size: Size) -> tuple[Setting, ...]:
    depths = (8, 5) if size.n_rows >= MANY_ROWS else (3, 5)
    return _grid("n_estimators estimator__max_depth lam", *((size.rounds, depth, 1e-3) for depth in depths))


def _median_trees(size: Size) -> tuple[Setting, ...]:
    deepest = size.deepest
    depths = (deepest, deepest - 3) if size.n_rows >= MANY_ROWS else (max(3, deepest - 2), 3, deepest)
    return _grid("n_estimators estimator__max_depth", *((100, depth) for depth in dict.fromkeys(depths)))


def _squares_trees(size: Size) -> tuple[Setting, ...]:
    if size.n_rows >= MANY_ROWS:
        settings = [(max(6, size.deepest - 4), 300, 0.1, 5), (6, 300, 0.1, 20), (size.deepest - 2, 300, 0.1, 10)]
        return _grid(LEAVES, *dict.fromkeys(settings))
    return _grid(DRAWN, (6, 600, 0.03, 3, 1 / 3), (4, 300, 0.1, 1, 0.5), (6, 300, 0.1, 5, None))


def _absolute_trees(size: Size) -> tuple[Setting, ...]:
    if size.n_rows >= MANY_ROWS:
        return _grid(DRAWN, (max(6, size.deepest - 4), 300, 0.1, 5, 0.5))
    return _grid(DRAWN, (6, 300, 0.1, 3, 0.5))


def _r2_trees(size: Size) -> tuple[Setting, ...]:
    return _grid(TREES, *((setting["estimator__max_depth"], 100, 1.0) for setting in _median_trees(size)))


# ---------------------------------------------------------------- the algorithms of this package


def _ours(
    name: str,
    estimator: str,
    family: str | None,
    grid: tuple[Setting, ...] | Callable[[Size], tuple[Setting, ...]],
    wave: int,
    fixed: Setting | None = None,
    by_default: bool = True,
    readable: int | None = None,
) -> Algorithm:
    tasks = (REGRESSION,) if estimator.endswith("Regressor") else CLASSIFICATION
    sized = grid if callable(grid) else None
    usual = grid(Size()) if callable(grid) else grid
    make = Ours(estimator, family, fixed or {})
    staged = sized is not None
    return Algorithm(
        name, tasks, make, usual, staged=staged, wave=wave, by_default=by_default, readable=readable, sized=sized
    )


RULES = _grid("n_estimators estimator__max_terms", (12, 2))
# What maximises margins is slow, or no better on noisy rows, and was never first in our studies: only if it is named.
OURS = (
    _ours("Logistic AdaBoost, trees", "LogisticAdaBoostClassifier", "Trees", _logistic_trees, 0),
    _ours("SAMME.R, trees", "RealAdaBoostClassifier", "Trees", _samme_r_trees, 1, fixed={"step": 1}),
    _ours("AdaBoost, trees", "AdaBoostClassifier", "Trees", _adaboost_trees, 1),
    _ours("AdaBoost, stumps", "AdaBoostClassifier", "Stumps", _grid(STUMPS, (100, 1.0)), 1, readable=2),
    _ours("Real AdaBoost, trees", "RealAdaBoostClassifier", "Trees", _real_trees, 2),
    _ours("Real AdaBoost, stumps", "RealAdaBoostClassifier", None, _grid(STUMPS, (100, 1.0), (300, 0.3)), 2),
    _ours("AdaBoost_R, rules", "AdaBoostRClassifier", "Rules", RULES, 2, readable=1),
    _ours("QuadBoost, pool", "QuadBoostClassifier", None, QUAD_L1 + _grid(QUAD_LINF, (300, "linf", 0.1)), 2),
    _ours("DeepBoost, trees", "DeepBoostClassifier", "Trees", _deepboost_trees, 3),
    _ours("AdaBoost_R, trees", "AdaBoostRClassifier", "Trees", _grid(TREES, (3, 100, 0.3)), 3),
    _ours("QuadBoost, stumps", "QuadBoostClassifier", "Stumps", _grid(QUAD_LINF, (100, "linf", 0.1)), 3),
    _ours("VadaBoost, stumps", "VadaBoostClassifier", None, _each("lam", 0.5), 3),
    _ours("EBBoost, stumps", "EBBoostClassifier", None, _each("lam", 0.5), 3),
    _ours("RQPBoost, stumps", "RQPBoostClassifier", None, _each("C", 0.1, 0.01, 1.0), 3, by_default=False),
    _ours("RLPBoost, stumps", "RLPBoostClassifier", None, _each("nu", 0.2, 0.1, 0.5), 3, by_default=False),
    _ours("LPBoost, stumps", "LPBoostClassifier", None, _each("nu", 0.2, 0.1, 0.5), 3, by_default=False),
    _ours("LocMedBoost, stumps", "LocMedBoostClassifier", None, _grid("n_estimators", (100,)), 3, by_default=False),
    _ours("QuadBoost, trees", "QuadBoostRegressor", "RegressionTrees", _squares_trees, 0),
    _ours("QuadBoost, absolute error", "QuadBoostRegressor", "RegressionTrees", _absolute_trees, 1, fixed=ABSOLUTE),
    _ours("MedBoost, trees", "MedBoostRegressor", "RegressionTrees", _median_trees, 1),
    _ours("AdaBoost.R2, trees", "AdaBoostRegressor", "RegressionTrees", _r2_trees, 1),
    _ours("QuadBoost, regression", "QuadBoostRegressor", None, _grid("n_estimators", (100,), (300,)), 2, readable=2),
    _ours("LocMedBoost, trees", "LocMedBoostRegressor", "RegressionTrees", _median_trees, 2),
)


# ---------------------------------------------------------------- baselines and other libraries


@dataclass(frozen=True)
class Scikit:
    """Makes a model of scikit-learn, or of another library, that our files can hold."""

    kind: Any  # its name, or an estimator
    is_classifier: bool

    def __call__(self, facts: Facts) -> Any:
        from electorate.estimators.peers import PeerClassifier, PeerRegressor

        kind = PeerClassifier if self.is_classifier else PeerRegressor
        return kind(self.kind, categorical_features=facts.categorical or None, random_state=facts.seed, n_jobs=1)


BOTH = (CLASSIFICATION, (REGRESSION,))


def _scikit(
    name: str, kind: str, grid: tuple[Setting, ...], wave: int, rounds: str = "", readable: int | None = None
) -> tuple[Algorithm, ...]:
    """The classifier and the regressor. rounds: the parameter whose value is chosen by staged predictions."""
    more: dict[str, Any] = {"staged": True, "rounds": rounds} if rounds else {}
    return tuple(
        Algorithm(
            name, tasks, Scikit(kind, tasks == CLASSIFICATION), grid, peer=True, wave=wave, readable=readable, **more
        )
        for tasks in BOTH
    )


MEDIAN = ({"loss": "absolute_error"},)
BASELINES = (
    Algorithm("majority class", CLASSIFICATION, Scikit("constant", True), ({},), peer=True, baseline=True),
    Algorithm("median", (REGRESSION,), Scikit("constant", False), MEDIAN, peer=True, baseline=True),
)
LEAF = "min_samples_leaf"
GRADIENT = _grid("n_estimators learning_rate", (100, 0.1), (300, 0.05), (1000, 0.03))
HISTOGRAMS = _grid("n_estimators learning_rate", (200, 0.1), (400, 0.05))
PEERS = {
    "linear": _scikit("linear model", "linear", _grid("C", (1.0,), (0.01,)), 0, readable=3),
    "forest": _scikit("random forest", "random_forest", _grid(LEAF, (1,), (5,)), 0),
    "extra_trees": _scikit("extra trees", "extra_trees", _grid(LEAF, (1,), (3,)), 1),
    "hgb": _scikit("HistGradientBoosting", "hgb", HISTOGRAMS, 0, rounds="n_estimators"),
    "lightgbm": _scikit("LightGBM", "lightgbm", GRADIENT, 0),
    "xgboost": _scikit("XGBoost", "xgboost", GRADIENT, 0),
    "catboost": _scikit("CatBoost", "catboost", ({"n_estimators": 1000}, *GRADIENT[1:]), 0),
}


def ours() -> list[Algorithm]:
    """The algorithms of this package: those of OURS, then registered ones without a line there, with their defaults."""
    listed = {algorithm.make.estimator for algorithm in OURS if isinstance(algorithm.make, Ours)}
    others = [entry for entry in ALGORITHMS.values() if entry.name not in listed]
    tasks = {True: CLASSIFICATION, False: (REGRESSION,)}
    return [*OURS, *(Algorithm(one.title, tasks[one.is_classifier], Ours(one.name), ({},)) for one in others)]


def every_algorithm() -> list[Algorithm]:
    """Baselines, ours and those of all peers."""
    return [*BASELINES, *ours(), *(algorithm for both in PEERS.values() for algorithm in both)]


# ---------------------------------------------------------------- selection


def applicable(
    task: str, wanted: Any = None, peers: list[str] | None = None, size: Size | None = None, quick: bool = False
) -> list[Algorithm]:
    """The algorithms to compare, with grids for this size: the baseline, peers, those of the user, then ours.

    wanted: names of algorithms, estimators and algorithms of the user; "all" for all of ours; None: without those that
    are left out by default. peers: short names of other libraries; None: those of scikit-learn, unless algorithms are
    named. quick: one setting each, without the last waves.
    """
    size = size or Size()
    if isinstance(wanted, str) and wanted != EVERY:
        wanted = [wanted]
    items = [] if wanted is None or wanted == EVERY else [item for item in wanted if item != EVERY]
    is_all = wanted is not None and EVERY in ([wanted] if isinstance(wanted, str) else wanted)
    listed = {a.name.casefold(): a for a in ours() if task in a.tasks}
    others = {a.name.casefold(): a for both in PEERS.values() for a in both if task in a.tasks}
    own = [_of_user(item) for item in items if not isinstance(item, str)]
    names = {item.casefold(): item for item in items if isinstance(item, str)}
    for key, name in names.items():
        if key not in listed and key not in others:
            known = [a.name for a in (*listed.values(), *others.values())]
            raise ValueError(f"no algorithm for {task} is called {name!r}; choose from {known}")
    if wanted is None:
        chosen = [a for a in listed.values() if a.by_default and not (quick and a.wave > 2)]
    else:
        chosen = [a for key, a in listed.items() if key in names or is_all]
    if peers is None:
        peers = list(DEFAULT_PEERS) if wanted is None or (is_all and not items) else []
    for name in peers:
        if name not in PEERS:
            raise ValueError(f"no peer is called {name!r}; choose from {', '.join(PEERS)}")
        if name in CLASSES:
            import_library(name)
    more = [a for name in peers for a in PEERS[name] if task in a.tasks]
    more += [a for key, a in others.items() if key in names and a not in more]
    if not [*own, *chosen, *more]:
        raise ValueError(f"no algorithm to compare for {task}: name one, or add a peer, for example 'hgb'")
    applied = [a for a in BASELINES if task in a.tasks] + [a.of_size(size) for a in (*more, *own, *chosen)]
    twice = [a.name for k, a in enumerate(applied) if a.name in {b.name for b in applied[:k]}]
    if twice:
        raise ValueError(f"two algorithms have the name {twice[0]!r}: rename one of them")
    return [_shortened(a) for a in applied] if quick else applied


def _of_user(item: Any) -> Algorithm:
    """An estimator of the user as an algorithm; or (name, estimator)."""
    if isinstance(item, Algorithm):
        return item
    name, estimator = item if isinstance(item, tuple) and len(item) == 2 else ("", item)
    if isinstance(estimator, type) or not (hasattr(estimator, "fit") and hasattr(estimator, "predict")):
        raise ValueError(
            f"{item!r} is no algorithm: pass a name, an estimator like AdaBoostClassifier(), or (name, estimator)"
        )
    tasks = CLASSIFICATION if is_classifier(estimator) else (REGRESSION,)
    last = estimator.steps[-1][1] if hasattr(estimator, "steps") else estimator
    name = name or type(last).__name__ + (" pipeline" if last is not estimator else "")
    if is_storable(estimator):
        make = partial(_stored, estimator, tasks == CLASSIFICATION)
        return Algorithm(name, tasks, make, ({},), peer=True, wave=0)
    return Algorithm(name, tasks, partial(_clone, estimator), ({},), peer=True, wave=0, takes_table=True)


def _stored(estimator: Any, is_classifier: bool, facts: Facts) -> Any:
    """A model of scikit-learn that our files can hold."""
    return Scikit(clone(estimator), is_classifier)(facts)


def _clone(estimator: Any, facts: Facts) -> Any:
    return clone(estimator)


def balanced(algorithm: Algorithm) -> Algorithm:
    """Every setting twice: with the weights of the rows as they are, and with the same weight for every class."""
    if algorithm.baseline or (not algorithm.peer and "class_weight" not in algorithm.make(Facts([], 0)).get_params()):
        return algorithm
    return replace(algorithm, grid=tuple(one | more for one in algorithm.grid for more in ({}, BALANCED)))


def _shortened(algorithm: Algorithm) -> Algorithm:
    """The first setting alone, with at most QUICK_ROUNDS rounds."""
    first = algorithm.grid[0]
    rounds = {"n_estimators": min(first["n_estimators"], QUICK_ROUNDS)} if "n_estimators" in first else {}
    return replace(algorithm, grid=({**first, **rounds},))


def task_of(n_classes: int) -> str:
    return {0: REGRESSION, 2: BINARY}.get(n_classes, MULTICLASS)
