"""Dask collections as inputs of an estimator: opens the workers for fit, and keeps predictions lazy.

Dask is imported only when a Dask collection is passed.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from sklearn.utils.validation import check_array, validate_data

from electorate.cuda.arrays import is_there, rows_there
from electorate.cuda.device import open_device
from electorate.data import inputs
from electorate.data.table import StackedTable, Table, ThereTable, read_table
from electorate.data.targets import check_targets
from electorate.exact import AnyArray, Floats
from electorate.optional import optional
from electorate.threads import ThreadPool
from electorate.training.worker_data import GivenRows, TargetWorkerData, WorkerData

MOST_NAMED = 10  # columns in a message


def is_dask(X: Any) -> bool:
    return hasattr(X, "__dask_graph__") and hasattr(X, "to_delayed")


def open_cluster(model: Any, rows: tuple[Any, Any, Any], validation: tuple[Any, Any, Any] | None, reset: bool) -> Any:
    """Open the workers that hold the rows; raises for what cannot be fitted there."""
    optional("distributed", "fit on Dask collections")
    from electorate.engines.dask import Cluster, collect

    lists = [rows] if validation is None else [rows, validation]
    for X, y, _ in lists:
        check_columns(model, X, reset=reset and X is rows[0])
        inputs.require_y(model, y)
    empty = [_like(X) for X, _, _ in lists]
    tasks = [collect(*part) for part in lists]
    return Cluster(tasks, open_worker_data, (model._worker_data, empty, model.n_jobs, model.device == "cuda"))


def check_columns(model: Any, X: Any, *, reset: bool) -> None:
    """Store the columns of a collection in the model (reset), or compare them."""
    if not is_dask(X):
        raise TypeError(f"X is a Dask collection and X_val is {type(X).__name__}: make it one too")
    if not hasattr(X, "columns") and (X.ndim != 2 or np.isnan(X.shape[1])):
        raise ValueError(f"Expected 2D array, got an array of shape {X.shape} instead: rows and columns are needed")
    like = _like(X)
    validate_data(model, like, reset=reset, skip_check_array=True)
    if like.shape[1] == 0:
        raise ValueError("0 feature(s) while a minimum of 1 is required: X has no columns")


def _like(X: Any) -> Any:
    """Return an empty table with the columns of a collection."""
    if hasattr(X, "columns"):
        return X._meta
    return np.empty((0, X.shape[1]), dtype=X.dtype if X.dtype.kind in "fiub" else np.float64)


# ---------------------------------------------------------------- on a worker


def open_worker_data(
    number: int,
    n_threads: int,
    parts: list[list[Any]],
    kind: type[WorkerData],
    like: list[Any],
    n_jobs: int | None,
    on_device: bool,
) -> WorkerData:
    """Return the data of a worker from its partitions; a list of partitions may be empty.

    on_device: whether the shards are on the GPU of the worker.
    """
    device = open_device() if on_device else None
    read = partial(check_targets, None) if kind is TargetWorkerData else _labels
    given = [_given(rows, empty, read) for rows, empty in zip(parts, like, strict=True)]
    jobs = n_threads if n_jobs is None else max(1, min(n_jobs, n_threads)) if n_jobs > 0 else n_threads
    data = kind(given, ThreadPool(jobs), jobs, number)
    data.device = device
    return data


def _given(parts: list[Any], like: Any, read: Callable[[Any, int], Any]) -> GivenRows:
    tables, labels, weights = [], [], []
    for number, X, y, weight in parts:
        try:
            table = _table(X, like)
            tables.append(table)
            labels.append(read(y, table.n_rows))
            weights.append(_weight(weight, table.n_rows))
        except ValueError as error:
            raise ValueError(f"{error} (rows are counted from the start of partition {number})") from error
    if not tables:
        return GivenRows(StackedTable([read_table(like)], [0]), read(np.empty(0), 0), np.empty(0))
    filled = [y for y in labels if len(y)] or labels[:1]
    return GivenRows(StackedTable(tables, [part[0] for part in parts]), np.concatenate(filled), np.concatenate(weights))


def _table(X: Any, like: Any) -> Table:
    if hasattr(like, "columns"):
        if not hasattr(X, "columns"):
            raise ValueError(
                f"a partition is of type {type(X).__name__}, and the collection is one of dataframes: make every "
                f"partition a dataframe with the columns {_some(like.columns)}"
            )
        if list(X.columns) != list(like.columns):
            raise ValueError(f"a partition has the columns {_some(X.columns)}, expected {_some(like.columns)}")
        return read_table(X)
    there = rows_there(X) if is_there(X) else None
    options = {"accept_sparse": ("csr", "csc"), "dtype": "numeric", "ensure_all_finite": False, "ensure_min_samples": 0}
    checked = check_array(inputs.readable_container(X), **options) if there is None else there.array
    inputs.refuse_other_types(checked)
    if checked.shape[1] != like.shape[1]:
        raise ValueError(f"a partition has {checked.shape[1]} columns, expected {like.shape[1]}")
    return read_table(checked) if there is None else ThereTable(there)


def _some(columns: Any) -> str:
    """Return the names of columns, or the first ones if they are many."""
    names = [str(name) for name in columns]
    return str(names) if len(names) <= MOST_NAMED else f"{names[:MOST_NAMED]} and {len(names) - MOST_NAMED} more"


def _labels(y: Any, n_rows: int) -> AnyArray:
    if n_rows == 0 and len(y) == 0:
        return np.empty(0, dtype=np.int64)
    return inputs.check_labels(None, y, n_rows)


def _weight(weight: Any, n_rows: int) -> Floats:
    if n_rows == 0 and (weight is None or len(weight) == 0):
        return np.empty(0)
    return inputs.check_weight(weight, n_rows)


# ---------------------------------------------------------------- predictions


def mapped(model: Any, name: str, X: Any) -> Any:
    """Return a lazy Dask array: the results of a method for each partition."""
    check_columns(model, X, reset=False)
    model = model._bare()
    meta = _answer_like(model, name)
    if hasattr(X, "columns"):
        return X.map_partitions(_answer, model, name, meta=meta)
    if X.numblocks[1] > 1:
        X = X.rechunk({1: -1})
    if meta.ndim == 1:
        return X.map_blocks(_answer, model, name, drop_axis=1, dtype=meta.dtype, meta=meta)
    return X.map_blocks(_answer, model, name, chunks=(X.chunks[0], (meta.shape[1],)), dtype=meta.dtype, meta=meta)


def _answer_like(model: Any, name: str) -> AnyArray:
    """Return an empty result: one number per row, or one per class."""
    if not hasattr(model, "classes_"):
        return np.empty(0)
    n_classes = len(model.classes_)
    if name == "predict":
        return np.empty(0, dtype=model.classes_.dtype)
    if name == "decision_function" and n_classes == 2:
        return np.empty(0)
    return np.empty((0, n_classes))


def _answer(X: Any, model: Any, name: str) -> Any:
    if X.shape[0] == 0:
        return _answer_like(model, name)
    return getattr(model, name)(X)
