"""The rows of a comparison as plain arrays: numbers, category codes, labels as numbers. Stored without pickling.

Codes follow the sorted order of the categories; a fit sees those of its own rows, numbered anew, and every other
category as missing. So edges, categories and all else are learned inside every fit, from its rows alone.
"""

import hashlib
import json
import os
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from electorate.comparison.algorithms import BINARY, MULTICLASS, REGRESSION
from electorate.data.bins import read_block
from electorate.data.inputs import category_columns, check_labels
from electorate.data.table import ArrayTable, Categories, SparseTable, Table, numeric_codes, read_table, refuse_infinite

MOST_WHOLE_LABELS = 20  # whole numbers of more distinct values are taken for a quantity


@dataclass(frozen=True)
class Rows:
    """matrix: [row, column] of float64, or CSR. target: label numbers (int64) or a quantity (float64).

    weight: of the rows, all positive, or None.
    """

    matrix: Any
    target: NDArray[Any]
    categorical: list[int]
    widest: int
    weight: NDArray[np.float64] | None = None

    @property
    def n_rows(self) -> int:
        return len(self.target)

    def take(self, which: NDArray[np.int64]) -> "Rows":
        weight = None if self.weight is None else self.weight[which]
        return Rows(self.matrix[which], self.target[which], self.categorical, self.widest, weight)

    def digest(self) -> str:
        digest = hashlib.sha256()
        for name, array in _arrays(self).items():
            digest.update(f"{name} {array.dtype.str} {array.shape};".encode())
            digest.update(np.ascontiguousarray(array).tobytes())
        digest.update(json.dumps([self.categorical, self.widest]).encode())
        return digest.hexdigest()


class Coder:
    """The categories of some rows, numbered in order; what they do not hold is missing."""

    def __init__(self, rows: Rows) -> None:
        self.known = {j: np.unique(rows.matrix[:, j]) for j in rows.categorical}
        self.known = {j: values[~np.isnan(values)] for j, values in self.known.items()}

    def __call__(self, rows: Rows) -> Rows:
        if not self.known:
            return rows
        matrix = np.array(rows.matrix)
        for j, known in self.known.items():
            matrix[:, j] = numeric_codes(matrix[:, j], Categories(known))
        return Rows(matrix, rows.target, rows.categorical, max(map(len, self.known.values())), rows.weight)


def read_rows(
    X: Any, y: Any, task: str, categorical_features: Any, weight: NDArray[np.float64] | None = None
) -> tuple[Rows, NDArray[Any]]:
    """The rows, and the classes their labels number (none for a quantity)."""
    table = as_table(X)
    target, classes = read_target(y, table.n_rows, task)
    wanted = category_columns(table, categorical_features, table.category_columns())
    categories = {column: Categories(table.levels(column)) for column in wanted}
    matrix = read_matrix(X, table, categories)
    widest = max((len(c.levels) for c in categories.values()), default=0)
    return Rows(matrix, target, wanted, widest, weight), classes


