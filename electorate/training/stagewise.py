"""Stagewise boosting: in every round, sums from the engine, the best voter of the family, the step of the booster.

The method depends on none of the three. A round is one voter and its step; earlier steps stay as they are.
"""

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, Protocol

import numpy as np

from electorate.algorithms.protocol import Booster, Floors, LossOfVotes, Mean, Step
from electorate.data.bins import Bins
from electorate.engines.verbs import Engine
from electorate.exact import Floats, Ints, exp
from electorate.families.trees import Search, Voter
from electorate.messages import Change
from electorate.model.casting import Cast, PastRun
from electorate.model.trace import Row, Trace
from electorate.training.run import OTHER_DATA, RoundByRound, refuse_large_votes
from electorate.training.scale import Scale

ALMOST_NOTHING = 2.0**-20
NOTHING_LEFT = ("no_edge", "converged", "zero_gradient")  # the voter is not used


class Family(Protocol):
    """A family of voters, as the rounds use it."""

    fitted_elsewhere: ClassVar[bool]  # by third-party code, one voter after another

    def best(self, search: Search) -> Voter: ...

    def constant(self, search: Search) -> Voter:
        """The voter with the same output for every row."""
        ...

    def outputs(self, voter: Voter, n_rows: int, wanted: str) -> Floats: ...


@dataclass(frozen=True)
class StagewiseSetting:
    """The fixed parts of a run. n_estimators: the last round does not prepare another search."""

    engine: Engine
    family: Family
    booster: Booster
    bins: Bins
    n_estimators: int


class Stagewise(RoundByRound):
    """AdaBoost and its relatives, as a method of `training.run`. The rounds of `past` are replayed first."""

    def __init__(self, setting: StagewiseSetting, past: PastRun) -> None:
        super().__init__(past)
        self.setting = setting
        self.counts = setting.engine.counts().sum(axis=0)
        self.mass = int(self.counts[0].sum())
        self.reach = sum(cast.reach for cast in self.casts)
        self.scale = Scale(setting.engine, setting.booster)
        self._replay()
        perfect = bool(self.casts) and setting.booster.perfect(self.casts[-1].step)
        self.ended = "perfect_voter" if perfect else None

    def change(self, number: int) -> Change:
        """Return the change that voter `number` makes to the rows."""
        return self.casts[number].change(self.setting.booster)

    def _round(self) -> str | None:
        setting, trace, scale = self.setting, self.trace, self.scale
        engine, booster, family = setting.engine, setting.booster, setting.family
        means = partial(scale.means, self.mass * engine.unit)  # few families need them
        search = Search(
            scale.sums, setting.bins, self.counts, engine, means, self.casts, scale.along, number=trace.n_rounds
        )
        voter = None if self.casts else _prior(family, search)
        prior = None if voter is None or voter.fitted is not None else booster.prior_output(voter.sums[0])
        voter = voter or family.best(search)
        outputs = family.outputs(voter, engine.n_counted, booster.leaves)
        if prior is not None:
            outputs = np.full_like(outputs, prior)
        step = self._judge(voter, outputs)
        if step.stop in NOTHING_LEFT:
            return step.stop
        cast = Cast(voter, booster.stored(outputs), step)
        change = cast.change(booster)
        if not np.count_nonzero(change.gains):
            return "no_edge"  # the step rounds to 0 on the grid of votes: all later rounds would be the same
        self.reach += cast.reach
        number = trace.n_rounds + 1
        refuse_large_votes(self.reach, number, "use a lower learning_rate, or fewer n_estimators")
        scale.advance(change, voter, step.size, step.stop is None and number < setting.n_estimators)
        self.casts.append(cast)
        means_after = scale.means(scale.one)
        row = {
            "step": step.size,
            "edge": step.edge,
            "error": step.error,
            **self._measured(means_after),
            "n_voters": number,
            **scale.columns(),
            "seconds": time.perf_counter() - self.started,
            **booster.notes(means_after),
            **({} if voter.chosen is None else voter.chosen.notes),
        }
        trace.add_round([(number - 1, step.size)], row)
        return step.stop

    def _judge(self, voter: Voter, outputs: Floats) -> Step:
        """Return the booster's step. A perfect voter must be right on all rows, even those too light for the grid."""
        if voter.chosen is not None:
            return voter.chosen.step
        booster = self.setting.booster
        step = booster.step(voter.sums, outputs)
        if step.stop == "perfect_voter":
            rows = self.setting.engine.leaf_rows(voter)
            if booster.step(rows, outputs).stop != "perfect_voter":
                return booster.step(np.maximum(voter.sums, np.minimum(rows, 1)), outputs)
        return step

    def _measured(self, means: Sequence[Mean]) -> Row:
        chosen = self.casts[-1].voter.chosen
        objective = self.setting.booster.objective(means, 0.0 if chosen is None else chosen.penalty)
        return {"objective": objective, "train_error": self.scale.sums.wrong / self.mass}

    def _replay(self) -> None:
        """Compute the sums after the voters so far, on the grid of the last round."""
        self.scale.start(search=not self.casts)
        if self.casts:
            booster = self.setting.booster
            self.setting.engine.replay(booster, [cast.change(booster) for cast in self.casts])
            last = self.trace.row(self.trace.n_rounds)
            self.scale.resume(last)
            refuse_other(last, self._measured(self.scale.means(self.scale.one)))


def refuse_other(last: Row, now: Row, close: float = 0.0) -> None:
    """Raise ValueError if the state of the rows after replay differs from the history."""
    for name, value in now.items():
        same = math.isclose(value, last[name], rel_tol=1e-9, abs_tol=close) or (close > 0 and math.isnan(value))
        if not same:
            raise ValueError(OTHER_DATA.format(f"{name} was {last[name]:.9g} after the last round and is {value:.9g}"))


def _prior(family: Family, search: Search) -> Voter | None:
    """Return a constant first voter if one label has almost all weight and no voter is perfect, else None.

    Any split would improve the vote by almost nothing, but get the large step of the label: with class weights of
    1000 and 0.0001, a few light rows would decide.
    """
    total = search.sums.total
    if total - int(search.sums.totals.max()) >= ALMOST_NOTHING * total:
        return None
    if not family.fitted_elsewhere and int(family.best(search).sums.max(axis=1).sum()) == total:
        return None
    return family.constant(search)


# ---------------------------------------------------------------- validation


class ValidationScore:
    """The mean loss, or the error, of validation rows after every round: exact sums, for `Patience`."""

    def __init__(self, engine: Engine, method: Stagewise, group: Ints | None, scoring: str) -> None:
        self.engine = engine
        self.method = method
        self.loss = LossOfVotes(method.setting.booster, method.setting.booster.validation)
        self.scoring = scoring
        engine.start(method.setting.booster, group)
        self.mass = int(engine.counts()[:, 0].sum())

    def __call__(self, trace: Trace, number: int) -> float:
        lowest = self.engine.replay(self.method.setting.booster, [self.method.change(number - 1)])
        floor = -self.loss.loss.log_at(lowest)
        sums = self.engine.advance(self.loss, None, Floors((floor,)), search=False)
        if self.scoring == "error":
            return sums.wrong / self.mass
        return sums.total / (self.mass * self.engine.unit) * exp(min(-floor, 700.0))
