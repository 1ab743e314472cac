"""Finite pools as QuadBoost's voters: stumps as columns of bits, columns of X, and stumps over an engine's shards."""

import math
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from electorate.algorithms.protocol import Step
from electorate.algorithms.quadboost import WeightRules
from electorate.algorithms.residual import Residual, StateItself
from electorate.data.bins import Bins
from electorate.engines.memory import Threads
from electorate.engines.shard import counts_of, sort_by_label
from electorate.exact import Floats
from electorate.families.by_rows import Always
from electorate.families.columns import ColumnVoter, RealColumns, SignColumns, read_columns
from electorate.families.means import Gram, PoolMeans, centred, mirrored, pool_of, silenced
from electorate.families.pool import Candidates
from electorate.families.splits import Finder
from electorate.families.trees import Voter
from electorate.messages import ROOT, Change, Split, Sums
from electorate.model.casting import Cast
from electorate.model.trace import Trace
from electorate.training.pool_rounds import PoolRounds, rounds_of
from electorate.training.quad_data import Group, Intercept, QuadCase, QuadSource, RowTargets, RowVotes, margin_change
from electorate.training.stagewise import ALMOST_NOTHING

NO_SUMS = np.zeros((2, 0), dtype=np.int64)
LABELS = Change([], [ROOT], np.array([[[-1.0], [1.0]]]))  # makes the state of every row its label


class FinitePool(QuadSource):
    """What all runs on a pool share. Complements, where the pool has them, are numbered after the voters.

    Where one label has almost all the weight, `constant` adds a last voter that always outputs it: any other would
    improve the vote by next to nothing, yet get the weight that is due to the label.
    """

    both = False  # whether the complements of the voters belong to the pool
    labelled = True
    constant: bool
    rows: RowTargets
    columns: SignColumns | RealColumns

    def __init__(self, model: Any, unit: float) -> None:
        super().__init__(model, unit)
        self.grams: dict[bool, Gram] = {}

    @property
    def n_voters(self) -> int:
        """The number of voters, without complements."""
        return self.columns.n_columns

    @property
    def total_weight(self) -> float:
        return self.rows.weights.given

    def begin(self, group: Group, n_past: int) -> PoolRounds:
        return self.rounds(group, self.rules(self.total_weight, math.log(2 * max(self.n_voters, 1))))

    def rounds(self, group: Group, rules: WeightRules) -> PoolRounds:
        """Return new rounds; runs with the same voters share their Gram rows."""
        pool = self.means_of(group)
        silent = self.constant and bool(1 - abs(pool.mu[-1]) >= 2 * ALMOST_NOTHING)
        if silent:
            pool = silenced(pool, len(pool.mu) - 1)
        if self.intercept is not None:
            pool = centred(pool, self.intercept.outputs[: len(pool.mu)], self.intercept.target)
        if self.both and rules.reweight != "never" and rules.penalty.kind in (2, 3):  # else they make no difference
            pool = mirrored(pool)
        if silent not in self.grams:
            self.grams[silent] = Gram(pool)
        return rounds_of(pool, rules, self.grams[silent])

    def means_of(self, group: Group) -> PoolMeans:
        return pool_of(self.columns, self.rows.means, self.rows.target(group))

    @cached_property
    def intercept(self) -> Intercept | None:  # type: ignore[override]
        """The intercept of a regressor that has one."""
        if not getattr(self.model, "fit_intercept", False):
            return None
        outputs = self.rows.means.correlate(self.columns, np.ones(len(self.rows.values)))
        return Intercept(self.rows.means.mean(self.rows.values), np.concatenate([outputs, -outputs]))

    def column(self, number: int) -> Floats:
        """The outputs of a voter, or of a complement."""
        outputs = self.columns.column(number % self.n_voters)
        return outputs if number < self.n_voters else -outputs

    def finish(self, rounds: PoolRounds) -> float:
        """Record the training error after the rounds that are kept; return their gap."""
        trace, kept, gap = rounds.trace, rounds.trace.kept, rounds.gap
        if kept.n_rounds < trace.n_rounds:
            again = rounds.again()
            again.resume(kept)
            gap = again.gap
        if kept.n_rounds and self.labelled:
            trace.note("train_error", self._train_error(rounds.group, kept), kept.n_rounds)
        return gap

    def _train_error(self, group: Group, trace: Trace) -> float:
        votes = RowVotes(self.rows, group, self.column)
        for number, weight in trace.last_weights():
            votes.move(number, 0.0, weight)
        return votes.error

    def stored_voters(self, model: Any, label: int | None) -> range:
        """Voters are their numbers."""
        return range(2 * self.n_voters)


def one_sided(case: QuadCase) -> bool:
    """Whether some label has almost all the weight, or almost none."""
    if len(case.classes) < 2:
        return False
    weights = case.examples.weights
    counts = counts_of(weights)
    total = np.bincount(case.examples.labels, weights=counts if len(counts) else weights.times)
    return almost_all(total / total.sum())


def almost_all(share: Floats) -> bool:
    return bool(np.any((share < ALMOST_NOTHING) | (share > 1 - ALMOST_NOTHING)))


class ColumnPool(FinitePool):
    """The columns of X, as they are."""

    def __init__(self, model: Any, unit: float, case: QuadCase) -> None:
        super().__init__(model, unit)
        X: Any = case.examples.table
        self.n_columns = X.shape[1]
        self.constant = one_sided(case)
        rows = X if len(case.counted) == len(X) else X[case.counted]
        self.columns = read_columns(np.column_stack([rows, np.ones(len(rows))]) if self.constant else rows)
        self.rows, self.labelled = case.rows, case.target is None
        if case.validation is not None:
            self.validation = case.validation.rows
            table: Any = case.validation.examples.table
            self.validation_table = table[case.validation.counted]

    def validation_outputs(self, voter: int) -> Floats:
        return self._voter(voter).outputs(self.validation_table)

    def _voter(self, number: int) -> ColumnVoter | Always:
        if number == self.n_columns:
            return Always(1)
        return ColumnVoter(number, 1, float(self.columns.scale[number]))

    def cast(self, voter: int, weight: float) -> Cast:
        return Cast(Voter([], [], NO_SUMS, self._voter(voter)), np.ones((1, 1)), Step(weight, 0.0, 0.0))