def read_weight(sample_weight: Any, n_rows: int) -> NDArray[np.float64] | None:
    """Weights that are numbers, none negative, not all 0."""
    if sample_weight is None:
        return None
    try:
        weight = np.asarray(_array(sample_weight), dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError("sample_weight holds texts: weights are numbers") from None
    if weight.shape != (n_rows,):
        raise ValueError(f"X has {n_rows} rows, sample_weight has the shape {weight.shape}")
    bad = np.flatnonzero(~np.isfinite(weight) | (weight < 0))
    if bad.size:
        raise ValueError(f"the weight of row {int(bad[0])} is {weight[bad[0]]}: weights are numbers from 0 on")
    if not np.any(weight):
        raise ValueError("all weights are 0")
    return weight


def as_table(X: Any) -> Table:
    if hasattr(X, "shape") and len(X.shape) != 2:
        raise ValueError(f"X has the shape {X.shape}: it must have rows and columns")
    return read_table(np.asarray(X) if isinstance(X, list | tuple) else X)


def read_matrix(X: Any, table: Table, categories: dict[int, Categories]) -> Any:
    if isinstance(table, SparseTable) and not categories:
        matrix = sparse.csr_array(X, dtype=np.float64)
        bad = np.flatnonzero(np.isinf(matrix.data))
        if bad.size:
            row = int(np.searchsorted(matrix.indptr, bad[0], side="right")) - 1
            refuse_infinite(table, int(matrix.indices[bad[0]]), row)
        return matrix
    if isinstance(table, ArrayTable) and not isinstance(table, SparseTable) and table.array.dtype.kind not in "fiub":
        raise ValueError(f"X has the type {table.array.dtype}: use numbers, or a dataframe for texts")
    block = np.ascontiguousarray(read_block(table, categories, 0, table.n_rows).T)
    where = np.argwhere(np.isinf(block))
    if len(where):
        refuse_infinite(table, int(where[0][1]), int(where[0][0]))
    return block


# ---------------------------------------------------------------- the target


def guess_task(y: Any) -> str:
    """Labels or a quantity, by what y holds: texts are labels; fractions, and many whole numbers, a quantity."""
    values = np.asarray(_array(y))
    if values.dtype.kind not in "iuf":
        return "classification"
    there = values[np.isfinite(values)] if values.dtype.kind == "f" else values
    whole = values.dtype.kind in "iu" or bool(np.all(there == np.rint(there)))
    return "classification" if whole and len(np.unique(there)) <= MOST_WHOLE_LABELS else "regression"


def read_target(y: Any, n_rows: int, task: str) -> tuple[NDArray[Any], NDArray[Any]]:
    kind = guess_task(y) if task == "auto" else task
    if kind == "regression":
        return _quantity(y, n_rows), np.empty(0)
    if kind != "classification":
        raise ValueError(f"task is {task!r}: it must be 'auto', 'classification' or 'regression'")
    labels = check_labels("compare", y, n_rows)
    classes, target = np.unique(labels, return_inverse=True)
    if len(classes) < 2:
        raise ValueError(f"the target has one class only, {classes.tolist()[0]!r}: there is nothing to compare")
    if len(classes) > max(2, n_rows // 2):
        raise ValueError(
            f"the target has {len(classes)} different labels in {n_rows} rows: is it the right column? "
            "If it is a number to predict, say task='regression'"
        )
    return target.astype(np.int64), classes


def _quantity(y: Any, n_rows: int) -> NDArray[np.float64]:
    try:
        target = np.asarray(_array(y), dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError("the target holds texts, and regression needs numbers: use task='classification'") from None
    if target.shape != (n_rows,):
        raise ValueError(f"X has {n_rows} rows, y has the shape {target.shape}")
    bad = np.flatnonzero(~np.isfinite(target))
    if bad.size:
        raise ValueError(f"the target of row {int(bad[0])} is {target[bad[0]]}: drop such rows")
    return target


def _array(y: Any) -> Any:
    return y.to_numpy() if hasattr(y, "to_numpy") else y


def task_of(classes: NDArray[Any]) -> str:
    return {0: REGRESSION, 2: BINARY}.get(len(classes), MULTICLASS)


# ---------------------------------------------------------------- storage


def _arrays(rows: Rows) -> dict[str, NDArray[Any]]:
    more = {"target": rows.target} | ({} if rows.weight is None else {"weight": rows.weight})
    if sparse.issparse(rows.matrix):
        parts = {name: np.asarray(getattr(rows.matrix, name)) for name in ("data", "indices", "indptr")}
        return {**parts, "shape": np.array(rows.matrix.shape, dtype=np.int64), **more}
    return {"matrix": rows.matrix, **more}


def store(rows: Rows, folder: str) -> None:
    os.makedirs(folder, exist_ok=True)
    for name, array in _arrays(rows).items():
        np.save(os.path.join(folder, f"{name}.npy"), array, allow_pickle=False)
    with open(os.path.join(folder, "columns.json"), "w") as file:
        json.dump({"categorical": rows.categorical, "widest": rows.widest}, file)


def restore(folder: str) -> Rows:
    """What `store` wrote; dense numbers stay on the disk until they are read."""

    def array(name: str) -> NDArray[Any]:
        return np.load(os.path.join(folder, f"{name}.npy"), mmap_mode="r", allow_pickle=False)

    with open(os.path.join(folder, "columns.json")) as file:
        known = json.load(file)
    if os.path.exists(os.path.join(folder, "matrix.npy")):
        matrix: Any = array("matrix")
    else:
        parts = tuple(np.array(array(name)) for name in ("data", "indices", "indptr"))
        matrix = sparse.csr_array(parts, shape=tuple(array("shape").tolist()))
    weight = np.array(array("weight")) if os.path.exists(os.path.join(folder, "weight.npy")) else None
    return Rows(matrix, np.array(array("target")), known["categorical"], known["widest"], weight)
