"""What a fitted model remembers of its rows: a mark of 64 bits for each that took part, so none counts as held out.

A mark is a hash of what a row holds and of its label or target. Marks are no part of the model: digests leave them out.
"""

from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from electorate import kernels
from electorate.data.split import _hash, hash_rows
from electorate.modelfile import Contents, require
from electorate.threads import ThreadPool

SEED = 1934
MOST_CELLS = 2**27  # of a sparse matrix for voters of others: more are not looked at one by one
KEPT = 2**17  # marks that a file holds at most, 1 MiB: the smallest ones, a sample that both sides can draw
Marks = NDArray[np.uint64]


@dataclass(frozen=True)
class Seen:
    """marks: of the rows that took part, None where they are elsewhere (a cluster); weighted: were rows unequal?

    rows, repeated: how many took part, and how many of these equal another one. limit: the largest mark that is known
    of, where not all are kept.
    """

    marks: Marks | None = field(repr=False)
    weighted: bool
    rows: int = 0
    repeated: int = 0
    limit: int = 2**64 - 1

    @cached_property
    def distinct(self) -> tuple[Marks, int]:
        """The distinct marks, sorted, and how many rows equal another row."""
        assert self.marks is not None
        marks, counts = np.unique(self.marks, return_counts=True)
        return marks, self.repeated or int(counts[counts > 1].sum())

    @property
    def share(self) -> float:
        """Of the marks that are known."""
        return (self.limit + 1) / 2**64

    def and_also(self, other: "Seen | None") -> "Seen":
        """Rows of both: of the rounds before, or to calibrate by. What is not known of one is not known of both."""
        if self.marks is None or other is None or other.marks is None:
            return replace(self, marks=None)
        new = np.ones(len(other.marks), dtype=np.bool_)
        new[self.where(other.marks)] = False
        marks = np.concatenate([self.marks, other.marks[new]])
        limit = min(self.limit, other.limit)
        return Seen(
            marks[marks <= np.uint64(limit)], self.weighted | other.weighted, self.rows + int(new.sum()), 0, limit
        )

    def after(self, model: Any) -> "Seen":
        """With the rows of the rounds there were before, if there was a model before."""
        return self if model is None else self.and_also(getattr(model, "seen_", None))

    def where(self, marks: Marks) -> NDArray[np.int64]:
        """The rows with a mark that is known."""
        known, _ = self.distinct
        if not len(known):
            return np.empty(0, dtype=np.int64)
        place = np.minimum(np.searchsorted(known, marks), len(known) - 1)
        return np.flatnonzero(known[place] == marks)

    # ------------------------------------------------------------ files

    def arrays(self) -> dict[str, NDArray[Any]]:
        if self.marks is None:
            return {"seen.facts": np.array([int(self.weighted), self.rows, 0, -1], dtype=np.int64)}
        marks, repeated = self.distinct
        facts = np.array([int(self.weighted), self.rows, repeated, len(marks[:KEPT])], dtype=np.int64)
        return {"seen.facts": facts, "seen.marks": marks[:KEPT]}


def seen_of(parts: list[tuple[Any, NDArray[Any], NDArray[np.float64] | None]], pool: ThreadPool | None = None) -> Seen:
    """Of rows as fits read them: table (or array), labels or targets, weights or None. Weight 0: no part was taken."""
    kept, weighted = [], False
    for table, y, weight in parts:
        if issparse(table) and table.shape[0] * table.shape[1] > MOST_CELLS:
            return Seen(None, any(w is not None for _, _, w in parts))
        marks = marks_of(table, y, pool)
        if weight is not None:
            marks, weight = marks[weight > 0], weight[weight > 0]
            weighted |= bool(len(weight)) and bool(np.any(weight != weight[0]))
        kept.append(marks)
    together = np.concatenate(kept) if len(kept) > 1 else kept[0]
    return Seen(together, weighted, len(together))


def marks_of(table: Any, y: NDArray[Any], pool: ThreadPool | None = None) -> Marks:
    """A mark per row."""
    if pool is not None and pool.n_jobs > 1 and isinstance(getattr(table, "array", None), np.ndarray):
        ends = [table.n_rows * k // pool.n_jobs for k in range(pool.n_jobs + 1)]
        marks = np.concatenate(pool.map(lambda ends: hash_rows(table.array[slice(*ends)], SEED), pairwise(ends)))
    else:
        marks = hash_rows(table, SEED)
    kernels.fold(_as_numbers(y), marks)
    return marks


def _as_numbers(y: NDArray[Any]) -> NDArray[np.float64]:
    """Labels as numbers; of texts, a hash."""
    if y.dtype.kind in "biuf":
        return np.ascontiguousarray(y, dtype=np.float64)
    labels, place = np.unique(y.astype(str), return_inverse=True)
    return np.array([float(_hash(label) >> 11) for label in labels.tolist()])[place]


def arrays_of(model: Any) -> dict[str, NDArray[Any]]:
    """For a model file."""
    seen = getattr(model, "seen_", None)
    return {} if seen is None else seen.arrays()


def read_seen(contents: Contents, model: Any) -> None:
    """Back again, from a file that is not trusted; older files hold nothing of it."""
    if "seen.facts" not in contents.arrays and "seen.marks" not in contents.arrays:
        return
    weighted, rows, repeated, known = require(contents, "seen.facts", "<i8", (4,)).tolist()
    if weighted not in (0, 1) or not -1 <= known <= min(KEPT, rows) or not 0 <= repeated <= rows:
        raise ValueError("what is said of the rows that took part is out of range")
    marks = None
    limit = 2**64 - 1
    if known >= 0:
        marks = np.array(require(contents, "seen.marks", "<u8", (known,)))
        if np.any(marks[1:] <= marks[:-1]):
            raise ValueError("the marks of the rows that took part do not rise")
        limit = int(marks[-1]) if len(marks) == KEPT else limit
    model.seen_ = Seen(marks, bool(weighted), rows, repeated, limit)
