"""Runs the missing cells, in this process or in processes that can be stopped at any moment, and shows the progress.

A worker process is `python -m electorate.comparison.workers FOLDER`. It reads cell numbers from its input, writes the
cells' files and prints their numbers. Nothing is pickled or forked, and a worker that dies loses its cell only.
"""

import math
import os
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, TextIO

import numpy as np

import electorate
from electorate.comparison.cells import Cell, Failed, Protocol, Result, Screened, Tested, run
from electorate.comparison.journal import ROWS, Journal, Store
from electorate.comparison.race import STAGE_ENDS, Race, Reserve, Results
from electorate.comparison.rows import Rows, restore
from electorate.escape import literal

SECONDS, SECONDS_ON_TERMINAL = 10.0, 0.1  # between two lines of progress
ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


@dataclass(frozen=True)
class WorkLimits:
    """seconds: for cells and refits together. n_jobs: processes."""

    n_jobs: int
    seconds: float = math.inf
    started: float = field(default_factory=time.monotonic)

    def stage_end(self, race: Race, stage: int) -> float:
        """When a stage ends, whatever is left to do: rungs must leave time for the cross-validation."""
        shares = STAGE_ENDS[len(race.protocol.rungs)]
        return self.started + self.seconds * (shares[stage] if stage < len(shares) else 1.0)


def run_cells(race: Race, rows: Rows, journal: Store, limits: WorkLimits, reserve: Reserve, progress: bool) -> Results:
    """Run the cells of all stages that the journal lacks; returns the results of all that are finished.

    reserve: the time for refits, which is left.
    """
    protocol = race.protocol
    numbers = {cell: number for number, cell in enumerate(protocol.cells)}
    results = _results(protocol, journal)
    display = Progress(race, results, sys.stderr if progress else None)
    try:
        for stage in range(race.n_stages):
            wanted = race.cells_of(stage, results)
            display.start(stage, [cell for cell in wanted if cell not in results])
            missing = [numbers[cell] for cell in wanted if cell not in results]

            def done(number: int) -> None:
                result = journal.get(number)
                reserve.add(protocol.cells[number], result)
                display.done(protocol.cells[number], result)

            def deadline(stage: int = stage) -> float:
                end = limits.started + limits.seconds - reserve.seconds
                return min(end, limits.stage_end(race, stage))

            lost = _run_stage(missing, protocol, rows, journal, limits.n_jobs, deadline, done)
            finished = {protocol.cells[number]: journal.get(number) for number in missing}
            results |= {cell: result for cell, result in finished.items() if result is not None}
            results |= {protocol.cells[number]: Failed(why) for number, why in lost.items()}
    finally:
        display.end()
    return results


def _run_stage(
    missing: list[int],
    protocol: Protocol,
    rows: Rows,
    journal: Store,
    n_jobs: int,
    deadline: Callable[[], float],
    done: Callable[[int], None],
) -> dict[int, str]:
    """Run the cells of one stage; returns those whose worker died, with the reason."""
    if missing and n_jobs > 1 and isinstance(journal, Journal):
        return _run_in_processes(missing, journal.folder, n_jobs, deadline, done)
    for number in missing:  # one after another; a cell that has begun is finished
        if time.monotonic() >= deadline():
            break
        journal[number] = run(protocol.cells[number], rows, protocol)
        done(number)
    return {}


def _results(protocol: Protocol, journal: Store) -> Results:
    results = {cell: journal.get(number) for number, cell in enumerate(protocol.cells)}
    return {cell: result for cell, result in results.items() if result is not None}


