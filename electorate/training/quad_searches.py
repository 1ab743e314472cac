"""Families that QuadBoost searches each round: over bins in the shards of an engine, or by whole rows.

Rounds need the best voter for the residuals, the correlations of the stored voters with them, and Gram rows.
"""

from collections.abc import Hashable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.ensemble._base import _set_random_states
from sklearn.utils import _safe_indexing, check_random_state
from sklearn.utils.validation import has_fit_parameter

from electorate.algorithms.protocol import Step
from electorate.algorithms.residual import Residual, StoringResidual
from electorate.data.bins import Bins
from electorate.engines.validation import Residuals
from electorate.exact import Floats, on_grid, ordered_sum
from electorate.families.by_rows import Always, RowSearch
from electorate.families.kernel_sections import Section
from electorate.families.means import Means
from electorate.families.priced_trees import shape_of
from electorate.families.regression_trees import SquaresTrees
from electorate.families.trees import Search, Voter
from electorate.messages import Change, StoredVoter
from electorate.model.casting import Cast, awards_of, casts_of
from electorate.model.text import column_names
from electorate.training.quad_data import ColumnCache, Group, QuadCase, QuadSource, RowTargets, RowVotes, margin_change
from electorate.training.quad_losses import SQUARED, TreeLoss
from electorate.training.quad_pools import NO_SUMS
from electorate.training.residual_rounds import ResidualRounds, ResidualSearch, SearchedVoter, WeightChange
from electorate.training.stagewise import ALMOST_NOTHING

# ---------------------------------------------------------------- over bins


class BinSearch(ResidualSearch):
    """The residuals of an engine's rows as sums, and the voters so far. One run."""

    def __init__(self, family: Any, engine: Any, bins: Bins, group: Group, stores_votes: bool) -> None:
        super().__init__()
        self.engine, self.family, self.bins = engine, family, bins
        self.booster = StoringResidual() if stores_votes else Residual()
        engine.start(self.booster, group)
        self.counts = engine.counts().sum(axis=0)
        self.mass = int(self.counts[0].sum())
        self.sums = engine.advance(self.booster, None)
        self.one = self.sums.total

    @property
    def covariance(self) -> float:
        return float(self.sums.total / self.one)

    @property
    def error(self) -> float:
        return float(self.sums.wrong / self.mass)

    def _search(self) -> SearchedVoter:
        """Search a voter: where one label has almost all the weight, the first is constant, unless another is perfect.

        A voter and its complement are one, with a weight of either sign: the last leaf has the second label.
        """
        search = Search(self.sums, self.bins, self.counts, self.engine, signed=True, number=len(self.found))
        voter: Voter = self.family.best(search)
        total, right = self.sums.total, int(voter.sums.max(axis=1).sum())
        if not self.found and total - int(self.sums.totals.max()) < ALMOST_NOTHING * total and right < total:
            voter = self.family.constant(search)
        outputs = self.family.outputs(voter, self.engine.n_counted, "label")
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
        super().add(found)

    def correlations(self) -> Floats:
        return np.array([edge / self.one for edge in self.engine.edges().tolist()]) if self.found else np.empty(0)

    def gram(self, k: int) -> Floats:
        row = self.engine.gram(k).tolist()
        return np.array([product / row[k] for product in row])

    def apply(self, changes: list[WeightChange]) -> None:
        super().apply(changes)
        moves = [margin_change(self.found[number].voter, old, new) for number, old, new in changes]
        if len(moves) > 1:
            self.engine.replay(self.booster, moves[:-1])
        self.sums = self.engine.advance(self.booster, moves[-1] if moves else None)


def key_of(cast: Cast) -> Hashable:
    """Equal for voters with the same splits and outputs."""
    splits = sorted((s.node, s.left, s.right, s.column, s.on_left.tobytes()) for s in cast.voter.splits)
    return tuple(splits), tuple(sorted(zip(cast.voter.leaves, cast.outputs[:, 0].tolist(), strict=True)))


