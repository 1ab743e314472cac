"""Families whose voters are all ranked by a cost of two sums: what they get right of w, and of w^2 (EBBoost).

Such a cost does not come from weights of single examples, so every voter must be looked at: stumps, pools, columns that
vote, and paired stumps can be enumerated from sums, trees and rules cannot.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import combinations, product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from electorate import kernels
from electorate.messages import ROOT, Split
from electorate.voters.by_rows import Always, ByRows
from electorate.voters.columns import Columns, ColumnVoter
from electorate.voters.cuts import Cuts, best_of
from electorate.voters.paired_stumps import PairedStumps, all_splits
from electorate.voters.pool import Candidates, Pool
from electorate.voters.splits import Finder, Found
from electorate.voters.trees import Search, Stumps, Voter
from electorate.voters.union import Union

MOST_LEVELS = 10  # of a column of categories whose sets are all tried
LABELS = np.array([[-1.0], [1.0]])  # what is said for label 0 and for label 1
Sums2 = NDArray[np.int64]  # [channel, leaf, label]


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
    """A voter with its cost, and the sums of both channels in its leaves."""

    cost: float
    voter: Voter
    squares: NDArray[np.int64]  # [leaf, label]


class ByCost:
    """A family as EBBoost searches it. Ties: as in the family's own search; a voter that asks before the constant."""

    def __init__(self, family: Any, booster: Any) -> None:
        self.family = family
        self.booster = booster
        self.fitted_elsewhere = isinstance(family, ByRows)

    def best(self, search: Search) -> Voter:
        return self._settled(self._best(self.family, _Costs(search, self.booster)), search)

    def constant(self, search: Search) -> Voter:
        costs = _Costs(search, self.booster)
        always = costs.constant()
        if isinstance(self.family, ByRows):
            sign = 1 if always.voter.said[0, 0] > 0 else -1  # type: ignore[index]
            always = replace(always, voter=self.family._heard(Always(sign), search.engine))
        return self._settled(always, search)

    def outputs(self, voter: Voter, n_rows: int, wanted: str) -> NDArray[np.float64]:
        assert voter.said is not None
        return voter.said

    def skip(self, rounds: int) -> None:
        """Nothing is drawn."""

    def _best(self, family: Any, costs: "_Costs") -> Ranked:
        if isinstance(family, Union):
            each = [self._best(member, costs) for member in family.families]
            return min(each, key=lambda ranked: ranked.cost)
        if isinstance(family, ByRows):
            return costs.column(family)
        if isinstance(family, Pool):
            return costs.of_pool(family)
        if isinstance(family, PairedStumps):
            return costs.pair(family.search)
        return costs.stump()

    def _settled(self, ranked: Ranked, search: Search) -> Voter:
        """With its step. Weight too light for the grid is not none: a perfect voter must be right on every row."""
        voter, costs = ranked.voter, _Costs(search, self.booster)
        weights, squares = right_and_wrong(voter, voter.sums), right_and_wrong(voter, ranked.squares)
        if weights[1] == 0 or squares[1] == 0:
            rows = search.engine.leaf_rows(voter)  # type: ignore[attr-defined]
            least = 1 if right_and_wrong(voter, rows)[1] else 0
            weights, squares = (weights[0], max(weights[1], least)), (squares[0], max(squares[1], least))
        step = self.booster.settle(weights, squares, costs.spread)
        gains = self.booster.gains(step, voter.said)[0].T
        self.booster.held[:] = zip(ranked.squares.ravel().tolist(), gains.ravel().tolist(), strict=True)
        return replace(voter, step=step)


def right_and_wrong(voter: Voter, sums: NDArray[np.int64]) -> tuple[int, int]:
    assert voter.said is not None
    said = (voter.said[:, 0] > 0).astype(np.int64)
    right = int(sums[np.arange(len(said)), said].sum())
    return right, int(sums.sum()) - right


