"""Trees under a price that grows with their questions: DeepBoost's search, section 4 of the paper.

h*_1 is the best stump of all; h*_k is h*_(k-1) with one more layer, of those splits only that are worth their price.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from electorate.messages import ROOT, Split
from electorate.voters.lookahead import Stuck, balanced, look_ahead
from electorate.voters.splits import ANY_ROWS, Finder, Found
from electorate.voters.trees import BYTES_AT_ONCE, Grown, Limits, Search, Voter, constant

Price = Callable[[int], float]


@dataclass(frozen=True)
class _Offer:
    """A split of an open leaf, and what it adds to the weight that is right.

    n_questions: 1; or more for a split that gains nothing by itself, with those that gain below it.
    """

    gain: int
    place: int  # of the leaf, among the open ones
    found: Found
    n_splits: int = 1


class _Tree:
    """The tree so far, and the histograms of the leaves of its last layer."""

    def __init__(self, search: Search, limits: Limits) -> None:
        self.search = search
        self.limits = limits
        self.finder = Finder(search.bins, search.counts, "edge", limits.min_samples_leaf)
        self.grown = Grown({ROOT: search.sums.totals})
        self.open: list[tuple[int, NDArray[np.int64]]] = [(ROOT, search.sums.histogram)]

    @property
    def n_splits(self) -> int:
        return len(self.grown.splits)

    def offers(self, levels: int) -> list[_Offer]:
        """The best split of each open leaf: largest gain first, then in their order, then those that take two layers.

        levels: how many layers the tree may still grow.
        """
        rows = self.search.engine.count_rows([node for node, _ in self.open]) if self.limits.count_rows else None
        offers, stuck = [], {}
        for place, (node, histogram) in enumerate(self.open):
            here, totals = ANY_ROWS if rows is None else rows[place], self.grown.leaves[node]
            if rows is not None and here[0].sum() < self.limits.min_samples_split:
                continue
            found = self.finder.best(histogram, totals, here)
            if found is not None:
                offers.append(_Offer(_right(found.sums) - int(totals.max()), place, found))
            elif levels > 1:
                stuck[place] = Stuck(node, histogram, totals, here, levels, False)
        offers.sort(key=lambda offer: (-offer.gain, offer.place))
        engine = self.search.engine
        return offers + self._deeper({at: node for at, node in stuck.items() if balanced(self.finder, engine, node)})

    def _deeper(self, stuck: dict[int, Stuck]) -> list[_Offer]:
        """Of leaves whose columns all are balanced: the split with the best ones below it."""
        offers = []
        found = look_ahead(self.finder, self.search.engine, list(stuck.values()))
        for (place, node), (_, ahead) in zip(stuck.items(), found, strict=True):
            if ahead is not None:
                gain = int(ahead.value) - int(node.totals.max())
                below = sum(test is not None for test in ahead.below)
                offers.append(_Offer(gain, place, replace(ahead.first, gains=False), 1 + below))
        return offers

    def add(self, taken: list[_Offer], more: bool) -> None:
        """One more layer; with the histograms of its leaves if there may be `more`."""
        asked = []
        for offer in sorted(taken, key=lambda offer: offer.place):
            node, histogram = self.open[offer.place]
            asked.append((self.grown.add(node, offer.found), histogram))
        self.open = self._children(asked) if more else []

    def _children(self, asked: list[tuple[Split, NDArray[np.int64]]]) -> list[tuple[int, NDArray[np.int64]]]:
        asked = [(q, h) for q, h in asked if _mixed(self.grown.leaves[q.left]) or _mixed(self.grown.leaves[q.right])]
        room = max(1, BYTES_AT_ONCE // max(1, self.search.sums.histogram.nbytes) // 2)
        if not asked:
            return []
        asked = asked[:room]
        lefts = self.search.engine.split([split for split, _ in asked])
        both = [
            pair
            for (q, whole), left in zip(asked, lefts, strict=True)
            for pair in ((q.left, left), (q.right, whole - left))
        ]
        return [(node, histogram) for node, histogram in both if _mixed(self.grown.leaves[node])]

    def voter(self) -> Voter:
        """The tree without splits that gain nothing so far."""
        grown = self.grown.pruned(self.search.sums.totals)
        return Voter(list(grown.splits), list(grown.leaves), np.array(list(grown.leaves.values())))


def priced_trees(search: Search, limits: Limits, price: Price) -> list[Voter]:
    """h*_1, h*_2, ...: as long as a layer is worth its price. price: of so many questions, in shares of the weight."""
    tree, voters, depth = _Tree(search, limits), [constant(search)], 0
    deepest = limits.max_depth if limits.max_depth is not None else 2**31
    while tree.open and depth < deepest:
        offers = tree.offers(deepest - depth)
        taken = offers[:1] if depth == 0 else _worth(offers, tree.n_splits, search.sums.total, price)
        if not taken:
            break
        depth += 1
        tree.add(taken, depth < deepest)
        voter = tree.voter()
        if len(voter.splits) > len(voters[-1].splits):
            voters.append(voter)
    return voters[1:] or voters


def _worth(offers: list[_Offer], splits: int, total: int, price: Price) -> list[_Offer]:
    """The first so many of the splits for which the edge they add less what they cost is largest."""
    gains = np.cumsum([0, *(offer.gain for offer in offers)]).tolist()
    many = np.cumsum([splits, *(offer.n_splits for offer in offers)]).tolist()
    values = [2 * (gain / total) - price(asked) for gain, asked in zip(gains, many, strict=True)]
    return offers[: int(np.argmax(values))]


def _right(sums: NDArray[np.int64]) -> int:
    """The weight on which leaves are right."""
    return int(sums.max(axis=1).sum())


def _mixed(weights: NDArray[np.int64]) -> bool:
    return int(np.count_nonzero(weights)) > 1
