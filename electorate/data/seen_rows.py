"""Marks of the rows of a fit: a hash of 64 bits for each, so that none of them counts as held out later.

A mark is a hash of the contents of a row and of its label or target. Hashes are no part of the model: digests leave
them out.
"""

from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.sparse import issparse

from electorate import kernels
from electorate.cuda.device import Device, hash_there
from electorate.data.split import hash_rows, hash_text
from electorate.data.table import float_parts
from electorate.exact import AnyArray, Floats, Hashes, Ints
from electorate.modelfile import Contents, require
from electorate.threads import ThreadPool

SEED = 1934
MOST_CELLS = 2**27  # of a sparse matrix for wrapped estimators: rows of larger ones get no marks
MOST_MARKS = 2**17  # in a file, 1 MiB: the smallest ones, a sample that both sides can draw


@dataclass(frozen=True)
class Seen:
    """marks: of the rows of a fit; None if they are not available (a cluster). weighted: whether weights differed.

    rows, repeated: how many rows there were, and how many of them equal another one. limit: the largest mark that is
    stored, if not all are.
    """

    marks: Hashes | None = field(repr=False)
    weighted: bool
    rows: int = 0
    repeated: int = 0
    limit: int = 2**64 - 1

    @cached_property
    def distinct(self) -> tuple[Hashes, int]:
        """The distinct marks, sorted, and how many rows equal another row."""
        assert self.marks is not None
        marks, counts = np.unique(self.marks, return_counts=True)
        return marks, self.repeated or int(counts[counts > 1].sum())

    @property
    def share(self) -> float:
        """The share of all marks that is stored."""
        return (self.limit + 1) / 2**64

    def and_also(self, other: "Seen | None") -> "Seen":
        """Return the rows of both, without marks if either has none. other: of earlier rounds, or of a calibration."""
        if self.marks is None or other is None or other.marks is None:
            return replace(self, marks=None)
        new = np.ones(len(other.marks), dtype=np.bool_)
        new[self.where(other.marks)] = False
        marks = np.concatenate([self.marks, other.marks[new]])
        limit = min(self.limit, other.limit)
        marks, rows = marks[marks <= np.uint64(limit)], self.rows + int(new.sum())
        return Seen(marks, self.weighted | other.weighted, rows, 0, limit)

    def after(self, model: Any) -> "Seen":
        """Return these rows and those of a model that is trained further, if there is one."""
        return self if model is None else self.and_also(getattr(model, "seen_", None))

    def where(self, marks: Hashes) -> Ints:
        """Return the places of the marks that are among those of the fit."""
        stored, _ = self.distinct
        if not len(stored):
            return np.empty(0, dtype=np.int64)
        place = np.minimum(np.searchsorted(stored, marks), len(stored) - 1)
        return np.flatnonzero(stored[place] == marks)


def seen_of(
    parts: list[tuple[Any, AnyArray, Floats | None]], pool: ThreadPool | None = None, device: Device | None = None
) -> Seen:
    """Return the marks of tables (or arrays) with labels or targets and weights or None; weight 0 is left out."""
    found, weighted = [], False
    for table, y, weight in parts:
        if issparse(table) and table.shape[0] * table.shape[1] > MOST_CELLS:
            return Seen(None, any(w is not None for _, _, w in parts))
        marks = marks_of(table, y, pool, device)
        if weight is not None:
            marks, weight = marks[weight > 0], weight[weight > 0]
            weighted |= bool(len(weight)) and bool(np.any(weight != weight[0]))
        found.append(marks)
    together = np.concatenate(found) if len(found) > 1 else found[0]
    return Seen(together, weighted, len(together))


