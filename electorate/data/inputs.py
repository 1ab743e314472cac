"""Checks of the arguments of users: X as a table, y as labels 0..K-1, weights as floats, and options about columns.

Errors name the column, the row or the option, and what to do.
"""

import math
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from numbers import Real
from pathlib import Path
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from scipy.sparse import issparse
from sklearn.base import BaseEstimator
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_array, column_or_1d, validate_data

from electorate import kernels
from electorate.cuda.arrays import is_there, rows_there, to_host
from electorate.data.all_reduce import Reduce, ReduceSteps
from electorate.data.factors import codes_of, distinct, hold_texts, is_missing
from electorate.data.sparse_format import check_sparse
from electorate.data.table import Table, ThereTable, read_table, refuse_infinite
from electorate.data.weights import refuse_bad
from electorate.exact import AnyArray, Floats, Ints

MOST_CLASSES = 2**16 - 1  # labels are sorted as 16 bits
EXACT_BITS = 1074 + 52
NO_ROWS = "Found array with 0 sample(s): X has no rows"
ALWAYS_FREE = 2**24  # bytes; to ask the system takes as long as a tenth of a small fit
ROWS_TRANSPOSED = 64  # at once: they stay in the cache


def check_table(estimator: BaseEstimator, X: Any, *, reset: bool) -> Table:
    """Return X as a table. reset: store its columns in the estimator (training); else compare them."""
    if is_there(X):
        there = rows_there(X)
        if there is not None:
            like = np.empty((0, there.array.shape[1]), dtype=there.array.dtype)
            validate_data(estimator, like, reset=reset, skip_check_array=True)
            return ThereTable(there)
    X = readable_container(X)
    try:
        frame = X if isinstance(X, np.ndarray) else nw.from_native(X, pass_through=True)
    except nw.exceptions.DuplicateError as error:
        raise ValueError(f"X has several columns of one name: {error}") from error
    if isinstance(frame, nw.LazyFrame):
        frame = frame.collect()
    if isinstance(frame, nw.DataFrame):
        native = frame.to_native()
        validate_data(estimator, native, reset=reset, skip_check_array=True)
        rows, columns = frame.shape
        if rows == 0:
            raise ValueError(NO_ROWS)
        if columns == 0:
            raise ValueError(f"0 feature(s) (shape=({rows}, 0)) while a minimum of 1 is required: X has no columns")
        return read_table(native)
    options = {"accept_sparse": ("csr", "csc"), "dtype": "numeric", "ensure_all_finite": False}
    with too_large_refused("X"):
        checked = validate_data(estimator, X, reset=reset, **options)
    refuse_other_types(checked)
    return read_table(checked)


def refuse_other_types(X: Any) -> None:
    if X.dtype.kind not in "fiub":
        raise ValueError(f"X has the type {X.dtype}: turn it into numbers (dates: the days since some day)")


@contextmanager
def too_large_refused(name: str) -> Iterator[None]:
    """Turn the OverflowError of a Python integer beyond float64 into a ValueError that names the argument."""
    try:
        yield
    except OverflowError as error:
        raise ValueError(f"{name} has a number that is too large for float64: divide it by a power of ten") from error


def indexable(X: Any) -> Any:
    """Return X such that scikit-learn can take rows of it; indices of a sparse matrix are checked."""
    frame = nw.from_native(X, pass_through=True)
    if isinstance(frame, nw.LazyFrame):
        return frame.collect().to_native()
    if issparse(X):
        return check_sparse(X).tocsr()
    return X if isinstance(frame, nw.DataFrame) or hasattr(X, "shape") else np.asarray(X)


def readable_container(X: Any) -> Any:
    """Return X with checked indices if it is sparse, a record batch of pyarrow as a table, a copy of a GPU's array."""
    if is_there(X):
        return to_host(X)
    pyarrow = sys.modules.get("pyarrow")
    if pyarrow is not None and isinstance(X, pyarrow.RecordBatch):
        return pyarrow.Table.from_batches([X])
    return check_sparse(X)


