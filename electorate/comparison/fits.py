"""Fits: one candidate, an algorithm with a setting, trained and tested on one split.

A fit is a pure function of the rows and the seed. It stores the scores of its test rows after several numbers of
rounds; everything that `compare` states is a function of these scores.
"""

import math
import time
import warnings
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import compute_sample_weight
from sklearn.utils.validation import has_fit_parameter
from threadpoolctl import threadpool_limits

from electorate.comparison import folds
from electorate.comparison.algorithms import Algorithm, Facts, Setting
from electorate.comparison.metrics import Metric
from electorate.comparison.rows import Rows
from electorate.data.row_subset import take_rows
from electorate.estimators.base import BoostedModel
from electorate.estimators.peers import PeerModel
from electorate.exact import Floats
from electorate.model.decisions import for_all_classes

SMALLEST = float(np.finfo(np.float64).eps)  # smaller probabilities are raised to this one before the logarithm
DEPTH, LEAST_DEPTH = "estimator__max_depth", 3
STAGES = (8, 4, 2, 1)  # rounds are divided by these; the best number of rounds is kept


@dataclass(frozen=True)
class Candidate:
    """algorithm, setting: positions in the list and in the grid."""

    algorithm: int
    setting: int


@dataclass(frozen=True, order=True)
class Fit:
    """candidate, split: their numbers in the plan."""

    candidate: int
    split: int


@dataclass(frozen=True)
class Tested:
    """The result of a fit. scores: [stage, test row, output] after each of the numbers of rounds in `stages_of`.

    Outputs are a column for each class, or one column for two classes (positive for the second) and for regression.
    """

    scores: Floats
    size: int
    fit_seconds: float
    predict_seconds: float


@dataclass(frozen=True)
class Failed:
    """A fit that has no scores, and why: its estimator raised an error, or its process was killed twice."""

    message: str


Result = Tested | Failed


@dataclass(frozen=True)
class Plan:
    """Everything a fit depends on, besides the rows."""

    algorithms: list[Algorithm]
    n_folds: int
    seed: int
    n_classes: int
    metric: Metric

    @cached_property
    def candidates(self) -> list[Candidate]:
        """Candidates in the order in which they are tried: wave by wave, the algorithms of a wave in their order."""
        listed = [
            (algorithm.wave_of(setting), number, setting)
            for number, algorithm in enumerate(self.algorithms)
            for setting in range(len(algorithm.grid))
        ]
        return [Candidate(number, setting) for _, number, setting in sorted(listed)]

    def wave(self, candidate: int) -> int:
        one = self.candidates[candidate]
        return self.algorithms[one.algorithm].wave_of(one.setting)

    def algorithm(self, candidate: int) -> Algorithm:
        return self.algorithms[self.candidates[candidate].algorithm]

    def setting(self, candidate: int) -> Setting:
        return self.algorithm(candidate).grid[self.candidates[candidate].setting]

    def stages(self, candidate: int) -> list[int]:
        return stages_of(self.algorithm(candidate), self.setting(candidate))

    def split(self, rows: Rows) -> folds.Splits:
        return folds.split(rows, self.n_folds, self.n_classes, self.seed)


