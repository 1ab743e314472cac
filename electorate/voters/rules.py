"""Rules: monomials of at most r tests, grown greedily by Matsushita's error (Nock and Nielsen, section 4).

A rule fires where all its tests hold. What it says is set by the weights on the rows that fire it, and by those on the
rest. Over bins a rule is a tree with one path: of every question one side goes on, the other is a leaf.
"""

from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils._param_validation import Interval, StrOptions

from electorate.messages import ROOT, Split
from electorate.theory import complexity
from electorate.theory.complexity import Shape
from electorate.voters.cuts import Cuts, Levels, best_of
from electorate.voters.leaves import leaf_outputs
from electorate.voters.lookahead import Stuck, balanced, better, candidates, left_sides
from electorate.voters.splits import ANY_ROWS, Finder, Found, sides_of
from electorate.voters.trees import Search, Voter, constant

Histogram = NDArray[np.int64]


@dataclass(frozen=True)
class Term:
    """A test, and the side of it on which the rule goes on."""

    score: float  # minus Matsushita's error of the rule with this term
    found: Found
    side: int  # 0: left, 1: right


@dataclass
class _Path:
    """A rule so far: its questions, the leaves beside its path, and where it goes on."""

    splits: list[Split] = field(default_factory=list)
    beside: dict[int, NDArray[np.int64]] = field(default_factory=dict)
    last: int = ROOT

    def ask(self, term: Term) -> Split:
        left = 2 * len(self.splits) + 1
        found = term.found
        split = Split(self.last, left, left + 1, found.column, found.cut, found.on_left)
        self.splits.append(split)
        return split

    def follow(self, term: Term) -> None:
        """Down the side of the question that was asked last."""
        split = self.splits[-1]
        inside, outside = (split.left, split.right) if term.side == 0 else (split.right, split.left)
        self.beside[outside] = term.found.sums[1 - term.side]
        self.last = inside

    def voter(self, inside: NDArray[np.int64]) -> Voter:
        """Its first leaf is the one that fires; a rule of one test has two leaves like any stump, left and right."""
        leaves = {self.last: inside, **self.beside}
        if len(self.splits) == 1:
            leaves = dict(sorted(leaves.items()))
        return Voter(self.splits, list(leaves), np.stack(list(leaves.values())))


class Rules(BaseEstimator):
    """The family of rules: "age <= 40 and job = clerk", and what to say where it fires and where it does not.

    Parameters
    ----------
    max_terms : int, default=2
        The most tests of a rule. A test is a threshold, one category against the rest, or whether a value is missing;
        it, or its contrary.
    leaves : {"auto", "label", "log_odds", "gentle"}, default="auto"
        What a rule says of the rows that fire it, and of the others: their heaviest label (+-1), half the log-odds of
        their label weights, or p(+) - p(-). "auto": what the booster is made for.
    smoothing : float or "auto", default="auto"
        As in :class:`Trees`.

    Notes
    -----
    Tests are added one by one, each the one after which Matsushita's error 2 sqrt(p (1 - p)), over the rows that fire
    the rule and over those that do not, is least; while it falls. The two sides of the first test are equally good by
    that measure: the second one may continue either. A missing value is none of the categories that have a name; of a
    threshold it is on the side that fits better, or on the heavier one where training saw none. Ties:
    columns of numbers first, then the first column and cut.

    Examples
    --------
    >>> from electorate import AdaBoostRClassifier, Rules
    >>> AdaBoostRClassifier(Rules(max_terms=3)).estimator
    Rules(max_terms=3)
    """

    fitted_elsewhere: ClassVar[bool] = False
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
        whole = search.sums.histogram[:, : len(search.bins.n_bins)]
        path, inside = _Path(), whole
        term = terms.next(ROOT, inside, self.max_terms)
        if term is None:
            return constant(search)
        path.ask(term)
        for asked in range(1, self.max_terms):
            split = path.splits[-1]
            sides = terms.sides(split, inside)
            children = zip((split.left, split.right), sides, strict=True)
            tried = [terms.next(node, side, self.max_terms - asked) for node, side in children]
            if asked > 1:  # after the first test both sides are open
                tried[1 - term.side] = None
            more = max((found for found in tried if found is not None), key=lambda found: found.score, default=None)
            if more is None:
                break
            side = 0 if more is tried[0] else 1
            path.follow(Term(term.score, term.found, side))
            term, inside = more, sides[side]
            path.ask(term)
        path.follow(term)
        return path.voter(term.found.sums[term.side])

    def constant(self, search: Search) -> Voter:
        return constant(search)

    def outputs(self, voter: Voter, n_rows: int, wanted: str) -> NDArray[np.float64]:
        """All leaves where the rule does not fire say the same."""
        kind = wanted if self.leaves == "auto" else self.leaves
        smoothing = 1.0 / n_rows if self.smoothing == "auto" else float(self.smoothing)
        sides = np.stack([voter.sums[0], voter.sums[1:].sum(axis=0)]) if len(voter.sums) > 1 else voter.sums
        return leaf_outputs(kind, sides, smoothing)[np.minimum(np.arange(len(voter.sums)), 1)]

    def log_count(self, n: int, shape: Shape) -> float:
        """A provable bound on the logarithm of the number of labelings of n rows."""
        return complexity.log_rules(n, shape, self.max_terms)

    def published(self, n: int, d: int) -> float:
        """The AdaBoost_R paper gives none: Massart's bound for d columns of numbers."""
        return complexity.massart(n, self.log_count(n, Shape(numeric=d)))


