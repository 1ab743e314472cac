"""Families that QuadBoost searches afresh each round: over bins in shards, or by whole rows.

What the rounds ask for: the best voter for the residuals, the correlations of those there are, and their Gram rows.
"""

from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.ensemble._base import _set_random_states
from sklearn.utils import _safe_indexing, check_random_state
from sklearn.utils.validation import has_fit_parameter

from electorate.algorithms.protocol import Step
from electorate.algorithms.residual import Residual
from electorate.data.bins import Bins
from electorate.data.weights import Weights
from electorate.engines.memory import Threads
from electorate.grid import UNITS, on_grid
from electorate.messages import Change
from electorate.model.casting import casts_of, from_casts
from electorate.model.moves import in_units
from electorate.model.outcome import Cast
from electorate.model.row_ensemble import RowEnsemble
from electorate.model.text import column_names
from electorate.training.classification import no_bins
from electorate.training.quad_pools import NOBODY, Case, Listener, Past, error_of, mean_square
from electorate.training.residual_rounds import AfreshRounds, Found, Move
from electorate.training.stagewise import ALMOST_NOTHING
from electorate.voters import means
from electorate.voters.by_rows import Always, Hearing, RowSearch
from electorate.voters.columns import RealColumns
from electorate.voters.kernel_sections import Section
from electorate.voters.trees import Search, Voter

Floats = NDArray[np.float64]


class Shown:
    """What the voters found so far say of some rows: columns, made when asked for.

    keep: all that were made, for voters that are weighted again and again; else only the last.
    """

    def __init__(self, target: Floats, weights: Weights, say: Any, keep: bool = True) -> None:
        self.target = target
        self.say = say  # of a voter's number: what it says of every row
        self.keep = keep
        self.sums = means.Sums(RealColumns(np.empty((len(target), 0))), weights)
        self.columns: dict[int, Floats] = {}

    def column(self, number: int) -> Floats:
        if number not in self.columns:
            if not self.keep:
                self.columns.clear()
            self.columns[number] = self.say(number)
        return self.columns[number]

    def votes(self, number: int, weight: float) -> NDArray[np.int64]:
        return np.asarray(in_units(weight, self.column(number)))

    def means(self, values: Floats, count: int) -> Floats:
        """Of values, times each of the first so many columns."""
        return np.array([self.sums.mean_of(values, self.column(k)) for k in range(count)])


# ---------------------------------------------------------------- over bins


class BinSearcher:
    """Shards, and the sums of their residuals. One run."""

    def __init__(self, engine: Threads, family: Any, bins: Bins, group: NDArray[np.int64] | None) -> None:
        self.engine, self.family, self.bins = engine, family, bins
        self.booster = Residual()
        engine.start(self.booster, group)
        self.counts = engine.counts().sum(axis=0)
        self.mass = int(self.counts[0].sum())
        self.sums = engine.advance(self.booster, None)
        self.one = self.sums.total
        self.found: list[Found] = []
        self.group = group
        self._shown: Shown | None = None
        self._best: Found | None = None

    @property
    def shown(self) -> Shown:
        """Needed only where voters are re-weighted."""
        if self._shown is None:
            self._shown = shown_in_shards(self.engine, self.found, self.group, keep=True)
        return self._shown

    @property
    def heard(self) -> float:
        return self.sums.total / self.one

    @property
    def error(self) -> float:
        return self.sums.wrong / self.mass

    @property
    def power(self) -> float:
        return 1.0

    def best(self) -> Found:
        if self._best is None:
            voter = self._search(Search(self.sums, self.bins, self.counts, self.engine, signed=True))
            outputs = self.family.outputs(voter, self.engine.n_counted, "label")
            self._best = self._found(voter, outputs)
        return self._best

    def _search(self, search: Search) -> Voter:
        """The best voter. Where one label has almost all the weight, the first one only says so, unless it is right."""
        best: Voter = self.family.best(search)
        total, right = self.sums.total, int(best.sums.max(axis=1).sum())
        if not self.found and total - int(self.sums.totals.max()) < ALMOST_NOTHING * total and right < total:
            return self.family.constant(search)
        return best

    def _found(self, voter: Voter, outputs: Floats) -> Found:
        """A voter and its complement are one, with a weight of either sign: the last leaf says the second label."""
        if not np.all(np.abs(outputs) == 1):
            raise ValueError(
                f"QuadBoost cannot boost {self.family!r}: voters over bins must say -1 or 1, use leaves='label'"
            )
        last = int(np.argmax(voter.leaves))
        outputs = outputs * outputs[last, 0]
        more = voter.sums[:, 1] - voter.sums[:, 0]
        c = sum(int(d) * int(h) for d, h in zip(more, outputs[:, 0], strict=True)) / self.one
        return Found(key_of(voter, outputs), Cast(voter, outputs, Step(0.0, 0.0, 0.0)), c, 1.0)

    def correlations(self) -> Floats:
        residual = np.concatenate([residual_units(shard) for shard in self.engine.shards])
        columns = (self.shown.column(k).astype(np.int64) for k in range(len(self.found)))
        return np.array([int((residual * column).sum()) / self.one for column in columns])

    def gram(self, k: int) -> Floats:
        return self.shown.means(self.shown.column(k), len(self.found))

    def apply(self, moves: list[Move]) -> None:
        changes = [self._change(*move) for move in moves]
        self._best = None
        if len(changes) > 1:
            self.engine.replay(self.booster, changes[:-1])
        self.sums = self.engine.advance(self.booster, changes[-1] if changes else None)

    def _change(self, number: int, old: float, new: float) -> Change:
        cast = self.found[number].voter
        h = (on_grid(new * cast.outputs) - on_grid(old * cast.outputs))[:, 0]
        return Change(cast.voter.splits, cast.voter.leaves, np.stack([-h, h])[None])


