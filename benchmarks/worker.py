"""One benchmark process: takes an order as JSON, prints what it measured as one line of JSON."""

import contextlib
import gc
import importlib
import importlib.util
import inspect
import json
import resource
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import psutil

from contenders import OURS, Setting, build, present
from synthetic import Array, split, table

_WARM_UP = 40_000, 5  # rows at most, rounds
_PATIENCE = 60.0  # seconds a contender may spend before its further repeats are left out


def seconds(function: Callable[[], Any]) -> float:
    """How long `function` takes, garbage collected before."""
    gc.collect()
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def fit(
    *,
    names: list[str],
    n: int,
    held_out: int,
    columns: int,
    setting: list[Any],
    repeats: int,
    turn: int = 0,
    classes: int = 2,
) -> dict[str, Any]:
    """Fit times of all contenders, interleaved, and their held-out errors."""
    there, missing = present(names)
    given = Setting(*setting)
    X, y, X_test, y_test = split(n, held_out, columns, classes)
    _warm_up(there, given, X)
    error: dict[str, float] = {}

    def one(name: str) -> float:
        model = build(name, given)
        took = seconds(lambda: model.fit(X, y))
        if name not in error:
            error[name] = float(np.mean(np.asarray(model.predict(X_test)) != y_test))
        return took

    took = _interleave(there, one, repeats, turn)
    return {"seconds": took, "error": error, "missing": missing}


def predict(
    *, names: list[str], n: int, n_train: int, columns: int, setting: list[Any], repeats: int
) -> dict[str, Any]:
    """Times of predict_proba on `n` rows, interleaved, and the error of what it says."""
    there, missing = present(names)
    given = Setting(*setting)
    X, y, X_test, y_test = split(n_train, n, columns)
    _warm_up(there, given, X)
    models = {name: build(name, given).fit(X, y) for name in there}
    error: dict[str, float] = {}

    def one(name: str) -> float:
        answer: list[Any] = []
        took = seconds(lambda: answer.append(models[name].predict_proba(X_test)))
        error[name] = float(np.mean((answer[0][:, 1] > 0.5) != y_test))
        return took

    took = _interleave(there, one, repeats)
    return {"seconds": took, "error": error, "missing": missing}


def first_fit(*, n: int, columns: int) -> dict[str, float]:
    """Seconds of the first two fits of ours in this process."""
    X, y = table(n, columns)
    if not present([OURS])[0]:
        return {}
    return {name: seconds(lambda: build(OURS, Setting(100, None)).fit(X, y)) for name in ("first", "second")}


def streams(*, n: int, repeats: int) -> dict[str, Any]:
    """The figures of streams.py."""
    return dict(importlib.import_module("streams").measure(n=n, repeats=repeats))


def memory(*, name: str, n: int, columns: int, setting: list[Any]) -> dict[str, Any]:
    """Growth of this process's peak memory during one fit of float32 data, in bytes."""
    there, missing = present([name])
    if missing:
        return {"missing": missing[name]}
    given = Setting(*setting)
    X, y = table(n, columns, dtype=np.float32)
    _warm_up(there, given, X)
    gc.collect()
    before = _forget_peak()
    build(name, given).fit(X, y)
    return {"input": X.nbytes, "binned": X.size, "growth": max(0, _peak() - before)}


def rounds(*, quick: bool) -> dict[str, Any]:
    """The figures of rounds.py, where there is one."""
    if not Path(__file__).with_name("rounds.py").exists():
        return {}
    measure = importlib.import_module("rounds").measure
    smaller = {"quick": True} if quick and "quick" in inspect.signature(measure).parameters else {}
    return dict(measure(**smaller))


def quadboost(*, name: str, quick: bool) -> dict[str, Any]:
    """One of the measurements of quadboost.py."""
    return dict(getattr(importlib.import_module("quadboost"), name)(quick=quick))


def lpboost(*, n: int, columns: int, rounds: int, repeats: int) -> dict[str, Any]:
    """Fit times of LPBoost by a live model and by solving anew, interleaved, all rounds taken; and held-out errors."""
    from electorate import LPBoostClassifier

    X, y, X_test, y_test = split(n, 5 * n, columns)
    error: dict[str, float] = {}

    def one(name: str) -> float:
        solver = name.rsplit(" ", 1)[1]
        model = LPBoostClassifier(nu=0.3, n_estimators=rounds, tol=0.0, solver=solver)
        took = seconds(lambda: model.fit(X, y))
        error[name] = 1 - float(model.score(X_test, y_test))
        return took

    missing = {} if importlib.util.find_spec("highspy") else {"electorate, highspy": "not installed"}
    names = [name for name in ("electorate, highspy", "electorate, scipy") if name not in missing]
    LPBoostClassifier(n_estimators=5).fit(X[:100], y[:100])
    return {"seconds": _interleave(names, one, repeats), "error": error, "missing": missing}


def on_cluster(**order: Any) -> dict[str, Any]:
    """Fits on a Dask cluster and here, as clusters.py takes them."""
    return dict(importlib.import_module("clusters").measure(**order))


def families(*, name: str, quick: bool) -> dict[str, Any]:
    """One of the measurements of voters.py."""
    return dict(getattr(importlib.import_module("voters"), name)(quick=quick))


def regressors(*, name: str, quick: bool) -> dict[str, Any]:
    """One of the measurements of regressors.py."""
    return dict(getattr(importlib.import_module("regressors"), name)(quick=quick))


def _warm_up(names: list[str], given: Setting, like: Array) -> None:
    """Compile, start threads and load what is loaded lazily, on small data of the same kind."""
    n, n_rounds = _WARM_UP
    X, y = table(min(n, len(like)), like.shape[1], seed=1, dtype=like.dtype)
    for name in names:
        build(name, given._replace(rounds=n_rounds)).fit(X, y).predict_proba(X)


def _interleave(names: list[str], one: Callable[[str], float], repeats: int, turn: int = 0) -> dict[str, list[float]]:
    """`repeats` turns of every contender; each turn begins with the next one."""
    took: dict[str, list[float]] = {name: [] for name in names}
    for r in range(turn, turn + repeats):
        k = r % max(1, len(names))
        for name in names[k:] + names[:k]:
            if sum(took[name]) < _PATIENCE:
                took[name].append(one(name))
    return took


def _forget_peak() -> int:
    """This process's memory now; where the system allows it, the peak starts again from here."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")
    return int(psutil.Process().memory_info().rss)


def _peak() -> int:
    with contextlib.suppress(OSError):
        status = Path("/proc/self/status").read_text()
        return int(status.split("VmHWM:")[1].split()[0]) * 1024
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


TASKS: dict[str, Callable[..., Any]] = {
    "fit": fit,
    "predict": predict,
    "first_fit": first_fit,
    "streams": streams,
    "memory": memory,
    "rounds": rounds,
    "on_cluster": on_cluster,
    "families": families,
    "lpboost": lpboost,
    "quadboost": quadboost,
    "regressors": regressors,
}


def main() -> None:
    """Do the task, print the answer."""
    order = json.loads(sys.argv[1])
    warnings.simplefilter("ignore")
    print(json.dumps(TASKS[order.pop("task")](**order)))


if __name__ == "__main__":
    main()
