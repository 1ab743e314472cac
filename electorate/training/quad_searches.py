"""Families that QuadBoost searches each round: over bins in the shards of an engine, or by whole rows.

Rounds need the best voter for the residuals, the correlations of the stored voters with them, and Gram rows.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.ensemble._base import _set_random_states
from sklearn.utils import _safe_indexing, check_random_state
from sklearn.utils.validation import has_fit_parameter

from electorate.algorithms.protocol import Step
from electorate.algorithms.residual import Residual, StoringResidual
from electorate.data.bins import Bins
from electorate.engines.residuals import Residuals
from electorate.grid import on_grid
from electorate.messages import Change, StoredVoter
from electorate.model.casting import Cast, awards_of, casts_of
from electorate.model.trace import Trace
from electorate.training.quad_data import (
    ColumnCache,
    EngineScore,
    Group,
    QuadCase,
    QuadOptions,
    RowScore,
    RowTargets,
    RowVotes,
    margin_change,
)
from electorate.training.quad_pools import NO_SUMS, made_of_bins, made_of_rows
from electorate.training.residual_rounds import ResidualRounds, ResidualSearch, SearchedVoter, WeightChange
from electorate.training.stagewise import ALMOST_NOTHING
from electorate.voters.by_rows import Always, RowSearch
from electorate.voters.kernel_sections import Section
from electorate.voters.means import Means
from electorate.voters.regression_trees import SquaresTrees
from electorate.voters.trees import Search, Voter

Floats = NDArray[np.float64]


class SearchedFamily:
    """What all runs of a searched family share."""

    def __init__(self, options: QuadOptions) -> None:
        self.options = options

    def start(self, group: Group, past: Trace, voters: Sequence[Any]) -> ResidualRounds:
        """The rounds of one run, resumed from a trace of these voters."""
        search, total_weight = self.search(group, past.n_rounds)
        rounds = ResidualRounds(search, self.options.rules(total_weight, 1))
        rounds.make_cast, rounds.group = self.cast, group
        rounds.resume(past, voters)
        return rounds

    def search(self, group: Group, rounds: int) -> tuple[ResidualSearch, float]:
        """The search of a run that resumes after so many rounds, and the total weight of its rows."""
        raise NotImplementedError

    def cast(self, voter: Any, weight: float) -> Cast:
        raise NotImplementedError

    def finish(self, rounds: ResidualRounds) -> float:
        """The gap; every round has recorded its error."""
        return rounds.gap


# ---------------------------------------------------------------- over bins


class BinSearch:
    """The residuals of an engine's rows as sums, and the voters so far. One run."""

    def __init__(self, family: Any, engine: Any, bins: Bins, group: Group, stores_votes: bool) -> None:
        self.engine, self.family, self.bins = engine, family, bins
        self.booster = StoringResidual() if stores_votes else Residual()
        engine.start(self.booster, group)
        self.counts = engine.counts().sum(axis=0)
        self.mass = int(self.counts[0].sum())
        self.sums = engine.advance(self.booster, None)
        self.one = self.sums.total
        self.found: list[SearchedVoter] = []
        self._best: SearchedVoter | None = None

    power = 1.0

    @property
    def covariance(self) -> float:
        return float(self.sums.total / self.one)

    @property
    def error(self) -> float:
        return float(self.sums.wrong / self.mass)

    def best(self) -> SearchedVoter:
        """Where one label has almost all the weight, the first voter is the constant one, unless another is perfect."""
        if self._best is None:
            search = Search(self.sums, self.bins, self.counts, self.engine, signed=True)
            voter: Voter = self.family.best(search)
            total, right = self.sums.total, int(voter.sums.max(axis=1).sum())
            if not self.found and total - int(self.sums.totals.max()) < ALMOST_NOTHING * total and right < total:
                voter = self.family.constant(search)
            self._best = self._found(voter, self.family.outputs(voter, self.engine.n_counted, "label"))
        return self._best

    def _found(self, voter: Voter, outputs: Floats) -> SearchedVoter:
        """A voter and its complement are one, with a weight of either sign: the last leaf has the second label."""
        if not np.all(np.abs(outputs) == 1):
            raise ValueError(
                f"QuadBoost cannot boost {self.family!r}: voters over bins must output -1 or 1, use leaves='label'"
            )
        outputs = outputs * outputs[int(np.argmax(voter.leaves)), 0]
        more = voter.sums[:, 1] - voter.sums[:, 0]
        c = sum(int(d) * int(h) for d, h in zip(more, outputs[:, 0], strict=True)) / self.one
        return replace(self.measured(Cast(voter, outputs, Step(0.0, 0.0, 0.0))), c=c)

    def measured(self, cast: Cast) -> SearchedVoter:
        return SearchedVoter(key_of(cast), cast, 0.0, 1.0)

    def add(self, found: SearchedVoter) -> None:
        if self.booster.keeps_votes:
            voter, awards = found.voter.voter, awards_of(found.voter.outputs)
            stored = StoredVoter(len(self.found), 0.0, awards)
            self.engine.store(Change(voter.splits, voter.leaves, awards[None], stored=stored))
        self.found.append(found)

    def correlations(self) -> Floats:
        return np.array([edge / self.one for edge in self.engine.edges().tolist()]) if self.found else np.empty(0)

    def gram(self, k: int) -> Floats:
        row = self.engine.gram(k).tolist()
        return np.array([product / row[k] for product in row])

    def apply(self, changes: list[WeightChange]) -> None:
        self._best = None
        moves = [margin_change(self.found[number].voter, old, new) for number, old, new in changes]
        if len(moves) > 1:
            self.engine.replay(self.booster, moves[:-1])
        self.sums = self.engine.advance(self.booster, moves[-1] if moves else None)


