"""Regularisation paths of QuadBoost on a pool: one pass over the penalties, each from where the one before it ended.

All points share the Gram matrix. Rows that were set aside are heard at every point: that is what cross-validation asks.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from electorate.algorithms.quadboost import PENALTIES
from electorate.data.all_reduce import run_locally
from electorate.threads import ThreadPool, count_jobs
from electorate.training.classification import groups_of
from electorate.training.pool_rounds import PoolRounds, Rules
from electorate.training.quad_pools import ColumnPool, FinitePool, Said, StumpPool
from electorate.training.worker_data import ClassPlan, ClassWorkerData
from electorate.voters.columns import Columns

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Point:
    """One point of a grid: the penalty and the largest number of rounds."""

    lam: float
    alpha_max: float | None
    n_estimators: int


@dataclass(frozen=True)
class Path:
    """Of every point: the weights of all voters of the pool, the objective, the gap, rounds, and distinct voters."""

    lam: Floats
    alpha_max: Floats
    n_estimators: NDArray[np.int64]
    weights: Floats  # [point, voter of the pool]
    objective: Floats
    gap: Floats
    n_voters: NDArray[np.int64]


class Opened:
    """A problem on a finite pool, before any round: training rows, and rows to listen to."""

    def __init__(self, model: Any, rows: tuple[Any, Any, Any], heard: tuple[Any, Any, Any] | None = None) -> None:
        given = model._given(*rows, reset=True)
        given_val = None if heard is None else model._given(*heard, reset=False)
        cells = (given.table.n_rows if model._is_native else given.table.shape[0]) * model.n_features_in_
        with ThreadPool(count_jobs(model.n_jobs, cells)) as threads:
            room = ClassWorkerData([given] if given_val is None else [given, given_val], threads, threads.n_jobs)
            outline = run_locally(room.prepare(ClassPlan(model.class_weight)))
            from electorate.training.quadratic import case_of

            case = case_of(room, outline)
            self.pool: FinitePool
            if isinstance(model._family(), Columns):
                self.pool = ColumnPool(case)
            else:
                bins = run_locally(room.find_bins(model.categorical_features, model.max_bins))
                run_locally(room.build(bins, model.max_bins))
                self.pool = StumpPool(model, case, bins, room.engines["train"], room.engines.get("validation"))
        self.classes = outline.classes
        self.groups = [group for _, group in groups_of(model, outline.classes)]
        self.model = model

    def walk(self, points: list[Point]) -> Iterator[tuple[int, PoolRounds]]:
        """Runs of every label, point by point; between points of one penalty and more rounds a run goes on."""
        for number, group in enumerate(self.groups):
            voters, silent = self.pool.voters(self.pool.said.about(group), self.model)
            rounds: PoolRounds | None = None
            last: Point | None = None
            for point in points:
                rules = rules_of(self.model, point)
                if rounds is None or (last is not None and self._anew(last, point)):
                    rounds = PoolRounds(self.pool.state(voters, silent), rules)
                elif last is not None and (point.lam, point.alpha_max) != (last.lam, last.alpha_max):
                    rounds = rounds.go_on(rules)
                if rounds.run.stop_reason == "n_estimators":
                    rounds.advance(point.n_estimators)
                last = point
                yield number, rounds

    def _anew(self, last: Point, point: Point) -> bool:
        """Without re-weighting a run is its whole history: another penalty begins it again."""
        other = (point.lam, point.alpha_max) != (last.lam, last.alpha_max)
        return self.model.reweight == "never" and (other or point.n_estimators < last.n_estimators)

    def decisions(self, points: list[Point]) -> Floats:
        """[point, row, label] of f for the rows that listen."""
        assert self.pool.heard is not None
        out = np.zeros((len(points), len(self.pool.heard.target), len(self.groups)))
        place = [0] * len(self.groups)
        for number, rounds in self.walk(points):
            out[place[number], :, number] = heard_votes(self.pool.heard, rounds.weight)
            place[number] += 1
        return out


def heard_votes(said: Said, weights: Floats) -> Floats:
    """f for these rows."""
    votes = np.zeros(len(said.target))
    n = said.columns.n_columns
    for number in np.flatnonzero(weights).tolist():
        votes += weights[number] * said.columns.column(number % n) * (1.0 if number < n else -1.0)
    return votes


def rules_of(model: Any, point: Point) -> Rules:
    most = math.inf if point.alpha_max is None else point.alpha_max
    return Rules(PENALTIES[model.penalty](point.lam, most), model.reweight, float(model.tol), model.max_voters)


def largest_lam(opened: Opened) -> float:
    """The least lam of L1 that empties the model: max |mu|, over all labels."""
    pools = (opened.pool.voters(opened.pool.said.about(group), opened.model)[0] for group in opened.groups)
    return max(float(np.abs(pool.mu).max(initial=0.0)) for pool in pools)


def path_of(opened: Opened, points: list[Point]) -> Path:
    """For two classes."""
    found = [(rounds.weight.copy(), rounds.risk + rounds_paid(rounds), rounds.gap) for _, rounds in opened.walk(points)]
    weights = np.array([weight for weight, _, _ in found])
    return Path(
        np.array([point.lam for point in points]),
        np.array([math.inf if point.alpha_max is None else point.alpha_max for point in points]),
        np.array([point.n_estimators for point in points]),
        weights,
        np.array([objective for _, objective, _ in found]),
        np.array([gap for _, _, gap in found]),
        np.count_nonzero(weights, axis=1),
    )


def rounds_paid(rounds: PoolRounds) -> float:
    """The penalty; without re-weighting copies count apart."""
    apart = rounds.run.moves[:, 1] if rounds.rules.mode == 0 else rounds.weight[rounds.weight != 0]
    return math.fsum(map(rounds.rules.penalty.cost, apart.tolist()))
