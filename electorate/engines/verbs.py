"""The verbs of an engine, and how the answers of its shards become one.

A verb is a method of a shard. An engine calls it on all of its shards, one task per shard, and merges what they return.
"""

import math
import threading
import weakref
from collections.abc import Callable, Sequence
from functools import cached_property, partial, reduce
from itertools import pairwise
from operator import add
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from electorate import kernels
from electorate.algorithms.protocol import NO_FLOORS, Booster, Floors
from electorate.data.weights import Weights
from electorate.engines.packing import Packed
from electorate.engines.shard import Answer, formulas_of
from electorate.kernels.layouts import ColumnLayout, NodeRows
from electorate.messages import ROOT, Change, LeftSides, NodeSplits, Split, SplitArrays, Sums
from electorate.threads import PER_CELL, ThreadPool, work

MOST = 32  # buffers that are held for reuse


class Buffers:
    """Arrays that are reused as soon as nothing refers to them or to a view of them."""

    def __init__(self) -> None:
        self.held: list[memoryview] = []
        self.given: list[weakref.ref[NDArray[np.int64]]] = []  # the last array in each buffer; views of it refer to it

    def take(self, shape: tuple[int, ...]) -> NDArray[np.int64]:
        """An array of this shape, whatever it holds."""
        size = math.prod(shape)
        if size == 0:
            return np.empty(shape, dtype=np.int64)
        place = next((k for k, given in enumerate(self.given) if given() is None), len(self.held))
        if place == MOST:
            return np.empty(shape, dtype=np.int64)
        if place == len(self.held):
            self.held.append(np.empty(size, dtype=np.int64).data)
            self.given.append(weakref.ref(np.empty(0, dtype=np.int64)))
        if len(self.held[place]) < size:
            self.held[place] = np.empty(size, dtype=np.int64).data
        array = np.frombuffer(self.held[place], np.int64, size)
        self.given[place] = weakref.ref(array)
        return array.reshape(shape)


Merge = Callable[[list[Any]], Any]
Histogram = NDArray[np.int64]  # [label, column, bin]
Sides = tuple[Histogram, Histogram]  # of the left and the right child
SUMMED = {"advance": 1.0, "weigh": 1.0, "sum_nodes": 0.4, "partition": 0.0}  # share of all cells


def total(answers: list[Any]) -> Any:
    return answers[0] if len(answers) == 1 else reduce(add, answers)


def nothing(answers: list[Any]) -> None:
    return None


def joined_rows(answers: list[NodeRows]) -> NodeRows:
    if len(answers) == 1:
        return answers[0]
    # Kernels take arrays in C order.
    return NodeRows(*(np.ascontiguousarray(np.concatenate(parts)) for parts in zip(*answers, strict=True)))


GROWING: dict[str, Merge] = {
    "n_rows": total,
    "partition": total,
    "sum_nodes": total,
    "split": total,
    "look": total,
    "count_rows": total,
    "collect": joined_rows,
}
VERBS: dict[str, Merge] = {
    **GROWING,
    "pack": nothing,
    "start": nothing,
    "count": total,
    "replay": min,
    "advance": total,
    "leaf_rows": total,
    "both_left": total,
    "store": nothing,
    "edges": total,
    "gram": total,
    "along": total,
}


class Grower:
    """What growing a tree needs of an engine, whatever its labels."""

    def call(self, verb: str, *arguments: Any) -> Any:
        raise NotImplementedError

    def map(self, task: Callable[[Any], Any], items: list[Any]) -> list[Any]:
        """Run tasks of the driver."""
        return [task(item) for item in items]

    @cached_property
    def n_rows(self) -> int:
        """How many rows there are, each once, without those of weight 0."""
        return int(self.call("n_rows"))

    @property
    def sums_in_team(self) -> bool:
        """Whether the histograms of nodes are summed by many threads in one compiled call."""
        return False

    def searches_at_once(self, n_nodes: int) -> bool:
        """Whether so many nodes are searched by `search_nodes`, and not one by one."""
        return False

    def search_nodes(
        self, histograms: list[Histogram], totals: NDArray[np.int64], columns: ColumnLayout, criterion: int
    ) -> NodeSplits:
        """The best thresholds of some nodes in one call."""
        raise NotImplementedError

    def both_sides(self, splits: Sequence[Split], wholes: list[Histogram]) -> tuple[list[Sides], NDArray[np.int64]]:
        """Part the rows of some nodes; the histograms of their children, and [split, side]: how many rows.

        wholes: those of the nodes, which are overwritten, except that of the root.
        """
        tree = SplitArrays.of(splits)
        found: LeftSides = self.call("split", tree)
        rest = [
            np.subtract(whole, left, out=None if node == ROOT else whole)
            for node, whole, left in zip(tree.node.tolist(), wholes, found.histograms, strict=True)
        ]
        return list(zip(found.histograms, rest, strict=True)), found.rows

    def partition(self, splits: Sequence[Split]) -> None:
        """Part the rows of some nodes, parents first."""
        self.call("partition", SplitArrays.of(splits))

    def look(self, splits: Sequence[Split], of_rows: bool = False) -> Histogram:
        """Histograms [split, label, column, bin] of the left sides, of weights or of row counts; no rows move."""
        return np.asarray(self.call("look", splits, of_rows))

    def count_rows(self, nodes: list[int]) -> NDArray[np.int64]:
        """[node, column, bin]: how many rows, in nodes of the growing tree."""
        return np.asarray(self.call("count_rows", nodes))

    def collect(self, nodes: list[int], count_rows: bool) -> NodeRows:
        """The rows of some nodes, for the driver; count_rows: how many each of them stands for, too."""
        rows: NodeRows = self.call("collect", nodes, count_rows)
        return rows


