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

from electorate.data.inputs import NO_ROWS, check_labels
from electorate.data.row_subset import as_table, read_categories, read_matrix, widest_of
from electorate.data.targets import check_targets, guess_task
from electorate.exact import Floats

OPTIONAL = ("weight", "group", "time")  # numbers of the rows that may be missing
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

    @property
    def n_units(self) -> int:
        """How many groups there are, or different times; without either, rows."""
        units = self.group if self.group is not None else self.time
        return self.n_rows if units is None else len(np.unique(units))

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
