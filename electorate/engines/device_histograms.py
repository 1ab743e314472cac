"""The histograms of a growing tree on a device: they are summed, subtracted and searched there."""

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from electorate.cuda.device import Device
from electorate.cuda.layouts import MOST_LABELS, ColumnArrays
from electorate.messages import BestThresholds, StoredHistogram, Sums

AT_FIRST = 16  # histograms that the pool has place for
Layout = tuple[NDArray[Any], ...]  # n_bins, has_missing, ordered


class HistogramPool:
    """Histograms by slot; all of them are given up when the next round begins."""

    def __init__(self, device: Device, shape: tuple[int, int, int]) -> None:
        self.device = device
        self.shape = shape  # label, column, bin
        self.cells = device.xp.empty((AT_FIRST, *shape), dtype=np.int64)
        self.nbytes = 8 * shape[0] * shape[1] * shape[2]  # of one
        self.n_used = 0
        self.layout: tuple[NDArray[Any], ColumnArrays] | None = None

    def take(self, n: int) -> list[int]:
        """New slots, set to 0."""
        low, high = self.n_used, self.n_used + n
        if high > len(self.cells):
            more = self.device.xp.empty((2 * high, *self.shape), dtype=np.int64)
            more[:low] = self.cells[:low]
            self.cells = more
        self.cells[low:high] = 0
        self.n_used = high
        return list(range(low, high))

    def search(self, slots: list[int], criterion: int, layout: Layout) -> BestThresholds:
        """The best threshold of every slot."""
        device = self.device
        if self.layout is None or self.layout[0] is not layout[0]:
            n_bins, has_missing, ordered = layout
            self.layout = layout[0], ColumnArrays(*device.upload(n_bins.astype(np.int32), has_missing, ordered))
        found = device.xp.empty((len(slots), len(layout[0]), 2 + self.shape[0]), dtype=np.int64)
        device.kernels.search(self.cells, *device.upload(np.array(slots)), self.layout[1], criterion, found)
        every = device.download(found)
        column = every[:, :, 0].argmax(axis=1)  # the first of equals
        best = np.array(every[np.arange(len(slots)), column])
        scores = best[:, 0]
        if criterion:
            scores = np.where(scores < 0, scores ^ 0x7FFFFFFFFFFFFFFF, scores).view(np.float64)
        return BestThresholds(scores, column, best[:, 1] // 2, 1 - best[:, 1] % 2, best[:, 2:])


class SlotHistogram(StoredHistogram):
    """One slot of a pool."""

    def __init__(self, pool: HistogramPool, slot: int) -> None:
        self.pool = pool
        self.slot = slot
        self.shape = pool.shape
        self.nbytes = pool.nbytes

    def here(self) -> NDArray[np.int64]:
        return np.array(self.pool.device.download(self.pool.cells[self.slot]))

    def best_thresholds(
        self, histograms: Sequence[StoredHistogram], criterion: int, layout: Layout
    ) -> BestThresholds | None:
        slots = [each.slot for each in histograms if isinstance(each, SlotHistogram)]
        return self.pool.search(slots, criterion, layout) if self.shape[0] <= MOST_LABELS else None


class StoredSums(Sums):
    """Sums whose histogram stays on the device; families that need its numbers get them by one transfer."""

    def __init__(self, stored: SlotHistogram, totals: NDArray[np.int64], wrong: int, more: Sums | None = None) -> None:
        self.stored = stored
        self.totals = totals
        self.wrong = wrong
        self.more = more

    @property
    def root(self) -> Any:
        return self.stored

    @cached_property
    def histogram(self) -> NDArray[np.int64]:  # type: ignore[override]
        return self.stored.here()
