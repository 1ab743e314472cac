"""Threads, shards, processes, signals: the model never depends on them, and nothing hangs or aborts.

Time-outs are ten times what is promised.
"""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from typing import Any

import joblib
import numpy as np
import pytest
from samples import ROOT, messy, noisy, run_python
from sklearn.base import clone

from electorate import AdaBoostClassifier, Trees, threads
from electorate.tables.batches import prefetched

THREADS = [1, 2, 3, 4, 64]
SHARDS = [1, 2, 7, 64]
TIMEOUT = 120
posix_only = pytest.mark.skipif(os.name != "posix", reason="fork and signals of POSIX")


def fit(X: Any, y: Any, weight: Any = None, shards: int | None = None, **options: Any) -> AdaBoostClassifier:
    model = AdaBoostClassifier(**{"n_estimators": 15, **options})
    model._n_shards = shards
    return model.fit(X, y, sample_weight=weight)


def digest_of_fit(n_jobs: int | None, seed: int) -> str:
    """At the top of the module, where other processes can find it."""
    X, y = messy(rows=500, seed=seed)
    return fit(X, y, n_jobs=n_jobs).digest_


# ---------------------------------------------------------------- threads and shards


@pytest.mark.parametrize("labels", [2, 3])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("max_bins", [255, "exact"])
def test_any_number_of_threads_and_shards(labels: int, weighted: bool, max_bins: Any) -> None:
    X, y = messy(rows=400, labels=labels)
    weight = np.random.default_rng(0).random(len(y)) if weighted else None
    options = {"max_bins": max_bins, "categorical_features": [3], "n_estimators": 8}
    model = fit(X, y, weight, n_jobs=1, **options)
    decision = model.decision_function(X)
    for n_jobs in THREADS:
        other = fit(X, y, weight, n_jobs=n_jobs, **options)
        assert other.digest_ == model.digest_, n_jobs
        assert np.array_equal(other.decision_function(X), decision), n_jobs
        assert other.history_["objective"].tolist() == model.history_["objective"].tolist()
        assert other.history_["train_error"].tolist() == model.history_["train_error"].tolist()
    for shards in SHARDS:
        assert fit(X, y, weight, shards, n_jobs=1 + shards % 2, **options).digest_ == model.digest_, shards


