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
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from electorate.theory.binomial import priced_bound
from electorate.theory.description import NOBODY, Code, CodedVoter, Literal
from electorate.voters.prior_tests import PriorTests

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Loss = Callable[[Floats], Floats]  # of margins
Scored = tuple[float, CodedVoter]

WEIGHTS = (1.0, 2.0, 4.0)  # times the unit of a start
PATHS = ((0.4, 1), (1.0, 1), (0.5, 3))  # slope of the logistic loss, per unit, and how many weights are allowed
THRIFT = 0.25  # what bits weigh against the smooth loss, which changes less than the count of errors
PATIENCE = 4  # additions without a smaller bound
EXTENDED = 3  # candidates that get a second literal
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


class CountedRows:
    """The rows that count: by test, where it holds, and the sums over them that a search needs."""

    def __init__(self, codes: Ints, tests: PriorTests, labels: Ints, n_classes: int) -> None:
        """codes: [column, row] over the bins of the tests."""
        used = np.flatnonzero(tests.shares > 0)
        sizes = tests.bins.n_bins[used] + 1
        offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        place = {int(column): number for number, column in enumerate(used)}
        self.labels, self.n_classes, self.n_rows = labels, n_classes, len(labels)
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

    def holds(self, literals: Sequence[Literal]) -> NDArray[np.bool_]:
        """Whether all literals are true, by row."""
        found = np.ones(self.n_rows, dtype=np.bool_)
        for test, holds in literals:
            found &= self.tests[test].members[self.codes[self.tests[test].column]] == holds
        return found


