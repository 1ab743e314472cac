"""The engine of a GPU: one shard, whose rows, state and weights stay on the device. Sums come back as integers.

They are the integers that the shards of this process return, so the driver and the model are the same.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from electorate.algorithms.protocol import NO_FLOORS, Booster, Floors
from electorate.cuda.device import Device
from electorate.data.bins import Bins
from electorate.data.weights import Weights
from electorate.engines.device_histograms import HistogramPool, SlotHistogram, StoredSums
from electorate.engines.device_rows import DeviceRows, DeviceVotes, place_codes
from electorate.engines.device_shard import DeviceShard
from electorate.engines.shard import NO_GAINS, NOTHING, Examples, formulas_of
from electorate.engines.target_shard import NO_NUMBERS, Array, Targets, TargetShard, sorted_targets
from electorate.engines.targets import LocalTargets
from electorate.engines.validation import ValidationShard
from electorate.engines.verbs import Engine, LocalShards
from electorate.kernels.layouts import Formulas
from electorate.messages import Change, Split, SplitArrays, Sums
from electorate.threads import ThreadPool

NO_CHANNELS = np.empty((0, 5))


class LabelShard(DeviceShard):
    """A shard of labelled examples on a device; state[row, example] and grids[channel, example] live there."""

    votes: Any
    pool: HistogramPool | None = None

    def _hold(self, codes: DeviceRows) -> int:
        self._rows_there: Any = None
        return super()._hold(codes)

    def start(self, booster: Booster, group: NDArray[np.int64] | None = None) -> None:
        xp, n_rows = self.device.xp, self.n_rows()
        self.group_labels(np.arange(len(self.starts) - 1) if group is None else group)
        self.votes = DeviceVotes(xp) if booster.keeps_votes else None
        self.state = xp.zeros((booster.n_states, n_rows))
        if isinstance(self.grids, np.ndarray):
            self.grids = xp.empty((1, n_rows), dtype=np.int64)

    def group_labels(self, group: NDArray[np.int64]) -> None:
        super().group_labels(group)
        self._rows_there = None

    @property
    def rows_there(self) -> Any:
        """Labels and sample weights, on the device."""
        if self._rows_there is None:
            xp, rows = self.device.xp, self.rows
            names = ("starts", "group", "real", "times", "counts")
            self._rows_there = rows._replace(**{name: xp.asarray(getattr(rows, name)) for name in names})
        return self._rows_there

    @property
    def summed(self) -> list[Any]:
        return [self.grids[0]]

    # ------------------------------------------------------------ a round

    def replay(self, booster: Booster, changes: list[Change]) -> float:
        for change in changes:
            self.apply(booster, change)
        margin = self.state[booster.margin_row]
        return float(margin.min()) if len(margin) else np.inf

    def advance(self, booster: Booster, change: Change | None, floors: Floors = NO_FLOORS, search: bool = True) -> Sums:
        xp, channels, formulas = self.device.xp, booster.channels, formulas_of(booster, floors)
        if formulas is None:
            raise TypeError(f"device='cuda' cannot compute the weights of {type(booster).__name__}: use device='cpu'")
        if len(self.grids) < len(channels):
            self.grids = xp.empty((len(channels), self.n_rows()), dtype=np.int64)
        if change is not None and self._is_stored(change):
            self.apply(booster, change)
            change = None
        n_searched = (2 if len(channels) > 1 and channels[1].searched else 1) if search else 0
        found = xp.zeros(1 + len(channels) * self.n_groups, dtype=np.int64)
        self._run(change, formulas, self.state, self.grids, found)
        self.growth = None
        here = np.array(self.device.download(found))  # before the histograms: they are summed while the driver works
        wrong, totals = int(here[0]), here[1:].reshape(len(channels), -1)
        if n_searched == 1 and self.bundles is None and self.packing is None and not self.table.codes.wide:
            root = self.sum_root()
            return StoredSums(root, totals[0], wrong, Sums(NOTHING, totals[1], 0) if len(channels) > 1 else None)
        every = NOTHING[None]
        if search:
            grids = [*self.grids[:n_searched]]
            shape = (n_searched, self.n_groups, self.n_columns, self.width)
            every = self.to_driver(self.sum_nodes_of([self.table.root], grids).reshape(shape))
        more = Sums(every[1] if n_searched == 2 else NOTHING, totals[1], 0) if len(channels) > 1 else None
        return Sums(every[0], totals[0], wrong, more)

    def _run(self, change: Change | None, formulas: Formulas, state: Any, grids: Any, found: Any) -> None:
        """Add the gains of a voter to the state, put the channels on the grids, and add them up."""
        splits, leaves = ((), [0]) if change is None else (change.splits, change.leaves)
        gains = NO_GAINS if change is None else self.gains_by_label(change.gains)
        tree = self.tree_here(splits, leaves)
        column, on_left, children, gains, table = self.device.upload(*tree[:3], gains, formulas.table)
        there = tree._replace(column=column, on_left=on_left, children=children)
        formulas = formulas._replace(table=table)
        self.device.kernels.advance(self.table.codes, self.rows_there, there, gains, formulas, state, grids, found)

    def apply(self, booster: Booster, change: Change) -> None:
        if self._is_stored(change):
            self.store(change)
            assert change.stored is not None
            self.state[0] += self.votes.gains(change.stored.number, change.stored.size)
            return
        self._add(change, change.gains, self.state)

    def _is_stored(self, change: Change) -> bool:
        return self.votes is not None and change.stored is not None

    def _add(self, change: Change, gains: NDArray[np.float64], state: Any) -> None:
        only = Change(change.splits, change.leaves, gains)
        nothing = self.device.xp.zeros(1, dtype=np.int64)
        self._run(only, Formulas(NO_CHANNELS, 0, 0), state, self.grids, nothing)
        self.growth = None

    # ------------------------------------------------------------ stored voters

    def store(self, change: Change) -> None:
        assert change.stored is not None
        if change.stored.number == len(self.votes):
            award = self.device.xp.zeros((1, self.n_rows()))
            self._add(change, change.stored.awards[None], award)
            self.votes.add(award[0], change.stored.signs)

    def edges(self) -> NDArray[np.int64]:
        return np.array([self.votes.edge(number, self.grid, self._times) for number in range(len(self.votes))])

    def gram(self, number: int) -> NDArray[np.int64]:
        xp, n_rows = self.device.xp, self.n_rows()
        units = xp.rint(xp.ones(n_rows) * self._real * self.scale).astype(np.int64) * self._times
        signed = xp.where(self.votes.award(number) > 0, units, -units)
        return np.array([self.votes.edge(other, signed, self._times) for other in range(len(self.votes))])

    def along(self, booster: Booster, number: int, size: float, floors: Floors) -> NDArray[np.int64]:
        xp, formulas = self.device.xp, formulas_of(booster, floors)
        assert formulas is not None
        first = formulas._replace(table=formulas.table[:1])
        state, grid = self.state + self.votes.gains(number, size), xp.empty((1, self.n_rows()), dtype=np.int64)
        found = xp.zeros(1 + self.n_groups, dtype=np.int64)
        self._run(None, first, state, grid, found)
        return np.array([int(found[1:].sum()), self.votes.edge(number, grid[0], self._times)])

    @property
    def _times(self) -> Any:
        """How often each row counts: an array, or 1."""
        return self.rows_there.times if len(self.times) else np.int64(1)

    @property
    def _real(self) -> Any:
        return self.rows_there.real if self.real is not None else 1.0

    # ------------------------------------------------------------ histograms that stay on the device

    def sum_root(self) -> SlotHistogram:
        """The histogram of all rows, in a new pool."""
        shape = (self.n_groups, self.n_columns, self.width)
        if self.pool is None or self.pool.shape != shape:
            self.pool = HistogramPool(self.device, shape)
        self.pool.n_used = 0
        (slot,) = self.pool.take(1)
        self.table.add_sums(self.root_tasks(), self.grids[0], self.pool.cells[slot], True)
        return SlotHistogram(self.pool, slot)

    def split_stored(
        self, tree: SplitArrays, wholes: Sequence[SlotHistogram]
    ) -> tuple[list[tuple[SlotHistogram, SlotHistogram]], NDArray[np.int64]]:
        """Part the rows of nodes; the histograms of both children, and [split, side]: how many rows."""
        assert self.pool is not None
        rows = self.partition(tree)
        left_is_less = rows[:, 0] <= rows[:, 1]
        nodes = self._nodes(np.where(left_is_less, tree.left, tree.right).tolist())
        low, *_ = slots = self.pool.take(2 * len(nodes))
        less, rest = np.array(slots[: len(nodes)]), np.array(slots[len(nodes) :])
        tasks = self.table.tasks(nodes, self.group, self.n_groups)
        tasks[:, 2] += low * self.n_groups
        pairs = np.stack([[whole.slot for whole in wholes], less, rest], axis=1)
        tasks_there, pairs_there = self.device.upload(tasks, pairs)
        cells = self.pool.cells
        self.table.add_sums(tasks_there, self.grids[0], cells.reshape(-1, self.n_columns, self.width))
        self.device.kernels.subtract(cells, pairs_there)
        lefts, rights = np.where(left_is_less, less, rest), np.where(left_is_less, rest, less)
        pairs_of = zip(lefts.tolist(), rights.tolist(), strict=True)
        return [(SlotHistogram(self.pool, left), SlotHistogram(self.pool, right)) for left, right in pairs_of], rows


class CudaEngine(LocalShards, Engine):
    """All labelled examples on one device."""

    def __init__(self, examples: Examples, bins: Bins, pool: ThreadPool, device: Device) -> None:
        self.measure(examples.n_labels, examples.weights)
        self.pool = pool
        self.shards = [build_label_shard(examples, bins, device)]
        self.share_answers()

    def call(self, verb: str, *arguments: Any) -> Any:
        """One exchange with the shard; histograms that it stores need not be known here, unless they are sent away."""
        if self.shards[0].packing is not None:
            return super().call(verb, *arguments)
        return self.verbs[verb]([getattr(self.shards[0], verb)(*arguments)])

    def both_sides(self, splits: Sequence[Split], wholes: list[Any]) -> tuple[list[Any], NDArray[np.int64]]:
        if all(isinstance(whole, SlotHistogram) for whole in wholes):
            sides: tuple[list[Any], NDArray[np.int64]] = self.shards[0].split_stored(SplitArrays.of(splits), wholes)
            return sides
        return super().both_sides(splits, wholes)


def sort_there(examples: Examples, device: Device) -> tuple[Any, NDArray[np.int64], Weights]:
    """Sort all rows by label, as `sort_by_label`; the order is on the device, and rows of a label are in any order."""
    xp, weights = device.xp, examples.weights
    labels = xp.asarray(examples.labels.astype(np.uint16))
    if weights.real is None and len(labels) and weights.times.min() == weights.times.max() > 0:
        order = xp.argsort(labels)
    else:
        used = xp.flatnonzero(xp.asarray(weights.times))
        labels = labels[used]
        order = used[xp.argsort(labels)]
        here = np.array(device.download(order))
        real = None if weights.real is None else weights.real[here]
        weights = replace(weights, times=weights.times[here], real=real)
    counts = np.array(device.download(xp.bincount(labels, minlength=examples.n_labels)))
    return order, np.concatenate([[0], np.cumsum(counts)]).astype(np.int64), weights


def build_label_shard(examples: Examples, bins: Bins, device: Device) -> LabelShard:
    """The shard of all rows; rows of weight 0 are left out."""
    order, starts, weights = sort_there(examples, device)
    codes, bundles = place_codes(examples, bins, order, device)
    return LabelShard(DeviceRows(device, codes, starts), starts, weights, bins.width, bundles)


# ---------------------------------------------------------------- targets


class DeviceTargetShard(DeviceShard, TargetShard):
    """Rows with targets whose bins are on a device."""

    _grids_there: list[Any] | None = None

    @property
    def summed(self) -> list[Any]:
        if self._grids_there is None:
            grids = [self.grid] if self.summed_targets is None else [self.grid, self._second_grid()]
            self._grids_there = [self.device.xp.asarray(grid) for grid in grids]
        return self._grids_there

    def weigh(self, floor: float, kappa: int, search: bool) -> Sums:
        self._grids_there = None
        return super().weigh(floor, kappa, search)

    def _put(self, floor: float, kappa: Array = NO_NUMBERS) -> None:
        self._grids_there = None
        super()._put(floor, kappa)

    def _root(self, grids: list[NDArray[np.int64]]) -> Any:
        self._grids_there = [self.device.xp.asarray(grid) for grid in grids]
        return self.to_driver(self.sum_nodes_of([self.table.root], self.summed))[0]

    def share_spans(self, nodes: list[int]) -> Array:
        rows = (self.device.download(self.table.rows_of([node])) for node in self._nodes(nodes))
        return np.stack([self._share_span(mine) for mine in rows])


class DeviceValidationShard(DeviceTargetShard, ValidationShard):
    """Validation rows whose bins are on a device."""


class CudaTargets(LocalTargets):
    """All examples with targets on one device."""

    def __init__(self, targets: Targets, bins: Bins, pool: ThreadPool, device: Device, is_validation: bool) -> None:
        self.n_rows = len(targets.y)
        self.pool = pool
        self.n_kappas = 1 if targets.kappas is None else len(targets.kappas)
        kind = DeviceValidationShard if is_validation else DeviceTargetShard
        self.shards = [build_device_targets(targets, bins, device, kind)]
        self.share_answers()


def build_device_targets(
    targets: Targets, bins: Bins, device: Device, kind: type[DeviceTargetShard]
) -> DeviceTargetShard:
    """The shard of all rows, sorted by target."""
    order, starts, weights = sorted_targets(targets, 0, len(targets.y))
    codes, _ = place_codes(targets.examples, bins, order, device, False)
    shard = kind(DeviceRows(device, codes, starts), starts, weights, bins.width, targets.y[order])
    shard.order = order
    if targets.kappas is not None:
        shard.kappas = np.ascontiguousarray(targets.kappas[:, order])
    return shard
