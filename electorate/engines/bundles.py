"""Columns of few bins, several to a byte: a joint code of them is summed at the price of one column.

The sums of a single column are then sums over the joint codes: exact, since they are integers. Only the shard that made
the joint codes knows of them.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from electorate import kernels
from electorate.data.bins import Bins

CODES = 256
PER_GROUP = 4  # columns to a word


@dataclass(frozen=True)
class Bundles:
    """By column of the table: the stored column it is in, and its digit there: code // stride % size."""

    place: NDArray[np.int64]
    stride: NDArray[np.int64]
    missing: NDArray[np.int64]  # the digit of a missing value
    used: NDArray[np.int64]  # how many codes the stored column may have
    bin_of: NDArray[np.uint8]  # [column, code]
    n_stored: int

    @classmethod
    def of(cls, bins: Bins) -> "Bundles | None":
        """None where nothing is gained. Every column has a digit for missing values."""
        if bins.code_type is not np.uint8:
            return None
        sizes = np.maximum(bins.n_bins, 1) + 1
        together = _together(sizes)
        if groups_of(len(together)) >= groups_of(len(sizes)):
            return None
        place, stride = np.empty(len(sizes), dtype=np.int64), np.ones(len(sizes), dtype=np.int64)
        used = np.full(len(sizes), CODES)
        missing = np.full(len(sizes), bins.missing)
        bin_of = np.tile(np.arange(CODES, dtype=np.uint8), (len(sizes), 1))
        for number, columns in enumerate(together):
            place[columns] = number
            if len(columns) == 1:
                continue
            stride[columns] = np.cumprod([1, *sizes[columns[:-1]]])
            used[columns] = np.prod(sizes[columns])
            missing[columns] = sizes[columns] - 1
            digit = np.arange(CODES)[None, :] // stride[columns, None] % sizes[columns, None]
            bin_of[columns] = np.where(digit == missing[columns, None], bins.missing, digit)
        return cls(place, stride, missing, used, bin_of, len(together))

    def join(self, codes: NDArray[np.uint8], dest: NDArray[np.int64], out: NDArray[np.uint8]) -> None:
        """Codes of a block of rows, into the stored columns at the rows `dest`."""
        kernels.join(codes, self.missing, self.place, self.stride, dest, out)

    def spread(self, sums: NDArray[np.int64]) -> NDArray[np.int64]:
        """[..., stored column, code] to [..., column, bin]."""
        columns = PER_GROUP * groups_of(len(self.place))
        out = np.zeros((*sums.shape[:-2], columns, CODES), dtype=np.int64)
        flat = sums.reshape(-1, *sums.shape[-2:])
        for stored, single in zip(flat, out.reshape(-1, columns, CODES), strict=True):
            kernels.spread(stored, self.place, self.used, self.bin_of, single)
        return out


def _together(sizes: NDArray[np.int64]) -> list[list[int]]:
    """The columns of every stored one: the smallest first, as many as a byte can tell apart."""
    together: list[list[int]] = []
    product = CODES
    for column in np.argsort(sizes, kind="stable").tolist():
        size = int(sizes[column])
        if product * size > CODES:
            together.append([])
            product = 1
        together[-1].append(column)
        product *= size
    return together


def groups_of(columns: int) -> int:
    return -(-columns // PER_GROUP)
