"""X and y that break other libraries: missing, infinite and extreme values, odd shapes, single classes.

Nothing may crash or give a wrong model in silence, and every error names the column, the row or the option.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from samples import messy, noisy, run_python
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

import electorate
import electorate as el
from electorate import AdaBoostClassifier, Resampled, Stumps, Trees, Union
from electorate.data.sparse_format import check_sparse
from electorate.messages import Moments
from electorate.theory import complexity
from electorate.threads import count_shards
from tests.common.public_calls import OBJECTS

SPARSE = [
    *(sparse.csr_matrix, sparse.csc_matrix, sparse.coo_matrix, sparse.lil_matrix),
    *(sparse.csr_array, sparse.csc_array, sparse.coo_array),
]


def fit(X: Any, y: Any, **settings: Any) -> AdaBoostClassifier:
    return AdaBoostClassifier(**{"n_estimators": 15, **settings}).fit(X, y)


def assert_sound(model: AdaBoostClassifier, X: Any) -> None:
    """Finite numbers of the right shape from every method, and probabilities that are some."""
    rows, classes = X.shape[0], len(model.classes_)
    decision, proba = model.decision_function(X), model.predict_proba(X)
    assert decision.shape == ((rows,) if classes == 2 else (rows, classes))
    assert np.all(np.isfinite(decision))
    assert proba.shape == (rows, classes)
    assert np.all((proba >= 0) & (proba <= 1))
    np.testing.assert_allclose(proba.sum(axis=1), 1, atol=1e-12)
    assert np.array_equal(model.predict(X), model.classes_[np.argmax(proba, axis=1)])


# ---------------------------------------------------------------- missing values


@pytest.mark.parametrize("labels", [2, 3])
def test_missing_values_everywhere(labels: int) -> None:
    X, y = messy(labels=labels)
    model = fit(X, y, categorical_features=[3])
    assert_sound(model, X)
    assert model.score(X, y) > 1.2 / labels


def test_missingness_alone_can_be_learned() -> None:
    X, y = noisy()
    X[y == 1, 2] = np.nan
    model = fit(X, y)
    assert model.stop_reason_ == "perfect_voter"
    assert model.score(X, y) == 1
    flipped = fit(X, 1 - y)
    assert flipped.score(X, 1 - y) == 1


@pytest.mark.parametrize("missing_label", [0, 1])
def test_missing_values_take_the_side_that_was_learned(missing_label: int) -> None:
    """The side of 20 rows of 100 gets the missing ones, although the other is heavier."""
    x = np.concatenate([np.arange(100.0), np.full(15, np.nan)])[:, None]
    y = np.concatenate([np.arange(100) >= (20 if missing_label == 0 else 80), np.full(15, missing_label)]).astype(int)
    model = fit(x, y)
    assert model.stop_reason_ == "perfect_voter"
    assert model.predict([[np.nan]])[0] == missing_label


@pytest.mark.parametrize("at", [30, 70])
@pytest.mark.parametrize("weighted", [False, True])
def test_missing_only_at_predict_takes_the_heavier_side(at: int, weighted: bool) -> None:
    x = np.arange(100.0)[:, None]
    y = (np.arange(100) >= at).astype(int)
    heavy = int(at < 50)
    weight = np.ones(100)
    if weighted:
        heavy = 1 - heavy
        weight[y == heavy] = 50
    model = AdaBoostClassifier(n_estimators=3).fit(x, y, sample_weight=weight)
    assert model.predict([[np.nan]])[0] == heavy


@pytest.mark.parametrize("kind", SPARSE)
def test_sparse_is_dense(kind: Any) -> None:
    rng = np.random.default_rng(0)
    X, y = noisy(rows=200)
    X[rng.random(X.shape) < 0.6] = 0
    X[rng.random(X.shape) < 0.1] = np.nan
    X[:, 4] = np.nan
    model, twin = fit(kind(X), y), fit(X, y)
    assert model.digest_ == twin.digest_
    assert np.array_equal(model.decision_function(kind(X)), twin.decision_function(X))
    assert_sound(model, kind(X))


def test_a_column_without_values_is_unused() -> None:
    X, y = messy()
    empty = np.column_stack([X, np.full(len(X), np.nan)])
    model, twin = fit(empty, y), fit(X, y)
    assert model.feature_importances_[-1] == 0
    assert np.array_equal(model.steps_, twin.steps_)
    assert np.array_equal(model.decision_function(empty), twin.decision_function(X))
    filled = np.column_stack([X, np.ones(len(X))])
    assert np.array_equal(model.decision_function(filled), twin.decision_function(X))


def test_only_columns_without_values() -> None:
    X, y = np.full((10, 3), np.nan), np.array([0] * 7 + [1] * 3)
    model = fit(X, y)
    assert_sound(model, X)
    assert set(model.predict(X)) == {0}
    for categorical in ([0], [0, 1, 2]):
        assert set(fit(X, y, categorical_features=categorical).predict(X)) == {0}


def test_rows_of_nothing_but_missing_values_at_predict() -> None:
    X, y = noisy(labels=3)
    assert_sound(fit(X, y), np.full((5, X.shape[1]), np.nan))


# ---------------------------------------------------------------- infinite and extreme values


def frames(X: Any) -> list[Any]:
    names = [f"column {j}" for j in range(X.shape[1])]
    return [pd.DataFrame(X, columns=names), pl.DataFrame(X, schema=names), pl.DataFrame(X, schema=names).to_arrow()]


@pytest.mark.parametrize("value", [np.inf, -np.inf])
@pytest.mark.parametrize("categorical", [None, [2]])
def test_an_infinity_is_refused_with_its_column_and_row(value: float, categorical: Any) -> None:
    X, y = noisy(rows=5000)
    X = np.round(X, 1)
    bad = X.copy()
    bad[4321, 2] = value
    settings = {"categorical_features": categorical, "n_estimators": 3}
    model = fit(X, y, **settings)
    for container in (bad, bad.astype(np.float32), sparse.csr_array(bad)):
        with pytest.raises(ValueError, match=r"infinity.*column 2, row 4321"):
            fit(container, y, **settings)
        with pytest.raises(ValueError, match=r"infinity.*column 2, row 4321"):
            model.predict(container)
    for frame, sound in zip(frames(bad), frames(X), strict=True):
        with pytest.raises(ValueError, match=r"infinity.*'column 2', row 4321"):
            fit(frame, y, **settings)
        with pytest.raises(ValueError, match=r"infinity.*'column 2', row 4321"):
            fit(sound, y, **settings).predict(frame)


def test_an_infinity_beyond_the_small_table_of_values() -> None:
    """Few values are counted in one way, many in another; both must see it."""
    x = np.arange(20_000.0)[:, None]
    for row in (3, 1500, 19_999):
        bad = x.copy()
        bad[row] = np.inf
        with pytest.raises(ValueError, match=f"column 0, row {row}"):
            fit(bad, np.arange(20_000) % 2)


def test_a_float32_that_overflowed_is_refused() -> None:
    X, y = noisy()
    X[17, 3] = 1e300
    assert_sound(fit(X, y), X)
    with np.errstate(over="ignore"), pytest.raises(ValueError, match="column 3, row 17"):
        fit(X.astype(np.float32), y)
    with np.errstate(over="ignore"), pytest.raises(ValueError, match="column 3, row 17"):
        fit(X.astype(np.longdouble) * np.longdouble("1e300"), y)


def neighbours(rank: Any) -> Any:
    """The ranks as consecutive floats: no number lies between two of them."""
    return (np.float64(1.0).view(np.int64) + rank).view(np.float64)


RISING = {
    "denormal": lambda rank: rank * 5e-324,
    "tiny": lambda rank: (rank - 100) * 1e-310,
    "huge": lambda rank: (rank - 150) * 1e306,
    "whole range": lambda rank: np.clip((rank - 150) / 150, -1, 1) * np.finfo(np.float64).max,
    "neighbours": neighbours,
    "negative neighbours": lambda rank: -neighbours(rank.max() - rank),
    "exponential": lambda rank: np.exp(rank / 2 - 60),
    "far from zero": lambda rank: 2.0**53 + 2 * rank,
}


@pytest.mark.parametrize("name", RISING)
@pytest.mark.parametrize("max_bins", [255, 8, "exact"])
@pytest.mark.parametrize("labels", [2, 3])
def test_only_the_order_of_a_column_counts(name: str, max_bins: Any, labels: int) -> None:
    X, y = noisy(labels=labels)
    X[5, 0] = np.nan
    rank = np.argsort(np.argsort(X[:, 0], kind="stable"), kind="stable")
    rescaled = X.copy()
    rescaled[:, 0] = np.where(np.isnan(X[:, 0]), np.nan, RISING[name](rank))
    assert len(np.unique(rescaled[:, 0])) == len(X)
    model, twin = fit(X, y, max_bins=max_bins), fit(rescaled, y, max_bins=max_bins)
    assert np.array_equal(model.steps_, twin.steps_)
    assert np.array_equal(model.ensemble_.column, twin.ensemble_.column)
    assert np.array_equal(model.decision_function(X), twin.decision_function(rescaled))


def test_thresholds_separate_neighbouring_floats() -> None:
    """Every value of a stump's left side is at most the threshold, every one of the right above it."""
    for first in (1.0, 5e-324, -5e-324, np.finfo(np.float64).max, -1e300):
        low, high = np.sort([first, np.nextafter(first, 0)])
        x, y = np.array([[low], [high]] * 5), np.array([0, 1] * 5)
        model = fit(x, y)
        assert model.score(x, y) == 1
        assert np.isfinite(model.ensemble_.threshold).all()


