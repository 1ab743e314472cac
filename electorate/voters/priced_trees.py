"""Trees under a price that grows with their questions: DeepBoost's search, section 4 of the paper.

h*_1 is the best stump of all; h*_k is h*_(k-1) with one more layer, of those splits only that are worth their price.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from electorate.engines.messages import ROOT, Question
from electorate.voters.questions import ANY_ROWS, Finder, Found
from electorate.voters.trees import BYTES_AT_ONCE, Limits, Search, Voter, constant

Price = Callable[[int], float]


class _Tree:
    """The tree so far, and the histograms of the leaves of its last layer."""

    def __init__(self, search: Search, limits: Limits) -> None:
        self.search = search
        self.limits = limits
        self.finder = Finder(search.bins, search.counts, "edge", limits.min_samples_leaf)
        self.questions: list[Question] = []
        self.leaves: dict[int, NDArray[np.int64]] = {ROOT: search.sums.totals}
        self.open: list[tuple[int, NDArray[np.int64]]] = [(ROOT, search.sums.histogram)]

    def offers(self) -> list[tuple[int, int, Found]]:
        """What each open leaf's best split would add to the weight that is right: most first, then in their order."""
        rows = self.search.engine.count_rows([node for node, _ in self.open]) if self.limits.count_rows else None
        offers = []
        for place, (node, histogram) in enumerate(self.open):
            here = ANY_ROWS if rows is None else rows[place]
            if rows is not None and here[0].sum() < self.limits.min_samples_split:
                continue
            found = self.finder.best(histogram, self.leaves[node], here)
            if found is not None:
                gain = int(found.sums.max(axis=1).sum()) - int(self.leaves[node].max())
                offers.append((gain, place, found))
        return sorted(offers, key=lambda offer: (-offer[0], offer[1]))

    def add(self, taken: list[tuple[int, int, Found]], more: bool) -> None:
        """One more layer; with the histograms of its leaves if there may be `more`."""
        asked = []
        for _, place, found in sorted(taken, key=lambda offer: offer[1]):
            node, histogram = self.open[place]
            left = 2 * len(self.questions) + 1
            question = Question(node, left, left + 1, found.column, found.cut, found.on_left)
            self.questions.append(question)
            del self.leaves[node]
            self.leaves[left], self.leaves[left + 1] = found.sums
            asked.append((question, histogram))
        self.open = self._children(asked) if more else []

    def _children(self, asked: list[tuple[Question, NDArray[np.int64]]]) -> list[tuple[int, NDArray[np.int64]]]:
        asked = [(q, h) for q, h in asked if _mixed(self.leaves[q.left]) or _mixed(self.leaves[q.right])]
        room = max(1, BYTES_AT_ONCE // max(1, self.search.sums.histogram.nbytes) // 2)
        if not asked:
            return []
        asked = asked[:room]
        lefts = self.search.engine.split([question for question, _ in asked])
        both = [
            pair
            for (q, whole), left in zip(asked, lefts, strict=True)
            for pair in ((q.left, left), (q.right, whole - left))
        ]
        return [(node, histogram) for node, histogram in both if _mixed(self.leaves[node])]

    def voter(self) -> Voter:
        return Voter(list(self.questions), list(self.leaves), np.array(list(self.leaves.values())))


def priced_trees(search: Search, limits: Limits, price: Price) -> list[Voter]:
    """h*_1, h*_2, ...: as long as a layer is worth its price. price: of so many questions, in shares of the weight."""
    tree, voters, depth = _Tree(search, limits), [], 0
    deepest = limits.max_depth if limits.max_depth is not None else 2**31
    while tree.open and depth < deepest:
        offers = tree.offers()
        many = 1 if depth == 0 and offers else _worth(offers, len(tree.questions), search.sums.total, price)
        if many == 0:
            break
        depth += 1
        tree.add(offers[:many], depth < deepest)
        voters.append(tree.voter())
    return voters or [constant(search)]


def _worth(offers: list[Any], questions: int, total: int, price: Price) -> int:
    """How many of the splits, the best first, to take: the edge they add less what they cost is largest."""
    added = np.cumsum([0, *(offer[0] for offer in offers)])
    values = [2 * (int(gain) / total) - price(questions + many) for many, gain in enumerate(added)]
    return int(np.argmax(values))


def _mixed(weights: NDArray[np.int64]) -> bool:
    return int(np.count_nonzero(weights)) > 1
