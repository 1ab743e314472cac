"""Rules: monomials of at most r terms, grown greedily by Matsushita's error (Nock and Nielsen, section 4).

A rule fires where all its terms hold. Its outputs are set by the weights on the rows that fire it, and by those on the
rest. Over bins a rule is a tree with one path: of every split one side goes on, the other is a leaf.
"""

from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval, StrOptions

from electorate.exact import ordered_sum
from electorate.families.lookahead import Stuck, balanced, better, candidates, left_sides
from electorate.families.splits import ANY_ROWS, Cuts, Finder, Found, best_of, levels_of, sides_of
from electorate.families.trees import BinFamily, Search, Voter, constant
from electorate.messages import ROOT, Split
from electorate.theory import complexity
from electorate.theory.complexity import Shape

Histogram = NDArray[np.int64]


@dataclass(frozen=True)
class Term:
    """A split, and the side of it on which the rule goes on."""

    score: float  # minus Matsushita's error of the rule with this term
    found: Found
    side: int  # 0: left, 1: right


@dataclass
class _Path:
    """A rule so far: its splits, the leaves beside its path, and the node where it goes on."""

    splits: list[Split] = field(default_factory=list)
    beside: dict[int, NDArray[np.int64]] = field(default_factory=dict)
    last: int = ROOT

    def add(self, found: Found) -> Split:
        left = 2 * len(self.splits) + 1
        self.splits.append(Split(self.last, left, left + 1, found.column, found.cut, found.on_left))
        return self.splits[-1]

    def follow(self, found: Found, side: int) -> None:
        """Go down one side of the last split."""
        nodes = self.splits[-1].left, self.splits[-1].right
        self.beside[nodes[1 - side]] = found.sums[1 - side]
        self.last = nodes[side]

    def voter(self, inside: NDArray[np.int64]) -> Voter:
        """Its first leaf is the one that fires; a rule of one term has two leaves like any stump, left and right."""
        leaves = {self.last: inside, **self.beside}
        if len(self.splits) == 1:
            leaves = dict(sorted(leaves.items()))
        return Voter(self.splits, list(leaves), np.stack(list(leaves.values())))


class Rules(BinFamily):
    """The family of rules: "age <= 40 and job = clerk", and its outputs where it fires and elsewhere.

    Parameters
    ----------
    max_terms : int, default=2
        The most terms of a rule. A term is a threshold, one category against the rest, or whether a value is missing;
        or the negation of one of these.
    leaves : {"auto", "label", "log_odds", "gentle"}, default="auto"
        The output for the rows that fire a rule, and for the others: their heaviest label (+-1), half the log-odds of
        their label weights, or p(+) - p(-). "auto": what the booster is made for.
    smoothing : float or "auto", default="auto"
        As in :class:`Trees`.

    Notes
    -----
    Terms are added one by one, each with the lowest Matsushita error 2 sqrt(p (1 - p)) over the rows that fire the
    rule and those that do not, as long as it falls. Both sides of the first term have the same error, so the second
    term can continue either side. A missing value is not in any category; at a threshold it goes to the side that
    fits better, or to the side with more weight if there were none in training. Ties:
    columns of numbers first, then the first column and cut.

    Examples
    --------
    >>> from electorate import AdaBoostRClassifier, Rules
    >>> AdaBoostRClassifier(Rules(max_terms=3)).estimator
    Rules(max_terms=3)
    """

    exhaustive: ClassVar[bool] = False
    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012
        "max_terms": [Interval(Integral, 1, None, closed="left")],
        "leaves": [StrOptions({"auto", "label", "log_odds", "gentle"})],
        "smoothing": [StrOptions({"auto"}), Interval(Real, 0, None, closed="left")],
    }

    def __init__(self, max_terms: int = 2, *, leaves: str = "auto", smoothing: float | str = "auto") -> None:
        self.max_terms = max_terms
        self.leaves = leaves
        self.smoothing = smoothing

    @property
    def says_log_odds(self) -> bool:
        return self.leaves != "label"

    def best(self, search: Search) -> Voter:
        terms = Terms(search)
        path, inside, n_columns = _Path(), search.sums.histogram, len(search.bins.n_bins)
        term = terms.next(ROOT, inside[:, :n_columns], self.max_terms)
        if term is None:
            return constant(search)
        split = path.add(term.found)
        for n_terms in range(1, self.max_terms):
            (sides,), _ = search.engine.both_sides([split], [inside])
            children = zip((split.left, split.right), sides, strict=True)
            tried = [terms.next(node, part[:, :n_columns], self.max_terms - n_terms) for node, part in children]
            if n_terms > 1:  # after the first term both sides are open
                tried[1 - term.side] = None
            more = max((found for found in tried if found is not None), key=lambda found: found.score, default=None)
            if more is None:
                break
            side = 0 if more is tried[0] else 1
            path.follow(term.found, side)
            term, inside = more, sides[side]
            split = path.add(term.found)
        path.follow(term.found, term.side)
        return path.voter(term.found.sums[term.side])

    def outputs(self, voter: Voter, n_rows: int, wanted: str) -> NDArray[np.float64]:
        """All leaves where the rule does not fire have the same output."""
        sides = np.stack([voter.sums[0], voter.sums[1:].sum(axis=0)]) if len(voter.sums) > 1 else voter.sums
        return self._leaf_outputs(sides, n_rows, wanted)[np.minimum(np.arange(len(voter.sums)), 1)]

    def log_count(self, n: int, shape: Shape) -> float:
        """A provable bound on the logarithm of the number of labelings of n rows."""
        return complexity.log_rules(n, shape, self.max_terms)

    def published(self, n: int, d: int) -> float:
        """The AdaBoost_R paper gives none: Massart's bound for d columns of numbers."""
        return complexity.massart(n, self.log_count(n, Shape(numeric=d)))


