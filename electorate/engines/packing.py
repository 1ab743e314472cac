"""Packed histograms, to be sent: only the cells that columns have.

A histogram [..., column, bin] has 256 bins of every column; what is sent is a vector of those in use.
"""

from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from electorate import kernels
from electorate.data.bins import Bins


@dataclass(frozen=True)
class Packed:
    """A histogram [..., column, bin], only the bins that columns have."""

    cells: NDArray[np.int64]
    columns: int

    def __getitem__(self, number: int) -> "Packed":
        """One of several."""
        return Packed(self.cells[number], self.columns)

    def __add__(self, other: "Packed") -> "Packed":
        """Not in place: a worker in the process of the client still needs its own."""
        return Packed(self.cells + other.cells, self.columns)


class Packing:
    """Which cells of a histogram are sent: the bins of each column, and its missing bin."""

    def __init__(self, bins: Bins) -> None:
        self.width = bins.width
        self.n_columns = len(bins.n_bins)
        used = np.arange(bins.width)[None, :] < np.maximum(bins.n_bins, 1)[:, None]
        used[:, bins.missing] = True
        self.used = np.flatnonzero(used)

    @property
    def place(self) -> NDArray[np.uint32]:
        """[cell of a histogram]: its place among those that are sent."""
        is_sent = np.zeros(self.n_columns * self.width, dtype=np.bool_)
        is_sent[self.used] = True
        return (np.cumsum(is_sent) - 1).astype(np.uint32)

    def pack(self, value: Any) -> Any:
        if isinstance(value, np.ndarray):
            if value.ndim < 2 or value.shape[-1] != self.width or value.shape[-2] < self.n_columns:
                return value
            flat = value.reshape(*value.shape[:-2], -1)
            return Packed(np.take(flat, self.used, axis=-1), value.shape[-2])
        return value if isinstance(value, Packed) else self._inside(value, self.pack)

    def unpack(self, value: Any) -> Any:
        if isinstance(value, Packed):
            several = value.cells.reshape(-1, len(self.used))
            out = np.empty((len(several), value.columns * self.width), dtype=np.int64)
            kernels.unpack(several, self.used, out)
            return out.reshape(*value.cells.shape[:-1], value.columns, self.width)
        return self._inside(value, self.unpack)

    def _inside(self, value: Any, change: Callable[[Any], Any]) -> Any:
        """What travels may hold histograms; whatever else it holds stays as it is."""
        if not is_dataclass(value) or isinstance(value, type):
            return value
        parts = {f.name: getattr(value, f.name) for f in fields(value) if f.init}
        return replace(value, **{name: change(part) for name, part in parts.items()})
