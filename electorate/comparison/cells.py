"""Cells: one algorithm with one setting in one fold, each a pure function of the rows and the seed.

A cell scores its setting by splits of the fold's training rows (inner loss), which also give the number of rounds and
the temperature of the probabilities. Then it trains on all of them and scores the fold's rows. Nested cross-validation
follows from the cells: in each fold the setting of least inner loss counts. A cell of a rung has no fold: it screens
its setting on few rows. `Coded` fits an estimator of any library to a table of any kind.
"""

import math
import time
import warnings
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import compute_sample_weight
from threadpoolctl import threadpool_limits

from electorate.comparison import folds
from electorate.comparison.algorithms import Algorithm, Facts, Setting
from electorate.comparison.metrics import Metric, Scored
from electorate.comparison.rows import Floats, Parts, Rows
from electorate.data.cleaning import Cleaning, cleaned
from electorate.data.coded_matrix import as_table, read_categories, read_matrix, widest_of
from electorate.model.calibration import fit_temperature, log_probabilities
from electorate.model.decisions import ABSENT, for_all_classes

SMALLEST = float(np.finfo(np.float64).eps)  # smaller probabilities are raised to this one before the logarithm
DEPTH, LEAST_DEPTH = "estimator__max_depth", 3
STAGES = (8, 4, 2, 1)  # rounds are divided by these; the best number of rounds is kept


@dataclass(frozen=True)
class Cell:
    """algorithm, setting: positions in the list and in the grid. rung: of the screening, which has no fold."""

    algorithm: int
    setting: int
    fold: int
    rung: int | None = None


@dataclass(frozen=True)
class Tested:
    """The result of a cell of a fold.

    inner: the loss inside the training rows, after each of the numbers of rounds in `stages_of`. scores: of the rows
    of its fold, in order: [row, class], one column for two classes and for regression. temperature: fitted inside.
    """

    inner: Floats
    scores: Floats
    temperature: float
    size: int
    fit_seconds: float
    predict_seconds: float


@dataclass(frozen=True)
class Screened:
    """The result of a cell of a rung: the loss after each of the numbers of rounds, and what it took."""

    inner: Floats
    fit_seconds: float


@dataclass(frozen=True)
class Failed:
    """A cell whose estimator raised an error."""

    message: str


Result = Tested | Screened | Failed


@dataclass(frozen=True)
class Protocol:
    """Everything a cell depends on, besides the rows.

    rungs: the number of rows to learn from in each rung of the screening; none for a small table.
    """

    algorithms: list[Algorithm]
    n_folds: int
    seed: int
    n_classes: int
    metric: Metric
    rungs: tuple[int, ...] = ()

    @cached_property
    def candidates(self) -> list[tuple[int, int]]:
        """Algorithms and settings: the first settings of all algorithms first."""
        longest = max(len(algorithm.grid) for algorithm in self.algorithms)
        numbered = list(enumerate(self.algorithms))
        return [(a, setting) for setting in range(longest) for a, one in numbered if setting < len(one.grid)]

    @cached_property
    def cells(self) -> list[Cell]:
        """Rungs first, then first settings, fold by fold: a run that is cut short stays comparable."""
        screening = [Cell(a, setting, -1, rung) for rung in range(len(self.rungs)) for a, setting in self.candidates]
        settings = sorted({setting for _, setting in self.candidates})
        return screening + [
            Cell(a, setting, fold)
            for setting in settings
            for fold in range(self.n_folds)
            for a, other in self.candidates
            if other == setting
        ]

    def split(self, rows: Rows) -> folds.Splits:
        return folds.split(rows, self.n_folds, self.seed, bool(self.rungs))


def run(cell: Cell, rows: Rows, protocol: Protocol) -> Result:
    """Run a cell with one thread, since cells run side by side. Warnings are hidden; the winner's fit repeats them."""
    try:
        with threadpool_limits(1), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            trial = Trial(protocol.algorithms[cell.algorithm], cell.setting, protocol)
            return trial.test(rows, cell.fold) if cell.rung is None else trial.screen(rows, cell.rung)
    except Exception as error:  # of the estimator: it is reported below the table
        return Failed(f"{type(error).__name__}: {error}"[:500])


