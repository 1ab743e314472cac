"""Runs the missing fits, in this process or in processes that can be stopped at any moment, and shows the progress.

A worker process is `python -P -m electorate.comparison.workers FOLDER`. It reads the numbers of fits from its input,
writes their files and prints their numbers. Nothing is pickled or forked. A fit whose process died is run once more, in
a new process: a process may be killed for memory, which says nothing about the algorithm.
"""

import math
import os
import queue
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, TextIO

import electorate
from electorate.comparison.fits import Failed, Fit, FitRunner, Plan, Result
from electorate.comparison.journal import ROWS, Journal, Store
from electorate.comparison.rows import restore
from electorate.comparison.schedule import Costs, Results, Schedule
from electorate.text import literal

SECONDS, SECONDS_ON_TERMINAL = 10.0, 0.1  # between two lines of progress
LAST_LINES = 5  # of what a worker printed before it died
LONGEST_FIT = 0.2  # of a time limit
CHOICE, LONGEST_CHOICE = 10, 0.2  # seconds of the choice, relative to those of a drop; of a time limit at most
ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
READY, CANNOT_WRITE = "ready", "cannot write"  # what a worker prints when it has imported; before a reason


@dataclass(frozen=True)
class WorkLimits:
    """seconds: for everything. n_jobs: processes. killable: whether fits must run where they can be stopped."""

    n_jobs: int
    seconds: float = math.inf
    started: float = field(default_factory=lambda: time.monotonic())

    @property
    def left(self) -> float:
        return self.started + self.seconds - time.monotonic()

    @property
    def of_a_fit(self) -> float:
        """Seconds that one fit may take: a slow one must not hold up the folds of the others."""
        return LONGEST_FIT * self.seconds


@dataclass
class Work:
    """What is run, and where. reserve: seconds that the steps after the fits need, as far as is known."""

    schedule: Schedule
    runner: FitRunner
    journal: Store
    limits: WorkLimits
    reserve: Callable[[Results, Costs], float]
    progress: "Progress"
    pool: "ProcessPool | None" = None
    costs: Costs = field(init=False)
    results: Results = field(default_factory=dict)
    interrupted: bool = False

    def __post_init__(self) -> None:
        self.costs = Costs(self.schedule.splits)
        self._reserved = self._deciding = 0.0

    @property
    def left(self) -> float:
        """Seconds for further fits."""
        return self.limits.left - self._reserved

    def run(self, only: list[Fit] | None = None) -> Results:
        """Run everything that the journal lacks, or only these fits. Ctrl-C ends it early, with what is finished."""
        try:
            if only is not None:
                self._run_some(only)
            while only is None and (fits := self._next_fits()):
                self._run_some(fits)
                choice = min(CHOICE * self._deciding, LONGEST_CHOICE * self.limits.seconds)
                self._reserved = self.reserve(self.results, self.costs) + choice
        except KeyboardInterrupt:
            if self.schedule.furthest(self.results) is None:
                raise
            self.interrupted = True
            self.progress.note("stopping: the best so far is handed over; Ctrl-C again stops at once")
        finally:
            if self.pool is not None:
                self.pool.stop()
            self.progress.end()
        return self.results

    def _next_fits(self) -> list[Fit]:
        """What to run next, and how long it took to decide which candidates are dropped."""
        started = time.monotonic()
        fits = self.schedule.next_fits(self.results)
        self._deciding = max(self._deciding, time.monotonic() - started)
        return fits

    def _run_some(self, fits: list[Fit]) -> None:
        missing = []
        for fit in fits:
            stored = self.journal.get(fit)
            if stored is None:
                missing.append(fit)
            else:
                self._done(fit, stored)
        self.progress.start(missing)
        if self.pool is not None and missing:
            self.pool.run(missing, self._may_start, lambda: self.left, self._read, self.limits.of_a_fit)
        else:
            for fit in missing:  # one after another; a fit that has begun is finished
                if self._may_start(fit):
                    self.journal[fit] = self.runner.run(fit)
                    self._read(fit)
        self.schedule.late |= {fit.candidate for fit in missing if fit not in self.results}

    def _may_start(self, fit: Fit) -> bool:
        """Whether there is time for a fit, by what is known of its candidate."""
        if fit.candidate in self.schedule.late:
            return False
        n_rows = len(self.schedule.splits.places[fit.split][1][0])
        return (self.costs.predict(fit.candidate, n_rows) or 0.0) < min(self.left, self.limits.of_a_fit)

    def _read(self, fit: Fit, lost: Failed | None = None) -> None:
        if lost is not None:  # not stored: another run tries again
            self._done(fit, lost)
            return
        result = self.journal.get(fit)
        assert result is not None, "a finished fit has a result"
        self._done(fit, result)

    def _done(self, fit: Fit, result: Result) -> None:
        self.results[fit] = result
        self.costs.add(fit, result)
        self.progress.done(fit, result)