class LocalShards(Grower):
    """Shards in the memory of this process. Sums are integers: the number of shards and threads does not matter."""

    verbs: ClassVar[dict[str, Merge]] = VERBS
    pool: ThreadPool
    shards: list[Any]
    stack: "Stack | None" = None

    def share_answers(self) -> None:
        """Give the shards places for their histograms, to be added up by all threads."""
        self.root: Any = None  # the histogram that the driver got last
        self.grown: dict[int, Histogram] = {}  # those of a tree that is grown from another process
        self.buffers = Buffers()
        if len(self.shards) > 1:
            self.stack = Stack(self.buffers)
        else:
            self.shards[0].answer = lambda shape: (self.buffers.take(shape), True)

    def call(self, verb: str, *arguments: Any) -> Any:
        """One exchange: the merged answers of all shards."""
        if verb == "split":
            return self.split(*arguments)
        found = self.call_together(verb, *arguments)
        if found is not None:
            pass
        elif self.stack is None:
            found = self.verbs[verb]([getattr(self.shards[0], verb)(*arguments)])
        else:
            found = self._visit_all(verb, arguments, self.stack)
        if isinstance(found, Sums):
            self.root, self.grown = found.histogram, {}
        return found

    def call_together(self, verb: str, *arguments: Any) -> Any:
        """One exchange with all shards in one compiled call; None where it has to be one by one."""
        return None

    def _visit_all(self, verb: str, arguments: tuple[Any, ...], stack: "Stack") -> Any:
        """The merged answers; a task visits some shards, one after another, and adds up their histograms on the way."""
        n_shards, merge, seconds = len(self.shards), self.verbs[verb], math.inf
        if verb in SUMMED:
            seconds = work(self.n_rows, SUMMED[verb] * self.shards[0].n_columns)
        elif verb == "collect":
            seconds = work(n_shards * self.shards[0].count_in(arguments[0]), self.shards[0].n_columns)
        stack.n_parts = n_tasks = self.pool.count_threads(n_shards, seconds)

        def visit(task: int) -> list[Any]:
            answers: list[Any] = []
            for shard in self.shards[n_shards * task // n_tasks : n_shards * (task + 1) // n_tasks]:
                shard.answer = partial(stack.part, task, not answers)
                answers.append(getattr(shard, verb)(*arguments))
            return answers

        answers = [answer for part in self.pool.map(visit, range(n_tasks)) for answer in part]
        return stack.total(answers, self.pool) if merge is total else merge(answers)

    def map(self, task: Callable[[Any], Any], items: list[Any]) -> list[Any]:
        return self.pool.map(task, items)

    def both_sides(self, splits: Sequence[Split], wholes: list[Histogram]) -> tuple[list[Sides], NDArray[np.int64]]:
        tree = SplitArrays.of(splits)
        rows = self.call("partition", tree)
        left_is_less = rows[:, 0] <= rows[:, 1]
        less = cells_of(self.call("sum_nodes", np.where(left_is_less, tree.left, tree.right)))
        keep = (tree.node == ROOT).tolist()
        spare = self.buffers.take(less.shape[1:]) if any(keep) else None

        def rest(m: int) -> Histogram:
            return np.subtract(wholes[m], less[m], out=spare if keep[m] else wholes[m])

        seconds = 2 * PER_CELL * less.size
        pairs = zip(less, self.pool.map(rest, range(len(keep)), seconds), left_is_less.tolist(), strict=True)
        return [(one, other) if is_left else (other, one) for one, other, is_left in pairs], rows

    def split(self, tree: SplitArrays) -> LeftSides:
        """The left sides of nodes whose histograms have been returned before."""
        self.grown = self.grown or {ROOT: cells_of(self.root)}
        sides, rows = self.both_sides(tree, [self.grown[node] for node in tree.node.tolist()])
        for left, right, (of_left, of_right) in zip(tree.left.tolist(), tree.right.tolist(), sides, strict=True):
            self.grown[left], self.grown[right] = of_left, of_right
        lefts = np.stack([left for left, _ in sides])
        return LeftSides(Packed(lefts, self.root.columns) if isinstance(self.root, Packed) else lefts, rows)


class Stack:
    """The large answers of all tasks of one call, one below another: a thread adds up a range of all of them."""

    def __init__(self, buffers: Buffers) -> None:
        self.buffers = buffers
        self.n_parts = 1
        self.cells = np.empty((1, 0), dtype=np.int64)
        self.lock = threading.Lock()

    def part(self, number: int, clear: bool, shape: tuple[int, ...]) -> Answer:
        """The place for the answers of one task; all of them have the same shape. clear: nothing has been added yet."""
        size = math.prod(shape)
        with self.lock:
            if self.cells.shape[1] < size or len(self.cells) < self.n_parts:
                self.cells = np.empty((max(self.n_parts, len(self.cells)), size), dtype=np.int64)
        return self.cells[number, :size].reshape(shape), clear

    def total(self, answers: list[Any], pool: ThreadPool) -> Any:
        """The sum of the answers; those in the stack are added up by all threads."""
        first = answers[0]
        if isinstance(first, Sums):
            more = None if first.more is None else self.total([each.more for each in answers], pool)
            histogram = self.total([each.histogram for each in answers], pool)
            return Sums(histogram, total([each.totals for each in answers]), sum(each.wrong for each in answers), more)
        if not isinstance(first, np.ndarray) or first.base is not self.cells:
            return total(answers)
        low = (address(first) - address(self.cells)) // self.cells.itemsize
        cells, out = self.cells[: self.n_parts, low : low + first.size], self.buffers.take((first.size,))
        n_tasks = pool.count_threads(pool.n_jobs, cells.size * PER_CELL)
        ends = [first.size * k // n_tasks for k in range(n_tasks + 1)]
        pool.map(lambda part: kernels.add_up(cells, out, *part), pairwise(ends))
        return out.reshape(first.shape)


def cells_of(histogram: Any) -> Histogram:
    """The numbers of a histogram, packed or not."""
    return histogram.cells if isinstance(histogram, Packed) else histogram


def address(array: NDArray[np.int64]) -> int:
    found: int = array.__array_interface__["data"][0]
    return found


class Engine(Grower):
    """Labelled examples in shards, wherever those live: every method is one exchange with all of them."""

    n_labels: int
    unit: float  # of the grid: what a channel of 1 is for one count
    count: int  # how many rows count, repetitions included
    full: int  # what sums on the grid may come to
    n_counted: int  # how many rows the weights stand for, whatever their scale
    given: float  # the sum of the sample weights as given

    def measure(self, n_labels: int, weights: Weights) -> None:
        """Set the sizes of the grid from all weights."""
        self.n_labels = n_labels
        self.unit = weights.unit
        self.count = int(weights.times.sum())
        self.full = self.count << weights.bits
        self.n_counted = weights.n_counted
        self.given = weights.given

    def start(self, booster: Booster, group: NDArray[np.int64] | None = None) -> None:
        """Forget all voters. group[label]: labels that are one for the booster."""
        self.call("start", booster, group)

    def counts(self) -> NDArray[np.int64]:
        """[label, column, bin] of the sample weights."""
        return np.asarray(self.call("count"))

    def replay(self, booster: Booster, changes: list[Change]) -> float:
        """Apply changes without summing; return the lowest margin after them."""
        return float(self.call("replay", booster, changes))

    def advance(self, booster: Booster, change: Change | None, floors: Floors = NO_FLOORS, search: bool = True) -> Sums:
        """Apply a change, then sum the booster's channels. Without `search` the histograms stay empty."""
        formulas_of(booster, floors)  # before the shards of this process need them
        sums: Sums = self.call("advance", booster, change, floors, search)
        return sums

    def boost_stumps(self, columns: ColumnLayout, rule: tuple[Any, ...], sums: Sums, most: int) -> Any:
        """At most so many rounds of discrete AdaBoost with stumps at once: what `Shard.boost_stumps` returns, or None.

        None: there was no such round, and nothing changed.
        """
        return None

    def leaf_rows(self, voter: Any) -> NDArray[np.int64]:
        """[leaf, label]: how many rows are in the leaves of a voter."""
        return np.asarray(self.call("leaf_rows", voter.splits, voter.leaves))

    def both_left(self, split: Split) -> NDArray[np.int64]:
        """[channel, label, column, bin] of the rows on the left of a split at the root, of both channels."""
        return np.asarray(self.call("both_left", split))

    def store(self, change: Change) -> None:
        """Store the outputs of a new voter, for `edges` and `along`."""
        self.call("store", change)

    def edges(self) -> NDArray[np.int64]:
        """[voter]: of those stored, the sums of weight times award."""
        return np.asarray(self.call("edges"))

    def gram(self, number: int) -> NDArray[np.int64]:
        """[voter]: of those stored, the sums of sample weight times award times the award of voter `number`."""
        return np.asarray(self.call("gram", number))

    def along(self, booster: Booster, number: int, size: float, floors: Floors) -> NDArray[np.int64]:
        """Return the sum of the weights, and of weight times award, of a stored voter after one more step."""
        return np.asarray(self.call("along", booster, number, size, floors))
