"""QuadBoost's training on finite pools: what the voters say as columns, their means, the rounds, and back to a model.

Nothing of the model changes before all is done. Pools and columns share everything but how a column is made.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from electorate.boosting.booster import Step
from electorate.boosting.grid import UNITS
from electorate.boosting.loop import ALMOST_NOTHING, Cast
from electorate.boosting.pool_rounds import Gram, PoolRounds, Run
from electorate.council import Council
from electorate.data.bins import Bins, find_bins
from electorate.data.weights import Weights
from electorate.engines.messages import ROOT, Question
from electorate.engines.pool import Pool as ThreadPool
from electorate.engines.pool import count_jobs
from electorate.engines.shard import counts_of
from electorate.engines.threads import Threads
from electorate.ensemble import from_casts
from electorate.estimators import inputs, training
from electorate.estimators.callbacks import Hooks
from electorate.estimators.training import Problem, no_bins
from electorate.moves import Moves, first_come, in_units
from electorate.voters import means
from electorate.voters.by_rows import Always, Hearing
from electorate.voters.columns import ColumnVoter, RealColumns, SignColumns, read_columns
from electorate.voters.pool import Tests
from electorate.voters.questions import Finder
from electorate.voters.trees import Voter

Floats = NDArray[np.float64]
Grams = dict[int | None, Gram]  # by the voter that is silent
NOBODY = np.zeros((2, 0), dtype=np.int64)


@dataclass(frozen=True)
class Said:
    """What the voters of a pool say of the rows that count, their targets from -1 to 1, and their weights."""

    columns: SignColumns | RealColumns
    target: Floats  # the label of a row as a number, or what is to be learnt itself
    weights: Weights

    @cached_property
    def sums(self) -> means.Sums:
        return means.Sums(self.columns, self.weights)

    def about(self, group: NDArray[np.int64] | None) -> "Said":
        """The labels as -1 and 1: label 1 of two, or those of a group, against the rest."""
        seen = self.target.astype(np.int64)
        made = replace(self, target=(2 * (seen if group is None else group[seen]) - 1).astype(np.float64))
        made.__dict__["sums"] = self.sums
        return made

    def votes(self, number: int, weight: float) -> NDArray[np.int64]:
        """What a voter of this weight adds to every row, in units of the grid; complements come after the voters."""
        n = self.columns.n_columns
        sign = 1.0 if number < n else -1.0
        return np.asarray(in_units(weight * sign, self.columns.column(number % n)))


class Listener:
    """Rows to stop by: after every round the mean of (y - f)^2, or the error; exact, for any order of the rows."""

    def __init__(self, said: Said, scoring: str, tol: float, patience: int) -> None:
        self.said = said
        self.scoring = scoring
        self.tol = tol
        self.patience = patience
        self.votes = np.zeros(len(said.target), dtype=np.int64)
        self.weight: dict[int, float] = {}
        self.heard = 0
        self.best, self.best_round = math.inf, 0

    def after(self, run: Run) -> str | None:
        """Listen to the rounds that are new; rounds after the stop are forgotten."""
        for number in range(len(run.validation) + 1, run.n_rounds + 1):
            score = self._score(run, number)
            run.validation.append(score)
            if score < self.best - self.tol or self.best_round == 0:
                self.best, self.best_round = score, number
            run.best_round = self.best_round
            if number - self.best_round >= self.patience:
                return "validation"
        return None

    def _score(self, run: Run, number: int) -> float:
        high = int(np.searchsorted(run.places[:, 0], number, side="right"))
        voters, weights = run.places[self.heard : high, 1], run.moves[self.heard : high, 0]
        for voter, weight in zip(voters.tolist(), weights.tolist(), strict=True):
            self.votes += self.said.votes(voter, weight) - self.said.votes(voter, self.weight.get(voter, 0.0))
            self.weight[voter] = weight
        self.heard = high
        if self.scoring == "error":
            return error_of(self.said, self.votes)
        apart = (self.said.target - self.votes / UNITS) ** 2
        scale = 2.0 ** math.ceil(math.log2(max(float(apart.max(initial=0.0)), 1.0)))
        return self.said.sums.mean(apart / scale) * scale


def error_of(said: Said, votes: NDArray[np.int64]) -> float:
    """The weighted share of rows whose label the votes get wrong; a tie is the first label."""
    return said.sums.mean((np.where(votes > 0, 1.0, -1.0) != said.target).astype(np.float64))


# ---------------------------------------------------------------- pools


# Where one label has almost all the weight the last voter of a pool is the constant one: see `one_sided`.


class StumpPool:
    """The tests of a `Pool` as columns of bits over binned rows."""

    def __init__(self, model: Any, problem: Problem, bins: Bins, threads: ThreadPool) -> None:
        self.bins = bins
        self.both = model._family().complements
        n_shards = model._n_shards or threads.n_jobs
        engine = Threads(problem.examples, bins, threads, n_shards)
        self.counts = engine.counts().sum(axis=0)
        self.tests = Tests.of(bins, self.counts, model._family().per_feature)
        self.constant = one_sided(problem)
        self.said = self._said(engine, problem)
        self.heard: Said | None = None
        if problem.validation is not None:
            listening = Threads(problem.validation.examples, bins, threads, n_shards)
            self.heard = self._said(listening, problem.validation)

    def _question(self, number: int) -> Question:
        found = self.tests.found(number, Finder(self.bins, self.counts), self.counts[None])
        return Question(ROOT, 1, 2, found.column, found.cut, found.on_left)

    def _said(self, engine: Threads, problem: Problem) -> Said:
        shards = engine.shards
        labels = [np.repeat(np.arange(len(shard.starts) - 1), np.diff(shard.starts)) for shard in shards]
        n_rows = sum(map(len, labels))
        bits = np.full((len(self.tests.column) + self.constant, -(-n_rows // 8)), 255, dtype=np.uint8)
        for number in range(len(self.tests.column)):
            question = self._question(number)
            right = [~question.on_left[shard.column(question.column)] for shard in shards]
            bits[number] = np.packbits(np.concatenate(right), bitorder="little")
        weights = problem.examples.weights
        times = np.concatenate([shard.weights.times for shard in shards])
        real = None if weights.real is None else np.concatenate([shard.weights.real for shard in shards])
        target = np.concatenate(labels).astype(np.float64)
        return Said(SignColumns.packed(bits, n_rows), target, replace(weights, times=times, real=real))

    def cast(self, number: int, weight: float) -> Cast:
        """A voter says the second label above its threshold, its complement the contrary."""
        n = self.said.columns.n_columns
        sign = 1.0 if number < n else -1.0
        step = Step(weight, 0.0, 0.0)
        if number % n == len(self.tests.column):
            return Cast(Voter([], [ROOT], NOBODY), np.array([[sign]]), step)
        return Cast(Voter([self._question(number % n)], [1, 2], NOBODY), np.array([[-sign], [sign]]), step)

    def made(self, runs: list[list[Cast]], model: Any, problem: Problem) -> dict[str, Any]:
        n_outputs = 1 if len(problem.classes) == 2 else len(problem.classes)
        return {"bins_": self.bins, "ensemble_": from_casts(runs, self.bins, n_outputs)}


class ColumnPool:
    """The columns of X, as they are."""

    both = False

    def __init__(self, X: Floats, problem: Problem, X_val: Floats | None) -> None:
        self.n_columns = X.shape[1]
        self.constant = one_sided(problem)
        kept = np.flatnonzero(problem.examples.weights.times)
        self.columns = read_columns(self._rows(X, kept))
        self.said = self._said(self.columns, kept, problem)
        self.heard: Said | None = None
        if problem.validation is not None and X_val is not None:
            there = np.flatnonzero(problem.validation.examples.weights.times)
            rows = X_val[there]
            outputs = [self._voter(j).outputs(rows) for j in range(self.columns.n_columns)]
            heard = RealColumns(np.empty((len(there), 0)))
            heard.values, heard.n_columns = np.array(outputs), len(outputs)  # scaled by training
            self.heard = self._said(heard, there, problem.validation)

    def _rows(self, X: Floats, kept: NDArray[np.int64]) -> Floats:
        rows = X if len(kept) == len(X) else X[kept]
        return np.column_stack([rows, np.ones(len(rows))]) if self.constant else rows

    def _said(self, columns: SignColumns | RealColumns, kept: NDArray[np.int64], problem: Problem) -> Said:
        weights = problem.examples.weights
        real = None if weights.real is None else weights.real[kept]
        target = problem.labels[kept].astype(np.float64)
        return Said(columns, target, replace(weights, times=weights.times[kept], real=real))

    def _voter(self, number: int) -> ColumnVoter | Always:
        if number == self.n_columns:
            return Always(1)
        return ColumnVoter(number, 1, float(self.columns.scale[number]))

    def cast(self, number: int, weight: float) -> Cast:
        return Cast(Voter([], [], NOBODY, self._voter(number)), np.ones((1, 1)), Step(weight, 0.0, 0.0))

    def made(self, runs: list[list[Cast]], model: Any, problem: Problem) -> dict[str, Any]:
        hearing = Hearing(problem.classes if len(runs) == 1 else np.arange(2), "log_odds", type(model).__name__)
        council = Council(runs, hearing, self.n_columns, model._family())
        return {"bins_": no_bins(self.n_columns), "ensemble_": council}


# ---------------------------------------------------------------- a fit


class PoolHooks(Hooks):
    """Callbacks look at runs on a pool as they do at those of the loop."""

    @property
    def rows(self) -> Any:
        """The history of this run, made when asked for."""
        return self.now.rows

    @property
    def so_far(self) -> list[Any]:
        if any(outcome is self.now for outcome in self.finished):
            return self.finished
        return [*self.finished, self.now.cut(self.n_whole)]  # type: ignore[attr-defined]


def run(model: Any, table: Any, problem: Problem, table_val: Any, context: Any, data: tuple[Any, Any]) -> None:
    """Fit the model by the voters of a finite pool."""
    before = _before(model)
    if model._by_rows:
        _run_on(ColumnPool(table, problem, table_val), model, problem, before, context, data)
        return
    jobs = count_jobs(model.n_jobs, problem.table.n_rows * problem.table.n_columns)
    with ThreadPool(jobs) as threads:
        categorical = inputs.category_columns(problem.table, model.categorical_features)
        bins = find_bins(problem.table, problem.examples.weights.whole, categorical, model.max_bins, threads)
        if before is not None:
            training._refuse_other_data(before, bins, problem.classes)
        pool = StumpPool(model, problem, bins, threads)
    _run_on(pool, model, problem, before, context, data)


def _run_on(pool: Any, model: Any, problem: Problem, before: Any, context: Any, data: tuple[Any, Any]) -> None:
    groups = training._groups(model, problem)
    pasts = [_past(before, label) for label, _ in groups]

    def make(outcomes: list[Any]) -> dict[str, Any]:
        return fitted(model, problem, pool, [*outcomes, *(past for past, _ in pasts[len(outcomes) :])])

    with PoolHooks(model, context, data, make, len(groups)) as hooks:
        gram: Grams = {}
        for (_, group), past in zip(groups, pasts, strict=True):
            if len(problem.classes) == 1:
                hooks.finished.append(Run(stop_reason="no_edge"))  # type: ignore[arg-type]
                break
            hooks.finished.append(_run_one(pool, model, group, past, hooks, gram))


def _run_one(pool: Any, model: Any, group: Any, past: tuple[Run, Floats], hooks: Hooks, gram: Grams) -> Any:
    """One run: two labels, or one against the rest; all share the Gram matrix."""
    hooks.prepare()
    said = pool.said.about(group)
    voters = _voters(said, pool.constant)
    rules = model._rules(said.weights.given, len(voters.mu))
    whole = means.Mirrored(voters) if pool.both and rules.reweight != "never" and rules.penalty.kind > 1 else voters
    rounds = PoolRounds(whole, rules, gram.get(voters.silent))
    gram[voters.silent] = rounds.gram
    rounds.replay(*past)
    listener = None
    if pool.heard is not None:
        listener = Listener(pool.heard.about(group), model.scoring, model.tol, model.n_iter_no_change)
    watchers: list[Any] = [listener.after] if listener is not None else []
    if hooks.wanted:
        watchers.append(lambda run: hooks.after(None, run))  # type: ignore[arg-type]
    hooks.replay(rounds.run)  # type: ignore[arg-type]
    reason = listener.after(rounds.run) if listener is not None else None
    if reason is not None:
        rounds.run = rounds.run.cut(len(rounds.run.validation))
    run = rounds.advance(model.n_estimators if reason is None else 0, _all(watchers))
    run.stop_reason = reason or run.stop_reason
    run.train_error = _train_error(said, run.kept)
    if run.kept.n_rounds < run.n_rounds:
        run.gap = _gap(PoolRounds(whole, rules, rounds.gram), run.kept)
    return run


def one_sided(problem: Problem) -> bool:
    """Whether some label has almost all the weight, or almost none: a pool then needs a voter that only says so.

    Any other would better the vote by next to nothing, yet be obeyed for what is due to the label.
    """
    counts = counts_of(problem.examples.weights)
    total = np.bincount(problem.labels, weights=counts if len(counts) else problem.examples.weights.times)
    share = total / total.sum()
    return bool(np.any((share < ALMOST_NOTHING) | (share > 1 - ALMOST_NOTHING)))


def _voters(said: Said, constant: bool) -> means.Columns:
    """The pool; the constant voter is silent in those runs that are not one-sided."""
    voters = means.Columns(said.sums, said.target)
    if constant and 1 - abs(voters.mu[-1]) >= 2 * ALMOST_NOTHING:
        voters.silence(len(voters.mu) - 1)
    return voters


def _gap(rounds: PoolRounds, kept: Run) -> float:
    rounds.replay(kept, kept.history()["objective"])
    return rounds.gap


def _all(watchers: list[Callable[[Run], str | None]]) -> Callable[[Run], str | None] | None:
    """The first reason that one of them gives; all get to see every round."""
    if not watchers:
        return None
    return lambda run: next(filter(None, [watcher(run) for watcher in watchers]), None)


def _train_error(said: Said, run: Run) -> float:
    votes = np.zeros(len(said.target), dtype=np.int64)
    for number, weight in last_weights(run.places[:, 1], run.moves[:, 0]):
        votes += said.votes(number, weight)
    return error_of(said, votes)


def last_weights(numbers: NDArray[np.int64], weights: Floats) -> list[tuple[int, float]]:
    """Every voter once, in the order in which they came, with its last weight."""
    last = dict(zip(numbers.tolist(), weights.tolist(), strict=True))
    return [(number, last[number]) for number in first_come(numbers).tolist()]


def _before(model: Any) -> Any:
    """The model to go on from: a checkpoint's, the fitted one for a warm start, or None."""
    before = getattr(model, "_resume", None)
    if before is None and model.warm_start and hasattr(model, "ensemble_"):
        before = model
    rounds = int(before.moves_.round.max(initial=0)) if before is not None else 0
    if rounds > model.n_estimators:
        raise ValueError(
            f"n_estimators={model.n_estimators} is less than the {rounds} rounds there are: a warm start can only add"
        )
    return before


