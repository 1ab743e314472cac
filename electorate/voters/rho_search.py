"""The search of LocMedBoost for labels: the best voter of a family, or of its halves, with its step at this rho.

A voter may abstain outside of one leaf: then the test whose one side has the largest edge is searched for, over all
tests of a pool or of stumps; of other families the best voter keeps its best leaf.
"""

import math
from dataclasses import replace
from typing import Any

import numpy as np

from electorate.algorithms.locmedboost import LocMedBoost
from electorate.arrays import Floats, Ints
from electorate.voters.pool import Pool, candidates
from electorate.voters.splits import Finder
from electorate.voters.trees import ChosenStep, Search, Stumps, Voter, stump


class RhoSearch:
    """A family as LocMedBoost searches it. abstain: whether a voter answers in one leaf only."""

    def __init__(self, family: Any, booster: LocMedBoost, abstain: bool) -> None:
        self.family = family
        self.booster = booster
        self.abstain = abstain
        self.fitted_elsewhere = family.fitted_elsewhere
        self.n_rounds, self.least, self.reach = 0, math.inf, 0.0  # of the rounds so far

    def resume(self, past: Any) -> None:
        """Mark a voter that ended training."""
        if past.casts and past.trace.row(past.trace.n_rounds)["alone"]:
            past.casts[-1].step = past.casts[-1].step._replace(stop="perfect_voter")

    def best(self, search: Search) -> Voter:
        found = self._one_side(search) if self.abstain and isinstance(self.family, Pool | Stumps) else None
        return self._with_step(self.family.best(search) if found is None else found, search)

    def constant(self, search: Search) -> Voter:
        return self._with_step(self.family.constant(search), search)

    def outputs(self, voter: Voter, n_rows: int, wanted: str) -> Floats:
        assert voter.outputs is not None
        return voter.outputs

    def _one_side(self, search: Search) -> Voter | None:
        """The test with the largest edge on one side alone; of equal ones the first. None: there is no test."""
        bins, counts, totals = search.bins, search.counts, search.sums.totals
        histogram = search.sums.histogram[:, : len(bins.n_bins)]
        tests = candidates(bins, counts, self.family.per_feature if isinstance(self.family, Pool) else bins.width)
        if not len(tests.column):
            return None
        left = np.diff(tests.left(histogram), axis=0)[0]
        right = int(totals[1]) - int(totals[0]) - left
        number = int(np.argmax(np.maximum(np.abs(left), np.abs(right))))
        return stump(tests.found(number, Finder(bins, counts), histogram))

    def _with_step(self, voter: Voter, search: Search) -> Voter:
        """The voter with its step. One that ends training must be right on all rows, even those of no units."""
        engine: Any = search.engine
        outputs = self.booster.stored(self.family.outputs(voter, engine.n_counted, self.booster.leaves))
        if self.abstain:
            outputs = best_leaf(voter.sums)
        for cast in search.past[self.n_rounds :]:
            self.least, self.reach = min(self.least, cast.step.edge), self.reach + cast.reach
        self.n_rounds = len(search.past)
        step, rho = self.booster.step_at(voter.sums, outputs, self.least, self.reach)
        if step.stop == "perfect_voter":
            sums = np.maximum(voter.sums, np.minimum(engine.leaf_rows(voter), 1))
            step, rho = self.booster.step_at(sums, outputs, self.least, self.reach)
        notes = {"rho": rho, "alone": float(step.stop == "perfect_voter")}
        return replace(voter, outputs=outputs, chosen=ChosenStep(step, notes=notes))


def best_leaf(sums: Ints) -> Floats:
    """[leaf, output]: the heavier label in the leaf with the largest edge, and 0 elsewhere; the first of equal ones."""
    edges = sums[:, 1] - sums[:, 0]
    leaf = int(np.argmax(np.abs(edges)))
    outputs = np.zeros((len(sums), 1))
    outputs[leaf] = 1.0 if edges[leaf] > 0 else -1.0
    return outputs