def key_of(cast: Cast) -> Hashable:
    """Equal for voters with the same splits and outputs."""
    splits = sorted((s.node, s.left, s.right, s.column, s.on_left.tobytes()) for s in cast.voter.splits)
    return tuple(splits), tuple(sorted(zip(cast.voter.leaves, cast.outputs[:, 0].tolist(), strict=True)))


class BinFamily(SearchedFamily):
    """A family over bins. judge: the engine of the validation rows."""

    def __init__(self, options: QuadOptions, bins: Bins, engine: Any, judge: Any) -> None:
        super().__init__(options)
        self.bins, self.engine, self.judge = bins, engine, judge

    def search(self, group: Group, rounds: int) -> tuple[ResidualSearch, float]:
        return BinSearch(self.options.family, self.engine, self.bins, group, self.options.reweights), 1.0

    def score(self, rounds: ResidualRounds) -> EngineScore | None:
        return None if self.judge is None else EngineScore(self.judge, rounds, self.options.scoring)

    def stored_voters(self, model: Any, label: int | None) -> list[Cast]:
        return stored_casts(model, self.bins, label)

    def cast(self, voter: Cast, weight: float) -> Cast:
        return replace(voter, step=Step(weight, 0.0, 0.0))

    def made(self, runs: list[list[Cast]], classes: NDArray[Any]) -> dict[str, Any]:
        return made_of_bins(runs, classes, self.bins)


def stored_casts(model: Any, bins: Bins, label: int | None) -> list[Cast]:
    """The voters of a fitted model over bins (of one label's run)."""
    return casts_of(model.ensemble_, bins, label, [{"edge": 0.0, "error": 0.0}] * model.ensemble_.n_voters)


# ---------------------------------------------------------------- by rows


