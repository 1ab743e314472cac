"""Cleaning as a fitted object: the same in every container, stored in model files, applied by every prediction."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.base import clone

import electorate as el
from electorate.data.cleaning import Cleaning, Drop, MergeSpellings, ReadDates, ReadNumbers, read_cleaning
from electorate.data.number_text import NumberFormat

COLUMNS = ("id", "when", "price", "kind", "x")
CLEANING = Cleaning(
    COLUMNS,
    {
        0: Drop(),
        1: ReadDates("dmy", ("days", "month")),
        2: ReadNumbers(NumberFormat(",", "kg")),
        3: MergeSpellings({"red": "red"}),
    },
    MergeSpellings({"yes": "yes"}),
)
NAMES = ["when (days)", "when (month)", "price", "kind", "x"]


def frame() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "id": ["a", "b", "c", "d"],
            "when": ["2.1.1970", "1.3.1970", None, "nonsense"],
            "price": ["1,5 kg", "1.000 kg", "?", None],
            "kind": ["red", "RED ", "blue", None],
            "x": [1.0, 2.0, np.nan, 4.0],
        },
        index=[7, 3, 3, 9],
    )


def containers() -> dict[str, Any]:
    X = frame()
    plain = pl.from_pandas(X)
    return {
        "pandas": X,
        "categories": X.astype({"kind": "category", "when": "category"}),
        "polars": plain,
        "lazy": plain.lazy(),
        "arrow": plain.to_arrow(),
    }


def as_pandas(X: Any) -> pd.DataFrame:
    return X if isinstance(X, pd.DataFrame) else X.to_pandas()


@pytest.mark.parametrize("name", containers())
def test_every_container(name: str) -> None:
    given = containers()[name]
    found = CLEANING.transform(given)
    assert isinstance(found, pl.DataFrame if name == "lazy" else type(given))
    found = as_pandas(found)
    assert list(found.columns) == NAMES == CLEANING.names
    np.testing.assert_array_equal(found["when (days)"].to_numpy(), [1, 59, np.nan, np.nan])
    np.testing.assert_array_equal(found["when (month)"].to_numpy(), [1, 3, np.nan, np.nan])
    np.testing.assert_array_equal(found["price"].to_numpy(), [1.5, 1000, np.nan, np.nan])
    assert found["kind"].tolist()[:3] == ["red", "red", "blue"]
    assert pd.isna(found["kind"].iloc[3])
    np.testing.assert_array_equal(found["x"].to_numpy(), [1, 2, np.nan, 4])
    if name == "pandas":
        assert list(found.index) == [7, 3, 3, 9]


def test_each_row_is_cleaned_by_itself() -> None:
    whole = CLEANING.transform(frame())
    for row in range(4):
        pd.testing.assert_frame_equal(CLEANING.transform(frame().iloc[[row]]), whole.iloc[[row]], check_dtype=False)


def test_columns_that_are_left_out_may_be_missing_and_others_may_be_there() -> None:
    found = CLEANING.transform(frame().drop(columns="id").assign(new=1)[["x", "new", "kind", "price", "when"]])
    assert list(found.columns) == NAMES
    with pytest.raises(ValueError, match="no column 'price'"):
        CLEANING.transform(frame().drop(columns="price"))
    with pytest.raises(ValueError, match="dataframe"):
        CLEANING.transform(np.zeros((3, 5)))


def test_typed_dates_and_numbers_stay() -> None:
    X = frame().assign(when=pd.to_datetime(["1970-01-02", "1970-03-01", None, None]), price=[1.5, 1000, None, None])
    pd.testing.assert_frame_equal(
        CLEANING.transform(X)[["when (days)", "price"]], CLEANING.transform(frame())[["when (days)", "price"]]
    )
    zoned = X.assign(when=X["when"].dt.tz_localize("UTC"))
    assert CLEANING.transform(zoned)["when (days)"].tolist()[:2] == [1, 59]


def test_names_that_are_no_texts() -> None:
    X = pd.DataFrame({0: [f"k{k}" for k in range(50)], 1: np.arange(50.0) / 3, 2: [f"${k}.5" for k in range(50)]})
    found = el.check_up(X, np.arange(50) % 2)
    assert list(found.clean(X).columns) == ["1", "2"]
    model = found.fit(el.AdaBoostClassifier(n_estimators=3), X, np.arange(50) % 2)
    np.testing.assert_array_equal(model.predict(X), model.predict(X.rename(columns=str)))


def test_arrays_lose_columns() -> None:
    cleaning = Cleaning(3, {1: Drop()})
    X = np.arange(6.0).reshape(2, 3)
    np.testing.assert_array_equal(cleaning.transform(X), X[:, [0, 2]])
    np.testing.assert_array_equal(cleaning.transform(X.tolist()), X[:, [0, 2]])
    np.testing.assert_array_equal(cleaning.transform(sparse.csr_array(X)).toarray(), X[:, [0, 2]])
    with pytest.raises(ValueError, match="3 columns"):
        cleaning.transform(X[:, :2])


def test_targets() -> None:
    assert CLEANING.transform_target(np.array(["YES", " yes", "No"], dtype=object)).tolist() == ["yes", "yes", "No"]
    assert CLEANING.transform_target([1, 2]) == [1, 2]
    money = Cleaning(1, {}, ReadNumbers(NumberFormat(".")))
    np.testing.assert_array_equal(money.transform_target(["$1,000", "$5"]), [1000, 5])


# ---------------------------------------------------------------- stored


def test_stored_and_read_again() -> None:
    stored = json.loads(json.dumps(CLEANING.stored()))
    assert read_cleaning(stored, 5, NAMES) == CLEANING
    array = Cleaning(4, {1: Drop()})
    assert read_cleaning(array.stored(), 3, None) == array


def changed(*path: Any, to: Any) -> dict[str, Any]:
    stored = json.loads(json.dumps(CLEANING.stored()))
    at = stored
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = to
    return stored


@pytest.mark.parametrize(
    "stored",
    [
        None,
        [],
        {},
        changed("columns", to=["a", "a", "b", "c", "d"]),
        changed("columns", to=[1, 2, 3, 4, 5]),
        changed("columns", to=-1),
        changed("columns", to=5),
        changed("columns", to=None),
        changed("steps", to=3),
        changed("steps", 0, to="drop"),
        changed("steps", 0, "column", to=9),
        changed("steps", 0, "column", to=1),
        changed("steps", 0, "column", to="id"),
        changed("steps", 0, "does", to="run"),
        changed("steps", 0, "does", to=["drop"]),
        changed("steps", 0, "does", to="number"),
        changed("steps", 0, "more", to=1),
        changed("steps", 1, "order", to="ydm"),
        changed("steps", 1, "parts", to=["days", "days"]),
        changed("steps", 1, "parts", to=["days", ["month"]]),
        changed("steps", 1, "parts", to=[]),
        changed("steps", 1, "parts", to="days"),
        changed("steps", 2, "decimal", to=";"),
        changed("steps", 2, "unit", to="k" * 99),
        changed("steps", 2, "unit", to=None),
        changed("steps", 3, "common", to={"red": "red"}),
        changed("steps", 3, "common", to=[["red"]]),
        changed("steps", 3, "common", to=[["red", "blue"]]),
        changed("steps", 3, "common", to=[["red", "red"], ["red", "Red"]]),
        changed("steps", 3, "common", to=[["red", 1]]),
        changed("steps", to=[]),
        changed("target", to={"does": "drop"}),
        changed("target", to="spelling"),
    ],
)
def test_what_no_writer_stores_is_refused(stored: Any) -> None:
    with pytest.raises(ValueError, match=r"clean|column|step|spelling|format|parts|array|text"):
        read_cleaning(stored, 5, NAMES)


# ---------------------------------------------------------------- with models


def table(n: int = 200) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(0)
    x = rng.normal(size=n)
    X = pd.DataFrame(
        {"id": [f"r{k}" for k in range(n)], "price": [f"${1000 * v:,.2f}" for v in x], "x": rng.normal(size=n)}
    )
    return X, np.where(x + rng.normal(size=n) / 3 > 0, "yes", "no").astype(object)


MODELS = [
    el.AdaBoostClassifier(n_estimators=5),
    el.RealAdaBoostClassifier(el.Trees(2), n_estimators=5),
    el.QuadBoostClassifier(n_estimators=5),
    el.MedBoostRegressor(n_estimators=5),
    el.QuadBoostRegressor(n_estimators=5),
]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_a_model_keeps_its_cleaning(model: Any, tmp_path: Path) -> None:
    X, y = table()
    target = X["x"].to_numpy() if type(model).__name__.endswith("Regressor") else y
    check = el.check_up(X, target)
    fitted = check.fit(clone(model), X, target)
    plain = clone(model).fit(check.clean(X), target)
    np.testing.assert_array_equal(fitted.predict(X), plain.predict(check.clean(X)))
    assert fitted.digest_ != plain.digest_
    fitted.save(tmp_path / "one")
    again = el.load(tmp_path / "one")
    assert again.digest_ == fitted.digest_
    assert again.cleaning_ == check.cleaning
    for rows in (X, pl.from_pandas(X), X.drop(columns="id")):
        np.testing.assert_array_equal(again.predict(rows), fitted.predict(X))
    del fitted.cleaning_
    assert fitted.digest_ == plain.digest_
    fitted.save(tmp_path / "two")
    plain.save(tmp_path / "three")
    assert b"cleaning" not in (tmp_path / "two").read_bytes()
    assert el.load(tmp_path / "two").cleaning_ is None


def test_a_new_fit_forgets_the_cleaning_and_a_warm_start_keeps_it() -> None:
    X, y = table()
    check = el.check_up(X, y)
    model = check.fit(el.AdaBoostClassifier(n_estimators=3, warm_start=True), X, y)
    model.set_params(n_estimators=6).fit(X, y)
    assert model.digest_ == check.fit(el.AdaBoostClassifier(n_estimators=6), X, y).digest_
    model.set_params(warm_start=False).fit(X[["x"]], y)
    assert model.cleaning_ is None


def test_certificates_see_cleaned_rows_and_labels() -> None:
    X, y = table()
    y[:5] = [label.upper() for label in y[:5]]
    check = el.check_up(X, y)
    model = check.fit(el.AdaBoostClassifier(n_estimators=3), X[:100], y[:100])
    found = el.certificate(model, heldout=(X[100:], y[100:]))
    same = clone(model).fit(check.clean(X[:100]), check.clean_target(y[:100]))
    expected = el.certificate(same, heldout=(check.clean(X[100:]), check.clean_target(y[100:])))
    assert found.to_dict()["risk"] == expected.to_dict()["risk"]
    with pytest.raises(ValueError, match="took part"):
        el.certificate(model, heldout=(X[:50], y[:50]))


def test_exports_take_clean_columns() -> None:
    X, y = table()
    model = el.check_up(X, y).fit(el.AdaBoostClassifier(n_estimators=3), X, y)
    np.testing.assert_array_equal(el.export.export_input(model, X), model.cleaning_.transform(X).to_numpy())
    with pytest.raises(ValueError, match="cleans 'price'"):
        model.to_sql("rows")
    dropped = el.check_up(X[["id", "x"]], y)
    assert "SELECT" in dropped.fit(el.AdaBoostClassifier(n_estimators=3), X, y).to_sql("rows")
