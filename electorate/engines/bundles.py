"""Columns of few bins, several to a byte: a joint code of them is summed at the price of one column.

Joint codes are given out as they are met, so that forty columns of which one row has only one set share a byte. The
sums of a single column are then sums over the joint codes: exact, since they are integers. Every shard has joint codes
of its own.
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
    """Columns that were to share a byte have more joint codes than a byte holds."""


class Bundles:
    """bundled: the columns of every stored one.

    By column of the table: the stored column it is in, how many codes that has, and [column, code] of its bin there.
    """

    def __init__(self, bins: Bins, bundled: list[list[int]]) -> None:
        self.n_stored = len(bundled)
        self.missing = bins.missing
        self.bundled = bundled
        self.sizes = sizes_of(bins)
        self.columns = np.concatenate([np.array(columns) for columns in bundled])
        self.place = np.empty(len(self.sizes), dtype=np.int64)
        for number, columns in enumerate(bundled):
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
        """Find the bins of every joint code, once all rows have theirs."""
        self.used = np.full(len(self.sizes), CODES)
        self.bin_of = np.tile(np.arange(CODES, dtype=np.uint8), (len(self.sizes), 1))
        for columns in self.bundled:
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

    def part(self, stored: Codes) -> Codes:
        """[row, column] of the table, from [row, stored column]; a multiple of four columns."""
        out = np.zeros((len(stored), PER_GROUP * groups_of(len(self.place))), dtype=np.uint8)
        for column, place in enumerate(self.place.tolist()):
            out[:, column] = self.bin_of[column][stored[:, place]]
        return out

    @property
    def cells(self) -> NDArray[np.uint32]:
        """[column, code]: the cell of a histogram [column, bin]."""
        return CODES * np.arange(len(self.place), dtype=np.uint32)[:, None] + self.bin_of


def sizes_of(bins: Bins) -> NDArray[np.int64]:
    """How many codes a column may have, the missing one among them."""
    return np.asarray(np.maximum(bins.n_bins, 1) + 1)


def plans(bins: Bins, sample: Callable[[], Codes]) -> list[list[list[int]]]:
    """Which columns may share a byte: judged by some rows, and for certain; none where nothing is gained.

    sample(): codes of some rows.
    """
    sizes = sizes_of(bins)

    def groups_saved(n_stored: int) -> int:
        return groups_of(len(sizes)) - groups_of(n_stored)

    if bins.code_type is not np.uint8 or groups_saved(int(np.count_nonzero(2 * sizes > CODES)) + 1) <= 0:
        return []
    found = [_bundled(sizes, sample()), _bundled(sizes, None)]
    return [bundled for bundled in found if groups_saved(len(bundled)) > 0]


def _bundled(sizes: NDArray[np.int64], sample: Codes | None) -> list[list[int]]:
    """The columns of every stored one: smallest first, as many as a byte can hold. sample: where few joint codes do."""
    bundled: list[list[int]] = []
    product, joint = 1, np.zeros(0 if sample is None else sample.shape[1], dtype=np.int64)
    for column in np.argsort(sizes, kind="stable").tolist():
        size = int(sizes[column])
        product *= size
        fits = product <= CODES
        if not fits and sample is not None and size <= FEW_SEEN:
            fits = int(np.count_nonzero(_joined(joint, sample, column, size)[1])) <= FEW_SEEN
        if not bundled or not fits:
            bundled.append([])
            product = size
            joint = np.zeros_like(joint)
        bundled[-1].append(column)
        if sample is not None:
            keys, met = _joined(joint, sample, column, size)
            joint = (np.cumsum(met) - 1)[keys]
    return bundled


def _joined(
    joint: NDArray[np.int64], sample: Codes, column: int, size: int
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """The joint codes of rows with one more column, and [code]: whether a row has it."""
    digit = np.minimum(sample[column // PER_GROUP, :, column % PER_GROUP], size - 1)
    keys = joint * size + digit
    met = np.zeros(CODES * size, dtype=np.bool_)
    met[keys] = True
    return keys, met


def groups_of(columns: int) -> int:
    return -(-columns // PER_GROUP)
