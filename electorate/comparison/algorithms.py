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

from electorate.comparison.peers import LIBRARIES, Constant, Gradient, Linear, check_installed
from electorate.registry import ALGORITHMS

BINARY, MULTICLASS, REGRESSION = "binary", "multiclass", "regression"
CLASSIFICATION = (BINARY, MULTICLASS)
DEFAULT_PEERS = ("linear", "hgb")  # in every comparison that does not name its algorithms
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
    staged: the number of rounds is chosen from one fit, by predictions after some of its rounds.
    """

    name: str
    tasks: tuple[str, ...]
    make: Callable[[Facts], Any]
    grid: tuple[Setting, ...]
    peer: bool = False
    most_rows: int | None = None  # with more rows (times classes, if more than 2) it is too slow to be tried by default
    baseline: bool = False
    staged: bool = False
    quick: bool = True  # whether --quick tries it
    sized: Callable[[Size], tuple[Setting, ...]] | None = None

    def build(self, setting: Setting, facts: Facts) -> Any:
        return self.make(facts).set_params(**setting)

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
QUAD_L2 = _grid("n_estimators penalty lam", (200, "l2", 1.0))
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
    drawn = _grid(DRAWN, (min(10, size.deepest), 200, 0.1, 10, "sqrt"))
    settings = ((min(6, max(3, size.deepest)), 200, 0.1, 10), (3, 200, 0.1, 1), (3, 200, 1.0, 1))
    return drawn + _grid(LEAVES, *dict.fromkeys(settings))


def _logistic_trees(size: Size) -> tuple[Setting, ...]:
    """Deep trees of random columns, with small steps; twenty rows in a leaf; stumps where labels are noisy."""
    if size.n_rows >= MANY_ROWS:
        deep = max(6, size.deepest - 2)
        plain = ((deep, size.rounds, 0.2, 20), (6, size.rounds, 0.2, 20), (3, size.rounds, 0.2, 20))
        drawn = _grid(DRAWN, (deep, size.rounds, 0.2, 20, "sqrt"))
        settings = _grid(LEAVES, plain[0]) + drawn + _grid(LEAVES, *plain[1:])
    else:
        middle = min(6, max(3, size.deepest))
        plain = ((middle, 200, 0.2, 20), (1, 400, 0.5, 5), (3, 200, 0.1, 5))
        drawn = _grid(DRAWN, (min(10, max(3, size.deepest)), 200, 0.05, 10, "sqrt"), (middle, 200, 0.1, 20, "sqrt"))
        settings = drawn[:1] + _grid(LEAVES, *plain[:2]) + drawn[1:] + _grid(LEAVES, plain[2])
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
    return _grid(DRAWN, (4, 300, 0.1, 1, 0.5), (5, 400, 0.1, 1, 0.5), (6, 300, 0.1, 5, None), (6, 400, 0.05, 5, 0.5))


def _absolute_trees(size: Size) -> tuple[Setting, ...]:
    if size.n_rows >= MANY_ROWS:
        return _grid(DRAWN, (max(6, size.deepest - 4), 300, 0.1, 5, 0.5))
    return _grid(DRAWN, (6, 300, 0.1, 5, None), (6, 300, 0.1, 1, 0.5))


def _r2_trees(size: Size) -> tuple[Setting, ...]:
    return _grid(TREES, *((setting["estimator__max_depth"], 100, 1.0) for setting in _median_trees(size)))


# ---------------------------------------------------------------- the algorithms of this package


def _ours(
    name: str,
    estimator: str,
    family: str | None,
    grid: tuple[Setting, ...] | Callable[[Size], tuple[Setting, ...]],
    most_rows: int | None = None,
    fixed: Setting | None = None,
    quick: bool = True,
) -> Algorithm:
    tasks = (REGRESSION,) if estimator.endswith("Regressor") else CLASSIFICATION
    sized = grid if callable(grid) else None
    usual = grid(Size()) if callable(grid) else grid
    make = Ours(estimator, family, fixed or {})
    return Algorithm(name, tasks, make, usual, most_rows=most_rows, staged=sized is not None, quick=quick, sized=sized)


OURS = (
    _ours("AdaBoost, trees", "AdaBoostClassifier", "Trees", _adaboost_trees),
    _ours("SAMME.R, trees", "RealAdaBoostClassifier", "Trees", _samme_r_trees, fixed={"step": 1}),
    _ours("Logistic AdaBoost, trees", "LogisticAdaBoostClassifier", "Trees", _logistic_trees),
    _ours("Real AdaBoost, trees", "RealAdaBoostClassifier", "Trees", _real_trees),
    _ours("AdaBoost, stumps", "AdaBoostClassifier", "Stumps", _grid(STUMPS, (100, 1.0), (400, 1.0))),
    _ours("Real AdaBoost, stumps", "RealAdaBoostClassifier", None, _grid(STUMPS, (100, 1.0), (300, 0.3))),
    _ours("DeepBoost, trees", "DeepBoostClassifier", "Trees", _deepboost_trees),
    _ours("AdaBoost_R, trees", "AdaBoostRClassifier", "Trees", _grid(TREES, (3, 100, 0.3), (1, 100, 1.0))),
    _ours("QuadBoost, pool", "QuadBoostClassifier", None, QUAD_L1 + _grid(QUAD_LINF, (300, "linf", 0.1))),
    _ours("QuadBoost, stumps", "QuadBoostClassifier", "Stumps", _grid(QUAD_LINF, (100, "linf", 0.1)) + QUAD_L2),
    _ours("VadaBoost, stumps", "VadaBoostClassifier", None, _each("lam", 0.5, 0.1), quick=False),
    _ours("EBBoost, stumps", "EBBoostClassifier", None, _each("lam", 0.5, 0.1), quick=False),
    _ours("RQPBoost, stumps", "RQPBoostClassifier", None, _each("C", 0.1, 0.01, 1.0), 20_000, quick=False),
    _ours("RLPBoost, stumps", "RLPBoostClassifier", None, _each("nu", 0.2, 0.1, 0.5), 10_000, quick=False),
    _ours("LPBoost, stumps", "LPBoostClassifier", None, _each("nu", 0.2, 0.1, 0.5), 5_000, quick=False),
    _ours("QuadBoost, trees", "QuadBoostRegressor", "RegressionTrees", _squares_trees),
    _ours("QuadBoost, absolute error", "QuadBoostRegressor", "RegressionTrees", _absolute_trees, fixed=ABSOLUTE),
    _ours("MedBoost, trees", "MedBoostRegressor", "RegressionTrees", _median_trees),
    _ours("AdaBoost.R2, trees", "AdaBoostRegressor", "RegressionTrees", _r2_trees),
    _ours("QuadBoost, regression", "QuadBoostRegressor", None, _grid("n_estimators", (100,), (300,))),
    _ours("LocMedBoost, trees", "LocMedBoostRegressor", "RegressionTrees", _median_trees),
)


# ---------------------------------------------------------------- baselines and other libraries


def _make_constant(is_classifier: bool, facts: Facts) -> Constant:
    return Constant(is_classifier)


def _make_linear(is_classifier: bool, facts: Facts) -> Linear:
    return Linear(is_classifier, categorical=tuple(facts.categorical))


def _make_gradient(library: str, is_classifier: bool, facts: Facts) -> Gradient:
    return Gradient(library, is_classifier, categorical=tuple(facts.categorical), widest=facts.widest, seed=facts.seed)


def _both(name: str, make: Callable[[bool, Facts], Any], grid: tuple[Setting, ...]) -> tuple[Algorithm, ...]:
    """The classifier and the regressor."""
    return tuple(
        Algorithm(name, tasks, partial(make, tasks == CLASSIFICATION), grid, peer=True)
        for tasks in (CLASSIFICATION, (REGRESSION,))
    )


def _gradient_grid(size: Size) -> tuple[Setting, ...]:
    usual = _grid("rounds learning_rate early_stopping", (100, 0.1, False), (300, 0.05, False))
    stopped = _grid("rounds learning_rate early_stopping", (2 * size.rounds, 0.1, True))
    return stopped + usual if size.n_rows >= MANY_ROWS else usual + stopped


TITLES = {
    "hgb": "HistGradientBoosting",
    "lightgbm": "LightGBM",
    "xgboost": "XGBoost",
    "catboost": "CatBoost",
    "ebm": "EBM",
}
BASELINES = (
    Algorithm("majority class", CLASSIFICATION, partial(_make_constant, True), ({},), peer=True, baseline=True),
    Algorithm(
        "constant", (REGRESSION,), partial(_make_constant, False), _grid("strategy", ("median",), ("mean",)), True,
        baseline=True,
    ),
)  # fmt: skip
PEERS = {"linear": _both("linear model", _make_linear, _grid("strength", (1.0,), (0.01,)))} | {
    name: tuple(
        replace(one, grid=({},) if name == "ebm" else one.grid, sized=None if name == "ebm" else _gradient_grid)
        for one in _both(TITLES[name], partial(_make_gradient, name), _gradient_grid(Size()))
    )
    for name in LIBRARIES
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
    task: str,
    wanted: list[Any] | None = None,
    peers: list[str] | None = None,
    size: Size | None = None,
    quick: bool = False,
) -> list[Algorithm]:
    """The algorithms to compare, with grids for this size: the baseline, peers, those of the user, then ours.

    wanted: names of ours and algorithms of the user; None: all of ours that are fast enough (rows count once for each
    class, if there are more than two). peers: short names of other libraries; None: a linear model and
    HistGradientBoosting, unless algorithms are named. quick: one setting each, without the slow algorithms.
    """
    size = size or Size()
    own = [item for item in wanted or [] if isinstance(item, Algorithm)]
    listed = {a.name.casefold(): a for a in ours() if task in a.tasks}
    if wanted is None:
        work = size.n_rows * (size.n_classes if size.n_classes > 2 else 1)
        chosen = [a for a in listed.values() if a.most_rows is None or work <= a.most_rows]
        chosen = [a for a in chosen if a.quick or not quick]
    else:
        odd = [item for item in wanted if not isinstance(item, str | Algorithm)]
        if odd:
            raise TypeError(f"algorithms: {type(odd[0]).__name__} is neither a name nor an Algorithm")
        names = {item.casefold(): item for item in wanted if not isinstance(item, Algorithm)}
        unknown = [name for key, name in names.items() if key not in listed]
        if unknown:
            known = [a.name for a in listed.values()]
            raise ValueError(f"no algorithm for {task} is called {unknown[0]!r}; choose from {known}")
        chosen = [a for key, a in listed.items() if key in names]
    if peers is None:
        peers = list(DEFAULT_PEERS) if wanted is None else []
    others = [a for name in peers for a in _installed(name) if task in a.tasks]
    if not [*own, *chosen, *others]:
        raise ValueError(f"no algorithm to compare for {task}: name one, or add a peer, for example 'hgb'")
    found = [a for a in BASELINES if task in a.tasks] + [a.of_size(size) for a in (*others, *own, *chosen)]
    if len({a.name for a in found}) < len(found):
        raise ValueError("two algorithms have the same name: rename one of them")
    return [_shortened(a) for a in found] if quick else found


def balanced(algorithm: Algorithm) -> Algorithm:
    """Every setting twice: with the weights of the rows as they are, and with the same weight for every class."""
    if algorithm.baseline or (not algorithm.peer and "class_weight" not in algorithm.make(Facts([], 0)).get_params()):
        return algorithm
    return replace(algorithm, grid=tuple(one | more for one in algorithm.grid for more in ({}, BALANCED)))


def _shortened(algorithm: Algorithm) -> Algorithm:
    """The first setting alone, with at most QUICK_ROUNDS rounds."""
    first = algorithm.grid[0]
    rounds: Setting = {name: min(first[name], QUICK_ROUNDS) for name in ("n_estimators", "rounds") if name in first}
    return replace(algorithm, grid=({**first, **rounds},))


def _installed(name: str) -> tuple[Algorithm, ...]:
    check_installed(name)
    return PEERS[name]


def task_of(n_classes: int) -> str:
    return {0: REGRESSION, 2: BINARY}.get(n_classes, MULTICLASS)
