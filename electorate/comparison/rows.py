"""The rows of a comparison as plain arrays: numbers, category codes and class codes. Stored without pickling.

Every fit learns bin edges, categories and all else from its own rows alone: categories that its rows lack are missing.
"""

import hashlib
import json
import os
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from electorate.data.bins import read_block
from electorate.data.inputs import NO_ROWS, category_columns, check_labels
from electorate.data.table import ArrayTable, Categories, SparseTable, Table, read_table, refuse_infinite
from electorate.data.targets import check_targets, guess_task

OPTIONAL = ("weight", "group", "time")  # numbers of the rows that may be missing
Floats = NDArray[np.float64]
Places = NDArray[np.int64]  # positions of rows
Parts = tuple[Places, Places]  # training rows and rows to test


@dataclass(frozen=True)
class Rows:
    """matrix: [row, column] of float64, or CSR. target: class codes (int64) or, for regression, float64.

    weight: of the rows, all positive, or None. group: codes of groups that no split divides, or None. time: when the
    rows were observed, in any unit, or None.
    """

    matrix: Any
    target: NDArray[Any]
    categorical: list[int]
    widest: int
    weight: Floats | None = None
    group: NDArray[np.int64] | None = None
    time: Floats | None = None

    @property
    def n_rows(self) -> int:
        return len(self.target)

    def take(self, which: Places) -> "Rows":
        some = {name: getattr(self, name) for name in OPTIONAL}
        taken: dict[str, Any] = {name: None if values is None else values[which] for name, values in some.items()}
        return replace(self, matrix=self.matrix[which], target=self.target[which], **taken)

    def digest(self) -> str:
        digest = hashlib.sha256()
        for name, array in _arrays(self).items():
            digest.update(f"{name} {array.dtype.str} {array.shape};".encode())
            digest.update(np.ascontiguousarray(array).tobytes())
        digest.update(json.dumps([self.categorical, self.widest]).encode())
        return digest.hexdigest()


# ---------------------------------------------------------------- reading


def read_rows(
    X: Any, y: Any, task: str, categorical_features: Any, weight: Floats | None = None
) -> tuple[Rows, NDArray[Any]]:
    """The rows, and the classes that their codes stand for (none for regression)."""
    table = as_table(X)
    target, classes = read_target(y, table.n_rows, task)
    categories = read_categories(table, categorical_features)
    matrix = read_matrix(X, table, categories)
    return Rows(matrix, target, list(categories), widest_of(categories), weight), classes


def as_table(X: Any) -> Table:
    if hasattr(X, "shape") and len(X.shape) != 2:
        raise ValueError(f"X has the shape {X.shape}: it must have rows and columns")
    return read_table(np.asarray(X) if isinstance(X, list | tuple) else X)


def read_categories(table: Table, categorical_features: Any) -> dict[int, Categories]:
    """The categories of each category column."""
    wanted = category_columns(table, categorical_features, table.category_columns())
    return {column: Categories(table.levels(column)) for column in wanted}


def widest_of(categories: dict[int, Categories]) -> int:
    return max((len(c.levels) for c in categories.values()), default=0)


def read_matrix(X: Any, table: Table, categories: dict[int, Categories]) -> Any:
    """The columns as float64, with the codes of the categories; CSR for a sparse table without categories."""
    is_sparse = isinstance(table, SparseTable)
    if is_sparse and not categories:
        matrix: Any = sparse.csr_array(X, dtype=np.float64)
        bad = np.flatnonzero(np.isinf(matrix.data))[:1]
        where = np.column_stack([np.searchsorted(matrix.indptr, bad, side="right") - 1, matrix.indices[bad]])
    elif isinstance(table, ArrayTable) and not is_sparse and table.array.dtype.kind not in "fiub":
        raise ValueError(f"X has the type {table.array.dtype}: use numbers, or a dataframe for texts")
    else:
        block = X if isinstance(X, np.ndarray) and not categories else read_block(table, categories, 0, table.n_rows).T
        matrix = np.ascontiguousarray(block, dtype=np.float64)
        where = np.argwhere(np.isinf(matrix))
    if len(where):
        refuse_infinite(table, int(where[0][1]), int(where[0][0]))
    return matrix


def read_target(y: Any, n_rows: int, task: str) -> tuple[NDArray[Any], NDArray[Any]]:
    kind = guess_task(y) if task == "auto" else task
    if kind == "regression":
        return check_targets("compare", y, n_rows), np.empty(0)
    if kind != "classification":
        raise ValueError(f"task is {task!r}: it must be 'auto', 'classification' or 'regression'")
    classes, codes = np.unique(check_labels("compare", y, n_rows), return_inverse=True)
    if n_rows == 0:
        raise ValueError(NO_ROWS)
    if len(classes) < 2:
        raise ValueError(f"the target has one class only, {classes.tolist()[0]!r}: there is nothing to compare")
    if len(classes) > max(2, n_rows // 2):
        many = f"the target has {len(classes)} different labels in {n_rows} rows"
        raise ValueError(f"{many}: is it the right column? If it is a number to predict, use task='regression'")
    return codes.astype(np.int64), classes


# ---------------------------------------------------------------- storage


def _arrays(rows: Rows) -> dict[str, NDArray[Any]]:
    some = {name: getattr(rows, name) for name in OPTIONAL}
    more = {"target": rows.target} | {name: values for name, values in some.items() if values is not None}
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
    """What `store` wrote; a dense matrix is memory-mapped."""
    names = [name.removesuffix(".npy") for name in os.listdir(folder) if name.endswith(".npy")]
    paths = {name: os.path.join(folder, f"{name}.npy") for name in names}
    arrays = {name: np.load(path, mmap_mode="r", allow_pickle=False) for name, path in paths.items()}
    matrix: Any = arrays.pop("matrix", None)
    arrays = {name: np.array(array) for name, array in arrays.items()}
    if matrix is None:
        parts = tuple(arrays[name] for name in ("data", "indices", "indptr"))
        matrix = sparse.csr_array(parts, shape=tuple(arrays["shape"].tolist()))
    with open(os.path.join(folder, "columns.json")) as file:
        columns = json.load(file)
    some = {name: arrays.get(name) for name in OPTIONAL}
    return Rows(matrix, arrays["target"], columns["categorical"], columns["widest"], **some)
