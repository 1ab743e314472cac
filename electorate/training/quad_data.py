"""The rows of a QuadBoost fit: what is to be learnt of them, their votes, and the score of validation rows."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from electorate.algorithms.protocol import Floors
from electorate.algorithms.quadboost import WeightRules
from electorate.algorithms.residual import HighestMargin, ValidationLoss
from electorate.data.weights import Weights
from electorate.engines.shard import Examples
from electorate.exact import UNITS, Floats, on_grid
from electorate.families.means import Means
from electorate.messages import ROOT, Change
from electorate.model.casting import Cast
from electorate.model.moves import in_units
from electorate.model.trace import Trace
from electorate.training.classification import NO_BINS
from electorate.training.pool_rounds import QuadRounds
from electorate.training.quad_losses import SQUARED, TreeLoss

Group = NDArray[np.int64] | None  # [label]: 0 or 1, where one label is fitted against the rest


@dataclass(frozen=True)
class QuadCase:
    """Rows with labels or, in regression, targets from -1 to 1 (all labels are then 0); and validation rows."""

    examples: Examples
    classes: NDArray[Any]
    target: Floats | None = None
    validation: "QuadCase | None" = None

    @property
    def counted(self) -> NDArray[np.int64]:
        """The rows that have a weight."""
        return np.flatnonzero(self.examples.weights.times)

    @property
    def rows(self) -> "RowTargets":
        counted, weights = self.counted, self.examples.weights
        real = None if weights.real is None else weights.real[counted]
        values = self.examples.labels if self.target is None else self.target
        return RowTargets(values[counted], replace(weights, times=weights.times[counted], real=real))


def case_of(data: Any, classes: NDArray[Any], inside: Callable[[Floats], Floats] | None = None) -> QuadCase:
    """The rows of worker data of this process. inside: targets of a regressor as training sees them."""
    cases = {}
    for name, examples in data.examples.items():
        target = None if inside is None else np.where(examples.weights.times > 0, inside(data.y[name]), 0.0)
        cases[name] = QuadCase(examples, classes, target, None)
    return replace(cases["train"], validation=cases.get("validation"))


@dataclass(frozen=True)
class RowTargets:
    """Labels, or targets from -1 to 1, of the rows that count, and their weights."""

    values: NDArray[Any]
    weights: Weights

    @property
    def labelled(self) -> bool:
        return self.values.dtype.kind == "i"

    @cached_property
    def means(self) -> Means:
        return Means(self.weights)

    def target(self, group: Group) -> Floats:
        """Labels as -1 and 1: label 1 of two, or those of a group, against the rest."""
        if not self.labelled:
            return self.values
        labels = self.values if group is None else group[self.values]
        return np.asarray((2 * labels - 1).astype(np.float64))

    @classmethod
    def in_shards(cls, shards: list[Any], target: Floats | None = None) -> "RowTargets":
        """The rows of all shards, one shard after another. target: in this order; else their labels."""
        weights: Weights = shards[0].weights
        times = np.concatenate([shard.weights.times for shard in shards])
        real = None if weights.real is None else np.concatenate([shard.weights.real for shard in shards])
        labels = [np.repeat(np.arange(len(shard.starts) - 1), np.diff(shard.starts)) for shard in shards]
        return cls(np.concatenate(labels) if target is None else target, replace(weights, times=times, real=real))


class RowVotes:
    """The votes of rows in one run, in units of the grid. column: given a voter's number, its output for each row.

    loss: of numbers.
    """

    def __init__(
        self, rows: RowTargets, group: Group, column: Callable[[int], Floats], loss: TreeLoss = SQUARED
    ) -> None:
        self.loss = loss
        self.labelled, self.means = rows.labelled, rows.means
        self.target = rows.target(group)
        self.column = column
        self.votes = np.zeros(len(self.target), dtype=np.int64)

    def move(self, number: int, old: float, new: float) -> None:
        outputs = self.column(number)
        self.votes += in_units(new, outputs) - in_units(old, outputs)

    @property
    def residual(self) -> Floats:
        return np.asarray(self.target - self.votes / UNITS)

    @property
    def error(self) -> float:
        """The weighted share of wrong labels, where a tie is the first label; of numbers, the mean loss."""
        if not self.labelled:
            return self.loss.mean(self.residual, self.means)
        return self.means.mean((np.where(self.votes > 0, 1.0, -1.0) != self.target).astype(np.float64))


class ColumnCache:
    """The outputs of voters: all that were made, where voters are re-weighted; else only the last."""

    def __init__(self, column: Callable[[int], Floats], all_columns: bool) -> None:
        self.make = column
        self.all_columns = all_columns
        self.columns: dict[int, Floats] = {}

    def __call__(self, number: int) -> Floats:
        if number not in self.columns:
            if not self.all_columns:
                self.columns.clear()
            self.columns[number] = self.make(number)
        return self.columns[number]


# ---------------------------------------------------------------- validation


@dataclass(frozen=True)
class Intercept:
    """The best constant at any time: the mean of the target less the mean outputs of the voters times their weights."""

    target: float
    outputs: Floats  # [voter]

    def value(self, weights: dict[int, float]) -> float:
        return self.target - math.fsum(w * float(self.outputs[j]) for j, w in weights.items())


class RowScore:
    """The mean loss of validation rows after every round, or their error; exact, for any order of the rows."""

    def __init__(self, rows: RowVotes, scoring: str, intercept: Intercept | None = None) -> None:
        self.rows, self.scoring, self.intercept = rows, scoring, intercept
        self.weights: dict[int, float] = {}

    def __call__(self, trace: Trace, round: int) -> float:
        for voter, weight in trace.moves_of(round):
            self.rows.move(voter, self.weights.get(voter, 0.0), weight)
            self.weights[voter] = weight
        if self.scoring == "error":
            return self.rows.error
        constant = 0.0 if self.intercept is None else self.intercept.value(self.weights)
        return self.rows.loss.mean(self.rows.target - constant - self.rows.votes / UNITS, self.rows.means)


class EngineScore:
    """The score of validation rows with labels in the shards of an engine, for the rounds of a method."""

    def __init__(self, engine: Any, method: QuadRounds, scoring: str) -> None:
        self.engine, self.scoring, self.cast = engine, scoring, method.cast
        self.low, self.high = ValidationLoss(scoring), HighestMargin(scoring)
        self.weights: dict[int, float] = {}
        engine.start(self.low, method.group)
        self.mass = engine.advance(
            ValidationLoss("loss"), None, Floors((1.0,)), search=False
        ).total  # while all losses are 1
        labels = np.array([[-1.0], [1.0]])
        engine.replay(self.low, [Change([], [ROOT], np.stack([0 * labels, 0 * labels, labels]))])

    def __call__(self, trace: Trace, round: int) -> float:
        changes = []
        for voter, weight in trace.moves_of(round):
            margin = margin_change(self.cast(voter, 0.0), self.weights.get(voter, 0.0), weight)
            gains = np.concatenate([margin.gains, -margin.gains, 0 * margin.gains])
            changes.append(replace(margin, gains=gains))
            self.weights[voter] = weight
        lowest, scale = self.engine.replay(self.low, changes), 1.0
        if self.scoring == "loss":
            highest = -self.engine.replay(self.high, [])
            largest = max((1.0 - lowest) ** 2, (1.0 - highest) ** 2, 1.0)
            scale = 2.0 ** math.ceil(math.log2(largest))
        total: int = self.engine.advance(self.low, None, Floors((scale,)), search=False).total
        return total / self.mass * scale


# ---------------------------------------------------------------- voters


class QuadSource:
    """The source of the voters of a fit: a finite pool, or a family that is searched.

    unit: the difference of the model's targets that is 1 in training.
    """

    bins = NO_BINS
    judge: Any = None  # the engine of the validation rows
    validation: RowTargets | None = None  # or these rows themselves
    stores_outputs = False  # of all voters, for validation rows
    intercept: Intercept | None = None
    loss: TreeLoss = SQUARED

    def __init__(self, model: Any, unit: float) -> None:
        self.model, self.unit, self.family = model, unit, model._family()
        self.reweights: bool = model.reweight != "never"
        self.scoring: str = getattr(model, "scoring", "loss")

    def rules(self, total_weight: float, log_count: float = 0.0) -> WeightRules:
        """How weights are set. log_count: of the voters, or of the ways in which they label the rows."""
        rules: WeightRules = self.model._rules(self.unit, total_weight, log_count)
        return rules

    def start(self, group: Group, past: Trace, voters: Sequence[Any]) -> QuadRounds:
        """The rounds of one run, resumed from a trace of these voters."""
        rounds = self.begin(group, past.n_rounds)
        rounds.make_cast, rounds.group = self.cast, group
        rounds.resume(past, voters)
        return rounds

    def begin(self, group: Group, n_past: int) -> QuadRounds:
        """A run before its first round. n_past: the rounds that it will resume from."""
        raise NotImplementedError

    def cast(self, voter: Any, weight: float) -> Cast:
        raise NotImplementedError

    def stored_voters(self, model: Any, label: int | None) -> Sequence[Any]:
        """Return the voters of a fitted model, or of one label's run."""
        raise NotImplementedError

    def validation_outputs(self, voter: Any) -> Floats:
        raise NotImplementedError

    def score(self, rounds: QuadRounds) -> "EngineScore | RowScore | None":
        """The score of the validation rows after every round."""
        if self.judge is not None:
            return EngineScore(self.judge, rounds, self.scoring)
        if self.validation is None:
            return None

        def column(number: int) -> Floats:
            return self.validation_outputs(rounds.voter(number))

        rows = RowVotes(self.validation, rounds.group, ColumnCache(column, self.stores_outputs), self.loss)
        return RowScore(rows, self.scoring, self.intercept)

    def finish(self, rounds: Any) -> float:
        """The gap after the last round."""
        return float(rounds.gap)


def margin_change(cast: Cast, old: float, new: float) -> Change:
    """How the margins y f of rows with two labels change when a voter gets a new weight."""
    gains = (on_grid(new * cast.outputs) - on_grid(old * cast.outputs))[:, 0]
    return Change(cast.voter.splits, cast.voter.leaves, np.stack([-gains, gains])[None])