def _past(before: Any, label: int | None) -> tuple[Run, Floats]:
    """What a run has behind it, and the objective after each of its rounds."""
    if before is None:
        return Run(), np.empty(0)
    places, weights = before.moves_.about(label)
    history = before.history_
    mine = slice(None) if label is None else history["label"] == label
    moves = np.zeros((len(weights), 5))
    moves[:, 0] = weights
    run = Run(places=places, moves=moves)
    run.seconds = history["seconds"][mine][: run.n_rounds]
    return run, history["objective"][mine][: run.n_rounds]


# ---------------------------------------------------------------- the fitted model


def fitted(model: Any, problem: Problem, pool: Any, runs: list[Run]) -> dict[str, Any]:
    """The attributes of the model these runs make."""
    kept = [run.kept for run in runs]
    casts = [[pool.cast(*one) for one in last_weights(run.places[:, 1], run.moves[:, 0])] for run in kept]
    attributes = {
        "classes_": problem.classes,
        "n_classes_": len(problem.classes),
        "estimator_": model._family(),
        "moves_": Moves.of([(run.places, run.moves[:, 0]) for run in kept]),
        "history_": history_of(runs),
        "stop_reason_": max(runs, key=lambda run: run.n_rounds).stop_reason,
        "gap_": max(run.gap for run in runs),
        **pool.made(casts, model, problem),
    }
    if problem.validation is not None:
        attributes["best_round_"] = max(run.n_rounds for run in kept)
    return attributes


def history_of(runs: list[Run]) -> dict[str, NDArray[Any]]:
    """Round by round; where classes were fitted one by one, with the label each entry is about.

    The training error is known of the model that is kept: on a pool it is no by-product of a round.
    """
    columns = []
    for label, run in enumerate(runs):
        error = np.full(run.n_rounds, np.nan)
        error[run.kept.n_rounds - 1 : run.kept.n_rounds] = run.train_error
        columns.append({"label": np.full(run.n_rounds, float(label)), **run.history(), "train_error": error})
    order = np.argsort(np.concatenate([np.arange(run.n_rounds) for run in runs]), kind="stable")
    names = dict.fromkeys(name for history in columns for name in history if name != "label" or len(runs) > 1)
    nothing = [np.full(run.n_rounds, np.nan) for run in runs]
    return {
        name: np.concatenate([own.get(name, none) for own, none in zip(columns, nothing, strict=True)])[order]
        for name in names
    }
