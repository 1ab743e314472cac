"""Ranks the algorithms by their nested errors on the rows that all of them were tested on.

Everything is a function of the finished cells. Cells that were not run and cells that failed are listed as well.
"""

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from electorate.comparison import statistics
from electorate.comparison.algorithms import Algorithm
from electorate.comparison.cells import Cell, Protocol, Tested
from electorate.comparison.journal import Failed, Result
from electorate.comparison.verdicts import RowLosses, judge


@dataclass(frozen=True)
class Line:
    """One algorithm of the table. setting: the best over all folds, by its place in the grid."""

    algorithm: Algorithm
    setting: int
    error: float
    standard_error: float
    log_loss: float  # NaN for a quantity
    size: float
    fit_seconds: float
    predict_seconds: float  # per 1,000 rows
    settings_run: int
    chance_of_best: float = 0.0
    is_worse: bool = False  # than the first, beyond chance

    @property
    def verdict(self) -> str:
        return "real" if self.is_worse else "tie"


@dataclass(frozen=True)
class Ranking:
    lines: list[Line]
    folds: list[int]  # those all lines have in common
    n_rows: int  # tested in them
    not_run: list[Cell] = field(default_factory=list)
    failed: dict[Cell, str] = field(default_factory=dict)
    left_out: list[Algorithm] = field(default_factory=list)  # without a result
    losses: NDArray[np.float64] = field(default_factory=lambda: np.empty((0, 0)))  # [line, tested row]
    weight: NDArray[np.float64] | None = None  # of those rows


Weights = dict[int, NDArray[np.float64]]  # of the rows of each fold, in order


def rank(protocol: Protocol, cells: list[Cell], results: dict[Cell, Result], weights: Weights | None = None) -> Ranking:
    tested = {cell: result for cell, result in results.items() if isinstance(result, Tested)}
    failed = {cell: result.message for cell, result in results.items() if isinstance(result, Failed)}
    not_run = [cell for cell in cells if cell not in results]
    numbers = range(len(protocol.algorithms))
    has = {a: {cell.fold for cell in tested if cell.algorithm == a} for a in numbers}
    there, common = _comparable({a: folds for a, folds in has.items() if folds})
    left_out = [protocol.algorithms[a] for a in numbers if a not in there]
    if not common:  # nothing was run
        return Ranking([], [], 0, not_run, failed, list(protocol.algorithms))
    nested = {a: nest(a, common, tested) for a in there}
    losses = np.array([np.concatenate([t.losses for t in nested[a]]) for a in there])
    weight = None if weights is None else np.concatenate([weights[fold] for fold in common])
    shown = {a: best_setting(a, common, tested, weights) for a in there}
    runs = {a: len({cell.setting for cell in tested if cell.algorithm == a}) for a in there}
    lines = [_line(protocol.algorithms[a], shown[a], nested[a], runs[a], weight) for a in there]
    order = sorted(range(len(there)), key=lambda i: (lines[i].error, _last(lines[i].log_loss), i))
    fold = np.repeat(common, [len(t.losses) for t in nested[there[0]]])
    found = judge(RowLosses(losses, fold, protocol.n_folds, weight), order[0], protocol.seed)
    judged = [
        replace(lines[i], chance_of_best=float(found.chance_of_best[i]), is_worse=bool(found.real[i])) for i in order
    ]
    return Ranking(judged, common, losses.shape[1], not_run, failed, left_out, losses[order], weight)


def _comparable(has: dict[int, set[int]]) -> tuple[list[int], list[int]]:
    """The most algorithms with folds in common, and those folds: the most there are."""
    shared = set.intersection(*has.values()) if has else set()
    candidates = [shared, *({fold} for folds in has.values() for fold in folds), *has.values()]
    choices = [([a for a in has if folds <= has[a]], sorted(folds)) for folds in candidates if folds]
    return max(choices, key=lambda choice: (len(choice[0]), len(choice[1])), default=([], []))


def nest(a: int, folds: list[int], tested: dict[Cell, Tested]) -> list[Tested]:
    """In each fold the setting of least inner loss; of equals, the first."""
    chosen = []
    for fold in folds:
        there = [(cell.setting, t) for cell, t in tested.items() if (cell.algorithm, cell.fold) == (a, fold)]
        chosen.append(min(there, key=lambda pair: (pair[1].inner, pair[0]))[1])
    return chosen


def best_setting(a: int, folds: list[int], tested: dict[Cell, Tested], weights: Weights | None = None) -> int:
    """For a fit on all open rows: the least loss over all folds, of the settings run in each of them."""
    settings = {cell.setting for cell in tested if cell.algorithm == a}
    whole = [s for s in sorted(settings) if all(Cell(a, s, fold) in tested for fold in folds)]
    if not whole:  # no setting ran in every fold: the one that ran in most
        return max(sorted(settings), key=lambda s: sum(Cell(a, s, fold) in tested for fold in folds))
    weight = None if weights is None else np.concatenate([weights[fold] for fold in folds])

    def loss(setting: int) -> float:
        parts = [tested[Cell(a, setting, fold)].losses for fold in folds]
        return float(np.average(np.concatenate(parts), weights=weight))

    return min(whole, key=lambda s: (loss(s), s))


def _line(
    algorithm: Algorithm, setting: int, nested: list[Tested], settings_run: int, weight: NDArray[np.float64] | None
) -> Line:
    losses = np.concatenate([t.losses for t in nested])
    log_losses = np.concatenate([t.log_losses for t in nested])
    return Line(
        algorithm,
        setting,
        float(np.average(losses, weights=weight)),
        statistics.standard_error(losses, weight),
        float(np.average(log_losses, weights=weight)) if len(log_losses) else float("nan"),
        float(np.mean([t.size for t in nested])),
        float(np.mean([t.fit_seconds for t in nested])),
        1000 * sum(t.predict_seconds for t in nested) / len(losses),
        settings_run,
    )


def _last(log_loss: float) -> float:
    return np.inf if np.isnan(log_loss) else log_loss


def baseline(target: NDArray[np.number], n_classes: int, weight: NDArray[np.float64] | None = None) -> float:
    """The error of always predicting the majority class, or the median; weighted where rows have weights."""
    if not n_classes:
        return float(np.average(np.abs(target - _median(target, weight)), weights=weight))
    if weight is None:
        return 1 - float(np.bincount(target.astype(np.int64)).max()) / len(target)
    return 1 - float(np.bincount(target.astype(np.int64), weight).max() / weight.sum())


def _median(target: NDArray[np.number], weight: NDArray[np.float64] | None) -> float:
    if weight is None:
        return float(np.median(target))
    order = np.argsort(target, kind="stable")
    below = np.cumsum(weight[order])
    return float(target[order][np.searchsorted(below, below[-1] / 2)])
