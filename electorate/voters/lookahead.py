"""Splits for nodes where no single test gains anything, as in balanced designs (XOR, Monk's problems).

A test is chosen by what the best tests of its two children gain. The shards sum the left sides of all candidate tests
in one exchange, and no rows move. Growth drops tests below which nothing gained, so a wrong guess costs time only.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain, zip_longest
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from electorate.data.bins import Bins
from electorate.messages import Split
from electorate.voters.splits import ANY_ROWS, Found

# Limits of the search of one node. They depend on the bins only, so that every engine and number of shards agrees.
MOST_CANDIDATES = 256
MOST_CELLS = 2**26  # histogram cells of all candidates of a node: under a second
BYTES_AT_ONCE = 2**26  # histograms in one exchange

Histogram = NDArray[np.int64]


class TestMaker(Protocol):
    """Makes tests over bins. min_rows: the fewest on each side."""

    @property
    def bins(self) -> Bins: ...

    @property
    def min_rows(self) -> int: ...

    def threshold(self, histogram: Histogram, column: int, cut: int, missing_left: int) -> Found: ...

    def members(self, histogram: Histogram, column: int, on_left: NDArray[np.bool_]) -> Found: ...


class NodeFinder(TestMaker, Protocol):
    """Searches the tests of one node."""

    def best(self, histogram: Histogram, totals: NDArray[np.int64], rows: NDArray[np.int64] = ANY_ROWS) -> Found | None:
        """Return the best test, or None if none is better than no test."""
        ...

    def finer(self, nodes: "list[Stuck]", engine: Any) -> list[Found | None]:
        """Return the best test of each node by a finer criterion; None if no test tells anything apart."""
        ...

    def value(self, totals: NDArray[np.int64]) -> float:
        """Return the criterion of a leaf, larger is better."""
        ...

    def final(self, nodes: "list[Stuck]", engine: Any) -> list[bool]:
        """Return of each node whether it stays a leaf without a search: nothing can gain, or it is not balanced."""
        ...


@dataclass(frozen=True)
class Stuck:
    """A node without a gaining test. levels: how many the tree may still grow below it, at least two."""

    number: int
    histogram: Histogram
    totals: NDArray[np.int64]
    rows: NDArray[np.int64]  # [column, bin]: how many; ANY_ROWS where no limit needs them
    levels: int
    tied: bool  # below a test that gains nothing by itself


@dataclass(frozen=True)
class Ahead:
    """A first test, the tests of its left and right child, and the criterion of the leaves they make."""

    value: float
    first: Found
    below: tuple[Found | None, Found | None]


def candidates(finder: TestMaker, node: Stuck) -> list[Found]:
    """Return the first tests to try: of every column the middle cut, then cuts further out; ordered columns first."""
    bins, many = finder.bins, most_candidates(finder.bins, len(node.histogram))
    filled = (node.histogram[:, : len(bins.n_bins)] != 0).any(axis=0)
    columns = [*np.flatnonzero(bins.ordered).tolist(), *sorted(bins.categories)]
    by_column = [_tests(finder, node, j, np.flatnonzero(filled[j])) for j in columns if filled[j].sum() > 1]
    in_turn = chain.from_iterable(zip_longest(*by_column))
    chosen: list[Found] = []
    for test in in_turn:
        if len(chosen) == many:
            break
        if test is not None and _enough(node.rows, test, finder.min_rows):
            chosen.append(test)
    return chosen


def most_candidates(bins: Bins, n_labels: int) -> int:
    return min(MOST_CANDIDATES, MOST_CELLS // max(1, n_labels * len(bins.n_bins) * bins.width))


def _tests(finder: TestMaker, node: Stuck, column: int, filled: NDArray[np.int64]) -> Iterator[Found]:
    """The tests of one column that part the node: thresholds with missing values on the right, or single categories."""
    if not finder.bins.ordered[column]:
        levels = filled[:1] if len(filled) == 2 else filled
        for level in levels.tolist():
            on_left = np.zeros(finder.bins.width, dtype=np.bool_)
            on_left[level] = True
            yield finder.members(node.histogram, column, on_left)
        return
    cuts = filled[:-1]  # the last one, or the missing values, are on the right
    middle = (len(cuts) - 1) / 2
    for place in sorted(range(len(cuts)), key=lambda place: (abs(place - middle), place)):
        yield finder.threshold(node.histogram, column, int(cuts[place]), 0)


def _enough(rows: NDArray[np.int64], test: Found, min_rows: int) -> bool:
    if not len(rows):
        return True
    left = int(rows[test.column, test.on_left].sum())
    return min(left, int(rows[test.column].sum()) - left) >= min_rows


def look_ahead(finder: NodeFinder, engine: Any, nodes: list[Stuck]) -> list[tuple[list[Found], Ahead | None]]:
    """Return, for every node, its candidates and the best of them with the tests below it; None if no pair gains."""
    tried = [candidates(finder, node) for node in nodes]
    best: list[Ahead | None] = [None] * len(nodes)
    every = [(place, test) for place, tests in enumerate(tried) for test in tests]
    sides = left_sides(engine, [(nodes[place], test) for place, test in every])
    for (place, test), (left, rows) in zip(every, sides, strict=True):
        found = _ahead(finder, nodes[place], test, left, rows)
        so_far = best[place]
        if found is not None and (so_far is None or better(found.value, so_far.value)):
            best[place] = found
    return list(zip(tried, best, strict=True))


def left_sides(engine: Any, tests: list[tuple[Stuck, Found]]) -> Iterator[tuple[Histogram, NDArray[np.int64]]]:
    """Yield of every test of a node the histogram of its left side, and its rows where the node has rows."""
    if not tests:
        return
    node = tests[0][0]
    at_once = max(1, BYTES_AT_ONCE // max(1, node.histogram.nbytes))
    for start in range(0, len(tests), at_once):
        part = tests[start : start + at_once]
        asked = [Split(node.number, -1, -1, test.column, test.cut, test.on_left) for node, test in part]
        lefts = engine.look(asked)
        if len(node.rows):
            yield from zip(lefts, engine.look(asked, True).sum(axis=1), strict=True)
        else:
            yield from ((left, ANY_ROWS) for left in lefts)


def _ahead(finder: NodeFinder, node: Stuck, test: Found, left: Histogram, rows: NDArray[np.int64]) -> Ahead | None:
    sides = (left, node.histogram - left)
    held = (rows, node.rows - rows) if len(node.rows) else (ANY_ROWS, ANY_ROWS)
    below = [finder.best(*side) for side in zip(sides, test.sums, held, strict=True)]
    if all(found is None for found in below):
        return None
    leaves = [sums[None] if found is None else found.sums for found, sums in zip(below, test.sums, strict=True)]
    value = sum(finder.value(totals) for totals in np.concatenate(leaves))
    return Ahead(value, test, (below[0], below[1]))


def better(one: float, other: float) -> bool:
    return one > other + 1e-12 * abs(other)  # rounding alone does not reorder candidates


def ties(finder: NodeFinder, engine: Any, nodes: list[Stuck]) -> list[Found | None]:
    """Return tests for nodes without a gaining one; None: it stays a leaf.

    Only balanced nodes are split, where no test tells anything apart by the finer criterion either: by looking ahead,
    or, where the tree may grow two levels below the children, by the first candidate. Below such a split the finer
    criterion decides. Elsewhere it does not: trees grown by the edge would only get larger and less accurate.
    """
    chosen: list[Found | None] = [None] * len(nodes)
    balanced = []
    for place, finer in _open(finder, engine, nodes):
        if finer is None:
            balanced.append(place)
        elif nodes[place].tied:
            chosen[place] = finer
    found = look_ahead(finder, engine, [nodes[place] for place in balanced])
    for place, (tried, ahead) in zip(balanced, found, strict=True):
        if ahead is not None:
            chosen[place] = ahead.first
        elif tried and nodes[place].levels > 2:
            chosen[place] = tried[0]
    return [None if test is None else replace(test, gains=False) for test in chosen]


def balanced(finder: NodeFinder, engine: Any, node: Stuck) -> bool:
    """Whether a node can still gain, but no test tells anything apart."""
    return _open(finder, engine, [node]) == [(0, None)]


def _open(finder: NodeFinder, engine: Any, nodes: list[Stuck]) -> list[tuple[int, Found | None]]:
    """The places of the nodes that can still gain, and their best tests by the finer criterion."""
    final = finder.final(nodes, engine)
    places = [place for place in range(len(nodes)) if not final[place]]
    return list(zip(places, finder.finer([nodes[place] for place in places], engine), strict=True))
