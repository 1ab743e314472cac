"""The table of a comparison: a line for each algorithm and for the stack, the model to hand over, and how sure that is.

Everything is a function of the out-of-fold predictions. The value of a line is an estimate for the whole procedure
"tune this algorithm": its setting is chosen on drawn rows and measured on the others.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from electorate.comparison.algorithms import Algorithm
from electorate.comparison.choice import Choice, Chooser, Rule
from electorate.comparison.estimate import Estimate, LossInterval, evaluate
from electorate.comparison.fits import Fit, Tested, with_rounds
from electorate.comparison.metrics import METRICS, Metric
from electorate.comparison.refits import Part, Recipe
from electorate.comparison.schedule import PredictionColumns, Results, Schedule
from electorate.comparison.verdicts import Evidence, against_baseline, against_best
from electorate.exact import Floats

STACK = "stack"
ACCURACY, SPEED, READABLE = PREFERENCES = ("accuracy", "speed", "readable")
NEAR = 0.01  # of the error, or of the loss of the baseline: models as near as that to the best count as good
KEPT = 0.5  # of the lead over the baseline
Affordable = Callable[[Recipe], bool]
Enough = Callable[[int], bool]


@dataclass(frozen=True)
class Line:
    """One algorithm of the table, tuned, or the stack (without an algorithm).

    estimate: of its losses. visible: a lead of the best over it that would have been seen. verdict: "first", "tie" or
    "worse". size: voters or trees. predict_seconds: per 1,000 rows.
    """

    name: str
    algorithm: Algorithm | None
    recipe: Recipe
    estimate: Estimate
    size: float
    fit_seconds: float
    predict_seconds: float
    settings_run: int
    verdict: str = "tie"
    visible: float = float("nan")

    def bound(self, metric: str) -> LossInterval:
        """The estimate of a metric, as a loss."""
        return self.estimate.bounds[metric]

    def shown(self, metric: str) -> float:
        return METRICS[metric].shown(self.bound(metric).value)


@dataclass(frozen=True)
class Ranking:
    """lines: the one to hand over first (chosen; its `recipe` is what to train), then the least loss.

    baseline: of the constant model, or None. evidence: that the chosen one is better. rows: how many were tested.
    picks: the lines that are the most accurate, the fastest and the easiest to read among the good ones.
    """

    lines: list[Line]
    chosen: Line
    baseline: Line | None
    evidence: Evidence | None
    n_rows: int
    picks: dict[str, Line]
    losses: Floats  # [line, row or group]
    weight: Floats | None
    variance: float  # of the numbers to predict; NaN for classes
    confused: tuple[int, int] | None = None  # of several classes: this one is most often taken for that one

    def r2(self, line: Line) -> float:
        """The share of the variance that is explained, by the root mean squared error."""
        return 1 - line.shown("rmse") ** 2 / self.variance if self.variance > 0 else float("nan")

    @property
    def rivals(self) -> list[Line]:
        """The lines that were not beaten, besides the best; never the baseline."""
        return [line for line in self.lines if line.verdict == "tie" and not is_baseline(line)]


class Ranker:
    """Ranks the candidates that were tested in some splits of a level."""

    def __init__(self, schedule: Schedule, level: int, numbers: list[int], results: Results, stacks: bool) -> None:
        self.schedule, self.plan, self.results = schedule, schedule.plan, results
        self.numbers, self.stacks = numbers, stacks
        self.candidates = schedule.tested(level, numbers, results)
        self.columns: PredictionColumns = schedule.gather(numbers, self.candidates, results)
        self.table = self.columns.table
        self.chooser = Chooser(self.table, self.columns.algorithms, self.plan.metric)

    def rank(self, prefer: str, allowed: set[int], is_affordable: Affordable | None, is_enough: Enough) -> Ranking:
        """allowed: the candidates that may be handed over, alone or in a stack that is affordable."""
        plan, baseline = self.plan, self.table.baseline
        numbers = list(dict.fromkeys(int(a) for a in self.columns.algorithms))
        every = np.arange(self.table.n_candidates) != (-1 if baseline is None else baseline)
        usable = every & np.isin(self.columns.candidates, sorted(allowed))
        usable = usable if usable.any() else every
        rules = [Rule(self.columns.algorithms == a) for a in numbers]
        n_stackable = len({int(a) for a in self.columns.algorithms[every & self.table.stackable]})
        stacks = self.stacks and n_stackable > 1
        rules += [Rule(usable, single=True, stack=stacks)]
        rules += [Rule(usable, single=False, stack=True)] if stacks else []
        estimates = evaluate(self.chooser, rules, seed=plan.seed, is_enough=is_enough)
        lines = [self._line(plan.algorithms[a], one) for a, one in zip(numbers, estimates, strict=False)]
        if stacks and len(estimates[-1].choice.members) > 1:
            lines.append(self._line(None, estimates[-1]))
        chosen = estimates[len(numbers)]
        if is_affordable is not None and not is_affordable(self.recipe(chosen.choice)):
            chosen = self._affordable(lines, usable) or chosen
        return self._judged(lines, chosen, prefer, usable)

    def _affordable(self, lines: list[Line], usable: NDArray[np.bool_]) -> Estimate | None:
        """The best single algorithm whose candidate may be handed over."""
        single = [line for line in lines if line.algorithm is not None and usable[line.estimate.choice.members[0]]]
        return min(single, key=lambda line: line.estimate.choice.loss).estimate if single else None

    def _line(self, algorithm: Algorithm | None, estimate: Estimate) -> Line:
        choice = estimate.choice
        candidates = [int(self.columns.candidates[member]) for member in choice.members]
        tested = [self._tested(c) for c in candidates]
        n_rows = self.table.n_rows
        return Line(
            name=STACK if algorithm is None else algorithm.name,
            algorithm=algorithm,
            recipe=self.recipe(choice),
            estimate=estimate,
            size=float(sum(np.mean([one.size for one in some]) for some in tested)),
            fit_seconds=float(sum(np.mean([one.fit_seconds for one in some]) for some in tested)),
            predict_seconds=1000 * sum(one.predict_seconds for some in tested for one in some) / n_rows,
            settings_run=sum(algorithm is None or self.plan.algorithm(c) == algorithm for c in self.candidates),
        )

    def _tested(self, candidate: int) -> list[Tested]:
        fits = (self.results[Fit(candidate, s)] for s in self.numbers)
        return [one for one in fits if isinstance(one, Tested)]

    def recipe(self, choice: Choice) -> Recipe:
        """What to train for a choice among the columns."""
        parts = []
        for member, weight, temperature in zip(choice.members, choice.weights, choice.temperatures, strict=True):
            c, rounds = int(self.columns.candidates[member]), int(self.columns.rounds[member])
            algorithm = self.plan.algorithm(c)
            parts.append(Part(c, algorithm, with_rounds(algorithm, self.plan.setting(c), rounds), temperature, weight))
        return Recipe(tuple(parts), choice.temperature, choice.threshold)

    def _judged(self, lines: list[Line], chosen: Estimate, prefer: str, usable: NDArray[np.bool_]) -> Ranking:
        """The lines, the one to hand over first, with their verdicts."""
        name, table = self.plan.metric.name, self.table
        lines = sorted(lines, key=lambda line: line.bound(name).value)
        losses = np.array([line.estimate.row_losses[name] for line in lines])
        differences = against_best(losses, table, seed=self.plan.seed)
        baseline = next((line for line in lines if is_baseline(line)), None)
        single = self.plan.algorithm(int(self.columns.candidates[chosen.choice.members[0]]))
        best = self._line(None if len(chosen.choice.members) > 1 else single, chosen)
        is_worse = {line.name for line, worse in zip(lines, differences.worse, strict=True) if worse}
        models = [line for line in lines if not is_baseline(line)] or lines
        if best.name in is_worse and models[0].estimate.choice.members[0] in np.flatnonzero(usable):
            best = models[0]  # the log loss chose a model whose errors are more beyond chance
        picks = {ACCURACY: best} | self._picks(models, best, is_worse, baseline)
        if prefer in picks and picks[prefer].estimate.choice.members[0] in np.flatnonzero(usable):
            best = picks[prefer]
        evidence = None if baseline is None else against_baseline(table, best.estimate, baseline.estimate, name)
        if baseline is not None and evidence is not None and evidence.is_better:
            is_worse.add(baseline.name)
        visible = dict(zip((line.name for line in lines), differences.visible.tolist(), strict=True))
        judged = [
            replace(
                line,
                visible=float(visible[line.name]),
                verdict="first" if line.name == best.name else "worse" if line.name in is_worse else "tie",
            )
            for line in lines
        ]
        order = sorted(range(len(judged)), key=lambda k: (judged[k].name != best.name, k))
        keeps = ~np.isnan(losses).any(axis=0)
        return Ranking(
            lines=[judged[k] for k in order],
            chosen=replace(best, verdict="first"),
            baseline=next((line for line in judged if is_baseline(line)), None),
            evidence=evidence,
            n_rows=table.n_rows,
            picks=picks,
            losses=losses[order][:, keeps],
            weight=None if table.weight is None else table.weight[keeps],
            variance=float("nan") if table.n_classes else _variance(table.target, table.share),
            confused=self._confused(best.estimate.choice),
        )

    def _picks(self, models: list[Line], best: Line, is_worse: set[str], baseline: Line | None) -> dict[str, Line]:
        """Return the fastest and the most readable of the models that are nearly as good, or else tie with the best.

        They keep half of the lead over the baseline: where a class is rare, it may be less than a point.
        """
        name = self.plan.metric.name
        loss = max(models[0].bound(name).value, best.bound(name).value)
        lead = 0.0 if baseline is None else baseline.bound(name).value - loss
        useful = [line for line in models if lead <= 0 or line.bound(name).value <= loss + KEPT * lead]
        unit = 1.0 if baseline is None or self.plan.metric.for_classes else baseline.bound(name).value
        near = [line for line in useful if line.bound(name).value <= loss + NEAR * unit]
        tied = [line for line in useful if line.name not in is_worse]
        picks = {SPEED: min(near, key=lambda line: line.predict_seconds)}
        for some in (near, tied):
            ranks = [(one.algorithm.readable, one) for one in some if one.algorithm and one.algorithm.readable]
            if ranks and READABLE not in picks:
                picks[READABLE] = min(ranks, key=lambda pair: (pair[0], pair[1].bound(name).value))[1]
        return picks

    def _confused(self, choice: Choice) -> tuple[int, int] | None:
        """Return the pair of classes that a model mixes up most often."""
        if self.plan.n_classes <= 2:
            return None
        called = np.argmax(self.chooser.decision(choice), axis=1)
        pairs = np.zeros((self.plan.n_classes, self.plan.n_classes))
        np.add.at(pairs, (self.table.codes, called), self.table.share)
        np.fill_diagonal(pairs, 0.0)
        if not pairs.any():
            return None
        true, predicted = np.unravel_index(int(np.argmax(pairs)), pairs.shape)
        return int(true), int(predicted)


def _variance(values: Floats, share: Floats) -> float:
    return float(np.average((values - np.average(values, weights=share)) ** 2, weights=share))


def is_baseline(line: Line) -> bool:
    return line.algorithm is not None and line.algorithm.baseline


def columns_of(ranking: Ranking, metric: Metric) -> dict[str, list[Any]]:
    """The table by columns, the metric that ranks first; NaN where there is no number."""
    rows = []
    for place, line in enumerate(ranking.lines, 1):
        bound = line.bound(metric.name)
        ends = sorted((metric.shown(bound.low), metric.shown(bound.high)))
        rows.append(
            {
                "rank": place,
                "algorithm": line.name,
                metric.name: line.shown(metric.name),
                "low": ends[0],
                "high": ends[1],
            }
            | {name: line.shown(name) for name in line.estimate.bounds if name != metric.name}
            | ({} if metric.for_classes else {"r2": ranking.r2(line)})
            | {
                "verdict": line.verdict,
                "visible_difference": line.visible,
                "size": line.size,
                "fit_seconds": line.fit_seconds,
                "predict_ms_per_1000": 1000 * line.predict_seconds,
                "settings_run": line.settings_run,
                "setting": describe(line.recipe),
            }
        )
    return {name: [row[name] for row in rows] for name in rows[0]} if rows else {}


def describe(recipe: Recipe) -> str:
    """The setting, or the models of a stack with their weights."""
    if recipe.is_stack:
        shares = sorted(recipe.parts, key=lambda part: -part.weight)
        return " + ".join(f"{part.weight:.3f} {part.algorithm.name}" for part in shares)
    return " ".join(f"{name}={value}" for name, value in recipe.parts[0].setting.items())