class BinSource(QuadSource):
    """A family over bins."""

    def __init__(self, model: Any, unit: float, bins: Bins, engine: Any, judge: Any) -> None:
        super().__init__(model, unit)
        self.bins, self.engine, self.judge = bins, engine, judge

    def begin(self, group: Group, n_past: int) -> ResidualRounds:
        search = BinSearch(self.family, self.engine, self.bins, group, self.reweights)
        n, log_count = self.engine.given, 0.0
        if getattr(self.model, "lam", 0.0) == "theory":
            log_count = self.family.log_count(max(n, 2), shape_of(self.bins))
        return ResidualRounds(search, self.rules(n, log_count))

    def stored_voters(self, model: Any, label: int | None) -> list[Cast]:
        return stored_casts(model, self.bins, label)

    def cast(self, voter: Cast, weight: float) -> Cast:
        return replace(voter, step=Step(weight, 0.0, 0.0))


def stored_casts(model: Any, bins: Bins, label: int | None) -> list[Cast]:
    """The voters of a fitted model over bins (of one label's run)."""
    return casts_of(model.ensemble_, bins, label, [{"edge": 0.0, "error": 0.0}] * model.ensemble_.n_voters)


# ---------------------------------------------------------------- by rows


class RowResiduals(ResidualSearch):
    """Rows, their residuals, and the voters so far. One run. find: the best voter, given X, residuals and means."""

    def __init__(
        self, find: Any, X: Any, rows: RowTargets, group: Group, reweights: bool, loss: TreeLoss = SQUARED
    ) -> None:
        super().__init__()
        self.find, self.X = find, X
        self.column = ColumnCache(self._outputs, reweights)
        self.rows = RowVotes(rows, group, self.column, loss)
        self.means = rows.means
        self.power = self.means.mean(self.rows.target, self.rows.target)

    def _outputs(self, number: int) -> Floats:
        return np.asarray(self.found[number].voter.outputs(self.X))

    @property
    def covariance(self) -> float:
        return self.means.mean(self.rows.residual, self.rows.target)

    @property
    def error(self) -> float:
        return self.rows.error

    def _search(self) -> SearchedVoter | None:
        """Search a voter: where one label has almost all the weight, the first one is constant."""
        one_sided = self.rows.labelled and 1 - abs(self.means.mean(self.rows.target)) < 2 * ALMOST_NOTHING
        first = Always(1) if one_sided and not self.found else None
        voter = first or self.find(self.X, self.rows.residual, self.means)
        return None if voter is None else self.measured(voter)

    def measured(self, voter: Any) -> SearchedVoter:
        outputs = self._checked_outputs(voter)
        key = getattr(voter, "key", voter if isinstance(voter, Section | Always) else id(voter))
        c, eta = self.means.mean(self.rows.residual, outputs), self.means.mean(outputs, outputs)
        return SearchedVoter(key, voter, c, eta)

    def _checked_outputs(self, voter: Any) -> Floats:
        outputs = np.asarray(voter.outputs(self.X), dtype=np.float64)
        if not np.all(np.abs(outputs) <= 1):
            row = int(np.flatnonzero(~(np.abs(outputs) <= 1))[0])
            raise ValueError(
                f"{type(voter).__name__} outputs {outputs[row]} for row {row}: outputs must be from -1 to 1"
            )
        return outputs

    def correlations(self) -> Floats:
        return self._means_with(self.rows.residual)

    def gram(self, k: int) -> Floats:
        return self._means_with(self.column(k))

    def _means_with(self, values: Floats) -> Floats:
        return np.array([self.means.mean(values, self.column(k)) for k in range(len(self.found))])

    def apply(self, changes: list[WeightChange]) -> None:
        super().apply(changes)
        for change in changes:
            self.rows.move(*change)


class RowFamily(QuadSource):
    """Voters that use whole rows. Subclasses find them."""

    def __init__(self, model: Any, unit: float, X: Any, rows: RowTargets) -> None:
        super().__init__(model, unit)
        self.X, self.rows = X, rows
        self.X_validation: Any = None
        self.stores_outputs = self.reweights

    def begin(self, group: Group, n_past: int) -> ResidualRounds:
        search = RowResiduals(self._find, self.X, self.rows, group, self.reweights)
        return ResidualRounds(search, self.rules(self.rows.weights.given))

    def _find(self, X: Any, residual: Floats, means: Means) -> Any:
        raise NotImplementedError

    def validation_outputs(self, voter: Any) -> Floats:
        return np.asarray(voter.outputs(self.X_validation))


@dataclass(frozen=True)
class Scaled:
    """A fitted regressor, divided by its largest output in training; outputs beyond that are clipped."""

    fitted: Any
    scale: float

    def outputs(self, X: Any) -> Floats:
        return np.clip(np.asarray(self.fitted.predict(X), dtype=np.float64).ravel() / self.scale, -1.0, 1.0)


