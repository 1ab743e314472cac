"""The length of a description: a prefix code for votes over tests that were fixed before the rows were counted.

A vote is a multiset of voters. A voter names its tests, the class that it votes for where all of them hold, the class
elsewhere, and its weight; a tree names a class for each leaf. `Code.bits` is -log2 of
the probability of the vote under a distribution over all votes, so 2^-bits sums to at most 1 (Kraft);
docs/certificates.md has the proof. Everything that is chosen is in the code.
"""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Union

import numpy as np

from electorate.exact import Floats, Ints


class Branch(NamedTuple):
    """A test by its number, and what follows where it holds and where it fails: a branch, or the class of a leaf."""

    test: int
    holds: Union["Branch", int]
    fails: Union["Branch", int]


class CodedTree(NamedTuple):
    """A tree of depth 2 or more: each leaf votes for a class, or abstains. weight: a place on the grid."""

    root: Branch
    weight: int

    @property
    def tests(self) -> tuple[int, ...]:
        return tuple(branch.test for branch in branches(self.root))

    @property
    def pairs(self) -> tuple[tuple[int, int], ...]:
        """The votes of leaves that are children of one branch."""
        return tuple(
            (branch.holds, branch.fails)
            for branch in branches(self.root)
            if isinstance(branch.holds, int) and isinstance(branch.fails, int)
        )

    @property
    def single_leaves(self) -> tuple[int, ...]:
        """The votes of leaves next to a branch."""
        found = []
        for branch in branches(self.root):
            leaves = [child for child in branch[1:] if isinstance(child, int)]
            found += leaves if len(leaves) == 1 else []
        return tuple(found)


def branches(root: Branch) -> Iterator[Branch]:
    """From the root, the side where a test holds first."""
    yield root
    for child in root[1:]:
        if isinstance(child, Branch):
            yield from branches(child)


def depth(node: Branch | int) -> int:
    return 1 + max(depth(node.holds), depth(node.fails)) if isinstance(node, Branch) else 0


def shape_bits(root: Branch, max_depth: int) -> float:
    """The root has one branch below it (1/4 for each side) or two (1/2); a branch further down has none with 1/2.

    At the largest depth a branch has two leaves, which takes no bits.
    """
    if depth(root) > max_depth:
        raise ValueError(f"a tree of depth {depth(root)} has no code of trees up to depth {max_depth}")
    return _below(root, max_depth) - 1  # it has one or two, which halves what is possible


def _below(branch: Branch, left: int) -> float:
    """None: 1/2; one, for each side: 1/8; two: 1/4."""
    if left == 1:
        return 0.0
    further = [child for child in branch[1:] if isinstance(child, Branch)]
    return (1.0, 3.0, 2.0)[len(further)] + sum(_below(child, left - 1) for child in further)


NOBODY = -1  # in place of a class: no vote


class Literal(NamedTuple):
    """A test by its number, and whether it must hold or fail."""

    test: int
    holds: bool


class CodedVoter(NamedTuple):
    """A rule: one vote where all its literals are true, another where one is not. weight: a place on the grid."""

    literals: tuple[Literal, ...]  # distinct, sorted: their order carries no information
    inside: int
    outside: int
    weight: int

    @property
    def tests(self) -> tuple[int, ...]:
        return tuple(literal.test for literal in self.literals)

    @property
    def pairs(self) -> tuple[tuple[int, int], ...]:
        return ((self.inside, self.outside),)

    @property
    def single_leaves(self) -> tuple[int, ...]:
        return ()


AnyVoter = CodedVoter | CodedTree


class Urn:
    """Polya's urn: an item is more likely to be drawn again, in proportion to how often it was drawn.

    The probability of a sequence depends on how often each thing came, not on their order: it is exchangeable.
    """

    def __init__(self, base: Floats, strength: float) -> None:
        """base: the probabilities of the first draw, with a sum of at most 1."""
        if not (np.all(base >= 0) and base.sum() <= 1 + 1e-9 and strength > 0):
            raise ValueError("the probabilities of an urn are not negative and sum to at most 1")
        self.base, self.strength = base, strength

    def bits(self, drawn: Iterable[int]) -> float:
        """Return the bits of a sequence of draws."""
        counts: Counter[int] = Counter()
        total = 0.0
        for before, thing in enumerate(drawn):
            total -= math.log2((self.strength * self.base[thing] + counts[thing]) / (self.strength + before))
            counts[thing] += 1
        return total

    def next_bits(self, drawn: Sequence[int]) -> Floats:
        """Return the bits of each item as the next draw after these."""
        counts = np.bincount(np.asarray(drawn, dtype=np.int64), minlength=len(self.base))
        with np.errstate(divide="ignore"):
            return np.asarray(np.log2(self.strength + len(drawn)) - np.log2(self.strength * self.base + counts))


