"""Fifty messy tables: a clean one of numbers and categories, with each oddity of the check-up alone and together."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pandas as pd

N_TRAIN, N_TEST = 300, 1000


class MessyTable(NamedTuple):
    """clean, messy: the same rows. named: what the check-up must name, (kind, column); None is the target."""

    clean: tuple[pd.DataFrame, np.ndarray]
    messy: tuple[pd.DataFrame, np.ndarray]
    named: list[tuple[str, str | None]]


def clean_table(seed: int, n_rows: int = N_TRAIN + N_TEST) -> tuple[pd.DataFrame, np.ndarray]:
    """Five numbers, two categories and two classes, which a few of the columns tell with noise."""
    rng = np.random.default_rng(seed)
    numbers = rng.normal(size=(n_rows, 5))
    X = pd.DataFrame({f"x{k}": np.round(1000 * numbers[:, k], 2) for k in range(5)})
    X["colour"] = rng.choice(["red", "green", "blue"], n_rows)
    X["size"] = rng.choice(["small", "large"], n_rows)
    score = (
        numbers[:, 0] + numbers[:, 1] + (X["colour"] == "red") - (X["size"] == "large") + rng.normal(size=n_rows) / 2
    )
    return X, np.where(score > 0, "accepted", "refused").astype(object)


Oddity = Callable[[pd.DataFrame, np.ndarray, np.random.Generator], tuple[pd.DataFrame, np.ndarray]]
ODDITIES: dict[str, tuple[Oddity, list[tuple[str, str | None]]]] = {}


def oddity(name: str, *named: tuple[str, str | None]) -> Callable[[Oddity], Oddity]:
    def register(function: Oddity) -> Oddity:
        ODDITIES[name] = function, list(named)
        return function

    return register


def columns_of(name: str, kind: str, column: str, make: Callable[[int, np.random.Generator], object]) -> None:
    """Register a new column."""

    def add(X: pd.DataFrame, y: np.ndarray, rng: np.random.Generator) -> tuple[pd.DataFrame, np.ndarray]:
        return X.assign(**{column: make(len(X), rng)}), y

    ODDITIES[name] = add, [(kind, column)]


def written(name: str, column: str, write: Callable[[float], str]) -> None:
    """Register another way to write a column of numbers."""

    def rewrite(X: pd.DataFrame, y: np.ndarray, rng: np.random.Generator) -> tuple[pd.DataFrame, np.ndarray]:
        return X.assign(**{column: X[column].map(write)}), y

    ODDITIES[name] = rewrite, [("number as text", column)]


def days(n_rows: int, rng: np.random.Generator) -> pd.DatetimeIndex:
    return pd.Timestamp("2019-03-01") + pd.to_timedelta(rng.integers(0, 900, n_rows), unit="D")


def european(value: float) -> str:
    return f"{value:,.2f}".translate(str.maketrans(",.", ".,"))


columns_of("text id", "identifier", "id", lambda n, rng: [f"C-{k:06d}" for k in rng.permutation(10 * n)[:n]])
columns_of("uuid", "identifier", "key", lambda n, rng: [rng.bytes(8).hex() for _ in range(n)])
columns_of("row number", "identifier", "row", lambda n, rng: np.arange(n))
columns_of("shuffled row number", "identifier", "nr", lambda n, rng: rng.permutation(n) + 1000)
columns_of("large id", "identifier", "customer_id", lambda n, rng: rng.choice(10**9, n, replace=False))
columns_of(
    "names", "identifier", "name", lambda n, rng: [f"{rng.bytes(3).hex()} {rng.bytes(2).hex()}" for _ in range(n)]
)
columns_of(
    "free text", "free text", "note", lambda n, rng: [" ".join(rng.bytes(2).hex() for _ in range(9)) for _ in range(n)]
)
columns_of("ISO dates", "date", "when", lambda n, rng: days(n, rng).strftime("%Y-%m-%d"))
columns_of("German dates", "date", "when", lambda n, rng: days(n, rng).strftime("%d.%m.%Y"))
columns_of("American dates", "date", "when", lambda n, rng: days(n, rng).strftime("%m/%d/%Y"))
columns_of("named months", "date", "when", lambda n, rng: days(n, rng).strftime("%d %b %Y"))
columns_of("times", "date", "when", lambda n, rng: days(n, rng).strftime("%Y-%m-%dT%H:%M:%SZ"))
columns_of("typed dates", "date", "when", lambda n, rng: days(n, rng))
columns_of("constant", "constant", "unit", lambda n, rng: "cm")
columns_of("empty", "constant", "empty", lambda n, rng: np.full(n, np.nan))
columns_of("many names", "many categories", "city", lambda n, rng: [f"city {k}" for k in rng.integers(0, 150, n)])
written("decimal comma", "x0", lambda v: f"{v:.2f}".replace(".", ","))
written("thousands", "x0", lambda v: f"{v:,.2f}")
written("European thousands", "x0", european)
written("dollars", "x0", lambda v: f"${v:,.2f}")
written("euros", "x0", lambda v: f"{european(v)} €")
written("percent", "x1", lambda v: f"{v:.2f} %")
written("units", "x1", lambda v: f"{v:.2f} kg")
written("brackets", "x1", lambda v: f"({-v:.2f})" if v < 0 else f"{v:.2f}")
written("plain text", "x1", lambda v: f"{v:.2f}")


@oddity("question marks", ("number as text", "x2"))
def question_marks(X: pd.DataFrame, y: np.ndarray, rng: np.random.Generator) -> tuple[pd.DataFrame, np.ndarray]:
    texts = X["x2"].map(lambda v: f"{v:.2f}")
    return X.assign(x2=texts.where(rng.random(len(X)) > 0.1, "?")), y


@oddity("near duplicate", ("near duplicate", "twice"))
def near_duplicate(X: pd.DataFrame, y: np.ndarray, rng: np.random.Generator) -> tuple[pd.DataFrame, np.ndarray]:
    return X.assign(twice=2 * X["x0"] + 1), y


@oddity("renamed categories", ("near duplicate", "farbe"))
def renamed_categories(X: pd.DataFrame, y: np.ndarray, rng: np.random.Generator) -> tuple[pd.DataFrame, np.ndarray]:
    return X.assign(farbe=X["colour"].map({"red": "rot", "green": "grün", "blue": "blau"})), y


@oddity("category spellings", ("spelling", "colour"))
def category_spellings(X: pd.DataFrame, y: np.ndarray, rng: np.random.Generator) -> tuple[pd.DataFrame, np.ndarray]:
    ways = [str, str.upper, str.title, lambda text: f"{text} "]
    return X.assign(colour=[ways[rng.integers(len(ways))](text) for text in X["colour"]]), y


@oddity("label spellings", ("spelling", None))
def label_spellings(X: pd.DataFrame, y: np.ndarray, rng: np.random.Generator) -> tuple[pd.DataFrame, np.ndarray]:
    ways = [str, str, str, str.upper, str.title, lambda text: f" {text}"]
    return X, np.array([ways[rng.integers(len(ways))](label) for label in y], dtype=object)


@oddity("repeated rows", ("repeated rows", None))
def repeated_rows(X: pd.DataFrame, y: np.ndarray, rng: np.random.Generator) -> tuple[pd.DataFrame, np.ndarray]:
    rows = np.arange(len(y))
    rows[N_TRAIN - 30 : N_TRAIN] = rows[:30]
    return X.iloc[rows].reset_index(drop=True), y[rows]


@oddity("leak", ("leak", "outcome"))
def leak(X: pd.DataFrame, y: np.ndarray, rng: np.random.Generator) -> tuple[pd.DataFrame, np.ndarray]:
    return X.assign(outcome=(y == "accepted") + 0.1 * rng.random(len(y))), y


@oddity("rare class", ("rare class", None))
def rare_class(X: pd.DataFrame, y: np.ndarray, rng: np.random.Generator) -> tuple[pd.DataFrame, np.ndarray]:
    labels = y.copy()
    labels[rng.choice(N_TRAIN, 4, replace=False)] = "unknown"
    return X, labels


@oddity("imbalance", ("imbalance", None))
def imbalance(X: pd.DataFrame, y: np.ndarray, rng: np.random.Generator) -> tuple[pd.DataFrame, np.ndarray]:
    """Of a larger table all rows of one class, and few of the other."""
    rare = np.flatnonzero(y == "refused")
    common = np.flatnonzero(y == "accepted")[: N_TRAIN + N_TEST]
    rows = common.copy()
    places = np.arange(10, len(rows), 30)
    rows[places] = rare[: len(places)]
    return X.iloc[rows].reset_index(drop=True), y[rows]


TOGETHER = [
    ("text id", "ISO dates"),
    ("row number", "dollars"),
    ("uuid", "free text"),
    ("decimal comma", "question marks"),
    ("German dates", "European thousands", "units"),
    ("label spellings", "category spellings"),
    ("label spellings", "text id", "percent"),
    ("constant", "empty", "near duplicate"),
    ("large id", "typed dates", "euros"),
    ("names", "many names"),
    ("free text", "American dates", "brackets"),
    ("repeated rows", "thousands"),
    ("shuffled row number", "times", "renamed categories"),
    ("text id", "uuid", "row number", "names"),
    ("ISO dates", "decimal comma", "percent", "question marks"),
    ("named months", "plain text", "category spellings"),
    ("text id", "free text", "dollars", "label spellings", "constant"),
    ("many names", "units", "near duplicate"),
    ("imbalance", "uuid", "German dates", "dollars"),
    ("rare class", "label spellings", "text id"),
    ("leak", "row number", "percent"),
    ("imbalance", "large id", "decimal comma", "empty"),
    (
        "text id",
        "German dates",
        "euros",
        "percent",
        "question marks",
        "label spellings",
        "category spellings",
        "constant",
    ),
    ("uuid", "typed dates", "thousands", "brackets", "empty", "free text", "renamed categories", "many names"),
]
CASES: dict[str, tuple[str, ...]] = {name: (name,) for name in ODDITIES} | {" + ".join(each): each for each in TOGETHER}


OF_ROWS = {"repeated rows": repeated_rows, "imbalance": imbalance}  # the clean table has the same rows


def messy_table(case: str, seed: int) -> MessyTable:
    names = CASES[case]
    X, y = clean_table(seed, (3 if "imbalance" in names else 1) * (N_TRAIN + N_TEST))
    rng = np.random.default_rng([seed, 1])
    frame, labels, named = X, y, []
    for name in names:
        function, expected = ODDITIES[name]
        frame, labels = function(frame, labels, rng)
        named += expected
        if name in OF_ROWS:
            X, y = OF_ROWS[name](X, y, rng)
    return MessyTable((X, y), (frame, labels), named)
