"""The loop for targets that are numbers: as the one loop, but a step takes passes over exact awards.

Awards depend on the target of every example, not only on its bin, so no sum per leaf and label can hold them.
"""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from electorate.algorithms.adaboost_r2 import R2
from electorate.algorithms.medboost import MedStep, ZeroOne, med_step
from electorate.algorithms.protocol import Step
from electorate.data.bins import Bins
from electorate.engines.targets import TargetEngine
from electorate.grid import LONGEST, UNITS
from electorate.messages import Heard
from electorate.model.outcome import Cast, Outcome, Row
from electorate.training.stagewise import OTHER_DATA
from electorate.voters.trees import Search, Voter

Array = NDArray[np.float64]
Ends = tuple[float, float]


class TargetFamily(Protocol):
    by_histograms: ClassVar[bool]  # whether `best` looks at the histograms of the weights

    def best(self, search: Search, kappa: int) -> tuple[Voter, Array]:
        """A voter for the weights times a candidate's confidence, and [leaf, (value, confidence)]."""
        ...


class TargetWatcher(Protocol):
    """As the one loop's."""

    def replay(self, outcome: Outcome) -> str | None: ...

    def after(self, change: Any, outcome: Outcome) -> str | None: ...


@dataclass
class TargetCast(Cast):
    """kappa: which confidence the voter has. decides: its step is infinite, it decides alone."""

    kappa: int = 0
    decides: bool = False

    @property
    def heard(self) -> Heard:
        voter = self.voter
        return Heard(voter.splits, voter.leaves, self.outputs, voter.said, self.kappa)

    @property
    def units(self) -> int:
        """The step on the grid of votes."""
        return int(np.rint(self.step.size * UNITS))


# ---------------------------------------------------------------- boosters


@dataclass
class MedBoost:
    """cost.award: theta of eq. 4. rule: rho from the edge and the lowest award."""

    cost: Any
    rule: Any
    keeps_first: bool = False  # a voter without an edge, if it is the only one

    def reward(self, engine: Any) -> Ends:
        """Let the rows award the voter that was heard; the lowest and the highest award."""
        ends: Ends = engine.reward(self.cost.award, isinstance(self.cost, ZeroOne))
        if not math.isfinite(ends[0]):
            raise ValueError(
                f"the cost |h - y| / eps is infinite on some row: eps={self.cost.eps:g} is too small for these "
                "targets; use a larger eps, or cost='zero_one'"
            )
        return ends

    def step(self, engine: Any, ends: Ends) -> MedStep:
        return med_step(engine, ends, self.rule)

    def resume(self, rows: list[Row]) -> str | None:
        """Go on after these rounds; why not, if so."""
        self.rule.resume([row["edge"] for row in rows])
        return "perfect_voter" if rows and math.isinf(rows[-1]["step"]) else None


@dataclass
class AdaBoostR2:
    arithmetic: R2
    keeps_first: bool = True  # as scikit-learn does

    def reward(self, engine: Any) -> Ends:
        ends: Ends = engine.reward(self.arithmetic.award(engine.farthest()))
        return ends

    def step(self, engine: Any, ends: Ends) -> MedStep:
        return self.arithmetic.step(engine)

    def resume(self, rows: list[Row]) -> str | None:
        if rows and rows[-1]["error"] <= 0:
            return "perfect_voter"
        return "no_edge" if rows and rows[-1]["error"] >= 0.5 else None


# ---------------------------------------------------------------- the loop


@dataclass(frozen=True)
class TargetSetting:
    engine: TargetEngine
    family: TargetFamily
    booster: Any
    bins: Bins


@dataclass
class Tale:
    """What the rounds so far come to: the sums of alpha, of rho alpha and of log E, and log of the weights' sum."""

    log_total: float
    gone: float = 0.0
    aimed: float = 0.0
    log_bound: float = 0.0

    def take(self, engine: TargetEngine, size: float, rho: float) -> float:
        """Take a step; log Z of it."""
        before = self.log_total
        if size:
            engine.advance(size)
            self.log_total = engine.log_total()
        log_z = self.log_total - before
        self.gone += size
        self.aimed += rho * size
        self.log_bound += rho * size + log_z
        return log_z

    def margins(self, engine: TargetEngine) -> Row:
        """The least margin, what it should come to, and the share of rows whose margin is at most 0."""
        return {
            "min_margin": engine.least / self.gone if self.gone else math.nan,
            "target_margin": self.aimed / self.gone if self.gone else math.nan,
            "margin_error": engine.below(0.0) / engine.mass,
        }


