"""Fits in processes: the same results, and what happens to lost ones."""

import os
import signal
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from sklearn.datasets import load_iris

import electorate
from electorate.comparison import compare as driver
from electorate.comparison import workers
from electorate.comparison.fits import Failed, Fit
from electorate.comparison.workers import ProcessPool, Worker
from tests.comparison.small_comparisons import NAMES, answer_without_seconds, table_without_seconds

OPTIONS = {"algorithms": NAMES, "folds": 2, "quick": True, "check_up": False}


@pytest.fixture(scope="module")
def here():
    """In this process."""
    return electorate.compare(*load_iris(return_X_y=True), n_jobs=1, **OPTIONS)


def test_processes_give_what_this_process_gives_and_run_no_code_of_the_current_folder(here, tmp_path, monkeypatch):
    (tmp_path / "random.py").write_text("import pathlib; pathlib.Path('was_run').touch(); raise SystemExit(3)")
    (tmp_path / "numpy.py").write_text("import pathlib; pathlib.Path('was_run').touch(); raise SystemExit(3)")
    monkeypatch.chdir(tmp_path)
    there = electorate.compare(*load_iris(return_X_y=True), n_jobs=2, **OPTIONS)
    assert table_without_seconds(there) == table_without_seconds(here)
    assert answer_without_seconds(there) == answer_without_seconds(here)
    assert there.model.digest_ == here.model.digest_
    assert not (tmp_path / "was_run").exists()
    assert not there.failed


def test_a_fit_whose_worker_is_killed_is_run_again(here, monkeypatch):
    """Once: the result is the same. Every time: the fit failed, with the reason, and the others count."""
    start, killed = Worker.start, []

    def start_and_kill(self, fit):
        start(self, fit)
        if fit == Fit(1, 0) and len(killed) < most:
            killed.append(self.process.pid)
            os.kill(self.process.pid, signal.SIGKILL)

    monkeypatch.setattr(Worker, "start", start_and_kill)
    for most, n_killed in ((1, 1), (9, 2)):
        killed.clear()
        there = electorate.compare(*load_iris(return_X_y=True), n_jobs=2, **OPTIONS)
        assert len(killed) == n_killed
        if most == 1:
            assert table_without_seconds(there) == table_without_seconds(here)
            assert there.model.digest_ == here.model.digest_
        else:
            name = there.plan.algorithm(1).name
            assert "was killed by signal 9 (out of memory?), twice" in there.failed[name]
            assert f"failed: {name}" in str(there)
            assert there.winner != name
            assert there.ranking.n_rows == 150  # of all folds


class FakeWorker:
    """A worker that answers without a process. answers: "" for a process that dies, or a reason why it cannot write."""

    made: list["FakeWorker"] = []  # noqa: RUF012

    def __init__(self, folder, answers) -> None:
        self.answers, self.fit, self.stopped = answers, None, False
        self.made.append(self)

    def start(self, fit) -> None:
        self.fit = fit
        self.answers.put((self, self.script(fit)))

    def why_it_ended(self) -> str:
        return "its process was killed by signal 9 (out of memory?)"

    def stop(self) -> None:
        self.stopped = True


def pool_of(monkeypatch, script, n_workers: int = 2) -> ProcessPool:
    monkeypatch.setattr(FakeWorker, "script", staticmethod(script), raising=False)
    monkeypatch.setattr(workers, "Worker", FakeWorker)
    return ProcessPool("nowhere", n_workers)


def run(pool, fits, left=lambda: 100.0):
    done = {}
    pool.run(fits, lambda fit: True, left, lambda fit, lost=None: done.update({fit: lost}))
    return done


def test_a_lost_fit_is_tried_twice_and_then_reported(monkeypatch):
    tried = []

    def script(fit):
        tried.append(fit)
        return "" if fit.candidate == 3 else "done"

    fits = [Fit(c, 0) for c in range(6)]
    done = run(pool_of(monkeypatch, script), fits)
    assert sorted(done) == fits
    assert [fit for fit, lost in done.items() if isinstance(lost, Failed)] == [Fit(3, 0)]
    assert "twice; the same command tries again" in done[Fit(3, 0)].message
    assert tried.count(Fit(3, 0)) == 2
    assert len(tried) == 7


def test_processes_that_never_run_are_no_failure_of_an_algorithm(monkeypatch):
    with pytest.raises(RuntimeError, match=r"worker processes fail to run.*n_jobs=1"):
        run(pool_of(monkeypatch, lambda fit: ""), [Fit(c, 0) for c in range(3)])