def residual_units(shard: Any) -> NDArray[np.int64]:
    """Of every row, label times channel, in units of the grid."""
    labels = np.repeat(shard.group, np.diff(shard.starts))
    return np.asarray((2 * labels - 1) * shard.grid)


def key_of(voter: Voter, outputs: Floats) -> Hashable:
    """Equal for voters that say the same in the same words."""
    asked = sorted((q.node, q.left, q.right, q.column, q.on_left.tobytes()) for q in voter.splits)
    said = sorted(zip(voter.leaves, outputs[:, 0].tolist(), strict=True))
    return tuple(asked), tuple(said)


def shown_in_shards(engine: Threads, found: list[Found], group: NDArray[np.int64] | None, keep: bool) -> Shown:
    shards = engine.shards
    labels = np.concatenate([np.repeat(np.arange(len(shard.starts) - 1), np.diff(shard.starts)) for shard in shards])
    target = (2 * (labels if group is None else group[labels]) - 1).astype(np.float64)

    def say(number: int) -> Floats:
        cast = found[number].voter
        leaf = [shard.leaf_of_rows(cast.voter.splits, cast.voter.leaves) for shard in shards]
        return np.asarray(cast.outputs[np.concatenate(leaf), 0])

    return Shown(target, weights_in_shards(shards), say, keep)


def weights_in_shards(shards: list[Any]) -> Weights:
    """Of all rows, shard by shard."""
    weights: Weights = shards[0].weights
    times = np.concatenate([shard.weights.times for shard in shards])
    real = None if weights.real is None else np.concatenate([shard.weights.real for shard in shards])
    return replace(weights, times=times, real=real)


class BinVoters:
    """A family over bins, for all runs of a fit."""

    def __init__(self, model: Any, bins: Bins, engine: Any, judge: Any) -> None:
        self.bins, self.family = bins, model._family()
        self.engine, self.judge = engine, judge
        self.searchers: list[BinSearcher] = []

    def start(self, model: Any, group: Any, number: int, past: Past) -> AfreshRounds:
        searcher = BinSearcher(self.engine, self.family, self.bins, group)
        self.searchers.append(searcher)
        rounds = AfreshRounds(searcher, model._rules(1.0, 1))
        voters = []
        if past.model is not None:
            rows = [{"edge": 0.0, "error": 0.0}] * past.model.ensemble_.n_voters
            casts = casts_of(past.model.ensemble_, self.bins, past.label, rows)
            voters = [Found(key_of(cast.voter, cast.outputs), cast, 0.0, 1.0) for cast in casts]
        rounds.replay(past.run, past.objective, voters)
        return rounds

    def listener(self, model: Any, group: Any, number: int) -> Listener | None:
        if self.judge is None:
            return None
        shown = shown_in_shards(self.judge, self.searchers[-1].found, group, model.reweight != "never")
        return Listener(shown, model._patience)

    def finish(self, rounds: AfreshRounds) -> None:
        """Every round has told its error."""

    def cast(self, run: int, number: int, weight: float) -> Cast:
        found = self.searchers[run].found[number].voter
        return replace(found, step=Step(weight, 0.0, 0.0))

    def made(self, runs: list[list[Cast]], model: Any, classes: NDArray[Any]) -> dict[str, Any]:
        n_outputs = 1 if len(classes) == 2 else len(classes)
        return {"bins_": self.bins, "ensemble_": from_casts(runs, self.bins, n_outputs)}


