"""Odd arrays, containers and values as X, y and weights; every estimator must fit or refuse them, and then predict."""

from __future__ import annotations

import datetime
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import scipy.sparse as sp
from sklearn.base import clone, is_classifier

import electorate as el
from fuzzing.outcomes import Refused, attempt, require
from fuzzing.samples import rows_of, samples

Change = Callable[[random.Random, Any], Any]
VALUES = [np.nan, np.inf, -np.inf, 1e300, -1e300, 1.7e308, 5e-324, -5e-324, -0.0, 2.0**53 + 2, 1e-310, 0.0]
DTYPES = [
    *("f2", "f4", "f8", "g", "i1", "u1", "i8", "u8", "b", "O", "U8", "S4", "c16", "M8[s]", "m8[D]", ">f8", "V8"),
    *("f4", "O"),
]
NOTHING: list[Any] = [
    *(None, 0, 1.5, "text", b"bytes", [], [[]], [[], []], {}, set(), (), object(), np.float64(1), np.array(3)),
    *(
        range(3),
        iter([1, 2]),
        datetime.date(2020, 1, 1),
        pd.DataFrame(),
        np.empty((0, 0)),
        lambda: 0,
        np.ma.masked,
        type,
    ),
]


# ---------------------------------------------------------------- tables


def odd_values(rng: random.Random, X: Any) -> Any:
    """Put odd numbers into some cells, a column, a row, or everywhere."""
    X = np.array(X, dtype=np.float64)
    if not X.size or X.ndim != 2:
        return X
    value = rng.choice(VALUES)
    choice = rng.randrange(5)
    if choice == 0:
        X[rng.randrange(len(X)), rng.randrange(X.shape[1])] = value
    elif choice == 1:
        X[:, rng.randrange(X.shape[1])] = value
    elif choice == 2:
        X[rng.randrange(len(X))] = value
    elif choice == 3:
        X[:] = value
    else:
        with np.errstate(over="ignore", invalid="ignore"):
            X *= value
    return X


def other_dtype(rng: random.Random, X: Any) -> Any:
    with np.errstate(invalid="ignore", over="ignore"):
        return np.asarray(X).astype(rng.choice(DTYPES))


