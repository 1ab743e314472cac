"""Labels of every type come back as they were, and the largest probability is always the predicted class."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from samples import noisy

from electorate import AdaBoostClassifier, load
from electorate.exact import UNITS

LABELS: dict[str, Any] = {
    "texts": np.array(["no", "yes, with more letters", "perhaps"]),
    "objects": np.array(["no", "yes", "perhaps"], dtype=object),
    "awkward texts": np.array(["<script>alert(1)</script>", '\x1b[31m"quoted"\\', "=1+1\n"]),
    "booleans": np.array([False, True]),
    "negative": np.array([-7, -(2**63), 5]),
    "unsigned": np.array([2**64 - 1, 2**63, 0], dtype=np.uint64),
    "bytes": np.array([200, 3, 7], dtype=np.uint8),
    "small": np.array([-100, 100], dtype=np.int8),
    "other byte order": np.array([1, 256, 3], dtype=">i2"),
    "floats": np.array([1.0, -0.0, 3e9]),
    "half floats": np.array([1, 2048], dtype=np.float16),
}


def fit(X: Any, y: Any, **options: Any) -> AdaBoostClassifier:
    return AdaBoostClassifier(**{"n_estimators": 15, **options}).fit(X, y)


@pytest.mark.parametrize("name", LABELS)
def test_labels_come_back_as_they_were(name: str, tmp_path: Any) -> None:
    labels = LABELS[name]
    X, codes = noisy(labels=len(labels))
    y = labels[codes]
    model = fit(X, y)
    predicted = model.predict(X)
    assert predicted.dtype == y.dtype.newbyteorder("=")
    assert model.classes_.tolist() == sorted(labels.tolist())
    assert set(predicted.tolist()) == set(labels.tolist())
    assert model.score(X, y) > 1.5 / len(labels)
    assert list(model.staged_predict(X))[-1].tolist() == predicted.tolist()
    plain = fit(X, np.argsort(np.argsort(labels))[codes])
    assert np.array_equal(plain.decision_function(X), model.decision_function(X))
    model.save(tmp_path / "m")
    again = load(tmp_path / "m")
    assert again.digest_ == model.digest_
    assert again.classes_.dtype == model.classes_.dtype
    assert again.predict(X).tolist() == predicted.tolist()


@pytest.mark.parametrize(
    "series",
    [
        lambda y: y.tolist(),
        lambda y: pd.Series(y),
        lambda y: pd.Series(y, dtype="category"),
        lambda y: pd.Series(y, dtype="string"),
        lambda y: pd.DataFrame({"label": y})["label"],
        lambda y: pl.Series(y.tolist()),
        lambda y: pl.Series(y.tolist(), dtype=pl.Categorical),
        lambda y: pl.Series(y.tolist(), dtype=pl.Enum(["z", "b", "a"])),
        lambda y: pa.array(y.tolist()),
        lambda y: pa.chunked_array([y[:100].tolist(), y[100:].tolist()]),
        lambda y: pa.array(y.tolist()).dictionary_encode(),
        lambda y: y.astype(np.dtypes.StringDType()),
    ],
)
def test_texts_from_any_container(series: Any) -> None:
    X, codes = noisy()
    y = np.array(["b", "a"], dtype=object)[codes]
    model, twin = fit(X, series(y)), fit(X, y)
    assert model.classes_.tolist() == ["a", "b"]
    assert np.array_equal(model.predict_proba(X), twin.predict_proba(X))
    assert model.predict(X).tolist() == twin.predict(X).tolist()


def test_labels_from_nullable_types() -> None:
    X, y = noisy()
    plain = fit(X, y)
    for series in (pd.Series(y, dtype="Int64"), pl.Series(y), pa.array(y)):
        assert fit(X, series).digest_ == plain.digest_
    for series in (pd.Series(y == 1, dtype="boolean"), pl.Series(y == 1), pa.array(y == 1)):
        assert fit(X, series).digest_ == fit(X, y == 1).digest_


def test_the_digest_tells_labels_apart() -> None:
    X, y = noisy()
    names = [y, y + 1, y == 1, y.astype(float), y.astype(str)]
    assert len({fit(X, labels).digest_ for labels in names}) == len(names)


SAME_LABELS: dict[str, list[Any]] = {
    "texts": [
        lambda y: y.astype(str),
        lambda y: y.astype("U40"),
        lambda y: y.astype(str).astype(object),
        lambda y: pd.Series(y.astype(str), dtype="string"),
        lambda y: pd.Series(y.astype(str), dtype="category"),
        lambda y: pl.Series(y.astype(str).tolist(), dtype=pl.Categorical),
        lambda y: pa.array(y.astype(str).tolist()),
        lambda y: y.astype(str).astype(np.dtypes.StringDType()),
    ],
    "whole numbers": [
        lambda y: y.astype(np.int64),
        lambda y: y.astype(np.int8),
        lambda y: y.astype(np.uint64),
        lambda y: y.astype(">i4"),
        lambda y: pd.Series(y, dtype="Int32"),
        lambda y: pd.Series(y, dtype="category"),
    ],
    "floats": [
        lambda y: 2.0 * y,
        lambda y: (2.0 * y).astype(np.float32),
        lambda y: pd.Series(2.0 * y, dtype="Float64"),
        lambda y: pd.Series(2.0 * y, dtype="category"),
    ],
    "truths": [
        lambda y: y == 1,
        lambda y: (y == 1).tolist(),
        lambda y: pd.Series(y == 1, dtype="boolean"),
        lambda y: pd.Series(y == 1, dtype="category"),
    ],
}


@pytest.mark.parametrize("name", SAME_LABELS)
def test_the_digest_does_not_depend_on_how_labels_are_stored(name: str, tmp_path: Any) -> None:
    X, y = noisy()
    models = [fit(X, store(y), n_estimators=3) for store in SAME_LABELS[name]]
    assert len({model.digest_ for model in models}) == 1
    for model in models:
        model.save(tmp_path / "m")
        assert load(tmp_path / "m").digest_ == model.digest_


def test_bytes_are_no_labels() -> None:
    X, y = noisy()
    with pytest.raises(ValueError, match=r"np.char.decode\(y\)"):
        fit(X, y.astype("S"))


# ---------------------------------------------------------------- the largest probability is the prediction


def assert_agreement(model: AdaBoostClassifier, X: Any) -> None:
    proba, log_proba = model.predict_proba(X), model.predict_log_proba(X)
    assert np.array_equal(model.classes_[np.argmax(proba, axis=1)], model.predict(X))
    assert np.array_equal(np.log(proba), log_proba)
    np.testing.assert_allclose(proba.sum(axis=1), 1, atol=1e-12)
    stages = zip(model.staged_predict_proba(X), model.staged_predict(X), strict=True)
    assert all(np.array_equal(model.classes_[np.argmax(proba, axis=1)], labels) for proba, labels in stages)


@settings(max_examples=60, deadline=None)
@given(
    labels=st.sampled_from([2, 3, 4, 7]),
    units=st.lists(st.sampled_from([1, 1, 2, 3, 2**20, 2**40, 2**40 + 1, 2**50, 2**55 + 1]), min_size=6, max_size=6),
)
def test_with_steps_that_cancel_or_nearly_do(labels: int, units: list[int]) -> None:
    """The voters of a fitted model with other steps: ties, one unit of the grid apart, and overwhelmed ones."""
    X, y = noisy(rows=60, labels=labels)
    model = fit(X, y, n_estimators=6)
    model.ensemble_ = replace(model.ensemble_, steps=np.array(units[: len(model.steps_)]) / UNITS)
    assert_agreement(model, X)


def test_a_decision_of_exactly_0_is_the_first_class() -> None:
    """Two voters of one step that contradict each other on half of the rows."""
    X = np.array([[0.0, 0], [0, 1], [1, 0], [1, 1]] * 10)
    y = np.array(["first", "first", "second", "second"] * 10)
    model = fit(X, y, n_estimators=2)
    one = fit(X, np.where(X[:, 1] > 0, "second", "first"))
    parts = [model.ensemble_, one.ensemble_]
    both = {name: np.concatenate([getattr(p, name) for p in parts]) for name in parts[0].arrays() if name != "offsets"}
    model.ensemble_ = replace(parts[0], offsets=np.array([0, 3, 6]), **both)
    decision = model.decision_function(X)
    assert decision[:4].tolist() == [-2, 0, 0, 2]
    assert model.predict(X)[:4].tolist() == ["first", "first", "first", "second"]
    assert model.predict_proba(X)[1].tolist() == [0.5, 0.5]
    assert_agreement(model, X)


@settings(max_examples=200, deadline=None)
@given(
    arrays(np.float64, (3, 5), elements=st.floats(-2, 2)),
    st.sampled_from([0.0, 1.0, 1.9999, -1.7]),
    st.integers(0, 4),
    st.integers(0, 4),
)
def test_decisions_one_rounding_apart(decision: Any, value: float, first: int, second: int) -> None:
    """Numbers that the softmax, or the division before it, makes equal."""
    X, y = noisy(rows=60, labels=5)
    model = fit(X, y, n_estimators=2)
    decision[:, first] = value
    decision[:, second] = np.nextafter(value, 9)
    proba = model._checked_probabilities(decision.copy())
    assert np.array_equal(model.classes_[np.argmax(proba, axis=1)], model._classes_of(decision))
    assert np.all(proba <= 1)
    two = AdaBoostClassifier(n_estimators=2).fit(X, y > 2)
    flat = np.concatenate([decision.ravel(), [0.0, -0.0, 5e-324, -5e-324, 1e-17, -1e-17]])
    proba = two._checked_probabilities(flat)
    assert np.array_equal(two.classes_[np.argmax(proba, axis=1)], two._classes_of(flat))
