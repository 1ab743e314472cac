"""What the check-up finds and what it leaves alone; its findings do not depend on the container or on row order."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, load_wine

import electorate
from tests.data.checkup.messy import CASES, N_TRAIN, clean_table, messy_table

EVERYTHING = max(CASES, key=lambda case: len(CASES[case]))


def kinds(found: electorate.inspection.CheckUp) -> set[tuple[str, str | None]]:
    return {(finding.kind, finding.column) for finding in found}


def noise(n: int = 200, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(seed)
    return pd.DataFrame({"x": rng.normal(size=n)}), rng.integers(0, 2, n)


@pytest.mark.parametrize("container", [pl.from_pandas, lambda X: pl.from_pandas(X).to_arrow(), lambda X: X])
def test_findings_are_the_same_in_every_container_and_order(container) -> None:
    X, y = messy_table(EVERYTHING, 0).messy
    X, y = X[:N_TRAIN], y[:N_TRAIN]
    order = np.random.default_rng(1).permutation(N_TRAIN)
    found, again = electorate.check_up(X, y), electorate.check_up(container(X.iloc[order]), y[order])
    assert found.findings == again.findings
    assert found.cleaning == again.cleaning


@pytest.mark.parametrize("load", [load_breast_cancer, load_diabetes, load_iris, load_wine])
@pytest.mark.parametrize("as_frame", [True, False])
def test_real_tables_are_left_alone(load, as_frame: bool) -> None:
    X, y = load(return_X_y=True, as_frame=as_frame)
    found = electorate.check_up(X, y)
    assert found.cleaning is None
    assert {kind for kind, _ in kinds(found)} <= {"repeated rows"}


def test_leaks_are_named_and_never_left_out() -> None:
    X, y = noise()
    rows = np.argsort(y, kind="stable")
    X, y = X.iloc[rows].assign(row=np.arange(len(y)), copy=np.where(y[rows] == 1, "a", "b")), y[rows]
    found = electorate.check_up(X, y)
    assert kinds(found) == {("leak", "row"), ("leak", "copy")}
    assert found.cleaning is None
    numbers = np.random.default_rng(0).normal(size=200)
    leaked = electorate.check_up(X.assign(copy=3 * numbers + 1), numbers)
    assert ("leak", "copy") in kinds(leaked)


@pytest.mark.parametrize("filling", ["", "none"])
def test_a_column_that_is_filled_for_a_rare_class_only_is_a_leak(filling: str) -> None:
    rng = np.random.default_rng(0)
    X, y = pd.DataFrame({"x": rng.normal(size=4000)}), np.where(rng.random(4000) < 0.014, "gone", "here")
    known = (y == "gone") & (rng.random(4000) < 0.6)
    X["reason"] = np.where(known, rng.choice(["price", "moved"], 4000), filling or None)
    (leak,) = [finding for finding in electorate.check_up(X, y) if finding.kind == "leak"]
    assert leak.column == "reason"
    assert f"in {known.sum()} rows, and {known.sum()} of these are of the class 'gone'" in leak.seen
    X["reason"] = np.where(rng.random(4000) < 0.02, "price", filling or None)
    assert not [finding for finding in electorate.check_up(X, y) if finding.kind == "leak"]


def with_time(n: int = 400, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    """A walk: near rows are alike, and later ones differ."""
    rng = np.random.default_rng(seed)
    when = pd.date_range("2024-01-01", periods=n, freq="6h").strftime("%Y-%m-%d %H:%M")
    return pd.DataFrame({"when": when, "x": rng.normal(size=n)}), np.cumsum(rng.normal(size=n)) + 0.1 * np.arange(n)


def order_seen(X: pd.DataFrame, y: np.ndarray | None = None) -> list[str]:
    return [finding.seen for finding in electorate.check_up(X, y) if finding.kind == "time order"]


def test_dates_in_order_propose_a_split_by_time_and_say_what_a_random_one_hides() -> None:
    X, y = with_time()
    first = electorate.check_up(X, y).findings[0]
    assert (first.kind, first.column) == ("time order", "when")
    assert "--time-column when (time_column='when' in Python)" in first.done
    random, latest = (float(text.split()[0]) for text in first.seen.split("off by ")[1].split(", and "))
    assert latest > 3 * random
    assert "is wrong for" in order_seen(X, y > np.median(y))[0]
    assert order_seen(X) == ["the rows are sorted by it"]
    hostile = electorate.check_up(X.rename(columns={"when": "\x1b[31m'); x"}), y)
    assert hostile.findings[0].kind == "time order"
    assert "\x1b" not in repr(hostile)


def test_dates_that_are_evenly_spaced_are_in_order_and_those_of_events_are_not() -> None:
    X, _ = with_time()
    rng = np.random.default_rng(1)
    drawn = X.iloc[rng.permutation(400)[:320]]  # a fifth is held out
    assert order_seen(drawn) == ["its dates are evenly spaced"]
    assert order_seen(pd.concat([X, X, X]).sample(frac=1, random_state=0)) == ["its dates are evenly spaced"]
    for n_days in (30, 400, 3000):
        days = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, n_days, 400), "D")
        assert order_seen(X.assign(when=days)) == []


def test_repeated_rows_say_how_they_are_split() -> None:
    X, y = noise(400)
    few = electorate.check_up(pd.concat([X, X[:30]]), np.append(y, y[:30])).findings
    assert [one.kind for one in few] == ["repeated rows"]
    assert "keeps equal rows together" in few[0].done
    many = electorate.check_up(X.round(0), y).findings
    assert "few distinct rows" in many[-1].seen
    assert "divides them" in many[-1].done


def test_noise_is_no_leak() -> None:
    for seed in range(20):
        X, y = noise(60, seed)
        X["name"] = [f"n{k}" for k in range(60)]
        assert not [finding for finding in electorate.check_up(X, y) if finding.kind == "leak"]


def test_what_is_kept_stays() -> None:
    X, y = noise()
    X = X.assign(id=[f"k{i}" for i in range(200)], price=[f"${i}.5" for i in range(200)])
    assert kinds(electorate.check_up(X, y)) == {("identifier", "id"), ("number as text", "price")}
    assert kinds(electorate.check_up(X, y, keep=["id"])) == {("number as text", "price")}
    array = np.c_[np.arange(200), X["x"]]
    assert kinds(electorate.check_up(array, y)) == {("identifier", "0")}
    assert electorate.check_up(array, y, keep=["0"]).cleaning is None
    assert electorate.check_up(array.tolist(), y.tolist()).findings == electorate.check_up(array, y).findings


@pytest.mark.parametrize(
    "column",
    [
        np.repeat(["01", "02", "03", "04"], 50),  # codes
        np.repeat(["1", "2", "3", "4"], 50),  # few numbers
        pd.Categorical([f"${k % 30}.5" for k in range(200)]),  # declared categories
        np.tile(["a", "A"], 100),  # single characters
        np.round(np.linspace(0, 1, 200), 4),
        np.random.default_rng(0).choice(10**6, 200, replace=False),  # whole numbers that are no row numbers
        np.tile([0, 1], 100),
        np.tile(["1-2", "3-4"], 100),
    ],
    ids=["codes", "few", "category", "characters", "fractions", "large", "flags", "ranges"],
)
def test_columns_that_are_left_alone(column) -> None:
    X, y = noise()
    found = electorate.check_up(X.assign(column=column), y)
    assert found.findings == []


def test_targets() -> None:
    X, _ = noise(400)
    rare = electorate.check_up(X, ["a"] * 395 + ["b"] * 5)
    assert {kind for kind, _ in kinds(rare)} == {"rare class", "imbalance"}
    money = electorate.check_up(X, [f"${k % 50},000" for k in range(400)])
    assert ("number as text", None) in kinds(money)
    assert money.clean_target(["$7,000"]).tolist() == [7000.0]
    letters = electorate.check_up(X, ["y", "Y", "n", "n"] * 100)
    assert ("spelling", None) in kinds(letters)
    assert letters.cleaning is None
    assert electorate.check_up(X).findings == []
    assert electorate.check_up(sparse.csr_array(X.to_numpy()), ["yes", "YES"] * 200).clean_target(["YES"]).tolist() == [
        "YES"
    ]


def test_many_constants_are_summed_up() -> None:
    X, y = noise()
    text = repr(electorate.check_up(X.assign(**{f"c{k}": k for k in range(30)}), y))
    assert text.count("\n") < 10
    assert "25 more" in text


def test_hostile_names_and_values_are_shown_literally() -> None:
    X, y = noise()
    X["\x1b[31mred"] = [f"\x1b]0;{k}" for k in range(200)]
    found = electorate.check_up(X, y)
    assert "\x1b" not in repr(found)
    json.dumps(found.to_dict())


def test_small_and_empty_tables() -> None:
    X, y = clean_table(0, 8)
    assert electorate.check_up(X, y).cleaning is None
    assert electorate.check_up(X[:0]).cleaning is None
    electorate.check_up(np.zeros((5, 0)))
