"""Exported SQL in DuckDB predicts what the library predicts, to 1e-12, labels exactly."""

import numpy as np
import pandas as pd
import pytest

from electorate import AdaBoostClassifier, MedBoostRegressor
from electorate.export.sql import double, identifier, literal
from tests.export.export_cases import CASES, fitted, probes, rows, target

duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed")


def run(sql, X):
    with duckdb.connect() as database:
        database.register("given", X)
        return database.execute(sql).fetchdf()


def as_missing(X, value):
    """Missing numbers as NULL, or as NaN, in a table of DuckDB."""
    with duckdb.connect() as database:
        database.register("given", X)
        numbers = [name for name in X if name != "text"]
        casts = ", ".join(
            f"CASE WHEN isnan({identifier(n)}) THEN {value} ELSE {identifier(n)} END AS {identifier(n)}"
            for n in numbers
        )
        texts = ', "text"' if "text" in X else ""
        return database.sql(f"SELECT {casts}{texts} FROM given").to_arrow_table()


WITH_NULL = [(*case, "NULL") for case in CASES]
WITH_NAN = [(*case, "'nan'::DOUBLE") for case in CASES if case[1] in ("stumps", "trees")]


@pytest.mark.parametrize(("name", "family", "n_labels", "missing"), WITH_NULL + WITH_NAN)
def test_the_database_predicts_what_the_library_predicts(name, family, n_labels, missing):
    model = fitted(name, family, n_labels)
    X = probes(model)
    found = run(model.to_sql("given"), as_missing(X, missing))
    if n_labels == 0:
        assert found["prediction"].tolist() == pytest.approx(model.predict(X).tolist(), rel=1e-12, abs=1e-12)
        return
    decision = model.decision_function(X)
    columns = ["decision"] if n_labels == 2 else [f"decision_{k}" for k in range(n_labels)]
    assert found["prediction"].tolist() == model.predict(X).tolist()
    assert np.max(np.abs(found[columns].to_numpy() - decision.reshape(len(X), -1))) < 1e-12


def test_an_expression_alone():
    model = fitted("AdaBoostClassifier", "stumps", 2)
    found = run(f"SELECT {model.to_sql()} AS f FROM given", rows())
    assert np.max(np.abs(found["f"].to_numpy() - model.decision_function(rows()))) < 1e-12
    with pytest.raises(ValueError, match="3 classes has one expression per class"):
        fitted("AdaBoostClassifier", "stumps", 3).to_sql()


def test_many_trees_do_not_nest_deeply():
    X = rows()[["a"]]
    model = AdaBoostClassifier(
        fitted("AdaBoostClassifier", "trees", 2).estimator, n_estimators=1100, learning_rate=0.01
    )
    model.fit(X, target("AdaBoostClassifier", 2))
    assert model.ensemble_.n_voters > 1000
    assert run(model.to_sql("given"), X)["prediction"].tolist() == model.predict(X).tolist()


@pytest.mark.parametrize("value", [0.1, -0.1, 5e-324, -1.7976931348623157e308, 0.0, 1.0, 123456789.123456789, 2.0**-40])
def test_numbers_are_written_exactly_and_as_doubles(value):
    found = run(f"SELECT {double(value)} AS x, typeof({double(value)}) AS kind", pd.DataFrame({"a": [1]}))
    assert found["x"][0] == value
    assert found["kind"][0] == "DOUBLE"


@pytest.mark.parametrize("text", ["'; DROP TABLE given; --", '"', "''", "\\", "\n", "%", "ü"])
def test_names_and_texts_stay_what_they_are(text):
    found = run(f"SELECT {literal(text)} AS {identifier(text)}", pd.DataFrame({"a": [1]}))
    assert found.columns[0] == text
    assert found.iloc[0, 0] == text


def test_null_characters_are_refused():
    with pytest.raises(ValueError, match="null character"):
        identifier("a\0b")


def test_what_cannot_be_exported_is_refused_by_name():
    model = MedBoostRegressor(n_estimators=2).fit(rows()[["a"]], target("QuadBoostRegressor", 0))
    with pytest.raises(TypeError, match="to_sql is for models that add votes, and MedBoostRegressor"):
        model.to_sql()