# ---------------------------------------------------------------- by rows


@dataclass(frozen=True)
class Scaled:
    """A fitted regressor, divided by the largest it said in training; beyond that it says 1."""

    fitted: Any
    scale: float

    def outputs(self, X: Any) -> Floats:
        return np.clip(np.asarray(self.fitted.predict(X), dtype=np.float64).ravel() / self.scale, -1.0, 1.0)


@dataclass(frozen=True)
class RowSet:
    """The rows of a run that count: what is to be learnt of them, labels as -1 and 1 or numbers, and their weights."""

    X: Any
    target: Floats
    weights: Weights
    labelled: bool


class RowSearcher:
    """Rows, their residuals, and the voters so far. One run. keep: what voters say, for them to be re-weighted."""

    def __init__(self, search: Any, rows: RowSet, keep: bool) -> None:
        self.search, self.X, self.labelled = search, rows.X, rows.labelled
        self.found: list[Found] = []
        target, weights = rows.target, rows.weights
        self.shown = Shown(target, weights, lambda number: self.found[number].voter.outputs(rows.X), keep)
        self.votes = np.zeros(len(target), dtype=np.int64)
        self._best: tuple[Found | None] | None = None

    @property
    def residual(self) -> Floats:
        return np.asarray(self.shown.target - self.votes / UNITS)

    @property
    def heard(self) -> float:
        return self.shown.sums.mean_of(self.residual, self.shown.target)

    @property
    def error(self) -> float:
        """Of numbers, the mean of (y - f)^2."""
        if not self.labelled:
            return mean_square(self.shown.sums, self.residual)
        return error_of(self.shown, self.votes)

    @property
    def power(self) -> float:
        return self.shown.sums.mean_of(self.shown.target, self.shown.target)

    def best(self) -> Found | None:
        if self._best is None:
            one_sided = self.labelled and 1 - abs(self.shown.sums.mean(self.shown.target)) < 2 * ALMOST_NOTHING
            first = Always(1) if one_sided and not self.found else None
            voter = first or self.search(self.X, self.residual, self.shown.sums)
            self._best = (None if voter is None else self._found(voter),)
        return self._best[0]

    def _found(self, voter: Any) -> Found:
        said = np.asarray(voter.outputs(self.X), dtype=np.float64)
        if not np.all(np.abs(said) <= 1):
            row = int(np.flatnonzero(~(np.abs(said) <= 1))[0])
            raise ValueError(f"{type(voter).__name__} says {said[row]} of row {row}: outputs must be from -1 to 1")
        sums = self.shown.sums
        return Found(self.key(voter), voter, sums.mean_of(self.residual, said), sums.mean_of(said, said))

    def key(self, voter: Any) -> Hashable:
        own = getattr(voter, "key", None)
        return own if own is not None else voter if isinstance(voter, Section | Always) else id(voter)

    def known(self, voter: Any) -> Found:
        """One that is there already."""
        said = voter.outputs(self.X)
        return Found(self.key(voter), voter, 0.0, self.shown.sums.mean_of(said, said))

    def correlations(self) -> Floats:
        return self.shown.means(self.residual, len(self.found))

    def gram(self, k: int) -> Floats:
        return self.shown.means(self.shown.column(k), len(self.found))

    def apply(self, moves: list[Move]) -> None:
        self._best = None
        for number, old, new in moves:
            self.votes += self.shown.votes(number, new) - self.shown.votes(number, old)


