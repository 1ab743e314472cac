"""Tables that commands read batch by batch: those that take too large a share of memory, or all with --scan always."""

import argparse
import errno
import glob
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, TextIO

import numpy as np

from electorate.commands.model_rows import refuse_feature
from electorate.commands.options import no_target
from electorate.exact import AnyArray
from electorate.tables.reading import TableRequest, no_features
from electorate.tables.source import Source
from electorate.text import literal

SHARE = 3  # a table that takes more than the free memory over this is read batch by batch
UNPACKED = 4  # about how much larger a gzipped text is
LARGEST_WHOLE = 2**53
CERTIFIED_BYTES = 64  # of a row: its label, prediction, votes, margin and hash
MOST_LABELS = 2**16  # distinct numbers that are kept
EVERY = 0.2  # seconds between two lines of progress
SCAN = "read the table batch by batch, for tables larger than memory (auto: if it takes a third of the free memory)"


def add_scan_option(one: argparse.ArgumentParser) -> None:
    one.add_argument("--scan", choices=("auto", "always", "never"), default="auto", help=SCAN)


def wants_scan(options: argparse.Namespace, source: Source) -> bool:
    """Whether to read a table batch by batch. A folder or a pattern of files has no other way."""
    from electorate.data.inputs import free_memory

    if options.scan != "auto":
        return bool(options.scan == "always")
    if not source.is_file:
        return os.path.isdir(source.path) or (glob.has_magic(source.path) and bool(glob.glob(source.path)))
    free = free_memory()
    return free is not None and bytes_in_memory(source) > free // SHARE


def bytes_in_memory(source: Source) -> int:
    """About how much memory a file takes when all of it is read."""
    size = os.path.getsize(source.path)
    is_packed = source.path.lower().endswith(".gz")
    if source.kind == "parquet" and not is_packed:
        from electorate.tables.binary import open_binary

        meta = open_binary(source).file.metadata
        return max(size, sum(int(meta.row_group(i).total_byte_size) for i in range(meta.num_row_groups)))
    return size * UNPACKED if is_packed else size


@dataclass(frozen=True)
class ScannedData:
    """X, y and weight: of a scan. labels: the distinct values of y."""

    X: Any
    y: Any
    weight: Any
    labels: AnyArray

    @contextmanager
    def by_line(self) -> Iterator[None]:
        """Leave errors as they are, unlike a table in memory: errors of scans have their place already."""
        yield


def read_scanned(options: argparse.Namespace, source: Source) -> ScannedData:
    """Open a table, and read its target."""
    opened = open_scan(source, options.target, options.skip_missing_target, options.weights)
    if options.target is None:
        raise no_target(source, opened.names or [])
    wanted = [options.target, *([] if options.weights is None else [options.weights])]
    source.find_all(wanted, opened.names)
    kept = opened.names  # of a text, without the columns that are dropped
    if not (source.is_text and not os.path.isdir(source.path)):
        kept = [opened.names[place] for place in source.training_places(opened.names)]
    features = [name for name in kept if name not in wanted]
    if not features:
        raise no_features(source, TableRequest(options.target, options.weights))
    return scanned_data(opened, features, options)


def open_scan(source: Source, target: str | None, skip_missing_target: bool, weights: str | None = None) -> Any:
    """Return the source of batches of a file, a folder or a pattern."""
    if source.path != "-" and not os.path.exists(source.path) and not glob.has_magic(source.path):
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), source.path)
    if source.is_text and not os.path.isdir(source.path):
        if skip_missing_target:
            raise source.error("--skip-missing-target needs the table in memory: add --scan never, or use Parquet")
        from electorate.tables.scanned_text import TextSource

        return TextSource(source, target, weights)
    from electorate.tables.scanned_files import open_dataset

    if source.types:
        raise source.error("--type needs the table in memory: add --scan never, or write the column as that type")
    filters = None
    if skip_missing_target and target is not None:
        import pyarrow.compute as pc

        filters = pc.field(target).is_valid()
    return open_dataset(source.path, filters)


def scanned_data(opened: Any, features: list[str], options: argparse.Namespace) -> ScannedData:
    """X, y and weights of an open source; whole labels as integers, as for a table in memory."""
    from electorate.tables.scan import ScannedColumn, ScannedTable

    progress = None if options.quiet or not sys.stderr.isatty() else ScanProgress(sys.stderr)
    X = ScannedTable(opened, features, progress=progress)
    y = ScannedColumn(opened, options.target)
    labels, is_whole = distinct_labels(y, progress)
    if is_whole:
        y, labels = replace(y, whole=True), labels.astype(np.int64)
    weight = None if options.weights is None else ScannedColumn(opened, options.weights)
    return ScannedData(X, y, weight, labels)


