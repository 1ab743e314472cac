"""The engine of a scanned table: shards whose rows arrive batch by batch, in memory or in temporary files.

A temporary file has no name: it is gone when the process ends, however it ends.
"""

import errno
import math
import mmap
import os
import tempfile
from dataclasses import replace
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from electorate.data.bins import Bins
from electorate.data.table import Table
from electorate.data.weights import Weights
from electorate.engines.shard import Allocate, Examples, Shard, edge_groups, encode_range, shape_of_codes, sort_by_label
from electorate.engines.target_shard import Targets, TargetShard, sorted_targets
from electorate.engines.targets import TARGET_VERBS, TargetEngine
from electorate.engines.verbs import Engine, LocalShards, Merge
from electorate.threads import ThreadPool

ROWS_PER_TASK = 8192  # of a batch, at least
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class TemporaryFiles:
    """Allocates arrays in temporary files of a folder; None: the folder of the system."""

    def __init__(self, folder: str | None) -> None:
        self.folder = folder or tempfile.gettempdir()

    def __call__(self, shape: tuple[int, ...], dtype: Any) -> NDArray[Any]:
        """Return an array of zeros. All of its place is taken at once, so that a full disk is an error here."""
        dtype = np.dtype(dtype)
        size = math.prod(shape) * dtype.itemsize
        if size == 0:
            return np.zeros(shape, dtype)
        with tempfile.TemporaryFile(dir=self.folder) as file:
            try:
                _reserve(file.fileno(), size)
                mapped = mmap.mmap(file.fileno(), size)
            except OSError as error:
                if error.errno not in FULL:
                    raise
                todo = "free some space, or give another folder: scan(..., folder=...)"
                message = f"the folder {self.folder} has no place for a temporary file of {size:,} bytes: {todo}"
                raise OSError(error.errno, message) from error
        return np.frombuffer(mapped, dtype=dtype).reshape(shape)


def _reserve(file: int, size: int) -> None:
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(file, 0, size)
    else:  # some systems have no such call
        os.truncate(file, size)


def in_memory(shape: tuple[int, ...], dtype: Any) -> NDArray[Any]:
    """Return an array of zeros."""
    return np.zeros(shape, dtype)


class CodeWriter:
    """Writes the codes of the rows of one shard as they arrive. order: which rows it holds, in its own order."""

    def __init__(self, bins: Bins, n_rows: int, order: NDArray[np.int64], n_columns: int, allocate: Allocate) -> None:
        self.bins, self.groups = bins, edge_groups(bins)
        self.dest = np.full(n_rows, -1, dtype=np.int64)
        self.dest[order] = np.arange(len(order))
        self.codes = allocate(shape_of_codes(bins, n_columns, len(order)), bins.code_type)

    def write(self, table: Table, rows: tuple[int, int], at: int, pool: ThreadPool) -> None:
        """Write some rows of a table, the first of which is row `at` of the shard as it was given."""
        low, high = rows
        n_tasks = max(1, min(pool.n_jobs, (high - low) // ROWS_PER_TASK))
        ends = [low + (high - low) * k // n_tasks for k in range(n_tasks + 1)]

        def encode(part: tuple[int, int]) -> None:
            dest = self.dest[at + part[0] - low : at + part[1] - low]
            if np.any(dest >= 0):
                encode_range(table, self.bins, self.groups, part, dest, self.codes)

        pool.map(encode, pairwise(ends))


class ShardBuilder:
    """A shard of labelled examples, whose codes are yet to be written."""

    def __init__(
        self, examples: Examples, bins: Bins, n_columns: int, codes: Allocate = in_memory, state: Allocate = np.empty
    ) -> None:
        self.state, self.width = state, bins.width
        order, self.starts, weights = sort_by_label(examples, 0, len(examples.labels))
        self.weights = compact_weights(weights)
        self.writer = CodeWriter(bins, len(examples.labels), order, n_columns, codes)

    def finish(self) -> Shard:
        return Shard(self.writer.codes, self.starts, self.weights, self.width, allocate=self.state)


class TargetShardBuilder:
    """A shard of examples with targets, whose codes and confidences are yet to be written. kind: of shard."""

    def __init__(
        self,
        targets: Targets,
        bins: Bins,
        n_columns: int,
        kind: type[TargetShard],
        codes: Allocate = in_memory,
        state: Allocate = np.empty,
    ) -> None:
        self.kind, self.width, self.state = kind, bins.width, state
        self.order, self.starts, weights = sorted_targets(targets, 0, len(targets.y))
        self.weights, self.y = compact_weights(weights), state((len(self.order),), np.float64)
        self.y[:] = targets.y[self.order]
        self.writer = CodeWriter(bins, len(targets.y), self.order, n_columns, codes)
        self.kappas: list[NDArray[np.float64]] = []

    def finish(self) -> TargetShard:
        shard = self.kind(self.writer.codes, self.starts, self.weights, self.width, self.y, self.state)
        if self.kappas:
            shard.kappas = np.ascontiguousarray(np.concatenate(self.kappas, axis=1)[:, self.order])
        return shard


class ScannedEngine(LocalShards, Engine):
    """Labelled examples. numbers: the sizes of the grid, from the weights of all shards."""

    def __init__(self, shards: list[Shard], pool: ThreadPool, n_labels: int, numbers: dict[str, Any]) -> None:
        self.pool, self.shards, self.n_labels = pool, shards, n_labels
        self.unit, self.count, self.full = numbers["unit"], numbers["count"], numbers["full"]
        self.n_counted, self.given = numbers["n_counted"], numbers["given"]
        self.share_answers()


class ScannedTargets(LocalShards, TargetEngine):
    """Examples with targets. The targets of a leaf are not gathered: there may be too many of them."""

    verbs: ClassVar[dict[str, Merge]] = TARGET_VERBS

    def __init__(self, shards: list[TargetShard], pool: ThreadPool, n_kappas: int) -> None:
        self.pool, self.shards, self.n_kappas = pool, shards, n_kappas
        self.share_answers()


def compact(examples: Examples) -> Examples:
    """Return the same examples in less memory: labels in as few bytes as they need, and equal weights as one."""
    kind = np.uint8 if examples.n_labels <= 2**8 else np.uint16
    labels: NDArray[Any] = examples.labels.astype(kind)
    return replace(examples, labels=labels, weights=compact_weights(examples.weights))


def compact_weights(weights: Weights) -> Weights:
    """Return the same weights in less memory, where every row counts once."""
    times = weights.times
    if not len(times) or times.strides == (0,) or int(times.min()) != 1 or int(times.max()) != 1:
        return weights
    return replace(weights, times=np.broadcast_to(np.int64(1), times.shape))
