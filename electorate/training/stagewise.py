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

from electorate.algorithms.adaboost import AdaBoost
from electorate.algorithms.protocol import Booster, Floors, LossOfVotes, Mean, Step
from electorate.data.bins import Bins
from electorate.engines.verbs import Engine
from electorate.exact import LONGEST, Floats, Ints, exp
from electorate.families.splits import NO_NUMBERS
from electorate.families.trees import Search, Stumps, Voter
from electorate.kernels.layouts import ColumnLayout
from electorate.messages import ROOT, Change, Split
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
        booster, family = setting.booster, setting.family
        plain = type(booster) is AdaBoost and booster.n_labels == 2 and not setting.bins.split_by_sets
        self.at_once = plain and type(family) is Stumps and family.leaves in ("auto", "label")
        self._replay()
        perfect = bool(self.casts) and setting.booster.perfect(self.casts[-1].step)
        self.ended = "perfect_voter" if perfect else None

    def change(self, number: int) -> Change:
        """Return the change that voter `number` makes to the rows."""
        return self.casts[number].change(self.setting.booster)

    def advance(self, most: int) -> str | None:
        """Do rounds one by one; those that `_many_rounds` can do at once."""
        last, reason = self.trace.n_rounds + most, None
        while self.trace.n_rounds < last and reason is None:
            if not (self.at_once and self.casts and self._many_rounds(last - self.trace.n_rounds)):
                reason = self._round()
        return reason

    def _many_rounds(self, most: int) -> bool:
        """Do the same as `_round`, to the bit, for ordinary rounds of AdaBoost with stumps in one compiled call.

        It ends before a round that may stop the run. Return whether there was any round.
        """
        engine, booster, bins, scale = self.setting.engine, self.setting.booster, self.setting.bins, self.scale
        assert isinstance(booster, AdaBoost)
        columns = ColumnLayout(bins.n_bins, bins.has_missing, bins.ordered, NO_NUMBERS, self.counts)
        grid = (scale.floors.each[0], scale.log_full, scale.spare, engine.full >> 4)
        rule = (booster.learning_rate * 0.5, *grid, self.reach, LONGEST)
        start, before = time.perf_counter() - self.started, self.trace.n_rounds
        found = engine.boost_stumps(columns, rule, scale.sums, most)
        if found is None:
            return False
        scale.sums, on_left, numbers, sides, sizes, floors, seconds = found
        scale.floors = Floors((float(floors[-1]),))
        outputs = np.where(sides[:, :, 1] > sides[:, :, 0], 1.0, -1.0)[:, :, None]
        right, wrong = sides.max(axis=2).sum(axis=1).tolist(), sides.min(axis=2).sum(axis=1).tolist()
        steps = [Step(s, (r - w) / (r + w), w / (r + w)) for s, r, w in zip(sizes.tolist(), right, wrong, strict=True)]
        for (j, cut), left, each, h, step in zip(numbers[:, :2].tolist(), on_left, sides, outputs, steps, strict=True):
            self.casts.append(Cast(Voter([Split(ROOT, 1, 2, j, cut, left)], [1, 2], each), h, step))
            self.reach += step.size
            scale.lowest -= step.size
        n_voters = np.arange(before + 1, before + len(steps) + 1)
        history = dict(zip(("step", "edge", "error"), zip(*steps, strict=True), strict=False)) | {
            "objective": numbers[:, 2] / scale.one * exp(np.minimum(-floors, 700.0)),
            "train_error": [missed / self.mass for missed in numbers[:, 3].tolist()],
            "n_voters": n_voters,
            scale.channel.column: floors,
            "seconds": start + seconds,
        }
        self.trace.add_rounds(n_voters, n_voters - 1, sizes, history)
        return True

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
