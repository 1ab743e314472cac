"""XGBoost on the GPU, and the CPU peers on all cores, beside ours on the rows of benchmarks/gpu.py.

    python benchmarks/gpu_peers.py gpu        # XGBoost's GPU beside ours, 10,000,000 x 52
    python benchmarks/gpu_peers.py threads    # the CPU engines on all cores, 200,000 x 50 and 2,000,000 x 50

Every contender fits the same rows with as many rounds of the same depth, in turn with ours, from raw float32. A time of
XGBoost includes its quantile matrix; `rounds` is the training alone, divided by the number of rounds. What is not
installed is left out.
"""

import argparse
import os
import time
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from statistics import median
from typing import Any

import numpy as np

from gpu import COLUMNS, DEPTHS, MANY, REPEATS, ROUNDS, Rows, fit, made_rows, table

N_THREADS = os.cpu_count() or 1
CHECKED = 200_000  # rows that the error is measured on
Timed = tuple[float, float, float]  # seconds of the whole fit, milliseconds of a round, error
Contender = Callable[[Rows, int], Timed]


def error_of(predicted: Any, y: Any) -> float:
    return float(np.mean((predicted > 0.5) != y[:CHECKED]))


def xgboost(rows: Rows, depth: int, device: str) -> Timed:
    import xgboost as xgb

    X, y = rows
    options = {"max_depth": depth, "tree_method": "hist", "device": device, "objective": "binary:logistic"}
    options |= {"max_bin": 255, "nthread": N_THREADS, "learning_rate": 0.5}
    started = time.perf_counter()
    data = xgb.QuantileDMatrix(X, y, max_bin=255, nthread=N_THREADS)
    prepared = time.perf_counter()
    model = xgb.train(options, data, ROUNDS)
    ended = time.perf_counter()
    predicted = model.predict(xgb.DMatrix(X[:CHECKED]))
    return ended - started, 1e3 * (ended - prepared) / ROUNDS, error_of(predicted, y)


def lightgbm(rows: Rows, depth: int) -> Timed:
    import lightgbm as lgb

    X, y = rows
    options = {"objective": "binary", "max_depth": depth, "num_leaves": 2**depth, "learning_rate": 0.5}
    options |= {"num_threads": N_THREADS, "verbosity": -1, "max_bin": 255}
    started = time.perf_counter()
    data = lgb.Dataset(X, y, params=options).construct()
    prepared = time.perf_counter()
    model = lgb.train(options, data, ROUNDS)
    ended = time.perf_counter()
    return ended - started, 1e3 * (ended - prepared) / ROUNDS, error_of(model.predict(X[:CHECKED]), y)


def histogram_trees(rows: Rows, depth: int) -> Timed:
    from sklearn.ensemble import HistGradientBoostingClassifier

    X, y = rows
    model = HistGradientBoostingClassifier(
        max_iter=ROUNDS, max_depth=depth, learning_rate=0.5, early_stopping=False, max_leaf_nodes=None
    )
    started = time.perf_counter()
    model.fit(X, y)
    seconds = time.perf_counter() - started
    return seconds, float("nan"), error_of(model.predict(X[:CHECKED]), y)


def contenders(device: str) -> dict[str, Contender]:
    """Ours, and the peers that are installed."""
    every: dict[str, Contender] = {"electorate": lambda rows, depth: fit(rows, depth, device)}
    if find_spec("xgboost"):
        every["XGBoost"] = lambda rows, depth: xgboost(rows, depth, device)
    if device == "cpu":
        every["HistGradientBoosting"] = histogram_trees
    if device == "cpu" and find_spec("lightgbm"):
        every["LightGBM"] = lightgbm
    return every


def in_turn(rows: Rows, depth: int, device: str, repeats: int) -> Iterator[list[str]]:
    """Lines of medians. Every contender fits a few rows before, to compile and to fill caches."""
    every = contenders(device)
    runs: dict[str, list[Timed]] = {name: [] for name in every}
    for task in every.values():
        task((rows[0][:20_000], rows[1][:20_000]), depth)
    for _ in range(repeats):
        for name, task in every.items():
            runs[name].append(task(rows, depth))
    for name, found in runs.items():
        seconds, rounds, errors = zip(*found, strict=True)
        spread = f"{median(seconds):.2f} ({min(seconds):.2f} to {max(seconds):.2f})"
        yield [name, spread, "" if np.isnan(rounds[0]) else f"{median(rounds):.2f}", f"{median(errors):.4f}"]


def gpu() -> None:
    table(["rows on", "depth", "contender", "whole fit, s", "round, ms", "error"], _gpu())


def _gpu() -> Iterator[list[str]]:
    for on_gpu in (False, True):
        rows = made_rows(MANY, COLUMNS, on_gpu)
        for depth in DEPTHS:
            for line in in_turn(rows, depth, "cuda", REPEATS):
                yield ["GPU" if on_gpu else "host", str(depth), *line]
        del rows


def threads() -> None:
    table(["rows x 50", "depth", "contender", "whole fit, s", "round, ms", "error"], _threads())


def _threads() -> Iterator[list[str]]:
    for n_rows, repeats in ((200_000, 5), (2_000_000, REPEATS)):
        rows = made_rows(n_rows, 50)
        for depth in (1, 4):
            for line in in_turn(rows, depth, "cpu", repeats):
                yield [f"{n_rows:,}", str(depth), *line]


COMMANDS = {"gpu": gpu, "threads": threads}

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=COMMANDS)
    COMMANDS[parser.parse_args().command]()
