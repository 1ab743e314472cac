"""Our own threads: one task per shard, kernels without the GIL, nothing global that a fork could inherit.

A pool lives as long as one fit or one prediction. With one job everything runs in the caller's thread.
"""

import multiprocessing
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")

MOST_JOBS = 256  # more threads than this only cost memory
ROWS_PER_SHARD = 16  # at least
SMALL_WORK = 400_000  # cells under which a second thread costs more than it brings


def count_jobs(n_jobs: int | None, cells: int) -> int:
    """Threads to use: all CPUs this process may use, one for small work and inside workers of others."""
    if n_jobs is None:
        inside_worker = (
            threading.current_thread() is not threading.main_thread() or multiprocessing.parent_process() is not None
        )
        return 1 if inside_worker or cells < SMALL_WORK else cpus()
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


class ThreadPool:
    def __init__(self, n_jobs: int) -> None:
        self.n_jobs = n_jobs
        self._threads = ThreadPoolExecutor(n_jobs) if n_jobs > 1 else None

    def map(self, task: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
        if self._threads is None:
            return [task(item) for item in items]
        return list(self._threads.map(task, items))

    def __enter__(self) -> "ThreadPool":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._threads is not None:
            self._threads.shutdown(cancel_futures=True)
