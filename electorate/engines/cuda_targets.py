"""The engine of a GPU for examples whose label is a number.

The device holds the bins and sums; awards, which are functions of NumPy arrays, and the numbers of single rows stay in
this process, from where the weights on the grid go to the device once per search.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from electorate.cuda.device import Device
from electorate.data.bins import Bins
from electorate.engines.device_rows import DeviceRows
from electorate.engines.device_shard import DeviceShard
from electorate.engines.device_table import place_codes
from electorate.engines.target_shard import NO_NUMBERS, Array, Targets, TargetShard, sorted_targets
from electorate.engines.targets import LocalTargets
from electorate.engines.validation import ValidationShard
from electorate.messages import Sums
from electorate.threads import ThreadPool


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