def marks_of(table: Any, y: AnyArray, pool: ThreadPool | None = None, device: Device | None = None) -> Hashes:
    """Return a mark per row; numbers are hashed on the device, if there is one."""
    if device is not None and (parts := float_parts(table)) is not None:
        marks = np.concatenate([hash_there(part, hash_text(str(SEED)), device) for part in parts])
    elif pool is not None and pool.n_jobs > 1 and isinstance(getattr(table, "array", None), np.ndarray):
        ends = [table.n_rows * k // pool.n_jobs for k in range(pool.n_jobs + 1)]
        marks = np.concatenate(pool.map(lambda ends: hash_rows(table.array[slice(*ends)], SEED), pairwise(ends)))
    else:
        marks = hash_rows(table, SEED)
    return with_labels(marks, y)


def with_labels(marks: Hashes, y: AnyArray) -> Hashes:
    """Return hashes of rows after adding their labels or targets, in place."""
    if y.dtype.kind in "biuf":
        numbers = np.ascontiguousarray(y, dtype=np.float64)
    else:
        labels, place = np.unique(y.astype(str), return_inverse=True)
        numbers = np.array([float(hash_text(label) >> 11) for label in labels.tolist()])[place]
    if len(marks) != len(numbers):
        raise ValueError(f"there are {len(marks)} rows and {len(numbers)} labels")
    kernels.fold(numbers, marks)
    return marks


class SeenSample:
    """The marks of rows that come a few at a time: the smallest ones, as many as a file holds.

    For fewer rows than that, they are all there, as in memory.
    """

    def __init__(self) -> None:
        self.limit = np.uint64(2**64 - 1)
        self.parts: list[Hashes] = []
        self.pending = self.rows = 0
        self.weighted = False

    def add(self, marks: Hashes) -> None:
        """Add the marks of rows that took part."""
        self.rows += len(marks)
        mine = marks[marks <= self.limit]
        self.parts.append(mine)
        self.pending += len(mine)
        if self.pending > 8 * MOST_MARKS:
            self._thin()

    def _thin(self) -> None:
        """Keep the smallest distinct marks, with all rows that have them."""
        marks = np.sort(np.concatenate(self.parts)) if self.parts else np.empty(0, dtype=np.uint64)
        first = np.flatnonzero(np.append(True, marks[1:] != marks[:-1])) if len(marks) else np.empty(0, dtype=np.int64)
        if len(first) > MOST_MARKS:
            self.limit = marks[first[MOST_MARKS - 1]]
            marks = marks[: first[MOST_MARKS]]
        self.parts, self.pending = [marks], len(marks)

    def result(self) -> Seen:
        """Return the rows; where not all marks are there, how many rows are repeated is estimated from those."""
        self._thin()
        limit = int(self.limit)
        found = Seen(self.parts[0], self.weighted, self.rows, 0, limit)
        if found.share == 1:
            return found
        return replace(found, repeated=min(self.rows, round(found.distinct[1] / found.share)))


def arrays_of(model: Any) -> dict[str, AnyArray]:
    """Return the arrays of a model file."""
    seen: Seen | None = getattr(model, "seen_", None)
    if seen is None:
        return {}
    marks, repeated = (None, 0) if seen.marks is None else seen.distinct
    stored = {} if marks is None else {"seen.marks": marks[:MOST_MARKS]}
    n_stored = -1 if marks is None else len(marks[:MOST_MARKS])
    return {"seen.facts": np.array([seen.weighted, seen.rows, repeated, n_stored], dtype=np.int64), **stored}


def read_seen(contents: Contents, model: Any) -> None:
    """Set `seen_` of a model from a file that is not trusted; older files have no marks."""
    if "seen.facts" not in contents.arrays and "seen.marks" not in contents.arrays:
        return
    weighted, rows, repeated, stored = require(contents, "seen.facts", "<i8", (4,)).tolist()
    if weighted not in (0, 1) or not -1 <= stored <= min(MOST_MARKS, rows) or not 0 <= repeated <= rows:
        raise ValueError("the counts of the rows that took part are out of range")
    marks, limit = None, 2**64 - 1
    if stored >= 0:
        marks = np.array(require(contents, "seen.marks", "<u8", (stored,)))
        if np.any(marks[1:] <= marks[:-1]):
            raise ValueError("the marks of the rows that took part do not rise")
        limit = int(marks[-1]) if len(marks) == MOST_MARKS else limit
    model.seen_ = Seen(marks, bool(weighted), rows, repeated, limit)