def check_numbers(estimator: Any, X: Any, *, reset: bool) -> Floats:
    """Return X as numbers [row, column], NaN where missing, for families that read whole rows."""
    table = check_table(estimator, X, reset=reset)
    texts = category_columns(table, estimator.categorical_features, table.category_columns())
    if texts:
        name, family = table.column_name(texts[0]), type(estimator._family()).__name__
        todo = "encode it first, for example with scikit-learn's OneHotEncoder"
        raise ValueError(f"column {name} holds categories, and {family} needs numbers: {todo}")
    refuse_too_large(24 * table.n_rows * table.n_columns)
    block = np.empty((table.n_columns, table.n_rows))
    step = table.n_rows if table.names else ROWS_TRANSPOSED  # arrays are stored row by row, dataframes by column
    for low in range(0, table.n_rows, step):
        high = min(low + step, table.n_rows)
        table.read_into(block[:, low:high], low, high, range(table.n_columns))
    column, row = kernels.first_infinite(block)
    refuse_infinite(table, column, row)
    return block.T


def check_array_like(estimator: BaseEstimator, X: Any, *, reset: bool) -> Any:
    """Return X for a wrapped estimator: an array or sparse matrix, with missing values."""
    options = {"accept_sparse": ["csr", "csc"], "allow_nd": True, "dtype": None, "ensure_all_finite": "allow-nan"}
    return validate_data(estimator, readable_container(X), reset=reset, **options)


def read_y(estimator: Any, y: Any) -> AnyArray:
    """Return y as a one-dimensional array."""
    require_y(estimator, y)
    y = to_array(y)
    return y if type(y) is np.ndarray and y.ndim == 1 else column_or_1d(y, warn=True)


def require_y(estimator: Any, y: Any) -> None:
    if y is None:
        raise ValueError(f"{type(estimator).__name__} requires y to be passed, but the target y is None")


def to_array(y: Any) -> Any:
    """Return a series or dataframe of any library, or an array of a GPU, as an array, and anything else unchanged."""
    if isinstance(y, np.ndarray):
        return y
    if is_there(y):
        return to_host(y)
    series = nw.from_native(y, pass_through=True, allow_series=True)
    if isinstance(series, nw.Series) and series.implementation.is_pyarrow():
        column = series.to_native()  # pyarrow would give a missing value of a dictionary the last of its values
        is_dictionary = hasattr(column.type, "index_type")
        decoded = column.cast(column.type.value_type) if is_dictionary and column.null_count else column
        return np.asarray(decoded.to_numpy())
    return series.to_numpy() if isinstance(series, nw.Series | nw.DataFrame) else y


def check_n_rows(y: AnyArray, n_rows: int) -> None:
    if len(y) != n_rows:
        raise ValueError(f"Found input variables with inconsistent numbers of samples: X has {n_rows} rows, y {len(y)}")


def refuse_missing(y: AnyArray, bad: Any, word: str) -> None:
    """Raise ValueError for the first row of y that is missing or infinite. word: "label" or "target"."""
    rows = np.flatnonzero(bad)
    if rows.size:
        row = int(rows[0])
        kind = "infinity" if y.dtype.kind == "f" and np.isinf(y[row]) else "NaN"
        raise ValueError(f"Input y contains {kind}: row {row} has the {word} {y[row]}; drop such rows")


def check_labels(estimator: Any, y: Any, n_rows: int) -> AnyArray:
    """Return y as one column of class labels, of a type that a model file can hold, in native byte order."""
    labels = read_y(estimator, y)
    kind = labels.dtype.kind
    if kind == "S":
        raise ValueError(f"y has the type {labels.dtype}, which are bytes: use np.char.decode(y), which gives texts")
    if kind not in "OUTbiufc" or (kind == "f" and labels.dtype.itemsize > 8):
        raise ValueError(f"y has the type {labels.dtype}: labels must be texts, booleans or numbers of up to 64 bits")
    labels = labels.astype(object if kind == "T" else labels.dtype.newbyteorder("="), copy=False)
    check_n_rows(labels, n_rows)
    if kind == "f":
        labels = np.asarray(labels + 0.0)  # -0.0 is 0.0
        refuse_missing(labels, ~np.isfinite(labels), "label")
    values = labels.tolist() if labels.dtype == object else []
    if not hold_texts(values):  # other objects may have no order, and scikit-learn's scores refuse them
        refuse_missing(labels, [is_missing(value) for value in values], "label")
        bad = next((row for row, value in enumerate(values) if not isinstance(value, str)), None)
        if bad is not None:
            found = f"y is an array of objects and row {bad} holds {labels[bad]!r}, not a text"
            raise ValueError(f"Unknown label type: {found}: convert y, with y.astype(int), astype(bool) or astype(str)")
    if kind not in "biu" or 2 * len(distinct(labels)) > len(labels):  # other integers are always classes
        check_classification_targets(labels)
    return labels


