"""The answer in words: which sentences there are, how long they are, and the other formats."""

import json
import math
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_diabetes, load_iris, make_classification

import electorate
from electorate.comparison import answer as words
from tests.comparison.small_comparisons import NAMES, QUICK, noise, two_sides

WIDTH = 80


def rare() -> tuple[np.ndarray, np.ndarray]:
    X, codes = make_classification(400, 4, weights=[0.93], flip_y=0, random_state=0)
    return X, np.where(codes == 1, "sick", "well")


CASES = {
    "error": (two_sides(200), {}),
    "tested": (two_sides(300), {"test_fraction": 0.3}),
    "noise": (noise(), {}),
    "mae": (load_diabetes(return_X_y=True), {"algorithms": ["QuadBoost, regression"]}),
    "rmse": (load_diabetes(return_X_y=True), {"algorithms": ["QuadBoost, regression"], "metric": "rmse"}),
    "auc": (two_sides(200), {"metric": "auc"}),
    "log_loss": (two_sides(200), {"metric": "log_loss"}),
    "classes": (load_iris(return_X_y=True), {}),
    "rare": (rare(), {}),
}


@pytest.fixture(scope="module")
def comparisons():
    found = {}

    def compared(case: str):
        if case not in found:
            (X, y), more = CASES[case]
            found[case] = electorate.compare(X, y, **({"algorithms": NAMES} | QUICK | more))
        return found[case]

    return compared


@pytest.mark.parametrize("case", CASES)
def test_the_answer_comes_first_and_fits_on_a_terminal(case, comparisons):
    comparison = comparisons(case)
    text = str(comparison)
    assert text.startswith("Use ")
    assert " ".join(text.split()).startswith(" ".join(comparison.answer[0].split()))
    assert max(map(len, text.splitlines())) <= WIDTH
    assert "P(best)" not in text
    assert "estimator__" not in text
    assert text.isascii()
    assert "nan" not in text
    table = text.split(comparison.head[:20])[1]
    assert sum(line[:1].isdigit() for line in table.splitlines()) <= 12


def test_models_that_the_table_has_no_room_for_are_named(comparisons, monkeypatch):
    comparison = comparisons("error")
    assert "not shown" not in str(comparison)
    monkeypatch.setattr("electorate.comparison.result.MOST_LINES", 3)
    third = comparison.ranking.lines[2]
    assert third is not comparison.ranking.baseline
    assert f"not shown: 3 {third.name}" in str(comparison)
    assert f"- not shown: 3 {third.name}" in comparison.to_markdown()


@pytest.mark.parametrize("case", CASES)
def test_other_formats_hold_the_same(case, comparisons):
    comparison = comparisons(case)
    facts = json.loads(comparison.to_json(), parse_constant=pytest.fail)
    assert facts["winner"] == comparison.winner
    assert facts["answer"] == comparison.answer
    assert facts["table"]["algorithm"] == comparison.columns["algorithm"]
    lines = comparison.to_markdown().splitlines()
    table = [line for line in lines if line.startswith("|")]
    assert len({line.replace("\\|", "").count("|") for line in table}) == 1
    assert len(table) == 2 + min(12, len(comparison.ranking.lines))
    assert lines[0].startswith("Use ")


@pytest.mark.parametrize(
    ("case", "parts"),
    [
        ("error", ["of 100 new rows will be wrong (at most", "guessing would be wrong for", "no rows were held out"]),
        ("tested", ["The limit is exact: of 90 test rows held out and used once", "misclassifies"]),
        ("noise", ["There is no evidence that it is better than guessing (p = "]),
        (
            "mae",
            ["Predictions are off by", "on average (at most", "guessing the median by", "limit are cross-validated"],
        ),
        ("rmse", ["RMSE", "at most"]),
        ("auc", ["AUC on new rows is about 0.", "at least 0.", "guessing has 0.5"]),
        ("log_loss", ["log loss on new rows is about", "at most"]),
        ("classes", ["Most often confused: "]),
        ("rare", ["'sick' is", "of the rows, so the error says little: the AUC is 0.", "(guessing: 0.50)"]),
    ],
)
def test_sentences(case, parts, comparisons):
    text = " ".join(" ".join(comparisons(case).answer).split())
    for part in parts:
        assert part in text


