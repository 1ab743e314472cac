"""Regularisation paths of QuadBoost on a pool: each penalty starts from the weights of the one before it.

All points share the Gram matrix. For cross-validation the votes of held-out rows are computed at every point.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from electorate.algorithms.quadboost import PENALTIES, WeightRules
from electorate.data.all_reduce import run_locally
from electorate.exact import Floats
from electorate.families.columns import Columns
from electorate.threads import ThreadPool, count_jobs
from electorate.training.classification import Here, build_engines, find_bins, groups_of
from electorate.training.pool_rounds import PoolRounds
from electorate.training.quad_data import case_of
from electorate.training.quad_pools import ColumnPool, FinitePool, StumpPool
from electorate.training.run import run
from electorate.training.worker_data import ClassPlan, ClassWorkerData


@dataclass(frozen=True)
class Point:
    """One point of a grid: the penalty and the largest number of rounds."""

    lam: float
    alpha_max: float | None
    n_estimators: int

    @property
    def penalty(self) -> tuple[float, float]:
        return self.lam, math.inf if self.alpha_max is None else self.alpha_max


@dataclass(frozen=True)
class Path:
    """The weights of all voters of the pool at every point, the objective, the gap, rounds, and distinct voters."""

    lam: Floats
    alpha_max: Floats
    n_estimators: NDArray[np.int64]
    weights: Floats  # [point, voter of the pool]
    objective: Floats
    gap: Floats
    n_voters: NDArray[np.int64]


def points_along(penalty: str, values: list[float], rounds: list[int]) -> list[Point]:
    """Values of alpha_max for Linf, else of lam, each with all numbers of rounds."""
    if penalty == "linf":
        return [Point(0.0, value, most) for value in values for most in rounds]
    return [Point(value, None, most) for value in values for most in rounds]


class PoolProblem:
    """Training rows and held-out rows on a finite pool, before any round."""

    def __init__(self, model: Any, rows: tuple[Any, Any, Any], held_out: tuple[Any, Any, Any] | None = None) -> None:
        given = model._given(*rows, reset=True)
        given_val = None if held_out is None else model._given(*held_out, reset=False)
        cells = (given.table.n_rows if model._is_native else given.table.shape[0]) * model.n_features_in_
        with ThreadPool(count_jobs(model.n_jobs, cells)) as threads:
            data = ClassWorkerData([given] if given_val is None else [given, given_val], threads, threads.n_jobs)
            outline = run_locally(data.prepare(ClassPlan(model.class_weight)))
            case = case_of(data, outline.classes)
            self.pool: FinitePool
            if isinstance(model._family(), Columns):
                self.pool = ColumnPool(model, 1.0, case)
            else:
                bins = find_bins(model, Here(data))
                engines = build_engines(model, Here(data), bins, len(outline.classes))
                self.pool = StumpPool(model, 1.0, case, bins, *engines)
        self.classes = outline.classes
        self.groups = [group for _, group in groups_of(model, outline.classes)]
        self.model = model

    def walk(self, points: list[Point]) -> Iterator[tuple[int, PoolRounds]]:
        """Yield the label and the run of every label at every point.

        Points of one penalty and more rounds continue a run. Another penalty takes over its weights; without
        re-weighting it starts anew, since copies of a voter then count apart.
        """
        for number, group in enumerate(self.groups):
            rounds: PoolRounds | None = None
            last = points[0]
            for point in points:
                other = point.penalty != last.penalty
                anew = self.model.reweight == "never" and (other or point.n_estimators < last.n_estimators)
                if rounds is None or anew:
                    rounds = self.pool.rounds(group, self._rules(point))
                elif other:
                    rounds = rounds.with_rules(self._rules(point))
                if rounds.trace.stop_reason == "n_estimators":
                    run(rounds, point.n_estimators)
                last = point
                yield number, rounds

    def _rules(self, point: Point) -> WeightRules:
        model = self.model
        return WeightRules(PENALTIES[model.penalty](*point.penalty), model.reweight, float(model.tol), model.max_voters)

    def decisions(self, points: list[Point]) -> Floats:
        """[point, held-out row, label] of f."""
        assert self.pool.validation is not None
        out = np.zeros((len(points), len(self.pool.validation.values), len(self.groups)))
        place = [0] * len(self.groups)
        for number, rounds in self.walk(points):
            for voter in np.flatnonzero(rounds.weight).tolist():
                out[place[number], :, number] += rounds.weight[voter] * self.pool.validation_outputs(voter)
            place[number] += 1
        return out

    def largest_lam(self) -> float:
        """The least lam of L1 that empties the model: max |mu|, over all labels."""
        rules = self._rules(Point(0.0, None, 0))
        return max(float(np.abs(self.pool.rounds(group, rules).pool.mu).max(initial=0.0)) for group in self.groups)

    def path(self, points: list[Point]) -> Path:
        """Return the path for two classes."""
        found = [(r.weight.copy(), r.risk + r.penalty, r.gap) for _, r in self.walk(points)]
        weights, objective, gap = (np.array(values) for values in zip(*found, strict=True))
        lam, alpha_max = (np.array(values) for values in zip(*(point.penalty for point in points), strict=True))
        rounds = np.array([point.n_estimators for point in points])
        return Path(lam, alpha_max, rounds, weights, objective, gap, np.count_nonzero(weights, axis=1))
