"""The engine of a GPU: one shard, whose rows, state and weights stay on the device. Sums come back as integers.

They are the integers that the shards of this process return, so the driver and the model are the same.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from electorate.algorithms.protocol import NO_FLOORS, Booster, Floors
from electorate.cuda.device import Device
from electorate.data.bins import Bins
from electorate.engines.device_rows import DeviceRows
from electorate.engines.device_shard import DeviceShard
from electorate.engines.device_table import place_codes
from electorate.engines.device_votes import DeviceVotes
from electorate.engines.formulas import formulas_of
from electorate.engines.shard import NO_GAINS, NOTHING, Examples, sort_by_label
from electorate.engines.verbs import Engine, LocalShards
from electorate.kernels.layouts import Formulas
from electorate.messages import Change, Sums
from electorate.threads import ThreadPool

NO_CHANNELS = np.empty((0, 5))


class LabelShard(DeviceShard):
    """A shard of labelled examples on a device; state[row, example] and grids[channel, example] live there."""

    votes: Any

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
        shape = (n_searched, self.n_groups, self.n_columns, self.width)
        n_cells, n_totals = int(np.prod(shape)), len(channels) * self.n_groups
        found = xp.zeros(n_cells + 1 + n_totals, dtype=np.int64)
        self._run(change, formulas, self.state, self.grids, found[n_cells:])
        roots = found[:n_cells].reshape(shape)
        for grid, root in zip(self.grids, roots, strict=False):
            self.table.add_sums(self.root_tasks(), grid, root)
        self.growth = None
        here = self.device.download(found)
        wrong, totals = int(here[n_cells]), here[n_cells + 1 :].reshape(len(channels), -1).copy()
        every = self._answered(here[:n_cells].reshape(shape)) if search else NOTHING[None]
        more = Sums(every[1] if n_searched == 2 else NOTHING, totals[1], 0) if len(channels) > 1 else None
        return Sums(every[0], totals[0], wrong, more)

    def _run(self, change: Change | None, formulas: Formulas, state: Any, grids: Any, found: Any) -> None:
        """Add the gains of a voter to the state, put the channels on the grids, and add them up."""
        splits, leaves = ((), [0]) if change is None else (change.splits, change.leaves)
        gains = NO_GAINS if change is None else self._gains_by_label(change.gains)
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

    def _answered(self, histograms: NDArray[np.int64]) -> Any:
        """Histograms that are in this process, by column of the table, where the driver may keep them."""
        if self.bundles is not None or self.packing is not None:
            return self.by_column(histograms)
        out, _ = self.answer(histograms.shape)
        out[...] = histograms
        return out


class CudaEngine(LocalShards, Engine):
    """All labelled examples on one device."""

    def __init__(self, examples: Examples, bins: Bins, pool: ThreadPool, device: Device) -> None:
        self.measure(examples.n_labels, examples.weights)
        self.pool = pool
        self.shards = [build_label_shard(examples, bins, device)]
        self.share_answers()


def build_label_shard(examples: Examples, bins: Bins, device: Device) -> LabelShard:
    """The shard of all rows; rows of weight 0 are left out."""
    order, starts, weights = sort_by_label(examples, 0, examples.table.n_rows)
    codes, bundles = place_codes(examples, bins, order, device)
    return LabelShard(DeviceRows(device, codes, starts), starts, weights, bins.width, bundles)