def test_negative_zero_is_zero() -> None:
    """In numbers, in categories and in labels, whichever comes first."""
    X, y = noisy()
    X = np.round(X) + 0.0
    y = y + 0.0
    first, second = np.arange(len(y)) % 2 == 0, np.arange(len(y)) % 2 == 1
    model = fit(X, y, categorical_features=[1])
    for where in (first, second, first | second):
        negative = np.where((X == 0) & where[:, None], -0.0, X)
        labels = np.where((y == 0) & where, -0.0, y)
        assert np.signbit(negative[X == 0]).any()
        assert fit(negative, labels, categorical_features=[1]).digest_ == model.digest_
        assert np.array_equal(model.decision_function(negative), model.decision_function(X))


def layouts(X: Any, folder: Path) -> dict[str, Any]:
    mapped = np.memmap(folder / "X", dtype=X.dtype, mode="w+", shape=X.shape)
    mapped[:] = X
    wide = np.zeros((2 * len(X), 3 * X.shape[1]), dtype=X.dtype)
    wide[::2, ::3] = X
    frozen = X.copy()
    frozen.flags.writeable = False
    return {
        "fortran": np.asfortranarray(X),
        "strided": wide[::2, ::3],
        "backwards": np.ascontiguousarray(X[::-1, ::-1])[::-1, ::-1],
        "read-only": frozen,
        "mapped": np.memmap(folder / "X", dtype=X.dtype, mode="r", shape=X.shape),
        "float32": X.astype(np.float32),
        "big-endian": X.astype(">f8"),
        "objects": X.astype(object),
        "list": X.tolist(),
        "longdouble": X.astype(np.longdouble),
    }


