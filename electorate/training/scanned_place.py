"""Training on a scanned table in this process: labels and weights are in memory, the rows are read batch by batch.

Labels and weights are prepared part by part, as on the workers of a cluster. The pass over the labels finds the edges
of the bins too, where every row counts once; otherwise another one does. The last pass writes the bins into shards.
"""

import logging
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from electorate.data import inputs
from electorate.data.all_reduce import run_together
from electorate.data.bins import Bins
from electorate.data.seen_rows import Seen, SeenSample
from electorate.data.streamed_bins import StreamedBins, begin_edges
from electorate.data.weights import Weights
from electorate.engines.bundles import groups_of
from electorate.engines.disk import (
    ScannedEngine,
    ScannedTargets,
    ShardBuilder,
    TargetShardBuilder,
    TemporaryFiles,
    compact,
    in_memory,
)
from electorate.engines.shard import Allocate
from electorate.engines.target_shard import Targets, TargetShard
from electorate.engines.validation import ValidationShard
from electorate.tables.batches import size_in_words
from electorate.tables.scan import Storage
from electorate.threads import ThreadPool, count_jobs
from electorate.training.scanned_rows import CountedPiece, Piece, ScannedRows
from electorate.training.worker_data import TargetWorkerData, WorkerData, values_of

ROWS_PER_SHARD = 2**21
MOST_SHARDS = 64  # each with a few temporary files
STATE_BYTES = 32  # of an example, beside its bins: weight, one or two states or a target, two row numbers for trees
VOTE_BYTES = 8  # more for each class, if there are several
LARGE = 10**6  # rows that a table of unknown size is taken to have
logger = logging.getLogger("electorate")
Builder = ShardBuilder | TargetShardBuilder


