"""Faults on a Dask cluster, each a function of a client that makes one happen and checks what came of it.

`make test` runs each once, `make test-dask` many times and keeps the log. A case returns what it saw.
"""

from __future__ import annotations

import os
import signal
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from dask_cluster import N_WORKERS, addresses, count_seats, cuts, end, make_client, scattered, seats
from sklearn.base import clone
from training_cases import noisy, plain

from electorate import AdaBoostClassifier, AdaBoostRClassifier, Checkpoint, RealAdaBoostClassifier, Trees
from electorate.messages import WorkerLostError
from electorate.training.callbacks import Callback

IN_TIME = 10.0  # seconds from the fault to the error
ROUNDS = 40


class At(Callback):
    """Do something after a round, a moment later and so in the middle of another one."""

    def __init__(self, number: int, act: Callable[[], None], moment: float = 0.0) -> None:
        self.number = number
        self.act = act
        self.moment = moment
        self.done: float | None = None
        self.last = self.pause = 0.0  # when the last round ended; the longest time between two rounds

    def prepare(self) -> None:
        pass

    def on_fit_task_end(self, estimator: Any, context: Any) -> bool:
        hooks = getattr(estimator, "_hooks", None)
        now = time.monotonic()
        self.last, self.pause = now, max(self.pause, now - self.last if self.done else 0.0)
        if hooks is not None and hooks.now.n_rounds == self.number and self.done is None:
            self.prepare()
            self.done = time.monotonic()
            if self.moment:
                threading.Timer(self.moment, self.act).start()
            else:
                self.act()
        return False


def pids(client: Any) -> dict[str, int]:
    return dict(client.run(os.getpid, on_error="ignore"))


class Signal(At):
    """Send a signal to a worker that has a seat."""

    def __init__(self, client: Any, seed: int, how: signal.Signals, number: int = 3) -> None:
        super().__init__(number, lambda: os.kill(self.pid, how), 0.001 * (seed % 7))
        self.client = client
        self.seed = seed

    def prepare(self) -> None:
        taken = sorted(at for at, count in self.client.run(count_seats, on_error="ignore").items() if count)
        self.address = taken[self.seed % len(taken)]
        self.pid = self.client.run(os.getpid, workers=[self.address])[self.address]


def model_of(seed: int) -> Any:
    """Another booster and family each time."""
    models = [
        AdaBoostClassifier(),
        AdaBoostClassifier(Trees(3)),
        RealAdaBoostClassifier(Trees(2)),
        AdaBoostRClassifier(),
    ]
    return models[seed % len(models)].set_params(n_estimators=ROUNDS)


def data(seed: int) -> tuple[Any, Any]:
    return plain(2 + seed % 2, 3000, seed)


def one_of(client: Any, seed: int) -> str:
    there = addresses(client)
    return there[seed % len(there)]


def lost_in_time(client: Any, seed: int, sent: Signal) -> dict[str, Any]:
    """A fit whose worker gets a signal ends with an error that names it, in time."""
    X, y = data(seed)
    model = model_of(seed).set_callbacks(sent)
    with pytest.raises(WorkerLostError) as caught:
        model.fit(*scattered((X, y), cuts(len(y), 7)))
    took = time.monotonic() - (sent.done or 0.0)
    assert caught.value.address == sent.address
    assert sent.address in str(caught.value)
    assert took < IN_TIME
    assert len(model.steps_) >= 3  # what there was is kept
    return {"seconds": took}


def worker_killed(client: Any, seed: int) -> dict[str, Any]:
    return lost_in_time(client, seed, Signal(client, seed, signal.SIGKILL))


def worker_stopped(client: Any, seed: int) -> dict[str, Any]:
    """Its connections stay open, and nothing comes."""
    sent = Signal(client, seed, signal.SIGSTOP)
    try:
        return lost_in_time(client, seed, sent)
    finally:
        os.kill(sent.pid, signal.SIGCONT)


