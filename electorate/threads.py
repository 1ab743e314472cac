"""Our own threads: one task per shard, kernels without the GIL, nothing global that a fork could inherit.

A pool lives as long as one fit or one prediction. With one job everything runs in the caller's thread.
"""

import math
import multiprocessing
import threading
from collections.abc import Callable, Iterable
from functools import cached_property
from queue import SimpleQueue
from types import TracebackType
from typing import Any, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")

PER_CELL, PER_ROW = 4e-10, 6e-9  # seconds on one core to sum a cell, and to weigh a row or to part it
WAKING = 1.5e-4  # seconds for one more thread, measured on 16 cores: each waits for the lock of the interpreter
MOST_JOBS = 256  # more threads than this only cost memory
ROWS_PER_SHARD = 2048  # at least: fewer take less time than the histograms of one more shard
SMALL_WORK = 400_000  # cells under which a second thread costs more than it brings
CELLS_PER_THREAD = 200_000  # at least, where the number of threads is not given


def count_jobs(n_jobs: int | None, cells: int) -> int:
    """Threads to use: all CPUs this process may use, one for small work and inside workers of others."""
    if n_jobs is None:
        inside_worker = (
            threading.current_thread() is not threading.main_thread() or multiprocessing.parent_process() is not None
        )
        return 1 if inside_worker or cells < SMALL_WORK else min(cpus(), cells // CELLS_PER_THREAD)
    n_jobs = int(n_jobs)  # NumPy's small integers overflow
    if n_jobs == 0:
        raise ValueError("n_jobs is 0: use a positive number of threads, -1 for all CPUs, or None")
    if n_jobs < 0:
        return max(1, cpus() + 1 + n_jobs)
    return min(n_jobs, MOST_JOBS)


def count_shards(n_jobs: int, n_rows: int) -> int:
    """One shard per thread, but of several rows each: every shard has histograms of its own."""
    return max(1, min(n_jobs, n_rows // ROWS_PER_SHARD))


def cpus() -> int:
    import joblib  # late: predicting from a file should begin at once

    return int(joblib.cpu_count())


def work(n_rows: int, n_columns: float) -> float:
    """Seconds that a round takes on one core, about."""
    return n_rows * (PER_ROW + PER_CELL * n_columns)


def worthwhile(seconds: float) -> int:
    """How many threads to use for work that takes so long on one: seconds / n + n WAKING is least at the root."""
    return max(1, round(math.sqrt(seconds / WAKING)))


def started(thread: threading.Thread) -> bool:
    """Start a thread. Return whether the system allowed it: the number of threads may be limited (ulimit -u)."""
    try:
        thread.start()
    except RuntimeError:
        return False
    return True


class ThreadPool:
    """Threads that wait for tasks. The calling thread works too: a call costs little more than waking the others."""

    def __init__(self, n_jobs: int) -> None:
        self.n_jobs = n_jobs
        self._threads: list[threading.Thread] = []
        self._batches: SimpleQueue[_Batch | None] = SimpleQueue()

    @cached_property
    def _most(self) -> int:
        """More threads than CPUs only take turns."""
        return 1 if self.n_jobs == 1 else min(self.n_jobs, cpus())

    def count_threads(self, n_items: int, seconds: float = math.inf) -> int:
        """How many threads to use for so many tasks, which take so many seconds on one; few where that is little."""
        return max(1, min(self._most, n_items, self.n_jobs if seconds == math.inf else worthwhile(seconds)))

    def map(self, task: Callable[[Item], Result], items: Iterable[Item], seconds: float = math.inf) -> list[Result]:
        """The results in the order of the items. The first error is raised when all running tasks have ended.

        seconds: what all tasks take on one thread.
        """
        every = list(items)
        n_threads = self.count_threads(len(every), seconds)
        if n_threads <= 1:
            return [task(item) for item in every]
        batch = _Batch(task, every)
        for number in range(n_threads - 1):
            if number == len(self._threads):
                thread = threading.Thread(target=_serve, args=(self._batches,), daemon=True)
                if not started(thread):
                    self._most = 1 + number
                    break
                self._threads.append(thread)
            self._batches.put(batch)
        return batch.finish()

    def __enter__(self) -> "ThreadPool":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        threads, self._threads = self._threads, []
        for _ in threads:
            self._batches.put(None)
        for thread in threads:
            thread.join()

    def __del__(self) -> None:
        for _ in self._threads:
            self._batches.put(None)


def _serve(batches: "SimpleQueue[_Batch | None]") -> None:
    while (batch := batches.get()) is not None:
        batch.work()
        del batch  # what it holds must not live until the next one


class _Batch:
    """One call of `ThreadPool.map`: threads take the next item until there is none."""

    def __init__(self, task: Callable[[Any], Any], items: list[Any]) -> None:
        self.task = task
        self.items = items
        self.results: list[Any] = [None] * len(items)
        self.errors: dict[int, BaseException] = {}
        self.next = iter(range(len(items)))  # taking a number from it is one step of the interpreter
        self.done: SimpleQueue[int] = SimpleQueue()

    def work(self) -> None:
        for number in self.next:
            try:
                self.results[number] = self.task(self.items[number])
            except BaseException as error:  # raised again in the calling thread
                self.errors[number] = error
                self._cancel()
            self.done.put(number)

    def _cancel(self) -> None:
        """Leave out the items that no thread has begun."""
        for number in self.next:
            self.done.put(number)

    def finish(self) -> list[Any]:
        """Work along, wait for the others, and raise the first error."""
        try:
            self.work()
            for _ in self.items:
                self.done.get()
        except BaseException:  # Ctrl-C between two tasks; the pool waits for the threads when it is closed
            self._cancel()
            raise
        if self.errors:
            raise self.errors[min(self.errors)]
        return self.results
