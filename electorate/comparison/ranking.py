"""Ranks the algorithms by their nested losses on the rows that all of them were tested on.

Everything is a function of the finished cells. Cells that were not run and cells that failed are listed as well.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from electorate.comparison.algorithms import Algorithm, Setting
from electorate.comparison.cells import Cell, Failed, Protocol, Result, Tested, temperature_of, with_rounds
from electorate.comparison.metrics import METRICS, Metric, Scored, calibration_error
from electorate.comparison.race import Race
from electorate.comparison.rows import Floats, Rows
from electorate.comparison.threshold import Threshold, tune
from electorate.comparison.verdicts import RowLosses, is_better, judge


@dataclass(frozen=True)
class Line:
    """One algorithm of the table.

    setting: the best over all folds. values: of every metric, as it is shown. loss: what algorithms are ranked by.
    temperature: for probabilities of a model with this setting, fitted to the tested rows of all folds. threshold:
    where the metric gives a rare class more weight. stack: the lines that a stack is made of, with their weights.
    """

    algorithm: Algorithm
    setting: Setting
    values: dict[str, float]
    loss: float
    standard_error: float
    calibration_error: float  # NaN for regression
    size: float
    fit_seconds: float
    predict_seconds: float  # per 1,000 rows
    settings_run: int
    temperature: float = 1.0
    threshold: Threshold | None = None
    chance_of_best: float = 0.0
    verdict: str = "tie"  # "real" if it is worse than the first beyond chance
    stack: tuple[tuple["Line", float], ...] = ()

    @property
    def error(self) -> float:
        return self.values["error"] if "error" in self.values else self.values["mae"]


@dataclass(frozen=True)
class Ranking:
    lines: list[Line]
    folds: list[int]  # those that all lines have in common
    not_run: list[Cell]
    failed: dict[Cell, str]
    left_out: list[Algorithm]  # in the cross-validation, but without a place in the table
    losses: Floats = field(default_factory=lambda: np.empty((0, 0)))  # [line, tested row or group]
    weight: Floats | None = None  # of those rows
    beats_baseline: bool = False  # whether the first is better than the baseline beyond chance, if there is one


Stacking = Callable[[list[Line], list[dict[int, Tested]], "FoldRows"], tuple[Line, Floats] | None]


class FoldRows:
    """The rows of the folds: their targets, weights and groups, in the order of the scores of a cell."""

    def __init__(self, protocol: Protocol, rows: Rows) -> None:
        self.protocol, self.rows = protocol, rows
        self.places = [test for _, test in protocol.split(rows).folds]

    def scored(self, fold: int, scores: Floats, temperature: float) -> Scored:
        """The scores of one fold."""
        target, weight = self.rows.target[self.places[fold]], self.rows.weight
        some = None if weight is None else weight[self.places[fold]]
        return Scored(target, scores, self.protocol.n_classes, temperature, some)

    def losses(self, metric: Metric, tested: dict[int, Tested]) -> Floats:
        """Of all rows of these folds."""
        parts = [metric.losses(self.scored(fold, one.scores, one.temperature)) for fold, one in tested.items()]
        return np.concatenate(parts)

    def take(self, values: NDArray[Any] | None, folds: list[int]) -> NDArray[Any] | None:
        return None if values is None else np.concatenate([values[self.places[fold]] for fold in folds])


def rank(race: Race, results: dict[Cell, Result], rows: Rows, stacking: Stacking | None = None) -> Ranking:
    """stacking: makes one more line of all lines and their cells."""
    protocol = race.protocol
    wanted = race.cells_of(race.n_stages - 1, results)
    finished = {cell: results[cell] for cell in wanted if cell in results}
    tested = {cell: result for cell, result in finished.items() if isinstance(result, Tested)}
    failed = {cell: result.message for cell, result in results.items() if isinstance(result, Failed)}
    not_run = [cell for cell in wanted if cell not in results]
    numbers = list(dict.fromkeys(cell.algorithm for cell in wanted))
    has = {a: {cell.fold for cell in tested if cell.algorithm == a} for a in numbers}
    ranked, common = _comparable({a: folds for a, folds in has.items() if folds})
    left_out = [protocol.algorithms[a] for a in numbers if a not in ranked]
    if not common:  # nothing was run
        return Ranking([], [], not_run, failed, left_out)
    there = FoldRows(protocol, rows)
    weight = there.take(rows.weight, common)
    lines, losses, cells = [], [], [nest(a, common, tested) for a in ranked]
    for a, nested in zip(ranked, cells, strict=True):
        losses.append(there.losses(protocol.metric, nested))
        n_settings = len({cell.setting for cell in tested if cell.algorithm == a})
        line = replace(measure(protocol.algorithms[a], nested, there, weight), settings_run=n_settings)
        lines.append(_settled(line, a, common, tested, there))
    if stacking is not None and (found := stacking(lines, cells, there)) is not None:
        lines.append(found[0])
        losses.append(found[1])
    return _judge(lines, np.array(losses), there, Ranking([], common, not_run, failed, left_out))


def measure(algorithm: Algorithm, nested: dict[int, Tested], there: FoldRows, weight: Floats | None) -> Line:
    """What the chosen cells of one algorithm show."""
    protocol, folds = there.protocol, list(nested)
    fitting = [metric for metric in METRICS.values() if metric.for_classes == (protocol.n_classes > 0)]
    by_metric = {metric.name: there.losses(metric, nested) for metric in fitting}
    means = {name: float(np.average(losses, weights=weight)) for name, losses in by_metric.items()}
    calibration = [
        calibration_error(there.scored(fold, nested[fold].scores, nested[fold].temperature)) for fold in folds
    ]
    lost = by_metric[protocol.metric.name]
    group = there.take(there.rows.group, folds)
    return Line(
        algorithm=algorithm,
        setting={},
        values={metric.name: metric.shown(means[metric.name]) for metric in fitting},
        loss=means[protocol.metric.name],
        standard_error=standard_error(*by_group(lost[None, :], weight, group)[:2]),
        calibration_error=float(np.mean(calibration)) if protocol.n_classes else float("nan"),
        size=float(np.mean([one.size for one in nested.values()])),
        fit_seconds=float(np.mean([one.fit_seconds for one in nested.values()])),
        predict_seconds=1000 * sum(one.predict_seconds for one in nested.values()) / len(lost),
        settings_run=0,
    )


def _settled(line: Line, a: int, folds: list[int], tested: dict[Cell, Tested], there: FoldRows) -> Line:
    """The line with the setting, the rounds, the temperature and the threshold for a fit on all training rows."""
    number = best_setting(a, folds, tested, there)
    cells = {fold: tested[Cell(a, number, fold)] for fold in folds if Cell(a, number, fold) in tested}
    stage = int(np.argmin(np.mean([one.inner for one in cells.values()], axis=0)))
    setting = with_rounds(line.algorithm, line.algorithm.grid[number], stage)
    scores = np.concatenate([one.scores for one in cells.values()])
    target = there.take(there.rows.target, list(cells))
    assert target is not None
    scored = Scored(target, scores, there.protocol.n_classes, weight=there.take(there.rows.weight, list(cells)))
    temperature = temperature_of(scored)
    threshold = None
    if there.protocol.metric.balances and there.protocol.n_classes == 2 and len(cells) > 1:
        threshold = tune(
            [there.scored(fold, one.scores, temperature) for fold, one in cells.items()], there.protocol.metric
        )
    return replace(line, setting=setting, temperature=temperature, threshold=threshold)


def _judge(lines: list[Line], losses: Floats, there: FoldRows, ranking: Ranking) -> Ranking:
    """The lines in order, with their verdicts."""
    protocol, rows = there.protocol, there.rows
    order = sorted(range(len(lines)), key=lambda i: (lines[i].loss, lines[i].values.get("log_loss", 0.0), i))
    fold = np.repeat(ranking.folds, [len(there.places[one]) for one in ranking.folds])
    weight, group = there.take(rows.weight, ranking.folds), there.take(rows.group, ranking.folds)
    losses, weight, fold = by_group(losses, weight, group, fold)
    together = RowLosses(losses, fold, protocol.n_folds, weight)
    found = judge(together, order[0], protocol.seed)
    beaten = [is_better(together, order[0], i) for i, line in enumerate(lines) if line.algorithm.baseline]
    judged = [
        replace(lines[i], chance_of_best=float(found.chance_of_best[i]), verdict="real" if found.real[i] else "tie")
        for i in order
    ]
    return replace(ranking, lines=judged, losses=losses[order], weight=weight, beats_baseline=all(beaten))


def by_group(
    losses: Floats, weight: Floats | None, group: NDArray[np.int64] | None, fold: NDArray[np.int64] | None = None
) -> tuple[Floats, Floats | None, Any]:
    """Mean losses of groups, weighted by their sizes, since rows of a group are not independent."""
    if group is None:
        return losses, weight, fold
    _, first, codes = np.unique(group, return_index=True, return_inverse=True)
    each = np.ones(len(group)) if weight is None else weight
    totals = np.asarray(np.bincount(codes, each), dtype=np.float64)
    means = np.array([np.bincount(codes, each * one) / totals for one in losses])
    return means, totals, None if fold is None else fold[first]


def _comparable(has: dict[int, set[int]]) -> tuple[list[int], list[int]]:
    """The most algorithms with folds in common, and as many of those folds as possible."""
    shared = set.intersection(*has.values()) if has else set()
    candidates = [shared, *({fold} for folds in has.values() for fold in folds), *has.values()]
    choices = [([a for a in has if folds <= has[a]], sorted(folds)) for folds in candidates if folds]
    return max(choices, key=lambda choice: (len(choice[0]), len(choice[1])), default=([], []))


def nest(a: int, folds: list[int], tested: dict[Cell, Tested]) -> dict[int, Tested]:
    """In each fold the setting of least inner loss; of equals, the first."""
    chosen = {}
    for fold in folds:
        found = {cell.setting: t for cell, t in tested.items() if (cell.algorithm, cell.fold) == (a, fold)}
        chosen[fold] = min(found.items(), key=lambda pair: (float(np.min(pair[1].inner)), pair[0]))[1]
    return chosen


def best_setting(a: int, folds: list[int], tested: dict[Cell, Tested], there: FoldRows) -> int:
    """For a fit on all training rows: the least loss over all folds, of the settings run in each of them."""
    by_setting: dict[int, dict[int, Tested]] = {}
    for setting in sorted({cell.setting for cell in tested if cell.algorithm == a}):
        cells = {fold: Cell(a, setting, fold) for fold in folds}
        by_setting[setting] = {fold: tested[cell] for fold, cell in cells.items() if cell in tested}
    most = max(map(len, by_setting.values()))
    if most < len(folds):  # no setting ran in every fold: the one that ran in most
        return next(setting for setting, found in by_setting.items() if len(found) == most)
    weight = there.take(there.rows.weight, folds)
    whole = {s: there.losses(there.protocol.metric, found) for s, found in by_setting.items() if len(found) == most}
    return min(whole, key=lambda s: (float(np.average(whole[s], weights=weight)), s))


def standard_error(losses: Floats, weight: Floats | None = None) -> float:
    """Of the (weighted) mean over rows, for the models as they were trained."""
    losses = np.ravel(losses)
    if weight is None:
        return float(np.std(losses) / np.sqrt(len(losses)))
    off = weight * (losses - np.average(losses, weights=weight))
    return float(np.sqrt(np.sum(off**2)) / np.sum(weight))