def test_the_layout_of_the_array_does_not_matter(tmp_path: Path) -> None:
    X, y = noisy()
    X = X.astype(np.float32).astype(np.float64)
    X[::9, 1] = np.nan
    model = fit(X, y)
    for name, other in layouts(X, tmp_path).items():
        assert fit(other, y).digest_ == model.digest_, name
        assert np.array_equal(model.decision_function(other), model.decision_function(X)), name


def test_whole_numbers_of_every_type() -> None:
    X, y = noisy()
    X = np.round(np.abs(X) * 20)
    digest = fit(X, y).digest_
    for kind in "bBhHiIlLqQ":
        assert fit(X.astype(kind), y).digest_ == digest
    assert fit(X > 20, y).digest_ == fit((X > 20) * 1.0, y).digest_


def test_dates_and_other_things_are_refused() -> None:
    X, y = noisy(rows=20)
    for kind in ("datetime64[s]", "timedelta64[s]"):
        with pytest.raises(ValueError, match=f"X has the type {re.escape(kind)}"):
            fit((X * 1e6).astype(kind), y)
    words = X.astype(object)
    words[3, 2] = "word"
    with pytest.raises(ValueError, match="word"):
        fit(words, y)
    with pytest.raises(ValueError, match=r"(?i)complex"):
        fit(X + 1j, y)
    for shape in ((20,), (4, 5, 5), ()):
        with pytest.raises(ValueError, match=r"Expected 2D array|dim 3"):
            fit(np.zeros(shape), y)


# ---------------------------------------------------------------- labels and shapes


@pytest.mark.parametrize(
    ("label", "words"),
    [(np.nan, "NaN: row 7"), (np.inf, "infinity: row 7"), (-np.inf, "infinity: row 7")],
)
def test_a_label_that_is_not_finite_is_named(label: float, words: str) -> None:
    X, y = noisy(rows=20)
    bad = y.astype(float)
    bad[7] = label
    with pytest.raises(ValueError, match=words):
        fit(X, bad)


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA, pd.NaT])
def test_a_missing_label_among_texts_is_named(missing: Any) -> None:
    X, y = noisy(rows=20)
    bad = np.array(["no", "yes"], dtype=object)[y]
    bad[7] = missing
    with pytest.raises(ValueError, match="NaN: row 7"):
        fit(X, bad)
    if missing is None:
        for series in (pd.Series(bad, dtype="string"), pl.Series(bad.tolist())):
            with pytest.raises(ValueError, match="NaN: row 7"):
                fit(X, series)


@pytest.mark.parametrize("kind", ["Int64", "boolean", "Float64"])
def test_a_missing_label_of_a_nullable_type_is_named(kind: str) -> None:
    X, y = noisy(rows=20)
    bad = pd.Series(y, dtype=kind)
    bad[7] = pd.NA
    with pytest.raises(ValueError, match="NaN: row 7"):
        fit(X, bad)


