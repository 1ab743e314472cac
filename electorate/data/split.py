"""Draws validation rows by their content and weight, not by their position.

The draw is the same for any order of the rows, for any partitions, and for a row of weight k and k such rows. Rows of
weight 0 change nothing. Equal rows are drawn one by one.
"""

import hashlib
from dataclasses import dataclass
from typing import Any

import numpy as np

from electorate import kernels
from electorate.data.all_reduce import Gather, Max, Min, Reduce, ReduceSteps, SortedUnion, run_locally
from electorate.data.bins import CELLS_PER_CALL, block_rows
from electorate.data.table import Categories, Table, plain_array, read_table
from electorate.data.weights import Weights
from electorate.exact import Hashes, Ints

NO_LEVELS = Categories(np.empty(0, dtype=object))
BUCKET_BITS = 12  # of a hash
MOST_BUCKETS = 2**16  # of all labels together: what is counted in one exchange
DIGIT_BITS = 4


def hash_rows(X: Any, seed: int) -> Hashes:
    """Return a hash of the contents of every row of a table or an array that is the only part."""
    return run_locally(hash_rows_steps(X, seed))


def deal_rows(X: Any, strata: Ints, n_parts: int, seed: int) -> Ints:
    """Return the part of every row, by contents: the distinct rows of a stratum are dealt in the order of their hashes.

    Equal rows of a stratum are in the same part, whatever the order of the rows.
    """
    hashes = hash_rows(X, seed)
    kernels.fold(strata.astype(np.float64), hashes)
    _, first, distinct = np.unique(hashes, return_index=True, return_inverse=True)
    part = np.empty(len(first), dtype=np.int64)
    part[np.argsort(strata[first], kind="stable")] = np.arange(len(first)) % n_parts
    return np.asarray(part[distinct])


def hash_rows_steps(X: Any, seed: int) -> ReduceSteps[Hashes]:
    """Return a hash of the contents of every row. A column that holds texts in any part is hashed as texts in all."""
    if isinstance(X, np.ndarray) and (X.ndim != 2 or X.dtype.kind not in "biuf"):
        return np.array([hash_text(f"{seed} {row.tolist()!r}") for row in X], dtype=np.uint64)
    if isinstance(X, HashedRows):
        return X.hashes.copy()
    table = X if isinstance(X, Table) else read_table(X)
    levels = text_levels(table)
    (anywhere,) = yield Reduce((SortedUnion(np.array(list(levels), dtype=np.int64), "X"),))
    return hash_table(table, seed, {j: levels.get(j, NO_LEVELS) for j in anywhere.values.tolist()})


class HashedRows(Table):
    """Rows of which only the hashes are in memory, with the seed of the fit."""

    def __init__(self, hashes: Hashes, names: list[str], n_columns: int) -> None:
        self.hashes, self.names = hashes, names
        self.n_rows, self.n_columns = len(hashes), n_columns


def text_levels(table: Table) -> dict[int, Categories]:
    """Return the levels of the columns that hold texts."""
    found = {j: Categories(table.levels(j)) for j in table.category_columns()}
    return {j: levels for j, levels in found.items() if levels.is_text}


def hash_table(table: Table, seed: int, texts: dict[int, Categories]) -> Hashes:
    """Return a hash of the contents of every row. texts: the columns that are hashed as texts, with their levels."""
    numeric = [j for j in range(table.n_columns) if j not in texts]
    hashes = np.full(table.n_rows, hash_text(str(seed)), dtype=np.uint64)
    array = plain_array(table)
    rows = block_rows(table.n_columns) if array is None else max(1, CELLS_PER_CALL // max(1, table.n_columns))
    for low in range(0, table.n_rows if numeric else 0, rows):
        part = hashes[low : low + rows]
        if array is not None:
            kernels.fold_rows(array[low : low + rows], part)
            continue
        for column in table.numbers(low, low + len(part), numeric):
            kernels.fold(column, part)
    for j, levels in texts.items():
        number = np.array([*(hash_text(text) >> 11 for text in levels.levels.tolist()), np.nan])
        codes = table.codes(0, table.n_rows, j, levels)
        kernels.fold(number[np.where(np.isnan(codes), -1, codes).astype(np.int64)], hashes)
    return hashes


def hash_text(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode(errors="surrogatepass"), digest_size=8).digest(), "little")


@dataclass(frozen=True)
class DrawCandidates:
    """The rows to draw from. times: how many rows each stands for; 0 if it must not be drawn.

    ties: keys that decide, one after the other, among rows with the same label and hash.
    """

    hashes: Hashes
    times: Ints
    labels: Ints
    n_labels: int = 1
    ties: tuple[Hashes, ...] = ()


def candidate_steps(
    hashes: Hashes, weights: Weights, labels: Ints | None = None, n_labels: int = 1
) -> ReduceSteps[DrawCandidates]:
    """Return the rows with their weights, and keys that order equal rows of different weights.

    The first key is a hash of the weight relative to the largest one, so that neither light nor heavy rows are
    preferred. It is rounded to float32, so that rescaling all weights does not change it. The weight itself decides
    what is left.
    """
    labels = np.zeros(len(hashes), dtype=np.int64) if labels is None else labels
    shares = weights.shares
    positive = shares[weights.times > 0]
    most, least = yield Reduce((Max(float(positive.max(initial=0.0))), Min(float(positive.min(initial=np.inf)))))
    if most.value <= least.value:
        return DrawCandidates(hashes, weights.rows, labels, n_labels)
    by_weight = hashes.copy()
    kernels.fold((shares / most.value).astype(np.float32).astype(np.float64), by_weight)
    in_order = np.ascontiguousarray(shares).view(np.uint64)  # the bits of positive doubles are in their order
    return DrawCandidates(hashes, weights.rows, labels, n_labels, (by_weight, in_order))


