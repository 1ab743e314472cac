"""`electorate warmup`: every kernel a first user would wait for, compiled into the cache."""

import argparse
import sys
import time
import warnings
from importlib import import_module

import numpy as np

EXAMPLES = """example, in a Dockerfile:
  RUN electorate warmup"""


def add_options(one: argparse.ArgumentParser) -> None:
    one.add_argument("--quiet", action="store_true", help="say nothing")


def run(options: argparse.Namespace) -> int:
    from electorate.comparison.algorithms import OURS, Facts, Ours

    started = time.perf_counter()
    X, y = small_table()
    targets = {"binary": np.where(y == 2, 1, y), "multiclass": y, "regression": X[:, 0] + X[:, 2]}
    for algorithm in OURS:
        if isinstance(algorithm.make, Ours) and not algorithm.make.is_here:
            continue
        for labels in (targets[task] for task in algorithm.tasks):
            for bins in (255, "exact"):
                model = algorithm.build(algorithm.grid[0], Facts([3], 0)).set_params(n_estimators=2)
                if "max_bins" in model.get_params():
                    model.set_params(max_bins=bins)
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # two rounds converge to nothing
                    model.fit(X, labels).predict(X)
    import_module("electorate.kernels")
    if not options.quiet:
        print(f"kernels compiled and cached, {time.perf_counter() - started:.0f} s", file=sys.stderr)
    return 0


def small_table() -> tuple[np.ndarray, np.ndarray]:
    """Numbers, missing ones and categories, with three labels."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4))
    X[:, 3] = rng.integers(0, 5, 60)
    X[::7, 1] = np.nan
    return X, (X[:, 0] > 0).astype(int) + (X[:, 2] > 0.5)