class RowResiduals:
    """Rows, their residuals, and the voters so far. One run. find: the best voter, given X, residuals and means."""

    def __init__(self, find: Any, X: Any, rows: RowTargets, group: Group, reweights: bool) -> None:
        self.find, self.X = find, X
        self.found: list[SearchedVoter] = []
        self.column = ColumnCache(self._outputs, reweights)
        self.rows = RowVotes(rows, group, self.column)
        self.means = rows.means
        self._best: tuple[SearchedVoter | None] | None = None

    def _outputs(self, number: int) -> Floats:
        return np.asarray(self.found[number].voter.outputs(self.X))

    @property
    def covariance(self) -> float:
        return self.means.mean(self.rows.residual, self.rows.target)

    @property
    def error(self) -> float:
        return self.rows.error

    @property
    def power(self) -> float:
        return self.means.mean(self.rows.target, self.rows.target)

    def best(self) -> SearchedVoter | None:
        """Where one label has almost all the weight, the first voter is the constant one."""
        if self._best is None:
            one_sided = self.rows.labelled and 1 - abs(self.means.mean(self.rows.target)) < 2 * ALMOST_NOTHING
            first = Always(1) if one_sided and not self.found else None
            voter = first or self.find(self.X, self.rows.residual, self.means)
            self._best = (None if voter is None else self.measured(voter),)
        return self._best[0]

    def measured(self, voter: Any) -> SearchedVoter:
        outputs = np.asarray(voter.outputs(self.X), dtype=np.float64)
        if not np.all(np.abs(outputs) <= 1):
            row = int(np.flatnonzero(~(np.abs(outputs) <= 1))[0])
            raise ValueError(
                f"{type(voter).__name__} outputs {outputs[row]} for row {row}: outputs must be from -1 to 1"
            )
        key = getattr(voter, "key", voter if isinstance(voter, Section | Always) else id(voter))
        c, eta = self.means.mean(self.rows.residual, outputs), self.means.mean(outputs, outputs)
        return SearchedVoter(key, voter, c, eta)

    def add(self, found: SearchedVoter) -> None:
        self.found.append(found)

    def correlations(self) -> Floats:
        return self._means_with(self.rows.residual)

    def gram(self, k: int) -> Floats:
        return self._means_with(self.column(k))

    def _means_with(self, values: Floats) -> Floats:
        return np.array([self.means.mean(values, self.column(k)) for k in range(len(self.found))])

    def apply(self, changes: list[WeightChange]) -> None:
        self._best = None
        for change in changes:
            self.rows.move(*change)


class RowFamily(SearchedFamily):
    """Voters that look at whole rows. Subclasses find them."""

    def __init__(self, options: QuadOptions, X: Any, rows: RowTargets) -> None:
        super().__init__(options)
        self.X, self.rows = X, rows
        self.X_validation: Any = None
        self.validation: RowTargets | None = None

    def search(self, group: Group, rounds: int) -> tuple[ResidualSearch, float]:
        search = RowResiduals(self._find, self.X, self.rows, group, self.options.reweights)
        return search, self.rows.weights.given

    def _find(self, X: Any, residual: Floats, means: Means) -> Any:
        raise NotImplementedError

    def score(self, rounds: ResidualRounds) -> RowScore | None:
        if self.validation is None:
            return None

        def outputs(number: int) -> Floats:
            return np.asarray(rounds.voter(number).outputs(self.X_validation))

        column = ColumnCache(outputs, self.options.reweights)
        return RowScore(RowVotes(self.validation, rounds.group, column), self.options.scoring)


@dataclass(frozen=True)
class Scaled:
    """A fitted regressor, divided by its largest output in training; outputs beyond that are clipped."""

    fitted: Any
    scale: float

    def outputs(self, X: Any) -> Floats:
        return np.clip(np.asarray(self.fitted.predict(X), dtype=np.float64).ravel() / self.scale, -1.0, 1.0)


