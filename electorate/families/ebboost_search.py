"""EBBoost's search: every voter is ranked by a cost of two sums, what it gets right of w and of w^2.

Such a cost does not come from weights of single examples, so all voters must be enumerated: stumps, pools, columns that
vote, and paired stumps can be enumerated from sums, trees and rules cannot.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from electorate import kernels
from electorate.algorithms.ebboost import EBBoost
from electorate.families.by_rows import Always, ByRows
from electorate.families.columns import Columns, ColumnVoter
from electorate.families.paired_stumps import MOST_LEVELS, PairedStumps, all_splits, category_sets
from electorate.families.pool import Candidates, Pool
from electorate.families.splits import Cuts, Finder, Found, best_of, levels_of, sides_of
from electorate.families.trees import ChosenStep, Search, Stumps, Voter
from electorate.families.union import Union
from electorate.families.wrapped import row_voter
from electorate.messages import ROOT, Split

LABELS = np.array([[-1.0], [1.0]])  # the outputs for label 0 and for label 1
Integers = NDArray[np.int64]


def refusal(family: Any) -> str | None:
    """Why the voters of a family cannot be ranked by cost, if they cannot."""
    if isinstance(family, Union):
        return next(filter(None, map(refusal, family.families)), None)
    if isinstance(family, Stumps | Pool | PairedStumps | Columns):
        return None
    return (
        "it ranks every voter by cost (3) at its own best step, and that cost does not come from weights of single "
        "examples, so all voters must be enumerated (section 5 of the paper), which is possible for Stumps, Pool, "
        "PairedStumps and Columns: use VadaBoostClassifier"
    )


@dataclass(frozen=True)
class Ranked:
    """A voter with its cost, and [leaf, label] of the second channel in its leaves."""

    cost: float
    voter: Voter
    squares: Integers


class EBBoostSearch:
    """A family as EBBoost searches it. Ties: as in the family's own search; a voter with splits before the constant."""

    def __init__(self, family: Any, booster: EBBoost) -> None:
        self.family = family
        self.booster = booster
        self.fitted_elsewhere = isinstance(family, ByRows)

    def best(self, search: Search) -> Voter:
        costs = _Costs(search, self.booster)
        return self._with_step(costs.cheapest(self.family), costs)

    def constant(self, search: Search) -> Voter:
        costs = _Costs(search, self.booster)
        always = costs.constant()
        if isinstance(self.family, ByRows):
            sign = 1 if always.voter.outputs[0, 0] > 0 else -1  # type: ignore[index]
            always = replace(always, voter=row_voter(Always(sign), search.engine))
        return self._with_step(always, costs)

    def outputs(self, voter: Voter, n_rows: int, wanted: str) -> NDArray[np.float64]:
        assert voter.outputs is not None
        return voter.outputs

    def skip(self, rounds: int) -> None:
        """Nothing is random here."""

    def _with_step(self, ranked: Ranked, costs: "_Costs") -> Voter:
        """The voter with its step. A perfect voter must be right on every row, also on those too light for the grid."""
        voter = ranked.voter
        assert voter.outputs is not None
        weights, squares = _right_and_wrong(voter, voter.sums), _right_and_wrong(voter, ranked.squares)
        if weights[1] == 0 or squares[1] == 0:
            rows = costs.search.engine.leaf_rows(voter)  # type: ignore[attr-defined]
            least = 1 if _right_and_wrong(voter, rows)[1] else 0
            weights, squares = (weights[0], max(weights[1], least)), (squares[0], max(squares[1], least))
        step = self.booster.best_step(weights, squares, costs.spread)
        gains = self.booster.gains(step, voter.outputs)[0].T
        groups = list(zip(ranked.squares.ravel().tolist(), gains.ravel().tolist(), strict=True))
        return replace(voter, chosen=ChosenStep(step, (None, groups)))


def _right_and_wrong(voter: Voter, sums: Integers) -> tuple[int, int]:
    assert voter.outputs is not None
    right = int(sums[np.arange(len(sums)), (voter.outputs[:, 0] > 0).astype(np.int64)].sum())
    return right, int(sums.sum()) - right


