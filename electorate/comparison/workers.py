"""Runs the cells that are missing: in this process, or in processes of its own that can be stopped at any moment.

Workers are started as programs and told numbers over pipes: nothing is pickled, nothing is forked, and one that dies
takes no more than its cell with it.
"""

import os
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import electorate
from electorate.comparison.cells import Cell, Protocol, run
from electorate.comparison.journal import Failed, Journal, Memory
from electorate.comparison.rows import Rows

Told = Callable[[int], None]  # told the number of each finished cell
ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def run_here(
    cells: list[Cell], rows: Rows, protocol: Protocol, journal: Journal | Memory, deadline: float, tell: Told
) -> None:
    """One after another; a cell that has begun is finished."""
    for number, cell in enumerate(cells):
        if time.monotonic() >= deadline:
            return
        if journal.get(number) is not None:
            continue
        try:
            journal.put(number, run(cell, rows, protocol))
        except Exception as error:  # an estimator's own affair; the table says so
            journal.put(number, Failed(f"{type(error).__name__}: {error}"[:500]))
        tell(number)


def run_there(missing: list[int], journal: Journal, n_workers: int, deadline: float, tell: Told) -> dict[int, str]:
    """In processes; what runs at the deadline is stopped and counts as not run. Returns the cells whose worker died."""
    crew = Crew(journal.folder, min(n_workers, len(missing)))
    try:
        for number in crew.work(iter(missing), deadline):
            tell(number)
    finally:
        crew.stop()
    return crew.lost


@dataclass
class Worker:
    process: Any
    busy: int | None = None


@dataclass
class Crew:
    folder: str
    n_workers: int
    finished: int = 0
    lost: dict[int, str] = field(default_factory=dict)
    workers: list[Worker] = field(default_factory=list)
    said: "queue.Queue[tuple[Worker, str]]" = field(default_factory=queue.Queue)

    def work(self, todo: Iterator[int], deadline: float) -> Iterator[int]:
        """Numbers of cells as they are finished."""
        for number in self._up_to(todo, self.n_workers):
            self._give(self._start(), number)
        while any(worker.busy is not None for worker in self.workers):
            left = deadline - time.monotonic()
            try:
                worker, answer = self.said.get(timeout=max(0.0, min(left, 3600.0)))
            except queue.Empty:
                if left <= 0:
                    return
                continue
            was_at, worker.busy = worker.busy, None
            if answer:
                self.finished += 1
                yield int(answer)
            elif was_at is not None:  # its output ended: it is gone
                self._lose(worker, was_at)
            following = next(todo, None) if time.monotonic() < deadline else None
            if following is not None:
                self._give(worker if answer else self._start(), following)

    def _lose(self, worker: Worker, number: int) -> None:
        self.lost[number] = f"its process ended with {worker.process.wait()}"
        self.workers.remove(worker)
        if not self.finished and len(self.lost) > 2 * self.n_workers:
            raise RuntimeError(f"worker processes do not run here: {self.lost[number]}; use n_jobs=1")

    def _up_to(self, todo: Iterator[int], count: int) -> list[int]:
        return [number for _, number in zip(range(count), todo, strict=False)]

    def _start(self) -> Worker:
        home = str(Path(electorate.__file__).parent.parent)
        paths = [home, *filter(None, [os.environ.get("PYTHONPATH")])]
        environment = {**os.environ, **dict.fromkeys(ONE_THREAD, "1"), "PYTHONPATH": os.pathsep.join(paths)}
        process = subprocess.Popen(
            [sys.executable, "-W", "ignore", "-m", "electorate.comparison.worker", self.folder],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
            text=True,
            start_new_session=True,  # Ctrl-C is for us; we tell them
        )
        worker = Worker(process)
        self.workers.append(worker)
        threading.Thread(target=self._listen, args=(worker,), daemon=True).start()
        return worker

    def _listen(self, worker: Worker) -> None:
        for line in worker.process.stdout:
            self.said.put((worker, line.strip()))
        self.said.put((worker, ""))

    def _give(self, worker: Worker, number: int) -> None:
        worker.busy = number
        with suppress(OSError):  # it died: its output has ended too, and that is noticed
            worker.process.stdin.write(f"{number}\n")
            worker.process.stdin.flush()

    def stop(self) -> None:
        for worker in self.workers:
            worker.process.kill()
        for worker in self.workers:
            worker.process.wait()
            with suppress(OSError):
                worker.process.stdin.close()