class Terms:
    """All terms that a rule may be given, judged by Matsushita's error over the rows that fire it and the others."""

    min_rows: ClassVar[int] = 1

    def __init__(self, search: Search) -> None:
        self.search = search
        self.bins = search.bins
        self.finder = Finder(search.bins, search.counts, signed=search.signed)
        self.signed = search.signed
        self.totals = search.sums.totals
        self.cuts = Cuts.of(search.bins)
        self.levels = Levels.of(search.bins)

    def best(self, inside: Histogram) -> Term | None:
        """The best term to add to a rule with this [label, column, bin], if any is better than none."""
        here = inside[:, 0].sum(axis=1)
        if np.count_nonzero(here) < 2 and not self.signed:
            return None
        now = self._score(here)
        least = float(now + abs(now) * 1e-12)  # rounding alone is no gain
        best = self._threshold(inside, here, least)
        return self._category(inside, here, least if best is None else best.score) or best

    def next(self, node: int, inside: Histogram, left: int) -> Term | None:
        """The best term at a node of the path; where none gains, the one after which another gains the most.

        left: how many terms the rule may still be given.
        """
        best = self.best(inside)
        stuck = Stuck(node, inside, inside[:, 0].sum(axis=1), ANY_ROWS, left, False)
        if best is not None or left < 2 or not balanced(self.finder, self.search.engine, stuck):
            return best
        tests = candidates(self, stuck)
        for test, (looked, _) in zip(
            tests, left_sides(self.search.engine, [(stuck, test) for test in tests]), strict=True
        ):
            on_left = looked[:, : inside.shape[1]]
            for side, part in enumerate((on_left, inside - on_left)):
                more = self.best(part)
                if more is not None and (best is None or better(more.score, best.score)):
                    best = Term(more.score, test, side)
        return best

    def threshold(self, histogram: Histogram, column: int, cut: int, missing_left: int) -> Found:
        return self.finder.threshold(histogram, column, cut, missing_left)

    def members(self, histogram: Histogram, column: int, on_left: NDArray[np.bool_]) -> Found:
        """A missing value is none of the categories that have a name."""
        return Found(column, -1, on_left, sides_of(histogram, column, on_left))

    def sides(self, split: Split, inside: Histogram) -> list[Histogram]:
        left = self.search.engine.split([split])[0][:, : len(self.search.bins.n_bins)]
        return [left, inside - left]

    def _threshold(self, inside: Histogram, here: NDArray[np.int64], least: float) -> Term | None:
        left = self.cuts.left(inside)
        scores = self._both(left, here[:, None, None, None])
        index = best_of(scores, np.repeat(self.cuts.valid[..., None], 2, axis=3), least)
        if index < 0:
            return None
        place, side = divmod(index, 2)
        found = self.finder.threshold(inside, *self.cuts.place(place))
        return Term(float(scores.ravel()[index]), found, side)

    def _category(self, inside: Histogram, here: NDArray[np.int64], least: float) -> Term | None:
        """A category, or that it is another. A missing value is none of those that have a name."""
        if not len(self.levels.column):
            return None
        scores = self._both(self.levels.left(inside), here[:, None])
        index = best_of(scores, np.ones(scores.shape, dtype=np.bool_), least)
        if index < 0:
            return None
        place, side = divmod(index, 2)
        column, level = int(self.levels.column[place]), int(self.levels.bin[place])
        on_left = np.zeros(self.search.bins.width, dtype=np.bool_)
        on_left[level] = True
        return Term(float(scores.ravel()[index]), self.members(inside, column, on_left), side)

    def _both(self, left: NDArray[np.int64], here: NDArray[np.int64]) -> NDArray[np.float64]:
        """[..., side]: the scores of going on to the left, and to the right."""
        return np.stack([self._score(left), self._score(here - left)], axis=-1)

    def _score(self, fires: NDArray[np.int64]) -> NDArray[np.float64]:
        """Minus the sum over both parts of sum_k sqrt(w_k (w - w_k)), from [label, ...] of the rows that fire."""
        totals = self.totals.reshape((-1,) + (1,) * (fires.ndim - 1))
        if self.signed:  # Matsushita's error is one of weights: of residuals, the edge
            return np.asarray(fires.max(axis=0) + (totals - fires).max(axis=0), dtype=np.float64)
        return -(_error(fires) + _error(totals - fires))


def _error(weights: NDArray[np.int64]) -> NDArray[np.float64]:
    each = weights.astype(np.float64)
    if len(each) == 2:
        return np.asarray(2.0 * np.sqrt(each[0] * each[1]))
    every = each.sum(axis=0)
    return np.asarray(np.sqrt(each * (every - each)).sum(axis=0))