@pytest.mark.parametrize(
    ("y", "words"),
    [
        (None, "requires y"),
        (np.linspace(0, 1, 20), "continuous"),
        (np.zeros((20, 2)), r"shape \(20, 2\)"),
        (np.zeros(19), "X has 20 rows, y 19"),
        (np.arange(20).astype("datetime64[D]"), "y has the type datetime64"),
        (np.array([b"a", b"b"] * 10), r"y has the type \|S1"),
        (np.array(["a", 1] * 10, dtype=object), "row 1 holds 1, not a text"),
        (np.array([0, 1] * 10, dtype=object), "row 0 holds 0, not a text"),
        (np.array([(), []] * 10 + [None], dtype=object)[:20], r"row 0 holds \(\), not a text"),
        (np.arange(20) + 1j, "(?i)complex"),
        (np.arange(20).astype(np.longdouble), "y has the type float128|y has the type longdouble"),
    ],
)
def test_labels_that_are_none_are_refused(y: Any, words: str) -> None:
    X, _ = noisy(rows=20)
    with pytest.raises(ValueError, match=words):
        fit(X, y)


@pytest.mark.filterwarnings("ignore:The number of unique classes")
def test_more_classes_than_the_sums_can_hold() -> None:
    with pytest.raises(ValueError, match="y has 65536 classes"):
        fit(np.arange(2.0**16)[:, None], np.arange(2**16))


@pytest.mark.parametrize("labels", [["only"], [True], [3.0], [2**63 + 1]])
def test_one_class_gives_a_constant_model(labels: list[Any]) -> None:
    X, _ = messy(rows=30)
    model = fit(X, np.array(labels * 30))
    assert model.stop_reason_ == "no_edge"
    assert model.classes_.tolist() == labels
    assert_sound(model, X)
    assert model.predict(X).tolist() == labels * 30
    assert len(model.estimators_) == len(model.steps_) == 0
    assert model.feature_importances_.tolist() == [0] * 5
    assert list(model.staged_predict(X)) == []


def test_one_row() -> None:
    for x in (1.5, np.nan):
        model = fit([[x]], ["a"])
        assert model.predict([[x], [np.nan], [7]]).tolist() == ["a"] * 3


@pytest.mark.parametrize("empty", [np.empty((0, 3)), sparse.csr_array((0, 3)), *frames(np.empty((0, 3)))])
def test_no_rows(empty: Any) -> None:
    with pytest.raises(ValueError, match=r"0 sample\(s\)"):
        fit(empty, [])
    X, y = noisy(columns=3)
    names = [f"column {j}" for j in range(3)]
    model = fit(pd.DataFrame(X, columns=names), y) if hasattr(empty, "columns") else fit(X, y)
    for method in (model.predict, model.predict_proba, model.decision_function):
        with pytest.raises(ValueError, match=r"0 sample\(s\)"):
            method(empty)


@pytest.mark.parametrize("empty", [np.empty((4, 0)), pd.DataFrame(index=range(4)), sparse.csr_array((4, 0))])
def test_no_columns(empty: Any) -> None:
    with pytest.raises(ValueError, match=r"0 feature\(s\)"):
        fit(empty, [0, 1, 0, 1])


@pytest.mark.parametrize("value", [0, 1e300, np.nan])
def test_constant_columns(value: float) -> None:
    X = np.full((10, 2), value)
    uneven = fit(X, ["a"] * 4 + ["b"] * 6)
    assert uneven.predict(X).tolist() == ["b"] * 10
    assert uneven.stop_reason_ == "no_edge"
    even = fit(X, ["a"] * 5 + ["b"] * 5)
    assert even.stop_reason_ == "no_edge"
    assert len(even.steps_) == 0
    assert_sound(even, X)
    assert even.predict(X).tolist() == ["a"] * 10


# ---------------------------------------------------------------- what a failed fit leaves


def test_a_failed_first_fit_leaves_no_model() -> None:
    X, y = noisy(rows=20)
    model = AdaBoostClassifier()
    with pytest.raises(ValueError, match="y 19"):
        model.fit(X, y[:-1])
    for use in (lambda: model.predict(X), lambda: model.digest_, lambda: model.save("never"), lambda: model.classes_):
        with pytest.raises((NotFittedError, AttributeError)):
            use()
    with pytest.raises(NotFittedError):
        model.decision_function(X)


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_a_failed_second_fit_leaves_the_first_model() -> None:
    X, y = noisy()
    model = fit(pd.DataFrame(X, columns=list("abcde")), y)
    digest, names = model.digest_, model.feature_names_in_
    bad = X[:, :2].copy()
    bad[3, 1] = np.inf
    with pytest.raises(ValueError, match="column 1, row 3"):
        model.fit(bad, y)
    assert model.digest_ == digest
    assert model.n_features_in_ == 5
    assert model.feature_names_in_ is names
    with pytest.raises(ValueError, match="expecting 5 features"):
        model.predict(X[:, :2])


