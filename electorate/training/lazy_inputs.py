"""Tables that are not in memory as inputs of an estimator: Dask collections and scanned tables.

Methods that need every row in memory refuse them here, before any work.
"""

from collections.abc import Callable
from functools import partial, wraps
from typing import Any

import numpy as np

from electorate.cuda.arrays import RowsThere, is_there, like, rows_there, to_host
from electorate.data.inputs import NO_ROWS
from electorate.tables.scan import ScannedTable
from electorate.training.dask_inputs import is_dask, mapped

DASK = "X is a Dask collection: fit on X.compute() and y.compute()"
SCANNED = "X is a scanned table: read it into memory, or a sample of its rows"


def is_scanned(X: Any) -> bool:
    return isinstance(X, ScannedTable)


def is_lazy(X: Any) -> bool:
    return is_dask(X) or is_scanned(X)


def where_rows_are(X: Any) -> str:
    """Return, for a message, where the rows of a lazy table are, and what to do."""
    return SCANNED if is_scanned(X) else DASK


class NotInMemoryError(TypeError):
    """Raised if every row of a lazy table is needed in one place. why: what needs them."""

    def __init__(self, why: str, X: Any) -> None:
        super().__init__(f"{why}; {where_rows_are(X)}")
        self.why = why


def trained_on_cpus(X: Any) -> str | None:
    """Return, for a message, why a table is not trained on a GPU; None where it can be."""
    return "X is a scanned table, which is trained on the CPU" if is_scanned(X) else None


def refuse_lazy(model: Any, *tables: Any) -> None:
    """Raise NotInMemoryError for an estimator that only fits rows in the memory of this process."""
    refuse_lazy_for(type(model).__name__, *tables)


def refuse_lazy_for(name: str, *tables: Any) -> None:
    """Raise NotInMemoryError for what only takes rows in the memory of this process."""
    for X in tables:
        if is_lazy(X):
            raise NotInMemoryError(f"{name} needs every row in the memory of this process", X)


def row_by_row(method: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate a method of X, so that it computes the results of a lazy table batch by batch.

    Of a Dask collection it returns a lazy Dask array; of a scanned table, the results of all rows; of an array of a
    GPU, one too. The method is then given `RowsThere`.
    """

    @wraps(method)
    def asked(self: Any, X: Any) -> Any:
        if is_there(X) and not isinstance(X, RowsThere):
            return _where_it_is(self, method, X)
        if is_scanned(X):
            return in_batches(X, partial(method, self))
        return mapped(self, method.__name__, X) if is_dask(X) else method(self, X)

    return asked


def _where_it_is(model: Any, method: Callable[..., Any], X: Any) -> Any:
    """Return the results for an array of a GPU, computed there if a device can be opened."""
    rows = rows_there(X) if model.cleaning_ is None else None
    if rows is None:
        return like(X, method(model, to_host(X)))
    with rows.device.errors():
        return like(X, method(model, rows))


def in_memory_only(method: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate a method of X, so that it raises for a lazy table before any work."""

    @wraps(method)
    def asked(self: Any, X: Any, *more: Any, **options: Any) -> Any:
        refuse_lazy_for(f"{type(self).__name__}.{method.__name__}", X)
        return method(self, X, *more, **options)

    return asked


def in_batches(X: ScannedTable, function: Callable[[Any], Any], axis: int = 0) -> Any:
    """Return the arrays that a function returns for the tables of all batches as one. axis: that of the rows."""
    found = []
    for batch in X.batches(what="predictions"):
        with batch.named():
            found.append(function(X.table(batch)))
    if not found:
        raise ValueError(NO_ROWS)
    return np.concatenate(found, axis=axis)