@dataclass(frozen=True)
class Code:
    """The prior over votes.

    columns: the probability of each column for a test, before any was used. column: of each test. test_bits: what names
    a test among those of its column. n_weights: places of the weight grid. head: bits of what else was chosen (the
    prior's own votes, the default class). max_depth: of trees; 1: voters are rules only.
    none: the probability that there is no voter.
    """

    columns: Floats
    column: Ints
    test_bits: Floats
    n_classes: int
    n_weights: int
    max_terms: int
    head: float = 0.0
    max_depth: int = 1
    none: float = 0.5

    STRENGTH = 2.0  # of the urns
    TREES = 0.25  # the probability that a voter is a tree, where trees are allowed
    ABSTAINING = 0.125  # the probability that a leaf next to a branch abstains

    def __post_init__(self) -> None:
        share = np.bincount(self.column, weights=2.0**-self.test_bits, minlength=len(self.columns))
        if np.any(share > 1 + 1e-9):
            raise ValueError(f"the tests of column {int(np.argmax(share))} have more than all of its probability")

    # ------------------------------------------------------------ the urns

    @cached_property
    def column_urn(self) -> Urn:
        return Urn(self.columns, self.STRENGTH)

    @cached_property
    def vote_urn(self) -> Urn:
        """Half for votes on both sides, half for one side only."""
        k = self.n_classes
        both, one = 0.5 / (k * (k - 1)), 0.5 / (2 * k)
        base = np.array([both if min(pair) >= 0 else one for pair in self.vote_pairs])
        return Urn(base, self.STRENGTH)

    @cached_property
    def vote_pairs(self) -> list[tuple[int, int]]:
        """Pairs (inside, outside): two different classes, or a class and an abstention."""
        classes = [*range(self.n_classes), NOBODY]
        return [(a, b) for a in classes for b in classes if a != b]

    def class_at(self, place: int) -> int:
        """Return the class at a place of arrays whose last entry is the abstention."""
        return int(place) if place < self.n_classes else NOBODY

    @cached_property
    def pair_places(self) -> dict[tuple[int, int], int]:
        return {pair: number for number, pair in enumerate(self.vote_pairs)}

    @cached_property
    def leaf_urn(self) -> Urn:
        """The urn of leaves next to a branch: every class, and the abstention last, at index NOBODY."""
        each = (1 - self.ABSTAINING) / self.n_classes
        return Urn(np.array([each] * self.n_classes + [self.ABSTAINING]), self.STRENGTH)

    @cached_property
    def weight_urn(self) -> Urn:
        return Urn(np.full(self.n_weights, 1 / self.n_weights), self.STRENGTH)

    def count_bits(self, voters: int) -> float:
        """Return the bits of the number T of voters: `none` for 0, others in proportion to 1 / ((T + 1) (T + 2))."""
        if not voters:
            return -math.log2(self.none)
        return math.log2((voters + 1) * (voters + 2)) - math.log2(2 * (1 - self.none))

    # ------------------------------------------------------------ a vote

    def bits(self, voters: Sequence[AnyVoter]) -> float:
        """Return the bits of a vote. The order of its voters, and of the literals of each, is free."""
        place = self.pair_places
        tests = [test for voter in voters for test in voter.tests]
        total = self.head + self.count_bits(len(voters))
        total += self.column_urn.bits(int(self.column[test]) for test in tests)
        total += self.vote_urn.bits(place[pair] for voter in voters for pair in voter.pairs)
        total += self.leaf_urn.bits(label % (self.n_classes + 1) for voter in voters for label in voter.single_leaves)
        total += self.weight_urn.bits(voter.weight for voter in voters)
        total += math.fsum(self.test_bits[test] for test in tests)
        for voter in voters:
            total += self.tree_bits(voter) if isinstance(voter, CodedTree) else self.voter_bits(len(voter.tests))
        return total - log2_orders(voters)

    def tree_bits(self, tree: CodedTree) -> float:
        """Return the bits of a tree without its columns, tests, votes and weight: its kind and its shape."""
        return shape_bits(tree.root, self.max_depth) - math.log2(self.TREES)

    def voter_bits(self, terms: int) -> float:
        """Return the bits of a rule without its columns, tests, votes and weight: its size, and which literals hold.

        One literal that fails is one that holds with the votes exchanged: only several need their signs.
        """
        signs = terms if terms > 1 else 0
        kind = -math.log2(1 - self.TREES) if self.max_depth > 1 else 0.0
        return kind + terms + math.log2(1 - 2.0**-self.max_terms) + signs - math.lgamma(terms + 1) / math.log(2)


def log2_orders(voters: Sequence[AnyVoter]) -> float:
    """log2 of the number of sequences that are the same multiset: T! / (m_1! m_2! ...)."""
    repeated = math.fsum(math.lgamma(times + 1) for times in Counter(voters).values())
    return (math.lgamma(len(voters) + 1) - repeated) / math.log(2)


def subdivision_bits(cuts: int) -> Floats:
    """Return the bits of each of some ordered cuts: the middle one is cheapest, then the middles of both halves.

    A cut at depth l of the balanced subdivision costs log2 of the number of depths, and l bits.
    """
    depth = np.zeros(cuts, dtype=np.int64)
    waiting = [(0, cuts, 0)]
    while waiting:
        low, high, level = waiting.pop()
        if low < high:
            middle = (low + high) // 2
            depth[middle] = level
            waiting += [(low, middle, level + 1), (middle + 1, high, level + 1)]
    return np.asarray(depth + math.log2(max(1, int(depth.max(initial=0)) + 1)), dtype=np.float64)
