"""Finite pools as QuadBoost sees them: what the voters say as columns over the rows that count, and their means.

A pool of stumps and a table of columns share everything but how a column is made.
"""

import math
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from electorate.algorithms.protocol import Step
from electorate.data.bins import Bins
from electorate.data.weights import Weights
from electorate.engines.gram import Gram, PoolState
from electorate.engines.memory import Threads
from electorate.engines.shard import Examples, counts_of, sort_by_label
from electorate.grid import UNITS
from electorate.messages import ROOT, Split
from electorate.model.casting import from_casts
from electorate.model.moves import first_come, in_units
from electorate.model.outcome import Cast
from electorate.model.row_ensemble import RowEnsemble
from electorate.training.classification import no_bins
from electorate.training.pool_rounds import PoolRounds, Run
from electorate.training.stagewise import ALMOST_NOTHING
from electorate.training.theory_rounds import rounds_of
from electorate.voters import means
from electorate.voters.by_rows import Always, Hearing
from electorate.voters.columns import ColumnVoter, RealColumns, SignColumns, read_columns
from electorate.voters.pool import Candidates
from electorate.voters.splits import Finder
from electorate.voters.trees import Voter

Floats = NDArray[np.float64]
NOBODY = np.zeros((2, 0), dtype=np.int64)


@dataclass(frozen=True)
class Case:
    """Rows with labels or, in regression, numbers from -1 to 1 (all labels are then 0); and rows to stop by."""

    examples: Examples
    classes: NDArray[Any]
    validation: "Case | None" = None
    target: Floats | None = None


@dataclass(frozen=True)
class Past:
    """What a run has behind it: its moves, the objective after each of its rounds, the model it was part of."""

    run: Run
    objective: Floats
    model: Any = None
    label: int | None = None


@dataclass(frozen=True)
class Said:
    """What the voters of a pool say of the rows that count, their targets from -1 to 1, and their weights."""

    columns: SignColumns | RealColumns
    target: Floats  # what is to be learnt, from -1 to 1; or the label of a row
    weights: Weights
    labelled: bool = True

    @cached_property
    def sums(self) -> means.Sums:
        return means.Sums(self.columns, self.weights)

    def about(self, group: NDArray[np.int64] | None) -> "Said":
        """The labels as -1 and 1: label 1 of two, or those of a group, against the rest."""
        if not self.labelled:
            return self
        seen = self.target.astype(np.int64)
        made = replace(self, target=(2 * (seen if group is None else group[seen]) - 1).astype(np.float64))
        made.__dict__["sums"] = self.sums
        return made

    def votes(self, number: int, weight: float) -> NDArray[np.int64]:
        """What a voter of this weight adds to every row, in units of the grid; complements come after the voters."""
        n = self.columns.n_columns
        sign = 1.0 if number < n else -1.0
        return np.asarray(in_units(weight * sign, self.columns.column(number % n)))


@dataclass(frozen=True)
class Patience:
    """When to stop: by which score, which improvement of it counts, for how many rounds to wait for one."""

    scoring: str
    tol: float
    rounds: int


@dataclass(frozen=True)
class Centring:
    """A constant that is the best one at any time: the mean of the target less what the voters say on average."""

    target: float
    said: Floats  # [voter]

    def constant(self, weight: dict[int, float]) -> float:
        return self.target - math.fsum(w * float(self.said[j]) for j, w in weight.items())


class Listener:
    """Rows to stop by: after every round the mean of (y - f)^2, or the error; exact, for any order of the rows."""

    def __init__(self, said: Any, patience: Patience, centring: Centring | None = None) -> None:
        self.said = said
        self.patience = patience
        self.centring = centring
        self.votes = np.zeros(len(said.target), dtype=np.int64)
        self.weight: dict[int, float] = {}
        self.heard = 0
        self.best, self.best_round = math.inf, 0

    def after(self, run: Run) -> str | None:
        """Listen to the rounds that are new; rounds after the stop are forgotten."""
        for number in range(len(run.validation) + 1, run.n_rounds + 1):
            score = self._score(run, number)
            run.validation.append(score)
            if score < self.best - self.patience.tol or self.best_round == 0:
                self.best, self.best_round = score, number
            run.best_round = self.best_round
            if number - self.best_round >= self.patience.rounds:
                return "validation"
        return None

    def _score(self, run: Run, number: int) -> float:
        high = int(np.searchsorted(run.places[:, 0], number, side="right"))
        voters, weights = run.places[self.heard : high, 1], run.moves[self.heard : high, 0]
        for voter, weight in zip(voters.tolist(), weights.tolist(), strict=True):
            self.votes += self.said.votes(voter, weight) - self.said.votes(voter, self.weight.get(voter, 0.0))
            self.weight[voter] = weight
        self.heard = high
        if self.patience.scoring == "error":
            return error_of(self.said, self.votes)
        constant = 0.0 if self.centring is None else self.centring.constant(self.weight)
        return mean_square(self.said.sums, self.said.target - constant - self.votes / UNITS)


