"""Trees, and stumps, their smallest case: grown from exact sums, all open nodes of a level in one exchange.

The driver finds the split of every open node from its histogram; the shards part their rows and return the
histograms of the left children; the right ones are what is left of the parents'. Nodes of few rows are grown to their
leaves on the driver, from these rows.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import reduce
from itertools import pairwise
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils._param_validation import Interval, RealNotInt, StrOptions

from electorate import kernels
from electorate.algorithms.protocol import Mean, Step
from electorate.data.bins import Bins
from electorate.families.drawn_columns import ColumnDraw, child_keys, column_draw
from electorate.families.lookahead import Stuck, ties
from electorate.families.monotone import best_among, monotone_outputs, read_signs
from electorate.families.splits import ANY_ROWS, Finder, Found, SplitFinder, leaf_outputs, least_rows
from electorate.kernels.layouts import ColumnLayout, NodeRows, SplitRule
from electorate.messages import ROOT, Split, SplitArrays, Sums, histogram_here
from electorate.theory import complexity
from electorate.theory.complexity import Shape

MANY_LEVELS = 2**31
MANY_ROWS = 2**62
DEEP = 3  # levels left to grow, at least: fewer take less time from histograms
DEEP_IN_TEAM = 4  # the same where many threads sum histograms, but only one grows a node from its rows
BYTE_CODES = 256  # bins of a column whose codes are bytes
FEW_ROWS_PER_LABEL = 1024  # nodes of so few rows are grown from these, not from histograms
FEW_ROWS = 8192  # for any number of labels
ROWS_PER_TASK = 2**14  # of a thread
NO_KEY = np.uint64(0)
BYTES_AT_ONCE = 2**27  # histograms of open nodes held by the driver; deeper trees are grown in parts
MAX_FEATURES = [
    StrOptions({"sqrt"}),
    Interval(Integral, 1, None, closed="left"),
    Interval(RealNotInt, 0, 1, closed="right"),
    None,
]
Groups = list[tuple[int, float]]  # sums of examples that gain the same, with what they gain


@dataclass(frozen=True)
class ChosenStep:
    """A step that came with the search.

    bounds: per channel, what bounds its sum after the step: None for the leaves of the voter, groups of examples, or
    the logarithm of a bound on its mean. penalty: the price of all voters after it. notes: for the history.
    """

    step: Step
    bounds: tuple[Groups | float | None, ...] = (None,)
    penalty: float = 0.0
    notes: dict[str, float] = field(default_factory=dict)


@dataclass
class Voter:
    """A voter over bins: splits, parents first, and leaves with the weight of each label in them.

    fitted: an estimator or row voter, which has no splits. outputs: of the leaves, where the weights in them
    do not decide.
    """

    splits: Sequence[Split]
    leaves: list[int]
    sums: NDArray[np.int64]  # [leaf, label]
    fitted: Any = None
    outputs: NDArray[np.float64] | None = None
    member: int = 0  # of a union: the family it comes from
    chosen: ChosenStep | None = None  # where the search has chosen the step too
    number: int | None = None  # among the voters that the shards keep


class Splitter(Protocol):
    """The engine verbs that families use."""

    @property
    def n_rows(self) -> int: ...

    @property
    def sums_in_team(self) -> bool: ...

    def searches_at_once(self, n_nodes: int) -> bool: ...

    def both_sides(self, splits: Sequence[Split], wholes: list[Any]) -> tuple[list[Any], NDArray[np.int64]]: ...

    def partition(self, splits: Sequence[Split]) -> None: ...

    def look(self, splits: Sequence[Split], of_rows: bool = False) -> NDArray[np.int64]: ...

    def count_rows(self, nodes: list[int]) -> NDArray[np.int64]: ...

    def collect(self, nodes: list[int], count_rows: bool) -> NodeRows: ...

    def map(self, task: Callable[[Any], Any], items: list[Any]) -> list[Any]: ...


@dataclass
class Search:
    """The data of one round for a family: the sums, the bins, the sample weights per bin, the engine."""

    sums: Sums
    bins: Bins
    counts: NDArray[np.int64]  # [column, bin]
    engine: Splitter
    means: Callable[[], Sequence[Mean]] = tuple  # of the booster's channels
    past: Sequence[Any] = ()  # the voters of earlier rounds, each with its step
    along: Callable[[int, float], float] | None = None  # edge of a stored voter after a step, over the sum of weights
    signed: bool = False  # the sums are of residuals, which may be negative: only the edge makes sense of them
    number: int = 0  # of the round, where the booster counts them


@dataclass(frozen=True)
class Limits:
    max_depth: int | None = None
    min_samples_leaf: int = 1
    min_samples_split: int = 2
    draw: ColumnDraw | None = None  # None: every split may use all columns
    signs: NDArray[np.int64] | None = None  # [column]: 1 and -1 where the output may only rise or fall

    def levels(self, depth: int) -> int:
        """How many levels a tree may grow below a node of this depth."""
        return MANY_LEVELS if self.max_depth is None else min(self.max_depth - depth, MANY_LEVELS)

    @property
    def count_rows(self) -> bool:
        return self.min_samples_leaf > 1 or self.min_samples_split > 2


@dataclass
class OpenNode:
    """A node that may still be split."""

    number: int
    depth: int
    histogram: Any  # [label, column, bin], perhaps stored by the engine
    tied: bool = False  # below a split that gains nothing by itself
    rows: int = MANY_ROWS  # over all shards
    key: np.uint64 = NO_KEY  # by which its columns are drawn


class SplitBlock(NamedTuple):
    """Some splits of a growing tree, in the order they were added."""

    node: NDArray[np.int64]
    column: NDArray[np.int64]
    cut: NDArray[np.int64]
    on_left: NDArray[np.bool_]  # [split, bin]
    sums: NDArray[np.int64]  # [split, side, label]
    gains: NDArray[np.bool_]


class Grown:
    """A growing tree. The children of its split number s are the nodes 2 s + 1 and 2 s + 2."""

    def __init__(self, totals: NDArray[np.int64]) -> None:
        self.totals = {ROOT: totals}  # label weights of the nodes that were added one by one
        self.blocks: list[SplitBlock] = []
        self.added: list[tuple[int, Found]] = []  # since the last block: nodes with their splits
        self.n_splits = 0

    def add(self, node: int, found: Found) -> Split:
        left = 2 * self.n_splits + 1
        self.added.append((node, found))
        self.n_splits += 1
        self.totals[left], self.totals[left + 1] = found.sums
        return Split(node, left, left + 1, found.column, found.cut, found.on_left)

    def graft(self, block: SplitBlock) -> None:
        """Add many splits."""
        self._close_block()
        self.blocks.append(block)
        self.n_splits += len(block.node)

    def _close_block(self) -> None:
        """Make a block of the splits that were added one by one."""
        if self.added:
            found = [split for _, split in self.added]
            node, column, cut = np.array([(node, split.column, split.cut) for node, split in self.added]).T
            on_left, sums = (np.stack(arrays) for arrays in zip(*((f.on_left, f.sums) for f in found), strict=True))
            self.blocks.append(SplitBlock(node, column, cut, on_left, sums, np.array([f.gains for f in found])))
            self.added = []

    def voter(self) -> Voter:
        """The tree, its nodes numbered level by level, without splits that gain nothing and have none below that do."""
        self._close_block()
        if not self.blocks:
            return Voter([], [ROOT], self.totals[ROOT][None])
        all_splits = SplitBlock(*(np.concatenate(parts) for parts in zip(*self.blocks, strict=True)))
        order, number = _by_level(all_splits)
        if not len(order):
            return Voter([], [ROOT], self.totals[ROOT][None])
        node, sums = all_splits.node[order], all_splits.sums[order]
        left, is_leaf = 2 * np.arange(len(order)) + 1, np.ones(2 * len(order) + 1, dtype=np.bool_)
        is_leaf[number[node]] = False
        leaves = np.flatnonzero(is_leaf)
        column, cut, on_left = all_splits.column[order], all_splits.cut[order], all_splits.on_left[order]
        splits = SplitArrays(number[node], left, left + 1, column, cut, on_left)
        return Voter(splits, leaves.tolist(), sums.reshape(-1, sums.shape[2])[leaves - 1])


def _by_level(splits: SplitBlock) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The splits level by level, without those that gain nothing and have none below that do; [node]: its number."""
    n = len(splits.node)
    if splits.gains.all() and np.all(splits.node[1:] > splits.node[:-1]):  # as most trees are grown
        return np.arange(n), np.arange(2 * n + 1)
    split_of = np.full(2 * n + 1, -1)
    split_of[splits.node] = np.arange(n)
    if not splits.gains.all():
        for s in reversed(range(n)):  # children first
            if not splits.gains[s] and split_of[2 * s + 1] < 0 and split_of[2 * s + 2] < 0:
                split_of[splits.node[s]] = -1
    levels, here = [], split_of[[ROOT]]
    while len(here := here[here >= 0]):
        levels.append(here)
        here = split_of[(2 * here[:, None] + [1, 2]).ravel()]
    order, number = np.concatenate([*levels, here]), np.zeros(2 * n + 1, dtype=np.int64)
    for side in (1, 2):
        number[2 * order + side] = 2 * np.arange(len(order)) + side
    return order, number


