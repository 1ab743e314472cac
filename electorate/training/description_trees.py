"""Trees that may be added to a described vote: grown greedily by the change of a loss plus what their bits cost.

A tree grows from the test of a good stump: below it, each side gets the best stump, and the test of that stump may be
split further. Sums over the rows of a region come from one product; those of its other side are what is left.
"""

from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from electorate.arrays import Bools, Floats
from electorate.theory.description import Code
from electorate.theory.tree_code import Branch

NONE, ONE, TWO = 1.0, 3.0, 2.0  # bits of the shape: how many branches are below one


class RegionSums(Protocol):
    """The rows that count."""

    def sums(self, values: Floats) -> Floats:
        """[test, value]: over the rows where a test holds."""

    def holds_at(self, test: int) -> Bools:
        """Where a test holds, by row."""


class NodePrices(NamedTuple):
    """In errors: of each test, each pair of votes, each vote of a leaf beside a branch, and of a bit.

    pairs: [inside, outside], nobody last.
    """

    tests: Floats
    pairs: Floats
    leaves: Floats
    rate: float


class GrownSubtree(NamedTuple):
    """A subtree, and the change of the loss with its price."""

    score: float
    node: Branch | int


class Region(NamedTuple):
    """Some rows: which they are, and how the loss changes there by class, where each test holds and in all."""

    rows: Bools
    sums: Floats
    total: Floats


@dataclass(frozen=True)
class TreeGrower:
    """changed: [row, class]: how the loss of a row changes if a class gets the weight of the tree."""

    rows: RegionSums
    code: Code
    prices: NodePrices
    changed: Floats

    def tree(self, test: int, inside: Floats, everywhere: Floats) -> GrownSubtree:
        """The best tree with this test at its root. inside, everywhere: sums of `changed` for each test, and in all."""
        region = Region(np.ones(len(self.changed), dtype=np.bool_), inside, everywhere)
        grown = self.fork(test, region, self.code.max_depth)
        return GrownSubtree(grown.score - self.prices.rate, grown.node)  # a root has a branch below it: a bit less

    def branch(self, region: Region, left: int) -> GrownSubtree:
        """The best stump of a region, or its test with more below it. left: the depth that is allowed."""
        stump = self.stump(region)
        if left == 1:
            return stump
        forked = self.fork(stump.node.test, region, left) if isinstance(stump.node, Branch) else stump
        return min(GrownSubtree(stump.score + NONE * self.prices.rate, stump.node), forked, key=lambda one: one.score)

    def fork(self, test: int, region: Region, left: int) -> GrownSubtree:
        """A test with one or two branches below it."""
        here = region.rows & self.rows.holds_at(test)
        sums = self.rows.sums(self.changed * here[:, None])
        parts = [
            Region(here, sums, region.sums[test]),
            Region(region.rows & ~here, region.sums - sums, region.total - region.sums[test]),
        ]
        (first, second), (one, other) = (
            [self.branch(part, left - 1) for part in parts],
            [self.leaf(part) for part in parts],
        )
        tried = [(first, second, TWO), (first, other, ONE), (one, second, ONE)]
        found = [
            GrownSubtree(
                a.score + b.score + bits * self.prices.rate + self.prices.tests[test], Branch(test, a.node, b.node)
            )
            for a, b, bits in tried
        ]
        return min(found, key=lambda grown: grown.score)

    def stump(self, region: Region) -> GrownSubtree:
        """The best test with two leaves."""
        within = np.column_stack([region.sums, np.zeros(len(region.sums))])
        without = np.column_stack([region.total - region.sums, np.zeros(len(region.sums))])
        score = np.min(within[:, :, None] + without[:, None] + self.prices.pairs, axis=(1, 2)) + self.prices.tests
        test = int(np.argmin(score))
        pairs = within[test, :, None] + without[test] + self.prices.pairs
        a, b = np.unravel_index(int(np.argmin(pairs)), pairs.shape)
        return GrownSubtree(float(score[test]), Branch(test, self.code.class_at(int(a)), self.code.class_at(int(b))))

    def leaf(self, region: Region) -> GrownSubtree:
        score = np.append(region.total, 0.0) + self.prices.leaves
        best = int(np.argmin(score))
        return GrownSubtree(float(score[best]), self.code.class_at(best))
