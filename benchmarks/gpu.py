"""Speed on an NVIDIA GPU: kernels, rounds and whole fits, beside our CPU engine and scikit-learn's histogram trees.

    python benchmarks/gpu.py kernels            # 10,000,000 x 52: time and share of the memory bandwidth
    python benchmarks/gpu.py fits               # 10,000,000 x 52: stumps, depth 4, depth 6; rows here and on the GPU
    python benchmarks/gpu.py predictions        # 10,000,000 x 52 on the GPU and on the host
    python benchmarks/gpu.py peers              # 10,000,000 x 52: our CPU engine and HistGradientBoosting, all threads
    python benchmarks/gpu.py threads            # 200,000 x 50 and 2,000,000 x 50: 1 to 16 threads, and the GPU

Every command prints a table in Markdown. GPU.md holds the tables of one machine.
"""

import argparse
import time
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier

from electorate import AdaBoostClassifier, AdaBoostRegressor, RegressionTrees, Trees
from electorate.cuda.device import open_device
from electorate.cuda.layouts import Codes
from electorate.engines.device_histograms import HistogramPool
from electorate.engines.device_rows import DeviceRows

MANY, COLUMNS, ROUNDS = 10_000_000, 52, 100
DEPTHS = (1, 4, 6)
THREADS = (1, 2, 4, 8, 16)
REPEATS = 3
Rows = tuple[Any, NDArray[np.int64]]


def made_rows(n_rows: int, n_columns: int, on_gpu: bool = False) -> Rows:
    """Normal numbers; the label depends on five columns and noise."""
    import cupy

    random = cupy.random.default_rng(0)
    X = random.standard_normal((n_rows, n_columns), dtype=np.float32)
    noise = random.standard_normal(n_rows, dtype=np.float32)
    y = X[:, 0] + X[:, 1] * X[:, 2] + 0.5 * X[:, 3] - 0.3 * X[:, 4] + noise > 0.3
    return X if on_gpu else X.get(), y.get().astype(np.int64)


def family(depth: int) -> Any:
    return None if depth == 1 else Trees(depth)


def fit(rows: Rows, depth: int, device: str, n_jobs: int | None = None) -> tuple[float, float, float]:
    """Seconds of a whole fit, milliseconds of its median round, and the training error."""
    model = AdaBoostClassifier(family(depth), n_estimators=ROUNDS, device=device, n_jobs=n_jobs)
    started = time.perf_counter()
    model.fit(*rows)
    seconds = time.perf_counter() - started
    history = model.history_
    return seconds, 1e3 * float(np.median(np.diff(history["seconds"]))), float(history["train_error"][-1])


def medians(runs: list[tuple[float, float, float]]) -> list[str]:
    seconds, rounds, errors = zip(*runs, strict=True)
    low, high = min(rounds), max(rounds)
    return [f"{median(seconds):.2f}", f"{median(rounds):.2f} ({low:.2f} to {high:.2f})", f"{median(errors):.4f}"]


def table(head: list[str], lines: Iterable[list[str]]) -> None:
    """Print every line as soon as it is measured."""
    for line in chain((head, ["---"] * len(head)), lines):
        print("| " + " | ".join(line) + " |", flush=True)
    print()


# ---------------------------------------------------------------- kernels


def timed(task: Callable[[], Any], repeats: int = 20) -> float:
    """Milliseconds on the device, the median."""
    import cupy

    task()
    found = []
    for _ in range(repeats):
        begin, end = cupy.cuda.Event(), cupy.cuda.Event()
        begin.record()
        task()
        end.record()
        end.synchronize()
        found.append(float(cupy.cuda.get_elapsed_time(begin, end)))
    return median(found)


