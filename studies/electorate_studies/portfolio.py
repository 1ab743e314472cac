"""What the study of peers measured: the settings of our portfolio, those of scikit-learn, and one trial of a setting.

The defaults of `compare` have other settings since then; the stored results are of these.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from electorate.comparison import folds
from electorate.comparison.algorithms import (
    CLASSIFICATION,
    MANY_ROWS,
    OURS,
    REGRESSION,
    Algorithm,
    Facts,
    Setting,
    Size,
)
from electorate.comparison.fits import staged_scores, stages_of, train, with_rounds
from electorate.comparison.metrics import Metric, Scored
from electorate.comparison.rows import Parts, Rows
from electorate.exact import Floats
from electorate.model.decisions import ABSENT, fit_temperature

SINGLE_FROM, PARTS = 2_000, 4  # training rows from which one split of so many parts is enough
TREES = "estimator__max_depth n_estimators learning_rate estimator__min_samples_leaf estimator__max_features"
MOST_CATEGORIES, PATIENCE = 255, 20  # of HistGradientBoosting


# ---------------------------------------------------------------- settings


def _trees(*settings: tuple[Any, ...], **more: Any) -> tuple[Setting, ...]:
    return tuple(dict(zip(TREES.split(), setting, strict=False)) | more for setting in settings)


def _samme_r(size: Size) -> tuple[Setting, ...]:
    plain = ((min(6, max(3, size.deepest)), 200, 0.1, 10), (3, 200, 0.1, 1), (3, 200, 1.0, 1))
    return _trees((min(10, size.deepest), 200, 0.1, 10, "sqrt"), *dict.fromkeys(plain))


def _logistic(size: Size) -> tuple[Setting, ...]:
    if size.n_rows >= MANY_ROWS:
        deep, rounds = max(6, size.deepest - 2), size.rounds
        drawn = (deep, rounds, 0.2, 20, "sqrt")
        settings: tuple[tuple[Any, ...], ...] = (
            (deep, rounds, 0.2, 20), drawn, (6, rounds, 0.2, 20), (3, rounds, 0.2, 20)
        )  # fmt: skip
    else:
        middle = min(6, max(3, size.deepest))
        drawn = (min(10, max(3, size.deepest)), 200, 0.05, 10, "sqrt")
        plain = (middle, 200, 0.2, 20), (1, 400, 0.5, 5)
        settings = (drawn, *plain, (middle, 200, 0.1, 20, "sqrt"), (3, 200, 0.1, 5))
    return _trees(*settings, estimator__leaves="gentle")


def _squares(size: Size) -> tuple[Setting, ...]:
    return _trees((4, 300, 0.1, 1, 0.5), (5, 400, 0.1, 1, 0.5), (6, 300, 0.1, 5, None), (6, 400, 0.05, 5, 0.5))


def _absolute(size: Size) -> tuple[Setting, ...]:
    return _trees((6, 300, 0.1, 5, None), (6, 300, 0.1, 1, 0.5))


MEASURED: dict[str, Callable[[Size], tuple[Setting, ...]]] = {
    "SAMME.R, trees": _samme_r,
    "Logistic AdaBoost, trees": _logistic,
    "QuadBoost, trees": _squares,
    "QuadBoost, absolute error": _absolute,
}
ALSO_FOR_MANY_ROWS = {"Logistic AdaBoost, trees"}


def measured_algorithms(size: Size) -> dict[str, Algorithm]:
    """Our algorithms by name, with the settings that the study measured."""
    listed = {}
    for one in OURS:
        is_other = one.name in MEASURED and (size.n_rows < MANY_ROWS or one.name in ALSO_FOR_MANY_ROWS)
        listed[one.name] = replace(one, grid=MEASURED[one.name](size)) if is_other else one.of_size(size)
    return listed


# ---------------------------------------------------------------- models of scikit-learn, as they were measured


def _make_forest(is_classifier: bool, facts: Facts) -> Any:
    from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

    kind = RandomForestClassifier if is_classifier else RandomForestRegressor
    return kind(n_estimators=200, n_jobs=1, random_state=facts.seed)


def _make_histograms(is_classifier: bool, facts: Facts) -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    kind = HistGradientBoostingClassifier if is_classifier else HistGradientBoostingRegressor
    categories = list(facts.categorical) if facts.categorical and facts.widest <= MOST_CATEGORIES else None
    return kind(n_iter_no_change=PATIENCE, categorical_features=categories, random_state=facts.seed)


def forest(is_classifier: bool, budget: int) -> Algorithm:
    """A random forest of 200 trees."""
    leaves = [{"min_samples_leaf": leaf, "max_features": share} for leaf in (1, 2, 5, 10) for share in ("sqrt", 0.5)]
    tasks = CLASSIFICATION if is_classifier else (REGRESSION,)
    return Algorithm("random forest", tasks, partial(_make_forest, is_classifier), tuple(leaves[:budget]), peer=True)


def histograms(is_classifier: bool, grid: tuple[Setting, ...]) -> Algorithm:
    """HistGradientBoosting; grid: with "rounds" as for the other libraries."""
    tasks = CLASSIFICATION if is_classifier else (REGRESSION,)
    own = tuple({("max_iter" if name == "rounds" else name): value for name, value in one.items()} for one in grid)
    return Algorithm("HistGradientBoosting", tasks, partial(_make_histograms, is_classifier), own, peer=True)


# ---------------------------------------------------------------- splits and trials


def hold_out(rows: Rows, share: float, seed: int) -> Parts:
    """Rows to train on and rows to test: about `share` of every class."""
    held = folds.draw(rows.target, share, np.random.default_rng([seed, 0]))
    return np.flatnonzero(~held), np.flatnonzero(held)


def inner_splits(rows: Rows, seed: int) -> list[Parts]:
    """Splits of the training rows: 3-fold cross-validation for small data, else one part for validation."""
    n_parts, n_used = (3, 3) if rows.n_rows < SINGLE_FROM else (PARTS, 1)
    part = folds.deal(folds.strata(rows.target), n_parts, np.random.default_rng([seed, 2, 0]))
    return [(np.flatnonzero(part != k), np.flatnonzero(part == k)) for k in range(n_used)]


@dataclass(frozen=True)
class Trial:
    """An algorithm with one setting."""

    algorithm: Algorithm
    setting: Setting
    seed: int
    n_classes: int
    metric: Metric

    @property
    def title(self) -> str:
        return f"{self.algorithm.name}: {self.setting}"

    def with_stage(self, stage: int) -> "Trial":
        """With the number of rounds at a place in `stages_of`."""
        rounds = stages_of(self.algorithm, self.setting)[stage]
        return replace(self, setting=with_rounds(self.algorithm, self.setting, rounds))

    def scores(self, training: Rows, X: Any, stages: list[int] | None = None) -> Floats:
        """[stage, row, output] of a model that is trained on some rows."""
        target, present = training.target, None
        if self.n_classes:
            present, target = np.unique(target, return_inverse=True)
        model = self.algorithm.build(self.setting, Facts(training.categorical, self.seed, training.widest))
        if present is None or len(present) > 1:
            train(model, self.setting, training.matrix, target, training.weight)
        return staged_scores(model, X, X.shape[0], present, self.n_classes, stages or [0])

    def inner_scores(self, rows: Rows, splits: list[Parts]) -> list[list[Floats]]:
        """Scores of the validation rows, by number of rounds and split."""
        stages = stages_of(self.algorithm, self.setting)
        each = [self.scores(rows.take(learn), rows.matrix[validate], stages) for learn, validate in splits]
        return [[scores[stage] for scores in each] for stage in range(len(stages))]

    def losses(self, tested: list[Rows], scores: list[list[Floats]]) -> tuple[Floats, list[float]]:
        """scores: by stage and part. The mean loss over the parts, and the temperature of all of them, by stage."""
        target = np.concatenate([part.target for part in tested])
        losses, temperatures = [], []
        for stage in scores:
            temperature = self._temperature(np.concatenate(stage), target)
            each = [
                Scored(part.target, some, self.n_classes, temperature) for part, some in zip(tested, stage, strict=True)
            ]
            losses.append(float(np.mean([self.metric.value(one) for one in each])))
            temperatures.append(temperature)
        return np.array(losses), temperatures

    def _temperature(self, scores: Floats, target: Any) -> float:
        """By the rows whose class was among the training rows; 1 for regression."""
        if not self.n_classes:
            return 1.0
        known = np.ones(len(target), dtype=np.bool_)
        if self.n_classes > 2:
            known = scores[np.arange(len(target)), target] > ABSENT
        decision = Scored(target, scores, self.n_classes).decision
        return fit_temperature(decision[known], target[known])
