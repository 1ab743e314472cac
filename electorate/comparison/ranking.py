"""Ranks the algorithms by their nested errors on the rows that all of them were tested on.

Everything is a function of the finished cells. Cells that were not run and cells that failed are listed as well.
"""

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from electorate.comparison.algorithms import Algorithm
from electorate.comparison.cells import Cell, Failed, Protocol, Result, Tested
from electorate.comparison.rows import Floats
from electorate.comparison.verdicts import RowLosses, judge

FoldWeights = dict[int, Floats]  # weights of the rows of each fold, in order


@dataclass(frozen=True)
class Line:
    """One algorithm of the table. setting: the best over all folds, by its position in the grid."""

    algorithm: Algorithm
    setting: int
    error: float
    standard_error: float
    log_loss: float  # NaN for regression
    size: float
    fit_seconds: float
    predict_seconds: float  # per 1,000 rows
    settings_run: int
    chance_of_best: float = 0.0
    verdict: str = "tie"  # "real" if it is worse than the first beyond chance


@dataclass(frozen=True)
class Ranking:
    lines: list[Line]
    folds: list[int]  # those that all lines have in common
    not_run: list[Cell]
    failed: dict[Cell, str]
    left_out: list[Algorithm]  # without a place in the table
    losses: Floats = field(default_factory=lambda: np.empty((0, 0)))  # [line, tested row]
    weight: Floats | None = None  # of those rows


def rank(protocol: Protocol, results: dict[Cell, Result], weights: FoldWeights | None = None) -> Ranking:
    tested = {cell: result for cell, result in results.items() if isinstance(result, Tested)}
    failed = {cell: result.message for cell, result in results.items() if isinstance(result, Failed)}
    not_run = [cell for cell in protocol.cells if cell not in results]
    numbers = range(len(protocol.algorithms))
    has = {a: {cell.fold for cell in tested if cell.algorithm == a} for a in numbers}
    ranked, common = _comparable({a: folds for a, folds in has.items() if folds})
    left_out = [protocol.algorithms[a] for a in numbers if a not in ranked]
    if not common:  # nothing was run
        return Ranking([], [], not_run, failed, left_out)
    nested = {a: nest(a, common, tested) for a in ranked}
    losses = np.array([np.concatenate([t.losses for t in nested[a]]) for a in ranked])
    weight = None if weights is None else np.concatenate([weights[fold] for fold in common])
    lines = []
    for a, lost in zip(ranked, losses, strict=True):
        log_losses = np.concatenate([t.log_losses for t in nested[a]])
        measured = (
            float(np.average(lost, weights=weight)),
            standard_error(lost, weight),
            float(np.average(log_losses, weights=weight)) if len(log_losses) else float("nan"),
            float(np.mean([t.size for t in nested[a]])),
            float(np.mean([t.fit_seconds for t in nested[a]])),
            1000 * sum(t.predict_seconds for t in nested[a]) / len(lost),
        )
        n_settings = len({cell.setting for cell in tested if cell.algorithm == a})
        setting = best_setting(a, common, tested, weight)
        lines.append(Line(protocol.algorithms[a], setting, *measured, n_settings))
    order = sorted(range(len(lines)), key=lambda i: (lines[i].error, np.nan_to_num(lines[i].log_loss, nan=np.inf), i))
    fold = np.repeat(common, [len(t.losses) for t in nested[ranked[0]]])
    found = judge(RowLosses(losses, fold, protocol.n_folds, weight), order[0], protocol.seed)
    judged = [
        replace(lines[i], chance_of_best=float(found.chance_of_best[i]), verdict="real" if found.real[i] else "tie")
        for i in order
    ]
    return Ranking(judged, common, not_run, failed, left_out, losses[order], weight)


def _comparable(has: dict[int, set[int]]) -> tuple[list[int], list[int]]:
    """The most algorithms with folds in common, and as many of those folds as possible."""
    shared = set.intersection(*has.values()) if has else set()
    candidates = [shared, *({fold} for folds in has.values() for fold in folds), *has.values()]
    choices = [([a for a in has if folds <= has[a]], sorted(folds)) for folds in candidates if folds]
    return max(choices, key=lambda choice: (len(choice[0]), len(choice[1])), default=([], []))


def nest(a: int, folds: list[int], tested: dict[Cell, Tested]) -> list[Tested]:
    """In each fold the setting of least inner loss; of equals, the first."""
    chosen = []
    for fold in folds:
        found = {cell.setting: t for cell, t in tested.items() if (cell.algorithm, cell.fold) == (a, fold)}
        chosen.append(min(found.items(), key=lambda pair: (pair[1].inner, pair[0]))[1])
    return chosen


def best_setting(a: int, folds: list[int], tested: dict[Cell, Tested], weight: Floats | None = None) -> int:
    """For a fit on all training rows: the least loss over all folds, of the settings run in each of them."""
    by_setting: dict[int, list[Tested]] = {}
    for setting in sorted({cell.setting for cell in tested if cell.algorithm == a}):
        cells = [Cell(a, setting, fold) for fold in folds]
        by_setting[setting] = [tested[cell] for cell in cells if cell in tested]
    most = max(map(len, by_setting.values()))
    if most < len(folds):  # no setting ran in every fold: the one that ran in most
        return next(setting for setting, found in by_setting.items() if len(found) == most)
    whole = {s: np.concatenate([t.losses for t in found]) for s, found in by_setting.items() if len(found) == most}
    return min(whole, key=lambda s: (float(np.average(whole[s], weights=weight)), s))


def standard_error(losses: Floats, weight: Floats | None = None) -> float:
    """Of the (weighted) mean over rows, for the models as they were trained."""
    if weight is None:
        return float(np.std(losses) / np.sqrt(len(losses)))
    off = weight * (losses - np.average(losses, weights=weight))
    return float(np.sqrt(np.sum(off**2)) / np.sum(weight))


def baseline(target: NDArray[np.number], n_classes: int, weight: Floats | None = None) -> float:
    """The error of always predicting the majority class, or the median; weighted where rows have weights."""
    if n_classes:
        counts = np.bincount(target.astype(np.int64), weight)
        return 1 - float(counts.max()) / float(len(target) if weight is None else weight.sum())
    if weight is None:
        median = float(np.median(target))
    else:
        order = np.argsort(target, kind="stable")
        below = np.cumsum(weight[order])
        median = float(target[order][np.searchsorted(below, below[-1] / 2)])
    return float(np.average(np.abs(target - median), weights=weight))