# ---------------------------------------------------------------- one setting


def stages_of(algorithm: Algorithm, setting: Setting) -> list[int]:
    """The numbers of rounds to choose from; [0] where there is no choice."""
    rounds = setting.get("n_estimators", 0)
    return sorted({max(1, rounds // part) for part in STAGES}) if algorithm.staged and rounds else [0]


def with_rounds(algorithm: Algorithm, setting: Setting, stage: int) -> Setting:
    """The setting with the number of rounds at a place in `stages_of`."""
    rounds = stages_of(algorithm, setting)[stage]
    return {**setting, "n_estimators": rounds} if rounds else setting


@dataclass(frozen=True)
class Trial:
    """An algorithm with one setting of its grid. depth_less: by which its trees are less deep."""

    algorithm: Algorithm
    number: int
    protocol: Protocol
    depth_less: int = 0

    @property
    def setting(self) -> Setting:
        """From the grid; with fewer rows trees are less deep, so that their leaves have as many rows."""
        setting = self.algorithm.grid[self.number]
        if not self.depth_less or DEPTH not in setting:
            return setting
        return {**setting, DEPTH: min(setting[DEPTH], max(LEAST_DEPTH, setting[DEPTH] - self.depth_less))}

    def fit(self, rows: Rows, setting: Setting) -> "Coded":
        model = Coded(self.algorithm, setting, self.protocol.seed, rows.categorical, self.protocol.n_classes > 0)
        return model.fit(rows.matrix, rows.target, rows.weight)

    def screen(self, rows: Rows, rung: int) -> Screened:
        """Learn from as many rows as the rung has, and validate on the rows for screening."""
        parts = self.protocol.split(rows).screening
        assert parts is not None, "a table with rungs has rows for screening"
        learn, most = parts[0], self.protocol.rungs[rung]
        if len(learn) > most:
            drawn = folds.draw(
                rows.target[learn], most / len(learn), np.random.default_rng([self.protocol.seed, 6, rung])
            )
            learn = learn[drawn]
        started = time.perf_counter()
        smaller = replace(self, depth_less=max(0, round(math.log2(len(parts[0]) / len(learn)))))
        inner, _ = smaller.validate(rows, [(learn, parts[1])])
        return Screened(inner, time.perf_counter() - started)

    def test(self, rows: Rows, fold: int) -> Tested:
        learn, test = self.protocol.split(rows).folds[fold]
        training, testing = rows.take(learn), rows.take(test)
        if training.n_rows >= folds.ONE_FIT:
            return self._test_once(training, testing, fold)
        inner, temperatures = self.validate(training, folds.inner(training, fold, self.protocol.seed))
        best = int(np.argmin(inner))  # of equals, the fewest rounds
        started = time.perf_counter()
        model = self.fit(training, with_rounds(self.algorithm, self.setting, best))
        fitted = time.perf_counter()
        scores = model.scores(testing.matrix, self.protocol.n_classes)
        passed = time.perf_counter() - fitted
        return Tested(inner, scores, temperatures[best], _size_of(model.model_), fitted - started, passed)

    def _test_once(self, training: Rows, testing: Rows, fold: int) -> Tested:
        """One fit for everything, where there are many rows: a tenth of them are for rounds and temperature only."""
        stages, n_classes = stages_of(self.algorithm, self.setting), self.protocol.n_classes
        learn, validate = folds.inner(training, fold, self.protocol.seed, folds.ONE_FIT_PARTS)[0]
        part = training.take(validate)
        started = time.perf_counter()
        model = self.fit(training.take(learn), self.setting)
        fitted = time.perf_counter()
        staged = model.staged_scores(part.matrix, n_classes, stages)
        inner, temperatures = self.losses([part], [[scores] for scores in staged])
        best = int(np.argmin(inner))
        between = time.perf_counter()
        scores = model.scores(testing.matrix, n_classes)
        passed = time.perf_counter() - between
        if best < len(stages) - 1:
            scores = model.staged_scores(testing.matrix, n_classes, stages)[best]
        size = _size_of(model.model_) * stages[best] // max(1, stages[-1]) if stages[-1] else _size_of(model.model_)
        return Tested(inner, scores, temperatures[best], size, fitted - started, passed)

    def validate(self, rows: Rows, splits: list[Parts]) -> tuple[Floats, list[float]]:
        """For each number of rounds: the mean loss over the splits, and the temperature for all of them together."""
        return self.losses([rows.take(validate) for _, validate in splits], self.inner_scores(rows, splits))

    def inner_scores(self, rows: Rows, splits: list[Parts]) -> list[list[Floats]]:
        """Scores of the validation rows, by number of rounds and split."""
        stages = stages_of(self.algorithm, self.setting)
        found: list[list[Floats]] = [[] for _ in stages]
        for learn, validate in splits:
            model = self.fit(rows.take(learn), self.setting)
            scored = model.staged_scores(rows.matrix[validate], self.protocol.n_classes, stages)
            for scores, stage in zip(scored, found, strict=True):
                stage.append(scores)
        return found

    def losses(self, tested: list[Rows], found: list[list[Floats]]) -> tuple[Floats, list[float]]:
        """found: scores by stage and part. Returns the mean loss over the parts and the temperature of each stage."""
        target = np.concatenate([part.target for part in tested])
        weights = [part.weight for part in tested if part.weight is not None]
        weight = np.concatenate(weights) if weights else None
        losses, temperatures = [], []
        for stage in found:
            temperature = self._temperature(np.concatenate(stage), target, weight)
            each = [self._scored(part, scores, temperature) for part, scores in zip(tested, stage, strict=True)]
            losses.append(float(np.mean([self.protocol.metric.value(one) for one in each])))
            temperatures.append(temperature)
        return np.array(losses), temperatures

    def _scored(self, rows: Rows, scores: Floats, temperature: float) -> Scored:
        return Scored(rows.target, scores, self.protocol.n_classes, temperature, rows.weight)

    def _temperature(self, scores: Floats, target: NDArray[Any], weight: Floats | None) -> float:
        return temperature_of(Scored(target, scores, self.protocol.n_classes, weight=weight))


def temperature_of(scored: Scored) -> float:
    """By the rows whose class was among the training rows; 1 for regression."""
    if not scored.n_classes:
        return 1.0
    known = np.ones(len(scored.target), dtype=np.bool_)
    if scored.n_classes > 2:
        known = scored.scores[np.arange(len(scored.target)), scored.target.astype(np.int64)] > ABSENT
    weight = None if scored.weight is None else scored.weight[known]
    return fit_temperature(scored.decision[known], scored.target[known].astype(np.int64), weight)


# ---------------------------------------------------------------- estimators of any library


class Coded(BaseEstimator):
    """Fits the estimator of an algorithm to a table of any kind: `model_` gets float64 with NaN for missing values.

    Categories become codes from 0 on, and so do classes, without gaps, as other libraries need them. `model_` is None
    where the rows have one class only.
    """

    temperature_: float
    cleaning_: Cleaning | None = None  # of the table that predictions are for

    def __init__(
        self, algorithm: Algorithm, setting: Setting, seed: int, categorical_features: Any, is_classifier: bool
    ) -> None:
        self.algorithm, self.setting, self.seed = algorithm, setting, seed
        self.categorical_features, self.is_classifier = categorical_features, is_classifier

    def fit(self, X: Any, y: NDArray[Any], sample_weight: Floats | None = None) -> Self:
        table = as_table(X)
        self.categories_ = read_categories(table, self.categorical_features)
        facts = Facts(list(self.categories_), self.seed, widest_of(self.categories_))
        if self.is_classifier:
            self.classes_, y = np.unique(y, return_inverse=True)
        setting = dict(self.setting)
        if self.algorithm.peer and setting.pop("class_weight", None) is not None:  # not all of them have the parameter
            sample_weight = compute_sample_weight("balanced", y) * (1.0 if sample_weight is None else sample_weight)
        model = self.algorithm.build(setting, facts)
        weighted = {} if sample_weight is None else {"sample_weight": sample_weight}
        is_constant = self.is_classifier and len(self.classes_) == 1
        self.model_: Any = None if is_constant else model.fit(read_matrix(X, table, self.categories_), y, **weighted)
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = tags.input_tags.allow_nan = True
        return tags

    def __str__(self) -> str:
        return f"{self.algorithm.name} ({', '.join(f'{name}={value!r}' for name, value in self.setting.items())})"

    def _matrix(self, X: Any) -> Any:
        X = cleaned(self, X)
        return read_matrix(X, as_table(X), self.categories_)

    def predict(self, X: Any) -> NDArray[Any]:
        if self.model_ is None:
            return np.repeat(self.classes_, as_table(cleaned(self, X)).n_rows)
        found = np.asarray(self.model_.predict(self._matrix(X))).ravel()
        return np.asarray(self.classes_[found.astype(np.int64)]) if self.is_classifier else found

    def predict_proba(self, X: Any) -> Floats:
        """Calibrated, if `temperature_` is set."""
        if self.model_ is None:
            return np.ones((as_table(cleaned(self, X)).n_rows, 1))
        proba = np.asarray(self.model_.predict_proba(self._matrix(X)))
        if not hasattr(self, "temperature_"):
            return proba
        return np.exp(log_probabilities(np.log(np.clip(proba, SMALLEST, 1.0)), self.temperature_))

    def scores(self, X: Any, n_classes: int) -> Floats:
        """[row, class] with a column for each of n_classes, from which labels and probabilities follow.

        Decisions of our own models, logarithms of probabilities of others; for regression the predictions.
        """
        if not self.is_classifier:
            return np.asarray(_finite(self.predict(X), "prediction"), dtype=np.float64)[:, None]
        if self.model_ is None:
            return self._spread(np.zeros((as_table(X).n_rows, 1)), n_classes)
        if hasattr(self.model_, "steps_"):
            return self._spread(self.model_.decision_function(self._matrix(X)), n_classes)
        proba = _finite(self.predict_proba(X), "probability")
        return self._spread(np.log(np.clip(proba, SMALLEST, 1.0)), n_classes)

    def staged_scores(self, X: Any, n_classes: int, stages: list[int]) -> list[Floats]:
        """The scores after each of the numbers of rounds; of all rounds where fewer were trained."""
        if stages == [0] or self.model_ is None:
            return [self.scores(X, n_classes)] * len(stages)
        name = "staged_decision_function" if self.is_classifier else "staged_predict"
        wanted, found = set(stages), {}
        last: Floats = np.empty(0)
        for number, decision in enumerate(getattr(self.model_, name)(self._matrix(X)), 1):
            last = decision
            if number in wanted:
                found[number] = self._stage(decision, n_classes)
        final = self._stage(last, n_classes)
        return [found.get(stage, final) for stage in stages]

    def _stage(self, decision: Floats, n_classes: int) -> Floats:
        if self.is_classifier:
            return self._spread(decision, n_classes)
        return np.array(_finite(decision, "prediction"), dtype=np.float64)[:, None]

    def _spread(self, decision: Floats, n_classes: int) -> Floats:
        """Decisions about the classes of the training rows, as columns for all classes."""
        decision = _finite(np.asarray(decision, dtype=np.float64), "decision")
        return for_all_classes(decision, self.classes_, n_classes)


def _finite(values: Any, name: str) -> Any:
    """Raise for NaN and infinity: a mean loss of NaN cannot be ranked."""
    bad = np.argwhere(~np.isfinite(values))
    if len(bad):
        row = int(bad[0][0])
        raise ValueError(f"the {name} for test row {row} of the fold is {np.asarray(values)[tuple(bad[0])]}")
    return values


def _size_of(model: Any) -> int:
    """The number of voters or trees; 0 where it is not known."""
    if hasattr(model, "steps_"):
        return len(model.steps_)
    sizes = (getattr(model, name, None) for name in ("n_iter_", "tree_count_", "n_estimators"))
    return next((int(size) for size in sizes if isinstance(size, int | np.integer)), 0)
