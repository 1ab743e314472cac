"""The length of a description: a prefix code for votes over tests that were fixed before the rows were counted.

A vote is a multiset of voters. A voter names its tests, the class that it votes for where all of them hold, the class
elsewhere, and its weight. `Code.bits` is -log2 of the probability of the vote under a distribution over all votes, so
2^-bits sums to at most 1 (Kraft); docs/certificates.md has the proof. Everything that is chosen is in the code.
"""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from electorate.exact import Floats, Ints

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
    prior's own votes, the default class). none: the probability that there is no voter.
    """

    columns: Floats
    column: Ints
    test_bits: Floats
    n_classes: int
    n_weights: int
    max_terms: int
    head: float = 0.0
    none: float = 0.5

    STRENGTH = 2.0  # of the urns

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
    def weight_urn(self) -> Urn:
        return Urn(np.full(self.n_weights, 1 / self.n_weights), self.STRENGTH)

    def count_bits(self, voters: int) -> float:
        """Return the bits of the number T of voters: `none` for 0, others in proportion to 1 / ((T + 1) (T + 2))."""
        if not voters:
            return -math.log2(self.none)
        return math.log2((voters + 1) * (voters + 2)) - math.log2(2 * (1 - self.none))

    # ------------------------------------------------------------ a vote

    def bits(self, voters: Sequence[CodedVoter]) -> float:
        """Return the bits of a vote. The order of its voters, and of the literals of each, is free."""
        place = self.pair_places
        tests = [test for voter in voters for test in voter.tests]
        total = self.head + self.count_bits(len(voters))
        total += self.column_urn.bits(int(self.column[test]) for test in tests)
        total += self.vote_urn.bits(place[voter.inside, voter.outside] for voter in voters)
        total += self.weight_urn.bits(voter.weight for voter in voters)
        total += math.fsum(self.test_bits[test] for test in tests)
        for voter in voters:
            total += self.voter_bits(len(voter.tests))
        return total - log2_orders(voters)

    def voter_bits(self, terms: int) -> float:
        """Return the bits of a rule without its columns, tests, votes and weight: its size, and which literals hold.

        The sizes 1, 2, ... take 1, 2, ... bits, normalised for max_terms.
        One literal that fails is one that holds with the votes exchanged: only several need their signs.
        """
        signs = terms if terms > 1 else 0
        return terms + math.log2(1 - 2.0**-self.max_terms) + signs - math.lgamma(terms + 1) / math.log(2)


def log2_orders(voters: Sequence[CodedVoter]) -> float:
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
