"""Comparisons on tables that are read batch by batch: a sample of the rows chooses, and all rows train the winner.

Rows are held out and sampled by hashes of their number in the table and the seed, in one pass. Algorithms are compared
on the sampled rows that are not held out. The winner is fitted to all rows that are not held out, batch by batch, and
tested on all that are.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from electorate import kernels
from electorate.comparison.refits import Recipe, Refits, losses_of
from electorate.comparison.rows import Parts
from electorate.data import inputs
from electorate.data.row_subset import take_rows
from electorate.data.split import hash_text
from electorate.data.targets import check_either
from electorate.tables.scan import Mask, ScannedColumn, ScannedTable, SubsetSource, stacked, subset_of
from electorate.text import literal
from electorate.training.callbacks import CallbackSupport, ProgressBar
from electorate.training.lazy_inputs import NotInMemoryError
from electorate.training.scanned_rows import joined, require_columns

MOST_SAMPLED = 200_000  # rows, by default
SHARE = 8  # the sample takes at most the free memory over this
BYTES_PER_CELL = 16  # of the sample: as it was read, and as numbers
Hashes = NDArray[np.uint64]


@dataclass(frozen=True)
class RowDraw:
    """Which rows of a table are held out and which are sampled first: by their number, not by their contents."""

    seed: int
    locked: float

    def is_locked(self, low: int, high: int) -> Mask:
        return self.are_locked(np.arange(low, high))

    def is_open(self, low: int, high: int) -> Mask:
        return ~self.is_locked(low, high)

    def are_locked(self, numbers: NDArray[np.int64]) -> Mask:
        return np.asarray(self._hashes("locked", numbers) < self.locked * 2.0**64)

    def order(self, low: int, high: int) -> Hashes:
        """The rows with the smallest hashes are the sample."""
        return self._hashes("sample", np.arange(low, high))

    def _hashes(self, word: str, numbers: NDArray[np.int64]) -> Hashes:
        hashes = np.full(len(numbers), hash_text(f"{self.seed} {word}"), dtype=np.uint64)
        kernels.fold(numbers.astype(np.float64), hashes)
        return hashes


@dataclass(frozen=True)
class Sample:
    """Rows of a scanned table in memory, in their order in the table; weight: of the rows, or None.

    places: their numbers in the table. n_open, n_locked: how many rows of the table have a weight, and are held out.
    open_scan, locked_scan: X, y and weights of these.
    """

    X: Any
    y: NDArray[Any]
    weight: NDArray[np.float64] | None
    places: NDArray[np.int64]
    draw: RowDraw
    n_open: int
    n_locked: int
    open_scan: tuple[Any, Any, Any]
    locked_scan: tuple[Any, Any, Any]

    @property
    def parts(self) -> Parts:
        """Positions of the sampled rows that are not held out, and of those that are."""
        locked = self.draw.are_locked(self.places)
        return np.flatnonzero(~locked), np.flatnonzero(locked)

    def describe(self) -> dict[str, int]:
        """What is stored with the results."""
        return {"rows": self.n_open + self.n_locked, "test_rows": self.n_locked, "sampled_rows": len(self.y)}


def rows_to_sample(n_columns: int) -> int:
    """The default size of a sample. Less than the most is a power of two, so that it seldom changes between runs."""
    free = inputs.free_memory()
    fitting = MOST_SAMPLED if free is None else free // SHARE // (BYTES_PER_CELL * max(n_columns, 1))
    return MOST_SAMPLED if fitting >= MOST_SAMPLED else 1 << (max(fitting, 1).bit_length() - 1)


def draw_sample(X: ScannedTable, y: Any, weight: Any, draw: RowDraw, n_rows: int | None) -> Sample:
    """Read a scanned table once, and return a sample of its rows. n_rows: at most; None: `rows_to_sample`."""
    require_columns(X, y, weight)
    kept = _Kept(rows_to_sample(len(X.columns)) if n_rows is None else n_rows)
    start, counts = 0, np.zeros(2, dtype=np.int64)  # of rows with a weight: not held out, held out
    for batch, target, weights in _labelled(X, y, weight, "sample"):
        stop = start + len(target)
        there = np.flatnonzero(weights > 0) if weights is not None else np.arange(len(target))
        counts += np.bincount(draw.is_locked(start, stop)[there], minlength=2)
        kept.add(X.table(batch), target, weights, there, start, draw.order(start, stop))
        start = stop
    if not counts.sum():
        raise ValueError(f"{X.source.name} has no rows" if start == 0 else "all weights are 0")
    if not counts.all():
        raise ValueError(f"{counts.sum()} rows are too few for training and test rows: use more, or another locked")
    table, target, weights, places = kept.result()
    is_all = weight is None
    n_open, n_locked = (int(count) for count in counts)
    scans = [
        subset_of(X, (y, weight), SubsetSource(X.source, chosen, n if is_all else None, word))
        for chosen, n, word in (
            (draw.is_open, n_open, "without the test rows"),
            (draw.is_locked, n_locked, "test rows alone"),
        )
    ]
    return Sample(table, target, weights, places, draw, n_open, n_locked, scans[0], scans[1])


def _labelled(X: ScannedTable, y: ScannedColumn, weight: Any, what: str) -> Iterator[tuple[Any, Any, Any]]:
    """Yield batches with their checked targets and weights (or None), and report the progress."""
    for batch in X.batches([*y.read, *([] if weight is None else weight.read)], what=what):
        n_rows = batch.rows.shape[0]
        with batch.named():
            target = check_either("compare", y.values(batch), n_rows)
            weights = None if weight is None else inputs.check_weight(weight.values(batch), n_rows)
        yield batch, target, weights


class _Kept:
    """The rows with the smallest hashes so far: up to twice as many as are wanted, then only these."""

    def __init__(self, wanted: int) -> None:
        self.wanted, self.limit = wanted, np.uint64(2**64 - 1)
        self.parts: list[tuple[Any, Any, Any, Any, Any]] = []  # table, target, weights, numbers, hashes
        self.n_rows = 0

    def add(self, table: Any, y: Any, weight: Any, there: Any, start: int, hashes: Hashes) -> None:
        """there: positions of the rows to choose from. start: the number of the first row of the batch."""
        taken = there[hashes[there] <= self.limit]
        if len(taken):
            some = None if weight is None else weight[taken]
            self.parts.append((take_rows(table, taken), y[taken], some, start + taken, hashes[taken]))
            self.n_rows += len(taken)
        if self.n_rows > 2 * self.wanted:
            self._prune()

    def _prune(self) -> None:
        hashes = np.concatenate([part[4] for part in self.parts])
        if len(hashes) <= self.wanted:
            return
        self.limit = np.partition(hashes, self.wanted - 1)[self.wanted - 1]
        pruned = []
        for table, y, weight, places, own in self.parts:
            few = np.flatnonzero(own <= self.limit)
            some = None if weight is None else weight[few]
            pruned.append((take_rows(table, few), y[few], some, places[few], own[few]))
        self.parts = [part for part in pruned if len(part[1])]
        self.n_rows = sum(len(part[1]) for part in self.parts)

    def result(self) -> tuple[Any, Any, Any, Any]:
        self._prune()
        tables, y, weight, places, _ = zip(*self.parts, strict=True)
        return stacked(tables), joined(list(y)), joined(list(weight)), np.concatenate(places)


@dataclass(frozen=True, kw_only=True)
class ScannedRefits(Refits):
    """The sample is X and y. fitted: by algorithm, to how many rows, and why not to all.

    unsampled: labels that are in the table, and not in the sample.
    """

    sample: Sample
    fitted: dict[str, tuple[int, str]] = field(default_factory=dict)
    unsampled: set[Any] = field(default_factory=set)

    @property
    def n_test(self) -> int:
        return self.sample.n_locked

    @property
    def n_rows(self) -> int:
        return self.sample.n_open

    @property
    def drawn_from(self) -> str:
        n_rows = self.sample.n_open + self.sample.n_locked
        return f" (sampled from {n_rows:,} rows that are read batch by batch)"

    def describe(self) -> dict[str, int]:
        return self.sample.describe()

    def fit_without(self, recipe: Recipe) -> Any:
        model = super().fit_without(recipe)
        model.held_out_["training_rows"] = self.fitted[recipe.name][0]
        return model

    def _fit_open(self, recipe: Recipe) -> Any:
        """Fit to all rows that are not held out, or to the sample if the algorithm needs its rows in memory."""
        name, part = recipe.name, recipe.parts[0]
        if part.algorithm.peer:
            self.fitted[name] = len(self.parts[0]), "another library"
            return super()._fit_open(recipe)
        X, y, weight = self.sample.open_scan
        model = self.build(part)
        if X.progress is not None and isinstance(model, CallbackSupport):
            model.set_callbacks(ProgressBar())
        try:
            model.fit(X, y, **({} if weight is None else {"sample_weight": weight}))
        except NotInMemoryError as error:
            self.fitted[name] = len(self.parts[0]), error.why
            return super()._fit_open(recipe)
        if isinstance(model, CallbackSupport):
            model.set_callbacks()
        self.fitted[name] = self.sample.n_open, ""
        if self.is_classifier:
            self.unsampled.update(np.setdiff1d(model.classes_, self.y[self.parts[0]]).tolist())
        return model

    def _losses(self, model: Any) -> tuple[NDArray[np.float64], Any]:
        X, y, weight = self.sample.locked_scan
        losses, weights = [np.empty(0)], [np.empty(0)]
        for batch, target, some in _labelled(X, y, weight, "test rows"):
            with batch.named():
                found = losses_of(model.predict(X.table(batch)), target, self.is_classifier)
            there = slice(None) if some is None else np.flatnonzero(some > 0)
            losses.append(found[there])
            weights.append(np.empty(0) if some is None else some[there])
        return np.concatenate(losses), None if weight is None else np.concatenate(weights)

    def notes(self) -> list[str]:
        """What was fitted to how many rows."""
        lines = []
        if self.unsampled:
            some = ", ".join(literal(repr(label), 40) for label in sorted(self.unsampled)[:5])
            lines.append(f"no row of the sample has the labels {some}: settings were chosen without them")
        for name, (n_rows, why) in self.fitted.items():
            many = f"{name}: settings chosen on {len(self.parts[0]):,} sampled rows"
            if why:
                lines.append(f"{many}; FITTED TO THE SAMPLE ONLY ({why})")
            else:
                lines.append(f"{many}; fitted to all {n_rows:,} rows that are not held out, batch by batch")
        return lines