# ---------------------------------------------------------------- options


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"n_jobs": 0}, "'n_jobs'"),
        ({"n_jobs": 1.5}, "'n_jobs'"),
        ({"learning_rate": 1e10}, "after 1 rounds votes can come to .* lower learning_rate"),
        ({"learning_rate": 1e308}, "after 1 rounds votes can come to .* lower learning_rate"),
        ({"learning_rate": np.inf}, "'learning_rate'"),
        ({"learning_rate": np.nan}, "'learning_rate'"),
        ({"learning_rate": 1e-9}, "'learning_rate'"),
        ({"n_estimators": 0}, "'n_estimators'"),
        ({"max_bins": 1}, "'max_bins'"),
        ({"max_bins": 256}, "'max_bins'"),
        ({"estimator": "stumps"}, "'estimator'"),
        ({"categorical_features": ["x"]}, "categorical_features names 'x'"),
        ({"categorical_features": [5]}, "categorical_features names column 5"),
        ({"categorical_features": [-1]}, "categorical_features names column -1"),
        ({"categorical_features": [True, False]}, "categorical_features is a mask of 2 entries"),
        ({"class_weight": {0: -1, 1: 1}}, "class_weight of 0 is -1"),
        ({"class_weight": {0: 1, 1: np.nan}}, "class_weight of 1 is nan"),
        ({"class_weight": {0: "1"}}, "class_weight of 0 is '1'"),
        ({"class_weight": {7: 1}}, "class_weight names 7"),
        ({"class_weight": {0: 0, 1: 0}}, "sample_weight times class_weight is zero"),
        ({"class_weight": "even"}, "'class_weight'"),
    ],
)
def test_a_bad_option_is_named(settings: dict[str, Any], words: str) -> None:
    X, y = noisy(rows=30)
    with pytest.raises(ValueError, match=words):
        fit(X, y, **settings)


def test_a_large_learning_rate_that_still_fits() -> None:
    X, y = noisy()
    model = fit(X, y, learning_rate=1000)
    assert np.all(np.isfinite(model.steps_))
    assert_sound(model, X)


def test_columns_of_one_name_are_refused() -> None:
    X, y = noisy(columns=2)
    with pytest.raises(ValueError, match=r"(?s)several columns of one name.*'a'"):
        fit(pd.DataFrame(X, columns=["a", "a"]), y)


# ---------------------------------------------------------------- sparse matrices with wrong index arrays

COMPRESSED = [sparse.csr_matrix, sparse.csc_matrix, sparse.csr_array, sparse.csc_array]


def sparse_rows() -> tuple[Any, Any]:
    X, y = noisy(40, 4)
    X[np.abs(X) < 0.5] = 0.0
    return X, y


def with_parts(X: Any, **parts: Any) -> Any:
    """A copy of a compressed matrix with other arrays, past the checks of its constructor."""
    X = X.copy()
    for name, value in parts.items():
        setattr(X, name, value)
    return X


def changed(array: Any, place: int, value: int) -> Any:
    array = array.copy()
    array[place] = value
    return array


WRONG_ARRAYS: dict[str, tuple[Any, str]] = {
    "index too large": (lambda X: {"indices": changed(X.indices, 5, 10**6)}, "has the index 1000000"),
    "index just too large": (lambda X: {"indices": changed(X.indices, -1, 40)}, "has the index 40 "),
    "negative index": (lambda X: {"indices": changed(X.indices, 0, -1)}, "has the index -1"),
    "indptr falls": (lambda X: {"indptr": changed(X.indptr, 2, 10**5)}, "indptr decreases from 100000"),
    "indptr too large": (lambda X: {"indptr": changed(X.indptr, -1, 10**6)}, "indptr ends with 1000000"),
    "indptr does not start with 0": (lambda X: {"indptr": changed(X.indptr, 0, 1)}, "indptr starts with 1"),
    "negative indptr": (lambda X: {"indptr": changed(X.indptr, 1, -3)}, "indptr decreases"),
    "indptr too short": (lambda X: {"indptr": X.indptr[:-1]}, "indptr has"),
    "indptr too long": (lambda X: {"indptr": np.append(X.indptr, X.indptr[-1])}, "indptr has"),
    "fewer data": (lambda X: {"data": X.data[:-3]}, "indices and data have different lengths"),
    "fewer indices": (lambda X: {"indices": X.indices[:-3]}, "indices and data have different lengths"),
    "fractions": (lambda X: {"indices": X.indices.astype(np.float64)}, "must be a one-dimensional array of integers"),
}


@pytest.mark.parametrize("index_type", [np.int32, np.int64])
@pytest.mark.parametrize("wrong", WRONG_ARRAYS)
@pytest.mark.parametrize("kind", COMPRESSED)
def test_sparse_matrices_with_wrong_index_arrays_are_refused(kind: Any, wrong: str, index_type: Any) -> None:
    dense, y = sparse_rows()
    X = kind(dense)
    X = with_parts(X, indptr=X.indptr.astype(index_type), indices=X.indices.astype(index_type))
    arrays, message = WRONG_ARRAYS[wrong]
    bad = with_parts(X, **arrays(X))
    native = AdaBoostClassifier(n_estimators=2).fit(dense, y)
    wrapped = AdaBoostClassifier(DecisionTreeClassifier(max_depth=1), n_estimators=1).fit(dense, y)
    for model in (native, wrapped):
        with pytest.raises(ValueError, match=message):
            clone(model).fit(bad, y)
        with pytest.raises(ValueError, match=message):
            model.predict(bad)