class RowVoters:
    """A family by rows, or any regressor, for all runs of a fit."""

    def __init__(self, model: Any, case: Case) -> None:
        X: Any = case.examples.table
        self.family, self.n_columns = model._family(), X.shape[1]
        self.case = case
        self.kept = np.flatnonzero(case.examples.weights.times)
        self.X = X if len(self.kept) == X.shape[0] else _safe_indexing(X, self.kept)
        self.names = column_names(model)
        self.by_rows = model._by_rows
        self.random = check_random_state(model.random_state)
        self.searchers: list[RowSearcher] = []

    def start(self, model: Any, group: Any, number: int, past: Past) -> AfreshRounds:
        rows = RowSet(self.X, *target_of(self.case, self.kept, group), self.case.target is None)
        search = self._by_family(type(model).__name__) if self.by_rows else self._by_regressor
        searcher = RowSearcher(search, rows, model.reweight != "never")
        self.searchers.append(searcher)
        rounds = AfreshRounds(searcher, model._rules(rows.weights.given, 1))
        voters = []
        if past.model is not None:
            ensemble = past.model.ensemble_
            mine = np.flatnonzero((ensemble.about == past.label) | (past.label is None)).tolist()
            voters = [searcher.known(ensemble.fitted[k]) for k in mine]
            for _ in range(0 if self.by_rows else past.run.n_rounds):
                _set_random_states(clone(self.family), self.random)
        rounds.replay(past.run, past.objective, voters)
        return rounds

    def _by_family(self, booster: str) -> Any:
        rows: list[RowSearch] = []

        def search(X: Floats, residual: Floats, sums: means.Sums) -> Any:
            if not rows:
                ones = np.ones(len(residual), dtype=np.int64)
                rows.append(RowSearch(np.asfortranarray(X), ones, sums.times, "log_odds", booster, self.names))
            rows[0].grid = sums.on_grid(residual) * sums.times
            voter = self.family.best(rows[0])
            return replace(voter, factor=abs(voter.factor)) if isinstance(voter, Section) else voter

        return search

    def _by_regressor(self, X: Any, residual: Floats, sums: means.Sums) -> Any:
        """Fitted to the residuals; None where it says nothing."""
        fitted = clone(self.family)
        _set_random_states(fitted, self.random)
        weight = sums.times * sums.real
        if np.all(weight == weight[0]):
            fitted.fit(X, residual)
        elif has_fit_parameter(fitted, "sample_weight"):
            fitted.fit(X, residual, sample_weight=weight)
        else:
            raise ValueError(f"{type(fitted).__name__} doesn't support sample_weight.")
        largest = float(np.abs(np.asarray(fitted.predict(X), dtype=np.float64)).max(initial=0.0))
        if not np.isfinite(largest):
            raise ValueError(f"{type(fitted).__name__} predicted a number that is not finite")
        return Scaled(fitted, largest) if largest > 0 else None

    def listener(self, model: Any, group: Any, number: int) -> Listener | None:
        heard = self.case.validation
        if heard is None:
            return None
        there = np.flatnonzero(heard.examples.weights.times)
        target, weights = target_of(heard, there, group)
        rows, found = _safe_indexing(heard.examples.table, there), self.searchers[-1].found
        shown = Shown(target, weights, lambda number: found[number].voter.outputs(rows), model.reweight != "never")
        return Listener(shown, model._patience)

    def finish(self, rounds: AfreshRounds) -> None:
        """Every round has told its error."""

    def cast(self, run: int, number: int, weight: float) -> Cast:
        voter = Voter([], [], NOBODY, self.searchers[run].found[number].voter)
        return Cast(voter, np.ones((1, 1)), Step(weight, 0.0, 0.0))

    def made(self, runs: list[list[Cast]], model: Any, classes: NDArray[Any]) -> dict[str, Any]:
        hearing = Hearing(classes if len(runs) == 1 else np.arange(2), "log_odds", type(model).__name__)
        row_ensemble = RowEnsemble(runs, hearing, self.n_columns, self.family)
        return {"bins_": no_bins(self.n_columns), "ensemble_": row_ensemble}


def target_of(case: Case, kept: NDArray[np.int64], group: NDArray[np.int64] | None) -> tuple[Floats, Weights]:
    """What is to be learnt of the rows that count, and their weights."""
    weights = case.examples.weights
    real = None if weights.real is None else weights.real[kept]
    mine = replace(weights, times=weights.times[kept], real=real)
    if case.target is not None:
        return case.target[kept], mine
    labels = case.examples.labels[kept]
    return (2 * (labels if group is None else group[labels]) - 1).astype(np.float64), mine
