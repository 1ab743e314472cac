"""How often a shard's task enters a kernel or NumPy: on many cores every entry is a wait for the interpreter's lock."""

import threading
from collections import defaultdict
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

import electorate as el
from electorate import kernels
from electorate.engines import shard, team, verbs
from electorate.engines.memory import Threads
from electorate.kernels import FILE_OF

MOST = 4  # entries of one shard in one exchange
BEGINNING = 8  # tasks in which buffers are made that later ones reuse
ROUNDS = ("advance", "partition", "sum_nodes")
MODELS = {
    "AdaBoost, stumps": el.AdaBoostClassifier(),
    "AdaBoost, trees": el.AdaBoostClassifier(el.Trees(4)),
    "Real AdaBoost": el.RealAdaBoostClassifier(el.Trees(4)),
    "AdaBoost_R": el.AdaBoostRClassifier(),
    "VadaBoost": el.VadaBoostClassifier(),
    "EBBoost": el.EBBoostClassifier(),
}


class Counter:
    """Entries by verb, of the task that the thread is in."""

    def __init__(self) -> None:
        self.task = threading.local()
        self.n_tasks: dict[str, int] = defaultdict(int)
        self.most: dict[str, int] = defaultdict(int)

    def counting(self, function: Any) -> Any:
        def call(*arguments: Any, **options: Any) -> Any:
            self.task.entries = getattr(self.task, "entries", 0) + 1
            return function(*arguments, **options)

        return call

    def watched(self, verb: str, method: Any) -> Any:
        def task(*arguments: Any) -> Any:
            self.task.entries = 0
            answer = method(*arguments)
            self.n_tasks[verb] += 1
            if self.n_tasks[verb] > BEGINNING:
                self.most[verb] = max(self.most[verb], self.task.entries)
            return answer

        return task


@pytest.mark.parametrize("name", MODELS)
def test_a_task_is_a_few_calls(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(5000, 6))
    y = X[:, 0] + X[:, 1] * X[:, 2] > 0.3
    counter = Counter()
    for kernel in FILE_OF:
        monkeypatch.setattr(kernels, kernel, counter.counting(getattr(kernels, kernel)))
    functions = {each: getattr(np, each) for each in dir(np) if each[0] != "_"}
    counted = {
        each: counter.counting(value) if callable(value) and not isinstance(value, type) else value
        for each, value in functions.items()
    }
    for module in (shard, verbs):
        monkeypatch.setattr(module, "np", SimpleNamespace(**counted))
    monkeypatch.setattr(team.Team, "of", lambda *_: None)  # every shard is called by itself
    for verb in ROUNDS:
        monkeypatch.setattr(shard.Shard, verb, counter.watched(verb, getattr(shard.Shard, verb)))
    model = MODELS[name].set_params(n_estimators=4, n_jobs=4)
    model._n_shards = 4
    model.fit(X, y)
    assert counter.most["advance"] > 0
    assert max(counter.most.values()) <= MOST, dict(counter.most)


@pytest.mark.parametrize("name", MODELS)
def test_a_team_enters_one_kernel_for_all_shards(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(5000, 6))
    y = X[:, 0] + X[:, 1] * X[:, 2] > 0.3
    monkeypatch.setattr("electorate.threads.cpus", lambda: 2)
    counter, exchanges = Counter(), []
    for kernel in FILE_OF:
        monkeypatch.setattr(kernels, kernel, counter.counting(getattr(kernels, kernel)))

    def watch(method: str) -> None:
        usual = getattr(Threads, method)

        def exchange(engine: Threads, *arguments: Any) -> Any:
            counter.task.entries = 0
            answer = usual(engine, *arguments)
            exchanges.append(counter.task.entries)
            return answer

        monkeypatch.setattr(Threads, method, exchange)

    watch("_advance")
    watch("both_sides")
    model = MODELS[name].set_params(n_estimators=4, n_jobs=4)
    model._n_shards = 4
    model.fit(X, y)
    assert len(exchanges) >= 4
    assert max(exchanges) == 1, exchanges


def test_calls_of_kernels_are_short_for_many_classes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C is noticed between two calls, and a state for each class takes longer than the columns."""
    spans, advance = [], kernels.advance

    def noted(*given: Any) -> Any:
        spans.append(given[-1] - given[-2])
        return advance(*given)

    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(600, 3)), np.arange(600) % 100
    model = el.AdaBoostClassifier(n_estimators=2)
    digest = clone(model).fit(X, y).digest_
    monkeypatch.setattr(kernels, "advance", noted)
    monkeypatch.setattr(shard, "CELLS_PER_HISTOGRAM", 101 * shard.CELLS_PER_STATE * 50)
    assert clone(model).fit(X, y).digest_ == digest
    assert max(spans) <= 50