class _Costs:
    """The costs of the voters of one round."""

    def __init__(self, search: Search, booster: EBBoost) -> None:
        assert search.sums.more is not None
        self.search, self.booster, self.bins = search, booster, search.bins
        self.channels = (search.sums, search.sums.more)
        self.histograms = [sums.histogram[:, : len(self.bins.n_bins)] for sums in self.channels]
        self.finder = Finder(self.bins, search.counts)
        self.spread = booster.spread(search.means())

    def cheapest(self, family: Any) -> Ranked:
        if isinstance(family, Union):
            return min(map(self.cheapest, family.families), key=lambda ranked: ranked.cost)
        if isinstance(family, ByRows):
            return self.column(family)
        if isinstance(family, Pool):
            return self.of_pool(family)
        stump, always = self.stump(), self.constant()
        best = always if stump is None or always.cost < stump.cost else stump
        return self.pair(best, family.search) if isinstance(family, PairedStumps) else best

    def of_shares(self, right: Any, right_squares: Any) -> Any:
        """Costs, from the sums of both channels that voters get right."""
        weights, squares = (max(sums.total, 1) for sums in self.channels)
        return self.booster.rank(right / weights, right_squares / squares, self.spread)

    def ranked(self, cost: float, splits: list[Split], leaves: list[int], sums: Integers, labels: Any) -> Ranked:
        """A voter with sums[channel, leaf, label] that votes for these labels, or for the others if that is better."""
        votes = np.asarray(labels, dtype=np.int64)
        right, up = sums[:, np.arange(len(votes)), votes].sum(axis=1)
        if self._better_turned(right, up):
            votes = 1 - votes
        return Ranked(cost, Voter(splits, leaves, sums[0], outputs=LABELS[votes]), sums[1])

    def _better_turned(self, right: int, up: int) -> bool:
        """Whether the complement is the one with a positive step."""
        weights, squares = (sums.total for sums in self.channels)
        ups, downs = self.booster.terms((right, weights - right), (up, squares - up), self.spread)
        return bool(downs > ups)

    # ------------------------------------------------------------ constants and stumps

    def constant(self) -> Ranked:
        sums = np.stack([part.totals for part in self.channels])[:, None]
        return self.ranked(float(self.of_shares(*sums[:, 0, 1])), [], [ROOT], sums, [1])

    def stump(self) -> Ranked | None:
        place = np.zeros(3, dtype=np.int64)
        (weights, squares), bins = self.histograms, self.bins
        layout = (bins.n_bins, bins.has_missing, bins.ordered)
        totals = [sums.totals for sums in self.channels]
        least = kernels.cheapest_threshold(
            weights, totals[0], squares, totals[1], *layout, self.booster.lam, self.spread, place
        )
        best = self._split(least, self.finder.threshold(weights, *place.tolist())) if np.isfinite(least) else None
        for column in bins.split_by_sets:
            sets = sets_of(bins, column, [sums[0, column] - sums[1, column] for sums in (weights, squares)])
            if not len(sets):
                continue
            lefts = [sets @ histogram[:, column].T for histogram in (weights, squares)]  # [set, label]
            cost = self.of_shares(
                *(left[:, 1] + sum_[0] - left[:, 0] for left, sum_ in zip(lefts, totals, strict=True))
            )
            number = int(np.argmin(cost))
            if best is None or cost[number] < best.cost:
                best = self._split(float(cost[number]), self.finder.members(weights, column, sets[number].copy()))
        return best

    def _split(self, cost: float, found: Found) -> Ranked:
        split = Split(ROOT, 1, 2, found.column, found.cut, found.on_left)
        sums = np.stack([sides_of(histogram, found.column, found.on_left) for histogram in self.histograms])
        return self.ranked(cost, [split], [1, 2], sums, [1, 0])

    # ------------------------------------------------------------ pools and columns

    def of_pool(self, pool: Pool) -> Ranked:
        """Rank a pool: without complements a voter votes for label 0 on the left, and needs a positive step."""
        tests = Candidates.of(self.bins, self.search.counts, pool.per_feature)
        if not len(tests.column):
            return self.constant()
        lefts = [tests.left(histogram) for histogram in self.histograms]
        right, up = (left[0] + sums.totals[1] - left[1] for left, sums in zip(lefts, self.channels, strict=True))
        cost = self.of_shares(right, up)
        if not pool.complements:
            turned = [self._better_turned(*pair) for pair in zip(right.tolist(), up.tolist(), strict=True)]
            cost = np.where(turned, np.inf, cost)
            if not np.any(np.isfinite(cost)):  # the best of them has no edge, and the run ends
                cost = np.where(np.arange(len(cost)) == np.argmax(right), 1.0, cost)
        place = int(np.argmin(cost))
        ranked = self._split(float(cost[place]), tests.found(place, self.finder, self.histograms[0]))
        if pool.complements:
            return ranked
        return replace(ranked, voter=replace(ranked.voter, outputs=LABELS))

    def column(self, family: ByRows) -> Ranked:
        engine: Any = self.search.engine
        rows = family._rows(engine)
        voters = rows.once("columns", lambda: family.family._read(rows))
        grids = engine.shard.grids[:2]
        both = [
            (voters.correlate(rows.signs * grid) + sums.total) // 2
            for grid, sums in zip(grids, self.channels, strict=True)
        ]
        cost = self.of_shares(*both)
        place = int(np.argmin(cost))
        sign = -1 if self._better_turned(int(both[0][place]), int(both[1][place])) else 1
        voter = row_voter(ColumnVoter(place, sign, 1.0), engine)
        leaf, _ = engine.evaluate(voter.fitted)
        return Ranked(float(cost[place]), voter, engine.leaf_sums(leaf, len(voter.leaves), grids[1]))

    # ------------------------------------------------------------ paired stumps

    def pair(self, best: Ranked, way: str) -> Ranked:
        """16 labelings of the leaves of a pair of splits: those of a stump and of the constants are among them."""
        if way == "greedy":
            firsts = best.voter.splits
        else:
            all_found = all_splits(self.finder, self.search)
            firsts = [Split(ROOT, 1, 2, found.column, found.cut, found.on_left) for found in all_found]
        for first in firsts:
            best = self._second(first, best)
        return best

    def _second(self, first: Split, best: Ranked) -> Ranked:
        """The best pair with this first split, or what was best before."""
        engine: Any = self.search.engine
        lefts = engine.both_left(first)[:, :, : len(self.bins.n_bins)]
        children = [np.stack([left, whole - left]) for left, whole in zip(lefts, self.histograms, strict=True)]
        for cost, found, labels in self._seconds(children, first.column):
            if cost < best.cost:
                second = (found.column, found.cut, found.on_left)
                sums = [[sides_of(child, found.column, found.on_left) for child in channel] for channel in children]
                splits = [first, Split(1, 3, 4, *second), Split(2, 5, 6, *second)]
                best = self.ranked(cost, splits, [3, 4, 5, 6], np.array(sums).reshape(2, 4, 2), labels)
        return best

    def _seconds(self, children: Any, taken: int) -> Iterator[tuple[float, Found, tuple[int, ...]]]:
        """The cheapest second split for each labeling of the four leaves; a labeling and its complement are one."""
        cuts = Cuts.of(self.bins)
        valid = cuts.valid & (cuts.columns != taken)[:, None, None]
        whole = children[0].sum(axis=0)
        lefts = [[cuts.left(child) for child in channel] for channel in children]
        for labels in product((1,), *[(0, 1)] * 3):
            cost = self.of_shares(*map(_right, lefts, children, [labels] * 2))
            place = best_of(-cost, valid, -np.inf)
            if place >= 0:
                yield float(cost.ravel()[place]), self.finder.threshold(whole, *cuts.place(place)), labels
            for column in self.bins.split_by_sets:
                sets = sets_of(self.bins, column, [_gains(channel, column, labels) for channel in children])
                if column == taken or not len(sets):
                    continue
                inside = [[np.tensordot(child[:, column], sets, (1, 1)) for child in channel] for channel in children]
                cost = self.of_shares(*map(_right, inside, children, [labels] * 2))
                place = int(np.argmin(cost))
                yield float(cost[place]), self.finder.members(whole, column, sets[place].copy()), labels


