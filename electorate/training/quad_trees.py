"""Trees that say numbers, grown over bins by least squares, as QuadBoost's voters for real targets.

A tree is grown for the residuals of a round and divided by the largest it says, so that it says -1 to 1.
"""

from collections.abc import Hashable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from electorate.algorithms.protocol import Step
from electorate.data.bins import Bins
from electorate.engines.residuals import Residuals
from electorate.grid import on_grid
from electorate.model.casting import casts_of, from_casts
from electorate.model.outcome import Cast
from electorate.training.quad_pools import Listener, Past
from electorate.training.quad_searches import RowSearcher, RowSet, Shown, key_of, weights_in_shards
from electorate.training.residual_rounds import AfreshRounds
from electorate.voters import means
from electorate.voters.regression_trees import SquaresTrees
from electorate.voters.trees import Search

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Grown:
    """A tree over bins. Its rows are those of an engine, shard by shard."""

    cast: Cast

    @cached_property
    def key(self) -> Hashable:
        return key_of(self.cast.voter, self.cast.outputs)

    def outputs(self, engine: Residuals) -> Floats:
        voter = self.cast.voter
        return np.asarray(self.cast.outputs[engine.leaf_of_rows(voter.splits, voter.leaves), 0])


class TreeVoters:
    """RegressionTrees, for the one run of a regressor."""

    def __init__(self, model: Any, bins: Bins, engine: Residuals, judge: Residuals | None) -> None:
        self.family, self.bins = model._family(), bins
        self.engine, self.judge = engine, judge
        self.counts = engine.counts()

    def start(self, model: Any, group: Any, number: int, past: Past) -> AfreshRounds:
        rows = rows_of(self.engine)
        self.searcher = RowSearcher(self._grow, rows, model.reweight != "never")
        rounds = AfreshRounds(self.searcher, model._rules(rows.weights.given, 1))
        voters = []
        if past.model is not None:
            ensemble = past.model.ensemble_
            casts = casts_of(ensemble, self.bins, None, [{"edge": 0.0, "error": 0.0}] * ensemble.n_voters)
            voters = [self.searcher.known(Grown(cast)) for cast in casts]
        rounds.replay(past.run, past.objective, voters)
        return rounds

    def _grow(self, engine: Residuals, residual: Floats, sums: means.Sums) -> Grown | None:
        """Fitted to the residuals; None where it says nothing."""
        low, high = float(residual.min()), float(residual.max())
        search = Search(engine.sums(residual, low, high), self.bins, self.counts, engine)
        voter, outputs = SquaresTrees(self.family, low, high).best(search, 0)
        largest = float(np.abs(outputs[:, 0]).max(initial=0.0))
        if largest == 0:
            return None
        said = np.asarray(on_grid(outputs[:, :1] / largest))  # of a step of 1 too the votes are exact
        return Grown(Cast(voter, said, Step(0.0, 0.0, 0.0)))

    def listener(self, model: Any, group: Any, number: int) -> Listener | None:
        if self.judge is None:
            return None
        judge, found, rows = self.judge, self.searcher.found, rows_of(self.judge)
        say = lambda number: found[number].voter.outputs(judge)  # noqa: E731
        return Listener(Shown(rows.target, rows.weights, say, model.reweight != "never"), model._patience)

    def finish(self, rounds: AfreshRounds) -> None:
        """Every round has told its error."""

    def cast(self, run: int, number: int, weight: float) -> Cast:
        return replace(self.searcher.found[number].voter.cast, step=Step(weight, 0.0, 0.0))

    def made(self, runs: list[list[Cast]], model: Any, classes: NDArray[Any]) -> dict[str, Any]:
        return {"bins_": self.bins, "ensemble_": from_casts(runs, self.bins, 1)}


def rows_of(engine: Residuals) -> RowSet:
    """The rows of an engine, shard by shard."""
    return RowSet(engine, engine.target, weights_in_shards(engine.shards), False)