def test_other_sparse_formats_with_wrong_index_arrays_are_refused() -> None:
    dense, y = sparse_rows()
    model = AdaBoostClassifier(n_estimators=2).fit(dense, y)
    coo = sparse.coo_array(dense)
    coo.coords = (changed(coo.coords[0], 3, 10**6), coo.coords[1])
    bsr = sparse.bsr_array(dense, blocksize=(2, 2))
    bsr.indices = changed(bsr.indices, 3, 10**6)
    lil = sparse.lil_array(dense)
    lil.rows[7][-1] = 10**6
    longer, none = sparse.lil_array(dense), sparse.lil_array(dense)
    longer.data[3].append(1.0)
    none.rows[2] = None
    foreign, no_data = sparse.csr_array(dense), sparse.csr_array(dense)
    foreign.data, no_data.data = foreign.data.astype(">f8" if np.little_endian else "<f8"), None
    faulty = [(coo, "COO"), (bsr, "BSR"), (lil, "has the index 1000000"), (longer, "row 3"), (none, "row 2 is no pair")]
    for bad, message in (*faulty, (foreign, "byte order"), (no_data, "its data are a")):
        with pytest.raises(ValueError, match=message):
            model.predict(bad)


ASKED_WITH_ROWS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "calibrate": lambda model, X, y: model.calibrate(X, y),
    "calibrate in folds": lambda model, X, y: model.calibrate(X, y, cv=2),
    "explain": lambda model, X, y: el.explain(model, X, y, row=0),
    "importances": lambda model, X, y: el.explain(model, X, y),
    "report": lambda model, X, y: el.report.html_report(model, X, y),
    "contributions": lambda model, X, y: el.inspection.contributions(model, X[:2], X),
    "thin": lambda model, X, y: el.thin(model, X, y),
    "compare": lambda model, X, y: el.compare(X, y, algorithms=["AdaBoost"], quick=True, n_jobs=1),
    "a stack": lambda model, X, y: el.StackedClassifier([("a", model)], n_folds=2).fit(X, y),
    "cross-fitting": lambda model, X, y: el.CrossFittedClassifier(model, n_folds=2).fit(X, y),
    "a certified classifier": lambda model, X, y: el.CertifiedClassifier(n_estimators=2, prior_rounds=2).fit(X, y),
    "scores": lambda model, X, y: el.scores(model, X, y),
}
ASKED_OF_OTHERS = """
import numpy as np
import electorate as el
from test_hard_inputs import ASKED_WITH_ROWS, changed, sparse, sparse_rows, with_parts

dense, y = sparse_rows()
models = [el.AdaBoostClassifier(n_estimators=2).fit(dense, y), el.MedBoostRegressor(n_estimators=2).fit(dense, 1.0 * y)]
for kind in (sparse.csr_array, sparse.csc_array):
    X = kind(dense)
    for name, ask in ASKED_WITH_ROWS.items():
        for model in models[: 2 if name == "explain" else 1]:
            try:
                ask(model, with_parts(X, indices=changed(X.indices, 5, 10**6)), y)
                print(name, "answered")
            except ValueError as error:
                assert "has the index 1000000" in str(error) or name == "contributions", (name, error)
"""


@pytest.mark.process
@pytest.mark.slow
def test_no_public_function_reads_wrong_index_arrays() -> None:
    """In a process of its own, since SciPy writes out of bounds where it is given them."""
    here = str(Path(__file__).parent)
    code = f"import sys; sys.path[:0] = {[here, *sys.path]!r}\n" + ASKED_OF_OTHERS
    assert run_python(code, timeout=300)[0] == ""


