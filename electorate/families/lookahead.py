"""Splits for nodes where no single split gains anything, as in balanced designs (XOR, Monk's problems).

A split is chosen by what the best splits of its two children gain. The shards sum the left sides of all candidates in
one exchange, and no rows move. Growth drops splits below which nothing gained, so a wrong guess costs time only.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain, islice, zip_longest
from typing import Any

import numpy as np
from numpy.typing import NDArray

from electorate.data.bins import Bins
from electorate.families.splits import ANY_ROWS, Found, SplitFinder, enough
from electorate.messages import Split

# Limits of the search of one node. They depend on the bins only, so that they are the same on every engine.
MOST_CANDIDATES = 256
MOST_CELLS = 2**26  # histogram cells of all candidates of a node: under a second
BYTES_AT_ONCE = 2**26  # histograms in one exchange

Histogram = NDArray[np.int64]


@dataclass(frozen=True)
class Stuck:
    """A node without a gaining split. levels: how many the tree may still grow below it, at least two."""

    number: int
    histogram: Histogram
    totals: NDArray[np.int64]
    rows: NDArray[np.int64]  # [column, bin]: how many; ANY_ROWS where no limit needs them
    levels: int
    tied: bool  # below a split that gains nothing by itself


@dataclass(frozen=True)
class Ahead:
    """A first split, the splits of its left and right child, and the criterion of the leaves they make."""

    value: float
    first: Found
    below: tuple[Found | None, Found | None]


def candidates(finder: SplitFinder, node: Stuck) -> list[Found]:
    """Return the first splits to try: of every column the middle cut, then cuts further out; ordered columns first."""
    bins = finder.bins
    filled = (node.histogram[:, : len(bins.n_bins)] != 0).any(axis=0)
    columns = [*np.flatnonzero(bins.ordered).tolist(), *bins.split_by_sets]
    by_column = [_column_splits(finder, node, j, np.flatnonzero(filled[j])) for j in columns if filled[j].sum() > 1]
    in_turn = (split for split in chain.from_iterable(zip_longest(*by_column)) if split is not None)
    allowed = (split for split in in_turn if enough(node.rows, split.column, split.on_left, finder.min_rows))
    return list(islice(allowed, most_candidates(bins, len(node.histogram))))


def most_candidates(bins: Bins, n_labels: int) -> int:
    return min(MOST_CANDIDATES, MOST_CELLS // max(1, n_labels * len(bins.n_bins) * bins.width))


def _column_splits(finder: SplitFinder, node: Stuck, column: int, filled: NDArray[np.int64]) -> Iterator[Found]:
    """The splits of one column that part the node: thresholds, missing values on the right, or single categories."""
    if not finder.bins.ordered[column]:
        for level in filled[: 1 if len(filled) == 2 else None].tolist():
            yield finder.members(node.histogram, column, np.arange(finder.bins.width) == level)
        return
    cuts = filled[:-1]  # the last one, or the missing values, are on the right
    middle = (len(cuts) - 1) / 2
    for place in sorted(range(len(cuts)), key=lambda place: (abs(place - middle), place)):
        yield finder.threshold(node.histogram, column, int(cuts[place]), 0)


def look_ahead(finder: SplitFinder, engine: Any, nodes: list[Stuck]) -> list[tuple[list[Found], Ahead | None]]:
    """Return, for every node, its candidates and the best of them with the splits below it; None if no pair gains."""
    tried = [candidates(finder, node) for node in nodes]
    best: list[Ahead | None] = [None] * len(nodes)
    every = [(place, split) for place, splits in enumerate(tried) for split in splits]
    sides = left_sides(engine, [(nodes[place], split) for place, split in every])
    for (place, split), (left, rows) in zip(every, sides, strict=True):
        found, so_far = _ahead(finder, nodes[place], split, left, rows), best[place]
        if found is not None and (so_far is None or better(found.value, so_far.value)):
            best[place] = found
    return list(zip(tried, best, strict=True))


def left_sides(engine: Any, splits: list[tuple[Stuck, Found]]) -> Iterator[tuple[Histogram, NDArray[np.int64]]]:
    """Yield for every split of a node the histogram of its left side, and its rows where the node has rows."""
    if not splits:
        return
    node = splits[0][0]
    at_once = max(1, BYTES_AT_ONCE // max(1, node.histogram.nbytes))
    for start in range(0, len(splits), at_once):
        part = splits[start : start + at_once]
        sent = [Split(node.number, -1, -1, found.column, found.cut, found.on_left) for node, found in part]
        lefts = engine.look(sent)
        rows = engine.look(sent, True).sum(axis=1) if len(node.rows) else [ANY_ROWS] * len(part)
        yield from zip(lefts, rows, strict=True)


def _ahead(finder: SplitFinder, node: Stuck, first: Found, left: Histogram, rows: NDArray[np.int64]) -> Ahead | None:
    sides = (left, node.histogram - left)
    rows_of = (rows, node.rows - rows) if len(node.rows) else (ANY_ROWS, ANY_ROWS)
    below = [finder.best(*side) for side in zip(sides, first.sums, rows_of, strict=True)]
    if all(found is None for found in below):
        return None
    leaves = [sums[None] if found is None else found.sums for found, sums in zip(below, first.sums, strict=True)]
    value = sum(finder.value(totals) for totals in np.concatenate(leaves))
    return Ahead(value, first, (below[0], below[1]))


def better(one: float, other: float) -> bool:
    return one > other + 1e-12 * abs(other)  # rounding alone does not reorder candidates


def ties(finder: SplitFinder, engine: Any, nodes: list[Stuck]) -> list[Found | None]:
    """Return splits for nodes without a gaining one; None: it stays a leaf.

    Only balanced nodes are split, where no split separates anything by the finer criterion either: by looking ahead,
    or, where the tree may grow two levels below the children, by the first candidate. Below such a split the finer
    criterion decides. Elsewhere it does not: trees grown by the edge would only get larger and less accurate.
    """
    chosen: list[Found | None] = [None] * len(nodes)
    balanced_places = []
    for place, finer in _open(finder, engine, nodes):
        if finer is None:
            balanced_places.append(place)
        elif nodes[place].tied:
            chosen[place] = finer
    found = look_ahead(finder, engine, [nodes[place] for place in balanced_places])
    for place, (tried, ahead) in zip(balanced_places, found, strict=True):
        if ahead is not None:
            chosen[place] = ahead.first
        elif tried and nodes[place].levels > 2:
            chosen[place] = tried[0]
    return [None if split is None else replace(split, gains=False) for split in chosen]


def balanced(finder: SplitFinder, engine: Any, node: Stuck) -> bool:
    """Whether a node can still gain, but no split separates anything."""
    return _open(finder, engine, [node]) == [(0, None)]


def _open(finder: SplitFinder, engine: Any, nodes: list[Stuck]) -> list[tuple[int, Found | None]]:
    """The places of the nodes that can still gain, and their best splits by the finer criterion."""
    final = finder.final(nodes, engine)
    places = [place for place in range(len(nodes)) if not final[place]]
    return list(zip(places, finder.finer([nodes[place] for place in places], engine), strict=True))