class ScannedPlace:
    """rows: of training and, if they are given, of validation. shards: by name, "train" and "validation"."""

    def __init__(self, kind: type[WorkerData], rows: list[ScannedRows], pool: ThreadPool) -> None:
        self.rows, self.pool = rows, pool
        n_parts = max(len(each.parts) for each in rows)
        given = [[each.parts[k] if k < len(each.parts) else each.nothing() for each in rows] for k in range(n_parts)]
        self.parts = [kind(part, pool, 1, number) for number, part in enumerate(given)]
        self.shards: dict[str, list[Any]] = {}
        self.seen = Seen(None, any(each.weight is not None for each in rows))

    @property
    def n_columns(self) -> int:
        return self.rows[0].like.n_columns

    # ------------------------------------------------------------ what all places have

    def all_reduce(self, name: str, *arguments: Any) -> Any:
        """Run the steps of that name: on vectors part by part, on rows in a pass over the table."""
        steps: dict[str, Callable[..., Any]] = {
            "prepare": self._prepare,
            "find_bins": self._find_bins,
            "build": self._build,
        }
        return steps[name](*arguments)

    def engine(self, name: str, sizes: dict[str, Any], n_labels: int) -> Any:
        return ScannedEngine(self.shards[name], self.pool, n_labels, sizes)

    def target_engines(self, names: Sequence[str], n_kappas: int) -> dict[str, Any]:
        return {name: ScannedTargets(self.shards[name], self.pool, n_kappas) for name in names}

    # ------------------------------------------------------------ steps

    def _prepare(self, plan: Any) -> Any:
        outline = run_together([part.prepare(plan) for part in self.parts])
        for part in self.parts:
            part.examples = {name: compact(examples) for name, examples in part.examples.items()}
            part.given = part.validation = None
        return outline

    def _find_bins(self, categorical: Any, max_bins: int | str) -> Bins:
        like = self.rows[0].like
        columns = inputs.category_columns(like, categorical, like.category_columns())
        weights = [part.examples["train"].weights for part in self.parts]
        first = self.rows[0].edges if all(map(_once, weights)) else None
        n_rows = sum(int(np.count_nonzero(each.times)) for each in weights)
        return StreamedBins(self._counted, n_rows, max_bins, self.pool, first).find(self.n_columns, columns)

    def _counted(self) -> Iterator[CountedPiece]:
        for batch, pieces in self.rows[0].pieces("edges of bins"):
            weights = [self._weights("train", piece) for piece in pieces]
            whole = np.concatenate([each.whole for each in weights])
            times = np.concatenate([each.times for each in weights])
            yield CountedPiece(pieces[0].table, whole, times, batch.named)

    def _weights(self, name: str, piece: Piece) -> Weights:
        weights = self.parts[piece.part].examples[name].weights
        rows = slice(piece.at, piece.at + piece.high - piece.low)
        real = None if weights.real is None else weights.real[rows]
        return replace(weights, times=weights.times[rows], real=real)

    def _build(self, bins: Bins, max_bins: int | str, confidences: Any = None, columns: bool = False) -> Any:
        """Write the shards; return, by name, the numbers of the engine over all of them."""
        names = list(self.parts[0].examples)
        codes, state = self._allocators(bins)
        numbers = {name: self._numbers(name) for name in names}
        apart = len(self.rows) > 1  # validation rows have a table of their own
        sample = SeenSample()
        for number, rows in enumerate(self.rows):
            here = [name for name in names if not apart or (name == "validation") == bool(number)]
            self._write(rows, here, bins, confidences, (codes, state), sample)
            sample.weighted |= rows.weights_differ()
        self.seen = sample.result()
        for part in self.parts:
            part.forget_rows()
        for rows in self.rows:
            rows.parts = []
        return numbers

    def _numbers(self, name: str) -> dict[str, Any]:
        weights = [part.examples[name].weights for part in self.parts]
        count = sum(int(each.times.sum()) for each in weights)
        first = weights[0]
        return {
            "count": count,
            "n_counted": sum(each.n_counted for each in weights),
            "full": count << first.bits,
            "unit": first.unit,
            "given": first.given,
        }

    def _write(
        self,
        rows: ScannedRows,
        names: list[str],
        bins: Bins,
        confidences: Any,
        allocators: tuple[Allocate, Allocate],
        sample: SeenSample,
    ) -> None:
        """One pass over a table, which writes the shards of these names, and a sample of the marks of the rows."""
        texts = [j for j, levels in bins.categories.items() if levels.is_text]
        builders: dict[str, Builder] = {}
        shards: dict[str, list[Any]] = {name: [] for name in names}
        now = -1

        def finish() -> None:
            for name, builder in builders.items():
                shards[name].append(builder.finish())
                self.parts[now].forget_examples(name)
            if builders:
                rows.forget_labels(now)  # they have been compared with those of this pass
            builders.clear()

        for batch, pieces in rows.pieces("bins"):
            sample.add(rows.marks(pieces, texts))
            for piece in pieces:
                if piece.part != now:
                    finish()
                    now = piece.part
                    builders |= {name: self._builder(name, now, bins, allocators) for name in names}
                with batch.named():
                    for builder in builders.values():
                        builder.writer.write(piece.table, (piece.low, piece.high), piece.at, self.pool)
                        if confidences is not None and isinstance(builder, TargetShardBuilder):
                            values = values_of(confidences, None, piece.table, piece.table.n_rows)
                            builder.kappas.append(values(piece.low, piece.high))
        finish()
        self.shards |= shards

    def _builder(self, name: str, number: int, bins: Bins, allocators: tuple[Allocate, Allocate]) -> Builder:
        part, (codes, state) = self.parts[number], allocators
        if not isinstance(part, TargetWorkerData):
            return ShardBuilder(part.examples[name], bins, self.n_columns, codes, state)
        kind = ValidationShard if name == "validation" else TargetShard
        return TargetShardBuilder(Targets(part.examples[name], part.y[name]), bins, self.n_columns, kind, codes, state)

    def _allocators(self, bins: Bins) -> tuple[Allocate, Allocate]:
        """Return the allocators of bins and state: memory if they fit, else temporary files."""
        storage, n_rows = self.rows[0].X.storage, sum(rows.starts[-1] for rows in self.rows)
        has_targets, n_labels = isinstance(self.parts[0], TargetWorkerData), self.parts[0].examples["train"].n_labels
        state = state_bytes(has_targets, n_labels)
        needed = Needed.of(n_rows, self.n_columns, storage, bins.code_type().itemsize, state)
        logger.info("the fit takes %s", needed)
        inputs.refuse_too_large(needed.memory)
        files = TemporaryFiles(storage.folder)
        if needed.disk > shutil.disk_usage(files.folder).free:
            free = size_in_words(shutil.disk_usage(files.folder).free)
            todo = "free some space, or give another folder: scan(..., folder=...)"
            raise OSError(f"the fit takes {needed}, and the folder {files.folder} has {free} free: {todo}")
        codes: Allocate = files if needed.bins_on_disk else in_memory
        return codes, files if needed.state_on_disk else np.empty


