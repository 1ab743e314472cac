"""What users hand in, checked once: X as a table, y as labels 0..K-1, weights as exact multiplicities.

Errors name the column, the row or the option, and say what to do.
"""

import math
import os
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_array, column_or_1d, validate_data

from electorate.data.table import Table, read_table

Weight = NDArray[np.float64]


def check_table(estimator: BaseEstimator, X: Any, *, reset: bool) -> Table:
    """X as a table; in training (reset) its columns are remembered, afterwards compared."""
    frame = nw.from_native(X, pass_through=True)
    if isinstance(frame, nw.LazyFrame):
        frame = frame.collect()
    if isinstance(frame, nw.DataFrame):
        native = frame.to_native()
        validate_data(estimator, native, reset=reset, skip_check_array=True)
        _refuse_empty(*frame.shape)
        return read_table(native)
    checked = validate_data(
        estimator,
        X,
        reset=reset,
        accept_sparse=("csr", "csc"),
        dtype="numeric",
        ensure_all_finite=False,
    )
    return read_table(checked)


def check_array_like(estimator: BaseEstimator, X: Any, *, reset: bool) -> Any:
    """X for a wrapped estimator: an array or sparse matrix, missing values left for the estimator to judge."""
    return validate_data(
        estimator,
        X,
        reset=reset,
        accept_sparse=["csr", "csc"],
        allow_nd=True,
        dtype=None,
        ensure_all_finite="allow-nan",
    )


def _refuse_empty(rows: int, columns: int) -> None:
    if rows == 0:
        raise ValueError("Found array with 0 sample(s): X has no rows")
    if columns == 0:
        raise ValueError(f"0 feature(s) (shape=({rows}, 0)) while a minimum of 1 is required: X has no columns")


def check_labels(estimator: BaseEstimator, y: Any, n_rows: int) -> NDArray[Any]:
    """y as one column of class labels."""
    if y is None:
        raise ValueError(f"{type(estimator).__name__} requires y to be passed, but the target y is None")
    labels = column_or_1d(_to_array(y), warn=True)
    if len(labels) != n_rows:
        raise ValueError(
            f"Found input variables with inconsistent numbers of samples: X has {n_rows} rows, y {len(labels)}"
        )
    _refuse_missing_labels(labels)
    check_classification_targets(labels)
    return np.asarray(labels)


def _to_array(y: Any) -> Any:
    series = nw.from_native(y, pass_through=True, allow_series=True)
    return series.to_numpy() if isinstance(series, nw.Series | nw.DataFrame) else y


def _refuse_missing_labels(labels: NDArray[Any]) -> None:
    if labels.dtype.kind == "f":
        bad = np.flatnonzero(~np.isfinite(labels))
    elif labels.dtype == object:
        bad = np.flatnonzero([value is None or value != value for value in labels.tolist()])
    else:
        return
    if bad.size:
        row = int(bad[0])
        kind = "infinity" if labels.dtype.kind == "f" and np.isinf(labels[row]) else "NaN"
        raise ValueError(f"Input y contains {kind}: row {row} has the label {labels[row]!r}; drop such rows")


def check_weight(sample_weight: Any, n_rows: int) -> Weight:
    """Sample weights as float64; 1 each where none are given."""
    if sample_weight is None:
        return np.ones(n_rows)
    weight = check_array(
        np.asarray(_to_array(sample_weight)),
        dtype=np.float64,
        ensure_2d=False,
        ensure_all_finite=False,
        input_name="sample_weight",
    )
    if weight.ndim == 0:
        return np.full(n_rows, float(weight))
    if weight.shape != (n_rows,):
        raise ValueError(f"sample_weight.shape == {weight.shape}, expected ({n_rows},): one weight per row of X")
    return np.array(weight)


