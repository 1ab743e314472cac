"""The loop for targets that are numbers: as the one loop, but a step takes passes over exact awards.

Awards depend on the target of every example, not only on its bin, so no sum per leaf and label can hold them.
"""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from electorate.boosting.adaboost_r2 import R2
from electorate.boosting.booster import Step
from electorate.boosting.grid import LONGEST
from electorate.boosting.loop import Cast, Row
from electorate.boosting.medboost import MedStep, med_step
from electorate.data.bins import Bins
from electorate.engines.targets import Heard, TargetThreads
from electorate.voters.trees import Search, Voter

Array = NDArray[np.float64]
Watch = Callable[[Heard, MedStep, Row], str | None]


class TargetFamily(Protocol):
    fitted_elsewhere: bool

    def best(self, search: Search, kappa: int) -> tuple[Voter, Array]:
        """A voter for the weights times a candidate's confidence, and [leaf, (value, confidence)]."""
        ...


@dataclass
class MedBoost:
    """cost.award: theta of eq. 4. rule: rho from the edge and the lowest award."""

    cost: Any
    rule: Callable[[float, float], float]
    keeps_first: bool = False  # a voter without an edge, if it is the only one

    def step(self, engine: Any, farthest: float) -> MedStep:
        return med_step(engine, self.cost.award, self.rule)


@dataclass
class AdaBoostR2:
    arithmetic: R2
    keeps_first: bool = True  # as scikit-learn does

    def step(self, engine: Any, farthest: float) -> MedStep:
        return self.arithmetic.step(engine, farthest)


@dataclass
class TargetOutcome:
    """What a run leaves. kappas: the confidence of each voter. decides: the last voter's step is infinite."""

    casts: list[Cast] = field(default_factory=list)
    kappas: list[int] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)
    stop_reason: str = "n_estimators"
    decides: bool = False
    best_round: int | None = None

    def keep(self, rounds: int) -> "TargetOutcome":
        """The first rounds only."""
        whole = rounds >= len(self.casts)
        return TargetOutcome(
            self.casts[:rounds], self.kappas[:rounds], self.rows, self.stop_reason, self.decides and whole, rounds
        )


@dataclass(frozen=True)
class TargetSetting:
    engine: TargetThreads
    family: TargetFamily
    booster: Any
    bins: Bins


def boost_targets(setting: TargetSetting, rounds: int, watch: Watch | None = None) -> TargetOutcome:
    """Figure 1 of the LocMedBoost paper, or AdaBoost.R2, until there are `rounds` rounds or a reason to stop."""
    started = time.perf_counter()
    engine, outcome = setting.engine, TargetOutcome()
    engine.settle()
    counts = engine.counts()
    log_total = engine.log_total()
    gone, aimed, log_bound = 0.0, 0.0, 0.0  # sums of alpha, of rho alpha, of log E
    for number in range(1, rounds + 1):
        voter, heard = _best(setting, counts)
        _, farthest = engine.hear(heard)
        step = setting.booster.step(engine, farthest)
        if step.stop == "no_edge" and not (number == 1 and setting.booster.keeps_first):
            outcome.stop_reason = "no_edge"
            break
        gone += step.size
        if gone >= LONGEST:
            raise ValueError(
                f"after {number} rounds votes can come to {gone:.3g}, more than can be summed exactly ({LONGEST:.3g}): "
                "use fewer n_estimators, or a larger nu"
            )
        before = log_total
        if step.size:
            engine.advance(step.size)
            log_total = engine.log_total()
        aimed += step.rho * step.size
        log_bound += step.rho * step.size + log_total - before
        outcome.casts.append(Cast(voter, heard.outputs, Step(step.size, step.edge, (1 - step.edge) / 2)))
        outcome.kappas.append(heard.kappa)
        outcome.decides = step.infinite
        outcome.rows.append(
            {
                "step": math.inf if step.infinite else step.size,
                "edge": step.edge,
                "error": (1 - step.edge) / 2,
                "rho": step.rho,
                "log_z": log_total - before,
                "objective": 0.0 if step.infinite else math.exp(min(log_bound, 700.0)),
                "min_margin": engine.floor / gone if gone else math.nan,
                "target_margin": aimed / gone if gone else math.nan,
                "margin_error": engine.below(0.0) / engine.mass,
                "n_voters": number,
                "seconds": time.perf_counter() - started,
            }
        )
        reason = watch(heard, step, outcome.rows[-1]) if watch is not None else None
        if step.stop or reason:
            outcome.stop_reason = step.stop or reason or ""
            break
    return outcome


def _best(setting: TargetSetting, counts: NDArray[np.int64]) -> tuple[Voter, Heard]:
    """h and kappa chosen together by eq. 1: for every candidate kappa its best h, and of these the largest edge."""
    engine, family = setting.engine, setting.family
    best: tuple[Voter, Heard] | None = None
    most = -math.inf
    for kappa in range(engine.n_kappas):
        sums = engine.weigh(kappa, search=not family.fitted_elsewhere)
        voter, outputs = family.best(Search(sums, setting.bins, counts, engine), kappa)
        heard = Heard(voter.questions, voter.leaves, outputs, voter.said, kappa)
        if engine.n_kappas == 1:
            return voter, heard
        engine.hear(heard)
        low, high = engine.reward(setting.booster.cost.award)
        largest = max(abs(low), abs(high), np.finfo(np.float64).tiny)
        edge = engine.moments(0.0, largest).mean
        if edge > most:
            best, most = (voter, heard), edge
    assert best is not None
    return best
