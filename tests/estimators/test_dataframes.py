"""Dataframes of every kind against the same table in NumPy, with the categories encoded by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from samples import messy, noisy
from sklearn.tree import DecisionTreeClassifier

from electorate import AdaBoostClassifier, load

NAMES = ["a", "b", "c", "kind", "e"]
LEVELS = np.array(["low", "mid", "<b>high</b>", "\x1b[1mtop", "último"], dtype=object)


def fit(X: Any, y: Any, **options: Any) -> AdaBoostClassifier:
    return AdaBoostClassifier(**{"n_estimators": 15, **options}).fit(X, y)


def table(rows: int = 300, seed: int = 0) -> tuple[Any, Any, Any]:
    """A numeric table whose column 3 holds the codes of sorted levels, those levels as texts, and labels."""
    X, y = messy(rows, labels=2, seed=seed)
    ranks = np.argsort(np.argsort(LEVELS))
    texts = np.full(rows, None, dtype=object)
    known = np.isfinite(X[:, 3])
    texts[known] = LEVELS[X[known, 3].astype(int)]
    X[known, 3] = ranks[X[known, 3].astype(int)]
    return X, texts, y


def columns(X: Any, texts: Any) -> dict[str, Any]:
    return {name: texts if name == "kind" else X[:, j] for j, name in enumerate(NAMES)}


def with_nulls(values: Any) -> list[Any]:
    return [None if value != value else value for value in values.tolist()]


def polars_frame(X: Any, texts: Any) -> pl.DataFrame:
    return pl.DataFrame({name: with_nulls(np.asarray(v)) for name, v in columns(X, texts).items()})


def kinds(X: Any, texts: Any) -> dict[str, Any]:
    """The same table in many types."""
    plain = pd.DataFrame(columns(X, texts))
    frame = polars_frame(X, texts)
    levels = sorted(LEVELS)
    arrow = frame.to_arrow()
    nullable = plain.astype({name: "Float64" for name in NAMES if name != "kind"} | {"kind": "string"})
    return {
        "pandas objects": plain,
        "record batch": arrow.combine_chunks().to_batches()[0],
        "pandas category": plain.astype({"kind": "category"}),
        "pandas category, other order": plain.assign(kind=pd.Categorical(texts, categories=[*levels[::-1], "extra"])),
        "pandas ordered category": plain.assign(kind=pd.Categorical(texts, categories=levels, ordered=True)),
        "pandas nullable": nullable,
        "pandas arrow strings": plain.astype({"kind": pd.ArrowDtype(pa.string()), "a": pd.ArrowDtype(pa.float64())}),
        "pandas another index": plain.set_index(pd.Index(np.arange(len(texts))[::-1] * 3)),
        "polars strings": frame,
        "polars Categorical": frame.with_columns(pl.col("kind").cast(pl.Categorical)),
        "polars Enum": frame.with_columns(pl.col("kind").cast(pl.Enum([*levels[::-1], "extra"]))),
        "polars LazyFrame": frame.lazy(),
        "polars chunks": pl.concat([frame[:100], frame[100:]], rechunk=False),
        "pyarrow strings": arrow,
        "pyarrow dictionary": arrow.set_column(3, "kind", arrow["kind"].dictionary_encode()),
        "pyarrow chunks": pa.concat_tables([arrow.slice(0, 77), arrow.slice(77)]),
    }


KINDS = list(kinds(*table(rows=200)[:2]))


@pytest.mark.parametrize("kind", KINDS)
def test_a_frame_is_its_encoded_array(kind: str) -> None:
    X, texts, y = table()
    encoded = fit(X, y, categorical_features=[3])
    frame = kinds(X, texts)[kind]
    model = fit(frame, y)
    assert encoded.feature_importances_[3] > 0
    assert model.feature_names_in_.tolist() == NAMES
    assert np.array_equal(model.steps_, encoded.steps_)
    assert np.array_equal(model.decision_function(frame), encoded.decision_function(X))
    other, other_texts, _ = table(seed=1)
    assert np.array_equal(model.predict_proba(kinds(other, other_texts)[kind]), encoded.predict_proba(other))


def test_all_frames_give_one_model() -> None:
    X, texts, y = table()
    frames = kinds(X, texts)
    models = [fit(frame, y) for frame in frames.values()]
    assert len({model.digest_ for model in models}) == 1
    for frame in frames.values():  # and each predicts from all
        assert np.array_equal(models[0].decision_function(frame), models[-1].decision_function(frames[KINDS[0]]))


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_an_unseen_category_counts_as_missing(library: str) -> None:
    X, texts, y = table()
    frame = pl.DataFrame(polars_frame(X, texts))
    model = fit(frame, y)
    unseen = frame.with_columns(kind=pl.lit("never seen"))
    absent = frame.with_columns(kind=pl.lit(None, dtype=pl.String))
    assert not np.array_equal(model.decision_function(absent), model.decision_function(frame))
    convert = {"pandas": lambda f: f.to_pandas(), "polars": lambda f: f, "pyarrow": lambda f: f.to_arrow()}[library]
    assert np.array_equal(model.decision_function(convert(unseen)), model.decision_function(absent))
    enum = unseen.with_columns(pl.col("kind").cast(pl.Enum(["never seen", "nor this"])))
    assert np.array_equal(model.decision_function(enum), model.decision_function(absent))


def test_numbers_that_are_categories() -> None:
    """By type in a frame, by position in an array; the values themselves are the levels."""
    rng = np.random.default_rng(0)
    X, y = noisy()
    X[:, 2] = np.array([7.0, -3, 0.5, 1e9])[(rng.integers(0, 2, len(y)) + 2 * y) % 4]
    X[::13, 2] = np.nan
    model = fit(X, y, categorical_features=[2])
    frame = pd.DataFrame(X, columns=list("abcde"))
    by_type = fit(frame.astype({"c": "category"}), y)
    assert by_type.digest_ == model.digest_
    by_name = fit(frame, y, categorical_features=["c"])
    assert by_name.digest_ == model.digest_
    arrow = pa.table({**{n: X[:, j] for j, n in enumerate("abcde")}, "c": pa.array(with_nulls(X[:, 2]))})
    assert fit(arrow.set_column(2, "c", arrow["c"].dictionary_encode()), y).digest_ == model.digest_
    mask = np.arange(5) == 2
    assert fit(frame, y, categorical_features=mask).digest_ == model.digest_
    assert by_type.bins_.categories[2].levels.tolist() == [-3, 0.5, 7, 1e9]
    unseen, absent = frame.assign(c=0.75), frame.assign(c=np.nan)
    for one in (by_name, by_type):
        assert np.array_equal(one.decision_function(unseen), one.decision_function(absent))


def test_booleans_and_whole_numbers_with_missing_ones() -> None:
    X, y = noisy()
    X = np.round(X * 3)
    X[::7, 0] = np.nan
    X[:, 1] = np.where(np.arange(len(y)) % 5 == 0, np.nan, X[:, 1] > 0)
    model = fit(X, y)
    data = {name: with_nulls(X[:, j]) for j, name in enumerate("abcde")}
    data["a"] = [None if v is None else int(v) for v in data["a"]]
    data["b"] = [None if v is None else bool(v) for v in data["b"]]
    nullable = pd.DataFrame({"a": pd.array(data["a"], "Int64"), "b": pd.array(data["b"], "boolean")})
    nullable = nullable.assign(**{name: pd.array(data[name], "Float64") for name in "cde"})
    frame = pl.DataFrame(data)
    assert (frame.schema["a"], frame.schema["b"]) == (pl.Int64, pl.Boolean)
    decimal = frame.with_columns(pl.col("c").cast(pl.Decimal(10, 2)), pl.col("d").cast(pl.Float32))
    for other in (nullable, frame, frame.lazy(), frame.to_arrow(), decimal):
        again = fit(other, y)
        assert again.digest_ == model.digest_
        assert np.array_equal(again.decision_function(other), model.decision_function(X))


def test_more_categories_than_have_a_code() -> None:
    """The heaviest 254 keep their own; the others go together; the unseen are missing."""
    rng = np.random.default_rng(0)
    common = np.repeat([f"common {k:03d}" for k in range(254)], 10)
    rare = [f"rare {k}" for k in range(100)]
    texts = np.concatenate([common, rare])
    y = np.concatenate([rng.integers(0, 2, len(common)), np.ones(100, dtype=int)])
    frame = pd.DataFrame({"kind": texts, "x": rng.normal(size=len(texts))})
    model = fit(frame, y)
    assert model.bins_.categories[0].n_codes == 255
    shares = model.decision_function(frame.assign(x=0.0))[-100:]
    assert len(set(shares)) == 1
    assert np.all(model.predict(frame.assign(x=0.0))[-100:] == 1)
    order = rng.permutation(len(y))
    assert fit(frame.iloc[order], y[order]).digest_ == model.digest_


def named(n_rows: int = 400, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    """Rows with a column of names, most of which occur a few times."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n_rows)
    frame = pd.DataFrame({"name": [f"name {k}" for k in rng.integers(0, n_rows // 2, n_rows)], "x": x})
    return frame, (x + rng.normal(size=n_rows) / 3 > 0).astype(int)


def test_a_column_of_names_costs_little() -> None:
    frame, y = named()
    test, labels = named(2000, seed=1)
    errors = [np.mean(fit(f[:400], y).predict(g) != labels) for f, g in ((frame, test), (frame[["x"]], test[["x"]]))]
    assert errors[0] <= errors[1] + 0.01


@pytest.mark.parametrize("factor", [1.0, 4.0, 0.25, 2.0**-30])
def test_rare_names_count_by_weight_not_by_its_unit(factor: float) -> None:
    """A row of weight k counts as k rows, and a power of two times all weights changes nothing."""
    frame, y = named()
    weight = np.random.default_rng(2).integers(0, 6, len(y)).astype(float)
    rows = np.repeat(np.arange(len(y)), weight.astype(int))
    order = np.random.default_rng(3).permutation(rows)
    expected = fit(frame.iloc[order], y[order])
    assert 1 < expected.bins_.categories[0].n_codes < 100
    model = type(expected)(**expected.get_params()).fit(frame, y, sample_weight=weight * factor)
    assert model.digest_ == expected.digest_


@pytest.mark.parametrize("column", ["a", "kind"])
def test_a_column_of_which_nothing_is_known(column: str) -> None:
    """In training it is unused; at predict every type it may come in means missing."""
    X, texts, y = table()
    frame = polars_frame(X, texts)
    model = fit(frame, y)
    typed = pl.Float64 if column == "a" else pl.String
    absent = frame.with_columns(pl.lit(None, dtype=typed).alias(column))
    nameless = frame.with_columns(pl.lit(None).alias(column))
    assert nameless.schema[column] == pl.Null
    expected = model.decision_function(absent)
    objects = absent.to_pandas().assign(**{column: None})
    for other in (nameless, nameless.to_arrow(), objects, nameless[:1], objects[:1]):
        assert np.array_equal(model.decision_function(other), expected[: len(other)])
    for other in (absent, nameless, nameless.to_arrow(), objects):
        unused = fit(other, y)
        assert unused.feature_importances_[NAMES.index(column)] == 0
        assert np.array_equal(unused.decision_function(other), unused.decision_function(absent))


def test_columns_that_cannot_be_read_are_named() -> None:
    X, texts, y = table(rows=50)
    frame = polars_frame(X, texts)
    plain = pd.DataFrame(columns(X, texts))
    for bad in (
        frame.with_columns(b=pl.lit("2020-01-01").str.to_date()),
        frame.with_columns(b=pl.lit("2020-01-01").str.to_datetime()),
        frame.with_columns(b=pl.duration(days=1)),
        frame.with_columns(b=pl.concat_list("a", "c")),
        frame.with_columns(b=pl.struct("a", "c")),
        frame.with_columns(b=pl.lit(b"bytes")),
        plain.assign(b=pd.Timestamp("2020-01-01")),
        plain.assign(b=[[1, 2]] * 50),
        plain.assign(b=1j),
    ):
        with pytest.raises(ValueError, match="column 'b'"):
            fit(bad, y)


def test_columns_that_changed_are_named() -> None:
    X, texts, y = table(rows=50)
    frame = polars_frame(X, texts)
    model = fit(frame, y)
    with pytest.raises(ValueError, match=r"column 'a' was numbers.*'word' is not a number"):
        model.predict(frame.with_columns(a=pl.lit("word")))
    with pytest.raises(ValueError, match="column 3 was texts"), pytest.warns(UserWarning, match="feature names"):
        model.predict(X)
    for changed in (frame.select(NAMES[::-1]), frame.rename({"a": "z"}), frame.drop("e")):
        for other in (changed, changed.to_pandas(), changed.to_arrow(), changed.lazy()):
            with pytest.raises(ValueError, match="feature names should match"):
                model.predict(other)


def test_categories_that_were_not_asked_for_are_named() -> None:
    X, texts, y = table(rows=50)
    for wanted in ([0], ["a"], [], None):
        with pytest.raises(ValueError, match="column 'kind' holds texts or categories"):
            fit(polars_frame(X, texts), y, categorical_features=wanted)
    with pytest.raises(ValueError, match="categorical_features names 'kinds'"):
        fit(polars_frame(X, texts), y, categorical_features=["kinds"])


def test_saved_and_loaded_it_still_reads_frames(tmp_path: Any) -> None:
    X, texts, y = table()
    frames = kinds(X, texts)
    model = fit(frames["polars Enum"], y)
    model.save(tmp_path / "m")
    again = load(tmp_path / "m")
    assert again.digest_ == model.digest_
    for frame in frames.values():
        assert np.array_equal(again.decision_function(frame), model.decision_function(frame))


@pytest.mark.parametrize("estimator", [None, DecisionTreeClassifier(max_depth=1)])
def test_record_batches_keep_their_names(estimator: Any) -> None:
    X, y = noisy()
    frame = pa.table({f"c{j}": X[:, j] for j in range(X.shape[1])})
    (batch,) = frame.to_batches()
    model = fit(batch, y, estimator=estimator)
    assert model.feature_names_in_.tolist() == frame.column_names
    assert np.array_equal(model.decision_function(batch), model.decision_function(frame))
    with pytest.raises(ValueError, match="feature names"):
        model.predict(batch.rename_columns([*"abcde"]))