class EstimatorFamily(RowFamily):
    """A family by rows, or any regressor."""

    def __init__(self, options: QuadOptions, case: QuadCase) -> None:
        super().__init__(options, self._counted(case), case.rows)
        self.n_columns = case.examples.table.shape[1]  # type: ignore[attr-defined]
        self.random = check_random_state(options.random_state)
        self.row_search: RowSearch | None = None
        if case.validation is not None:
            self.X_validation, self.validation = self._counted(case.validation), case.validation.rows

    def _counted(self, case: QuadCase) -> Any:
        X: Any = case.examples.table
        return X if len(case.counted) == X.shape[0] else _safe_indexing(X, case.counted)

    @property
    def _by_rows(self) -> bool:
        return hasattr(self.options.family, "best")

    def search(self, group: Group, rounds: int) -> tuple[ResidualSearch, float]:
        self.row_search = None
        for _ in range(0 if self._by_rows else rounds):  # draw what those rounds drew
            _set_random_states(clone(self.options.family), self.random)
        return super().search(group, rounds)

    def _find(self, X: Any, residual: Floats, means: Means) -> Any:
        if not self._by_rows:
            return self._fit(X, residual, means)
        if self.row_search is None:
            ones, names = np.ones(len(residual), dtype=np.int64), list(self.options.column_names)
            self.row_search = RowSearch(np.asfortranarray(X), ones, means.times, "log_odds", self.options.name, names)
        self.row_search.grid = means.on_grid(residual) * means.times
        voter = self.options.family.best(self.row_search)
        return replace(voter, factor=abs(voter.factor)) if isinstance(voter, Section) else voter

    def _fit(self, X: Any, residual: Floats, means: Means) -> Scaled | None:
        """A regressor fitted to the residuals; None where it predicts 0 everywhere."""
        fitted = clone(self.options.family)
        _set_random_states(fitted, self.random)
        weight = means.times * means.real
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

    def stored_voters(self, model: Any, label: int | None) -> list[Any]:
        ensemble = model.ensemble_
        return [ensemble.fitted[k] for k in np.flatnonzero((ensemble.about == label) | (label is None))]

    def cast(self, voter: Any, weight: float) -> Cast:
        return Cast(Voter([], [], NO_SUMS, voter), np.ones((1, 1)), Step(weight, 0.0, 0.0))

    def made(self, runs: list[list[Cast]], classes: NDArray[Any]) -> dict[str, Any]:
        return made_of_rows(runs, classes, self.options, self.n_columns)


# ---------------------------------------------------------------- regression trees


@dataclass(frozen=True)
class GrownTree:
    """A tree over bins with real outputs. Its rows are those of an engine, shard by shard."""

    cast: Cast

    @cached_property
    def key(self) -> Hashable:
        return key_of(self.cast)

    def outputs(self, engine: Residuals) -> Floats:
        voter = self.cast.voter
        return np.asarray(self.cast.outputs[engine.leaf_of_rows(voter.splits, voter.leaves), 0])


class TreeFamily(RowFamily):
    """RegressionTrees, grown for the residuals by least squares and divided by their largest output."""

    def __init__(self, options: QuadOptions, bins: Bins, engine: Residuals, judge: Residuals | None = None) -> None:
        super().__init__(options, engine, RowTargets.in_shards(engine.shards, engine.target))
        self.bins = bins
        self.counts = engine.counts()
        if judge is not None:
            self.X_validation, self.validation = judge, RowTargets.in_shards(judge.shards, judge.target)

    def _find(self, X: Any, residual: Floats, means: Means) -> GrownTree | None:
        """None where the tree outputs 0 everywhere."""
        low, high = float(residual.min()), float(residual.max())
        search = Search(X.sums(residual, low, high), self.bins, self.counts, X)
        voter, outputs = SquaresTrees(self.options.family, low, high).best(search, 0)
        largest = float(np.abs(outputs[:, 0]).max(initial=0.0))
        if largest == 0:
            return None
        scaled = np.asarray(on_grid(outputs[:, :1] / largest))  # with a step of 1 too the votes are exact
        return GrownTree(Cast(voter, scaled, Step(0.0, 0.0, 0.0)))

    def stored_voters(self, model: Any, label: int | None) -> list[GrownTree]:
        return [GrownTree(cast) for cast in stored_casts(model, self.bins, None)]

    def cast(self, voter: GrownTree, weight: float) -> Cast:
        return replace(voter.cast, step=Step(weight, 0.0, 0.0))

    def made(self, runs: list[list[Cast]], classes: NDArray[Any]) -> dict[str, Any]:
        return made_of_bins(runs, classes, self.bins)
