"""Stagewise boosting of regressors whose vote is a weighted median: MedBoost, LocMedBoost, AdaBoost.R2.

As `stagewise`, but a step takes passes over exact awards: they depend on the target of every example, not only on its
bin, so no sum per leaf and label can hold them.
"""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Protocol

import numpy as np

from electorate.algorithms.costs import full_award
from electorate.algorithms.protocol import Step
from electorate.data.bins import Bins
from electorate.engines.targets import TargetEngine
from electorate.exact import UNITS, Floats, exp
from electorate.families.trees import Search, Voter
from electorate.messages import AppliedVoter
from electorate.model.casting import Cast, PastRun
from electorate.model.trace import Row, Trace
from electorate.training.run import RoundByRound, refuse_large_votes
from electorate.training.stagewise import refuse_other


class TargetFamily(Protocol):
    by_histograms: ClassVar[bool]  # whether `best` uses the histograms of the weights

    def best(self, search: Search, kappa: int) -> tuple[Voter, Floats]:
        """A voter for the weights times a candidate's confidence, and [leaf, (value, confidence)]."""
        ...


@dataclass
class TargetCast(Cast):
    """kappa: the number of the voter's confidence. decides: whether its step is infinite, so that it decides alone."""

    kappa: int = 0
    decides: bool = False

    @property
    def applied(self) -> AppliedVoter:
        voter = self.voter
        return AppliedVoter(voter.splits, voter.leaves, self.outputs, voter.outputs, self.kappa)

    @property
    def units(self) -> int:
        """The step on the grid of votes."""
        return int(np.rint(self.step.size * UNITS))


@dataclass(frozen=True)
class TargetSetting:
    engine: TargetEngine
    family: TargetFamily
    booster: Any
    bins: Bins
    attributes: dict[str, Any]  # that the fitted model has
    doubts: bool = False  # whether voters have confidences other than 1


class MedianStagewise(RoundByRound):
    """Figure 1 of the LocMedBoost paper, or AdaBoost.R2, as a method of `training.run`."""

    def __init__(self, setting: TargetSetting, past: PastRun) -> None:
        super().__init__(past)
        self.setting = setting
        engine = setting.engine
        engine.start()
        self.counts = engine.counts()
        self.log_total = engine.log_total()  # log of the sum of the weights
        self.sum_of_steps = self.aimed = self.log_bound = 0.0  # sums of alpha, of rho alpha, and of log E
        self._replay()
        self.ended: str | None = setting.booster.resume(self.trace)

    def _round(self) -> str | None:
        engine, booster = self.setting.engine, self.setting.booster
        voter, applied = self._best()
        engine.apply(applied)
        confidence = {}
        if self.setting.doubts:
            engine.reward(full_award, True)
            confidence = {"confidence": engine.moments(0.0, 1.0).mean}
            engine.apply(applied)  # awards are written over its leaves
        step = booster.step(engine, booster.reward(engine))
        number = self.trace.n_rounds + 1
        if step.stop == "no_edge" and not (number == 1 and booster.keeps_first):
            return "no_edge"
        refuse_large_votes(self.sum_of_steps + step.size, number, "use fewer n_estimators, or a larger nu")
        log_z = self._take(step.size, step.rho)
        error = (1 - step.edge) / 2
        row = {
            "step": math.inf if step.infinite else step.size,
            "edge": step.edge,
            "error": error,
            "rho": step.rho,
            "log_z": log_z,
            "objective": 0.0 if step.infinite else exp(min(self.log_bound, 700.0)),
            **self._margins(),
            **confidence,
            "n_voters": number,
            "seconds": time.perf_counter() - self.started,
        }
        self.trace.add_round([(len(self.casts), step.size)], row)
        known = Step(step.size, step.edge, error)
        self.casts.append(TargetCast(voter, applied.outputs, known, applied.kappa, step.infinite))
        return step.stop

    def _best(self) -> tuple[Voter, AppliedVoter]:
        """h and kappa chosen together by eq. 1: for every candidate kappa its best h, and of these the largest edge."""
        setting, engine = self.setting, self.setting.engine
        best: tuple[Voter, AppliedVoter] | None = None
        most = -math.inf
        for kappa in range(engine.n_kappas):
            sums = engine.weigh(kappa, search=setting.family.by_histograms)
            search = Search(sums, setting.bins, self.counts, engine, number=self.trace.n_rounds)
            voter, outputs = setting.family.best(search, kappa)
            applied = AppliedVoter(voter.splits, voter.leaves, outputs, voter.outputs, kappa)
            if engine.n_kappas == 1:
                return voter, applied
            engine.apply(applied)
            low, high = setting.booster.reward(engine)
            largest = max(abs(low), abs(high), np.finfo(np.float64).tiny)
            edge = engine.moments(0.0, largest).mean
            if edge > most:
                best, most = (voter, applied), edge
        assert best is not None
        return best

    def _take(self, size: float, rho: float) -> float:
        """Take a step along the voter that was applied last; return its log Z."""
        before = self.log_total
        if size:
            self.setting.engine.advance(size)
            self.log_total = self.setting.engine.log_total()
        log_z = self.log_total - before
        self.sum_of_steps += size
        self.aimed += rho * size
        self.log_bound += rho * size + log_z
        return log_z

    def _margins(self) -> Row:
        """Return the least margin, its target, and the share of rows with a margin of at most 0."""
        engine, total = self.setting.engine, self.sum_of_steps
        return {
            "min_margin": engine.least / total if total else math.nan,
            "target_margin": self.aimed / total if total else math.nan,
            "margin_error": engine.below(0.0) / engine.mass,
        }

    def _replay(self) -> None:
        log_z = 0.0
        for number, cast in enumerate(self.casts, start=1):
            self.setting.engine.apply(cast.applied)
            self.setting.booster.reward(self.setting.engine)
            log_z = self._take(cast.step.size, self.trace.row(number)["rho"])
        if self.casts:
            refuse_other(self.trace.row(self.trace.n_rounds), {"log_z": log_z, **self._margins()}, close=1e-12)


@dataclass
class ValidationError:
    """The mean absolute error of the vote on validation rows after every round, for `Patience`."""

    engine: Any  # over validation shards
    method: MedianStagewise
    fallback: float
    lower: bool
    predict: Callable[[Any], tuple[Floats, Floats]] | None = None  # of a voter that was fitted elsewhere, with kappa

    def __post_init__(self) -> None:
        self.engine.call("begin", self.fallback, self.lower)

    def __call__(self, trace: Trace, number: int) -> float:
        cast = self.method.casts[number - 1]
        applied = cast.applied
        if self.predict is not None:
            predictions, sure = self.predict(cast.voter.fitted)
            applied = replace(applied, predictions=predictions, outputs=sure)
        units = cast.units or 1  # the only voter, stored though it has no edge
        farthest = float(self.engine.call("add_voter", applied, units, cast.decides))
        return float(self.engine.call("absolute_errors", farthest).mean) if farthest > 0 else 0.0
