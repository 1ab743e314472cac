"""Rows set aside for validation: drawn by what they hold, not by where they stand.

The draw is then the same for any order of the rows and wherever they live, a row of weight k is drawn as k rows would
be, and rows of weight 0 change nothing. Equal rows are drawn one by one.
"""

import hashlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from electorate import kernels
from electorate.data.agree import Ask, Each, Steps, Union, alone
from electorate.data.bins import block_rows
from electorate.data.table import Categories, Table, read_table

NO_LEVELS = Categories(np.empty(0, dtype=object))
BUCKET_BITS = 12  # of a hash
MOST_BUCKETS = 2**16  # of all labels together: what is counted in one exchange
DIGIT_BITS = 4


def hash_rows(X: Any, seed: int) -> NDArray[np.uint64]:
    """A hash of what every row of a table, or of an array, holds."""
    return alone(hashing(X, seed))


def hashing(X: Any, seed: int) -> Steps[NDArray[np.uint64]]:
    """The same, of one part of the rows: a column that holds texts somewhere is hashed as texts everywhere."""
    if isinstance(X, np.ndarray) and (X.ndim != 2 or X.dtype.kind not in "biuf"):
        return np.array([_hash(f"{seed} {row.tolist()!r}") for row in X], dtype=np.uint64)
    table: Table = X if hasattr(X, "n_rows") else read_table(X)
    found = {j: Categories(table.levels(j)) for j in table.category_columns()}
    here = np.array([j for j, levels in found.items() if levels.is_text], dtype=np.int64)
    (anywhere,) = yield Ask((Union(here, "X"),))
    texts = {j: found.get(j, NO_LEVELS) for j in anywhere.values.tolist()}
    numeric = [j for j in range(table.n_columns) if j not in texts]
    hashes = np.full(table.n_rows, _hash(str(seed)), dtype=np.uint64)
    rows = block_rows(table.n_columns)
    for low in range(0, table.n_rows, rows):
        part = hashes[low : low + rows]
        if numeric:
            for column in table.numbers(low, low + len(part), numeric):
                kernels.fold(column, part)
    for j, levels in texts.items():
        number = np.array([*(_hash(text) >> 11 for text in levels.levels.tolist()), np.nan])
        codes = table.codes(0, table.n_rows, j, levels)
        kernels.fold(number[np.where(np.isnan(codes), -1, codes).astype(np.int64)], hashes)
    return hashes


def _hash(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode(errors="surrogatepass"), digest_size=8).digest(), "little")


def draw(hashes: NDArray[np.uint64], times: NDArray[np.int64], part: float) -> NDArray[np.int64]:
    """Of rows of one label that stand for `times` rows each, how many to set aside."""
    return alone(drawing(hashes, times, np.zeros(len(times), dtype=np.int64), 1, part))


def drawing(
    hashes: NDArray[np.uint64],
    times: NDArray[np.int64],
    labels: NDArray[np.int64],
    n_labels: int,
    part: float,
    number: int = 0,
) -> Steps[NDArray[np.int64]]:
    """Of rows that stand for `times` rows each, how many to set aside: of each label at least one, never all.

    Hashes fall into buckets by their first bits, and every bucket gives its share, the fractions carried on from one
    to the next; inside a bucket the smallest hashes go. number: of this part of the rows, among others.
    """
    bits = max(0, min(BUCKET_BITS, (MOST_BUCKETS // max(n_labels, 1)).bit_length() - 1))
    out = np.zeros(len(times), dtype=np.int64)
    rows = np.flatnonzero(times)
    bucket = (labels[rows] << bits) + _digits(hashes[rows], 0, bits)
    (counts,) = yield Ask((_count(bucket, times[rows], n_labels << bits),))
    wanted = _shares(counts.reshape(n_labels, -1), part)
    used = bits
    while True:
        whole = (wanted == counts) | (wanted == 0)  # all of them, or none
        taken = whole[bucket]
        out[rows[taken]] += np.where(wanted[bucket[taken]] > 0, times[rows[taken]], 0)
        rows, bucket = rows[~taken], bucket[~taken]
        counts = np.where(whole, 0, counts)
        if used == 64 or np.all(whole):
            break
        width = min(DIGIT_BITS, 64 - used)
        digit = _digits(hashes[rows], used, width)
        (by_digit,) = yield Ask((_count((bucket << width) + digit, times[rows], len(counts) << width),))
        passed = np.cumsum(by_digit.reshape(len(counts), -1), axis=1)
        last = np.argmax(passed >= wanted[:, None], axis=1)  # the digit among whose rows the draw ends
        at = np.arange(len(counts))
        before = passed[at, last] - by_digit.reshape(len(counts), -1)[at, last]
        under, on = digit < last[bucket], digit == last[bucket]
        out[rows[under]] += times[rows[under]]
        rows, bucket = rows[on], bucket[on]
        wanted = np.where(whole, 0, wanted - before)
        counts = np.where(whole, 0, passed[at, last] - before)
        used += width
    if np.any(counts):
        yield from _draw_equal(out, rows, bucket, times, wanted, number)
    return out


def _draw_equal(
    out: NDArray[np.int64],
    rows: NDArray[np.int64],
    bucket: NDArray[np.int64],
    times: NDArray[np.int64],
    wanted: NDArray[np.int64],
    number: int,
) -> Steps[None]:
    """Of equal rows any will do: those of the first parts, and there the first ones."""
    here = _count(bucket, times[rows], len(wanted))
    mine = np.flatnonzero(here)
    (said,) = yield Ask((Each({number: (mine, here[mine])}),))
    left = wanted.copy()
    for other, (places, counts) in said.said.items():
        if other < number:
            left[places] -= counts
    order = np.argsort(bucket, kind="stable")
    rows, bucket = rows[order], bucket[order]
    passed = np.cumsum(times[rows])
    starts = np.searchsorted(bucket, bucket)
    before = passed - times[rows] - np.where(starts > 0, passed[starts - 1], 0)
    out[rows] += np.clip(left[bucket] - before, 0, times[rows])


def _digits(hashes: NDArray[np.uint64], used: int, width: int) -> NDArray[np.int64]:
    """The next bits of every hash."""
    if width == 0:
        return np.zeros(len(hashes), dtype=np.int64)
    return ((hashes << np.uint64(used)) >> np.uint64(64 - width)).astype(np.int64)


def _count(places: NDArray[np.int64], times: NDArray[np.int64], n_places: int) -> NDArray[np.int64]:
    return np.bincount(places, weights=times, minlength=n_places).astype(np.int64)


def _shares(counts: NDArray[np.int64], part: float) -> NDArray[np.int64]:
    """How many rows each bucket[label, bucket] gives."""
    out = np.zeros_like(counts)
    for label, row in enumerate(counts):
        total = int(row.sum())
        wanted = min(int(np.ceil(part * total)), total - 1)
        passed = np.cumsum(row).astype(object)  # products may need more than 64 bits
        if wanted > 0:
            out[label] = np.diff(-(-passed * wanted // total), prepend=0)
    return out.ravel()