class _Costs:
    """The costs of the voters of one round."""

    def __init__(self, search: Search, booster: Any) -> None:
        assert search.sums.more is not None
        self.search, self.booster, self.bins = search, booster, search.bins
        self.channels = (search.sums, search.sums.more)
        mass = int(search.counts[0].sum())
        one = mass * float(search.engine.unit)  # type: ignore[attr-defined]
        self.spread = booster.spread(search.sums, one, search.floor)

    @property
    def histograms(self) -> list[NDArray[np.int64]]:
        n_columns = len(self.bins.n_bins)
        return [sums.histogram[:, :n_columns] for sums in self.channels]

    def of_shares(self, right: Any, right_squares: Any) -> Any:
        weights, squares = (max(sums.total, 1) for sums in self.channels)
        return self.booster.rank(right / weights, right_squares / squares, self.spread)

    def ranked(self, cost: float, splits: list[Split], leaves: list[int], sums: Sums2, said: Any) -> Ranked:
        labels = np.asarray(said, dtype=np.int64)
        weights, squares = sums
        rows = np.arange(len(labels))
        right, up = weights[rows, labels].sum(), squares[rows, labels].sum()
        if self._better_turned(right, up):
            labels = 1 - labels
        voter = Voter(splits, leaves, weights, said=LABELS[labels])
        return Ranked(cost, voter, squares)

    def _better_turned(self, right: int, up: int) -> bool:
        """Whether the complement is the one with a positive step."""
        weights, squares = (sums.total for sums in self.channels)
        ups, downs = self.booster.sides((right, weights - right), (up, squares - up), self.spread)
        return bool(downs > ups)

    # ------------------------------------------------------------ constants and stumps

    def constant(self) -> Ranked:
        sums = np.stack([part.totals for part in self.channels])[:, None]
        cost = float(self.of_shares(sums[0, 0, 1], sums[1, 0, 1]))
        return self.ranked(cost, [], [ROOT], sums, [1])

    def stump(self) -> Ranked:
        best = self._stump()
        always = self.constant()
        return always if best is None or always.cost < best.cost else best

    def _stump(self) -> Ranked | None:
        found = np.zeros(3, dtype=np.int64)
        (weights, squares), bins = self.histograms, self.bins
        layout = (bins.n_bins, bins.has_missing, bins.ordered)
        totals = [sums.totals for sums in self.channels]
        least = kernels.cheapest_threshold(
            weights, totals[0], squares, totals[1], *layout, self.booster.lam, self.spread, found
        )
        best = self._asked(least, self.finder.threshold(weights, *found.tolist())) if np.isfinite(least) else None
        for column in sorted(bins.categories):
            sets = sets_of(bins, column, [sums[0, column] - sums[1, column] for sums in (weights, squares)])
            if not len(sets):
                continue
            lefts = [sets @ histogram[:, column].T for histogram in (weights, squares)]  # [set, label]
            right, up = (left[:, 1] + total[0] - left[:, 0] for left, total in zip(lefts, totals, strict=True))
            cost = self.of_shares(right, up)
            place = int(np.argmin(cost))
            if best is None or cost[place] < best.cost:
                best = self._asked(float(cost[place]), self.finder.members(weights, column, sets[place].copy()))
        return best

    @property
    def finder(self) -> Finder:
        return Finder(self.bins, self.search.counts)

    def _asked(self, cost: float, found: Found) -> Ranked:
        split = Split(ROOT, 1, 2, found.column, found.cut, found.on_left)
        sums = np.stack([_sides(histogram, found) for histogram in self.histograms])
        return self.ranked(cost, [split], [1, 2], sums, [1, 0])

    # ------------------------------------------------------------ pools and columns

    def of_pool(self, pool: Pool) -> Ranked:
        """Without complements a voter says label 0 on the left; one whose step would be negative does not compete."""
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
        found = tests.found(place, self.finder, self.histograms[0])
        ranked = self._asked(float(cost[place]), found)
        if pool.complements:
            return ranked
        return replace(ranked, voter=replace(ranked.voter, said=LABELS[[0, 1]]))

    def column(self, family: ByRows) -> Ranked:
        engine: Any = self.search.engine
        rows = family._rows(engine)
        voters = rows.once("columns", lambda: family.family._read(rows))
        both = []
        for grid, sums in zip((engine.shard.grid, engine.shard.second_grid), self.channels, strict=True):
            both.append((voters.correlate(rows.signs * grid) + sums.total) // 2)
        cost = self.of_shares(*both)
        place = int(np.argmin(cost))
        sign = -1 if self._better_turned(int(both[0][place]), int(both[1][place])) else 1
        voter = family._heard(ColumnVoter(place, sign, 1.0), engine)
        leaf, _ = engine.hear(voter.fitted)
        squares = engine._sums(leaf, len(voter.leaves), engine.shard.second_grid)
        return Ranked(float(cost[place]), voter, squares)

    # ------------------------------------------------------------ paired stumps

    def pair(self, way: str) -> Ranked:
        """16 labelings of the leaves of a pair of questions: those of a stump and of the constants are among them."""
        stump = self.stump()
        if way == "greedy" and not stump.voter.splits:
            return stump
        best = stump
        for first in [_found(stump)] if way == "greedy" else all_splits(self.finder, self.search):
            found = self._second(first, best.cost)
            best = best if found is None else found
        return best

    def _second(self, first: Found, least: float) -> Ranked | None:
        engine: Any = self.search.engine
        n_columns = len(self.bins.n_bins)
        split = Split(ROOT, 1, 2, first.column, first.cut, first.on_left)
        lefts = engine.both_left(split)[:, :, :n_columns]
        children = [np.stack([left, whole - left]) for left, whole in zip(lefts, self.histograms, strict=True)]
        best: Ranked | None = None
        for cost, found, said in self._seconds(children, first.column):
            if cost < least:
                sums = np.stack([np.concatenate([_sides(child, found) for child in channel]) for channel in children])
                second = (found.column, found.cut, found.on_left)
                splits = [split, Split(1, 3, 4, *second), Split(2, 5, 6, *second)]
                best, least = self.ranked(cost, splits, [3, 4, 5, 6], sums, said), cost
        return best

    def _seconds(self, children: Any, taken: int) -> Iterator[tuple[float, Found, tuple[int, ...]]]:
        """The cheapest second question for each labeling of the four leaves; a labeling and its complement are one."""
        cuts = Cuts.of(self.bins)
        valid = cuts.valid & (cuts.columns != taken)[:, None, None]
        whole = children[0].sum(axis=0)
        lefts = [[cuts.left(child) for child in channel] for channel in children]
        for said in product((0, 1), repeat=4):
            if said[0] == 0:
                continue
            cost = self.of_shares(*(self._right(left, ch, said) for left, ch in zip(lefts, children, strict=True)))
            place = best_of(-cost, valid, -np.inf)
            if place >= 0:
                yield float(cost.ravel()[place]), self.finder.threshold(whole, *cuts.place(place)), said
            for column in sorted(self.bins.categories):
                sets = sets_of(self.bins, column, [_gains(channel, column, said) for channel in children])
                if column == taken or not len(sets):
                    continue
                inside = [[np.tensordot(child[:, column], sets, (1, 1)) for child in channel] for channel in children]
                cost = self.of_shares(*(self._right(left, ch, said) for left, ch in zip(inside, children, strict=True)))
                place = int(np.argmin(cost))
                yield float(cost[place]), self.finder.members(whole, column, sets[place].copy()), said

    def _right(self, lefts: Any, channel: Any, said: tuple[int, ...]) -> Any:
        """What is right where the four leaves say this: the left child's left and right, then the right child's."""
        right = np.int64(0)
        for number, (left, child) in enumerate(zip(lefts, channel, strict=True)):
            totals = child[:, 0].sum(axis=1)
            here, there = said[2 * number : 2 * number + 2]
            right = right + left[here] + totals[there] - left[there]
        return right


def _found(ranked: Ranked) -> Found:
    split = ranked.voter.splits[0]
    return Found(split.column, split.cut, split.on_left, ranked.voter.sums)


def _sides(histogram: NDArray[np.int64], found: Found) -> NDArray[np.int64]:
    """[side, label]."""
    here = histogram[:, found.column]
    left = here[:, found.on_left].sum(axis=1)
    return np.stack([left, here.sum(axis=1) - left])


def _gains(channel: Any, column: int, said: tuple[int, ...]) -> NDArray[np.int64]:
    """By bin of the second question's column: the weight that is right on the left less that on the right."""
    gains = np.zeros(channel.shape[-1], dtype=np.int64)
    for number, child in enumerate(channel):
        here, there = said[2 * number : 2 * number + 2]
        gains += child[here, column] - child[there, column]
    return gains


def sets_of(bins: Any, column: int, gains: Any) -> NDArray[np.bool_]:
    """[set, bin] of the sets of categories to try as the left side; a set and its complement are one.

    Up to ten levels: all sets. Beyond: those that gain the most under some linear combination of the two sums, and
    single levels. gains[channel][bin]: what sending a bin left adds to the sums of what is right.
    """
    levels = np.arange(bins.n_bins[column])
    if bins.has_missing[column]:
        levels = np.append(levels, bins.missing)
    if len(levels) > MOST_LEVELS:
        sets = np.zeros((2 * len(levels) + 1, bins.width), dtype=np.bool_)
        sets[: len(levels) + 1, levels] = extreme_sets(*(channel[levels] for channel in gains))
        sets[np.arange(len(levels) + 1, len(sets)), levels] = True
        held = np.count_nonzero(sets, axis=1)
        return np.asarray(sets[(held > 0) & (held < len(levels))])
    chosen = [members for size in range(1, len(levels)) for members in combinations(levels[1:].tolist(), size)]
    sets = np.zeros((len(chosen), bins.width), dtype=np.bool_)
    for number, members in enumerate(chosen):
        sets[number, list(members)] = True
    return sets


def extreme_sets(first: NDArray[np.int64], second: NDArray[np.int64]) -> NDArray[np.bool_]:
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