def other_shape(rng: random.Random, X: Any) -> Any:
    X = np.asarray(X)
    shapes: list[Callable[[], Any]] = [
        lambda: X[:0],
        lambda: X[:1],
        lambda: X[:, :0] if X.ndim == 2 else X[:2],
        lambda: X[:, :1] if X.ndim == 2 else X[:3],
        lambda: X.ravel(),
        lambda: X[None],
        lambda: X[..., None],
        lambda: X.T,
        lambda: np.tile(X, (1, 40)) if X.ndim == 2 else np.tile(X, 3),
        lambda: np.repeat(X, 3, axis=0),
        lambda: X[: len(X) // 2],
        lambda: X[::-2],
        lambda: np.asfortranarray(X),
        lambda: np.broadcast_to(X[:1], X.shape),
        lambda: _read_only(X),
    ]
    return rng.choice(shapes)()


def _read_only(X: Any) -> Any:
    X = np.array(X)
    X.flags.writeable = False
    return X


def container(rng: random.Random, X: Any) -> Any:
    """The same cells in something else."""
    array = np.asarray(X)
    if array.ndim != 2:
        return rng.choice([list, tuple, pd.Series, np.ma.masked_invalid])(array) if array.ndim == 1 else array.tolist()
    makers: list[Callable[[], Any]] = [
        lambda: array.tolist(),
        lambda: [array[0].tolist(), array[1].tolist()[:-1]],
        lambda: tuple(map(tuple, array)),
        lambda: pd.DataFrame(array),
        lambda: pd.DataFrame(array, columns=["a"] * array.shape[1]),
        lambda: pd.DataFrame(array, columns=pd.MultiIndex.from_tuples([(j, str(j)) for j in range(array.shape[1])])),
        lambda: pd.DataFrame(array).astype(rng.choice(["object", "string", "category", "Float64", "float32"])),
        lambda: pd.DataFrame({j: pd.Categorical(array[:, j].astype(str)) for j in range(array.shape[1])}),
        lambda: pl.DataFrame(array.astype(np.float64)),
        lambda: pl.DataFrame(array.astype(np.float64)).lazy(),
        lambda: pl.DataFrame(array.astype(str)).with_columns(pl.all().cast(pl.Categorical)),
        lambda: pa.table({str(j): array[:, j].astype(np.float64) for j in range(array.shape[1])}),
        lambda: pa.table(
            {str(j): pa.array(array[:, j].astype(str)).dictionary_encode() for j in range(array.shape[1])}
        ),
        lambda: np.ma.masked_invalid(array.astype(np.float64)),
        lambda: np.rec.fromarrays(list(array.T)),
        lambda: _sparse(rng, array),
        lambda: iter(array),
        lambda: {"a": array},
        lambda: array.astype(object) * 10**30,
    ]
    return rng.choice(makers)()


def _sparse(rng: random.Random, array: Any) -> Any:
    kinds = [sp.csr_matrix, sp.csc_matrix, sp.coo_matrix, sp.bsr_matrix, sp.lil_matrix, sp.dok_matrix, sp.csr_array]
    made = rng.choice(kinds)(array.astype(np.float64))
    if isinstance(made, sp.csr_matrix) and made.nnz and rng.random() < 0.3:
        made.data[0] = rng.choice(VALUES)
        made.indices = made.indices.astype(np.int64)
    return made


def mixed_objects(rng: random.Random, X: Any) -> Any:
    X = np.array(X).astype(object)
    if X.size:
        X.reshape(-1)[rng.randrange(X.size)] = rng.choice(
            [None, "a", b"b", [1], {}, 10**400, 1j, pd.NA, pd.NaT, object()]
        )
    return X


def nothing(rng: random.Random, X: Any) -> Any:
    return rng.choice(NOTHING)


TABLES: list[Change] = [
    odd_values,
    odd_values,
    odd_values,
    other_dtype,
    other_shape,
    container,
    container,
    mixed_objects,
]
TABLES += [nothing]


# ---------------------------------------------------------------- labels and weights


def odd_target(rng: random.Random, y: Any) -> Any:
    """Replace the labels or targets, all or one of them."""
    y = np.asarray(y)
    n = len(y)
    makers: list[Callable[[], Any]] = [
        lambda: np.zeros(n),
        lambda: np.full(n, rng.choice(VALUES)),
        lambda: np.where(np.arange(n) == 0, rng.choice(VALUES), np.arange(n) % 2),
        lambda: y.astype(np.float64) * rng.choice([5e-324, 1e-310, 1e300, 1e308, -1e308, 0.0]),
        lambda: y.astype(np.float64) + rng.choice([1e16, 1e300, 5e-324]),
        lambda: np.array([rng.choice(["a", "b\x00", "", "\ud800", "é"]) for _ in range(n)], dtype=object),
        lambda: y.astype(rng.choice(DTYPES)),
        lambda: y.astype(np.float64)[:, None] * [[1.0, 2.0]],
        lambda: y[:-1],
        lambda: np.arange(n),
        lambda: y.astype(np.uint64) + np.uint64(2**64 - 3),
        lambda: pd.Series(y, index=np.arange(n)[::-1]),
        lambda: pd.Categorical(y.astype(str)),
        lambda: mixed_objects(rng, y),
        lambda: rng.choice(NOTHING),
        lambda: y.astype(np.float64) + 0.5,
        lambda: y.astype(bool),
        lambda: pl.Series(y),
    ]
    return rng.choice(makers)()


def odd_weight(rng: random.Random, n: int) -> Any:
    makers: list[Callable[[], Any]] = [
        lambda: np.zeros(n),
        lambda: np.full(n, rng.choice([-1.0, *VALUES])),
        lambda: np.where(np.arange(n) == 3, rng.choice([*VALUES, 1e18, 2**62]), 1.0),
        lambda: np.where(np.arange(n) == 3, 1.0, 0.0),
        lambda: np.random.default_rng(0).random(n) * rng.choice([1e-300, 1e300, 5e-324, 1e15]),
        lambda: np.arange(n),
        lambda: np.full(n, 2**62, dtype=np.int64),
        lambda: np.full(n, rng.choice(["1", None, 1j])),
        lambda: np.ones((n, 2)),
        lambda: np.ones(n - 1),
        lambda: 2.0,
        lambda: rng.choice(NOTHING),
        lambda: pd.Series(np.ones(n)),
        lambda: np.ones(n, dtype=bool),
    ]
    return rng.choice(makers)()


# ---------------------------------------------------------------- cases


def run_case(rng: random.Random, names: list[str]) -> str:
    """Fit a model to odd rows, or a sound one, and predict odd rows with it."""
    sample = rng.choice([sample for sample in samples() if sample.name in names])
    X, y = rows_of(sample.rows)
    model = clone(sample.model)
    fit_oddly = rng.random() < 0.7
    rows: list[Any] = [X, y, None]
    if fit_oddly:
        part = rng.choice([0, 0, 0, 1, 1, 2])
        rows[part] = odd_weight(rng, len(y)) if part == 2 else _changed(rng, rows[part], part)
    model.set_callbacks(el.TimeLimit(3))
    try:
        attempt("fit", lambda: model.fit(*rows))
    except Refused:
        return "refused"
    for X_new in (X, _changed(rng, X, 0)):
        try:
            said = attempt("predict", lambda X_new=X_new: model.predict(X_new))
        except Refused:
            continue
        finite = np.all(np.isin(said, model.classes_)) if is_classifier(model) else np.all(np.isfinite(said))
        require(bool(finite), "predict", f"predictions {np.asarray(said)[:5].tolist()}")
    return "works"


def _changed(rng: random.Random, given: Any, part: int) -> Any:
    """Change X or y once or twice; a change that NumPy or pandas itself refuses is skipped."""
    for _ in range(rng.choice([1, 1, 2])):
        change = odd_target if part == 1 else rng.choice(TABLES)
        try:
            given = change(rng, given)
        except Exception:
            continue
    return given
