"""A pool of stumps over shards that may live elsewhere: its means come as sums, and the rounds are the driver's.

Labels and Gram rows take an exchange each; a round takes none. The numbers are those of a pool in this process, to the
bit, and so is the model.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from electorate.algorithms.residual import Plain, Residual
from electorate.data.bins import Bins
from electorate.grid import on_grid
from electorate.messages import ROOT, Change, Sums
from electorate.training.pool_rounds import PoolRounds
from electorate.training.quad_pools import Past, StumpPool, last_weights
from electorate.training.stagewise import ALMOST_NOTHING
from electorate.training.theory_rounds import rounds_of
from electorate.voters.pool import Candidates

Floats = NDArray[np.float64]
LABELS = np.array([[-1.0], [1.0]])  # [label, leaf]: what the one leaf of a voter that knows it says


class Means:
    """The pool of one run, as `means.Columns`: mu with the labels, Gram rows. group: which labels are the second."""

    power = 1.0

    def __init__(self, pool: "FarPool", group: NDArray[np.int64] | None) -> None:
        self.pool = pool
        self.group = group
        pool.engine.start(Plain(), group)
        self.said: Change | None = None  # what the state of the rows is now
        sums = self._say(Change([], [ROOT], LABELS[None]))
        self.mass = int(sums.totals[1] - sums.totals[0])  # of all rows, while the state is their label
        self.mu = self._correlations(sums)
        self.eta = np.ones(len(self.mu))
        self.silent: int | None = None

    def silence(self, j: int) -> None:
        """From here on voter j says nothing, and so is never chosen."""
        self.silent = j
        self.mu[j] = self.eta[j] = 0.0

    def row(self, k: int) -> Floats:
        row = self._correlations(self._say(self.pool.change(k, 1.0, 1.0)))
        if self.silent is not None:
            row[self.silent] = 0.0
        return row

    def _say(self, change: Change) -> Sums:
        """The sums where the rows hold what this change gives them, and nothing of what there was."""
        engine = self.pool.engine
        if self.said is not None:
            engine.replay(Plain(), [Change(self.said.splits, self.said.leaves, -self.said.gains)])
        self.said = change
        sums: Sums = engine.advance(Plain(), change)
        return sums

    def _correlations(self, sums: Sums) -> Floats:
        """Of every voter with the state: it says -1 on the left and 1 on the right."""
        histogram = sums.histogram[:, : len(self.pool.bins.n_bins)].sum(axis=0, keepdims=True)
        total = np.full(self.pool.n_voters, sums.total, dtype=np.int64)
        total[: len(self.pool.tests.column)] -= 2 * self.pool.tests.left(histogram)[0]
        return np.asarray(total / self.mass)


class FarPool(StumpPool):
    """As `StumpPool`, known by sums only."""

    def __init__(self, model: Any, bins: Bins, engine: Any, n_labels: int) -> None:
        self.grams, self.runs, self.heard = {}, [], None
        self.bins, self.engine = bins, engine
        self.both = model._family().complements
        counts = engine.counts()
        self.counts = counts.sum(axis=0)
        self.tests = Candidates.of(bins, self.counts, model._family().per_feature)
        share = counts[:, 0].sum(axis=1) / int(counts[:, 0].sum())
        self.constant = n_labels > 1 and bool(np.any((share < ALMOST_NOTHING) | (share > 1 - ALMOST_NOTHING)))

    @property
    def n_voters(self) -> int:
        return len(self.tests.column) + self.constant

    def start(self, model: Any, group: Any, number: int, past: Past) -> PoolRounds:
        voters = Means(self, group)
        if self.constant and 1 - abs(voters.mu[-1]) >= 2 * ALMOST_NOTHING:
            voters.silence(len(voters.mu) - 1)
        whole = self.mirrored(voters, model)
        rounds = rounds_of(self.state(whole, None), model._rules(self.engine.given, self.n_voters))
        self.grams.clear()  # a row is asked of the shards as this run left them
        rounds.replay(past.run, past.objective)
        self.runs.append((group, rounds))
        return rounds

    def finish(self, rounds: PoolRounds) -> None:
        """The training error of what is kept: one more exchange."""
        kept = rounds.run.kept
        booster = Residual()
        self.engine.start(booster, self.runs[-1][0])
        changes = [self.change(j, -w, w) for j, w in last_weights(kept.places[:, 1], kept.moves[:, 0])]
        self.engine.replay(booster, changes)
        wrong = self.engine.advance(booster, None, search=False).wrong
        rounds.run.train_error = wrong / int(self.counts[0].sum())

    def change(self, number: int, first: float, second: float) -> Change:
        """What voter `number` says times this, to the rows of the first label and to those of the second."""
        cast = self.cast(0, number, 1.0)
        said = cast.outputs[:, 0]
        gains = np.stack([on_grid(first * said), on_grid(second * said)])
        return Change(cast.voter.splits, cast.voter.leaves, np.asarray(gains)[None])