class Progress:
    """Shows what is run and the time: on a terminal in one line that is rewritten. file None: nothing is written."""

    def __init__(self, plan: Plan, limits: WorkLimits, file: TextIO | None) -> None:
        self.plan, self.limits, self.file = plan, limits, file
        self._rewrites = file is not None and file.isatty()
        self._width, self._updated = 0, 0.0
        self._done = 0
        self._of = 0

    def start(self, missing: list[Fit]) -> None:
        self._of = self._done + len(missing)
        if missing:
            self.show(f"fitting {self._name(missing[0])}", at_once=self._done == 0)

    def done(self, fit: Fit, result: Result) -> None:
        self._done += 1
        self.show(self._name(fit) + (" failed" if isinstance(result, Failed) else ""), at_once=False)

    def show(self, what: str, at_once: bool = True) -> None:
        """Write what is done now; not at once: only if the last line is old enough."""
        now = time.monotonic()
        if at_once or now - self._updated >= (SECONDS_ON_TERMINAL if self._rewrites else SECONDS):
            self._updated = now
            spent = f"{now - self.limits.started:.0f} s"
            limit = "" if math.isinf(self.limits.seconds) else f" of {self.limits.seconds:.0f}"
            self._write(f"[{spent}{limit}] {self._done} fits done; {what}")

    def note(self, text: str) -> None:
        self._write(text)
        self._write("", ends=True)

    def end(self) -> None:
        if self._width:
            self._write("", ends=True)

    def _name(self, fit: Fit) -> str:
        return literal(self.plan.algorithm(fit.candidate).name, 30)

    def _write(self, text: str, ends: bool = False) -> None:
        if self.file is None:
            return
        try:
            self.file.write(
                "\r" + text.ljust(self._width) + "\r" * ends if self._rewrites else (text + "\n") * (not ends)
            )
            self.file.flush()
        except (OSError, ValueError):  # a progress line that cannot be written must not end the work
            self.file = None
        self._width = len(text) if self._rewrites else 0


class Worker:
    """A process that runs one fit at a time. Its answers go to the queue; "" follows when its output ends."""

    def __init__(self, folder: str, answers: "queue.Queue[tuple[Worker, str]]") -> None:
        own = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]
        paths = [str(Path(electorate.__file__).parent.parent), *own]
        self.fit: Fit | None = None
        self.began = math.inf  # until it is ready
        self.printed: deque[str] = deque(maxlen=LAST_LINES)
        self.process: Any = subprocess.Popen(
            [sys.executable, "-P", "-W", "ignore", "-m", "electorate.comparison.workers", folder],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, **dict.fromkeys(ONE_THREAD, "1"), "PYTHONPATH": os.pathsep.join(paths)},
            text=True,
            errors="replace",
            start_new_session=True,  # Ctrl-C reaches this process only, which then stops the workers
        )
        keep = partial(self.printed.extend, map(str.rstrip, self.process.stderr or []))
        self._reader = threading.Thread(target=keep, daemon=True)
        self._reader.start()
        threading.Thread(target=self._forward, args=(answers,), daemon=True).start()

    def _forward(self, answers: "queue.Queue[tuple[Worker, str]]") -> None:
        for line in self.process.stdout:
            answers.put((self, line.strip()))
        answers.put((self, ""))

    def start(self, fit: Fit) -> None:
        self.fit = fit
        self.began = self.began if math.isinf(self.began) else time.monotonic()
        with suppress(OSError):  # it died: its output has ended too
            self.process.stdin.write(f"{fit.candidate} {fit.split}\n")
            self.process.stdin.flush()

    def why_it_ended(self) -> str:
        code = self.process.wait()
        self._reader.join(1.0)
        killed = f"was killed by signal {-code} (out of memory?)" if code < 0 else f"ended with {code}"
        last = next((line for line in reversed(self.printed) if line.strip()), "")
        return f"its process {killed}" + (f": {last}" if last else "")

    def stop(self) -> None:
        self.process.kill()
        self.process.wait()
        with suppress(OSError):
            self.process.stdin.close()


