"""One whole stump round beside its histogram pass alone, nanoseconds per cell, and the time to read the matrix.

A round is the exchange with the shard (votes added, weights, sums, errors), the search and the step: what the loop
does, timed over many rounds of a real fit. The histogram pass is the same kernel on the same codes and grid.
"""

import time
from statistics import median
from typing import Any

import numpy as np

from electorate import AdaBoostClassifier
from electorate.data.bins import find_bins
from electorate.data.table import read_table
from electorate.data.weights import read_weights
from electorate.engines.shard import Examples, build_shard
from electorate.threads import ThreadPool
from synthetic import table


def measure(*, quick: bool = False) -> dict[str, Any]:
    """Medians over rounds and passes, one thread."""
    n, columns, rounds = (5_000, 50, 20) if quick else (200_000, 50, 100)
    X, y = table(n, columns)
    AdaBoostClassifier(n_estimators=3, n_jobs=1).fit(X, y)
    model = AdaBoostClassifier(n_estimators=rounds, n_jobs=1).fit(X, y)
    whole = median(np.diff(model.history_["seconds"])[:-1].tolist())
    shard = _shard(X, y)
    grid = np.arange(n, dtype=np.int64)
    alone = _seconds(lambda: shard.histogram(grid), rounds)
    read = _seconds(lambda: int(np.bitwise_xor.reduce(shard.codes.ravel().view(np.uint64))), rounds)
    cells = n * shard.codes.shape[0] * 4
    return {
        "round, ms": 1e3 * whole,
        "histogram pass alone, ms": 1e3 * alone,
        "ratio": whole / alone,
        "round, ns per cell": 1e9 * whole / cells,
        "histogram pass, ns per cell": 1e9 * alone / cells,
        "reading the binned matrix, ms": 1e3 * read,
    }


def _shard(X: Any, y: Any) -> Any:
    rows = read_table(X)
    weights = read_weights(np.ones(len(y)))
    with ThreadPool(1) as pool:
        bins = find_bins(rows, weights.whole, [], 255, pool)
    return build_shard(Examples(rows, y, 2, weights), bins, 0, len(y))


def _seconds(function: Any, repeats: int) -> float:
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return median(times)