def test_a_folder_that_cannot_be_written_ends_with_the_path_and_a_hint(monkeypatch):
    answer = "cannot write /full/fits/0001-00.fit: No space left on device"
    with pytest.raises(OSError, match=r"/full/fits/0001-00\.fit: No space left on device; the same command resumes"):
        run(pool_of(monkeypatch, lambda fit: answer), [Fit(1, 0)])


def test_fits_that_run_when_no_time_is_left_are_stopped(monkeypatch):
    pool = pool_of(monkeypatch, lambda fit: "done")
    seconds = iter([5.0, 5.0, -1.0])
    done = run(pool, [Fit(c, 0) for c in range(9)], lambda: next(seconds, -1.0))
    assert done == {}
    assert sum(worker.stopped for worker in FakeWorker.made[-2:]) >= 1
    assert all(worker.fit is None for worker in pool.workers)


def test_a_worker_that_cannot_write_says_which_file(tmp_path, monkeypatch, capsys):
    """The loop of a worker process, in this process."""
    folder = tmp_path / "c"
    electorate.compare(*load_iris(return_X_y=True), n_jobs=1, folder=folder, **OPTIONS)
    journal = workers.Journal(folder)

    def full(self, fit, result):
        raise OSError(28, "No space left on device", str(folder / "fits" / "0001-01.fit"))

    monkeypatch.setattr(workers.Journal, "__setitem__", full)
    monkeypatch.setattr(workers, "restore", lambda path: None)
    runner = SimpleNamespace(plan=journal.stored_plan(), splits=None, run=lambda fit: Failed("x"))
    monkeypatch.setattr(workers, "FitRunner", lambda plan, rows: runner)
    monkeypatch.setattr(workers.Journal, "use", lambda self, plan, splits: None)
    monkeypatch.setattr(sys, "stdin", ["1 1\n"])
    stdout = sys.stdout
    workers.main(str(folder))
    monkeypatch.setattr(sys, "stdout", stdout)
    assert f"cannot write {folder / 'fits' / '0001-01.fit'}: No space left on device" in capsys.readouterr().out


@pytest.mark.parametrize(("n_jobs", "wanted"), [(None, 3), (-1, 3), (2, 2), (-2, 2)])
def test_n_jobs(n_jobs, wanted, monkeypatch):
    """-1 and None: all cores."""
    asked = []

    class AskedError(Exception):
        pass

    def pool(folder, n_workers):
        asked.append(n_workers)
        raise AskedError

    monkeypatch.setattr(driver, "ProcessPool", pool)
    monkeypatch.setattr(driver.joblib, "cpu_count", lambda: 3)
    monkeypatch.setattr(driver.joblib, "effective_n_jobs", lambda n: n if n > 0 else 3 + 1 + n)
    with pytest.raises(AskedError):
        electorate.compare(*load_iris(return_X_y=True), n_jobs=n_jobs, **OPTIONS)
    assert asked == [wanted]


def test_no_more_processes_than_tables_fit_into_memory(monkeypatch):
    rows = SimpleNamespace(matrix=load_iris(return_X_y=True)[0])
    monkeypatch.setattr(driver, "free_memory", lambda: 2.5 * driver.COPIES * rows.matrix.nbytes)
    assert driver._fitting_processes(8, rows) == 2
    monkeypatch.setattr(driver, "free_memory", lambda: 10)
    assert driver._fitting_processes(8, rows) == 1
    monkeypatch.setattr(driver, "free_memory", lambda: None)
    assert driver._fitting_processes(8, rows) == 8


def test_workers_read_this_package_first(monkeypatch, tmp_path):
    started = {}

    def popen(command, **options):
        started.update(options, command=command)
        raise InterruptedError

    monkeypatch.setattr(workers.subprocess, "Popen", popen)
    monkeypatch.setenv("PYTHONPATH", f"{os.pathsep}{tmp_path}")
    with pytest.raises(InterruptedError):
        Worker("folder", None)
    home = str(Path(electorate.__file__).parent.parent)
    assert started["env"]["PYTHONPATH"].split(os.pathsep) == [home, str(tmp_path)]  # no empty entry: the current folder
    assert started["command"][:2] == [sys.executable, "-P"]
    assert started["start_new_session"]  # Ctrl-C reaches this process only
