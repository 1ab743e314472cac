"""The verbs of an engine, and how the answers of its shards become one.

A verb is a method of a shard. An engine calls it on all of its shards, one task per shard, and merges what they return.
"""

from collections.abc import Callable, Sequence
from functools import reduce
from operator import add
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from electorate.algorithms.protocol import NO_FLOORS, Booster, Floors
from electorate.data.weights import Weights
from electorate.kernels.layouts import NodeRows
from electorate.messages import Change, Split, Sums
from electorate.threads import ThreadPool

Merge = Callable[[list[Any]], Any]


def total(answers: list[Any]) -> Any:
    return reduce(add, answers)


def nothing(answers: list[Any]) -> None:
    return None


def joined_rows(answers: list[NodeRows]) -> NodeRows:
    return NodeRows(*(np.concatenate(parts) for parts in zip(*answers, strict=True)))


VERBS: dict[str, Merge] = {
    "pack": nothing,
    "start": nothing,
    "count": total,
    "replay": min,
    "advance": total,
    "split": total,
    "look": total,
    "count_rows": total,
    "node_rows": total,
    "follow": nothing,
    "collect": joined_rows,
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

    def call(self, verb: str, *arguments: Any) -> Any:
        """One exchange: the merged answers of all shards."""
        return self.verbs[verb](self.pool.map(lambda shard: getattr(shard, verb)(*arguments), self.shards))

    def map(self, task: Callable[[Any], Any], items: list[Any]) -> list[Any]:
        """Run tasks of the driver on the threads of the shards."""
        return self.pool.map(task, items)


class Grower:
    """What growing a tree needs of an engine, whatever its labels."""

    def call(self, verb: str, *arguments: Any) -> Any:
        raise NotImplementedError

    def map(self, task: Callable[[Any], Any], items: list[Any]) -> list[Any]:
        """Run tasks of the driver."""
        return [task(item) for item in items]

    def split(self, splits: list[Split]) -> NDArray[np.int64]:
        """Partition the rows of some nodes; histograms [split, label, column, bin] of the left children."""
        return np.asarray(self.call("split", splits))

    def look(self, splits: Sequence[Split], of_rows: bool = False) -> NDArray[np.int64]:
        """Histograms [split, label, column, bin] of the left sides, of weights or of row counts; no rows move."""
        return np.asarray(self.call("look", splits, of_rows))

    def count_rows(self, nodes: list[int]) -> NDArray[np.int64]:
        """[node, column, bin]: how many rows, in nodes of the growing tree."""
        return np.asarray(self.call("count_rows", nodes))

    def node_rows(self, nodes: list[int]) -> NDArray[np.int64]:
        """[node]: how many rows, each once."""
        return np.asarray(self.call("node_rows", nodes))

    def follow(self, splits: list[Split]) -> None:
        """Partition the rows of some nodes, parents first, without sums."""
        self.call("follow", splits)

    def collect(self, nodes: list[int], count_rows: bool) -> NodeRows:
        """The rows of some nodes, for the driver; count_rows: how many each of them stands for, too."""
        rows: NodeRows = self.call("collect", nodes, count_rows)
        return rows


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
        sums: Sums = self.call("advance", booster, change, floors, search)
        return sums

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