def refuse_many(classes: AnyArray) -> None:
    if len(classes) > MOST_CLASSES:
        raise ValueError(f"y has {len(classes)} classes, more than {MOST_CLASSES}: is it a regression target?")


def check_weight(sample_weight: Any, n_rows: int) -> Floats:
    """Return sample weights as float64; 1 each where none are given."""
    if sample_weight is None:
        return np.ones(n_rows)
    given = np.asarray(to_array(sample_weight))
    given = given if given.ndim else np.full(n_rows, given)
    options = {"dtype": np.float64, "ensure_2d": False, "ensure_all_finite": False, "input_name": "sample_weight"}
    with too_large_refused("sample_weight"):
        weight = check_array(given, **options)
    if weight.shape != (n_rows,):
        raise ValueError(f"sample_weight.shape == {weight.shape}, expected ({n_rows},): one weight per row of X")
    refuse_bad(weight)
    return np.array(weight)


def encode_labels(given: AnyArray, classes: AnyArray, weight: Floats, name: str) -> Ints:
    """Return labels as positions in `classes`; a row of weight 0 may have any label."""
    codes, other = codes_of(given, classes)
    unknown = np.flatnonzero([] if other is None else other & (weight > 0))
    if unknown.size:
        row = int(unknown[0])
        label = given[row : row + 1].tolist()[0]
        raise ValueError(f"{name} has the label {label!r} in row {row}, which is not one of {classes.tolist()!r}")
    return codes


def balance_steps(labels: AnyArray, weight: Floats, classes: AnyArray, most: float) -> ReduceSteps[Floats]:
    """Return factors that give every class the same total, from exact sums of weights over a power of two."""
    share = np.ldexp(weight[weight > 0], -int(np.frexp(most)[1]))
    codes = np.searchsorted(classes, labels[weight > 0])
    (exact,) = yield Reduce((exact_sums(share, codes, len(classes)),))
    totals = np.array([number / 2**EXACT_BITS for number in exact.tolist()])  # rounded once
    with np.errstate(divide="ignore", over="ignore"):
        factors = np.asarray(math.fsum(totals) / (len(classes) * totals))
    if not np.all(np.isfinite(factors)):
        raise ValueError("class_weight='balanced' cannot balance classes with weights that differ by more than 1e300")
    return factors