def worker_killed_with_checkpoint(client: Any, seed: int) -> dict[str, Any]:
    """The fit goes on with the workers that are left, to the same model."""
    X, y = data(seed)
    with tempfile.TemporaryDirectory() as folder:
        act = Signal(client, seed, signal.SIGKILL, 5)
        model = model_of(seed).set_callbacks(act, Checkpoint(Path(folder) / "model", every=10))
        model.fit(*scattered((X, y), cuts(len(y), 7)))
    assert act.done is not None
    assert model.digest_ == model_of(seed).fit(X, y).digest_
    assert not hasattr(model, "_resume")
    assert not hasattr(model, "_rescued")
    return {"seconds": act.pause}


def worker_killed_while_binning(client: Any, seed: int) -> dict[str, Any]:
    """Before any round: without a checkpoint an error, with one the fit begins anew."""
    X, y = data(seed)
    pid = pids(client)[one_of(client, seed)]
    with tempfile.TemporaryDirectory() as folder:
        model = model_of(seed).set_callbacks(Checkpoint(Path(folder) / "model"))
        threading.Timer(0.05 + 0.01 * (seed % 10), lambda: os.kill(pid, signal.SIGKILL)).start()
        began = time.monotonic()
        model.fit(*scattered((X, y), cuts(len(y), 7)))
    assert model.digest_ == model_of(seed).fit(X, y).digest_
    return {"seconds": time.monotonic() - began}


def worker_added(client: Any, seed: int) -> dict[str, Any]:
    X, y = data(seed)
    before = len(addresses(client))
    act = At(3, lambda: client.cluster.scale(before + 1))
    model = model_of(seed).set_callbacks(act)
    began = time.monotonic()
    try:
        model.fit(*scattered((X, y), cuts(len(y), 7)))
        assert model.digest_ == model_of(seed).fit(X, y).digest_
    finally:
        client.wait_for_workers(before + 1, timeout=60)
        client.cluster.scale(before)
        while len(addresses(client)) > before:
            time.sleep(0.05)
    return {"seconds": time.monotonic() - began}


def odd_partitions(client: Any, seed: int) -> dict[str, Any]:
    """Empty ones, ones of one row and of one class, of any sizes; a dataframe with categories."""
    rng = np.random.default_rng(seed)
    X, y = noisy(2 + seed % 2, 400, seed)
    order = np.argsort(y, kind="stable")
    X, y = X.iloc[order].reset_index(drop=True), y[order].astype(object)
    ends = np.sort(rng.integers(0, 401, 9))
    sizes = np.diff([0, *ends, *ends[-1:], 400]).tolist()
    weight = rng.integers(0, 3, 400) if seed % 2 else rng.random(400)
    model = model_of(seed).set_params(n_estimators=8)
    began = time.monotonic()
    far = clone(model).fit(*scattered((X, y, weight), sizes))
    took = time.monotonic() - began
    assert far.digest_ == model.fit(X, y, weight).digest_
    return {"seconds": took}


def interrupted(client: Any, seed: int) -> dict[str, Any]:
    """Ctrl-C ends the fit at once, and nobody is left sitting on a worker."""
    X, y = data(seed)
    act = At(3, lambda: os.kill(os.getpid(), signal.SIGINT), 0.001 * (seed % 7))
    model = model_of(seed).set_params(n_estimators=100_000).set_callbacks(act)
    with pytest.raises(KeyboardInterrupt):
        model.fit(*scattered((X, y), cuts(len(y), 7)))
    took = time.monotonic() - (act.done or 0.0)
    assert took < IN_TIME
    nobody_left(client)
    return {"seconds": took}


def nobody_left(client: Any) -> None:
    for _ in range(100):
        if seats(client) == 0:
            return
        time.sleep(0.02)
    raise AssertionError(f"{seats(client)} seats are still taken")


def whole(client: Any) -> Any:
    """The client with all its workers. Dask starts another in the place of one that died; if not, a new cluster."""
    for _ in range(400):
        if len(addresses(client)) == N_WORKERS:
            return client
        time.sleep(0.05)
    end(client)
    return make_client()


CASES: dict[str, Callable[[Any, int], dict[str, Any]]] = {
    "worker killed": worker_killed,
    "worker stopped": worker_stopped,
    "worker killed, with a checkpoint": worker_killed_with_checkpoint,
    "worker killed while binning": worker_killed_while_binning,
    "worker added": worker_added,
    "odd partitions": odd_partitions,
    "interrupted": interrupted,
}
