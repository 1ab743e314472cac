"""Reads a scanned table: for a fit, targets, weights and hashes in a first pass, then the rows batch by batch.

Every later pass reads targets and weights again. A table that has changed, or does not return its rows in the same
order, is an error.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils.validation import validate_data

from electorate.data import inputs
from electorate.data.column_views import parts_of
from electorate.data.inputs import NO_ROWS
from electorate.data.seen_rows import SEED, with_labels
from electorate.data.split import NO_LEVELS, HashedRows, hash_table, text_levels
from electorate.data.streamed_bins import EdgePass
from electorate.data.table import Table, read_table
from electorate.exact import AnyArray, Floats, Hashes, Ints
from electorate.tables.batches import Batch, rows_at_once
from electorate.tables.scan import ScannedColumn, ScannedTable
from electorate.text import literal
from electorate.threads import ThreadPool
from electorate.training.worker_data import GivenRows

CHANGED = "the table changed while it was read, or does not return its rows in the same order each time"
ReadY = Callable[[Any, int], AnyArray]
MOST_ROWS = 2**14  # of a batch: the outputs of all voters of a median are held in memory


# ---------------------------------------------------------------- scanned rows


@dataclass(frozen=True)
class Piece:
    """Rows low..high of the table of a batch, which are the rows from `at` on of a part of the data."""

    table: Table
    part: int
    at: int
    low: int
    high: int


@dataclass(frozen=True)
class CountedPiece:
    """Rows of a batch, with their weights for bins."""

    table: Table
    whole: Ints
    times: Ints
    named: Callable[[], AbstractContextManager[None]]


class ScannedRows:
    """X, y and weights of one scan. read_y: checks labels or targets.

    parts: the vectors of successive rows, after `read_vectors`.
    """

    def __init__(self, model: Any, given: tuple[Any, Any, Any], read_y: ReadY, reset: bool) -> None:
        X, y, weight = given
        if not isinstance(X, ScannedTable):
            raise TypeError(f"X is a scanned table and X_val is {type(X).__name__}: scan it too")
        inputs.require_y(model, y)
        require_columns(X, y, weight)
        if not X.columns:
            raise ValueError(f"{X.source.name}: 0 feature(s) while a minimum of 1 is required: X has no columns")
        validate_data(model, X.like, reset=reset, skip_check_array=True)
        self.X, self.y, self.weight, self.read_y = X, y, weight, read_y
        self.like = X.empty()
        self.state = X.source.state()
        self.parts: list[GivenRows] = []
        self.starts = [0]
        self.edges: EdgePass | None = None  # of the first pass, if it read all columns

    # ------------------------------------------------------------ the first pass

    def read_with_edges(self, edges: EdgePass, pool: ThreadPool) -> tuple[AnyArray, Any, Any]:
        """Read the vectors of rows that count once each, and find the edges of the bins in the same pass."""
        found = []
        for batch in self._batches(range(self.like.n_columns), "targets and edges of bins"):
            with batch.named():
                found.append(self._vectors(batch)[0])
                table = read_table(self.X.table(batch))
            once = np.ones(table.n_rows, dtype=np.int64)
            edges.add(CountedPiece(table, once, once, batch.named), pool)
        self.edges = edges
        return joined(found) if found else self.read_y(np.empty(0), 0), None, None

    def read_vectors(self, seed: int | None) -> tuple[AnyArray, Any, Any]:
        """Return targets, weights (or None), and hashes of all rows, with a seed (or None)."""
        texts = set(self.like.category_columns())
        while True:
            found: list[tuple[Any, Any, Any]] = []
            held: set[int] = set()
            columns = range(self.like.n_columns) if seed is not None else ()
            for batch in self._batches(columns, "targets" if seed is None else "targets and hashes of rows"):
                with batch.named():
                    y, weight = self._vectors(batch)
                    hashes = None
                    if seed is not None:
                        table = read_table(self.X.table(batch))
                        levels = text_levels(table)
                        held |= set(levels)
                        hashes = hash_table(table, seed, {j: levels.get(j, NO_LEVELS) for j in sorted(texts)})
                found.append((y, weight, hashes))
            if seed is None or held == texts:
                break
            texts = held  # a column without any text is hashed as numbers
        if not found:
            return self.read_y(np.empty(0), 0), None, None
        y, weight, hashes = (joined(list(column)) for column in zip(*found, strict=True))
        if weight is not None and isinstance(self.weight.column, str) and not weight.any():
            raise ValueError(f"{self.X.source.name}: all weights in {literal(self.weight.column)!r} are 0")
        return y, weight, hashes

    def _vectors(self, batch: Batch) -> tuple[AnyArray, Floats | None]:
        n_rows = batch.rows.shape[0]
        weight = None if self.weight is None else inputs.check_weight(self.weight.values(batch), n_rows)
        return self.read_y(self.y.values(batch), n_rows), weight

    def split(self, vectors: tuple[AnyArray, Any, Any], size: int) -> None:
        """Split the vectors into parts of `size` rows."""
        y, weight, hashes = vectors
        ends = [*range(0, len(y), size), len(y)] if len(y) else [0, 0]
        for low, high in pairwise(ends):
            mine = np.broadcast_to(1.0, high - low) if weight is None else weight[low:high].copy()
            table = HashedRows(
                np.empty(0, dtype=np.uint64) if hashes is None else hashes[low:high].copy(),
                self.like.names,
                self.like.n_columns,
            )
            self.parts.append(GivenRows(table, y[low:high].copy(), mine))
        self.starts = list(accumulate((len(part.labels) for part in self.parts), initial=0))

    def nothing(self) -> GivenRows:
        """Return a part without rows."""
        table = HashedRows(np.empty(0, dtype=np.uint64), self.like.names, self.like.n_columns)
        return GivenRows(table, self.parts[0].labels[:0], np.empty(0))

    # ------------------------------------------------------------ later passes

    def pieces(self, what: str) -> Iterator[tuple[Batch, list[Piece]]]:
        """Yield the batches of all columns, and the parts that their rows belong to. what: the purpose of the pass."""
        start, end = 0, self.starts[-1]
        for batch in self._batches(range(self.like.n_columns), what):
            stop = start + batch.rows.shape[0]
            if stop > end:
                raise ValueError(f"{batch.where}: there are more than the {end} rows of the first pass: {CHANGED}")
            self._compare(batch, start)
            with batch.named():
                table = read_table(self.X.table(batch))
            places = parts_of(self.starts, start, stop)
            yield batch, [Piece(table, part, low, at, at + high - low) for part, low, high, at in places]
            start = stop
        if start < end:
            raise ValueError(f"{self.X.source.name}: there are {start} rows, {end} in the first pass: {CHANGED}")

    def forget_labels(self, part: int) -> None:
        """Drop the targets of a part, which no later pass reads."""
        given = self.parts[part]
        self.parts[part] = replace(given, labels=given.labels[:0].copy())

    def marks(self, pieces: list[Piece], texts: Sequence[int]) -> Hashes:
        """Marks of the rows of one batch that have a weight. texts: the columns that hold texts in any batch."""
        table, parts = pieces[0].table, [self.parts[piece.part] for piece in pieces]
        places = [slice(piece.at, piece.at + piece.high - piece.low) for piece in pieces]
        y = np.concatenate([part.labels[place] for part, place in zip(parts, places, strict=True)])
        levels = text_levels(table) if texts else {}
        hashes = hash_table(table, SEED, {j: levels.get(j, NO_LEVELS) for j in texts})
        marks = with_labels(hashes, y)
        if self.weight is None:
            return marks
        weight = np.concatenate([part.weight[place] for part, place in zip(parts, places, strict=True)])
        return marks[weight > 0]

    def weights_differ(self) -> bool:
        """Whether rows that have a weight have different ones."""
        if self.weight is None:
            return False
        ends = [(part.weight[part.weight > 0].min(), part.weight.max()) for part in self.parts if part.weight.any()]
        return bool(ends) and min(low for low, _ in ends) < max(high for _, high in ends)

    def _batches(self, columns: Sequence[int], what: str) -> Iterator[Batch]:
        """Some columns of X, with the target and the weights. what: is read, for the progress."""
        self._compare_files()
        X, rows, total = self.X, 0, self.starts[-1] or self.X.source.n_rows
        names = [X.columns[j] for j in columns]
        for batch in X.batches([*self.y.read, *([] if self.weight is None else self.weight.read)], names):
            yield batch
            rows += batch.rows.shape[0]
            if X.progress is not None:
                X.progress(what, rows, total, X.source.n_bytes if names else None)
        self._compare_files()

    def _compare_files(self) -> None:
        now = self.X.source.state()
        if now != self.state:
            changed = next(path for path in {**self.state, **now} if self.state.get(path) != now.get(path))
            raise ValueError(f"{changed} changed while it was read: fit again")

    def _compare(self, batch: Batch, start: int) -> None:
        """Raise ValueError where targets or weights are not those of the first pass."""
        y, weight = self._vectors(batch)
        for part, low, high, at in parts_of(self.starts, start, start + len(y)):
            given, rows = self.parts[part], slice(at, at + high - low)
            same = given.labels[low:high] == y[rows]
            if weight is not None:
                same &= given.weight[low:high] == weight[rows]
            if not np.all(same):
                row = batch.first + at + int(np.flatnonzero(~same)[0])
                raise ValueError(
                    f"{batch.where}, row {row}: the target or the weight is not that of the first pass: {CHANGED}"
                )


def require_columns(X: ScannedTable, y: Any, weight: Any) -> None:
    """Raise TypeError where y or the weights are no columns of the scan of X."""
    for word, option, column in (("y", "target", y), ("sample_weight", "weights", weight)):
        if column is not None and (not isinstance(column, ScannedColumn) or column.source is not X.source):
            raise TypeError(
                f"X is a scanned table, and {word} is no column of the same scan: use what "
                f"scan(..., {option}=...) returns"
            )


def joined(parts: list[Any]) -> Any:
    """Join the vectors of all batches into one array."""
    if parts[0] is None:
        return None
    are_texts = {part.dtype.kind in "OU" for part in parts}
    if len(are_texts) > 1:
        raise ValueError("y holds texts in one batch and numbers in another: make it one type")
    return np.concatenate(parts)


# ---------------------------------------------------------------- scanned scores


def staged_scores(model: Any, X: ScannedTable, y: Any, weight: Any) -> Iterator[float]:
    """Yield the accuracy of a classifier, R squared of a regressor, after every round."""
    require_columns(X, y, weight)
    small = replace(X, batch_rows=min(MOST_ROWS, rows_at_once(len(X.columns), X.batch_rows)))
    sums: dict[int, float] = {}  # by round: the weight of the rows that are right, or the squared error
    targets, weights = [], []
    for batch in small.batches([*y.read, *([] if weight is None else weight.read)], what="scores"):
        with batch.named():
            target = y.values(batch)
            mine = np.ones(len(target)) if weight is None else weight.values(batch).astype(np.float64)
            for number, predicted in enumerate(model.staged_predict(X.table(batch))):
                each = predicted == target if is_classifier(model) else (target - predicted) ** 2
                sums[number] = sums.get(number, 0.0) + float(np.sum(mine * each))
        targets.append(np.empty(0) if is_classifier(model) else target.astype(np.float64))
        weights.append(mine)
    if not weights:
        raise ValueError(NO_ROWS)
    every = np.concatenate(weights)
    if is_classifier(model):
        yield from (found / float(every.sum()) for found in sums.values())
        return
    numbers = np.concatenate(targets)
    spread = float(np.sum(every * (numbers - np.average(numbers, weights=every)) ** 2))
    for found in sums.values():
        yield 1 - found / spread if spread > 0 else float(found == 0)