def distinct_labels(y: Any, progress: Any = None) -> tuple[AnyArray, bool]:
    """The distinct values of a target, and whether they are floats without fractions.

    Of numbers about the first MOST_LABELS are enough to tell the task; after a fraction the rest is not read.
    """
    from electorate.data.targets import MOST_INTEGER_CLASSES, check_either
    from electorate.tables.batches import rows_at_once

    if y.column in y.source.distinct:
        return y.source.distinct[y.column], False
    labels, is_whole, rows = np.empty(0), True, 0
    for batch in y.source.batches(y.read, rows_at_once(1, None)):
        n_rows = batch.rows.shape[0]
        if n_rows == 0:
            continue
        with batch.named():
            part = np.unique(check_either("the target", y.values(batch), n_rows))
        is_number = part.dtype.kind in "iufb"
        is_whole &= part.dtype.kind == "f" and bool(np.all((part == np.rint(part)) & (np.abs(part) < LARGEST_WHOLE)))
        if not is_number or len(labels) < MOST_LABELS:
            labels = part if not len(labels) else np.union1d(labels, part)
        rows += n_rows
        if progress is not None:
            progress("target", rows, y.source.n_rows, None)
        if is_number and part.dtype.kind == "f" and not is_whole and len(labels) > MOST_INTEGER_CLASSES:
            break
    return labels, is_whole and len(labels) > 0


def scan_labelled(model: Any, source: Source, options: argparse.Namespace) -> tuple[Any, Any]:
    """The columns of a model, and the target, which must be named."""
    from electorate.tables.reading import columns_of

    kinds = columns_of(model)
    if options.target is None:
        raise source.error("which column is the target? Add --target COLUMN")
    refuse_feature(source, kinds, options.target)
    known = replace(source, types=kinds) if source.is_text and source.is_file else source
    opened = open_scan(known, options.target, options.skip_missing_target)
    source.find_all([*kinds, options.target], opened.names)
    data = scanned_data(opened, list(kinds), argparse.Namespace(target=options.target, weights=None, quiet=False))
    announce_rows(data, source, sys.stderr)
    return data.X, data.y


def announce(data: ScannedData, source: Source, task: str, file: TextIO, more: str = "") -> None:
    """Print what a fit is going to take. more: at the end of the line."""
    from electorate.training.scanned_place import Needed, state_bytes

    opened, words = data.X.source, "read batch by batch, without a check-up of its columns"
    if opened.n_rows is None:
        print(f"{source.name}: {words}{more}", file=file)
        return
    per_row = state_bytes(task == "regression", len(data.labels))
    needed = Needed.of(opened.n_rows, len(data.X.columns), data.X.storage, per_row=per_row)
    print(f"{source.name}: {opened.n_rows:,} rows are {words}; the fit takes {needed}{more}", file=file)


def announce_rows(data: ScannedData, source: Source, file: TextIO) -> None:
    """Print what certifying a model with scanned rows is going to take."""
    from electorate.tables.batches import size_in_words

    n_rows = data.X.source.n_rows
    many = "" if n_rows is None else f"{n_rows:,} rows are "
    size = "" if n_rows is None else f"; they take about {size_in_words(n_rows * CERTIFIED_BYTES)} of memory"
    print(f"{source.name}: {many}read batch by batch{size}", file=file)


class ScanProgress:
    """One line that is rewritten: what is read, rows, bytes, and the time to go."""

    def __init__(self, file: TextIO) -> None:
        self.file = file
        self.what, self.began, self.written = "", 0.0, 0.0

    def __call__(self, what: str, rows: int, n_rows: int | None, n_bytes: int | None) -> None:
        """rows: read so far. n_rows, n_bytes: of the table, if they are known."""
        now = time.monotonic()
        if what != self.what:
            self.what, self.began, self.written = what, now, 0.0
        ended = n_rows is not None and rows >= n_rows
        if now < self.written + EVERY and not ended:
            return
        self.written = now
        self.file.write(f"\r{literal(what)}: {self._line(rows, n_rows, n_bytes, now - self.began)}" + "\n" * ended)
        self.file.flush()

    def _line(self, rows: int, n_rows: int | None, n_bytes: int | None, seconds: float) -> str:
        if not n_rows:
            return f"{rows:,} rows "
        share = rows / n_rows
        unit, word = (1e9, "GB") if n_bytes is not None and n_bytes >= 1e9 else (1e6, "MB")
        size = "" if n_bytes is None else f", {share * n_bytes / unit:.2f} of {n_bytes / unit:.2f} {word}"
        left = seconds / share * (1 - share) if share else 0.0
        return f"{rows:,} of {n_rows:,} rows{size}, {left:.0f} s left "
