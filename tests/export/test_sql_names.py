"""Exported SQL in SQLite and DuckDB, for tables whose columns have hostile names and types."""

import sqlite3
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

from electorate import AdaBoostClassifier, QuadBoostRegressor, Trees
from electorate.export.sql import identifier

NAMES = [
    *(
        "decision",
        "Decision_1",
        "DECISION_0",
        "decision_2",
        "Prediction",
        "votes",
        "given",
        "GIVEN_1",
        "select",
        "FROM",
    ),
    *(
        'a"b',
        "it's",
        '"',
        "'; DROP TABLE scored; --",
        " ",
        "  ",
        "ü",
        "日本",
        "a b",
        "x.y",
        "NULL",
        "rowid",
        "1",
        "$",
        "%s",
    ),
]
BEYOND = 2**53


def table(seed: int, n: int = 120) -> pd.DataFrame:
    """Numbers, some missing; integers that float64 rounds; truth values; texts."""
    rng = np.random.default_rng(seed)
    makers: list[Callable[[], Any]] = [
        lambda: np.where(rng.random(n) < 0.2, np.nan, rng.normal(size=n)),
        lambda: BEYOND + rng.integers(-4, 5, n),
        lambda: rng.random(n) < 0.5,
        lambda: rng.choice(np.array(["red", "it's", 'a"b', "", "grün"], dtype=object), n),
    ]
    return pd.DataFrame({name: makers[(k + seed) % 4]() for k, name in enumerate(NAMES)})


def rows_of(frame: pd.DataFrame) -> list[tuple[Any, ...]]:
    return [tuple(None if v != v else v for v in row) for row in zip(*(frame[c].tolist() for c in frame), strict=True)]


def run(database: str, frame: pd.DataFrame, query: str) -> tuple[list[str], list[tuple[Any, ...]]]:
    """Return the names and the rows of a query of the table `scored`."""
    kinds = {"f": "DOUBLE PRECISION", "i": "BIGINT", "b": "BOOLEAN", "O": "VARCHAR"}
    columns = ", ".join(f"{identifier(c)} {kinds[frame[c].dtype.kind]}" for c in frame)
    connect: Any = sqlite3.connect if database == "sqlite" else pytest.importorskip("duckdb").connect
    connection = connect(":memory:")
    try:
        connection.execute(f"CREATE TABLE scored ({columns})")
        marks = ", ".join("?" * frame.shape[1])
        connection.executemany(f"INSERT INTO scored VALUES ({marks})", rows_of(frame))
        answer = connection.execute(query)
        return [column[0] for column in answer.description], answer.fetchall()
    finally:
        connection.close()


@pytest.mark.parametrize("database", ["sqlite", "duckdb"])
@pytest.mark.parametrize("trees", [False, True])
@pytest.mark.parametrize("n_labels", [0, 2, 3])
@pytest.mark.parametrize("seed", range(4))
def test_hostile_columns_used_or_not(database: str, trees: bool, n_labels: int, seed: int) -> None:
    """Predictions and decisions, the first columns of the answer, are those of the model."""
    frame = table(seed)
    used = [name for k, name in enumerate(NAMES) if (k + seed // 2) % 3]
    X, rng = frame[used], np.random.default_rng(seed)
    number = sum(pd.factorize(X[name])[0] % 7 * (0.5 + k % 3) for k, name in enumerate(used[::4])) + rng.normal(
        size=len(X)
    )
    if n_labels:
        y = np.array(["no", "yes, it's", "?"])[np.searchsorted(np.quantile(number, [0.3, 0.6][: n_labels - 1]), number)]
        model: Any = AdaBoostClassifier(Trees(3) if trees else None, n_estimators=12).fit(X, y)
    else:
        model = QuadBoostRegressor(n_estimators=12).fit(X, number)
    names, rows = run(database, frame, model.to_sql("scored"))
    predicted = [row[0] for row in rows]
    assert names[0] == "prediction"
    if not n_labels:
        assert predicted == pytest.approx(model.predict(X).tolist(), rel=1e-12, abs=1e-12)
        return
    assert predicted == model.predict(X).tolist()
    decision = model.decision_function(X).reshape(len(X), -1)
    assert names[1 : 1 + decision.shape[1]] == (["decision"] if n_labels == 2 else [f"decision_{k}" for k in range(3)])
    assert np.max(np.abs(np.array([row[1 : 1 + decision.shape[1]] for row in rows]) - decision)) < 1e-12


@pytest.mark.parametrize("database", ["sqlite", "duckdb"])
def test_the_answer_of_an_earlier_query_can_be_scored_again(database: str) -> None:
    """Its columns `prediction` and `decision` are columns like any others, that the model does not use."""
    frame = table(0)[["ü", "rowid"]]
    first, second = (AdaBoostClassifier(n_estimators=9).fit(frame, np.arange(120) % m == 0) for m in (2, 7))
    names, rows = run(database, frame, second.to_sql(f"({first.to_sql('scored')}) AS earlier"))
    assert names[:2] == ["prediction", "decision"]
    assert [bool(row[0]) for row in rows] == second.predict(frame).tolist()
    assert [row[1] for row in rows] == pytest.approx(second.decision_function(frame).tolist(), abs=1e-12)


@pytest.mark.parametrize("database", ["sqlite", "duckdb"])
def test_integers_beyond_doubles_are_rounded_as_in_training(database: str) -> None:
    """Neighbours that are one double are on one side; SQLite compares all digits of an integer with a double."""
    values = BEYOND + np.arange(-6, 13)
    frame = pd.DataFrame({"id": values})
    for at in range(2, len(values) - 2):
        model = AdaBoostClassifier(n_estimators=1).fit(frame, values > values[at])
        _, rows = run(database, frame, model.to_sql("scored"))
        assert [bool(row[0]) for row in rows] == model.predict(frame).tolist()
        _, rows = run(database, frame, f"SELECT {model.to_sql()} > 0 FROM scored")
        assert [bool(row[0]) for row in rows] == model.predict(frame).tolist()


def test_a_column_that_the_table_lacks_is_an_error_in_sqlite() -> None:
    """An unqualified name in double quotes that is no column would be a text."""
    frame = pd.DataFrame({"a": [1.0, 2.0, 3.0, 4.0]})
    model = AdaBoostClassifier(n_estimators=1).fit(frame, [0, 0, 1, 1])
    with pytest.raises(sqlite3.OperationalError, match="no such column"):
        run("sqlite", frame.rename(columns={"a": "b"}), model.to_sql("scored"))


@pytest.mark.parametrize(
    ("names", "message"),
    [(["a", "A"], "'a' and 'A' differ only in upper and lower case"), (["", "b"], "no column without a name")],
)
def test_names_that_a_database_cannot_have_are_refused(names: list[str], message: str) -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(60, 2)), columns=names)
    model = AdaBoostClassifier(n_estimators=20).fit(frame, frame.sum(axis=1) > 0)
    for table_name in (None, "scored"):
        with pytest.raises(ValueError, match=message):
            model.to_sql(table_name)
