"""Columns of few bins, several to a byte: a joint code of them is summed at the price of one column.

Joint codes are given out as they are met, so that forty columns of which one row has only one set share a byte. The
sums of a single column are then sums over the joint codes: exact, since they are integers. Only the shard that made
the joint codes knows of them.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from electorate import kernels
from electorate.data.bins import Bins

CODES = 256
PER_GROUP = 4  # columns to a word
FEW_SEEN = 128  # joint codes that some of the rows may have, so that all of them will fit
Codes = NDArray[np.uint8]


class TooManyError(Exception):
    """Columns that were to share a byte have more joint codes than it can tell apart."""


class Bundles:
    """together: the columns of every stored one.

    By column of the table: the stored column it is in, how many codes that has, and [column, code] of its bin there.
    """

    def __init__(self, bins: Bins, together: list[list[int]]) -> None:
        self.n_stored = len(together)
        self.missing = bins.missing
        self.together = together
        self.sizes = sizes_of(bins)
        self.columns = np.concatenate([np.array(columns) for columns in together])
        self.place = np.empty(len(self.sizes), dtype=np.int64)
        for number, columns in enumerate(together):
            self.place[columns] = number
            if len(columns) == 1:
                self.sizes[columns] = 0  # as it is
        self.first = np.concatenate([[0], CODES * np.cumsum(self.sizes)])
        self.steps = np.full(self.first[-1], -1, dtype=np.int16)  # [column][code so far, digit]: the code with it
        self.count = np.zeros(len(self.sizes), dtype=np.int64)  # codes given out so far

    def join(self, codes: Codes, dest: NDArray[np.int64], out: Codes) -> None:
        """Codes of a block of rows, into the stored columns, which begin as zeros, at the rows `dest`."""
        tables = (self.sizes, self.place, self.first, self.steps, self.count)
        if not kernels.join(codes, self.columns, *tables, dest, out):
            raise TooManyError

    def settle(self) -> None:
        """Every row has its joint code: what they stand for."""
        self.used = np.full(len(self.sizes), CODES)
        self.bin_of = np.tile(np.arange(CODES, dtype=np.uint8), (len(self.sizes), 1))
        for columns in self.together:
            if len(columns) == 1:
                continue
            self.used[columns] = n_codes = int(self.count[columns[-1]])
            codes = np.arange(n_codes)
            for column in reversed(columns):
                size, steps = self.sizes[column], self.steps[self.first[column] : self.first[column + 1]]
                met = np.flatnonzero(steps >= 0)
                step = np.empty(len(met), dtype=np.int64)
                step[steps[met]] = met
                digit = step[codes] % size
                self.bin_of[column, :n_codes] = np.where(digit == size - 1, self.missing, digit)
                codes = step[codes] // size

    @property
    def cells(self) -> NDArray[np.uint32]:
        """[column, code]: the cell of a histogram [column, bin]."""
        return CODES * np.arange(len(self.place), dtype=np.uint32)[:, None] + self.bin_of


def sizes_of(bins: Bins) -> NDArray[np.int64]:
    """How many codes a column may have, the missing one among them."""
    return np.asarray(np.maximum(bins.n_bins, 1) + 1)


def plans(bins: Bins, sample: Callable[[], Codes]) -> list[list[list[int]]]:
    """Which columns may share a byte: as some rows have it, and for certain; none where nothing is gained.

    sample(): codes of some rows. Columns come together smallest first, as many as a byte can tell apart.
    """
    sizes = sizes_of(bins)
    n_many = int(np.count_nonzero(2 * sizes > CODES))
    if bins.code_type is not np.uint8 or _groups_saved(n_many + 1, sizes) <= 0:
        return []
    found = [_together(sizes, _Seen(sample(), sizes)), _together(sizes, None)]
    return [together for together in found if _groups_saved(len(together), sizes) > 0]


def _groups_saved(n_stored: int, sizes: NDArray[np.int64]) -> int:
    return groups_of(len(sizes)) - groups_of(n_stored)


class _Seen:
    """The joint codes that some rows have."""

    def __init__(self, codes: Codes, sizes: NDArray[np.int64]) -> None:
        self.codes = codes
        self.sizes = sizes
        self.begin()

    def begin(self) -> None:
        self.joint = np.zeros(self.codes.shape[1], dtype=np.int64)

    def few_with(self, column: int) -> bool:
        return int(self.sizes[column]) <= FEW_SEEN and int(np.count_nonzero(self._met(column)[1])) <= FEW_SEEN

    def add(self, column: int) -> None:
        keys, met = self._met(column)
        self.joint = (np.cumsum(met) - 1)[keys]

    def _met(self, column: int) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        size = int(self.sizes[column])
        digit = np.minimum(self.codes[column // PER_GROUP, :, column % PER_GROUP], size - 1)
        keys = self.joint * size + digit
        met = np.zeros(CODES * size, dtype=np.bool_)
        met[keys] = True
        return keys, met


def _together(sizes: NDArray[np.int64], seen: _Seen | None) -> list[list[int]]:
    """The columns of every stored one; seen: what is enough where few joint codes are met."""
    together: list[list[int]] = []
    product = 1
    for column in np.argsort(sizes, kind="stable").tolist():
        product *= int(sizes[column])
        if not together or (product > CODES and not (seen is not None and seen.few_with(column))):
            together.append([])
            product = int(sizes[column])
            if seen is not None:
                seen.begin()
        together[-1].append(column)
        if seen is not None:
            seen.add(column)
    return together


def groups_of(columns: int) -> int:
    return -(-columns // PER_GROUP)
