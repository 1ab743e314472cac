"""The stack of a comparison: the leading algorithms of this package as one model.

Its weights are computed from the predictions for the rows that the folds test. To rank it, these rows are dealt into
parts: the weights for a part are those of the other parts, so that no row has a say in the weights it is tested with.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from electorate.comparison import folds as splits
from electorate.comparison.algorithms import CLASSIFICATION, REGRESSION, Algorithm, Facts, Ours
from electorate.comparison.cells import Tested
from electorate.comparison.ranking import FoldRows, Line, measure
from electorate.comparison.rows import Floats, Places
from electorate.model.calibration import fit_temperature
from electorate.stacking.pooling import pool, pooled_decision
from electorate.stacking.stacked_classifier import StackedClassifier
from electorate.stacking.stacked_regressor import StackedRegressor
from electorate.stacking.weights import weigh_predictions, weigh_probabilities

NAME = "stacked"
MOST_MODELS = 3  # the algorithms with the least inner loss
PARTS = 5  # that the tested rows are dealt into
LAM = 1e-3  # the penalty of the weights, that of `StackedClassifier`


def _make_classifier(facts: Facts) -> StackedClassifier:
    return StackedClassifier()


def _make_regressor(facts: Facts) -> StackedRegressor:
    return StackedRegressor()


STACKS = {
    True: Algorithm(NAME, CLASSIFICATION, _make_classifier, ({},)),
    False: Algorithm(NAME, (REGRESSION,), _make_regressor, ({},)),
}


def leaders(lines: list[Line], nested: list[dict[int, Tested]]) -> list[int]:
    """Positions of the algorithms of this package with the least losses inside the training rows."""
    ours = [place for place, line in enumerate(lines) if isinstance(line.algorithm.make, Ours)]
    inner = {place: float(np.mean([np.min(one.inner) for one in nested[place].values()])) for place in ours}
    return sorted(ours, key=lambda place: (inner[place], place))[:MOST_MODELS]


def stack_of(lines: list[Line], nested: list[dict[int, Tested]], there: FoldRows) -> tuple[Line, Floats] | None:
    """The line of a stack and its losses on the tested rows; None if fewer than two models have a weight.

    lines: of the leaders. nested: their cells, by fold.
    """
    if len(lines) < 2:
        return None
    tested = list(nested[0])
    outputs = _Outputs.of(nested, there)
    part = _parts(there, tested)
    by_time = there.rows.time is not None
    decision = np.empty_like(outputs.decision(np.full(len(lines), 1 / len(lines))))
    for number in range(PARTS):
        mine, others = np.flatnonzero(part == number), np.flatnonzero(part < number if by_time else part != number)
        decision[mine] = outputs.calibrated(mine, others)
    weights = outputs.weigh(np.arange(len(part)))
    if np.count_nonzero(weights) < 2:
        return None
    ends = np.cumsum([len(there.places[fold]) for fold in tested])[:-1]
    scores = dict(zip(tested, np.split(decision if decision.ndim > 1 else decision[:, None], ends), strict=True))
    kept = [(line, float(weight)) for line, weight in zip(lines, weights, strict=True) if weight > 0]
    cells = {
        fold: Tested(
            np.empty(0),
            scores[fold],
            1.0,  # the decisions are calibrated
            sum(cells[fold].size for cells in nested),
            sum(cells[fold].fit_seconds for cells in nested),
            sum(cells[fold].predict_seconds for cells in nested),
        )
        for fold in tested
    }
    metric, weight = there.protocol.metric, there.take(there.rows.weight, tested)
    line = measure(STACKS[there.protocol.n_classes > 0], cells, there, weight)
    return replace(
        line,
        setting={"weights": [weight for _, weight in kept]},
        settings_run=sum(one.settings_run for one in lines),
        temperature=outputs.temperature(weights, np.arange(len(part))),
        stack=tuple(kept),
    ), there.losses(metric, cells)


@dataclass(frozen=True)
class _Outputs:
    """Of the models for the tested rows: [model, row, class] probabilities, or [model, row] numbers."""

    values: Floats
    target: NDArray[Any]
    weight: Floats | None
    n_classes: int

    @classmethod
    def of(cls, nested: list[dict[int, Tested]], there: FoldRows) -> "_Outputs":
        tested, n_classes = list(nested[0]), there.protocol.n_classes
        target, weight = there.take(there.rows.target, tested), there.take(there.rows.weight, tested)
        assert target is not None
        models = []
        for cells in nested:
            parts = [there.scored(fold, one.scores, one.temperature) for fold, one in cells.items()]
            each = [np.exp(one.log_probabilities) if n_classes else one.decision for one in parts]
            models.append(np.concatenate(each))
        return cls(np.array(models), target, weight, n_classes)

    def weigh(self, rows: Places) -> Floats:
        """The weights by these rows; equal ones without rows."""
        if not len(rows):
            return np.full(len(self.values), 1 / len(self.values))
        weight = None if self.weight is None else self.weight[rows]
        find: Any = weigh_probabilities if self.n_classes else weigh_predictions
        return np.asarray(find(self.values[:, rows], self.target[rows], weight, LAM))

    def decision(self, weights: Floats, rows: Any = slice(None)) -> Floats:
        """Of the stack with these weights."""
        pooled = pool(self.values[:, rows], weights)
        return pooled_decision(pooled) if self.n_classes else pooled

    def temperature(self, weights: Floats, rows: Places) -> float:
        if not self.n_classes or not len(rows):
            return 1.0
        weight = None if self.weight is None else self.weight[rows]
        return fit_temperature(self.decision(weights, rows), self.target[rows].astype(np.int64), weight)

    def calibrated(self, rows: Places, others: Places) -> Floats:
        """Decisions about some rows, with weights and temperature of other rows."""
        weights = self.weigh(others)
        return np.asarray(self.temperature(weights, others) * self.decision(weights, rows))


def _parts(there: FoldRows, tested: list[int]) -> Places:
    """The part of each tested row: whole groups, or stretches of time, or any rows."""
    rows = there.rows
    n_rows = sum(len(there.places[fold]) for fold in tested)
    group, time = (there.take(values, tested) for values in (rows.group, rows.time))
    rng = np.random.default_rng([there.protocol.seed, 9])
    if time is not None:
        return np.asarray(np.argsort(np.argsort(time, kind="stable"), kind="stable") * PARTS // n_rows)
    if group is not None:
        return splits.deal_whole(group, PARTS, rng)
    return splits.deal(np.zeros(n_rows, dtype=np.int64), PARTS, rng)