def grow_by(finder: SplitFinder, search: Search, limits: Limits) -> Voter:
    """A tree, level by level; neither the order in which nodes are split nor where they are grown changes it."""
    grown, engine, histogram = Grown(search.sums.totals), search.engine, search.sums.root
    can_be_small = finder.criterion_number is not None and search.bins.width == BYTE_CODES and limits.signs is None
    few = min(FEW_ROWS_PER_LABEL * len(histogram), FEW_ROWS) if can_be_small else 0

    deep = DEEP_IN_TEAM if engine.sums_in_team else DEEP

    def is_small(node: OpenNode) -> bool:
        return node.rows <= few and limits.levels(node.depth) >= deep

    root_rows = engine.n_rows if few and mixed(search.sums.totals) else MANY_ROWS
    waiting = [OpenNode(ROOT, 0, histogram, rows=root_rows, key=NO_KEY if limits.draw is None else limits.draw.key)]
    at_once = max(1, BYTES_AT_ONCE // max(1, histogram.nbytes))
    while waiting:
        batch, waiting = waiting[:at_once], waiting[at_once:]
        small, large = ([node for node in batch if is_small(node) is wanted] for wanted in (True, False))
        opened = grow_small(small, search, finder, limits, grown) if small else []
        opened += _split(large, search, finder, limits, grown) if large else []
        waiting = opened + waiting  # depth first by parts: what waits stays small
    return grown.voter()


def _split(batch: list[OpenNode], search: Search, finder: SplitFinder, limits: Limits, grown: Grown) -> list[OpenNode]:
    """Split what can be split; returns the children that are still open, with their histograms."""
    sent: list[tuple[OpenNode, Split]] = []
    for node, found in zip(batch, _best_splits(batch, search, finder, limits, grown), strict=True):
        if found is not None:
            node.tied |= not found.gains
            split = grown.add(node.number, found)
            if limits.levels(node.depth) > 1 and (mixed(found.sums[0]) or mixed(found.sums[1])):
                sent.append((node, split))
    if not sent:
        return []
    every, rows = search.engine.both_sides([split for _, split in sent], [node.histogram for node, _ in sent])
    children = []
    for (node, split), sides, n_rows in zip(sent, every, rows.tolist(), strict=True):
        keys = (NO_KEY, NO_KEY) if limits.draw is None else child_keys(node.key)
        for number, histogram, n, key in zip((split.left, split.right), sides, n_rows, keys, strict=True):
            if mixed(grown.totals[number]):
                children.append(OpenNode(number, node.depth + 1, histogram, node.tied, n, key))
    return children


def _best_splits(
    batch: list[OpenNode], search: Search, finder: SplitFinder, limits: Limits, grown: Grown
) -> list[Found | None]:
    """The split of every node, or None. One that gains nothing is taken only where the tree may grow below it."""
    rows = [ANY_ROWS] * len(batch)
    if limits.count_rows:
        rows = list(search.engine.count_rows([node.number for node in batch]))
    nodes = [(node.histogram, grown.totals[node.number], here) for node, here in zip(batch, rows, strict=True)]
    places = [k for k, here in enumerate(rows) if not len(here) or here[0].sum() >= limits.min_samples_split]
    found: dict[int, Found | None] = dict.fromkeys(places)
    if limits.draw is not None:
        for place in places:
            drawn = limits.draw.columns(batch[place].key, len(search.bins.n_bins))
            found[place] = best_among(finder, drawn, nodes[place], search.engine, limits.signs)
    rest = [place for place in places if found[place] is None]  # where no drawn column gains, all are searched
    if limits.signs is None:
        found.update(zip(rest, finder.best_of_all([nodes[place] for place in rest], search.engine), strict=True))
    else:
        every = np.ones(len(search.bins.n_bins), dtype=np.bool_)
        found.update((place, best_among(finder, every, nodes[place], search.engine, limits.signs)) for place in rest)
    stuck = {}
    for place in rest:
        node, levels = batch[place], limits.levels(batch[place].depth)
        if found[place] is None and levels > 1:
            histogram, totals, here = nodes[place]
            stuck[place] = Stuck(node.number, histogram_here(histogram), totals, here, levels, node.tied)
    found.update(zip(stuck, ties(finder, search.engine, list(stuck.values())), strict=True))
    return [found.get(place) for place in range(len(batch))]


# ---------------------------------------------------------------- small nodes


def grow_small(
    nodes: list[OpenNode], search: Search, finder: SplitFinder, limits: Limits, grown: Grown
) -> list[OpenNode]:
    """Grow the trees below nodes of few rows; returns the nodes where only looking ahead decides."""
    assert finder.criterion_number is not None
    limit = (limits.min_samples_leaf, limits.min_samples_split)
    n_drawn = 0 if limits.draw is None else limits.draw.n_drawn
    rule = SplitRule(finder.criterion_number, len(search.sums.root), *limit, n_drawn)
    rows = search.engine.collect([node.number for node in nodes], limits.count_rows)
    ends = np.concatenate([[0], np.cumsum(np.bincount(rows.place, minlength=len(nodes)))])
    order = np.argsort(rows.place, kind="stable").astype(np.uint32)
    bins = search.bins
    numbers = np.arange(len(bins.n_bins))
    layout = ColumnLayout(*map(np.array, (bins.n_bins, bins.has_missing, bins.ordered, numbers, search.counts)))

    def grow(part: tuple[int, int]) -> Any:
        mine, low = slice(*part), ends[part[0]]
        totals = np.stack([grown.totals[node.number] for node in nodes[mine]])
        levels = np.array([limits.levels(node.depth) for node in nodes[mine]])
        tied, keys = np.array([node.tied for node in nodes[mine]]), np.array([node.key for node in nodes[mine]])
        tree = (order[low : ends[part[1]]], ends[part[0] : part[1] + 1] - low, totals, levels, tied, keys)
        return nodes[mine], kernels.grow_subtrees(rows, layout, rule, finder.target_rule, *tree), tree[0]

    cuts = np.searchsorted(ends, np.arange(0, ends[-1] + ROWS_PER_TASK, ROWS_PER_TASK))
    parts = np.unique(np.minimum(cuts, len(nodes)))
    found = search.engine.map(grow, list(pairwise(parts.tolist())))
    opened = [_graft(grown, search, rows, *each) for each in found]
    return [node for part in opened for node in part]


def _graft(
    grown: Grown, search: Search, rows: NodeRows, nodes: list[OpenNode], found: Any, order: NDArray[np.uint32]
) -> list[OpenNode]:
    """Add the subtrees below some nodes; returns the nodes that are still open, which the shards then know."""
    splits, on_left, sums, still_open = found
    number = np.concatenate([[node.number for node in nodes], 2 * grown.n_splits + 1 + np.arange(2 * len(splits))])
    parents = number[splits[:, 0]]
    grown.graft(SplitBlock(parents, splits[:, 1], splits[:, 2], on_left, sums, np.ones(len(splits), dtype=np.bool_)))
    opened, path = [], {}
    for place, low, high in still_open.tolist():
        node, sides = place, []  # from the node up
        while node >= len(nodes):
            split, side = divmod(node - len(nodes), 2)
            sides.append(side)
            left = int(number[len(nodes) + 2 * split])
            column, cut = splits[split, 1:].tolist()
            path[split] = Split(int(parents[split]), left, left + 1, column, cut, on_left[split])
            node = splits[split, 0]
        root, histogram = nodes[node], _histogram(rows, order[low:high], search)
        key = reduce(lambda key, side: child_keys(key)[side], reversed(sides), root.key)
        opened.append(OpenNode(int(number[place]), root.depth + len(sides), histogram, root.tied, key=key))
        if sides:
            grown.totals[opened[-1].number] = sums.reshape(-1, sums.shape[2])[place - len(nodes)]
    if path:
        search.engine.partition([path[split] for split in sorted(path)])
    return opened


def _histogram(rows: NodeRows, mine: NDArray[np.uint32], search: Search) -> NDArray[np.int64]:
    """The full histogram of some rows."""
    histogram = np.zeros_like(search.sums.histogram)
    codes = rows.codes[mine].view(np.uint8 if rows.codes.dtype == np.uint32 else rows.codes.dtype)
    columns = np.arange(histogram.shape[1])
    squares = len(rows.second) > 0
    for number, channel in enumerate((rows.weight, rows.second) if squares else (rows.weight,)):
        label = np.full(len(mine), number) if squares else rows.label[mine]
        np.add.at(histogram, (label[:, None], columns, codes), channel[mine, None])
    return histogram


# ---------------------------------------------------------------- families


def draw_for(family: Any, search: Search) -> ColumnDraw | None:
    """How a family with `max_features` draws columns in this round."""
    n_columns, totals = len(search.bins.n_bins), search.sums.totals
    return column_draw(family.max_features, n_columns, int(family.random_state), search.number, totals)


def mixed(weights: NDArray[np.int64]) -> bool:
    """Whether more than one label weighs something."""
    return int(np.count_nonzero(weights)) > 1


def constant(search: Search) -> Voter:
    """A tree without splits."""
    return Voter([], [ROOT], search.sums.totals[None])


def stump(found: Found, outputs: NDArray[np.float64] | None = None) -> Voter:
    """A tree with one split."""
    return Voter([Split(ROOT, 1, 2, found.column, found.cut, found.on_left)], [1, 2], found.sums, outputs=outputs)


class BinFamily(BaseEstimator):
    """What families over bins share: the constant voter, and outputs by the weights in the leaves."""

    fitted_elsewhere: ClassVar[bool] = False
    leaves: Any = "auto"
    smoothing: Any = "auto"

    def constant(self, search: Search) -> Voter:
        return constant(search)

    def outputs(self, voter: Voter, n_rows: int, wanted: str) -> NDArray[np.float64]:
        """[leaf, output]. wanted: the kind of outputs that the booster is made for."""
        return self._leaf_outputs(voter.sums, n_rows, wanted)

    def _leaf_outputs(self, sums: NDArray[np.int64], n_rows: int, wanted: str) -> NDArray[np.float64]:
        kind, smoothing = self._leaf_rule(n_rows, wanted)
        return leaf_outputs(kind, sums, smoothing)

    def _leaf_rule(self, n_rows: int, wanted: str) -> tuple[str, float]:
        """The kind of outputs, and their smoothing."""
        smoothing = 1.0 / n_rows if self.smoothing == "auto" else float(self.smoothing)
        return wanted if self.leaves == "auto" else self.leaves, smoothing


class Stumps(BinFamily):
    """The family of all stumps: one test of one column, each side votes for a label.

    A stump tests whether a column is at most a threshold, or whether it is in a set of categories; missing
    values go to the side that fits better, or to the heavier side if training had none in that column. The
    search is exhaustive, by the weight that is classified correctly; if no test is better, the stump is the constant
    voter. With boosters for real-valued voters, its sides return half the log-odds.

    Examples
    --------
    >>> from electorate import AdaBoostClassifier, Stumps
    >>> AdaBoostClassifier(Stumps()).estimator
    Stumps()
    """

    exhaustive: ClassVar[bool] = True  # for two labels

    def best(self, search: Search) -> Voter:
        finder, sums = Finder(search.bins, search.counts), search.sums
        if isinstance(sums.root, np.ndarray) and not search.engine.searches_at_once(
            1
        ):  # the shortest way for small tables
            found = finder.best(sums.root, sums.totals)
        else:
            found = finder.best_of_all([(sums.root, sums.totals, ANY_ROWS)], search.engine)[0]
        return constant(search) if found is None else stump(found)

    def log_count(self, n: int, shape: Shape) -> float:
        """A provable bound on the logarithm of the number of labelings of n rows."""
        return complexity.log_stumps(n, shape)

    def published(self, n: int, d: int) -> float:
        """The complexity of the DeepBoost paper, eq. 7."""
        return complexity.published_stumps(n, d)


class Trees(BinFamily):
    """The family of trees, grown greedily, level by level.

    If no single split separates the labels (XOR), the tree takes the split after which other splits gain the most, if
    its depth allows them; see docs/families.md.

    Parameters
    ----------
    max_depth : int or None, default=3
        The most splits on a path; None: until every leaf is pure or no split helps.
    min_samples_leaf, min_samples_split : int, default=1 and 2
        The fewest rows in a leaf, and in a node that is split. A row of whole weight k counts k times, after weights
        that are all even have been halved: multiplying all of them by a power of two changes nothing.
    criterion : {"gini", "edge", "matsushita"}, default="gini"
        How a split is chosen: by the Gini index, by the weight that is classified correctly, or by Matsushita's error
        2 sqrt(p (1 - p)).
    leaves : {"auto", "label", "log_odds", "gentle"}, default="auto"
        The output of a leaf: its heaviest label (+-1), half the log-odds of its label weights, or p(+) - p(-).
        "auto": what the booster is made for.
    smoothing : float or "auto", default="auto"
        Added to each label's share of the weight before log-odds are taken; "auto" is 1 / n, where a row of whole
        weight k counts k times. With 0 the outputs of pure leaves are infinite, which only AdaBoost_R can use.
    max_features : int, float, "sqrt" or None, default=None
        How many columns every split may choose from: a number, a share, the square root of their number, or None for
        all. They are drawn for each split by a hash, and are the same on every engine and for any number of threads.
        Where none of them gains, all columns are searched. Fewer columns make trees that differ more, which often
        helps with noisy labels.
    random_state : int, default=0
        The seed of this hash. It has no effect if `max_features` is None.
    monotonic_cst : array-like of int of shape (n_columns,) or None, default=None
        For each column, 1 if the output may only rise with it, -1 if it may only fall, 0 for no constraint. For two
        classes; columns with categories must have 0. See docs/families.md.

    Examples
    --------
    >>> from electorate import AdaBoostClassifier, Trees
    >>> AdaBoostClassifier(Trees(3)).estimator.max_depth
    3
    """

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012
        "max_depth": [Interval(Integral, 1, None, closed="left"), None],
        "min_samples_leaf": [Interval(Integral, 1, None, closed="left")],
        "min_samples_split": [Interval(Integral, 2, None, closed="left")],
        "criterion": [StrOptions({"gini", "edge", "matsushita"})],
        "leaves": [StrOptions({"auto", "label", "log_odds", "gentle"})],
        "smoothing": [StrOptions({"auto"}), Interval(Real, 0, None, closed="left")],
        "max_features": MAX_FEATURES,
        "random_state": [Interval(Integral, 0, None, closed="left")],
        "monotonic_cst": ["array-like", None],
    }

    def __init__(
        self,
        max_depth: int | None = 3,
        *,
        min_samples_leaf: int = 1,
        min_samples_split: int = 2,
        criterion: str = "gini",
        leaves: str = "auto",
        smoothing: float | str = "auto",
        max_features: float | str | None = None,
        random_state: int = 0,
        monotonic_cst: Any = None,
    ) -> None:
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.min_samples_split = min_samples_split
        self.criterion = criterion
        self.leaves = leaves
        self.smoothing = smoothing
        self.max_features = max_features
        self.random_state = random_state
        self.monotonic_cst = monotonic_cst

    def best(self, search: Search) -> Voter:
        draw, signs = draw_for(self, search), read_signs(self.monotonic_cst, search.bins)
        limits = Limits(
            self.max_depth, least_rows(self.min_samples_leaf), least_rows(self.min_samples_split), draw, signs
        )
        finder = Finder(search.bins, search.counts, limits.min_samples_leaf, self.criterion, search.signed)
        return grow_by(finder, search, limits)

    def outputs(self, voter: Voter, n_rows: int, wanted: str) -> NDArray[np.float64]:
        if self.monotonic_cst is None:
            return super().outputs(voter, n_rows, wanted)
        return monotone_outputs(*self._leaf_rule(n_rows, wanted), voter, np.asarray(self.monotonic_cst))

    @property
    def exhaustive(self) -> bool:
        """Whether `best` finds the voter that classifies the most weight correctly."""
        all_columns = self.max_features in (None, 1.0) and not isinstance(self.max_features, int)
        all_splits = all_columns and self.min_samples_leaf == 1 and self.monotonic_cst is None
        return self.max_depth == 1 and self.criterion == "edge" and all_splits

    def log_count(self, n: int, shape: Shape) -> float:
        """A provable bound on the logarithm of the number of labelings of n rows: trees of up to 2^depth - 1 splits.

        There cannot be more splits than rows, less one.
        """
        full = n - 1 if self.max_depth is None else min(n - 1, 2 ** min(self.max_depth, 62) - 1)
        return complexity.log_trees(n, shape, full)

    def published(self, n: int, d: int) -> float:
        """The complexity of the DeepBoost paper for trees of a depth, by their VC dimension."""
        if self.max_depth is None:
            raise ValueError("trees of any depth have no complexity: set max_depth")
        return complexity.published_depth(n, d, self.max_depth)
