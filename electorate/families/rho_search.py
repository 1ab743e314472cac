"""The search of LocMedBoost for labels: the best voter of a family, or of its halves, with its step at this rho.

A voter may abstain outside of one leaf: then the test whose one side has the largest edge is searched for, over all
tests of a pool or of stumps; of other families the best voter keeps its best leaf.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from electorate.algorithms.locmedboost import LocMedBoost
from electorate.data.bins import Bins
from electorate.exact import Floats, Ints, exp
from electorate.families.pool import Pool, candidates
from electorate.families.splits import Finder
from electorate.families.trees import ChosenStep, Search, Stumps, Voter, stump


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


# ---------------------------------------------------------------- confidences

Array = NDArray[np.float64]
LEAST = 0.1  # of a bump, far from its centre: Theorem 5 wants a bound below


@dataclass(frozen=True)
class Sure:
    """kappa = 1."""

    def of(self, X: Any, columns: Callable[[int], Array], n_rows: int) -> Array:
        return np.ones(n_rows)


@dataclass(frozen=True)
class Bump:
    """least + (1 - least) exp(-((x - centre) / width)^2 / 2) of one column; `least` where it is missing.

    Lipschitz with the constant (1 - least) / (width sqrt(e)), as Theorem 5 requires.
    """

    column: int
    centre: float
    width: float
    least: float = LEAST

    @property
    def lipschitz(self) -> float:
        return (1 - self.least) / (self.width * math.sqrt(math.e))

    def of(self, X: Any, columns: Callable[[int], Array], n_rows: int) -> Array:
        with np.errstate(over="ignore"):  # infinitely far away is right: exp gives 0
            away = (columns(self.column) - self.centre) / self.width
            near = exp(-0.5 * away * away)
        return np.where(np.isnan(near), self.least, self.least + (1 - self.least) * near)


@dataclass
class Given:
    """A function of X, as the user gave it. scale: what it is divided by; larger values of other rows count as it."""

    function: Callable[[Any], Any]
    scale: float = 1.0

    def of(self, X: Any, columns: Callable[[int], Array], n_rows: int) -> Array:
        return np.minimum(self._values(X, n_rows) / self.scale, 1.0)

    def fit(self, X: Any, n_rows: int) -> None:
        """Take the scale from the rows of training."""
        self.scale = max(1.0, float(self._values(X, n_rows).max(initial=0.0)))

    def _values(self, X: Any, n_rows: int) -> Array:
        sure = np.asarray(self.function(X), dtype=np.float64)
        if sure.shape != (n_rows,):
            raise ValueError(f"a confidence gave an array of shape {sure.shape} for {n_rows} rows: one number per row")
        bad = np.flatnonzero(~((sure >= 0) & np.isfinite(sure)))
        if bad.size:
            what = "it must be finite and not negative"
            raise ValueError(f"a confidence is {sure[bad[0]]!r} in row {int(bad[0])}: {what}")
        return sure


def bumps(bins: Bins, n_bumps: int, random: np.random.RandomState) -> list[Any]:
    """Always, and up to n_bumps places of columns: a quarter, half and three quarters of the way through their bins."""
    places = []
    for column, edges in enumerate(bins.edges):
        if column not in bins.categories and len(edges) >= 2:
            quarter, half, three = (float(edges[len(edges) * k // 4]) for k in (1, 2, 3))
            width = max(three - quarter, (edges[-1] - edges[0]) / 4)
            places += [Bump(column, centre, float(width)) for centre in sorted({quarter, half, three})]
    chosen = np.sort(random.permutation(len(places))[:n_bumps])
    return [Sure(), *(places[k] for k in chosen.tolist())]
