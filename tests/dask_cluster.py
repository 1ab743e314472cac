"""Dask for the tests: one small cluster per process, collections cut in any way, and what sits on the workers."""

from __future__ import annotations

import atexit
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from itertools import pairwise
from typing import Any
from uuid import uuid4

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
from distributed import Client, LocalCluster

N_WORKERS = 3


def make_client(n_workers: int = N_WORKERS) -> Client:
    """A cluster of processes on this machine; whoever makes it ends it by `end`."""
    cluster = LocalCluster(
        n_workers=n_workers,
        threads_per_worker=1,
        dashboard_address=":0",
        silence_logs=50,
        memory_limit=0,
    )
    return Client(cluster)


def end(client: Client) -> None:
    cluster = client.cluster
    client.close()
    cluster.close()


@cache
def the_client() -> Client:
    """The one of this test process, made when it is first asked for."""
    client = make_client()
    atexit.register(end, client)
    return client


def addresses(client: Client) -> list[str]:
    return sorted(client.scheduler_info(n_workers=-1)["workers"])


@contextmanager
def on_workers(client: Client, n_workers: int) -> Iterator[None]:
    """What is computed inside lives on so many workers."""
    with dask.annotate(workers=addresses(client)[:n_workers], allow_other_workers=False):
        yield


def cuts(n_rows: int, n_parts: int) -> list[int]:
    """Chunks of very different sizes: some empty where there are three or more, one of a single row."""
    if n_parts < 3:
        return [n_rows // n_parts + (k < n_rows % n_parts) for k in range(n_parts)]
    sizes = np.full(n_parts, (n_rows - 1) // (n_parts - 2))
    sizes[1], sizes[-1] = 0, 1
    sizes[0] += n_rows - sizes.sum()
    return sizes.tolist()


def scattered(rows: Sequence[Any], sizes: Sequence[int]) -> list[Any]:
    """X, y and weights as Dask collections with partitions of these sizes; None stays None."""
    frames = any(isinstance(part, pd.DataFrame) for part in rows)
    make = _frame if frames else _array
    return [None if part is None else make(part, np.concatenate([[0], np.cumsum(sizes)]).tolist()) for part in rows]


def _frame(part: Any, ends: list[int]) -> Any:
    part = part if isinstance(part, pd.DataFrame) else pd.Series(np.asarray(part))
    pieces = [dask.delayed(_rows)(part, low, high) for low, high in pairwise(ends)]
    return dd.from_delayed(pieces, meta=part.iloc[:0])


def _array(part: Any, ends: list[int]) -> Any:
    """Block by block: dask.array.concatenate would leave out the empty ones."""
    part = np.asarray(part)
    name = f"rows-{uuid4().hex}"
    rest = (0,) * (part.ndim - 1)
    blocks = {(name, k, *rest): (_rows, part, *pair) for k, pair in enumerate(pairwise(ends))}
    chunks = (tuple(np.diff(ends).tolist()), *((size,) for size in part.shape[1:]))
    return da.Array(blocks, name, chunks=chunks, dtype=part.dtype)


def _rows(part: Any, low: int, high: int) -> Any:
    return part.iloc[low:high] if hasattr(part, "iloc") else part[low:high]


def count_seats(dask_worker: Any) -> int:
    return len(dask_worker.state.actors)


def seats(client: Client) -> int:
    """Actors that are left on the workers."""
    return sum(client.run(count_seats, on_error="ignore").values())