def boost_targets(
    setting: TargetSetting, rounds: int, past: Outcome | None = None, watchers: Sequence[TargetWatcher] = ()
) -> Outcome:
    """Figure 1 of the LocMedBoost paper, or AdaBoost.R2: go on from `past`, or start, until there are `rounds` rounds
    or a reason to stop."""
    started = time.perf_counter()
    engine, booster = setting.engine, setting.booster
    outcome = Outcome() if past is None else Outcome(list(past.casts), list(past.rows))
    before = outcome.rows[-1]["seconds"] if outcome.rows else 0.0
    engine.start()
    counts = engine.counts()
    tale = _replayed(setting, outcome)
    reasons = [booster.resume(outcome.rows), *(watcher.replay(outcome) for watcher in watchers)]
    reason = next(filter(None, reasons), None)
    for number in range(len(outcome.casts) + 1, rounds + 1):
        if reason is not None:
            break
        voter, heard = _best(setting, counts)
        engine.hear(heard)
        step = booster.step(engine, booster.reward(engine))
        if step.stop == "no_edge" and not (number == 1 and booster.keeps_first):
            reason = "no_edge"
            break
        _refuse_far(tale.gone + step.size, number)
        log_z = tale.take(engine, step.size, step.rho)
        known = Step(step.size, step.edge, (1 - step.edge) / 2)
        outcome.casts.append(TargetCast(voter, heard.outputs, known, heard.kappa, step.infinite))
        outcome.rows.append(
            {
                "step": math.inf if step.infinite else step.size,
                "edge": step.edge,
                "error": (1 - step.edge) / 2,
                "rho": step.rho,
                "log_z": log_z,
                "objective": 0.0 if step.infinite else math.exp(min(tale.log_bound, 700.0)),
                **tale.margins(engine),
                "n_voters": number,
                "seconds": before + time.perf_counter() - started,
            }
        )
        reasons = [step.stop, *(watcher.after(heard, outcome) for watcher in watchers)]
        reason = next(filter(None, reasons), None)
    outcome.stop_reason = reason or outcome.stop_reason
    outcome.done = True
    return outcome


def _replayed(setting: TargetSetting, outcome: Outcome) -> Tale:
    """The state after the voters there are, as if they came now; an error if the rows are not those they came from."""
    engine, booster = setting.engine, setting.booster
    tale, log_z = Tale(engine.log_total()), 0.0
    for cast, row in zip(outcome.casts, outcome.rows, strict=True):
        engine.hear(cast.heard)  # type: ignore[attr-defined]
        booster.reward(engine)
        log_z = tale.take(engine, cast.step.size, row["rho"])
    if outcome.casts:
        _refuse_other(outcome.rows[-1], {"log_z": log_z, **tale.margins(engine)})
    return tale


def _refuse_other(last: Row, now: Row) -> None:
    for name, value in now.items():
        same = math.isclose(value, last[name], rel_tol=1e-9, abs_tol=1e-12) or math.isnan(value)
        if not same:
            raise ValueError(OTHER_DATA.format(f"{name} was {last[name]:.9g} after the last round and is {value:.9g}"))


def _refuse_far(gone: float, number: int) -> None:
    if gone >= LONGEST:
        raise ValueError(
            f"after {number} rounds votes can come to {gone:.3g}, more than can be summed exactly ({LONGEST:.3g}): "
            "use fewer n_estimators, or a larger nu"
        )


def _best(setting: TargetSetting, counts: NDArray[np.int64]) -> tuple[Voter, Heard]:
    """h and kappa chosen together by eq. 1: for every candidate kappa its best h, and of these the largest edge."""
    engine, family = setting.engine, setting.family
    best: tuple[Voter, Heard] | None = None
    most = -math.inf
    for kappa in range(engine.n_kappas):
        sums = engine.weigh(kappa, search=family.by_histograms)
        voter, outputs = family.best(Search(sums, setting.bins, counts, engine), kappa)
        heard = Heard(voter.splits, voter.leaves, outputs, voter.said, kappa)
        if engine.n_kappas == 1:
            return voter, heard
        engine.hear(heard)
        low, high = setting.booster.reward(engine)
        largest = max(abs(low), abs(high), np.finfo(np.float64).tiny)
        edge = engine.moments(0.0, largest).mean
        if edge > most:
            best, most = (voter, heard), edge
    assert best is not None
    return best


# ---------------------------------------------------------------- stopping by other rows


@dataclass
class MeanError:
    """Stops after `patience` rounds that do not lower the mean absolute error of the vote on rows set aside."""

    place: Any  # of ListeningShards
    fallback: float
    lower: bool
    tol: float
    patience: int
    ask: Callable[[Any], Array] | None = None  # what a voter that was fitted elsewhere says of them
    best: float = math.inf
    best_round: int = 0

    def replay(self, outcome: Outcome) -> str | None:
        """Listen to the rounds there are, as if they came now; rounds after the stop are forgotten."""
        self.place.ask("begin", self.fallback, self.lower)
        self.best, self.best_round = math.inf, 0
        outcome.best_round = 0
        for number in range(1, len(outcome.casts) + 1):
            reason = self._listen(outcome, number)
            if reason is not None:
                del outcome.casts[number:], outcome.rows[number:]
                return reason
        return None

    def after(self, change: Any, outcome: Outcome) -> str | None:
        return self._listen(outcome, len(outcome.rows))

    def _listen(self, outcome: Outcome, number: int) -> str | None:
        score = outcome.rows[number - 1]["validation"] = self._score(outcome.casts[number - 1])
        if score < self.best - self.tol or self.best_round == 0:
            self.best, self.best_round = score, number
        outcome.best_round = self.best_round
        return "validation" if number - self.best_round >= self.patience else None

    def _score(self, cast: Any) -> float:
        heard = cast.heard if self.ask is None else replace(cast.heard, said=self.ask(cast.voter.fitted))
        units = cast.units or 1  # the only voter, kept though it has no edge
        farthest = float(self.place.ask("listen", heard, units, cast.decides))
        return float(self.place.ask("misses", farthest).mean) if farthest > 0 else 0.0
