"""Fits on a small Dask cluster beside the same fit in one process, and beside the Dask faces of the peers.

Two workers of one thread each, against two threads here; the data is on the workers before anything is timed. covtype
("2 against the rest") is in the folder ELECTORATE_DATA (default ../shared/data); where it is not, rows are synthetic.
"""

import importlib
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from contenders import OURS, Setting, build
from synthetic import Array, table

HERE = "electorate, here"
PEERS = ["xgboost.dask", "lightgbm.dask"]
COLUMNS = 54
FEW = 2_000  # rows of a quick run, which are synthetic


def covtype(n_rows: int) -> tuple[Array, Array]:
    """The first rows of a fixed shuffle."""
    path = Path(os.environ.get("ELECTORATE_DATA", "../shared/data")) / "covtype.csv.gz"
    if not path.exists() or n_rows <= FEW:
        return table(n_rows, COLUMNS, dtype=np.float32)
    found = importlib.import_module("pandas").read_csv(path, dtype=np.float32).to_numpy()
    rows = np.random.default_rng(0).permutation(len(found))[:n_rows]
    return found[rows, :-1], (found[rows, -1] == 2).astype(np.int64)


def measure(*, n: int, rounds: int, depth: int, repeats: int) -> dict[str, Any]:
    """Seconds of every contender that is there, taking turns."""
    import dask.array as da
    from distributed import Client, LocalCluster, wait

    X, y = covtype(n)
    took: dict[str, list[float]] = {}
    missing: dict[str, str] = {}
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster, Client(cluster) as client:
        half = -(-len(y) // 2)
        far = client.persist([da.from_array(X, chunks=(half, -1)), da.from_array(y, chunks=half)])
        wait(far)
        fits = {name: make(client, (X, y), far) for name, make in CONTENDERS.items()}
        for name, fit in fits.items():
            try:
                fit(Setting(2, 2, 0.5, depth))  # compiled, loaded, connected
                took[name] = []
            except ImportError as error:
                missing[name] = str(error)
        for _ in range(repeats):
            for name in took:
                start = time.perf_counter()
                fits[name](Setting(rounds, 2, 0.5, depth))
                took[name].append(time.perf_counter() - start)
    return {"n": len(y), "seconds": took, "missing": missing}


Rows = tuple[Any, Any]
Fit = Callable[[Setting], Any]


def _ours(client: Any, near: Rows, far: Any) -> Fit:
    return lambda given: build(OURS, given._replace(threads=None)).fit(*far)


def _here(client: Any, near: Rows, far: Any) -> Fit:
    return lambda given: build(OURS, given).fit(*near)


def _xgboost(client: Any, near: Rows, far: Any) -> Fit:
    def fit(given: Setting) -> Any:
        theirs = importlib.import_module("xgboost.dask")
        model = theirs.DaskXGBClassifier(
            n_estimators=given.rounds, max_depth=given.depth, learning_rate=given.learning_rate, tree_method="hist"
        )
        model.client = client
        return model.fit(*far)

    return fit


def _lightgbm(client: Any, near: Rows, far: Any) -> Fit:
    def fit(given: Setting) -> Any:
        theirs = importlib.import_module("lightgbm.dask")
        if not hasattr(theirs, "DaskLGBMClassifier"):
            raise ImportError("lightgbm has no Dask")
        shape = {"num_leaves": 2**given.depth, "max_depth": given.depth, "verbose": -1}
        rest = {"n_estimators": given.rounds, "learning_rate": given.learning_rate}
        return theirs.DaskLGBMClassifier(client=client, **rest, **shape).fit(*far)

    return fit


CONTENDERS: dict[str, Callable[[Any, Rows, Any], Fit]] = {
    OURS: _ours,
    HERE: _here,
    "xgboost.dask": _xgboost,
    "lightgbm.dask": _lightgbm,
}
