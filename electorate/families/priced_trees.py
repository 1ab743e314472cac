"""Trees under a price that grows with their splits: DeepBoost's search, section 4 of the paper.

h*_1 is the best stump of all; h*_k is h*_(k-1) with one more layer, of those splits only that are worth their price.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from electorate.data.bins import Bins
from electorate.exact import Floats
from electorate.families.kernel_sections import KernelSections
from electorate.families.lookahead import Stuck, balanced, look_ahead
from electorate.families.paired_stumps import PairedStumps
from electorate.families.splits import ANY_ROWS, Finder, Found
from electorate.families.trees import (
    BYTES_AT_ONCE,
    MANY_LEVELS,
    Grown,
    Limits,
    OpenNode,
    Search,
    Trees,
    Voter,
    constant,
    mixed,
)
from electorate.messages import ROOT, Split
from electorate.theory import complexity
from electorate.theory.complexity import Shape

Price = Callable[[int, int], float]


@dataclass(frozen=True)
class _Offer:
    """A split of an open leaf, and what it adds to the weight that is right.

    n_splits: 1; or more for a split that gains nothing by itself, with those that gain below it.
    """

    gain: int
    place: int  # of the leaf, among the open ones
    found: Found
    n_splits: int = 1


class _GrowingTree:
    """The tree so far, and the leaves of its last layer, with their histograms."""

    def __init__(self, search: Search, limits: Limits) -> None:
        self.search = search
        self.limits = limits
        self.finder = Finder(search.bins, search.counts, limits.min_samples_leaf)
        self.grown = Grown(search.sums.totals)
        self.open = [OpenNode(ROOT, 0, search.sums.histogram)]

    def offers(self, levels: int) -> list[_Offer]:
        """The best split of each open leaf: largest gain first, then in their order, then those that take two layers.

        levels: how many layers the tree may still grow.
        """
        engine = self.search.engine
        rows = engine.count_rows([node.number for node in self.open]) if self.limits.count_rows else None
        offers, stuck = [], {}
        for place, node in enumerate(self.open):
            here, totals = ANY_ROWS if rows is None else rows[place], self.grown.totals[node.number]
            if rows is not None and here[0].sum() < self.limits.min_samples_split:
                continue
            found = self.finder.best(node.histogram, totals, here)
            if found is not None:
                offers.append(_Offer(int(found.sums.max(axis=1).sum()) - int(totals.max()), place, found))
            elif levels > 1:
                stuck[place] = Stuck(node.number, node.histogram, totals, here, levels, False)
        offers.sort(key=lambda offer: (-offer.gain, offer.place))
        # leaves whose columns are all balanced: the split with the best ones below it
        stuck = {place: node for place, node in stuck.items() if balanced(self.finder, engine, node)}
        looked = look_ahead(self.finder, engine, list(stuck.values()))
        for (place, leaf), (_, ahead) in zip(stuck.items(), looked, strict=True):
            if ahead is not None:
                gain, below = int(ahead.value) - int(leaf.totals.max()), sum(found is not None for found in ahead.below)
                offers.append(_Offer(gain, place, replace(ahead.first, gains=False), 1 + below))
        return offers

    def add(self, taken: list[_Offer], more: bool) -> None:
        """Add one more layer; with the histograms of its leaves if there may be `more`."""
        leaves, sent = self.grown.totals, []
        for offer in sorted(taken, key=lambda offer: offer.place):
            node = self.open[offer.place]
            split = self.grown.add(node.number, offer.found)
            if mixed(leaves[split.left]) or mixed(leaves[split.right]):
                sent.append((split, node))
        sent = sent[: max(1, BYTES_AT_ONCE // max(1, self.search.sums.histogram.nbytes) // 2)]
        self.open = []
        if not more or not sent:
            return
        every, _ = self.search.engine.both_sides([split for split, _ in sent], [node.histogram for _, node in sent])
        for (split, node), sides in zip(sent, every, strict=True):
            for number, histogram in zip((split.left, split.right), sides, strict=True):
                if mixed(leaves[number]):
                    self.open.append(OpenNode(number, node.depth + 1, histogram))


def priced_trees(search: Search, limits: Limits, price: Price) -> list[Voter]:
    """h*_1, h*_2, ...: as long as a layer is worth its price. price: of splits and levels, in shares of the weight."""
    tree, voters, depth = _GrowingTree(search, limits), [constant(search)], 0
    deepest = limits.max_depth if limits.max_depth is not None else MANY_LEVELS
    while tree.open and depth < deepest:
        offers = tree.offers(deepest - depth)
        taken = offers[:1] if depth == 0 else _worth(offers, tree.grown.n_splits, search.sums.total, price, depth)
        if not taken:
            break
        depth += 1
        tree.add(taken, depth < deepest)
        voter = tree.grown.voter()  # without splits that gain nothing so far
        if len(voter.splits) > len(voters[-1].splits):
            voters.append(voter)
    return voters[1:] or voters


def _worth(offers: list[_Offer], splits: int, total: int, price: Price, depth: int) -> list[_Offer]:
    """The first so many of the splits, all of one layer, for which the edge they add less what they cost is largest."""
    gains = np.cumsum([0, *(offer.gain for offer in offers)]).tolist()
    many = np.cumsum([splits, *(offer.n_splits for offer in offers)]).tolist()
    levels = [depth, *[depth + 1] * len(offers)]
    values = [2 * (gain / total) - price(*size) for gain, *size in zip(gains, many, levels, strict=True)]
    return offers[: int(np.argmax(values))]


# ---------------------------------------------------------------- prices

Given = Sequence[float] | Callable[[Any, int, int], float]  # a number per family, or r(family, splits, depth)


@dataclass(frozen=True)
class Prices:
    """n: the sum of the weights as they were given; d: columns.

    kind: "published", the paper's with trees by eq. 9; "depth", the same with trees by depth; "provable"; or r itself.
    rows: those with weight, and their weights, of families over whole rows.
    """

    lam: float
    beta: float
    n: Any
    d: int
    shape: Shape
    kind: str | Given = "published"
    rows: tuple[Floats, Floats] | None = None

    @property
    def needs_depth(self) -> bool:
        return self.lam > 0 and (self.kind == "depth" or callable(self.kind))

    def of(self, family: Any, splits: int, depth: int = 0, member: int = 0) -> float:
        """Return the price of a voter with so many splits and levels, of this member of a union."""
        return self.beta if self.lam == 0 else self.lam * self.complexity(family, splits, depth, member) + self.beta

    def complexity(self, family: Any, splits: int, depth: int = 0, member: int = 0) -> float:
        n = max(self.n, 2.0)
        if callable(self.kind):
            return _checked(float(self.kind(family, splits, depth)), family)
        if not isinstance(self.kind, str):
            return float(self.kind[member])
        if isinstance(family, KernelSections) and self.rows is not None:
            return family.complexity(*self.rows)
        published = self.kind != "provable"
        if not hasattr(family, "published" if published else "log_count"):
            raise ValueError(
                f"{type(family).__name__} has no complexity: give it published(n, d) and "
                "log_count(n, shape), or set lam=0"
            )
        if isinstance(family, Trees) and self.kind == "depth":
            return complexity.published_depth(n, self.d, depth)
        if isinstance(family, Trees) and published:
            return complexity.published_trees(n, self.d, splits)
        if isinstance(family, Trees):
            return complexity.massart(n, complexity.log_trees(n, self.shape, splits))
        if isinstance(family, PairedStumps) and self.d < 2:  # then its voters are stumps
            return complexity.published_stumps(n, self.d)
        if published:
            return float(family.published(n, self.d))
        return complexity.massart(n, family.log_count(n, self.shape))


def _checked(r: float, family: Any) -> float:
    if not 0 <= r < np.inf:
        raise ValueError(f"complexity gave {r!r} for {family!r}: it must be finite and not negative")
    return r


def depth_of(splits: Sequence[Split]) -> int:
    """The largest number of splits on a path; parents come first."""
    depth = {ROOT: 0}
    for split in splits:
        depth[split.left] = depth[split.right] = depth[split.node] + 1
    return max(depth.values())


def shape_of(bins: Bins) -> Shape:
    """A column of categories with missing values has one level more; one without any value is no column."""
    there = bins.n_bins > 0
    levels = tuple(int(bins.n_bins[j] + bins.has_missing[j]) for j in sorted(bins.categories) if there[j])
    ordered = ~np.isin(np.arange(len(there)), list(bins.categories)) & there
    return Shape(
        int(np.count_nonzero(ordered & ~bins.has_missing)), int(np.count_nonzero(ordered & bins.has_missing)), levels
    )