def draw(rows: DrawCandidates, part: float) -> Ints:
    """Return how many of the rows that each candidate stands for to set aside, from data that has one part."""
    return run_locally(draw_steps(rows, part))


def draw_steps(rows: DrawCandidates, part: float, number: int = 0) -> ReduceSteps[Ints]:
    """Return how many of the rows that each candidate stands for to set aside: of each label at least one, never all.

    Hashes fall into buckets by their first bits. Every bucket gives its share, and the fractions carry over from one
    to the next. Inside a bucket the smallest hashes are drawn, and among equal ones the smallest keys. number: of this
    part of the data.
    """
    bits = max(0, min(BUCKET_BITS, (MOST_BUCKETS // max(rows.n_labels, 1)).bit_length() - 1))
    there = np.flatnonzero(rows.times)
    bucket = (rows.labels[there] << bits) + _digits(rows.hashes[there], 0, bits)
    (counts,) = yield Reduce((_count(bucket, rows.times[there], rows.n_labels << bits),))
    wanted = _quotas(counts.reshape(rows.n_labels, -1), part)
    undecided = _Undecided(rows.times, there, bucket, counts, wanted)
    yield from undecided.compare_steps(rows.hashes, bits)
    for keys in rows.ties:
        yield from undecided.compare_steps(keys)
    if len(undecided.counts):
        yield from undecided.draw_equal_steps(number)
    return undecided.drawn


@dataclass
class _Undecided:
    """Rows in buckets that give some of their rows but not all: wanted[bucket] out of counts[bucket].

    counts and wanted are those of all parts, and the same in each; rows and their buckets are those of this part.
    """

    times: Ints
    rows: Ints
    bucket: Ints
    counts: Ints
    wanted: Ints

    def __post_init__(self) -> None:
        self.drawn = np.zeros(len(self.times), dtype=np.int64)
        self._settle()

    def _settle(self) -> None:
        """Decide the buckets that give all of their rows, or none, and renumber the others."""
        whole = (self.wanted == self.counts) | (self.wanted == 0)
        decided = whole[self.bucket]
        taken = self.rows[decided & (self.wanted[self.bucket] > 0)]
        self.drawn[taken] += self.times[taken]
        renumbered = np.cumsum(~whole) - 1
        self.rows, self.bucket = self.rows[~decided], renumbered[self.bucket[~decided]]
        self.counts, self.wanted = self.counts[~whole], self.wanted[~whole]

    def compare_steps(self, keys: Hashes, used: int = 0) -> ReduceSteps[None]:
        """Draw the rows with the smallest keys, digit by digit. used: how many bits the buckets have in common."""
        while used < 64 and len(self.counts):
            width = min(DIGIT_BITS, 64 - used)
            digit = _digits(keys[self.rows], used, width)
            here = _count((self.bucket << width) + digit, self.times[self.rows], len(self.counts) << width)
            (by_digit,) = yield Reduce((here,))
            by_digit = by_digit.reshape(len(self.counts), -1)
            passed = np.cumsum(by_digit, axis=1)
            last = np.argmax(passed >= self.wanted[:, None], axis=1)  # the digit at which the draw ends
            at = np.arange(len(self.counts))
            under = self.rows[digit < last[self.bucket]]
            self.drawn[under] += self.times[under]
            on = digit == last[self.bucket]
            self.rows, self.bucket = self.rows[on], self.bucket[on]
            self.counts = by_digit[at, last]
            self.wanted = self.wanted - (passed[at, last] - self.counts)
            self._settle()
            used += width

    def draw_equal_steps(self, number: int) -> ReduceSteps[None]:
        """Draw from rows of equal contents and weight: those of the first parts, and in a part the first ones."""
        here = _count(self.bucket, self.times[self.rows], len(self.wanted))
        mine = np.flatnonzero(here)
        (gathered,) = yield Reduce((Gather({number: (mine, here[mine])}),))
        left = self.wanted.copy()
        for other, (places, counts) in gathered.by_part.items():
            if other < number:
                left[places] -= counts
        order = np.argsort(self.bucket, kind="stable")
        rows, bucket = self.rows[order], self.bucket[order]
        times = self.times[rows]
        passed = np.cumsum(times)
        starts = np.searchsorted(bucket, bucket)
        before = passed - times - np.where(starts > 0, passed[starts - 1], 0)
        self.drawn[rows] += np.clip(left[bucket] - before, 0, times)


def _digits(hashes: Hashes, used: int, width: int) -> Ints:
    """The next bits of every hash."""
    if width == 0:
        return np.zeros(len(hashes), dtype=np.int64)
    return ((hashes << np.uint64(used)) >> np.uint64(64 - width)).astype(np.int64)


def _count(places: Ints, times: Ints, n_places: int) -> Ints:
    return np.bincount(places, weights=times, minlength=n_places).astype(np.int64)


def _quotas(counts: Ints, part: float) -> Ints:
    """How many rows each bucket gives; counts[label, bucket]."""
    out = np.zeros_like(counts)
    for label, row in enumerate(counts):
        total = int(row.sum())
        wanted = min(int(np.ceil(part * total)), total - 1)
        passed = np.cumsum(row).astype(object)  # products may need more than 64 bits
        if wanted > 0:
            out[label] = np.diff(-(-passed * wanted // total), prepend=0)
    return out.ravel()