def _first_pass(model: Any, rows: ScannedRows, seed: int | None, reset: bool) -> tuple[Any, Any, Any]:
    """The vectors of the training rows. Where every row counts once, the edges of the bins come from the same pass."""
    source, like = rows.X.source, rows.like
    edges = None
    if seed is None and reset and rows.weight is None and getattr(model, "class_weight", None) is None:
        columns = inputs.category_columns(like, model.categorical_features, like.category_columns())
        edges = begin_edges(like.n_columns, columns, model.max_bins, source.n_rows)
    if edges is None:
        return rows.read_vectors(seed)
    with ThreadPool(count_jobs(model.n_jobs, (source.n_rows or LARGE) * like.n_columns)) as pool:
        return rows.read_with_edges(edges, pool)


def _once(weights: Weights) -> bool:
    """Whether every row counts once; `compact` made one number of their weights."""
    times = weights.times
    return weights.real is None and (not len(times) or (times.strides == (0,) and int(times[0]) == 1))


@contextmanager
def open_scan(
    model: Any, rows: tuple[Any, Any, Any], validation: Any, seed: int | None, reset: bool
) -> Iterator[ScannedPlace]:
    """Read the vectors of the rows, and open their place. seed: to set rows aside by their hashes, or None."""
    if not reset and model.cleaning_ is not None:
        raise TypeError("the model was fitted to cleaned columns: a scanned table cannot be cleaned in a warm start")
    lists = [rows] if validation is None else [rows, validation]
    opened = [ScannedRows(model, each, model._read_y, reset and each is rows) for each in lists]
    vectors = [_first_pass(model, opened[0], seed, reset), *(each.read_vectors(seed) for each in opened[1:])]
    n_rows = len(vectors[0][0])
    if n_rows == 0:
        raise ValueError(inputs.NO_ROWS)
    jobs = count_jobs(model.n_jobs, n_rows * opened[0].like.n_columns)
    usual = max(-(-n_rows // MOST_SHARDS), min(ROWS_PER_SHARD, -(-n_rows // jobs)), 1)  # at least a shard per thread
    size = usual if model._n_shards is None else -(-n_rows // model._n_shards)
    for each in opened:
        each.split(vectors.pop(0), size)
    with ThreadPool(jobs) as pool:
        yield ScannedPlace(model._worker_data, opened, pool)


@dataclass(frozen=True)
class Needed:
    """The approximate bytes of bins and state, and whether they are on disk."""

    bins: int
    state: int
    bins_on_disk: bool
    state_on_disk: bool

    @classmethod
    def of(cls, n_rows: int, n_columns: int, storage: Storage, cell: int = 1, per_row: int = STATE_BYTES) -> "Needed":
        """cell, per_row: bytes of a cell, and of the state of an example."""
        limit = storage.memory
        if limit is None:
            free = inputs.free_memory()
            limit = 2**63 if free is None else free // 2
        bins, state = n_rows * (4 * groups_of(n_columns) if cell == 1 else cell * n_columns), n_rows * per_row
        return cls(bins, state, bins + state > limit, state > limit)

    @property
    def disk(self) -> int:
        return self.bins * self.bins_on_disk + self.state * self.state_on_disk

    @property
    def memory(self) -> int:
        return self.bins + self.state - self.disk

    def __str__(self) -> str:
        return f"about {size_in_words(self.memory)} of memory and {size_in_words(self.disk)} of temporary files"


def state_bytes(has_targets: bool, n_labels: int) -> int:
    """Return the approximate bytes of an example besides its bins. n_labels: number of classes, for labels."""
    return STATE_BYTES + (VOTE_BYTES * n_labels if n_labels > 2 and not has_targets else 0)
