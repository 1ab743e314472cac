"""The binned rows of a shard on a device, and the nodes of the tree that is being grown over them.

A node is one range of row numbers per label. The children of a node share its ranges, in the other of two buffers: the
rows that go left from the front, the others from the end. Sums are integers, so the order of rows does not matter.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from electorate.cuda.arrays import here
from electorate.cuda.device import Device
from electorate.cuda.layouts import ALL_ROWS, PANEL, ROWS_PER_PART, Codes, Orders, Tree
from electorate.data.bins import Bins, pad_edges
from electorate.data.device_bins import blocks_of
from electorate.data.table import float_parts
from electorate.engines.bundles import Bundles
from electorate.engines.shard import Examples, encode_bundled, encode_rows
from electorate.engines.vote_bits import UNITS
from electorate.exact import Ints
from electorate.messages import SplitArrays

FEWEST_ROWS = 1024  # of a task: fewer cost more in zeros than in sums
MOST_TASKS = 528  # four per processor of the largest GPU


class DeviceNode(NamedTuple):
    """Rows low[label]..low[label] + size[label] of a buffer."""

    low: Ints
    size: Ints
    buffer: int

    @property
    def n_rows(self) -> int:
        return int(self.size.sum())


class DeviceRows:
    """codes: of the rows, sorted by label; label k has the rows starts[k]..starts[k + 1]."""

    def __init__(self, device: Device, codes: Codes, starts: Ints) -> None:
        self.device = device
        self.codes = codes
        self.root = DeviceNode(starts[:-1].copy(), np.diff(starts), ALL_ROWS)
        nothing = device.xp.empty(0, dtype=np.uint32)
        self.orders = Orders(nothing, nothing)  # until a tree is grown

    # ------------------------------------------------------------ sums

    def tasks(self, nodes: Sequence[DeviceNode], group: Ints, n_groups: int) -> Ints:
        """Ranges of rows (low, high, histogram, buffer) of about equal size; histogram: node x n_groups + group."""
        low, count = (np.concatenate([node[k] for node in nodes]) for k in range(2))
        histogram = (n_groups * np.arange(len(nodes))[:, None] + group).ravel()
        buffer = np.repeat([node.buffer for node in nodes], len(group))
        size = max(FEWEST_ROWS, -(-int(count.sum()) // MOST_TASKS))
        return _cut(low, count, size, histogram, buffer)

    def add_sums(self, tasks: Any, grid: Any, sums: Any, in_own_order: bool = False) -> None:
        """sums[histogram, column, bin] += the grid, by tasks that are on the device. in_own_order: of all rows."""
        if len(tasks):
            self.device.kernels.sum_rows(self.codes, self.orders, grid, tasks, sums, in_own_order)

    # ------------------------------------------------------------ splits

    def part(
        self, nodes: Sequence[DeviceNode], column: Ints, on_left: NDArray[np.bool_]
    ) -> tuple[list[tuple[DeviceNode, DeviceNode]], Ints]:
        """The children of nodes that have no rows in common, and [node, side]: how many rows.

        Split m is of node m: on_left[m, code of column[m]].
        """
        xp, n_labels = self.device.xp, len(self.root.low)
        if not self.orders.first.size:
            self.orders = Orders(*(xp.empty(self.codes.n_rows, dtype=np.uint32) for _ in range(2)))
        low, count = (np.concatenate([node[k] for node in nodes]) for k in range(2))
        split = np.repeat(np.arange(len(nodes)), n_labels)
        buffer = np.array([node.buffer for node in nodes])[split]
        used = np.flatnonzero(count)
        lefts = np.zeros(len(count), dtype=np.int64)
        if len(used):
            segments = np.stack([low, low + count, split, buffer], axis=1)[used]
            n_blocks = -(-count[used] // ROWS_PER_PART)
            blocks, cursors = np.cumsum(n_blocks) - n_blocks, np.zeros((len(used), 2), dtype=np.uint32)
            sent = self.device.upload(blocks, segments, column.astype(np.int32), on_left, cursors)
            self.device.kernels.partition(self.codes, self.orders, *sent, int(n_blocks.sum()))
            lefts[used] = self.device.download(sent[-1])[:, 0]
        left_low, left_size = low.reshape(-1, n_labels), lefts.reshape(-1, n_labels)
        right_low, right_size = left_low + left_size, count.reshape(-1, n_labels) - left_size
        found = []
        for number, node in enumerate(nodes):
            other = 1 if node.buffer == 0 else 0
            left = DeviceNode(left_low[number], left_size[number], other)
            found.append((left, DeviceNode(right_low[number], right_size[number], other)))
        return found, np.stack([left_size.sum(axis=1), right_size.sum(axis=1)], axis=1)

    def rows_of(self, nodes: Sequence[DeviceNode]) -> Any:
        """The row numbers of some nodes, node by node and label by label, on the device."""
        xp, parts = self.device.xp, []
        for node in nodes:
            for low, count in zip(node.low.tolist(), node.size.tolist(), strict=True):
                if node.buffer == ALL_ROWS:
                    parts.append(xp.arange(low, low + count, dtype=np.uint32))
                else:
                    parts.append(self.orders[node.buffer][low : low + count])
        return xp.concatenate(parts).astype(np.int64)

    def codes_of(self, rows: Any) -> NDArray[Any]:
        """[row, word] or, of wide codes, [row, column]; rows: numbers on the device."""
        xp, codes = self.device.xp, self.codes
        if codes.wide:
            parts = [codes.data.reshape(codes.n_rows, codes.n_columns)[rows]]
        else:
            parts = [panel[rows] for panel in codes.panels()]
        return np.array(self.device.download(xp.concatenate(parts, axis=1)))

    # ------------------------------------------------------------ leaves

    def find_leaves(self, tree: Tree) -> Any:
        """The leaf of every row, on the device."""
        leaf = self.device.xp.empty(self.codes.n_rows, dtype=np.int32)
        self.device.kernels.find_leaves(self.codes, tree, leaf)
        return leaf


def _cut(low: Ints, count: Ints, size: int, *numbers: Ints) -> Ints:
    """[(low, high, *numbers of the range)]: ranges cut into parts of at most `size`."""
    n_parts = -(-count // size)
    of = np.repeat(np.arange(len(low)), n_parts)
    place = np.arange(len(of)) - np.repeat(np.cumsum(n_parts) - n_parts, n_parts)
    begin = low[of] + place * size
    end = np.minimum(begin + size, (low + count)[of])
    return np.stack([begin, end, *(number[of] for number in numbers)], axis=1).astype(np.int64)


def tree_of(tree: SplitArrays, leaves: list[int], column: Ints, on_left: NDArray[np.bool_]) -> Tree:
    """The splits of a voter as kernels walk them, in this process; column, on_left: as they are stored."""
    if len(tree) < 2:
        sides = [~leaves.index(int(child[0])) for child in (tree.left, tree.right) if len(tree)]
        few = np.array(sides, dtype=np.int32).reshape(-1, 2)
        return Tree(column.astype(np.int32), on_left, few, 0 if len(tree) else ~0)
    known, children = tree.walk(leaves, [])
    return Tree(column.astype(np.int32), on_left, children.astype(np.int32), int(known[1][0]))


def pack_codes(device: Device, codes: NDArray[Any], width: int) -> Codes:
    """[group, row, column of group] of a shard in this process, as devices store them."""
    xp, (n_groups, n_rows, per_group) = device.xp, codes.shape
    if per_group == 1:
        return Codes(xp.ascontiguousarray(xp.asarray(codes[:, :, 0]).T).ravel(), n_rows, n_groups, width)
    data = xp.empty(n_groups * n_rows, dtype=np.uint32)
    for first in range(0, n_groups, PANEL):
        words = np.ascontiguousarray(codes[first : first + PANEL]).view(np.uint32)[:, :, 0]
        data[first * n_rows : (first + len(words)) * n_rows] = xp.asarray(words).T.ravel()
    return Codes(data, n_rows, 4 * n_groups, width)


def no_codes(device: Device, n_columns: int, n_rows: int, width: int) -> Codes:
    """Bytes for this many rows, to be filled."""
    n_words = -(-n_columns // 4)
    return Codes(device.xp.empty(n_words * n_rows, dtype=np.uint32), n_rows, 4 * n_words, width)


# ---------------------------------------------------------------- votes


class DeviceVotes:
    """Awards y h of voters, as bytes where they are +-1. xp: the module of the device's arrays."""

    def __init__(self, xp: Any) -> None:
        self.xp = xp
        self.awards: list[Any] = []

    def __len__(self) -> int:
        return len(self.awards)

    def add(self, award: Any, signs: bool) -> None:
        """signs: all awards of the voter are +-1."""
        self.awards.append(award.astype(np.int8) if signs else award.copy())

    def award(self, number: int) -> Any:
        return self.awards[number]

    def gains(self, number: int, size: float) -> Any:
        """Size times award, on the grid of votes."""
        return self.xp.rint(size * self.awards[number].astype(np.float64) * UNITS) / UNITS

    def edge(self, number: int, grid: Any, times: Any) -> int:
        """The sum of grid times award. A row that counts k times is rounded once."""
        award = self.awards[number]
        if award.dtype == np.int8:
            return int((grid * award).sum())
        units = self.xp.rint(award * (grid // times)).astype(np.int64)
        return int((units * times).sum())


# ---------------------------------------------------------------- codes of a table


def place_codes(
    examples: Examples, bins: Bins, order: Any, device: Device, bundle: bool = True
) -> tuple[Codes, Bundles | None]:
    """The codes of the rows `order` on the device, and which columns share a byte. bundle: whether any may.

    order: here or on the device.
    """
    table, in_bytes = examples.table, bins.code_type is np.uint8 and not bins.categories
    parts = float_parts(table) if in_bytes else None
    if parts is not None:
        codes = encode_there(parts, bins, order, device)
        if codes is not None:
            return codes, None
    order = here(order)
    if not bundle:
        return pack_codes(device, encode_rows(examples, bins, 0, table.n_rows, order), bins.width), None
    codes_here, bundles = encode_bundled(examples, bins, 0, table.n_rows, order)
    return pack_codes(device, codes_here, bins.width), bundles


def encode_there(parts: list[Any], bins: Bins, order: Any, device: Device) -> Codes | None:
    """Bin numbers on the device; None where a number is infinite, which the caller has to name.

    parts: arrays [row, column], one below the other. order: of rows, here or on the device.
    """
    xp, n_rows = device.xp, sum(map(len, parts))
    order = xp.asarray(order)
    dest = xp.full(n_rows, -1, dtype=np.int64)
    dest[order] = xp.arange(len(order))
    codes = no_codes(device, len(bins.edges), len(order), bins.width)
    edges, depths = pad_edges(bins.edges)
    edges_there, depths_there = device.upload(edges, depths.astype(np.int32))
    for low, high, block in blocks_of(parts, device):
        places = dest[low:high]
        if bool((xp.isinf(block).any(axis=1) & (places >= 0)).any()):
            return None
        device.kernels.encode(block, edges_there, depths_there, bins.missing, places, codes)
    return codes