def stages_of(algorithm: Algorithm, setting: Setting) -> list[int]:
    """The numbers of rounds to choose from; [0] where there is no choice."""
    rounds = setting.get(algorithm.rounds, 0)
    return sorted({max(1, rounds // part) for part in STAGES}) if algorithm.staged and rounds else [0]


def with_rounds(algorithm: Algorithm, setting: Setting, rounds: int) -> Setting:
    """The setting with this number of rounds; 0: as it is."""
    return {**setting, algorithm.rounds: rounds} if rounds else setting


class FitRunner:
    """Runs fits on the rows of a comparison. X: the table of the rows, for estimators of the user."""

    def __init__(self, plan: Plan, rows: Rows, X: Any = None) -> None:
        self.plan, self.rows, self.X = plan, rows, X
        self.splits = plan.split(rows)
        self._most = len(self.splits.levels[-1][0][0])  # training rows of the last level

    def run(self, fit: Fit) -> Result:
        """One thread, since fits run side by side. Warnings are hidden; the fit that is handed over repeats them."""
        try:
            with threadpool_limits(1), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return self._run(fit)
        except Exception as error:  # of the estimator: it is reported below the table
            return Failed(f"{type(error).__name__}: {error}"[:500])

    def _run(self, fit: Fit) -> Tested:
        plan, algorithm = self.plan, self.plan.algorithm(fit.candidate)
        learn, test = self.splits.places[fit.split][1]
        training, present, target = self.rows.take(learn), None, self.rows.target[learn]
        if plan.n_classes:
            present, target = np.unique(target, return_inverse=True)
        facts = Facts(training.categorical, plan.seed, training.widest)
        setting = self._smaller(plan.setting(fit.candidate), len(learn))
        X, tested = (
            (take_rows(self.X, learn), take_rows(self.X, test))
            if algorithm.takes_table
            else (training.matrix, self.rows.matrix[test])
        )
        started = time.perf_counter()
        is_constant = present is not None and len(present) == 1
        model = algorithm.build(setting, facts)
        if not is_constant:
            train(model, setting, X, target, training.weight)
        fitted = time.perf_counter()
        stages = plan.stages(fit.candidate)
        scores = staged_scores(model, tested, len(test), present, plan.n_classes, stages)
        passed = (time.perf_counter() - fitted) / len(scores)
        return Tested(scores, size_of(model), fitted - started, passed)

    def _smaller(self, setting: Setting, n_rows: int) -> Setting:
        """Return the setting for fewer rows than in the last level: less deep trees, with as many rows in a leaf."""
        depth_less = max(0, round(math.log2(self._most / n_rows)))
        if not depth_less or not isinstance(setting.get(DEPTH), int):
            return setting
        return {**setting, DEPTH: min(setting[DEPTH], max(LEAST_DEPTH, setting[DEPTH] - depth_less))}


def train(model: Any, setting: Setting, X: Any, y: Any, weight: Floats | None) -> Any:
    """Fit the estimator that was built for a setting. ValueError for weights of rows if it takes none."""
    if "class_weight" in setting and "class_weight" not in model.get_params(deep=False):
        weight = np.asarray(compute_sample_weight("balanced", y) * (1.0 if weight is None else weight))
    if weight is None:
        return model.fit(X, y)
    if not has_fit_parameter(model, "sample_weight"):
        raise ValueError(f"{type(model).__name__} does not take sample weights")
    return model.fit(X, y, sample_weight=weight)


def staged_scores(
    model: Any, X: Any, n_rows: int, present: NDArray[Any] | None, n_classes: int, stages: list[int]
) -> Floats:
    """[stage, row, output] of a model that was fitted to the codes of the classes `present`; None for regression."""
    if present is None:
        passes = model.staged_predict(X) if stages != [0] else [model.predict(X)]
        outputs = _at(passes, stages)
        return _finite(np.array([np.asarray(one, dtype=np.float64).ravel()[:, None] for one in outputs]), "prediction")
    if len(present) == 1:
        decisions: list[Any] = [np.zeros((n_rows, 1))] * len(stages)
    elif isinstance(model, BoostedModel | PeerModel) or not hasattr(model, "predict_proba"):
        passes = model.staged_decision_function(X) if stages != [0] else [model.decision_function(X)]
        decisions = _at(passes, stages)
    else:
        passes = model.staged_predict_proba(X) if stages != [0] else [model.predict_proba(X)]
        decisions = [np.log(np.clip(np.asarray(proba), SMALLEST, 1.0)) for proba in _at(passes, stages)]
    spread = [for_all_classes(_finite(np.asarray(one), "decision"), present, n_classes) for one in decisions]
    return np.array(spread)


def _at(passes: Any, stages: list[int]) -> list[Any]:
    """Return copies of the outputs after so many rounds; of the last where there were fewer."""
    if stages == [0]:
        return list(passes)
    wanted, kept, last = set(stages), {}, None
    for number, last in enumerate(passes, 1):
        if number in wanted:
            kept[number] = np.array(last)
    final = np.array(last)
    return [kept.get(stage, final) for stage in stages]


def _finite(values: Any, name: str) -> Any:
    """Raise for NaN and infinity: a mean loss of NaN cannot be ranked."""
    bad = np.argwhere(~np.isfinite(values))
    if len(bad):
        raise ValueError(f"a {name} for a test row is {np.asarray(values)[tuple(bad[0])]}")
    return values


def size_of(model: Any) -> int:
    """The number of voters or trees; 0 where it is not known."""
    if hasattr(model, "steps_"):
        return len(model.steps_)
    sizes = (getattr(model, name, None) for name in ("n_iter_", "tree_count_", "n_estimators"))
    return next((int(size) for size in sizes if isinstance(size, int | np.integer)), 0)