def mean_square(sums: means.Sums, apart: Floats) -> float:
    """The weighted mean of squares of any size."""
    square = apart**2
    scale = 2.0 ** math.ceil(math.log2(max(float(square.max(initial=0.0)), 1.0)))
    return sums.mean(square / scale) * scale


def error_of(said: Any, votes: NDArray[np.int64]) -> float:
    """The weighted share of rows whose label the votes get wrong; a tie is the first label."""
    return said.sums.mean((np.where(votes > 0, 1.0, -1.0) != said.target).astype(np.float64))


# ---------------------------------------------------------------- pools
#
# Where one label has almost all the weight the last voter of a pool is the constant one: see `one_sided`.


class FinitePool:
    """What all runs on a pool share. Subclasses say what the voters are."""

    said: Said
    heard: Said | None
    both: bool  # whether the complements of the voters belong to it
    constant: bool

    def __init__(self) -> None:
        self.grams: dict[int | None, Gram] = {}  # by the voter that is silent
        self.runs: list[tuple[Any, Any]] = []

    def voters(self, said: Said, model: Any) -> tuple[means.Pool, int | None]:
        """By their means; and which is silent."""
        voters = means.Columns(said.sums, said.target)
        if self.constant and 1 - abs(voters.mu[-1]) >= 2 * ALMOST_NOTHING:
            voters.silence(len(voters.mu) - 1)
        whole: means.Pool = voters
        if getattr(model, "fit_intercept", False):
            whole = means.Centred(voters, said.target)
        return self.mirrored(whole, model), voters.silent

    def mirrored(self, voters: means.Pool, model: Any) -> means.Pool:
        """With complements, where they make a difference."""
        shared = model.reweight != "never" and model.penalty in ("l2", "linf")
        wanted = self.both and shared and model.lam != "theory"
        return means.Mirrored(voters) if wanted else voters

    @property
    def n_voters(self) -> int:
        """Without complements."""
        return self.said.columns.n_columns

    def start(self, model: Any, group: Any, number: int, past: Past) -> PoolRounds:
        said = self.said.about(group)
        whole, silent = self.voters(said, model)
        rules = model._rules(said.weights.given, said.columns.n_columns)
        rounds = rounds_of(self.state(whole, silent), rules)
        rounds.replay(past.run, past.objective)
        self.runs.append((said, rounds))
        return rounds

    def state(self, whole: means.Pool, silent: int | None) -> PoolState:
        """Before any round; runs with the same voters share their Gram rows."""
        state = PoolState(whole, self.grams.get(silent))
        self.grams[silent] = state.gram
        return state

    def listener(self, model: Any, group: Any, number: int) -> Listener | None:
        if self.heard is None:
            return None
        return Listener(self.heard.about(group), model._patience, self.centring(model))

    def centring(self, model: Any) -> Centring | None:
        """Of a regressor with an intercept."""
        if not getattr(model, "fit_intercept", False):
            return None
        spoken = self.said.sums.correlate(np.ones(len(self.said.target)))
        return Centring(self.said.sums.mean(self.said.target), np.concatenate([spoken, -spoken]))

    def finish(self, rounds: PoolRounds) -> None:
        """The training error and the gap of what is kept."""
        said, run = self.runs[-1][0], rounds.run
        kept = run.kept
        if said.labelled:
            votes = np.zeros(len(said.target), dtype=np.int64)
            for number, weight in last_weights(kept.places[:, 1], kept.moves[:, 0]):
                votes += said.votes(number, weight)
            run.train_error = error_of(said, votes)
        if kept.n_rounds < run.n_rounds:
            again = rounds_of(rounds.state.afresh(), rounds.rules)
            again.replay(kept, kept.history()["objective"])
            run.gap = again.gap

    def cast(self, run: int, number: int, weight: float) -> Cast:
        raise NotImplementedError


def last_weights(numbers: NDArray[np.int64], weights: Floats) -> list[tuple[int, float]]:
    """Every voter once, in the order in which they came, with its last weight."""
    last = dict(zip(numbers.tolist(), weights.tolist(), strict=True))
    return [(number, last[number]) for number in first_come(numbers).tolist()]


def one_sided(case: Case) -> bool:
    """Whether some label has almost all the weight, or almost none: a pool then needs a voter that only says so.

    Any other would better the vote by next to nothing, yet be obeyed for what is due to the label.
    """
    if len(case.classes) < 2:
        return False
    weights = case.examples.weights
    counts = counts_of(weights)
    total = np.bincount(case.examples.labels, weights=counts if len(counts) else weights.times)
    share = total / total.sum()
    return bool(np.any((share < ALMOST_NOTHING) | (share > 1 - ALMOST_NOTHING)))


