"""Boosting that minimises its own certificate: voters are added, exchanged and removed while the bound falls.

A vote is a list of coded voters on top of a start (the prior's own votes, or a default class). The bound is that of the
binomial tail at ln(1/delta) + bits ln 2. Candidates are ranked by the change of a loss plus what their bits are worth
in errors; sums over rows come from one sparse product per search.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.sparse import csr_matrix

from electorate.certified.description import NOBODY, Code, CodedVoter, Literal
from electorate.certified.prior_tests import PriorTests
from electorate.exact import Bools, Floats, Ints
from electorate.theory.binomial import priced_bound

Loss = Callable[[Floats], Floats]  # of margins
Scored = tuple[float, CodedVoter]

WEIGHTS = (1.0, 2.0, 4.0)  # times the unit of a start
PATHS = ((0.4, 1), (1.0, 1), (0.5, 3))  # slope of the logistic loss, per unit, and how many weights are allowed
THRIFT = 0.25  # what bits weigh against the smooth loss, which changes less than the count of errors
PATIENCE = 4  # additions without a smaller bound
EXTENDED = 3  # candidates that get a second literal
PAIRED = 6  # classes, or abstention, that a candidate may vote for on each side of its tests
TRIED = 8  # candidates whose bound is computed
SWEEPS = 2
POLISHED = 3  # ends of paths: those with the least bounds
TIE = 2.0**-42  # under the grid of votes: of equals, the class of the lower number wins


@dataclass(frozen=True)
class Start:
    """Votes [row, class] that the vote adds to. unit: the weight that 1 on the weight grid stands for."""

    votes: Floats
    unit: float
    code: Code


@dataclass(frozen=True)
class Described:
    """A vote with its description and its bound."""

    voters: tuple[CodedVoter, ...]
    bits: float
    errors: int
    bound: float


class CountedExamples:
    """The rows that count: by test, where it holds, and the sums over them that a search needs."""

    def __init__(self, codes: Ints, tests: PriorTests, labels: Ints, n_classes: int, lost: int = 0) -> None:
        """codes: [column, row] over the bins of the tests. lost: further rows, whose labels cannot be predicted."""
        used = np.flatnonzero(tests.shares > 0)
        sizes = tests.bins.n_bins[used] + 1
        offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        place = {int(column): number for number, column in enumerate(used)}
        self.labels, self.n_classes, self.n_rows = labels, n_classes, len(labels)
        self.lost, self.n_counted = lost, len(labels) + lost
        self.tests, self.column = tests.tests, tests.column
        self.codes = codes
        flat = (codes[used] + offsets[:-1, None]).T
        ends = (
            np.arange(0, flat.size + 1, max(len(used), 1)) if len(used) else np.zeros(self.n_rows + 1, dtype=np.int64)
        )
        in_bin = csr_matrix((np.ones(flat.size), flat.ravel(), ends), shape=(self.n_rows, int(offsets[-1])))
        self.by_bin = in_bin.T.tocsr()
        held = [np.flatnonzero(test.members) + offsets[place[test.column]] for test in self.tests]
        starts = np.concatenate([[0], np.cumsum([len(bins) for bins in held])]).astype(np.int64)
        bins = np.concatenate([np.empty(0, dtype=np.int64), *held])
        self.of_test = csr_matrix((np.ones(len(bins)), bins, starts), shape=(len(held), int(offsets[-1])))

    def sums(self, values: Floats) -> Floats:
        """[test, value]: sums of values [row, value] over the rows where a test holds."""
        return np.asarray(self.of_test @ (self.by_bin @ values))

    def holds(self, literals: Sequence[Literal]) -> Bools:
        """Whether all literals are true, by row."""
        where = np.ones(self.n_rows, dtype=np.bool_)
        for test, holds in literals:
            where &= self.tests[test].members[self.codes[self.tests[test].column]] == holds
        return where


class DescriptionSearch:
    """The search for the vote with the least bound from one start."""

    def __init__(self, rows: CountedExamples, start: Start, delta: float, most: int) -> None:
        self.rows, self.start, self.code, self.most = rows, start, start.code, most
        self.log_delta = math.log(1 / delta)
        self.weights = [start.unit * weight for weight in WEIGHTS]

    def run(self) -> Described:
        """The best vote of all paths, then improved voter by voter."""
        empty = self.describe(())
        if not self.rows.tests or empty.errors == self.rows.lost:
            return empty
        ends = {end for path in PATHS for end in self.path(*path)}
        best = sorted(ends, key=lambda end: (end.bound, end.bits))[:POLISHED]
        return min(map(self.polish, best), key=lambda end: end.bound)

    # ------------------------------------------------------------ a vote and its bound

    def describe(self, voters: tuple[CodedVoter, ...]) -> Described:
        return self.described(voters, self.votes(voters))

    def described(self, voters: tuple[CodedVoter, ...], votes: Floats) -> Described:
        """votes: of these voters."""
        bits, errors = self.code.bits(voters), self.errors(votes)
        return Described(voters, bits, errors, self.bound(errors, bits))

    def inserted(self, rest: tuple[CodedVoter, ...], place: int, voter: CodedVoter, votes: Floats) -> Described:
        """Add one voter. votes: of the others; sums are exact, so their order does not matter."""
        more = votes.copy()
        self.add(more, voter)
        return self.described((*rest[:place], voter, *rest[place:]), more)

    def bound(self, errors: float, bits: float) -> float:
        return priced_bound(int(errors), self.rows.n_counted, bits * math.log(2) + self.log_delta)

    def votes(self, voters: Sequence[CodedVoter]) -> Floats:
        votes = self.start.votes.copy()
        for voter in voters:
            self.add(votes, voter)
        return votes

    def add(self, votes: Floats, voter: CodedVoter) -> None:
        weight = self.weights[voter.weight]
        holds = self.rows.holds(voter.literals)
        for label, where in ((voter.inside, holds), (voter.outside, ~holds)):
            if label != NOBODY:
                votes[where, label] += weight

    def errors(self, votes: Floats) -> int:
        return self.rows.lost + int(np.count_nonzero(np.argmax(votes, axis=1) != self.rows.labels))

    # ------------------------------------------------------------ paths of additions

    def path(self, slope: float, n_weights: int) -> tuple[Described, Described]:
        """Voters added one by one for a smooth loss: the best stage, and the last, from which voters can be removed."""
        voters: tuple[CodedVoter, ...] = ()
        loss = partial(_logistic, slope=slope / self.start.unit)
        best = now = self.describe(voters)
        waited = 0
        while len(voters) < self.most and waited < PATIENCE:
            votes = self.votes(voters)
            found = self.candidates(voters, votes, loss, THRIFT, n_weights)
            if not found:
                break
            voters = (*voters, found[0][1])
            now = self.describe(voters)
            waited = 0 if now.bound < best.bound else waited + 1
            best = min(best, now, key=lambda one: one.bound)
        return best, now

    def polish(self, best: Described) -> Described:
        """Exchange, remove or add one voter at a time, for the count of errors itself, while the bound falls."""
        for _ in range(SWEEPS):
            before = best
            for place in range(len(best.voters), -1, -1):
                rest = best.voters[:place] + best.voters[place + 1 :]
                votes = self.votes(rest)
                tried = [self.described(rest, votes)] if len(rest) < len(best.voters) else []
                found = self.candidates(rest, votes, _wrong) if len(rest) < self.most else []
                tried += [self.inserted(rest, place, voter, votes) for _, voter in found[:TRIED]]
                best = min(best, *tried, key=lambda one: one.bound) if tried else best
            if best.bound >= before.bound:
                break
        return best

    # ------------------------------------------------------------ candidates

    def margins(self, votes: Floats) -> tuple[Floats, Floats]:
        """The margin of every row, negative where it is wrong, and the votes of the other classes (-inf: its own)."""
        labels, each = self.rows.labels, np.arange(self.rows.n_rows)
        others = votes + TIE * (np.arange(votes.shape[1]) < labels[:, None])
        others[each, labels] = -np.inf
        return np.asarray(votes[each, labels] - others.max(axis=1)), others

    def changes(self, votes: Floats, loss: Loss) -> Floats:
        """Return [row, class and weight]: the change of a row's loss if the weight is added to the class."""
        labels, n_classes = self.rows.labels, votes.shape[1]
        margin, others = self.margins(votes)
        own, rival, now = votes[np.arange(len(labels)), labels], others.max(axis=1), loss(margin)
        changed = np.empty((len(labels), n_classes, len(self.weights)))
        for place, weight in enumerate(self.weights):
            more = loss(margin + weight)
            for label in range(n_classes):
                less = loss(own - np.maximum(rival, others[:, label] + weight))
                changed[:, label, place] = np.where(labels == label, more, less) - now
        return changed.reshape(len(labels), -1)

    def candidates(
        self,
        voters: tuple[CodedVoter, ...],
        votes: Floats,
        loss: Loss,
        thrift: float = 1.0,
        n_weights: int = 3,
    ) -> list[Scored]:
        """Return voters to add, the best first: by loss plus bits, in errors. The best get a second literal, too."""
        changed, prices = self.changes(votes, loss), self.prices(voters, self.errors(votes), thrift, n_weights)
        everywhere, inside = changed.sum(axis=0), self.rows.sums(changed)
        one = self.code.voter_bits(1)
        found = self.best_of(inside, everywhere, prices, prices.tests + one * prices.rate, (), True)
        firsts = list(dict.fromkeys(voter.tests[0] for _, voter in found[:EXTENDED]))
        if self.code.max_terms > 1:
            found += self.rules(firsts, changed, inside, everywhere, prices)
        return sorted(found, key=lambda one: one[0])

    def rules(
        self, firsts: list[int], changed: Floats, inside: Floats, everywhere: Floats, prices: "DescriptionPrices"
    ) -> list[Scored]:
        """Rules of two literals, one of them over a test of `firsts`."""
        found: list[Scored] = []
        for first, some in zip(firsts, self.sums_within(changed, firsts), strict=True):
            for holds in (True, False):  # sums over the rows where both literals are true
                where, among = (some, inside[first]) if holds else (inside - some, everywhere - inside[first])
                bits = prices.tests + prices.tests[first] + self.code.voter_bits(2) * prices.rate
                for second in (True, False):
                    sums = where if second else among - where
                    found += self.best_of(sums, everywhere, prices, bits, (Literal(first, holds),), second)
        return found

    def sums_within(self, changed: Floats, firsts: list[int]) -> list[Floats]:
        """[test, class and weight] for each of some tests: sums over the rows where both hold."""
        masks = [self.rows.holds([Literal(first, True)])[:, None] for first in firsts]
        together = self.rows.sums(np.concatenate([changed * mask for mask in masks], axis=1))
        return np.split(together, len(firsts), axis=1)

    def best_of(
        self,
        inside: Floats,
        everywhere: Floats,
        prices: "DescriptionPrices",
        tests: Floats,
        first: tuple[Literal, ...],
        holds: bool,
    ) -> list[Scored]:
        """The best voters, from the sums [test, class and weight] of changes where their literals are true."""
        shape = (len(inside), self.rows.n_classes, len(self.weights))
        nobody = np.zeros((shape[0], 1, shape[2]))
        within = np.concatenate([inside.reshape(shape), nobody], axis=1)
        without = np.concatenate([(everywhere - inside).reshape(shape), nobody], axis=1)
        chosen, other = _lowest(within), _lowest(without)
        score = np.take_along_axis(within, chosen, 1)[:, :, None] + np.take_along_axis(without, other, 1)[:, None]
        score += prices.by_pair[chosen[:, :, None], other[:, None]] + tests[:, None, None, None] + prices.weights
        flat = score.ravel()
        best = np.argpartition(flat, min(TRIED, len(flat) - 1))[:TRIED]
        found: list[Scored] = []
        for number in best[np.argsort(flat[best], kind="stable")].tolist():
            test, a, b, weight = (int(place) for place in np.unravel_index(number, score.shape))
            if np.isfinite(flat[number]) and all(test != literal.test for literal in first):
                literals = tuple(sorted((*first, Literal(test, holds))))
                votes = self.code.class_at(chosen[test, a, weight]), self.code.class_at(other[test, b, weight])
                found.append((float(flat[number]), CodedVoter(literals, *votes, weight)))
        return found

    def prices(self, voters: tuple[CodedVoter, ...], errors: int, thrift: float, n_weights: int) -> "DescriptionPrices":
        """Return the price of the next voter, in errors."""
        rate = thrift * self.rate(errors, self.code.bits(voters))
        used = [int(self.code.column[test]) for voter in voters for test in voter.tests]
        place = self.code.pair_places
        columns = self.code.column_urn.next_bits(used)[self.code.column]
        pairs = self.code.vote_urn.next_bits([place[voter.inside, voter.outside] for voter in voters])
        weights = self.code.weight_urn.next_bits([voter.weight for voter in voters])
        weights[n_weights:] = np.inf
        by_pair = np.full((self.rows.n_classes + 1,) * 2, np.inf)
        by_pair[tuple(np.array(self.code.vote_pairs).T)] = rate * pairs
        return DescriptionPrices(rate, rate * (columns + self.code.test_bits), by_pair, rate * weights)

    def rate(self, errors: int, bits: float) -> float:
        """How many errors a bit is worth, at this point of the bound."""
        n, now = self.rows.n_counted, self.bound(errors, bits)
        per_bit = (self.bound(errors, bits + 4) - now) / 4
        per_error = (self.bound(min(errors + 2, n), bits) - now) / 2
        return per_bit / max(per_error, 1e-9 / n)


@dataclass(frozen=True)
class DescriptionPrices:
    """Prices in errors of each test, each pair of votes, each weight. rate: errors per bit.

    by_pair: [inside, outside], nobody last; infinite where both are the same.
    """

    rate: float
    tests: Floats
    by_pair: Floats
    weights: Floats


def _lowest(changes: Floats) -> Ints:
    """[test, place, weight]: the classes (nobody last) with the least changes [test, class, weight]; few: all."""
    if changes.shape[1] <= PAIRED:
        return np.broadcast_to(np.arange(changes.shape[1])[:, None], changes.shape)
    return np.asarray(np.argpartition(changes, PAIRED, axis=1)[:, :PAIRED])


def _logistic(margin: Floats, slope: float) -> Floats:
    return np.asarray(np.logaddexp(0.0, -slope * margin) / math.log(2))


def _wrong(margin: Floats) -> Floats:
    return (margin < 0).astype(np.float64)