class DescriptionSearch:
    """The search for the vote with the least bound from one start."""

    def __init__(self, rows: CountedRows, start: Start, delta: float, most: int) -> None:
        self.rows, self.start, self.code, self.most = rows, start, start.code, most
        self.log_delta = math.log(1 / delta)
        self.weights = [start.unit * weight for weight in WEIGHTS]

    def run(self) -> Described:
        """The best vote of all paths, then improved voter by voter."""
        empty = self.describe(())
        if not self.rows.tests or not empty.errors:
            return empty
        ends = {end for path in PATHS for end in self.path(*path)}
        best = sorted(ends, key=lambda end: (end.bound, end.bits))[:POLISHED]
        return min(map(self.polish, best), key=lambda end: end.bound)

    # ------------------------------------------------------------ a vote and its bound

    def describe(self, voters: tuple[CodedVoter, ...]) -> Described:
        bits, errors = self.code.bits(voters), self.errors(self.votes(voters))
        return Described(voters, bits, errors, self.bound(errors, bits))

    def bound(self, errors: float, bits: float) -> float:
        return priced_bound(int(errors), self.rows.n_rows, bits * math.log(2) + self.log_delta)

    def votes(self, voters: Sequence[CodedVoter]) -> Floats:
        votes = self.start.votes.copy()
        for voter in voters:
            self.add(votes, voter)
        return votes

    def add(self, votes: Floats, voter: CodedVoter) -> None:
        holds, weight = self.rows.holds(voter.literals), self.weights[voter.weight]
        for label, where in ((voter.inside, holds), (voter.outside, ~holds)):
            if label != NOBODY:
                votes[where, label] += weight

    def errors(self, votes: Floats) -> int:
        return int(np.count_nonzero(np.argmax(votes, axis=1) != self.rows.labels))

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
                tried = [self.describe(rest)] if len(rest) < len(best.voters) else []
                votes = self.votes(rest)
                found = self.candidates(rest, votes, _wrong) if len(rest) < self.most else []
                tried += [self.describe((*rest[:place], voter, *rest[place:])) for _, voter in found[:TRIED]]
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
        """[row, class and weight]: how the loss of a row changes if a class gets a weight more."""
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
        self, voters: tuple[CodedVoter, ...], votes: Floats, loss: Loss, thrift: float = 1.0, n_weights: int = 3
    ) -> list[Scored]:
        """Voters to add, the best first: by loss plus bits, in errors. The best ones get a second literal, too."""
        changed, prices = self.changes(votes, loss), self.prices(voters, self.errors(votes), thrift, n_weights)
        everywhere, inside = changed.sum(axis=0), self.rows.sums(changed)
        one = self.code.voter_bits(1)
        found = self.best_of(inside, everywhere, prices, prices.tests + one * prices.rate, (), True)
        if self.code.max_terms < 2:
            return found
        firsts = list(dict.fromkeys(voter.literals[0].test for _, voter in found[:EXTENDED]))
        for first, some in zip(firsts, self.sums_within(changed, firsts), strict=True):
            for holds in (True, False):  # sums over the rows where both literals are true
                where, among = (some, inside[first]) if holds else (inside - some, everywhere - inside[first])
                bits = prices.tests + prices.tests[first] + self.code.voter_bits(2) * prices.rate
                for second in (True, False):
                    sums = where if second else among - where
                    found += self.best_of(sums, everywhere, prices, bits, (Literal(first, holds),), second)
        return sorted(found, key=lambda one: one[0])

    def sums_within(self, changed: Floats, firsts: list[int]) -> list[Floats]:
        """[test, class and weight] for each of some tests: sums over the rows where both hold."""
        masks = [self.rows.holds([Literal(first, True)])[:, None] for first in firsts]
        together = self.rows.sums(np.concatenate([changed * mask for mask in masks], axis=1))
        return np.split(together, len(firsts), axis=1)

    def best_of(
        self,
        inside: Floats,
        everywhere: Floats,
        prices: "Prices",
        tests: Floats,
        first: tuple[Literal, ...],
        holds: bool,
    ) -> list[Scored]:
        """The best voters, from the sums [test, class and weight] of changes where their literals are true."""
        shape = (len(inside), self.rows.n_classes, len(self.weights))
        nobody = np.zeros((shape[0], 1, shape[2]))
        within = np.concatenate([inside.reshape(shape), nobody], axis=1)
        without = np.concatenate([(everywhere - inside).reshape(shape), nobody], axis=1)
        pairs = np.array(self.code.vote_pairs)
        score = within[:, pairs[:, 0]] + without[:, pairs[:, 1]]
        score += tests[:, None, None] + prices.votes[:, None] + prices.weights
        flat = score.ravel()
        best = np.argpartition(flat, min(TRIED, len(flat) - 1))[:TRIED]
        found = []
        for number in best[np.argsort(flat[best], kind="stable")].tolist():
            test, pair, weight = (int(place) for place in np.unravel_index(number, score.shape))
            if all(test != literal.test for literal in first):
                literals = tuple(sorted((*first, Literal(test, holds))))
                found.append((float(flat[number]), CodedVoter(literals, *self.code.vote_pairs[pair], weight)))
        return found

    def prices(self, voters: tuple[CodedVoter, ...], errors: int, thrift: float, n_weights: int) -> "Prices":
        """What the next voter costs, in errors."""
        rate = thrift * self.rate(errors, self.code.bits(voters))
        used = [int(self.code.column[literal.test]) for voter in voters for literal in voter.literals]
        place = {pair: number for number, pair in enumerate(self.code.vote_pairs)}
        columns = self.code.column_urn.next_bits(used)[self.code.column]
        pairs = self.code.vote_urn.next_bits([place[voter.inside, voter.outside] for voter in voters])
        weights = self.code.weight_urn.next_bits([voter.weight for voter in voters])
        weights[n_weights:] = np.inf
        return Prices(rate, rate * (columns + self.code.test_bits), rate * pairs, rate * weights)

    def rate(self, errors: int, bits: float) -> float:
        """How many errors a bit is worth, at this point of the bound."""
        n, now = self.rows.n_rows, self.bound(errors, bits)
        per_bit = (self.bound(errors, bits + 4) - now) / 4
        per_error = (self.bound(min(errors + 2, n), bits) - now) / 2
        return per_bit / max(per_error, 1e-9 / n)


@dataclass(frozen=True)
class Prices:
    """In errors: of each test, each pair of votes, each weight. rate: errors per bit."""

    rate: float
    tests: Floats
    votes: Floats
    weights: Floats


def _logistic(margin: Floats, slope: float) -> Floats:
    return np.asarray(np.logaddexp(0.0, -slope * margin) / math.log(2))


def _wrong(margin: Floats) -> Floats:
    return (margin < 0).astype(np.float64)