def test_the_number_of_wrong_rows_is_not_above_its_limit():
    """Where the test rows show a bound below the cross-validated error, as a large test set of a small sample may."""
    (X, y), more = CASES["tested"]
    comparison = electorate.compare(X, y, algorithms=NAMES[:1], **QUICK, **more)
    held_out = comparison.model_without_test_rows.held_out_
    held_out |= {"error": comparison.estimate / 4, "bound": comparison.estimate / 2}
    about, most = re.findall(r"(?:About|at most) ([0-9]+)", " ".join(str(comparison).split()))[:2]
    assert float(about) <= float(most)


def test_a_rare_class_shows_auc_and_balanced_error(comparisons):
    comparison = comparisons("rare")
    assert {"auc", "balanced_error"} <= set(comparison.columns)
    assert comparison.columns["auc"][-1] == pytest.approx(0.5, abs=0.01)
    assert comparison.columns["balanced_error"][-1] == pytest.approx(0.5, abs=0.01)
    assert "balanced_error" not in comparisons("error").columns


@pytest.mark.parametrize("case", ["rare", "error", "classes"])
def test_picks_keep_half_of_the_lead_over_guessing(case, comparisons):
    """Where a class is rare, a model within a point of the best may be no better than guessing."""
    ranking = comparisons(case).ranking
    first, guess = ranking.picks["accuracy"].bound("error").value, ranking.baseline.bound("error").value
    assert len(ranking.picks) > 1
    for line in ranking.picks.values():
        assert line.bound("error").value <= first + 0.5 * (guess - first)


@pytest.mark.parametrize("case", ["rare", "error", "classes"])
def test_a_model_that_has_not_the_smallest_error_says_why_it_is_first(case, comparisons):
    ranking = comparisons(case).ranking
    smallest = min(line.bound("error").value for line in ranking.lines)
    is_smallest = ranking.picks["accuracy"].bound("error").value <= smallest + 0.0005
    assert ("chosen by log loss" in str(comparisons(case))) == (not is_smallest)


def test_the_columns_are_plain(comparisons):
    """The metric, the AUC or R2, and seconds; everything else is in the file."""
    assert comparisons("error").printed[0] == ["", "model", "error", "AUC", "seconds", ""]
    assert comparisons("rare").printed[0] == ["", "model", "error", "AUC", "bal. error", "seconds", ""]
    assert comparisons("mae").printed[0] == ["", "model", "abs. error", "R2", "seconds", ""]
    assert "log_loss" in comparisons("error").columns
    columns = comparisons("mae").columns
    assert 0.3 < columns["r2"][0] < 0.6  # of the diabetes data
    assert columns["r2"][-1] < 0.05  # of the median


def test_the_pair_that_is_confused_most(comparisons):
    true, called = comparisons("classes").ranking.confused
    assert {true, called} <= {1, 2}  # the first kind of iris is apart from the others


def test_the_number_of_ties_is_that_of_the_table(comparisons):
    for case in CASES:
        comparison = comparisons(case)
        lines = [line for line in comparison.ranking.lines if line is not comparison.ranking.baseline]
        ties = sum(line.verdict != "worse" for line in lines)
        text = " ".join(comparison.answer)
        assert f"{ties} of {len(lines)} models tie" in text or "All other models are worse" in text or len(lines) == 1


@given(st.floats(1e-12, 1e15))
def test_numbers_have_three_digits_that_count(value):
    shown = float(words.number(value).replace(",", ""))
    assert math.isclose(shown, value, rel_tol=0.006)
    assert len(words.number(value).lstrip("0.").replace(",", "")) <= max(9, math.log10(value) + 2)


@pytest.mark.parametrize(
    ("value", "limit", "wanted"),
    [
        (0.126, 0.138, "About 13 of 100 new rows will be wrong (at most 14,"),
        (0.0212, 0.0287, "About 21 of 1,000 new rows will be wrong (at most 29,"),
        (0.0, 0.004, "Fewer than 1 of 10,000 new rows will be wrong (at most 40,"),
        (0.0, 0.3439, "Fewer than 1 of 100 new rows will be wrong (at most 35,"),
        (0.13, 0.13, "About 13 of 100 new rows will be wrong (at most 13,"),
    ],
)
def test_rates_are_numbers_of_rows(value, limit, wanted):
    assert words._of_rows(value, limit).startswith(wanted)


@pytest.mark.parametrize(
    ("p", "wanted"),
    [
        (1e-9, "p < .001"),
        (0.0123, "p = .012"),
        (0.25, "p = .25"),
        (0.73, "p = .73"),
        (0.099, "p = .099"),
        (1.0, "p = 1.00"),
    ],
)
def test_p_values(p, wanted):
    assert words._p(p) == wanted