@pytest.mark.parametrize("kind", COMPRESSED)
def test_unsorted_and_repeated_entries_are_read_from_a_copy(kind: Any) -> None:
    """Each entry is split in two, and the entries of each row (or column) are reversed; flags say otherwise."""
    dense, y = sparse_rows()
    dense = np.round(8 * dense) / 8
    X = kind(dense)
    order = np.concatenate([np.arange(low, high)[::-1] for low, high in pairwise(X.indptr.tolist())])
    order = np.repeat(order, 2)
    odd = kind((X.data[order] / 2, X.indices[order], 2 * X.indptr), shape=X.shape)
    odd.has_sorted_indices = odd.has_canonical_format = True
    spare = kind((np.append(X.data, 9.0), np.append(X.indices, 0), X.indptr), shape=X.shape)
    model = AdaBoostClassifier(n_estimators=5).fit(dense, y)
    for matrix in (odd, spare):
        before = matrix.data.copy(), matrix.indices.copy(), matrix.indptr.copy()
        assert AdaBoostClassifier(n_estimators=5).fit(matrix, y).digest_ == model.digest_
        np.testing.assert_array_equal(model.decision_function(matrix), model.decision_function(dense))
        for array, was in zip((matrix.data, matrix.indices, matrix.indptr), before, strict=True):
            np.testing.assert_array_equal(array, was)


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_any_change_of_an_index_array_is_refused_or_legal(data: Any) -> None:
    """SciPy's own full check decides what is legal; it overlooks an indptr that falls to 0 at the end."""
    dense = np.arange(30.0).reshape(6, 5) * (np.random.default_rng(0).random((6, 5)) < 0.4)
    X = sparse.coo_array(dense).asformat(data.draw(st.sampled_from(["csr", "csc"])))
    name = data.draw(st.sampled_from(["indices", "indptr"]))
    array = getattr(X, name)
    setattr(X, name, changed(array, data.draw(st.integers(0, len(array) - 1)), data.draw(st.integers(-2, 20))))
    try:
        X.copy().check_format(full_check=True)
        if np.any(np.diff(X.indptr) < 0):
            raise ValueError("indptr decreases")
    except ValueError:
        with pytest.raises(ValueError, match="X is a sparse matrix in"):
            check_sparse(X)
    else:
        np.testing.assert_array_equal(check_sparse(X).toarray(), X.toarray())


# ---------------------------------------------------------------- classes instead of instances

FITTED = [
    value
    for value in OBJECTS.values()
    if isinstance(value, type) and hasattr(value, "fit") and "estimator" in inspect.signature(value).parameters
]
FAMILIES = [
    value
    for value in OBJECTS.values()
    if isinstance(value, type) and hasattr(value, "get_params") and not hasattr(value, "fit")
]


@pytest.mark.parametrize("kind", FITTED)
def test_a_class_instead_of_an_instance_is_refused(kind: Any) -> None:
    X, y = noisy(30, 2)
    for family in (*FAMILIES, DecisionTreeClassifier):
        words = f"{kind.__name__}.estimator is the class {family.__name__}: pass an instance, {family.__name__}()"
        with pytest.raises((TypeError, ValueError), match=re.escape(words)):
            kind(family).fit(X, y)
    nested = [
        (Union([Stumps(), Trees]), "estimator.families[1] is the class Trees: pass an instance"),
        (Resampled(DecisionTreeClassifier), "estimator.estimator is the class DecisionTreeClassifier: pass"),
        (make_pipeline(StandardScaler, DecisionTreeClassifier()), "[0][1] is the class StandardScaler: pass"),
    ]
    for estimator, words in nested:
        with pytest.raises((TypeError, ValueError), match=re.escape(words)):
            kind(estimator).fit(X, y)


# ---------------------------------------------------------------- numbers beyond the types of the kernels

BEYOND = 10**400  # a Python integer that float64 cannot hold


def normal(n: int = 200) -> tuple[Any, Any]:
    X = np.random.default_rng(0).normal(size=(n, 4))
    return X, (X[:, 0] > 0).astype(np.int64)


def test_integers_beyond_float64_are_refused_by_name() -> None:
    X, y = normal()
    large = X.astype(object)
    large[3, 1] = BEYOND
    targets = X[:, 0].astype(object)
    targets[5] = BEYOND
    model = fit(X, y)
    for call in (lambda: fit(large, y), lambda: model.predict(large)):
        with pytest.raises(ValueError, match="X has a number that is too large"):
            call()
    with pytest.raises(ValueError, match="sample_weight has a number that is too large"):
        model.fit(X, y, targets)
    with pytest.raises(ValueError, match="class_weight of 0 has a number that is too large"):
        fit(X, y, class_weight={0: BEYOND})
    for regressor in (electorate.MedBoostRegressor(), electorate.QuadBoostRegressor()):
        with pytest.raises(ValueError, match="y holds a number that is too large"):
            regressor.fit(X, targets)


def test_quadboost_refuses_texts_as_targets_in_its_own_words() -> None:
    X, _ = normal()
    with pytest.raises(ValueError, match="y must hold numbers"):
        electorate.QuadBoostRegressor().fit(X, np.array(["a", ""] * 100, dtype=object))


@pytest.mark.parametrize("wanted", [[[0]], [[0], [1, 2]], np.array(2), np.eye(2), {0: 1}])
def test_categorical_features_is_one_list(wanted: Any) -> None:
    with pytest.raises(ValueError, match="categorical_features must be one list"):
        fit(*normal(), categorical_features=wanted)


@pytest.mark.parametrize("item", [object(), 1.5, float("inf"), float("nan"), None, 1j])
def test_categorical_features_names_columns(item: Any) -> None:
    with pytest.raises(ValueError, match="categorical_features names column"):
        fit(*normal(), categorical_features=[item])