class Progress:
    """Shows cells done, the best algorithm so far and the time left: on a terminal in one line that is rewritten.

    finished: results of an earlier run. file None: nothing is written.
    """

    def __init__(self, race: Race, finished: Results, file: TextIO | None) -> None:
        self.race, self.protocol, self.file = race, race.protocol, file
        self.stage, self.n_done, self.n_cells = 0, 0, 0
        self._rewrites = file is not None and file.isatty()
        self._width = 0
        self._losses: dict[tuple[int, int], list[float]] = {}
        for cell, result in finished.items():
            self._add(cell, result)
        self._started = self._updated = time.monotonic()
        if finished and file is not None:
            file.write(f"resuming: {len(finished)} cells are done{self._best()}\n")
            file.flush()

    def start(self, stage: int, missing: list[Cell]) -> None:
        self.stage, self.n_done, self.n_cells = stage, 0, len(missing)
        if self.race.n_stages > 1:  # losses of different stages are of different numbers of rows
            self._losses = {}
        self._started = time.monotonic()

    def _add(self, cell: Cell, result: Result | None) -> None:
        if isinstance(result, Tested | Screened):
            self._losses.setdefault((cell.algorithm, cell.setting), []).append(float(np.min(result.inner)))

    def done(self, cell: Cell, result: Result | None) -> None:
        self.n_done += 1
        self._add(cell, result)
        now = time.monotonic()
        if now - self._updated >= (SECONDS_ON_TERMINAL if self._rewrites else SECONDS):
            self._updated = now
            left = (now - self._started) / self.n_done * (self.n_cells - self.n_done)
            where = f"fold {cell.fold + 1}/{self.protocol.n_folds}"
            if cell.rung is not None:
                where = f"screening on {self.protocol.rungs[cell.rung]:,} rows"
            counted = f"[{self.n_done}/{self.n_cells}] {self._name(cell.algorithm)}, {where}{self._best()}"
            more = "of this stage" if self.stage < self.race.n_stages - 1 else "left"
            self._write(f"{counted}; about {left:.0f} s {more}")

    def end(self) -> None:
        if self._width:
            self._write("")
            self._write("")

    def _name(self, algorithm: int) -> str:
        return literal(self.protocol.algorithms[algorithm].name, 30)

    def _best(self) -> str:
        """By losses inside the training rows: the rows that are tested take no part."""
        if not self._losses:
            return ""
        (a, _), losses = min(self._losses.items(), key=lambda item: float(np.mean(item[1])))
        metric = self.protocol.metric
        return f"; best so far {self._name(a)} {metric.shown(float(np.mean(losses))):.4f}"

    def _write(self, text: str) -> None:
        if self.file is not None:
            self.file.write("\r" + text.ljust(self._width) if self._rewrites else text + "\n")
            self.file.flush()
            self._width = len(text) if self._rewrites else 0


class Worker:
    """A process that runs one cell at a time. Its answers go to the queue; "" follows when its output ends."""

    def __init__(self, folder: str, answers: "queue.Queue[tuple[Worker, str]]") -> None:
        paths = [str(Path(electorate.__file__).parent.parent), *filter(None, [os.environ.get("PYTHONPATH")])]
        self.busy: int | None = None
        self.process: Any = subprocess.Popen(
            [sys.executable, "-W", "ignore", "-m", "electorate.comparison.workers", folder],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, **dict.fromkeys(ONE_THREAD, "1"), "PYTHONPATH": os.pathsep.join(paths)},
            text=True,
            start_new_session=True,  # Ctrl-C reaches this process only, which then stops the workers
        )
        threading.Thread(target=self._forward, args=(answers,), daemon=True).start()

    def _forward(self, answers: "queue.Queue[tuple[Worker, str]]") -> None:
        for line in self.process.stdout:
            answers.put((self, line.strip()))
        answers.put((self, ""))

    def start(self, number: int) -> None:
        self.busy = number
        with suppress(OSError):  # it died: its output has ended too
            self.process.stdin.write(f"{number}\n")
            self.process.stdin.flush()


def _run_in_processes(
    missing: list[int], folder: str, n_workers: int, deadline: Callable[[], float], done: Callable[[int], None]
) -> dict[int, str]:
    """Run cells in processes. Those that run at the deadline are stopped. Returns the cells whose worker died.

    done: called with the number of each finished cell.
    """
    todo, n_workers, n_finished = iter(missing), min(n_workers, len(missing)), 0
    answers: queue.Queue[tuple[Worker, str]] = queue.Queue()
    lost: dict[int, str] = {}
    workers: list[Worker] = []
    try:
        for number in islice(todo, n_workers):
            workers.append(Worker(folder, answers))
            workers[-1].start(number)
        while any(worker.busy is not None for worker in workers):
            left = deadline() - time.monotonic()
            try:
                worker, answer = answers.get(timeout=max(0.0, min(left, 60.0)))
            except queue.Empty:
                if left <= 0:
                    break
                continue
            was_at, worker.busy = worker.busy, None
            if answer:
                n_finished += 1
                done(int(answer))
            elif was_at is not None:  # the process has ended
                lost[was_at] = f"its process ended with {worker.process.wait()}"
                workers.remove(worker)
                if not n_finished and len(lost) > 2 * n_workers:
                    raise RuntimeError(f"worker processes fail to run: {lost[was_at]}; use n_jobs=1")
            following = next(todo, None) if time.monotonic() < deadline() else None
            if following is not None:
                if not answer:
                    worker = Worker(folder, answers)
                    workers.append(worker)
                worker.start(following)
    finally:
        for worker in workers:
            worker.process.kill()
        for worker in workers:
            worker.process.wait()
            with suppress(OSError):
                worker.process.stdin.close()
    return lost


def main(folder: str) -> None:
    """The loop of a worker process; it ends with its input."""
    journal = Journal(folder)
    protocol, rows = journal.read_protocol(), restore(journal.path(ROWS))
    answers, sys.stdout = sys.stdout, sys.stderr  # what estimators print must not look like an answer
    for line in sys.stdin:
        journal[int(line)] = run(protocol.cells[int(line)], rows, protocol)
        print(int(line), file=answers, flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