class EstimatorFamily(RowFamily):
    """A family by rows, or any regressor."""

    def __init__(self, model: Any, unit: float, case: QuadCase) -> None:
        super().__init__(model, unit, self._counted(case), case.rows)
        self.random = check_random_state(model.random_state)
        self.row_search: RowSearch | None = None
        if case.validation is not None:
            self.X_validation, self.validation = self._counted(case.validation), case.validation.rows

    def _counted(self, case: QuadCase) -> Any:
        X: Any = case.examples.table
        return X if len(case.counted) == X.shape[0] else _safe_indexing(X, case.counted)

    @property
    def _by_rows(self) -> bool:
        return hasattr(self.family, "best")

    def begin(self, group: Group, n_past: int) -> ResidualRounds:
        self.row_search = None
        for _ in range(0 if self._by_rows else n_past):  # draw what those rounds drew
            _set_random_states(clone(self.family), self.random)
        return super().begin(group, n_past)

    def _find(self, X: Any, residual: Floats, means: Means) -> Any:
        if not self._by_rows:
            return self._fit(X, residual, means)
        if self.row_search is None:
            ones, about = np.ones(len(residual), dtype=np.int64), (type(self.model).__name__, column_names(self.model))
            self.row_search = RowSearch(np.asfortranarray(X), ones, means.times, "log_odds", *about)
        self.row_search.grid = means.on_grid(residual) * means.times
        voter = self.family.best(self.row_search)
        return replace(voter, factor=abs(voter.factor)) if isinstance(voter, Section) else voter

    def _fit(self, X: Any, residual: Floats, means: Means) -> Scaled | None:
        """A regressor fitted to the residuals; None where it predicts 0 everywhere."""
        fitted = clone(self.family)
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


# ---------------------------------------------------------------- regression trees


@dataclass(frozen=True)
class GrownTree:
    """A tree over bins with real outputs. Its rows are those of an engine, shard by shard.

    largest: what the outputs of a new tree were divided by.
    """

    cast: Cast
    largest: float = 1.0

    @cached_property
    def key(self) -> Hashable:
        return key_of(self.cast)

    def outputs(self, engine: Residuals) -> Floats:
        voter = self.cast.voter
        return np.asarray(self.cast.outputs[engine.leaf_of_rows(voter.splits, voter.leaves), 0])


class TreeFamily(RowFamily):
    """RegressionTrees, grown for the residuals by least squares and divided by their largest output."""

    def __init__(self, model: Any, unit: float, bins: Bins, engine: Residuals, judge: Residuals | None = None) -> None:
        super().__init__(model, unit, engine, RowTargets.in_shards(engine.shards, engine.target))
        self.bins = bins
        self.counts = engine.counts()
        if judge is not None:
            self.X_validation, self.validation = judge, RowTargets.in_shards(judge.shards, judge.target)

    def _find(self, X: Any, residual: Floats, means: Means) -> GrownTree | None:
        return grown_tree(*self._grow(X, residual))

    def _grow(self, X: Any, target: Floats) -> tuple[Voter, Floats]:
        """The tree of least squares, and the mean target of every leaf."""
        low, high = float(target.min()), float(target.max())
        search = Search(X.sums(target, low, high), self.bins, self.counts, X)
        voter, outputs = SquaresTrees(self.family, low, high).best(search, 0)
        values = outputs[:, 0]
        if self.family.monotonic_cst is not None:
            targets = low * voter.sums[:, 0] + (high - low) * voter.sums[:, 1]
            values = values if ordered_sum(targets * values) > 0 else np.zeros_like(values)  # no negative weight
        return voter, values

    def stored_voters(self, model: Any, label: int | None) -> list[GrownTree]:
        return [GrownTree(cast) for cast in stored_casts(model, self.bins, None)]

    def cast(self, voter: GrownTree, weight: float) -> Cast:
        return replace(voter.cast, step=Step(weight, 0.0, 0.0))


def grown_tree(voter: Voter, values: Floats) -> GrownTree | None:
    """A tree with these values in its leaves, divided by the largest; None where all are 0."""
    largest = float(np.abs(values).max(initial=0.0))
    if largest == 0:
        return None
    scaled = np.asarray(on_grid(values[:, None] / largest))  # with a step of 1 too the votes are exact
    return GrownTree(Cast(voter, scaled, Step(0.0, 0.0, 0.0)), largest)