def kernels() -> None:
    """Each kernel alone; bytes: the fewest that it has to move."""
    import cupy

    device, n = open_device(), MANY
    one, other = cupy.zeros(2**30, dtype=np.uint8), cupy.empty(2**30, dtype=np.uint8)
    copied = 2 * 2**30 / timed(lambda: cupy.copyto(other, one))
    codes = Codes(cupy.random.randint(0, 2**32, n * COLUMNS // 4, dtype=np.uint32), n, COLUMNS, 256)
    rows, group = DeviceRows(device, codes, np.array([0, n * 6 // 10, n])), np.array([0, 1])
    grid = cupy.random.randint(2**36, 2**39, n, dtype=np.int64)
    pool, on_left = HistogramPool(device, (2, COLUMNS, 256)), np.random.default_rng(0).random((1, 256)) < 0.4
    pool.take(16)
    sums = pool.cells[0]
    (tasks,) = device.upload(rows.tasks([rows.root], group, 2))
    ((left, _),), _ = rows.part([rows.root], np.array([5]), on_left)
    (tasks_left,) = device.upload(rows.tasks([left], group, 2))
    layout = np.full(COLUMNS, 255), np.zeros(COLUMNS, dtype=np.bool_), np.ones(COLUMNS, dtype=np.bool_)
    measured = {
        "sums of all rows": (timed(lambda: rows.add_sums(tasks, grid, sums, True)), n * (COLUMNS + 8)),
        f"sums of {left.n_rows} rows of a node": (
            timed(lambda: rows.add_sums(tasks_left, grid, sums)),
            left.n_rows * (COLUMNS + 8 + 4),
        ),
        "parting all rows, transfers included": (timed(lambda: rows.part([rows.root], np.array([5]), on_left)), n * 5),
        "search of 16 nodes, transfers included": (timed(lambda: pool.search(list(range(16)), 1, layout)), 0),
    }
    lines = [
        [name, f"{ms:.3f}", f"{size / ms / 1e9:.2f}" if size else "", f"{size / ms / copied:.0%}" if size else ""]
        for name, (ms, size) in measured.items()
    ]
    lines.append(["copy of 1 GiB", f"{2 * 2**30 / copied:.3f}", f"{copied / 1e9:.2f}", "100%"])
    table(["kernel, 10,000,000 x 52", "ms", "TB/s", "share of a copy"], lines)


# ---------------------------------------------------------------- fits


def fits() -> None:
    table(["float32 rows on", "depth", "whole fit, s", "round, ms (least to most)", "training error"], _fits())


def _fits() -> Iterator[list[str]]:
    for on_gpu in (False, True):
        rows = made_rows(MANY, COLUMNS, on_gpu)
        for depth in DEPTHS:
            fit((rows[0][:100_000], rows[1][:100_000]), depth, "cuda")  # compile
            runs = [fit(rows, depth, "cuda") for _ in range(REPEATS)]
            yield ["GPU" if on_gpu else "host", str(depth), *medians(runs)]
        del rows


def predictions() -> None:
    table(["model", "method", "rows", "on the GPU, ms", "on the CPU, ms", "equal"], _predictions())


def _predictions() -> Iterator[list[str]]:
    X, y = made_rows(MANY, COLUMNS, on_gpu=True)
    score, few = (X[:, 0] + X[:, 1] * X[:, 2]).get().astype(np.float64), 200_000
    models = {
        "100 stumps": AdaBoostClassifier(n_estimators=ROUNDS),
        "100 trees of depth 4": AdaBoostClassifier(Trees(4), n_estimators=ROUNDS),
        "100 trees of depth 6": AdaBoostClassifier(Trees(6), n_estimators=ROUNDS),
        "AdaBoost.R2, 50 trees of depth 4": AdaBoostRegressor(RegressionTrees(4), n_estimators=50),
    }
    for name, model in models.items():
        regresses = isinstance(model, AdaBoostRegressor)
        n_rows = 1_000_000 if regresses else MANY
        model.set_params(device="cuda").fit(X[:few], score[:few] if regresses else y[:few])
        here = X[:n_rows].get()
        for method in ("predict",) if regresses else ("decision_function", "predict", "predict_proba"):
            model.predict(X[:1000])
            there = [_predicted(model, method, X[:n_rows]) for _ in range(REPEATS)]
            cpu, expected = _predicted(model, method, here)
            equal = np.array_equal(there[0][1].get(), expected)
            times = f"{median(ms for ms, _ in there):.1f}", f"{cpu:.0f}"
            yield [name, method, f"{n_rows:,}", *times, "yes" if equal else "NO"]


def _predicted(model: Any, method: str, X: Any) -> tuple[float, Any]:
    """Milliseconds, and the results."""
    import cupy

    started = time.perf_counter()
    found = getattr(model, method)(X)
    cupy.cuda.Device().synchronize()
    return 1e3 * (time.perf_counter() - started), found


def peers() -> None:
    table(["depth", "engine", "whole fit, s", "round, ms (least to most)", "training error"], _peers())


def _peers() -> Iterator[list[str]]:
    rows = made_rows(MANY, COLUMNS)
    for depth in DEPTHS:
        fit((rows[0][:100_000], rows[1][:100_000]), depth, "cpu")
        yield [str(depth), "our CPU engine, all threads", *medians([fit(rows, depth, "cpu")])]
        yield [str(depth), "HistGradientBoosting, all threads", *_peer(rows, depth, 1)]


def threads() -> None:
    table(["rows x 50", "depth", "engine", "whole fit, s", "round, ms (least to most)", "training error"], _threads())


def _threads() -> Iterator[list[str]]:
    for n_rows, repeats in ((200_000, REPEATS), (2_000_000, 1)):
        rows = made_rows(n_rows, 50)
        for depth in (1, 4):
            for n_jobs in THREADS:
                runs = [fit(rows, depth, "cpu", n_jobs) for _ in range(repeats)]
                yield [f"{n_rows:,}", str(depth), f"CPU, {n_jobs} threads", *medians(runs)]
            fit((rows[0][:100_000], rows[1][:100_000]), depth, "cuda")
            runs = [fit(rows, depth, "cuda") for _ in range(repeats)]
            yield [f"{n_rows:,}", str(depth), "GPU", *medians(runs)]
            yield [f"{n_rows:,}", str(depth), "HistGradientBoosting, all threads", *_peer(rows, depth, repeats)]


def _peer(rows: Rows, depth: int, repeats: int) -> list[str]:
    """Scikit-learn's boosted trees with as many rounds of the same depth."""
    seconds, errors = [], []
    for _ in range(repeats):
        model = HistGradientBoostingClassifier(
            max_iter=ROUNDS, max_depth=depth, learning_rate=0.5, early_stopping=False, max_leaf_nodes=None
        )
        started = time.perf_counter()
        model.fit(*rows)
        seconds.append(time.perf_counter() - started)
        errors.append(float(np.mean(model.predict(rows[0][:200_000]) != rows[1][:200_000])))
    return [f"{median(seconds):.2f}", "", f"{median(errors):.4f}"]


COMMANDS = {"kernels": kernels, "fits": fits, "predictions": predictions, "peers": peers, "threads": threads}

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=COMMANDS)
    COMMANDS[parser.parse_args().command]()