class StumpPool(FinitePool):
    """The tests of a `Pool` as columns of bits over binned rows."""

    def __init__(self, model: Any, case: Case, bins: Bins, engine: Threads, judge: Threads | None) -> None:
        super().__init__()
        self.bins = bins
        self.both = model._family().complements
        self.counts = engine.counts().sum(axis=0)
        self.tests = Candidates.of(bins, self.counts, model._family().per_feature)
        self.constant = one_sided(case)
        self.said = self._said(engine, case)
        self.heard: Said | None = None
        if case.validation is not None and judge is not None:
            self.heard = self._said(judge, case.validation)

    def _split_of(self, number: int) -> Split:
        found = self.tests.found(number, Finder(self.bins, self.counts), self.counts[None])
        return Split(ROOT, 1, 2, found.column, found.cut, found.on_left)

    def _said(self, engine: Threads, case: Case) -> Said:
        shards = engine.shards
        labels = [np.repeat(np.arange(len(shard.starts) - 1), np.diff(shard.starts)) for shard in shards]
        n_rows = sum(map(len, labels))
        bits = np.full((len(self.tests.column) + self.constant, -(-n_rows // 8)), 255, dtype=np.uint8)
        for number in range(len(self.tests.column)):
            split = self._split_of(number)
            right = [~shard.left(split) for shard in shards]
            bits[number] = np.packbits(np.concatenate(right), bitorder="little")
        weights = case.examples.weights
        times = np.concatenate([shard.weights.times for shard in shards])
        real = None if weights.real is None else np.concatenate([shard.weights.real for shard in shards])
        kept = replace(weights, times=times, real=real)
        if case.target is not None:
            return Said(SignColumns.packed(bits, n_rows), in_shards(engine, case), kept, False)
        return Said(SignColumns.packed(bits, n_rows), np.concatenate(labels).astype(np.float64), kept)

    def cast(self, run: int, number: int, weight: float) -> Cast:
        """A voter says the second label above its threshold, its complement the contrary."""
        n = self.n_voters
        sign = 1.0 if number < n else -1.0
        step = Step(weight, 0.0, 0.0)
        if number % n == len(self.tests.column):
            return Cast(Voter([], [ROOT], NOBODY), np.array([[sign]]), step)
        return Cast(Voter([self._split_of(number % n)], [1, 2], NOBODY), np.array([[-sign], [sign]]), step)

    def made(self, runs: list[list[Cast]], model: Any, classes: NDArray[Any]) -> dict[str, Any]:
        n_outputs = 1 if len(classes) == 2 else len(classes)
        return {"bins_": self.bins, "ensemble_": from_casts(runs, self.bins, n_outputs)}


class ColumnPool(FinitePool):
    """The columns of X, as they are."""

    both = False

    def __init__(self, case: Case) -> None:
        super().__init__()
        X: Floats = case.examples.table  # type: ignore[assignment]
        self.n_columns = X.shape[1]
        self.constant = one_sided(case)
        kept = np.flatnonzero(case.examples.weights.times)
        self.columns = read_columns(self._rows(X, kept))
        self.said = self._said(self.columns, kept, case)
        self.heard: Said | None = None
        if case.validation is not None:
            there = np.flatnonzero(case.validation.examples.weights.times)
            rows = case.validation.examples.table[there]  # type: ignore[index]
            outputs = [self._voter(j).outputs(rows) for j in range(self.columns.n_columns)]
            heard = RealColumns(np.empty((len(there), 0)))
            heard.values, heard.n_columns = np.array(outputs), len(outputs)  # scaled by training
            self.heard = self._said(heard, there, case.validation)

    def _rows(self, X: Floats, kept: NDArray[np.int64]) -> Floats:
        rows = X if len(kept) == len(X) else X[kept]
        return np.column_stack([rows, np.ones(len(rows))]) if self.constant else rows

    def _said(self, columns: SignColumns | RealColumns, kept: NDArray[np.int64], case: Case) -> Said:
        weights = case.examples.weights
        real = None if weights.real is None else weights.real[kept]
        mine = replace(weights, times=weights.times[kept], real=real)
        if case.target is not None:
            return Said(columns, case.target[kept], mine, False)
        return Said(columns, case.examples.labels[kept].astype(np.float64), mine)

    def _voter(self, number: int) -> ColumnVoter | Always:
        if number == self.n_columns:
            return Always(1)
        return ColumnVoter(number, 1, float(self.columns.scale[number]))

    def cast(self, run: int, number: int, weight: float) -> Cast:
        return Cast(Voter([], [], NOBODY, self._voter(number)), np.ones((1, 1)), Step(weight, 0.0, 0.0))

    def made(self, runs: list[list[Cast]], model: Any, classes: NDArray[Any]) -> dict[str, Any]:
        hearing = Hearing(classes if len(runs) == 1 else np.arange(2), "log_odds", type(model).__name__)
        row_ensemble = RowEnsemble(runs, hearing, self.n_columns, model._family())
        return {"bins_": no_bins(self.n_columns), "ensemble_": row_ensemble}


def in_shards(engine: Threads, case: Case) -> Floats:
    """The targets of the rows that count, in the order in which the shards hold them."""
    assert case.target is not None
    n_shards = len(engine.shards)
    ends = [len(case.target) * k // n_shards for k in range(n_shards + 1)]
    orders = [sort_by_label(case.examples, low, high)[0] for low, high in pairwise(ends)]
    return np.asarray(case.target[np.concatenate(orders)])
