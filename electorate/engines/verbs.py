"""The verbs of an engine, and how the answers of its shards become one.

A verb is a method of a shard. An engine calls it on all of its shards, one task per shard, and merges what they return.
"""

import threading
from collections.abc import Callable
from functools import partial, reduce
from itertools import pairwise
from operator import add
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from electorate import kernels
from electorate.algorithms.protocol import NO_FLOORS, Booster, Floors
from electorate.data.weights import Weights
from electorate.messages import Change, Level, Split, Sums
from electorate.threads import ThreadPool

Merge = Callable[[list[Any]], Any]
CELLS_PER_TASK = 2**16  # added up by one thread: about 20 microseconds


def total(answers: list[Any]) -> Any:
    return reduce(add, answers)


def nothing(answers: list[Any]) -> None:
    return None


VERBS: dict[str, Merge] = {
    "pack": nothing,
    "start": nothing,
    "count": total,
    "replay": min,
    "advance": total,
    "split": total,
    "look": total,
    "count_rows": total,
    "leaf_rows": total,
    "both_left": total,
    "store": nothing,
    "edges": total,
    "gram": total,
    "along": total,
}


class LocalShards:
    """Shards in the memory of this process. Sums are integers: the number of shards and threads does not matter."""

    verbs: ClassVar[dict[str, Merge]] = VERBS
    pool: ThreadPool
    shards: list[Any]
    stack: "Stack | None" = None

    def share_answers(self) -> None:
        """Give the shards places for their histograms, to be added up by all threads."""
        if len(self.shards) > 1:
            self.stack = Stack(len(self.shards))
            for number, shard in enumerate(self.shards):
                shard.answer = partial(self.stack.part, number)

    def call(self, verb: str, *arguments: Any) -> Any:
        """One exchange: the merged answers of all shards."""
        answers = self.pool.map(lambda shard: getattr(shard, verb)(*arguments), self.shards)
        merge = self.verbs[verb]
        if self.stack is not None and merge is total:
            return self.stack.total(answers, self.pool)
        return merge(answers)


class Stack:
    """The large answers of all shards to one call, one below another: a thread adds up a range of all of them."""

    def __init__(self, n_shards: int) -> None:
        self.cells = np.empty((n_shards, 0), dtype=np.int64)
        self.lock = threading.Lock()

    def part(self, number: int, shape: tuple[int, ...]) -> NDArray[np.int64]:
        """The place for the answer of one shard; all answers to one call have the same shape."""
        size = int(np.prod(shape))
        with self.lock:
            if self.cells.shape[1] < size:
                self.cells = np.empty((len(self.cells), size), dtype=np.int64)
        return self.cells[number, :size].reshape(shape)

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
        cells, out = self.cells[:, low : low + first.size], np.empty(first.size, dtype=np.int64)
        n_tasks = max(1, min(pool.n_jobs, cells.size // CELLS_PER_TASK))
        ends = [first.size * k // n_tasks for k in range(n_tasks + 1)]
        pool.map(lambda part: kernels.add_up(cells, out, *part), pairwise(ends))
        return out.reshape(first.shape)


def address(array: NDArray[np.int64]) -> int:
    found: int = array.__array_interface__["data"][0]
    return found


class Engine:
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

    def call(self, verb: str, *arguments: Any) -> Any:
        raise NotImplementedError

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
        sums: Sums = self.call("advance", booster, change, floors, search)
        return sums

    def split(self, splits: list[Split]) -> NDArray[np.int64]:
        """Partition the rows of some nodes; histograms [split, label, column, bin] of the left children."""
        return np.asarray(self.call("split", Level.of(splits)))

    def look(self, splits: list[Split], of_rows: bool = False) -> NDArray[np.int64]:
        """Histograms [split, label, column, bin] of the left sides, of weights or of row counts; no rows move."""
        return np.asarray(self.call("look", splits, of_rows))

    def count_rows(self, nodes: list[int]) -> NDArray[np.int64]:
        """[node, column, bin]: how many rows, in nodes of the growing tree."""
        return np.asarray(self.call("count_rows", nodes))

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
        """Of a stored voter after one more step: the sum of the weights, and of weight times award."""
        return np.asarray(self.call("along", booster, number, size, floors))
