"""`electorate warmup`: compiles every kernel that a first user would wait for, into the cache."""

import argparse
import sys
import time
import warnings
from itertools import product

import numpy as np

EXAMPLES = """example, in a Dockerfile:
  RUN electorate warmup"""


def add_options(one: argparse.ArgumentParser) -> None:
    one.add_argument("--quiet", action="store_true", help="print nothing")


def run(options: argparse.Namespace) -> int:
    from electorate import AdaBoostClassifier, Stumps, Trees
    from electorate.comparison.algorithms import OURS, Facts, set_supported
    from electorate.estimators.peers import PeerRegressor

    started = time.perf_counter()
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4))
    X[:, 3] = rng.integers(0, 5, 60)  # categories
    X[::7, 1] = np.nan
    y = (X[:, 0] > 0).astype(int) + (X[:, 2] > 0.5)
    targets = {"binary": np.where(y == 2, 1, y), "multiclass": y, "regression": X[:, 0] + X[:, 2]}
    for algorithm in OURS:
        for task, bins in product(algorithm.tasks, (255, "exact")):
            model = algorithm.build(algorithm.grid[0], Facts([3], 0)).set_params(n_estimators=2)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # two rounds do not converge
                set_supported(model, {"max_bins": bins}).fit(X, targets[task]).predict(X)
    many = rng.normal(size=(5_000, 4))  # enough rows for two threads
    for family in (Stumps(), Trees(2)):
        AdaBoostClassifier(family, n_estimators=2, n_jobs=2).fit(many, many[:, 0] > 0)
    PeerRegressor("hgb", n_estimators=2, categorical_features=[3]).fit(X, targets["regression"]).predict(X)
    if not options.quiet:
        print(f"kernels compiled and cached, {time.perf_counter() - started:.0f} s", file=sys.stderr)
    return 0