class _TermFinder(Finder):
    """A missing value is in none of the categories that have a name."""

    def members(self, histogram: Histogram, column: int, on_left: NDArray[np.bool_]) -> Found:
        return Found(column, -1, on_left, sides_of(histogram, column, on_left))


class Terms:
    """All terms that a rule may be given, scored by Matsushita's error over the rows that fire it and the others."""

    def __init__(self, search: Search) -> None:
        self.search = search
        self.finder = _TermFinder(search.bins, search.counts, signed=search.signed)
        self.totals = search.sums.totals
        self.cuts = Cuts.of(search.bins)
        every = [(column, level) for column in search.bins.split_by_sets for level in levels_of(search.bins, column)]
        self.levels = np.array(every, dtype=np.int64).reshape(-1, 2)  # (column, bin) of every single category

    def best(self, inside: Histogram) -> Term | None:
        """The best term to add to a rule with this [label, column, bin], if any is better than none."""
        here = inside[:, 0].sum(axis=1)
        if np.count_nonzero(here) < 2 and not self.search.signed:
            return None
        now = self._score(here)
        least, best = float(now + abs(now) * 1e-12), None  # rounding alone is no gain
        scores = self._both(self.cuts.left(inside), here[:, None, None, None])
        index = best_of(scores, np.repeat(self.cuts.valid[..., None], 2, axis=3), least)
        if index >= 0:
            least, found = float(scores.ravel()[index]), self.finder.threshold(inside, *self.cuts.place(index // 2))
            best = Term(least, found, index % 2)
        columns, bins = self.levels.T  # a category, or that it is another
        scores = self._both(inside[:, columns, bins], here[:, None])
        index = best_of(scores, np.ones(scores.shape, dtype=np.bool_), least)
        if index >= 0:
            column, level = self.levels[index // 2].tolist()
            found = self.finder.members(inside, column, np.arange(self.search.bins.width) == level)
            best = Term(float(scores.ravel()[index]), found, index % 2)
        return best

    def next(self, node: int, inside: Histogram, left: int) -> Term | None:
        """The best term at a node of the path; where none gains, the one after which another gains the most.

        left: how many terms the rule may still be given.
        """
        best, engine = self.best(inside), self.search.engine
        stuck = Stuck(node, inside, inside[:, 0].sum(axis=1), ANY_ROWS, left, False)
        if best is not None or left < 2 or not balanced(self.finder, engine, stuck):
            return best
        tried = candidates(self.finder, stuck)
        for found, (looked, _) in zip(tried, left_sides(engine, [(stuck, found) for found in tried]), strict=True):
            on_left = looked[:, : inside.shape[1]]
            for side, part in enumerate((on_left, inside - on_left)):
                more = self.best(part)
                if more is not None and (best is None or better(more.score, best.score)):
                    best = Term(more.score, found, side)
        return best

    def _both(self, left: NDArray[np.int64], here: NDArray[np.int64]) -> NDArray[np.float64]:
        """[..., side]: the scores of going on to the left, and to the right."""
        return np.stack([self._score(left), self._score(here - left)], axis=-1)

    def _score(self, fires: NDArray[np.int64]) -> NDArray[np.float64]:
        """Minus the sum over both parts of sum_k sqrt(w_k (w - w_k)), from [label, ...] of the rows that fire."""
        totals = self.totals.reshape((-1,) + (1,) * (fires.ndim - 1))
        if self.search.signed:  # Matsushita's error is one of weights: of residuals, the edge
            return np.asarray(fires.max(axis=0) + (totals - fires).max(axis=0), dtype=np.float64)
        return -(_error(fires) + _error(totals - fires))


def _error(weights: NDArray[np.int64]) -> NDArray[np.float64]:
    each = weights.astype(np.float64)
    if len(each) == 2:
        return np.asarray(2.0 * np.sqrt(each[0] * each[1]))
    every = ordered_sum(each, axis=0)
    return np.asarray(ordered_sum(np.sqrt(each * (every - each)), axis=0))
