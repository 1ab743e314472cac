"""Sources of batches: a table that can be read from its start any number of times, a few rows at a time.

A batch is a dataframe that narwhals supports (a pyarrow table among them), or a two-dimensional array.
"""

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from queue import Empty, Full, Queue
from types import MappingProxyType
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from electorate.threads import started

Item = TypeVar("Item")
ROWS_PER_BATCH = 2**17
BYTES_PER_BATCH = 2**26  # of float64: a batch of many columns has fewer rows
AHEAD = 2  # batches that are read while others are processed
LOOK = 0.1  # seconds between two looks whether anybody still waits for batches
END = object()
Names = list[Any]  # of columns; places, for arrays


@dataclass(frozen=True)
class Batch:
    """Some rows. where: the file, and the row group or the batch; first: the row of `where` they begin with.

    blame: raises the error of a bad value with its line, where rows have lines.
    """

    rows: Any
    where: str
    first: int = 0
    blame: Callable[[], None] | None = field(default=None, repr=False)

    @contextmanager
    def named(self) -> Iterator[None]:
        """Give a ValueError its line, or add the place of this batch to its message."""
        try:
            yield
        except ValueError as error:
            if self.blame is not None:
                self.blame()
            start = f"row {self.first} of {self.where}" if self.first else f"the start of {self.where}"
            raise ValueError(f"{error} (rows are counted from {start})") from error


class BatchSource:
    """A table on disk or behind a function.

    names: of all columns, or None for an array without names. like: an empty batch with all columns. n_bytes: about
    what one pass reads, or None. n_rows: if it is known before a pass. distinct: the values of a column, if they are.
    """

    name: str
    names: list[str] | None
    like: Any
    n_bytes: int | None = None
    n_rows: int | None = None
    distinct: Mapping[Any, NDArray[Any]] = MappingProxyType({})

    def batches(self, columns: Names, n_rows: int) -> Iterator[Batch]:
        """Yield the rows in order, at most so many at a time, with these columns at least."""
        raise NotImplementedError

    def state(self) -> Any:
        """What tells whether the table has changed: for files, their sizes and times."""
        return None


def rows_at_once(n_columns: int, most: int | None) -> int:
    """How many rows a batch has."""
    return most or max(1024, min(ROWS_PER_BATCH, BYTES_PER_BATCH // (8 * max(n_columns, 1))))


def size_in_words(n_bytes: int) -> str:
    for unit, word in ((2**30, "GiB"), (2**20, "MiB")):
        if n_bytes >= unit:
            return f"{n_bytes / unit:.1f} {word}"
    return f"{-(-n_bytes // 1024)} KiB"


def sliced(batches: Iterable[Batch], n_rows: int) -> Iterator[Batch]:
    """Yield batches of at most so many rows."""
    for batch in batches:
        size = batch.rows.shape[0]
        for low in range(0, size, n_rows):
            if low == 0 and size <= n_rows:
                yield batch
            else:
                yield Batch(batch.rows[low : low + n_rows], batch.where, batch.first + low, batch.blame)


def prefetched(items: Iterable[Item], ahead: int = AHEAD) -> Iterator[Item]:
    """Yield the items, which another thread reads ahead; its errors are raised here."""
    queue: Queue[Any] = Queue(ahead)
    stopped = threading.Event()

    def put(item: Any) -> bool:
        while not stopped.is_set():
            try:
                queue.put(item, timeout=LOOK)
                return True
            except Full:
                pass
        return False

    def read() -> None:
        try:
            for item in items:
                if not put((item, None)):
                    return
            put((END, None))
        except BaseException as error:  # raised again in the thread that waits
            put((END, error))

    thread = threading.Thread(target=read, daemon=True)
    if not started(thread):
        yield from items
        return
    try:
        while True:
            try:
                item, error = queue.get(timeout=LOOK)  # Ctrl-C is noticed between two waits
            except Empty:
                continue
            if error is not None:
                raise error
            if item is END:
                return
            yield item
    finally:
        stopped.set()
        thread.join()


def is_array(rows: Any) -> bool:
    return isinstance(rows, np.ndarray)