def test_numpy_integers_count_threads() -> None:
    X, y = normal()
    assert fit(X, y, n_jobs=np.int8(3)).digest_ == fit(X, y, n_jobs=3).digest_


@pytest.mark.parametrize("step", [[1], {}, 2, None])
def test_step_is_search_or_one(step: Any) -> None:
    with pytest.raises(ValueError, match="'step' parameter"):
        electorate.RealAdaBoostClassifier(step=step).fit(*normal())


@pytest.mark.parametrize("per_feature", [2**31, 2**62, 2**63])
def test_a_pool_of_more_thresholds_than_bins_holds_all_bins(per_feature: int) -> None:
    X, y = normal()
    models = [fit(X, y, estimator=electorate.Pool(count)) for count in (per_feature, 300)]
    assert models[0].digest_ == models[1].digest_


@pytest.mark.parametrize("leaf", [2**62, 2**63, 2**70])
def test_leaves_of_more_rows_than_there_are(leaf: int) -> None:
    X, y = normal()
    for family, booster in (
        (electorate.RegressionTrees(2, min_samples_leaf=leaf), electorate.MedBoostRegressor),
        (electorate.RegressionTrees(2, min_samples_leaf=leaf), electorate.AdaBoostRegressor),
        (Trees(2, min_samples_leaf=leaf), AdaBoostClassifier),
    ):
        model = booster(family, n_estimators=2).fit(X, y)
        assert len(np.unique(model.predict(X))) == 1


@pytest.mark.filterwarnings("error")
def test_rows_far_outside_training_give_no_warnings() -> None:
    X, y = normal()
    regressor = electorate.LocMedBoostRegressor(confidence_by="bumps", n_estimators=3).fit(X, X[:, 0])
    assert np.all(np.isfinite(regressor.predict(X * 1e300)))
    columns = electorate.RealAdaBoostClassifier(electorate.Columns(), n_estimators=3).fit(X * 1e-10, y)
    assert np.all(np.isfinite(columns.decision_function(X * 1e300)))


def test_published_complexities_of_huge_tables_and_depths_are_finite() -> None:
    assert 0 <= complexity.published_paired_stumps(1e300, 5) < 1e-100
    assert complexity.published_paired_stumps(1000, 5) == pytest.approx(np.sqrt(2 * np.log(2e6 * 20) / 1000))
    assert np.isfinite(complexity.published_depth(100, 5, 10**6))


def test_moments_without_weight_are_zero() -> None:
    nothing = Moments(0, 0, 0, 1.0)
    assert nothing.mean == nothing.variance == 0


def test_shards_are_not_smaller_than_a_few_rows() -> None:
    """Each has a histogram of all columns: 256 of them would take gigabytes for any small table."""
    assert [count_shards(256, rows) for rows in (1, 2047, 2048, 5 * 2048, 10**6)] == [1, 1, 1, 5, 256]
    assert count_shards(2, 10**6) == 2


def test_regressors_use_few_threads_on_small_tables() -> None:
    """Their shards are called by Python threads: a second one would cost more than it brings."""
    model = electorate.MedBoostRegressor()
    model.n_features_in_ = 2
    assert model._count_shards(16, 10**4) == 1
    assert model._count_shards(16, 10**7) == 16


def test_a_certificate_of_a_fit_without_voters() -> None:
    """Rounds that left no voter, as a file may claim."""
    X, y = normal(40)
    model = fit(X, y)
    model.ensemble_ = fit(np.zeros((40, 4)), np.arange(40) % 2).ensemble_
    assert not len(model.estimators_)
    assert "no voters" in str(model.certificate(train=(X, y)))


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        (AdaBoostClassifier, "learning_rate"),
        (electorate.RealAdaBoostClassifier, "learning_rate"),
        (electorate.AdaBoostRClassifier, "learning_rate"),
        (electorate.VadaBoostClassifier, "learning_rate"),
        (electorate.EBBoostClassifier, "learning_rate"),
        (electorate.AdaBoostRegressor, "learning_rate"),
        (electorate.MedBoostRegressor, "nu"),
        (electorate.LocMedBoostRegressor, "nu"),
    ],
)
@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_parameters_of_small_numpy_types_train_in_full_precision(kind: Any, name: str) -> None:
    """Half of a float16 is the same number, but what is computed from it must not have 11 bits."""
    X = np.round(np.random.default_rng(0).normal(size=(80, 3)), 1)
    y = X[:, 0] + X[:, 1] * X[:, 2]
    y = y if "Regressor" in kind.__name__ else (y > 0).astype(np.int64)
    digests = {
        kind(n_estimators=3, **{name: number(0.25)}).fit(X, y).digest_ for number in (float, np.float16, np.float32)
    }
    assert len(digests) == 1