class ProcessPool:
    """Worker processes that stay alive between calls of `run`. They import while the table is being checked."""

    def __init__(self, folder: str, n_workers: int) -> None:
        self.folder, self.n_workers = folder, n_workers
        self.answers: queue.Queue[tuple[Worker, str]] = queue.Queue()
        self.workers = [Worker(folder, self.answers) for _ in range(n_workers)]
        self.answered = False

    def shrink(self, n_workers: int) -> None:
        """Stop the workers for which there is no memory."""
        self.n_workers = n_workers
        while len(self.workers) > n_workers:
            self.workers.pop().stop()

    def run(
        self,
        fits: list[Fit],
        may_start: Callable[[Fit], bool],
        left: Callable[[], float],
        done: Callable[..., None],
        longest: float = math.inf,
    ) -> None:
        """Run fits. done(fit): called with each finished one.

        Those that run when no time is left, or longer than the longest may take, are stopped.
        """
        todo, tries = deque(fits), dict.fromkeys(fits, 0)
        while True:
            self._start(todo, may_start, left)
            if not any(worker.fit for worker in self.workers):
                return
            seconds = left()
            if seconds <= 0:
                break
            try:
                worker, answer = self.answers.get(timeout=min(seconds, 60.0, longest / 5))
            except queue.Empty:
                self._stop([one for one in self.workers if one.fit and time.monotonic() - one.began > longest])
                continue
            if answer == READY:  # its fit begins now
                worker.began = time.monotonic()
                continue
            fit, worker.fit = worker.fit, None
            if answer.startswith(CANNOT_WRITE):
                raise OSError(f"{answer}; the same command resumes when that is repaired")
            if answer and fit is not None:
                self.answered = True
                done(fit)
            elif not answer and worker in self.workers:  # the process has ended
                self.workers.remove(worker)
                if fit is not None:
                    self._lost(fit, tries, todo, worker.why_it_ended(), done)
        self._stop([worker for worker in self.workers if worker.fit is not None])

    def _stop(self, workers: list[Worker]) -> None:
        """Stop these workers, whatever they run."""
        for worker in workers:
            worker.stop()
            self.workers.remove(worker)

    def _start(self, todo: deque[Fit], may_start: Callable[[Fit], bool], left: Callable[[], float]) -> None:
        """Give every idle worker a fit, and start as many workers as there are fits for."""
        while todo and left() > 0:
            if not may_start(todo[0]):
                todo.popleft()
                continue
            idle = next((worker for worker in self.workers if worker.fit is None), None)
            if idle is None:
                if len(self.workers) >= self.n_workers:
                    return
                idle = Worker(self.folder, self.answers)
                self.workers.append(idle)
            idle.start(todo.popleft())

    def _lost(self, fit: Fit, tries: dict[Fit, int], todo: deque[Fit], why: str, done: Callable[..., None]) -> None:
        tries[fit] += 1
        if tries[fit] == 1:
            todo.append(fit)
        elif not self.answered:
            raise RuntimeError(f"worker processes fail to run: {why}; use n_jobs=1, or run the same command again")
        else:
            done(fit, Failed(f"{why}, twice; the same command tries again"))

    def stop(self) -> None:
        self._stop(list(self.workers))


def main(folder: str) -> None:
    """The loop of a worker process; it ends with its input. The folder has a plan when the first line comes."""
    journal, runner = Journal(folder), None
    answers, sys.stdout = sys.stdout, sys.stderr  # what estimators print must not look like an answer
    print(READY, file=answers, flush=True)
    for line in sys.stdin:
        if runner is None:
            runner = FitRunner(journal.stored_plan(), restore(journal.path(ROWS)))
            journal.use(runner.plan, runner.splits)
        fit = Fit(*map(int, line.split()))
        result = runner.run(fit)
        try:
            journal[fit] = result
            print(line.strip(), file=answers, flush=True)
        except OSError as error:
            print(f"{CANNOT_WRITE} {error.filename or folder}: {error.strerror}", file=answers, flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