class StumpTests(FinitePool):
    """The tests of a `Pool` over bins."""

    def __init__(self, model: Any, unit: float, bins: Bins, engine: Any) -> None:
        super().__init__(model, unit)
        self.bins, self.engine = bins, engine
        self.both = self.family.complements
        counts = engine.counts()
        self.counts = counts.sum(axis=0)
        self.tests = Candidates.of(bins, self.counts, self.family.per_feature)
        share = counts[:, 0].sum(axis=1) / int(counts[:, 0].sum())
        self.constant = len(share) > 1 and almost_all(share)

    @property
    def n_voters(self) -> int:
        return len(self.tests.column) + self.constant

    def cast(self, voter: int, weight: float) -> Cast:
        """A voter outputs 1 above its threshold and -1 below, a complement the opposite."""
        sign, step = 1.0 if voter < self.n_voters else -1.0, Step(weight, 0.0, 0.0)
        number = voter % self.n_voters
        if number == len(self.tests.column):
            return Cast(Voter([], [ROOT], NO_SUMS), np.array([[sign]]), step)
        return Cast(Voter([self._split_of(number)], [1, 2], NO_SUMS), np.array([[-sign], [sign]]), step)

    def _split_of(self, number: int) -> Split:
        found = self.tests.found(number, Finder(self.bins, self.counts), self.counts[None])
        return Split(ROOT, 1, 2, found.column, found.cut, found.on_left)


class StumpPool(StumpTests):
    """A pool as columns of bits over the shards of this process. judge: the engine of the validation rows."""

    def __init__(
        self, model: Any, unit: float, case: QuadCase, bins: Bins, engine: Threads, judge: Threads | None = None
    ) -> None:
        super().__init__(model, unit, bins, engine)
        self.labelled = case.target is None
        self.rows, self.columns = self._in_shards(engine, case)
        if case.validation is not None and judge is not None:
            self.validation, self.validation_bits = self._in_shards(judge, case.validation)

    def _in_shards(self, engine: Threads, case: QuadCase) -> tuple[RowTargets, SignColumns]:
        shards, target = engine.shards, case.target
        if target is not None:  # in the order in which the shards hold the rows
            ends = [len(target) * k // len(shards) for k in range(len(shards) + 1)]
            target = target[np.concatenate([sort_by_label(case.examples, *part)[0] for part in pairwise(ends)])]
        rows = RowTargets.in_shards(shards, target)
        bits = np.full((self.n_voters, -(-len(rows.values) // 8)), 255, dtype=np.uint8)
        for number in range(len(self.tests.column)):
            split = self._split_of(number)
            right = [~shard.left(split) for shard in shards]
            bits[number] = np.packbits(np.concatenate(right), bitorder="little")
        return rows, SignColumns.packed(bits, len(rows.values))

    def validation_outputs(self, voter: int) -> Floats:
        outputs = self.validation_bits.column(voter % self.n_voters)
        return outputs if voter < self.n_voters else -outputs


class EnginePool(StumpTests):
    """A pool by sums over the shards of any engine: labels and Gram rows take an exchange each, a round takes none."""

    def __init__(self, model: Any, unit: float, bins: Bins, engine: Any, judge: Any) -> None:
        super().__init__(model, unit, bins, engine)
        self.judge = judge

    @property
    def total_weight(self) -> float:
        return float(self.engine.given)

    def means_of(self, group: Group) -> PoolMeans:
        """mu from the labels, Gram rows from the outputs of a voter, both as the state of the rows."""
        booster = StateItself()
        self.engine.start(booster, group)
        self.grams.clear()  # rows are sums over the shards as this run leaves them
        now: list[Change] = []

        def sums_of(change: Change) -> Sums:
            """The sums where the rows hold this change, and nothing of the one before it."""
            self.engine.replay(booster, [Change(old.splits, old.leaves, -old.gains) for old in now])
            now[:] = [change]
            sums: Sums = self.engine.advance(booster, change)
            return sums

        def means(sums: Sums) -> Floats:
            """Return the mean of every voter with the state: a voter is -1 on the left and 1 on the right."""
            histogram = sums.histogram[:, : len(self.bins.n_bins)].sum(axis=0, keepdims=True)
            total = np.full(self.n_voters, sums.total, dtype=np.int64)
            total[: len(self.tests.column)] -= 2 * self.tests.left(histogram)[0]
            return np.asarray(total / mass)

        def row(k: int) -> Floats:
            cast = self.cast(k, 1.0)
            gains = np.stack([cast.outputs[:, 0]] * 2)[None]
            return means(sums_of(Change(cast.voter.splits, cast.voter.leaves, gains)))

        labels = sums_of(LABELS)
        mass = int(labels.totals[1] - labels.totals[0])  # of all rows, while the state is their label
        return PoolMeans(means(labels), np.ones(self.n_voters), 1.0, row)

    def _train_error(self, group: Group, trace: Trace) -> float:
        booster = Residual()
        self.engine.start(booster, group)
        self.engine.replay(booster, [margin_change(self.cast(j, 0.0), 0.0, w) for j, w in trace.last_weights()])
        return float(self.engine.advance(booster, None, search=False).wrong / int(self.counts[0].sum()))
