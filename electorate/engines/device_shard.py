"""What shards on a device share: growing trees, and histograms on their way to the driver."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from electorate.engines.device_rows import DeviceNode, DeviceRows, tree_of
from electorate.engines.shard import NO_SHARES, ONCE, Shard
from electorate.kernels.layouts import NodeRows
from electorate.messages import ROOT, Split, SplitArrays


@dataclass
class DeviceGrowth:
    """The tree that is being grown: its nodes by number."""

    nodes: dict[int, DeviceNode]
    split_nodes: set[int] = field(default_factory=set)


class DeviceShard(Shard):
    """A shard whose codes are on a device. A subclass has `summed`, the grids there of which nodes have histograms."""

    growth: Any
    codes: Any  # unused: the codes are not in this process
    packed: Any

    def _hold(self, codes: DeviceRows) -> int:
        self.table = codes
        self.device = codes.device
        self.n_columns = codes.codes.n_columns
        self._all_tasks: tuple[NDArray[np.int64], Any] | None = None
        self._counted: Any = None
        return codes.codes.n_rows

    @property
    def summed(self) -> list[Any]:
        raise NotImplementedError

    # ------------------------------------------------------------ histograms

    def root_tasks(self) -> Any:
        """The ranges of all rows, on the device."""
        if self._all_tasks is None or self._all_tasks[0] is not self.group:
            tasks = self.table.tasks([self.table.root], self.group, self.n_groups)
            self._all_tasks = self.group, self.device.upload(tasks)[0]
        return self._all_tasks[1]

    def sum_nodes_of(self, nodes: Sequence[DeviceNode], grids: Sequence[Any]) -> Any:
        """[node, grid x label, stored column, code] on the device."""
        shape = (len(grids), len(nodes), self.n_groups, self.n_columns, self.width)
        sums = self.device.xp.zeros(shape, dtype=np.int64)
        if nodes:
            (tasks,) = self.device.upload(self.table.tasks(nodes, self.group, self.n_groups))
            for grid, found in zip(grids, sums, strict=True):
                self.table.add_sums(tasks, grid, found.reshape(-1, self.n_columns, self.width))
        return sums[0] if len(grids) == 1 else sums.transpose(1, 0, 2, 3, 4).reshape(len(nodes), -1, *shape[3:])

    def to_driver(self, sums: Any) -> Any:
        """Histograms of the device in this process, by column of the table."""
        found = self.device.download(sums)
        if self.bundles is not None or self.packing is not None:
            return self.by_column(found)
        out, _ = self.answer(found.shape)
        out[...] = found
        return out

    def histogram(self, grid: Any) -> NDArray[np.int64]:
        """[label, stored column, code]."""
        sums = self.device.xp.zeros((self.n_groups, self.n_columns, self.width), dtype=np.int64)
        self.table.add_sums(self.root_tasks(), self.device.xp.asarray(grid), sums, True)
        return np.array(self.device.download(sums))

    def count(self) -> Any:
        counts = self.counts if len(self.counts) else np.ones(self.n_rows(), dtype=np.int64)
        return self.by_column(self.histogram(counts))

    @property
    def row_counts(self) -> Any:
        """How many rows each row stands for, on the device."""
        if self._counted is None:
            self._counted = self.device.xp.asarray(self.weights.rows)
        return self._counted

    # ------------------------------------------------------------ growing a tree

    def growing(self) -> Any:
        if self.growth is None:
            self.growth = DeviceGrowth({ROOT: self.table.root})
        return self.growth

    def _nodes(self, numbers: Sequence[int]) -> list[DeviceNode]:
        growth = self.growing()
        return [growth.nodes[number] for number in numbers]

    def partition(self, tree: SplitArrays) -> NDArray[np.int64]:
        growth: Any = self._growth_for(tree.numbers)
        column, on_left = self._stored_columns(tree)
        rows, left_over = np.empty((len(tree), 2), dtype=np.int64), list(range(len(tree)))
        while left_over:  # a split may be below another one
            now = [m for m in left_over if tree.numbers[m] in growth.nodes]
            left_over = [m for m in left_over if m not in now]
            nodes = [growth.nodes[tree.numbers[m]] for m in now]
            every, rows[now] = self.table.part(nodes, column[now], on_left[now])
            for m, (left, right) in zip(now, every, strict=True):
                growth.nodes[int(tree.left[m])], growth.nodes[int(tree.right[m])] = left, right
        growth.split_nodes.update(tree.numbers)
        return rows

    def sum_nodes(self, numbers: NDArray[np.int64]) -> Any:
        return self.to_driver(self.sum_nodes_of(self._nodes(numbers.tolist()), self.summed))

    def look(self, splits: Sequence[Split], of_rows: bool = False) -> Any:
        growth: Any = self._growth_for([split.node for split in splits])
        grids = [self.row_counts] if of_rows else self.summed
        found = [self.sum_nodes_of([self._left_of_node(growth.nodes[split.node], split)], grids) for split in splits]
        return self.to_driver(self.device.xp.concatenate(found))

    def _left_of_node(self, node: DeviceNode, split: Split) -> DeviceNode:
        """The left side of a candidate split. It takes the place of what was looked at before in the same node."""
        column, on_left = self._stored_columns(SplitArrays.of([split]))
        ((left, _),), _ = self.table.part([node], column, on_left)
        return left

    def both_left(self, split: Split) -> Any:
        self.growth = None
        left = self._left_of_node(self.table.root, split)
        sums = self.sum_nodes_of([left], [*self.grids[:2]])
        return self.to_driver(sums.reshape(2, self.n_groups, self.n_columns, self.width))

    def count_rows(self, nodes: list[int]) -> Any:
        sums = self.sum_nodes_of(self._nodes(nodes), [self.row_counts])
        return self.to_driver(sums.sum(axis=1))

    def _collect(self, nodes: list[int], count_rows: bool) -> tuple[Any, NodeRows]:
        self._growth_for(nodes)
        mine = self._nodes(nodes)
        rows = self.table.rows_of(mine)
        counts = np.stack([node.size for node in mine])
        place = np.repeat(np.arange(len(mine)), counts.sum(axis=1)).astype(np.int32)
        label = np.repeat(np.tile(self.group, len(mine)), counts.ravel()).astype(np.int32)
        codes = self.table.codes_of(rows)
        if self.bundles is not None:
            codes = self.bundles.part(codes.view(np.uint8)).view(np.uint32)
        weight = np.array(self.device.download(self.summed[0][rows]))
        here = np.array(self.device.download(rows), dtype=np.uint32)
        count = self.weights.rows[here] if count_rows else ONCE
        return here, NodeRows(place, codes, label, weight, ONCE, NO_SHARES, count)

    # ------------------------------------------------------------ leaves

    def tree_here(self, splits: Sequence[Split], leaves: list[int]) -> Any:
        """The splits as kernels walk them, in this process."""
        tree = SplitArrays.of(splits, self.width)
        return tree_of(tree, leaves, *self._stored_columns(tree))

    def leaves_there(self, splits: Sequence[Split], leaves: list[int]) -> Any:
        """The leaf of every row, on the device."""
        tree = self.tree_here(splits, leaves)
        column, on_left, children = self.device.upload(*tree[:3])
        return self.table.find_leaves(tree._replace(column=column, on_left=on_left, children=children))

    def _find_leaves(self, splits: Sequence[Split], leaves: list[int]) -> NDArray[np.int32]:
        return np.array(self.device.download(self.leaves_there(splits, leaves)))

    def leaf_rows(self, splits: Sequence[Split], leaves: list[int]) -> NDArray[np.int64]:
        xp, leaf = self.device.xp, self.leaves_there(splits, leaves)
        rows = np.zeros((len(leaves), self.n_groups), dtype=np.int64)
        for low, high, label in self.spans:
            if low < high:
                rows[:, label] += self.device.download(xp.bincount(leaf[low:high], minlength=len(leaves)))
        return rows