def encode_labels(given: NDArray[Any], classes: NDArray[Any], weight: Weight, name: str) -> NDArray[np.int64]:
    """Labels as positions in `classes`; a row of weight 0 may have any label."""
    codes = np.minimum(np.searchsorted(classes, given), len(classes) - 1).astype(np.int64)
    unknown = np.flatnonzero((classes[codes] != given) & (weight > 0))
    if unknown.size:
        row = int(unknown[0])
        label = given[row : row + 1].tolist()[0]
        raise ValueError(f"{name} has the label {label!r} in row {row}, which is not one of {classes.tolist()!r}")
    return codes


def times_class_weight(weight: Weight, labels: NDArray[Any], class_weight: Any) -> Weight:
    """Weights times the weight of their class. "balanced" gives every class the same total."""
    if class_weight is None:
        return weight
    classes, codes = np.unique(labels[weight > 0], return_inverse=True)
    if isinstance(class_weight, str):
        totals = [math.fsum(weight[weight > 0][codes == k]) for k in range(len(classes))]
        factor = {c: math.fsum(totals) / (len(classes) * t) for c, t in zip(classes.tolist(), totals, strict=True)}
    else:
        factor = dict(class_weight)
        known = np.unique(labels).tolist()  # also of rows without weight
        unknown = [key for key in factor if key not in known]
        if unknown:
            raise ValueError(f"class_weight names {unknown[0]!r}, which is not a class of y: {known!r}")
    out = weight.copy()
    for label, times in factor.items():
        out[labels == label] *= times
    return out


def category_columns(table: Table, wanted: Any) -> list[int]:
    """The columns to treat as categories: by type, or those the user names by position, name or mask."""
    if isinstance(wanted, str) and wanted == "from_dtype":
        return table.category_columns()
    if wanted is None:
        return []
    columns = [_column_number(table, item) for item in _unmask(table, wanted)]
    by_type = set(table.category_columns())
    left_out = sorted(by_type - set(columns))
    if left_out:
        raise ValueError(
            f"column {table.names[left_out[0]]!r} holds texts or categories, but categorical_features does not "
            "name it: name it too, or use categorical_features='from_dtype'"
        )
    return sorted(set(columns))


def _unmask(table: Table, wanted: Any) -> list[Any]:
    items = np.asarray(wanted)
    if items.dtype != np.bool_:
        return list(items.tolist())
    if len(items) != table.n_columns:
        raise ValueError(f"categorical_features is a mask of {len(items)} entries for {table.n_columns} columns")
    return list(np.flatnonzero(items).tolist())


def _column_number(table: Table, item: Any) -> int:
    if isinstance(item, str):
        if item not in table.names:
            raise ValueError(f"categorical_features names {item!r}, which is not a column of X")
        return table.names.index(item)
    if not 0 <= int(item) < table.n_columns:
        raise ValueError(f"categorical_features names column {item!r}; X has the columns 0 to {table.n_columns - 1}")
    return int(item)


def refuse_too_large(needed: int) -> None:
    """An error before the work if it cannot fit in the memory that is free."""
    free = free_memory()
    if free is not None and needed > free:
        raise MemoryError(
            f"this fit needs about {needed / 2**30:.1f} GiB beside X, and {free / 2**30:.1f} GiB are free: "
            "use fewer rows or columns, or max_bins=255 instead of 'exact'"
        )


def free_memory() -> int | None:
    """Bytes this process may still take: what the machine has left, or its control group."""
    limits = []
    try:
        with open("/proc/meminfo") as file:
            lines = dict(line.split(":") for line in file)
        limits.append(int(lines["MemAvailable"].split()[0]) * 1024)
        with (
            open("/sys/fs/cgroup/memory.max") as most,
            open("/sys/fs/cgroup/memory.current") as now,
        ):
            limits.append(int(most.read()) - int(now.read()))
    except (OSError, ValueError, KeyError):
        pass
    if not limits and hasattr(os, "sysconf") and "SC_AVPHYS_PAGES" in os.sysconf_names:
        limits.append(os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    return min(limits, default=None)