@pytest.mark.parametrize("depth", [1, 4])
def test_64_threads(depth: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a machine of 64 CPUs, where every task is worth a thread."""
    monkeypatch.setattr(threads, "cpus", lambda: 64)
    monkeypatch.setattr(threads, "worthwhile", lambda seconds: 64)
    X, y = messy(rows=2000, labels=3)
    found = [fit(X, y, shards=n, n_jobs=n, estimator=Trees(depth), categorical_features=[3]) for n in (1, 2, 4, 16, 64)]
    assert len({model.digest_ for model in found}) == 1


def test_threads_on_a_table_of_many_blocks() -> None:
    """Long enough for several blocks of rows, sketches over their capacity, and threads by default."""
    X, y = noisy(rows=60_000, columns=9)
    assert X.size > threads.SMALL_WORK
    models = [fit(X, y, n_jobs=n_jobs, n_estimators=8) for n_jobs in (None, 1, 2, 5)]
    assert len({model.digest_ for model in models}) == 1
    decisions = [model.decision_function(X).tobytes() for model in models]
    assert len(set(decisions)) == 1


def test_fewer_rows_than_threads() -> None:
    for rows in (2, 3, 5):
        X, y = np.arange(float(rows))[:, None], np.arange(rows) % 2
        assert len({fit(X, y, n_jobs=n_jobs).digest_ for n_jobs in THREADS}) == 1


def test_how_many_threads() -> None:
    large = 10 * threads.SMALL_WORK
    cpus = joblib.cpu_count()
    assert threads.count_jobs(None, large) == cpus
    assert threads.count_jobs(None, 10) == 1
    assert threads.count_jobs(3, 10) == 3
    assert threads.count_jobs(-1, 10) == cpus
    assert threads.count_jobs(-1000, 10) == 1
    assert threads.count_jobs(10**9, 10) == threads.MOST_JOBS
    found: list[int] = []
    thread = threading.Thread(target=lambda: found.append(threads.count_jobs(None, large)))
    thread.start()
    thread.join()
    assert found == [1]


def test_no_thread_stays_behind() -> None:
    X, y = noisy()
    before = threading.active_count()
    fit(X, y, n_jobs=4).predict(X)
    with pytest.raises(ValueError, match="infinity"):
        fit(np.where(X > 2, np.inf, X), y, n_jobs=4)
    assert threading.active_count() == before


@pytest.mark.process
@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_inside_joblib(backend: str) -> None:
    expected = [digest_of_fit(1, seed) for seed in (0, 0, 1, 1)]
    tasks = (joblib.delayed(digest_of_fit)(n_jobs, seed) for seed in (0, 1) for n_jobs in (None, 2))
    assert joblib.Parallel(n_jobs=2, backend=backend, timeout=TIMEOUT)(tasks) == expected


def test_two_fits_in_two_threads_at_once() -> None:
    expected = [digest_of_fit(1, seed) for seed in range(4)]
    start = threading.Barrier(4)
    found: dict[int, str] = {}

    def work(seed: int) -> None:
        start.wait()
        for _ in range(5):
            found[seed] = digest_of_fit(1 + seed % 2, seed)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(TIMEOUT)
    assert [found.get(seed) for seed in range(4)] == expected


def test_one_model_used_by_several_threads() -> None:
    """The lookup tables are made when the first prediction asks for them, here by all at once."""
    X, y = messy(rows=500)
    model = fit(X, y)
    expected = clone(model).fit(X, y).decision_function(X).tobytes()
    start = threading.Barrier(8)
    found: list[bytes] = []

    def work() -> None:
        start.wait()
        found.append(model.decision_function(X).tobytes())

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(TIMEOUT)
    assert found == [expected] * 8


# ---------------------------------------------------------------- processes


@pytest.mark.process
@posix_only
def test_fork_after_fit() -> None:
    """By hand: the child predicts with the parent's model and fits its own, with threads, and reports by a pipe."""
    X, y = messy(rows=500, seed=1)
    model = fit(X, y, n_jobs=2)
    expected = model.digest_, model.decision_function(X).tobytes()
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            found = fit(X, y, n_jobs=2).digest_, model.decision_function(X).tobytes()
            os.write(writer, pickle.dumps(found == expected))
        finally:
            os._exit(0)
    os.close(writer)
    deadline = time.monotonic() + TIMEOUT
    while os.waitpid(child, os.WNOHANG) == (0, 0):
        if time.monotonic() > deadline:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            pytest.fail("the child hangs")
        time.sleep(0.01)
    with open(reader, "rb") as pipe:
        assert pickle.loads(pipe.read())


@pytest.mark.process
@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_processes_of_multiprocessing(method: str) -> None:
    if method not in multiprocessing.get_all_start_methods():
        pytest.skip(f"this system has no {method}")
    expected = [digest_of_fit(2, seed) for seed in range(2)]
    with multiprocessing.get_context(method).Pool(1) as workers:
        found = workers.starmap_async(digest_of_fit, [(2, 0), (2, 1)]).get(TIMEOUT)
        alone = workers.starmap_async(digest_of_fit, [(None, 0), (None, 1)]).get(TIMEOUT)
    assert found == alone == expected


@pytest.mark.process
def test_another_process_makes_the_same_model() -> None:
    code = "from test_threads_and_processes import digest_of_fit; print(digest_of_fit(None, 5))"
    printed, _ = run_python(
        code,
        PYTHONPATH=os.pathsep.join(map(str, (ROOT, ROOT / "tests", ROOT / "tests" / "engines"))),
        PYTHONHASHSEED="77",
    )
    assert printed.split() == [digest_of_fit(1, 5)]


# ---------------------------------------------------------------- Ctrl-C

ENDLESS = """
import sys
import numpy as np
from electorate import AdaBoostClassifier
n_jobs, rows, work = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
rng = np.random.default_rng(0)
X = rng.normal(size=(rows, 20)).astype(np.float32)
y = (X[:, 0] + rng.normal(size=rows) > 0).astype(int)
model = AdaBoostClassifier(n_estimators=10, n_jobs=n_jobs).fit(X[:1000], y[:1000])
digest = model.digest_
model.set_params(n_estimators=10**7)
print("ready", flush=True)
try:
    while True:
        model.fit(X, y) if work == "fit" else model.predict(X)
except KeyboardInterrupt:
    assert model.digest_ == digest, "the interrupted fit left something behind"
    model.predict(X[:10])
    print("interrupted", flush=True)
"""


@pytest.mark.process
@posix_only
@pytest.mark.parametrize(("work", "n_jobs"), [("fit", 1), ("fit", 2), ("predict", 2)])
def test_ctrl_c(work: str, n_jobs: int) -> None:
    """A KeyboardInterrupt within 0.5 s; the time-out is ten times that."""
    process = subprocess.Popen(
        [sys.executable, "-c", ENDLESS, str(n_jobs), "300000", work],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        time.sleep(1)
        assert process.poll() is None
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=5)
    finally:
        process.kill()
        process.wait()
    assert (out, process.returncode) == ("interrupted\n", 0), err


@pytest.mark.parametrize("allowed", [0, 1, 2])
@pytest.mark.parametrize("family", [None, Trees(3)])
def test_without_permission_to_start_threads(family: Any, allowed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """As under `ulimit -u` or pids.max: the fit goes on with the threads that there are."""
    X, y = noisy(rows=2000)
    digest = fit(X, y, estimator=family, n_jobs=1, n_estimators=3).digest_
    start, begun = threading.Thread.start, []

    def limited(thread: threading.Thread) -> None:
        if len(begun) == allowed:
            raise RuntimeError("can't start new thread")
        begun.append(thread)
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", limited)
    monkeypatch.setattr(threads, "cpus", lambda: 4)
    model = fit(X, y, estimator=family, shards=4, n_jobs=4, n_estimators=3)
    assert model.digest_ == digest
    assert len(begun) == allowed
    np.testing.assert_array_equal(model.predict(np.tile(X, (50, 1))), np.tile(model.predict(X), 50))
    assert not any(thread.is_alive() for thread in begun)
    assert sum(prefetched(iter(range(10)))) == 45