def _right(lefts: Any, channel: Any, labels: tuple[int, ...]) -> Any:
    """What four leaves with these labels get right: the left child's left and right, then the right child's."""
    right = np.int64(0)
    for left, child, here, there in zip(lefts, channel, labels[::2], labels[1::2], strict=True):
        totals = child[:, 0].sum(axis=1)
        right = right + left[here] + totals[there] - left[there]
    return right


def _gains(channel: Any, column: int, labels: tuple[int, ...]) -> Integers:
    """Return by bin of the second split's column the weight that is right on the left less that on the right."""
    pairs = zip(channel, labels[::2], labels[1::2], strict=True)
    return np.asarray(sum(child[here, column] - child[there, column] for child, here, there in pairs))


def sets_of(bins: Any, column: int, gains: Any) -> NDArray[np.bool_]:
    """[set, bin] of the sets of categories to try as the left side; a set and its complement are one.

    Up to ten levels: all sets. Beyond: those that gain the most under some linear combination of the two sums, and
    single levels. gains[channel][bin]: what sending a bin left adds to the sums of what is right.
    """
    levels, sets = levels_of(bins, column), category_sets(bins, column)
    if len(levels) <= MOST_LEVELS:
        return sets
    extreme = np.zeros((len(levels) + 1, bins.width), dtype=np.bool_)
    extreme[:, levels] = extreme_sets(*(channel[levels] for channel in gains))
    sets = np.concatenate([extreme, sets])
    n_levels = np.count_nonzero(sets, axis=1)
    return np.asarray(sets[(n_levels > 0) & (n_levels < len(levels))])


def extreme_sets(first: Integers, second: Integers) -> NDArray[np.bool_]:
    """[set, level]: the sets with the largest sum of a first + b second, for all (a, b), up to complements.

    These are the vertices of the zonogon of all pairs of sums. The first set is the one for b = 0, AdaBoost's. As the
    direction (a, b) turns by half a circle, every level enters or leaves once.
    """
    scale = [max(float(np.abs(sums).max(initial=0)), 1.0) for sums in (first, second)]
    turns = np.mod(np.arctan2(second / scale[1], first / scale[0]) + np.pi / 2, np.pi)
    order = np.argsort(turns, kind="stable")
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    at_start = (first > 0) | ((first == 0) & (second > 0))
    sets = at_start ^ ((place < np.arange(len(order) + 1)[:, None]) & ((first != 0) | (second != 0)))
    sets[0] = first > 0
    return np.asarray(sets)