def exact_sums(values: Floats, codes: Ints, n_codes: int) -> AnyArray:
    """Return exact sums of non-negative numbers by code, as Python integers in units of 2^-1126."""
    mantissa, power = np.frexp(values)
    digits = np.ldexp(mantissa, 53).astype(np.int64)
    keys, place = np.unique(codes * 4096 + (power + 2048), return_inverse=True)
    halves = np.zeros((2, len(keys)), dtype=np.int64)
    np.add.at(halves[0], place, digits >> 27)
    np.add.at(halves[1], place, digits & (2**27 - 1))
    sums = np.zeros(n_codes, dtype=object)
    for key, high, low in zip(keys.tolist(), *halves.tolist(), strict=True):
        sums[key // 4096] += ((high << 27) + low) << (key % 4096 - 2048 - 53 + EXACT_BITS)
    return sums


def named_factors(given: Any, classes: list[Any], known: list[Any]) -> Floats:
    """Return the factor of every class; 1 if it has none. An unknown label is an error if some class has no factor.

    known: all labels, with those of rows of weight 0.
    """
    unknown = [label for label in given if label not in known]
    if unknown and any(label not in given for label in classes):
        raise ValueError(f"class_weight names {unknown[0]!r}, which is not a class of y: {known!r}")
    for label, factor in given.items():
        with too_large_refused(f"class_weight of {label!r}"):
            fits = isinstance(factor, Real) and 0 <= float(factor) < math.inf
        if not fits:
            raise ValueError(f"class_weight of {label!r} is {factor!r}: it must be a finite number, not negative")
    return np.array([given.get(label, 1.0) for label in classes], dtype=np.float64)


def category_columns(table: Table, wanted: Any, by_type: list[int]) -> list[int]:
    """Return the columns to treat as categories: by type, or those the user names by position, name or mask."""
    if isinstance(wanted, str) and wanted == "from_dtype":
        return by_type
    places = {name: place for place, name in enumerate(table.names)}
    try:
        items = np.asarray([] if wanted is None else list(wanted) if isinstance(wanted, set | frozenset) else wanted)
    except ValueError:  # lists of different lengths
        items = np.empty((0, 0))
    if items.ndim != 1:
        allowed = "one list of column names, positions or booleans, or 'from_dtype'"
        raise ValueError(f"categorical_features must be {allowed}, not {wanted!r}")
    if items.dtype == np.bool_:
        if len(items) != table.n_columns:
            raise ValueError(f"categorical_features is a mask of {len(items)} entries for {table.n_columns} columns")
        items = np.flatnonzero(items)
    columns = {_column_number(table, places, item) for item in items.tolist()}
    left_out = sorted(set(by_type) - columns)
    if left_out:
        name, todo = repr(table.names[left_out[0]]), "name it too, or use categorical_features='from_dtype'"
        raise ValueError(f"column {name} holds texts or categories, but categorical_features does not name it: {todo}")
    return sorted(columns)


def _column_number(table: Table, places: dict[str, int], item: Any) -> int:
    if isinstance(item, str):
        if item not in places:
            raise ValueError(f"categorical_features names {item!r}, which is not a column of X")
        return places[item]
    if not (isinstance(item, int) or (isinstance(item, float) and item.is_integer())):
        raise ValueError(f"categorical_features names column {item!r}: columns are named by their name or position")
    if not 0 <= item < table.n_columns:
        raise ValueError(f"categorical_features names column {item!r}; X has the columns 0 to {table.n_columns - 1}")
    return int(item)


def refuse_too_large(needed: int) -> None:
    """Raise MemoryError if a fit needs more bytes than are free."""
    if needed < ALWAYS_FREE:
        return
    free = free_memory()
    if free is not None and needed > free:
        sizes = f"{needed / 2**30:.1f} GiB beside X, and {free / 2**30:.1f} GiB are free"
        todo = "use fewer rows or columns, max_bins=255 instead of 'exact', or a smaller n_jobs"
        raise MemoryError(f"this fit needs about {sizes}: {todo}")


def refuse_many_labels(model: Any, n_labels: int) -> None:
    """Raise ValueError if a booster of all classes at once cannot hold what one voter adds to each class.

    That is a table [state, label, leaf], of at least two leaves, and a copy of it.
    """
    if model._one_vs_rest or n_labels <= 2:
        return
    needed, free = 2 * 8 * model._booster(n_labels).n_states * n_labels * 2, free_memory()
    if free is not None and needed > free:
        sizes = f"{type(model).__name__} needs {needed / 2**30:.1f} GiB or more, and {free / 2**30:.1f} GiB are free"
        todo = "use AdaBoostRClassifier, which fits one class after the other, or merge rare classes"
        raise ValueError(f"y has {n_labels} classes, for which {sizes}: {todo}")


def free_memory() -> int | None:
    """Return the bytes that this process can still allocate: the least of the machine's, its cgroup's and its limit."""
    limits = []
    with suppress(OSError, ValueError), open("/proc/meminfo") as file:
        limits += [int(line.split()[1]) * 1024 for line in file if line.startswith("MemAvailable:")]
    with suppress(OSError, ValueError):
        limits.append(group_memory("/sys/fs/cgroup"))
    if not limits and hasattr(os, "sysconf") and "SC_AVPHYS_PAGES" in os.sysconf_names:
        limits.append(os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    with suppress(ImportError, OSError, ValueError):
        import resource  # not on Windows

        most = resource.getrlimit(resource.RLIMIT_AS)[0]  # of address space: ulimit -v
        if most != resource.RLIM_INFINITY:
            with open("/proc/self/statm") as file:
                limits.append(max(0, most - int(file.read().split()[0]) * resource.getpagesize()))
    return min(limits, default=None)


def group_memory(folder: str) -> int:
    """Return the bytes that a control group has left; cached pages of files count as free."""
    most, now, stat = (Path(folder, f"memory.{name}").read_text() for name in ("max", "current", "stat"))
    cached = [line.split()[1] for line in stat.splitlines() if line.startswith(("active_file ", "inactive_file "))]
    return int(most) - int(now) + sum(map(int, cached))
