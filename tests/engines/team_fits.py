"""Fits by a team, for tests that run programs and processes of their own."""

import os
import threading
import time
from typing import Any

import numpy as np

from electorate import AdaBoostClassifier, Trees, threads


def four_cpus() -> int:
    return 4


def digest_of_fit(n_estimators: int = 5, n_jobs: int = 4, **options: Any) -> str:
    """Of a model that a team has trained, if n_jobs > 1 and `threads.cpus` is more than one."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2500, 6))
    y = X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(size=2500) > 0.3
    model = AdaBoostClassifier(Trees(2), n_estimators=n_estimators, n_jobs=n_jobs, random_state=0, **options)
    model._n_shards = 4
    return model.fit(X, y).digest_


def digest_in_worker() -> str:
    """The same in a process that may not use several CPUs, or that does not know of them."""
    threads.cpus = four_cpus
    return digest_of_fit()


def native_threads() -> set[str]:
    """The threads of this process that Python has not started, without those that are about to end."""
    found = set(os.listdir("/proc/self/task"))
    for _ in range(10):
        time.sleep(0.02)
        found &= set(os.listdir("/proc/self/task"))
    return found - {str(thread.native_id) for thread in threading.enumerate()}
